"""Training sets drawn from one data set, and seeds of repeats."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

Pair = tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Resamples:
    """Training sets drawn from the rows of one data set, for `bias_variance`.

    The data set replaces the population, so the results are estimates: resamples of the same rows are more
    similar than independent samples and have fewer different rows. The variance is usually estimated too low
    and the bias too high.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    size : int or float
        Number of rows of a training set (int), or fraction of all rows (float).
    replace : bool
        Draw with replacement (bootstrap). Otherwise `size` must be less than all rows.

    Examples
    --------
    >>> sampler = Resamples(np.arange(8).reshape(4, 2), np.array([0, 0, 1, 1]), size=0.75, replace=False)
    >>> sampler(0)
    (array([[4, 5],
           [6, 7],
           [2, 3]]), array([1, 1, 0]))
    """

    X: Any
    y: Any
    size: float = 1.0
    replace: bool = True

    def __post_init__(self) -> None:
        pair = as_pair((self.X, self.y), "sampler")
        object.__setattr__(self, "y", np.asarray(pair[1]))
        n_rows, is_fraction = len(self.y), not isinstance(self.size, int | np.integer)
        allowed = "an integer >= 1 or a number > 0 and <= 1"
        is_number = isinstance(self.size, numbers.Real) and not isinstance(self.size, bool | np.bool_)
        if not is_number or not (0 < self.size <= 1 if is_fraction else self.size >= 1):
            raise ValueError(f"size={self.size!r} is not allowed: it must be {allowed}")
        if not self.replace and self.n_drawn >= n_rows:
            raise ValueError(
                f"size={self.size!r} is not allowed with replace=False: all resamples would be the same "
                f"{n_rows} rows; it must be less than {n_rows}, or a fraction below 1"
            )

    @property
    def n_drawn(self) -> int:
        """Number of rows of a training set."""
        if isinstance(self.size, int | np.integer):
            return int(self.size)
        return max(1, int(self.size * len(self.y)))

    def __call__(self, seed: int) -> Pair:
        """Draw a training set."""
        rows = np.random.default_rng(seed).choice(len(self.y), self.n_drawn, replace=self.replace)
        return _safe_indexing(self.X, rows), self.y[rows]


def as_pair(value: Any, name: str) -> Pair:
    """Return the value if it is a pair (X, y) with equal numbers of rows; raise otherwise."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (X, y); got {type(value).__name__}")
    X, y = value
    try:
        n_rows, n_labels = _num_samples(X), len(y)
    except TypeError as error:
        raise TypeError(f"{name}: X must be a table and y an array: {error}") from error
    if n_rows != n_labels:
        raise ValueError(f"{name} has {n_rows} rows in X and {n_labels} in y; they must be equal")
    if n_rows == 0:
        raise ValueError(f"{name} has no rows; at least one is needed")
    if np.ndim(y) != 1:
        raise ValueError(f"{name} has y of shape {np.shape(y)}; it must be one-dimensional")
    return X, y


def seeds_of(seed: int, number: int) -> tuple[int, int]:
    """Return the seeds of the training set and of the estimator of a repeat, functions of its number.

    >>> seeds_of(0, 3) == seeds_of(0, 3) != seeds_of(0, 4)
    True
    """
    sample, learner = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(2)
    return int(sample), int(learner)
