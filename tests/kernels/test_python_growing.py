"""Trees of boosting by Python bodies: shared nodes, wide and packed statistics, bundled columns."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.growing import grower
from hedgerow.growing.grower import GrowthOptions
from hedgerow.kernels.cpu import grow, histogram
from hedgerow.threads import Team
from python_bodies import both_ways, python_bodies
from tree_cases import assert_same_tree, grow_compiled, grow_reference, make_binned, measure, unpacked

N = 90
N_BINS, CATEGORICAL = [40, 6, 9, 12], [False, False, True, False]

RULES = {
    "plain": GrowthOptions(min_samples_leaf=2),
    "large leaves": GrowthOptions(min_samples_leaf=20),  # most splits found first are too small
    "penalised": GrowthOptions(min_samples_leaf=2, l1_regularization=1.0, l2_regularization=2.0),
    "random": GrowthOptions(min_samples_leaf=2, columns_per_tree=0.8, columns_per_node=0.5, seed=3),
    "noise": GrowthOptions(min_samples_leaf=5, random_strength=2.0, seed=3),
    "monotonic": GrowthOptions(min_samples_leaf=2, monotonic=np.array([-1, 1, 0, 0], np.int8)),
    "groups": GrowthOptions(min_samples_leaf=2, groups=np.array([[1], [3], [2], [2]], np.uint64)),
    "deep": GrowthOptions(max_leaf_nodes=None, max_depth=4, min_samples_leaf=1),
}
WEIGHTS = {"none": None, "copies": np.arange(N) % 3, "smooth": np.arange(1, N + 1) / 7}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(1, n + 1, N) for n in N_BINS])
    codes[rng.random(codes.shape) < 0.1] = 0
    return make_binned(codes, N_BINS, CATEGORICAL)


@pytest.fixture(scope="module")
def shared():
    """Columns that are never unusual together lie in one stored column."""
    rng = np.random.default_rng(3)
    codes = np.tile([1, 0, 2, 3], (N, 1))
    codes[np.arange(N), np.arange(N) % 4] = [rng.integers(0, N_BINS[i % 4] + 1) for i in range(N)]
    binned = make_binned(codes, N_BINS, CATEGORICAL)
    assert len(binned.codes.stored_offsets) < len(N_BINS) + 1
    return binned


def gradients(table):
    a, b, c, d = table.codes.by_column.astype(float)
    return np.sin(a / 7) * (b > 3) + 0.5 * (c % 3 == 1) + 0.3 * np.cos(d) + 0.01 * a


def check(table, rules, measured, rows, team=None):
    """The tree is the same both ways, and it is that of the reference grower."""
    compiled, python = both_ways(lambda: grow_compiled(table, rules, measured, rows, 5, team))
    assert_same_tree(python, compiled)
    assert_same_tree(python, grow_reference(table, rules, measured, rows, 5))
    assert len(python.leaves) > 2


@pytest.mark.parametrize(
    ("rules", "weight"),
    [
        *((name, "none") for name in RULES),
        ("plain", "copies"),
        ("large leaves", "smooth"),
        ("plain", "smooth"),
    ],
)
def test_every_rule_and_weight_grows_the_same_tree(table, rules, weight):
    check(table, RULES[rules], *measure(gradients(table), np.ones(N), WEIGHTS[weight]))


def test_the_reference_grower_is_the_same_by_python_bodies(table):
    measured, rows = measure(gradients(table), np.ones(N))
    for rules in RULES.values():
        assert_same_tree(*both_ways(lambda rules=rules: grow_reference(table, rules, measured, rows, 5)))


@pytest.mark.parametrize("few", [False, True])
def test_bundled_columns_grow_the_same_tree(shared, few):
    rules = GrowthOptions(min_samples_leaf=2, columns_per_tree=0.5 if few else 1.0, seed=1)
    check(shared, rules, *measure(gradients(shared), np.ones(N)))


def test_wide_statistics_grow_the_same_tree(table, shared):
    rules = GrowthOptions(min_samples_leaf=2)
    for binned in (table, shared):
        measured, rows = measure(gradients(binned), np.ones(N))
        measured = replace(measured, statistics=unpacked(measured.statistics))
        check(binned, rules, measured, rows)


def test_pieces_that_are_widened_early_grow_the_same_tree(table):
    measured, rows = measure(gradients(table), np.ones(N))
    measured = replace(measured, statistics=measured.statistics._replace(packed_block_rows=13))
    check(table, GrowthOptions(min_samples_leaf=2), measured, rows)


def test_members_wait_at_barriers(table, monkeypatch):
    """Constants are compiled into kernels, so only the Python bodies are tested with small ones."""
    measured, rows = measure(gradients(table), np.ones(N))
    wide = replace(measured, statistics=unpacked(measured.statistics))
    for name, statistics in (("large leaves", measured), ("random", measured), ("plain", wide)):
        expected = grow_reference(table, RULES[name], statistics, rows, 5)
        with monkeypatch.context() as patch, python_bodies(), Team(2) as team:
            patch.setattr(grower, "_VALUES_PER_THREAD", 1)
            patch.setattr(grow, "ROWS_PER_THREAD", 10)
            patch.setattr(grow, "VERIFIED_ROWS", 30)
            assert_same_tree(grow_compiled(table, RULES[name], statistics, rows, 5, team), expected)


def test_histograms_of_some_columns_are_the_same(table):
    by_row, offsets = table.codes.by_row, table.codes.stored_offsets
    columns, rows = np.array([0, 2]), np.arange(0, N, 2, dtype=np.uint32)
    packed = np.random.default_rng(0).integers(-(2**40), 2**40, N)

    def case():
        out = np.zeros(offsets[-1], np.int64)
        histogram.add_packed(by_row, rows, 0, len(rows), packed, columns, offsets, out)
        return out

    compiled, python = both_ways(case)
    np.testing.assert_array_equal(python, compiled)
    assert compiled.any()
