"""Partition: the rows of a node are partitioned stably, by threshold or by set, for any number of members."""

import numpy as np
import pytest

import oracle
from hedgerow.kernels.cpu.partition import count_copies, gather_rows, in_set, split_rows, thread_range
from hedgerow.kernels.cpu.records import SPLIT

N = 120


def make_split(threshold=0, missing_left=0, members=None):
    split = np.zeros(1, SPLIT)[0]
    split["threshold"], split["missing_left"] = threshold, missing_left
    if members is not None:
        split["categorical"] = 1
        for code in members:
            split["goes_left"][code // 64] |= np.uint64(1) << np.uint64(code % 64)
    return split


SPLITS = {
    "missing right": (make_split(7), set(range(1, 8))),
    "missing left": (make_split(7, 1), set(range(8))),
    "lowest": (make_split(1), {1}),
    "all values left": (make_split(255), set(range(1, 256))),
    "all but the last": (make_split(254, 1), set(range(255))),
    "set": (make_split(members={0, 3, 63, 64, 127, 128, 255}), {0, 3, 63, 64, 127, 128, 255}),
    "no thread": (make_split(members=set()), set()),
}


def some_codes(seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, N)
    codes[::3] = rng.integers(0, 12, N)[::3]
    codes[:6] = [0, 255, 0, 63, 64, 1]
    return codes.astype(np.uint8)


def partition_by_threads(codes, split, rows, start, stop, n_threads):
    """All threads one after the other, as the barriers of the grower order them."""
    rows, buffer = rows.copy(), np.zeros((2, len(rows)), np.uint32)
    lefts = np.zeros(n_threads, int)
    for thread in range(n_threads):
        first, last = thread_range(start, stop, thread, n_threads)
        lefts[thread] = split_rows(codes, split, rows, first, last, *buffer[:, first:])
    for thread in reversed(range(n_threads)):
        gather_rows(rows, buffer, start, stop, lefts, thread, n_threads)
    return rows, int(lefts.sum())


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize(("n_threads", "start", "stop"), [(1, 0, N), (2, 10, 90), (7, 40, 43), (3, 5, 5)])
def test_rows_are_partitioned_as_by_the_oracle(kind, n_threads, start, stop):
    split, left_codes = SPLITS[kind]
    codes, rows = some_codes(), np.random.default_rng(1).permutation(N).astype(np.uint32)
    left, right = oracle.partition(codes.tolist(), rows[start:stop].tolist(), left_codes)
    partitioned, n_left = partition_by_threads(codes, split, rows, start, stop, n_threads)
    assert n_left == len(left)
    assert partitioned.tolist() == rows[:start].tolist() + left + right + rows[stop:].tolist()


@pytest.mark.parametrize(("n_threads", "start", "stop"), [(1, 0, 7), (3, 3, 3), (3, 5, 105), (10, 0, 7)])
def test_ranges_of_threads_cover_a_run_in_order(n_threads, start, stop):
    ranges = [thread_range(start, stop, thread, n_threads) for thread in range(n_threads)]
    covered = [row for first, last in ranges for row in range(first, last)]
    assert covered == list(range(start, stop))


def test_bits_of_a_set():
    members = {0, 1, 63, 64, 191, 192, 255}
    split = make_split(members=members)
    assert {code for code in range(256) if in_set(split["goes_left"], code)} == members


def test_copies_are_counted():
    rows = np.array([3, 1, 2, 0], np.uint32)
    assert count_copies(rows, 1, 4, np.empty(0, int)) == 3
    assert count_copies(rows, 1, 4, np.array([10, 200, 3000, 40_000])) == 3210
