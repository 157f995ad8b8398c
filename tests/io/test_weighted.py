"""Files of weighted ensembles: equal to the saved one, bit for bit; changed files are refused."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow.container import unpack
from hedgerow.io import ModelFileError, load, load_certificate, save
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.selection import (
    FixedThresholdClassifier,
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from hedgerow.theory import certify
from model_cases import changed, named, plain


def ensemble(data=None, n_jobs=None):
    X, y = plain(2) if data is None else data
    members = [
        hr.GradientBoostingClassifier(n_estimators=3, min_samples_leaf=5, n_jobs=n_jobs),
        hr.RandomForestClassifier(3, random_state=0, n_jobs=n_jobs),
        hr.AdaBoostClassifier(n_estimators=2, n_jobs=n_jobs),
    ]
    return WeightedEnsembleClassifier(members, weights=[1, 1, 1]).fit(X, y), X, y


def of_numbers():
    X, y = named()
    members = [hr.GradientBoostingRegressor(n_estimators=3), hr.RandomForestRegressor(3)]
    return WeightedEnsembleRegressor(members, weights=[0.7, 0.1]).fit(X, y), X, y


def with_bagging():
    """Members that read categories in different ways."""
    X, y = named(3)
    kinds = [hr.BaggingClassifier(n_estimators=2), hr.RandomForestClassifier(3)]
    members = [one.fit(X[rows], y[rows]) for one, rows in zip(kinds, (slice(99), slice(150)), strict=True)]
    return WeightedEnsembleClassifier.of(members), X, y


@pytest.mark.parametrize("make", [ensemble, lambda: ensemble(named(3)), of_numbers, with_bagging])
def test_loaded_ensemble_equals_saved_ensemble(make, tmp_path):
    model, X, _ = make()
    path = tmp_path / "model.hedgerow"
    save(model, path)
    same = load(path)
    assert type(same) is type(model)
    assert to_bytes(same) == path.read_bytes()
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    np.testing.assert_array_equal(same.weights_, model.weights_)
    if hasattr(model, "feature_importances_"):
        np.testing.assert_array_equal(same.feature_importances_, model.feature_importances_)
    assert same.data_fingerprints_ == model.data_fingerprints_
    assert same.schema_.to_dict() == model.schema_.to_dict()
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
        assert same.is_training_row(X).all()
        assert same.estimators_[1].is_training_row(X).all()
        with pytest.raises(ValueError, match="rows that the model was fitted to"):
            certify(same, X, model.predict(X))


def test_equal_ensembles_give_equal_bytes_for_any_number_of_threads():
    assert to_bytes(ensemble(n_jobs=1)[0]) == to_bytes(ensemble(n_jobs=2)[0])


def test_equal_fingerprints_are_stored_once():
    arrays = unpack(to_bytes(ensemble()[0])).arrays
    found = {name for name in arrays if "row_fingerprints" in name}
    assert found == {"row_fingerprints.exact", "row_fingerprints.rounded"}


def test_fingerprints_of_other_rows_are_stored_with_their_member():
    X, y = plain(2)
    forests = [hr.RandomForestClassifier(2).fit(X[rows], y[rows]) for rows in (slice(100), slice(50, 150))]
    same = from_bytes(to_bytes(WeightedEnsembleClassifier.of(forests)))
    assert same.is_training_row(X).all()
    assert not same.estimators_[0].is_training_row(X[100:]).any()


def test_threshold_card_and_certificate_are_kept(tmp_path):
    model, X, y = ensemble()
    cautious = FixedThresholdClassifier.of(model, 0.8)
    certificate = certify(cautious, X + 0.01, y)
    path = tmp_path / "model.hedgerow"
    save(cautious, path, card={"a": 1}, certificate=certificate)
    same = load(path)
    np.testing.assert_array_equal(same.predict(X), cautious.predict(X))
    assert load_certificate(path) == certificate


def test_members_that_no_file_holds_are_refused():
    X, y = plain(2)
    model = WeightedEnsembleClassifier([LogisticRegression()]).fit(np.nan_to_num(X), y)
    with pytest.raises(ModelFileError, match="member 0 is a LogisticRegression; a model file holds"):
        to_bytes(model)
    model = ensemble()[0]
    with pytest.raises(ModelFileError, match="member 0 is a WeightedEnsembleClassifier"):
        to_bytes(WeightedEnsembleClassifier.of([model]))


def entries_of(data):
    return json.loads(unpack(data).text)


def damaged(content, case):
    """A changed entry of the description."""
    members, weights = content["members"], content["member_weights"]
    regressor = entries_of(to_bytes(hr.DecisionTreeRegressor().fit(*plain())))
    return {
        "no weights": {"member_weights": []},
        "negative": {"member_weights": [1.5, -0.5, 0.0]},
        "sum": {"member_weights": [0.5, 0.2, 0.1]},
        "texts": {"member_weights": ["1", "2", "3"]},
        "too few members": {"members": members[:2]},
        "no members": {"members": [], "member_weights": []},
        "no list": {"members": {"0": members[0]}},
        "no member": {"members": [1, 2, 3]},
        "nested": {"members": [{**content}, *members[1:]]},
        "estimator of a list": {"members": [{**members[0], "estimator": []}, *members[1:]]},
        "a regressor": {"members": [regressor, *members[1:]]},
        "classes": {"classes": {"dtype": "<i8", "values": [0, 2]}},
        "dtype of classes": {"classes": {"dtype": "<i4", "values": [0, 1]}},
        "columns": {"schema": {**content["schema"], "names": ["a", "b", "c", "d"]}},
        "parameters": {"parameters": {"weights": weights}},
        "another kind": {"estimator": "WeightedEnsembleRegressor"},
    }[case]


@pytest.mark.parametrize(
    "case",
    [
        *("no weights", "negative", "sum", "texts", "too few members", "no members", "no list", "no member"),
        *("nested", "estimator of a list", "a regressor", "classes", "dtype of classes", "columns"),
        *("parameters", "another kind"),
    ],
)
def test_changed_descriptions_are_refused(case):
    data = to_bytes(ensemble()[0])
    with pytest.raises(ModelFileError, match=r"^[^\n]{1,500}$"):
        from_bytes(changed(data, **damaged(entries_of(data), case)))
