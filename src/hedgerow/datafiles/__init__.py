"""Files on disk become Arrow tables; Arrow tables become X and y by a recipe that is stored with the model.

    read_data(path) ─▶ table ─▶ make_recipe(table, target) ─▶ recipe.features(table), recipe.labels(table)

With the recipe a later file, whose columns have another order or whose numbers have another type, becomes the
same features. Modules that need pyarrow are imported when a name of theirs is used.
"""

from typing import TYPE_CHECKING

from hedgerow.datafiles.errors import DataFileError, nearest_names, unknown_name
from hedgerow.optional import lazy_names

if TYPE_CHECKING:
    from hedgerow.datafiles.files import read_data, read_typed
    from hedgerow.datafiles.findings import ReadOptions, UndecidedError
    from hedgerow.datafiles.planning import make_recipe
    from hedgerow.datafiles.recipe import PlannedColumn, Recipe
    from hedgerow.datafiles.summary import ColumnSummary, TableSummary, describe
    from hedgerow.datafiles.typed_table import TypedTable
    from hedgerow.datafiles.writing import write_data

__all__ = [
    "ColumnSummary",
    "DataFileError",
    "PlannedColumn",
    "ReadOptions",
    "Recipe",
    "TableSummary",
    "TypedTable",
    "UndecidedError",
    "describe",
    "make_recipe",
    "nearest_names",
    "read_data",
    "read_typed",
    "unknown_name",
    "write_data",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "hedgerow.datafiles.files": ["read_data", "read_typed"],
        "hedgerow.datafiles.findings": ["ReadOptions", "UndecidedError"],
        "hedgerow.datafiles.planning": ["make_recipe"],
        "hedgerow.datafiles.recipe": ["PlannedColumn", "Recipe"],
        "hedgerow.datafiles.summary": ["ColumnSummary", "TableSummary", "describe"],
        "hedgerow.datafiles.typed_table": ["TypedTable"],
        "hedgerow.datafiles.writing": ["write_data"],
    },
)
