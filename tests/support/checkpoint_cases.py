"""Fits to interrupt: every boosting and bagging estimator, with options that are difficult to resume."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor as ForeignTree

import hedgerow


class Killed(Exception):  # noqa: N818 - an end, not an error
    """Simulates a signal that ends the process."""


@dataclass
class Case:
    """An estimator, the name of its target, and further arguments of `fit`.

    `clean` is for learners that refuse missing values.
    """

    model: Any
    target: str = "two"
    fit_arguments: dict[str, Any] = field(default_factory=dict)
    clean: bool = False

    def fit(self, **more):
        """Fit a clone."""
        X, targets = rows()
        return clone(self.model).fit(
            np.nan_to_num(X) if self.clean else X, targets[self.target], **(self.fit_arguments | more)
        )


def rows(n=240, seed=0):
    """A table with missing values, and a target of two classes, of three, and of numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    targets = {"two": (score > 0).astype(int), "three": np.digitize(score, [-0.5, 0.5]), "numbers": score}
    return X, targets


def cases():
    """All cases by name."""
    h, (X_valid, valid) = hedgerow, rows(80, 1)
    stops = {"early_stopping": True, "n_iter_no_change": 3, "random_state": 4}
    return {
        "gradient": Case(
            h.GradientBoostingClassifier(n_estimators=9, subsample=0.7, max_features=0.5, random_state=1)
        ),
        "gradient, stops": Case(
            h.GradientBoostingClassifier(n_estimators=60, learning_rate=0.9, **stops), "three"
        ),
        "gradient, evaluated": Case(
            h.GradientBoostingRegressor(n_estimators=60, loss="huber", learning_rate=0.9, **stops),
            "numbers",
            {"eval_set": (X_valid, valid["numbers"])},
        ),
        "gradient, dropped rounds": Case(
            h.GradientBoostingRegressor(
                n_estimators=9, loss="huber", drop_rate=0.4, learning_rate_decay=0.9, random_state=1
            ),
            "numbers",
            {
                "sample_weight": np.arange(240) % 3 + 0.5,
                "eval_set": [(X_valid, valid["numbers"]), (X_valid[:9], valid["numbers"][:9])],
            },
        ),
        "gradient, leaf values by fold": Case(
            h.GradientBoostingClassifier(n_estimators=60, learning_rate=0.9, leaf_value_folds=3, **stops),
            "three",
        ),
        "real": Case(h.AdaBoostClassifier(n_estimators=9, algorithm="real", random_state=3), "three"),
        "gentle": Case(h.AdaBoostClassifier(n_estimators=9, algorithm="gentle", random_state=3), "three"),
        "resampled": Case(h.AdaBoostClassifier(n_estimators=40, resample=True, **stops)),
        "perfect": Case(
            h.AdaBoostClassifier(n_estimators=9, estimator=h.DecisionTreeClassifier(), random_state=0)
        ),
        "numbers": Case(h.AdaBoostRegressor(n_estimators=30, **stops), "numbers"),
        "logit": Case(h.LogitBoostClassifier(n_estimators=9), "three"),
        "any": Case(h.AnyBoostClassifier(n_estimators=9)),
        "forest": Case(h.RandomForestClassifier(n_estimators=9, oob_score=True, random_state=2), "three"),
        "forest of numbers": Case(
            h.RandomForestRegressor(n_estimators=9, oob_score=True, random_state=2), "numbers"
        ),
        "extra trees": Case(h.ExtraTreesClassifier(n_estimators=9, random_state=2)),
        "bag": Case(h.BaggingClassifier(n_estimators=8, oob_score=True, random_state=2), "three"),
        "bag of numbers": Case(
            h.BaggingRegressor(n_estimators=8, max_features=0.5, random_state=2), "numbers"
        ),
        "three": Case(h.SchapireBoostClassifier(depth=2, random_state=0)),
        "foreign gradient": Case(
            h.GradientBoostingRegressor(n_estimators=6, estimator=ForeignTree(max_depth=2), random_state=0),
            "numbers",
            clean=True,
        ),
        "foreign votes": Case(
            h.AdaBoostClassifier(n_estimators=6, estimator=LogisticRegression(), random_state=0), clean=True
        ),
        "foreign numbers": Case(
            h.AdaBoostRegressor(n_estimators=6, estimator=Ridge(), random_state=0), "numbers", clean=True
        ),
        "foreign bag": Case(
            h.BaggingClassifier(LogisticRegression(), n_estimators=6, oob_score=True, random_state=0),
            clean=True,
        ),
        "foreign three": Case(h.SchapireBoostClassifier(LogisticRegression(), random_state=0), clean=True),
    }


class KillingStore:
    """Writes checkpoints and raises `Killed` after the last of `n_writes`."""

    def __init__(self, store, n_writes):
        self._store, self._left = store, n_writes

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write(self, path, model, notes):
        self._store.write(path, model, notes)
        self._left -= 1
        if not self._left:
            raise Killed
