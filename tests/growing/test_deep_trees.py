"""Deep trees of forests: every node against the oracle, and changes that have no effect on a tree."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_cases import Problem, bytes_of, problems, unbundled
from hedgerow.growing import deep
from hedgerow.growing.deep import DeepGrower, DeepOptions, DeepTarget
from oracle_forest import decode, leaf_of

CRITERIA = ["gini", "entropy", "squared_error", "poisson"]
ANY = st.sampled_from(CRITERIA).flatmap(problems)


def simple(codes, y, n_classes=0, **rules):
    """A problem of numeric columns, each row drawn once, all columns tried."""
    codes, y = np.asarray(codes), np.asarray(y)
    if not n_classes:
        y = y.reshape(len(codes), -1).astype(float)
    usual = {"criterion": "gini" if n_classes else "squared_error", "columns_per_node": codes.shape[1]}
    n_bins = np.maximum(codes.max(axis=0), 1).tolist()
    draws = np.ones(len(codes), np.int64)
    return Problem(codes, n_bins, [False] * len(n_bins), y, n_classes, draws, DeepOptions(**(usual | rules)))


def predicted(problem, tree, codes):
    """Predictions for rows with these codes: the share of each class, or the numbers."""
    nodes, first = decode(tree.nodes, tree.sets, tree.set_number), problem.n_classes
    for row in codes:
        number = nodes[leaf_of(nodes, row)].number
        yield np.eye(first)[number] if number < first else tree.values[number - first]


# --- against the oracle


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_split_is_one_of_the_best_and_every_leaf_cannot_be_split(criterion, data):
    problem = data.draw(problems(criterion))
    leaves = problem.check(problem.grow(keep_rows=not problem.n_classes))
    assert sorted(row for rows in leaves.values() for row in rows) == problem.task().rows


@pytest.mark.parametrize("block_rows", [1, 5])
@settings(max_examples=30, deadline=None)
@given(problem=ANY)
def test_options_hold_for_any_order_of_nodes(block_rows, problem):
    with patch.object(deep, "_BLOCK_ROWS", block_rows):
        problem.check(problem.grow(keep_rows=not problem.n_classes))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_nodes_of_many_rows_are_searched_as_those_of_few(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = np.column_stack([rng.integers(0, top, 300) for top in (256, 20, 4)])
    noise = rng.integers(0, n_classes or 5, 300)
    y = np.where(rng.random(300) < 0.9, codes[:, 0] // 100 % (n_classes or 3), noise)
    problem = simple(codes, y, n_classes, columns_per_node=2, min_leaf=8)
    problem.check(problem.grow())
    with patch.object(deep, "_BLOCK_ROWS", 64):
        problem.check(problem.grow())


# --- changes without effect


@settings(max_examples=30, deadline=None)
@given(problem=ANY)
def test_bundles_change_nothing(problem):
    bundled = problem.grow()
    with unbundled():
        assert bytes_of(problem.grow()) == bytes_of(bundled)


def test_bundled_columns_are_split_one_by_one():
    codes = np.ones((40, 4), int)
    for column in range(4):
        codes[10 * column : 10 * column + 10, column] = [0, 2, 3, 2, 0, 3, 4, 2, 4, 1]
    problem = simple(codes, np.arange(40) * 7 % 11 % 3, 3, columns_per_node=2)
    problem.categorical[1] = problem.categorical[2] = True
    assert problem.table.stored.tolist() == [0, 0, 0, 0]
    tree = problem.grow()
    problem.check(tree)
    used = {node.column for node in decode(tree.nodes, tree.sets, tree.set_number)}
    assert used == {None, 0, 1, 2, 3}


@settings(max_examples=20, deadline=None)
@given(problem=ANY)
def test_histogram_memory_changes_nothing(problem):
    tree = problem.grow()
    for bytes_ in (1, 256 * 8 * 3 * 2):
        with patch.object(deep, "_HIST_BYTES", bytes_):
            assert bytes_of(problem.grow()) == bytes_of(tree)


@settings(max_examples=20, deadline=None)
@given(problem=ANY, seed=st.integers(0, 1000))
def test_the_order_of_the_rows_changes_nothing(problem, seed):
    shuffled = problem.take(np.random.default_rng(seed).permutation(len(problem.y)))
    assert bytes_of(shuffled.grow()) == bytes_of(problem.grow())


@settings(max_examples=20, deadline=None)
@given(problem=ANY.filter(lambda problem: problem.weight is None))
def test_a_row_drawn_twice_equals_a_repeated_row(problem):
    twice = problem.take(np.repeat(np.arange(len(problem.y)), problem.draws))
    twice.draws = np.ones(len(twice.y), np.int64)
    assert bytes_of(problem.grow()) == bytes_of(twice.grow())


@settings(max_examples=20, deadline=None)
@given(problem=ANY)
def test_rows_that_are_not_drawn_change_nothing(problem):
    in_bag = problem.take(np.flatnonzero(problem.draws))
    assert bytes_of(in_bag.grow()) == bytes_of(problem.grow())


@settings(max_examples=20, deadline=None)
@given(problem=ANY, other=st.integers(0, 50))
def test_a_tree_does_not_depend_on_earlier_trees_of_its_thread(problem, other):
    fresh = problem.grow(keep_rows=True)
    grower = problem.grower(keep_rows=True)
    grower.grow(other, problem.draws, problem.factor)
    again = grower.grow(problem.tree, problem.draws, problem.factor)
    assert bytes_of(again) == bytes_of(fresh)
    own = grower.for_thread().grow(problem.tree, problem.draws, problem.factor)
    assert bytes_of(own) == bytes_of(fresh)


def test_logarithms_are_the_same_from_the_table_and_beyond_it():
    rng = np.random.default_rng(0)
    problem = simple(rng.integers(1, 12, (50, 3)), rng.integers(0, 3, 50), 3, criterion="entropy")
    problem = replace(problem, draws=rng.integers(1, 40, 50))
    tree = problem.grow()
    for size in (1, 2, 100):
        with patch.object(deep, "_LOGS", size):
            assert bytes_of(problem.grow()) == bytes_of(tree)
    heavy = replace(problem, draws=rng.integers(1, 10**6, 50))
    heavy.check(heavy.grow())


# --- rules


def test_exclusive_or_needs_two_splits():
    codes = [[1, 1], [1, 2], [2, 1], [2, 2]] * 3
    for problem in (simple(codes, [0, 1, 1, 0] * 3, 2), simple(codes, [0, 1, 1, 0] * 3)):
        tree = problem.grow()
        problem.check(tree)
        assert len(tree.nodes) == 7
        assert [row[-1] for row in predicted(problem, tree, codes)] == [0, 1, 1, 0] * 3


@pytest.mark.parametrize("most", [2, 10, 59, 1000])
def test_leaves_are_as_many_as_allowed_and_gain_most(most):
    rng = np.random.default_rng(most)
    codes = np.column_stack([rng.permutation(np.arange(1, 61)), rng.integers(1, 9, 60)])
    problem = simple(codes, np.arange(60) ** 1.5, max_leaves=most)
    tree = problem.grow()
    problem.check(tree)
    assert len(tree.nodes) == 2 * min(most, 60) - 1


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("max_leaves", [None, 15])
def test_predictions_obey_monotonic_constraints(n_classes, max_leaves):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 9, (60, 3))
    lean = codes[:, 0] - codes[:, 1] + rng.normal(size=60) * 4
    y = (lean > 0).astype(int) if n_classes else lean
    problem = simple(codes, y, n_classes, max_leaves=max_leaves, columns_per_node=2)
    problem = replace(problem, direction=np.array([1, -1, 0], np.int8))
    tree = problem.grow()
    problem.check(tree)
    free = replace(problem, direction=np.empty(0, np.int8))
    for column, sign in ((0, 1), (1, -1)):
        steps = {}
        for name, (case, grown) in {"constrained": (problem, tree), "free": (free, free.grow())}.items():
            moved = np.repeat(codes, 8, axis=0)
            moved[:, column] = np.tile(np.arange(1, 9), 60)
            found = np.array([row[-1] for row in predicted(case, grown, moved)]).reshape(60, 8)
            steps[name] = sign * np.diff(found, axis=1)
        assert steps["constrained"].min() >= 0
        assert steps["constrained"].max() > 0
        assert steps["free"].min() < 0


def test_rows_of_the_leaves_are_those_in_the_bag():
    rng = np.random.default_rng(5)
    problem = simple(rng.integers(1, 9, (60, 2)), rng.normal(size=60), min_leaf=3)
    problem = replace(problem, draws=rng.multinomial(60, np.full(60, 1 / 60)))
    for block_rows in (1, 10, 4096):
        with patch.object(deep, "_BLOCK_ROWS", block_rows):
            tree = problem.grow(keep_rows=True)
        assert sorted(tree.leaf_rows.tolist()) == np.flatnonzero(problem.draws).tolist()
        nodes = decode(tree.nodes, tree.sets, tree.set_number)
        for leaf in range(len(tree.values)):
            rows = tree.leaf_rows[tree.leaf_starts[leaf] : tree.leaf_starts[leaf + 1]]
            assert {nodes[leaf_of(nodes, problem.codes[row])].number for row in rows.tolist()} == {leaf}


@pytest.mark.parametrize("n_outputs", [1, 2, 4])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_impurity_is_the_mean_over_the_outputs(n_outputs, criterion):
    y = np.tile([[1.0], [1.0], [3.0], [3.0]], n_outputs)
    fall = 1.0 if criterion == "squared_error" else (np.log(1 / 2) + 3 * np.log(3 / 2)) / 2
    for share, n_nodes in ((0.99, 3), (1.01, 1)):
        problem = simple([[1], [1], [2], [2]], y, criterion=criterion, min_gain=fall * share)
        assert len(problem.grow().nodes) == n_nodes


# --- extremes


@pytest.mark.parametrize("random_cuts", [False, True])
def test_255_bins_and_missing_values(random_cuts):
    codes = np.arange(256).reshape(-1, 1)
    for n_classes in (0, 2):
        y = np.arange(256) % 2 if n_classes else np.arange(256) ** 1.5
        problem = simple(codes, y, n_classes, random_cuts=random_cuts)
        tree = problem.grow()
        found = [row[-1] for row in predicted(problem, tree, codes)]
        np.testing.assert_allclose(found, y, rtol=1e-12, atol=1e-12)
    only = simple([[0], [255]], [0, 1], 2)
    assert [row[1] for row in predicted(only, only.grow(), [[0], [255], [1]])] == [0, 1, 1]


def test_constant_columns_are_skipped_among_a_hundred():
    rng = np.random.default_rng(0)
    codes = np.full((40, 150), 3)
    codes[:, [3, 70, 149]] = rng.integers(1, 5, (40, 3))
    problem = simple(codes, rng.integers(0, 2, 40), 2, columns_per_node=3)
    tree = problem.grow()
    problem.check(tree)
    assert len(tree.nodes) > 5


def test_a_table_that_does_not_vary_is_one_leaf():
    for problem in (
        simple(np.ones((9, 2), int), np.arange(9) % 3, 3),
        simple(np.ones((9, 2), int), range(9)),
    ):
        tree = problem.grow()
        problem.check(tree)
        assert len(tree.nodes) == 1
        assert len(tree.values) == 1


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e250])
def test_numbers_of_any_size_are_fitted(size):
    y = np.array([1.0, 1.0, 2.0, 4.0]) * size
    for min_gain in (0.0, 1e-9):
        problem = simple([[1], [1], [2], [3]], y, min_gain=min_gain)
        tree = problem.grow()
        if not min_gain:
            np.testing.assert_allclose([row[0] for row in predicted(problem, tree, [[1], [2], [3]])], y[1:])


@pytest.mark.parametrize("light", [1e-6, 1e-12, 1e-18])
def test_leaf_means_of_rows_with_small_weights(light):
    problem = simple([[1], [1], [2], [3]], [5.0, 5.5, 7.0, 8.0])
    problem.weight = np.array([1.0, 1.0, light, light])
    tree = problem.grow()
    problem.check(tree)
    found = [row[0] for row in predicted(problem, tree, [[1], [2], [3]])]
    np.testing.assert_allclose(found, [5.25, 7.0, 8.0], rtol=1e-3)


def test_a_sample_of_weight_zero_uses_every_row_once():
    problem = simple([[1], [1], [2], [2]], [0, 0, 1, 2], 3)
    target = DeepTarget.of_classes(problem.y, 3, np.array([0.0, 0.0, 1.0, 3.0]))
    grower = DeepGrower(problem.table, target, problem.rules, problem.direction, 1, 0)
    tree = grower.grow(0, np.array([1, 0, 0, 0]))
    assert tree.values.tolist() == [[0.0, 0.25, 0.75]]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [256, 257, 700])
def test_hundreds_of_classes(n_classes):
    rng = np.random.default_rng(1)
    codes = np.column_stack([np.arange(n_classes) % 200, np.arange(n_classes) // 200]) + 1
    problem = simple(codes, rng.permutation(n_classes), n_classes)
    tree = problem.grow()
    found = [int(np.argmax(row)) for row in predicted(problem, tree, codes)]
    assert found == problem.y.tolist()
    assert len(tree.values) == 0
