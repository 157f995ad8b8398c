"""Texts and axes of the displays: numbers, ticks, legends below the axes, names at the ends of curves."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from hedgerow._typing import Floats
from hedgerow.plots import style

_LINE = 1.3  # height of a line of text, relative to the font size
_LETTER = 0.5  # mean width of a letter, relative to the font size
_HANDLE = 38.0  # points of a handle and the gaps of a legend
_MORE = 1.12  # width of a legend relative to the axes: there is space below the tick labels
_BELOW = 35.0  # points from the axes to a legend below: tick labels and the x label


def percent(share: float) -> str:
    """Format a share in per cent with at least two digits.

    >>> percent(0.0354), percent(0.125), percent(0.0004), percent(0.0)
    ('3.5 %', '12.5 %', '0.04 %', '0 %')
    """
    value = 100 * share
    if value == 0:
        return "0 %"
    decimals = max(1, 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".") + " %"


def share(value: float, decimals: int = 1) -> str:
    """Format a share in per cent; it is not rounded to 0 or 100, and NaN is a dash.

    >>> share(0.98246), share(0.99998), share(1.0), share(0.00001), share(0.0), share(float("nan"))
    ('98.2 %', '> 99.9 %', '100.0 %', '< 0.1 %', '0.0 %', '–')
    >>> [share(value, 0) for value in (0.004, 0.9, 0.996, 1.0)]
    ['< 1 %', '90 %', '> 99 %', '100 %']
    """
    if math.isnan(value):
        return "–"
    step = 10.0**-decimals  # in per cent
    if 0 < 100 * value < step / 2:
        return f"< {step:g} %"
    return f"> {100 - step:g} %" if 100 - step / 2 <= 100 * value < 100 else f"{100 * value:.{decimals}f} %"


def below_one(value: float) -> str:
    """Format a number up to 1 with three decimals; below 1 it is not rounded to 1.

    >>> below_one(0.98765), below_one(0.99973), below_one(1.0)
    ('0.988', '> 0.999', '1')
    """
    if abs(value - 1) < 1e-12:  # sums of shares are a little off
        return "1"
    return "> 0.999" if value > 0.9995 else f"{value:.3f}"


def percent_axis(axis: Any) -> None:
    """Format the ticks of an axis of shares in per cent."""
    axis.set_major_locator(plain_ticks(6))
    formatter = style.mpl("ticker").FuncFormatter(lambda share, _: minus(f"{100 * share:.4g} %"))
    axis.set_major_formatter(formatter)


def minus(number: str) -> str:
    """Replace hyphens by true minus signs.

    >>> minus("-0.5")
    '−0.5'
    """
    return number.replace("-", "−")


def plain_axis(axis: Any, n_ticks: int = 5, *, whole: bool = False) -> None:
    """Set a few ticks of plain numbers: commas in thousands, no common power of ten."""
    ticker = style.mpl("ticker")
    axis.set_major_locator(plain_ticks(n_ticks, whole=whole))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: format_tick(value)))


def value_axis(axis: Any, *, is_share: bool) -> None:
    """Format the ticks in per cent or as plain numbers."""
    (percent_axis if is_share else plain_axis)(axis)


def name_bars(ax: Any, names: Sequence[str]) -> None:
    """Name horizontal bars, the first at the top."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)


def write_right_of(
    ax: Any, text: str, at: tuple[float, float], *, shift: float = 4, color: str = style.INK, **props: Any
) -> None:
    """Write a text right of a point."""
    props = {"va": "center", "fontsize": style.TICK_SIZE, "color": color} | props
    ax.annotate(text, at, (shift, 0), textcoords="offset points", **props)


def plain_ticks(n_ticks: int, *, whole: bool = False) -> Any:
    """Return a locator of about `n_ticks` ticks at 1, 2, 2.5 or 5 times a power of ten."""
    steps = [1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10]
    return style.mpl("ticker").MaxNLocator(n_ticks, steps=steps, integer=whole, min_n_ticks=1 if whole else 3)


def format_tick(value: float) -> str:
    """Format the number of a tick.

    >>> [format_tick(value) for value in (-1250.0, 0.25, 3e7, -2e-7, 0.0, -math.inf)]
    ['−1,250', '0.25', '3e7', '−2e−7', '0', '−∞']
    """
    size = abs(value)
    if math.isinf(size):
        return "∞" if value > 0 else "−∞"
    if size == 0 or 1e-4 <= size < 1e6:
        return minus(f"{value:,.6g}" if size >= 1000 else f"{value:.6g}")
    digits, power = f"{value:.4e}".split("e")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return minus(f"{digits}e{int(power)}")


def shorten(name: str, longest: int) -> str:
    """Shorten a name to `longest` letters: its beginning and its end.

    >>> shorten("mean radius", 14), shorten("a_name_of_very_many_letters", 14)
    ('mean radius', 'a_name…letters')
    """
    if len(name) <= longest:
        return name
    first = (longest - 1) // 2
    return f"{name[:first]}…{name[first + 1 - longest :]}"


def name_axes(ax: Any, x: str, y: str) -> None:
    """Set the labels of both axes."""
    ax.set_xlabel(x, fontsize=style.LABEL_SIZE, color=style.INK)
    ax.set_ylabel(y, fontsize=style.LABEL_SIZE, color=style.INK)


def halo() -> list[Any]:
    """Return a white outline for text in front of lines."""
    return [style.mpl("patheffects").withStroke(linewidth=2.5, foreground="white")]


def rounds_axis(ax: Any, n_rounds: int, *, log: bool) -> None:
    """Set an x axis of the rounds 1 to n, linear or logarithmic."""
    ticker = style.mpl("ticker")
    if log and n_rounds > 1:
        ax.set_xscale("log")
        ax.set_xlim(1, n_rounds)
        plain_log_ticks(ax.xaxis, 1, n_rounds)
        return
    ax.xaxis.set_major_locator(ticker.MaxNLocator(6, integer=True, min_n_ticks=1))
    ax.set_xlim(*((1, n_rounds) if n_rounds > 1 else (0.5, 1.5)))


def plain_log_ticks(axis: Any, low: float, high: float, *, from_: float = 0.0) -> None:
    """Set ticks of a logarithmic axis in plain numbers, from `from_` on; 1, 2 and 5 in few decades."""
    ticker = style.mpl("ticker")
    subs = (1.0,) if math.log10(high / low) > 2.4 else (1.0, 2.0, 5.0)
    axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _plain(value) if value >= from_ else ""))
    axis.set_minor_formatter(ticker.NullFormatter())


def _plain(value: float) -> str:
    """Format 1, 2 or 5 times a power of ten; very small and large ones as powers.

    >>> _plain(0.001), _plain(20.0), _plain(100000.0), _plain(1e-7)
    ('0.001', '20', '100,000', '10⁻⁷')
    """
    if 1e-4 <= value < 1e6:
        return f"{value:,.0f}" if value >= 1 else f"{value:.{math.ceil(-math.log10(value) - 1e-9)}f}"
    power = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10.0**power)
    small = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{small}" if digit == 1 else f"{digit}·10{small}"


def log_errors_axis(ax: Any, zero: float, high: float) -> None:
    """Set a logarithmic y axis of errors up to `high`, whose lower end is labelled 0.

    `zero` must be below every positive error; errors of 0 are drawn at it.
    """
    ax.set_yscale("log")
    ax.set_ylim(zero, high)
    plain_log_ticks(ax.yaxis, zero, high, from_=1.4 * zero)  # space for the 0
    props = {"fontsize": style.TICK_SIZE, "color": style.INK, "ha": "right", "va": "center"}
    ax.annotate("0", (0, 0), (-6, 0), xycoords="axes fraction", textcoords="offset points", **props)


def shade_vacuous(ax: Any, chance: float) -> tuple[list[Any], list[str]]:
    """Shade the area above the error of chance, where bounds are vacuous; return legend entries."""
    low, high = ax.get_ylim()
    if not low < chance < high:
        return [], []
    area = {"color": style.FAINT, "alpha": 0.13, "linewidth": 0}
    ax.axhspan(chance, high, zorder=0, **area)
    line = {"color": style.FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3))}
    ax.axhline(chance, zorder=1, **line)
    handle = (style.mpl("patches").Patch(**area), style.mpl("lines").Line2D([], [], **line))
    return [handle], [f"vacuous: above chance, {percent(chance)}"]


def legend_below(ax: Any, handles: Sequence[Any] = (), names: Sequence[str] = (), shift: float = 0.0) -> None:
    """Draw the legend of an axes, with more entries, below its x label, in as many columns as fit.

    `shift` moves it down by points, for tick labels of several lines.
    """
    own_handles, own_names = ax.get_legend_handles_labels()
    handles, names = [*own_handles, *handles], [*own_names, *names]
    if not handles:
        return
    n_columns = legend_columns(names, _MORE * 72 * ax.get_position().width * ax.figure.get_figwidth())
    # Below tick labels and x label, whose height is known in points only.
    down = style.mpl("transforms").ScaledTranslation(0, -(_BELOW + shift) / 72, ax.figure.dpi_scale_trans)
    props = {"frameon": False, "fontsize": style.TICK_SIZE, "labelcolor": style.INK, "borderaxespad": 0.0}
    props |= {"columnspacing": 1.6, "handlelength": 2.4, "ncols": n_columns, "loc": "upper center"}
    ax.legend(handles, names, bbox_to_anchor=(0.5, 0.0), bbox_transform=ax.transAxes + down, **props)


def legend_columns(names: Sequence[str], width: float) -> int:
    """Return the largest number of columns of a legend that fits a width in points.

    >>> legend_columns(["training error", "test error"], 400.0), legend_columns(["a" * 80, "b" * 80], 400.0)
    (2, 1)
    """
    for n_columns in range(len(names), 1, -1):
        n_lines, longer = divmod(len(names), n_columns)
        columns, start = [], 0
        for number in range(n_columns):
            stop = start + n_lines + (number < longer)
            columns.append(max(map(len, names[start:stop])))
            start = stop
        if sum(columns) * _LETTER * style.TICK_SIZE + n_columns * _HANDLE <= width:
            return n_columns
    return 1


def end_labels(ax: Any, ends: Floats, names: Sequence[str], colours: Sequence[str]) -> None:
    """Name curves at their right ends, moved vertically so that names do not overlap.

    Limits and scale of the axes must be set; `ends` (lines,) are the last values of the curves.
    """
    to_axes = ax.transData + ax.transAxes.inverted()
    right = ax.get_xlim()[1]
    low, high = ax.get_ylim()
    inside = np.clip(ends, low, high)
    wanted = to_axes.transform(np.column_stack([np.full(len(inside), right), inside]))[:, 1]
    height = 72 * ax.get_position().height * ax.figure.get_figheight()
    positions = spread(wanted, _LINE * style.TICK_SIZE / (0.9 * height))  # 0.9: a layout may shrink the axes
    moved = bool(np.any(np.abs(positions - wanted) * height > 2))
    arrow = {"arrowstyle": "-", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
    props = {"fontsize": style.TICK_SIZE, "va": "center", "annotation_clip": False}
    for name, colour, end, position in zip(names, colours, wanted, positions, strict=True):
        ax.annotate(
            name, (1.0, end), (1.045 if moved else 1.015, position), xycoords="axes fraction", color=colour,
            arrowprops=arrow | {"color": colour} if moved else None, **props,
        )  # fmt: skip


def spread(wanted: Floats, gap: float) -> Floats:
    """Move positions in 0 to 1 so that they are at least `gap` apart, in the same order.

    Neighbours that are too close are moved as a block around their mean.

    >>> spread(np.array([0.5, 0.52, 0.9]), 0.1)
    array([0.46, 0.56, 0.9 ])
    """
    order = np.argsort(wanted, kind="stable")
    gap = min(gap, 1.0 / max(len(wanted) - 1, 1))
    offsets = gap * np.arange(len(wanted))
    # positions less their offsets must increase: the closest such values
    starts = isotonic_regression(np.clip(wanted[order], 0, 1) - offsets, y_min=0.0, y_max=1.0 - offsets[-1])
    positions = np.empty(len(wanted))
    positions[order] = starts + offsets
    return positions
