"""Models are the same, byte for byte, for any threads, chunks, dtypes, orders, frames and CPUs."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import hedgerow.backends.cpu
from hedgerow.container import unpack
from hedgerow.growing.grower import TreeGrower
from hedgerow.io.models import from_bytes, to_bytes
from same_bits_cases import GRADIENT_BOOSTING, N_COLUMNS, N_ROWS, holed, regressor, weights

THREADS = (1, 2, 4)
COMBINATIONS = ((1, 65_536), (2, 4_096), (4, 1_000), (4, 65_536))  # threads, rows of a chunk


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


@pytest.mark.parametrize("name", GRADIENT_BOOSTING)
def test_threads_and_chunks_do_not_matter(name, recorded):
    case = GRADIENT_BOOSTING[name]()
    files = {trained(case, n_jobs, chunk_rows) for n_jobs, chunk_rows in COMBINATIONS}
    assert len(files) == 1
    assert recorded.members == set(THREADS)
    assert recorded.wide == {name == "heavy tails"}
    forest = from_bytes(files.pop()).model_.forest
    assert (np.diff(forest.starts) > 8).all()  # more than stumps


@pytest.mark.parametrize("name", ["log_loss", "missing and categories", "linear leaves"])
def test_dtype_and_order_of_arrays_do_not_matter(name):
    model, (X, y, weight) = GRADIENT_BOOSTING[name]()
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
    model, (X, y, _) = GRADIENT_BOOSTING["poisson"]()
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


@pytest.mark.parametrize("name", ["multinomial", "missing and categories", "linear leaves"])
def test_threads_do_not_matter_to_predictions(name):
    case = GRADIENT_BOOSTING[name]()
    model = from_bytes(trained(case))
    X = case[1][0]
    raw = [model.set_params(n_jobs=n_jobs)._raw(X).tobytes() for n_jobs in THREADS]
    assert raw[0] == raw[1] == raw[2]
    few = np.concatenate([model._raw(X[a : a + 3]) for a in range(0, 300, 3)], axis=1)  # another kernel
    assert few.tobytes() == model._raw(X[:300]).tobytes()
