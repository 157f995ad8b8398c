"""Base classes of the displays.

A display is a dataclass that holds what it draws, so that `plot` can draw it again on other axes.
"""

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hedgerow._typing import Floats
from hedgerow.plots import labels, style

_PANEL_LETTERS = 24  # of tick labels that fit side by side below the numbers of a panel
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


class PanelContent(NamedTuple):
    """Titles of the panels, names of several outputs, and label and range of the common y axis."""

    titles: Sequence[str]
    output_names: Sequence[str]
    y_label: str
    limits: tuple[float, float]
    has_rotated_names: bool  # of categories, which take space below the panels


class FeatureDisplay(ABC):
    """A grid with one panel per feature on a common y axis, and one colour per output."""

    axes_: Any
    figure_: Any
    outputs: list[int]

    def plot(self, ax: Any = None, *, n_columns: int = 3) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : None, matplotlib Axes or a sequence of them
            None for a new figure, one Axes that is divided, or one per panel.
        n_columns : int
            Panels per row.
        """
        content = self._content()
        titles, names = content.titles, content.output_names
        height = 3.0 if content.has_rotated_names else 2.5
        size = (4.4, height + 0.6) if len(titles) == 1 else (3.0, height)
        low, high = content.limits
        margin = high - low or max(abs(high), 1e-3)
        limits = low - 0.12 * margin, high + 0.06 * margin  # space for deciles at the bottom
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
            panel.set_ylim(*limits)
            is_first, _ = style.is_outer(number, n_panels, n_columns)
            panel.tick_params(labelleft=is_first)
            if is_first and not is_new:
                panel.set_ylabel(content.y_label, **text)
        if is_new:
            height = 72 * self.figure_.get_figheight()
            lines = textwrap.wrap(content.y_label, max(12, int(0.9 * height / (0.53 * style.LABEL_SIZE))))
            self.figure_.supylabel("\n".join(lines), **text)
        if names:
            self._draw_legend([labels.shorten(name, 20) for name in names], is_new=is_new)
        return self

    @abstractmethod
    def _content(self) -> "PanelContent":
        """Return what all panels share."""

    @abstractmethod
    def _draw_panel(self, ax: Any, number: int) -> None:
        """Draw the panel of a feature."""

    def _colours(self) -> list[tuple[int, str]]:
        """Return the outputs to draw, each with its colour."""
        return list(zip(self.outputs, style.COLOURS, strict=False))

    def _draw_legend(self, names: Sequence[str], *, is_new: bool) -> None:
        """Draw a legend of the outputs: below the panels of a new figure, else in the first panel."""
        patch = style.mpl("patches").Patch
        handles = [patch(color=colour) for _, colour in self._colours()]
        props = {"frameon": False, "fontsize": style.TICK_SIZE, "labelcolor": style.INK}
        if is_new:  # 0.75: letters may be wider than on average
            n_columns = labels.legend_columns(names, 0.75 * 72 * self.figure_.get_figwidth())
            props |= {"loc": "outside lower center", "ncols": n_columns}
        (self.figure_ if is_new else self.axes_[0]).legend(handles, names, **props)

    @staticmethod
    def _draw_deciles(ax: Any, deciles: Floats) -> None:
        bottom = ax.get_xaxis_transform()
        ax.vlines(deciles, 0, 0.045, transform=bottom, color=style.INK, linewidth=0.9, zorder=4)

    def _draw_categories(
        self, ax: Any, values: Floats, names: list[str], missing: Floats | None, *, bars: bool
    ) -> None:
        """Draw values (outputs, names) as bars or dots, the outputs side by side; "missing" is the last."""
        if missing is not None:
            values, names = np.column_stack([values, missing]), [*names, "missing"]
        width = (0.72 if bars else 0.5) / len(self.outputs)
        for number, (output, colour) in enumerate(self._colours()):
            x = np.arange(len(names)) + (number - (len(self.outputs) - 1) / 2) * width
            if bars:
                ax.bar(x, values[output], width, color=colour, zorder=3)
            else:
                ax.plot(x, values[output], "o", color=colour, markersize=5.5, zorder=3)
        props: dict[str, Any] = {}
        if is_rotated(names):
            angle = 45 if len(names) <= 10 else 90
            props = {"rotation": angle, "ha": "right", "va": "center_baseline", "rotation_mode": "anchor"}
        ax.set_xticks(np.arange(len(names)), names, **props)
        ax.set_xlim(-0.6, len(names) - 0.4)

    def _draw_missing(self, ax: Any, heights: Floats, low: float, high: float) -> None:
        """Draw a diamond per output right of the numbers, over the tick label "missing"."""
        width = high - low or 1.0
        at = high + 0.12 * width
        for output, colour in self._colours():
            ax.plot([at], heights[[output]], marker="D", markersize=5.5, color=colour, zorder=4)
        ax.axvline(high + 0.05 * width, color=style.FAINT, linewidth=0.8, linestyle=(0, (2, 2)))
        ticks = labels.plain_ticks(3).tick_values(low, high)
        letter = width / _PANEL_LETTERS
        space = 0.5 * max(len(labels.format_tick(tick)) for tick in ticks) * letter
        # "missing" is seven letters wide
        numbers = [tick for tick in ticks if low <= tick <= at - 4 * letter - space]
        if len(numbers) > 1 and numbers[1] - numbers[0] < 2 * space + letter:
            numbers = numbers[::2]
        ax.set_xticks([*numbers, at], [*map(labels.format_tick, numbers), "missing"])
        ax.set_xlim(low - 0.03 * width, high + 0.2 * width)


def is_rotated(names: Sequence[str]) -> bool:
    """Return whether names are too long to be side by side below a panel.

    >>> is_rotated(["Rome", "Oslo"]), is_rotated(["a category of a column"] * 2)
    (False, True)
    """
    return sum(len(name) + 2 for name in names) > 36
