"""What all pictures share: matplotlib, the colours, and a grid of panels."""

import importlib
from typing import Any

import numpy as np

BLUE, VERMILLION = "#0072B2", "#D55E00"
# Okabe and Ito (2008): distinguishable with any kind of colour blindness; their yellow is too pale for lines
COLOURS = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, FAINT = "#333333", "#9A9A9A"  # of text and outlines, and of what stands back
SOFT = "#5A626C"  # of text that stands back: 6:1 on white

TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.5, 9.5, 8.5


def part(name: str) -> Any:
    """A module of matplotlib, imported when something is drawn."""
    try:
        return importlib.import_module(f"matplotlib.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError("plots need matplotlib, which is not installed: pip install matplotlib") from error


def panels(
    ax: Any, n_panels: int, n_columns: int, panel_size: tuple[float, float], legend: float = 0.0
) -> tuple[Any, Any, bool]:
    """Axes for so many panels.

    Parameters
    ----------
    ax : None, matplotlib Axes or a sequence of them
        None for a new figure; one Axes gives its place to a grid of panels; else one a panel.
    n_panels, n_columns : int
    panel_size : (width, height) in inches, of a new figure
    legend : float
        Inches for a legend below.

    Returns
    -------
    figure : matplotlib Figure
    axes : object array of shape (n_panels,)
    is_new : bool
        Whether the figure is new, hence wholly ours to lay out.
    """
    n_rows = -(-n_panels // n_columns)
    if ax is None:
        width, height = panel_size
        size = (width * n_columns, height * n_rows + legend)
        figure = part("pyplot").figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.06, h_pad=0.08)
        grid = figure.add_gridspec(n_rows, n_columns)
        return figure, _fill(figure, grid, n_panels, n_columns), True
    given = np.array([ax], dtype=object) if hasattr(ax, "plot") else np.ravel(np.asarray(ax, dtype=object))
    if len(given) == n_panels:
        return given[0].figure, given, False
    place = place_for(given, n_panels)
    figure = given[0].figure
    return figure, _fill(figure, place.subgridspec(n_rows, n_columns), n_panels, n_columns), False


def stacked(ax: Any, heights: tuple[float, ...], size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure and axes one below the other, of relative heights; `ax` is as in `panels`."""
    n_panels = len(heights)
    if ax is None:
        figure = part("pyplot").figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(n_panels, 1, height_ratios=heights)
        return figure, _fill(figure, grid, n_panels, 1)
    given = np.array([ax], dtype=object) if hasattr(ax, "plot") else np.ravel(np.asarray(ax, dtype=object))
    figure = given[0].figure
    if len(given) == n_panels:
        return figure, given
    grid = place_for(given, n_panels).subgridspec(n_panels, 1, height_ratios=heights)
    return figure, _fill(figure, grid, n_panels, 1)


def place_for(given: Any, n_panels: int) -> Any:
    """The place of the one axes given, which is cleared for the panels; ValueError if there is none."""
    place = given[0].get_subplotspec() if len(given) == 1 else None
    if place is None:
        raise ValueError(
            f"ax holds {len(given)} axes, and there are {n_panels} panels: it must be None, {n_panels} axes, "
            "or one of a grid of subplots"
        )
    given[0].set_axis_off()
    return place


def _fill(figure: Any, grid: Any, n_panels: int, n_columns: int) -> Any:
    axes = np.empty(n_panels, dtype=object)
    for number in range(n_panels):
        axes[number] = figure.add_subplot(grid[divmod(number, n_columns)])
    return axes


def is_outer(number: int, n_panels: int, n_columns: int) -> tuple[bool, bool]:
    """Whether a panel is the first of its row, and whether none is below it.

    >>> [is_outer(number, 4, 3) for number in range(4)]
    [(True, False), (False, True), (False, True), (True, True)]
    """
    return number % n_columns == 0, number + n_columns >= n_panels


def dress(ax: Any) -> None:
    """Give a panel a light frame and readable tick labels."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(labelsize=TICK_SIZE, color=FAINT, labelcolor=INK)


def label(value: Any) -> str:
    """A class or category in words, a number with a true minus sign.

    >>> label(-1), label(0.25), label("non-smoker")
    ('−1', '0.25', 'non-smoker')
    """
    return str(value) if isinstance(value, str) else str(value).replace("-", "−")


def even_columns(n_columns: Any, n_panels: int) -> int:
    """Panels a row: `n_columns` at the most, and no more than fill the rows evenly.

    >>> [even_columns(3, n_panels) for n_panels in (2, 3, 4, 5, 7)]
    [2, 3, 2, 3, 3]
    """
    if not isinstance(n_columns, int | np.integer) or isinstance(n_columns, bool) or n_columns < 1:
        raise ValueError(f"n_columns={n_columns!r} is not allowed: it must be an integer >= 1")
    n_rows = -(-n_panels // int(n_columns))
    return -(-n_panels // n_rows)
