"""Boosting by three hypotheses in a file: votes that may contain votes, and weak hypotheses.

hypothesis           {"members": [...], "errors": [...], "error": 0.1, "bound": 0.2, "reason": "..."}
                     a third member that is the first one is null
... if it is weak    {"weak": {...}}, the entries of a member, see `members`
hypothesis.rows      int64, the training rows it was fitted to
hypothesis.sample_0  int64, those of the first sample, and so on
hypothesis.1.rows    those of its member 1
fitted_members       [{...}]: in a checkpoint, instead of all these, the members in the order of the fits
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.boosting.schapire_votes import Hypothesis, VoteOfThree, WeakHypothesis
from hedgerow.container import ModelFileError
from hedgerow.io import sections
from hedgerow.io.members import MemberSpec, read_member, write_member
from hedgerow.io.parameters import decode, encode
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.table import Schema

_MAX_DEPTH = 10  # the limit of the estimator
_SAMPLES = ("sample_0", "sample_1", "sample_2")


def write_schapire(model: Any, writer: Writer) -> None:
    """Write the votes, outermost first; of an unfinished fit, the fitted members."""
    spec = MemberSpec.of(model.schema_, model.classes_)
    if hasattr(model, "_learned"):
        writer.entries["fitted_members"] = [
            write_member(writer, member, f"fitted_members.{number}", spec)
            for number, member in enumerate(model._learned)  # noqa: SLF001 - a class of Hedgerow
        ]
        return
    writer.entries["hypothesis"] = _write_hypothesis(writer.section("hypothesis"), model.hypothesis_, spec)
    sections.write_row_fingerprints(writer, model)


def _write_hypothesis(writer: Writer, hypothesis: Hypothesis, spec: MemberSpec) -> dict[str, Any]:
    writer.put("rows", hypothesis.rows)
    if isinstance(hypothesis, WeakHypothesis):
        return {"weak": write_member(writer, hypothesis.estimator, "weak", spec)}
    for name, rows in zip(_SAMPLES, hypothesis.samples, strict=True):
        writer.put(name, rows)
    first = hypothesis.members[0]
    return {
        "members": [
            None
            if number and member is first
            else _write_hypothesis(writer.section(str(number)), member, spec)
            for number, member in enumerate(hypothesis.members)
        ],
        "errors": sections.write_numbers(hypothesis.errors),
        "error": encode(float(hypothesis.error), "error"),
        "bound": encode(float(hypothesis.bound), "bound"),
        "reason": hypothesis.reason,
    }


def read_schapire(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    spec = MemberSpec.of(schema, classes)
    if "fitted_members" in reader.entries and "checkpoint" in reader.entries:
        members = [
            read_member(reader, f"fitted_members.{number}", entries, spec)
            for number, entries in enumerate(reader.entry("fitted_members", list))
        ]
        estimator._set_unfinished(members, schema, classes, 0)  # noqa: SLF001 - the notes have the seed
        return
    section = reader.section("hypothesis", reader.entry("hypothesis", dict))
    hypothesis = _read_hypothesis(section, classes, spec, 0)
    if not isinstance(hypothesis, VoteOfThree):
        raise ModelFileError("hypothesis: the outermost one must be a vote")
    estimator._set_hypothesis(hypothesis, schema, classes)  # noqa: SLF001 - as fit sets them
    sections.read_row_fingerprints(reader, estimator)
    reader.entry("grid_fingerprints", type(None))


def _read_hypothesis(reader: Reader, classes: NDArray[Any], spec: MemberSpec, depth: int) -> Hypothesis:
    rows = _read_rows(reader, "rows")
    if set(reader.entries) == {"weak"}:
        return WeakHypothesis(rows, read_member(reader, "weak", reader.entries["weak"], spec), classes)
    listed = reader.entry("members", list)
    require("hypothesis", len(listed) in (1, 3), "a vote must have one member or three")
    require("hypothesis", depth < _MAX_DEPTH, f"votes are nested more than {_MAX_DEPTH} deep")
    members: list[Hypothesis] = []
    for number, entries in enumerate(listed):
        if number == 2 and entries is None:
            members.append(members[0])
        else:
            section = reader.section(str(number), entries)
            members.append(_read_hypothesis(section, classes, spec, depth + 1))
    samples = [_read_rows(reader, name) for name in _SAMPLES]
    return VoteOfThree(
        rows,
        tuple(members),
        (samples[0], samples[1], samples[2]),
        np.array(sections.read_numbers(reader, "errors", 3, finite=False)),
        _read_float(reader, "error"),
        _read_float(reader, "bound"),
        reader.entry("reason", str),
    )


def _read_float(reader: Reader, name: str) -> float:
    value = decode(reader.entry(name, float, dict), name)
    require(name, type(value) is float, "it must be a number")
    return float(value)


def _read_rows(reader: Reader, name: str) -> Integers:
    rows: Integers = reader.array(name, np.int64)
    require(
        f"{reader.prefix}{name}", (rows >= 0) & (rows < sections.MAX_ROWS), "row numbers must not be negative"
    )
    require(f"{reader.prefix}{name}", rows[1:] > rows[:-1], "row numbers must increase")
    return rows
