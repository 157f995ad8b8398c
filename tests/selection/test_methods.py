"""Methods: every name makes an estimator that can be fitted; and the linear baseline on any table."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow.datasets import make_gaussian
from hedgerow.estimators import AdaBoostClassifier, DecisionTreeRegressor, RandomForestClassifier
from hedgerow.selection import AUTO, METHODS, make_model
from hedgerow.selection.comparing import warm_up
from hedgerow.selection.linear import LogisticBaseline, RidgeBaseline
from hedgerow.selection.settings import settings_for
from hedgerow.selection.splits import TrainingData

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
NUMBERS = X @ [1.0, -2.0, 0.5] + 3.0


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_classes(name):
    if "classification" not in METHODS[name].tasks:
        pytest.skip("not for classes")
    model = make_model(name, "classification", n_jobs=1).fit(X, LABELS)
    assert np.mean(model.predict(X) == LABELS) > 0.7
    assert model.predict_proba(X).shape == (120, 2)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_regression_or_refuses_it(name):
    if "regression" not in METHODS[name].tasks:
        with pytest.raises(ValueError, match="it is for classification, not for regression"):
            make_model(name, "regression")
        return
    model = make_model(name, "regression", n_jobs=1).fit(X, NUMBERS)
    assert np.corrcoef(model.predict(X), NUMBERS)[0, 1] > 0.7


def test_auto_methods_are_methods():
    assert set(AUTO) <= set(METHODS)
    assert [name for name in METHODS if name not in AUTO] == [
        *(
            "extra-trees",
            "adaboost-real",
            "adaboost-gentle",
            "anyboost",
            "schapire",
            "tree",
            "stump",
            "linear",
        )
    ]


def test_the_seed_and_the_threads_are_passed_to_the_model():
    model = make_model("forest", "classification", random_state=7, n_jobs=2)
    assert (model.random_state, model.n_jobs) == (7, 2)


def test_max_depth_is_the_depth_of_the_members():
    assert make_model("adaboost", "classification", max_depth=3).estimator.max_depth == 3
    assert make_model("adaboost", "classification", max_depth=1).estimator is None
    assert isinstance(
        make_model("logitboost", "classification", max_depth=2).estimator, DecisionTreeRegressor
    )
    assert isinstance(make_model("adaboost", "regression", max_depth=1).estimator, DecisionTreeRegressor)
    assert make_model("bagging", "classification", max_depth=4).max_depth == 4
    assert make_model("gradient", "classification", max_depth=4).max_depth == 4


def test_parameters_replace_defaults():
    model = make_model("adaboost-real", "classification", n_estimators=7)
    assert isinstance(model, AdaBoostClassifier)
    assert (model.algorithm, model.n_estimators) == ("real", 7)
    bagging = make_model("bagging", "classification")
    assert isinstance(bagging, RandomForestClassifier)
    assert bagging.max_features == 1.0


def test_an_unknown_method_or_parameter_is_refused():
    with pytest.raises(ValueError, match="method='boost' is not allowed: it must be one of 'gradient'"):
        make_model("boost", "classification")
    with pytest.raises(ValueError, match="depth=3 is not allowed: method 'forest' has no such parameter"):
        make_model("forest", "classification", depth=3)
    with pytest.raises(ValueError, match="task='classes' is not allowed"):
        make_model("forest", "classes")


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("n_rows", [100, 3000, 100_000])
def test_all_settings_are_json_and_make_models(task, n_rows):
    for name in METHODS:
        if task not in METHODS[name].tasks:
            continue
        settings = settings_for(name, task, n_rows)
        assert len(settings) >= (2 if name in AUTO else 1)
        for setting in settings:
            json.dumps(dict(setting.parameters))
            make_model(name, task, **setting.parameters)


# --- the linear baseline


def test_without_categories_and_missing_values_it_is_scaled_logistic_regression():
    data, labels = make_gaussian(300, random_state=0)
    ours = LogisticBaseline().fit(data, labels)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(data, labels)
    np.testing.assert_allclose(ours.predict_proba(data), theirs.predict_proba(data), atol=1e-6)


def test_missing_values_have_the_median_and_an_indicator_column():
    values = np.array([[1.0], [2.0], [9.0], [np.nan]])
    model = RidgeBaseline().fit(values, [1.0, 2.0, 9.0, 50.0])
    assert model.pipeline_[:-1].transform(values).shape == (4, 2)
    np.testing.assert_allclose(model.predict([[2.0]]) < model.predict([[np.nan]]), True)
    assert model.predict([[np.nan]])[0] > 30


def test_infinities_are_replaced_by_the_extremes():
    values = np.array([[1.0], [2.0], [3.0], [np.inf], [-np.inf]])
    model = RidgeBaseline().fit(values, [1.0, 2.0, 3.0, 3.0, 1.0])
    np.testing.assert_allclose(model.predict([[np.inf], [3.0]])[0], model.predict([[3.0]])[0])
    assert np.all(np.isfinite(model.predict(values)))


def test_unseen_and_missing_categories_are_all_zeros():
    frame = pd.DataFrame({"c": pd.Categorical(["x", "y", "x", "y"])})
    model = RidgeBaseline().fit(frame, [0.0, 2.0, 0.0, 2.0])
    new = pd.DataFrame({"c": pd.Categorical(["z", None, "x", "y"])})
    unseen, missing, x, y = model.predict(new)
    assert unseen == missing
    assert x < unseen < y


def test_empty_and_constant_columns():
    values = np.column_stack([np.full(20, np.nan), np.ones(20), np.arange(20.0)])
    model = LogisticBaseline().fit(values, np.arange(20) > 9)
    assert np.mean(model.predict(values) == (np.arange(20) > 9)) == 1.0


def test_many_categories_are_encoded_sparsely():
    names = [f"c{i % 400}" for i in range(1200)]
    target = np.array([int(name[1:]) % 2 for name in names])
    table = pa.table({"c": pa.array(names).dictionary_encode(), "x": np.arange(1200.0)})
    model = LogisticBaseline().fit(table, target)
    codes = np.column_stack([np.zeros(3), np.arange(3.0)])
    assert sparse.issparse(model.pipeline_[:-1].transform(codes))
    assert np.mean(model.predict(table) == target) == 1.0


def test_sparse_tables_and_clones():
    model = clone(LogisticBaseline(C=0.5))
    assert model.fit(sparse.csr_matrix(X), LABELS).score(sparse.csr_matrix(X), LABELS) > 0.9


def test_predictions_have_the_labels_of_training():
    assert set(LogisticBaseline().fit(X, LABELS).predict(X)) == {"up", "down"}
    assert set(LogisticBaseline().fit(X, LABELS == "up").predict(X).tolist()) == {True, False}


@pytest.mark.parametrize(
    ("n_categories", "n_rows", "tried"), [(33, 1000, True), (32, 1000, False), (33, 999, False)]
)
def test_target_statistics_are_tried_for_columns_of_many_categories(n_categories, n_rows, tried):
    settings = settings_for("gradient", "regression", n_rows, n_categories=n_categories)
    found = [one.parameters.get("max_categories_for_sets") for one in settings]
    assert found.count(32) == tried


def test_choose_counts_the_categories_of_columns():
    codes = pa.array([f"c{number % 40}" for number in range(120)]).dictionary_encode()
    data = TrainingData.of(pa.table({"a": X[:, 0], "b": codes}), NUMBERS, "regression", "choose")
    assert data.n_categories == 40
    assert TrainingData.of(X, NUMBERS, "regression", "choose").n_categories == 0


@pytest.mark.parametrize("method", AUTO)
def test_a_warm_up_compiles_what_weighted_fits_use(method, monkeypatch):
    weights = np.where(np.arange(120) < 60, 0.0, 2.0)
    data = replace(TrainingData.of(X, LABELS, "classification", "choose"), weights=weights)
    kind, passed = METHODS[method].classifier, []
    fit = kind.fit
    monkeypatch.setattr(
        kind, "fit", lambda self, *a, **k: passed.append(k["sample_weight"]) or fit(self, *a, **k)
    )
    warm_up(METHODS[method], data, 1, {})
    assert np.all(passed[0] > 0)
    assert set(passed[0]) <= {1.0, 2.0}
