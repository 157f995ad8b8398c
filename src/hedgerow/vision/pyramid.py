"""Levels of the image pyramid: their factors and sizes, and the resizing of an image.

The levels of an image are those of OpenCV's detectMultiScale: factors 1, f, f**2, ... in float64, rounded to
float32, while the window times the factor fits into the image. Level sizes and rectangles are products
and quotients in float32, rounded half to even; the resizing is OpenCV's INTER_LINEAR_EXACT. So both
libraries find the same windows, bit for bit.
"""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.image import resize
from hedgerow.vision.images import Grey

Pair = tuple[int, int]

_MAX_RATIO = 1e6  # of consecutive sizes
_MAX_LEVELS = 10_000  # of a pyramid
_UNIT = 256  # weights of pixels are multiples of 1/256


def as_pair(name: str, size: int | Pair | None) -> Pair | None:
    """Return a size as (width, height); raise ValueError unless it is one or two positive integers."""
    if size is None:
        return None
    pair: Any = (size, size) if isinstance(size, (int, np.integer)) else size
    fine = isinstance(pair, (tuple, list)) and len(pair) == 2
    if not fine or not all(isinstance(n, (int, np.integer)) and n >= 1 for n in pair):
        raise ValueError(f"{name}={size!r} is not allowed: it must be a positive integer or (width, height)")
    return int(pair[0]), int(pair[1])


def scan_factors(
    image_shape: Pair,
    window: Pair,
    scale_factor: float = 1.1,
    min_size: int | Pair | None = None,
    max_size: int | Pair | None = None,
) -> list[float]:
    """Return the factors by which the window is enlarged, as in OpenCV's detectMultiScale.

    Factors increase and are rounded to float32; there are none if the window does not fit into the image. If
    no factor is between `min_size` and `max_size`, the nearest to `min_size` is used.

    >>> scan_factors((50, 80), (20, 20), scale_factor=1.5)
    [1.0, 1.5, 2.25]
    """
    number = isinstance(scale_factor, numbers.Real) and not isinstance(scale_factor, bool)
    if not (number and 1.0 < scale_factor <= _MAX_RATIO):
        raise ValueError(
            f"scale_factor={scale_factor!r} is not allowed: it must be a number above 1 (up to "
            f"{_MAX_RATIO:g})"
        )
    smallest, largest = as_pair("min_size", min_size), as_pair("max_size", max_size)
    if smallest and largest and (smallest[0] > largest[0] or smallest[1] > largest[1]):
        raise ValueError(f"min_size={min_size!r} is not allowed: it is above max_size={max_size!r}")
    high, wide = image_shape
    factors: list[np.float32] = []
    factor = 1.0
    while round(window[0] * factor) <= wide and round(window[1] * factor) <= high:
        if len(factors) == _MAX_LEVELS:
            raise ValueError(
                f"scale_factor={scale_factor!r} is not allowed for an image of {wide} x {high}: it gives "
                f"more than {_MAX_LEVELS} sizes"
            )
        factors.append(np.float32(factor))
        factor *= float(scale_factor)
    low, top = smallest or (0, 0), largest or (wide, high)
    sizes = [_window_at(window, factor) for factor in factors]
    kept = [
        float(factor)
        for factor, (w, h) in zip(factors, sizes, strict=True)
        if low[0] <= w <= top[0] and low[1] <= h <= top[1]
    ]
    if factors and not kept:
        distance = [(w - low[0]) ** 2 + (h - low[1]) ** 2 for w, h in sizes]
        kept = [float(factors[int(np.argmin(distance))])]
    return kept


def _window_at(window: Pair, factor: np.float32 | float) -> Pair:
    """Return the size of the window in the image."""
    w, h = (np.rint(np.float32(n) * np.float32(factor)) for n in window)
    return int(w), int(h)


def level_shape(image_shape: Pair, factor: float) -> Pair:
    """Return height and width of a level: quotients in float32, rounded half to even."""
    high, wide = (np.rint(np.float32(n) / np.float32(factor)) for n in image_shape)
    return int(high), int(wide)


def level_step(factor: float) -> int:
    """Return the pixels of a level between consecutive windows."""
    return 1 if factor >= 2 else 2


def rows_scanned(shapes: list[Pair], window: Pair, steps: list[int]) -> list[int]:
    """Return the number of rows of windows that a scan covers in each level: all, or all but the last.

    OpenCV divides the rows into stripes, one for every 32 columns of the first level. In a level with a step
    of 2 their height is rounded down to whole steps, so the last row may be in no stripe.
    """
    n_stripes = max(1, -(-(shapes[0][1] + 1 - window[0]) // 32))
    ends = []
    for (high, _), step in zip(shapes, steps, strict=True):
        rows = high + 1 - window[1]
        stripe = max((rows // step + n_stripes - 1) // n_stripes, 1) * step
        ends.append(min(rows, n_stripes * stripe))
    return ends


def resize_table(n_from: int, n_to: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Return, for each of `n_to` pixels, the first of its two source pixels and the weight of the second."""
    scale = 1.0 / (n_to / n_from)
    position = scale * (np.arange(n_to) + 0.5) - 0.5
    index = np.floor(position)
    weight = np.rint((position - index) * _UNIT)
    index = index.astype(np.int64)
    weight[(index < 0) | (index >= n_from - 1)] = 0  # beyond the centres of the outermost pixels
    return np.clip(index, 0, n_from - 1).astype(np.uint32), weight.astype(np.uint16)


def level_image(grey: Grey, window: Pair, factor: float) -> Grey:
    """Reduce an image by one of the `scan_factors`: bilinear, the same bits as OpenCV's INTER_LINEAR_EXACT.

    >>> level_image(np.arange(48, dtype=np.uint8).reshape(6, 8), (3, 3), 2.0)
    array([[ 5,  7,  9, 11],
           [21, 23, 25, 27],
           [37, 39, 41, 43]], dtype=uint8)
    """
    high, wide = level_shape((grey.shape[0], grey.shape[1]), factor)
    if wide < window[0] or high < window[1]:
        raise ValueError(f"factor={factor!r} is not allowed: the level is smaller than the window {window}")
    if (high, wide) == grey.shape:
        return np.ascontiguousarray(grey)
    out = np.empty((high, wide), np.uint8)
    rows, columns = resize_table(grey.shape[0], high), resize_table(grey.shape[1], wide)
    line = np.empty(grey.shape[1] + 1, np.uint16)
    resize(np.require(grey, requirements=["C", "W"]), rows, columns, line, out)
    return out
