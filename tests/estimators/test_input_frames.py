"""Models of data frames of any library and dtype equal those of an array of their values, or are refused."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from input_cases import (
    EVERY,
    ONE_OF_EACH,
    QUICK,
    assert_deliberate,
    assert_refused,
    learnable,
    outcome,
    seeds,
    unintended_warnings_raise,
)

cases = st.sampled_from(EVERY)


# --- frames of numbers: values from 0 to 9, None for missing -> a column of some dtype

PANDAS = {
    **{
        name: lambda v, name=name: pd.Series(v, dtype=name)
        for name in ("Int8", "UInt64", "Float32", "Float64")
    },
    "float64": lambda v: pd.Series(v, dtype="float64"),
    "object": lambda v: pd.Series(v, dtype=object),
    "decimals": lambda v: pd.Series([None if one is None else Decimal(one) for one in v], dtype=object),
    "arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int32())),
    "arrow decimals": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.decimal128(12, 2))),
    "sparse": lambda v: pd.Series(pd.arrays.SparseArray(pd.Series(v, dtype="float64"))),
}
POLARS = {
    name: lambda v, kind=kind: pl.Series(v, dtype=pl.Int64).cast(kind)
    for name, kind in [("i8", pl.Int8), ("u64", pl.UInt64), ("i128", pl.Int128), ("f32", pl.Float32),
                       ("f64", pl.Float64), ("decimal", pl.Decimal(20, 3))]
}  # fmt: skip
ARROW = {
    name: lambda v, kind=kind: pa.array([None if one is None else float(one) for one in v]).cast(kind)
    for name, kind in [("i8", pa.int8()), ("u64", pa.uint64()), ("f32", pa.float32()), ("f64", pa.float64()),
                       ("decimal", pa.decimal128(12, 2)), ("wide decimal", pa.decimal256(50, 3))]
}  # fmt: skip


def in_chunks(table, rng):
    """The same Arrow table in pieces, some of them empty."""
    cuts = np.sort(rng.integers(0, len(table) + 1, 3)).tolist()
    ends = zip([0, *cuts], [*cuts, len(table)], strict=True)
    return pa.concat_tables([table.slice(first, last - first) for first, last in ends])


def frame_of(library, columns, rng):
    if library == "pandas":
        index = pd.MultiIndex.from_arrays([rng.integers(0, 2, len(columns["a"])), columns["a"].index])
        return pd.DataFrame(columns).set_axis(index)
    if library == "polars":
        return pl.DataFrame(columns)
    table = pa.table(columns)
    return in_chunks(table, rng) if library == "chunks" else table


KINDS = {"pandas": PANDAS, "polars": POLARS, "arrow": ARROW, "chunks": ARROW}


@settings(QUICK, max_examples=80)
@given(
    case=cases,
    seed=seeds,
    n_rows=st.integers(2, 40),
    library=st.sampled_from(sorted(KINDS)),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    data=st.data(),
)
def test_a_frame_is_the_array_of_its_values(case, seed, n_rows, library, share, data):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 10, size=(n_rows, 3)).astype(object)
    values[:, :2][rng.random((n_rows, 2)) < share] = None
    kinds = KINDS[library]
    chosen = [kinds[data.draw(st.sampled_from(sorted(kinds)))] for _ in range(3)]
    columns = {
        name: kind(values[:, i].tolist()) for i, (name, kind) in enumerate(zip("abc", chosen, strict=True))
    }
    frame, plain = frame_of(library, columns, rng), values.astype(np.float64)
    y = case.target(rng, n_rows, n_classes=3)
    before = frame.copy() if library == "pandas" else frame
    found = outcome(case, frame, y)
    assert found == outcome(case, plain, y)
    assert frame.equals(before)
    if found.model is not None:
        assert found.model.feature_names_in_.tolist() == ["a", "b", "c"]
        with unintended_warnings_raise():
            assert case.predict(found.model, plain).tobytes() == found.prediction.tobytes()


# --- categories


def categories_of(library, names, rng):
    """A categorical column; the categories of the dtype stand in some order, and some are not used."""
    listed = rng.permutation([*"pqrstuvw"]).tolist()
    if library == "pandas":
        return pd.Series(pd.Categorical(names, categories=listed, ordered=bool(rng.integers(2))))
    if library == "polars":
        return pl.Series(names, dtype=pl.Categorical if rng.integers(2) else pl.Enum(listed))
    return pa.array(names, pa.string()).dictionary_encode()


@settings(QUICK, max_examples=80)
@given(
    case=cases,
    seed=seeds,
    n_rows=st.integers(3, 40),
    libraries=st.tuples(*[st.sampled_from(["pandas", "polars", "arrow", "chunks"])] * 2),
)
def test_categories_are_known_by_their_names_in_every_library(case, seed, n_rows, libraries):
    rng = np.random.default_rng(seed)
    names = [None if place == 4 else "pqrs"[place] for place in rng.integers(0, 5, n_rows)]
    numbers, y = rng.integers(0, 3, n_rows).astype(float), case.target(rng, n_rows)
    unseen = ["w", None, *names][:n_rows]
    missing = [None, None, *names][:n_rows]

    def frame(library, column):
        columns = {"a": categories_of(library, column, rng), "b": numbers}
        columns["b"] = pd.Series(numbers) if library == "pandas" else numbers
        return frame_of(library, columns, rng)

    found, other = (outcome(case, frame(library, names), y) for library in libraries)
    assert found == other
    if found.model is not None:
        with unintended_warnings_raise():
            for library in libraries:
                predictions = [
                    case.predict(found.model, frame(library, column)) for column in (unseen, missing)
                ]
                assert predictions[0].tobytes() == predictions[1].tobytes()
                assert (
                    case.predict(found.model, frame(library, names)).tobytes() == found.prediction.tobytes()
                )


# --- no tables


def columns(*values):
    return {"a": values[0] if len(values) == 1 else list(values), "b": list(range(12))}


NO_TABLES = {
    "texts": pd.DataFrame(columns(["x"] * 12)),
    "string dtype": pd.DataFrame(columns(pd.Series(["x"] * 12, dtype="string"))),
    "complex": pd.DataFrame(columns(np.ones(12) * 1j)),
    "durations": pd.DataFrame(columns(pd.timedelta_range("1D", periods=12))),
    "periods": pd.DataFrame(columns(pd.period_range("2020", periods=12, freq="D"))),
    "intervals": pd.DataFrame(columns(pd.interval_range(0, 12))),
    "lists": pd.DataFrame(columns([[1]] * 12)),
    "dicts": pd.DataFrame(columns([{}] * 12)),
    "equal names": pd.DataFrame(np.ones((12, 2)), columns=["a", "a"]),
    "names and numbers": pd.DataFrame(np.ones((12, 2)), columns=["a", 1]),
    "no rows": pd.DataFrame({"a": []}),
    "no columns": pd.DataFrame(index=range(12)),
    "a series": pd.Series(np.ones(12)),
    "polars, lazy": pl.DataFrame(columns([1.0] * 12)).lazy(),
    "polars, texts": pl.DataFrame(columns(["x"] * 12)),
    "polars, lists": pl.DataFrame(columns([[1]] * 12)),
    "polars, arrays": pl.DataFrame(columns(pl.Series([[1, 2]] * 12, dtype=pl.Array(pl.Int64, 2)))),
    "polars, structs": pl.DataFrame(columns([{"x": 1}] * 12)),
    "polars, durations": pl.DataFrame(columns([dt.timedelta(1)] * 12)),
    "polars, times": pl.DataFrame(columns([dt.time(1)] * 12)),
    "polars, bytes": pl.DataFrame(columns([b"x"] * 12)),
    "polars, no rows": pl.DataFrame({"a": []}),
    "polars, no columns": pl.DataFrame(),
    "Arrow, texts": pa.table(columns(["x"] * 12)),
    "Arrow, lists": pa.table(columns([[1]] * 12)),
    "Arrow, structs": pa.table(columns([{"x": 1}] * 12)),
    "Arrow, maps": pa.table(columns(pa.array([[("x", 1)]] * 12, pa.map_(pa.string(), pa.int64())))),
    "Arrow, bytes": pa.table(columns([b"x"] * 12)),
    "Arrow, equal names": pa.table([pa.array(range(12))] * 2, names=["a", "a"]),
    "Arrow, no rows": pa.table({"a": pa.array([], pa.float64())}),
}


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_fit_rejects_invalid_frames(case):
    y = learnable(case)[1]
    assert_refused(case, [(X, y, {}) for X in NO_TABLES.values()])


# --- rows to predict


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_predict_requires_the_names_of_the_fit_in_their_order(case):
    X, y = learnable(case)
    colours = ["red", "blue"] * 6
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "colour": pd.Categorical(colours)})
    with unintended_warnings_raise():
        model = case.make().fit(frame, y)
        prediction = case.predict(model, frame)
    other = [frame[["b", "a", "colour"]], frame.rename(columns={"b": "B"}), frame[["a", "b"]], frame[:0]]
    other += [frame.assign(d=1.0), frame[["a", "a", "b"]], frame.assign(a="x"), frame.assign(b=[[1]] * 12)]
    other += [pl.DataFrame({"a": X[:, 0]}), pa.table({"a": colours}), X, np.ones((3, 4))]
    for rows in other:
        with unintended_warnings_raise(), pytest.raises((ValueError, TypeError)) as caught:
            case.predict(model, rows)
        assert_deliberate(caught.value)
    with unintended_warnings_raise():
        same = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "colour": colours})
        assert case.predict(model, same).tobytes() == prediction.tobytes()


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_column_names_may_be_any_strings(case):
    X, y = learnable(case)
    plain = outcome(case, X, y)
    for names in (["", " "], ["a\nb", "\u2028"], ["x" * 999, "0"]):
        found = outcome(case, pd.DataFrame(X, columns=names), y)
        assert found.model.feature_names_in_.tolist() == names
    for axis in (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), [0, 1], [1.5, 2.5]):
        found = outcome(case, pd.DataFrame(X, columns=axis), y)
        assert found == plain
        assert not hasattr(found.model, "feature_names_in_")
