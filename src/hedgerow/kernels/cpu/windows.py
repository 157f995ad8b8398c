"""Features of many small windows of one size.

The integral images of n windows are stored by position, (positions, n), so that one feature of all windows
is a few sums of whole rows, which the compiler vectorises:

    planes[y * (W + 1) + x, i]                  sum of the pixels above and left of (x, y) in window i
    planes[(H + 1) * (W + 1) + ..., i]          the same for the tilted integral image, if there is one

A rectangle is its four corners (a, b, c, d) as rows of the planes; its sum is a - b - c + d. Values are those
of the detector: float32 of the weighted sum, times 1 / (area * standard deviation) as float32.
"""

import math

import numpy as np

from hedgerow.kernels.cpu.jit import deep_inline, kernel
from hedgerow.kernels.cpu.leaf_targets import nth_smallest

CODES = 254  # of a Haar feature, from 1; 0 is for missing values, of which there are none
# Of a detector: windows that it evaluates at once, and the layout of its features.
LANES = 16
TILE = 8  # numbers of a window that are copied at once: 8 x 8 are transposed in 24 steps
LBP_CORNERS = 16  # 4 x 4 corners of 3 x 3 cells, row by row
HAAR_CORNERS = 12  # 3 rectangles of 4 corners
WINDOWS_PER_BLOCK = 256  # so that their planes stay in the second-level cache


@kernel
def fill_planes(pixels, width, height, planes, start, stop):
    """Integral images of windows start to stop - 1. pixels : uint8 (height * width, n), by position."""
    for x in range(width + 1):
        planes[x, start:stop] = 0
    for y in range(1, height + 1):
        row = y * (width + 1)
        planes[row, start:stop] = 0
        for x in range(1, width + 1):
            out = planes[row + x, start:stop]
            left, up = planes[row + x - 1, start:stop], planes[row + x - width - 1, start:stop]
            corner = planes[row + x - width - 2, start:stop]
            pixel = pixels[(y - 1) * width + x - 1, start:stop]
            for i in range(out.shape[0]):
                out[i] = left[i] + up[i] - corner[i] + np.int32(pixel[i])


@kernel
def fill_tilted(pixels, width, height, planes, start, stop):
    """Tilted integral images: T(x, y) is the sum of the pixels in the cone above (x, y).

    T(x, y) = T(x - 1, y - 1) + T(x + 1, y - 1) - T(x, y - 2) + I(x - 1, y - 1) + I(x - 1, y - 2)
    (Lienhart and Maydt 2002); beyond the left and right edge the cone is that of the neighbour inside.
    """
    first = (width + 1) * (height + 1)
    for x in range(width + 1):
        planes[first + x, start:stop] = 0
    for y in range(1, height + 1):
        for x in range(width + 1):
            out = planes[first + y * (width + 1) + x, start:stop]
            out[:] = 0
            # columns c with |c - (x - 1)| <= y - 1 - r of every row r above: summed as two steps of the cone
            if x > 0:
                pixel = pixels[(y - 1) * width + x - 1, start:stop]
                for i in range(out.shape[0]):
                    out[i] += np.int32(pixel[i])
            if y > 1:
                _add_cone(pixels, width, planes, first, x, y, start, stop)


@kernel
def _add_cone(pixels, width, planes, first, x, y, start, stop):
    """Add the rows above y - 1: the cones of the neighbours, less their intersection."""
    out = planes[first + y * (width + 1) + x, start:stop]
    above = first + (y - 1) * (width + 1)
    if 0 < x < width:
        left, right = planes[above + x - 1, start:stop], planes[above + x + 1, start:stop]
        both = planes[above - width - 1 + x, start:stop]
        pixel = pixels[(y - 2) * width + x - 1, start:stop]
        for i in range(out.shape[0]):
            out[i] += left[i] + right[i] - both[i] + np.int32(pixel[i])
        return
    near = planes[above + (x + 1 if x == 0 else x - 1), start:stop]
    for i in range(out.shape[0]):
        out[i] += near[i]
    if x == width:
        pixel = pixels[(y - 2) * width + x - 1, start:stop]
        for i in range(out.shape[0]):
            out[i] += np.int32(pixel[i])


@kernel
def fill_norms(pixels, width, height, inverse, start, stop):
    """1 / (area * standard deviation) of the pixels inside the border, 0 where they are all the same."""
    area = np.float64((width - 2) * (height - 2))
    for i in range(start, stop):
        total, squares = np.int64(0), np.int64(0)
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                pixel = np.int64(pixels[y * width + x, i])
                total += pixel
                squares += pixel * pixel
        spread = area * np.float64(squares) - np.float64(total) * np.float64(total)
        inverse[i] = np.float32(1.0 / math.sqrt(spread)) if spread > 0.0 else np.float32(0.0)


@deep_inline
def _sums(planes, corners, weights, start, stop, out):
    """Write the weighted sums of a feature's rectangles for windows start to stop - 1, not normalised."""
    for k in range(3):
        weight = weights[k]
        if weight == np.float32(0.0):
            continue
        a, b = planes[corners[k, 0], start:stop], planes[corners[k, 1], start:stop]
        c, d = planes[corners[k, 2], start:stop], planes[corners[k, 3], start:stop]
        if k == 0:
            for i in range(out.shape[0]):
                out[i] = weight * np.float32(a[i] - b[i] - c[i] + d[i])
        else:
            for i in range(out.shape[0]):
                out[i] += weight * np.float32(a[i] - b[i] - c[i] + d[i])


@kernel
def haar_values(planes, inverse, corners, weights, out):
    """Compute a Haar feature of all windows. corners int32 (3, 4), weights float32 (3,), out float32 (n,)."""
    _sums(planes, corners, weights, 0, out.shape[0], out)
    for i in range(out.shape[0]):
        out[i] *= inverse[i]


@kernel
def haar_ranges(planes, inverse, corners, weights, tail, low, scale):
    """Write the lowest value of the codes of features, and the number of codes per unit of value.

    corners : (F, 3, 4), weights : (F, 3), low and scale : float32 (F,), which are written. The codes
    are of equal width between two values; `tail` windows are outside on either side.
    """
    values = np.empty(inverse.shape[0], np.float32)
    for f in range(corners.shape[0]):
        haar_values(planes, inverse, corners[f], weights[f], values)
        first, last = nth_smallest(values, tail), nth_smallest(values, values.shape[0] - 1 - tail)
        low[f] = first
        scale[f] = np.float32(CODES) / (last - first) if last > first else np.float32(0.0)


@kernel
def haar_codes(planes, inverse, corners, weights, low, scale, start, stop, codes):
    """Codes 1 to CODES of all features of windows start to stop - 1, into codes : uint8 (F, n).

    A code rises with the value, which is sufficient for cuts.
    """
    values = np.empty(WINDOWS_PER_BLOCK, np.float32)
    most = np.float32(CODES - 1)
    for begin in range(start, stop, WINDOWS_PER_BLOCK):
        end = min(begin + WINDOWS_PER_BLOCK, stop)
        value, norm = values[: end - begin], inverse[begin:end]
        for f in range(corners.shape[0]):
            _sums(planes, corners[f], weights[f], begin, end, value)
            out = codes[f, begin:end]
            least, per_unit = low[f], scale[f]
            for i in range(out.shape[0]):
                code = (value[i] * norm[i] - least) * per_unit
                code = max(code, np.float32(0.0))
                code = min(code, most)
                out[i] = np.uint8(np.int32(code) + np.int32(1))


@kernel
def lbp_codes(planes, corners, start, stop, codes):
    """Local binary patterns of all features of windows start to stop - 1, into codes : uint8 (F, n).

    corners : int32 (F, 16), the 4 x 4 grid points row by row. A neighbour at least as bright as the centre
    sets its bit, clockwise from the top left, which has the highest.
    """
    ring = (0, 1, 2, 6, 10, 9, 8, 4)  # top left grid point of each neighbour
    for begin in range(start, stop, WINDOWS_PER_BLOCK):
        end = min(begin + WINDOWS_PER_BLOCK, stop)
        for f in range(corners.shape[0]):
            grid, out = corners[f], codes[f, begin:end]
            middle = np.empty(end - begin, np.int32)
            _cell(planes, grid, 5, begin, end, middle)
            cell = np.empty(end - begin, np.int32)
            for k in range(8):
                _cell(planes, grid, ring[k], begin, end, cell)
                bit = np.uint8(1 << (7 - k))
                for i in range(out.shape[0]):
                    old = out[i] if k else np.uint8(0)
                    out[i] = old | (bit if cell[i] >= middle[i] else np.uint8(0))


@deep_inline
def _cell(planes, grid, corner, start, stop, out):
    """Sum of the cell whose top left grid point is `corner`."""
    a, b = planes[grid[corner], start:stop], planes[grid[corner + 1], start:stop]
    c, d = planes[grid[corner + 4], start:stop], planes[grid[corner + 5], start:stop]
    for i in range(out.shape[0]):
        out[i] = a[i] - b[i] - c[i] + d[i]
