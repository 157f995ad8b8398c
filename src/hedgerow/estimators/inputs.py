"""Targets, weights, evaluation sets and callbacks: everything `fit` is given beside X, checked."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hedgerow.kernels.cpu.random import VALIDATION, draw_rows

Floats = NDArray[np.float64]


def read_seed(random_state: Any) -> int:
    """One integer from a random_state; the integer itself when it is one."""
    if isinstance(random_state, int | np.integer):
        return int(random_state) % 2**63
    return int(check_random_state(random_state).randint(2**31 - 1))


def read_target(y: Any, n_rows: int, estimator_name: str) -> NDArray[Any]:
    """Y as a one-dimensional array of the right length."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None.")
    values: NDArray[Any] = column_or_1d(_decoded(y), warn=True)
    _refuse_other_length(values, n_rows)
    return values


def _decoded(y: Any) -> Any:
    """Arrow's dictionary columns as their values: NumPy would get some category where a value is missing."""
    arrow = sys.modules.get("pyarrow")  # if nobody imported pyarrow, y is none of its types
    if arrow is None or not isinstance(y, arrow.Array | arrow.ChunkedArray):
        return y
    return y.cast(y.type.value_type) if arrow.types.is_dictionary(y.type) else y


def read_targets(y: Any, n_rows: int, estimator_name: str) -> NDArray[Any]:
    """Y as an array of one dimension, or of two with a column for each output."""
    values = None if y is None else np.asarray(y)
    if values is None or values.ndim != 2 or values.shape[1] < 2:
        return read_target(y, n_rows, estimator_name)
    _refuse_other_length(values, n_rows)
    return values


def _refuse_other_length(values: NDArray[Any], n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} rows, but X has {n_rows}; they must be equal")


class Numbers:
    """A regression target: finite float64."""

    classes: NDArray[Any] | None = None
    n_classes: int | None = None

    def read(self, y: NDArray[Any]) -> Floats:
        """The numbers of `y`."""
        if y.dtype.kind not in "fiubO":
            raise ValueError(f"y has dtype {y.dtype}; a regression target must be numeric")
        try:
            values = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must be numeric for regression: {error}") from error
        _refuse_not_finite(values)
        return values


class Labels:
    """A classification target: labels become their place among the sorted classes."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_classes = len(classes)

    @classmethod
    def of(cls, y: NDArray[Any]) -> "Labels":
        """The classes found in `y`, at least two."""
        if y.dtype.kind == "f":
            _refuse_not_finite(y)
        elif y.dtype.kind == "O":
            _refuse_missing_labels(y)
        try:
            if y.dtype.kind not in "iub":  # integers always are classes; the check costs half a millisecond
                check_classification_targets(y)
            classes = np.unique(y)
        except TypeError as error:
            raise TypeError(f"the labels in y cannot be sorted: {error}") from error
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two classes"
            )
        return cls(classes)

    def read(self, y: NDArray[Any]) -> Floats:
        """Class numbers of the labels; every label must be known."""
        try:
            places = np.searchsorted(self.classes, y).clip(max=self.n_classes - 1)
        except TypeError as error:
            raise TypeError(f"the labels in y cannot be compared with the classes: {error}") from error
        unknown = np.flatnonzero(self.classes[places] != y)
        if unknown.size:
            raise ValueError(
                f"y holds the label {y[unknown].tolist()[0]!r}, which is not among the training classes "
                f"{self.classes.tolist()}"
            )
        return places.astype(np.float64)


def _refuse_missing_labels(y: NDArray[Any]) -> None:
    for row, label in enumerate(y.tolist()):
        nan = isinstance(label, float) and math.isnan(label)
        if nan or label is None or type(label).__name__ == "NAType":  # pandas' own: it is not imported for it
            raise ValueError(f"y has a missing label: row {row} is {label!r}; every row needs a class")


def _refuse_not_finite(values: NDArray[Any]) -> None:
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if bad.size:
        raise ValueError(
            f"Input y contains NaN or infinity: row {bad[0]} is {values[bad[0]]}; "
            "only finite values are allowed"
        )


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Finite weights >= 0, at least one of them positive."""
    if sample_weight is None:
        return None
    try:
        # A copy: for a read-only array, as pandas hands them out, kernels would be compiled anew.
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from error
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
    if not np.any(weights > 0):
        raise ValueError("sample_weight holds zero weights only; at least one row needs a positive weight")
    return weights


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
        weighed *= weight
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
