"""Feature importances: by the gain of the splits, or by permutation."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, integer, none, one_of
from hedgerow.plots import inputs, labels, style
from hedgerow.plots.base import Display
from hedgerow.plots.inputs import classes_of, encode_labels
from hedgerow.theory.resamples import as_pair

_ALLOWED = {
    "method": one_of("split", "permutation") | none(),
    "top": integer(1),
    "n_repeats": integer(1),
    "max_rows": integer(1),
    "random_state": integer(0),
}
_MAX_LETTERS = 42  # letters of a column's name


@dataclass(eq=False)
class ImportancesDisplay(Display):
    """The most important columns of a model, as bars.

    Make it with `from_estimator`.

    Parameters
    ----------
    names : list of str
        All columns, in the order of the table.
    values : float64 array of shape (n_columns,)
        Shares of the gain of all splits, or the decrease of the score when a column is permuted.
    spreads : float64 array of shape (n_columns,) or None
        Standard deviations over the repeats.
    measure : str
        Description of the values.
    top : int
        Number of columns to draw.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(n_estimators=10).fit(X, y)
    >>> display = ImportancesDisplay.from_estimator(model, X, y, method="permutation", top=2)
    >>> [display.names[column] for column in display.order]
    ['petal length (cm)', 'petal width (cm)']
    """

    names: list[str]
    values: Floats
    spreads: Floats | None
    measure: str
    top: int = 15

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        method: str | None = None,
        top: int = 15,
        n_repeats: int = 5,
        max_rows: int = 5000,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Compute the importances of the columns, and draw them.

        Parameters
        ----------
        model : fitted classifier or regressor
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,), optional
            Test rows, required for "permutation".
        method : "split", "permutation" or None
            "split" uses the model's `feature_importances_`. "permutation" permutes one column at a time and
            measures the change of the Brier score of a classifier (of the accuracy, if it has no
            probabilities) or of R² of a regressor. None for "split" if the model has it, else "permutation".
        top : int
            Columns to draw.
        n_repeats : int
            Permutations per column.
        max_rows, random_state : int
            A random sample of `max_rows` rows is used if there are more. `random_state` is the seed of the
            sample and of the permutations.
        ax : as in `plot`

        References
        ----------
        L. Breiman, "Random forests", Machine Learning 45, 2001: the importance by permutation.
        """
        parameters = {"method": method, "top": top, "n_repeats": n_repeats}
        check_parameters(parameters | {"max_rows": max_rows, "random_state": random_state}, _ALLOWED)
        check_is_fitted(model)
        kind = type(model).__name__
        has_splits = getattr(model, "feature_importances_", None) is not None
        if method == "split" or (method is None and has_splits):
            if not has_splits:
                raise TypeError(f"{kind} has no feature_importances_: use method='permutation' with X and y")
            values = np.asarray(model.feature_importances_, dtype=np.float64)
            names = inputs.names_of(model, X, len(values))
            return cls(names, values, None, "share of the gain of all splits", top).plot(ax)
        if X is None or y is None:
            absent = "X" if X is None else "y"
            raise ValueError(f"{absent}=None is not allowed: importances by permutation need X and y")
        as_pair((X, y), "the data")
        table = inputs.as_table(X)
        names = inputs.names_of(model, X, table.shape[1])
        rows = inputs.sample_rows(table.shape[0], max_rows, random_state)
        decreases, measure = _decreases(
            model, inputs.take(table, rows), np.asarray(y)[rows], n_repeats, random_state
        )
        return cls(names, decreases.mean(axis=1), decreases.std(axis=1), measure, top).plot(ax)

    @property
    def order(self) -> list[int]:
        """The columns that are drawn, the most important first; only the first may have no effect."""
        order = np.argsort(-self.values, kind="stable")[: self.top].tolist()
        spreads = np.zeros(len(self.values)) if self.spreads is None else self.spreads
        return [column for column in order if self.values[column] or spreads[column]] or order[:1]

    def _figure_size(self) -> tuple[float, float]:
        longest = max(len(labels.shorten(self.names[column], _MAX_LETTERS)) for column in self.order)
        return 3.4 + 0.065 * longest, 0.85 + 0.27 * max(len(self.order), 2)

    def _draw(self, ax: Any) -> None:
        order = self.order
        values = self.values[order]
        spreads = np.zeros(len(order)) if self.spreads is None else self.spreads[order]
        positions = np.arange(len(order))
        ax.barh(positions, values, 0.68, color=style.BLUE, alpha=0.85, zorder=2)
        if self.spreads is not None:
            ax.hlines(positions, values - spreads, values + spreads, color=style.INK, linewidth=1.1, zorder=3)
        labels.name_bars(ax, [labels.shorten(self.names[column], _MAX_LETTERS) for column in order])
        self._write_values(ax, values, spreads)
        more = f"\n{len(order)} of {len(self.names)} columns" if len(order) < len(self.names) else ""
        labels.name_axes(ax, self.measure + more, "")

    def _write_values(self, ax: Any, values: Floats, spreads: Floats) -> None:
        """Write the values right of the bars, and set limits with space for them."""
        low, high = min(0.0, float((values - spreads).min())), max(0.0, float((values + spreads).max()))
        width = high - low or 1.0
        ax.axvline(0, color=style.FAINT, linewidth=0.8, zorder=1)
        ax.set_xlim(low - (0.03 * width if low < 0 else 0), high + 0.16 * width)
        is_share = any(name in self.measure for name in ("share", "accuracy"))
        labels.value_axis(ax.xaxis, is_share=is_share)
        decimals = max(0, math.ceil(2.3 - math.log10(np.abs(values).max() or 1.0)))
        for number, (value, end) in enumerate(zip(values, np.maximum(values + spreads, 0.0), strict=True)):
            # + 0.0: a number that is rounded to zero has no sign
            text = labels.share(value) if is_share else f"{round(value, decimals) + 0.0:.{decimals}f}"
            labels.write_right_of(ax, labels.minus(text), (end, number))


def _decreases(model: Any, table: Any, y: NDArray[Any], n_repeats: int, seed: int) -> tuple[Floats, str]:
    """Return decreases of the score with a permuted column, (n_columns, n_repeats), and their description."""
    score, measure = _scorer(model, y)
    whole_score = score(inputs.native(table))
    n_rows, n_columns = table.shape
    decreases = np.empty((n_columns, n_repeats))
    for column, repeat in np.ndindex(*decreases.shape):
        shuffled = np.random.default_rng((seed, column, repeat)).permutation(n_rows).astype(np.int64)
        changed = inputs.with_column_from(table, column, shuffled)
        decreases[column, repeat] = whole_score - score(inputs.native(changed))
    return decreases, measure


def _scorer(model: Any, y: NDArray[Any]) -> tuple[Callable[[Any], float], str]:
    """Return a function that scores the model on a table, higher is better, and its description."""
    if not hasattr(model, "classes_"):
        if np.ptp(np.asarray(y, dtype=np.float64)) == 0:
            raise ValueError("y holds one value only: R² requires at least two")
        return lambda X: float(metrics.r2_score(y, model.predict(X))), "decrease of R² when permuted"
    known = classes_of(model)
    codes = encode_labels(y, known)
    if not hasattr(model, "predict_proba"):

        def accuracy(X: Any) -> float:
            return float(np.mean(encode_labels(model.predict(X), known, "predict") == codes))

        return accuracy, "decrease of accuracy when permuted"
    truth = np.eye(len(known))[codes]
    both = 2.0 if len(known) == 2 else 1.0  # of two classes each row would count twice

    def brier(X: Any) -> float:
        distances = np.sum((np.asarray(model.predict_proba(X)) - truth) ** 2, axis=1)
        return -float(np.mean(distances)) / both

    return brier, "increase of the Brier score when permuted"
