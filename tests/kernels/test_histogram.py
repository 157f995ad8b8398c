"""Histograms: integer sums by column and code, in pieces, by members, and by subtraction."""

import itertools

import numpy as np
import pytest

import oracle
from hedgerow.kernels.cpu.histogram import (
    add_packed,
    add_wide,
    fill_private,
    merge_column,
    subtract_column,
    sum_stored,
    widen,
)
from hedgerow.kernels.cpu.records import NODE, Statistics
from reference_grower import RowsInMemory, running_sums
from tree_cases import make_binned

N = 90
N_BINS = [4, 1, 30, 7, 254]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, n + 1, N) for n in N_BINS])
    return make_binned(codes, N_BINS)


@pytest.fixture(scope="module")
def shared():
    """Columns that are never unusual together: usual are the codes 0, 1, 3, 7 and 100."""
    rng = np.random.default_rng(3)
    codes = np.tile([0, 1, 3, 7, 100], (N, 1))
    codes[np.arange(N), np.arange(N) % 5] = [rng.integers(0, N_BINS[i % 5] + 1) for i in range(N)]
    return make_binned(codes, N_BINS)


@pytest.fixture(scope="module")
def wide():
    """The largest values that are packed, with random signs."""
    rng = np.random.default_rng(1)
    gradient = rng.integers(-(2**15), 2**15 + 1, N)
    gradient[:5] = [-(2**15), 2**15, 0, -1, 1]
    return np.column_stack([gradient, rng.integers(0, 2**16 + 1, N)])


def truth(table, rows, values, columns):
    """The sums of one channel over all entries, 0 for other columns."""
    sums = []
    for column, (codes, n_bins) in enumerate(zip(table.codes.by_column, table.codes.n_bins, strict=True)):
        chosen = rows.tolist() if column in columns else []
        sums += oracle.histogram(codes.tolist(), chosen, values.tolist(), n_bins + 1)
    return sums


def packed_of(wide):
    return wide[:, 0] * 2**32 + wide[:, 1]


def some_rows(seed=2):
    return np.random.default_rng(seed).permutation(N)[: N - 7].astype(np.uint32)


COLUMNS = {"all": [0, 1, 2, 3, 4], "some": [1, 4], "one": [3]}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize(("start", "stop"), [(0, 0), (5, 6), (3, 10), (0, N - 7)])
def test_sums_of_a_run_of_rows(table, wide, columns, start, stop):
    rows, codes = some_rows(), table.codes
    chosen, entries = np.array(columns), codes.offsets[-1]
    packed, pair = np.zeros(entries, int), np.zeros((2, entries), int)
    add_packed(codes.by_row, rows, start, stop, packed_of(wide), chosen, codes.offsets, packed)
    add_wide(codes.by_row, rows, start, stop, wide, chosen, codes.offsets, pair)
    run = rows[start:stop]
    gradient, hessian = (truth(table, run, wide[:, i], columns) for i in (0, 1))
    assert pair.tolist() == [gradient, hessian]
    assert packed.tolist() == [g * 2**32 + h for g, h in zip(gradient, hessian, strict=True)]


def test_widening_separates_the_two_sums_of_any_sign():
    gradient = np.array([-3, 5, 0, -(2**30), 2**30, -1])
    hessian = np.array([7, 0, 9, 2**31, 2**32 - 1, 0])
    packed, out = gradient * 2**32 + hessian, np.full((2, 6), 10)
    widen(packed, out)
    assert out.tolist() == [(gradient + 10).tolist(), (hessian + 10).tolist()]
    assert not packed.any()


def test_the_largest_piece_does_not_overflow():
    """2**15 rows of the largest statistics in one bin: the sums fit 32 bits each."""
    n = 2**15
    table = make_binned(np.ones((n, 1)), [1])
    rows, columns = np.arange(n, dtype=np.uint32), np.array([0])
    for gradient in (-(2**15), 2**15):
        values = np.full(n, gradient * 2**32 + 2**16)
        packed, out = np.zeros(2, int), np.zeros((2, 2), int)
        add_packed(table.codes.by_row, rows, 0, n, values, columns, table.codes.offsets, packed)
        widen(packed, out)
        assert out.tolist() == [[0, gradient * n], [0, 2**31]]


@pytest.mark.parametrize("kind", ["packed", "wide"])
@pytest.mark.parametrize(("packed_block_rows", "n_private"), [(1, 1), (2, 3), (40, 2), (1000, 3)])
@pytest.mark.parametrize("layout", ["table", "shared"])
def test_pieces_and_members_sum_to_the_same(layout, wide, kind, packed_block_rows, n_private, request):
    table = request.getfixturevalue(layout)
    assert (table.codes.usual >= 0).any() == (layout == "shared")
    rows, codes, columns = some_rows(), table.codes, np.array(COLUMNS["all"])
    stored = np.unique(table.stored)
    none, no_pairs = np.empty(0, int), np.empty((0, 2), int)
    halves = (packed_of(wide), no_pairs) if kind == "packed" else (none, wide)
    statistics = Statistics(*halves, none, packed_block_rows)
    entries = codes.stored_offsets[-1]
    packed, partial = np.full((n_private, entries), 99), np.full((n_private, 2, entries), 99)  # stale
    used, out = np.zeros(n_private, int), np.full((2, codes.offsets[-1]), 99)
    cuts = (np.linspace(0, 1, n_private + 1) ** 2 * len(rows)).astype(int)  # 40 rows: one piece or several
    whole = np.zeros(1, NODE)[0]
    whole["gradient"], whole["hessian"] = wide[rows].sum(axis=0)
    for m in range(n_private):
        used[m] = fill_private(codes, statistics, rows, cuts[m], cuts[m + 1], stored, packed[m], partial[m])
    all_packed = packed if kind == "packed" else packed[:0]
    sums = sum_stored(codes.stored_offsets, n_private, all_packed, partial, used)
    assert sums == tuple(wide[rows].sum(axis=0))
    for f in columns:
        merge_column(codes, f, whole, n_private, all_packed, partial, used, out)
    expected = np.array([truth(table, rows, wide[:, i], columns) for i in (0, 1)])
    assert out.tolist() == running_sums(expected, codes.offsets).tolist()


def test_subtraction_leaves_the_sums_of_the_sibling(table, wide):
    store = started(table, wide)
    whole = store.histograms([0])[0]
    split = np.zeros(
        (), np.dtype([("column", int), ("threshold", int), ("missing_left", int), ("categorical", int)])
    )
    split["column"], split["threshold"] = 2, 12
    store.partition(0, split, 1)
    left, right = store.histograms([1, 2])
    parent, child = whole[:2].copy(), left[:2].copy()
    for first, last in itertools.pairwise(table.codes.offsets):
        subtract_column(first, last, parent, child)
    assert (parent == right[:2]).all()
    assert left[0].any()
    assert right[0].any()


def started(table, wide, copies=None, columns=(0, 1, 2, 3, 4)):
    store = RowsInMemory(table)
    copies = np.empty(0, int) if copies is None else copies
    store.start(Statistics(np.empty(0, int), wide, copies, 1), some_rows(), np.array(columns))
    return store
