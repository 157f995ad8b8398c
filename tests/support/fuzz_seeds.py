"""Valid files of every format, a few kilobytes each, which are mutated by the fuzz tests.

A `Seed` has the bytes of a file, the function that reads it, and rows to predict. There are models of every
kind, so small that thousands of files are read per second.
"""

import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fuzz_cascades
import hedgerow as hr
from cascade_files import large_seeds, small_seeds
from hedgerow.container import unpack
from hedgerow.io.checkpoints import checked_notes
from hedgerow.io.models import from_bytes, open_bytes, to_bytes
from hedgerow.selection import WeightedEnsembleClassifier, WeightedEnsembleRegressor
from hedgerow.theory import certify, optimize_votes, quantile_grid
from model_cases import classes

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Seed:
    """A valid file, the function that reads it, and rows for its model."""

    name: str
    data: bytes
    rows: Any
    read: Callable[[bytes], Any] = from_bytes
    resume: Callable[[Path], Any] | None = None  # resumes the fit of a checkpoint
    foreign: bool = False  # whether members are of another library
    large: bool = False


# --- rows


def numbers(n=18, n_columns=2):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n_columns))
    X[3, 0] = np.nan
    return X, np.nan_to_num(X[:, 0]) + X[:, 1] ** 2


def plain(n_classes=None, n=18):
    X, signal = numbers(n)
    return X, signal if n_classes is None else classes(signal, n_classes)


def pairs():
    X, signal = plain()
    return X, np.stack([signal, signal**2], axis=1)


def coloured(n_classes=None, n=18):
    """Two numeric columns and one of colours."""
    X, signal = numbers(n)
    which = np.arange(n) % 3
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["colour"] = pd.Categorical(np.array(["blue", "green", "red"])[which])
    signal = signal + which
    if n_classes is None:
        return frame, signal
    return frame, np.array(["no", "perhaps", "yes"])[classes(signal, n_classes)]


# --- models

FEW = {"n_estimators": 2}
DRAWN = {"n_estimators": 2, "random_state": 0}
OOB = {"n_estimators": 5, "random_state": 0, "oob_score": True}
TREE = {"n_estimators": 2, "max_leaf_nodes": 4, "min_samples_leaf": 2}

MODELS = {
    "gradient": lambda: (hr.GradientBoostingClassifier(**TREE), *plain(2)),
    "gradient, colours": lambda: (hr.GradientBoostingClassifier(random_state=3, **TREE), *coloured(3)),
    "gradient of numbers": lambda: (
        hr.GradientBoostingRegressor(loss="huber", subsample=0.9, **TREE), *plain(),
    ),
    "gradient, stopped": lambda: (
        hr.GradientBoostingRegressor(early_stopping=True, n_iter_no_change=1, random_state=1, **TREE),
        *coloured(),
    ),
    "adaboost": lambda: (hr.AdaBoostClassifier(**FEW), *plain(2)),
    "adaboost samme": lambda: (hr.AdaBoostClassifier(algorithm="samme", **FEW), *coloured(3)),
    "adaboost real": lambda: (hr.AdaBoostClassifier(algorithm="real", **FEW), *coloured(2)),
    "adaboost gentle, grid": lambda: (
        hr.AdaBoostClassifier(
            hr.DecisionStump(bin_edges=quantile_grid(plain(3)[0], max_bins=4)), algorithm="gentle", **FEW
        ),
        *plain(3),
    ),
    "logitboost": lambda: (hr.LogitBoostClassifier(**FEW), *coloured(3)),
    "anyboost": lambda: (hr.AnyBoostClassifier(cost="sigmoid", **FEW), *plain(2)),
    "adaboost.r2": lambda: (hr.AdaBoostRegressor(hr.DecisionTreeRegressor(max_depth=2), **FEW), *coloured()),
    "schapire": lambda: (hr.SchapireBoostClassifier(random_state=0), *plain(2, 40)),
    "forest": lambda: (hr.RandomForestClassifier(**OOB), *plain(2)),
    "forest, colours": lambda: (hr.RandomForestClassifier(max_depth=2, **DRAWN), *coloured(3)),
    "forest of numbers": lambda: (hr.RandomForestRegressor(min_samples_leaf=2, **OOB), *coloured()),
    "forest of pairs": lambda: (hr.RandomForestRegressor(max_depth=2, **DRAWN), *pairs()),
    "extra trees": lambda: (hr.ExtraTreesClassifier(max_depth=2, **DRAWN), *plain(3)),
    "extra trees of numbers": lambda: (hr.ExtraTreesRegressor(max_depth=2, **DRAWN), *plain()),
    "bag": lambda: (hr.BaggingClassifier(hr.DecisionStump(), **OOB), *coloured(2)),
    "bag, few rows": lambda: (hr.BaggingClassifier(max_samples=2, n_estimators=3, random_state=0), *plain(2)),
    "bag of boosters": lambda: (
        hr.BaggingClassifier(hr.GradientBoostingClassifier(**TREE), voting="soft", **DRAWN), *plain(2),
    ),
    "bag of numbers": lambda: (
        hr.BaggingRegressor(hr.DecisionTreeRegressor(max_depth=1), bootstrap=False, max_features=1, **DRAWN),
        *plain(),
    ),
    "tree": lambda: (hr.DecisionTreeClassifier(max_depth=2), *coloured(3)),
    "tree of numbers": lambda: (hr.DecisionTreeRegressor(max_depth=2), *plain()),
    "stump": lambda: (hr.DecisionStump(), *plain(2)),
    "weighted ensemble": lambda: (
        WeightedEnsembleClassifier(
            [hr.RandomForestClassifier(max_depth=2, **DRAWN), hr.AdaBoostClassifier(**FEW)], weights=[3, 1]
        ),
        *plain(2),
    ),
    "weighted ensemble of numbers": lambda: (
        WeightedEnsembleRegressor(
            [hr.GradientBoostingRegressor(**TREE), hr.DecisionTreeRegressor(max_depth=2)]
        ),
        *coloured(),
    ),
}  # fmt: skip


def voted():
    """A forest whose votes are optimized on rows outside of its training rows."""
    X, y = plain(2, 60)
    forest = hr.RandomForestClassifier(max_depth=1, **DRAWN).fit(X[:20], y[:20])
    return optimize_votes(forest, X[20:], y[20:]), X


CHECKPOINTED = (
    *("gradient", "gradient, stopped", "adaboost", "adaboost gentle, grid", "logitboost", "anyboost"),
    *("adaboost.r2", "schapire", "forest", "forest of numbers", "extra trees", "bag", "bag of boosters"),
)


@cache
def fitted():
    """Every model by name, with its rows."""
    models = {}
    for name, make in MODELS.items():
        model, X, y = make()
        with warnings.catch_warnings():  # with few trees some rows have no out-of-bag prediction
            warnings.simplefilter("ignore", UserWarning)
            models[name] = model.fit(X, y), X[:5]
    model, X = voted()
    return models | {"forest, voted": (model, X[:5])}


# --- files of each format


@cache
def current():
    """Files of all models; one has a card, one a certificate."""
    X, y = plain(2, 30)
    seeds = []
    for name, (model, rows) in fitted().items():
        card = {"title": name, "rows": [18, 2.5, None]} if name == "stump" else None
        certificate = certify(model, X, y) if name == "gradient" else None
        seeds.append(Seed(name, to_bytes(model, card, certificate), rows))
    return seeds


def stored(*, foreign=False):
    """Return the files in the tests: of Hedgerow's own models, or with members of another library."""
    seeds = []
    for path in sorted(FOLDER.glob("format_1_*.safetensors")):
        contents = unpack(path.read_bytes())
        is_cascade = json.loads(contents.text).get("kind") == "cascade"
        if not is_cascade and ("skops.0" in contents.arrays) == foreign:
            rows = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["X"]
            rows = (pd.DataFrame(rows) if isinstance(rows, dict) else np.array(rows))[:5]
            seeds.append(Seed(path.stem, path.read_bytes(), rows, foreign=foreign))
    return seeds


@cache
def foreign():
    """Models with members of scikit-learn, stored through skops."""
    X, y = plain(2)
    X = np.nan_to_num(X)
    line = make_pipeline(StandardScaler(), Ridge())
    models = {
        "adaboost of bayes": hr.AdaBoostClassifier(GaussianNB(), **DRAWN).fit(X, y),
        "bag of lines": hr.BaggingRegressor(line, **DRAWN).fit(X, X[:, 0]),
        "bag of logistic": hr.BaggingClassifier(LogisticRegression(), **DRAWN).fit(X, y),
        "gradient of ridge": hr.GradientBoostingRegressor(estimator=Ridge(), **DRAWN).fit(X, X[:, 0]),
        "schapire of bayes": hr.SchapireBoostClassifier(GaussianNB(), random_state=0).fit(X, y),
    }
    made = [Seed(name, to_bytes(model), X[:5], foreign=True) for name, model in models.items()]
    return [*stored(foreign=True), *made]


@cache
def cascades(*, packed):
    """Small cascades in files of Hedgerow or of OpenCV, and the large ones of installed libraries."""
    small = [one for one in small_seeds() if one.packed == packed]
    large = [] if packed else large_seeds()
    return [
        Seed(one.name, one.data, None, partial(read_cascade, one.read), large=one in large)
        for one in small + large
    ]


def read_cascade(read, data):
    """Read a cascade and evaluate it."""
    model = read(data)
    model = model[0] if isinstance(model, tuple) else model
    fuzz_cascades.evaluate(model)
    return model


@cache
def checkpoints():
    """Checkpoints after two rounds, and functions that resume the fit for one more round."""
    seeds = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(CHECKPOINTED):
            path = Path(folder) / str(number)
            fit_with_checkpoint(name)(path)
            _, X, _ = MODELS[name]()
            resume = fit_with_checkpoint(name, 1)
            seeds.append(Seed(name, path.read_bytes(), X[:5], read_checkpoint, resume=resume))
    return seeds


def fit_with_checkpoint(name, more=0):
    """Return a function that fits a model with `more` additional rounds and a checkpoint."""
    made, X, y = MODELS[name]()
    if hasattr(made, "random_state"):
        made.random_state = 0  # a checkpoint stores the seed
    if hasattr(made, "n_estimators"):
        made.n_estimators += more

    def fit(path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return clone(made).fit(X, y, checkpoint=path)

    return fit


def read_checkpoint(data):
    checked_notes(open_bytes(data)[0].get("checkpoint"))
    return from_bytes(data, unfinished=True)
