"""Array types that many modules share."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
AnyFloats: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64: the values of a table
Integers: TypeAlias = NDArray[np.int64]
RowNumbers: TypeAlias = NDArray[np.uint32]  # dtypes.ROW
Keys: TypeAlias = NDArray[np.uint64]  # hashes of rows
