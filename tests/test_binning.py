"""Binning: edges at quantiles, codes of values and categories, for any threads and layout; shared columns."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from hedgerow import binning
from hedgerow.binning import Bundles, find_bins, find_bundles, row_stride
from hedgerow.growing.grower import GrowthOptions
from hedgerow.table import read_table
from hedgerow.threads import Team
from tree_cases import assert_same_tree, grow_compiled, grow_reference, make_binned, measure

INF, NAN = math.inf, math.nan


def edges_of(values, max_bins=255, copies=None):
    bins = find_bins(read_table(np.asarray(values, float).reshape(-1, 1)), max_bins, copies=copies)
    return bins.edges.tolist()


def codes_of(bins, X, team=None, **settings):
    return bins.encode(read_table(X, **settings), team or Team(1)).codes


VALUES = st.one_of(
    st.integers(-4, 4).map(float), st.floats(width=64), st.sampled_from([INF, -INF, NAN, -0.0, 5e-324])
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.lists(st.tuples(VALUES, st.integers(0, 5)), min_size=1, max_size=60), st.integers(2, 12))
def test_edges_and_codes_are_those_of_the_oracle(rows, max_bins):
    values, copies = [v for v, _ in rows], [c for _, c in rows]
    plain = oracle.bin_edges([v + 0.0 for v in values], max_bins)
    assert edges_of(values, max_bins) == plain
    weighted = oracle.bin_edges([v + 0.0 for v in values], max_bins, copies)
    assert edges_of(values, max_bins, np.array(copies)) == weighted
    X = np.array(values).reshape(-1, 1)
    codes = codes_of(find_bins(read_table(X), max_bins), X)
    assert codes.by_column[0].tolist() == [oracle.code_of(v, plain) for v in values]
    assert codes.n_bins.tolist() == [len(plain) + 1]
    assert len(plain) < max_bins


def test_few_values_get_a_bin_each():
    assert edges_of([3.0, 1.0, 1.0, 2.0, NAN]) == [1.5, 2.5]


def test_a_frequent_value_gets_a_bin_alone_and_the_others_share_the_rest():
    values = [0.0] * 900 + list(range(1, 101))
    assert edges_of(values, 5) == [0.5, 25.5, 50.5, 75.5]


def test_bins_hold_about_equally_many_rows():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(10_000, 1))
    bins = find_bins(read_table(X), 50)
    counts = np.bincount(codes_of(bins, X).by_column[0])[1:]
    assert len(counts) == 50
    assert counts.min() == counts.max() == 200


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, 2.0), (1.0, math.nextafter(1.0, 2.0)), (-INF, INF), (-INF, 0.0), (1e308, INF), (-1.7e308, 1.7e308),
     (0.0, 5e-324), (5e-324, 1e-323), (1.5e-323, 2e-323)],
)  # fmt: skip
def test_an_edge_is_between_its_neighbours(low, high):
    [edge] = edges_of([low, high])
    assert low <= edge < high
    assert edge == oracle.between(low, high)


def test_an_integer_weight_counts_as_repeated_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).round(1)
    X[rng.random(X.shape) < 0.1] = NAN
    copies = rng.integers(0, 4, 300)
    weighted = find_bins(read_table(X), 20, copies=copies)
    repeated = find_bins(read_table(np.repeat(X, copies, axis=0)), 20)
    assert weighted.edges.tolist() == repeated.edges.tolist()
    assert weighted.edge_starts.tolist() == repeated.edge_starts.tolist()


def test_codes_by_row_and_by_column_are_the_same_and_aligned():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(700, 7))  # more than the block of rows that is coded at a time
    X[rng.random(X.shape) < 0.1] = NAN
    bins = find_bins(read_table(X), 30)
    codes = codes_of(bins, X)
    assert (codes.by_row[:, :7] == codes.by_column.T).all()
    assert codes.by_row.shape[1] == row_stride(7)
    assert codes.by_row.ctypes.data % 64 == 0
    for f in range(7):
        edges = bins.edges[bins.edge_starts[f] : bins.edge_starts[f + 1]].tolist()
        assert codes.by_column[f].tolist() == [oracle.code_of(v, edges) for v in X[:, f]]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("chunk_rows", [1, 100, 65_536])
def test_threads_and_chunks_change_nothing(n_threads, chunk_rows):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(530, 5))
    expected = find_bins(read_table(X), 16)
    with Team(n_threads, chunk_rows) as team:
        bins = find_bins(read_table(X), 16, team=team)
        codes = codes_of(bins, X, team)
    assert bins.edges.tobytes() == expected.edges.tobytes()
    assert (codes.by_column == codes_of(expected, X).by_column).all()


def test_float32_values_get_the_codes_of_their_float64_equals():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    small, large = find_bins(read_table(X), 31), find_bins(read_table(X.astype(float)), 31)
    assert small.edges.tobytes() == large.edges.tobytes()
    assert (codes_of(small, X).by_column == codes_of(large, X.astype(float)).by_column).all()


def test_columns_without_values_or_with_one_have_one_bin():
    bins = find_bins(read_table(np.array([[NAN, 5.0, 1.0], [NAN, 5.0, 2.0], [NAN, NAN, 1.0]])))
    assert bins.n_bins.tolist() == [1, 1, 2]
    assert bins.offsets.tolist() == [0, 2, 4, 7]
    X = np.array([[7.0, 4.0, NAN], [NAN, 6.0, 9.0]])
    assert codes_of(bins, X).by_column.tolist() == [[1, 0], [1, 1], [0, 2]]


def test_categories_get_a_code_each():
    X = np.array([["b"], ["a"], [None], ["c"], ["a"]], dtype=object)
    table = read_table(X, categorical_features=[0])
    bins = find_bins(table)
    assert bins.categorical.tolist() == [1]
    assert bins.n_bins.tolist() == [3]
    assert codes_of(bins, X, categorical_features=[0]).by_column[0].tolist() == [2, 1, 0, 3, 1]
    unseen = read_table(np.array([["z"], ["c"]], dtype=object), schema=table.schema)
    assert bins.encode(unseen, Team(1)).codes.by_column[0].tolist() == [0, 3]


def test_the_rarest_categories_share_the_last_code():
    counts = {0: 5, 1: 1, 2: 9, 3: 1, 4: 3}
    numbers = np.repeat(list(counts), list(counts.values())).astype(float).reshape(-1, 1)
    table = read_table(numbers, categorical_features=[0])
    assert find_bins(table, 4).tables.tolist() == [1, 4, 2, 4, 3]
    copies = np.where(numbers[:, 0] == 1, 20, 1)
    assert find_bins(table, 4, copies=copies).tables.tolist() == [1, 2, 3, 4, 4]


def test_more_categories_than_codes():
    numbers = np.arange(1000.0).reshape(-1, 1)
    bins = find_bins(read_table(numbers, categorical_features=[0]), min_category_frequency=1)
    codes = codes_of(bins, numbers, categorical_features=[0]).by_column[0]
    assert bins.n_bins.tolist() == [255]
    assert codes.tolist() == [*range(1, 255), *[255] * 746]


@pytest.mark.parametrize(("n_categories", "shared"), [(33, [33]), (32, []), (300, [*range(33, 300), 300])])
def test_infrequent_categories_share_a_code_in_columns_of_many(n_categories, shared):
    """The first 32 categories have 10 rows, others 9; only columns of more than 32 merge those."""
    rows = np.where(np.arange(n_categories) < 32, 10, 9)
    numbers = np.repeat(np.arange(n_categories, dtype=float), rows).reshape(-1, 1)
    table = read_table(numbers, categorical_features=[0])
    expected = np.arange(1, n_categories + 1)
    expected[np.array(shared, int) - 1] = 33
    assert find_bins(table).tables.tolist() == expected.tolist()
    copies = np.full(len(numbers), 2)
    twice = find_bins(table, copies=copies).tables
    assert twice.tolist() == [min(code, 255) for code in range(1, n_categories + 1)]


def test_a_large_table_is_cut_at_the_quantiles_of_hashed_rows(monkeypatch):
    monkeypatch.setattr(binning, "EDGE_SAMPLE_ROWS", 100)
    values = np.random.default_rng(5).normal(size=1000)
    rows = oracle.sample(0.1, 0, 1, 0, 0, 1000)
    assert 60 < len(rows) < 140
    assert edges_of(values, 10) == oracle.bin_edges(values[rows].tolist(), 10)
    copies = np.arange(1000) % 3
    expected = oracle.bin_edges(values[rows].tolist(), 10, copies[rows].tolist())
    assert edges_of(values, 10, copies) == expected


def test_some_rows_of_a_binned_table():
    X = np.random.default_rng(6).normal(size=(50, 3))
    table = find_bins(read_table(X)).encode(read_table(X), Team(1))
    taken = table.take(np.array([4, 0, 49], np.uint32))
    assert taken.n_rows == 3
    assert (taken.codes.by_column == table.codes.by_column[:, [4, 0, 49]]).all()


# --- bundles: columns that share one stored column


def one_hot(n_rows, n_kinds, seed=0):
    """Codes (rows, kinds): 2 in the column of the row's kind, 1 elsewhere."""
    codes = np.ones((n_rows, n_kinds), np.uint8)
    codes[np.arange(n_rows), np.random.default_rng(seed).integers(0, n_kinds, n_rows)] = 2
    return codes


def apart(_by_column, n_bins):
    """Every column stored alone."""
    n = len(n_bins)
    return Bundles(np.arange(n), np.full(n, -1), np.zeros(n, int), n_bins + 1)


def test_one_hot_columns_share_one_stored_column():
    codes = one_hot(500, 9)
    bundles = find_bundles(np.ascontiguousarray(codes.T), np.full(9, 2))
    assert bundles.stored.tolist() == [0] * 9
    assert bundles.usual.tolist() == [1] * 9
    assert bundles.widths.tolist() == [1 + 9 * 2]


def test_columns_with_a_common_row_are_not_bundled():
    codes = one_hot(500, 3)
    codes[77] = [2, 2, 1]
    bundles = find_bundles(np.ascontiguousarray(codes.T), np.full(3, 2))
    assert bundles.stored.tolist() == [0, 1, 0]


def test_a_stored_column_holds_at_most_256_codes():
    codes = np.ones((1000, 5), np.uint8)
    codes[np.arange(500), np.arange(500) % 5] = 100
    bundles = find_bundles(np.ascontiguousarray(codes.T), np.full(5, 100))
    assert bundles.stored.tolist() == [0, 0, 1, 1, 2]
    assert bundles.widths.max() <= 256


@pytest.mark.parametrize("usual", [0, 1, 3, 5])
def test_stored_codes_determine_column_and_code(usual):
    n_bins = np.array([5, 5, 5])
    codes = np.full((400, 3), usual, np.uint8)
    rng = np.random.default_rng(usual)
    codes[np.arange(300), rng.integers(0, 3, 300)] = rng.integers(0, 6, 300)
    table = make_binned(codes, n_bins)
    assert table.codes.stored_offsets.tolist() == [0, 16]
    for row in range(400):
        stored = int(table.codes.by_row[row, 0])
        unusual = np.flatnonzero(codes[row] != usual)
        if not len(unusual):
            assert stored == 0
            continue
        column, code = unusual[0], int(codes[row, unusual[0]])
        assert stored == table.codes.stored_entries[column] + code - (code > usual)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.data())
def test_bundles_do_not_change_trees(data):
    n = data.draw(st.integers(2, 120))
    n_kinds = data.draw(st.integers(2, 6))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 8, (n, 2))
    sparse = np.ones((n, n_kinds), np.uint8)
    hits = rng.random(n) < data.draw(st.sampled_from([0.1, 0.5, 0.9]))
    sparse[hits, rng.integers(0, n_kinds, hits.sum())] = rng.integers(0, 4, hits.sum())
    codes = np.column_stack([sparse[:, :1], dense, sparse[:, 1:]])
    n_bins, categorical = (
        [3, 7, 7] + [3] * (n_kinds - 1),
        [data.draw(st.booleans()) for _ in range(n_kinds + 2)],
    )
    rules = GrowthOptions(
        max_leaf_nodes=data.draw(st.sampled_from([2, 8, 31])),
        min_samples_leaf=data.draw(st.sampled_from([1, 5])),
        min_child_weight=0.0,
        columns_per_tree=data.draw(st.sampled_from([0.5, 1.0])),
    )
    weight = None if data.draw(st.booleans()) else rng.integers(0, 3, n) + (np.arange(n) == 0)
    measured, rows = measure(rng.normal(size=n), rng.random(n), weight)
    binned = make_binned(codes, n_bins, categorical)
    with Team(data.draw(st.integers(1, 2))) as team:
        shared = grow_compiled(binned, rules, measured, rows, team=team)
    assert_same_tree(shared, grow_reference(binned, rules, measured, rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "find_bundles", apart)
        assert_same_tree(
            shared, grow_compiled(make_binned(codes, n_bins, categorical), rules, measured, rows)
        )
