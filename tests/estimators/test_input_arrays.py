"""Models of arrays and sparse matrices of any type equal those of a plain float64 copy, or are refused."""

import copy
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow import GradientBoostingRegressor
from input_cases import (
    EVERY,
    ONE_OF_EACH,
    QUICK,
    assert_refused,
    learnable,
    outcome,
    plain_table,
    seeds,
    unintended_warnings_raise,
)

cases = st.sampled_from(EVERY)
sizes = st.integers(2, 40)

NUMBERS = ["f2", "f4", "f8", "g", ">f2", ">f4", ">f8", "i1", "i2", "i4", "i8", ">i2", ">i8"]
EXTREMES = [0.0, -0.0, 5e-324, -2.2e-308, 1e-45, 3.4e38, -3.5e38, 2.0**53 + 2, 2.0**63, 1e308, -1.7e308]


# --- values


def few(_, X):
    return X


def missing(rng, X):
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, rng.integers(X.shape[1])] = np.nan
    return X


def infinite(rng, X):
    X[rng.random(X.shape) < 0.2] = np.inf
    X[rng.random(X.shape) < 0.2] = -np.inf
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def extreme(rng, X):
    return rng.choice(EXTREMES, size=X.shape)


def constant(rng, X):
    X[:, rng.integers(X.shape[1])] = 7.5
    return X


def close(rng, X):
    return np.nextafter(1.0, 2.0 * rng.integers(0, 2, X.shape))


CONTENTS = [few, missing, infinite, extreme, constant, close]


# --- disguises: (rng, X) -> an array that holds the same values, or X's values in a narrower dtype


def of_dtype(name):
    def disguise(_, X):
        with np.errstate(all="ignore"):
            return (np.nan_to_num(X * 4.0) if np.dtype(name).kind in "iu" else X).astype(name)

    return disguise


def large_integers(rng, X):
    return rng.integers(2**63, 2**64, size=X.shape, dtype=np.uint64)


def booleans(_, X):
    return X > 0


def fortran(_, X):
    return np.asfortranarray(X)


def reversed_twice(_, X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


def strided(_, X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def one_row_for_all(_, X):
    return np.broadcast_to(X[0], X.shape)


def one_column_for_all(_, X):
    return np.broadcast_to(X[:, :1], X.shape)


def read_only(_, X):
    X.flags.writeable = False
    return X


def unaligned(_, X):
    out = np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(X.shape)
    out[:] = X
    return out


def a_field(_, X):
    records = np.zeros(X.shape, dtype=[("other", "u1"), ("value", "f8")])
    records["value"] = X
    return records["value"]


def mapped(_, X):
    with tempfile.TemporaryDirectory() as folder:  # the mapping outlives the name of the file
        np.save(Path(folder) / "X.npy", X)
        return np.load(Path(folder) / "X.npy", mmap_mode="r")


def objects(_, X):
    return X.astype(object)


def mixed_objects(rng, X):
    out = X.astype(object)
    for place in np.ndindex(X.shape):
        kind = rng.integers(4)
        if np.isnan(X[place]):
            out[place] = None if kind else np.float32("nan")
        elif X[place] in (0.0, 1.0) and kind == 0:
            out[place] = bool(X[place])
        elif kind == 1:
            out[place] = np.longdouble(X[place])
    return out


def lists(_, X):
    return X.tolist()


DISGUISES = [
    *map(of_dtype, NUMBERS),
    *(large_integers, booleans, fortran, reversed_twice, strided, one_row_for_all, one_column_for_all),
    *(read_only, unaligned, a_field, mapped, objects, mixed_objects, lists),
]


@settings(QUICK, max_examples=60)
@given(
    case=cases,
    seed=seeds,
    n_rows=sizes,
    n_columns=st.integers(1, 4),
    content=st.sampled_from(CONTENTS),
    disguise=st.sampled_from(DISGUISES),
)
def test_an_array_is_its_plain_copy(case, seed, n_rows, n_columns, content, disguise):
    rng = np.random.default_rng(seed)
    given_X = disguise(rng, content(rng, plain_table(seed, n_rows, n_columns)))
    y = case.target(rng, n_rows, n_classes=3)
    with np.errstate(over="ignore"):
        plain = np.array(given_X, dtype=np.float64, order="C")
    X_before, y_before = copy.deepcopy(given_X), y.copy()
    found = outcome(case, given_X, y)
    assert found == outcome(case, plain, y)
    assert np.array(given_X).tobytes() == np.array(X_before).tobytes() or given_X == X_before
    assert y.tobytes() == y_before.tobytes()
    if found.model is not None:
        with unintended_warnings_raise():
            assert case.predict(found.model, plain).tobytes() == found.prediction.tobytes()


# --- sparse matrices


def wide_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def doubled(X):
    """Every value as two halves at the same position, in no order."""
    whole = sparse.coo_matrix(X)
    data, row, column = (
        np.concatenate([part, part[::-1]]) for part in (whole.data / 2, whole.row, whole.col)
    )
    return sparse.coo_matrix((data, (row, column)), shape=X.shape)


def doubled_in_rows(X):
    whole = sparse.csr_matrix(X)
    data, indices = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2)
    return sparse.csr_matrix((data, indices, whole.indptr * 2), shape=X.shape)


def stored_zeros(X):
    X = sparse.csr_matrix(X)
    X.data[: X.nnz // 2] = 0.0
    return X


def backwards(X):
    """The columns of every row from right to left."""
    X = sparse.csr_matrix(X)
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[first:last], X.data[first:last] = X.indices[first:last][::-1], X.data[first:last][::-1]
    X.has_sorted_indices = False
    return X


def frozen(X):
    X = doubled_in_rows(X)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


FORMATS = [getattr(sparse, f"{name}_{kind}") for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
           for kind in ("matrix", "array")]  # fmt: skip
SPARSE = [*FORMATS, wide_indices, doubled, doubled_in_rows, stored_zeros, backwards, frozen]


@settings(QUICK, max_examples=60)
@given(
    case=cases,
    seed=seeds,
    n_rows=sizes,
    form=st.sampled_from(SPARSE),
    share=st.sampled_from([0.0, 0.3, 0.9]),
    dtype=st.sampled_from(["f4", "f8", "g", "i1", "i8", "u8", "?"]),
    nan=st.booleans(),
)
def test_a_sparse_matrix_is_its_dense_copy(case, seed, n_rows, form, share, dtype, nan):
    rng = np.random.default_rng(seed)
    X = plain_table(seed, n_rows, 4) * (rng.random((n_rows, 4)) < share)
    X = np.abs(X * 4.0).astype(dtype)
    if nan and X.dtype.kind == "f":
        X[X == 1.0] = np.nan
    given_X, y = form(X), case.target(rng, n_rows, n_classes=3)
    before = given_X.copy()
    assert outcome(case, given_X, y) == outcome(case, given_X.toarray().astype(np.float64), y)
    for name in ("data", "indices", "indptr", "row", "col"):
        if hasattr(given_X, name) and given_X.format not in ("lil", "dok"):
            assert np.array_equal(getattr(given_X, name), getattr(before, name), equal_nan=name == "data")


# --- no tables


def cell(value):
    X = np.empty((12, 2), object)
    X[:] = 1.0
    X[5, 1] = value
    return X


NO_TABLES = [
    *(np.ones(12), np.ones((12, 2, 1)), np.array(1.0), np.ones((0, 2)), np.ones((12, 0)), np.empty((0, 0))),
    *(None, "X", {"a": [1.0] * 12}, (row for row in np.ones((12, 2))), [[1, 2]] * 11 + [[1]], [[]] * 12),
    *(np.ones((12, 2)) + 1j, np.ones((12, 2), "M8[D]"), np.ones((12, 2), "m8[s]"), np.ones((12, 2), "V4")),
    *(np.full((12, 2), "1"), np.full((12, 2), b"1"), np.full((12, 2), "1", np.dtypes.StringDType())),
    np.zeros((12, 2), [("a", "f8"), ("b", "i4")]),
    *map(cell, ["1", b"1", 1j, [1], {"a": 1}, {1}, len, int, 10**400, np.array([1, 2]), object()]),
    *map(cell, [np.datetime64("2020"), np.timedelta64(1, "D"), np.complex64(1)]),
    *(sparse.csr_matrix((0, 2)), sparse.csr_matrix((12, 0)), sparse.csr_matrix(np.ones((12, 2)) + 1j)),
    sparse.coo_array(np.ones(12)),
]


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_fit_rejects_invalid_tables(case):
    y = case.target(np.random.default_rng(0), 12)
    assert_refused(case, [(X, y, {}) for X in NO_TABLES])


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_one_row_is_refused_by_classifiers_only(case):
    y = case.target(np.random.default_rng(0), 2)[:1]
    if case.classifies:
        assert_refused(case, [([[1.0, 2.0]], y, {})])
    else:
        assert outcome(case, [[1.0, 2.0]], y).prediction == pytest.approx(y)


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_predict_rejects_other_columns(case):
    with unintended_warnings_raise():
        model = case.make().fit(*learnable(case))
    for other in [*NO_TABLES, np.ones((3, 1)), np.ones((3, 3)), sparse.csr_matrix((3, 1))]:
        with (
            unintended_warnings_raise(),
            pytest.raises((ValueError, TypeError), match=r"\b(X|Column|array|features?)\b"),
        ):
            case.predict(model, other)
    strange = np.array([[np.nan, np.inf], [-np.inf, 1.7e308], [5e-324, -0.0]])
    assert np.all(np.isfinite(case.predict(model, strange)))


def test_a_masked_array_is_an_array_with_missing_values():
    X = np.random.default_rng(0).normal(size=(80, 3))
    masked = np.ma.masked_where(np.abs(X) > 1.5, X)
    holed = np.where(np.abs(X) > 1.5, np.nan, X)
    small = {"n_estimators": 3, "min_samples_leaf": 5}
    one, other = (GradientBoostingRegressor(**small).fit(given, X[:, 0]) for given in (masked, holed))
    np.testing.assert_array_equal(one.predict(masked), other.predict(holed))
    whole = np.ma.masked_equal(np.round(X * 3).astype(int), 2)
    with_nan = np.where(np.round(X * 3) == 2, np.nan, np.round(X * 3))
    one, other = (GradientBoostingRegressor(**small).fit(given, X[:, 0]) for given in (whole, with_nan))
    np.testing.assert_array_equal(one.predict(whole), other.predict(with_nan))
