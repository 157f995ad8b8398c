"""The split search and the growing of weak trees agree with exact sums over all cuts, for any table."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from hedgerow.growing import weak_tree
from hedgerow.threads import Team
from oracle_weak import NOISE, WeightedTable, assert_best, assert_grown, coded, scale_of
from tree_cases import as_oracle, oracle_table

# name: (fewest bins, most bins, categorical)
KINDS = {
    "few": (2, 5, False),
    "many": (20, 255, False),
    "constant": (1, 1, False),
    "categories": (2, 6, True),
    "many categories": (65, 255, True),
}
WEIGHTS = {  # integers, as large as they get: all of them sum to 2**61
    "ones": lambda _, n: np.ones(n, np.int64),
    "small": lambda rng, n: rng.integers(0, 4, n),  # many ties, and rows that are not used
    "spread": lambda rng, n: np.int64(2) ** rng.integers(0, 40, n) * (rng.random(n) < 0.8),
    "large": lambda rng, n: rng.integers(0, 2**55, n),
}


@pytest.fixture(scope="module")
def teams():
    made = {n: Team(n, chunk_rows=7) for n in (1, 2, 3)}
    yield made
    for team in made.values():
        team.__exit__(None, None, None)


@st.composite
def tables(draw, rng, kinds):
    """Codes of one byte or two, a few columns or more than are searched at once."""
    n_rows = draw(st.one_of(st.integers(10, 40), st.integers(1, 6)))
    names = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    if draw(st.integers(0, 9)) == 0:
        names = [names[i % len(names)] for i in range(weak_tree.COLUMNS_PER_BLOCK + 2)]
    n_bins = [int(rng.integers(fewest, most + 1)) for fewest, most, _ in map(KINDS.get, names)]
    categorical = [KINDS[name][2] for name in names]
    dtype = draw(st.sampled_from([np.uint8, np.uint16]))
    if dtype == np.uint16:
        n_bins[0] = n_bins[0] if categorical[0] else int(rng.integers(256, 400))
    codes = np.column_stack([rng.integers(1, n + 1, n_rows) for n in n_bins])
    missing = draw(st.sampled_from([0.0, 0.1, 0.3, 1.0]))
    codes[rng.random(codes.shape) < missing * rng.integers(0, 2, len(names))] = 0
    return coded(codes, n_bins, categorical, dtype)


@st.composite
def weighted(draw, kinds=tuple(KINDS), most_classes=5):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    binned = draw(tables(rng, kinds))
    weight = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](rng, binned.n_rows)
    weight[rng.integers(0, binned.n_rows)] += 1  # at least one row is used
    criterion = draw(st.sampled_from(["error", "gini", "moments"]))
    if criterion == "moments":
        second = weight * rng.integers(-1, 2, binned.n_rows)
        if draw(st.booleans()):
            second = (weight * rng.uniform(-1, 1, binned.n_rows)).astype(np.int64)
        return WeightedTable(binned, weight, second=second, criterion=criterion)
    n_classes = draw(st.integers(1 if most_classes > 2 else 2, most_classes))
    classes = rng.integers(0, n_classes, binned.n_rows).astype(np.int32)
    return WeightedTable(binned, weight, classes, n_classes=n_classes, criterion=criterion)


@st.composite
def searches(draw):
    case = draw(weighted())
    used = case.rows
    chosen = draw(st.lists(st.integers(0, len(used) - 1), min_size=1, unique=True))
    whole = int(case.weight.sum())
    return SimpleNamespace(
        case=case,
        rows=draw(st.sampled_from([None, np.sort(used[chosen])])),
        least=draw(st.sampled_from([1, 1, 1, 3, max(1, whole // 10), max(1, whole // 3)])),
        n_threads=draw(st.integers(1, 3)),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(searches())
def test_search_finds_the_best_cut(teams, node):
    case, least = node.case, node.least
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weak_tree, "_VALUES_PER_THREAD", 1)
        found, left = case.search(teams[node.n_threads], node.rows, least)
    rows = case.rows if node.rows is None else node.rows
    assert_best(case, found, left, rows.tolist(), least)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(weighted(["categories"], most_classes=2))
def test_no_subset_of_categories_is_better_than_the_ordered_scan(teams, case):
    rows, sample = case.rows.tolist(), case.oracle_sample()
    found, _ = case.search(teams[1])
    gains = [
        float(oracle.best_subset_gain(column, sample, rows, 2, case.criterion)) * scale_of(case)
        for column in oracle_table(case.binned)
    ]
    assert max(gains) <= max(found["gain"], 0.0) + 2 * NOISE * float(case.weight.sum())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    weighted(),
    st.sampled_from([1, 2, 3, None]),
    st.sampled_from([2, 3, 6, None, None]),
    st.sampled_from([0.0, 0.0, 0.05, 0.2]),
    st.integers(1, 3),
)
def test_trees_are_grown_best_first(teams, case, max_depth, max_leaf_nodes, fraction, n_threads):
    rules = {"max_depth": max_depth, "max_leaf_nodes": max_leaf_nodes}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weak_tree, "_VALUES_PER_THREAD", 1)
        tree = case.grow(teams[n_threads], min_weight_fraction=fraction, **rules)
    least = math.ceil(Fraction(fraction) * int(case.weight.sum()) * (1 - Fraction(1, 2**30)))
    rows_of = assert_grown(case, tree, least=least, **rules)
    leaf_ids = tree.apply(case.binned, teams[n_threads])
    expected = [
        oracle.leaf_of(as_oracle(tree.nodes), codes) for codes in case.binned.codes.by_column.T.tolist()
    ]
    assert leaf_ids.tolist() == expected
    for number, rows in rows_of.items():
        if not tree.nodes["left"][number]:
            assert set(leaf_ids[rows]) == {number}
