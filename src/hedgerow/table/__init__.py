"""Validated input tables.

X (NumPy, lists, pandas, polars, Arrow, SciPy sparse)
  -> source: shape, names, and columns one at a time     reading.py, frames.py
  -> Schema: the columns that a model stores             table.py
  -> Table: blocks of rows as plain float matrices, categories as numbers, missing as NaN
"""

from hedgerow.table.reading import read_table
from hedgerow.table.table import Schema, Table

__all__ = ["Schema", "Table", "read_table"]
