"""Curves of rankings: rows sorted by how much they speak for a class, and what a threshold there would do.

Both pictures hold one Curve a class, thinned to what can be seen, and its area, which is not thinned.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow._typing import Floats
from hedgerow.plots import classes as of_classes
from hedgerow.plots import labels, style

_MOST_POINTS = 400  # of a curve in a picture
_GRID = np.linspace(0.0, 1.0, 401)  # where the mean of several curves is taken
_NAMED = 3  # of more classes than colours, those of the smallest areas that have a colour and a name


@dataclass(frozen=True, eq=False)
class Curve:
    """One class against the rest.

    Parameters
    ----------
    name : str
        Of the class.
    x, y : float64 arrays of shape (points,)
    area : float
    share : float
        Of the rows that are of the class.
    """

    name: str
    x: Floats
    y: Floats
    area: float
    share: float


@dataclass(eq=False)
class _RankingDisplay(ABC):
    """What both pictures share."""

    curves: list[Curve]
    mean: Curve | None = None

    _area: ClassVar[str]
    _axes: ClassVar[tuple[str, str]]

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Rank some rows by the scores of a model, and draw the curves.

        Parameters
        ----------
        model : fitted classifier
            With `predict_proba` or `decision_function`.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Rows that it was not trained on, as a rule.
        ax
            As in `plot`.

        Returns
        -------
        self
        """
        known, codes = of_classes.read_rows(model, X, y)
        return cls._make(of_classes.scores_of(model, X), codes, known).plot(ax)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, scores: ArrayLike, *, classes: Sequence[Any] | None = None, ax: Any = None
    ) -> Self:
        """Draw the curves of scores that were predicted.

        Parameters
        ----------
        y : array of shape (n_samples,)
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            For the second of two classes, or for all; only their order counts.
        classes : sequence, optional
            All classes in order; None for those that occur.
        ax
            As in `plot`.

        Returns
        -------
        self
        """
        known = of_classes.classes_in(y) if classes is None else list(classes)
        codes = of_classes.read_labels(y, known)
        return cls._make(of_classes.read_scores(scores, known, len(codes)), codes, known).plot(ax)

    @classmethod
    def _make(cls, scores: Floats, codes: NDArray[np.int64], classes: list[Any]) -> Self:
        present = np.unique(codes)
        if len(present) < 2:
            raise ValueError(
                f"y holds the class {classes[present[0]]!r} only: rows of another class are needed to draw it"
            )
        drawn = [1] if len(classes) == 2 else [number for number in range(len(classes)) if number in present]
        curves = [cls._curve(style.label(classes[k]), scores[:, k], codes == k) for k in drawn]
        return cls(curves, cls._mean(curves) if len(curves) > 1 else None)

    @classmethod
    @abstractmethod
    def _curve(cls, name: str, scores: Floats, is_class: NDArray[np.bool_]) -> Curve:
        """The curve of one class against the rest."""

    @classmethod
    def _mean(cls, curves: list[Curve]) -> Curve:
        """Mean heights at every place, and mean areas."""
        heights = np.mean([cls._at(_GRID, curve) for curve in curves], axis=0)
        area, share = np.mean([[curve.area, curve.share] for curve in curves], axis=0)
        x, y = cls._from_start(_GRID, heights)
        return Curve("mean", x, y, float(area), float(share))

    @classmethod
    @abstractmethod
    def _at(cls, where: Floats, curve: Curve) -> Floats:
        """Heights of a curve at given places."""

    @classmethod
    def _from_start(cls, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        return x, y

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.

        Returns
        -------
        self
        """
        names = [self._name(curve) for curve, colour in self._coloured() if colour]
        names += [] if self.mean is None else [self._name(self.mean)]
        n_lines = -(-len(names) // labels.legend_columns(names, 330.0))
        self.figure_, axes, _ = style.panels(
            ax, 1, 1, (5.0 if len(names) < 3 else 5.4, 4.75 + 0.18 * n_lines)
        )
        self.ax_ = axes[0]
        style.dress(self.ax_)
        self._draw_chance()
        handles = []
        for curve, colour in self._coloured():
            look = {"color": colour or style.FAINT, "linewidth": 1.8 if colour else 0.8}
            line = self._line(curve, zorder=3 if colour else 2, **look)
            handles += [line] if colour else []
        if self.mean is not None:
            look = {"color": style.INK, "linewidth": 2.0, "linestyle": (0, (4, 1.5))}
            handles.append(self._line(self.mean, zorder=4, **look))
        self.ax_.set(xlim=(-0.015, 1.015), ylim=(-0.015, 1.015), aspect="equal")
        labels.name_axes(self.ax_, *self._axes)
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            labels.percent_axis(axis)
        labels.legend_below(self.ax_, handles, names)
        return self

    def _name(self, curve: Curve) -> str:
        """What a curve is called below: what the figure is, is said once."""
        if curve is self.mean:
            return f"mean {self._area} {labels.below_one(curve.area)}"
        what = f"{self._area} " if self.mean is None else ""
        return f"{labels.short(curve.name, 24)}: {what}{labels.below_one(curve.area)}"

    def _coloured(self) -> list[tuple[Curve, str | None]]:
        """Every curve with its colour; of more curves than colours, only the worst have one."""
        if len(self.curves) <= len(style.COLOURS):
            return list(zip(self.curves, style.COLOURS, strict=False))
        worst = np.argsort([curve.area for curve in self.curves], kind="stable")[:_NAMED].tolist()
        colours = dict(zip(worst, style.COLOURS, strict=False))
        return [(curve, colours.get(number)) for number, curve in enumerate(self.curves)]

    def _line(self, curve: Curve, **look: Any) -> Any:
        return self.ax_.plot(curve.x, curve.y, **look)[0]

    @abstractmethod
    def _draw_chance(self) -> None:
        """Draw what a ranking by chance would give."""


@dataclass(eq=False)
class RocCurveDisplay(_RankingDisplay):
    """Share of a class found against share of the others found with it, at every threshold.

    Make it with `from_estimator` or `from_predictions`; the parameters are what it draws. Of two classes it
    is the second; of more, each against the rest, and the mean of the curves. The area (AUC) is the
    probability that a row of the class has a higher score than one of the others, equal scores counting half.
    Of more than seven classes, the three of smallest area have colours and names.

    Parameters
    ----------
    curves : list of Curve
    mean : Curve or None
        The mean of several curves, and of their areas.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.curves[0].area
    0.75
    """

    _area = "AUC"
    _axes = ("share of the other rows taken for the class", "share of the class found")

    @classmethod
    def _curve(cls, name: str, scores: Floats, is_class: NDArray[np.bool_]) -> Curve:
        hits, misses = _running(scores, is_class)
        x, y = misses / misses[-1], hits / hits[-1]
        x, y = np.concatenate([[0.0], x]), np.concatenate([[0.0], y])
        area = float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
        return Curve(name, *_thinned(x, y), area, float(is_class.mean()))

    @classmethod
    def _at(cls, where: Floats, curve: Curve) -> Floats:
        """Straight lines between the points; of several at one place, the highest."""
        last = np.append(np.diff(curve.x) > 0, True)
        return np.asarray(np.interp(where, curve.x[last], curve.y[last]), dtype=np.float64)

    @classmethod
    def _from_start(cls, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        return np.append(0.0, x), np.append(0.0, y)

    def _draw_chance(self) -> None:
        look = {"color": style.FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
        self.ax_.plot([0, 1], [0, 1], **look)


@dataclass(eq=False)
class PrecisionRecallDisplay(_RankingDisplay):
    """Share of the found rows that are of a class against the share of the class found, at every threshold.

    Make it with `from_estimator` or `from_predictions`; the parameters are what it draws. Of two classes it
    is the second; of more, each against the rest, and the mean of the curves. The area is the average
    precision: the precision at every row of the class, averaged. Of more than seven classes, the three of
    smallest area have colours and names.

    Parameters
    ----------
    curves : list of Curve
    mean : Curve or None
        The mean of several curves, and of their areas.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(display.curves[0].area, 3)
    0.833
    """

    _area = "average precision"
    _axes = ("recall: share of the class found", "precision: share of what is found")

    @classmethod
    def _curve(cls, name: str, scores: Floats, is_class: NDArray[np.bool_]) -> Curve:
        hits, misses = _running(scores, is_class)
        recall, precision = hits / hits[-1], hits / (hits + misses)
        recall, precision = np.concatenate([[0.0], recall]), np.concatenate([precision[:1], precision])
        area = float(np.sum(np.diff(recall) * precision[1:]))
        return Curve(name, *_thinned(recall, precision), area, float(is_class.mean()))

    @classmethod
    def _at(cls, where: Floats, curve: Curve) -> Floats:
        """The steps that are drawn: the precision where so much is found first."""
        return curve.y[np.searchsorted(curve.x, where)]

    def _line(self, curve: Curve, **look: Any) -> Any:
        # Between two thresholds nothing is known of the precision: the step of the average.
        return self.ax_.plot(curve.x, curve.y, drawstyle="steps-pre", **look)[0]

    def _draw_chance(self) -> None:
        """Whatever the threshold, a ranking by chance has the share of the class."""
        if len(self.curves) == 1:
            look = {"color": style.FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
            share = self.curves[0].share
            self.ax_.axhline(share, label=f"by chance: {labels.percent(share)}", **look)


def _running(scores: Floats, is_class: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the class, and others, whose score is at least each distinct score, from the highest."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = np.cumsum(is_class[order], dtype=np.int64)[ends]
    return hits, ends + 1 - hits


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The curve with as many points as can be seen, evenly along its length, ends included."""
    if len(x) <= _MOST_POINTS:
        return x, y
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    kept = np.searchsorted(length, np.linspace(0.0, length[-1], _MOST_POINTS))
    kept = np.unique(np.concatenate([[0], kept, [len(x) - 1]]))
    return x[kept], y[kept]
