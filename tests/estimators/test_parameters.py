"""Every parameter is checked before the fit: messages have its name, the value and what is allowed."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from boosting_cases import classes, numbers
from hedgerow import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.estimators import validation
from hedgerow.estimators.parameters import check_parameters, flag, integer, none, number, one_of
from hedgerow.kernels.cpu.grow import grow

NAN, INF = float("nan"), float("inf")
NUMBERS = [NAN, INF, "1", None, [1.0], True, 1j]  # no real numbers
INTEGERS = [1.5, 2.0, NAN, "3", [3], True]  # no integers
FLAGS = [0, 1, "yes", "True", None]


def _name(value):
    """A value as text, without its address: names of tests must be the same in every worker."""
    return re.sub(r" at 0x\w+", "", repr(value))[:30]


BAD = {
    "n_estimators": [0, -1, None, *INTEGERS],
    "learning_rate": [0, 0.0, -0.1, *NUMBERS],
    "growth_policy": ["depthwise", None, 1, True],
    "max_leaf_nodes": [0, 1, -3, *INTEGERS],
    "max_depth": [0, -1, *INTEGERS],
    "min_samples_leaf": [0, -1, None, *INTEGERS],
    "min_child_weight": [-1e-9, *NUMBERS],
    "min_split_gain": [-1, *NUMBERS],
    "l1_regularization": [-1, *NUMBERS],
    "l2_regularization": [-1, *NUMBERS],
    "max_bins": [0, 1, 256, None, *INTEGERS],
    "subsample": [0, 0.0, -0.5, 1.01, *NUMBERS],
    "colsample_bytree": [0.0, 1.5, *NUMBERS],
    "max_features": [0.0, 2, "sqrt", *NUMBERS],
    "random_strength": [-0.1, *NUMBERS],
    "categorical_smoothing": [-1, *NUMBERS],
    "monotonic_cst": [1, "rising", [2, 0, 0, 0], [0.5, 0, 0, 0], [NAN], ["1"], {"a": 3}, {"a": None}, [None]],
    "interaction_cst": ["all", 3, [0, 1], [{0}, 1], [{"a"}], [{0.5}], [{-1}], ["ab"], {"a": 1}, [{True}]],
    "learning_rate_decay": [0, 1.01, *NUMBERS],
    "max_leaf_step": [0, -1.0, NAN, INF, "1", [1.0], True],
    "path_smooth": [-0.1, *NUMBERS],
    "leaf_value_folds": [0, 1, 17, *INTEGERS],
    "sampling": ["goss", None, 1],
    "bagging_temperature": [-1e-9, *NUMBERS],
    "max_categories_for_sets": [-1, *INTEGERS],
    "linear_leaves": FLAGS,
    "linear_l2": [-1e-9, *NUMBERS],
    "drop_rate": [-0.1, 1, 1.0, *NUMBERS],
    "max_drop": [0, -1, *INTEGERS],
    "newton": FLAGS,
    "estimator": ["ridge", 3, Ridge, LogisticRegression(), object()],
    "early_stopping": ["yes", 1, 0, 0.1],
    "n_folds": [0, 1, 3, 5, 32, True, 8.0, "8"],
    "validation_fraction": [0, 1, 0.0, 1.0, 1.5, -0.1, *NUMBERS],
    "n_iter_no_change": [0, -1, None, *INTEGERS],
    "tol": [-1e-9, *NUMBERS],
    "warm_start": FLAGS,
    "random_state": [-1, 1.5, "0", True, [1], np.random.default_rng(0)],
    "n_jobs": [0, 1.5, "2", True],
    "verbose": [-1, 1.5, "yes", None],
}
BAD_FOR_CLASSES = {
    "loss": ["squared_error", "deviance", None, 3, object(), Ridge],
    "class_weight": ["equal", 3, [1, 2], {0: -1.0}, {0: NAN}, {0: "2"}],
}
BAD_FOR_NUMBERS = {
    "loss": ["log_loss", "mse", None, 3, object(), Ridge],
    "quantile": [0, 1, 0.0, 1.0, -0.5, *NUMBERS],
    "alpha": [0, 1, 0.0, 1.0, -0.5, *NUMBERS],
    "power": [0.99, 2.01, 0, 3, *NUMBERS],
}
BAD_FOR_FORESTS = {
    "n_estimators": [0, 10.0, True],
    "max_depth": [0, 2.5],
    "min_samples_split": [1, 1.5],
    "min_samples_leaf": [0, 1.0, -0.1],
    "min_weight_fraction_leaf": [0.6],
    "max_features": [0, 1.1, "auto"],
    "max_leaf_nodes": [1],
    "min_impurity_decrease": [-1.0, NAN],
    "bootstrap": ["no"],
    "oob_score": ["accuracy"],
    "n_jobs": [0, 1.0],
    "random_state": [-1, "seed"],
    "verbose": [-1],
    "warm_start": [None],
    "max_samples": [0, 1.5],
    "monotonic_cst": [[2, 0, 0, 0]],
    "max_bins": [1, 256],
    "bin_edges": ["edges"],
}
BAD_FOR_BAGGING = {
    "estimator": [Ridge(), LogisticRegression],
    "n_estimators": [0],
    "max_samples": [0, 1.5, True],
    "max_features": [0.0],
    "bootstrap": ["no"],
    "bootstrap_features": [2],
    "voting": ["loud"],
    "oob_score": ["accuracy"],
    "warm_start": [None],
    "n_jobs": [0],
    "random_state": [-1],
    "verbose": [-1],
}
ESTIMATORS = {
    GradientBoostingClassifier: BAD | BAD_FOR_CLASSES,
    GradientBoostingRegressor: BAD | BAD_FOR_NUMBERS,
    RandomForestClassifier: BAD_FOR_FORESTS
    | {"criterion": ["squared_error", None], "class_weight": ["even", {0: -1.0}]},
    ExtraTreesRegressor: BAD_FOR_FORESTS | {"criterion": ["gini"], "keep_targets": [1]},
    BaggingClassifier: BAD_FOR_BAGGING,
}
CASES = [
    pytest.param(make, name, value, id=f"{make.__name__}-{name}={_name(value)}")
    for make, table in ESTIMATORS.items()
    for name, values in table.items()
    for value in values
]

GOOD = {
    "n_estimators": [1, np.int64(2)],
    "learning_rate": [1, 0.5, np.float32(0.5), 2.0],
    "growth_policy": ["best_first", "symmetric"],
    "max_leaf_nodes": [2, None, np.int32(4)],
    "max_depth": [1, None],
    "min_samples_leaf": [1, np.int64(5)],
    "min_child_weight": [0, 0.5],
    "min_split_gain": [0, 1.0],
    "l1_regularization": [0, 1.0],
    "l2_regularization": [0, 1.0],
    "max_bins": [2, 255],
    "subsample": [1, 0.5, np.float64(0.5)],
    "colsample_bytree": [1, 0.5],
    "max_features": [1, 0.5],
    "random_strength": [0, 1, 0.5],
    "categorical_features": [None, "from_dtype", [0], [True, False, False, False]],
    "categorical_smoothing": [0, 3.0],
    "monotonic_cst": [None, [1, -1, 0, 0], (1.0, 0, 0, 0), np.array([0, 0, 1, 0])],
    "interaction_cst": [
        None,
        "pairwise",
        "no_interactions",
        [{0, 1}],
        [[0], (2, 3)],
        np.array([[0, 1], [2, 3]]),
        [],
    ],
    "learning_rate_decay": [1, 0.5],
    "max_leaf_step": [None, 1, 0.5],
    "path_smooth": [0, 0.5],
    "leaf_value_folds": [None, 2, np.int64(16)],
    "sampling": ["uniform", "gradient", "bayesian"],
    "bagging_temperature": [0, 0.5],
    "max_categories_for_sets": [None, 0, np.int64(32), "auto"],
    "linear_leaves": [True, False, np.False_],
    "linear_l2": [0, np.float64(0.5)],
    "drop_rate": [0, np.float64(0.0)],
    "max_drop": [None, 1],
    "newton": [True, False, np.True_],
    "estimator": [None, Ridge()],
    "early_stopping": [True, False, "auto", np.True_, None],
    "n_folds": [2, 4, np.int64(8), 16, None, "auto"],
    "validation_fraction": [0.01, 0.99],
    "n_iter_no_change": [1],
    "tol": [0, 0.1],
    "warm_start": [True, False],
    "random_state": [None, 0, 2**40, np.int64(3), np.random.RandomState(0), np.random],
    "n_jobs": [None, 1, 2, -1, -100],
    "verbose": [0, True, False],
}
GOOD_FOR_CLASSES = {"loss": ["log_loss", "exponential"], "class_weight": [None, "balanced", {0: 2}, {1: 0.5}]}
GOOD_FOR_NUMBERS = {
    "loss": ["squared_error", "absolute_error", "huber", "quantile"],
    "quantile": [0.01, 0.99],
    "alpha": [0.01, 0.99],
    "power": [1, 1.5, 2],
}


@pytest.mark.parametrize(("make", "name", "value"), CASES)
def test_fit_rejects_parameters_before_it_reads_x(monkeypatch, make, name, value):
    def read(*_, **__):
        raise AssertionError("X was read")

    monkeypatch.setattr(validation, "_read_dataset", read)
    start = f"{name}={value!r} is not allowed: it must be "
    with pytest.raises(ValueError, match="^" + re.escape(start)) as caught:
        make(**{name: value}).fit(*numbers())
    assert len(str(caught.value)) > len(start) + 3


@pytest.mark.parametrize("make", ESTIMATORS)
def test_every_parameter_is_tested(make):
    # invalid values of categorical_features are tested with the table
    assert set(ESTIMATORS[make]) == set(make().get_params()) - {"categorical_features"}


@pytest.mark.parametrize(
    ("make", "good"),
    [
        (GradientBoostingClassifier, GOOD | GOOD_FOR_CLASSES),
        (GradientBoostingRegressor, GOOD | GOOD_FOR_NUMBERS),
    ],
)
def test_fit_accepts_allowed_values(make, good):
    X, y = classes(60) if make is GradientBoostingClassifier else numbers(60)
    assert set(good) == set(make().get_params())
    make(n_estimators=2).fit(X, y)
    compiled = len(grow.signatures)
    for name, values in good.items():
        for value in values:
            model = make(**{"n_estimators": 2, name: value}).fit(X, y)
            assert getattr(model, name) is value  # scikit-learn: fit changes no parameter
            assert len(model.predict(X)) == 60
            assert len(grow.signatures) == compiled, f"{name}={value!r} had the grower compiled once more"


def test_messages_of_parameters():
    allowed = {
        "share": number(0, 1, above=True),
        "open": number(0, 1, above=True, below=True),
        "size": number(0),
        "count": integer(1) | none(),
        "bins": integer(2, 255),
        "mode": flag() | one_of("auto"),
    }
    fine = {"share": 1.0, "open": 0.5, "size": 0.0, "count": None, "bins": 2, "mode": "auto"}
    check_parameters(fine, allowed)
    for name, value, description in [
        ("share", 0.0, "a number > 0 and <= 1"),
        ("open", 1.0, "a number > 0 and < 1"),
        ("size", -1.0, "a number >= 0"),
        ("count", 0, "an integer >= 1 or None"),
        ("bins", 300, "an integer from 2 to 255"),
        ("mode", "maybe", "True or False or 'auto'"),
    ]:
        with pytest.raises(ValueError, match=f"^{name}={value!r} is not allowed: it must be {description}$"):
            check_parameters(fine | {name: value}, allowed)
