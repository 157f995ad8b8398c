r"""The intrinsics of the kernels in plain Python.

Numba compiles an intrinsic to a few machine instructions and cannot run it as Python. These functions replace
them when kernels run as Python \(see `python_bodies`\), and are the reference of the compiled ones. A vector
of lanes is an array of sixteen numbers.
"""

import threading
import time

import numpy as np

LANES, TILE = 16, 8
CELLS = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))  # rows and columns, clockwise
_INDIVISIBLE = threading.Lock()


# --- memory and threads


def prefetch(array, byte_offset):
    """Do nothing: a prefetch only affects the time of a read."""


def atomic_add(array, index, value):
    with _INDIVISIBLE:
        before = array[index]
        array[index] = before + value
    return before


def atomic_load(array, index):
    return array[index]


def lowest_bit(bits):
    number = int(bits)
    return type(bits)((number & -number).bit_length() - 1)


def yield_time_slice():
    time.sleep(0)


def count_bits(bits):
    return np.uint64(int(bits).bit_count())


# --- features of windows


def _corners(field, positions, offsets, first, n):
    """field[position + offsets[first + k]] of every window, as numbers modulo 2**32: (n, windows)."""
    wanted = np.asarray(offsets[first : first + n], np.int64)[:, None] + positions
    return np.asarray(field)[wanted]


def _sum(a, b, c, d):
    return a - b - c + d  # arrays of int32 wrap


def _haar(field, positions, node, offsets, weights, thresholds, inverse):
    corners = _corners(field, positions, offsets, 12 * node, 12)
    value = None
    for k in range(3):
        weight = weights[3 * node + k]
        if k < 2 or weight != 0:
            part = weight * _sum(*corners[4 * k : 4 * k + 4]).astype(np.float32)
            value = part if value is None else value + part
    return value * inverse < thresholds[node]


def haar_left(field, position, node, offsets, weights, thresholds, inverse):
    return bool(
        _haar(field, np.array([position]), node, offsets, weights, thresholds, np.float32(inverse))[0]
    )


def haar_lanes_left(field, position, node, offsets, weights, thresholds, inverse):
    return _haar(field, position + np.arange(LANES), node, offsets, weights, thresholds, inverse)


def _lbp(field, positions, node, offsets, subsets):
    grid = _corners(field, positions, offsets, 16 * node, 16).reshape(4, 4, -1)
    cells = _sum(grid[:3, :3], grid[:3, 1:], grid[1:, :3], grid[1:, 1:])
    code = np.zeros(len(positions), np.int64)
    for row, column in CELLS:
        code = 2 * code + (cells[row, column] >= cells[1, 1])
    words = np.asarray(subsets[8 * node : 8 * node + 8]).astype(np.int64)
    return (words[code // 32] >> (code % 32)) & 1 == 1


def lbp_left(field, position, node, offsets, subsets):
    return bool(_lbp(field, np.array([position]), node, offsets, subsets)[0])


def lbp_lanes_left(field, position, node, offsets, subsets):
    return _lbp(field, position + np.arange(LANES), node, offsets, subsets)


def _inverse(field, positions, corners, area):
    loaded = _corners(field, positions, corners, 0, 8)
    total = _sum(*loaded[:4]).astype(np.float64)
    squares = _sum(*loaded[4:]).view(np.uint32).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (1.0 / np.sqrt(area * squares - total * total)).astype(np.float32)


def inverse_norm(field, position, corners, area):
    return _inverse(field, np.array([position]), corners, area)[0]


def inverse_norm_lanes(field, position, corners, area):
    return _inverse(field, position + np.arange(LANES), corners, area)


# --- lanes


def _bits(mask):
    return np.uint64(sum(1 << i for i in range(LANES) if mask[i]))


def contrast_bits(inverse, area):
    return _bits(area * inverse.astype(np.float64) < 0.1)


def splat(value):
    return np.full(LANES, value, np.float64)


def choose(mask, left, right):
    return np.where(mask, left, right)


def add(a, b):
    return a + b


def at_least(sums, threshold):
    return _bits(sums >= threshold)


def load_lanes(array, position):
    return array[position : position + LANES].copy()


def store_lanes(array, position, lanes):
    array[position : position + LANES] = lanes


def store_inverse(array, inverse):
    array[:LANES] = inverse


def load_inverse(array):
    return array[:LANES].copy()


def gather_tile(field, positions, offset, block, target, stride):
    for lane in range(LANES):
        for k in range(TILE):
            block[target + k * stride + lane] = field[positions[lane] + offset + k]
