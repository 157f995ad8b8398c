"""Files on disk become Arrow tables; Arrow tables become X and y by a recipe that is stored with the model.

    read_data(path) ─▶ table ─▶ make_recipe(table, target) ─▶ recipe.features(table), recipe.labels(table)

With the recipe a later file, whose columns have another order or whose numbers have another type, becomes the
same features. Modules that need pyarrow are imported when a name of theirs is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hedgerow.datafiles.errors import DataFileError, nearest_names, unknown_name

if TYPE_CHECKING:
    from hedgerow.datafiles.column_types import TypedTable
    from hedgerow.datafiles.files import read_data, read_typed, write_data
    from hedgerow.datafiles.planning import make_recipe
    from hedgerow.datafiles.recipe import PlannedColumn, Recipe
    from hedgerow.datafiles.summary import ColumnSummary, TableSummary, describe

_MODULES = {
    "column_types": ("TypedTable",),
    "files": ("read_data", "read_typed", "write_data"),
    "planning": ("make_recipe",),
    "recipe": ("PlannedColumn", "Recipe"),
    "summary": ("ColumnSummary", "TableSummary", "describe"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ColumnSummary",
    "DataFileError",
    "PlannedColumn",
    "Recipe",
    "TableSummary",
    "TypedTable",
    "describe",
    "make_recipe",
    "nearest_names",
    "read_data",
    "read_typed",
    "unknown_name",
    "write_data",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
