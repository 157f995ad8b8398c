"""Fingerprints of training data: hashes that identify the data of a fit without storing the rows.

    DataFingerprint(n_rows=150, n_columns=4, X="5f1c...", y="90ab...", sample_weight=None)
    RowFingerprints(hashes=RowHashes(exact=..., rounded=...), class_counts=[50, 50, 50], weighted=False)

A `DataFingerprint` has SHA-256 digests of the rows in their order. It depends on the values, not on the type
of the table: an array, a data frame and a sparse matrix of the same numbers have the same digest.

`RowFingerprints` of a classifier have two 32-bit hashes of every row, without its label: of the values, and
of the values rounded to float32, which also matches a rounded copy. Two different rows have equal hashes with
probability 2**-32. They detect that a model is evaluated on its own training rows.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Keys
from hedgerow.bagging.raw_table import BLOCK_ROWS, RawTable
from hedgerow.distributions import binomial_sf, chi2_cdf
from hedgerow.elementary import exp, log
from hedgerow.kernels.cpu.binning import add_keys
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import value_bits
from hedgerow.threads import CHUNK_ROWS, over_rows, resolve_n_jobs, rows_per_block

_MAX_REPEATED_VALUES = 4  # up to this number of different rows may occur again with equal counts by chance
_MIN_COUNT, _MIN_VALUES = 10, 20  # rows of a value, and number of such values, for which counts are compared

Hashes = NDArray[np.uint32]


# --- hashes of rows


def table_keys(
    table: Table | RawTable, n_threads: int, *, rounded: bool = False
) -> tuple[Keys, Hashes | None]:
    """Return 64-bit hashes of the rows, and with `rounded` 32-bit hashes of their values as float32."""
    if isinstance(table, RemoteTable):
        return table.scan.keys, table.scan.rounded
    if isinstance(table, RawTable):
        return table.row_keys(), short(table.row_keys(rounded=True)) if rounded else None
    exact = np.zeros(table.n_rows, np.uint64)
    single = np.zeros(table.n_rows, np.uint64) if rounded else None
    step = rows_per_block(table.n_columns, BLOCK_ROWS)

    def hash_rows(start: int, stop: int) -> None:
        for first in range(start, stop, step):
            last = min(first + step, stop)
            block = table.block(first, last)
            add_keys(value_bits(block), 0, exact[first:last])
            if single is not None:
                add_keys(value_bits(block, rounded=True), 0, single[first:last])

    over_rows(table.n_rows, hash_rows, n_threads, CHUNK_ROWS)
    return exact, None if single is None else short(single)


def short(keys: Keys) -> Hashes:
    """Return the upper half of 64-bit hashes."""
    return (keys >> np.uint64(32)).astype(np.uint32)


class RowHashes(NamedTuple):
    """32-bit hashes of rows, (n,) each.

    >>> from hedgerow.table import read_table
    >>> exact = RowHashes.of(read_table([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]), 1).exact
    >>> bool(exact[0] == exact[2]), bool(exact[0] == exact[1])
    (True, False)
    """

    exact: Hashes
    rounded: Hashes
    is_narrow: bool = False  # the values are float32: only `rounded` can be compared with float64 rows

    @classmethod
    def of(cls, table: Table | RawTable, n_threads: int) -> "RowHashes":
        """Hash the rows of a table."""
        exact, rounded = table_keys(table, n_threads, rounded=True)
        assert rounded is not None  # noqa: S101 - requested above
        return cls(short(exact), rounded, table.dtype == np.float32)

    @property
    def usual(self) -> Hashes:
        """The hashes that identify equal rows."""
        return self.rounded if self.is_narrow else self.exact


# --- the data of a fit


@dataclass(frozen=True)
class DataFingerprint:
    """Digests of the training data of a fit.

    Parameters
    ----------
    n_rows, n_columns : int
    X, y : str
        SHA-256 of the values, in hexadecimal; for classes, of their positions in `classes_`.
    sample_weight : str or None
        SHA-256 of the weights, None without weights.

    Examples
    --------
    >>> from hedgerow import DecisionStump
    >>> stumps = [DecisionStump().fit([[0.0], [value]], ["low", "high"]) for value in (1.0, 2.0, 1.0)]
    >>> (first,), (second,), (third,) = (stump.data_fingerprints_ for stump in stumps)
    >>> first == third, first.differs(second)
    (True, ['X'])
    """

    n_rows: int
    n_columns: int
    X: str
    y: str
    sample_weight: str | None

    @classmethod
    def of(cls, keys: Keys, n_columns: int, y: Floats, sample_weight: Floats | None) -> "DataFingerprint":
        """Make the fingerprint from the 64-bit hashes of the rows."""
        return cls(
            len(keys),
            n_columns,
            digest(keys, str(n_columns)),
            digest(np.asarray(y, np.float64), "y"),
            None if sample_weight is None else digest(np.asarray(sample_weight, np.float64), "weight"),
        )

    def differs(self, other: "DataFingerprint") -> list[str]:
        """Return which of X, y and sample_weight differ."""
        return [name for name in ("X", "y", "sample_weight") if getattr(self, name) != getattr(other, name)]


def digest(values: NDArray[Any], name: str) -> str:
    """Return the SHA-256 of a name, a shape and values.

    >>> digest(np.zeros(2), "y") == digest(np.zeros(3), "y")
    False
    """
    plain = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    sha256 = hashlib.sha256(f"{name}{plain.shape}".encode())
    sha256.update(plain.data.cast("B") if plain.size else b"")
    return sha256.hexdigest()


# --- the rows of a classifier


@dataclass(frozen=True, eq=False)
class RowFingerprints:
    """Hashes of the training rows of a classifier.

    Parameters
    ----------
    hashes : RowHashes
    class_counts : int64 (classes,)
        Number of rows of each class.
    weighted : bool
        Whether the rows have different sample weights.

    Examples
    --------
    >>> old, new = (np.array(rows, np.uint32) for rows in ([7, 7, 9], [9, 8]))
    >>> training = RowFingerprints(RowHashes(old, old), np.array([2, 1]), weighted=False)
    >>> training.contains(RowHashes(new, new)), training.chance_error
    (array([ True, False]), 0.333...)
    """

    hashes: RowHashes
    class_counts: NDArray[np.int64]
    weighted: bool

    @classmethod
    def of(
        cls, hashes: RowHashes, classes: Floats, n_classes: int, sample_weight: Floats | None
    ) -> "RowFingerprints":
        """Make the fingerprints from hashes and class numbers (n,)."""
        counts = np.bincount(classes.astype(np.int64), minlength=n_classes)
        weighted = sample_weight is not None and bool(np.any(sample_weight != sample_weight[0]))
        return cls(hashes, counts, weighted)

    def joined_with(self, other: "RowFingerprints") -> "RowFingerprints":
        """Add the rows of a later warm-started fit; the same rows are counted once."""
        weighted = self.weighted or other.weighted
        if np.array_equal(self.hashes.exact, other.hashes.exact):
            return replace(other, weighted=weighted)
        counts = self.class_counts + other.class_counts
        return replace(self.with_hashes(other.hashes), class_counts=counts, weighted=weighted)

    def with_hashes(self, others: RowHashes) -> "RowFingerprints":
        """Add hashes of rows that only influenced the model, such as those of an evaluation set."""
        own = self.hashes
        exact = np.concatenate([own.exact, others.exact])
        hashes = RowHashes(exact, np.concatenate([own.rounded, others.rounded]), own.is_narrow)
        return replace(self, hashes=hashes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.hashes.exact)

    @property
    def chance_error(self) -> float:
        """Error on these rows when the most frequent class is always predicted."""
        return 1.0 - int(self.class_counts.max()) / int(self.class_counts.sum())

    def contains(self, hashes: RowHashes) -> NDArray[np.bool_]:
        """Return which of other rows equal one of these."""
        own = self.hashes.rounded if hashes.is_narrow else self.hashes.usual
        other = hashes.rounded if self.hashes.is_narrow else hashes.usual
        return np.isin(other, own)

    def chance_of_overlap(self, hashes: RowHashes) -> float:
        """Return the probability that independent rows have at least as many values in common with them."""
        exact = _chance_of_common(self.hashes.exact, hashes.exact)
        return min(
            exact, _chance_of_common(self.hashes.rounded, hashes.rounded)
        )  # both are nearly always equal

    def chance_of_similarity(self, hashes: RowHashes) -> float:
        """Return the probability that counts of frequent values in independent rows are at least as similar.

        It is small for a subset of these rows, and for stratified samples whose values determine the strata.
        """
        return _chance_of_similarity(self.hashes.exact, hashes.exact)


def _chance_of_common(old: Hashes, new: Hashes) -> float:
    """Return the probability of at least as many values that occur among both old and new rows.

    If all rows come from one distribution, c rows of equal values are split between the two sets at random:
    both sets contain the value with probability 1 - f^c - (1 - f)^c, where f is the fraction of the old rows.
    """
    values, old_counts = np.unique(old, return_counts=True)
    others, new_counts = np.unique(new, return_counts=True)
    common, in_old, in_new = np.intersect1d(values, others, assume_unique=True, return_indices=True)
    if not len(common):
        return 1.0
    is_designed = old_counts.max() > 1 and old_counts.min() == old_counts.max()  # equal counts on purpose
    if (
        len(values) > _MAX_REPEATED_VALUES
        and not is_designed
        and np.array_equal(values, others)
        and np.array_equal(old_counts, new_counts)
    ):
        return 0.0  # all rows are the same
    both = old_counts[in_old] + new_counts[in_new]
    alone = np.concatenate([np.delete(old_counts, in_old), np.delete(new_counts, in_new)])
    copies = np.concatenate([both, alone[alone > 1]]).astype(np.float64)
    fraction = len(old) / (len(old) + len(new))
    in_one = exp(copies * log(fraction)) + exp(copies * log(1.0 - fraction))
    split = float(np.mean(1.0 - in_one))
    return binomial_sf(len(common) - 1, len(copies), split)


def _chance_of_similarity(old: Hashes, new: Hashes) -> float:
    """Return the probability of counts that are at least as similar, where each value occurs many times.

    It uses the chi-squared statistic of the two columns of counts, which is too small for a subset of the old
    rows.
    """
    values, positions = np.unique(np.concatenate([old, new]), return_inverse=True)
    old_counts = np.bincount(positions[: len(old)], minlength=len(values)).astype(np.float64)
    new_counts = np.bincount(positions[len(old) :], minlength=len(values)).astype(np.float64)
    full = old_counts + new_counts >= _MIN_COUNT
    old_counts, new_counts = old_counts[full], new_counts[full]
    if len(old_counts) < _MIN_VALUES or not old_counts.sum() or not new_counts.sum():
        return 1.0
    ratio = np.sqrt(new_counts.sum() / old_counts.sum())
    distance = float(np.sum((ratio * old_counts - new_counts / ratio) ** 2 / (old_counts + new_counts)))
    return chi2_cdf(distance, len(old_counts) - 1)


class RowFingerprintsMixin:
    """Mixin of a classifier that stores `row_fingerprints_`; it comes before the base class."""

    classes_: NDArray[Any]
    row_fingerprints_: RowFingerprints
    grid_hashes_: RowHashes | None = None  # of the rows from which `quantile_grid` computed bin_edges

    def row_hashes(self, X: Any) -> RowHashes:
        """Return hashes of rows."""
        table = self._read(X)  # type: ignore[attr-defined]
        return RowHashes.of(table, resolve_n_jobs(getattr(self, "n_jobs", 1)))

    def is_training_row(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows hold the same values as a training row.

        Rows are compared by 32-bit hashes: one in four billion pairs of different rows is taken for equal.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        bool array of shape (n_samples,)
        """
        hashes = self.row_hashes(X)
        if not hasattr(self, "row_fingerprints_"):
            raise AttributeError(
                f"this {type(self).__name__} has no row_fingerprints_: the attribute was deleted, or the "
                "model comes from a file without it"
            )
        return self.row_fingerprints_.contains(hashes)

    def chance_of_overlap(self, X: Any) -> float:
        """Return the probability that new rows have at least as much in common with the training rows as X.

        A small value means that rows of X are not new. Rows may be equal by chance where columns have few
        values: if X is new, rows of equal values are split between the training rows and X at random. The
        values that occur in both are counted.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        float
            1 if no row of X is a training row.
        """
        return self.row_fingerprints_.chance_of_overlap(self.row_hashes(X))

    def _class_numbers(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        """Return the positions of labels in `classes_`."""
        from hedgerow.estimators.validation import ClassTarget, validate_target  # noqa: PLC0415 - circular

        labels = validate_target(y, n_rows, type(self).__name__)
        return ClassTarget(self.classes_).encode(labels).astype(np.int64)
