"""Infer the task from a target column, and refuse targets that cannot be learned."""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.column_types import is_text, n_distinct
from hedgerow.datafiles.conversion import encode_categories
from hedgerow.datafiles.errors import DataFileError, format_value
from hedgerow.datafiles.recipe import TASKS
from hedgerow.datafiles.typed_table import TypedTable

_MAX_CLASSES = 20  # maximum number of distinct whole numbers that are classes


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
