"""What single training rows weigh along the rounds of boosting, against all the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, whole
from hedgerow.plots import labels, style
from hedgerow.theory.resamples import as_pair

_MOST = 14  # rows whose names have room beside the lines
_QUANTILES = (0.05, 0.5, 0.95)  # of all other rows
_DEEPEST = 1e-6  # of the lowest mean weight: easy rows soon weigh nothing, and would flatten the rest


@dataclass(eq=False)
class WeightPathsDisplay:
    """The weights of some training rows after every round, in units of 1 / n.

    Make it with `from_estimator`; the parameters are what it draws. A weight of 1 is an even share. Rows that
    no round gets right, such as those with a wrong label, rise far above all others. Of 60 rounds and more, a
    pale line is the weight and a strong one its geometric mean over some rounds.

    Parameters
    ----------
    paths : float64 array of shape (rows, rounds)
        n times the weights of the rows that are named.
    names : list of str
    others : float64 array of shape (3, rounds), or None
        The 5 % quantile, the median and the 95 % quantile of all other rows; None if there are no others.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import make_hastie
    >>> X, y = make_hastie(300, 2, random_state=0)
    >>> y[7] = -y[7]
    >>> model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    >>> display = WeightPathsDisplay.from_estimator(model, X, y, n_rows=3)
    >>> display.names
    ['row 7', 'row 200', 'row 96']
    """

    paths: Floats
    names: list[str]
    others: Floats | None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        rows: Sequence[int] | Mapping[str, int] | None = None,
        n_rows: int = 5,
        ax: Any = None,
    ) -> Self:
        """Follow the weights of the training rows, and draw some of them.

        Parameters
        ----------
        model : fitted classifier
            Of the AdaBoost family, with `staged_sample_weights` and `outlier_scores`.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            What the model was trained on.
        rows : sequence of int, dict from names to int, or None
            The numbers of the rows to draw, counted from 0, 14 at the most. None for those of the highest
            outlier scores.
        n_rows : int
            How many these are.
        ax
            As in `plot`.

        Returns
        -------
        WeightPathsDisplay
        """
        check_parameters({"n_rows": n_rows}, {"n_rows": whole(1, _MOST)})
        check_is_fitted(model)
        for method in ("staged_sample_weights", "outlier_scores"):
            if not hasattr(model, method):
                raise TypeError(f"{type(model).__name__} has no {method}: only AdaBoost weighs rows anew")
        as_pair((X, y), "the training set")
        chosen, names = _read_rows(rows, len(y))
        if rows is None:
            scores = np.asarray(model.outlier_scores(X, y))
            chosen = np.argsort(-scores, kind="stable")[:n_rows]
            names = [f"row {row}" for row in chosen]
        is_other = np.ones(len(y), dtype=np.bool_)
        is_other[chosen] = False
        paths, others = [], []
        for weights in model.staged_sample_weights(X, y):
            shares = len(y) * np.asarray(weights, dtype=np.float64)
            paths.append(shares[chosen])
            if is_other.any():
                others.append(np.quantile(shares[is_other], _QUANTILES))
        made = cls(np.array(paths).T, names, np.array(others).T if others else None)
        return made.plot(ax)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the paths.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        legend : bool
            Whether the band is explained below.

        Returns
        -------
        self
        """
        self.figure_, axes, _ = style.panels(ax, 1, 1, (6.0, 3.9))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        n_rounds = self.paths.shape[1]
        rounds = np.arange(1, n_rounds + 1)
        marker: dict[str, Any] = {"marker": "o", "markersize": 4} if n_rounds == 1 else {}
        low, high = self._limits()
        if self.others is not None:
            lower, median, upper = np.maximum(self.others, low)
            look = {"color": style.FAINT, "alpha": 0.3, "linewidth": 6 if n_rounds == 1 else 0}
            self.ax_.fill_between(rounds, lower, upper, label="other rows, 5 % to 95 %", **look)
            self.ax_.plot(rounds, median, color=style.FAINT, linewidth=1.6, label="their median", **marker)
        colours = [style.COLOURS[number % len(style.COLOURS)] for number in range(len(self.paths))]
        drawn, width = np.maximum(self.paths, low), _window(n_rounds)
        smooth = drawn if width == 1 else np.exp(_running_mean(np.log(drawn), width))
        for path, line, colour in zip(drawn, smooth, colours, strict=True):
            if width > 1:
                self.ax_.plot(rounds, path, color=colour, linewidth=0.7, alpha=0.22, zorder=2)
            self.ax_.plot(rounds, line, color=colour, linewidth=1.7, zorder=3, **marker)
        self.ax_.set_yscale("log")
        self.ax_.set_ylim(low, high)
        labels.plain_log_ticks(self.ax_.yaxis, low, high)
        labels.rounds_axis(self.ax_, n_rounds, log=False)
        labels.name_axes(self.ax_, "rounds", "weight of a row, in units of 1/n")
        labels.end_labels(self.ax_, smooth[:, -1], self.names, colours)
        if legend:
            mean = style.part("lines").Line2D([], [], color=style.BLUE, linewidth=1.7)
            labels.legend_below(
                self.ax_, *(([mean], [f"a row, mean of {width} rounds"]) if width > 1 else ())
            )
        return self

    def _limits(self) -> tuple[float, float]:
        """Of the y axis: all that is drawn, but for weights that are next to nothing."""
        drawn = self.paths if self.others is None else np.concatenate([self.paths, self.others])
        high = max(float(drawn.max()), 1.0)
        some = drawn[drawn > 0]
        low = min(float(some.min()), 1.0) if some.size else 1.0
        return max(low, _DEEPEST * high) / 1.25, 1.25 * high


def _window(n_rounds: int) -> int:
    """Rounds that a line is the mean of: weights go up and down with every round.

    >>> _window(30), _window(100), _window(1000)
    (1, 5, 41)
    """
    return 1 if n_rounds < 60 else 2 * (n_rounds // 50) + 1


def _running_mean(paths: Floats, width: int) -> Floats:
    """The mean of `width` rounds around every one, of fewer at the ends.

    >>> _running_mean(np.array([[1.0, 2.0, 6.0, 4.0]]), 3)
    array([[1.5, 3. , 4. , 5. ]])
    """
    sums = np.cumsum(np.pad(paths, ((0, 0), (1, 0))), axis=1)
    rounds = np.arange(paths.shape[1])
    first, stop = np.maximum(rounds - width // 2, 0), np.minimum(rounds + width // 2 + 1, len(rounds))
    return np.asarray((sums[:, stop] - sums[:, first]) / (stop - first))


def _read_rows(rows: Any, n: int) -> tuple[NDArray[np.int64], list[str]]:
    """Numbers and names of the rows that were asked for; of None, none."""
    if rows is None:
        return np.empty(0, dtype=np.int64), []
    is_named = isinstance(rows, Mapping)
    given: list[Any] = list(rows.values()) if is_named else np.ravel(np.asarray(rows, dtype=object)).tolist()
    whole_numbers = all(isinstance(row, int | np.integer) and not isinstance(row, bool) for row in given)
    if not whole_numbers or not all(0 <= row < n for row in given) or not 0 < len(given) <= _MOST:
        raise ValueError(
            f"rows={rows!r} is not allowed: it must be None or from 1 to {_MOST} numbers of rows, from 0 to "
            f"{n - 1}, or a dict from names to them"
        )
    names = [str(name) for name in rows] if is_named else [f"row {row}" for row in given]
    return np.array(given, dtype=np.int64), names
