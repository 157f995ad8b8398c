"""Deep trees by Python bodies: criteria, random cuts, constraints, categories, and nodes of many rows."""

from dataclasses import replace

import numpy as np
import pytest

from deep_cases import Problem, bytes_of, codes_of
from hedgerow.growing.deep import DeepOptions
from python_bodies import both_ways

COLUMNS = ("many", "holes", "categories", "one-hot", "sparse")
N = 64  # nodes of one-hot columns have more than 8 rows
TARGETS = ("gini", "entropy", "squared_error", "poisson")


def problem(criterion, n=N, columns=COLUMNS, *, n_outputs=1, seed=0, **rules):
    rng = np.random.default_rng(seed)
    drawn = [codes_of(rng, kind, n) for kind in columns]
    codes = np.column_stack([column[0] for column in drawn])
    n_bins, categorical = ([value for column in drawn for value in column[i]] for i in (1, 2))
    n_classes = n_outputs + 1 if criterion in ("gini", "entropy") else 0
    signal = codes[:, 0] // 3 + codes[:, 1] + rng.integers(0, 2, n)
    y = signal % n_classes if n_classes else np.stack([signal + k for k in range(n_outputs)], axis=1) * 1.0
    draws = rng.multinomial(n, np.full(n, 1 / n))
    options = DeepOptions(criterion=criterion, **{"columns_per_node": codes.shape[1]} | rules)
    return Problem(codes, n_bins, categorical, y, n_classes, draws, options)


def check(case):
    """The tree is the same both ways, and it agrees with the oracle."""
    compiled, python = both_ways(case.grow)
    assert bytes_of(python) == bytes_of(compiled)
    case.check(python)
    assert len(python.nodes) > 4


@pytest.mark.parametrize(("n_outputs", "random_cuts"), [(1, True), (2, False)])
@pytest.mark.parametrize("criterion", TARGETS)
def test_every_criterion_grows_the_same_tree(criterion, n_outputs, random_cuts):
    check(problem(criterion, n_outputs=n_outputs, random_cuts=random_cuts))


@pytest.mark.parametrize("criterion", TARGETS)
def test_monotonic_constraints_grow_the_same_tree(criterion):
    case = problem(criterion, random_cuts=criterion == "gini")
    direction = np.where(case.categorical, 0, np.arange(len(case.n_bins)) % 3 - 1).astype(np.int8)
    check(replace(case, direction=direction))


@pytest.mark.parametrize("criterion", TARGETS)
def test_weights_grow_the_same_tree(criterion):
    case = problem(criterion, n_outputs=2)
    check(replace(case, weight=np.arange(N) % 4 / 3 + 0.1))
    if criterion == "gini":
        check(replace(case, factor=np.array([3, 1, 7])))


RULES = {
    "depth": {"max_depth": 3},
    "leaves": {"max_leaves": 7},
    "sizes": {"min_split": 9, "min_leaf": 4},
    "weights": {"min_weight_fraction": 0.05, "min_gain": 1e-3},
    "few columns": {"columns_per_node": 2},
    "one column": {"columns_per_node": 1, "random_cuts": True},
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_every_rule_grows_the_same_tree(rules):
    check(problem("gini", **rules))
    check(replace(problem("squared_error", **rules), weight=np.arange(N) % 3 / 3 + 0.2))


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_nodes_of_many_rows_grow_the_same_tree(criterion):
    check(problem(criterion, 2100, ("many", "categories"), max_depth=2))
