"""A recipe: how a table becomes X and y. It is made from the training table and stored with the model.

Labels have one of four kinds: "text" (objects of type str), "integer" (int64), "boolean" (bool) and "number"
(float64). The recipe stores the kind, so that 0 and 1 in a later file are the False and True of training.
"""

import reprlib
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.datafiles import conversion
from hedgerow.datafiles.column_types import InferredColumn, can_be_category, is_text
from hedgerow.datafiles.conversion import PARTS, to_booleans, to_numbers
from hedgerow.datafiles.date_texts import format_pattern
from hedgerow.datafiles.encodings import check_encoding
from hedgerow.datafiles.errors import DataFileError, format_value, unknown_name
from hedgerow.datafiles.findings import ReadOptions
from hedgerow.datafiles.frames import frame_to_arrow
from hedgerow.datafiles.inference import clean_text, infer_column, infer_type
from hedgerow.datafiles.typed_table import TypedTable
from hedgerow.strict_json import Limits, StoredRecord

TASKS = ("classification", "regression")
LABELS = ("text", "integer", "boolean", "number")
PLANNED = ("number", "boolean", "category", "date", "time")
DECIMALS = ("", ".", ",")


@dataclass(frozen=True)
class PlannedColumn:
    """A column of the file that the model uses.

    Parameters
    ----------
    name : str
        The name of the column in the file.
    kind : str
        "number", "boolean", "category", "date" or "time".
    parts : tuple of str
        For a date, those of year, month, day, weekday, hour and days that become features.
    formats : tuple of str
        For a date in texts, the formats of `strptime`; () for ISO 8601.
    decimal : str
        For numbers in texts, "." or ","; "" if no value showed it.
    kept : tuple of str
        For texts, markers of missing values that are values of this column.

    Examples
    --------
    >>> PlannedColumn("born", "date", ("year", "days")).features
    ('born.year', 'born.days')
    """

    name: str
    kind: Annotated[str, Limits(choices=PLANNED)]
    parts: Annotated[tuple[str, ...], Limits(choices=PARTS)] = ()
    formats: tuple[str, ...] = ()
    decimal: Annotated[str, Limits(choices=DECIMALS)] = ""
    kept: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that it becomes."""
        return tuple(f"{self.name}.{part}" for part in self.parts) if self.kind == "date" else (self.name,)

    def check_stored(self) -> None:
        """Raise ValueError if the parts or formats of a column that was read are not those of its kind."""
        in_order = tuple(part for part in PARTS if part in self.parts)
        if self.parts != in_order or bool(self.parts) != (self.kind == "date"):
            raise ValueError(
                f"the recipe: the parts {self.parts} are not those of a {self.kind} column; dates have "
                f"{PARTS}"
            )
        for form in self.formats:
            try:
                format_pattern(form)
            except DataFileError as error:
                raise ValueError(f"the recipe: {error}") from error


@dataclass(frozen=True)
class Recipe(StoredRecord):
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
    missing : tuple of str
        Texts that mean missing, besides those that are always known.
    decimal : str
        The decimal sign of numbers in y, if they are texts.
    encoding : str
        The encoding of text files, if it was stated.
    skip_bad_lines : bool
        Whether lines with more fields than the header has names are left out.

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
    task: Annotated[str, Limits(choices=TASKS)]
    columns: tuple[PlannedColumn, ...]
    dropped: tuple[tuple[str, Annotated[str, Limits(printable=True)]], ...] = ()
    notes: Annotated[tuple[str, ...], Limits(printable=True)] = ()
    labels_are: Annotated[str, Limits(choices=LABELS)] = "text"
    missing: tuple[str, ...] = ()
    decimal: Annotated[str, Limits(choices=DECIMALS)] = ""
    encoding: str = ""
    skip_bad_lines: bool = False

    @property
    def read_options(self) -> ReadOptions:
        """The options to read a later file with."""
        return ReadOptions(
            encoding=self.encoding or None, missing=self.missing, skip_bad_lines=self.skip_bad_lines
        )

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
        existing = set(typed.column_names)
        missing = [column.name for column in self.columns if column.name not in existing]
        if missing:
            n_others = len(missing) - 1
            others = f" ({n_others} other columns of the model are missing too)" if n_others else ""
            raise DataFileError(unknown_name(missing[0], typed.column_names) + others)
        features: list[Any] = []
        for column in self.columns:
            _check_unique(typed, column.name)
            features += _features(typed, column, self.missing)
        return pa.table(features, names=list(self.feature_names))

    def apply_frame(self, frame: Any) -> pa.Table:
        """Return the table X that the model was fitted to, made from a raw data frame in memory.

        This is `features` for data frames of pandas, polars and Arrow, as users have them before any
        preparation: texts of numbers and dates, missing markers, categories of any dtype, any order.

        Parameters
        ----------
        frame : pandas or polars DataFrame, pyarrow Table or RecordBatch
            With the columns of the recipe; the target is not needed, and other columns are ignored.

        Returns
        -------
        pyarrow.Table
            A table of the columns `feature_names`, for `predict` of the model.

        Raises
        ------
        DataFileError
            If it is not a data frame, a column is missing, or its values have another kind than in training.

        Examples
        --------
        >>> import polars as pl
        >>> recipe = Recipe("y", "regression", (PlannedColumn("a", "number"),), labels_are="number")
        >>> recipe.apply_frame(pl.DataFrame({"b": [0, 0], "a": ["1.5", "NA"]})).to_pydict()
        {'a': [1.5, None]}
        """
        wanted = {column.name for column in self.columns}
        table = frame_to_arrow(frame, wanted)
        if len(table.column_names) < len(wanted):
            table = _without_spaces(frame_to_arrow(frame), wanted)
        return self.features(table)

    def labels(self, table: pa.Table | TypedTable) -> NDArray[Any]:
        """Return the array y: texts (as objects), integers, booleans, or float64 numbers for regression.

        The target must be known in every row of the table; see `has_label`.
        """
        return to_labels(self._target(TypedTable.of(table)), self.target, self.labels_are)

    def has_label(self, table: pa.Table | TypedTable) -> pa.ChunkedArray:
        """Return which rows of a table have a known target, at least one, for ``table.filter``.

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
        column = table.table[self.target]
        if self.labels_are in ("number", "integer") and is_text(column.type):
            known = table.known(self.target)
            if known is None or known.decimal != self.decimal:
                known = infer_column(column, decimal=self.decimal or None, missing=self.missing)
            return known.values
        return table.labels(self.target)

    def check_stored(self) -> None:
        """Raise ValueError if parts of a recipe that was read contradict each other."""
        if (self.task == "regression") != (self.labels_are == "number"):
            raise ValueError(f"the recipe: labels_are={self.labels_are!r} contradicts the task {self.task!r}")
        if self.encoding:
            try:
                check_encoding(self.encoding)
            except DataFileError as error:
                raise ValueError(f"the recipe: {error}") from error
        if not self.columns:
            raise ValueError("the recipe: columns is empty; at least one is needed")
        names = [self.target, *(column.name for column in self.columns), *(name for name, _ in self.dropped)]
        for what, texts in (("column", names), ("feature", list(self.feature_names))):
            if len(set(texts)) < len(texts):
                double = next(text for text in texts if texts.count(text) > 1)
                raise ValueError(f"the recipe: the {what} {reprlib.repr(double)} occurs twice")


def _features(table: TypedTable, column: PlannedColumn, missing: tuple[str, ...]) -> list[Any]:
    """Convert a column of the table to its features; texts are read as the recipe states."""
    raw = table.table[column.name]
    if column.kind == "date" and column.formats:
        raw = conversion.digits_as_texts(raw)  # 20240517, which other readers return as a number
    values = raw
    if is_text(raw.type):
        known = table.known(column.name)
        if known is not None and _is_as_planned(known, column):
            values = known.values
        else:
            values = conversion.read_texts(raw, column, missing)
    if column.kind == "date":
        return conversion.expand_dates(conversion.to_dates(values, column.name), column.parts)
    if column.kind == "category":  # of numbers and dates, the spelling of the file
        if is_text(raw.type) and not is_text(values.type):
            values = clean_text(raw, missing, column.kept)
        return [conversion.to_categories(values, column.name, cleaned=is_text(values.type))]
    convert = {"number": to_numbers, "boolean": to_booleans, "time": conversion.to_minutes}[column.kind]
    return [convert(values, column.name)]


def _is_as_planned(known: InferredColumn, column: PlannedColumn) -> bool:
    """Return whether texts were already read as the recipe states."""
    return (known.formats, known.decimal, known.kept) == (column.formats, column.decimal, column.kept)


def _without_spaces(table: pa.Table, wanted: set[str]) -> pa.Table:
    """Remove spaces around names as reading a file does, where that gives a column that is wanted."""
    names, taken = table.column_names, wanted & set(table.column_names)
    return table.rename_columns([
        name.strip() if name not in wanted and name.strip() in wanted - taken else name for name in names
    ])  # fmt: skip


def _check_unique(table: TypedTable, name: str) -> None:
    n_columns = len(table.table.schema.get_all_field_indices(name))
    if n_columns > 1:
        raise DataFileError(f"the column {name!r} occurs {n_columns} times; rename or drop the others")


def to_labels(values: pa.ChunkedArray, name: str, labels: str) -> NDArray[Any]:
    """Convert the values of a target, all known, to an array of the kind that the recipe stores.

    >>> to_labels(pa.chunked_array([[1.0, 2.0]]), "y", "integer")
    array([1, 2])
    """
    if values.null_count:
        raise DataFileError(
            f"the target {format_value(name)} is missing in {values.null_count} of {len(values)} rows; "
            "remove these rows"
        )
    if labels == "text":
        if not can_be_category(values.type):
            raise DataFileError(
                f"the target {format_value(name)} has the type {values.type}; texts are needed"
            )
        codes = conversion.encode_categories(values, cleaned=True)
        texts = np.array([*codes.dictionary.to_pylist(), None], dtype=object)[:-1]
        return np.asarray(texts[codes.indices.to_numpy()])
    if labels == "boolean":
        return np.asarray(to_booleans(infer_type(values), name), dtype=bool)
    if pa.types.is_integer(values.type) and labels == "integer":
        integers: NDArray[Any] = values.to_numpy()
        return integers if integers.dtype == np.uint64 else integers.astype(np.int64)
    numbers = np.asarray(to_numbers(infer_type(values), name), dtype=np.float64)
    if labels == "number":
        return numbers
    if not np.all((np.floor(numbers) == numbers) & (np.abs(numbers) < 2**53)):
        wrong = numbers[~(np.floor(numbers) == numbers)][:1]
        raise DataFileError(
            f"the target {format_value(name)} holds {wrong.tolist()}, but its classes are whole numbers"
        )
    return numbers.astype(np.int64)
