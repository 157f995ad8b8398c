"""Targets, weights, evaluation sets and callbacks: everything `fit` is given beside X, checked."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hedgerow._typing import Floats
from hedgerow.estimators.given import (
    LARGEST,
    given_target,
    one_column,
    plain_labels,
    plain_numbers,
    plain_weights,
)
from hedgerow.kernels.cpu.random import VALIDATION, draw_rows

_LISTED = 20  # classes that an error names


def read_seed(random_state: Any) -> int:
    """One integer from a random_state; the integer itself when it is one."""
    if isinstance(random_state, int | np.integer):
        return int(random_state) % 2**63
    return int(check_random_state(random_state).randint(2**31 - 1))


def read_target(y: Any, n_rows: int, estimator_name: str) -> NDArray[Any]:
    """Y as a one-dimensional array of the right length."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None.")
    values = one_column(given_target(y))
    _refuse_other_length(values, n_rows)
    return values


def read_targets(y: Any, n_rows: int, estimator_name: str) -> NDArray[Any]:
    """Y as an array of one dimension, or of two with a column for each output."""
    values = None if y is None else given_target(y)
    if values is None or values.ndim != 2 or values.shape[1] < 2:
        return read_target(y, n_rows, estimator_name)
    _refuse_other_length(values, n_rows)
    return values


def _refuse_other_length(values: NDArray[Any], n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} rows, but X has {n_rows}; they must be equal")


class Numbers:
    """A regression target: finite float64, within the range of `given.LARGEST`."""

    classes: NDArray[Any] | None = None
    n_classes: int | None = None

    def read(self, y: NDArray[Any]) -> Floats:
        """The numbers of `y`."""
        return plain_numbers(y)


class Labels:
    """A classification target: labels become their place among the sorted classes."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_classes = len(classes)

    @classmethod
    def of(cls, y: NDArray[Any]) -> "Labels":
        """The classes found in `y`, at least two."""
        classes = np.unique(plain_labels(y))
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two classes"
            )
        return cls(classes)

    def read(self, y: NDArray[Any]) -> Floats:
        """Class numbers of the labels; every label must be known."""
        y = plain_labels(y)
        known = self.classes
        if known.dtype.kind + y.dtype.kind in ("iu", "ui"):  # NumPy compares these as floats
            known, y = known.astype(object), y.astype(object)
        try:
            places = np.searchsorted(known, y).clip(max=self.n_classes - 1)
        except TypeError as error:
            raise TypeError(f"the labels in y cannot be compared with the classes: {error}") from error
        unknown = np.flatnonzero(known[places] != y)
        if unknown.size:
            listed = self.classes[:_LISTED].tolist()
            more = f" and {self.n_classes - _LISTED} more" if self.n_classes > _LISTED else ""
            raise ValueError(
                f"y holds the label {y[unknown].tolist()[0]!r}, which is not among the training classes "
                f"{listed}{more}"
            )
        return places.astype(np.float64)


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Finite weights >= 0, at least one of them positive."""
    if sample_weight is None:
        return None
    weights = plain_weights(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has {weights.ndim} dimensions"
        )
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and >= 0")
    _refuse_large(weights, "sample_weight")
    if not np.any(weights > 0):
        raise ValueError("sample_weight holds zero weights only; at least one row needs a positive weight")
    return weights


def _refuse_large(weights: Floats, name: str) -> None:
    large = np.flatnonzero(~(weights <= LARGEST))
    if large.size:
        raise ValueError(
            f"{name}: row {large[0]} weighs {weights[large[0]]}; weights must be at most {LARGEST:g}"
        )


def weigh_classes(
    class_weight: Any, numbers: Floats, classes: NDArray[Any], weight: Floats | None
) -> Floats | None:
    """Weights of the rows times those of their classes.

    "balanced" gives every class the same total weight: all / (classes * of this class), counted with the
    weights of the rows, so that a whole weight still acts as that many copies.
    """
    if class_weight is None:
        return weight
    by_class = class_factors(class_weight, numbers, classes, weight)
    weighed: Floats = by_class[numbers.astype(np.int64)]
    if weight is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            weighed *= weight
    _refuse_large(weighed, f"class_weight={class_weight!r}")
    if not np.any(weighed > 0):
        raise ValueError(
            f"class_weight={class_weight!r} leaves zero weights only; a row needs a positive weight"
        )
    return weighed


def class_factors(class_weight: Any, numbers: Floats, classes: NDArray[Any], weight: Floats | None) -> Floats:
    """What the weights of the rows of each class are multiplied by; see `weigh_classes`."""
    if isinstance(class_weight, Mapping):
        return _named_weights(class_weight, classes.tolist())
    totals = np.bincount(numbers.astype(np.int64), weight, len(classes)).astype(np.float64)
    whole = math.fsum(totals)
    return np.divide(whole / len(classes), totals, out=np.ones(len(classes)), where=totals > 0)


def _named_weights(class_weight: Mapping[Any, float], classes: list[Any]) -> Floats:
    """Weights in the order of the classes, 1 for those not named.

    Names of absent classes are allowed, since a fold of a cross-validation may lack one, but not together
    with classes that have no name: that is a misspelt label.
    """
    unknown = [label for label in class_weight if label not in classes]
    unnamed = [label for label in classes if label not in class_weight]
    if unknown and unnamed:
        raise ValueError(
            f"class_weight names the classes {unknown}, which y does not have, and not its classes {unnamed}"
        )
    return np.array([class_weight.get(label, 1.0) for label in classes], np.float64)


def read_eval_sets(eval_set: Any) -> list[tuple[Any, Any, Any]]:
    """Evaluation sets as (X, y, weight) triples."""
    if eval_set is None:
        return []
    sets = [eval_set] if isinstance(eval_set, tuple) else eval_set
    if not isinstance(sets, Sequence) or not all(isinstance(s, tuple) and len(s) in (2, 3) for s in sets):
        raise ValueError(
            f"eval_set is a {type(eval_set).__name__} of another form; it must be (X, y), "
            "(X, y, sample_weight) or a list of such tuples"
        )
    return [(*one, None) if len(one) == 2 else one for one in sets]


def read_callbacks(callbacks: Any) -> list[Any]:
    """Callbacks as a list of callables."""
    if callbacks is None:
        return []
    if not isinstance(callbacks, Sequence) or not all(callable(one) for one in callbacks):
        raise TypeError(f"callbacks={callbacks!r} is not allowed: it must be a list of callables or None")
    for one in callbacks:
        if isinstance(one, type):  # calling it would make an object, which is a true answer
            raise TypeError(f"callbacks holds the class {one.__name__}: give an object, {one.__name__}(...)")
    return list(callbacks)


def held_out_rows(
    groups: Floats | None, weight: Floats | None, n_rows: int, fraction: float, seed: int
) -> NDArray[np.uint32]:
    """Rows for validation: the same share of every group (class), at least one row.

    Rows of weight zero are not counted, so that they act as no rows. Every group is put into a random
    order, and row number i of its m rows stands at (i + 1/2) / m; the rows that stand lowest over all
    groups are taken, but never all of a group.
    """
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    draws = np.empty(len(rows), np.uint64)
    draw_rows(seed, VALIDATION, 0, draws)
    members = np.zeros(len(rows)) if groups is None else groups[rows]
    stands = np.ones(len(rows))  # 1: stays
    for group in np.unique(members):
        places = np.flatnonzero(members == group)
        places = places[np.argsort(draws[places], kind="stable")]
        stands[places[:-1]] = (np.arange(len(places) - 1) + 0.5) / len(places)
    n_held = min(max(1, round(fraction * len(rows))), int(np.sum(stands < 1)))
    order = np.lexsort((draws, stands))
    if not n_held:
        raise ValueError(
            f"validation_fraction={fraction} of n_samples={n_rows} rows leaves nothing to train on; "
            "give an eval_set or set early_stopping=False"
        )
    return np.sort(rows[order[:n_held]]).astype(np.uint32)
