"""Base classes of the displays.

A display is a dataclass that holds what it draws, so that `plot` can draw it again on other axes.
"""

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow._typing import Floats
from hedgerow.plots import labels, style

Legend = tuple[list[Any], list[str]]  # handles and names


class Display(ABC):
    """A display with one axes: a subclass draws on `ax_`."""

    ax_: Any
    figure_: Any
    _size: ClassVar[tuple[float, float]] = (6.0, 3.9)  # of a new figure, in inches
    _legend_shift = 0.0  # points

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        legend : bool
            Whether to draw the legend, if the display has one.
        """
        self.figure_, (self.ax_,), _ = style.panels(ax, 1, 1, self._figure_size())
        style.style_axes(self.ax_)
        entries = self._draw(self.ax_)
        if legend and entries is not None:
            labels.legend_below(self.ax_, *entries, self._legend_shift)
        return self

    def _figure_size(self) -> tuple[float, float]:
        return self._size

    @abstractmethod
    def _draw(self, ax: Any) -> Legend | None:
        """Draw; return legend entries beyond those of labelled artists, or None for no legend."""


class FeatureDisplay(ABC):
    """A grid with one panel per feature on a common y axis, and one colour per output."""

    axes_: Any
    figure_: Any
    outputs: list[int]

    def _plot_panels(
        self,
        ax: Any,
        titles: Sequence[str],
        n_columns: int,
        size: tuple[float, float],
        y: tuple[str, tuple[float, float]],
        names: Sequence[str],
    ) -> None:
        """Draw every panel with `_draw_panel`; `y` is the label and the limits of the y axis."""
        n_panels = len(titles)
        n_columns = style.even_columns(n_columns, n_panels)
        self.figure_, self.axes_, is_new = style.panels(
            ax, n_panels, n_columns, size, 0.4 if len(names) else 0.0
        )
        text = {"fontsize": style.LABEL_SIZE, "color": style.INK}
        for number, (panel, name) in enumerate(zip(self.axes_, titles, strict=True)):
            self._draw_panel(panel, number)
            style.style_axes(panel)
            title = labels.shorten(name, 31)
            letters = style.TITLE_SIZE if len(title) <= 25 else style.TICK_SIZE
            panel.set_title(title, fontsize=letters, color=style.INK, fontweight="bold", loc="left")
            panel.set_ylim(*y[1])
            is_first, _ = style.is_outer(number, n_panels, n_columns)
            panel.tick_params(labelleft=is_first)
            if is_first and not is_new:
                panel.set_ylabel(y[0], **text)
        if is_new:
            height = 72 * self.figure_.get_figheight()
            lines = textwrap.wrap(y[0], max(12, int(0.9 * height / (0.53 * style.LABEL_SIZE))))
            self.figure_.supylabel("\n".join(lines), **text)
        if names:
            self._draw_legend([labels.shorten(name, 20) for name in names], is_new=is_new)

    @abstractmethod
    def _draw_panel(self, ax: Any, number: int) -> None:
        """Draw the panel of a feature."""

    def _colours(self) -> list[tuple[int, str]]:
        """The outputs to draw, each with its colour."""
        return list(zip(self.outputs, style.COLOURS, strict=False))

    def _draw_legend(self, names: Sequence[str], *, is_new: bool) -> None:
        """Draw a legend of the outputs: below the panels of a new figure, else in the first panel."""
        patch = style.mpl("patches").Patch
        handles = [patch(color=colour) for _, colour in self._colours()]
        look = {"frameon": False, "fontsize": style.TICK_SIZE, "labelcolor": style.INK}
        if is_new:  # 0.75: letters may be wider than on average
            n_columns = labels.legend_columns(names, 0.75 * 72 * self.figure_.get_figwidth())
            look |= {"loc": "outside lower center", "ncols": n_columns}
        (self.figure_ if is_new else self.axes_[0]).legend(handles, names, **look)

    @staticmethod
    def _draw_deciles(ax: Any, deciles: Floats) -> None:
        bottom = ax.get_xaxis_transform()
        ax.vlines(deciles, 0, 0.045, transform=bottom, color=style.INK, linewidth=0.9, zorder=4)

    def _draw_missing(self, ax: Any, heights: Floats, low: float, high: float) -> None:
        """Draw a diamond per output right of the numbers, over the tick label "missing"."""
        width = high - low or 1.0
        at = high + 0.12 * width
        for output, colour in self._colours():
            ax.plot([at], heights[[output]], marker="D", markersize=5.5, color=colour, zorder=4)
        ax.axvline(high + 0.05 * width, color=style.FAINT, linewidth=0.8, linestyle=(0, (2, 2)))
        ticks = labels.plain_ticks(3).tick_values(low, high)
        numbers = [tick for tick in ticks if low <= tick <= high - 0.16 * width]  # "missing" is wide
        ax.set_xticks([*numbers, at], [*map(labels.format_tick, numbers), "missing"])
        ax.set_xlim(low - 0.03 * width, high + 0.2 * width)


def padded_limits(low: float, high: float) -> tuple[float, float]:
    """Limits of a y axis with space for deciles at the bottom.

    >>> padded_limits(0.0, 1.0)
    (-0.12, 1.06)
    """
    height = high - low or max(abs(high), 1e-3)
    return low - 0.12 * height, high + 0.06 * height


def category_ticks(ax: Any, names: Sequence[str]) -> None:
    """Name the positions 0, 1, ... of the x axis, rotated if they are too long."""
    look: dict[str, Any] = {}
    if is_rotated(names):
        angle = 45 if len(names) <= 10 else 90
        look = {"rotation": angle, "ha": "right", "va": "center_baseline", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(len(names)), names, **look)
    ax.set_xlim(-0.6, len(names) - 0.4)


def is_rotated(names: Sequence[str]) -> bool:
    """Whether names are too long to be side by side below a panel.

    >>> is_rotated(["Rome", "Oslo"]), is_rotated(["a category of a column"] * 2)
    (False, True)
    """
    return sum(len(name) + 2 for name in names) > 36
