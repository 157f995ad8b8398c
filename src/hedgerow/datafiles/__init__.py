"""Files on disk become Arrow tables; Arrow tables become X and y by a recipe that is stored with the model.

    read_data(path) ─▶ table ─▶ make_recipe(table, target) ─▶ recipe.features(table), recipe.labels(table)

With the recipe a later file, whose columns have another order or whose numbers have another type, becomes the
same features. Modules that need pyarrow are imported when a name of theirs is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hedgerow.datafiles.errors import DataFileError, nearest_names, unknown_name

if TYPE_CHECKING:
    from hedgerow.datafiles.files import read_data, read_typed
    from hedgerow.datafiles.findings import ReadOptions, UndecidedError
    from hedgerow.datafiles.planning import make_recipe
    from hedgerow.datafiles.recipe import PlannedColumn, Recipe
    from hedgerow.datafiles.summary import ColumnSummary, TableSummary, describe
    from hedgerow.datafiles.typed_table import TypedTable
    from hedgerow.datafiles.writing import write_data

_MODULES = {
    "files": ("read_data", "read_typed"),
    "findings": ("ReadOptions", "UndecidedError"),
    "planning": ("make_recipe",),
    "recipe": ("PlannedColumn", "Recipe"),
    "summary": ("ColumnSummary", "TableSummary", "describe"),
    "typed_table": ("TypedTable",),
    "writing": ("write_data",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
