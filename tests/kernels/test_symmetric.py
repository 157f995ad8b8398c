"""Symmetric trees: threads, statistics and Python bodies; the oracle is in `test_growing_properties.py`."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.growing import grower
from hedgerow.growing.grower import GrowthOptions
from hedgerow.kernels.cpu import grow
from hedgerow.threads import Team
from python_bodies import both_ways, python_bodies
from tree_cases import (
    assert_is_oracle_tree,
    assert_same_tree,
    grow_compiled,
    grow_oracle,
    make_binned,
    measure,
    unpacked,
)

N_BINS, CATEGORICAL = [200, 6, 30, 90], [False, False, True, True]


def coded(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(1, n + 1, n_rows) for n in N_BINS])
    codes[rng.random(codes.shape) < 0.05] = 0
    return make_binned(codes, N_BINS, CATEGORICAL)


def gradients(table):
    a, b, c, d = table.codes.by_column.astype(float)
    return np.sin(a / 40) * (b > 3) + 0.5 * (c % 3 == 1) + 0.5 * (d % 7 == 2) * (a > 100) - 0.3


def rules(**options):
    return GrowthOptions(**({"symmetric": True, "max_leaf_nodes": None, "max_depth": 6} | options))


RULES = {
    "plain": rules(),
    "small leaves": rules(min_samples_leaf=1, max_depth=8),
    "penalised": rules(l1_regularization=3.0, l2_regularization=10.0, min_split_gain=4.0),
    "random": rules(columns_per_tree=0.7, columns_per_node=0.5, random_strength=1.0, seed=3),
    "monotonic": rules(monotonic=np.array([-1, 1, 0, 0], np.int8)),
    "groups": rules(groups=np.array([[1], [3], [2], [2]], np.uint64)),
}


@pytest.mark.parametrize("name", RULES)
def test_any_number_of_members_grows_the_same_tree(name, monkeypatch):
    monkeypatch.setattr(grower, "_VALUES_PER_THREAD", 1)
    table = coded(11_000)  # five members share the root
    measured, rows = measure(gradients(table), np.ones(table.n_rows))
    expected = grow_compiled(table, RULES[name], measured, rows, 5)
    assert len(expected.leaves) >= 16
    wide = replace(measured, statistics=unpacked(measured.statistics))
    for n_threads, statistics in ((2, wide), (3, measured), (5, measured)):
        with Team(n_threads) as team:
            assert_same_tree(grow_compiled(table, RULES[name], statistics, rows, 5, team), expected)


def test_all_nodes_of_a_level_have_the_same_split():
    table = coded(2000)
    measured, rows = measure(gradients(table), np.ones(2000))
    grown = grow_compiled(table, RULES["small leaves"], measured, rows)
    nodes, depth = grown.nodes, int(grown.nodes["depth"].max())
    assert len(nodes) == 2 ** (depth + 1) - 1
    for level in range(depth):
        own = nodes[nodes["depth"] == level]
        for name in ("column", "threshold", "missing_left", "goes_left"):
            assert len(np.unique(own["split"][name], axis=0)) == 1
    assert (nodes["count"] == 0).any()
    assert (nodes["split"]["gain"] >= 0).all()


def test_a_leaf_of_few_rows_has_the_value_of_the_node_above():
    table = coded(2000)
    measured, rows = measure(gradients(table), np.ones(2000))
    grown = grow_compiled(table, rules(min_samples_leaf=30), measured, rows)
    nodes = grown.nodes
    for number in range(1, len(nodes)):
        node, parent = nodes[number], nodes[(number - 1) // 2]
        own = -node["gradient"] / node["hessian"] if node["count"] else 0.0
        unit = measured.gradient_unit / measured.hessian_unit
        assert node["value"] == pytest.approx(own * unit if node["count"] >= 30 else parent["value"])
    assert 10 < (nodes["count"][grown.leaves] < 30).sum() < 60
    value_nodes = grown.value_nodes[grown.leaves]
    sizes = nodes["count"][value_nodes]
    assert sizes.min() >= 30
    assert nodes["value"][value_nodes].tolist() == grown.values.tolist()


@pytest.mark.parametrize("name", RULES)
def test_python_bodies_grow_the_same_tree(name):
    table = coded(150, seed=1)
    measured, rows = measure(gradients(table), np.ones(150), np.arange(150) % 3)
    options = replace(RULES[name], max_depth=3, min_samples_leaf=3)
    compiled, python = both_ways(lambda: grow_compiled(table, options, measured, rows, 2))
    assert_same_tree(python, compiled)
    assert_is_oracle_tree(compiled, grow_oracle(table, options, measured, rows, 2), measured)
    assert len(compiled.leaves) >= 4


def test_members_wait_at_barriers(monkeypatch):
    table = coded(150, seed=2)
    measured, rows = measure(gradients(table), np.ones(150))
    expected = grow_compiled(table, rules(max_depth=4, min_samples_leaf=2), measured, rows)
    with python_bodies(), Team(2) as team:
        monkeypatch.setattr(grower, "_VALUES_PER_THREAD", 1)
        monkeypatch.setattr(grow, "ROWS_PER_THREAD", 10)
        found = grow_compiled(table, rules(max_depth=4, min_samples_leaf=2), measured, rows, 0, team)
        assert_same_tree(found, expected)
