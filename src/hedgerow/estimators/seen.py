"""Which rows a classifier has learned from: 64 bits a row, enough to notice when it is tested on them.

A row has two fingerprints of 32 bits, hashes of its values without the label: as they are, and rounded to
float32, by which a rounded copy is known again. Two rows that hold the same values have the same ones; so
have two others by chance, once in four thousand million.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from hedgerow._typing import Floats
from hedgerow.bagging.raw_table import BLOCK_ROWS
from hedgerow.estimators import inputs
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.memory import rows_at_once
from hedgerow.table import Table
from hedgerow.table.bits import value_bits
from hedgerow.table.surveyed import SurveyedTable
from hedgerow.threads import CHUNK_ROWS, over_rows, resolve_n_jobs

_MANY = 4  # different rows, which do not all come again as often as before by chance
_FULL, _CELLS = 10, 20  # rows of a value, and such values, from which on counts can be compared

Fingerprints = NDArray[np.uint32]


class Marks(NamedTuple):
    """Fingerprints of rows, (n,) each."""

    exact: Fingerprints
    rounded: Fingerprints
    is_narrow: bool = False  # whether the values are float32: only rounded ones can then be compared

    @property
    def usual(self) -> Fingerprints:
        """Those that tell equal rows."""
        return self.rounded if self.is_narrow else self.exact


def fingerprints(table: Table, n_threads: int) -> Marks:
    """Those of the rows of a table.

    >>> from hedgerow.table import read_table
    >>> marks = fingerprints(read_table([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]), 1).exact
    >>> bool(marks[0] == marks[2]), bool(marks[0] == marks[1])
    (True, False)
    """
    if isinstance(table, SurveyedTable):
        return Marks(short(table.survey.keys), table.survey.rounded, table.dtype == np.float32)
    exact, rounded = np.zeros(table.n_rows, np.uint64), np.zeros(table.n_rows, np.uint64)
    step = rows_at_once(table.n_columns, BLOCK_ROWS)

    def look(start: int, stop: int) -> None:
        for first in range(start, stop, step):
            last = min(first + step, stop)
            block = table.block(first, last)
            add_keys(value_bits(block), 0, exact[first:last])
            add_keys(value_bits(block, rounded=True), 0, rounded[first:last])

    over_rows(table.n_rows, look, n_threads, CHUNK_ROWS)
    return Marks(short(exact), short(rounded), table.dtype == np.float32)


def short(keys: NDArray[np.uint64]) -> Fingerprints:
    """The upper half of 64-bit keys."""
    return (keys >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """The rows that a classifier was fitted to.

    Parameters
    ----------
    marks : Marks
        Their fingerprints.
    class_counts : int64 (classes,)
        How many rows there are of each class.
    weighted : bool
        Whether they had sample weights that differ.

    Examples
    --------
    >>> old, new = (np.array(rows, np.uint32) for rows in ([7, 7, 9], [9, 8]))
    >>> seen = SeenRows(Marks(old, old), np.array([2, 1]), weighted=False)
    >>> seen.holds(Marks(new, new)), seen.chance_error
    (array([ True, False]), 0.333...)
    """

    marks: Marks
    class_counts: NDArray[np.int64]
    weighted: bool

    @classmethod
    def of(cls, marks: Marks, classes: Floats, n_classes: int, weight: Floats | None) -> "SeenRows":
        """With the numbers of the classes (n,)."""
        counts = np.bincount(classes.astype(np.int64), minlength=n_classes)
        weighted = weight is not None and bool(np.any(weight != weight[0]))
        return cls(marks, counts, weighted)

    def and_then(self, other: "SeenRows") -> "SeenRows":
        """These and the rows of a fit that went on; the same rows are counted once."""
        weighted = self.weighted or other.weighted
        if np.array_equal(self.marks.exact, other.marks.exact):
            return replace(other, weighted=weighted)
        counts = self.class_counts + other.class_counts
        return replace(self.beside(other), class_counts=counts, weighted=weighted)

    def beside(self, other: "SeenRows") -> "SeenRows":
        """The same, that knows other rows too: nothing was learned from them, but something was chosen."""
        mine, theirs = self.marks, other.marks
        exact = np.concatenate([mine.exact, theirs.exact])
        marks = Marks(exact, np.concatenate([mine.rounded, theirs.rounded]), mine.is_narrow)
        return replace(self, marks=marks)

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.marks.exact)

    @property
    def chance_error(self) -> float:
        """The error, on these rows, of always answering their most frequent class."""
        return 1.0 - int(self.class_counts.max()) / int(self.class_counts.sum())

    def holds(self, marks: Marks) -> NDArray[np.bool_]:
        """Which of other rows equal one of these."""
        mine = self.marks.rounded if marks.is_narrow else self.marks.usual
        theirs = marks.rounded if self.marks.is_narrow else marks.usual
        return np.isin(theirs, mine)

    def chance_of_overlap(self, marks: Marks) -> float:
        """How likely rows as new as these would have as many values in common with them, at the most."""
        exact = _chance_of_common(self.marks.exact, marks.exact)
        return min(exact, _chance_of_common(self.marks.rounded, marks.rounded))  # hardly ever another chance

    def chance_of_likeness(self, marks: Marks) -> float:
        """How likely counts of frequent values would be as much alike; small for a part of these rows.

        It is small for stratified samples too, if the values tell what they are stratified by.
        """
        return _chance_of_likeness(self.marks.exact, marks.exact)


def _chance_of_common(old: Fingerprints, new: Fingerprints) -> float:
    """Of so many values that are both among old and new rows.

    If all rows come from one place, c rows of equal values fall to the two parts by lot: they are in both
    with probability 1 - f^c - (1 - f)^c, where f is the share of the old rows.
    """
    values, here = np.unique(old, return_counts=True)
    others, there = np.unique(new, return_counts=True)
    common, mine, theirs = np.intersect1d(values, others, assume_unique=True, return_indices=True)
    if not len(common):
        return 1.0
    is_designed = here.max() > 1 and here.min() == here.max()  # as many of each, on purpose
    if (
        len(values) > _MANY
        and not is_designed
        and np.array_equal(values, others)
        and np.array_equal(here, there)
    ):
        return 0.0  # the same rows, all of them
    both = here[mine] + there[theirs]
    alone = np.concatenate([np.delete(here, mine), np.delete(there, theirs)])
    copies = np.concatenate([both, alone[alone > 1]]).astype(np.float64)
    share = len(old) / (len(old) + len(new))
    parted = float(np.mean(1.0 - share**copies - (1.0 - share) ** copies))
    return float(binom.sf(len(common) - 1, len(copies), parted))


def _chance_of_likeness(old: Fingerprints, new: Fingerprints) -> float:
    """Of counts of the values that are as much alike, where each value is there many times.

    By the chi-squared statistic of the two columns of counts: that of a part of the old rows is too small.
    """
    values, places = np.unique(np.concatenate([old, new]), return_inverse=True)
    here = np.bincount(places[: len(old)], minlength=len(values)).astype(np.float64)
    there = np.bincount(places[len(old) :], minlength=len(values)).astype(np.float64)
    full = here + there >= _FULL
    here, there = here[full], there[full]
    if len(here) < _CELLS or not here.sum() or not there.sum():
        return 1.0
    ratio = np.sqrt(there.sum() / here.sum())
    distance = float(np.sum((ratio * here - there / ratio) ** 2 / (here + there)))
    return float(chi2.cdf(distance, len(here) - 1))


class KnowsItsRows:
    """A classifier that keeps `seen_rows_`, a mixin before the base class."""

    classes_: NDArray[Any]
    seen_rows_: SeenRows
    grid_marks_: Marks | None = None  # of the rows that `hedgerow.theory.quantile_grid` found bin_edges on

    def _see(self, table: Table, classes: Floats, n_classes: int, weight: Floats | None) -> SeenRows:
        marks = fingerprints(table, resolve_n_jobs(getattr(self, "n_jobs", 1)))
        return SeenRows.of(marks, classes, n_classes, weight)

    def marks_of(self, X: Any) -> Marks:
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
        marks = self.marks_of(X)
        if not hasattr(self, "seen_rows_"):
            raise AttributeError(
                f"this {type(self).__name__} keeps no fingerprints of its training rows: they were deleted, "
                "or it comes from a file of format 1, which holds none"
            )
        return self.seen_rows_.holds(marks)

    def chance_of_overlap(self, X: Any) -> float:
        """How likely new rows would have as much in common with the training rows; small if they are not new.

        Rows may hold equal values by chance where columns have few values. If X is as new as can be, rows of
        equal values are parted between training rows and X by lot. Counted are the values that are in both.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        float
            1 if no row of X has been seen.
        """
        return self.seen_rows_.chance_of_overlap(self.marks_of(X))

    def look_at(self, X: Any, y: Any) -> SeenRows:
        """What `seen_rows_` would be for other rows and labels."""
        marks = self.marks_of(X)
        classes = self._known(y, len(marks.exact)).astype(np.float64)
        return SeenRows.of(marks, classes, len(self.classes_), None)

    def _known(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        """Class numbers of labels."""
        labels = inputs.read_target(y, n_rows, type(self).__name__)
        return inputs.Labels(self.classes_).read(labels).astype(np.int64)
