"""The compiled grower, the reference and the oracle grow the same tree, for any table and rules."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.growing import grower
from hedgerow.growing.grower import GrowthOptions
from hedgerow.threads import Team
from tree_cases import (
    assert_is_oracle_tree,
    assert_same_tree,
    grow_compiled,
    grow_oracle,
    grow_reference,
    make_binned,
    measure,
    unpacked,
)

# name: (fewest bins, most bins, categorical)
KINDS = {
    "few": (2, 5, False),
    "many": (20, 255, False),
    "constant": (1, 1, False),
    "categories": (2, 6, True),
    "many categories": (65, 255, True),
}
GRADIENTS = {
    "whole": lambda rng, n: rng.integers(-3, 4, n),  # ties, and sums of zero
    "smooth": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-200,  # the unit of gains underflows
    "mostly zero": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.3),
}
HESSIANS = {
    "ones": lambda _, n: np.ones(n),
    "like gradients": lambda rng, n: 0.25 - 0.2 * rng.random(n),
    "with zeros": lambda rng, n: rng.integers(0, 3, n),
    "smooth": lambda rng, n: rng.random(n),
    "heavy": lambda rng, n: np.abs(rng.standard_cauchy(n)) ** 3,
    "zero": lambda _, n: np.zeros(n),
}
WEIGHTS = {
    "none": lambda *_: None,
    "whole": lambda rng, n: rng.integers(0, 4, n),
    "large": lambda rng, n: rng.integers(0, 5000, n),
    "float": lambda rng, n: rng.random(n) * (rng.random(n) < 0.8),
}


@pytest.fixture(scope="module")
def teams():
    made = {n: Team(n) for n in (1, 2, 3)}
    yield made
    for team in made.values():
        team.__exit__(None, None, None)


@st.composite
def growth_rules(draw, n_columns, categorical, rng):
    monotonic = np.empty(0, np.int8)
    if draw(st.booleans()):
        monotonic = np.where(categorical, 0, rng.integers(-1, 2, n_columns)).astype(np.int8)
    groups = np.empty((0, 0), np.uint64)
    if draw(st.booleans()):
        bits = rng.integers(0, 32, (n_columns, draw(st.integers(1, 2))), dtype=np.uint64)
        groups = bits << np.uint64(draw(st.integers(0, 59)))
    pick = lambda *options: draw(st.sampled_from(options))  # noqa: E731
    return GrowthOptions(
        max_leaf_nodes=pick(None, None, 31, 5, 2),
        max_depth=pick(None, None, None, 4, 2),
        min_samples_leaf=pick(1, 1, 2, 3, 5),
        min_child_weight=pick(0.0, 1e-3, 1e-3, 2.0),
        min_split_gain=pick(0.0, 0.0, 0.0, 0.5),
        l1_regularization=pick(0.0, 0.0, 0.3),
        l2_regularization=pick(0.0, 1.0),
        categorical_smoothing=pick(0.0, 1.0, 10.0),
        columns_per_tree=pick(1.0, 1.0, 0.7),
        columns_per_node=pick(1.0, 1.0, 0.5),
        random_strength=pick(0.0, 0.0, 0.5, 3.0),
        learning_rate=pick(0.1, 1.0),
        monotonic=monotonic,
        groups=groups,
        seed=draw(st.integers(0, 2**62)),
    )


@st.composite
def growths(draw):
    """A table, statistics, rules, and the threads and memory of the compiled grower."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows = draw(st.one_of(st.integers(20, 60), st.integers(1, 10)))
    kinds = [KINDS[name] for name in draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))]
    n_bins = [int(rng.integers(fewest, most + 1)) for fewest, most, _ in kinds]
    categorical = np.array([c for _, _, c in kinds])
    codes = np.column_stack([rng.integers(1, n + 1, n_rows) for n in n_bins])
    missing = draw(st.sampled_from([0.0, 0.1, 0.3, 1.0]))
    codes[rng.random(codes.shape) < missing * rng.integers(0, 2, len(kinds))] = 0
    if draw(st.booleans()):  # every row differs from the usual codes in one column at most: columns share
        owner, usual = rng.integers(0, 2 * len(kinds), n_rows), codes[rng.integers(0, n_rows)]
        codes = np.where(owner[:, None] == np.arange(len(kinds)), codes, usual)
    gradient, hessian, weight = (
        table[draw(st.sampled_from(list(table)))](rng, n_rows) for table in (GRADIENTS, HESSIANS, WEIGHTS)
    )
    measured, rows = measure(gradient, hessian, weight)
    if draw(st.booleans()):
        rows = rows[rng.random(len(rows)) < 0.7]
    if draw(st.booleans()):
        measured = replace(measured, statistics=unpacked(measured.statistics))
    packed_block_rows = draw(st.sampled_from([measured.statistics.packed_block_rows, 1, 5]))
    measured = replace(measured, statistics=measured.statistics._replace(packed_block_rows=packed_block_rows))
    return SimpleNamespace(
        binned=make_binned(codes, n_bins, categorical),
        measured=measured,
        rows=rows,
        rules=draw(growth_rules(len(kinds), categorical, rng)),
        tree=draw(st.integers(0, 3)),
        n_threads=draw(st.integers(1, 3)),
        pool_bytes=draw(st.sampled_from([0, 20_000, 128 << 20])),
    )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(growths(), st.integers(0, 4))
def test_symmetric_trees_are_those_of_the_oracle(teams, case, depth):
    rules = replace(case.rules, symmetric=True, max_leaf_nodes=None, max_depth=depth)
    arguments = (case.binned, rules, case.measured, case.rows, case.tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grower, "_VALUES_PER_THREAD", 1)
        compiled = grow_compiled(*arguments, teams[case.n_threads])
    assert_is_oracle_tree(compiled, grow_oracle(*arguments), case.measured)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(growths())
def test_compiled_reference_and_oracle_grow_the_same_tree(teams, case):
    arguments = (case.binned, case.rules, case.measured, case.rows, case.tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grower, "_VALUES_PER_THREAD", 1)  # use every member even on a table this small
        patch.setattr(grower, "_POOL_BYTES", case.pool_bytes)
        compiled = grow_compiled(*arguments, teams[case.n_threads])
    reference = grow_reference(*arguments)
    truth = grow_oracle(*arguments)
    assert_same_tree(compiled, reference)
    assert_is_oracle_tree(compiled, truth, case.measured)
