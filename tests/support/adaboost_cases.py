"""Data, learners and helpers for the tests of the AdaBoost family."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier as ForeignTree
from sklearn.tree import DecisionTreeRegressor as ForeignRegressionTree

from hedgerow import AdaBoostClassifier, AnyBoostClassifier, LogitBoostClassifier
from hedgerow.boosting.adaboost import RULES

ALGORITHMS = tuple(RULES)
VOTES = ("discrete", "m1", "samme")
EXPONENTIAL = (*VOTES, "real", "samme.r", "gentle")  # weights exp(-margin): the bound is the product of all Z


def two(n_rows=200, seed=0, noise=0.4):
    """Two classes, 0 and 1, that no stump separates; many distinct values per column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    score = X[:, 0] + np.abs(X[:, 1]) - 0.8 + 0.5 * X[:, 2] * X[:, 3]
    return X, (score + noise * rng.normal(size=n_rows) > 0).astype(int)


def several(n_classes=3, n_rows=240, seed=0):
    """Classes 0, 1, ... that are neighbours along a slanted line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    score = X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=n_rows)
    edges = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(score, edges)


def problem(n_classes=2, **options):
    """One of the two above."""
    return two(**options) if n_classes == 2 else several(n_classes, **options)


def breast():
    return load_breast_cancer(return_X_y=True)


def iris():
    return load_iris(return_X_y=True)


def signs(model, y):
    """-1 and +1 of labels of two classes."""
    return np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)


def fit_without_warnings(model, X, y, **options):
    """Fit without warnings of the learners."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **options)


def staged_errors(model, X, y, weight=None):
    """The weighted training error after every round, from the predictions alone."""
    return np.array([np.average(p != np.asarray(y), weights=weight) for p in model.staged_predict(X)])


def make_kinds(n_estimators=10, **parameters):
    """A model of each kind and algorithm, with Hedgerow's stumps."""
    made = {
        name: AdaBoostClassifier(algorithm=name, n_estimators=n_estimators, **parameters)
        for name in ALGORITHMS
    }
    made["logit"] = LogitBoostClassifier(n_estimators=n_estimators, **parameters)
    for cost in ("exponential", "logistic", "sigmoid"):
        made[f"any {cost}"] = AnyBoostClassifier(cost=cost, n_estimators=n_estimators, **parameters)
    return made


KINDS = tuple(make_kinds())
SEVERAL_KINDS = tuple(  # those for more than two classes
    kind for kind in KINDS if not (kind.startswith("any") or (kind in RULES and RULES[kind].two_classes_only))
)


def make_kind(name, **parameters):
    return make_kinds(**parameters)[name]


class SklearnStump(ClassifierMixin, BaseEstimator):
    """scikit-learn's stump without a random_state: two libraries cannot give it different ones."""

    def fit(self, X, y, sample_weight=None):
        self.tree_ = ForeignTree(max_depth=1, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)


class SklearnRegressionStump(RegressorMixin, BaseEstimator):
    """The same for numbers."""

    def fit(self, X, y, sample_weight=None):
        self.tree_ = ForeignRegressionTree(max_depth=1, random_state=0).fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.tree_.predict(X)


class IgnoresWeights(SklearnStump):
    """Accepts weights and ignores them."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Predicts one label for every row: `label`, or the heaviest class."""

    def __init__(self, label=None):
        self.label = label

    def fit(self, X, y, sample_weight=None):
        self.classes_, numbers = np.unique(y, return_inverse=True)
        heaviest = np.argmax(np.bincount(numbers, sample_weight))
        self.label_ = self.classes_[heaviest] if self.label is None else self.label
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


class WrongAfterFirstRound(ClassifierMixin, BaseEstimator):
    """A stump in the first round, later wrong about every row it was fitted to."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        self.tree_ = ForeignTree(max_depth=1 if self.fits == 1 else None, random_state=0)
        self.tree_.fit(X, y if self.fits == 1 else 1 - y, sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


class PerfectLater(ClassifierMixin, BaseEstimator):
    """A stump in the first rounds, later a tree without limits; its random_state counts the rounds."""

    def __init__(self, late=5, random_state=None):
        self.late, self.random_state = late, random_state

    def fit(self, X, y, sample_weight=None):
        depth = 1 if self.random_state < self.late else None
        self.tree_ = ForeignTree(max_depth=depth, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


class Failing(ClassifierMixin, BaseEstimator):
    """A stump that fails from some round on; its random_state counts the rounds."""

    def __init__(self, late=0, random_state=None):
        self.late, self.random_state = late, random_state

    def fit(self, X, y, sample_weight=None):
        if self.random_state >= self.late:
            raise RuntimeError("the learner fails")
        self.stump_ = SklearnStump().fit(X, y, sample_weight)
        self.classes_ = self.stump_.classes_
        return self

    def predict(self, X):
        return self.stump_.predict(X)


class BadProbabilities(ClassifierMixin, BaseEstimator):
    """Predicts probabilities of a wrong kind."""

    def __init__(self, output="nan"):
        self.output = output

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.zeros(len(X), int)]

    def predict_proba(self, X):
        return {
            "nan": np.full((len(X), 2), np.nan),
            "one column": np.full((len(X), 1), 0.5),
            "flat": np.full(len(X), 0.5),
            "short": np.full((len(X) - 1, 2), 0.5),
            "long": np.full((len(X) + 9, 2), 0.5),
        }[self.output]


class WrongNumberOfLabels(ClassifierMixin, BaseEstimator):
    """Returns too many or too few predictions."""

    def __init__(self, more=1):
        self.more = more

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X) + self.more, self.classes_[0])


class WrongNumberOfValues(RegressorMixin, BaseEstimator):
    """The same for numbers."""

    def __init__(self, more=1):
        self.more = more

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.full(len(X) + self.more, 0.1)
