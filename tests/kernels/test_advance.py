"""The kernels of shards against plain Python: a run is partitioned in order, and one side of it is summed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.growing.gradient_shard import codes_by_row
from hedgerow.growing.grower import GrowthOptions
from hedgerow.growing.weak_tree import codes_left
from hedgerow.kernels.cpu.advance import LEFT, NEITHER, RIGHT, advance_run, count_codes, find_nodes, sum_run
from hedgerow.kernels.cpu.records import SPLIT, Statistics
from tree_cases import grow_compiled, make_binned, measure

N_BINS, CATEGORICAL = [30, 5, 12], [False, True, False]


def coded(seed, n_rows=70):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n + 1, n_rows) for n in N_BINS])
    return make_binned(codes, N_BINS, CATEGORICAL), codes, rng


def make_statistics(rng, n_rows, *, wide, copies, piece=7):
    values = np.stack([rng.integers(-500, 500, n_rows), rng.integers(0, 900, n_rows)], axis=1)
    times = rng.integers(0, 4, n_rows) if copies else np.empty(0, np.int64)
    values = values * times[:, np.newaxis] if copies else values
    packed = np.empty(0, np.int64) if wide else values[:, 0] * 2**32 + values[:, 1]
    return values, Statistics(packed, values if wide else values[:0], times, piece)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2), st.integers(0, 2)
)
def test_run_is_partitioned_in_order_and_one_side_summed(seed, by_column, wide, copies, column, side):
    table, codes, rng = coded(seed)
    values, statistics = make_statistics(rng, len(codes), wide=wide, copies=copies)
    rows = rng.permutation(len(codes)).astype(np.uint32)[:60]
    start, stop = 5, int(rng.integers(5, 61))
    split = np.zeros((), SPLIT)
    split["column"], split["categorical"] = column, CATEGORICAL[column]
    left_codes = {c for c in range(N_BINS[column] + 1) if rng.random() < 0.5}
    if not CATEGORICAL[column]:
        split["threshold"], split["missing_left"] = rng.integers(1, N_BINS[column] + 1), rng.integers(0, 2)
        left_codes = set(range(1, int(split["threshold"]) + 1)) | ({0} if split["missing_left"] else set())
    for code in left_codes if CATEGORICAL[column] else ():
        split["goes_left"][code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    expected = rows.tolist()
    run = expected[start:stop]
    lefts = [row for row in run if codes[row, column] in left_codes]
    rights = [row for row in run if codes[row, column] not in left_codes]
    expected[start:stop] = lefts + rights
    stored = codes_by_row(table.bins, as_rows(codes), by_column=by_column)
    entries = int(table.bins.offsets[-1])
    out, scratch = np.full((2, entries), 99), np.zeros(entries, np.int64)
    found = advance_run(
        stored, statistics, split[()], (LEFT, RIGHT, NEITHER)[side], rows, np.empty(60, np.uint32),
        np.array([start, stop]), np.arange(3), scratch, out,
    )  # fmt: skip
    assert rows.tolist() == expected
    times = statistics.copies
    assert found == (len(lefts), int(times[lefts].sum()) if copies else len(lefts))
    assert not scratch.any()
    if side == 2:
        assert (out == 99).all()
    else:
        np.testing.assert_array_equal(
            out, plain_sums(codes, values, (lefts, rights)[side], table.bins.offsets)
        )


def as_rows(codes):
    by_row = np.zeros((len(codes), 4), np.uint8)
    by_row[:, :3] = codes
    return by_row


def plain_sums(codes, values, rows, offsets):
    sums = np.zeros((2, offsets[-1]), np.int64)
    for row in rows:
        for column in range(3):
            for channel in range(2):
                sums[channel, offsets[column] + codes[row, column]] += int(values[row, channel])
    return sums


@pytest.mark.parametrize("wide", [False, True])
def test_sums_of_a_run_are_those_of_its_rows(wide):
    table, codes, rng = coded(1)
    values, statistics = make_statistics(rng, len(codes), wide=wide, copies=False)
    rows = rng.permutation(len(codes)).astype(np.uint32)
    entries = int(table.bins.offsets[-1])
    out = np.ones((2, entries), np.int64)
    stored = codes_by_row(table.bins, as_rows(codes))
    sum_run(stored, statistics, rows, 3, 50, np.arange(3), np.zeros(entries, np.int64), out)
    np.testing.assert_array_equal(out, plain_sums(codes, values, rows[3:50], table.bins.offsets))


def test_codes_of_a_run_are_counted_with_copies():
    table, codes, rng = coded(2)
    rows, copies = rng.permutation(len(codes)).astype(np.uint32), rng.integers(0, 5, len(codes))
    for times in (copies, copies[:0]):
        stored = codes_by_row(table.bins, as_rows(codes))
        out = np.zeros(int(stored.offsets[-1]), np.int64)
        count_codes(stored, np.array([0, 2]), rows, 10, 40, times, out)
        plain = [0] * len(out)
        for row in rows[10:40].tolist():
            for column in (0, 2):
                plain[stored.offsets[column] + codes[row, column]] += int(times[row]) if len(times) else 1
        assert out.tolist() == plain


def leaf_of(nodes, codes):
    number = 0
    while nodes[number]["left"]:
        split = nodes[number]["split"]
        goes_left = bool(codes_left(split, codes[[split["column"]]])[0])
        number = int(nodes[number]["left"]) + (not goes_left)
    return number


def test_leaves_of_rows_follow_from_their_codes():
    table, codes, rng = coded(3)
    rules = GrowthOptions(min_samples_leaf=3)
    target = np.sin(codes[:, 0] / 3) + (codes[:, 1] % 2) + 0.1 * codes[:, 2]
    measured, rows = measure(target - target.mean(), np.ones(len(codes)))
    tree = grow_compiled(table, rules, measured, rows, 0)
    chosen = rng.permutation(len(codes)).astype(np.uint32)[:40]
    found = np.empty(40, np.int32)
    find_nodes(as_rows(codes), tree.nodes, chosen, found)
    assert found.tolist() == [leaf_of(tree.nodes, codes[row]) for row in chosen]
    assert len(set(found.tolist())) > 3
