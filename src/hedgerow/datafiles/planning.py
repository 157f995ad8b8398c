"""make_recipe: look at every column of the training table once, and plan what becomes of it."""

import re
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.dates import as_moments, parts_of
from hedgerow.datafiles.errors import DataFileError, shown_value
from hedgerow.datafiles.kinds import Look, counts_rows, look_at, n_distinct
from hedgerow.datafiles.labels import known_rows, look_at_target
from hedgerow.datafiles.names import check_distinct, unknown_name
from hedgerow.datafiles.recipe import PlannedColumn, Recipe
from hedgerow.datafiles.settling import is_text
from hedgerow.datafiles.spelling import can_be_category

_LIKE_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([ T]\d.*)?", re.ASCII)


def make_recipe(
    table: pa.Table,
    target: str,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
) -> Recipe:
    """Plan how a table becomes X and y.

    Parameters
    ----------
    table : pyarrow.Table
        The training data. Rows without a target are not looked at.
    target : str
        The column to predict. Texts, truth values and dictionaries are classes; so are whole numbers of which
        at most 2 differ, or at most 20 that are fewer than a tenth of the rows. Other numbers are regression.
    task : {"classification", "regression"}, optional
        Overrides that rule where the values allow it.
    drop : sequence of str
        Columns to leave out.
    categorical : sequence of str
        Columns whose values are categories, whatever they look like.

    Returns
    -------
    Recipe
        Numbers and truth values stay; texts with few values become categories; dates become numbers (year,
        month, ...). Empty and constant columns are left out. `dropped` and `notes` say so.

    Raises
    ------
    DataFileError
        If a name is unknown, the target cannot be learnt, a column is free text or of a type that has no
        use here, or nothing is left to learn from.

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
    names = table.column_names
    check_distinct(names)
    drop, categorical = _listed(drop, "drop"), _listed(categorical, "categorical")
    for name in (target, *drop, *categorical):
        if name not in names:
            raise DataFileError(unknown_name(name, names))
    for name in drop:
        if name == target or name in categorical:
            what = "the target" if name == target else "also named categorical"
            raise DataFileError(f"the column {shown_value(name)} cannot be dropped: it is {what}")
    if target in categorical:
        raise DataFileError(
            f"the column {shown_value(target)} is the target; it cannot be a categorical column"
        )
    found = look_at_target(table[target], target, task)
    known = known_rows(table[target])
    n_known = pc.sum(known).as_py()
    notes = [f"The task is {found.task}: {found.reason}."]
    if n_known < table.num_rows:
        left_out = table.num_rows - n_known
        have = "has" if left_out == 1 else "have"
        notes.append(f"{left_out} of {table.num_rows} rows {have} no {shown_value(target)}; left out.")
        table = table.filter(known)
    plan = _Plan(notes)
    for name in names:
        if name in drop:
            plan.dropped.append((name, "asked for"))
        elif name != target:
            plan.add(name, table[name], name in categorical)
    plan.check(target)
    return Recipe(target, found.task, tuple(plan.columns), tuple(plan.dropped), tuple(notes), found.labels)


def _listed(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise DataFileError(f"{what}={names!r} is not allowed: it must be a list of names")
    return tuple(dict.fromkeys(names))


class _Plan:
    """What becomes of each column, as it grows."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.columns: list[PlannedColumn] = []
        self.dropped: list[tuple[str, str]] = []

    def add(self, name: str, column: pa.ChunkedArray, categorical: bool) -> None:
        """Plan one column."""
        look = look_at(column)
        quoted = shown_value(name)
        if look.kind == "empty":
            self.dropped.append((name, "it is empty"))
        elif look.kind == "constant":
            self.dropped.append((name, f"it is {shown_value(look.values[0].as_py())} in every row"))
        elif categorical:
            if not can_be_category(column.type):
                raise DataFileError(f"column {quoted} has the type {column.type}, which cannot be categories")
            self.columns.append(PlannedColumn(name, "category"))
        elif look.kind == "text":
            raise _free_text(name, look)
        elif look.kind == "unsupported":
            raise DataFileError(
                f"column {quoted} has the type {shown_value(column.type)}, which cannot be used; "
                f"--drop {_shell(name)}"
            )
        elif look.kind == "date":
            self._date(name, look)
        else:
            self._plain(name, column, look)

    def _date(self, name: str, look: Look) -> None:
        moments = as_moments(look.values, name)
        parts = parts_of(moments)
        zone = " (UTC)" if getattr(look.values.type, "tz", None) else ""
        self.columns.append(PlannedColumn(name, "date", parts))
        self.notes.append(
            f"Column {shown_value(name)} holds dates{zone}; they become the numbers {', '.join(parts[:-1])} "
            "and days since 1970-01-01."
        )

    def _plain(self, name: str, column: pa.ChunkedArray, look: Look) -> None:
        self.columns.append(PlannedColumn(name, look.kind))
        quoted = shown_value(name)
        if look.kind == "category":
            example = look.values.drop_null()[0].as_py()
            if isinstance(example, str) and _LIKE_DATE.fullmatch(example):
                self.notes.append(
                    f"Column {quoted} looks like dates ({shown_value(example)}) but is taken for categories; "
                    "dates must be written as 2024-05-17."
                )
        elif counts_rows(look.values):
            self.notes.append(
                f"Column {quoted} counts the rows, as an identifier does; drop it unless its order means "
                "something."
            )
        if look.kind != "category" and is_text(column.type):
            words = {"number": "numbers", "boolean": "true and false"}[look.kind]
            self.notes.append(f"Column {quoted} is text in which all values are {words}; it is used as such.")

    def check(self, target: str) -> None:
        """Refuse a plan without columns, or with two features of one name."""
        if not self.columns:
            raise DataFileError(
                f"no column is left to predict {shown_value(target)} from: all others are empty, constant or "
                "dropped"
            )
        taken: Collection[str] = {column.name for column in self.columns if column.kind != "date"}
        for column in self.columns:
            for feature in column.features if column.kind == "date" else ():
                if feature in taken:
                    raise DataFileError(
                        f"the date {shown_value(column.name)} becomes {shown_value(feature)}, which is a "
                        "column too; rename or drop one"
                    )


def _free_text(name: str, look: Look) -> DataFileError:
    """The message for a column of free text, with an example."""
    known = look.values.drop_null()
    example = known[0].as_py()
    hint = " (dates must be written as 2024-05-17)" if _LIKE_DATE.fullmatch(example) else ""
    return DataFileError(
        f"column {shown_value(name)} is free text: {n_distinct(known)} different values in {len(known)} "
        f"rows, such as {shown_value(example)}{hint}; --drop {_shell(name)}, or --categorical {_shell(name)} "
        "if its values are categories"
    )


def _shell(name: str) -> str:
    """A name as one types it: in quotes if it needs them."""
    return name if re.fullmatch(r"[\w.:@%+=-]+", name) else shown_value(name)
