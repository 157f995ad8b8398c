"""Checksums of models of all families, to compare two versions of the code or two builds of the kernels.

Each line is a fit: the SHA-256 of the arrays in its model file (as a sorted list, so that neither their names
nor the layout of the file matter), and the SHA-256 of its predictions: probabilities, numbers and quantiles,
or the detections of a cascade. A refactoring must not change a line:

    python benchmarks/model_checksums.py > before.txt
    python benchmarks/model_checksums.py | diff before.txt -
"""

import argparse
import hashlib
import json
import struct
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

import hedgerow as h
from hedgerow.boosting.adaboost import RULES
from hedgerow.vision import CascadeTrainer, load_cascade

Fit = tuple[str, Callable[[], Any], NDArray[Any], NDArray[Any], dict[str, Any]]


def tables() -> dict[str, NDArray[Any]]:
    """A simulated table with missing values and a column of categories, and its targets."""
    rng = np.random.default_rng(0)
    n = 3_000
    X = rng.normal(size=(n, 10)).round(2)
    X[:, 3] = rng.integers(0, 12, n)
    score = X[:, 0] - X[:, 1] ** 2 + np.sin(2 * X[:, 2]) + 0.4 * (X[:, 3] % 3) + 0.5 * rng.normal(size=n)
    X[rng.random((n, 10)) < 0.05] = np.nan
    return {
        "X": X,
        "complete": np.nan_to_num(X),
        "binary": np.where(score > 0, "yes", "no"),
        "classes": np.digitize(score, [-1.5, -0.3, 0.6]),
        "number": score,
        "count": rng.poisson(np.exp(0.3 * np.nan_to_num(score))).astype(float),
        "weight": rng.integers(0, 4, n).astype(float),
        "share": rng.random(n) + 0.1,
    }


def gradient_boosting(d: dict[str, NDArray[Any]]) -> Iterator[Fit]:
    """Losses, classes, weights, constraints, sampling, early stopping, other learners."""
    X, few = d["X"], {"n_estimators": 20, "random_state": 0}
    classifier, regressor = h.GradientBoostingClassifier, h.GradientBoostingRegressor
    yield "gradient boosting, two classes", lambda: classifier(**few), X, d["binary"], {}
    yield "gradient boosting, four classes", lambda: classifier(**few), X, d["classes"], {}
    for loss in ("squared_error", "absolute_error", "huber", "quantile"):
        yield f"gradient boosting, {loss}", lambda loss=loss: regressor(loss=loss, **few), X, d["number"], {}
    for loss in ("poisson", "tweedie"):
        yield f"gradient boosting, {loss}", lambda loss=loss: regressor(loss=loss, **few), X, d["count"], {}
    yield (
        "gradient boosting, whole weights",
        lambda: classifier(**few),
        X,
        d["binary"],
        {"sample_weight": d["weight"]},
    )
    options = {"subsample": 0.7, "colsample_bytree": 0.6, "max_features": 0.7, "early_stopping": True}
    yield (
        "gradient boosting, sampling and early stopping",
        lambda: classifier(**options, **few),
        X,
        d["classes"],
        {"sample_weight": d["share"]},
    )
    yield from tree_parameters(d)
    constraints = {"monotonic_cst": [1, *[0] * 9], "interaction_cst": "pairwise", "categorical_features": [3]}
    yield (
        "gradient boosting, constraints and categories",
        lambda: regressor(**constraints, max_leaf_nodes=63, **few),
        X,
        d["number"],
        {},
    )
    yield "gradient boosting, first order", lambda: classifier(newton=False, **few), X, d["binary"], {}
    yield (
        "gradient boosting of ridge regressions",
        lambda: regressor(estimator=Ridge(), **few),
        d["complete"],
        d["number"],
        {},
    )


def tree_parameters(d: dict[str, NDArray[Any]]) -> Iterator[Fit]:
    """Default fits, which have folds, and parameters of the rounds and trees of gradient boosting."""
    X, y, few = d["X"], d["classes"], {"n_estimators": 20, "random_state": 0}
    classifier, regressor = h.GradientBoostingClassifier, h.GradientBoostingRegressor
    some = slice(600)
    yield "gradient boosting, default", lambda: classifier(random_state=0), X[some], y[some], {}
    yield (
        "gradient boosting, default, numbers",
        lambda: regressor(random_state=0),
        X[some],
        d["number"][some],
        {},
    )
    categories = {"max_categories_for_sets": 4, "categorical_features": [3]}
    parameters: dict[str, dict[str, Any]] = {
        "symmetric trees": {"growth_policy": "symmetric", "max_leaf_nodes": None, "max_depth": 5},
        "random strength": {"random_strength": 1.0},
        "sampling by gradients": {"sampling": "gradient"},
        "Bayesian sampling": {"sampling": "bayesian", "subsample": 0.7},
        "dropped rounds": {"drop_rate": 0.3},
        "smoothed paths": {"path_smooth": 5.0},
        "leaf values by fold": {"leaf_value_folds": 3},
        "target statistics": categories,
        "linear leaves": {"linear_leaves": True, "categorical_features": [3]},
        "folds": {"n_folds": 4, "early_stopping": True, **categories},
    }
    for name, more in parameters.items():
        yield f"gradient boosting, {name}", lambda more=more: classifier(**more, **few), X, y, {}


def adaboost(d: dict[str, NDArray[Any]]) -> Iterator[Fit]:
    """Every update rule, both kinds of weak learner, and boosting by three hypotheses."""
    X, few = d["X"], {"n_estimators": 15, "random_state": 0}
    for name in RULES:
        make = lambda a=name: h.AdaBoostClassifier(algorithm=a, **few)  # noqa: E731
        if name in ("samme", "samme.r"):  # the others need stumps that are better than 1/2, or two classes
            yield f"AdaBoost, {name}", make, X, d["classes"], {"sample_weight": d["share"]}
        else:
            yield f"AdaBoost, {name}", make, X, d["binary"], {}
    trees = {"estimator": h.DecisionTreeClassifier(max_depth=3), "early_stopping": True, "resample": True}
    yield "AdaBoost of trees", lambda: h.AdaBoostClassifier(**trees, **few), X, d["classes"], {}
    naive = {"estimator": GaussianNB()}
    yield (
        "AdaBoost of naive Bayes",
        lambda: h.AdaBoostClassifier(**naive, **few),
        d["complete"],
        d["binary"],
        {},
    )
    yield "LogitBoost", lambda: h.LogitBoostClassifier(**few), X, d["classes"], {}
    yield "AnyBoost", lambda: h.AnyBoostClassifier(cost="logistic", **few), X, d["binary"], {}
    yield ("AdaBoost.R2", lambda: h.AdaBoostRegressor(**few), X, d["number"], {"sample_weight": d["weight"]})
    yield (
        "AdaBoost.R2, early stopping",
        lambda: h.AdaBoostRegressor(loss="square", early_stopping=True, **few),
        X,
        d["number"],
        {},
    )
    yield "boosting by three", lambda: h.SchapireBoostClassifier(random_state=0), X, d["binary"], {}


def averaging(d: dict[str, NDArray[Any]]) -> Iterator[Fit]:
    """Bagging, forests and single trees."""
    X, few = d["X"], {"n_estimators": 12, "random_state": 0}
    oob = {"oob_score": True, "class_weight": "balanced_subsample"}
    yield "random forest", lambda: h.RandomForestClassifier(**oob, **few), X, d["classes"], {}
    yield (
        "random forest, numbers",
        lambda: h.RandomForestRegressor(max_samples=0.5, min_samples_leaf=3, **few),
        X,
        d["number"],
        {"sample_weight": d["weight"]},
    )
    yield "extra trees", lambda: h.ExtraTreesClassifier(**few), X, d["binary"], {}
    yield "extra trees, numbers", lambda: h.ExtraTreesRegressor(**few), X, d["number"], {}
    yield "bagging", lambda: h.BaggingClassifier(max_features=0.5, oob_score=True, **few), X, d["classes"], {}
    members = {"estimator": LogisticRegression()}
    yield (
        "bagging of logistic regressions",
        lambda: h.BaggingClassifier(**members, **few),
        d["complete"],
        d["binary"],
        {},
    )
    yield "bagging, numbers", lambda: h.BaggingRegressor(**few), X, d["number"], {}
    yield "decision tree", lambda: h.DecisionTreeClassifier(max_depth=4), X, d["classes"], {}
    yield "decision stump", lambda: h.DecisionStump(), X, d["binary"], {"sample_weight": d["share"]}  # noqa: PLW0108 - as the others


def detector() -> tuple[str, str]:
    """Return the checksums of the arrays of a small cascade and of its detections."""
    rng = np.random.default_rng(0)
    objects = rng.integers(60, 120, (60, 12, 12)).astype(np.uint8)
    objects[:, 5:7, 1:11] += 100
    images = [rng.integers(0, 256, (60, 60)).astype(np.uint8) for _ in range(10)]
    options = {"n_stages": 2, "n_negatives": 100, "max_features": 500, "random_state": 0, "verbose": 0}
    trainer = CascadeTrainer((12, 12), **options).fit(objects, images)
    cascade = trainer.cascade_
    scene = rng.integers(0, 120, (200, 200)).astype(np.uint8)
    scene[50:74, 80:104] = np.repeat(np.repeat(objects[0], 2, axis=0), 2, axis=1)
    with tempfile.TemporaryDirectory(prefix="hedgerow-checksums-") as folder:
        path = Path(folder) / "cascade.safetensors"
        cascade.save(path)
        arrays = checksum_of_arrays(path)
    found = [repr(model.detect(scene)) for model in (cascade, load_cascade("frontalface"))]
    return arrays, hashlib.sha256("".join(found).encode()).hexdigest()[:16]


def checksum_of_predictions(model: Any, X: NDArray[Any]) -> str:
    """SHA-256 of probabilities or numbers, and of quantiles if the model has any."""
    predicted = [model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)]
    if hasattr(model, "predict_quantiles"):
        predicted.append(model.predict_quantiles(X, (0.1, 0.5)))
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in predicted)).hexdigest()[:16]


def checksum_of_arrays(path: Path) -> str:
    """SHA-256 of the sorted SHA-256s of all arrays of a safetensors file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    found = []
    for name, entry in json.loads(content[8 : 8 + length]).items():
        if name != "__metadata__":
            start, stop = (8 + length + offset for offset in entry["data_offsets"])
            described = f"{entry['dtype']}{entry['shape']}".encode()
            found.append(hashlib.sha256(described + content[start:stop]).hexdigest())
    return hashlib.sha256("".join(sorted(found)).encode()).hexdigest()[:16]


def main() -> None:
    """Fit, save and predict, and print a line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save-data", type=Path, help="write the tables to a file (.npz), and nothing else")
    parser.add_argument("--data", type=Path, help="read them; then also leave out members of other libraries")
    options = parser.parse_args()
    if options.save_data:
        np.savez(options.save_data, **tables())  # type: ignore[arg-type]
        return
    warnings.simplefilter("ignore")
    d = dict(np.load(options.data)) if options.data else tables()
    with tempfile.TemporaryDirectory(prefix="hedgerow-checksums-") as folder:
        path = Path(folder) / "model.safetensors"
        for name, make, X, y, arguments in (*gradient_boosting(d), *adaboost(d), *averaging(d)):
            foreign = "of ridge" in name or "of naive" in name or "of logistic" in name
            if options.data and foreign:
                continue
            model = make().fit(X, y, **arguments)
            arrays = "-"
            if not foreign:  # a file of such a model also has what the other library stores
                h.save(model, path)
                arrays = checksum_of_arrays(path)
            predicted = checksum_of_predictions(model, X[:500])
            print(f"{name:50} arrays {arrays:16} predictions {predicted}", flush=True)
    arrays, predicted = detector()
    print(f"{'cascade':50} arrays {arrays:16} predictions {predicted}", flush=True)


if __name__ == "__main__":
    main()
