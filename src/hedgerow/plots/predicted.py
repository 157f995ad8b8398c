"""Predictions of a regression against the truth, and what is left over."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.plots import columns, labels, style
from hedgerow.theory.resamples import as_pair

_MOST_POINTS = 1000
_BINS = 12  # of the residuals' quantiles
_BAND = (0.1, 0.5, 0.9)


@dataclass(eq=False)
class PredictedDisplay:
    """True values against predicted ones, and the residuals (truth less prediction) below them.

    Make it with `from_estimator` or `from_predictions`; the parameters are what it draws. The band of the
    residuals holds the middle 80 % of all rows with about the same prediction, the line is their median. Of
    many rows, 1,000 are drawn as points.

    Parameters
    ----------
    truth, predicted : float64 arrays of shape (n_samples,)

    Attributes
    ----------
    r2, rmse : float
    axes_ : array of two matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = PredictedDisplay.from_predictions([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    >>> round(display.r2, 3), round(display.rmse, 3)
    (0.786, 0.577)
    """

    truth: Floats
    predicted: Floats

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Let a model predict some rows, and draw what came of it.

        Parameters
        ----------
        model : fitted regressor
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Rows that it was not trained on, as a rule.
        ax
            As in `plot`.

        Returns
        -------
        PredictedDisplay
        """
        check_is_fitted(model)
        if hasattr(model, "classes_"):
            raise TypeError(f"{type(model).__name__} predicts classes: ConfusionMatrixDisplay draws those")
        as_pair((X, y), "the data")
        return cls.from_predictions(y, model.predict(X), ax=ax)

    @classmethod
    def from_predictions(cls, y: ArrayLike, predicted: ArrayLike, *, ax: Any = None) -> Self:
        """Draw true values against predicted ones.

        Parameters
        ----------
        y, predicted : arrays of shape (n_samples,)
        ax
            As in `plot`.

        Returns
        -------
        PredictedDisplay
        """
        return cls(_read(y, "y"), _read(predicted, "predicted")).plot(ax)

    def __post_init__(self) -> None:
        if len(self.truth) != len(self.predicted):
            raise ValueError(
                f"y has {len(self.truth)} rows, but predicted has {len(self.predicted)}; they must be equal"
            )

    @property
    def rmse(self) -> float:
        """The root of the mean squared residual."""
        return float(np.sqrt(np.mean((self.truth - self.predicted) ** 2)))

    @property
    def r2(self) -> float:
        """The share of the variance that the predictions explain; NaN if the truth is constant."""
        variance = float(np.var(self.truth))
        return 1.0 - self.rmse**2 / variance if variance else float("nan")

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : None, matplotlib Axes or two of them
            None for a new figure, one Axes whose place is divided, or one for each.

        Returns
        -------
        self
        """
        self.figure_, self.axes_ = style.stacked(ax, (2.4, 1.3), (5.2, 5.6))
        self.ax_, below = self.axes_
        rows = columns.sample_rows(len(self.truth), _MOST_POINTS, 0)
        opacity = float(np.clip(6.0 / np.sqrt(len(rows)), 0.2, 0.8))
        points = {"color": style.BLUE, "alpha": opacity, "markersize": 3.6, "markeredgewidth": 0, "zorder": 2}
        line = {"color": style.FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
        predicted, truth = self.predicted[rows], self.truth[rows]
        self.ax_.plot(predicted, truth, "o", **points)
        low, high = float(self.predicted.min()), float(self.predicted.max())
        self.ax_.plot([low, high], [low, high], **line)
        below.plot(predicted, truth - predicted, "o", **points)
        below.axhline(0, **line)
        self._draw_band(below)
        for panel in self.axes_:
            style.dress(panel)
            labels.plain_axis(panel.xaxis)
            margin = 0.03 * (high - low) or 0.5
            panel.set_xlim(low - margin, high + margin)
        labels.plain_axis(self.ax_.yaxis)
        labels.plain_axis(below.yaxis, 4)
        self.ax_.tick_params(labelbottom=False)
        labels.name_axes(self.ax_, "", "true value")
        labels.name_axes(below, "predicted value", "truth − prediction")
        rmse = labels.figure(float(f"{self.rmse:.4g}"))
        words = f"R² {labels.minus(f'{self.r2:.3f}')}, root mean squared error {rmse}"
        if len(rows) < len(self.truth):
            words += f"\n{len(rows):,} of {len(self.truth):,} rows drawn; the band is of all"
        self.ax_.set_title(words, fontsize=style.TICK_SIZE, color=style.INK, loc="left", linespacing=1.35)
        self.figure_.align_ylabels(list(self.axes_))
        return self

    def _draw_band(self, ax: Any) -> None:
        """Quantiles of the residuals of rows with about the same prediction; needs some rows a bin."""
        n_bins = min(_BINS, len(self.truth) // 15)
        if n_bins < 2:
            return
        order = np.argsort(self.predicted, kind="stable")
        residuals = self.truth - self.predicted
        parts = np.array_split(order, n_bins)
        at = np.array([np.median(self.predicted[part]) for part in parts])
        low, middle, high = np.array([np.quantile(residuals[part], _BAND) for part in parts]).T
        ax.fill_between(at, low, high, color=style.VERMILLION, alpha=0.18, linewidth=0, zorder=3)
        ax.plot(at, middle, color=style.VERMILLION, linewidth=1.8, zorder=4)


def _read(values: ArrayLike, name: str) -> Floats:
    """Finite numbers of one dimension."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if found.ndim != 1 or not found.size:
        raise ValueError(f"{name} of shape {found.shape} is not allowed: it must be a list of numbers")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds NaN or infinite values: it must hold finite numbers")
    return found
