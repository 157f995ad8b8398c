"""Models are the same, byte for byte, for any threads, chunks, dtypes, orders, frames and CPUs."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import hedgerow.backends.cpu
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.container import unpack
from hedgerow.growing.grower import TreeGrower
from hedgerow.io.models import from_bytes, to_bytes
from other_cpu import print_cpu, run_on_plain_cpu

N_ROWS, N_COLUMNS = 70_000, 6  # enough for four threads, and more rows than the largest chunk
THREADS = (1, 2, 4)
COMBINATIONS = ((1, 65_536), (2, 4_096), (4, 1_000), (4, 65_536))  # threads, rows of a chunk


def table():
    """Float64 values that float32 represents, too; the score depends on every column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32).astype(np.float64)
    X[:, 3] = np.round(8 * X[:, 3]) / 8
    X[X < -2] = 0.0
    a, b, c, d, e, f = X.T
    return X, np.sin(2 * a) + b * c + np.abs(d) - 0.5 * e + (f > 0) + rng.logistic(size=N_ROWS)


def holed():
    X, score = table()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, score


def weights(kind):
    rng = np.random.default_rng(2)
    return rng.integers(0, 4, N_ROWS) if kind == "whole" else rng.exponential(size=N_ROWS)


def classifier(X, y, sample_weight=None, **parameters):
    model = GradientBoostingClassifier(**{"n_estimators": 4, "max_leaf_nodes": 15} | parameters)
    return model, (X, y.astype(np.int64), sample_weight)


def regressor(X, y, sample_weight=None, **parameters):
    model = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=15, **parameters)
    return model, (X, y, sample_weight)


def binary(**parameters):
    X, score = table()
    return classifier(X, score > 0.5, **parameters)


def three_classes():
    X, score = table()
    return classifier(X, np.digitize(score, [0.0, 1.0]))


def numeric(change=lambda score: score, **parameters):
    X, score = table()
    return regressor(X, change(score), **parameters)


def heavy_tailed():
    X, score = table()
    return regressor(X, score + np.random.default_rng(3).standard_cauchy(N_ROWS))


def missing_and_categories():
    X, score = holed()
    X[:, 5] = np.round(2 * X[:, 5])
    return regressor(X, score + np.isnan(X[:, 0]), categorical_features=[3, 5])


def stopping(**parameters):
    return binary(early_stopping=True, n_iter_no_change=2, random_state=5, **parameters)


CASES = {
    "log_loss": binary,
    "multinomial": three_classes,
    "exponential, first order": lambda: binary(loss="exponential", newton=False),
    "squared_error": numeric,
    "absolute_error": lambda: numeric(loss="absolute_error"),
    "huber": lambda: numeric(loss="huber"),
    "poisson": lambda: numeric(lambda score: np.floor(np.abs(score)), loss="poisson"),
    "sampling": lambda: binary(subsample=0.6, colsample_bytree=0.7, max_features=0.5, random_state=1),
    "noise": lambda: binary(random_strength=1.0),
    "symmetric": lambda: binary(
        growth_policy="symmetric", max_leaf_nodes=None, random_strength=0.5, l1_regularization=0.1
    ),
    "early stopping": stopping,
    "early stopping, weights": lambda: stopping(sample_weight=weights("real")),
    "missing and categories": missing_and_categories,
    "whole weights": lambda: numeric(sample_weight=weights("whole")),
    "real weights": lambda: numeric(sample_weight=weights("real")),
    "heavy tails": heavy_tailed,
    "monotonic": lambda: numeric(monotonic_cst=[1, -1, 0, 0, -1, 1], l1_regularization=2.0),
    "large leaves": lambda: numeric(min_samples_leaf=3_000, interaction_cst=[{0, 1}, {2, 3, 4}]),
}


class Recorder(TreeGrower):
    """Records how many threads grow a tree, and on which statistics."""

    members: set[int] = set()  # noqa: RUF012 - set anew by the fixture
    wide: set[bool] = set()  # noqa: RUF012

    def grow(self, measured, rows, tree):
        self.members.add(self.n_threads)
        self.wide.add(measured.statistics.wide.shape[0] > 0)
        return super().grow(measured, rows, tree)


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(hedgerow.backends.cpu, "TreeGrower", Recorder)
    monkeypatch.setattr(Recorder, "members", set())
    monkeypatch.setattr(Recorder, "wide", set())
    return Recorder


def trained(case, n_jobs=2, chunk_rows=65_536):
    model, (X, y, weight) = case
    model.set_params(n_jobs=n_jobs)
    model._chunk_rows = chunk_rows
    return to_bytes(model.fit(X, y, weight))


@pytest.mark.parametrize("name", CASES)
def test_threads_and_chunks_do_not_matter(name, recorded):
    case = CASES[name]()
    files = {trained(case, n_jobs, chunk_rows) for n_jobs, chunk_rows in COMBINATIONS}
    assert len(files) == 1
    assert recorded.members == set(THREADS)
    assert recorded.wide == {name == "heavy tails"}
    forest = from_bytes(files.pop()).model_.forest
    assert (np.diff(forest.starts) > 8).all()  # more than stumps


@pytest.mark.parametrize("name", ["log_loss", "missing and categories"])
def test_dtype_and_order_of_arrays_do_not_matter(name):
    model, (X, y, weight) = CASES[name]()
    twice = np.repeat(X, 2, axis=0)
    read_only = X.copy()
    read_only.flags.writeable = False
    forms = {
        "float64": X,
        "float32": X.astype(np.float32),
        "float64, Fortran": np.asfortranarray(X),
        "float32, Fortran": np.asfortranarray(X, np.float32),
        "big-endian": X.astype(">f8"),
        "every other row": twice[::2],
        "backwards": X[::-1].copy()[::-1],
        "read-only": read_only,
        "sparse": sparse.csr_array(X),
        "sparse float32": sparse.csc_matrix(X.astype(np.float32)),
    }
    files = {form: trained((model, (table, y, weight))) for form, table in forms.items()}
    assert {form for form, file in files.items() if file != files["float64"]} == set()


def test_dtype_of_targets_and_weights_does_not_matter():
    model, (X, y, _) = CASES["poisson"]()
    whole = weights("whole")
    first = trained((model, (X, y, whole)))
    assert trained((model, (X, y.astype(np.int16), whole.astype(np.float32)))) == first
    assert trained((model, (X, y.astype(np.float32).tolist(), whole.tolist()))) == first


def frames(X, colours):
    """The same columns as three kinds of data frame, in both float dtypes."""
    names = [f"x{i}" for i in range(X.shape[1])]
    for dtype in (np.float64, np.float32):
        columns = {name: X[:, i].astype(dtype) for i, name in enumerate(names)}
        kind = np.dtype(dtype).name
        yield f"pandas {kind}", pd.DataFrame(columns).assign(colour=pd.Categorical(colours))
        in_polars = pl.DataFrame(columns, nan_to_null=True).with_columns(
            colour=pl.Series(colours, dtype=pl.Categorical)
        )
        yield f"polars {kind}", in_polars
        yield f"arrow {kind}", in_polars.to_arrow()
        encoded = pa.array(colours).dictionary_encode()
        yield f"arrow, NaN {kind}", pa.table({**columns, "colour": encoded})


def test_kind_of_data_frame_does_not_matter():
    X, score = holed()
    which = np.random.default_rng(4).integers(0, 5, N_ROWS)
    colours = np.array(["red", "blue", "white", "green", "black"])[which]
    model, _ = regressor(X, score)
    files = {form: trained((model, (X_, score + which, None))) for form, X_ in frames(X, colours)}
    assert {form for form, file in files.items() if file != files["pandas float64"]} == set()
    # An array has no names, and its categorical column is named by a parameter: the arrays are the same.
    mixed = np.column_stack([X.astype(object), colours.astype(object)])
    model, _ = regressor(mixed, score, categorical_features=[N_COLUMNS])
    arrays = unpack(trained((model, (mixed, score + which, None)))).arrays
    for name, array in unpack(files["pandas float64"]).arrays.items():
        assert array.tobytes() == arrays[name].tobytes(), name


@pytest.mark.parametrize("name", ["multinomial", "missing and categories"])
def test_threads_do_not_matter_to_predictions(name):
    case = CASES[name]()
    model = from_bytes(trained(case))
    X = case[1][0]
    raw = [model.set_params(n_jobs=n_jobs)._raw(X).tobytes() for n_jobs in THREADS]
    assert raw[0] == raw[1] == raw[2]
    few = np.concatenate([model._raw(X[a : a + 3]) for a in range(0, 300, 3)], axis=1)  # another kernel
    assert few.tobytes() == model._raw(X[:300]).tobytes()


# --- another CPU: a process whose kernels are compiled for a generic CPU

OTHER_CPU = ("early stopping, weights", "missing and categories", "multinomial", "absolute_error", "poisson")


def train_all(folder):
    for name in OTHER_CPU:
        (Path(folder) / name).write_bytes(trained(CASES[name]()))


@pytest.mark.slow
def test_the_processor_does_not_matter(tmp_path):
    run_on_plain_cpu(__file__, tmp_path)
    for name in OTHER_CPU:
        assert (tmp_path / name).read_bytes() == trained(CASES[name]()), name


if __name__ == "__main__":
    print_cpu()
    train_all(sys.argv[1])
