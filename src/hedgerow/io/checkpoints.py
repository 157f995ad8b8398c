"""Checkpoints: the file of a model that is not finished, with notes on its fit in one more entry.

checkpoint    {"rows": {"X": ..., "y": ..., "sample_weight": ...}   digests of what is fitted to
               "evaluations": [{...}]   the same of the evaluation sets
               "began": null            digest of the file of the model gone on from, with `warm_start`
               "first": 0               how many rounds that model has
               "base": null             what it had on the evaluation sets
               "seed": 7                drawn at the beginning
              }

See `hedgerow.estimators.checkpoint` for what they are for.
"""

import hashlib
import os
from collections.abc import Collection
from typing import Any

from hedgerow.container import ModelFileError, entry, write_atomically
from hedgerow.io.foreign import check_trusted
from hedgerow.io.models import from_bytes, open_bytes, read_bytes, to_bytes
from hedgerow.io.parameters import decode, encode, write_spec
from hedgerow.io.reader import require
from hedgerow.io.sections import is_digest, read_digests

_NAMES = {"rows", "evaluations", "began", "first", "base", "seed"}
_MOST_ROUNDS = 2**31


class ModelStore:
    """Writes and reads checkpoints as model files."""

    def check(self, model: Any) -> None:
        """Refuse a model, not fitted yet, that no file could hold."""
        write_spec(model)

    def write(self, path: str | os.PathLike[str], model: Any, notes: dict[str, Any]) -> None:
        """Put a fitted model and the notes into a file."""
        told = notes | {"base": None if notes["base"] is None else encode(notes["base"], "base")}
        write_atomically(path, to_bytes(model, checkpoint=told))

    def read(self, path: str | os.PathLike[str], trusted: Collection[str]) -> tuple[Any, dict[str, Any]]:
        """The model and the notes of a file, checked."""
        try:
            names, data = check_trusted(trusted), read_bytes(path)
            notes = checked_notes(open_bytes(data)[0].get("checkpoint"))
            return from_bytes(data, names, unfinished=True), notes
        except ModelFileError as error:
            raise ModelFileError(f"checkpoint={os.fspath(path)!r} cannot be read: {error}") from error

    def digest(self, model: Any) -> str:
        """Of the file that a fitted model would be."""
        return hashlib.sha256(to_bytes(model)).hexdigest()


def checked_notes(told: Any) -> dict[str, Any]:
    """The notes of a checkpoint.

    >>> rows = {"X": "0" * 64, "y": "1" * 64, "sample_weight": None}
    >>> told = {"rows": rows, "evaluations": [], "began": None, "first": 0, "base": None, "seed": 7}
    >>> checked_notes(told) == told
    True
    """
    if told is None:
        raise ModelFileError("a model, but not a checkpoint: no fit can go on from it")
    if not isinstance(told, dict) or set(told) != _NAMES:
        raise ModelFileError(f"checkpoint: a JSON object with {', '.join(sorted(_NAMES))} is needed")
    notes: dict[str, Any] = {"rows": read_digests(told["rows"], "rows")}
    notes["evaluations"] = [read_digests(one, "evaluations") for one in entry(told, "evaluations", list)]
    began = notes["began"] = entry(told, "began", str, type(None))
    require("began", began is None or is_digest(began), "a digest has 64 hexadecimal digits")
    first = notes["first"] = entry(told, "first", int)
    require("first", 0 <= first < _MOST_ROUNDS, "it is a number of rounds")
    seed = notes["seed"] = entry(told, "seed", int, type(None))
    require("seed", seed is None or 0 <= seed < 2**63, "it must lie in 0..2**63 - 1")
    base = notes["base"] = decode(entry(told, "base", list, type(None)), "base")
    require("base", base is None or all(type(one) is float for one in base), "it is a list of numbers")
    return notes
