"""Files of every kind of model: a loaded model equals the saved one, bit for bit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

import hedgerow
from hedgerow import AdaBoostClassifier, AnyBoostClassifier, RandomForestClassifier, estimators
from hedgerow.boosting.adaboost import RULES
from hedgerow.boosting.costs import SigmoidCost
from hedgerow.io import ModelFileError, load, reader, save
from hedgerow.io.models import KINDS as CODECS
from hedgerow.io.models import from_bytes, to_bytes
from model_cases import KINDS, MODELS, OOB, assert_same, fit, fitted, plain, reweighted
from predictions import all_predictions

ATTRIBUTES = (
    *("feature_importances_", "estimator_weights_", "estimators_samples_", "estimators_features_", "edges_"),
)
ONE_OF_EACH = (  # of the codecs, with and without members
    *("adaboost", "adaboost gentle", "logitboost, three classes", "anyboost", "adaboost.r2", "three"),
    *("forest, weighted", "forest of numbers", "extra trees", "bag", "bag of boosters", "tree", "gradient"),
)


def results(model, X, y):
    """Predictions and attributes of a model, by name."""
    found = all_predictions(model, X)
    found |= {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    if y is not None and hasattr(model, "margins"):
        found["margins"] = model.margins(X, y)
    if hasattr(model, "is_training_row"):
        found["is_training_row"] = model.is_training_row(X)
    if getattr(model, "n_outputs_", 0) == 1 and model.oob_score:
        for method in ("oob", "jackknife+", "calibrated"):
            found[method] = model.predict_interval(X[:20], method=method)
    return found


def assert_same_results(model, same, X, y):
    assert_same(results(model, X, y), results(same, X, y))


def test_every_estimator_has_a_codec_and_a_case():
    every = {getattr(estimators, name) for name in estimators.__all__}
    assert set(CODECS) == every
    assert {type(make()[0]) for make in KINDS.values()} == every


def test_every_update_rule_has_a_case():
    models = [make()[0] for make in KINDS.values()]
    used = {RULES[model.algorithm] for model in models if type(model) is AdaBoostClassifier}
    assert used == set(RULES.values())


@pytest.mark.parametrize("name", [*KINDS, *MODELS])
def test_loaded_model_equals_saved_model(name, tmp_path):
    model, X, y = fitted(name)
    path = tmp_path / "model.safetensors"
    save(model, path)
    same = load(path)
    check_is_fitted(same)
    assert_same(model, same)
    assert_same_results(model, same, X, y)
    assert to_bytes(same) == path.read_bytes()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_equal_models_give_equal_bytes_for_any_number_of_threads(name):
    more = {"n_jobs": 2} if "n_jobs" in fitted(name)[0].get_params() else {}
    assert to_bytes(fit(name, **more)[0]) == to_bytes(fitted(name)[0])


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_loaded_model_can_be_pickled_and_cloned(name):
    model, X, _ = fitted(name)
    same = from_bytes(to_bytes(model))
    read = pickle.loads(pickle.dumps(same))  # noqa: S301 - our own
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    assert to_bytes(read) == to_bytes(model)
    again = clone(same)
    assert repr(again) == repr(clone(model))
    assert not hasattr(again, "n_features_in_")


@pytest.mark.parametrize("name", ["adaboost", "adaboost gentle", "logitboost, three classes", "adaboost.r2"])
def test_members_of_loaded_model_equal_those_of_saved_model(name):
    model, X, _ = fitted(name)
    same = from_bytes(to_bytes(model))
    assert len(same.estimators_) == len(model.estimators_) == 4
    for mine, theirs in zip(model.estimators_, same.estimators_, strict=True):
        pairs = zip(mine, theirs, strict=True) if isinstance(mine, list) else [(mine, theirs)]
        for one, other in pairs:
            assert str(one) == str(other)
            np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_optimized_vote_weights_and_their_rows_are_restored():
    model, X, y = reweighted()
    same = from_bytes(to_bytes(model))
    assert len(set(model.estimator_weights_.tolist())) > 1
    assert_same(model, same)
    assert_same_results(model, same, X, y)
    assert same.is_training_row(X[100:]).all()


WARM = (
    *("adaboost gentle", "adaboost, drawn", "adaboost on a grid", "logitboost, three classes", "adaboost.r2"),
    *("anyboost sigmoid", "forest of numbers", "forest, weighted", "extra trees", "bag, soft", "gradient"),
)


@pytest.mark.parametrize("name", WARM)
def test_warm_start_of_loaded_model_gives_the_same_bytes(name):
    _, X, y, *more = KINDS[name]()
    arguments = more[0] if more else {}
    model = fit(name, warm_start=True)[0]
    n_more = model.n_estimators + 3
    read = from_bytes(to_bytes(model)).set_params(n_estimators=n_more)
    model.set_params(n_estimators=n_more).fit(X, y, **arguments)
    assert to_bytes(read.fit(X, y, **arguments)) == to_bytes(model)
    assert read.n_estimators == n_more


def test_learners_of_all_fits_of_a_warm_start_are_restored():
    X, y = plain(2)
    model = AdaBoostClassifier(n_estimators=2, warm_start=True).fit(X, y)
    deeper = hedgerow.DecisionTreeClassifier(max_depth=2)
    model.set_params(estimator=deeper, n_estimators=4).fit(X, y)
    same = from_bytes(to_bytes(model))
    assert same.hypothesis_class_ == model.hypothesis_class_
    assert same.hypothesis_class_.n_leaves == 4
    assert_same(model, same)


def test_parameters_changed_after_fit_do_not_change_the_model():
    for name in ("adaboost", "bag"):
        model, X, _ = fit(name)
        expected = model.predict_proba(X)
        model.set_params(**({"algorithm": "gentle"} if name == "adaboost" else {"voting": "soft"}))
        same = from_bytes(to_bytes(model))
        np.testing.assert_array_equal(same.predict_proba(X), expected)
        assert repr(same) == repr(model)


def test_callable_oob_score_is_restored_as_true():
    X, y = plain(2)
    model = RandomForestClassifier(
        **OOB | {"oob_score": lambda y, predicted: float(np.mean(y == predicted))}
    ).fit(X, y)
    same = from_bytes(to_bytes(model))
    assert same.oob_score is True
    assert same.oob_score_ == model.oob_score_


def test_members_with_fewer_classes_are_restored():
    model, X, _ = fitted("bag, few rows")
    n_classes = {len(member.classes_) for member in model.estimators_}
    assert n_classes >= {1, 2}  # a constant, and a tree that does not know every class
    assert_same_results(model, from_bytes(to_bytes(model)), X, fitted("bag, few rows")[2])


# --- models that cannot be saved


def test_save_rejects_custom_costs_and_other_models(tmp_path):
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
    with pytest.raises(ModelFileError, match=r"object cannot be saved; .* and Cascade; use pickle or joblib"):
        save(object(), path)
    assert not list(tmp_path.iterdir())


def test_nesting_of_members_is_limited(monkeypatch):
    model, _, _ = fitted("bag of bags")
    data = to_bytes(model)
    monkeypatch.setattr(reader, "MAX_LEVELS", 1)
    with pytest.raises(ModelFileError, match="members are nested 2 deep; a model file holds at most 1"):
        to_bytes(model)
    with pytest.raises(ModelFileError, match="members are nested"):
        from_bytes(data)


def test_save_rejects_oob_score_that_is_not_a_number():
    X, y = plain(2)
    model = RandomForestClassifier(**OOB | {"oob_score": lambda _y, _predicted: "fine"}).fit(X, y)
    with pytest.raises(ModelFileError, match="oob_score_ must be a finite number; got 'fine'"):
        to_bytes(model)
