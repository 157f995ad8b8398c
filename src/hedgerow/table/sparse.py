"""SciPy sparse matrices and sparse arrays of any format.

What is not stored is zero, not missing; a stored NaN is missing.  Rows are read in blocks, so
every format is turned into CSR once.
"""

from collections.abc import Mapping
from typing import Any

from hedgerow._typing import AnyFloats
from hedgerow.memory import require_memory
from hedgerow.table.categories import Labels, labels_of_numbers
from hedgerow.table.checks import check_kind, check_two_dimensional
from hedgerow.table.schema import Schema
from hedgerow.table.table import SparseTable, Table


def as_csr(X: Any) -> Any:
    """A sparse matrix by rows; refuses one of more rows than there is room to say where they begin."""
    n_rows, n_columns = X.shape
    if X.format != "csr":
        what = f"reading a sparse matrix of {n_rows:,} rows and {n_columns:,} columns"
        require_memory({"starts of the rows": 8 * n_rows, "values": 16 * X.nnz}, what, "use fewer rows")
    return X.tocsr()


class SparseSource:
    """A sparse matrix without column names."""

    names = None
    typed_categorical = frozenset[int]()

    def __init__(self, X: Any) -> None:
        check_two_dimensional(X.ndim, X)
        check_kind(X.dtype, "X")
        self._matrix = as_csr(X)
        self.shape: tuple[int, int] = self._matrix.shape

    def label(self, column: int) -> str:
        """How messages call a column."""
        return f"Column {column}"

    def labels(self, column: int) -> Labels:
        """Give a categorical column, zeros included, as codes and distinct values."""
        return labels_of_numbers(self._matrix[:, [column]].toarray().ravel())

    def table(self, schema: Schema, numbers: Mapping[int, AnyFloats]) -> Table:
        """Make the table, given the numbers of the categorical columns."""
        return SparseTable(self._matrix, schema, numbers)
