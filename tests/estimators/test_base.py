"""The base class: what all estimators have in common."""

import inspect

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

import hedgerow.estimators
from hedgerow.estimators.base import EnsembleBase

CLASSES = [getattr(hedgerow.estimators, name) for name in hedgerow.estimators.__all__]
X = np.random.default_rng(0).normal(size=(60, 3))
NUMBERS, LABELS = X[:, 0], (X[:, 0] > 0).astype(int)
SMALL = {"n_estimators": 3, "random_state": 0, "min_samples_leaf": 5}


def fitted(kind):
    names = inspect.signature(kind).parameters
    model = kind(**{name: value for name, value in SMALL.items() if name in names})
    return model.fit(X, LABELS if is_classifier(model) else NUMBERS)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_estimator_has_the_one_base(kind):
    assert issubclass(kind, EnsembleBase)
    assert "_fit" not in {name for base in kind.__mro__ if base is not EnsembleBase for name in vars(base)}


@pytest.mark.parametrize("kind", CLASSES)
def test_fitted_attributes_of_an_unfitted_model_raise(kind):
    properties = [name for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property))]
    for name in properties:
        if name.endswith("_") and not name.startswith("_"):
            with pytest.raises(NotFittedError):
                getattr(kind(), name)
    with pytest.raises(NotFittedError):
        kind().predict(X)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if is_classifier(kind())])
def test_log_probabilities(kind):
    model = fitted(kind)
    with np.errstate(divide="ignore"):
        expected = np.log(model.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), expected)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_fit_that_fails_leaves_the_model_unchanged(kind):
    model = fitted(kind)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="y has 60 rows, but X has 50"):
        model.fit(X[:50], LABELS)
    assert set(vars(model)) == set(before)
    assert all(vars(model)[name] is value for name, value in before.items())
