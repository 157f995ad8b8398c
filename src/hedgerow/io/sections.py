"""Pieces that several kinds of models have in a file: columns, classes, rounds, trees, rows that were seen.

Each has a `write_` that puts it into a part and a `read_` that checks it and makes it again:

    schema, classes         entries
    history, seed, best_iteration, stop_reason
    bins.*, forest.*        the arrays of a `TreeModel`
    seen.*, grid.*          fingerprints (uint32) of the training rows, and of those of a grid of edges
    oob_losses.*            what voters lose, one by one and in pairs


What a model was fitted to, in a file: the fingerprints of `hedgerow.estimators.fingerprints`, one a fit.

trained    [{"rows": 150, "columns": 4, "X": "<64 digits>", "y": "...", "sample_weight": null}]
"""

import math
import re
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import STEPS, PairLosses
from hedgerow.binning import Bins
from hedgerow.container import ModelFileError, entry
from hedgerow.dtypes import MAX_BINS
from hedgerow.estimators.fingerprints import DataFingerprint, RowFingerprints, RowHashes
from hedgerow.estimators.validation import ClassTarget, NumberTarget
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.checks import BINS, FOREST, check_model
from hedgerow.io.parameters import decode, decode_labels, encode, encode_labels
from hedgerow.io.reader import Reader, Writer, require, short
from hedgerow.table import Schema

_MOST_ROWS = 2**32  # row numbers are uint32; squares of losses of as many rows do not overflow
_RANDOM_SHARES = ("subsample", "colsample_bytree", "max_features")


# --- columns and classes


def write_columns(out: Writer, schema: Schema, classes: NDArray[Any] | None) -> None:
    """The columns and the labels; None for a regressor."""
    described = schema.to_dict()
    out.entries["schema"] = described | {"dtypes": _dtypes(described)}
    out.entries["classes"] = None if classes is None else encode_labels(classes)


def read_schema(part: Reader) -> Schema:
    """The columns."""
    described = dict(part.entry("schema", dict))
    dtypes = described.pop("dtypes", None)
    try:
        schema = Schema.from_dict(described)
    except ValueError as error:
        raise ModelFileError(f"schema: {short(error)}") from error
    if part.format > 2:
        require("schema", dtypes == _dtypes(described), "dtypes must be those of the columns")
    return schema


def _dtypes(described: dict[str, Any]) -> list[str]:
    """The dtypes as which columns are compared: numbers are float64, categories have one of their own."""
    return ["float64" if told is None else told["dtype"] for told in described["categories"]]


def read_labels(part: Reader) -> ClassTarget:
    """The target of a classifier."""
    return ClassTarget(decode_labels(part.entries.get("classes")))


def read_target(part: Reader, *, classes: bool) -> ClassTarget | NumberTarget:
    """The target of either kind."""
    if classes:
        return read_labels(part)
    part.entry("classes", type(None))
    return NumberTarget()


# --- numbers


def write_numbers(values: Any) -> list[Any]:
    """Floats as JSON; NaN and infinities are spelt out."""
    written: list[Any] = encode([float(value) for value in values], "numbers")
    return written


def read_numbers(part: Reader, name: str, length: int | None = None, *, finite: bool = True) -> list[float]:
    """A list of floats, so many and finite if that is asked."""
    values = decode(part.entry(name, list), name)
    if not all(type(value) is float for value in values):
        raise ModelFileError(f"{name} must be a list of numbers")
    if length is not None:
        require(name, len(values) == length, f"{length} numbers are needed, found {len(values)}")
    if finite:
        require(name, np.isfinite(np.array(values, np.float64)), "the numbers must be finite")
    found: list[float] = values
    return found


def read_count(part: Reader, name: str, low: int, high: int) -> int:
    """An integer from low to high."""
    number: int = part.entry(name, int)
    if not low <= number <= high:
        raise ModelFileError(f"{name} is {reprlib.repr(number)}; it must lie in {low}..{high}")
    return number


# --- rounds


def write_rounds(out: Writer, model: Any, *, printed: tuple[str, ...] = ()) -> None:
    """History, best round and seed of a boosted model; `printed` is in the history with verbose > 0 only."""
    left_out = ("seconds", *printed)
    history = [(name, values) for name, values in model.history_.items() if name not in left_out]
    out.entries |= {
        "history": {name: encode(list(values), "history_") for name, values in history},
        "best_iteration": model.best_iteration_,
        "seed": model._seed if _is_random(model) else None,  # noqa: SLF001 - part of the fitted model
    }


def _is_random(model: Any) -> bool:
    """Whether the seed took part; if not, any seed gives the same model."""
    held_out = model.early_stopping is True or model.best_iteration_ is not None
    members = hasattr(model.model_, "members")  # a learner that is not ours may be random itself
    drawn = held_out or members or any(getattr(model, name, 1) < 1 for name in _RANDOM_SHARES)
    drawn = drawn or getattr(model, "resample", False) or getattr(model, "on_chance", "stop") == "restart"
    return drawn or isinstance(model.random_state, int | np.integer)


def read_history(part: Reader) -> dict[str, list[float]]:
    """The record of the rounds; its seconds, which are not in the file, are NaN."""
    history: dict[str, list[float]] = {}
    for name, data in part.entry("history", dict).items():
        values = decode(data, "history")
        if not isinstance(values, list) or not all(map(_is_number, values)):
            raise ModelFileError(f"history: {reprlib.repr(name)} must be a list of numbers")
        history[name] = values
        if name == "round":
            history["seconds"] = [math.nan] * len(values)  # they differ from run to run
    n_rounds = len(history.get("round", ()))
    fine = all(len(values) == n_rounds for values in history.values())
    require("history", fine, f"there must be {n_rounds} numbers in every list, one a round")
    counts = [value for name in ("round", "leaves") for value in history.get(name, ())]
    fine = all(0 <= value < _MOST_ROWS if type(value) is int else math.isnan(value) for value in counts)
    require("history", fine, "rounds and leaves are counted")  # NaN: of a round that nothing is known of
    return history


def _is_number(value: Any) -> bool:
    """Whether it is a float, or an integer that one can hold."""
    return type(value) is float or (type(value) is int and abs(value) <= 2**53)


def read_best(part: Reader, n_rounds: int) -> int | None:
    """The best round, if there is one."""
    best: int | None = part.entry("best_iteration", int, type(None))
    if best is not None and not 0 <= best < n_rounds:
        raise ModelFileError(f"best_iteration {reprlib.repr(best)} is none of the {n_rounds} rounds")
    return best


def read_seed(part: Reader) -> Any:
    """The seed, if it took part."""
    seed: int | None = part.entry("seed", int, type(None))
    if seed is not None and not 0 <= seed < 2**63:
        raise ModelFileError(f"seed {reprlib.repr(seed)} does not lie in 0..2**63 - 1")
    return seed


# --- trees that add up


def write_bins(out: Writer, bins: Bins) -> None:
    """Edges, codes, and which edges were given."""
    for name in BINS:
        out.put(name, getattr(bins, name.removeprefix("bins.")))
    out.put("bins.given", bins.given)


def read_bins(part: Reader) -> Bins:
    """The bins, not checked yet."""
    held = {name.removeprefix("bins."): part.array(name, *kind) for name, kind in BINS.items()}
    bins = Bins(**held)
    # format 1 knows gradient boosting only, which is never given edges
    return bins if part.format == 1 else bins.marked(part.array("bins.given", np.uint8))


def write_trees(
    out: Writer, model: TreeModel, schema: Schema, n_outputs: int, *, most_bins: int = MAX_BINS
) -> None:
    """The bins and the forest, checked."""
    check_model(model, schema, n_outputs, most_bins=most_bins)
    write_bins(out, model.bins)
    for name in FOREST:
        out.put(name, getattr(model.forest, name.removeprefix("forest.")))


def read_trees(
    part: Reader, schema: Schema, start: Floats, n_outputs: int, *, most_bins: int = MAX_BINS
) -> TreeModel:
    """The checked model."""
    held = {name.removeprefix("forest."): part.array(name, *kind) for name, kind in FOREST.items()}
    model = TreeModel(start, read_bins(part), Forest(**held))
    check_model(model, schema, n_outputs, most_bins=most_bins)
    return model


# --- rows that were seen


def write_marks(out: Writer, name: str, marks: RowHashes) -> dict[str, Any]:
    """Fingerprints of rows; those of the rounded values only where they are others.

    They are the same where every value is a float32. Such rows give the same file in either type.
    """
    out.put(f"{name}.exact", marks.exact)
    if np.array_equal(marks.exact, marks.rounded):
        return {"narrow": None}
    out.put(f"{name}.rounded", marks.rounded)
    return {"narrow": bool(marks.is_narrow)}


def read_marks(part: Reader, name: str) -> RowHashes:
    """Fingerprints, as many of both kinds."""
    told = part.part(name, part.entries[name])
    narrow = told.entry("narrow", bool, type(None))
    exact = told.array("exact", np.uint32)
    require(f"{name}.exact", len(exact) > 0, "there must be a row")
    if narrow is None:
        return RowHashes(exact, exact, is_narrow=True)
    rounded = told.array("rounded", np.uint32)
    require(f"{name}.rounded", len(exact) == len(rounded), f"{len(exact)} fingerprints are needed")
    return RowHashes(exact, rounded, narrow)


def write_seen(out: Writer, model: Any) -> None:
    """What a classifier remembers of its training rows, and of those that its grid was found on."""
    seen: RowFingerprints | None = getattr(model, "row_fingerprints_", None)
    out.entries["seen"] = out.entries["grid"] = None
    if seen is not None:
        told = {"counts": seen.class_counts.tolist(), "weighted": bool(seen.weighted)}
        out.entries["seen"] = told | write_marks(out, "seen", seen.hashes)
    if model.grid_hashes_ is not None:
        out.entries["grid"] = write_marks(out, "grid", model.grid_hashes_)


def read_seen(part: Reader, model: Any, n_classes: int) -> None:
    """Set `row_fingerprints_`, if the file has it; `read_grid_marks` reads the rest."""
    if part.format == 1 or part.entry("seen", dict, type(None)) is None:
        return
    told = part.part("seen", part.entries["seen"])
    counts, weighted = told.entry("counts", list), told.entry("weighted", bool)
    right = len(counts) == n_classes and all(type(n) is int and 0 <= n < _MOST_ROWS for n in counts)
    require("seen", right and sum(counts) > 0, f"counts must be {n_classes} numbers of rows")
    model.row_fingerprints_ = RowFingerprints(read_marks(part, "seen"), np.array(counts, np.int64), weighted)


def read_grid_marks(part: Reader) -> RowHashes | None:
    """Fingerprints of the rows that bin edges were found on, if there are any."""
    return None if part.entry("grid", dict, type(None)) is None else read_marks(part, "grid")


# --- what voters lose


def write_losses(out: Writer, name: str, model: Any) -> None:
    """The losses of that name, if the model has them."""
    losses: PairLosses | None = getattr(model, name, None)
    out.entries[name] = None
    if losses is not None:
        out.entries[name] = {"doubts": list(losses.doubts)}
        for field in ("losses", "products", "counts", "differences"):
            out.put(f"{name}.{field}", getattr(losses, field))


def read_losses(part: Reader, name: str, model: Any, n_voters: int, n_classes: int) -> None:
    """Set the losses of that name, if the file has them."""
    if part.entry(name, dict, type(None)) is None:
        return
    told = part.part(name, part.entries[name])
    doubts = told.entry("doubts", list)
    require(name, all(type(doubt) is str for doubt in doubts), "doubts must be sentences")
    lost, products, counts, differences = (
        told.array(field, np.int64, 1 if field == "losses" else 2)
        for field in ("losses", "products", "counts", "differences")
    )
    square = (n_voters, n_voters)
    require(name, lost.shape == (n_voters,), f"losses of {n_voters} voters are needed")
    require(name, products.shape == counts.shape == square, f"pairs of {n_voters} voters are needed")
    pairs = square if n_classes == 2 else (0, 0)
    require(name, differences.shape == pairs, f"differences must have the shape {pairs}")
    require(name, (counts >= 0) & (counts < _MOST_ROWS), "counts must be numbers of rows")
    rows = counts.diagonal()
    require(name, (lost >= 0) & (lost <= STEPS * rows), "a loss is 1 at the most")
    require(name, (products >= 0) & (products <= STEPS**2 * counts), "a loss is 1 at the most")
    require(name, counts <= np.minimum.outer(rows, rows), "two voters share no more rows than each has")
    if n_classes == 2:
        right = (differences >= 0) & (differences <= STEPS**2 * counts)
        require(name, right & (differences == differences.T), "a difference is 1 at the most, and mutual")
    require(name, (products == products.T) & (counts == counts.T), "pairs have no order")
    setattr(model, name, PairLosses(lost, products, counts, differences, n_classes, tuple(doubts)))


_DIGEST = re.compile("[0-9a-f]{64}")
_MOST_FITS = 10_000
_MOST_FITTED = 2**63


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
        for one in getattr(model, "data_fingerprints_", ())
    ]


def read_trained(part: Reader, estimator: Any) -> None:
    """Set `data_fingerprints_`, if the file knows it."""
    if part.format < 3:
        return
    told = part.entry("trained", list)
    require("trained", len(told) <= _MOST_FITS, f"there are at most {_MOST_FITS} fits")
    if told:
        estimator.data_fingerprints_ = tuple(_read_fit(one) for one in told)


def _read_fit(told: Any) -> DataFingerprint:
    if not isinstance(told, dict):
        raise ModelFileError("trained: a list of JSON objects is needed")
    n_rows, n_columns = entry(told, "rows", int), entry(told, "columns", int)
    require(
        "trained", 0 < n_rows < _MOST_FITTED and 0 < n_columns < _MOST_FITTED, "there are rows and columns"
    )
    digests = read_digests(told, "trained")
    return DataFingerprint(n_rows, n_columns, *digests.values())


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
