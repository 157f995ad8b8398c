"""Models of targets of any type equal those of a plain array of the same values, or are refused."""

import copy
from decimal import Decimal
from fractions import Fraction

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
    REGRESSORS,
    assert_refused,
    assert_valid,
    learnable,
    outcome,
    plain_table,
    seeds,
    unintended_warnings_raise,
)

sizes = st.integers(4, 40)


# --- classes: ascending labels, and types of arrays of them

NAMES = {
    "numbers from 0": np.arange(4),
    "small integers": np.array([-128, 0, 1, 127], np.int8),
    "beyond float64": np.array([2**53, 2**53 + 1, 2**53 + 2, 2**62]),
    "beyond int64": np.array([2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64),
    "big-endian": np.array([-1, 3, 300, 2**40], ">i8"),
    "whole floats": np.array([-1e300, -0.0, 1e20, 1.7e308]),
    "half floats": np.array([0, 1, 2, 3], np.float16),
    "long doubles": np.array([0, 1, 2, 3], np.longdouble),
    "texts": np.array(["", "A", "a", "é"]),
    "big-endian texts": np.array(["a", "b", "c", "d"], ">U1"),
    "objects": np.array(["a", "a b", "b", "x" * 99], object),
    "integer objects": np.array([np.int8(-3), 0, np.uint16(5), 2**62], object),
    "string dtype": np.array(["a", "b", "c", "d"], np.dtypes.StringDType()),
    "dates": np.array(["1970-01-01", "2020-02-29", "2020-03-01", "2262-01-01"], "M8[D]"),
}
FORMS = {
    "array": lambda y: y,
    "list": lambda y: y.tolist(),
    "read-only": lambda y: np.frombuffer(y.tobytes(), y.dtype) if y.dtype.kind in "iuf" else y,
    "backwards": lambda y: y[::-1].copy()[::-1],
    "pandas": lambda y: pd.Series(_plain(y), index=np.arange(len(y))[::-1] * 3),
    "pandas category": lambda y: pd.Series(pd.Categorical(_plain(y))),
    "column": lambda y: y[:, np.newaxis],
    "polars": lambda y: pl.Series(_plain(y).tolist()),
    "arrow": lambda y: pa.chunked_array([pa.array(_plain(y[:1]).tolist()), pa.array(_plain(y[1:]).tolist())]),
    "arrow dictionary": lambda y: pa.array(_plain(y).tolist()).dictionary_encode(),
}


def _plain(y):
    """Labels of a dtype that other libraries accept."""
    return y if y.dtype.kind in "iuO" and y.dtype.isnative else y.astype(object)


@settings(QUICK, max_examples=80)
@given(
    case=st.sampled_from(CLASSIFIERS),
    seed=seeds,
    n_rows=sizes,
    n_classes=st.integers(2, 4),
    names=st.sampled_from(sorted(NAMES)),
    form=st.sampled_from(sorted(FORMS)),
)
def test_labels_of_any_kind_are_classes(case, seed, n_rows, n_classes, names, form):
    if names in ("half floats", "long doubles", "dates", "integer objects", "beyond int64", "whole floats"):
        form = "array"  # other libraries, or lists, make other types of these
    rng = np.random.default_rng(seed)
    numbers, X = case.target(rng, n_rows, n_classes), plain_table(seed, n_rows, 3)
    labels = NAMES[names][numbers]
    y = FORMS[form](labels)
    before = copy.deepcopy(y)
    found = outcome(case, X, y)
    assert found == outcome(case, X, numbers)
    assert np.array_equal(np.asarray(y), np.asarray(before))
    if found.model is not None:
        predicted = found.model.predict(X)
        assert predicted.tolist() == NAMES[names][np.argmax(found.prediction, axis=1)].tolist()
        assert found.model.classes_.tolist() == np.unique(labels.tolist()).tolist()


@settings(QUICK, max_examples=30)
@given(case=st.sampled_from(CLASSIFIERS), seed=seeds, n_classes=st.integers(30, 120))
def test_a_row_or_two_of_each_of_many_classes(case, seed, n_classes):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 10)]) * 2**54
    X = rng.normal(size=(len(y), 2))
    found = outcome(case, X, y)
    assert found.model is None or np.array_equal(found.model.classes_, np.unique(y))


def of(*labels):
    """Twelve rows of any objects."""
    y = np.empty(12, object)
    for row in range(12):
        y[row] = labels[row % len(labels)]
    return y


NO_CLASSES = {
    "nothing": None,
    "one class": np.zeros(12, int),
    "one text": np.full(12, "a"),
    "fractions": np.linspace(0, 1, 12),
    "NaN": np.array([0, 1, np.nan] * 4),
    "infinity": np.array([0, 1, np.inf] * 4),
    "NaT": np.array(["2020", "2021", "NaT"] * 4, "M8[D]"),
    "bytes": np.array([b"a", b"b"] * 6),
    "bytes objects": of(b"a", b"b"),
    "lists": of([1], [2]),
    "dicts": of({"a": 1}, {"b": 2}),
    "sets": of(frozenset({1}), frozenset({2})),
    "tuples": of((1,), (2,)),
    "arrays": of(np.array([1, 2]), np.array([2])),
    "mixed types": of("a", 1),
    "a list of mixed types": ["1", 1] * 6,
    "numbers and booleans": of(True, 2),
    "None": of("a", None),
    "NA": of(1, pd.NA),
    "NaN object": of("a", np.nan),
    "too large": of(2**70, 1),
    "too far apart": of(-1, 2**64 - 1),
    "decimals": of(Decimal(1), Decimal(2)),
    "missing in pandas": pd.Series(["a", None, "b"] * 4, dtype="string"),
    "missing category": pd.Series(pd.Categorical(["a", None, "b"] * 4)),
    "missing in Arrow": pa.array([1, None, 2] * 4),
    "missing in polars": pl.Series([1, None, 2] * 4),
    "lists in Arrow": pa.array([[1], [2]] * 6),
    "structs in polars": pl.Series([{"a": 1, "b": 1}, {"a": 2, "b": 1}] * 6),
}
NO_NUMBERS = {
    "texts": np.array(["1", "2"] * 6),
    "text objects": of("a", "b"),
    "dates": np.arange(12).astype("M8[D]"),
    "durations": np.arange(12).astype("m8[s]"),
    "NaN": np.array([0, 1, np.nan] * 4),
    "minus infinity": np.array([0, 1, -np.inf] * 4),
    "None": of(1.0, None),
    "NA": of(1.0, pd.NA),
    "complex object": of(1j),
    "beyond float64": of(10**400),
    "long double beyond float64": np.full(12, np.longdouble("1e400")),
    "huge": np.full(12, -1e300),
    "dicts": of({}),
    "lists": of([1.0]),
    "missing in Arrow": pa.array([1.0, None] * 6),
}
NO_TARGETS = {
    "complex": np.ones(12) + 1j,
    "records": np.zeros(12, [("a", "i4"), ("b", "f8")]),
    "void": np.zeros(12, "V3"),
    "a row": np.ones((1, 12)),
    "no columns": np.ones((12, 0)),
    "cubes": np.ones((12, 1, 1)),
    "a number": 3,
    "a word": "abcdefghijkl",
    "a dict": {0: 1},
    "a generator": (number for number in range(12)),
    "other length": np.arange(11),
    "empty": [],
    "ragged": [[1, 2]] + [[1]] * 11,
    "masked": np.ma.array(np.arange(12) % 2, mask=np.arange(12) == 5),
    "a matrix": np.arange(12).view(np.matrix).T,
    "sparse": sparse.csr_matrix(np.ones((12, 1))),
}


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_fit_rejects_invalid_targets(case):
    X = learnable(case)[0]
    targets = [*NO_TARGETS.values(), *(NO_CLASSES if case.classifies else NO_NUMBERS).values()]
    if "forest" not in case.name and "extra trees" not in case.name:
        targets.append(np.ones((12, 2)))
    assert_refused(case, [(X, y, {}) for y in targets])


# --- numbers


@settings(QUICK, max_examples=80)
@given(
    case=st.sampled_from(REGRESSORS),
    seed=seeds,
    n_rows=st.integers(1, 40),
    power=st.integers(-323, 101),
    shape=st.sampled_from(["positive", "signed", "mixed", "constant", "one larger"]),
)
def test_numbers_of_any_size_are_learned_or_refused(case, seed, n_rows, power, shape):
    rng = np.random.default_rng(seed)
    y, X = case.target(rng, n_rows), plain_table(seed, n_rows, 3)
    if shape == "signed":
        y *= rng.choice([-1.0, 1.0], n_rows)
    elif shape == "mixed":
        y = 10.0 ** rng.uniform(-320, 100, n_rows)
    elif shape == "constant":
        y[:] = y[0]
    y = np.minimum(y, 1.7) * 10.0**power if shape != "mixed" else y
    if shape == "one larger":
        y[:-1] = rng.normal(size=n_rows - 1)
    found = outcome(case, X, y)
    assert found.model is not None or np.abs(y).max() > LARGEST or "must be" in found.refusal
    if found.model is not None and shape == "constant":
        least = 1e-15 if hasattr(found.model, "loss_") else np.finfo(np.float64).tiny  # of a mean of counts
        np.testing.assert_allclose(found.prediction, y, rtol=1e-6, atol=least)


NUMBER_FORMS = {
    **{name: lambda y, name=name: y.astype(name) for name in ("f2", "f4", "g", ">f8", ">f2")},
    **{name: lambda y, name=name: np.ceil(y * 4).astype(name) for name in ("i1", "u8", ">i4", "?", "i8")},
    "list": lambda y: y.tolist(),
    "read-only": lambda y: np.frombuffer(y.tobytes()),
    "strided": lambda y: np.repeat(y, 3)[::3],
    "broadcast": lambda y: np.broadcast_to(y[:1], y.shape),
    "objects": lambda y: y.astype(object),
    "fractions": lambda y: np.array([Fraction(value) for value in y]),
    "decimals": lambda y: np.array([Decimal(value) for value in y]),
    "pandas": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "pandas nullable": lambda y: pd.Series(y).astype("Float64"),
    "pandas integers": lambda y: pd.Series(np.ceil(y * 4)).astype("Int64"),
    "pandas frame": lambda y: pd.DataFrame({"y": y}),
    "pandas categories": lambda y: pd.Series(pd.Categorical(y)),
    "polars": pl.Series,
    "polars decimals": lambda y: pl.Series(y).cast(pl.Decimal(30, 10)),
    "arrow": lambda y: pa.chunked_array([y[:1], y[1:]]),
    "arrow dictionary": lambda y: pa.array(y).dictionary_encode(),
    "a mask of nothing": lambda y: np.ma.array(y, mask=False),
}


@settings(QUICK, max_examples=80)
@given(
    case=st.sampled_from(REGRESSORS),
    seed=seeds,
    n_rows=st.integers(2, 30),
    form=st.sampled_from(sorted(NUMBER_FORMS)),
)
def test_numbers_of_any_kind_are_their_plain_copy(case, seed, n_rows, form):
    y, X = case.target(np.random.default_rng(seed), n_rows), plain_table(seed, n_rows, 3)
    y = NUMBER_FORMS[form](y)
    before = copy.deepcopy(y)
    plain = np.array([float(value) for value in np.asarray(y).ravel()])
    assert outcome(case, X, y) == outcome(case, X, plain)
    assert np.array_equal(np.asarray(y), np.asarray(before))


@pytest.mark.parametrize("name", ["forest of numbers", "extra trees of numbers"])
@settings(QUICK, max_examples=15)
@given(seed=seeds, n_rows=st.integers(2, 30), n_outputs=st.integers(2, 3), order=st.sampled_from("CFO"))
def test_several_targets_in_any_memory_order(name, seed, n_rows, n_outputs, order):
    case = next(case for case in REGRESSORS if case.name == name)
    y = np.random.default_rng(seed).normal(size=(n_rows, n_outputs))
    X = plain_table(seed, n_rows, 3)
    given_y = pd.DataFrame(y) if order == "O" else np.asarray(y, order=order)
    model, other = case.make().fit(X, given_y), case.make().fit(X, y.copy())
    assert model.predict(X).tobytes() == other.predict(X).tobytes()
    assert_valid(case, model, model.predict(X), X, y)


# --- evaluation sets


EVALUATING = [case for case in ONE_OF_EACH if case.evaluates]
BAD_SETS = ["X", 3, np.ones((12, 2)), (1,), (1, 2, 3, 4), [(1,)], {}, [(None, None)], iter([])]


@pytest.mark.parametrize("case", EVALUATING, ids=str)
def test_fit_rejects_invalid_evaluation_sets_and_callbacks(case):
    X, y = learnable(case)
    sets = [(X[:, :1], y), (X[:0], y[:0]), (X, y[:5]), (X, None), (X, np.full(12, np.nan)), (X, of("q", "r"))]
    sets += [(X, y, -np.ones(12)), (X, y, np.zeros(12)), (X, y, np.full(12, 1e300)), (X, y, [1.0, 2.0])]
    sets = [*BAD_SETS, *([one] for one in sets), *([(X, y), one] for one in sets)]
    callbacks = ["abc", len, [3], [None], [[print]], {print}, iter([print]), [Exception]]
    assert_refused(case, [(X, y, {"eval_set": one}) for one in sets])
    assert_refused(case, [(X, y, {"callbacks": one}) for one in callbacks])


@pytest.mark.parametrize("case", EVALUATING, ids=str)
def test_evaluation_sets_of_any_type_do_not_change_the_model(case):
    X, y = learnable(case)
    kinds = [(X, y), [(X.astype(np.float32), y.tolist())], [(sparse.csc_array(X), pd.Series(y), 2.0)]]
    kinds += [[(X[:1], y[:1]), (X[::-1], y[::-1], np.full(12, 5e-324))], [(X, y)] * 9, []]
    with unintended_warnings_raise():
        plain = case.predict(case.make().fit(X, y), X)
        for eval_set in kinds:
            model = case.make().fit(X, y, eval_set=eval_set)
            numbers = [value for values in model.history_.values() for value in np.ravel(values)]
            assert np.all(np.isfinite(numbers))
            assert case.predict(model, X).tobytes() == plain.tobytes()
