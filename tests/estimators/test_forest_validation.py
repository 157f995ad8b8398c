"""Forests reject parameters, targets and warm starts before any tree is grown; messages name them.

Targets and weights that every estimator rejects are in `test_input_targets.py` and `test_input_weights.py`.
"""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from forest_cases import CLASSIFIERS, KINDS, REGRESSORS, bits, classes, data_for, frame, numbers, predictions
from hedgerow import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.growing.deep import DeepGrower

X, Y = load_iris(return_X_y=True)


@pytest.fixture
def grows():
    """For tests that need a fitted model first."""


@pytest.fixture(autouse=True)
def no_trees(request, monkeypatch):
    """Raise an error if a tree is grown by other tests."""
    if "grows" in request.fixturenames:
        return

    def grown(*_):
        raise AssertionError("a tree was grown before the error")

    monkeypatch.setattr(DeepGrower, "grow", grown)


# --- parameters

WRONG = [
    ({"max_features": 5}, "max_features=5 is not allowed: it must be at most 4, the number of columns of X"),
    ({"bootstrap": True, "max_samples": 151}, "max_samples=151 is not allowed: it must be at most 150"),
    ({"bootstrap": False, "max_samples": 0.5}, "max_samples=0.5 is not allowed with bootstrap=False"),
    ({"bootstrap": False, "oob_score": True}, "oob_score=True needs rows that trees are not trained on"),
    ({"monotonic_cst": [1]}, "monotonic_cst has 1 directions, but X has 4 columns"),
    ({"monotonic_cst": {"a": 1}}, "monotonic_cst names the columns ['a'], but X has no column names"),
    ({"categorical_features": [4]}, "categorical_features"),
    ({"categorical_features": "all"}, "categorical_features"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "message"), WRONG, ids=[str(wrong) for wrong, _ in WRONG])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
def test_fit_rejects_parameters(kind, parameters, message):
    with pytest.raises(ValueError) as caught:
        kind(**parameters).fit(X, Y)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": {7: 1.0}}, "class_weight names the classes [7], which y does not have"),
        ({"class_weight": {0: 0, 1: 0, 2: 0}}, "leaves zero weights only"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst is not allowed with 3 classes: there must be two"),
    ],
)  # fmt: skip
def test_classifiers_reject_parameters(kind, parameters, message):
    with pytest.raises(ValueError) as caught:
        kind(**parameters).fit(X, Y)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors_reject_parameters(kind):
    with pytest.raises(ValueError, match="monotonic_cst is not allowed with 2 outputs: there must be one"):
        kind(monotonic_cst=[1, 0, 0, 0]).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(TypeError, match="class_weight"):
        kind(class_weight="balanced")


def test_fit_rejects_monotonic_constraints_of_categorical_columns():
    table, y = frame()
    with pytest.raises(
        ValueError, match="monotonic_cst of column 'colour' is 1, but the column is categorical"
    ):
        RandomForestRegressor(monotonic_cst={"colour": 1}).fit(table, y)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_poisson_rejects_negative_targets(kind):
    y = np.arange(150.0)
    y[[77, 90]] = -0.5
    with pytest.raises(ValueError, match=r"y\[77\] is -0\.5, which criterion='poisson' does not allow"):
        kind(criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"y\[77\] is .*-0\.5"):
        kind(criterion="poisson").fit(X, np.column_stack([np.abs(y), y]))
    y[31] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN or infinity: row 31 is"):
        kind().fit(X, np.column_stack([np.abs(y), y]))


# --- warm starts


@pytest.mark.usefixtures("grows")
@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_rejects_fewer_trees_and_other_rows(kind):
    def again(**parameters):
        return pickle.loads(model).set_params(**{"n_estimators": 4} | parameters)  # noqa: S301 - made below

    data, y = data_for(kind, 150)
    model = pickle.dumps(kind(3, bootstrap=True, warm_start=True).fit(data, y))
    with pytest.raises(ValueError, match="n_estimators=2 is below the 3 trees of the fitted model"):
        again(n_estimators=2).fit(data, y)
    changed = "at least one of these has changed since the last fit"
    order = np.random.default_rng(0).permutation(150)
    with pytest.raises(ValueError, match=changed):
        again().fit(data[order], y[order])
    with pytest.raises(ValueError, match=changed):
        again().fit(data + 1.0, y)
    with pytest.raises(ValueError, match=changed):
        again().fit(data, np.roll(y, 1))
    with pytest.raises(ValueError, match=changed):
        again().fit(data, y, sample_weight=np.arange(150))
    with pytest.raises(ValueError, match=changed):
        again().fit(data[:140], y[:140])
    with pytest.raises(ValueError, match="features"):
        again().fit(data[:, :3], y)
    for parameters in ({"max_samples": 0.5}, {"bootstrap": False}, {"max_bins": 20}):
        with pytest.raises(ValueError, match=changed):
            again(**parameters).fit(data, y)
    assert again(max_bins=20, warm_start=False).fit(data, y).model_.forest.n_trees == 4
    assert again().fit(data, y).model_.forest.n_trees == 4


@pytest.mark.usefixtures("grows")
def test_warm_start_rejects_other_classes_and_outputs():
    data, y = classes(150)
    model = RandomForestClassifier(3, warm_start=True).fit(data, y)
    with pytest.raises(ValueError, match="y holds the label 'oak', which is not among the training classes"):
        model.set_params(n_estimators=4).fit(data, np.where(y == "alder", "oak", y))
    data, y = numbers(150, 2)
    model = RandomForestRegressor(3, warm_start=True).fit(data, y)
    with pytest.raises(ValueError, match="at least one of these has changed since the last fit"):
        model.set_params(n_estimators=4).fit(data, y[:, 0])


# --- a fit that fails


@pytest.mark.usefixtures("grows")
@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_fit_leaves_the_model_unchanged(kind, monkeypatch):
    data, y = data_for(kind, 150)
    model = kind(20, bootstrap=True, oob_score=True, random_state=0).fit(data, y)
    before, predicted, state = bits(model), predictions(model, data), dict(vars(model))

    def failing(*_):
        raise MemoryError("not enough memory")

    wrong = [
        lambda: model.fit(data[:, :2], y[:5]),
        lambda: model.fit(data[:, :2], [np.nan] * 150),
        lambda: model.fit(data[:, :2], y, sample_weight=-np.ones(150)),
    ]
    for fit in wrong:
        with pytest.raises(ValueError):
            fit()
    monkeypatch.setattr(DeepGrower, "grow", failing)
    with pytest.raises(MemoryError):
        model.fit(data[:, :2], y[::-1])
    monkeypatch.undo()
    assert bits(model) == before
    assert np.array_equal(predictions(model, data), predicted)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())


@pytest.mark.usefixtures("grows")
def test_a_failed_score_leaves_the_model_unchanged():
    data, y = classes(150)
    model = ExtraTreesClassifier(20, bootstrap=True, oob_score=True, random_state=0).fit(data, y)
    state = dict(vars(model))

    def score(*_):
        raise ZeroDivisionError("an error of the user")

    with pytest.raises(ZeroDivisionError):
        model.set_params(oob_score=score).fit(data[:, :3], np.where(y == "alder", "oak", y))
    model.set_params(oob_score=True)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())
    assert model.predict_proba(data).shape == (150, 3)
