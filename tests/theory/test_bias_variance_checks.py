"""Bias and variance: resampling one data set, and input that is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bias_variance_cases import CLASSES_TEST, NUMBERS_TEST, draw_classes, draw_numbers
from hedgerow.theory import Resamples, bias_variance

# --- one data set


def test_one_data_set_is_resampled():
    data = draw_numbers(0)
    one = bias_variance(LinearRegression(), data, test=NUMBERS_TEST, random_state=0)
    two = bias_variance(LinearRegression(), Resamples(*data), test=NUMBERS_TEST, random_state=0)
    assert one.error == two.error
    half = Resamples(pd.DataFrame(data[0]), data[1], size=0.5, replace=False)
    X, y = half(7)
    assert len(X) == len(y) == len(set(X.index)) == 30
    np.testing.assert_array_equal(data[1][X.index], y)
    X, y = Resamples(*data, size=100)(7)
    assert len(y) == 100
    assert len(np.unique(y)) < 60


@pytest.mark.parametrize("size", [0, 0.0, 1.5, -1, True, "half", float("nan")])
def test_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match=r"size=.* is not allowed: it must be an integer >= 1 or a number"):
        Resamples(*draw_numbers(0), size=size)


@pytest.mark.parametrize("size", [1.0, 60, 61])
def test_resamples_without_replacement_must_leave_rows_out(size):
    with pytest.raises(ValueError, match="all resamples would be the same 60 rows"):
        Resamples(*draw_numbers(0), size=size, replace=False)


# --- errors


class NeverFitted(LinearRegression):
    def fit(self, X, y):
        raise AssertionError("fitted before the input was checked")


CLASSES = {"estimator": GaussianNB(), "sampler": draw_classes, "test": CLASSES_TEST}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": LinearRegression}, "estimator=.* is not allowed: it must be a regressor"),
        ({"estimator": StandardScaler()}, "estimator=.* is not allowed"),
        ({"n_repeats": 1}, "n_repeats=1 is not allowed: it must be an integer >= 2"),
        ({"loss": "hinge"}, "loss='hinge' is not allowed: it must be 'squared' or 'zero_one'"),
        ({"loss": "zero_one"}, "loss='zero_one' is not allowed for a regressor"),
        ({"estimator": GaussianNB(), "loss": "squared"}, "loss='squared' is not allowed for a classifier"),
        ({"estimator": LinearSVC(), "loss": "brier"}, "loss='brier' is not allowed for LinearSVC"),
        ({"random_state": -1}, "random_state=-1 is not allowed"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed"),
        ({"verbose": "yes"}, "verbose='yes' is not allowed"),
        (
            {"noise": -1},
            "noise=-1.0 is not allowed: it must be None, a number >= 0, or one for each of the 50",
        ),
        ({"noise": [1.0, 2.0]}, r"noise has shape \(2,\): it must be None"),
        ({"noise": "much"}, "noise='much' is not allowed"),
        ({"noise": float("nan")}, "noise=nan is not allowed"),
        ({"sampler": 7}, r"sampler must be a pair \(X, y\); got int"),
        ({"sampler": (np.ones((3, 2)), [1, 2])}, "sampler has 3 rows in X and 2 in y"),
        (
            {"sampler": lambda _: np.ones((3, 2))},
            "the training set of repeat 0 must be a pair .*; got ndarray",
        ),
        (
            {"sampler": lambda _: (np.ones((3, 2)), [1, np.nan, 2])},
            "the training set of repeat 0: .*row 1 is",
        ),
        (
            {"sampler": lambda _: (np.ones((3, 4)), [1, 2, 3])},
            "test has 2 columns, but the sampler's X has 4",
        ),
        ({"test": None}, "test must be a pair .*; got NoneType"),
        ({"test": (np.ones((3, 2)), [1, 2])}, "test has 3 rows in X and 2 in y"),
        ({"test": (np.ones((0, 2)), [])}, "test has no rows"),
        ({"test": (np.ones((2, 2)), [[1], [2]])}, r"test has y of shape \(2, 1\)"),
        ({"test": (np.ones((2, 2)), ["a", "b"])}, "test: y has dtype"),
        ({**CLASSES, "noise": 0.6}, r"noise=0\.6 is not allowed: .* a number >= 0 and <= 0\.5"),
        (
            {**CLASSES, "test": (CLASSES_TEST[0], CLASSES_TEST[1].astype(str))},
            "test has labels of dtype <U21, but those of the sampler are int64",
        ),
        (
            {"estimator": KNeighborsRegressor(weights="nonsense")},
            "estimator=KNeighbors.* failed in repeat 0 with 60 rows: The 'weights' parameter",
        ),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {"estimator": NeverFitted(), "sampler": draw_numbers, "test": NUMBERS_TEST, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        bias_variance(arguments.pop("estimator"), arguments.pop("sampler"), **arguments)
