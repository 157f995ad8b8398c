"""The features of a window: every Haar feature of a kind, or every LBP grid.

A Haar feature is a weighted sum of two or three rectangles (Viola and Jones 2001; Lienhart and Maydt 2002).
A shape is drawn in units of (dx, dy) and laid at every place in every size that fits:

    x2 [##oo]     y2  one over the other     x2y2  a chessboard of four     (basic)
    x3 [##oo##]   y3                                                        (basic)
    x4 [##oooo##] y4  point: the middle one of 3 x 3                        (core)
    the same bars turned by 45 degrees                                      (all)

The first rectangle is the whole shape, with weight -1; the others are inside, with weights that make the
sum over a flat window 0.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.threads import cached_property
from hedgerow.vision.model import HAAR, LBP

MOST_PIXELS = 64 * 64  # of a window: it has eight million basic features
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
    """Features of a window as arrays; see `hedgerow.vision.model` for what they hold.

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
        """Some of the features, in the order given."""
        return Features(
            self.kind,
            self.width,
            self.height,
            np.ascontiguousarray(self.rects[numbers]),
            np.ascontiguousarray(self.weights[numbers]),
            np.ascontiguousarray(self.tilted[numbers]),
        )

    @cached_property
    def corners(self) -> NDArray[np.int32]:
        """Rows of the planes that a feature reads; see `hedgerow.kernels.cpu.windows`.

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
        turned = [(y, x), (y + h, x - h), (y + w, x + w), (y + w + h, x + w - h)]
        second = row * (self.height + 1)
        turn = self.tilted[:, None] != 0
        corners = [
            np.where(turn, second + b[0] * row + b[1], a[0] * row + a[1])
            for a, b in zip(upright, turned, strict=True)
        ]
        return np.ascontiguousarray(np.stack(corners, axis=2), np.int32)


class HaarFeatures(Features):
    """Every Haar feature of a window.

    Parameters
    ----------
    window : (int, int)
        Width and height.
    kind : {"basic", "core", "all"}
        The shapes: edges, bars and chessboards; wide bars and points too; tilted ones too.

    Examples
    --------
    >>> [len(HaarFeatures((24, 24), kind)) for kind in ("basic", "core", "all")]
    [162336, 210400, 261600]
    >>> HaarFeatures((24, 24)).rects[0].tolist()
    [[0, 0, 2, 1], [1, 0, 1, 1], [0, 0, 0, 0]]
    """

    def __init__(self, window: tuple[int, int] = (24, 24), kind: str = "basic") -> None:
        if kind not in list(KINDS):  # a list, so that what cannot be hashed is refused alike
            raise ValueError(f"kind={kind!r} is not allowed: it must be one of {', '.join(map(repr, KINDS))}")
        width, height = check_window(window)
        parts = [_lay(shape, width, height) for shape in KINDS[kind]]
        rects = np.concatenate([rects for rects, _ in parts])
        weights = np.concatenate([np.tile(weights, (len(rects), 1)) for rects, weights in parts])
        turned = [np.full(len(r), s.tilted, np.uint8) for (r, _), s in zip(parts, KINDS[kind], strict=True)]
        super().__init__(HAAR, width, height, rects, weights, np.concatenate(turned))


class LBPFeatures(Features):
    """Every local binary pattern of a window: 3 x 3 cells of every size at every place.

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
        rects, _ = _lay(_Shape("grid", 3, 3, ()), width, height)
        rects[:, 0, 2:] //= 3  # a cell, not the grid
        n = len(rects)
        super().__init__(LBP, width, height, rects, np.zeros((n, 3), np.float32), np.zeros(n, np.uint8))


def check_window(window: Any, most_pixels: int = MOST_PIXELS) -> tuple[int, int]:
    """Width and height of a window; by default one whose features can be enumerated."""
    try:
        width, height = (int(side) for side in window)
        whole = (width, height) == tuple(window)
    except (TypeError, ValueError, OverflowError):
        whole, width, height = False, 0, 0
    if not whole or min(width, height) < 3 or width * height > most_pixels:
        raise ValueError(
            f"window={window!r} is not allowed: give (width, height), whole numbers of at least 3, and at "
            f"most {most_pixels} pixels"
        )
    return width, height


def _lay(shape: _Shape, width: int, height: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """A shape at every place in every size: rects (n, 3, 4) by x, y, dx, dy, and weights (3,)."""
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
    x, y, dx, dy = (part[fits] for part in (x, y, dx, dy))
    rects = np.zeros((len(x), 3, 4), np.int32)
    weights = np.zeros(3, np.float32)
    weights[0] = -1.0
    rects[:, 0] = np.stack([x, y, shape.width * dx, shape.height * dy], axis=1)
    for k, (left, top, inner_width, inner_height, weight) in enumerate(shape.inner, start=1):
        across, down = left * dx, top * dy
        if shape.tilted:  # going right means down-right, going down means down-left
            across, down = left * dx - top * dy, left * dx + top * dy
        rects[:, k] = np.stack([x + across, y + down, inner_width * dx, inner_height * dy], axis=1)
        weights[k] = weight
    return rects, weights
