"""Small fitted models of every kind a file can hold, each with the rows it was fitted to."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.container import pack, unpack
from hedgerow.forest import Forest


def numbers(n=300, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) * 2 + np.abs(np.nan_to_num(X[:, 1])) + rng.normal(size=n) / 4
    return X, signal


def frame(n=300):
    X, signal = numbers(n, 3)
    colours = np.array(["blue", "green", "red", "white"])
    which = np.random.default_rng(1).integers(0, 4, n)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["colour"] = pd.Categorical(colours[which])
    return table, signal + which


def classes(signal, n_classes):
    return np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)


def small(kind, **parameters):
    return kind(**{"n_estimators": 4, "max_leaf_nodes": 6, "min_samples_leaf": 5, **parameters})


def classifier(**parameters):
    X, signal = numbers()
    return small(GradientBoostingClassifier, **parameters).fit(X, classes(signal, 2)), X


def regressor(**parameters):
    X, signal = numbers()
    return small(GradientBoostingRegressor, **parameters).fit(X, np.exp(signal / 2)), X


def coloured():
    X, signal = frame()
    y = np.array(["no", "perhaps", "yes"])[classes(signal, 3)]
    return small(GradientBoostingClassifier, random_state=3).fit(X, y), X


def stopped():
    X, signal = numbers()
    model = small(GradientBoostingRegressor, n_estimators=30, early_stopping=True, n_iter_no_change=3)
    return model.fit(X, signal, eval_set=[(X[:50], signal[:50]), (X[50:90], signal[50:90])]), X


def without_trees():
    """What an interrupt in the first round leaves."""
    model, X = regressor()
    model.model_ = replace(model.model_, forest=Forest.of([], []))
    model.n_estimators_ = model.n_iter_ = 0
    model.history_ = {}
    return model, X


MODELS = {
    "two classes": classifier,
    "three classes, categories, names": coloured,
    "exponential": lambda: classifier(loss="exponential", newton=False),
    "class_weight": lambda: classifier(class_weight={0: 1.0, 1: 2.5}),
    "squared": regressor,
    "huber": lambda: regressor(loss="huber", alpha=0.8),
    "quantile": lambda: regressor(loss="quantile", quantile=0.2),
    "absolute": lambda: regressor(loss="absolute_error"),
    "poisson": lambda: regressor(loss="poisson"),
    "gamma": lambda: regressor(loss="gamma"),
    "tweedie": lambda: regressor(loss="tweedie", power=1.3),
    "constraints": lambda: regressor(monotonic_cst=np.array([1, 0, 0, -1]), interaction_cst=[{2, 0}, {1}]),
    "sampling": lambda: regressor(subsample=0.5, max_features=0.5, random_state=np.int64(7)),
    "generator": lambda: regressor(subsample=0.5, random_state=np.random.RandomState(1)),
    "early stopping": stopped,
    "without trees": without_trees,
}


def changed(data, *, arrays=None, **entries):
    """The file with other arrays or entries of its description, and a checksum that fits."""
    contents = unpack(data)
    description = json.loads(contents.text) | entries
    return pack(json.dumps(description), contents.arrays | (arrays or {}))
