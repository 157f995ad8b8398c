"""A date becomes numbers that trees can split: year, month, day, weekday, hour, and days since 1970.

Moments are timestamps in microseconds without zone; moments with a zone are taken in UTC. `weekday` counts
from 0, Monday. `days` are whole if no date has a time of day, else with the part of the day that has passed.
"""

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.errors import DataFileError, one_line, shown_value

PARTS = ("year", "month", "day", "weekday", "hour", "days")  # in this order
_MICROSECONDS = 86_400_000_000  # of a day


def as_moments(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Dates and timestamps of any unit and zone as timestamps in microseconds, UTC.

    >>> import datetime
    >>> as_moments(pa.chunked_array([[datetime.date(2024, 5, 17)]]), "born").type
    TimestampType(timestamp[us])
    """
    kind = values.type
    try:
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            values = values.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        fine = not (
            pa.types.is_timestamp(kind) and kind.unit == "ns"
        )  # nanoseconds are cut, others multiplied
        return values.cast(pa.timestamp("us"), safe=fine)
    except pa.ArrowInvalid as error:
        raise DataFileError(
            f"column {shown_value(name)} holds dates out of reach ({one_line(error)})"
        ) from error


def parts_of(moments: pa.ChunkedArray) -> tuple[str, ...]:
    """The parts worth having: `hour` only if any date has a time of day.

    >>> import datetime
    >>> parts_of(as_moments(pa.chunked_array([[datetime.date(2024, 5, 17)]]), "born"))
    ('year', 'month', 'day', 'weekday', 'days')
    """
    timed = pc.any(pc.not_equal(_of_day(moments), 0)).as_py()
    return PARTS if timed else tuple(part for part in PARTS if part != "hour")


def _of_day(moments: pa.ChunkedArray) -> pa.ChunkedArray:
    """Microseconds since midnight."""
    whole = moments.cast(pa.int64())
    return pc.subtract(whole, pc.floor_temporal(moments, unit="day").cast(pa.int64()))


def expand(moments: pa.ChunkedArray, parts: tuple[str, ...]) -> list[pa.ChunkedArray]:
    """One float64 column for each part.

    >>> import datetime
    >>> moments = as_moments(pa.chunked_array([[datetime.date(1970, 1, 2)]]), "born")
    >>> [column.to_pylist() for column in expand(moments, ("year", "weekday", "days"))]
    [[1970.0], [4.0], [1.0]]
    """
    functions = {
        "year": pc.year,
        "month": pc.month,
        "day": pc.day,
        "weekday": pc.day_of_week,
        "hour": pc.hour,
    }
    columns = []
    for part in parts:
        if part == "days":
            whole = pc.floor_temporal(moments, unit="day").cast(pa.int64()) if "hour" not in parts else None
            since = moments.cast(pa.int64()) if whole is None else whole
            column = pc.divide(since.cast(pa.float64(), safe=False), float(_MICROSECONDS))
        else:
            column = functions[part](moments).cast(pa.float64())
        columns.append(column)
    return columns
