"""Deep trees: every criterion, cuts at random, constraints, categories, and nodes of many rows."""

from dataclasses import replace

import numpy as np
import pytest

from deep_cases import Problem, bytes_of, codes_of
from hedgerow.growing.deep import DeepOptions
from python_bodies import both_ways

COLUMNS = ("many", "holes", "categories", "one-hot", "sparse")
TARGETS = ("gini", "entropy", "squared_error", "poisson")


def problem(criterion, n=80, columns=COLUMNS, *, n_outputs=1, seed=0, **rules):
    rng = np.random.default_rng(seed)
    parts = [codes_of(rng, kind, n) for kind in columns]
    codes = np.column_stack([part[0] for part in parts])
    n_bins, categorical = ([value for part in parts for value in part[i]] for i in (1, 2))
    n_classes = n_outputs + 1 if criterion in ("gini", "entropy") else 0
    signal = codes[:, 0] // 3 + codes[:, 1] + rng.integers(0, 2, n)
    y = signal % n_classes if n_classes else np.stack([signal + k for k in range(n_outputs)], axis=1) * 1.0
    draws = rng.multinomial(n, np.full(n, 1 / n))
    given = {"columns_per_node": codes.shape[1], "random_cuts": False} | rules
    return Problem(codes, n_bins, categorical, y, n_classes, draws, DeepOptions(criterion=criterion, **given))


def check(case):
    """The tree is the same both ways, and it is right."""
    compiled, python = both_ways(case.grow)
    assert bytes_of(python) == bytes_of(compiled)
    case.check(python)
    assert len(python.words) > 4


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("criterion", TARGETS)
def test_every_criterion_grows_the_same_tree(criterion, n_outputs, random_cuts):
    check(problem(criterion, n_outputs=n_outputs, random_cuts=random_cuts))


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("criterion", TARGETS)
def test_directions_grow_the_same_tree(criterion, random_cuts):
    case = problem(criterion, random_cuts=random_cuts)
    direction = np.where(case.categorical, 0, np.arange(len(case.n_bins)) % 3 - 1).astype(np.int8)
    check(replace(case, direction=direction))


@pytest.mark.parametrize("criterion", TARGETS)
def test_weights_grow_the_same_tree(criterion):
    case = problem(criterion, n_outputs=2)
    check(replace(case, weight=np.arange(80) % 4 / 3 + 0.1))
    check(replace(case, weight=np.arange(80) % 4 / 3 + 0.1, draws=np.ones(80, np.int64)))
    if case.n_classes:
        check(replace(case, factor=np.array([3, 1, 7])))


RULES = {
    "depth": {"max_depth": 3},
    "leaves": {"max_leaves": 7},
    "sizes": {"min_split": 9, "min_leaf": 4},
    "weights": {"min_weight_fraction": 0.05, "min_gain": 1e-3},
    "few columns": {"columns_per_node": 2},
    "one column": {"columns_per_node": 1, "random_cuts": True},
}


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_every_rule_grows_the_same_tree(rules, criterion):
    check(problem(criterion, **rules))
    case = problem(criterion, **rules)
    check(replace(case, weight=np.arange(80) % 3 / 3 + 0.2))


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_nodes_of_many_rows_grow_the_same_tree(criterion):
    check(problem(criterion, 2100, ("many", "categories", "one-hot"), max_depth=2))
