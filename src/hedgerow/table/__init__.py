"""Any input -> a checked Table, read in blocks of rows.

X (NumPy, lists, pandas, polars, Arrow, SciPy sparse)
  -> source (arrays, sparse, frames): its shape, its names, its columns one at a time
  -> Schema: what a model remembers of its columns
  -> Table: rows as plain float matrices, categories as numbers, missing as NaN
"""

from hedgerow.table.reading import read_table
from hedgerow.table.schema import Schema
from hedgerow.table.table import Table

__all__ = ["Schema", "Table", "read_table"]
