"""Prediction error of regressors: scikit-learn's display with residuals and their quantiles below."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.plots import inputs, labels, style
from hedgerow.theory.resamples import as_pair

_MAX_POINTS = 1000
_BINS, _MIN_ROWS = 12, 15  # for the quantiles of the residuals
_QUANTILES = (0.1, 0.5, 0.9)


class PredictedDisplay(metrics.PredictionErrorDisplay):  # type: ignore[misc]
    """Actual values against predicted values, and the residuals below.

    It has both plots of scikit-learn's PredictionErrorDisplay. The band of the residuals contains the middle
    80 % of the rows with similar predictions, and the line is their median. At most 1,000 rows are drawn as
    points. Make it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    y_true, y_pred : float64 arrays of shape (n_samples,)

    Examples
    --------
    >>> display = PredictedDisplay.from_predictions([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    >>> round(display.r2, 3), round(display.rmse, 3)
    (0.786, 0.577)
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the predictions of a regressor.

        Parameters
        ----------
        estimator : fitted regressor
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Test rows.
        ax : as in `plot`
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "classes_"):
            raise TypeError(f"{type(estimator).__name__} is a classifier: use ConfusionMatrixDisplay")
        as_pair((X, y), "the data")
        return cls.from_predictions(y, estimator.predict(X), ax=ax)

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, *, ax: Any = None) -> Self:
        """Draw actual against predicted values.

        Parameters
        ----------
        y_true, y_pred : arrays of shape (n_samples,)
        ax : as in `plot`
        """
        actual, predicted = _read(y_true, "y_true"), _read(y_pred, "y_pred")
        if len(actual) != len(predicted):
            raise ValueError(f"y_true has {len(actual)} rows, but y_pred has {len(predicted)}")
        return cls(y_true=actual, y_pred=predicted).plot(ax)

    @property
    def rmse(self) -> float:
        """The root mean squared error."""
        return float(metrics.root_mean_squared_error(self.y_true, self.y_pred))

    @property
    def r2(self) -> float:
        """The coefficient of determination; NaN if the actual values are constant."""
        variance = float(np.var(self.y_true))
        return 1.0 - self.rmse**2 / variance if variance else float("nan")

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : None, matplotlib Axes or two of them
            None for a new figure, one Axes that is divided, or one for each.
        """
        self.figure_, self.axes_, _ = style.panels(ax, 2, 1, (5.2, 2.8), heights=(2.4, 1.3))
        rows = inputs.sample_rows(len(self.y_true), _MAX_POINTS, 0)
        drawn = metrics.PredictionErrorDisplay(y_true=self.y_true[rows], y_pred=self.y_pred[rows])
        opacity = float(np.clip(6.0 / np.sqrt(len(rows)), 0.2, 0.8))
        points = {"color": style.BLUE, "alpha": opacity, "s": 13, "linewidths": 0, "zorder": 2}
        low, high = float(self.y_pred.min()), float(self.y_pred.max())
        margin = 0.03 * (high - low) or 0.5
        for panel, kind in zip(self.axes_, ("actual_vs_predicted", "residual_vs_predicted"), strict=True):
            drawn.plot(ax=panel, kind=kind, scatter_kwargs=points, line_kwargs=style.DASHED)
            style.style_axes(panel)
            panel.set_aspect("auto")
            panel.set_xlim(low - margin, high + margin)
            labels.plain_axis(panel.xaxis)
        self.ax_, below = self.axes_
        self._draw_quantiles(below)
        labels.plain_axis(self.ax_.yaxis)
        labels.plain_axis(below.yaxis, 4)
        self.ax_.tick_params(labelbottom=False)
        labels.name_axes(self.ax_, "", "Actual values")
        labels.name_axes(below, "Predicted values", "Residuals")
        rmse = labels.format_tick(float(f"{self.rmse:.4g}"))
        title = f"R² {labels.minus(f'{self.r2:.3f}')}, root mean squared error {rmse}"
        if len(rows) < len(self.y_true):
            title += f"\n{len(rows):,} of {len(self.y_true):,} rows drawn; the band is computed from all rows"
        self.ax_.set_title(title, fontsize=style.TICK_SIZE, color=style.INK, loc="left", linespacing=1.35)
        self.figure_.align_ylabels(list(self.axes_))
        return self

    def _draw_quantiles(self, ax: Any) -> None:
        """Draw quantiles of the residuals of rows with similar predictions."""
        n_bins = min(_BINS, len(self.y_true) // _MIN_ROWS)
        if n_bins < 2:
            return
        residuals = self.y_true - self.y_pred
        bins = np.array_split(np.argsort(self.y_pred, kind="stable"), n_bins)
        x = np.array([np.median(self.y_pred[rows]) for rows in bins])
        low, middle, high = np.array([np.quantile(residuals[rows], _QUANTILES) for rows in bins]).T
        ax.fill_between(x, low, high, color=style.VERMILLION, alpha=0.18, linewidth=0, zorder=3)
        ax.plot(x, middle, color=style.VERMILLION, linewidth=1.8, zorder=4)


def _read(values: ArrayLike, name: str) -> Floats:
    """Return finite numbers of one dimension."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} of shape {array.shape} is not allowed: it must be a list of numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values: it must hold finite numbers")
    return array
