"""Targets in the leaves and their quantiles, against plain Python with fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forest_cases import GrownForest
from hedgerow.bagging.leaf_targets import LeafTargets, chunk_rows
from hedgerow.binning import find_bins
from hedgerow.table import read_table
from hedgerow.voting import EncodedRows, VoteForest, VotingTree

NONE = np.empty(0)


class Grown(GrownForest):
    """A small forest on random data."""

    def __init__(self, n_rows=80, n_trees=7, min_leaf=3, seed=0, weighted=False, digits=1):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, 3))
        y = np.round(X[:, 0] + rng.normal(size=n_rows), digits)
        weight = rng.choice([0.5, 1.25, 3.0], n_rows) if weighted else None
        draws = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=n_trees)
        super().__init__(X, y, draws, weight, min_leaf=min_leaf, seed=seed)

    def quantiles(self, X, quantiles, n_threads=1):
        return self.leaves().quantiles(
            self.forest, EncodedRows(read_table(X), self.bins), np.asarray(quantiles, float), n_threads
        )

    def amounts(self, X):
        """For every row of X, {target: its weight} as fractions, by walking all rows to their leaves."""
        known = self.forest.leaf_ids(self.rows, 1)
        n_trees = len(self.draws)
        for nodes in self.forest.leaf_ids(EncodedRows(read_table(X), self.bins), 1):
            spread = {}
            for tree in range(n_trees):
                mates = np.flatnonzero((known[:, tree] == nodes[tree]) & (self.draws[tree] > 0))
                amount = {row: Fraction(int(self.draws[tree, row])) for row in mates}
                if self.weight is not None:
                    amount = {row: drawn * Fraction(self.weight[row]) for row, drawn in amount.items()}
                whole = sum(amount.values()) * n_trees
                for row, share in amount.items():
                    spread[self.y[row]] = spread.get(self.y[row], 0) + share / whole
            yield spread


def quantile_oracle(spread, quantile):
    running = Fraction(0)
    for target in sorted(spread):
        running += spread[target]
        if running >= Fraction(quantile) - Fraction(1, 2**41):  # 0.1 is not quite a tenth
            return target
    raise AssertionError


def by_hand(leaves_of_trees, y, draws):
    """Leaf targets of trees as lists of leaves, which are lists of rows."""
    trees = [
        VotingTree(
            NONE, NONE, NONE, NONE, NONE,
            np.cumsum([0] + [len(leaf) for leaf in leaves]),
            np.concatenate(leaves).astype(np.uint32),
        )
        for leaves in leaves_of_trees
    ]  # fmt: skip
    return LeafTargets.of(trees, np.asarray(y, float), lambda tree: np.asarray(draws[tree]))


def at_roots(leaves, quantiles):
    """Quantiles in a forest of trees that are one leaf each."""
    n_trees = len(leaves.starts) - 1
    words = np.full(n_trees, 3, np.uint64)
    ends, none = np.arange(n_trees + 1), np.zeros(n_trees + 1, np.int64)
    forest = VoteForest(
        ends, words, ends, np.zeros((n_trees, 1)), none, np.empty((0, 4), np.uint64), np.empty(0, np.int32),
        np.zeros((n_trees, 1)), 0,
    )  # fmt: skip
    table = read_table(np.zeros((1, 1)))
    return leaves.quantiles(forest, EncodedRows(table, find_bins(table)), np.asarray(quantiles, float), 1)[0]


# --- entries


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_leaf_holds_its_targets_in_order_with_their_draws(data):
    n = data.draw(st.integers(1, 12))
    y = data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 7.0]), min_size=n, max_size=n))
    draws, leaves_of_trees = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        drawn = data.draw(st.lists(st.integers(0, 300), min_size=n, max_size=n).filter(any))
        leaf_of = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
        rows = data.draw(st.permutations([row for row in range(n) if drawn[row]]))
        leaves = [[row for row in rows if leaf_of[row] == leaf] for leaf in range(4)]
        leaves_of_trees.append([leaf for leaf in leaves if leaf])
        draws.append(drawn)
    found = by_hand(leaves_of_trees, y, draws)
    expected = []
    for leaves, drawn in zip(leaves_of_trees, draws, strict=True):
        for leaf in leaves:
            targets = sorted({y[row] for row in leaf})
            expected.append({t: sum(drawn[row] for row in leaf if y[row] == t) for t in targets})
    assert found.targets.tolist() == sorted(set(y))
    assert len(found.starts) == len(expected) + 1
    for leaf, amounts in enumerate(expected):
        some = slice(int(found.starts[leaf]), int(found.starts[leaf + 1]))
        assert found.targets[found.positions[some]].tolist() == list(amounts)
        assert found.draws[some].tolist() == list(amounts.values())


def test_arrays_are_as_small_as_they_can_be():
    few, many = (by_hand([[[0, 1]]], [1.0, 2.0], [[1, count]]) for count in (255, 256))
    assert few.draws.dtype == np.uint8
    assert many.draws.dtype == np.uint16
    assert few.starts.dtype == few.positions.dtype == np.uint32
    assert few.nbytes == 2 * 4 + 2 * 4 + 2 * 1 + 2 * 8


def test_both_zeros_are_one_target():
    assert by_hand([[[0, 1]]], [0.0, -0.0], [[1, 1]]).draws.tolist() == [2]


def test_trees_grown_without_their_rows_are_refused():
    bare = VotingTree(*[NONE] * 7)
    with pytest.raises(ValueError, match="tree 0 was grown without keep_rows"):
        LeafTargets.of([bare], np.zeros(1), lambda _: np.ones(1, int))


# --- quantiles


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_leaf", [1, 6])
def test_quantiles_are_those_of_fractions(weighted, min_leaf):
    grown = Grown(min_leaf=min_leaf, weighted=weighted)
    X = np.random.default_rng(1).normal(size=(30, 3))
    quantiles = [0.5, 0.0, 0.1, 1.0, 0.25, 0.9, 1 / 3, 0.05, 0.95]
    found = grown.quantiles(X, quantiles)
    expected = [[quantile_oracle(spread, q) for q in quantiles] for spread in grown.amounts(X)]
    assert found.tolist() == expected


def test_the_mean_of_the_leaves_is_the_prediction():
    grown = Grown(weighted=True)
    means = [
        float(sum(Fraction(y) * part for y, part in spread.items())) for spread in grown.amounts(grown.X)
    ]
    predicted = grown.forest.votes(grown.rows, 1)[:, 0] / len(grown.trees)
    np.testing.assert_allclose(means, predicted, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_draws_give_the_quantiles_of_fractions(data):
    n_rows, n_trees = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 6))
    y = data.draw(st.lists(st.integers(-3, 3).map(float), min_size=n_rows, max_size=n_rows))
    counts = st.lists(st.integers(0, 7), min_size=n_rows, max_size=n_rows).filter(any)
    draws = [data.draw(counts) for _ in range(n_trees)]
    levels = data.draw(st.lists(st.integers(0, 60).map(lambda k: k / 60), min_size=1, max_size=5))
    leaves = by_hand([[[row for row in range(n_rows) if drawn[row]]] for drawn in draws], y, draws)
    spread = {}
    for drawn in draws:
        for target, count in zip(y, drawn, strict=True):
            if count:
                spread[target] = spread.get(target, 0) + Fraction(count, sum(drawn) * n_trees)
    assert at_roots(leaves, levels).tolist() == [quantile_oracle(spread, level) for level in levels]


def test_a_third_and_two_thirds_of_two_trees_are_a_half():
    leaves = by_hand([[[0, 1]], [[0, 1]]], [1.0, 2.0], [[1, 2], [2, 1]])
    assert at_roots(leaves, [0.5, 0.5 + 1e-9, 0.0, 1.0]).tolist() == [1.0, 2.0, 1.0, 2.0]


def test_quantile_of_one_seventh_for_any_number_of_trees():
    for n_trees in (1, 3, 11, 50):
        leaves = by_hand([[list(range(7))]] * n_trees, np.arange(7.0), [[1] * 7] * n_trees)
        levels = np.arange(1, 8) / 7
        assert at_roots(leaves, levels).tolist() == list(range(7))
        assert at_roots(leaves, levels[:-1] + 1e-9).tolist() == list(range(1, 7))


def test_weights_of_any_scale_act_alike():
    grown = Grown(weighted=True)
    expected = grown.quantiles(grown.X, [0.1, 0.7])
    for scale in (2.0**-900, 2.0**900):
        leaves = LeafTargets.of(grown.trees, grown.y, grown.draws.__getitem__, grown.weight * scale)
        found = leaves.quantiles(grown.forest, grown.rows, np.array([0.1, 0.7]), 1)
        assert np.array_equal(found, expected)


def test_any_number_of_threads_gives_the_same_quantiles():
    grown = Grown(n_rows=300, n_trees=20, digits=6)
    X = np.random.default_rng(2).normal(size=(700, 3))
    found = [grown.quantiles(X, [0.05, 0.5, 0.95], n_threads) for n_threads in (1, 2, 4)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert chunk_rows(700, 20, 4) < 700  # several chunks


def test_rows_are_independent_of_their_neighbours():
    grown = Grown()
    together = grown.quantiles(grown.X, [0.2, 0.8])
    alone = [grown.quantiles(row[np.newaxis], [0.2, 0.8])[0] for row in grown.X[:10]]
    assert np.array_equal(together[:10], alone)


def test_leaves_of_another_forest_are_refused():
    grown, other = Grown(), Grown(n_trees=3)
    with pytest.raises(ValueError, match="leaves"):
        other.leaves().quantiles(grown.forest, grown.rows, np.array([0.5]), 1)


# --- ranks


@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_are_weights_in_out_of_bag_trees(weighted):
    grown = Grown(weighted=weighted, n_trees=12)
    grown.draws[:, 5] = 1  # every tree is trained on row 5
    in_bag = np.packbits(grown.draws > 0, axis=1, bitorder="little")
    args = (grown.forest, grown.rows, in_bag, grown.y)
    found = grown.leaves().ranks(*args, 1)
    assert np.isnan(found[5]).all()
    known = grown.forest.leaf_ids(grown.rows, 1)
    for row in range(40):
        below, up_to, n_trees = Fraction(0), Fraction(0), 0
        for tree, drawn in enumerate(grown.draws):
            if drawn[row]:
                continue
            mates = np.flatnonzero((known[:, tree] == known[row, tree]) & (drawn > 0))
            mates = [mate for mate in mates if mate in grown.trees[tree].leaf_rows]
            amount = {m: int(drawn[m]) * Fraction(1 if not weighted else grown.weight[m]) for m in mates}
            whole = sum(amount.values())
            below += sum(a for m, a in amount.items() if grown.y[m] < grown.y[row]) / whole
            up_to += sum(a for m, a in amount.items() if grown.y[m] <= grown.y[row]) / whole
            n_trees += 1
        if n_trees:
            expected = [float(below / n_trees), float(up_to / n_trees)]
            np.testing.assert_allclose(found[row], expected, rtol=0, atol=2e-12)
    assert np.array_equal(grown.leaves().ranks(*args, 4), found, equal_nan=True)


def test_quantiles_and_ranks_agree():
    grown = Grown(n_trees=3, min_leaf=8)
    no_rows = np.zeros((3, 10), np.uint8)  # as if no tree was trained on any row
    below, up_to = grown.leaves().ranks(grown.forest, grown.rows, no_rows, grown.y, 1).T
    for quantile in (0.1, 0.37, 0.5, 0.81):
        found = grown.quantiles(grown.X, [quantile])[:, 0]
        assert np.array_equal(grown.y <= found, below < quantile - 1e-11)
        assert np.array_equal(grown.y >= found, up_to >= quantile - 1e-11)


# --- warm starts


def test_joined_leaves_are_those_of_one_fit():
    grown = Grown(n_trees=6)
    whole = grown.leaves()
    first = LeafTargets.of(grown.trees[:2], grown.y, grown.draws.__getitem__)
    second = LeafTargets.of(grown.trees[2:], grown.y, lambda tree: grown.draws[tree + 2])
    joined = LeafTargets.join(first, second)
    for name in ("starts", "positions", "draws", "targets", "weights"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name)), name
        assert getattr(joined, name).dtype == getattr(whole, name).dtype, name


def test_joining_widens_the_draws():
    few, many = (by_hand([[[0, 1]]], [1.0, 2.0], [[1, count]]) for count in (2, 300))
    assert LeafTargets.join(few, many).draws.tolist() == [1, 2, 1, 300]


def test_leaves_of_other_targets_are_not_joined():
    first, second = (by_hand([[[0, 1]]], y, [[1, 1]]) for y in ([1.0, 2.0], [1.0, 3.0]))
    with pytest.raises(ValueError, match="different training targets"):
        LeafTargets.join(first, second)
