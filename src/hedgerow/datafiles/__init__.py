"""Files on disk become Arrow tables, and Arrow tables become X and y by a recipe that can be read and kept.

    read_data(path) ─▶ table ─▶ make_recipe(table, target) ─▶ recipe.features(table), recipe.labels(table)

The recipe is what a model file keeps, so that a later file, with its columns in another order or its numbers
of another type, becomes the same features.
"""

from hedgerow.datafiles.errors import DataFileError
from hedgerow.datafiles.names import nearest_names, unknown_name
from hedgerow.datafiles.planning import make_recipe
from hedgerow.datafiles.reading import read_data
from hedgerow.datafiles.recipe import PlannedColumn, Recipe
from hedgerow.datafiles.summary import ColumnSummary, TableSummary, describe
from hedgerow.datafiles.writing import write_data

__all__ = [
    "ColumnSummary",
    "DataFileError",
    "PlannedColumn",
    "Recipe",
    "TableSummary",
    "describe",
    "make_recipe",
    "nearest_names",
    "read_data",
    "unknown_name",
    "write_data",
]
