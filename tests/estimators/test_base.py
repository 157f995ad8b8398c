"""The base class of all estimators."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from all_estimators import CLASSIFIERS, ESTIMATORS, small
from hedgerow.estimators.base import EnsembleBase

X = np.random.default_rng(0).normal(size=(60, 3))
NUMBERS, LABELS = X[:, 0], (X[:, 0] > 0).astype(int)


def fitted(kind):
    return small(kind).fit(X, LABELS if kind in CLASSIFIERS else NUMBERS)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_estimator_has_the_one_base(kind):
    assert issubclass(kind, EnsembleBase)
    assert "_fit" not in {name for base in kind.__mro__ if base is not EnsembleBase for name in vars(base)}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_fitted_attributes_of_an_unfitted_model_raise(kind):
    properties = [name for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property))]
    for name in properties:
        if name.endswith("_") and not name.startswith("_"):
            with pytest.raises(NotFittedError):
                getattr(kind(), name)
    with pytest.raises(NotFittedError):
        kind().predict(X)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_log_probabilities(kind):
    model = fitted(kind)
    with np.errstate(divide="ignore"):
        expected = np.log(model.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), expected)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_fit_that_fails_leaves_the_model_unchanged(kind):
    model = fitted(kind)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="y has 60 rows, but X has 50"):
        model.fit(X[:50], LABELS)
    assert set(vars(model)) == set(before)
    assert all(vars(model)[name] is value for name, value in before.items())
