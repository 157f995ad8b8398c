"""make_recipe: examine every column of the training table once, and plan the feature that it becomes."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles import column_types
from hedgerow.datafiles.column_types import ColumnKind, InferredColumn, is_text, n_distinct
from hedgerow.datafiles.conversion import date_parts, encode_categories, to_timestamps
from hedgerow.datafiles.errors import DataFileError, check_distinct, format_value, unknown_name
from hedgerow.datafiles.findings import ACCEPT_LAYOUT, Finding, UndecidedError, format_options
from hedgerow.datafiles.recipe import TASKS, PlannedColumn, Recipe
from hedgerow.datafiles.statements import (
    date_statement,
    missing_statements,
    number_statements,
    other_texts,
)
from hedgerow.datafiles.typed_table import TypedTable

_MAX_CLASSES = 20  # maximum number of distinct whole numbers that are classes
_IDENTIFIER_SHARE = 0.3  # distinct values per row, from which categories look like an identifier
_FEW_VALUES = 20  # small tables may have as many categories


def make_recipe(
    table: pa.Table | TypedTable,
    target: str,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    strict: bool = False,
    accept_layout: bool = False,
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
    strict : bool
        Refuse guesses about the file and columns that cannot be used, instead of stating them.
    accept_layout : bool
        With `strict`, accept lines that were left out or filled up, generated names, and the choice of a
        sheet.

    Returns
    -------
    Recipe
        Numbers and booleans stay unchanged; texts with few values become categories; dates become numbers
        (year, month, ...), and times of day minutes since midnight. Empty and constant columns, free text,
        identifiers and types without order are left out; `dropped` and `notes` list them.

    Raises
    ------
    DataFileError
        If a name is unknown, the target cannot be learned, or no column is left. `UndecidedError`, with all
        problems at once and the options that solve them, if columns hold numbers except for a few texts,
        and with `strict` for every guess.

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
    drop, categorical = _listed(drop, names, "drop"), _listed(categorical, names, "categorical")
    target = _without_spaces(target, names)
    _check_names(names, target, drop, categorical)
    builder = _RecipeBuilder(typed)
    builder.check_others([name for name in names if name not in (*drop, *categorical)])
    if not strict or target in builder.undecided:
        builder.raise_problems()
    found = infer_target(typed, target, task)
    known = pc.is_valid(typed.labels(target))
    n_known = pc.sum(known).as_py()
    builder.notes.append(f"The task is {found.task}: {found.reason}.")
    if n_known < typed.num_rows:
        left_out = typed.num_rows - n_known
        have = "has" if left_out == 1 else "have"
        builder.notes.append(
            f"{left_out} of {typed.num_rows} rows {have} no {format_value(target)}; left out."
        )
    for name in names:
        if name in drop:
            builder.dropped.append((name, "requested"))
        elif name != target:
            values = typed.values(name) if n_known == typed.num_rows else typed.values(name).filter(known)
            builder.add(name, column_types.classify_values(values), name in categorical)
    builder.check(target)
    used = [target, *(column.name for column in builder.columns)]
    builder.state_findings(used, strict=strict, accepted=ACCEPT_LAYOUT if accept_layout else None)
    builder.raise_problems()
    inferred = typed.inferred(target)
    return Recipe(
        target,
        found.task,
        tuple(builder.columns),
        tuple(builder.dropped),
        tuple(builder.notes),
        found.labels,
        missing=typed.options.missing,
        decimal=inferred.decimal if inferred else "",
        encoding=typed.options.encoding or "",
        skip_bad_lines=typed.options.skip_bad_lines,
    )


def _listed(chosen: Sequence[str], names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(chosen, str):
        raise DataFileError(f"{what}={chosen!r} is not allowed: it must be a list of names")
    return tuple(dict.fromkeys(_without_spaces(name, names) for name in chosen))


def _without_spaces(name: str, names: Sequence[str]) -> str:
    """Return the name of a column; headers are read without the spaces around them, so they may be copied."""
    return name.strip() if name not in names and name.strip() in names else name


def _check_names(names: Sequence[str], target: str, drop: Sequence[str], categorical: Sequence[str]) -> None:
    check_distinct(names)
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


def _drop(name: str) -> str:
    return format_options([("--drop", name)])


class _RecipeBuilder:
    """The columns of a recipe while it is made."""

    def __init__(self, table: TypedTable) -> None:
        self.table = table
        self.notes: list[str] = []
        self.columns: list[PlannedColumn] = []
        self.dropped: list[tuple[str, str]] = []
        self.unusable: list[Finding] = []  # columns that were left out because of their values
        self.problems: list[Finding] = []
        self.undecided: set[str] = set()  # columns of numbers or dates with other texts

    def check_others(self, names: Sequence[str]) -> None:
        """Find columns of numbers or dates in which a few texts may mean missing."""
        for name in names:
            if is_text(self.table.values(name).type) and is_text(self.table.table[name].type):
                found = list(other_texts(name, self.table.values(name)))
                self.problems += found
                self.undecided |= {name} if found else set()

    def raise_problems(self) -> None:
        """Raise all problems at once."""
        if self.problems:
            raise UndecidedError(self.problems)

    def add(self, name: str, column: ColumnKind, categorical: bool) -> None:
        """Plan one column."""
        file_type = self.table.table[name].type
        inferred = self.table.inferred(name) or InferredColumn(column.values)
        quoted = format_value(name)
        if column.kind == "empty":
            self.dropped.append((name, "it is empty"))
        elif column.kind == "constant":
            self.dropped.append((name, f"it is {format_value(column.values[0].as_py())} in every row"))
        elif categorical:
            if not column_types.can_be_category(file_type):
                raise DataFileError(f"column {quoted} has the type {file_type}; it cannot be categories")
            self.columns.append(PlannedColumn(name, "category", kept=inferred.kept))
            self._note_identifier(name, column.values)
        elif column.kind in ("text", "unsupported"):
            self._unusable(name, column)
        elif column.kind == "date":
            parts = date_parts(to_timestamps(column.values, name))
            self.columns.append(PlannedColumn(name, "date", parts, formats=inferred.formats))
        elif column.kind == "time":
            self.columns.append(PlannedColumn(name, "time"))
        else:
            self._plain(name, file_type, column, inferred)

    def _note_identifier(self, name: str, values: pa.ChunkedArray) -> None:
        """Note categories that differ in most rows: new rows have other categories."""
        known = values.drop_null()
        distinct = n_distinct(known)
        if distinct > max(_IDENTIFIER_SHARE * len(known), _FEW_VALUES):
            self.notes.append(
                f"Column {format_value(name)} looks like an identifier: {distinct:,} different values in "
                f"{len(known):,} rows. What a model learns from it does not hold for new values; "
                f"{_drop(name)} leaves it out."
            )

    def _unusable(self, name: str, column: ColumnKind) -> None:
        """Leave out free text, identifiers, and types that cannot be used."""
        quoted = format_value(name)
        option = ("--drop", name)
        if column.kind == "unsupported":
            reason = f"its type {format_value(column.values.type)} cannot be used"
            self.unusable.append(Finding(f"column {quoted}: {reason}", option=option))
        elif name in self.undecided:
            reason = "numbers or dates, and other texts"
        else:
            known = column.values.drop_null()
            example, distinct = format_value(known[0].as_py()), n_distinct(known)
            what = "an identifier or free text" if distinct == len(known) else "free text"
            reason = f"{what}: {distinct:,} different values in {len(known):,} rows, such as {example}"
            advice = f"; --categorical {name} if its values are categories"
            self.unusable.append(Finding(f"column {quoted} is {reason}{advice}", option=option))
        self.dropped.append((name, reason))

    def _plain(self, name: str, file_type: pa.DataType, column: ColumnKind, inferred: InferredColumn) -> None:
        self.columns.append(PlannedColumn(name, column.kind, decimal=inferred.decimal, kept=inferred.kept))
        quoted = format_value(name)
        if column.kind == "category":
            self._note_identifier(name, column.values)
        elif column_types.counts_rows(column.values):
            self.notes.append(
                f"Column {quoted} counts the rows, as an identifier does; unless its order is meaningful, "
                f"{_drop(name)} leaves it out."
            )
        elif column_types.numbers_rows(name, column.values):
            self.notes.append(
                f"Column {quoted} looks like an identifier: whole numbers, almost all different; unless they "
                f"are quantities, {_drop(name)} leaves it out."
            )
        if column.kind != "category" and is_text(file_type) and not self.table.is_text_file:
            values = {"number": "numbers", "boolean": "true and false"}[column.kind]
            self.notes.append(
                f"Column {quoted} is text whose values are all {values}; it is used as {values}."
            )

    def state_findings(
        self, used: Sequence[str], *, strict: bool, accepted: tuple[str, str] | None = None
    ) -> None:
        """Add notes about what was found out; with `strict`, guesses are problems, except accepted ones."""
        inferred = {name: found for name in used if (found := self.table.inferred(name)) is not None}
        findings = list(self.table.findings)
        findings += number_statements(inferred)
        for column in self.columns:
            if column.kind == "date":
                findings.append(
                    date_statement(column, inferred.get(column.name), self.table.values(column.name).type)
                )
            elif column.kind == "time":
                text = f"Column {format_value(column.name)} holds times of day; they become minutes"
                findings.append(Finding(f"{text} since midnight.", is_guess=False))
        findings += missing_statements(inferred, self.table.options.missing)
        self.notes += [finding.text for finding in findings]
        if strict:
            guesses = [finding for finding in findings if finding.is_guess and finding.option != accepted]
            self.problems += self.unusable + guesses

    def check(self, target: str) -> None:
        """Refuse a plan without columns, or with two features of one name."""
        if not self.columns and not self.problems:
            reasons = "".join(f"; {finding.text}" for finding in self.unusable[:3])
            raise DataFileError(
                f"no column is left to predict {format_value(target)}: all others are empty, constant, "
                f"dropped or unusable{reasons}"
            )
        taken = {column.name for column in self.columns if column.kind != "date"}
        for column in self.columns:
            for feature in column.features if column.kind == "date" else ():
                if feature in taken:
                    raise DataFileError(
                        f"the date {format_value(column.name)} becomes {format_value(feature)}, which is "
                        "also a column; rename or drop one"
                    )


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
        is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        what = "dates" if is_date else "times of day" if pa.types.is_time(kind) else f"the type {kind}"
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
