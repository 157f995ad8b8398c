"""Randomness is a hash: a draw is a pure function of (seed, purpose, two counters).

There is no generator with a state, so threads, chunks and machines draw the same numbers in any order.
The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood 2014). A sample is not stored: its
seed and number are enough to draw the same rows again.
"""

import numpy as np

from hedgerow._typing import RowNumbers
from hedgerow.kernels.cpu.jit import kernel

# Purposes of draws; two purposes never share numbers.
EDGE_SAMPLE = 1
ROW_SAMPLE = 2
TREE_COLUMNS = 3
NODE_COLUMNS = 4
VALIDATION = 5
SCHAPIRE_SAMPLES = 6
RESAMPLE = 7
RESTART = 8
BOOTSTRAP = 9
BAG_COLUMNS = 10
BAG_SEEDS = 20
ROW_KEYS = 21
MINING = 22
FEATURE_POOL = 23
HELD_OUT_WINDOWS = 24
HOLD_OUT = 30
FOLDS = 31
TARGET_PARTS = 32
ROW_WEIGHTS = 33
DROPPED_ROUNDS = 34
DROPPED_FEW = 35
LEAF_FOLDS = 36
SPLIT_NOISE = 40

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


@kernel
def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * _MIX1
    x = (x ^ (x >> np.uint64(27))) * _MIX2
    return x ^ (x >> np.uint64(31))


@kernel
def stream(seed, purpose, first):
    """Return the key that the draws of all `second` share; see `draw_from`."""
    key = _mix(np.uint64(seed) + _GOLDEN * np.uint64(purpose))
    return _mix(key ^ (np.uint64(first) + _GOLDEN))


@kernel
def draw_from(key, second):
    """Return a uniform uint64 of a stream."""
    return _mix(key ^ (np.uint64(second) * _GOLDEN + _MIX1))


@kernel
def draw(seed, purpose, first, second):
    """Return a uniform uint64 for the key (seed, purpose, first, second)."""
    return draw_from(stream(seed, purpose, first), second)


@kernel
def bounded_draw(number, n):
    """Map a draw to 0..n - 1, for n up to 2**32; takes a third of the time of %."""
    return np.int64(((number >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def normal(seed, purpose, first, second):
    """Return a standard normal number: the sum of twelve uniform ones, whose 16 bits come from three draws.

    The sum is an integer, so that the bits are the same on every processor. It is within 6 of 0.
    """
    key, total = stream(seed, purpose, first), np.int64(0)
    for number in range(3):
        bits = draw_from(key, 3 * second + number)
        for shift in range(0, 64, 16):
            total += np.int64((bits >> np.uint64(shift)) & np.uint64(0xFFFF))
    return np.float64(total - 12 * 65_535 // 2) / 65_536.0  # less the mean, over the standard deviation


@kernel
def choose_columns(columns, n_chosen, seed, purpose, first):
    """Move `n_chosen` random entries to the front of `columns` (Fisher-Yates, one draw per position)."""
    n, key = columns.shape[0], stream(seed, purpose, first)
    for i in range(n_chosen):
        left = np.uint64(n - i)
        other = i + np.int64(draw_from(key, i) % left)
        columns[i], columns[other] = columns[other], columns[i]


@kernel
def sample_rows(fraction, seed, purpose, first, start, stop, out):
    """Write the rows of [start, stop) whose draw is below `fraction`; return their number."""
    limit, key = np.uint64(fraction * 2.0**53), stream(seed, purpose, first)
    n = 0
    for row in range(start, stop):
        if draw_from(key, row) >> np.uint64(11) < limit:
            out[n] = row
            n += 1
    return n


def draw_positions(n_rows: int, fraction: float, seed: int, iteration: int) -> RowNumbers:
    """Draw the positions of a random fraction of rows for a round, in ascending order; at least one."""
    positions = np.empty(n_rows, np.uint32)
    n = sample_rows(fraction, seed, ROW_SAMPLE, iteration, 0, n_rows, positions)
    return positions[:n] if n else np.zeros(1, np.uint32)


@kernel
def draw_rows(seed, purpose, first, out):
    """One draw for every row: out[row] = draw(seed, purpose, first, row)."""
    key = stream(seed, purpose, first)
    for row in range(out.shape[0]):
        out[row] = draw_from(key, row)


@kernel
def draw_row_range(seed, purpose, first, start, out):
    """Do `draw_rows` for the rows from number `start` on."""
    key = stream(seed, purpose, first)
    for row in range(out.shape[0]):
        out[row] = draw_from(key, start + row)


# --- bootstrap samples: draw i of member b is draw(seed, BOOTSTRAP, b, i)


@kernel
def count_draws(n_rows, n_draws, seed, member, most, out):
    """out[row] = how often the row is among the draws; False when one is drawn more than `most` times."""
    out[:] = 0
    size, key = np.uint64(n_rows), stream(seed, BOOTSTRAP, member)
    for i in range(n_draws):
        row = np.int64(draw_from(key, i) % size)
        if out[row] == most:
            return False
        out[row] += 1
    return True


@kernel
def count_weighted_draws(ends, n_draws, seed, member, most, out):
    """Do `count_draws` with ends[row] - ends[row - 1] entries per row; with one each, the draws are equal."""
    out[:] = 0
    size, key = np.uint64(ends[-1]), stream(seed, BOOTSTRAP, member)
    for i in range(n_draws):
        entry = np.int64(draw_from(key, i) % size)
        row, above = np.int64(0), np.int64(ends.size - 1)  # the first row whose end is above the entry
        while row < above:
            middle = (row + above) >> 1
            if ends[middle] > entry:
                above = middle
            else:
                row = middle + 1
        if out[row] == most:
            return False
        out[row] += 1
    return True
