"""Copies of fitted models: pickled, by joblib, deep, cloned and in files. All predict the same bits.

So a copy of a copy is the model too: its file has the bytes of the original's file.
"""

import copy
import io
import pickle
from functools import cache

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

import hedgerow
from all_estimators import ESTIMATORS
from cascade_files import make_model
from hedgerow import AdaBoostClassifier, BaggingClassifier, GradientBoostingClassifier
from hedgerow.io.models import to_bytes
from hedgerow.vision import Cascade, load_cascade
from model_cases import KINDS, fit, fitted, plain
from predictions import all_predictions, same_bits

pytestmark = pytest.mark.filterwarnings("ignore:boosting stopped")

FOREIGN = {
    "adaboost of others": lambda: AdaBoostClassifier(
        LogisticRegression(), algorithm="real", n_estimators=3, random_state=0
    ),
    "bag of others": lambda: BaggingClassifier(GaussianNB(), n_estimators=3, random_state=0),
}
NAMES = [*KINDS, *FOREIGN]
ONE_OF_EACH = [*{type(KINDS[name]()[0]): name for name in reversed(KINDS)}.values(), *FOREIGN]


@cache
def model_of(name):
    """A fitted model, its rows and targets; not to be changed."""
    if name in KINDS:
        return fitted(name)
    X, y = plain(2)
    X = np.nan_to_num(X)
    return FOREIGN[name]().fit(X, y), X, y


def joblib_copy(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    return joblib.load(file)


def test_the_cases_include_every_public_estimator():
    assert set(ESTIMATORS) == {type(make()[0]) for make in KINDS.values()}


@pytest.mark.parametrize("name", NAMES)
def test_copies_predict_the_same_and_have_the_same_file(name, tmp_path):
    model, X, _ = model_of(name)
    predicted, path = all_predictions(model, X), tmp_path / "model.safetensors"
    hedgerow.save(model, path)
    written, loaded = path.read_bytes(), hedgerow.load(path)
    pickled = [pickle.loads(pickle.dumps(model, protocol)) for protocol in (2, 5)]  # noqa: S301
    pickled.append(pickle.loads(pickle.dumps(loaded)))  # noqa: S301
    for one in (*pickled, loaded, joblib_copy(model), copy.deepcopy(model)):
        assert repr(one) == repr(model)
        assert to_bytes(one) == written
    for one in (pickled[-1], loaded):  # the others have equal files
        assert same_bits(all_predictions(one, X), predicted)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_clone_of_a_fitted_model_is_not_fitted_and_learns_the_same(name):
    model, X, y = model_of(name)
    twin = clone(model)
    assert repr(twin) == repr(model)
    assert not [attribute for attribute in vars(twin) if attribute.endswith("_")]
    assert to_bytes(twin.fit(X, y)) == to_bytes(model)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_pickle_does_not_grow_when_the_model_is_used(name):
    model, X, y = fit(name) if name in KINDS else copy.deepcopy(model_of(name))
    before = pickle.dumps(model)
    all_predictions(model, X)
    for attribute in ("estimators_", "feature_importances_"):
        getattr(model, attribute, None)  # some are computed when they are read
    if hasattr(model, "margins"):
        model.margins(X, y)
    assert pickle.dumps(model) == before


def test_a_copy_is_another_model():
    model, X, y = fit("gradient")
    predicted, twin = all_predictions(model, X), copy.deepcopy(model)
    twin.set_params(n_estimators=2).fit(X, y)
    assert twin.n_estimators_ == 2
    assert same_bits(all_predictions(model, X), predicted)


def test_the_best_model_of_a_search_can_be_saved(tmp_path):
    X, y = plain(2)
    search = GridSearchCV(GradientBoostingClassifier(n_estimators=3), {"max_leaf_nodes": [3, 6]}, cv=2).fit(
        X, y
    )
    hedgerow.save(search.best_estimator_, tmp_path / "best")
    assert same_bits(
        all_predictions(hedgerow.load(tmp_path / "best"), X), all_predictions(search.best_estimator_, X)
    )
    again = pickle.loads(pickle.dumps(search))  # noqa: S301
    assert to_bytes(again.best_estimator_) == to_bytes(search.best_estimator_)


# --- cascades


@pytest.mark.parametrize("kind", ["HAAR", "LBP"])
def test_copies_of_a_cascade_find_the_same(kind, tmp_path):
    cascade = Cascade(make_model(kind, stages=1), {"made": "for a test"})
    image = np.random.default_rng(0).integers(0, 256, (70, 80), np.uint8)

    def found(one):
        detections = one.detect(image, min_neighbors=0)
        return detections.rectangles.tobytes(), detections.scores.tobytes()

    before = pickle.dumps(cascade)
    expected = found(cascade)
    assert expected[0]
    assert pickle.dumps(cascade) == before
    hedgerow.save(cascade, tmp_path / "cascade")
    cascade.save(tmp_path / "other")
    written = (tmp_path / "cascade").read_bytes()
    assert (tmp_path / "other").read_bytes() == written
    copies = [pickle.loads(pickle.dumps(cascade, protocol)) for protocol in range(2, 6)]  # noqa: S301
    copies += [joblib_copy(cascade), copy.deepcopy(cascade)]
    copies += [hedgerow.load(tmp_path / "cascade"), load_cascade(tmp_path / "cascade")]
    for one in copies:
        assert one == cascade
        assert one.info == cascade.info
        assert found(one) == expected
        assert to_bytes(one) == written
