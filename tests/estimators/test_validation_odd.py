"""Minimal unusual inputs that once failed."""

import datetime as dt
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_classification

from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionStump,
    DecisionTreeRegressor,
    EarlyStopping,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from hedgerow.bagging.raw_table import RawTable
from hedgerow.estimators.validation import ClassTarget, NumberTarget
from hedgerow.table import read_table
from hedgerow.vision import as_grey

X = np.arange(12.0).reshape(-1, 1)
TWO = np.arange(12) % 2


# --- targets


@pytest.mark.parametrize(
    "model",
    [GradientBoostingRegressor(), AdaBoostRegressor(), DecisionTreeRegressor(), RandomForestRegressor()],
)
def test_targets_whose_squares_overflow_are_refused(model):
    with pytest.raises(
        ValueError, match=r"y\[3\] is 1e\+300; the targets of a regression must lie within ±1e\+100"
    ):
        model.fit(X, np.where(X[:, 0] == 3, 1e300, 1.0))


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie", "huber"])
def test_the_largest_targets_are_learned(loss):
    y = np.where(X[:, 0] > 5, 1e100, 1e90)
    model = GradientBoostingRegressor(loss, n_estimators=3, min_samples_leaf=1).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize("resample", [False, True])
def test_targets_too_small_for_their_inverse_stay_within_range(resample):
    y = np.array([0.0, 5e-324] * 6)
    for model in (
        DecisionTreeRegressor(),
        AdaBoostRegressor(n_estimators=2, resample=resample, random_state=1),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no split has a gain
            assert np.all(np.abs(model.fit(X, y).predict(X)) < np.finfo(np.float64).tiny)


def test_rows_far_lighter_than_the_rest_do_not_leave_the_range_of_the_targets():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(24, 3)), np.abs(rng.normal(size=24)) + 0.1
    for power in range(40, 70):
        weights = np.where(np.arange(24) == 3, 2.0**power, 1.0)
        predicted = DecisionTreeRegressor(max_depth=None).fit(rows, y, weights).predict(rows)
        assert y.min() * (1 - 1e-9) <= predicted.min()
        assert predicted.max() <= y.max() * (1 + 1e-9)


def test_fit_rejects_numbers_beyond_float64():
    with pytest.raises(ValueError, match="y must be numeric for regression: int too large"):
        NumberTarget().encode(np.array([10**400, 1], object))
    with pytest.raises(ValueError, match="y contains NaN or infinity: row 0 is inf"):
        NumberTarget().encode(np.array([np.longdouble("1e400"), 1]))
    with pytest.raises(ValueError, match="y contains NaN or infinity: row 1 is nan"):
        NumberTarget().encode(np.array([1.0, pd.NA], object))


def test_fit_rejects_masked_values():
    mask = np.arange(12) == 4
    with pytest.raises(ValueError, match="y has a masked value in row 4"):
        DecisionStump().fit(X, np.ma.array(TWO, mask=mask))
    with pytest.raises(ValueError, match="sample_weight has a masked value in row 4"):
        DecisionStump().fit(X, TWO, np.ma.array(np.ones(12), mask=mask))
    with pytest.raises(ValueError, match="image has masked pixels"):
        as_grey(np.ma.array(np.zeros((2, 2), np.uint8), mask=[[True, False], [False, False]]))


# --- labels


def test_integers_and_booleans_among_objects_are_labels():
    assert ClassTarget.of(np.array([3, np.int8(1)], object)).classes.dtype == np.int64
    assert ClassTarget.of(np.array([True, np.False_], object)).classes.tolist() == [False, True]
    assert ClassTarget.of(np.array([2**63, 1], object)).classes.dtype == np.uint64
    assert ClassTarget.of(np.array(["b", "a"], np.dtypes.StringDType()).astype(object)).classes.tolist() == [
        "a",
        "b",
    ]


def test_labels_in_a_list_are_not_rounded():
    y = [2**63, 2**63 + 1, 1] * 4
    assert DecisionStump().fit(X, y).classes_.tolist() == [1, 2**63, 2**63 + 1]
    with pytest.raises(ValueError, match="y holds labels from -1 to 9223372036854775808, which do not fit"):
        DecisionStump().fit(X, [2**63, -1] * 6)


def test_labels_of_another_integer_dtype_are_recognised():
    labels = [2**53, 2**53 + 1, 2**53 + 2]
    for one, other in ((np.int64, np.uint64), (np.uint64, np.int64)):
        assert ClassTarget(np.array(labels, one)).encode(np.array(labels, other)).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="y holds the label -1, which is not among"):
        ClassTarget(np.array(labels, np.uint64)).encode(np.array([-1]))


def test_the_message_for_an_unknown_label_is_short():
    with pytest.raises(ValueError, match=r"y holds the label 5000, .* and 2980 more") as caught:
        ClassTarget(np.arange(3000)).encode(np.array([5000]))
    assert len(str(caught.value)) < 300


# --- weights


def test_weights_whose_sum_overflows_are_refused():
    y = X[:, 0]
    for model in (GradientBoostingRegressor(), DecisionTreeRegressor(), RandomForestRegressor()):
        with pytest.raises(
            ValueError, match=r"sample_weight: row 0 weighs 1e\+308; weights must be at most 1e\+100"
        ):
            model.fit(X, y, np.full(12, 1e308))
    with pytest.raises(ValueError, match=r"class_weight=\{0: 1e\+300\}: row 0 weighs 1e\+300"):
        GradientBoostingClassifier(class_weight={0: 1e300}).fit(X, TWO)


# --- tables


def test_a_long_double_among_objects_may_be_infinite():
    rows = np.array([[np.longdouble("1e4000")], [1.0]], object)
    assert read_table(rows).block(0, 2).tolist() == [[np.inf], [1.0]]


def test_equal_numbers_of_any_type_have_equal_keys():
    numbers = [0.5, Fraction(1, 2), np.float32(0.5), np.longdouble(0.5)]
    keys = [RawTable.of(np.array([[number]], object), "").row_keys()[0] for number in numbers]
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([1, 2] * 6).cast(pl.Int128),
        pl.Series([{"a": 1}, {"a": 2}] * 6),
        pl.Series([[1, 2]] * 12, dtype=pl.Array(pl.Int64, 2)),
        pl.Series([dt.timedelta(1)] * 12),
    ],
)
def test_rows_of_any_polars_type_have_keys(values):
    keys = RawTable.of(pl.DataFrame({"a": values}), "").row_keys()
    assert keys.shape == (12,)
    assert len(set(keys.tolist())) == values.n_unique()


def test_wide_decimals_and_maps_of_arrow():
    decimals = pa.array([1, None, 3]).cast(pa.decimal256(50, 2))
    assert np.array_equal(
        read_table(pa.table({"a": decimals})).block(0, 3), [[1], [np.nan], [3]], equal_nan=True
    )
    maps = pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(ValueError, match="Column 'a' has type map<string, int64>"):
        read_table(pa.table({"a": maps}))


def test_types_that_arrow_cannot_take_rows_of():
    runs = pa.RunEndEncodedArray.from_arrays([6, 12], [1.5, 2.5])
    with pytest.raises(ValueError, match="rows of this X cannot be selected; convert its columns"):
        RawTable.of(pa.table({"a": runs}), "").take(np.array([0, 1]), None)


# --- callbacks and failed fits


def test_fit_rejects_a_class_as_a_callback():
    for model in (GradientBoostingClassifier(), AdaBoostClassifier()):
        with pytest.raises(TypeError, match=r"callbacks holds the class EarlyStopping: pass an object"):
            model.fit(X, TWO, callbacks=[EarlyStopping])


@pytest.mark.parametrize("kind", [BaggingClassifier, BaggingRegressor])
def test_a_failed_score_leaves_the_old_model(kind):
    rows, y = make_classification(60, random_state=0)
    model = kind(n_estimators=3, random_state=0).fit(rows, y)
    before = model.predict(rows)
    model.set_params(oob_score=lambda _y, _predicted: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(rows[:, :2], y)
    assert np.array_equal(model.predict(rows), before)
