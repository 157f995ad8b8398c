"""The AdaBoost family has the same bits for any threads, chunks and forms of a table, and by warm starts."""

import os
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import hedgerow.boosting.adaboost_fit
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LogitBoostClassifier,
)
from hedgerow.boosting.adaboost import RULES
from hedgerow.threads import Team
from other_cpu import print_cpu, run_on_plain_cpu

N_ROWS, N_COLUMNS = 70_000, 6  # enough for four threads, and more rows than the largest chunk
RUNS = ((2, 65_536), (4, 1_000))  # threads and rows of a chunk, compared with one thread and one chunk
ROUNDS = 3
SMALL = 3_000


@cache
def table(n_rows=N_ROWS):
    """Float64 values that float32 can hold, some missing; every column influences the score."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS)).astype(np.float32).astype(np.float64)
    X[:, 3] = np.round(8 * X[:, 3]) / 8
    a, b, c, d, e, f = X.T
    score = np.sin(2 * a) + b * c + np.abs(d) - 0.5 * e + (f > 0) + rng.logistic(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, score + np.isnan(X[:, 0])


def weights(kind, n_rows=N_ROWS):
    rng = np.random.default_rng(2)
    return {"whole": rng.integers(0, 4, n_rows), "real": rng.exponential(size=n_rows)}.get(kind)


def case(make, n_classes=2, weight=None, n_rows=N_ROWS, **parameters):
    X, score = table(n_rows)
    y = (score > 0.7) if n_classes == 2 else np.digitize(score, [0.0, 1.0])
    model = make(**{"n_estimators": ROUNDS, "random_state": 5, **parameters})
    return model, (X, y.astype(np.int64), weights(weight, n_rows))


def ada(algorithm="discrete", **options):
    return case(AdaBoostClassifier, algorithm=algorithm, **options)


def deep(max_depth=3, **options):
    return DecisionTreeClassifier(max_depth=max_depth, **options)


STOPPING = {"early_stopping": True, "n_iter_no_change": 2}
EXACT = DecisionStump(max_bins=65_535)

CASES = {
    **{name: partial(ada, name) for name in RULES},
    "discrete, three classes": lambda **o: ada(n_classes=3, **o),
    "m1, three classes, trees": lambda **o: ada("m1", n_classes=3, estimator=deep(8), **o),
    "samme, three classes, trees by errors": lambda **o: ada(
        "samme", n_classes=3, estimator=deep(criterion="error"), **o
    ),
    "samme.r, three classes": lambda **o: ada("samme.r", n_classes=3, **o),
    "gentle, three classes": lambda **o: ada("gentle", n_classes=3, **o),
    "discrete, whole weights": lambda **o: ada(weight="whole", **o),
    "discrete, real weights, exact": lambda **o: ada(weight="real", estimator=EXACT, **o),
    "real, real weights, trees, exact": lambda **o: ada(
        "real", weight="real", estimator=deep(max_bins=65_535, max_leaf_nodes=6), **o
    ),
    "gentle, whole weights, categories": lambda **o: ada(
        "gentle", weight="whole", estimator=DecisionStump(categorical_features=[3]), **o
    ),
    "discrete, drawn rows": lambda **o: ada(resample=True, **o),
    "samme, drawn rows, real weights": lambda **o: ada(
        "samme", n_classes=3, resample=True, weight="real", **o
    ),
    "discrete, stopping": lambda **o: ada(weight="real", **STOPPING, **o),
    "gentle, stopping": lambda **o: ada("gentle", n_classes=3, weight="whole", **STOPPING, **o),
    "restarts": lambda **o: ada("m1", n_classes=3, on_chance="restart", estimator=deep(), **o),
    "logit": lambda **o: case(LogitBoostClassifier, **o),
    "logit, three classes": lambda **o: case(LogitBoostClassifier, n_classes=3, weight="real", **o),
    "logit, trees, drawn rows": lambda **o: case(
        LogitBoostClassifier, estimator=DecisionTreeRegressor(max_depth=3), resample=True, **o
    ),
    "logit, stopping": lambda **o: case(LogitBoostClassifier, weight="whole", **STOPPING, **o),
    "anyboost, exponential": lambda **o: case(AnyBoostClassifier, weight="real", **o),
    "anyboost, logistic": lambda **o: case(AnyBoostClassifier, cost="logistic", **o),
    "anyboost, sigmoid": lambda **o: case(AnyBoostClassifier, cost="sigmoid", weight="whole", **o),
    "anyboost, stopping": lambda **o: case(AnyBoostClassifier, cost="logistic", **STOPPING, **o),
}
RECORD = (
    "estimator_weights_",
    "estimator_errors_",
    "normalizers_",
    "training_error_bound_",
    "sample_weights_",
)


def bits(model):
    """All fitted arrays as bytes, by name."""
    bins = model.model_.bins
    arrays = {name: getattr(bins, name) for name in ("edges", "edge_starts", "tables", "table_starts")}
    arrays |= model.model_.forest.arrays()
    arrays |= {name: getattr(model, name) for name in RECORD}
    arrays |= {name: np.array(values) for name, values in model.history_.items() if name != "seconds"}
    return {name: array.tobytes() for name, array in arrays.items()}


def differing(one, other):
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}


def trained(inputs, n_jobs=2, chunk_rows=65_536):
    model, (X, y, weight) = inputs
    model.set_params(n_jobs=n_jobs)
    model._chunk_rows = chunk_rows
    return bits(model.fit(X, y, weight))


class Watched(Team):
    """Records how many members work together."""

    used: set[int] = set()  # noqa: RUF012 - set anew by the fixture

    def together(self, task, n_members=None):
        self.used.add(n_members or self.n_members)
        return super().together(task, n_members)


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(hedgerow.boosting.adaboost_fit, "Team", Watched)
    monkeypatch.setattr(Watched, "used", set())
    return Watched


# "m1" and "samme" are "discrete" with other constants, "samme.r" is "real" for two classes.
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("m1", "samme", "samme.r")])
def test_threads_and_chunks_do_not_matter(name, watched):
    inputs = CASES[name]()
    first = trained(inputs, 1, N_ROWS)
    assert inputs[0].n_estimators_ > 1
    assert (np.diff(inputs[0].model_.forest.starts) > 1).all()  # no tree is a single leaf
    for n_jobs, chunk_rows in RUNS:
        assert differing(trained(inputs, n_jobs, chunk_rows), first) == set(), (n_jobs, chunk_rows)
    assert {1, 2, 4} <= watched.used


@pytest.mark.parametrize(
    "name", ["discrete, real weights, exact", "logit, three classes", "anyboost, logistic"]
)
def test_dtype_order_and_kind_of_the_table_do_not_matter(name):
    model, (X, y, weight) = CASES[name](n_rows=SMALL)
    columns = {f"x{i}": X[:, i] for i in range(N_COLUMNS)}
    read_only = X.copy()
    read_only.flags.writeable = False
    forms = {
        "float32": X.astype(np.float32),
        "float64, Fortran": np.asfortranarray(X),
        "float32, Fortran": np.asfortranarray(X, np.float32),
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "read-only": read_only,
        "sparse": sparse.csr_array(X),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns, nan_to_null=True),
        "polars, float32": pl.DataFrame(columns, nan_to_null=True).cast(pl.Float32),
    }
    first = trained((model, (X, y, weight)))
    for form, other in forms.items():
        assert differing(trained((model, (other, y, weight))), first) == set(), form
    labels = np.array(["a", "b", "c"])[y]
    assert differing(trained((model, (X, labels, weight))), first) == set()


@pytest.mark.parametrize("name", ["discrete, three classes", "real, real weights, trees, exact", "logit"])
def test_threads_do_not_matter_to_predictions(name):
    model, (X, y, weight) = CASES[name]()
    model.fit(X, y, weight)
    raw = {model.set_params(n_jobs=n_jobs).decision_function(X).tobytes() for n_jobs in (1, 2, 4)}
    assert len(raw) == 1
    few = np.concatenate([model.decision_function(X[a : a + 3]) for a in range(0, 300, 3)])
    assert few.tobytes() == model.decision_function(X[:300]).tobytes()
    assert few.tobytes() == model.decision_function(X[:300].astype(np.float32)).tobytes()


# --- rows (`test_adaboost_properties.py` has copies and orders of rows)

# Rows are drawn, used for validation and reweighted one by one; categories of rows of weight zero count.
BY_WEIGHT = [
    name
    for name in CASES
    if not any(word in name for word in ("stopping", "drawn", "restarts", "categories"))
]


def record(inputs):
    """The fitted arrays, and apart from them the final weights of the rows."""
    found = trained(inputs)
    del found["sample_weights_"]
    return found, inputs[0].sample_weights_


@pytest.mark.parametrize("name", BY_WEIGHT)
def test_a_weight_of_zero_is_no_row(name):
    model, (X, y, weight) = CASES[name](n_rows=SMALL, n_estimators=8)
    weight = np.ones(SMALL) if weight is None else weight.astype(float)
    weight[::5] = 0.0
    kept = weight > 0
    X = np.where(kept[:, np.newaxis], X, 100.0 * X)
    first, last = record((model, (X, y, weight)))
    without, again = record((model, (X[kept], y[kept], weight[kept])))
    assert differing(first, without) == set()
    assert last[kept].tobytes() == again.tobytes()


# --- warm starts


@pytest.mark.parametrize("name", [name for name in CASES if "stopping" not in name and name != "restarts"])
def test_a_warm_start_of_five_rounds_equals_a_fit_of_ten(name):
    model, (X, y, weight) = CASES[name](n_rows=SMALL, n_estimators=10)
    at_once = bits(model.fit(X, y, weight))
    warm, _ = CASES[name](n_rows=SMALL, n_estimators=5, warm_start=True)
    warm.fit(X, y, weight)
    assert len(warm.estimator_weights_) == 5
    assert differing(at_once, bits(warm.set_params(n_estimators=10).fit(X, y, weight))) == set()
    assert warm.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.parametrize("name", ["discrete", "gentle, three classes", "logit", "anyboost, sigmoid"])
def test_a_warm_start_continues_with_an_evaluation_set(name):
    model, (X, y, weight) = CASES[name](n_rows=SMALL, n_estimators=10)
    evaluated = {"eval_set": [(X[::3], y[::3])]}
    at_once = bits(model.fit(X, y, weight, **evaluated))
    warm, _ = CASES[name](n_rows=SMALL, n_estimators=4, warm_start=True)
    for n_rounds in (4, 5, 10):
        warm.set_params(n_estimators=n_rounds).fit(X, y, weight, **evaluated)
    assert differing(at_once, bits(warm)) == set()


# --- another CPU: a process of its own, compiled for the plainest processor

OTHER_CPU = (
    "real, real weights, trees, exact",
    "gentle, three classes",
    "discrete, stopping",
    "samme, drawn rows, real weights",
    "logit, three classes",
    "anyboost, sigmoid",
)


def train_all(folder):
    for name in OTHER_CPU:
        arrays = {key: np.frombuffer(b, np.uint8) for key, b in trained(CASES[name]()).items()}
        np.savez(Path(folder) / name, **arrays)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("HEDGEROW_LARGE"), reason="compiles all kernels once more: set HEDGEROW_LARGE"
)
def test_the_processor_does_not_matter(tmp_path):
    run_on_plain_cpu(__file__, tmp_path)
    for name in OTHER_CPU:
        with np.load(tmp_path / f"{name}.npz") as file:
            other = {key: file[key].tobytes() for key in file.files}
        assert differing(other, trained(CASES[name]())) == set()


if __name__ == "__main__":
    print_cpu()
    train_all(sys.argv[1])
