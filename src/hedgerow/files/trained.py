"""What a model was fitted to, in a file: the fingerprints of `hedgerow.estimators.trained`, one a fit.

trained    [{"rows": 150, "columns": 4, "X": "<64 digits>", "y": "...", "sample_weight": null}]
"""

import re
from typing import Any

from hedgerow.container import ModelFileError, entry
from hedgerow.estimators.trained import TrainedOn
from hedgerow.files.parts import Reader, Writer, require

_DIGEST = re.compile("[0-9a-f]{64}")
_MOST_FITS = 10_000
_MOST_ROWS = 2**63


def write_trained(out: Writer, model: Any) -> None:
    """The fingerprints of the fits that made a model; none of one that was loaded from an older file."""
    out.entries["trained"] = [
        {
            "rows": int(one.n_rows),
            "columns": int(one.n_columns),
            "X": one.X,
            "y": one.y,
            "sample_weight": one.sample_weight,
        }
        for one in getattr(model, "trained_on_", ())
    ]


def read_trained(part: Reader, estimator: Any) -> None:
    """Set `trained_on_`, if the file knows it."""
    if part.format < 3:
        return
    told = part.entry("trained", list)
    require("trained", len(told) <= _MOST_FITS, f"there are at most {_MOST_FITS} fits")
    if told:
        estimator.trained_on_ = tuple(_read_fit(one) for one in told)


def _read_fit(told: Any) -> TrainedOn:
    if not isinstance(told, dict):
        raise ModelFileError("trained: a list of JSON objects is needed")
    n_rows, n_columns = entry(told, "rows", int), entry(told, "columns", int)
    require("trained", 0 < n_rows < _MOST_ROWS and 0 < n_columns < _MOST_ROWS, "there are rows and columns")
    digests = read_digests(told, "trained")
    return TrainedOn(n_rows, n_columns, *digests.values())


def read_digests(told: Any, name: str) -> dict[str, Any]:
    """Digests of X, y and, if there were any, sample weights."""
    if not isinstance(told, dict):
        raise ModelFileError(f"{name}: a JSON object is needed")
    digests = {
        "X": entry(told, "X", str),
        "y": entry(told, "y", str),
        "sample_weight": entry(told, "sample_weight", str, type(None)),
    }
    fine = all(one is None or is_digest(one) for one in digests.values())
    require(name, fine, "a digest has 64 hexadecimal digits")
    return digests


def is_digest(text: str) -> bool:
    """Whether it is a SHA-256 in hexadecimal.

    >>> is_digest("0" * 64), is_digest("")
    (True, False)
    """
    return _DIGEST.fullmatch(text) is not None
