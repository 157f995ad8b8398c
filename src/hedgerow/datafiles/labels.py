"""The target column: what task it is for, and its values as the array that an estimator wants.

Labels are of one of four kinds: "text" (objects that are str), "integer" (int64), "boolean" (bool) and
"number" (float64). The recipe keeps the kind, so that 0 and 1 in a later file are the False and
True of training.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.datafiles.errors import DataFileError, shown_value
from hedgerow.datafiles.kinds import n_distinct
from hedgerow.datafiles.settling import is_text, settle_text
from hedgerow.datafiles.shaping import as_numbers, as_truths
from hedgerow.datafiles.spelling import as_categories, can_be_category

TASKS = ("classification", "regression")
LABELS = ("text", "integer", "boolean", "number")
_MOST_CLASSES = 20  # distinct whole numbers that are still taken for classes


class Target(NamedTuple):
    """A target column, looked at."""

    task: str
    labels: str  # one of LABELS
    reason: str  # a sentence for the user


def known_rows(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which rows have a known target.

    >>> known_rows(pa.chunked_array([["a", "", None]])).to_pylist()
    [True, False, False]
    """
    return pc.is_valid(plain_target(column))


def plain_target(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The target without dictionary, null where missing.

    >>> plain_target(pa.chunked_array([[1.0, float("nan")]])).to_pylist()
    [1.0, None]
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type):
        return settle_text(column)
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def look_at_target(column: pa.ChunkedArray, name: str, task: str | None) -> Target:
    """Find the task of a target column, or check the task that was asked for.

    Whole numbers are classes if at most 2 differ, or at most 20 that are fewer than a tenth of the rows.

    >>> look_at_target(pa.chunked_array([["a", "b"] * 2]), "y", None).task
    'classification'
    """
    if task is not None and task not in TASKS:
        raise DataFileError(f"task={shown_value(task)} is not allowed: it must be one of {', '.join(TASKS)}")
    values = plain_target(column).drop_null()
    quoted = shown_value(name)
    if len(values) == 0:
        raise DataFileError(f"the target {quoted} is missing in every row")
    kind = values.type
    if is_text(kind):
        target = Target("classification", "text", f"{quoted} holds texts")
    elif pa.types.is_boolean(kind):
        target = Target("classification", "boolean", f"{quoted} holds true and false")
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        categorical = pa.types.is_dictionary(column.type)
        target = _number_target(values, quoted, "classification" if categorical else task)
    else:
        what = "dates" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else f"the type {kind}"
        raise DataFileError(
            f"the target {quoted} holds {what}, which cannot be predicted; choose a column of classes or "
            "numbers"
        )
    if task is not None and task != target.task:
        if target.labels == "text":
            example = shown_value(values[0].as_py())
            raise DataFileError(
                f"the target {quoted} holds texts such as {example}; regression needs numbers"
            )
        target = Target(task, "number" if task == "regression" else "integer", f"{task} was asked for")
    _check_target(values, quoted, target)
    return target


def _number_target(values: pa.ChunkedArray, quoted: str, task: str | None) -> Target:
    whole = is_whole(values)
    distinct = n_distinct(values)
    if task == "classification" and not whole:
        fraction = values.filter(pc.not_equal(pc.floor(values), values))[0].as_py()
        raise DataFileError(
            f"the target {quoted} holds {fraction!r}, which is no class: classes are texts, truth values or "
            "whole numbers; use regression"
        )
    few = distinct <= 2 or (distinct <= _MOST_CLASSES and 10 * distinct < len(values))
    if task == "classification" or (task is None and whole and few):
        return Target("classification", "integer", f"{quoted} holds {distinct} different whole numbers")
    what = "whole numbers" if whole else "numbers"
    return Target("regression", "number", f"{quoted} holds {distinct} different {what}")


def is_whole(values: pa.ChunkedArray) -> bool:
    """Whether numbers are integers, whatever their type.

    >>> is_whole(pa.chunked_array([[1.0, 2.0]])), is_whole(pa.chunked_array([[1.5]]))
    (True, False)
    """
    if pa.types.is_integer(values.type):
        return True
    fine = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), float(2**53)))
    return pc.all(fine).as_py() is not False


def _check_target(values: pa.ChunkedArray, quoted: str, target: Target) -> None:
    """Refuse what cannot be learnt: one class, classes of one row, one number, infinities."""
    if target.task == "regression":
        if pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values)).as_py():
            raise DataFileError(f"the target {quoted} holds an infinite number; numbers must be finite")
        if n_distinct(values) == 1:
            only = shown_value(values[0].as_py())
            raise DataFileError(f"the target {quoted} is {only} in every row; there is nothing to learn")
        return
    if is_text(values.type):
        values = as_categories(values).cast(pa.string())
    counts = pc.value_counts(values)
    classes, rows = counts.field("values"), counts.field("counts").to_numpy()
    if len(classes) == 1:
        only = shown_value(classes[0].as_py())
        raise DataFileError(f"the target {quoted} has one class only, {only}; at least 2 are needed")
    single = np.flatnonzero(rows == 1)
    if len(single):
        first = shown_value(classes[int(single[0])].as_py())
        others = f" (and {len(single) - 1} other classes of {len(classes)})" if len(single) > 1 else ""
        raise DataFileError(
            f"the class {first}{others} of the target {quoted} has only one row; at least 2 are needed: "
            "leave such rows out or join classes"
        )


def label_array(column: pa.ChunkedArray, name: str, labels: str) -> NDArray[Any]:
    """The target of rows that all have one, as the kind of labels that the recipe keeps.

    >>> label_array(pa.chunked_array([[1.0, 2.0]]), "y", "integer")
    array([1, 2])
    """
    values = plain_target(column)
    if values.null_count:
        raise DataFileError(
            f"the target {shown_value(name)} is missing in {values.null_count} of {len(values)} rows; leave "
            "these rows out"
        )
    if labels == "text":
        if not can_be_category(values.type):
            raise DataFileError(
                f"the target {shown_value(name)} has the type {values.type}; texts are needed"
            )
        codes = as_categories(values)
        texts = np.array([*codes.dictionary.to_pylist(), None], dtype=object)[:-1]
        chosen: NDArray[Any] = texts[codes.indices.to_numpy()]
        return chosen
    if labels == "boolean":
        return np.asarray(as_truths(values, name).to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_integer(values.type) and labels == "integer":
        integers: NDArray[Any] = values.to_numpy()
        return integers if integers.dtype == np.uint64 else integers.astype(np.int64)
    numbers = np.asarray(as_numbers(values, name).to_numpy(), dtype=np.float64)
    if labels == "number":
        return numbers
    if not np.all((np.floor(numbers) == numbers) & (np.abs(numbers) < 2**53)):
        wrong = numbers[~(np.floor(numbers) == numbers)][:1]
        raise DataFileError(
            f"the target {shown_value(name)} holds {wrong.tolist()}, but its classes are whole numbers"
        )
    return numbers.astype(np.int64)
