"""A recipe: how a table becomes X and y. It is made from the training table and stored with the model."""

import reprlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.datafiles.column_types import TypedTable, is_text
from hedgerow.datafiles.conversion import (
    PARTS,
    expand_dates,
    to_booleans,
    to_categories,
    to_dates,
    to_numbers,
)
from hedgerow.datafiles.errors import DataFileError, unknown_name
from hedgerow.datafiles.target import LABELS, TASKS, to_labels

PLANNED = ("number", "boolean", "category", "date")
_KEYS = ("target", "task", "labels_are", "columns", "dropped", "notes")


@dataclass(frozen=True)
class PlannedColumn:
    """A column of the file that the model uses.

    Parameters
    ----------
    name : str
        The name of the column in the file.
    kind : str
        "number", "boolean", "category" or "date".
    parts : tuple of str
        For a date, those of year, month, day, weekday, hour and days that become features.

    Examples
    --------
    >>> PlannedColumn("born", "date", ("year", "days")).features
    ('born.year', 'born.days')
    """

    name: str
    kind: str
    parts: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that it becomes."""
        return tuple(f"{self.name}.{part}" for part in self.parts) if self.kind == "date" else (self.name,)


@dataclass(frozen=True)
class Recipe:
    """How a table becomes X and y; made by `make_recipe`, stored in model files.

    Parameters
    ----------
    target : str
        The column that is predicted.
    task : str
        "classification" or "regression".
    columns : tuple of PlannedColumn
        The columns that become X, in this order.
    dropped : tuple of (str, str)
        Columns that are left out, each with the reason.
    notes : tuple of str
        Notes for the user.
    labels_are : str
        The kind of values in y: "text", "integer", "boolean" or "number".

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.datafiles import make_recipe
    >>> table = pa.table({"size": [1, 2, 3, 4], "hue": ["red", "blue"] * 2, "price": [1.5, 2.5, 3.5, 9.0]})
    >>> recipe = make_recipe(table, "price")
    >>> recipe.task, recipe.feature_names
    ('regression', ('size', 'hue'))
    >>> recipe.features(table).schema.types
    [DataType(double), DictionaryType(dictionary<values=string, indices=int32, ordered=0>)]
    >>> recipe.labels(table)
    array([1.5, 2.5, 3.5, 9. ])
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    target: str
    task: str
    columns: tuple[PlannedColumn, ...]
    dropped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    labels_are: str = "text"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return tuple(name for column in self.columns for name in column.features)

    def features(self, table: pa.Table | TypedTable) -> pa.Table:
        """Return the table X: float64 numbers, booleans and dictionary<string> categories.

        The columns of the table may have any order, and there may be others. Categories that did not occur in
        training are allowed.

        Parameters
        ----------
        table : pyarrow.Table or TypedTable
            A table with the columns of the recipe; the target is not needed.

        Returns
        -------
        pyarrow.Table
            A table of the columns `feature_names`.

        Raises
        ------
        DataFileError
            If a column is missing or its values have another kind than in training.
        """
        typed = TypedTable.of(table)
        names: list[str] = []
        features: list[Any] = []
        existing = set(typed.column_names)
        missing = [column.name for column in self.columns if column.name not in existing]
        if missing:
            others = (
                f" ({len(missing) - 1} other columns of the model are missing too)" if missing[1:] else ""
            )
            raise DataFileError(unknown_name(missing[0], typed.column_names) + others)
        for column in self.columns:
            _check_unique(typed, column.name)
            features += _features(typed, column)
            names += column.features
        return pa.table(features, names=names)

    def labels(self, table: pa.Table | TypedTable) -> NDArray[Any]:
        """Return the array y: texts (as objects), integers, booleans, or float64 numbers for regression.

        Parameters
        ----------
        table : pyarrow.Table or TypedTable
            Its target must be known in every row; see `has_label`.

        Returns
        -------
        array of shape (n_rows,)
            One label for each row.
        """
        return to_labels(self._target(TypedTable.of(table)), self.target, self.labels_are)

    def has_label(self, table: pa.Table | TypedTable) -> pa.ChunkedArray:
        """Return which rows have a known target.

        Parameters
        ----------
        table : pyarrow.Table or TypedTable
            A table with the target.

        Returns
        -------
        boolean pyarrow.ChunkedArray
            For ``table.filter``; at least one row has a target.

        Examples
        --------
        >>> table = pa.table({"a": [1, 2, 3], "y": ["yes", None, "no"]})
        >>> recipe = Recipe("y", "classification", (PlannedColumn("a", "number"),))
        >>> recipe.has_label(table).to_pylist()
        [True, False, True]
        """
        known = pc.is_valid(self._target(TypedTable.of(table)))
        if not pc.any(known).as_py():
            raise DataFileError(f"the target {self.target!r} is missing in every row")
        return known

    def _target(self, table: TypedTable) -> pa.ChunkedArray:
        if self.target not in table.column_names:
            raise DataFileError(unknown_name(self.target, table.column_names))
        _check_unique(table, self.target)
        return table.labels(self.target)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as lists, texts and dictionaries, ready for JSON."""
        return {
            "target": self.target,
            "task": self.task,
            "labels_are": self.labels_are,
            "columns": [
                {"name": column.name, "kind": column.kind, "parts": list(column.parts)}
                for column in self.columns
            ],
            "dropped": [list(pair) for pair in self.dropped],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, content: Any) -> "Recipe":
        """Read the result of `to_dict`; every value is checked.

        Parameters
        ----------
        content : dict
            Possibly from an untrusted file.

        Returns
        -------
        Recipe
            A recipe equal to the stored one.

        Raises
        ------
        ValueError
            In one line, if a value is not one that `to_dict` returns.
        """
        _check_keys(content, _KEYS, "the recipe")
        target = _name(content["target"], "target")
        columns = tuple(_planned(entry) for entry in _list(content["columns"], "columns"))
        dropped = tuple(_dropped(pair) for pair in _list(content["dropped"], "dropped"))
        notes = tuple(_words(note, "notes") for note in _list(content["notes"], "notes"))
        task = _choice(content["task"], TASKS, "task")
        labels_are = _choice(content["labels_are"], LABELS, "labels_are")
        if (task == "regression") != (labels_are == "number"):
            raise ValueError(f"recipe: labels_are={labels_are!r} does not fit the task {task!r}")
        recipe = cls(target, task, columns, dropped, notes, labels_are)
        if not columns:
            raise ValueError("recipe: columns is empty; at least one is needed")
        names = [target, *(column.name for column in columns), *(name for name, _ in dropped)]
        for what, texts in (("column", names), ("feature", list(recipe.feature_names))):
            if len(set(texts)) < len(texts):
                double = next(text for text in texts if texts.count(text) > 1)
                raise ValueError(f"recipe: the {what} {reprlib.repr(double)} occurs twice")
        return recipe


def _features(table: TypedTable, column: PlannedColumn) -> list[Any]:
    """Convert a column of the table to its features."""
    values = table.values(column.name)
    if column.kind == "date":
        return expand_dates(to_dates(values, column.name), column.parts)
    if column.kind == "category":  # of numbers and dates, the spelling of the file
        cleaned = is_text(values.type)
        return [to_categories(values if cleaned else table.table[column.name], column.name, cleaned=cleaned)]
    return [(to_numbers if column.kind == "number" else to_booleans)(values, column.name)]


def _check_unique(table: TypedTable, name: str) -> None:
    n_columns = len(table.table.schema.get_all_field_indices(name))
    if n_columns > 1:
        raise DataFileError(f"the column {name!r} occurs {n_columns} times; rename or drop the others")


# -------------------------------------------------------------------------- checks of a stranger's recipe
def _check_keys(content: Any, keys: tuple[str, ...], what: str) -> None:
    needed = f"{what} must be a dictionary of {', '.join(keys)}"
    if type(content) is not dict:
        raise ValueError(f"{needed}; found {reprlib.repr(content)}")
    for key in (*content, *keys):
        if key not in keys or key not in content:
            state = "is missing" if key in keys else "is unknown"
            raise ValueError(f"{needed}; {reprlib.repr(key)} {state}")


def _list(value: Any, what: str) -> list[Any]:
    if type(value) is not list:
        raise ValueError(f"recipe: {what} must be a list; found {reprlib.repr(value)}")
    return value


def _name(value: Any, what: str) -> str:
    """Any text that can stand in a file: lone surrogates cannot."""
    if type(value) is not str or (not value.isascii() and value.encode(errors="replace").decode() != value):
        raise ValueError(f"recipe: {what} must be a text; found {reprlib.repr(value)}")
    return value


def _words(value: Any, what: str) -> str:
    """A sentence, which a terminal will show: no control characters."""
    if not _name(value, what).isprintable():
        raise ValueError(f"recipe: {what} must be printable; found {reprlib.repr(value)}")
    return str(value)


def _choice(value: Any, allowed: tuple[str, ...], what: str) -> str:
    if type(value) is not str or value not in allowed:
        raise ValueError(f"recipe: {what} must be one of {', '.join(allowed)}; found {reprlib.repr(value)}")
    return value


def _planned(entry: Any) -> PlannedColumn:
    _check_keys(entry, ("name", "kind", "parts"), "recipe: a column")
    name, kind = _name(entry["name"], "name"), _choice(entry["kind"], PLANNED, "kind")
    parts = tuple(_choice(part, PARTS, "parts") for part in _list(entry["parts"], "parts"))
    in_order = tuple(part for part in PARTS if part in parts)
    if parts != in_order or bool(parts) != (kind == "date"):
        raise ValueError(f"recipe: the parts {parts} do not fit a {kind} column; dates have some of {PARTS}")
    return PlannedColumn(name, kind, parts)


def _dropped(pair: Any) -> tuple[str, str]:
    if type(pair) is not list or len(pair) != 2:
        raise ValueError(f"recipe: dropped must hold pairs of name and reason; found {reprlib.repr(pair)}")
    return _name(pair[0], "dropped"), _words(pair[1], "dropped")
