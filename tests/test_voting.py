"""Forests that vote: rows down the trees beside a walk in plain Python, joined forests, importances."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from deep_cases import Problem, codes_of
from hedgerow import voting
from hedgerow.growing.deep import DeepOptions
from hedgerow.table import read_table
from hedgerow.voting import EncodedRows, VoteForest, VotingTree
from oracle_forest import decode, leaf_of
from tree_cases import values_of

KINDS = {
    "two classes": ("gini", 2),
    "four classes": ("entropy", 4),
    "one number": ("squared_error", 1),
    "three numbers": ("squared_error", 3),
}


def problem_of(kind, columns, n=60, seed=0, **rules):
    """A target that is independent of the columns, so that trees split on all of them."""
    rng = np.random.default_rng(seed)
    criterion, n_outputs = KINDS[kind]
    parts = [codes_of(rng, column, n) for column in columns]
    codes = np.column_stack([part[0] for part in parts])
    n_bins, categorical = ([value for part in parts for value in part[i]] for i in (1, 2))
    by_class = criterion != "squared_error"
    y = rng.integers(0, n_outputs, n) if by_class else rng.normal(size=(n, n_outputs))
    n_classes = n_outputs if by_class else 0
    given = DeepOptions(criterion=criterion, columns_per_node=2, **rules)
    return Problem(codes, n_bins, categorical, y, n_classes, np.ones(n, np.int64), given, seed=seed)


def trees_of(problem, n_trees):
    """Trees on resampled rows."""
    rng, n = np.random.default_rng(problem.seed + 1), len(problem.y)
    grower = problem.grower()
    return [grower.grow(number, rng.multinomial(n, np.full(n, 1 / n))) for number in range(n_trees)]


def new_rows(problem, n, seed=9):
    """Other rows: their codes, and a table with the values that have these codes."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n_bins + 1, n) for n_bins in problem.n_bins])
    other = replace(problem, codes=codes)
    return codes.tolist(), read_table(values_of(other.table)), other.table.bins


def tree_votes(tree, n_classes, codes):
    """Yield the vote of a tree for each row, and its leaf."""
    nodes = decode(tree.nodes, tree.sets, tree.set_number)
    for row in codes:
        leaf = leaf_of(nodes, row)
        number = nodes[leaf].number
        if number < n_classes:
            yield [float(k == number) for k in range(n_classes)], leaf
        else:
            yield tree.values[number - n_classes].tolist(), leaf


def votes_by_walking(trees, n_classes, codes, n_outputs, known=None):
    """Sums and numbers of the votes of trees whose bag does not contain the row."""
    sums, counts = [[0.0] * n_outputs for _ in codes], [0] * len(codes)
    for number, tree in enumerate(trees):
        for row, (values, _) in enumerate(tree_votes(tree, n_classes, codes)):
            if known is None or not known[number][row]:
                sums[row] = [a + b for a, b in zip(sums[row], values, strict=True)]
                counts[row] += 1
    return sums, counts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [["many", "holes", "all"], ["categories", "holes", "sparse"]])
def test_votes_and_leaves_are_those_found_by_walking(kind, columns):
    problem = problem_of(kind, columns)
    trees = trees_of(problem, 4)
    forest = VoteForest.of(trees, problem.n_classes)
    codes, table, bins = new_rows(problem, 1500)
    assert (len(forest.sets) > 0) == ("categories" in columns)
    sums, _ = votes_by_walking(trees, problem.n_classes, codes, forest.n_outputs)
    leaves = [[leaf for _, leaf in tree_votes(tree, problem.n_classes, codes)] for tree in trees]
    for n_threads, chunk_rows in ((1, 8192), (2, 100), (2, 1030)):
        with patch.object(voting, "_CHUNK_ROWS", chunk_rows):
            assert forest.votes(EncodedRows(table, bins), n_threads).tolist() == sums
            assert forest.leaf_ids(EncodedRows(table, bins), n_threads).T.tolist() == leaves


@pytest.mark.parametrize("kind", ["four classes", "three numbers"])
def test_trees_do_not_vote_on_rows_in_their_bag(kind):
    problem = problem_of(kind, ["many", "categories"])
    trees = trees_of(problem, 5)
    forest = VoteForest.of(trees, problem.n_classes)
    codes, table, bins = new_rows(problem, 1203)
    known = np.random.default_rng(4).random((5, 1203)) < 0.6
    known[:, 7], known[:, 1100] = True, False
    in_bag = np.packbits(known, axis=1, bitorder="little")
    truth = votes_by_walking(trees, problem.n_classes, codes, forest.n_outputs, known)
    for n_threads, chunk_rows in ((1, 8192), (2, 101)):
        with patch.object(voting, "_CHUNK_ROWS", chunk_rows):
            sums, counts = forest.out_of_bag_votes(EncodedRows(table, bins), in_bag, n_threads)
        assert sums.tolist() == truth[0]
        assert counts.tolist() == truth[1]
    assert counts[7] == 0
    assert counts[1100] == 5


def test_forest_of_trees_with_and_without_sets():
    problem = problem_of("two classes", ["categories", "many"])
    grower, n = problem.grower(), len(problem.y)
    one_row, all_rows = np.eye(1, n, dtype=np.int64)[0], np.ones(n, np.int64)
    for order in ((one_row, all_rows), (all_rows, one_row), (one_row, all_rows, one_row, all_rows)):
        trees = [grower.grow(number, draws) for number, draws in enumerate(order)]
        forest = VoteForest.of(trees, 2)
        assert len(forest.set_number) == len(forest.nodes)
        codes, table, bins = new_rows(problem, 50)
        assert forest.votes(EncodedRows(table, bins), 1).tolist() == votes_by_walking(trees, 2, codes, 2)[0]


@pytest.mark.parametrize("kind", ["two classes", "one number"])
@pytest.mark.parametrize("first", ["sets", "no sets"])
@pytest.mark.parametrize("second", ["sets", "no sets"])
def test_joined_forests_vote_as_all_their_trees(kind, first, second):
    problem = problem_of(kind, ["categories", "holes"])
    no_sets = problem.take(np.arange(60))
    no_sets.codes[:, 0] = 1  # a column of one category is never split
    parts = [trees_of(problem if which == "sets" else no_sets, 3) for which in (first, second)]
    forests = [VoteForest.of(part, problem.n_classes) for part in parts]
    assert [len(forest.sets) > 0 for forest in forests] == [first == "sets", second == "sets"]
    joined = VoteForest.join(*forests)
    codes, table, bins = new_rows(problem, 300)
    trees = parts[0] + parts[1]
    assert joined.n_trees == 6
    sums, _ = votes_by_walking(trees, problem.n_classes, codes, joined.n_outputs)
    assert joined.votes(EncodedRows(table, bins), 1).tolist() == sums
    whole = VoteForest.of(trees, problem.n_classes)
    for name, array in joined.arrays().items():
        np.testing.assert_array_equal(array, getattr(whole, name), err_msg=name)
    assert joined.nbytes == sum(array.nbytes for array in joined.arrays().values())


def test_a_tree_may_be_one_leaf():
    for kind, n_classes in (("two classes", 2), ("one number", 0)):
        problem = problem_of(kind, ["constant", "constant"])
        pure = problem.take(np.zeros(60, int))
        trees = [problem.grow(), pure.grow()]
        forest = VoteForest.of(trees, n_classes)
        assert len(forest.nodes) == 2
        codes, table, bins = new_rows(problem, 3)
        sums, _ = votes_by_walking(trees, n_classes, codes, forest.n_outputs)
        assert forest.votes(EncodedRows(table, bins), 2).tolist() == sums
        assert forest.leaf_ids(EncodedRows(table, bins), 2).tolist() == [[0, 0]] * 3


def test_missing_and_unseen_values():
    codes, y = np.array([[1], [1], [1], [1], [3], [3], [0]]), np.array([0, 0, 0, 0, 1, 1, 1])
    problem = Problem(codes, [4], [False], y, 2, np.ones(7, np.int64), DeepOptions())
    forest = VoteForest.of([problem.grow()], 2)
    X = np.array([[np.nan], [1.0], [2.0], [3.0], [4.0]])
    assert forest.votes(EncodedRows(read_table(X), problem.table.bins), 1)[:, 1].tolist() == [1, 0, 0, 1, 1]
    by_set = replace(problem, categorical=[True])
    forest = VoteForest.of([by_set.grow()], 2)
    X = np.array([[np.nan], [0.0], [1.0], [2.0], [3.0]])  # 1 and 3 are new: they follow the heavier side
    assert forest.votes(EncodedRows(read_table(X), by_set.table.bins), 1)[:, 1].tolist() == [1, 0, 0, 1, 0]


def test_importances_are_mean_shares_of_the_gains():
    def tree(*gains):
        none = np.empty(0, np.int64)
        return VotingTree(
            nodes=np.array([3], np.uint64), values=np.empty((0, 2)), sets=np.empty((0, 4), np.uint64),
            set_number=none.astype(np.int32), gains=np.array(gains), leaf_starts=none,
            leaf_rows=none.astype(np.uint32),
        )  # fmt: skip

    forest = VoteForest.of([tree(1.0, 3.0, 0.0), tree(0.0, 0.0, 0.0), tree(2.0, 0.0, 2.0)], 2)
    assert forest.importances().tolist() == [0.375, 0.375, 0.25]
    assert VoteForest.of([tree(0.0, 0.0, 0.0)], 2).importances().tolist() == [0.0, 0.0, 0.0]
