"""Which rows a classifier has learned from: 32 bits a row, enough to notice when it is tested on them.

A fingerprint is a hash of the values of a row, without its label. Two rows that hold the same values have the
same one; so have two others by chance, once in four thousand million.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from hedgerow.bagging.rows import BLOCK_ROWS, value_bits
from hedgerow.estimators import inputs
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.table import Table
from hedgerow.threads import CHUNK_ROWS, over_rows, resolve_n_jobs

_MANY = 4  # different rows, which do not all come again as often as before by chance

Floats = NDArray[np.float64]
Fingerprints = NDArray[np.uint32]


def fingerprints(table: Table, n_threads: int) -> Fingerprints:
    """One a row of a table.

    >>> from hedgerow.table import read_table
    >>> marks = fingerprints(read_table([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]), 1)
    >>> bool(marks[0] == marks[2]), bool(marks[0] == marks[1])
    (True, False)
    """
    keys = np.zeros(table.n_rows, np.uint64)

    def look(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, stop)
            bits = value_bits(table.block(first, last), rounded=True)  # a rounded copy is no new row
            add_keys(bits, 0, keys[first:last])

    over_rows(table.n_rows, look, n_threads, CHUNK_ROWS)
    return short(keys)


def short(keys: NDArray[np.uint64]) -> Fingerprints:
    """The upper half of 64-bit keys."""
    return (keys >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """The rows that a classifier was fitted to.

    Parameters
    ----------
    marks : uint32 (n,)
        Their fingerprints.
    class_counts : int64 (classes,)
        How many rows there are of each class.
    weighted : bool
        Whether they had sample weights that differ.

    Examples
    --------
    >>> seen = SeenRows(np.array([7, 7, 9], np.uint32), np.array([2, 1]), weighted=False)
    >>> seen.holds(np.array([9, 8], np.uint32)), seen.chance_error
    (array([ True, False]), 0.333...)
    """

    marks: Fingerprints
    class_counts: NDArray[np.int64]
    weighted: bool

    @classmethod
    def of(cls, marks: Fingerprints, classes: Floats, n_classes: int, weight: Floats | None) -> "SeenRows":
        """Classes : numbers of the classes (n,)."""
        counts = np.bincount(classes.astype(np.int64), minlength=n_classes)
        weighted = weight is not None and bool(np.any(weight != weight[0]))
        return cls(marks, counts, weighted)

    def and_then(self, other: "SeenRows") -> "SeenRows":
        """These and the rows of a fit that went on; the same rows are counted once."""
        if np.array_equal(self.marks, other.marks):
            return replace(other, weighted=self.weighted or other.weighted)
        marks = np.concatenate([self.marks, other.marks])
        return SeenRows(marks, self.class_counts + other.class_counts, self.weighted or other.weighted)

    def beside(self, other: "SeenRows") -> "SeenRows":
        """The same, that knows other rows too: nothing was learned from them, but something was chosen."""
        return replace(self, marks=np.concatenate([self.marks, other.marks]))

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.marks)

    @property
    def chance_error(self) -> float:
        """The error, on these rows, of always answering their most frequent class."""
        return 1.0 - int(self.class_counts.max()) / int(self.class_counts.sum())

    @cached_property
    def _sorted(self) -> Fingerprints:
        return np.sort(self.marks)

    def chance_of_overlap(self, marks: Fingerprints) -> float:
        """How likely rows as new as these would share as many values with them, at the most.

        If other rows come from where these do, c rows of equal values fall to the two parts by lot: they
        are in both with probability 1 - f^c - (1 - f)^c, where f is the share of these among all rows.
        """
        values, here = np.unique(self.marks, return_counts=True)
        others, there = np.unique(marks, return_counts=True)
        common, mine, theirs = np.intersect1d(values, others, assume_unique=True, return_indices=True)
        both = here[mine] + there[theirs]
        alone = np.concatenate([np.delete(here, mine), np.delete(there, theirs)])
        copies = np.concatenate([both, alone[alone > 1]]).astype(np.float64)
        if not len(common):
            return 1.0
        if len(values) > _MANY and np.array_equal(np.sort(marks), self._sorted):
            return 0.0  # the same rows, all of them
        share = self.n_rows / (self.n_rows + len(marks))
        parted = float(np.mean(1.0 - share**copies - (1.0 - share) ** copies))
        return float(binom.sf(len(common) - 1, len(copies), parted))

    def holds(self, marks: Fingerprints) -> NDArray[np.bool_]:
        """Which of other rows equal one of these."""
        places = np.searchsorted(self._sorted, marks).clip(max=self.n_rows - 1)
        found: NDArray[np.bool_] = self._sorted[places] == marks
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_sorted"}


class KnowsItsRows:
    """A classifier that keeps `seen_rows_`, a mixin before the base class."""

    classes_: NDArray[Any]
    seen_rows_: SeenRows

    def _see(self, table: Table, classes: Floats, n_classes: int, weight: Floats | None) -> SeenRows:
        marks = fingerprints(table, resolve_n_jobs(getattr(self, "n_jobs", 1)))
        return SeenRows.of(marks, classes, n_classes, weight)

    def _marks(self, X: Any) -> Fingerprints:
        """Fingerprints of any rows."""
        table = self._read(X)  # type: ignore[attr-defined]
        return fingerprints(table, resolve_n_jobs(getattr(self, "n_jobs", 1)))

    def has_seen(self, X: Any) -> NDArray[np.bool_]:
        """Which rows hold the same values as one that the model was fitted to.

        It compares fingerprints of 32 bits: one in four thousand million pairs of different rows is
        mistaken for equal.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        bool array of shape (n_samples,)
        """
        marks = self._marks(X)
        if not hasattr(self, "seen_rows_"):
            raise AttributeError(
                f"this {type(self).__name__} keeps no fingerprints of its training rows: it was loaded from "
                "a file, which holds none"
            )
        return self.seen_rows_.holds(marks)

    def chance_of_overlap(self, X: Any) -> float:
        """How likely new rows would equal as many training rows as these do; small if they are not new.

        Rows may hold equal values by chance where columns have few values. What is counted are values that
        occur among the training rows and in X; if X is as new as can be, rows of equal values are parted
        between the two by lot.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        float
            1 if no row of X has been seen.
        """
        return self.seen_rows_.chance_of_overlap(self._marks(X))

    def look_at(self, X: Any, y: Any) -> SeenRows:
        """What `seen_rows_` would be for other rows and labels."""
        marks = self._marks(X)
        return SeenRows.of(marks, self._known(y, len(marks)).astype(np.float64), len(self.classes_), None)

    def _known(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        """Class numbers of labels."""
        labels = inputs.read_target(y, n_rows, type(self).__name__)
        return inputs.Labels(self.classes_).read(labels).astype(np.int64)
