"""Boosting by three hypotheses in a file: votes that may hold votes in turn, and weak hypotheses.

hypothesis           {"members": [...], "errors": [...], "error": 0.1, "bound": 0.2, "reason": "..."}
                     a third member that is the first one stands as null
... of a weak one    {"weak": {...}}, the entries of a member, see `members`
hypothesis.rows      int64, the training rows it was learned from
hypothesis.sample_0  int64, those of the first sample, and so on
hypothesis.1.rows    the same of its member 1
learned              [{...}]: in a checkpoint, instead of all these, the members in the order of learning
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.schapire_votes import Hypothesis, VoteOfThree, WeakHypothesis
from hedgerow.container import ModelFileError
from hedgerow.io.members import Expected, read_member, write_member
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import (
    read_grid_marks,
    read_labels,
    read_numbers,
    read_schema,
    read_seen,
    write_columns,
    write_numbers,
    write_seen,
)
from hedgerow.table import Schema

_MOST_DEPTH = 10  # as the estimator has it
_MOST_ROWS = 2**32
_SAMPLES = ("sample_0", "sample_1", "sample_2")


def write_three(model: Any, out: Writer) -> None:
    """The votes, outermost first; of a fit that is not finished, what it has learned."""
    write_columns(out, model.schema_, model.classes_)
    expected = _expected(model.classes_, model.schema_)
    if hasattr(model, "_learned"):
        out.entries["learned"] = [
            write_member(out, member, f"learned.{number}", expected)
            for number, member in enumerate(model._learned)  # noqa: SLF001 - of our own kind
        ]
        return
    out.entries["hypothesis"] = _write_hypothesis(out.part("hypothesis"), model.hypothesis_, expected)
    write_seen(out, model)


def _expected(classes: NDArray[Any], schema: Schema) -> Expected:
    return Expected(classes, schema.n_columns, schema.names)


def _write_hypothesis(out: Writer, found: Hypothesis, expected: Expected) -> dict[str, Any]:
    out.put("rows", found.rows)
    if isinstance(found, WeakHypothesis):
        return {"weak": write_member(out, found.estimator, "weak", expected)}
    for name, rows in zip(_SAMPLES, found.samples, strict=True):
        out.put(name, rows)
    first = found.members[0]
    return {
        "members": [
            None if number and member is first else _write_hypothesis(out.part(str(number)), member, expected)
            for number, member in enumerate(found.members)
        ],
        "errors": write_numbers(found.errors),
        "error": write_numbers([found.error, found.bound]),
        "reason": found.reason,
    }


def read_three(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema, labels = read_schema(part), read_labels(part)
    if "learned" in part.entries and "checkpoint" in part.entries:
        expected = _expected(labels.classes, schema)
        learned = [
            read_member(part, f"learned.{number}", entries, expected)
            for number, entries in enumerate(part.entry("learned", list))
        ]
        estimator._keep_learned(learned, schema, labels.classes, 0)  # noqa: SLF001 - the seed is in the notes
        return
    told = part.part("hypothesis", part.entry("hypothesis", dict))
    hypothesis = _read_hypothesis(told, labels.classes, _expected(labels.classes, schema), 0)
    if not isinstance(hypothesis, VoteOfThree):
        raise ModelFileError("hypothesis: the outermost one is a vote")
    estimator._keep(hypothesis, schema, labels.classes)  # noqa: SLF001 - sets what fit would
    read_seen(part, estimator, labels.n_classes)
    require("grid", read_grid_marks(part) is None, "there is none")


def _read_hypothesis(part: Reader, classes: NDArray[Any], expected: Expected, depth: int) -> Hypothesis:
    rows = _read_rows(part, "rows")
    if set(part.entries) == {"weak"}:
        return WeakHypothesis(rows, read_member(part, "weak", part.entries["weak"], expected), classes)
    told = part.entry("members", list)
    require("hypothesis", len(told) in (1, 3), "a vote has one member or three")
    require("hypothesis", depth < _MOST_DEPTH, f"votes are nested more than {_MOST_DEPTH} deep")
    members: list[Hypothesis] = []
    for number, entries in enumerate(told):
        if number == 2 and entries is None:
            members.append(members[0])
        else:
            members.append(_read_hypothesis(part.part(str(number), entries), classes, expected, depth + 1))
    samples = [_read_rows(part, name) for name in _SAMPLES]
    error, bound = read_numbers(part, "error", 2, finite=False)
    return VoteOfThree(
        rows,
        tuple(members),
        (samples[0], samples[1], samples[2]),
        np.array(read_numbers(part, "errors", 3, finite=False)),
        error,
        bound,
        part.entry("reason", str),
    )


def _read_rows(part: Reader, name: str) -> NDArray[np.int64]:
    rows = part.array(name, np.int64)
    require(f"{part.prefix}{name}", (rows >= 0) & (rows < _MOST_ROWS), "rows are numbers from 0 on")
    require(f"{part.prefix}{name}", rows[1:] > rows[:-1], "rows must rise")
    return rows
