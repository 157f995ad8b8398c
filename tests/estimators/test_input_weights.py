"""Models of weights of any type equal those of a plain float64 array, or are refused; integers are copies."""

import copy
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow.estimators.targets import LARGEST
from input_cases import (
    CLASSIFIERS,
    ONE_OF_EACH,
    QUICK,
    WEIGHTED,
    assert_refused,
    learnable,
    outcome,
    plain_table,
    seeds,
    unintended_warnings_raise,
)

cases = st.sampled_from(WEIGHTED)
sizes = st.integers(4, 40)


# --- any size


def all_of_one_size(rng, n_rows, power):
    return (rng.random(n_rows) + 0.5) * 10.0**power


def one_larger(rng, n_rows, power):
    weights = rng.random(n_rows)
    weights[rng.integers(n_rows)] = 10.0**power
    return weights


def of_any_size(rng, n_rows, power):  # noqa: ARG001 - as the others
    return 10.0 ** rng.uniform(-320, 99, n_rows)


def some_zero(rng, n_rows, power):
    weights = np.where(rng.random(n_rows) < 0.5, 0.0, 10.0**power)
    weights[rng.integers(n_rows)] = 10.0**power
    return weights


def one_left(rng, n_rows, power):
    weights = np.zeros(n_rows)
    weights[rng.integers(n_rows)] = 10.0**power
    return weights


def large_whole(rng, n_rows, power):
    return np.floor(rng.random(n_rows) * 2.0 ** abs(power % 70)) + 1.0


SIZES = [all_of_one_size, one_larger, of_any_size, some_zero, one_left, large_whole]


@settings(QUICK, max_examples=100)
@given(case=cases, seed=seeds, n_rows=sizes, power=st.integers(-323, 101), make=st.sampled_from(SIZES))
def test_weights_of_any_size_are_used_or_refused(case, seed, n_rows, power, make):
    rng = np.random.default_rng(seed)
    weights, X = make(rng, n_rows, power), plain_table(seed, n_rows, 3)
    y = case.target(rng, n_rows, n_classes=3)
    before = weights.copy()
    found = outcome(case, X, y, sample_weight=weights)
    assert weights.tobytes() == before.tobytes()
    if weights.max() > LARGEST:
        assert "must be at most" in found.refusal
    elif not weights.any():  # 1e-324 is zero
        assert "zero weights only" in found.refusal
    elif not case.classifies:
        assert found.model is not None


@settings(QUICK, max_examples=60)
@given(case=cases, seed=seeds, n_rows=sizes, power=st.integers(-60, 60))
def test_only_the_proportions_of_weights_matter(case, seed, n_rows, power):
    """Except in gradient boosting, whose penalties are not scaled."""
    rng = np.random.default_rng(seed)
    X, y = plain_table(seed, n_rows, 3), case.target(rng, n_rows)
    weights = rng.random(n_rows) + 0.5  # none is whole
    if not case.name.startswith("gradient"):
        assert outcome(case, X, y, sample_weight=weights) == outcome(
            case, X, y, sample_weight=weights * 2.0**power
        )


# --- whole numbers


@settings(QUICK, max_examples=80)
@given(
    case=cases.filter(lambda case: case.name != "gradient, balanced"),  # its weights are not whole
    seed=seeds,
    n_rows=sizes,
    most=st.sampled_from([1, 2, 5]),
)
def test_a_whole_weight_is_so_many_copies(case, seed, n_rows, most):
    rng = np.random.default_rng(seed)
    X, y = plain_table(seed, n_rows, 3), case.target(rng, n_rows, n_classes=3)
    copies = rng.integers(0, most + 1, n_rows)
    copies[: len(np.unique(y)) if case.classifies else 1] = 1  # every class stays
    weighted = outcome(case, X, y, sample_weight=copies)
    repeated = outcome(case, np.repeat(X, copies, axis=0), np.repeat(y, copies), X_test=X)
    assert weighted == repeated


# --- any kind

FORMS = {
    **{name: lambda w, name=name: w.astype(name) for name in ("f2", "f4", "g", ">f4", ">f8")},
    **{name: lambda w, name=name: np.ceil(w * 4).astype(name) for name in ("i1", "u8", ">i4", "i8")},
    "booleans": lambda w: np.arange(len(w)) % 3 < 2,
    "list": lambda w: w.tolist(),
    "read-only": lambda w: np.frombuffer(w.tobytes()),
    "backwards": lambda w: w[::-1],
    "broadcast": lambda w: np.broadcast_to(w[:1], w.shape),
    "objects": lambda w: w.astype(object),
    "decimals": lambda w: np.array([Decimal(value) for value in w]),
    "pandas": lambda w: pd.Series(w, index=np.arange(len(w))[::-1] * 7),
    "pandas nullable": lambda w: pd.Series(np.ceil(w)).astype("Int64"),
    "polars": pl.Series,
    "arrow": lambda w: pa.chunked_array([w[:1], w[1:]]),
    "arrow dictionary": lambda w: pa.array(w).dictionary_encode(),
    "a number": lambda w: float(w[0]),
}


@settings(QUICK, max_examples=80)
@given(case=cases, seed=seeds, n_rows=sizes, form=st.sampled_from(sorted(FORMS)))
def test_weights_of_any_kind_are_their_plain_copy(case, seed, n_rows, form):
    rng = np.random.default_rng(seed)
    X, y = plain_table(seed, n_rows, 3), case.target(rng, n_rows, n_classes=3)
    weights = FORMS[form](rng.random(n_rows) + 0.5)
    before = copy.deepcopy(weights)
    plain = np.broadcast_to([float(value) for value in np.atleast_1d(np.asarray(weights))], n_rows).copy()
    found = outcome(case, X, y, sample_weight=weights)
    assert found == outcome(case, X, y, sample_weight=plain)
    assert np.array_equal(np.asarray(weights), np.asarray(before))


NO_WEIGHTS = {
    "zeros": np.zeros(12),
    "negative zeros": np.full(12, -0.0),
    "negative": np.array([1.0, -1e-300] * 6),
    "infinite": np.array([1.0, np.inf] * 6),
    "NaN": np.array([1.0, np.nan] * 6),
    "huge": np.full(12, 1e300),
    "beyond float64": np.full(12, np.longdouble("1e400")),
    "a huge integer": [10**400] * 12,
    "other length": np.ones(11),
    "empty": [],
    "a column": np.ones((12, 1)),
    "two columns": np.ones((12, 2)),
    "a frame": pd.DataFrame({"w": np.ones(12)}),
    "ragged": [[1, 2]] + [[1]] * 11,
    "a word": "balanced",
    "texts": np.array(["1"] * 12),
    "None among them": [1.0, None] * 6,
    "NA among them": pd.Series([1, None] * 6, dtype="Int64"),
    "null among them": pl.Series([1.0, None] * 6),
    "a dict": {0: 1.0},
    "complex": np.ones(12) + 0j,
    "dates": np.arange(12).astype("M8[D]"),
    "durations": np.ones(12, "m8[s]"),
    "records": np.zeros(12, [("w", "f8")]),
    "masked": np.ma.array(np.ones(12), mask=np.arange(12) == 5),
    "sparse": sparse.csr_matrix(np.ones(12)),
    "lists": pa.array([[1.0]] * 12),
}


@pytest.mark.parametrize("case", [case for case in ONE_OF_EACH if case.weights], ids=str)
def test_fit_rejects_invalid_weights(case):
    X, y = learnable(case)
    assert_refused(case, [(X, y, {"sample_weight": weights}) for weights in NO_WEIGHTS.values()])


@pytest.mark.parametrize("factor", [1e-300, 1e99, 1e300])
def test_weights_of_classes_of_any_size(factor):
    X, y = learnable(CLASSIFIERS[0])
    for case in CLASSIFIERS:
        if "class_weight" not in case.model.get_params():
            continue
        model = case.make().set_params(class_weight={1: factor})
        with unintended_warnings_raise():
            if factor > LARGEST:
                with pytest.raises(ValueError, match=r"class_weight=.* weights must be at most"):
                    model.fit(X, y, np.full(12, 1e50))
            else:
                assert np.all(np.isfinite(model.fit(X, y, np.full(12, 1e-5)).predict_proba(X)))
