"""Files of every kind of model: what is saved comes back, whole and to the last bit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

import hedgerow
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    RandomForestClassifier,
    estimators,
)
from hedgerow.boosting.costs import SigmoidCost
from hedgerow.io import ModelFileError, load, reader, save
from hedgerow.io.models import KINDS as CODECS
from hedgerow.io.models import from_bytes, to_bytes
from model_cases import KINDS, OOB, assert_same, fit, fitted, plain, reweighted

ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply")
STAGES = ("staged_predict", "staged_predict_proba", "staged_decision_function")
ATTRIBUTES = (
    "feature_importances_",
    "estimator_weights_",
    "estimators_samples_",
    "estimators_features_",
    "edges_",
)


def answers(model, X, y):
    """All that can be asked of a model, by name."""
    for name in ANSWERS:
        if hasattr(model, name):
            yield name, getattr(model, name)(X)
    for name in STAGES:
        if hasattr(model, name):
            yield name, [np.array(stage) for stage in getattr(model, name)(X)]
    for name in ATTRIBUTES:
        if hasattr(model, name):
            yield name, getattr(model, name)
    if hasattr(model, "margins"):
        yield "margins", model.margins(X, y)
    if hasattr(model, "is_training_row"):
        yield "is_training_row", model.is_training_row(X)
    if getattr(model, "n_outputs_", 0) == 1:
        more = ("oob", "jackknife+", "calibrated") if model.oob_score else ()
        for method in ("quantiles", *more):
            yield method, model.predict_interval(X[:20], method=method)


def assert_same_answers(model, same, X, y):
    found = dict(answers(model, X, y))
    assert found
    assert_same(found, dict(answers(same, X, y)))


def test_every_estimator_has_a_codec_and_a_case():
    every = {getattr(estimators, name) for name in estimators.__all__}
    assert set(CODECS) == every
    assert {type(make()[0]) for make in KINDS.values()} == every


@pytest.mark.parametrize("name", KINDS)
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model, X, y = fitted(name)
    path = tmp_path / "model.safetensors"
    save(model, path)
    same = load(path)
    check_is_fitted(same)
    assert_same(model, same)
    assert_same_answers(model, same, X, y)
    assert to_bytes(same) == path.read_bytes()


@pytest.mark.parametrize("name", KINDS)
def test_equal_models_give_equal_bytes_for_any_number_of_threads(name):
    model, X, y, *more = KINDS[name]()
    expected = to_bytes(fitted(name)[0])
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=2)
    assert to_bytes(model.fit(X, y, **(more[0] if more else {}))) == expected


@pytest.mark.parametrize("name", KINDS)
def test_a_loaded_model_can_be_pickled_and_cloned(name):
    model, X, _ = fitted(name)
    same = from_bytes(to_bytes(model))
    read = pickle.loads(pickle.dumps(same))  # noqa: S301 - our own
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    assert to_bytes(read) == to_bytes(model)
    again = clone(same)
    assert repr(again) == repr(clone(model))
    assert not hasattr(again, "n_features_in_")


@pytest.mark.parametrize("name", ["adaboost", "adaboost gentle", "logitboost, three classes", "adaboost.r2"])
def test_members_are_derived_from_a_loaded_model(name):
    model, X, _ = fitted(name)
    same = from_bytes(to_bytes(model))
    assert len(same.estimators_) == len(model.estimators_) == 4
    for mine, theirs in zip(model.estimators_, same.estimators_, strict=True):
        pairs = zip(mine, theirs, strict=True) if isinstance(mine, list) else [(mine, theirs)]
        for one, other in pairs:
            assert str(one) == str(other)
            np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_weights_of_votes_and_the_rows_they_were_chosen_with_come_back():
    model, X, y = reweighted()
    same = from_bytes(to_bytes(model))
    assert len(set(model.estimator_weights_.tolist())) > 1
    assert_same(model, same)
    assert_same_answers(model, same, X, y)
    assert same.is_training_row(X[100:]).all()


WARM = [
    "adaboost", "adaboost gentle", "adaboost, drawn", "adaboost on a grid", "logitboost, three classes",
    "anyboost sigmoid", "adaboost.r2", "forest", "forest of numbers", "forest, weighted", "extra trees",
    "bag", "bag, soft", "gradient", "gradient of numbers",
]  # fmt: skip


@pytest.mark.parametrize("name", WARM)
def test_a_loaded_model_goes_on_to_the_same_bytes(name):
    _, X, y, *more = KINDS[name]()
    given = more[0] if more else {}
    model = fit(name)[0].set_params(warm_start=True)
    n_more = model.n_estimators + 3
    read = from_bytes(to_bytes(model)).set_params(n_estimators=n_more)
    model.set_params(n_estimators=n_more).fit(X, y, **given)
    assert to_bytes(read.fit(X, y, **given)) == to_bytes(model)
    assert read.n_estimators == n_more


def test_a_model_that_went_on_knows_all_its_learners():
    X, y = plain(2)
    model = AdaBoostClassifier(n_estimators=2, warm_start=True).fit(X, y)
    deeper = hedgerow.DecisionTreeClassifier(max_depth=2)
    model.set_params(estimator=deeper, n_estimators=4).fit(X, y)
    same = from_bytes(to_bytes(model))
    assert same.hypothesis_class_ == model.hypothesis_class_
    assert same.hypothesis_class_.n_leaves == 4
    assert_same(model, same)


def test_parameters_that_are_changed_after_the_fit_do_not_change_the_model():
    for name in ("adaboost", "bag"):
        model, X, _ = fit(name)
        expected = model.predict_proba(X)
        model.set_params(**({"algorithm": "gentle"} if name == "adaboost" else {"voting": "soft"}))
        same = from_bytes(to_bytes(model))
        np.testing.assert_array_equal(same.predict_proba(X), expected)
        assert repr(same) == repr(model)


def test_a_score_of_ones_own_comes_back_as_true():
    X, y = plain(2)
    model = RandomForestClassifier(**OOB | {"oob_score": lambda y, said: float(np.mean(y == said))}).fit(X, y)
    same = from_bytes(to_bytes(model))
    assert same.oob_score is True
    assert same.oob_score_ == model.oob_score_


def test_labels_of_members_are_those_of_the_bag():
    model, X, _ = fitted("bag, few rows")
    n_classes = {len(member.classes_) for member in model.estimators_}
    assert n_classes >= {1, 2}  # a constant, and a tree that does not know every class
    assert_same_answers(model, from_bytes(to_bytes(model)), X, fitted("bag, few rows")[2])


# --- what no file holds


def test_costs_of_ones_own_and_other_models_are_refused(tmp_path):
    X, y = plain(2)
    X = np.nan_to_num(X)
    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match="pickle or joblib"):
        save(AnyBoostClassifier(cost=SigmoidCost(5.0), n_estimators=2).fit(X, y), path)
    changed = AnyBoostClassifier(cost=SigmoidCost(5.0), n_estimators=2).fit(X, y).set_params(cost="sigmoid")
    with pytest.raises(ModelFileError, match="the model was fitted with SigmoidCost"):
        save(changed, path)
    with pytest.raises(ModelFileError, match="LogisticRegression cannot be saved"):
        save(LogisticRegression().fit(X, y), path)
    assert not list(tmp_path.iterdir())


def test_bags_within_bags_have_an_end(monkeypatch):
    model, _, _ = fitted("bag of bags")
    data = to_bytes(model)
    monkeypatch.setattr(reader, "MAX_LEVELS", 1)
    with pytest.raises(ModelFileError, match="members are nested 2 deep; a model file holds at most 1"):
        to_bytes(model)
    with pytest.raises(ModelFileError, match="members are nested"):
        from_bytes(data)


def test_an_out_of_bag_score_that_is_no_number_is_refused():
    X, y = plain(2)
    model = RandomForestClassifier(**OOB | {"oob_score": lambda _y, _said: "fine"}).fit(X, y)
    with pytest.raises(ModelFileError, match="oob_score_ must be a finite number; got 'fine'"):
        to_bytes(model)
