"""Counts beyond 32 bits: rows times columns above 2**31, row numbers near 2**32, sums of weights above 2**63.

The large arrays are sparse files: only the pages that a test writes, those at the far end, take memory.
"""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow._typing import MAX_ROWS
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.binning import check_counts, find_bins
from hedgerow.growing.grower import Quantiser, Weights
from hedgerow.kernels.cpu.adaboost import add_table, descend, fill_exponents, find_stump_sides, wrong_weight
from hedgerow.kernels.cpu.binning import add_code_keys, cut_positions, encode, store_rows
from hedgerow.kernels.cpu.forest import MAX_COLUMNS
from hedgerow.kernels.cpu.gradients import add_leaf_values
from hedgerow.kernels.cpu.histogram import add_packed, add_wide
from hedgerow.kernels.cpu.partition import count_copies, count_left, split_rows
from hedgerow.kernels.cpu.random import EDGE_SAMPLE, draw, sample_rows
from hedgerow.kernels.cpu.records import NODE, SPLIT
from hedgerow.kernels.cpu.votes import _choose_rows, new_traversal
from hedgerow.kernels.cpu.weak import Sample as WeakSample
from hedgerow.kernels.cpu.weak import _fill
from hedgerow.memory import forest_tree_leaves
from hedgerow.table import read_table
from hedgerow.threads import Team

FAR = 2**31 + 2**30  # beyond int32, within uint32
N = FAR + 64

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sparse files are not everywhere")


@pytest.fixture
def far(tmp_path):
    """Makes zeros of any shape; only pages that are written take memory."""
    made = []

    def make(shape, dtype):
        path = tmp_path / f"{len(made)}.bin"
        made.append(np.memmap(path, dtype=dtype, mode="w+", shape=shape))
        return np.asarray(made[-1])

    yield make
    for array in made:
        array._mmap.close()
    for path in tmp_path.glob("*.bin"):
        path.unlink()


def far_rows(n=64):
    """Row numbers at the far end, in the dtype of the kernels."""
    return (FAR + np.arange(n)).astype(np.uint32)


def numeric_split(column=0, threshold=2):
    split = np.zeros(1, SPLIT)
    split["column"], split["threshold"], split["missing_left"] = column, threshold, 0
    return split[0]


# --- kernels at the far end


def test_codes_are_written_and_laid_out_by_row_beyond_two_to_the_31(far):
    by_column, by_row = far((2, N), np.uint8), far((N, 2), np.uint8)
    block = np.column_stack([np.arange(64.0), np.arange(64.0)[::-1]])
    edges, starts = np.array([9.5, 31.5]), np.array([0, 2, 2])
    none = np.empty((0, 0), np.uint8)
    encode(block, edges, starts, np.empty(0, np.uint8), np.zeros(3, np.int64), none, by_column, FAR)
    np.testing.assert_array_equal(by_column[0, FAR:], 1 + np.searchsorted(edges, np.arange(64.0)))
    assert by_column[0, :64].max() == by_column[0, FAR - 2**31 :][:64].max() == 0  # nothing wrapped around
    store_rows(by_column, np.arange(2), np.full(2, -1), np.zeros(2, np.int64), by_row, FAR, N)
    np.testing.assert_array_equal(by_row[FAR:], by_column[:, FAR:].T)
    keys = far(N, np.uint64)
    add_code_keys(by_column, keys, FAR, N)
    assert keys[FAR:].min() > 0
    assert keys[:64].max() == 0


def test_histograms_read_rows_beyond_two_to_the_31(far):
    by_row, packed, wide = far((N, 2), np.uint8), far(N, np.int64), far((N, 2), np.int64)
    rows = far_rows()
    by_row[FAR:, 0], by_row[FAR:, 1] = np.arange(64) % 3, 1
    packed[FAR:], wide[FAR:, 0], wide[FAR:, 1] = 1, 5, 7
    offsets, columns, out = np.array([0, 3, 5]), np.arange(2), np.zeros(5, np.int64)
    add_packed(by_row, rows, 0, 64, packed, columns, offsets, out)
    assert out.tolist() == [22, 21, 21, 0, 64]
    both = np.zeros((2, 5), np.int64)
    add_wide(by_row, rows, 0, 64, wide, columns, offsets, both)
    assert both[:, 4].tolist() == [320, 448]


def test_a_table_of_more_than_two_to_the_31_codes_is_read_at_its_end(far):
    n, stride = 2**16, 2**15 + 64  # 2.15e9 codes
    by_row, packed = far((n, stride), np.uint8), far(n, np.int64)
    packed[-8:], by_row[-8:, stride - 1] = 1, 4
    offsets = np.arange(stride + 1) * 5
    out = np.zeros(5 * stride, np.int64)
    last = np.array([stride - 1])
    add_packed(by_row, np.arange(n - 8, n, dtype=np.uint32), 0, 8, packed, last, offsets, out)
    assert out[-1] == out.sum() == 8


def test_rows_are_partitioned_and_counted_beyond_two_to_the_31(far):
    codes, copies = far(N, np.uint8), far(N, np.int64)
    codes[FAR:], copies[FAR:] = np.arange(64) % 4, 2**31
    rows, buffer = far_rows(), np.empty((2, 64), np.uint32)
    split = numeric_split()
    assert split_rows(codes, split, rows, 0, 64, *buffer) == 32  # codes 1 and 2; 0 is missing and goes right
    np.testing.assert_array_equal(buffer[0, :32], rows[(np.arange(64) % 4 == 1) | (np.arange(64) % 4 == 2)])
    assert count_left(codes, split, rows, 0, 64, copies) == 32 * 2**31
    assert count_copies(rows, 0, 64, copies) == 64 * 2**31


def test_scores_are_added_beyond_two_to_the_31(far):
    raw, leaf_ids, classes = far((1, N), np.float64), far(N, np.uint8), far(N, np.uint8)
    add_leaf_values(raw[0], far_rows(), np.array([0, 10, 64]), np.array([1.0, 2.0]), 0, 64)
    assert raw[0, FAR:].sum() == 10 + 2 * 54
    leaf_ids[FAR:] = 1
    add_table(raw, leaf_ids, np.array([[0.0, 0.5]]), FAR, N)
    assert raw[0, FAR:].sum() == 10 + 2 * 54 + 32
    classes[FAR : FAR + 5] = 1
    assert wrong_weight(raw, classes, np.empty(0, np.int64), FAR, N) == 59
    exponents = far(N, np.float64)
    assert fill_exponents(raw, classes, 2.0, np.empty(0), exponents, FAR, N) == 2.5


def test_weak_trees_read_rows_beyond_two_to_the_31(far):
    codes, weight, classes = far((1, N), np.uint8), far(N, np.int64), far(N, np.uint8)
    codes[0, FAR:], weight[FAR:], classes[FAR:] = np.arange(64) % 4, 2**55, 1
    nodes = np.zeros(3, NODE)
    nodes["split"][0] = numeric_split()
    nodes["left"][0], nodes["depth"][1:] = 1, 1
    leaf_ids, again = far(N, np.uint8), far(N, np.int32)
    find_stump_sides(codes, nodes, FAR, N, leaf_ids)
    descend(codes, nodes, FAR, N, again)
    assert leaf_ids[FAR:].tolist() == again[FAR:].tolist() == [2, 1, 1, 2] * 16
    sample = WeakSample(weight, np.empty(0, np.int64), classes)
    for rows, top, bottom in ((far_rows(), 0, 64), (np.empty(0, np.uint32), FAR, N)):
        hist = np.zeros(2 * 6, np.int64)
        _fill(codes[0], sample, rows, 6, top, bottom, hist)
        assert hist.tolist() == [0] * 6 + [16 * 2**55] * 4 + [0] * 2


def test_rows_are_drawn_by_numbers_beyond_two_to_the_31():
    out = np.empty(1000, np.uint32)
    n = sample_rows(0.5, 3, EDGE_SAMPLE, 0, FAR, FAR + 1000, out)
    expected = [r for r in range(FAR, FAR + 1000) if draw(3, EDGE_SAMPLE, 0, r) >> np.uint64(11) < 2**52]
    assert out[:n].tolist() == expected


def test_bits_of_bags_are_read_beyond_two_to_the_31(far):
    bits = far((1, N // 8), np.uint8)
    bits[0, FAR // 8 :] = 0b10101010
    traversal, chosen = new_traversal.py_func(64), np.empty(64, np.int64)
    assert _choose_rows(bits, 0, FAR, 64, 300_000, traversal, chosen) == 32
    assert chosen[:32].tolist() == list(range(0, 64, 2))
    assert traversal.base[:32].tolist() == [i * 300_000 for i in range(0, 64, 2)]


# --- tables with more values than 32 bits count


def test_a_wide_sparse_table_is_read_a_few_rows_at_a_time(monkeypatch):
    n, n_columns = 2000, 20_000
    odd = np.arange(1, n, 2)
    X = sparse.coo_matrix((np.ones(n // 2), (odd, np.full(n // 2, n_columns - 1))), shape=(n, n_columns))
    table, largest = read_table(X), []
    block = type(table).block

    def note(self, start, stop):
        values = block(self, start, stop)
        largest.append(values.nbytes)
        return values

    monkeypatch.setattr(type(table), "block", note)
    bins = find_bins(table, user_edges=[np.array([0.5])] * n_columns)
    with Team(1) as team:
        coded = bins.encode(table, team, for_growing=False)  # at once, a block would take 320 MB
    assert max(largest) <= 64_000_000
    np.testing.assert_array_equal(coded.codes.by_column[-1], 1 + np.arange(n) % 2)
    assert coded.codes.by_column[:-1].max() == 1


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("HEDGEROW_LARGE"), reason="takes 10 GB and minutes: set HEDGEROW_LARGE"
)
def test_table_of_more_than_two_to_the_31_values_is_fitted_and_predicted():
    n, n_columns = 22_000_000, 100
    base = np.random.default_rng(0).normal(size=n + n_columns - 1).astype(np.float32)
    X = np.lib.stride_tricks.sliding_window_view(base, n_columns)  # X[i, j] is base[i + j]: 88 MB
    assert X.size > 2**31
    y = (X[:, -1] > 0.25).astype(np.int8)
    for model in (DecisionStump(), GradientBoostingClassifier(n_estimators=1, learning_rate=1.0)):
        model.fit(X, y)
        assert model.model_.forest.column[0] == n_columns - 1
        assert np.mean(model.predict(X[-100_000:]) == y[-100_000:]) > 0.99  # one of 255 cuts is near


# --- more rows, columns and nodes than have numbers


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(), RandomForestRegressor(), DecisionStump(), BaggingClassifier()]
)
def test_fit_rejects_more_rows_than_row_numbers(model):
    X = np.broadcast_to(np.float64(0.0), (MAX_ROWS + 1, 2))
    message = r"^X has 4,294,967,296 rows; at most 4,294,967,295 are allowed: take a sample$"
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1])


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(),
        AdaBoostClassifier(),
        AdaBoostRegressor(),
        LogitBoostClassifier(),
        RandomForestClassifier(),
        ExtraTreesClassifier(),
        DecisionTreeClassifier(),
    ],
)
def test_fit_rejects_more_columns_than_column_numbers(model):
    X = sparse.csr_matrix((4, MAX_COLUMNS + 1))
    with pytest.raises(ValueError, match=r"^X has 262,145 columns; at most 262,144 are allowed"):
        model.fit(X, [0, 1, 0, 1])


def test_fit_rejects_a_list_of_too_many_columns():
    with pytest.raises(ValueError, match=r"^X has 262,145 columns"):
        DecisionStump().fit([[0.0] * (MAX_COLUMNS + 1)] * 2, [0, 1])


def test_last_column_number_is_used():
    X = sparse.lil_matrix((40, MAX_COLUMNS))
    y = np.arange(40) % 2
    X[:, MAX_COLUMNS - 1] = y[:, np.newaxis]
    model = DecisionStump(bin_edges=[0.5], n_jobs=1).fit(X.tocsr(), y)
    assert model.model_.forest.column[0] == MAX_COLUMNS - 1
    assert model.score(X.tocsr(), y) == 1.0


def test_as_many_rows_and_columns_as_have_numbers_are_allowed():
    check_counts(MAX_ROWS, MAX_COLUMNS)


def test_trees_of_too_many_nodes_are_rejected():
    assert forest_tree_leaves(2**27 - 1, 1, None, None) == 2**27 - 1
    with pytest.raises(
        ValueError, match=r"^a tree may have 134,217,728 leaves; at most 134,217,727 are allowed"
    ):
        forest_tree_leaves(2**27, 1, None, None)


# --- sums of weights


def noisy_rows(n=2000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int), 3 * X[:, 0] + X[:, 1]


@pytest.mark.parametrize("weight", [1e4, 1e6, 2.0**31 - 1])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_large_whole_weights_beside_class_weights_do_not_overflow(kind, weight):
    X, y, _ = noisy_rows()
    model = kind(n_estimators=3, bootstrap=False, class_weight={0: 1.0, 1: 2.5}, random_state=0, n_jobs=1)
    assert model.fit(X, y, sample_weight=np.full(len(y), weight)).score(X, y) > 0.95


def test_a_row_that_all_draws_may_fall_on_does_not_overflow():
    X, y, _ = noisy_rows(20_000)
    weight = np.full(len(y), 1e-6)
    weight[0] = 1.0
    model = RandomForestClassifier(n_estimators=2, class_weight={0: 1e-9, 1: 1.0}, random_state=0, n_jobs=1)
    model.fit(X, y, sample_weight=weight)
    assert np.all(np.isfinite(model.predict_proba(X[:100])))
    assert model.predict_proba(X[:1])[0, y[0]] > 0.5


def test_statistics_of_very_many_copies_do_not_overflow():
    n = 2**17
    weights = Weights.of(np.full(n, 2.0**30), n)  # 2**47 copies
    assert not weights.copies.size  # they are proportions
    with Team(1) as team:
        measured = Quantiser(weights, n, team).quantise(np.ones(n), np.ones(n))
    statistics = measured.statistics
    assert not statistics.copies.size
    fewer = Weights.of(np.full(n, 2.0**28), n)
    with Team(1) as team:
        copied = Quantiser(fewer, n, team).quantise(np.ones(n), np.ones(n)).statistics
    assert sum(copied.wide[:, 1].tolist()) < 2**63
    assert copied.wide[:, 1].min() > 0


def test_boosting_with_the_largest_whole_weights_is_that_with_ones():
    X, _, y = noisy_rows()
    X, y = np.tile(X, (40, 1)), np.tile(y, 40)
    settings = {"n_estimators": 10, "l2_regularization": 0.0, "n_jobs": 1}
    plain = GradientBoostingRegressor(**settings).fit(X, y)
    heavy = GradientBoostingRegressor(**settings).fit(X, y, sample_weight=np.full(len(y), 2.0**31 - 1))
    np.testing.assert_allclose(heavy.predict(X[:2000]), plain.predict(X[:2000]), rtol=1e-6)


def test_one_value_with_nearly_all_copies_is_still_cut_off():
    values = np.sort(np.r_[np.zeros(5), np.arange(1.0, 70_000.0)])
    copies = np.ones(len(values), np.int64)
    copies[:5] = 2**43  # together nearly the limit of copies
    out = np.empty(65_535, np.int64)
    n = cut_positions(values, copies, 65_535, out)
    assert n > 20_000  # bins of three rows
    assert out[0] == 4


# --- very many rounds


def test_many_rounds_allocate_nothing_in_advance():
    X, y, numbers = noisy_rows(300)
    for model, target in (
        (GradientBoostingClassifier(n_estimators=2**40, early_stopping=True, n_iter_no_change=1, tol=1.0), y),
        (AdaBoostClassifier(n_estimators=2**40, early_stopping=True, n_iter_no_change=1, tol=1.0), y),
        (AdaBoostRegressor(n_estimators=2**40, early_stopping=True, n_iter_no_change=1, tol=1.0), numbers),
    ):
        assert model.fit(X, target).n_estimators_ < 5
    stopped = GradientBoostingClassifier(n_estimators=2**40)
    assert stopped.fit(X, y, callbacks=[lambda done: done.number >= 1]).n_estimators_ == 2


def test_fit_rejects_too_many_trees(monkeypatch):
    X, y, numbers = noisy_rows(300)
    monkeypatch.setenv("HEDGEROW_MEMORY", "100GB")
    for model, target in ((RandomForestClassifier(2**40), y), (RandomForestRegressor(2**40), numbers)):
        with pytest.raises(MemoryError, match=r"\(trees .*use fewer rows, columns or trees"):
            model.fit(X, target)


def test_quantiles_reject_too_many_trees():
    forest = SimpleNamespace(n_trees=2**22 + 1, values=np.empty((3, 1)))
    with pytest.raises(
        ValueError, match=r"^4,194,305 trees are too many for quantiles: 4,194,304 are allowed"
    ):
        LeafTargets._check_forest(SimpleNamespace(starts=np.arange(4)), forest)
