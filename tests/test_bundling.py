"""Bundling: exclusive columns share a stored one, and no tree changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow.binning
from hedgerow.bundling import Bundles, find_bundles
from hedgerow.growing.grower import GrowthOptions
from hedgerow.threads import Team
from tree_cases import assert_same_tree, grow_compiled, grow_reference, make_binned, measure


def one_hot(n_rows, n_kinds, seed=0):
    """Codes (rows, kinds): 2 in the column of the row's kind, 1 elsewhere."""
    codes = np.ones((n_rows, n_kinds), np.uint8)
    codes[np.arange(n_rows), np.random.default_rng(seed).integers(0, n_kinds, n_rows)] = 2
    return codes


def apart(_by_column, n_bins):
    """Every column stored alone."""
    n = len(n_bins)
    return Bundles(np.arange(n), np.full(n, -1), np.zeros(n, int), n_bins + 1)


def test_one_hot_columns_share_one_stored_column():
    codes = one_hot(500, 9)
    bundles = find_bundles(np.ascontiguousarray(codes.T), np.full(9, 2))
    assert bundles.stored.tolist() == [0] * 9
    assert bundles.usual.tolist() == [1] * 9
    assert bundles.widths.tolist() == [1 + 9 * 2]


def test_columns_that_meet_in_one_row_are_kept_apart():
    codes = one_hot(500, 3)
    codes[77] = [2, 2, 1]
    bundles = find_bundles(np.ascontiguousarray(codes.T), np.full(3, 2))
    assert bundles.stored.tolist() == [0, 1, 0]


def test_a_stored_column_holds_at_most_256_codes():
    codes = np.ones((1000, 5), np.uint8)
    codes[np.arange(500), np.arange(500) % 5] = 100
    bundles = find_bundles(np.ascontiguousarray(codes.T), np.full(5, 100))
    assert bundles.stored.tolist() == [0, 0, 1, 1, 2]
    assert bundles.widths.max() <= 256


@pytest.mark.parametrize("usual", [0, 1, 3, 5])
def test_stored_codes_say_which_column_and_which_code(usual):
    n_bins = np.array([5, 5, 5])
    codes = np.full((400, 3), usual, np.uint8)
    rng = np.random.default_rng(usual)
    codes[np.arange(300), rng.integers(0, 3, 300)] = rng.integers(0, 6, 300)
    table = make_binned(codes, n_bins)
    assert table.codes.stored_offsets.tolist() == [0, 16]
    for row in range(400):
        stored = int(table.codes.by_row[row, 0])
        unusual = np.flatnonzero(codes[row] != usual)
        if not len(unusual):
            assert stored == 0
            continue
        column, code = unusual[0], int(codes[row, unusual[0]])
        assert stored == table.codes.places[column] + code - (code > usual)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.data())
def test_trees_do_not_change(data):
    n = data.draw(st.integers(2, 120))
    n_kinds = data.draw(st.integers(2, 6))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 8, (n, 2))
    sparse = np.ones((n, n_kinds), np.uint8)
    hits = rng.random(n) < data.draw(st.sampled_from([0.1, 0.5, 0.9]))
    sparse[hits, rng.integers(0, n_kinds, hits.sum())] = rng.integers(0, 4, hits.sum())
    codes = np.column_stack([sparse[:, :1], dense, sparse[:, 1:]])
    n_bins, categorical = (
        [3, 7, 7] + [3] * (n_kinds - 1),
        [data.draw(st.booleans()) for _ in range(n_kinds + 2)],
    )
    rules = GrowthOptions(
        max_leaf_nodes=data.draw(st.sampled_from([2, 8, 31])),
        min_samples_leaf=data.draw(st.sampled_from([1, 5])),
        min_child_weight=0.0,
        columns_per_tree=data.draw(st.sampled_from([0.5, 1.0])),
    )
    weight = None if data.draw(st.booleans()) else rng.integers(0, 3, n) + (np.arange(n) == 0)
    measured, rows = measure(rng.normal(size=n), rng.random(n), weight)
    binned = make_binned(codes, n_bins, categorical)
    with Team(data.draw(st.integers(1, 2))) as team:
        shared = grow_compiled(binned, rules, measured, rows, team=team)
    assert_same_tree(shared, grow_reference(binned, rules, measured, rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hedgerow.binning, "find_bundles", apart)
        assert_same_tree(
            shared, grow_compiled(make_binned(codes, n_bins, categorical), rules, measured, rows)
        )
