"""The common code of the pictures of the theory: a figure with its numbers, panels, and data.

Every picture is made by a function of one argument, whether to be quick, and returned as a `Picture`. The
data are drawn from distributions that are known, so that test sets can be as large as one likes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hedgerow.plots import labels, style

Floats = NDArray[np.float64]
Data = tuple[NDArray[np.float64], NDArray[np.int64]]

DELTA = 0.05
DPI = 110
TEST_SEED = 2**32 - 1
EDGES = np.linspace(-2.0, 2.0, 17)  # a grid fixed before any row is drawn; 0 is one of its values


@dataclass
class Picture:
    """A figure, and lines with its numbers."""

    figure: Figure
    lines: list[str] = field(default_factory=list)

    def add(self, text: str, *values: Any) -> None:
        """Add a line: a text and the measured values."""
        self.lines.append(f"{text}: {', '.join(map(number, values))}" if values else text)


def number(value: Any) -> str:
    """A number as the document quotes it: whole ones with commas, others with three digits or decimals.

    >>> number(12345), number(0.123456), number(np.float64(12.34)), number(0.00012345)
    ('12,345', '0.123', '12.3', '0.000123')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    size = abs(float(value))
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}" if size >= 0.001 or size == 0 else f"{value:.3g}"


def majority(n_samples: int, seed: int, *, noise: float = 0.0, n_columns: int = 10) -> Data:
    """Normal columns; the label is the majority of the signs of the first three, but for some noise.

    Three stumps that cut at 0 vote without error, with margins of 1/3 and more.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_columns))
    y = np.where(np.sign(X[:, :3]).sum(axis=1) > 0, 1, -1)
    y[rng.random(n_samples) < noise] *= -1
    return X, y


def sheet(*widths: float, height: float = 3.9) -> tuple[Figure, list[Any]]:
    """A figure of panels side by side, of these widths in inches."""
    options: dict[str, Any] = {
        "figsize": (sum(widths), height),
        "layout": "constrained",
        "width_ratios": widths,
    }
    figure, axes = plt.subplots(1, len(widths), squeeze=False, **options)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.1, h_pad=0.08)
    for ax in axes[0]:
        style.style_axes(ax)
    return figure, list(axes[0])


def title(ax: Any, text: str) -> None:
    """A title over the left end of a panel."""
    ax.set_title(text, loc="left", fontsize=style.TITLE_SIZE, fontweight="bold", color=style.INK)


def log_axis(axis: Any, values: Iterable[float], margin: float = 1.15) -> None:
    """A logarithmic axis with plain numbers around these values."""
    some = np.asarray(list(values), np.float64)
    low, high = float(some.min()) / margin, float(some.max()) * margin
    ax = axis.axes
    if axis is ax.xaxis:
        ax.set_xscale("log")
        ax.set_xlim(low, high)
    else:
        ax.set_yscale("log")
        ax.set_ylim(low, high)
    labels.plain_log_ticks(axis, low, high)


def percents(ax: Any) -> None:
    """Shares on the y axis as per cent."""
    ax.yaxis.set_major_formatter(
        style.mpl("ticker").FuncFormatter(lambda share, _: f"{100 * share:g} %".replace("-", "−"))
    )


def zero_from(errors: Any) -> int | None:
    """The first round, counted from 1, without an error.

    >>> zero_from([0.2, 0.1, 0.0, 0.0]), zero_from([0.1])
    (3, None)
    """
    found = np.flatnonzero(np.asarray(errors) == 0)
    return int(found[0]) + 1 if found.size else None


def test_errors(model: Any, X: Any, y: Any) -> Floats:
    """The fraction of wrong labels after every round."""
    return np.array([np.mean(predicted != y) for predicted in model.staged_predict(X)])
