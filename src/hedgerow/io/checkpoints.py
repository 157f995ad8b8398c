"""Checkpoints: model files with notes on an unfinished fit, which `hedgerow.estimators.checkpoint` writes.

checkpoint    {"data": {"X": ..., "y": ..., "sample_weight": ...}   digests of the training data
               "evaluation_sets": [{...}]   digests of the evaluation sets
               "resumed_from": null         digest of the file of the model that `warm_start` continues
               "first_round": 0             the number of rounds of that model
               "initial_losses": null       losses of that model on the evaluation sets
               "seed": 7}                   drawn at the beginning

With `drop_rate` or `leaf_value_folds` of gradient boosting there are also scores of rows, see `boosting`.
"""

import hashlib
import os
from collections.abc import Collection
from typing import Any

from hedgerow.container import JSON, ModelFileError, write_atomically
from hedgerow.io.boosting import SCORES
from hedgerow.io.foreign import check_trusted
from hedgerow.io.models import from_bytes, open_bytes, read_bytes, to_bytes
from hedgerow.io.parameters import decode, encode, write_spec
from hedgerow.io.reader import require
from hedgerow.io.sections import is_digest, read_digests

CHECKPOINT = {  # keys of the notes of a checkpoint
    "data": "rows",
    "evaluation_sets": "evaluations",
    "resumed_from": "began",
    "first_round": "first",
    "initial_losses": "base",
    "seed": "seed",
}
_MAX_ROUNDS = 2**31


class ModelStore:
    """Writes and reads checkpoints as model files."""

    def check(self, model: Any) -> None:
        """Refuse an unfitted model that no file could hold."""
        write_spec(model)

    def write(self, path: str | os.PathLike[str], model: Any, notes: dict[str, Any]) -> None:
        """Write a fitted model and the notes on its fit."""
        write_atomically(path, to_bytes(model, checkpoint=written_notes(notes), scores=notes["scores"]))

    def read(self, path: str | os.PathLike[str], trusted: Collection[str]) -> tuple[Any, dict[str, Any]]:
        """Return the model and the notes of a file, checked."""
        try:
            names, data = check_trusted(trusted), read_bytes(path)
            content, arrays = open_bytes(data)
            notes = checked_notes(content.get("checkpoint"))
            notes["scores"] = {
                name: arrays[f"scores.{name}"] for name in SCORES if f"scores.{name}" in arrays
            }
            del arrays
            return from_bytes(data, names, unfinished=True), notes  # checks the scores
        except ModelFileError as error:
            raise ModelFileError(f"checkpoint={os.fspath(path)!r} cannot be read: {error}") from error

    def digest(self, model: Any) -> str:
        """Return the digest of the file that a fitted model would be saved as."""
        return hashlib.sha256(to_bytes(model)).hexdigest()


# --- notes


def written_notes(notes: dict[str, Any]) -> dict[str, Any]:
    """Return the notes of a checkpoint by the names that files use."""
    content = {name: notes[attribute] for name, attribute in CHECKPOINT.items()}
    scores = content["initial_losses"]
    return content | {"initial_losses": None if scores is None else encode(scores, "initial_losses")}


def checked_notes(content: Any) -> dict[str, Any]:
    """Return the notes of a checkpoint by the names that estimators use."""
    if content is None:
        raise ModelFileError("the file is a model, not a checkpoint: no fit can resume from it")
    JSON.fields(content, tuple(CHECKPOINT), "checkpoint")
    resumed_from = JSON.entry(content, "resumed_from", str, type(None))
    valid = resumed_from is None or is_digest(resumed_from)
    require("resumed_from", valid, "a digest must have 64 hexadecimal digits")
    seed = JSON.entry(content, "seed", int, type(None))
    require("seed", seed is None or 0 <= seed < 2**63, "it must be in 0..2**63 - 1")
    scores = decode(JSON.entry(content, "initial_losses", list, type(None)), "initial_losses")
    valid = scores is None or all(type(score) is float for score in scores)
    require("initial_losses", valid, "it must be a list of numbers")
    sets = JSON.items(content["evaluation_sets"], "evaluation_sets")
    checked = {
        "data": read_digests(content["data"], "data"),
        "evaluation_sets": [read_digests(item, "evaluation_sets") for item in sets],
        "resumed_from": resumed_from,
        "first_round": JSON.integer(content["first_round"], "first_round", 0, _MAX_ROUNDS - 1),
        "initial_losses": scores,
        "seed": seed,
    }
    return {attribute: checked[name] for name, attribute in CHECKPOINT.items()}
