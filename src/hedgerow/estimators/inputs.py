"""Targets, weights and evaluation sets: everything `fit` is given beside X, checked."""

from collections.abc import Sequence
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
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state) % 2**63
    return int(check_random_state(random_state).randint(2**31 - 1))


def read_target(y: Any, n_rows: int, estimator_name: str) -> NDArray[Any]:
    """Y as a one-dimensional array of the right length."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None.")
    values: NDArray[Any] = column_or_1d(y, warn=True)
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(values)}; they must be equal")
    return values


class Numbers:
    """A regression target: finite float64."""

    classes: NDArray[Any] | None = None
    n_classes: int | None = None

    def read(self, y: NDArray[Any], name: str = "y") -> Floats:
        """The numbers of `y`."""
        if y.dtype.kind not in "fiubO":
            raise ValueError(f"{name} has dtype {y.dtype}; a regression target must be numeric")
        values = y.astype(np.float64)
        _refuse_not_finite(values, name)
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
            _refuse_not_finite(y, "y")
        check_classification_targets(y)
        try:
            classes = np.unique(y)
        except TypeError as error:
            raise TypeError(f"the labels in y cannot be sorted: {error}") from error
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes[0]!r}; a classifier needs at least two classes"
            )
        return cls(classes)

    def read(self, y: NDArray[Any], name: str = "y") -> Floats:
        """Class numbers of the labels; every label must be known."""
        places = np.searchsorted(self.classes, y).clip(max=self.n_classes - 1)
        unknown = np.flatnonzero(self.classes[places] != y)
        if unknown.size:
            raise ValueError(
                f"{name} holds the label {y[unknown[0]]!r}, which is not among the training classes"
            )
        return places.astype(np.float64)


def _refuse_not_finite(values: NDArray[Any], name: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"Input {name} contains NaN or infinity: {name}[{bad[0]}] is {values[bad[0]]}")


def read_weights(sample_weight: Any, n_rows: int, name: str = "sample_weight") -> Floats | None:
    """Finite weights >= 0, at least one of them positive."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if len(weights) != n_rows:
        raise ValueError(f"{name}.shape == {weights.shape}, expected {(n_rows,)}!")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {weights[bad[0]]}; weights must be finite and >= 0")
    if not np.any(weights > 0):
        raise ValueError(f"all values of {name} are 0; at least one row needs a positive weight")
    return weights


def read_eval_sets(eval_set: Any) -> list[tuple[Any, Any, Any]]:
    """Evaluation sets as (X, y, weight) triples."""
    if eval_set is None:
        return []
    sets = [eval_set] if isinstance(eval_set, tuple) else eval_set
    if not isinstance(sets, Sequence) or not all(isinstance(s, tuple) and len(s) in (2, 3) for s in sets):
        raise ValueError("eval_set must be (X, y), (X, y, sample_weight) or a list of such tuples")
    return [(*one, None) if len(one) == 2 else one for one in sets]


def held_out_rows(groups: Floats | None, n_rows: int, fraction: float, seed: int) -> NDArray[np.uint32]:
    """Rows for validation: the rows of lowest draw, the same share of every group (class).

    A group keeps at least one row for training.
    """
    draws = np.empty(n_rows, np.uint64)
    draw_rows(seed, VALIDATION, 0, draws)
    groups = np.zeros(n_rows) if groups is None else groups
    chosen = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        rows = rows[np.argsort(draws[rows], kind="stable")]
        chosen.append(rows[: min(len(rows) - 1, round(fraction * len(rows)))])
    return np.sort(np.concatenate(chosen)).astype(np.uint32)
