"""ROC and precision-recall curves of two classes, or of each of several classes against the rest."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics

from hedgerow._typing import Floats, Integers
from hedgerow.plots import labels as text
from hedgerow.plots import style
from hedgerow.plots.base import Display, Legend
from hedgerow.plots.inputs import predict_scores, read_predictions, read_rows

_MAX_POINTS = 400  # the most points of a curve that is drawn
_GRID = np.linspace(0.0, 1.0, 401)  # where the mean of several curves is computed
_N_NAMED = 3  # classes with a colour and a name, those of smallest area, if there are too few colours


@dataclass(frozen=True, eq=False)
class ClassCurve:
    """The curve of one class against the rest."""

    name: str
    x: Floats  # (points,)
    y: Floats  # (points,)
    area: float  # under the curve of all points; x and y have fewer points
    share: float  # of the class among the rows


@dataclass(eq=False)
class _CurveDisplay(Display):
    curves: list[ClassCurve]
    mean: ClassCurve | None = None

    _area: ClassVar[str]
    _axis_names: ClassVar[tuple[str, str]]
    _drawstyle: ClassVar[str] = "default"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the curves of a classifier.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba` or `decision_function`.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Test rows.
        ax : as in `plot`
        """
        classes, codes = read_rows(estimator, X, y)
        return cls._make(predict_scores(estimator, X), codes, classes).plot(ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_score: ArrayLike, *, labels: Sequence[Any] | None = None, ax: Any = None
    ) -> Self:
        """Draw the curves of predicted scores.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        y_score : array of shape (n_samples,) or (n_samples, n_classes)
            Scores of the second of two classes, or of all classes.
        labels : sequence, optional
            All classes in order; None for those in `y_true`.
        ax : as in `plot`
        """
        classes, codes, scores = read_predictions(y_true, y_score, labels)
        return cls._make(scores, codes, classes).plot(ax)

    @classmethod
    def _make(cls, scores: Floats, codes: Integers, classes: list[Any]) -> Self:
        present = np.unique(codes)
        if len(present) < 2:
            raise ValueError(
                f"y holds the class {classes[present[0]]!r} only: rows of another class are needed to draw it"
            )
        curves = []
        for number in [1] if len(classes) == 2 else present.tolist():
            is_class = codes == number
            x, y, area = cls._compute(is_class, scores[:, number])
            name = style.format_label(classes[number])
            curves.append(ClassCurve(name, *_thin(x, y), float(area), float(is_class.mean())))
        return cls(curves, cls._mean(curves) if len(curves) > 1 else None)

    @classmethod
    def _mean(cls, curves: list[ClassCurve]) -> ClassCurve:
        """Return mean heights and mean area."""
        y = np.mean([cls._interpolate(curve) for curve in curves], axis=0)
        area, share = np.mean([[curve.area, curve.share] for curve in curves], axis=0)
        return ClassCurve("mean", _GRID, y, float(area), float(share))

    @classmethod
    @abstractmethod
    def _compute(cls, is_class: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats, float]:
        """Return the points of a curve, by increasing x, and its area."""

    @classmethod
    @abstractmethod
    def _interpolate(cls, curve: ClassCurve) -> Floats:
        """Return heights of a curve on the grid."""

    @abstractmethod
    def _draw_chance(self, ax: Any) -> None:
        """Draw the curve of random scores."""

    def _figure_size(self) -> tuple[float, float]:
        names = self._names()
        n_lines = -(-len(names) // text.legend_columns(names, 330.0))
        return 5.0 if len(names) < 3 else 5.4, 4.75 + 0.18 * n_lines

    def _draw(self, ax: Any) -> Legend:
        self._draw_chance(ax)
        handles = []
        for curve, colour in self._colours():
            props = {"color": colour or style.FAINT, "linewidth": 1.8 if colour else 0.8}
            (line,) = ax.plot(curve.x, curve.y, drawstyle=self._drawstyle, zorder=3 if colour else 2, **props)
            handles += [line] if colour else []
        if self.mean is not None:
            props = {"color": style.INK, "linewidth": 2.0, "linestyle": (0, (4, 1.5)), "zorder": 4}
            x, y = self.mean.x, self.mean.y
            if self._drawstyle == "default":
                x, y = np.append(0.0, x), np.append(0.0, y)
            handles += ax.plot(x, y, drawstyle=self._drawstyle, **props)
        ax.set(xlim=(-0.015, 1.015), ylim=(-0.015, 1.015), aspect="equal")
        text.name_axes(ax, *self._axis_names)
        for axis in (ax.xaxis, ax.yaxis):
            text.percent_axis(axis)
        return handles, self._names()

    def _names(self) -> list[str]:
        """Legend texts; the name of the area is written once."""
        what = f"{self._area} " if self.mean is None else ""
        names = [
            f"{text.shorten(curve.name, 24)}: {what}{text.below_one(curve.area)}"
            for curve, colour in self._colours()
            if colour
        ]
        return names + ([] if self.mean is None else [f"mean {self._area} {text.below_one(self.mean.area)}"])

    def _colours(self) -> list[tuple[ClassCurve, str | None]]:
        """Return every curve with its colour; with more curves than colours, only the worst have a colour."""
        if len(self.curves) <= len(style.COLOURS):
            return list(zip(self.curves, style.COLOURS, strict=False))
        worst = np.argsort([curve.area for curve in self.curves], kind="stable")[:_N_NAMED].tolist()
        colours = dict(zip(worst, style.COLOURS, strict=False))
        return [(curve, colours.get(number)) for number, curve in enumerate(self.curves)]


class RocCurveDisplay(_CurveDisplay):
    """ROC curve: true positive rate against false positive rate.

    Make it with `from_estimator` or `from_predictions`. The positive class is the second of two. With more
    classes, each has a curve against the rest, and there is a mean of the curves. With more than seven
    classes, only the three of smallest area have colours and names.

    Parameters
    ----------
    curves : list of ClassCurve
    mean : ClassCurve or None
        The mean of several curves, and of their areas.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.curves[0].area
    0.75
    """

    _area = "AUC"
    _axis_names = ("False positive rate", "True positive rate")

    @classmethod
    def _compute(cls, is_class: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats, float]:
        x, y, _ = metrics.roc_curve(is_class, scores)
        return x, y, metrics.auc(x, y)

    @classmethod
    def _interpolate(cls, curve: ClassCurve) -> Floats:
        """Straight lines between the points; the highest of several points at one x."""
        last = np.append(np.diff(curve.x) > 0, True)
        return np.asarray(np.interp(_GRID, curve.x[last], curve.y[last]), dtype=np.float64)

    def _draw_chance(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], **style.DASHED)


class PrecisionRecallDisplay(_CurveDisplay):
    """Precision-recall curve; its area is the average precision.

    Make it with `from_estimator` or `from_predictions`; classes and parameters are as in `RocCurveDisplay`.

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(display.curves[0].area, 3)
    0.833
    """

    _area = "average precision"
    _axis_names = ("Recall", "Precision")
    _drawstyle = "steps-pre"  # as the average precision is computed

    @classmethod
    def _compute(cls, is_class: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats, float]:
        precision, recall, _ = metrics.precision_recall_curve(is_class, scores)
        x, y = recall[::-1], precision[::-1].copy()
        y[0] = y[1]  # scikit-learn starts with a precision of 1 at recall 0
        return x, y, metrics.average_precision_score(is_class, scores)

    @classmethod
    def _interpolate(cls, curve: ClassCurve) -> Floats:
        return curve.y[np.searchsorted(curve.x, _GRID)]

    def _draw_chance(self, ax: Any) -> None:
        """Draw the precision of random scores, which is the share of the class."""
        if len(self.curves) == 1:
            share = self.curves[0].share
            ax.axhline(share, label=f"chance level: {text.percent(share)}", **style.DASHED)


def _thin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Keep as many points of a curve as are visible, evenly along its length, with both ends."""
    if len(x) <= _MAX_POINTS:
        return x, y
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    kept = np.searchsorted(length, np.linspace(0.0, length[-1], _MAX_POINTS))
    kept = np.unique(np.concatenate([[0], kept, [len(x) - 1]]))
    return x[kept], y[kept]
