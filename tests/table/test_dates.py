"""Columns of dates and timestamps: seconds since 1970, whatever library and unit store them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from all_estimators import ESTIMATORS, small
from hedgerow.table import read_table

DAY = dt.datetime(2024, 5, 17, 12, 30, 0, 250_000)  # noqa: DTZ001
BEFORE_1970 = dt.datetime(1969, 12, 31, 23, 59, 59)  # noqa: DTZ001
SECONDS = [1715949000.25, -1.0, np.nan]
ZONE = dt.timezone(dt.timedelta(hours=2))
LOCAL = [DAY.replace(tzinfo=dt.UTC).astimezone(ZONE), BEFORE_1970.replace(tzinfo=dt.UTC), None]
FRAMES = {
    "pandas": pd.DataFrame({"when": pd.to_datetime([DAY, BEFORE_1970, None])}),
    "pandas in nanoseconds": pd.DataFrame({"when": pd.to_datetime([DAY, BEFORE_1970, None]).as_unit("ns")}),
    "pandas with a zone": pd.DataFrame({"when": pd.to_datetime(LOCAL, utc=True).tz_convert("Asia/Tokyo")}),
    "pandas of Arrow": pd.DataFrame(
        {"when": pd.Series([DAY, BEFORE_1970, None], dtype=pd.ArrowDtype(pa.timestamp("us")))}
    ),
    "polars": pl.DataFrame({"when": [DAY, BEFORE_1970, None]}),
    "polars in milliseconds": pl.DataFrame(
        {"when": pl.Series([DAY, BEFORE_1970, None], dtype=pl.Datetime("ms"))}
    ),
    "polars with a zone": pl.DataFrame(
        {"when": pl.Series([DAY, BEFORE_1970, None]).dt.replace_time_zone("UTC")}
    ).with_columns(pl.col("when").dt.convert_time_zone("America/Lima")),
    "Arrow": pa.table({"when": [DAY, BEFORE_1970, None]}),
    "Arrow with a zone": pa.table({"when": pa.array(LOCAL, pa.timestamp("us", "Europe/Paris"))}),
}


@pytest.mark.parametrize("library", FRAMES)
def test_timestamps_become_seconds_since_1970(library):
    table = read_table(FRAMES[library])
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table.block(0, 3)[:, 0], SECONDS)


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_dates_become_seconds_since_1970(frame):
    table = read_table(frame({"day": [dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)]}))
    np.testing.assert_array_equal(table.block(0, 3)[:, 0], [86400.0, np.nan, -86400.0])


def test_other_columns_of_a_frame_with_dates_stay_unchanged():
    frame = pd.DataFrame(
        {"when": pd.to_datetime([DAY, None]), "x": [1, 2], "hue": pd.Categorical(["a", "b"])}
    )
    table = read_table(frame)
    np.testing.assert_array_equal(table.block(0, 2), [[SECONDS[0], 1, 0], [np.nan, 2, 1]])


def test_a_later_table_may_store_dates_in_another_library():
    schema = read_table(FRAMES["pandas"]).schema
    np.testing.assert_array_equal(read_table(FRAMES["polars"], schema=schema).block(0, 3)[:, 0], SECONDS)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_is_fitted_to_dates_as_to_their_seconds(kind):
    days = pd.Timestamp(DAY) + pd.to_timedelta(np.arange(160) * 7, unit="h")
    y = (np.arange(160) // 40) % 2
    frame = pd.DataFrame({"when": days, "x": np.arange(160) % 3})
    seconds = frame.assign(when=SECONDS[0] + np.arange(160) * 25_200)
    predicted = small(kind).fit(frame, y).predict(frame)
    np.testing.assert_array_equal(predicted, small(kind).fit(seconds, y).predict(seconds))
    assert len(set(predicted.ravel().tolist())) > 1
