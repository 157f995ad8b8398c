"""Smoothed leaf values and leaf values by fold, compared with plain Python."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.backends.leaf_values import LeafValueFolds, newton_steps, smooth_values
from hedgerow.growing.grower import GrowthOptions, Weights
from hedgerow.kernels.cpu.random import LEAF_FOLDS, draw
from hedgerow.kernels.cpu.records import NODE
from hedgerow.threads import Team
from tree_cases import grow_compiled, make_binned, measure, unpacked

N_ROWS = 400
RNG = np.random.default_rng(3)
BINNED = make_binned(RNG.integers(1, 9, (N_ROWS, 4)), [8] * 4)
GROWTH = {
    "best first": GrowthOptions(min_samples_leaf=5, max_leaf_nodes=20),
    "penalties": GrowthOptions(min_samples_leaf=1, l1_regularization=0.3, l2_regularization=2.0),
    "hessians": GrowthOptions(min_samples_leaf=3, min_child_weight=2.5),
    "monotonic": GrowthOptions(min_samples_leaf=2, monotonic=np.array([1, -1, 0, 0], np.int8)),
    "symmetric": GrowthOptions(symmetric=True, max_leaf_nodes=None, max_depth=5, min_samples_leaf=12),
    "one leaf": GrowthOptions(min_samples_leaf=N_ROWS),
}


def grown(growth, weight=None, *, wide=False):
    signal = BINNED.codes.by_column[0] + RNG.normal(size=N_ROWS) * 4 - 4.5
    measured, rows = measure(-signal, RNG.random(N_ROWS) + 0.1, weight)
    if wide:
        measured = replace(measured, statistics=unpacked(measured.statistics))
    return grow_compiled(BINNED, growth, measured, rows), measured, rows


def random_tree(numbers, counts):
    """Node records of a tree that splits the leaf with each of the numbers, and counts for its nodes."""
    nodes, leaves = np.zeros(2 * len(numbers) + 1, NODE), [0]
    nodes["lower"], nodes["upper"] = -np.inf, np.inf
    for split, number in enumerate(numbers):
        leaf = leaves.pop(number % len(leaves))
        nodes["left"][leaf] = 2 * split + 1
        nodes["depth"][2 * split + 1 : 2 * split + 3] = nodes["depth"][leaf] + 1
        leaves += [2 * split + 1, 2 * split + 2]
    return nodes, np.array(counts[: len(nodes)])[:, np.newaxis]


def smooth_one(values, counts, nodes, s, kept):
    """The formula for one value of each node; kept : nodes with values of their own."""
    smoothed = [float(value) for value in values]
    for parent, left in enumerate(nodes["left"].tolist()):
        for child in (left, left + 1) if left else ():
            own, above = float(values[child]), smoothed[parent]
            if child not in kept:
                own = above
            n = int(counts[child])
            mixed = own * n / (n + s) + above * s / (n + s)
            smoothed[child] = min(max(mixed, nodes["lower"][child]), nodes["upper"][child])
    return smoothed


# --- smoothing


@pytest.mark.parametrize("name", GROWTH)
@pytest.mark.parametrize("s", [0.5, 30.0])
def test_smoothed_values_are_those_of_the_formula(name, s):
    tree, _, _ = grown(GROWTH[name])
    nodes = tree.nodes
    counts = np.stack([nodes["count"], nodes["count"] // 2], axis=1)
    values = np.stack([nodes["value"], np.clip(RNG.normal(size=len(nodes)), nodes["lower"], nodes["upper"])])
    kept = set(range(len(nodes)))
    if tree.value_nodes is not None:
        kept = {number for number, other in enumerate(tree.value_nodes.tolist()) if number == other}
        assert 0 < len(kept) < len(nodes)
    found = smooth_values(np.ascontiguousarray(values.T), counts, nodes, s, tree.value_nodes)
    for column in range(2):
        expected = smooth_one(values[column], counts[:, column], nodes, s, kept)
        assert found[:, column].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert found[0].tolist() == values[:, 0].tolist()
    assert len(nodes) == 1 or np.abs(found[:, 0] - nodes["value"]).max() > 1e-4


@given(
    st.lists(st.integers(0, 50), max_size=12),
    st.lists(st.integers(0, 9), min_size=25, max_size=25),
    st.lists(st.floats(-1e6, 1e6), min_size=25, max_size=25),
    st.floats(1e-6, 1e6),
)
@settings(max_examples=100, deadline=None)
def test_smoothed_values_stay_between_those_of_the_path(numbers, counts, values, s):
    nodes, counts = random_tree(numbers, counts)
    own = np.array(values[: len(nodes)])[:, np.newaxis]
    found = smooth_values(own, counts, nodes, s)
    low, high = own[:, 0].copy(), own[:, 0].copy()
    for parent, left in enumerate(nodes["left"].tolist()):
        for child in (left, left + 1) if left else ():
            low[child], high[child] = min(low[child], low[parent]), max(high[child], high[parent])
            if counts[child, 0] == 0:
                assert found[child, 0] == found[parent, 0]
    assert np.all(found[:, 0] >= low)
    assert np.all(found[:, 0] <= high)
    nearly_none = smooth_values(own, np.maximum(counts, 1), nodes, 1e-300)
    assert nearly_none == pytest.approx(own, rel=1e-15, abs=1e-290)


@pytest.mark.parametrize("s", [0.1, 10.0, 1e6])
def test_smoothed_values_satisfy_monotonic_constraints(s):
    growth = GROWTH["monotonic"]
    tree, _, _ = grown(growth)
    nodes, n_constrained = tree.nodes, 0
    smoothed = smooth_values(nodes["value"][:, None], nodes["count"][:, None], nodes, s)[:, 0]

    def leaves(number):
        left = int(nodes["left"][number])
        return [number] if not left else leaves(left) + leaves(left + 1)

    for number in np.flatnonzero(nodes["left"]).tolist():
        direction = growth.monotonic[nodes["split"]["column"][number]]
        left, right = leaves(int(nodes["left"][number])), leaves(int(nodes["left"][number]) + 1)
        low, high = (left, right) if direction > 0 else (right, left)
        if direction:
            n_constrained += 1
            assert smoothed[low].max() <= smoothed[high].min()
    assert n_constrained > 5


def test_without_bounds_smoothing_would_break_a_monotonic_constraint():
    nodes, counts = random_tree([0, 0], [20, 10, 10, 1, 9])
    values = np.array([10.0, 0.0, 20.0, -1.0, 1.0])[:, np.newaxis]
    left = nodes["left"][1:3].argmax() + 1  # the node that was split second
    low, high = int(nodes["left"][left]), int(nodes["left"][left]) + 1
    free = smooth_values(values, counts, nodes, 10.0)[:, 0]
    above = 0.5 * values[left, 0] + 5.0
    assert free[[low, high]].tolist() == pytest.approx([(-1 + 10 * above) / 11, (9 + 10 * above) / 19])
    assert free[low] > free[high]
    nodes["upper"][low] = nodes["lower"][high] = 0.0  # of a rising split
    bounded = smooth_values(values, counts, nodes, 10.0)[:, 0]
    assert bounded[[low, high]].tolist() == [0.0, free[high]]


# --- values by fold


def folds_of(growth, weights, n_folds=3, team=None):
    options = SimpleNamespace(leaf_value_folds=n_folds, seed=5, growth=growth)
    return LeafValueFolds(options, weights, N_ROWS, team or Team(1))


@pytest.mark.parametrize("weighting", ["none", "copies", "shares", "wide"])
@pytest.mark.parametrize("name", GROWTH)
def test_values_by_fold_are_those_of_the_other_rows(name, weighting):
    weight = {"copies": RNG.integers(0, 4, N_ROWS) * 1.0, "shares": RNG.random(N_ROWS)}.get(weighting)
    growth = GROWTH[name]
    tree, measured, rows = grown(growth, weight, wide=weighting == "wide")
    folds = folds_of(growth, Weights.of(weight, N_ROWS))
    folds.draw(2)
    of_row = {int(row): (draw(5, LEAF_FOLDS, 2, i) >> 32) * 3 >> 32 for i, row in enumerate(rows)}
    values, counts = folds.newton_values(tree, measured)
    copies = np.ones(N_ROWS) if weight is None or weighting == "shares" else weight
    own = measured.statistics
    for number, node in enumerate(tree.nodes):
        giver = number if tree.value_nodes is None else int(tree.value_nodes[number])
        for fold in range(3):
            others = [int(r) for r in tree.rows[node["start"] : node["stop"]] if of_row[int(r)] != fold]
            assert counts[number, fold] == sum(copies[row] for row in others)
            start, stop = tree.nodes[giver]["start"], tree.nodes[giver]["stop"]
            others = [int(r) for r in tree.rows[start:stop] if of_row[int(r)] != fold]
            if own.packed.size:
                pairs = [(int(own.packed[row]) >> 32, int(own.packed[row]) & 0xFFFFFFFF) for row in others]
            else:
                pairs = [tuple(own.wide[row].tolist()) for row in others]
            g = sum(pair[0] for pair in pairs) * measured.gradient_unit
            h = sum(pair[1] for pair in pairs) * measured.hessian_unit
            size = max(abs(g) - growth.l1_regularization, 0.0)
            step = 0.0
            if h >= growth.min_child_weight and h > 0:
                step = -math.copysign(size, g) / (h + growth.l2_regularization)
            assert values[number, fold] == min(max(step, node["lower"]), node["upper"])


def test_scores_of_rows_change_by_the_values_of_their_folds_on_any_threads():
    growth, weight = GROWTH["best first"], RNG.integers(0, 3, N_ROWS) * 1.0
    tree, measured, _ = grown(growth, weight)
    results = []
    for n_threads, chunk_rows in ((1, 10_000), (2, 7)):
        with Team(n_threads, chunk_rows) as team:
            folds = folds_of(growth, Weights.of(weight, N_ROWS), team=team)
            folds.draw(0)
            values = folds.newton_values(tree, measured)[0][tree.leaves]
            raw = np.full(N_ROWS, 0.25)
            folds.add(raw, tree, values)
            results.append(raw)
    assert results[0].tobytes() == results[1].tobytes()
    expected = np.full(N_ROWS, 0.25)
    for leaf in range(len(tree.leaves)):
        for row in tree.rows[tree.starts[leaf] : tree.starts[leaf + 1]]:
            expected[row] += values[leaf, folds.folds[row]]
    assert results[0].tolist() == expected.tolist()
    assert np.all(results[0][weight == 0] == 0.25)


def test_folds_are_of_about_equal_size_and_differ_from_round_to_round():
    folds = folds_of(GROWTH["best first"], Weights.of(None, N_ROWS), 4)
    drawn = []
    for iteration in (0, 1):
        folds.draw(iteration)
        drawn.append(folds.folds.copy())
        assert np.abs(np.bincount(folds.folds, minlength=4) - N_ROWS / 4).max() < 40
    assert np.mean(drawn[0] == drawn[1]) < 0.4


def test_a_step_of_too_few_rows_is_zero():
    growth = GrowthOptions(min_child_weight=0.5, l2_regularization=0.0, l1_regularization=1.0)
    gradient, hessian = np.array([0.0, -3.0, 3.0, 0.5, -3.0]), np.array([0.0, 0.4, 2.0, 2.0, 0.5])
    assert newton_steps(gradient, hessian, growth).tolist() == [0.0, 0.0, -1.0, 0.0, 4.0]
    flat = replace(growth, min_child_weight=0.0)
    assert newton_steps(gradient, hessian, flat).tolist()[:2] == [0.0, 5.0]
