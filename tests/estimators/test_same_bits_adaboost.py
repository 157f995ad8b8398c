"""The AdaBoost family has the same bits for any threads, chunks and forms of a table, and by warm starts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import hedgerow.boosting.adaboost_fit
from hedgerow.threads import Team
from same_bits_cases import ADABOOST, N_COLUMNS, N_ROWS

RUNS = ((2, 65_536), (4, 1_000))  # threads and rows of a chunk, compared with one thread and one chunk
SMALL = 3_000
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
    """Records how many threads work together."""

    used: set[int] = set()  # noqa: RUF012 - set anew by the fixture

    def together(self, task, n_threads=None):
        self.used.add(n_threads or self.n_threads)
        return super().together(task, n_threads)


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(hedgerow.boosting.adaboost_fit, "Team", Watched)
    monkeypatch.setattr(Watched, "used", set())
    return Watched


# "m1" and "samme" are "discrete" with other constants, "samme.r" is "real" for two classes.
@pytest.mark.parametrize("name", [name for name in ADABOOST if name not in ("m1", "samme", "samme.r")])
def test_threads_and_chunks_do_not_matter(name, watched):
    inputs = ADABOOST[name]()
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
    model, (X, y, weight) = ADABOOST[name](n_rows=SMALL)
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
    model, (X, y, weight) = ADABOOST[name]()
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
    for name in ADABOOST
    if not any(word in name for word in ("stopping", "drawn", "restarts", "categories"))
]


def record(inputs):
    """The fitted arrays, and apart from them the final weights of the rows."""
    found = trained(inputs)
    del found["sample_weights_"]
    return found, inputs[0].sample_weights_


@pytest.mark.parametrize("name", BY_WEIGHT)
def test_a_weight_of_zero_is_no_row(name):
    model, (X, y, weight) = ADABOOST[name](n_rows=SMALL, n_estimators=8)
    weight = np.ones(SMALL) if weight is None else weight.astype(float)
    weight[::5] = 0.0
    kept = weight > 0
    X = np.where(kept[:, np.newaxis], X, 100.0 * X)
    first, last = record((model, (X, y, weight)))
    without, again = record((model, (X[kept], y[kept], weight[kept])))
    assert differing(first, without) == set()
    assert last[kept].tobytes() == again.tobytes()


# --- warm starts


@pytest.mark.parametrize("name", [name for name in ADABOOST if "stopping" not in name and name != "restarts"])
def test_a_warm_start_of_five_rounds_equals_a_fit_of_ten(name):
    model, (X, y, weight) = ADABOOST[name](n_rows=SMALL, n_estimators=10)
    at_once = bits(model.fit(X, y, weight))
    warm, _ = ADABOOST[name](n_rows=SMALL, n_estimators=5, warm_start=True)
    warm.fit(X, y, weight)
    assert len(warm.estimator_weights_) == 5
    assert differing(at_once, bits(warm.set_params(n_estimators=10).fit(X, y, weight))) == set()
    assert warm.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.parametrize("name", ["discrete", "gentle, three classes", "logit", "anyboost, sigmoid"])
def test_a_warm_start_continues_with_an_evaluation_set(name):
    model, (X, y, weight) = ADABOOST[name](n_rows=SMALL, n_estimators=10)
    evaluated = {"eval_set": [(X[::3], y[::3])]}
    at_once = bits(model.fit(X, y, weight, **evaluated))
    warm, _ = ADABOOST[name](n_rows=SMALL, n_estimators=4, warm_start=True)
    for n_rounds in (4, 5, 10):
        warm.set_params(n_estimators=n_rounds).fit(X, y, weight, **evaluated)
    assert differing(at_once, bits(warm)) == set()
