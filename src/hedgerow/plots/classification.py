"""Confusion matrix and calibration curve: scikit-learn's with shares, intervals and several classes."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import calibration, metrics

from hedgerow._typing import Floats, Integers
from hedgerow.estimators.parameters import check_parameters, integer
from hedgerow.plots import labels as text
from hedgerow.plots import style
from hedgerow.plots.inputs import predict_proba, read_predictions, read_rows
from hedgerow.theory.deviations import clopper_pearson

_MAX_CLASSES_WITH_TEXT = 12
_MAX_NAME = 18  # letters of a class name
# Opacity of a cell that holds its whole row, without and with text: dark text has a contrast of at least
# 4.5:1 on any cell, and so has light text on a dark page.
_OPACITY, _OPACITY_BEHIND_TEXT = 0.85, 0.55
_CELL_WIDTH = 0.95  # leaves a gap between cells
_KEY_SHARES = (0.0, 0.01, 0.05, 0.25, 0.5, 1.0)
_HISTOGRAM_BINS = 20


class ConfusionMatrixDisplay(metrics.ConfusionMatrixDisplay):  # type: ignore[misc]
    """Confusion matrix with counts and shares of the true class.

    scikit-learn's display with other cells: correct predictions are blue and errors vermillion, and the
    opacity grows with the root of the share of the row, so that rare errors are visible. Up to 12 classes
    have counts and shares in the cells. Make it with `from_estimator(estimator, X, y)` or
    `from_predictions(y_true, y_pred, labels=None)`.

    Parameters
    ----------
    confusion_matrix : array of shape (n_classes, n_classes)
    display_labels : array of shape (n_classes,), optional

    Examples
    --------
    >>> display = ConfusionMatrixDisplay.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> display.confusion_matrix
    array([[1, 1],
           [0, 2]])
    >>> display.shares[0]
    array([0.5, 0.5])
    """

    @property
    def shares(self) -> Floats:
        """Counts over the rows of the true class, (n_classes, n_classes); 0 for classes without rows."""
        totals = self.confusion_matrix.sum(axis=1, keepdims=True)
        return np.asarray(self.confusion_matrix / np.where(totals > 0, totals, 1))

    def plot(self, ax: Any = None, *, include_values: bool = True, **options: Any) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        include_values : bool
            Whether to write counts and shares into the cells of up to 12 classes.
        **options
            `text_kw` of scikit-learn's display; its other options do not apply.
        """
        n_classes = len(self.confusion_matrix)
        shown = range(n_classes) if self.display_labels is None else self.display_labels
        names = [text.shorten(style.format_label(name), _MAX_NAME) for name in shown]
        has_text = include_values and n_classes <= _MAX_CLASSES_WITH_TEXT
        side = max(2.4, 0.62 * n_classes) if has_text else 5.6  # inches
        cell = 72 * side / n_classes  # points
        width = 0.57 * style.TICK_SIZE * max(map(len, names))
        is_rotated = width > cell and max(map(len, names)) > 4
        left, bottom = (40 + width) / 72, (50 + (0.7 * width if is_rotated else 0)) / 72
        size = (side + left + (0.2 if has_text else 1.2), side + bottom)
        self.figure_, (panel,), _ = style.panels(ax, 1, 1, size)
        letters = style.TICK_SIZE + (1.0 if n_classes <= 5 else -0.5 if n_classes <= 9 else -1.5)
        props = {"fontsize": letters, "linespacing": 1.25} | (options.get("text_kw") or {})
        super().plot(include_values=has_text, ax=panel, colorbar=False, text_kw=props)
        self.im_.remove()  # replaced by rectangles, whose colours a dark page can change
        self._draw_cells(has_text)
        # a rotated name takes 15 points of the axis, a horizontal one its width
        step = 1 if has_text else max(1, math.ceil((15.0 if is_rotated else max(width + 4, 12.0)) / cell))
        self._name_classes(names, step, is_rotated=is_rotated)
        if not has_text:
            _draw_key(self.ax_)
        return self

    def _draw_cells(self, has_text: bool) -> None:
        rectangle = style.mpl("patches").Rectangle
        width = _CELL_WIDTH if has_text else 1.0
        counts, shares = self.confusion_matrix, self.shares
        for true, predicted in np.ndindex(*counts.shape):
            count, share = counts[true, predicted], float(shares[true, predicted])
            if not (has_text or count):
                continue
            colour = style.BLUE if true == predicted else style.VERMILLION
            opacity = _opacity(share, _OPACITY_BEHIND_TEXT if has_text else _OPACITY)
            corner = (predicted - width / 2, true - width / 2)
            props = {"facecolor": colour, "alpha": opacity, "linewidth": 0}
            self.ax_.add_patch(rectangle(corner, width, width, **props))
            if has_text:
                number = f"{count:,}" if counts.dtype.kind in "iu" else f"{count:.3g}"
                content = f"{number}\n{text.share(share, 0)}" if count else "0"
                self.text_[true, predicted].set(text=content, color=style.INK if count else style.SOFT)

    def _name_classes(self, names: list[str], step: int, *, is_rotated: bool) -> None:
        style.style_axes(self.ax_)
        for spine in self.ax_.spines.values():
            spine.set(visible=self.text_ is None, color=style.FAINT)
        self.ax_.tick_params(length=0 if self.text_ is not None else 2)
        positions = list(range(0, len(names), step))
        props = {"rotation": 45, "ha": "right", "va": "center_baseline", "rotation_mode": "anchor"}
        self.ax_.set_xticks(positions, names[::step], **(props if is_rotated else {}))
        self.ax_.set_yticks(positions, names[::step])
        text.name_axes(self.ax_, "Predicted label", "True label")


def _opacity(share: float, full: float = _OPACITY) -> float:
    return max(full * math.sqrt(share), 0.04)


def _draw_key(ax: Any) -> None:
    """Draw a key of the opacities at the right: shares of a row, of correct predictions and errors."""
    key = ax.inset_axes((1.03, 0.25, 0.09, 0.5))
    rectangle = style.mpl("patches").Rectangle
    for level, share in enumerate(_KEY_SHARES):
        for column, colour in enumerate((style.BLUE, style.VERMILLION)):
            props = {"facecolor": colour, "alpha": _opacity(share), "linewidth": 0}
            key.add_patch(rectangle((column + 0.04, level + 0.04), 0.92, 0.92, **props))
    key.set(xlim=(0, 2), ylim=(0, len(_KEY_SHARES)))
    for spine in key.spines.values():
        spine.set_visible(False)
    key.yaxis.tick_right()
    key.tick_params(length=0, labelsize=style.TICK_SIZE, labelcolor=style.INK)
    key.set_yticks(np.arange(len(_KEY_SHARES)) + 0.5, [text.percent(share) for share in _KEY_SHARES])
    key.set_xticks([0.5, 1.5], ["correct", "error"], rotation=90)
    key.set_title("of the row", fontsize=style.TICK_SIZE, color=style.INK, loc="left")


class CalibrationDisplay(calibration.CalibrationDisplay):  # type: ignore[misc]
    """Calibration curve with exact intervals, and a histogram of the predicted probabilities below.

    scikit-learn's display for two classes and more; make it with `from_estimator` or `from_predictions`. For
    two classes the probability is that of the second. For more it is that of the predicted class, and the
    curve shows the fraction of correct predictions. Bins have about equal counts. Error bars are 95 %
    intervals of Clopper and Pearson.

    Parameters
    ----------
    prob_true, prob_pred : float64 arrays of shape (bins,)
        Fraction of positives and mean probability.
    y_prob : float64 array of shape (n_samples,)
    n_rows : int64 array of shape (bins,)
    pos_label : class label or None
        None for the predicted class.
    brier : float or None
        The Brier score, of two classes.

    Attributes
    ----------
    low, high : float64 arrays of shape (bins,)
        Ends of the intervals.

    Examples
    --------
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.1, 0.6, 0.8], n_bins=2)
    >>> display.prob_pred.round(2), display.prob_true, round(display.calibration_error, 2)
    (array([0.1, 0.7]), array([0., 1.]), 0.2)
    """

    def __init__(
        self,
        prob_true: Floats,
        prob_pred: Floats,
        y_prob: Floats,
        *,
        n_rows: NDArray[np.int64],
        pos_label: Any = None,
        brier: float | None = None,
    ) -> None:
        super().__init__(prob_true, prob_pred, y_prob, pos_label=pos_label)
        self.n_rows, self.brier = n_rows, brier
        hits = np.rint(prob_true * n_rows).astype(np.int64)
        ends = [clopper_pearson(k, n) for k, n in zip(hits.tolist(), n_rows.tolist(), strict=True)]
        self.low, self.high = np.array(ends).T

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> Self:
        """Draw the calibration curve of a classifier.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier with `predict_proba`.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Test rows.
        n_bins : int
            Largest number of bins; rows with equal probabilities are in one bin.
        ax : as in `plot`
        """
        classes, codes = read_rows(estimator, X, y)
        return cls._make(predict_proba(estimator, X), codes, classes, n_bins).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        labels: Sequence[Any] | None = None,
        n_bins: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the calibration curve of predicted probabilities.

        `y_prob` are those of the second of two classes, or of all classes; `n_bins` and `ax` are as in
        `from_estimator`, and the others as in `RocCurveDisplay.from_predictions`.
        """
        classes, codes, probabilities = read_predictions(y_true, y_prob, labels)
        if probabilities.min() < 0 or probabilities.max() > 1:
            raise ValueError(
                f"probabilities from {probabilities.min():.4g} to {probabilities.max():.4g} are not allowed: "
                "they must be from 0 to 1"
            )
        return cls._make(probabilities, codes, classes, n_bins).plot(ax)

    @classmethod
    def _make(cls, probabilities: Floats, codes: Integers, classes: list[Any], n_bins: int) -> Self:
        check_parameters({"n_bins": n_bins}, {"n_bins": integer(1, 1000)})
        is_binary = len(classes) == 2
        y_prob = probabilities[:, 1] if is_binary else probabilities.max(axis=1)
        is_positive = codes == (1 if is_binary else probabilities.argmax(axis=1))
        bins = _equal_counts(y_prob, n_bins)
        n_rows = np.bincount(bins).astype(np.int64)
        return cls(
            np.bincount(bins, weights=is_positive) / n_rows,
            np.bincount(bins, weights=y_prob) / n_rows,
            y_prob,
            n_rows=n_rows,
            pos_label=classes[1] if is_binary else None,
            brier=float(np.mean((y_prob - is_positive) ** 2)) if is_binary else None,
        )

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: mean distance of the bins from the diagonal, weighted by rows."""
        return float(np.average(np.abs(self.prob_pred - self.prob_true), weights=self.n_rows))

    def plot(self, ax: Any = None) -> Self:
        """Draw curve and histogram.

        Parameters
        ----------
        ax : None, matplotlib Axes or two of them
            None for a new figure, one Axes that is divided, or one for each.
        """
        self.figure_, self.axes_, _ = style.panels(ax, 2, 1, (5.2, 2.6), heights=(3.2, 1.0))
        upper, below = self.axes_
        super().plot(ax=upper, color=style.BLUE, marker="o", markersize=5, linewidth=1.6, zorder=3)
        upper.lines[0].set(**style.DASHED)
        upper.legend(frameon=False, fontsize=style.TICK_SIZE, labelcolor=style.INK, loc="upper left")
        ends = np.maximum([self.prob_true - self.low, self.high - self.prob_true], 0)
        props = {"fmt": "none", "color": style.BLUE, "elinewidth": 1.1, "capsize": 2.5, "zorder": 3}
        upper.errorbar(self.prob_pred, self.prob_true, ends, **props)
        props = {"bins": _HISTOGRAM_BINS, "range": (0.0, 1.0), "color": style.BLUE, "alpha": 0.45}
        below.hist(self.y_prob, rwidth=0.92, **props)
        for panel in self.axes_:
            style.style_axes(panel)
            panel.set_xlim(-0.02, 1.02)
            text.percent_axis(panel.xaxis)
        upper.set_ylim(-0.02, 1.02)
        text.percent_axis(upper.yaxis)
        text.plain_axis(below.yaxis, 3)
        upper.tick_params(labelbottom=False)
        class_name, outcome = "predicted class", "Fraction correct"
        if self.pos_label is not None:
            class_name = f"positive class: {text.shorten(style.format_label(self.pos_label), 24)}"
            outcome = "Fraction of positives"
        text.name_axes(upper, "", outcome)
        text.name_axes(below, f"Predicted probability ({class_name})", "Count")
        title = f"calibration error {text.percent(self.calibration_error)}"
        title += "" if self.brier is None else f", Brier score {self.brier:.3f}"
        upper.set_title(title, fontsize=style.TICK_SIZE, color=style.INK, loc="left")
        return self


def _equal_counts(values: Floats, n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each value: bins have about equal counts, none is empty, equal values are together.

    >>> _equal_counts(np.array([0.1, 0.1, 0.1, 0.4, 0.9]), 2)
    array([0, 0, 0, 1, 1])
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # rank of the middle row of each distinct value
    bins = np.floor(middle * n_bins / len(values))[which]
    return np.unique(bins, return_inverse=True)[1]
