"""Confusion matrix: how many rows of each class were called what."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.plots import classes as of_classes
from hedgerow.plots import labels, style

_MOST_WORDS = 12  # classes up to which every cell says its figures
_LONGEST = 18  # letters of a class name
# Opacity of a cell that holds its whole row, in a picture without words and in one with: dark words have a
# contrast of 4.5:1 at least on any cell, and so have light ones when the page is dark.
_FULL, _FULL_BEHIND_WORDS = 0.85, 0.55
_FACE = 0.95  # width of a cell; the paper shows between cells
_SCALE = (0.0, 0.01, 0.05, 0.25, 0.5, 1.0)  # shares in the key of the shades


@dataclass(eq=False)
class ConfusionMatrixDisplay:
    """How many rows of each class a classifier called what.

    Make it with `from_estimator` or `from_predictions`; the parameters are what it draws. Cells are shaded by
    their share of the row, right ones blue and wrong ones vermillion; the opacity grows with the root of the
    share, so that rare errors are seen. Up to 12 classes have their figures in the cells.

    Parameters
    ----------
    counts : int64 array of shape (n_classes, n_classes)
        Rows of a true class (down) called a class (across).
    classes : list of str

    Attributes
    ----------
    shares : float64 array of shape (n_classes, n_classes)
        Counts over the rows of the true class; 0 for classes without rows.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = ConfusionMatrixDisplay.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> display.counts
    array([[1, 1],
           [0, 2]])
    >>> display.shares[0]
    array([0.5, 0.5])
    """

    counts: NDArray[np.int64]
    classes: list[str]

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Let a model classify some rows, and draw what came of it.

        Parameters
        ----------
        model : fitted classifier
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Rows that it was not trained on, as a rule.
        ax
            As in `plot`.

        Returns
        -------
        ConfusionMatrixDisplay
        """
        known, true = of_classes.read_rows(model, X, y)
        called = of_classes.read_labels(model.predict(X), known, "what the model predicts")
        return cls(_count(true, called, len(known)), [style.label(name) for name in known]).plot(ax)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, predicted: ArrayLike, *, classes: Sequence[Any] | None = None, ax: Any = None
    ) -> Self:
        """Draw labels against what was predicted for them.

        Parameters
        ----------
        y, predicted : arrays of shape (n_samples,)
        classes : sequence, optional
            All classes in order; None for those that occur.
        ax
            As in `plot`.

        Returns
        -------
        ConfusionMatrixDisplay
        """
        known = of_classes.classes_in(y, predicted) if classes is None else list(classes)
        true, called = of_classes.read_labels(y, known), of_classes.read_labels(predicted, known, "predicted")
        if len(true) != len(called):
            raise ValueError(f"y has {len(true)} rows, but predicted has {len(called)}; they must be equal")
        return cls(_count(true, called, len(known)), [style.label(name) for name in known]).plot(ax)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Counts over the rows of the true class."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    def plot(self, ax: Any = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.

        Returns
        -------
        self
        """
        n_classes = len(self.classes)
        says_figures = n_classes <= _MOST_WORDS
        side = max(2.4, 0.62 * n_classes) if says_figures else 5.6  # inches
        names = [labels.short(name, _LONGEST) for name in self.classes]
        cell = 72 * side / n_classes  # points
        width = 0.57 * style.TICK_SIZE * max(map(len, names))  # of the longest name
        is_slanted = width > cell and max(map(len, names)) > 4
        left, below = (40 + width) / 72, (50 + (0.7 * width if is_slanted else 0)) / 72
        size = (side + left + (0.2 if says_figures else 1.2), side + below)
        self.figure_, axes, _ = style.panels(ax, 1, 1, size)
        self.ax_ = axes[0]
        self._draw_cells(says_figures=says_figures)
        # a slanted line of text takes 15 points of the axis, an upright one its width
        wanted = 15.0 if is_slanted else max(width + 4, 12.0)
        self._name(names, max(1, math.ceil(wanted / cell)) if not says_figures else 1, is_slanted=is_slanted)
        if not says_figures:
            _draw_key(self.ax_)
        return self

    def _draw_cells(self, *, says_figures: bool) -> None:
        n_classes = len(self.classes)
        patches = style.part("patches")
        face = _FACE if says_figures else 1.0
        size = style.TICK_SIZE + (1.0 if n_classes <= 5 else -0.5 if n_classes <= 9 else -1.5)
        for true, called in np.ndindex(n_classes, n_classes):
            count, share = int(self.counts[true, called]), float(self.shares[true, called])
            if not (says_figures or count):
                continue  # a picture of many classes is mostly paper
            opacity = _opacity(share, _FULL_BEHIND_WORDS if says_figures else _FULL)
            colour = style.BLUE if true == called else style.VERMILLION
            corner = (called - face / 2, true - face / 2)
            look = {"facecolor": colour, "alpha": max(opacity, 0.04), "linewidth": 0}
            self.ax_.add_patch(patches.Rectangle(corner, face, face, **look))
            if says_figures:
                ink = style.INK if count else style.SOFT
                words = f"{count:,}\n{_share(share)}" if count else "0"
                self.ax_.text(
                    called, true, words, ha="center", va="center", fontsize=size, color=ink, linespacing=1.25
                )
        self.ax_.set(xlim=(-0.5, n_classes - 0.5), ylim=(n_classes - 0.5, -0.5), aspect="equal")

    def _name(self, names: list[str], step: int, *, is_slanted: bool) -> None:
        """Names of every so many classes."""
        style.dress(self.ax_)
        for spine in self.ax_.spines.values():
            spine.set_visible(len(names) > _MOST_WORDS)
            spine.set_color(style.FAINT)
        self.ax_.tick_params(length=0 if len(names) <= _MOST_WORDS else 2)
        places = list(range(0, len(names), step))
        shown = [names[place] for place in places]
        look = {"rotation": 45, "ha": "right", "va": "center_baseline", "rotation_mode": "anchor"}
        self.ax_.set_xticks(places, shown, **(look if is_slanted else {}))
        self.ax_.set_yticks(places, shown)
        labels.name_axes(self.ax_, "called", "truly")


def _count(true: NDArray[np.int64], called: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    flat = np.bincount(true * n_classes + called, minlength=n_classes * n_classes)
    return flat.reshape(n_classes, n_classes).astype(np.int64)


def _opacity(share: float, full: float = _FULL) -> float:
    return float(full * np.sqrt(share))


def _share(share: float) -> str:
    """A share in whole per cent; what is small, and what is nearly all, is not rounded away.

    >>> [_share(share) for share in (0.004, 0.9, 0.996, 1.0)]
    ['< 1 %', '90 %', '> 99 %', '100 %']
    """
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def _draw_key(ax: Any) -> None:
    """A key of the shades at the right: what share of a row, right and wrong."""
    key = ax.inset_axes((1.03, 0.25, 0.09, 0.5))
    patches = style.part("patches")
    for level, share in enumerate(_SCALE):
        for column, colour in enumerate((style.BLUE, style.VERMILLION)):
            look = {"facecolor": colour, "alpha": max(_opacity(share), 0.04), "linewidth": 0}
            key.add_patch(patches.Rectangle((column + 0.04, level + 0.04), 0.92, 0.92, **look))
    key.set(xlim=(0, 2), ylim=(0, len(_SCALE)))
    for spine in key.spines.values():
        spine.set_visible(False)
    key.yaxis.tick_right()
    key.tick_params(length=0, labelsize=style.TICK_SIZE, labelcolor=style.INK)
    key.set_yticks(np.arange(len(_SCALE)) + 0.5, [labels.percent(share) for share in _SCALE])
    key.set_xticks([0.5, 1.5], ["right", "wrong"], rotation=90)
    key.set_title("of the row", fontsize=style.TICK_SIZE, color=style.INK, loc="left")
