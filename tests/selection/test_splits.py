"""Splits: hold-out, folds, samples and taking rows, by hash."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from hedgerow.selection import fold_rows, hold_out, take_rows
from hedgerow.selection.splits import RowOrder, first_rows, sample_rows

LABELS = np.array(["a"] * 50 + ["b"] * 30 + ["rare"] * 2 + ["single"])


def test_a_hold_out_splits_all_rows_into_two_sorted_arrays():
    train, test = hold_out(LABELS, "classification", 0.2, seed=3)
    assert train.dtype == test.dtype == np.int64
    assert np.all(np.diff(train) > 0)
    assert np.all(np.diff(test) > 0)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(LABELS)))


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(5))
def test_every_class_is_in_the_training_rows(fraction, seed):
    train, test = hold_out(LABELS, "classification", fraction, seed)
    assert set(LABELS[train]) == set(LABELS)
    assert len(test) >= 1


def test_a_hold_out_takes_the_same_share_of_every_class():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    _, test = hold_out(y, "classification", 0.2, seed=1)
    assert np.bincount(y[test]).tolist() == [10, 6, 4]


def test_other_seeds_and_draws_give_other_hold_outs():
    y = np.arange(200.0)
    same = [hold_out(y, "regression", 0.2, 5)[1] for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert not np.array_equal(same[0], hold_out(y, "regression", 0.2, 6)[1])
    assert not np.array_equal(same[0], hold_out(y, "regression", 0.2, 5, draw=1)[1])


def test_the_share_of_test_rows_is_the_fraction():
    train, test = hold_out(np.zeros(1000), "regression", 0.25, 0)
    assert (len(train), len(test)) == (750, 250)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1, np.nan])
def test_a_fraction_outside_its_range_is_refused(fraction):
    with pytest.raises(ValueError, match="must be a number above 0 and below 1"):
        hold_out([0, 1, 0, 1], "classification", fraction, 0)


def test_rows_that_are_all_of_different_classes_cannot_be_held_out():
    with pytest.raises(ValueError, match="too few"):
        hold_out(["a", "b", "c"], "classification", 0.3, 0)


@pytest.mark.parametrize("folds", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_folds_are_disjoint_and_every_class_is_in_the_training_rows(folds, seed):
    splits = fold_rows(LABELS, "classification", folds, seed)
    tested = np.concatenate([test for _, test in splits])
    assert (
        len(tested) == len(set(tested.tolist())) == len(LABELS) - 1
    )  # the single row is always learned from
    for train, test in splits:
        assert set(LABELS[train]) == set(LABELS)
        assert not set(train.tolist()) & set(test.tolist())
        assert len(train) + len(test) == len(LABELS)


def test_folds_distribute_every_class_evenly():
    counts = [np.sum(LABELS[test] == "a") for _, test in fold_rows(LABELS, "classification", 5, 0)]
    assert counts == [10] * 5


def test_folds_of_numbers_are_of_nearly_the_same_size():
    sizes = [len(test) for _, test in fold_rows(np.arange(13.0), "regression", 4, 0)]
    assert sorted(sizes) == [3, 3, 3, 4]


@pytest.mark.parametrize("folds", [1, 0, 2.5, 84, "5"])
def test_an_invalid_number_of_folds_is_refused(folds):
    with pytest.raises(ValueError, match=r"folds=.* is not allowed"):
        fold_rows(LABELS, "classification", folds, 0)


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="'classification' or 'regression'"):
        hold_out([1, 2], "clustering", 0.5, 0)


@pytest.mark.parametrize("size", [10, 40, 83, 500])
def test_a_sample_has_every_class(size):
    rows = sample_rows(LABELS, "classification", size, 0)
    assert set(LABELS[rows]) == set(LABELS)
    assert len(rows) == min(size, len(LABELS))


def test_the_first_rows_have_two_of_every_class():
    numbers = np.repeat(np.arange(60), 3)
    rows = first_rows(numbers, "classification")
    assert np.bincount(numbers[rows]).tolist() == [2] * 50
    assert len(first_rows(np.arange(30.0), "regression")) == 30


VALUES = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: VALUES,
        lambda: pd.DataFrame(VALUES, columns=["a", "b"], index=list("uvwxyz")),
        lambda: pl.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}),
        lambda: pa.table({"a": VALUES[:, 0], "b": VALUES[:, 1]}),
        lambda: sparse.csc_matrix(VALUES),
        lambda: sparse.coo_array(VALUES),
    ],
    ids=["numpy", "pandas", "polars", "arrow", "csc", "coo"],
)
def test_rows_are_taken_from_every_kind_of_table(make):
    X = make()
    taken = take_rows(X, np.array([4, 0, 4]))
    if not sparse.issparse(X):
        assert type(taken) is type(X)
    plain = taken.toarray() if sparse.issparse(taken) else np.column_stack(
        [np.asarray(taken[name]) for name in ("a", "b")]
    ) if not isinstance(taken, np.ndarray) else taken  # fmt: skip
    np.testing.assert_array_equal(plain, VALUES[[4, 0, 4]])


def test_rows_of_lists_and_of_dictionary_columns_are_taken():
    assert take_rows([[1, "a"], [2, "b"]], np.array([1])).tolist() == [[2, "b"]]
    table = pa.table({"c": pa.array(["x", "y", None]).dictionary_encode()})
    taken = take_rows(table, np.array([2, 1]))
    assert pa.types.is_dictionary(taken.schema.field("c").type)
    assert taken["c"].to_pylist() == [None, "y"]


# --- groups and times


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_never_divided(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 40, 600)
    y = rng.choice(["a", "b", "c"], 600, p=[0.6, 0.39, 0.01])
    order = RowOrder.of(600, groups=groups)
    pairs = [hold_out(y, "classification", 0.2, seed, order=order)]
    folds = fold_rows(y, "classification", 5, seed, order=order)
    for train, test in [*pairs, *folds]:
        assert not set(groups[train]) & set(groups[test])
        assert set(y[train]) == set(y)
        assert 0.1 < len(test) / 600 < 0.3
    assert len(folds) == 5
    tested = np.concatenate([test for _, test in folds])
    assert len(set(tested)) == len(tested)


def test_a_group_with_all_rows_of_a_class_stays_in_training():
    groups = np.repeat(np.arange(6), 10)
    y = np.where(groups == 3, "only", np.where(np.arange(60) % 2, "a", "b"))
    order = RowOrder.of(60, groups=groups)
    for seed in range(6):
        pairs = [hold_out(y, "classification", 0.3, seed, order=order)]
        for train, test in [*pairs, *fold_rows(y, "classification", 3, seed, order=order)]:
            assert "only" in y[train]
            assert "only" not in y[test]
    with pytest.raises(ValueError, match="no group can be held out"):
        hold_out(
            np.repeat(["a", "b"], 30), "classification", 0.3, order=RowOrder.of(60, np.repeat([0, 1], 30))
        )


def test_later_rows_are_held_out_and_equal_times_are_not_divided():
    rng = np.random.default_rng(0)
    times = rng.integers(0, 50, 500)
    y = rng.normal(size=500)
    order = RowOrder.of(500, times=times)
    train, test = hold_out(y, "regression", 0.2, order=order)
    assert times[train].max() < times[test].min()
    assert 0.15 < len(test) / 500 < 0.25
    folds = fold_rows(y, "regression", 4, order=order)
    assert len(folds) == 4
    for fold_train, fold_test in folds:
        assert times[fold_train].max() < times[fold_test].min()
    sizes = [len(fold_train) for fold_train, _ in folds]
    assert sizes == sorted(sizes)


def test_dates_are_times():
    days = np.array(["2024-03-01", "2024-01-01", "2024-02-01", "2024-04-01"], "datetime64[D]")
    assert hold_out(np.arange(4.0), "regression", 0.5, order=RowOrder.of(4, times=days))[1].tolist() == [0, 3]
    two = RowOrder.of(4, times=[1, 1, 1, 2])
    assert [test.tolist() for _, test in fold_rows(np.arange(4.0), "regression", 3, order=two)] == [[3]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"groups": [1, 2], "times": [1, 2]}, "cannot be combined"),
        ({"groups": [1, 2, 3]}, "one value for each of 2 rows"),
        ({"groups": [5, 5]}, "one group only"),
        ({"times": [5, 5]}, "one value only"),
        ({"times": ["x", "y"]}, "numbers or dates"),
        ({"times": [1.0, np.nan]}, "without missing values"),
    ],
)
def test_wrong_groups_and_times_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        RowOrder.of(2, **values)
