"""Small fitted models of every kind that a file can store, each with its training rows.

MODELS are gradient boosting models with different parameters; KINDS are models of all other kinds.
"""

import json
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import hedgerow as hr
from hedgerow.container import pack, unpack
from hedgerow.forest import Forest
from hedgerow.losses import LOSSES
from hedgerow.theory import optimize_votes, quantile_grid


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
    return small(hr.GradientBoostingClassifier, **parameters).fit(X, classes(signal, 2)), X


def regressor(**parameters):
    X, signal = numbers()
    return small(hr.GradientBoostingRegressor, **parameters).fit(X, np.exp(signal / 2)), X


def coloured(**parameters):
    X, signal = frame()
    y = np.array(["no", "perhaps", "yes"])[classes(signal, 3)]
    return small(hr.GradientBoostingClassifier, random_state=3, **parameters).fit(X, y), X


def stopped():
    X, signal = numbers()
    model = small(hr.GradientBoostingRegressor, n_estimators=30, early_stopping=True, n_iter_no_change=3)
    return model.fit(X, signal, eval_set=[(X[:50], signal[:50]), (X[50:90], signal[50:90])]), X


def without_trees():
    """The model after an interrupt in the first round."""
    model, X = regressor()
    model.model_ = replace(model.model_, forest=Forest.of([], []))
    model.n_estimators_ = model.n_iter_ = 0
    model.history_ = {}
    return model, X


LOSS_PARAMETERS = {"huber": {"alpha": 0.8}, "quantile": {"quantile": 0.2}, "tweedie": {"power": 1.3}}

MODELS = {
    "two classes": classifier,
    "three classes, categories, names": coloured,
    "exponential": lambda: classifier(loss="exponential", newton=False),
    "class_weight": lambda: classifier(class_weight={0: 1.0, 1: 2.5}),
    **{name: partial(regressor, loss=name, **LOSS_PARAMETERS.get(name, {})) for name in LOSSES["regression"]},
    "constraints": lambda: regressor(monotonic_cst=[1, 0, 0, -1], interaction_cst=[[0, 2], [1]]),
    "sampling": lambda: regressor(subsample=0.5, max_features=0.5, random_strength=0.5, random_state=7),
    "symmetric": lambda: regressor(growth_policy="symmetric", max_leaf_nodes=None, max_depth=3),
    "leaf values": lambda: regressor(path_smooth=4.0, leaf_value_folds=2, random_state=7),
    "early stopping": stopped,
    "folds": lambda: regressor(n_folds=2, subsample=0.5),
    "target statistics": lambda: coloured(max_categories_for_sets=3),
    "linear leaves": lambda: coloured(linear_leaves=True),
    "without trees": without_trees,
}


def changed(data, *, arrays=None, **entries):
    """Replace arrays or entries of the description of a file; the checksum is correct."""
    contents = unpack(data)
    description = json.loads(contents.text) | entries
    return pack(json.dumps(description), contents.arrays | (arrays or {}))


# --- the other kinds: an unfitted model and its training rows

ROWS = 150


def plain(n_classes=None):
    """Numbers with missing values, and class numbers, or a numeric target if `n_classes` is None."""
    X, signal = numbers(ROWS)
    return X, signal if n_classes is None else classes(signal, n_classes)


def named(n_classes=None):
    """A frame with categories, and text labels."""
    X, signal = frame(ROWS)
    return X, signal if n_classes is None else np.array(["no", "so", "yes"])[classes(signal, n_classes)]


def weighted(kind, data, **parameters):
    """A model that is fitted with sample weights."""
    X, y = data
    return kind(**parameters), X, y, {"sample_weight": np.arange(len(y)) % 3 / 4 + 0.5}


def on_grid(kind, **parameters):
    X, y = plain(2)
    grid = quantile_grid(X[:50], 8)
    if kind is hr.AdaBoostClassifier:
        return hr.AdaBoostClassifier(hr.DecisionStump(bin_edges=grid), **parameters), X[50:], y[50:]
    return kind(bin_edges=grid, **parameters), X[50:], y[50:]


ADA, FEW = {"n_estimators": 4}, {"n_estimators": 3, "random_state": 0}
OOB = {"n_estimators": 20, "random_state": 0, "oob_score": True}
KINDS = {
    "adaboost": lambda: (hr.AdaBoostClassifier(**ADA), *plain(2)),
    "adaboost m1, three classes": lambda: (hr.AdaBoostClassifier(algorithm="m1", **ADA), *plain(3)),
    "adaboost samme, categories": lambda: (hr.AdaBoostClassifier(algorithm="samme", **ADA), *named(3)),
    "adaboost real": lambda: (hr.AdaBoostClassifier(algorithm="real", **ADA), *named(2)),
    "adaboost samme.r, trees": lambda: (
        hr.AdaBoostClassifier(hr.DecisionTreeClassifier(max_depth=2), algorithm="samme.r", **ADA), *plain(3),
    ),
    "adaboost gentle": lambda: (hr.AdaBoostClassifier(algorithm="gentle", **ADA), *plain(3)),
    "adaboost, exact": lambda: (
        hr.AdaBoostClassifier(hr.DecisionStump(max_bins=9000), **ADA), *numbers_many(),
    ),
    "adaboost, drawn": lambda: (hr.AdaBoostClassifier(resample=True, random_state=1, **ADA), *plain(2)),
    "adaboost, early": lambda: (
        hr.AdaBoostClassifier(n_estimators=30, early_stopping=True, n_iter_no_change=2, random_state=0),
        *plain(2),
    ),
    "adaboost on a grid": lambda: on_grid(hr.AdaBoostClassifier, **ADA),
    "adaboost, weighted": lambda: weighted(hr.AdaBoostClassifier, plain(2), **ADA),
    "logitboost": lambda: (hr.LogitBoostClassifier(**ADA), *plain(2)),
    "logitboost, three classes": lambda: (hr.LogitBoostClassifier(**ADA), *named(3)),
    "anyboost": lambda: (hr.AnyBoostClassifier(**ADA), *plain(2)),
    "anyboost sigmoid": lambda: (hr.AnyBoostClassifier(cost="sigmoid", **ADA), *plain(2)),
    "anyboost logistic": lambda: (hr.AnyBoostClassifier(cost="logistic", **ADA), *named(2)),
    "adaboost.r2": lambda: (hr.AdaBoostRegressor(**ADA, random_state=0), *plain()),
    "adaboost.r2, categories": lambda: (
        hr.AdaBoostRegressor(hr.DecisionTreeRegressor(max_depth=2), loss="square", random_state=0, **ADA),
        *named(),
    ),
    "three": lambda: (hr.SchapireBoostClassifier(random_state=0), *named(2)),
    "nine": lambda: (
        hr.SchapireBoostClassifier(hr.DecisionTreeClassifier(), depth=2, random_state=0), *plain(2),
    ),
    "forest": lambda: (hr.RandomForestClassifier(**OOB), *plain(2)),
    "forest, categories": lambda: (hr.RandomForestClassifier(**FEW), *named(3)),
    "forest, shallow": lambda: (hr.RandomForestClassifier(max_depth=2, **FEW), *plain(3)),
    "forest on a grid": lambda: on_grid(hr.RandomForestClassifier, **OOB),
    "forest, weighted": lambda: weighted(hr.RandomForestClassifier, plain(3), class_weight="balanced", **OOB),
    "forest, whole": lambda: weighted(hr.RandomForestClassifier, plain(2), bootstrap=False, **FEW),
    "forest of numbers": lambda: (hr.RandomForestRegressor(min_samples_leaf=4, **OOB), *named()),
    "forest of numbers, weighted": lambda: weighted(hr.RandomForestRegressor, plain(), **OOB),
    "forest of pairs": lambda: (hr.RandomForestRegressor(**OOB), *pairs()),
    "extra trees": lambda: (hr.ExtraTreesClassifier(**FEW), *plain(3)),
    "extra trees of numbers": lambda: (hr.ExtraTreesRegressor(criterion="poisson", **FEW), *counts()),
    "bag": lambda: (hr.BaggingClassifier(**OOB), *named(3)),
    "bag, soft": lambda: (hr.BaggingClassifier(voting="soft", max_features=0.5, **OOB), *plain(2)),
    "bag, few rows": lambda: (hr.BaggingClassifier(max_samples=3, **FEW | {"n_estimators": 9}), *plain(3)),
    "bag, columns twice": lambda: (hr.BaggingClassifier(bootstrap_features=True, **FEW), *plain(2)),
    "bag, weighted": lambda: weighted(hr.BaggingClassifier, plain(2), **OOB),
    "bag of boosters": lambda: (
        hr.BaggingClassifier(hr.GradientBoostingClassifier(n_estimators=2, subsample=0.9), **FEW), *plain(2),
    ),
    "bag of bags": lambda: (
        hr.BaggingClassifier(hr.BaggingClassifier(hr.DecisionStump(), n_estimators=2), **FEW), *plain(2),
    ),
    "bag of numbers": lambda: (hr.BaggingRegressor(**OOB), *named()),
    "bag of forests": lambda: (
        hr.BaggingRegressor(hr.ExtraTreesRegressor(3), bootstrap=False, **FEW), *plain(),
    ),
    "tree": lambda: (hr.DecisionTreeClassifier(), *named(3)),
    "tree of numbers": lambda: (hr.DecisionTreeRegressor(), *named()),
    "stump": lambda: (hr.DecisionStump(), *plain(2)),
    "stump, categories": lambda: (hr.DecisionStump(), *only_colours()),
    "gradient": lambda: (small(hr.GradientBoostingClassifier, random_state=3), *named(3)),
    "gradient of numbers": lambda: (small(hr.GradientBoostingRegressor), *plain()),
}  # fmt: skip


def numbers_many():
    """More distinct values than one byte can represent."""
    X, signal = numbers(600, 2)
    return X, classes(signal, 2)


def pairs():
    X, signal = plain()
    return X, np.stack([signal, signal**2], axis=1)


def counts():
    X, signal = plain()
    return X, np.floor(np.abs(signal))


def only_colours():
    X, y = named(2)
    return X[["colour"]], y


def fit(name, **parameters):
    """A model of KINDS with other parameters, its rows and their targets; no targets for one of MODELS."""
    if name in MODELS:
        return *MODELS[name](), None
    model, X, y, *more = KINDS[name]()
    return model.set_params(**parameters).fit(X, y, **(more[0] if more else {})), X, y


@cache
def fitted(name):
    """The same, fitted once; tests must not change it."""
    return fit(name)


def reweighted():
    """A forest whose votes are optimized on rows outside of its training rows."""
    X, y = plain(2)
    forest = hr.RandomForestClassifier(**OOB).fit(X[:100], y[:100])
    return optimize_votes(forest, X[100:], y[100:]), X, y


# --- comparison


def assert_same(mine, theirs, path="model"):
    """Compare all attributes of two fitted models bit for bit, except caches."""
    assert type(mine) is type(theirs), path
    if isinstance(mine, np.ndarray):
        assert mine.dtype == theirs.dtype, path
        np.testing.assert_array_equal(mine, theirs, path)
    elif isinstance(mine, BaseEstimator):
        assert repr(mine) == repr(theirs), path
        parameters = mine.get_params(deep=False)
        skipped = set(parameters)
        if "[" in path:  # a file stores fingerprints of the ensemble, not of its members
            skipped.add("data_fingerprints_")
        compared = {name: value for name, value in vars(mine).items() if name not in skipped}
        assert set(compared) == set(vars(theirs)) - skipped, path
        assert_same(compared, {name: vars(theirs)[name] for name in compared}, path)
    elif is_dataclass(mine):
        for field in fields(mine):
            assert_same(getattr(mine, field.name), getattr(theirs, field.name), f"{path}.{field.name}")
    elif isinstance(mine, dict):
        assert list(mine) == list(theirs) or set(mine) == set(theirs), path
        for name in mine.keys() - {"seconds", "_seed", "_made"}:
            assert_same(mine[name], theirs[name], f"{path}.{name}")
    elif isinstance(mine, list | tuple) and not isinstance(mine, type):
        assert len(mine) == len(theirs), path
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(one, other, f"{path}[{number}]")
    elif hasattr(mine, "__dict__") and not isinstance(mine, type):
        assert_same(vars(mine), vars(theirs), path)
    else:
        assert mine == theirs or repr(mine) == repr(theirs) == "nan", path
