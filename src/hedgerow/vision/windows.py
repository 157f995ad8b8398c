"""Windows for training: grey images of one size, and the codes of their features.

    pixels    uint8 (height * width, n), by position
    planes    int32 (positions, n), integral images by position; see `hedgerow.kernels.cpu.windows`
    inverse   float32 (n,), 1 / (area * standard deviation) of each window

`CodedWindows` is the input of the stump search: one column of one-byte codes for each feature.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.dtypes import MAX_BINS
from hedgerow.kernels.cpu.windows import (
    CODES,
    WINDOWS_AT_ONCE,
    fill_norms,
    fill_planes,
    fill_tilted,
    haar_codes,
    haar_ranges,
    haar_values,
    lbp_codes,
)
from hedgerow.threads import Team, cached_property
from hedgerow.vision.features import Features
from hedgerow.vision.model import HAAR

_RANGE_WINDOWS = 512  # sample for the range of the codes of a feature
_TAIL = 2  # windows of this sample outside the range, on each side


class WindowSet:
    """Integral images of windows.

    Parameters
    ----------
    images : uint8 (n, height, width)
    team : Team
    tilted : bool
        Whether tilted features will be computed.
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
            fill_planes(self.pixels, w, h, self.planes, start, stop)
            fill_norms(self.pixels, w, h, self.inverse, start, stop)
            if tilted:
                fill_tilted(self.pixels, w, h, self.planes, start, stop)

        team.over_rows(self.n, fill, size=WINDOWS_AT_ONCE)

    def values(self, features: Features, number: int) -> NDArray[np.float32]:
        """Compute one Haar feature of all windows."""
        out = np.empty(self.n, np.float32)
        haar_values(self.planes, self.inverse, features.corners[number], features.weights[number], out)
        return out

    def patterns(self, features: Features, number: int) -> NDArray[np.uint8]:
        """Compute one LBP feature of all windows."""
        out = np.empty(self.n, np.uint8)
        lbp_codes(self.planes, features.corners[number : number + 1], 0, self.n, out[np.newaxis])
        return out

    def coded(self, features: Features) -> "CodedWindows":
        """Compute one byte for each feature of each window, in the order of features."""
        codes = np.empty((len(features), self.n), np.uint8)
        corners, weights = features.corners, features.weights
        if features.kind != HAAR:
            self._over_windows(lambda a, b: lbp_codes(self.planes, corners, a, b, codes))
            return CodedWindows(codes, patterns=True)
        low, scale = np.empty((2, len(features)), np.float32)
        every = max(1, self.n // _RANGE_WINDOWS)
        sample, norms = np.ascontiguousarray(self.planes[:, ::every]), self.inverse[::every].copy()
        tail = min(_TAIL, (len(norms) - 1) // 4)

        def ranges(a: int, b: int) -> None:
            haar_ranges(sample, norms, corners[a:b], weights[a:b], tail, low[a:b], scale[a:b])

        self.team.over_rows(len(features), ranges, size=1024)
        self._over_windows(
            lambda a, b: haar_codes(self.planes, self.inverse, corners, weights, low, scale, a, b, codes)
        )
        return CodedWindows(codes, patterns=False)

    def _over_windows(self, task: Any) -> None:
        self.team.over_rows(self.n, task, size=WINDOWS_AT_ONCE)


@dataclass(frozen=True, eq=False)
class CodedWindows:
    """Codes of features, one column each: the table of the weak learners.

    by_column : uint8 (features, windows)
    patterns : bool
        Whether codes are LBP patterns; otherwise they increase with the value of a Haar feature.
    """

    by_column: NDArray[np.uint8]
    patterns: bool

    @property
    def codes(self) -> "CodedWindows":
        """The object itself: codes and table are one."""
        return self

    @property
    def n_rows(self) -> int:
        """The number of windows."""
        return int(self.by_column.shape[1])

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return len(self.by_column)

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """The number of codes of every feature, without 0."""
        return np.full(self.n_columns, MAX_BINS if self.patterns else CODES, np.int64)

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        """Whether the codes of a feature are unordered."""
        return np.full(self.n_columns, self.patterns, np.uint8)
