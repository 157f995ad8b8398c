"""Growing: compiled against reference on tables large enough for several threads, and every rule."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.growing import grower
from hedgerow.growing.grower import GrowthOptions, RowStatistics, TreeGrower
from hedgerow.kernels.cpu.records import Statistics
from hedgerow.threads import Team
from reference_grower import channels
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

N = 11_000  # five members share a node of this size
N_BINS, CATEGORICAL = [255, 6, 30, 90], [False, False, True, True]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(1, n + 1, N) for n in N_BINS])
    codes[rng.random(codes.shape) < 0.05] = 0
    return make_binned(codes, N_BINS, CATEGORICAL)


def target(table, seed=0):
    """Gradients that depend on every column."""
    rng = np.random.default_rng(seed)
    a, b, c, d = table.codes.by_column.astype(float)
    return (
        np.sin(a / 40) * (b > 3)
        + 0.5 * (c % 3 == 1)
        + 0.5 * (d % 7 == 2) * (a > 100)
        + 0.3 * rng.normal(size=len(a))
    )


@pytest.fixture
def every_member(monkeypatch):
    """Use all threads even where one is faster."""
    monkeypatch.setattr(grower, "_VALUES_PER_THREAD", 1)


RULES = {
    "plain": GrowthOptions(),
    "small leaves": GrowthOptions(max_leaf_nodes=60, min_samples_leaf=1),
    "large leaves": GrowthOptions(min_samples_leaf=700),  # most splits found first are too small
    "deep": GrowthOptions(max_leaf_nodes=None, max_depth=6, min_samples_leaf=50),
    "penalised": GrowthOptions(l1_regularization=3.0, l2_regularization=10.0, min_split_gain=4.0),
    "random": GrowthOptions(columns_per_tree=0.7, columns_per_node=0.5, seed=3),
    "noise": GrowthOptions(random_strength=3.0, min_samples_leaf=300, seed=3),
    "monotonic": GrowthOptions(monotonic=np.array([-1, 1, 0, 0], np.int8)),
    "groups": GrowthOptions(groups=np.array([[1], [3], [2], [2]], np.uint64)),
}


@pytest.mark.usefixtures("every_member")
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_any_number_of_members_grows_the_tree_of_the_reference(table, rules):
    measured, rows = measure(target(table), np.ones(N))
    expected = grow_reference(table, rules, measured, rows, 5)
    assert len(expected.leaves) > 10
    for n_threads in (1, 4):
        with Team(n_threads) as team:
            assert_same_tree(grow_compiled(table, rules, measured, rows, 5, team), expected)


@pytest.mark.usefixtures("every_member")
@pytest.mark.parametrize(
    ("name", "pool_bytes", "n_threads"),
    [("small leaves", 60_000, 2), ("large leaves", 0, 2), ("deep", 0, 1), ("deep", 60_000, 1)],
)
def test_pool_too_small_for_all_histograms_changes_nothing(table, name, pool_bytes, n_threads, monkeypatch):
    measured, rows = measure(target(table), np.ones(N))
    expected = grow_compiled(table, RULES[name], measured, rows)
    monkeypatch.setattr(grower, "_POOL_BYTES", pool_bytes)
    with Team(n_threads) as team:
        assert_same_tree(grow_compiled(table, RULES[name], measured, rows, 0, team), expected)


@pytest.mark.usefixtures("every_member")
@pytest.mark.parametrize(("n_threads", "packed_block_rows"), [(1, 1), (3, 1000), (1, None)])
def test_packed_and_wide_statistics_grow_the_same_tree(table, n_threads, packed_block_rows):
    measured, rows = measure(target(table), np.random.default_rng(1).random(N))
    assert len(measured.statistics.packed) == N
    wide = replace(measured, statistics=unpacked(measured.statistics))
    if packed_block_rows is not None:
        measured = replace(
            measured, statistics=measured.statistics._replace(packed_block_rows=packed_block_rows)
        )
    rules = RULES["small leaves"]
    with Team(n_threads) as team:
        assert_same_tree(
            grow_compiled(table, rules, measured, rows, 0, team),
            grow_compiled(table, rules, wide, rows, 0, team),
        )


def test_grower_grows_tree_after_tree(table):
    """Memory is reused from tree to tree: no tree may affect the next."""
    backend = TreeGrower(table, RULES["small leaves"], Team(1))
    for tree in range(3):
        measured, rows = measure(target(table, tree), np.ones(N))
        rows = rows[: N - 3000 * tree]
        expected = grow_compiled(table, RULES["small leaves"], measured, rows, tree)
        assert_same_tree(backend.grow(measured, rows, tree), expected)


def assert_same_function(one, other):
    """The same tree for every future row; the rows it was grown on may differ."""
    for name in ("left", "count", "depth", "gradient", "hessian", "value"):
        assert one.nodes[name].tobytes() == other.nodes[name].tobytes(), name
    inner = one.nodes["left"] > 0
    for name in ("gain", "column", "threshold", "missing_left", "goes_left"):
        assert one.nodes["split"][name][inner].tobytes() == other.nodes["split"][name][inner].tobytes(), name


@pytest.mark.parametrize(
    ("name", "largest"), [("small leaves", 3), ("large leaves", 90), ("random", 3)]
)  # packed, wide
def test_integer_weight_acts_as_copies_of_the_row(table, name, largest):
    n = 700
    copies = np.random.default_rng(2).integers(0, largest + 1, n)
    small = table.take(np.arange(n, dtype=np.uint32))
    repeated = table.take(np.repeat(np.arange(n, dtype=np.uint32), copies))
    gradient, hessian = target(small), np.random.default_rng(3).random(n)
    rules = replace(RULES[name], min_samples_leaf=3 * largest)
    weighted, rows = measure(gradient, hessian, copies)
    assert len(weighted.statistics.packed) == (n if largest == 3 else 0)
    unweighted, all_rows = measure(np.repeat(gradient, copies), np.repeat(hessian, copies))
    one, other = (
        grow_compiled(small, rules, weighted, rows),
        grow_compiled(repeated, rules, unweighted, all_rows),
    )
    assert len(one.leaves) > 5
    assert_same_function(one, other)


def test_rows_that_are_not_used_change_nothing(table):
    chosen = np.flatnonzero(np.random.default_rng(4).random(N) < 0.3).astype(np.uint32)
    measured, _ = measure(target(table), np.ones(N))
    statistics = measured.statistics
    subset = replace(measured, statistics=statistics._replace(packed=statistics.packed[chosen]))
    one = grow_compiled(table, GrowthOptions(), measured, chosen)
    other = grow_compiled(
        table.take(chosen), GrowthOptions(), subset, np.arange(len(chosen), dtype=np.uint32)
    )
    assert_same_function(one, other)
    assert one.rows.tolist() == chosen[other.rows].tolist()


def test_rows_are_grouped_by_leaf_in_their_order(table):
    measured, rows = measure(target(table), np.ones(N))
    grown = grow_compiled(table, GrowthOptions(), measured, rows)
    assert sorted(grown.rows) == list(range(N))
    for leaf, start, stop in zip(grown.leaves, grown.starts, grown.starts[1:], strict=False):
        assert (np.diff(grown.rows[start:stop].astype(int)) > 0).all()
        node = grown.nodes[leaf]
        assert (node["start"], node["stop"], node["left"]) == (start, stop, 0)
        assert node["gradient"] == channels(measured.statistics)[0, grown.rows[start:stop]].sum()
        assert grown.values[grown.leaves.tolist().index(leaf)] == node["value"]


# --- rules


def paths(nodes, number=0, columns=()):
    """(leaf, columns on the way) of every leaf."""
    left = nodes[number]["left"]
    if left == 0:
        return [(number, columns)]
    columns = (*columns, int(nodes[number]["split"]["column"]))
    return paths(nodes, left, columns) + paths(nodes, left + 1, columns)


def grown_with(table, **options):
    measured, rows = measure(target(table), np.ones(N))
    rules = GrowthOptions(**options)
    return grow_compiled(table, rules, measured, rows), measured


@pytest.mark.parametrize("depth", [1, 3])
def test_largest_depth(table, depth):
    grown, _ = grown_with(table, max_depth=depth, max_leaf_nodes=None)
    assert grown.nodes["depth"].max() == depth
    assert len(grown.leaves) == 2**depth


def test_smallest_leaf_and_its_weight(table):
    grown, _ = grown_with(table, min_samples_leaf=333, max_leaf_nodes=None)
    assert 333 <= grown.nodes["count"].min() < 700
    grown, _ = grown_with(table, min_child_weight=333.5, min_samples_leaf=1, max_leaf_nodes=None)
    assert 334 <= grown.nodes["count"].min() < 700


def test_the_older_node_comes_first_among_equals():
    # column 0 separates [3 1 | -1 -3]; then column 1 gains 9 + 1 - 16 / 2 = 2 on either side
    binned = make_binned([[1, 1], [1, 2], [2, 1], [2, 2]], [2, 2])
    measured, rows = measure([3.0, 1.0, -1.0, -3.0], np.ones(4))
    for most_leaves, left in ((3, [1, 3, 0, 0, 0]), (4, [1, 3, 5, 0, 0, 0, 0])):
        rules = GrowthOptions(max_leaf_nodes=most_leaves, min_samples_leaf=1)
        for grow in (grow_compiled, grow_reference):
            grown = grow(binned, rules, measured, rows)
            assert grown.nodes["left"].tolist() == left
            assert grown.nodes["split"]["gain"][:2].tolist() == [16.0, 2.0]


@pytest.mark.parametrize("direction", [1, -1])
def test_monotonic_columns_only_rise_or_only_fall(table, direction):
    grown, _ = grown_with(table, monotonic=np.array([direction, 0, 0, 0], np.int8), max_leaf_nodes=60)
    nodes, steps = grown.nodes, 0
    for others in table.codes.by_column.T[:10]:
        values = []
        for code in range(1, 256, 2):
            number = 0
            while nodes[number]["left"]:
                split = nodes[number]["split"]
                at = code if split["column"] == 0 else int(others[split["column"]])
                goes_left = at <= split["threshold"] if at else split["missing_left"]
                if split["categorical"]:
                    goes_left = int(split["goes_left"][at // 64]) >> (at % 64) & 1
                number = nodes[number]["left"] + (not goes_left)
            values.append(nodes[number]["value"])
        assert (np.diff(values) * direction >= 0).all()
        steps += (np.diff(values) != 0).sum()
    assert steps > 0  # the column is used


def test_columns_of_a_path_share_an_interaction_group(table):
    groups = np.array([[1], [1], [2], [2]], np.uint64)
    grown, _ = grown_with(table, groups=groups, max_leaf_nodes=60)
    used = {frozenset(columns) for _, columns in paths(grown.nodes)}
    assert all(columns <= {0, 1} or columns <= {2, 3} for columns in used)
    free, _ = grown_with(table, max_leaf_nodes=60)
    assert any(len(set(columns) & {0, 1}) and len(set(columns) & {2, 3}) for _, columns in paths(free.nodes))


def test_random_columns_differ_from_tree_to_tree_and_from_node_to_node(table):
    measured, rows = measure(target(table), np.ones(N))
    rules = GrowthOptions(columns_per_tree=0.25, seed=1)
    used = []
    for tree in range(12):
        grown = grow_compiled(table, rules, measured, rows, tree)
        inner = grown.nodes["left"] > 0
        used.append(set(grown.nodes["split"]["column"][inner].tolist()))
    assert all(len(columns) == 1 for columns in used)
    assert set.union(*used) == {0, 1, 2, 3}
    grown = grow_compiled(table, GrowthOptions(columns_per_node=0.25, seed=1), measured, rows)
    assert len(set(grown.nodes["split"]["column"][grown.nodes["left"] > 0].tolist())) > 2


# --- hard cases


@pytest.mark.parametrize("categorical", [False, True])
def test_rows_without_statistics_do_not_stop_the_search_for_large_enough_leaves(categorical):
    """Two missing rows with G = H = 0 go to the heavier side, and count there."""
    codes = [[1]] * 6 + [[2]] + [[0]] * 2
    binned = make_binned(codes, [2], [categorical])
    measured, rows = measure([1.0] * 6 + [-5.0] + [0.0] * 2, [1.0] * 7 + [0.0] * 2)
    rules = GrowthOptions(min_samples_leaf=2, min_child_weight=0.0, categorical_smoothing=0.0)
    grown = grow_compiled(binned, rules, measured, rows)
    assert len(grown.leaves) == 1
    assert_same_tree(grown, grow_reference(binned, rules, measured, rows))
    grown = grow_compiled(binned, replace(rules, min_samples_leaf=1), measured, rows)
    assert sorted(grown.nodes["count"].tolist()) == [1, 8, 9]


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_almost_no_rows(n_rows):
    binned = make_binned([[1], [2]], [2])
    measured, rows = measure([1.0, -1.0], [1.0, 1.0])
    rules = GrowthOptions(min_samples_leaf=1)
    grown = grow_compiled(binned, rules, measured, rows[:n_rows])
    assert_same_tree(grown, grow_reference(binned, rules, measured, rows[:n_rows]))
    assert grown.values.tolist() == [[0.0], [-1.0], [-1.0, 1.0]][n_rows]


def test_a_pure_node_is_not_split_on_rounding():
    """Gains of equal rows are rounding errors of either sign."""
    rng = np.random.default_rng(5)
    binned = make_binned(rng.integers(1, 50, (3000, 3)), [50, 50, 50])
    measured, rows = measure(np.full(3000, 0.1), np.full(3000, 0.7))
    assert len(grow_compiled(binned, GrowthOptions(min_samples_leaf=1), measured, rows).leaves) == 1


def test_tree_never_has_more_leaves_than_rows():
    binned = make_binned(np.arange(1, 41).reshape(-1, 1), [40])
    measured, rows = measure(np.random.default_rng(6).normal(size=40), np.ones(40))
    rules = GrowthOptions(max_leaf_nodes=None, min_samples_leaf=1)
    grown = grow_compiled(binned, rules, measured, rows)
    assert 30 < len(grown.leaves) <= 40
    assert_is_oracle_tree(grown, grow_oracle(binned, rules, measured, rows), measured)


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_cauchy_target_is_fitted_as_well_as_with_floats(table, share):
    """Compare the reduction of the squared error with that of a tree grown with all bits of float64."""
    gradient = target(table) + share * np.random.default_rng(7).standard_cauchy(N)
    measured, rows = measure(gradient, np.ones(N))
    unit = 2.0 ** (np.ceil(np.log2(np.abs(gradient).max())) - 46)  # sums of 2**14 rows stay below 2**61
    wide = np.column_stack([np.rint(gradient / unit), np.full(N, 2.0**40)]).astype(np.int64)
    none = np.empty(0, np.int64)
    fine = RowStatistics(Statistics(none, wide, none, 1), unit, 2.0**-40, 2**40)
    reductions = []
    for statistics in (measured, fine):
        grown = grow_compiled(table, GrowthOptions(), statistics, rows)
        sums = np.add.reduceat(gradient[grown.rows], grown.starts[:-1])
        reductions.append((sums**2 / np.diff(grown.starts)).sum())
    assert reductions[0] > 0.999 * reductions[1]
