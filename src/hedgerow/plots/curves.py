"""Lines of several methods over one quantity, with bands: accuracy against learners, shrinkage or noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag
from hedgerow.plots import labels, style

_SHARES = ("accuracy", "error", "share")  # words in a label that mean shares


@dataclass(eq=False)
class CurvesDisplay:
    """Lines over one quantity, each named at its right end, with a band where a spread is known.

    Make it with `from_values`; the parameters are what it draws.

    Parameters
    ----------
    x : float64 array of shape (points,)
    curves : dict of (mean, spread)
        By name; each a float64 array of shape (points,), the spread perhaps None. NaN is not drawn.
    x_label, y_label : str
    log_x : bool
        Whether the x axis is logarithmic.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> found = {"AdaBoost": ([0.81, 0.9, 0.93], [0.02, 0.01, 0.01]), "forest": ([0.85, 0.9, 0.91], None)}
    >>> display = CurvesDisplay.from_values(
    ...     [1, 10, 100], found, x_label="learners", y_label="accuracy", log_x=True
    ... )
    >>> display.curves["forest"][0]
    array([0.85, 0.9 , 0.91])
    """

    x: Floats
    curves: dict[str, tuple[Floats, Floats | None]]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False

    @classmethod
    def from_values(
        cls,
        x: ArrayLike,
        curves: Mapping[str, tuple[ArrayLike, ArrayLike | None]],
        *,
        x_label: str = "",
        y_label: str = "",
        log_x: bool = False,
        ax: Any = None,
    ) -> Self:
        """Check the numbers, and draw them.

        Parameters
        ----------
        x : array of shape (points,)
            Increasing.
        curves : dict of (mean, spread)
            By name, seven at the most.
        x_label, y_label, log_x
            As in the class. A label that speaks of accuracy, an error or a share gives per cent.
        ax
            As in `plot`.

        Returns
        -------
        CurvesDisplay
        """
        check_parameters({"log_x": log_x}, {"log_x": flag()})
        places = np.asarray(x, dtype=np.float64)
        if places.ndim != 1 or not places.size or not np.all(np.diff(places) > 0):
            raise ValueError(f"x of shape {places.shape} is not allowed: it must be increasing numbers")
        if log_x and places[0] <= 0:
            raise ValueError(
                f"x begins with {places[0]:g}, which is not allowed: log_x needs numbers above 0"
            )
        if not 0 < len(curves) <= len(style.COLOURS):
            raise ValueError(
                f"{len(curves)} curves are not allowed: there must be 1 to {len(style.COLOURS)}, one a colour"
            )
        read = {name: _read(name, pair, len(places)) for name, pair in curves.items()}
        return cls(places, read, x_label, y_label, log_x).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.

        Returns
        -------
        self
        """
        self.figure_, axes, _ = style.panels(ax, 1, 1, (6.4, 4.0))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        marker = {"marker": "o", "markersize": 4} if len(self.x) <= 12 else {}
        for (mean, spread), colour in zip(self.curves.values(), style.COLOURS, strict=False):
            known = np.isfinite(mean)
            self.ax_.plot(
                self.x[known], mean[known], color=colour, linewidth=1.8, zorder=3, clip_on=False, **marker
            )
            if spread is not None:
                band = {"color": colour, "alpha": 0.13, "linewidth": 0, "zorder": 2}
                near = np.nan_to_num(spread[known])
                self.ax_.fill_between(self.x[known], mean[known] - near, mean[known] + near, **band)
        self._set_axes()
        names = [labels.short(name, 28) for name in self.curves]
        ends = np.array([mean[np.isfinite(mean)][-1] for mean, _ in self.curves.values()])
        labels.end_labels(self.ax_, ends, names, list(style.COLOURS[: len(names)]))
        labels.name_axes(self.ax_, self.x_label, self.y_label)
        return self

    def _set_axes(self) -> None:
        if self.log_x and len(self.x) > 1:
            self.ax_.set_xscale("log")
            labels.plain_log_ticks(self.ax_.xaxis, float(self.x[0]), float(self.x[-1]))
        else:
            self._write_ticks(self.ax_.xaxis, self.x_label)
        if len(self.x) > 1:
            self.ax_.set_xlim(self.x[0], self.x[-1])
        self._write_ticks(self.ax_.yaxis, self.y_label)

    def _write_ticks(self, axis: Any, label: str) -> None:
        is_share = any(word in label for word in _SHARES)
        (labels.percent_axis if is_share else labels.plain_axis)(axis)


def _read(name: str, pair: Any, n_points: int) -> tuple[Floats, Floats | None]:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"curve {name!r} must be a pair of means and spreads, the latter perhaps None")
    mean = np.asarray(pair[0], dtype=np.float64)
    spread = None if pair[1] is None else np.asarray(pair[1], dtype=np.float64)
    for what, values in (("means", mean), ("spreads", spread)):
        if values is not None and values.shape != (n_points,):
            raise ValueError(f"curve {name!r} has {what} of shape {values.shape}: x has {n_points} points")
    if not np.isfinite(mean).any():
        raise ValueError(f"curve {name!r} holds no number: there is nothing to draw")
    return mean, spread
