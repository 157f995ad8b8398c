"""Codes as a table: values that stand for bins, where the rows themselves are not at hand.

    code 0       missing
    code k       edges[k - 1], the largest value of its bin; infinity in the last bin, which has no end
    category     the first one that has the code

Coded once more by the same bins, these values have the same codes, and no tree sees more of a row than codes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable, Bins
from hedgerow.table import Schema, Table
from hedgerow.table.surveyed import SurveyedTable


class DecodedTable(Table):
    """A coded table, to be asked as one of values by trees that were grown with the same bins.

    Parameters
    ----------
    binned : BinnedTable
    schema : Schema

    Examples
    --------
    >>> from hedgerow.binning import find_bins
    >>> from hedgerow.table import read_table
    >>> from hedgerow.threads import Team
    >>> table = read_table([[1.0], [2.0], [None], [9.0]])
    >>> binned = find_bins(table).encode(table, Team(1))
    >>> DecodedTable(binned, table.schema).block(0, 4).ravel()
    array([1.5, 5.5, nan, inf])
    """

    __slots__ = ("_codes", "_values")

    def __init__(self, binned: BinnedTable, schema: Schema) -> None:
        self.n_rows, self.n_columns, self.schema = binned.n_rows, binned.n_columns, schema
        self.dtype = np.dtype(np.float64)
        self._codes = binned.codes.by_column
        self._values = [_values(binned.bins, column) for column in range(binned.n_columns)]

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """See `Table.block`."""
        return self._decoded(slice(start, stop), range(self.n_columns))

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = slice(0, None)) -> NDArray[np.float64]:
        """See `Table.rows`."""
        return self._decoded(numbers, range(self.n_columns)[columns])

    def _decoded(self, which: Any, columns: range) -> NDArray[np.float64]:
        parts = [self._values[column][self._codes[column][which]] for column in columns]
        return np.ascontiguousarray(np.stack(parts, axis=1))


def at_hand(table: Table, binned: BinnedTable) -> Table:
    """The table itself, or if its rows are elsewhere, what trees can be asked about instead."""
    return DecodedTable(binned, table.schema) if isinstance(table, SurveyedTable) else table


def _values(bins: Bins, column: int) -> NDArray[np.float64]:
    """The value that each code of a column stands for."""
    if not bins.categorical[column]:
        return np.concatenate([[np.nan], bins.edges_of(column), [np.inf]])
    table = bins.tables[bins.table_starts[column] : bins.table_starts[column + 1]]
    values = np.full(int(table.max()) + 1, np.nan)
    codes, first = np.unique(table, return_index=True)
    values[codes] = first
    return values
