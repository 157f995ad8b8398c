"""The values of rows as bits, of which keys are made: equal rows have equal keys, in every library."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def value_bits(values: NDArray[Any], *, rounded: bool = False) -> NDArray[np.uint64]:
    """The bits of the values as float64, or of their float32; one pattern for all NaN and for both zeros.

    >>> bits = value_bits(np.array([0.0, -0.0, np.nan, -np.nan]))
    >>> bool(bits[0] == bits[1] == 0), bool(bits[2] == bits[3])
    (True, True)
    """
    if rounded:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    numbers: NDArray[np.float64] = np.array(values, np.float64, order="C")
    numbers += 0.0  # -0.0 + 0.0 is 0.0, whose bits are 0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)
