"""Models of every kind with the bounds that certify reports of them."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as OtherTree
from sklearn.tree import DecisionTreeRegressor as OtherRegressor

import hedgerow as hr
from hedgerow.theory.applicable_bounds import CLASS, MARGINS, VOTES

EDGES = np.linspace(-2, 2, 9)
FIXED = hr.DecisionStump(bin_edges=EDGES)
OUT_OF_BAG = {f"out-of-bag {name}" for name in VOTES}
HELD_OUT = {f"hold-out {name}" for name in VOTES}
CALIBRATED = {f"calibration {name}" for name in VOTES}
COUNTED = set(CLASS)
FEW_TREES = 150


def table(n_rows=400, seed=0, n_classes=2):
    """Labels in text, which depend on three columns of four, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    score = 2 * X[:, 0] + X[:, 1] + np.sin(2 * X[:, 2]) + 0.6 * rng.normal(size=n_rows)
    edges = [-1.2, 1.2] if n_classes == 3 else [0.0]
    return X, np.array(["no", "so", "yes"] if n_classes == 3 else ["no", "yes"])[
        np.searchsorted(edges, score)
    ]


class Squares:
    """A cost of the user's own: (1 - margin)^2 up to margin 1."""

    def cost(self, margin):
        return np.maximum(0.0, 1.0 - margin) ** 2

    def derivative(self, margin):
        return -2.0 * np.maximum(0.0, 1.0 - margin)


def forest(kind=hr.RandomForestClassifier, **options):
    return kind(FEW_TREES, oob_score=True, bootstrap=True, random_state=0, **options)


def bag(learner=None, **options):
    return hr.BaggingClassifier(
        learner, n_estimators=30, max_samples=0.6, oob_score=True, random_state=0, **options
    )


# model, bounds without rows, further bounds with rows
BINARY = {
    "discrete": (hr.AdaBoostClassifier(n_estimators=9), COUNTED, HELD_OUT),
    "m1": (hr.AdaBoostClassifier(n_estimators=9, algorithm="m1"), COUNTED, HELD_OUT),
    "samme": (hr.AdaBoostClassifier(n_estimators=9, algorithm="samme"), COUNTED, HELD_OUT),
    "fixed edges": (hr.AdaBoostClassifier(FIXED, n_estimators=9), COUNTED | set(MARGINS), HELD_OUT),
    "trees": (
        hr.AdaBoostClassifier(hr.DecisionTreeClassifier(max_depth=2), n_estimators=9),
        set(CLASS[1:]),  # the VC dimension needs more rows
        HELD_OUT,
    ),
    "foreign": (hr.AdaBoostClassifier(OtherTree(max_depth=1), n_estimators=9), set(), HELD_OUT),
    "real": (hr.AdaBoostClassifier(n_estimators=9, algorithm="real"), set(), set()),
    "samme.r": (hr.AdaBoostClassifier(n_estimators=9, algorithm="samme.r"), set(), set()),
    "gentle": (hr.AdaBoostClassifier(n_estimators=9, algorithm="gentle"), set(), set()),
    "logit": (hr.LogitBoostClassifier(n_estimators=9), set(), set()),
    "any": (hr.AnyBoostClassifier(FIXED, n_estimators=9), COUNTED | set(MARGINS), HELD_OUT),
    "any, sigmoid": (hr.AnyBoostClassifier(cost="sigmoid", n_estimators=9), COUNTED, HELD_OUT),
    "any, own cost": (hr.AnyBoostClassifier(FIXED, cost=Squares(), n_estimators=9), set(), set()),
    "gradient": (hr.GradientBoostingClassifier(n_estimators=9), set(), set()),
    "gradient, foreign": (
        hr.GradientBoostingClassifier(estimator=OtherRegressor(max_depth=2), n_estimators=4),
        set(),
        set(),
    ),
    "bag": (bag(), OUT_OF_BAG, HELD_OUT),
    "hard bag": (bag(hr.DecisionTreeClassifier(max_depth=3), voting="hard"), OUT_OF_BAG, HELD_OUT),
    "foreign bag": (bag(GaussianNB()), OUT_OF_BAG, HELD_OUT),
    "foreign hard bag": (bag(GaussianNB(), voting="hard"), OUT_OF_BAG, HELD_OUT),
    "bag without rows left out": (hr.BaggingClassifier(n_estimators=9, random_state=0), set(), HELD_OUT),
    "forest": (forest(), OUT_OF_BAG, HELD_OUT),
    "extra trees": (forest(hr.ExtraTreesClassifier), OUT_OF_BAG, HELD_OUT),
    "extra trees without bags": (hr.ExtraTreesClassifier(9, random_state=0), set(), HELD_OUT),
    "three": (hr.SchapireBoostClassifier(random_state=0), set(), set()),
    "scikit-learn": (LogisticRegression(), set(), set()),
    "pipeline": (make_pipeline(StandardScaler(), hr.AdaBoostClassifier(n_estimators=9)), set(), set()),
    "search": (GridSearchCV(hr.AdaBoostClassifier(), {"n_estimators": [3, 5]}, cv=2), set(), set()),
}
EVERY = pytest.mark.parametrize("name", BINARY)


@cache
def fitted(name):
    """A model of BINARY, fitted to table(); tests must not change it."""
    return clone(BINARY[name][0]).fit(*table())


def names(certificate):
    return {bound.name for bound in certificate}
