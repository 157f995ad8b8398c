"""All public estimators: their classes, and a small model of each."""

import inspect

from sklearn.base import BaseEstimator, ClassifierMixin

import hedgerow

_PUBLIC = [getattr(hedgerow, name) for name in hedgerow.__all__]
ESTIMATORS = [kind for kind in _PUBLIC if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]
CLASSIFIERS = [kind for kind in ESTIMATORS if issubclass(kind, ClassifierMixin)]
REGRESSORS = [kind for kind in ESTIMATORS if not issubclass(kind, ClassifierMixin)]


def small(kind, **parameters):
    """A model of the class that is fitted fast, by one thread, and always the same."""
    usual = {"n_estimators": 3, "n_jobs": 1, "random_state": 0}
    accepted = inspect.signature(kind).parameters
    return kind(**{name: value for name, value in usual.items() if name in accepted} | parameters)
