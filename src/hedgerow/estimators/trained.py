"""What a model was fitted to: a fingerprint of the rows, not the rows.

    TrainedOn(n_rows=150, n_columns=4, X="5f1c...", y="90ab...", sample_weight=None)

Digests are SHA-256 of the rows in their order, in hexadecimal. That of X is taken from a hash of each row, so
that the kind of the table does not matter: the same numbers as an array, a data frame or a sparse matrix have
the same digest.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Keys
from hedgerow.bagging.raw_table import BLOCK_ROWS, RawTable, row_keys
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.table import Table
from hedgerow.table.bits import value_bits
from hedgerow.table.surveyed import SurveyedTable
from hedgerow.threads import CHUNK_ROWS, over_rows


@dataclass(frozen=True)
class TrainedOn:
    """A fingerprint of the rows of a fit.

    Parameters
    ----------
    n_rows, n_columns : int
    X, y : str
        Digests of the values, those of y as numbers: of classes, their places in `classes_`.
    sample_weight : str or None
        Digest of the weights, None if there were none.

    Examples
    --------
    >>> from hedgerow import DecisionStump
    >>> stumps = [DecisionStump().fit([[0.0], [value]], ["low", "high"]) for value in (1.0, 2.0, 1.0)]
    >>> (first,), (second,), (third,) = (stump.trained_on_ for stump in stumps)
    >>> first == third, first.differs(second)
    (True, ['X'])
    """

    n_rows: int
    n_columns: int
    X: str
    y: str
    sample_weight: str | None

    def differs(self, other: "TrainedOn") -> list[str]:
        """Which of X, y and sample_weight are others."""
        return [name for name in ("X", "y", "sample_weight") if getattr(self, name) != getattr(other, name)]


def look_at_table(table: Table, y: Floats, weight: Floats | None, n_threads: int) -> TrainedOn:
    """The fingerprint of rows: a table, numbers of y, and weights."""
    if isinstance(table, SurveyedTable):
        return _trained_on(table.n_columns, table.survey.keys, y, weight)
    keys = np.zeros(table.n_rows, np.uint64)

    def look(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, stop)
            add_keys(value_bits(table.block(first, last)), 0, keys[first:last])

    over_rows(table.n_rows, look, n_threads, CHUNK_ROWS)
    return _trained_on(table.n_columns, keys, y, weight)


def look_at_given(table: RawTable, y: Floats, weight: Floats | None) -> TrainedOn:
    """The fingerprint of rows that members are given as they are."""
    return _trained_on(table.shape[1], row_keys(table), y, weight)


def _trained_on(n_columns: int, keys: Keys, y: Floats, weight: Floats | None) -> TrainedOn:
    return TrainedOn(
        len(keys),
        n_columns,
        digest(keys, str(n_columns)),
        digest(np.asarray(y, np.float64), "y"),
        None if weight is None else digest(np.asarray(weight, np.float64), "weight"),
    )


def digest(values: NDArray[Any], what: str) -> str:
    """SHA-256 of what it is, its shape and its values.

    >>> digest(np.zeros(2), "y") == digest(np.zeros(3), "y")
    False
    """
    plain = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    found = hashlib.sha256(f"{what}{plain.shape}".encode())
    found.update(plain.data.cast("B") if plain.size else b"")
    return found.hexdigest()


class RemembersFit:
    """An estimator that keeps `trained_on_`, a mixin before the base class."""

    trained_on_: tuple[TrainedOn, ...]

    def _was_trained_on(self, rows: TrainedOn, *, more: bool) -> None:
        """Keep the fingerprint of a fit; with `more`, of one that went on from the model."""
        before = getattr(self, "trained_on_", ()) if more else ()
        self.trained_on_ = before if before[-1:] == (rows,) else (*before, rows)
