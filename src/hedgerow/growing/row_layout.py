"""RowLayout: the bytes of a row of a shard.

    | codes, a byte each | 0 to 7 unused | values of numeric columns | unused |

Linear leaves alone need values. They are stored behind the codes, so that tables in files, partitions and
workers handle them as codes: one array of bytes (rows, width).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats, Integers
from hedgerow.binning import Bins, aligned_rows, row_stride

_ALIGNED = 8  # bytes of the largest value


@dataclass(frozen=True)
class RowLayout:
    """Where codes and values are in a row.

    Parameters
    ----------
    n_codes : int
    columns : tuple of int
        The columns of the table whose values are stored.
    dtype : str
        Of the values: "float32" or "float64".

    Examples
    --------
    >>> RowLayout(28).width, RowLayout(28, tuple(range(28)), "float32").width
    (32, 160)
    """

    n_codes: int
    columns: tuple[int, ...] = ()
    dtype: str = "float64"

    @classmethod
    def with_values(cls, bins: Bins, dtype: np.dtype[Any]) -> "RowLayout":
        """Return the layout of codes of these bins, and of the values of all numeric columns."""
        return cls(bins.n_columns, tuple(np.flatnonzero(bins.categorical == 0).tolist()), dtype.name)

    @property
    def width(self) -> int:
        """The bytes from one row to the next."""
        if not self.columns:
            return row_stride(self.n_codes)
        return row_stride(value_bytes(self.n_codes, len(self.columns) * np.dtype(self.dtype).itemsize))

    @property
    def positions(self) -> Integers:
        """The position of every column in `values`; 0 for columns without values."""
        positions = np.zeros(self.n_codes, np.int64)
        first = -(-self.n_codes // _ALIGNED) * _ALIGNED // np.dtype(self.dtype).itemsize
        positions[list(self.columns)] = first + np.arange(len(self.columns))
        return positions

    def values(self, rows: NDArray[Any]) -> AnyFloats:
        """Return rows as an array of numbers, of which those at `positions` are values."""
        return rows.view(self.dtype) if self.columns else np.empty((len(rows), 0), self.dtype)

    def allocate(self, n_rows: int) -> NDArray[Any]:
        """Allocate rows, uninitialised."""
        return aligned_rows(n_rows, self.width)

    def encode(self, bins: Bins, block: AnyFloats, rows: NDArray[Any], first: int) -> None:
        """Write codes and values of a block of the table to rows `first`..."""
        own = rows[first : first + len(block)]
        own[:, bins.n_columns :] = 0
        bins.encode_block(block, rows, first, by_row=True)
        if self.columns:
            self.values(own)[:, self.positions[list(self.columns)]] = block[:, list(self.columns)]


def value_bytes(n_codes: int, n_bytes: int) -> int:
    """Return the bytes of codes and of the values behind them.

    >>> value_bytes(28, 112), value_bytes(28, 0)
    (144, 28)
    """
    return -(-n_codes // _ALIGNED) * _ALIGNED + n_bytes if n_bytes else n_codes
