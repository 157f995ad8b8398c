"""Data frames in memory become the features that a recipe makes of files."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.datafiles import DataFileError, PlannedColumn, Recipe, make_recipe
from hedgerow.datafiles.frames import frame_to_arrow

N = 40
COLUMNS = {
    "size": [number + 0.5 for number in range(N)],
    "count": list(range(N)),
    "on": [True, False] * (N // 2),
    "hue": ["red", "blue", "red", "green"] * (N // 4),
    "day": [dt.datetime(2024, 1, 1) + dt.timedelta(days=3 * number) for number in range(N)],  # noqa: DTZ001
    "y": ["no", "yes"] * (N // 2),
}
TABLE = pa.table(COLUMNS)
RECIPE = make_recipe(TABLE, "y")
FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda: pd.DataFrame(COLUMNS, index=range(100, 100 + N)),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype(object),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"hue": "category", "on": "category"}),
    "pandas texts": lambda: pd.DataFrame(COLUMNS).astype({"size": str, "count": str, "day": str}),
    "pandas of Arrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categories": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("hue").cast(pl.Categorical)),
    "polars enumerations": lambda: pl.DataFrame(COLUMNS).with_columns(
        pl.col("hue").cast(pl.Enum(["green", "red", "blue"]))
    ),
    "polars texts": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("size", "count").cast(pl.String)),
    "other order, no target": lambda: pl.DataFrame(COLUMNS).select("day", "hue", "on", "count", "size"),
    "Arrow": lambda: TABLE,
    "Arrow batch": lambda: TABLE.to_batches()[0],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_library_become_the_features_of_the_table(kind):
    features, expected = RECIPE.apply_frame(FRAMES[kind]()), RECIPE.features(TABLE)
    assert features.schema == expected.schema
    assert features.to_pydict() == expected.to_pydict()


def test_columns_that_the_recipe_does_not_name_may_hold_anything():
    frame = pd.DataFrame(COLUMNS).assign(other=[{"a": 1}, object()] * (N // 2))
    assert RECIPE.apply_frame(frame).num_rows == N


def test_missing_objects_of_every_library_are_missing():
    frame = pd.DataFrame({"a": pd.Series([1, None, pd.NA, np.nan, Decimal("nan")], dtype=object)})
    assert frame_to_arrow(frame)["a"].to_pylist() == [1, None, None, None, None]


def test_objects_of_several_types_become_text():
    values = [1, "x", True, 2.5, dt.date(2024, 5, 17), None]
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    assert frame_to_arrow(frame)["a"].to_pylist() == ["1", "x", "True", "2.5", "2024-05-17", None]


def test_names_that_are_numbers_become_text():
    assert frame_to_arrow(pd.DataFrame({0: [1], 1: [2]})).to_pydict() == {"0": [1], "1": [2]}


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (np.zeros((2, 2)), "a data frame of pandas, polars or Arrow is needed; got 'ndarray'"),
        ({"size": [1]}, "a data frame of pandas, polars or Arrow is needed; got 'dict'"),
        (pl.LazyFrame(COLUMNS), "the data frame is lazy; collect it first"),
        (pd.DataFrame({"1": [1], 1: [2]}), "the columns 1 and 2 have the same name '1'"),
        (
            pd.DataFrame({"size": [object(), 1]}),
            "column 'size' holds Python objects that are not values of a table",
        ),
        (pl.DataFrame({"size": [1.5]}), r"there is no column 'count'.*\(3 other columns of the model"),
        (pl.DataFrame(COLUMNS | {"size": ["big"] * N}), "column 'size' must hold numbers, as in training"),
    ],
)
def test_anything_else_is_refused(frame, message):
    with pytest.raises(DataFileError, match=message):
        RECIPE.apply_frame(frame)


def test_spaces_around_names_of_a_frame_are_ignored():
    recipe = Recipe("y", "regression", (PlannedColumn("a", "number"), PlannedColumn("b", "number")))
    frame = pd.DataFrame({" b ": [1.0], "a": [2.0], "a ": [3.0]})
    assert recipe.apply_frame(frame).to_pydict() == {"a": [2.0], "b": [1.0]}
