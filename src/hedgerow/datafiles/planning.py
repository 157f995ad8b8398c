"""make_recipe: examine every column of the training table once, and plan the feature that it becomes."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles import column_types
from hedgerow.datafiles.column_types import ColumnKind, TypedTable, is_text, n_distinct
from hedgerow.datafiles.conversion import date_parts, encode_categories, to_timestamps
from hedgerow.datafiles.errors import DataFileError, check_distinct, format_value, unknown_name
from hedgerow.datafiles.recipe import TASKS, PlannedColumn, Recipe

_MAX_CLASSES = 20  # maximum number of distinct whole numbers that are classes
_LIKE_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([ T]\d.*)?", re.ASCII)


def make_recipe(
    table: pa.Table | TypedTable,
    target: str,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
) -> Recipe:
    """Plan how a table becomes X and y.

    Parameters
    ----------
    table : pyarrow.Table or TypedTable
        The training data. Rows without a target are ignored.
    target : str
        The column to predict. Texts, booleans and dictionaries are classes, and so are whole numbers with at
        most 2 distinct values, or with at most 20 that are fewer than a tenth of the rows. Other numbers are
        regression.
    task : {"classification", "regression"}, optional
        Overrides that rule where the values allow it.
    drop : sequence of str
        Columns to leave out.
    categorical : sequence of str
        Columns to use as categories, whatever their values are.

    Returns
    -------
    Recipe
        Numbers and booleans stay unchanged; texts with few values become categories; dates become numbers
        (year, month, ...). Empty and constant columns are left out; `dropped` and `notes` list them.

    Raises
    ------
    DataFileError
        If a name is unknown, the target cannot be learned, a column is free text or has an unsupported type,
        or no column is left.

    Examples
    --------
    >>> import datetime
    >>> import pyarrow as pa
    >>> from hedgerow.datafiles import make_recipe
    >>> days = [datetime.date(2024, 5, day) for day in (1, 2, 3, 4)]
    >>> table = pa.table({"when": days, "unit": ["kg"] * 4, "late": ["no", "yes", "no", "yes"]})
    >>> recipe = make_recipe(table, "late")
    >>> recipe.task, recipe.feature_names
    ('classification', ('when.year', 'when.month', 'when.day', 'when.weekday', 'when.days'))
    >>> recipe.dropped
    (('unit', "it is 'kg' in every row"),)
    """
    typed = TypedTable.of(table)
    names = typed.column_names
    check_distinct(names)
    drop, categorical = _listed(drop, "drop"), _listed(categorical, "categorical")
    for name in (target, *drop, *categorical):
        if name not in names:
            raise DataFileError(unknown_name(name, names))
    for name in drop:
        if name == target or name in categorical:
            what = "the target" if name == target else "also named categorical"
            raise DataFileError(f"the column {format_value(name)} cannot be dropped: it is {what}")
    if target in categorical:
        raise DataFileError(
            f"the column {format_value(target)} is the target; it cannot be a categorical column"
        )
    found = infer_target(typed, target, task)
    known = pc.is_valid(typed.labels(target))
    n_known = pc.sum(known).as_py()
    notes = [f"The task is {found.task}: {found.reason}."]
    if n_known < typed.num_rows:
        left_out = typed.num_rows - n_known
        have = "has" if left_out == 1 else "have"
        notes.append(f"{left_out} of {typed.num_rows} rows {have} no {format_value(target)}; left out.")
    plan = _Plan(notes)
    for name in names:
        if name in drop:
            plan.dropped.append((name, "requested"))
        elif name != target:
            values = typed.values(name) if n_known == typed.num_rows else typed.values(name).filter(known)
            column = column_types.classify_values(values)
            plan.add(name, typed.table[name].type, column, name in categorical)
    plan.check(target)
    return Recipe(target, found.task, tuple(plan.columns), tuple(plan.dropped), tuple(notes), found.labels)


def _listed(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise DataFileError(f"{what}={names!r} is not allowed: it must be a list of names")
    return tuple(dict.fromkeys(names))


class _Plan:
    """The columns of a recipe while it is made."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.columns: list[PlannedColumn] = []
        self.dropped: list[tuple[str, str]] = []

    def add(self, name: str, file_type: pa.DataType, column: ColumnKind, categorical: bool) -> None:
        """Plan one column, whose type in the file is `file_type`."""
        quoted = format_value(name)
        if column.kind == "empty":
            self.dropped.append((name, "it is empty"))
        elif column.kind == "constant":
            self.dropped.append((name, f"it is {format_value(column.values[0].as_py())} in every row"))
        elif categorical:
            if not column_types.can_be_category(file_type):
                raise DataFileError(f"column {quoted} has the type {file_type}; it cannot be categories")
            self.columns.append(PlannedColumn(name, "category"))
        elif column.kind == "text":
            raise _free_text(name, column)
        elif column.kind == "unsupported":
            raise DataFileError(
                f"column {quoted} has the type {format_value(file_type)}, which cannot be used; "
                f"--drop {_shell(name)}"
            )
        elif column.kind == "date":
            self._date(name, column)
        else:
            self._plain(name, file_type, column)

    def _date(self, name: str, column: ColumnKind) -> None:
        parts = date_parts(to_timestamps(column.values, name))
        zone = " (UTC)" if getattr(column.values.type, "tz", None) else ""
        self.columns.append(PlannedColumn(name, "date", parts))
        self.notes.append(
            f"Column {format_value(name)} holds dates{zone}; they become the numbers {', '.join(parts[:-1])} "
            "and days since 1970-01-01."
        )

    def _plain(self, name: str, file_type: pa.DataType, column: ColumnKind) -> None:
        self.columns.append(PlannedColumn(name, column.kind))
        quoted = format_value(name)
        if column.kind == "category":
            example = column.values.drop_null()[0].as_py()
            if isinstance(example, str) and _LIKE_DATE.fullmatch(example):
                self.notes.append(
                    f"Column {quoted} looks like dates ({format_value(example)}) but is used as categories; "
                    "dates must be written as 2024-05-17."
                )
        elif column_types.counts_rows(column.values):
            self.notes.append(
                f"Column {quoted} counts the rows, as an identifier does; drop it unless its order is "
                "meaningful."
            )
        if column.kind != "category" and is_text(file_type):
            values = {"number": "numbers", "boolean": "true and false"}[column.kind]
            self.notes.append(
                f"Column {quoted} is text whose values are all {values}; it is used as {values}."
            )

    def check(self, target: str) -> None:
        """Refuse a plan without columns, or with two features of one name."""
        if not self.columns:
            raise DataFileError(
                f"no column is left to predict {format_value(target)}: all others are empty, constant or "
                "dropped"
            )
        taken = {column.name for column in self.columns if column.kind != "date"}
        for column in self.columns:
            for feature in column.features if column.kind == "date" else ():
                if feature in taken:
                    raise DataFileError(
                        f"the date {format_value(column.name)} becomes {format_value(feature)}, which is "
                        "also a column; rename or drop one"
                    )


def _free_text(name: str, column: ColumnKind) -> DataFileError:
    """Return the error for a column of free text, with an example."""
    known = column.values.drop_null()
    example = known[0].as_py()
    hint = " (dates must be written as 2024-05-17)" if _LIKE_DATE.fullmatch(example) else ""
    return DataFileError(
        f"column {format_value(name)} is free text: {n_distinct(known)} different values in {len(known)} "
        f"rows, such as {format_value(example)}{hint}; --drop {_shell(name)}, or --categorical "
        f"{_shell(name)} if its values are categories"
    )


def _shell(name: str) -> str:
    """Quote a name for the command line if necessary."""
    return name if re.fullmatch(r"[\w.:@%+=-]+", name) else format_value(name)


# --- the target


class Target(NamedTuple):
    """The task and the kind of labels of a target column."""

    task: str
    labels: str  # one of LABELS
    reason: str  # why, for the user


def infer_target(table: TypedTable, name: str, task: str | None) -> Target:
    """Infer the task from a target column, or check the requested task.

    Whole numbers are classes if there are at most 2 distinct ones, or at most 20 that are fewer than a tenth
    of the rows.

    >>> infer_target(TypedTable(pa.table({"y": ["a", "b"] * 2})), "y", None).task
    'classification'
    """
    if task is not None and task not in TASKS:
        raise DataFileError(f"task={format_value(task)} is not allowed: it must be one of {', '.join(TASKS)}")
    values = table.labels(name).drop_null()
    quoted = format_value(name)
    if len(values) == 0:
        raise DataFileError(f"the target {quoted} is missing in every row")
    kind = values.type
    if is_text(kind):
        target = Target("classification", "text", f"{quoted} holds texts")
    elif pa.types.is_boolean(kind):
        target = Target("classification", "boolean", f"{quoted} holds true and false")
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        categorical = pa.types.is_dictionary(table.table[name].type)
        target = _number_target(values, quoted, "classification" if categorical else task)
    else:
        what = "dates" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else f"the type {kind}"
        raise DataFileError(
            f"the target {quoted} holds {what}, which cannot be predicted; choose a column of classes or "
            "numbers"
        )
    if task is not None and task != target.task:
        if target.labels == "text":
            example = format_value(values[0].as_py())
            raise DataFileError(
                f"the target {quoted} holds texts such as {example}; regression needs numbers"
            )
        target = Target(task, "number" if task == "regression" else "integer", f"{task} was requested")
    _check_target(values, quoted, target)
    return target


def _number_target(values: pa.ChunkedArray, quoted: str, task: str | None) -> Target:
    whole = is_whole(values)
    distinct = n_distinct(values)
    if task == "classification" and not whole:
        fraction = values.filter(pc.not_equal(pc.floor(values), values))[0].as_py()
        raise DataFileError(
            f"the target {quoted} holds {fraction!r}, which is not a class: classes are texts, booleans or "
            "whole numbers; use regression"
        )
    few = distinct <= 2 or (distinct <= _MAX_CLASSES and 10 * distinct < len(values))
    if task == "classification" or (task is None and whole and few):
        return Target("classification", "integer", f"{quoted} holds {distinct} different whole numbers")
    what = "whole numbers" if whole else "numbers"
    return Target("regression", "number", f"{quoted} holds {distinct} different {what}")


def is_whole(values: pa.ChunkedArray) -> bool:
    """Return whether numbers are integers, whatever their type.

    >>> is_whole(pa.chunked_array([[1.0, 2.0]])), is_whole(pa.chunked_array([[1.5]]))
    (True, False)
    """
    if pa.types.is_integer(values.type):
        return True
    fine = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), float(2**53)))
    return pc.all(fine).as_py() is not False


def _check_target(values: pa.ChunkedArray, quoted: str, target: Target) -> None:
    """Refuse targets that cannot be learned: one class, as many classes as rows, one number, infinities."""
    if target.task == "regression":
        if pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values)).as_py():
            raise DataFileError(f"the target {quoted} holds an infinite number; numbers must be finite")
        if n_distinct(values) == 1:
            only = format_value(values[0].as_py())
            raise DataFileError(f"the target {quoted} is {only} in every row; there is nothing to predict")
        return
    if is_text(values.type):
        values = encode_categories(values, cleaned=True).cast(pa.string())
    classes = pc.unique(values)
    if len(classes) == 1:
        only = format_value(classes[0].as_py())
        raise DataFileError(f"the target {quoted} has one class only, {only}; at least 2 are needed")
    if 2 * len(classes) > len(values):
        raise DataFileError(
            f"the target {quoted} has {len(classes)} classes in {len(values)} rows; at least 2 rows per "
            "class are needed on average: merge classes, or choose another target"
        )
