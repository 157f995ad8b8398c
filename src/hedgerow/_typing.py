"""Array types and dtypes that many modules share, the limits that follow from them, and missing values."""

import math
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
AnyFloats: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64: the values of a table
Integers: TypeAlias = NDArray[np.int64]
RowNumbers: TypeAlias = NDArray[np.uint32]  # of dtype ROW
Keys: TypeAlias = NDArray[np.uint64]  # hashes of rows

CODE = np.uint8  # hence at most 255 bins for values and one code for missing
WIDE_CODE = np.uint16  # for up to 65,535 bins, with which stumps are exact
ROW = np.uint32  # row numbers: half the memory traffic of int64, up to 4.29e9 rows
MAX_ROWS = 2**32 - 1

MISSING_CODE = 0  # missing or unknown; the codes 1..n_bins are the bins of a column
MAX_BINS = 255  # bins of one byte beside MISSING_CODE
MAX_WIDE_BINS = 65_535  # the same for two bytes

MISSING_TYPES = ("NAType", "NaTType")  # of pandas, by name: it stays optional


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, NaT or pandas.NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in MISSING_TYPES
