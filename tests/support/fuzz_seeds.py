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
import model_cases
from cascade_files import large_seeds, small_seeds
from hedgerow.container import unpack
from hedgerow.io.checkpoints import checked_notes
from hedgerow.io.models import from_bytes, open_bytes, to_bytes
from hedgerow.selection import WeightedEnsembleClassifier, WeightedEnsembleRegressor
from hedgerow.theory import certify
from model_cases import KINDS, classes, named, numbers, plain

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


# --- models

DRAWN = {"n_estimators": 2, "random_state": 0}
GRADIENT = (
    *("two classes", "three classes, categories, names", "huber", "constraints", "sampling", "symmetric"),
    *("early stopping", "target statistics", "linear leaves", "without trees"),
)
CHECKPOINTED = (
    *("gradient", "gradient of numbers", "adaboost", "adaboost on a grid", "logitboost", "anyboost"),
    *(
        "dropped rounds",
        "leaf values by fold",
        "adaboost.r2",
        "three",
        "forest",
        "forest of numbers",
        "extra trees",
        "bag",
        "bag of boosters",
    ),
)


SCORED = {  # checkpoints of these have scores of rows
    "dropped rounds": lambda: (hr.GradientBoostingRegressor(drop_rate=0.5), *plain()),
    "leaf values by fold": lambda: (hr.GradientBoostingClassifier(leaf_value_folds=2), *named(3)),
}


def few_rounds(model):
    """Parameters for a small file; with out-of-bag results, every row needs trees without it."""
    if not hasattr(model, "n_estimators"):
        return {}
    return {"n_estimators": 5 if getattr(model, "oob_score", False) else 2}


def ensemble(kind, data, *members):
    X, y = data
    return kind(list(members)).fit(X, y), X


@cache
def fitted():
    """Every model by name, with its rows."""
    with warnings.catch_warnings():  # with few trees some rows have no out-of-bag prediction
        warnings.simplefilter("ignore", UserWarning)
        found = {name: model_cases.fit(name, **few_rounds(make()[0]))[:2] for name, make in KINDS.items()}
    forest, stumps = (
        hr.RandomForestClassifier(2, max_depth=2, random_state=0),
        hr.AdaBoostClassifier(n_estimators=2),
    )
    trees = hr.GradientBoostingRegressor(n_estimators=2), hr.DecisionTreeRegressor(max_depth=2)
    found |= {name: model_cases.fitted(name)[:2] for name in GRADIENT} | {
        "forest, voted": model_cases.reweighted()[:2],
        "weighted ensemble": ensemble(WeightedEnsembleClassifier, plain(2), forest, stumps),
        "weighted ensemble of numbers": ensemble(WeightedEnsembleRegressor, named(), *trees),
    }
    return {name: (model, X[:5]) for name, (model, X) in found.items()}


# --- files of each format


@cache
def current():
    """Files of all models; one has a card, one a certificate."""
    X, signal = numbers(60, seed=5)
    seeds = []
    for name, (model, rows) in fitted().items():
        card = {"title": name, "rows": [18, 2.5, None]} if name == "stump" else None
        certificate = certify(model, X, classes(signal, 2)) if name == "two classes" else None
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
        "gradient of ridge": hr.GradientBoostingRegressor(
            estimator=Ridge(), n_estimators=2, random_state=0
        ).fit(X, X[:, 0]),
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
            _, X, _ = (KINDS | SCORED)[name]()
            resume = fit_with_checkpoint(name, 1)
            seeds.append(Seed(name, path.read_bytes(), X[:5], read_checkpoint, resume=resume))
    return seeds


def fit_with_checkpoint(name, more=0):
    """Return a function that fits a model with `more` additional rounds and a checkpoint."""
    made, X, y = (KINDS | SCORED)[name]()
    made.set_params(**few_rounds(made))
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
