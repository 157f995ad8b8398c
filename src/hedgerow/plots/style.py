"""Style of all displays: colours, text sizes, access to matplotlib, and grids of panels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.estimators.parameters import check_parameters, integer
from hedgerow.optional import require_extra

BLUE, VERMILLION = "#0072B2", "#D55E00"
# Okabe and Ito (2008): distinguishable with any kind of colour blindness; their yellow is too pale for lines
COLOURS = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, FAINT = "#333333", "#9A9A9A"  # of text and outlines, and of secondary lines
SOFT = "#5A626C"  # of secondary text: 6:1 on white
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.5, 9.5, 8.5
DASHED: dict[str, Any] = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}


def mpl(name: str) -> Any:
    """Import a module of matplotlib when something is drawn.

    >>> mpl("ticker").__name__
    'matplotlib.ticker'
    """
    return require_extra(f"matplotlib.{name}", extra="plots")


def panels(
    ax: Any,
    n_panels: int,
    n_columns: int,
    panel_size: tuple[float, float],
    legend: float = 0.0,
    heights: Sequence[float] | None = None,
) -> tuple[Any, Any, bool]:
    """Return the figure, axes of shape (n_panels,) and whether the figure is new.

    With ax=None the figure is new, `panel_size` and `legend` (the height below the panels) are in inches. A
    single Axes is replaced by a grid of panels. `heights` are relative heights of the rows.
    """
    n_rows = -(-n_panels // n_columns)
    passed = passed_axes(ax)
    if len(passed) == n_panels:
        return passed[0].figure, passed, False
    size = (panel_size[0] * n_columns, panel_size[1] * n_rows + legend)
    figure, grid = new_grid(passed, n_panels, (n_rows, n_columns), size, heights)
    axes = np.empty(n_panels, dtype=object)
    for number in range(n_panels):
        axes[number] = figure.add_subplot(grid[divmod(number, n_columns)])
    return figure, axes, ax is None


def passed_axes(ax: Any) -> Any:
    """Return None, one Axes or a sequence of them as an object array."""
    return np.array([] if ax is None else [ax] if hasattr(ax, "plot") else np.ravel(ax), dtype=object)


def new_grid(
    passed: Any, n_panels: int, shape: tuple[int, int], size: tuple[float, float], heights: Any
) -> tuple[Any, Any]:
    """Return a figure and a grid of subplots: a new figure, or in place of the single Axes passed."""
    if not len(passed):
        figure = mpl("pyplot").figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.06, h_pad=0.08)
        return figure, figure.add_gridspec(*shape, height_ratios=heights)
    spec = passed[0].get_subplotspec() if len(passed) == 1 else None
    if spec is None:
        raise ValueError(
            f"ax holds {len(passed)} axes, and there are {n_panels} panels: it must be None, {n_panels} "
            "axes, or one of a grid of subplots"
        )
    passed[0].set_axis_off()
    return passed[0].figure, spec.subgridspec(*shape, height_ratios=heights)


def is_outer(number: int, n_panels: int, n_columns: int) -> tuple[bool, bool]:
    """Return whether a panel is the first of its row, and whether none is below it.

    >>> [is_outer(number, 4, 3) for number in range(4)]
    [(True, False), (False, True), (False, True), (True, True)]
    """
    return number % n_columns == 0, number + n_columns >= n_panels


def style_axes(ax: Any) -> None:
    """Give an axes a light frame and readable tick labels."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(labelsize=TICK_SIZE, color=FAINT, labelcolor=INK)


def format_label(value: Any) -> str:
    """Format a class or category; a number has a true minus sign.

    >>> format_label(-1), format_label(0.25), format_label("non-smoker")
    ('−1', '0.25', 'non-smoker')
    """
    return str(value) if isinstance(value, str) else str(value).replace("-", "−")


def even_columns(n_columns: Any, n_panels: int) -> int:
    """Return the panels per row: at most `n_columns`, and no more than fill the rows evenly.

    >>> [even_columns(3, n_panels) for n_panels in (2, 3, 4, 5, 7)]
    [2, 3, 2, 3, 3]
    """
    check_parameters({"n_columns": n_columns}, {"n_columns": integer(1)})
    n_rows = -(-n_panels // int(n_columns))
    return -(-n_panels // n_rows)
