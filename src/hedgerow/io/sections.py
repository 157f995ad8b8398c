"""Sections that several kinds of models share: columns, classes, rounds, fingerprints, pair losses.

Each has a `write_` function that adds it to a Writer, and a `read_` function that checks and restores it:

    schema, classes                 the columns, and the labels of a classifier
    history, seed, best_iteration   of the rounds of boosting
    data_fingerprints               [{"n_rows": 150, "n_columns": 4, "X": "<64 digits>", "y": "...",
                                    "sample_weight": null}], one for each fit
    row_fingerprints.*              uint32, hashes of the training rows
    grid_fingerprints.*             uint32, hashes of the rows that a grid of bin edges was computed from
    oob_losses.*, vote_losses.*     losses of voters, one by one and in pairs
"""

import math
import re
import reprlib
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from hedgerow.bagging.pair_losses import STEPS, PairLosses
from hedgerow.container import JSON, ModelFileError
from hedgerow.estimators.fingerprints import DataFingerprint, RowFingerprints, RowHashes
from hedgerow.io import parameters
from hedgerow.io.parameters import decode, encode
from hedgerow.io.reader import ArrayField, Reader, Writer, require
from hedgerow.table import Schema

PAIR_LOSSES = {  # of voters, one by one and in pairs
    "losses": ArrayField("losses", np.int64),
    "products": ArrayField("products", np.int64, 2),
    "counts": ArrayField("counts", np.int64, 2),
    "differences": ArrayField("differences", np.int64, 2),
}
OOB_LOSSES = {"oob_losses": "oob_losses_", "vote_losses": "vote_losses_"}
MAX_ROWS = 2**32  # row numbers are uint32; squared losses of as many rows do not overflow
_MAX_COUNT = 2**63  # of the rows and columns of a data fingerprint
_MAX_FITS = 10_000
_DIGEST = re.compile("[0-9a-f]{64}")
_NOT_RANDOM = {  # values of parameters with which no random numbers are drawn; all others draw some
    **dict.fromkeys(("subsample", "colsample_bytree", "max_features"), (1, "auto")),
    "random_strength": (0,),
    "sampling": ("uniform",),
    "drop_rate": (0,),
    "leaf_value_folds": (None,),
    "max_categories_for_sets": (None, "auto"),
    "resample": (False,),
    "on_chance": ("stop",),
}


# --- columns and classes


def write_columns(writer: Writer, model: Any) -> None:
    """Write the columns, and the labels of a classifier."""
    described = model.schema_.to_dict()
    writer.entries["schema"] = described | {"dtypes": _dtypes(described)}
    writer.entries["classes"] = parameters.encode_labels(model.classes_) if is_classifier(model) else None


def read_columns(reader: Reader, estimator: Any) -> tuple[Schema, Any]:
    """Read the columns, and the labels of a classifier; None for a regressor."""
    described = dict(reader.entry("schema", dict))
    dtypes = described.pop("dtypes", None)
    try:
        schema = Schema.from_dict(described)
    except ValueError as error:
        raise ModelFileError(f"schema: {error}") from error
    require("schema", dtypes == _dtypes(described), "dtypes must be those of the columns")
    if is_classifier(estimator):
        return schema, parameters.decode_labels(reader.entries.get("classes"))
    return schema, reader.entry("classes", type(None))


def _dtypes(described: dict[str, Any]) -> list[str]:
    """Return the dtypes by which columns are compared: float64, or that of the categories."""
    return ["float64" if column is None else column["dtype"] for column in described["categories"]]


# --- numbers


def write_numbers(values: Any) -> list[Any]:
    """Return floats as JSON, with NaN and infinities as objects."""
    written: list[Any] = encode([float(value) for value in values], "numbers")
    return written


def read_numbers(reader: Reader, name: str, length: int | None = None, *, finite: bool = True) -> list[float]:
    """Read a list of floats."""
    values: list[float] = decode(reader.entry(name, list), name)
    if not all(type(value) is float for value in values):
        raise ModelFileError(f"{name} must be a list of numbers")
    if length is not None:
        require(name, len(values) == length, f"{length} numbers are required; got {len(values)}")
    if finite:
        require(name, np.isfinite(np.array(values, np.float64)), "the numbers must be finite")
    return values


def read_count(reader: Reader, name: str, minimum: int, maximum: int) -> int:
    """Read an integer within bounds."""
    return JSON.integer(reader.entries.get(name), name, minimum, maximum)


def read_strings(reader: Reader, name: str) -> tuple[str, ...]:
    """Read a list of strings."""
    return tuple(JSON.text(item, name) for item in reader.entry(name, list))


# --- rounds


def write_rounds(writer: Writer, model: Any, *, verbose_only: tuple[str, ...] = ()) -> None:
    """Write history, best round and seed of a boosted model.

    `verbose_only` are lists of the history that a fit records with verbose > 0 only. They are left out, so
    that printing does not change the file.
    """
    left_out = ("seconds", *verbose_only)
    history = [(name, values) for name, values in model.history_.items() if name not in left_out]
    writer.entries |= {
        "history": {name: encode(list(values), "history_") for name, values in history},
        "best_iteration": model.best_iteration_,
        "seed": model._seed if _is_random(model) else None,  # noqa: SLF001 - a fitted attribute
    }


def _is_random(model: Any) -> bool:
    """Return whether the fit used the seed; if not, any seed gives the same model."""
    validated = model.early_stopping is True or model.best_iteration_ is not None
    members = hasattr(model.model_, "members")  # a learner of another library may use random numbers
    bins = getattr(model.model_, "bins", None)
    drawn = validated or members or getattr(model.model_, "n_folds", 1) > 1
    drawn = drawn or (bins is not None and bool(bins.by_statistic.any()))  # with "auto"
    passed = {name: getattr(model, name) for name in _NOT_RANDOM if hasattr(model, name)}
    drawn = drawn or any(value not in _NOT_RANDOM[name] for name, value in passed.items())
    return drawn or isinstance(model.random_state, int | np.integer)


def read_rounds(reader: Reader, estimator: Any, model: Any, schema: Schema, classes: Any) -> None:
    """Set the model of all rounds, its history, best round and seed."""
    best = reader.entry("best_iteration", int, type(None))
    if best is not None:
        best = read_count(reader, "best_iteration", 0, model.n_rounds - 1)
    seed, history = read_seed(reader), _read_history(reader)
    estimator._set_rounds(model, schema, classes, seed, history, best)  # noqa: SLF001 - as fit sets them


def _read_history(reader: Reader) -> dict[str, list[float]]:
    """Read the history of the rounds; its seconds, which files do not hold, are NaN."""
    history: dict[str, list[float]] = {}
    for name, data in reader.entry("history", dict).items():
        values = decode(data, "history")
        if not isinstance(values, list) or not all(map(_is_number, values)):
            raise ModelFileError(f"history: {reprlib.repr(name)} must be a list of numbers")
        history[name] = values
        if name == "round":
            history["seconds"] = [math.nan] * len(values)  # they differ from run to run
    n_rounds = len(history.get("round", ()))
    valid = all(len(values) == n_rounds for values in history.values())
    require("history", valid, f"every list must have {n_rounds} numbers, one per round")
    counts = [value for name in ("round", "leaves") for value in history.get(name, ())]
    valid = all(0 <= value < MAX_ROWS if type(value) is int else math.isnan(value) for value in counts)
    require("history", valid, "rounds and leaves must be counts")  # NaN: not recorded for this round
    return history


def _is_number(value: Any) -> bool:
    """Return whether a value is a float, or an integer that a float can represent."""
    return type(value) is float or (type(value) is int and abs(value) <= 2**53)


def read_seed(reader: Reader) -> Any:
    """Read the seed, or None if the fit did not use it."""
    return None if reader.entry("seed", int, type(None)) is None else read_count(reader, "seed", 0, 2**63 - 1)


# --- fingerprints of rows


def _write_hashes(writer: Writer, name: str, hashes: RowHashes) -> dict[str, Any]:
    """Write hashes of rows; those of the values rounded to float32 only where they differ.

    They are equal where every value is a float32. Such rows give the same file in either dtype.
    """
    writer.put(f"{name}.exact", hashes.exact)
    if np.array_equal(hashes.exact, hashes.rounded):
        return {"is_float32": None}
    writer.put(f"{name}.rounded", hashes.rounded)
    return {"is_float32": bool(hashes.is_narrow)}


def _read_hashes(reader: Reader, name: str) -> RowHashes:
    section = reader.section(name, reader.entries[name])
    is_float32 = section.entry("is_float32", bool, type(None))
    exact = section.array("exact", np.uint32)
    require(f"{name}.exact", len(exact) > 0, "at least one row is required")
    if is_float32 is None:
        return RowHashes(exact, exact, is_narrow=True)
    rounded = section.array("rounded", np.uint32)
    require(f"{name}.rounded", len(exact) == len(rounded), f"{len(exact)} hashes are required")
    return RowHashes(exact, rounded, is_float32)


def write_row_fingerprints(writer: Writer, model: Any) -> None:
    """Write hashes of a classifier's training rows, and of the rows that its bin edges were computed from."""
    rows: RowFingerprints | None = getattr(model, "row_fingerprints_", None)
    writer.entries["row_fingerprints"] = writer.entries["grid_fingerprints"] = None
    if rows is not None:
        described = {"class_counts": rows.class_counts.tolist(), "weighted": bool(rows.weighted)}
        hashes = _write_hashes(writer, "row_fingerprints", rows.hashes)
        writer.entries["row_fingerprints"] = described | hashes
    if model.grid_hashes_ is not None:
        writer.entries["grid_fingerprints"] = _write_hashes(writer, "grid_fingerprints", model.grid_hashes_)


def read_row_fingerprints(reader: Reader, estimator: Any) -> None:
    """Set the fingerprints of the training rows of a classifier, if the file has them."""
    if reader.entry("row_fingerprints", dict, type(None)) is None:
        return
    section = reader.section("row_fingerprints", reader.entries["row_fingerprints"])
    n_classes = len(estimator.classes_)
    counts, weighted = section.entry("class_counts", list), section.entry("weighted", bool)
    valid = len(counts) == n_classes and all(type(n) is int and 0 <= n < MAX_ROWS for n in counts)
    rule = f"class_counts must be {n_classes} numbers of rows"
    require("row_fingerprints", valid and sum(counts) > 0, rule)
    hashes = _read_hashes(reader, "row_fingerprints")
    fingerprints = RowFingerprints(hashes, np.array(counts, np.int64), weighted)
    estimator._set_fitted_attributes(row_fingerprints_=fingerprints)  # noqa: SLF001


def read_grid_fingerprints(reader: Reader, estimator: Any, *learners: Any) -> None:
    """Set the hashes of the rows that bin edges were computed from; grids among the parameters get them."""
    absent = reader.entry("grid_fingerprints", dict, type(None)) is None
    hashes = None if absent else _read_hashes(reader, "grid_fingerprints")
    estimator._set_fitted_attributes(grid_hashes_=hashes)  # noqa: SLF001
    parameters.restore_grids(hashes, estimator, *learners)


# --- fingerprints of data


def write_data_fingerprints(writer: Writer, model: Any) -> None:
    """Write the fingerprints of the data of all fits that made a model."""
    writer.entries["data_fingerprints"] = [
        asdict(fingerprint) | {name: int(getattr(fingerprint, name)) for name in ("n_rows", "n_columns")}
        for fingerprint in getattr(model, "data_fingerprints_", ())
    ]


def read_data_fingerprints(reader: Reader) -> tuple[DataFingerprint, ...]:
    """Read the fingerprints of the data of all fits."""
    fits = JSON.items(reader.entries.get("data_fingerprints"), "data_fingerprints", max_length=_MAX_FITS)
    return tuple(_read_data_fingerprint(item) for item in fits)


def _read_data_fingerprint(content: Any) -> DataFingerprint:
    digests = read_digests(content, "data_fingerprints")
    n_rows, n_columns = (
        JSON.integer(content.get(name), name, 1, _MAX_COUNT) for name in ("n_rows", "n_columns")
    )
    return DataFingerprint(n_rows, n_columns, **digests)


def read_digests(content: Any, name: str) -> dict[str, Any]:
    """Read the digests of X, y and, if there were any, sample weights."""
    if not isinstance(content, dict):
        raise ModelFileError(f"{name} must be a JSON object")
    digests = {
        "X": JSON.entry(content, "X", str),
        "y": JSON.entry(content, "y", str),
        "sample_weight": JSON.entry(content, "sample_weight", str, type(None)),
    }
    valid = all(digest is None or is_digest(digest) for digest in digests.values())
    require(name, valid, "a digest must have 64 hexadecimal digits")
    return digests


def is_digest(text: str) -> bool:
    """Return whether a string is a SHA-256 in hexadecimal.

    >>> is_digest("0" * 64), is_digest("")
    (True, False)
    """
    return _DIGEST.fullmatch(text) is not None


# --- losses of voters


def write_pair_losses(writer: Writer, model: Any) -> None:
    """Write the losses of voters that the model has."""
    for name, attribute in OOB_LOSSES.items():
        losses: PairLosses | None = getattr(model, attribute, None)
        writer.entries[name] = None
        if losses is not None:
            writer.entries[name] = {"caveats": list(losses.caveats)}
            writer.section(name).put_fields(PAIR_LOSSES, losses)


def read_pair_losses(reader: Reader, name: str, n_voters: int, n_classes: int) -> PairLosses | None:
    """Read and check losses of voters, if the file has them."""
    if reader.entry(name, dict, type(None)) is None:
        return None
    section = reader.section(name, reader.entries[name])
    caveats, fields = read_strings(section, "caveats"), section.fields(PAIR_LOSSES)
    losses = PairLosses(**fields, n_classes=n_classes, caveats=caveats)
    lost, products, counts, differences = losses.losses, losses.products, losses.counts, losses.differences
    square = (n_voters, n_voters)
    require(name, lost.shape == (n_voters,), f"losses of {n_voters} voters are required")
    require(name, products.shape == counts.shape == square, f"pairs of {n_voters} voters are required")
    pairs = square if n_classes == 2 else (0, 0)
    require(name, differences.shape == pairs, f"differences must have the shape {pairs}")
    require(name, (counts >= 0) & (counts < MAX_ROWS), "counts must be numbers of rows")
    rows = counts.diagonal()
    require(name, (lost >= 0) & (lost <= STEPS * rows), "a loss must be at most 1")
    require(name, (products >= 0) & (products <= STEPS**2 * counts), "a loss must be at most 1")
    require(name, counts <= np.minimum.outer(rows, rows), "two voters share no more rows than each has")
    if n_classes == 2:
        valid = (differences >= 0) & (differences <= STEPS**2 * counts)
        require(name, valid & (differences == differences.T), "differences must be symmetric and at most 1")
    require(name, (products == products.T) & (counts == counts.T), "pairs must be symmetric")
    return losses
