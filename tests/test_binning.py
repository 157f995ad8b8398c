"""Binning: edges at quantiles, codes of values and of categories, whatever the threads and the layout."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from hedgerow import binning
from hedgerow.binning import find_bins, row_stride
from hedgerow.table import read_table
from hedgerow.threads import Team

INF, NAN = math.inf, math.nan


def edges_of(values, max_bins=255, copies=None):
    bins = find_bins(read_table(np.asarray(values, float).reshape(-1, 1)), max_bins, copies=copies)
    return bins.edges.tolist()


def codes_of(bins, X, team=None, **settings):
    return bins.encode(read_table(X, **settings), team or Team(1)).codes


VALUES = st.one_of(
    st.integers(-4, 4).map(float), st.floats(width=64), st.sampled_from([INF, -INF, NAN, -0.0, 5e-324])
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(VALUES, st.integers(0, 5)), min_size=1, max_size=60), st.integers(2, 12))
def test_edges_and_codes_are_those_of_the_oracle(rows, max_bins):
    values, copies = [v for v, _ in rows], [c for _, c in rows]
    plain = oracle.cut([v + 0.0 for v in values], max_bins)
    assert edges_of(values, max_bins) == plain
    weighted = oracle.cut([v + 0.0 for v in values], max_bins, copies)
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
def test_an_edge_parts_its_neighbours(low, high):
    [edge] = edges_of([low, high])
    assert low <= edge < high
    assert edge == oracle.between(low, high)


def test_an_integer_weight_is_so_many_rows_and_zero_is_none():
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


@pytest.mark.parametrize("n_members", [1, 2, 3])
@pytest.mark.parametrize("chunk_rows", [1, 100, 65_536])
def test_threads_and_chunks_change_nothing(n_members, chunk_rows):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(530, 5))
    expected = find_bins(read_table(X), 16)
    with Team(n_members, chunk_rows) as team:
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
    bins = find_bins(read_table(numbers, categorical_features=[0]))
    codes = codes_of(bins, numbers, categorical_features=[0]).by_column[0]
    assert bins.n_bins.tolist() == [255]
    assert codes.tolist() == [*range(1, 255), *[255] * 746]


def test_a_large_table_is_cut_at_the_quantiles_of_hashed_rows(monkeypatch):
    monkeypatch.setattr(binning, "EDGE_SAMPLE_ROWS", 100)
    values = np.random.default_rng(5).normal(size=1000)
    rows = oracle.sample(0.1, 0, 1, 0, 0, 1000)
    assert 60 < len(rows) < 140
    assert edges_of(values, 10) == oracle.cut(values[rows].tolist(), 10)
    copies = np.arange(1000) % 3
    expected = oracle.cut(values[rows].tolist(), 10, copies[rows].tolist())
    assert edges_of(values, 10, copies) == expected


def test_some_rows_of_a_binned_table():
    X = np.random.default_rng(6).normal(size=(50, 3))
    table = find_bins(read_table(X)).encode(read_table(X), Team(1))
    taken = table.take(np.array([4, 0, 49], np.uint32))
    assert taken.n_rows == 3
    assert (taken.codes.by_column == table.codes.by_column[:, [4, 0, 49]]).all()
