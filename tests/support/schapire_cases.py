"""Data and models for the tests of boosting by three hypotheses."""

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.tree import DecisionTreeClassifier

from hedgerow import SchapireBoostClassifier

STUMP = DecisionTreeClassifier(max_depth=1)
TREE = DecisionTreeClassifier(max_depth=3)


def boosted(estimator=STUMP, **parameters):
    return SchapireBoostClassifier(estimator, **{"random_state": 0} | parameters)


def moons(n_rows=1000, seed=0):
    return make_moons(n_rows, noise=0.25, random_state=seed)


def four_classes(n_rows=1200, seed=0):
    X, y = make_classification(
        n_rows, 6, n_informative=4, n_classes=4, n_clusters_per_class=1, class_sep=0.8, random_state=seed
    )
    return X, np.array(["ash", "beech", "oak", "yew"])[y]
