"""Features of detection windows: all Haar features of a kind or all LBP grids, and their values.

A Haar feature is a weighted sum of two or three rectangles (Viola and Jones 2001; Lienhart and Maydt 2002).
A shape is defined in units of (dx, dy) and placed at every position in every size that fits:

    x2 [##oo]     y2  vertical              x2y2  a checkerboard of four   (basic)
    x3 [##oo##]   y3                                                        (basic)
    x4 [##oooo##] y4  point: the centre of 3 x 3                            (core)
    the same bars, tilted by 45 degrees                                     (all)

The first rectangle is the whole shape, with weight -1; the others are inside it, with weights that make the
sum 0 on a uniform window.

`WindowSet` computes features of the windows of a training set. `CodedWindows` is the input of the stump
search: one column of one-byte codes for each feature.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import MAX_BINS
from hedgerow.kernels.cpu import windows
from hedgerow.threads import Team, cached_property
from hedgerow.vision.model import HAAR, LBP

MAX_PIXELS = 64 * 64  # of a window: eight million basic features
_RANGE_WINDOWS = 512  # sample for the range of the codes of a feature
_TAIL = 2  # windows of this sample outside the range, on each side
Rect = tuple[int, int, int, int, float]  # x, y, width, height in units of (dx, dy), and weight


class _Shape(NamedTuple):
    name: str
    width: int  # in units of dx
    height: int  # in units of dy
    inner: tuple[Rect, ...]
    tilted: bool = False


_BASIC = (
    _Shape("x2", 2, 1, ((1, 0, 1, 1, 2.0),)),
    _Shape("y2", 1, 2, ((0, 1, 1, 1, 2.0),)),
    _Shape("x3", 3, 1, ((1, 0, 1, 1, 3.0),)),
    _Shape("y3", 1, 3, ((0, 1, 1, 1, 3.0),)),
    _Shape("x2y2", 2, 2, ((0, 0, 1, 1, 2.0), (1, 1, 1, 1, 2.0))),
)
_CORE = (
    *_BASIC,
    _Shape("x4", 4, 1, ((1, 0, 2, 1, 2.0),)),
    _Shape("y4", 1, 4, ((0, 1, 1, 2, 2.0),)),
    _Shape("point", 3, 3, ((1, 1, 1, 1, 9.0),)),
)
_TILTED = tuple(
    _Shape(f"tilted {shape.name}", shape.width, shape.height, shape.inner, tilted=True)
    for shape in (*_BASIC[:4], *_CORE[5:7])
)
KINDS = {"basic": _BASIC, "core": _CORE, "all": (*_CORE, *_TILTED)}


@dataclass(frozen=True, eq=False)
class Features:
    """Features of a window as arrays; see `hedgerow.vision.model`.

    kind : "HAAR" or "LBP"
    """

    kind: str
    width: int
    height: int
    rects: NDArray[np.int32]
    weights: NDArray[np.float32]
    tilted: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.tilted)

    @property
    def window(self) -> tuple[int, int]:
        """Width and height."""
        return self.width, self.height

    def take(self, numbers: NDArray[Any]) -> "Features":
        """Return the features with these indices, in this order."""
        arrays = (np.ascontiguousarray(a[numbers]) for a in (self.rects, self.weights, self.tilted))
        return Features(self.kind, self.width, self.height, *arrays)

    @cached_property
    def corners(self) -> NDArray[np.int32]:
        """Positions of the corners in the integral images; see `hedgerow.kernels.cpu.windows`.

        (F, 3, 4) for Haar features, (F, 16) for LBP.
        """
        row = self.width + 1
        x, y, w, h = (self.rects[:, :, i] for i in range(4))
        if self.kind == LBP:
            step = np.arange(4)
            columns = x[:, :1, None] + step[None, None, :] * w[:, :1, None]
            rows = y[:, :1, None] + step[None, None, :] * h[:, :1, None]
            grid = rows.transpose(0, 2, 1) * row + columns
            return np.ascontiguousarray(grid.reshape(len(self), 16), np.int32)
        upright = [(y, x), (y, x + w), (y + h, x), (y + h, x + w)]
        tilted = [(y, x), (y + h, x - h), (y + w, x + w), (y + w + h, x + w - h)]
        second = row * (self.height + 1)
        is_tilted = self.tilted[:, None] != 0
        corners = [
            np.where(is_tilted, second + b[0] * row + b[1], a[0] * row + a[1])
            for a, b in zip(upright, tilted, strict=True)
        ]
        return np.ascontiguousarray(np.stack(corners, axis=2), np.int32)


class HaarFeatures(Features):
    """All Haar features of a window.

    Parameters
    ----------
    window : (int, int)
        Width and height.
    kind : {"basic", "core", "all"}
        "basic" has edges, bars and checkerboards, "core" also wide bars and points, "all" also tilted shapes.

    Examples
    --------
    >>> [len(HaarFeatures((24, 24), kind)) for kind in ("basic", "core", "all")]
    [162336, 210400, 261600]
    >>> HaarFeatures((24, 24)).rects[0].tolist()
    [[0, 0, 2, 1], [1, 0, 1, 1], [0, 0, 0, 0]]
    """

    def __init__(self, window: tuple[int, int] = (24, 24), kind: str = "basic") -> None:
        if kind not in list(KINDS):  # a list, so that unhashable values raise ValueError too
            raise ValueError(f"kind={kind!r} is not allowed: it must be one of {', '.join(map(repr, KINDS))}")
        width, height = check_window(window)
        shapes = [_all_positions(shape, width, height) for shape in KINDS[kind]]
        rects = np.concatenate([rects for rects, _ in shapes])
        weights = np.concatenate([np.tile(weights, (len(rects), 1)) for rects, weights in shapes])
        tilted = [np.full(len(r), s.tilted, np.uint8) for (r, _), s in zip(shapes, KINDS[kind], strict=True)]
        super().__init__(HAAR, width, height, rects, weights, np.concatenate(tilted))


class LBPFeatures(Features):
    """All local binary patterns of a window: 3 x 3 cells of every size at every position.

    Parameters
    ----------
    window : (int, int)
        Width and height.

    Examples
    --------
    >>> len(LBPFeatures((24, 24)))
    8464
    """

    def __init__(self, window: tuple[int, int] = (24, 24)) -> None:
        width, height = check_window(window)
        rects, _ = _all_positions(_Shape("grid", 3, 3, ()), width, height)
        rects[:, 0, 2:] //= 3  # a cell, not the grid
        n = len(rects)
        super().__init__(LBP, width, height, rects, np.zeros((n, 3), np.float32), np.zeros(n, np.uint8))


def check_window(window: Any, max_pixels: int = MAX_PIXELS) -> tuple[int, int]:
    """Check a window and return its width and height; by default its features must be enumerable."""
    try:
        width, height = (int(side) for side in window)
        exact = (width, height) == tuple(window)
    except (TypeError, ValueError, OverflowError):
        exact, width, height = False, 0, 0
    if not exact or min(width, height) < 3 or width * height > max_pixels:
        raise ValueError(
            f"window={window!r} is not allowed: it must be (width, height), integers of at least 3, with at "
            f"most {max_pixels} pixels"
        )
    return width, height


def _all_positions(shape: _Shape, width: int, height: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return a shape at all positions in all sizes: rects (n, 3, 4) by x, y, dx, dy, and weights (3,)."""
    x, y, dx, dy = np.meshgrid(
        np.arange(width + 1),
        np.arange(height),
        np.arange(1, width // shape.width + 1),
        np.arange(1, height // shape.height + 1),
        indexing="ij",
    )
    wide, high = shape.width * dx, shape.height * dy
    if shape.tilted:
        fits = (x - high >= 0) & (x + wide <= width) & (y + wide + high <= height)
    else:
        fits = (x + wide <= width) & (y + high <= height)
    x, y, dx, dy = (values[fits] for values in (x, y, dx, dy))
    rects = np.zeros((len(x), 3, 4), np.int32)
    weights = np.zeros(3, np.float32)
    weights[0] = -1.0
    rects[:, 0] = np.stack([x, y, shape.width * dx, shape.height * dy], axis=1)
    for k, (left, top, inner_width, inner_height, weight) in enumerate(shape.inner, start=1):
        across, down = left * dx, top * dy
        if shape.tilted:  # right becomes down right, down becomes down left
            across, down = left * dx - top * dy, left * dx + top * dy
        rects[:, k] = np.stack([x + across, y + down, inner_width * dx, inner_height * dy], axis=1)
        weights[k] = weight
    return rects, weights


class WindowSet:
    """Integral images of windows.

    Attributes
    ----------
    pixels : uint8 (height * width, n), by position
    planes : int32 (positions, n), integral images by position; tilted ones only with `tilted`
    inverse : float32 (n,), 1 / (area * standard deviation) of each window
    """

    def __init__(self, images: NDArray[np.uint8], team: Team, *, tilted: bool = False) -> None:
        self.n, self.height, self.width = images.shape
        self.team = team
        self.pixels = np.ascontiguousarray(images.reshape(self.n, -1).T)
        size = (self.width + 1) * (self.height + 1)
        self.planes = np.empty((size * (2 if tilted else 1), self.n), np.int32)
        self.inverse = np.empty(self.n, np.float32)
        w, h = self.width, self.height

        def fill(start: int, stop: int) -> None:
            windows.fill_planes(self.pixels, w, h, self.planes, start, stop)
            windows.fill_norms(self.pixels, w, h, self.inverse, start, stop)
            if tilted:
                windows.fill_tilted(self.pixels, w, h, self.planes, start, stop)

        team.over_rows(self.n, fill, size=windows.WINDOWS_PER_BLOCK)

    def values(self, features: Features, number: int) -> NDArray[np.float32]:
        """Compute one Haar feature of all windows."""
        out = np.empty(self.n, np.float32)
        windows.haar_values(
            self.planes, self.inverse, features.corners[number], features.weights[number], out
        )
        return out

    def patterns(self, features: Features, number: int) -> NDArray[np.uint8]:
        """Compute one LBP feature of all windows."""
        out = np.empty(self.n, np.uint8)
        windows.lbp_codes(self.planes, features.corners[number : number + 1], 0, self.n, out[np.newaxis])
        return out

    def coded(self, features: Features) -> "CodedWindows":
        """Compute one byte for each feature of each window, in the order of features."""
        codes = np.empty((len(features), self.n), np.uint8)
        corners, weights = features.corners, features.weights
        if features.kind != HAAR:
            self._over_windows(lambda a, b: windows.lbp_codes(self.planes, corners, a, b, codes))
            return CodedWindows(codes, patterns=True)
        low, scale = np.empty((2, len(features)), np.float32)
        every = max(1, self.n // _RANGE_WINDOWS)
        sample, norms = np.ascontiguousarray(self.planes[:, ::every]), self.inverse[::every].copy()
        tail = min(_TAIL, (len(norms) - 1) // 4)

        def ranges(a: int, b: int) -> None:
            windows.haar_ranges(sample, norms, corners[a:b], weights[a:b], tail, low[a:b], scale[a:b])

        self.team.over_rows(len(features), ranges, size=1024)
        self._over_windows(
            lambda a, b: windows.haar_codes(
                self.planes, self.inverse, corners, weights, low, scale, a, b, codes
            )
        )
        return CodedWindows(codes, patterns=False)

    def _over_windows(self, task: Any) -> None:
        self.team.over_rows(self.n, task, size=windows.WINDOWS_PER_BLOCK)


class CodedWindows:
    """Codes of features, one column each: the table of the weak learners.

    by_column : uint8 (features, windows)
    patterns : bool
        Whether codes are LBP patterns; otherwise they increase with the value of a Haar feature.
    n_bins : int64 (features,), the number of codes without 0
    categorical : uint8 (features,), whether codes are unordered
    """

    def __init__(self, by_column: NDArray[np.uint8], *, patterns: bool) -> None:
        self.by_column, self.patterns = by_column, patterns
        self.n_columns, self.n_rows = by_column.shape
        self.n_bins = np.full(self.n_columns, MAX_BINS if patterns else windows.CODES, np.int64)
        self.categorical = np.full(self.n_columns, patterns, np.uint8)

    @property
    def codes(self) -> Self:
        """The object itself: codes and table are one."""
        return self
