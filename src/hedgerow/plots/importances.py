"""Importances of the columns: what their splits gained, or what is lost when their values are shuffled."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, nothing, one_of, whole
from hedgerow.plots import classes as of_classes
from hedgerow.plots import columns, labels, style
from hedgerow.theory.resamples import as_pair

_ALLOWED = {
    "method": one_of("split", "permutation") | nothing(),
    "top": whole(1),
    "n_repeats": whole(1),
    "max_rows": whole(1),
    "random_state": whole(0),
}
_LONGEST = 42  # letters of a column's name


@dataclass(eq=False)
class ImportancesDisplay:
    """The columns that matter most to a model, as bars.

    Make it with `from_estimator`; the parameters are what it draws.

    Parameters
    ----------
    names : list of str
        All columns, in the order of the table.
    values : float64 array of shape (n_columns,)
        Shares of what all splits gained, or how much worse the score is when a column is shuffled.
    spreads : float64 array of shape (n_columns,) or None
        Standard deviations over the repeats.
    measure : str
        What the values are, in words.
    top : int
        How many columns to draw, the most important first.

    Attributes
    ----------
    order : list of int
        The columns that are drawn.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
        """Find how much the columns matter to a model, and draw it.

        Parameters
        ----------
        model : fitted classifier or regressor
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,), optional
            For "permutation": rows that the model was not trained on, as a rule.
        method : "split", "permutation" or None
            "split" takes the model's `feature_importances_`. "permutation" shuffles one column at a time and
            sees how much worse it gets: the Brier score of a classifier (accuracy, if it has no
            probabilities), R² of a regressor. None for "split" if the model has it, else "permutation".
        top : int
            Columns to draw.
        n_repeats : int
            Shuffles of a column.
        max_rows : int
            Rows that are used; of more, so many are drawn by chance.
        random_state : int
            Of shuffles and rows.
        ax
            As in `plot`.

        Returns
        -------
        ImportancesDisplay

        References
        ----------
        L. Breiman, "Random forests", Machine Learning 45, 2001: the importance by permutation.
        """
        given = {"method": method, "top": top, "n_repeats": n_repeats}
        check_parameters(given | {"max_rows": max_rows, "random_state": random_state}, _ALLOWED)
        check_is_fitted(model)
        kind = type(model).__name__
        has_splits = getattr(model, "feature_importances_", None) is not None
        if method == "split" or (method is None and has_splits):
            if not has_splits:
                raise TypeError(
                    f"{kind} has no feature_importances_: method='permutation' works, with X and y"
                )
            values = np.asarray(model.feature_importances_, dtype=np.float64)
            names = columns.names_of(model, X, len(values))
            return cls(names, values, None, "share of what the splits gained", top).plot(ax)
        if X is None or y is None:
            absent = "X" if X is None else "y"
            raise ValueError(f"{absent}=None is not allowed: importances by permutation need X and y")
        as_pair((X, y), "the data")
        table = columns.as_table(X)
        names = columns.names_of(model, X, table.shape[1])
        rows = columns.sample_rows(table.shape[0], max_rows, random_state)
        falls, measure = _falls(
            model, columns.take(table, rows), np.asarray(y)[rows], n_repeats, random_state
        )
        return cls(names, falls.mean(axis=1), falls.std(axis=1), measure, top).plot(ax)

    @property
    def order(self) -> list[int]:
        """The columns that are drawn, the most important first; at least one, else none without effect."""
        order = np.argsort(-self.values, kind="stable")[: self.top].tolist()
        spreads = np.zeros(len(self.values)) if self.spreads is None else self.spreads
        return [column for column in order if self.values[column] or spreads[column]] or order[:1]

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.

        Returns
        -------
        self
        """
        order = self.order
        names = [labels.short(self.names[column], _LONGEST) for column in order]
        width = 3.4 + 0.065 * max(map(len, names))
        self.figure_, axes, _ = style.panels(ax, 1, 1, (width, 0.85 + 0.27 * max(len(order), 2)))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        values = self.values[order]
        spreads = np.zeros(len(order)) if self.spreads is None else self.spreads[order]
        places = np.arange(len(order))
        self.ax_.barh(places, values, 0.68, color=style.BLUE, alpha=0.85, zorder=2)
        if self.spreads is not None:
            look = {"color": style.INK, "linewidth": 1.1, "zorder": 3}
            self.ax_.hlines(places, values - spreads, values + spreads, **look)
        self.ax_.set_yticks(places, names)
        self.ax_.set_ylim(len(order) - 0.4, -0.6)
        self.ax_.tick_params(axis="y", length=0)
        self._say_values(places, values, spreads)
        more = f"\n{len(order)} of {len(self.names)} columns" if len(order) < len(self.names) else ""
        labels.name_axes(self.ax_, self.measure + more, "")
        return self

    def _say_values(self, places: Any, values: Floats, spreads: Floats) -> None:
        """Figures right of the bars, and limits with room for them."""
        low, high = min(0.0, float((values - spreads).min())), max(0.0, float((values + spreads).max()))
        reach = high - low or 1.0
        self.ax_.axvline(0, color=style.FAINT, linewidth=0.8, zorder=1)
        self.ax_.set_xlim(low - (0.03 * reach if low < 0 else 0), high + 0.16 * reach)
        is_share = any(word in self.measure for word in ("share", "accuracy"))
        if is_share:
            labels.percent_axis(self.ax_.xaxis)
        else:
            labels.plain_axis(self.ax_.xaxis)
        decimals = max(0, 2 - math.floor(math.log10(np.abs(values).max() or 1.0)))
        ends = np.maximum(values + spreads, 0.0)
        for place, value, end in zip(places, values, ends, strict=True):
            words = labels.minus(labels.percent(value)) if is_share else _rounded(value, decimals)
            self.ax_.annotate(
                words, (end, place), (4, 0), textcoords="offset points", va="center",
                fontsize=style.TICK_SIZE, color=style.INK,
            )  # fmt: skip


def _rounded(value: float, decimals: int) -> str:
    """A number with so many decimals; what rounds to zero has no sign.

    >>> _rounded(-0.0004, 3), _rounded(-0.012, 2)
    ('0.000', '−0.01')
    """
    return labels.minus(f"{round(value, decimals) + 0.0:.{decimals}f}")


def _falls(model: Any, table: Any, y: NDArray[Any], n_repeats: int, seed: int) -> tuple[Floats, str]:
    """(n_columns, n_repeats): how much worse the score is with a column shuffled; and that in words."""
    score, measure = _scorer(model, y)
    whole_score = score(columns.native(table))
    n_rows, n_columns = table.shape
    falls = np.empty((n_columns, n_repeats))
    for column, repeat in np.ndindex(*falls.shape):
        shuffled = np.random.default_rng((seed, column, repeat)).permutation(n_rows).astype(np.int64)
        changed = columns.with_column_from(table, column, shuffled)
        falls[column, repeat] = whole_score - score(columns.native(changed))
    return falls, measure


def _scorer(model: Any, y: NDArray[Any]) -> tuple[Callable[[Any], float], str]:
    """What gives the score of a model on a table with these labels, more being better."""
    if not hasattr(model, "classes_"):
        return _r2_scorer(model, y), "fall of R² when shuffled"
    known = of_classes.classes_of(model)
    codes = of_classes.read_labels(y, known)
    if not hasattr(model, "predict_proba"):

        def accuracy(X: Any) -> float:
            return float(np.mean(of_classes.read_labels(model.predict(X), known, "predict") == codes))

        return accuracy, "fall of accuracy when shuffled"
    truth = np.eye(len(known))[codes]
    both = 2.0 if len(known) == 2 else 1.0  # of two classes each row would count twice

    def brier(X: Any) -> float:
        distances = np.sum((np.asarray(model.predict_proba(X)) - truth) ** 2, axis=1)
        return -float(np.mean(distances)) / both

    return brier, "rise of the Brier score when shuffled"


def _r2_scorer(model: Any, y: NDArray[Any]) -> Callable[[Any], float]:
    truth = np.asarray(y, dtype=np.float64)
    variance = float(np.var(truth))
    if variance == 0:
        raise ValueError("y holds one value only: R² needs at least two")
    return lambda X: float(1.0 - np.mean((truth - np.asarray(model.predict(X))) ** 2) / variance)
