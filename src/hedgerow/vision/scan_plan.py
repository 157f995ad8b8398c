"""Levels of the image pyramid, and the layout of a cascade for the kernels.

The levels of an image are those of OpenCV's detectMultiScale: factors 1, f, f**2, ... in float64, rounded to
float32, while the window times the factor fits into the image. Level sizes and rectangles are products
and quotients in float32, rounded half to even; the resizing is OpenCV's INTER_LINEAR_EXACT. So both
libraries find the same windows, bit for bit.
"""

import math
import numbers
import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.detect_lanes import HAAR_CORNERS, LANES, LBP_CORNERS
from hedgerow.kernels.cpu.image import resize
from hedgerow.vision.model import HAAR, CascadeModel

Grey = NDArray[np.uint8]
Pair = tuple[int, int]

_STAGE_SLACK = np.float32(1e-5)  # subtracted from the threshold of a stage, as in OpenCV
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

    Parameters
    ----------
    image_shape : (height, width)
    window : (width, height)
    scale_factor : float
        Ratio of consecutive factors, above 1.
    min_size, max_size : int or (width, height), optional
        Smallest and largest window. If no factor is between them, the nearest to `min_size` is used.

    Returns
    -------
    list of float
        Increasing, rounded to float32. Empty if the window does not fit into the image.

    Examples
    --------
    >>> scan_factors((50, 80), (20, 20), scale_factor=1.5)
    [1.0, 1.5, 2.25]
    """
    _check_ratio(scale_factor)
    smallest, largest = as_pair("min_size", min_size), as_pair("max_size", max_size)
    if smallest and largest and (smallest[0] > largest[0] or smallest[1] > largest[1]):
        raise ValueError(f"min_size={min_size!r} is not allowed: it is above max_size={max_size!r}")
    high, wide = image_shape
    largest_factor = min((wide + 0.5) / window[0], (high + 0.5) / window[1])  # sizes are rounded
    if largest_factor > 1 and math.log(largest_factor) > _MAX_LEVELS * math.log(scale_factor):
        raise ValueError(
            f"scale_factor={scale_factor!r} is not allowed for an image of {wide} x {high}: it gives more "
            f"than {_MAX_LEVELS} sizes"
        )
    factors: list[np.float32] = []
    factor = 1.0
    while round(window[0] * factor) <= wide and round(window[1] * factor) <= high:
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


def _check_ratio(scale_factor: Any) -> None:
    number = isinstance(scale_factor, numbers.Real) and not isinstance(scale_factor, bool)
    if not (number and 1.0 < scale_factor <= _MAX_RATIO):
        raise ValueError(
            f"scale_factor={scale_factor!r} is not allowed: it must be a number above 1 (up to "
            f"{_MAX_RATIO:g})"
        )


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
    """Reduce an image by a factor.

    Parameters
    ----------
    grey : uint8 (height, width)
    window : (width, height)
        Checked to fit into the level.
    factor : float
        One of `scan_factors`.

    Returns
    -------
    uint8 (height / factor, width / factor)
        Bilinear, the same bits as OpenCV's INTER_LINEAR_EXACT.

    Examples
    --------
    >>> import numpy as np
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
    resize(
        np.require(grey, requirements=["C", "W"]), rows, columns, np.empty(grey.shape[1] + 1, np.uint16), out
    )
    return out


class CascadeLayout(NamedTuple):
    """A cascade in the layout of the kernels: corners by node, and the arrays of `kernels.cpu.detect`."""

    corners: NDArray[np.int64]  # (N, 12 or 16, 3): x, y and plane of the corners of every node's feature
    rest: tuple[NDArray[Any], ...]  # all arrays of `nodes` except the offsets
    norm: NDArray[np.int64]  # (8, 3): corners of the normalising rectangle in S and in Q
    area: float  # pixels of that rectangle; 0 for LBP, which is not normalised
    planes: int  # number of integral images
    max_nodes: int  # of a tree


_LAYOUTS: "weakref.WeakKeyDictionary[CascadeModel, CascadeLayout]" = weakref.WeakKeyDictionary()


def cascade_layout(model: CascadeModel) -> CascadeLayout:
    """Return the layout of a model, which is computed once."""
    layout = _LAYOUTS.get(model)
    if layout is None:
        layout = _LAYOUTS[model] = _make_layout(model)
    return layout


def _upright(rects: NDArray[np.int64], plane: int = 0) -> NDArray[np.int64]:
    """Return the corners (..., 4, 3) of rectangles (..., 4), in the order of the signs + - - + of a sum."""
    x, y, w, h = (rects[..., i] for i in range(4))
    flat = np.full_like(x, plane)
    corners = [(x, y), (x + w, y), (x, y + h), (x + w, y + h)]
    return np.stack([np.stack([a, b, flat], axis=-1) for a, b in corners], axis=-2)


def _tilted(rects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the corners of tilted rectangles: (x, y) is the top, w is down right, h is down left."""
    x, y, w, h = (rects[..., i] for i in range(4))
    flat = np.full_like(x, 2)
    corners = [(x, y), (x - h, y + h), (x + w, y + w), (x + w - h, y + w + h)]
    return np.stack([np.stack([a, b, flat], axis=-1) for a, b in corners], axis=-2)


def _make_layout(model: CascadeModel) -> CascadeLayout:
    rects = model.rects.astype(np.int64)
    haar = model.kind == HAAR
    if haar:
        tilted = (model.tilted != 0)[:, None, None, None]
        corners = np.where(tilted, _tilted(rects), _upright(rects)).reshape(-1, HAAR_CORNERS, 3)
        inner = np.array([1, 1, model.width - 2, model.height - 2], np.int64)
        area = float(inner[2] * inner[3])
        norm = np.concatenate([_upright(inner), _upright(inner, plane=1)])
    else:
        x, y, w, h = (rects[:, 0, i] for i in range(4))
        k = np.arange(LBP_CORNERS)
        corners = np.stack(
            [
                x[:, None] + w[:, None] * (k % 4),
                y[:, None] + h[:, None] * (k // 4),
                np.zeros((len(x), 16), int),
            ],
            axis=-1,
        )
        area, norm = 0.0, np.zeros((8, 3), np.int64)
    feature = model.feature
    rest: tuple[NDArray[Any], ...] = (
        np.ascontiguousarray(model.weights[feature] if haar else np.zeros((0, 3), np.float32)).ravel(),
        model.threshold,
        model.subsets.ravel(),
        model.left,
        model.right,
        model.values.astype(np.float64),
        model.tree_starts,
        model.stage_starts,
        (model.stage_thresholds - _STAGE_SLACK).astype(np.float64),
    )
    rest = tuple(np.array(array) for array in rest)  # writable: kernels are compiled for one type of arrays
    sizes = np.diff(model.tree_starts)
    planes = 3 if model.has_tilted else 2
    return CascadeLayout(corners[feature], rest, norm, area, planes, int(sizes.max(initial=1)))


def offsets_at(corners: NDArray[np.int64], pitch: int, plane: int, step: int) -> NDArray[np.int32]:
    """Return offsets of corners (..., 3) from the window; at step 2 odd columns are half a row later."""
    x, y, which = corners[..., 0], corners[..., 1], corners[..., 2]
    if step == 2:
        x = (x >> 1) + (x & 1) * (pitch // 2)
    return (y * pitch + x + which * plane).astype(np.int32).ravel()


def block_offsets(layout: CascadeLayout, window: Pair) -> NDArray[np.int32]:
    """Return offsets for blocks of sixteen interleaved windows, which have the planes S and T only."""
    corners = layout.corners
    offset = (corners[..., 1] + corners[..., 2] // 2 * (window[1] + 1)) * (window[0] + 1) + corners[..., 0]
    return (offset * LANES).astype(np.int32).ravel()


def field_pitch(wide: int) -> int:
    """Return the length of a row of integral images, for width + 1 columns or two halves of them.

    It is an odd multiple of 16: rows at distances of a power of two would evict one another from the cache.
    """
    return (wide + 2 + LANES) // (2 * LANES) * (2 * LANES) + LANES
