"""Reliability curve: how often it happens, of what was said to happen with a probability."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, whole
from hedgerow.plots import classes as of_classes
from hedgerow.plots import labels, style

_ALLOWED = {"n_bins": whole(1, 1000)}
_SURE = 0.95  # of the whiskers
_BARS = 20  # of the histogram


@dataclass(eq=False)
class CalibrationDisplay:
    """Predicted probabilities against what happened, with a histogram of the predictions below.

    Make it with `from_estimator` or `from_predictions`; the parameters are what it draws. For two classes the
    probability is that of the second; for more it is that of the class predicted, and what happens is that
    the prediction is right. Bins hold about as many rows each; whiskers are the intervals of Clopper and
    Pearson, which hold the true share with a probability of 95 % at least.

    Parameters
    ----------
    predicted, observed : float64 arrays of shape (bins,)
        Mean probability, and share of rows where it happened.
    low, high : float64 arrays of shape (bins,)
        Ends of the whiskers.
    n_rows : int64 array of shape (bins,)
    histogram : int64 array of shape (20,)
        Rows by their probability, in equal parts of 0 to 1.
    positive : str or None
        The class whose probability it is; None for that of the class predicted.
    brier : float or None
        Of two classes, the mean squared difference of probability and what happened (1 or 0).

    Attributes
    ----------
    gap : float
        Mean distance of the bins from the diagonal, weighted by rows: the expected calibration error.
    axes_ : array of two matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> y, probabilities = [0, 0, 1, 1], [0.1, 0.1, 0.6, 0.8]
    >>> display = CalibrationDisplay.from_predictions(y, probabilities, n_bins=2)
    >>> display.predicted.round(2), display.observed, round(display.gap, 2)
    (array([0.1, 0.7]), array([0., 1.]), 0.2)
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    n_rows: NDArray[np.int64]
    histogram: NDArray[np.int64]
    positive: str | None
    brier: float | None = None

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> Self:
        """Compare the probabilities of a model with the labels of some rows, and draw it.

        Parameters
        ----------
        model : fitted classifier
            With `predict_proba`.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Rows that it was not trained on, as a rule.
        n_bins : int
            Bins at the most; rows of one probability stay together.
        ax
            As in `plot`.

        Returns
        -------
        CalibrationDisplay
        """
        check_parameters({"n_bins": n_bins}, _ALLOWED)
        known, codes = of_classes.read_rows(model, X, y)
        return cls._make(of_classes.probabilities_of(model, X), codes, known, n_bins).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        probabilities: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        n_bins: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw labels against the probabilities that were predicted.

        Parameters
        ----------
        y : array of shape (n_samples,)
        probabilities : array of shape (n_samples,) or (n_samples, n_classes)
            Of the second of two classes, or of all.
        classes : sequence, optional
            All classes in order; None for those that occur.
        n_bins, ax
            As in `from_estimator`.

        Returns
        -------
        CalibrationDisplay
        """
        check_parameters({"n_bins": n_bins}, _ALLOWED)
        known = of_classes.classes_in(y) if classes is None else list(classes)
        codes = of_classes.read_labels(y, known)
        found = of_classes.read_scores(probabilities, known, len(codes))
        if found.min() < 0 or found.max() > 1:
            raise ValueError(
                f"probabilities from {found.min():.4g} to {found.max():.4g} are not allowed: they must be "
                "from 0 to 1"
            )
        return cls._make(found, codes, known, n_bins).plot(ax)

    @classmethod
    def _make(cls, probabilities: Floats, codes: NDArray[np.int64], classes: list[Any], n_bins: int) -> Self:
        if len(classes) == 2:
            said, happened = probabilities[:, 1], codes == 1
            positive = style.label(classes[1])
        else:
            said, happened = probabilities.max(axis=1), codes == probabilities.argmax(axis=1)
            positive = None
        bins = _equal_counts(said, n_bins)
        n_rows = np.bincount(bins)
        hits = np.bincount(bins, weights=happened).astype(np.int64)
        low, high = _clopper_pearson(hits, n_rows)
        return cls(
            predicted=np.bincount(bins, weights=said) / n_rows,
            observed=hits / n_rows,
            low=low,
            high=high,
            n_rows=n_rows.astype(np.int64),
            histogram=np.histogram(said, bins=_BARS, range=(0.0, 1.0))[0].astype(np.int64),
            positive=positive,
            brier=float(np.mean((said - happened) ** 2)) if len(classes) == 2 else None,
        )

    @property
    def gap(self) -> float:
        """The expected calibration error."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.n_rows))

    def plot(self, ax: Any = None) -> Self:
        """Draw curve and histogram.

        Parameters
        ----------
        ax : None, matplotlib Axes or two of them
            None for a new figure, one Axes whose place is divided, or one for each.

        Returns
        -------
        self
        """
        self.figure_, self.axes_ = style.stacked(ax, (3.2, 1.0), (5.2, 5.2))
        self.ax_, below = self.axes_
        for panel in self.axes_:
            style.dress(panel)
            panel.set_xlim(-0.02, 1.02)
            labels.percent_axis(panel.xaxis)
        self._draw_curve(self.ax_)
        whom = "the class predicted" if self.positive is None else f"class {labels.short(self.positive, 24)}"
        labels.name_axes(below, f"predicted probability of {whom}", "rows")
        edges = np.linspace(0, 1, len(self.histogram) + 1)
        below.bar(
            edges[:-1], self.histogram, np.diff(edges) * 0.92, align="edge", color=style.BLUE, alpha=0.45
        )
        labels.plain_axis(below.yaxis, 3)
        return self

    def _draw_curve(self, ax: Any) -> None:
        look = {"color": style.FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
        ax.plot([0, 1], [0, 1], **look)
        below, above = self.observed - self.low, self.high - self.observed
        whiskers = {"elinewidth": 1.1, "capsize": 2.5, "markersize": 5, "linewidth": 1.6}
        ax.errorbar(
            self.predicted, self.observed, (np.maximum(below, 0), np.maximum(above, 0)), fmt="o-",
            color=style.BLUE, zorder=3, **whiskers,
        )  # fmt: skip
        ax.set_ylim(-0.02, 1.02)
        labels.percent_axis(ax.yaxis)
        ax.tick_params(labelbottom=False)
        what = "share that was right" if self.positive is None else "share that was of the class"
        ax.set_ylabel(what, fontsize=style.LABEL_SIZE, color=style.INK)
        words = f"mean distance from the diagonal {labels.percent(self.gap)}"
        words += "" if self.brier is None else f", Brier score {self.brier:.3f}"
        ax.set_title(words, fontsize=style.TICK_SIZE, color=style.INK, loc="left")


def _equal_counts(values: Floats, n_bins: int) -> NDArray[np.intp]:
    """The number of the bin of each value: of about equal counts, none empty, equal values together.

    >>> _equal_counts(np.array([0.1, 0.1, 0.1, 0.4, 0.9]), 2)
    array([0, 0, 0, 1, 1])
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # rank of the middle row of each distinct value
    bins = np.floor(middle * n_bins / len(values))[which]
    return np.unique(bins, return_inverse=True)[1]


def _clopper_pearson(hits: NDArray[np.int64], n_rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Ends of exact intervals: all shares under which so many or so few hits are not too rare."""
    tail = (1.0 - _SURE) / 2
    with np.errstate(invalid="ignore"):  # beta distributions with a parameter of 0
        low = special.betaincinv(hits, n_rows - hits + 1, tail)
        high = special.betaincinv(hits + 1, n_rows - hits, 1.0 - tail)
    return np.where(hits == 0, 0.0, low), np.where(hits == n_rows, 1.0, high)
