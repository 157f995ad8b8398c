"""Statements about how texts were read: number formats, dates, missing values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.column_types import InferredColumn
from hedgerow.datafiles.date_texts import find_odd_dates
from hedgerow.datafiles.errors import format_value
from hedgerow.datafiles.findings import Finding
from hedgerow.datafiles.inference import infer_column
from hedgerow.datafiles.recipe import PlannedColumn
from hedgerow.text_table import listed

_NAMED = 5  # columns that a statement lists
_MIN_NUMBERS = 20  # distinct numbers or dates, from which other texts are suspicious
_MAX_OTHERS = 5  # distinct texts among them
_NUMBER = r"^[-+(]?[$€£]?\s?\(?(?:[\d.,'\x{2019} ]*\d[\d.,'\x{2019} ]*|-)[%€)]*$"
_DIRECTIVES = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year"}


def number_statements(inferred: Mapping[str, InferredColumn]) -> list[Finding]:
    """State how numbers were written, one statement for all columns of one form."""
    groups: dict[Any, list[str]] = {}
    for name, column in inferred.items():
        if column.thousands or column.signs or column.decimal == "," or column.ambiguous == "number":
            key = (column.decimal, column.thousands, column.signs, column.ambiguous, column.is_default)
            groups.setdefault(key, []).append(name)
    findings = []
    for (decimal, _, _, ambiguous, is_default), names in groups.items():
        column = inferred[names[0]]
        example = format_value(column.example)
        columns = listed([format_value(name) for name in names], _NAMED, " columns")
        shown = f"Numbers such as {example} are read as {_value_of(column)} in {columns}"
        if "-" in column.signs:
            shown += "; a currency with a dash in place of digits is 0"
        if ambiguous:
            other = "." if decimal == "," else ","
            why = "nothing in the file decides" if is_default else "the other columns decide"
            shown += f" ({why}; --decimal {other} reads them in the other way)"
        findings.append(Finding(f"{shown}.", is_guess=is_default, option=("--decimal", decimal)))
    return findings


def _value_of(column: InferredColumn) -> str:
    """Return the value that the example of a column was read as."""
    found = infer_column(pa.chunked_array([[column.example]]), decimal=column.decimal or None)
    return str(found.values[0].as_py())


def date_statement(column: PlannedColumn, inferred: InferredColumn | None, kind: pa.DataType) -> Finding:
    """State how a column of dates was read, and which numbers it becomes."""
    quoted = format_value(column.name)
    zone = " (UTC)" if getattr(kind, "tz", None) else ""
    parts = ", ".join(column.parts[:-1])
    becomes = f"they become the numbers {parts} and days since 1970-01-01"
    if inferred is None or not inferred.formats:
        return Finding(f"Column {quoted} holds dates{zone}; {becomes}.", is_guess=False)
    form = inferred.formats[0]
    order = "/".join(_DIRECTIVES[one] for one in _directives(form) if one in _DIRECTIVES)
    text = f"Column {quoted} holds dates{zone} such as {format_value(inferred.example)}, read as {order}"
    option = ("--date-format", f"{column.name}={form}")
    if inferred.ambiguous and inferred.is_default:
        other = form.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
        text += f" (no value decides; --date-format {column.name}={other!r} exchanges day and month)"
    if "%y" in form:
        text += ", two-digit years as 1969 to 2068"
    guess = bool(inferred.ambiguous and inferred.is_default)
    return Finding(f"{text}; {becomes}.", is_guess=guess, option=option)


def _directives(form: str) -> list[str]:
    return [form[at : at + 2] for at in range(len(form) - 1) if form[at] == "%"]


def missing_statements(inferred: Mapping[str, InferredColumn], stated: Sequence[str]) -> list[Finding]:
    """State which texts were read as missing, with their numbers of rows."""
    columns: dict[str, list[str]] = {}
    for name, column in inferred.items():
        for marker, count in column.missing.items():
            columns.setdefault(marker, []).append(
                f"{format_value(name)} ({count:,} {'row' if count == 1 else 'rows'})"
            )
    findings = []
    for marker, found in columns.items():
        text = f"{format_value(marker)} is read as missing in {listed(found, _NAMED, ' columns')}."
        findings.append(Finding(text, is_guess=marker not in stated, option=("--missing", marker)))
    return findings


def other_texts(name: str, texts: pa.ChunkedArray) -> Iterable[Finding]:
    """Find the few texts of a column of numbers or dates that are neither: they may mean missing."""
    distinct = pc.value_counts(texts.drop_null())
    values = distinct.field("values")
    for what, find in (("numbers", _odd_numbers), ("dates", find_odd_dates)):
        others = find(values, _MAX_OTHERS)
        if not others or len(values) - len(others) < _MIN_NUMBERS:
            continue
        for text in others:
            count = distinct.field("counts")[values.index(text).as_py()].as_py()
            rows = "1 row" if count == 1 else f"{count:,} rows"
            yield Finding(
                f"column {format_value(name)} holds {what}, but {format_value(text)} in {rows}",
                option=("--missing", text),
            )
        return


def _odd_numbers(values: pa.Array, most: int) -> list[str]:
    others = values.filter(pc.invert(pc.match_substring_regex(values, _NUMBER)))
    return others.to_pylist() if len(others) <= most else []
