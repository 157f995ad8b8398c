"""Gradients and hessians as integers, and the weights of rows.

Gradients and hessians are scaled by powers of two and rounded. Sixteen bits are enough if most rows are of
similar size. If most are a thousandth of the largest or less (a heavy-tailed target, very unequal weights),
the small ones would be rounded to 0, and about 40 bits are used instead. The choice depends on integer sums
only, which are the same in any order, so it does not depend on threads.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.kernels.cpu.gradients import largest, pack, spread
from hedgerow.kernels.cpu.records import Statistics
from hedgerow.threads import Team

NOT_FINITE = "the loss returned a gradient or hessian that is not finite, or a hessian < 0"
_PACKED_BITS = 15  # |gradient| <= 2**15 and hessian <= 2**16: 2**15 rows fit into 32 bits each
_WIDE_BITS = 40
_SUM_BITS = 62  # of a wide sum
_MOST_COPIES = 2.0**46  # of all rows: times 2**16 steps, or 65,535 bins, that is below 2**63
_FINE_MEAN = 32  # packed steps the mean gradient and hessian must span, a row counting at most 1024
_FEWEST_PIECE_ROWS = 1024  # widening more often than this costs more than unpacked sums


def is_whole(sample_weight: Floats) -> bool:
    """Return whether weights are integers that count copies of rows; very large ones are proportions.

    >>> is_whole(np.array([1.0, 3.0])), is_whole(np.array([1.0, 0.5])), is_whole(np.full(10, 2.0**40))
    (True, False, False)
    """
    few = sample_weight.max() < 2**31 and sample_weight.sum() < _MOST_COPIES
    return bool(few and np.all(sample_weight == np.floor(sample_weight)))


@dataclass(frozen=True, eq=False)
class Weights:
    """Sample weights: `copies` if all are integers, else `weight`; both are empty without weights."""

    weight: Floats
    copies: Integers
    rows: RowNumbers  # the rows that trees are grown on

    @classmethod
    def of(
        cls, sample_weight: Floats | None, n_rows: int, validation_rows: RowNumbers | None = None
    ) -> "Weights":
        """Read sample weights; rows of weight zero and validation rows are not trained on."""
        none, no_copies = np.empty(0), np.empty(0, np.int64)
        is_training = np.ones(n_rows, bool) if sample_weight is None else sample_weight > 0
        if validation_rows is not None:
            is_training[validation_rows] = False
        rows = np.flatnonzero(is_training).astype(np.uint32)
        if sample_weight is None or np.all(sample_weight == 1.0):
            return cls(none, no_copies, rows)
        if is_whole(sample_weight):
            return cls(none, sample_weight.astype(np.int64), rows)
        return cls(sample_weight, no_copies, rows)

    def row_counts(self, n_rows: int) -> Integers | None:
        """Return how often every row counts when bin edges are computed; None for once each."""
        if len(self.rows) == n_rows and not self.copies.size:
            return None
        counts = np.zeros(n_rows, np.int64)
        counts[self.rows] = self.copies[self.rows] if self.copies.size else 1
        return counts


def mask_weights(
    sample_weight: Floats | None, validation_rows: RowNumbers | None, n_rows: int
) -> Floats | None:
    """Return the weights of the training rows for the loss: those of validation rows are 0."""
    if validation_rows is None:
        return sample_weight
    weight = np.ones(n_rows) if sample_weight is None else sample_weight.copy()
    weight[validation_rows] = 0.0
    return weight


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Integer statistics of the rows, and their units."""

    statistics: Statistics
    gradient_unit: float
    hessian_unit: float
    smallest_hessian: int


class Quantiser:
    """Converts gradients to integer statistics, in arrays that are reused for every tree."""

    def __init__(self, weights: Weights, n_rows: int, team: Team) -> None:
        self.weights = weights
        self.n_rows = n_rows
        self.team = team
        self._packed = np.empty(n_rows, np.int64)
        self._wide = np.empty((0, 2), np.int64)
        copies = weights.copies
        self.n_copies = int(copies.sum()) if copies.size else len(weights.rows)
        self._piece_rows = piece_rows(copies)

    def quantise(self, gradient: Floats, hessian: Floats) -> RowStatistics:
        """Convert the gradients of one output; raise FloatingPointError if one is not finite."""
        tops = self._over_rows(largest, gradient, hessian)
        top_g, top_h = max(top[0] for top in tops), max(top[1] for top in tops)
        if any(top[2] for top in tops):
            raise FloatingPointError(NOT_FINITE)
        g_bits, h_bits = packed_bits(top_g, top_h)
        sums = self._over_rows(pack, gradient, hessian, 2.0**g_bits, 2.0**h_bits, self._packed)
        steps = (sum(s[0] for s in sums), sum(s[1] for s in sums))
        wide = wide_bits((top_g, top_h), steps, self.n_copies, self._piece_rows)
        if wide is None:
            least = min(s[2] for s in sums)
            return self._statistics(self._packed, self._wide[:0], g_bits, h_bits, least)
        if not len(self._wide):
            self._wide = np.empty((self.n_rows, 2), np.int64)
        g_bits, h_bits = wide
        smallest = self._over_rows(spread, gradient, hessian, 2.0**g_bits, 2.0**h_bits, self._wide)
        return self._statistics(self._packed[:0], self._wide, g_bits, h_bits, min(smallest))

    def _over_rows(
        self, kernel: Callable[..., Any], gradient: Floats, hessian: Floats, *args: Any
    ) -> list[Any]:
        """Call a kernel with blocks of rows on the threads of the team; return its results in any order."""
        weight, copies = self.weights.weight, self.weights.copies
        found: list[Any] = []
        self.team.over_rows(
            self.n_rows, lambda a, b: found.append(kernel(gradient, hessian, weight, copies, *args, a, b))
        )
        return found

    def _statistics(
        self, packed: Integers, wide: Integers, g_bits: int, h_bits: int, least: int
    ) -> RowStatistics:
        statistics = Statistics(packed, wide, self.weights.copies, self._piece_rows)
        return RowStatistics(statistics, 2.0**-g_bits, 2.0**-h_bits, int(least))


def piece_rows(copies: Integers) -> int:
    """Return how many rows may be added packed before the sum must be widened."""
    return (1 << _PACKED_BITS) // max(1, int(copies.max(initial=1)))


def packed_bits(top_g: float, top_h: float) -> tuple[int, int]:
    """Return the powers of two that scale gradients and hessians up to these for packing."""
    return _scale_bits(top_g, _PACKED_BITS), _scale_bits(top_h, _PACKED_BITS + 1)


def wide_bits(
    tops: tuple[float, float], steps: tuple[int, int], n_copies: int, n_piece: int
) -> tuple[int, int] | None:
    """Return the powers of two for unpacked statistics; None if packed ones are precise enough.

    tops, steps : the largest gradient and hessian, and the sums of their packed steps, as `pack` counts them.
    n_copies, n_piece : copies of all rows, and the rows that may be added packed.
    """
    fine = all(
        top == 0 or step / max(1, n_copies) >= _FINE_MEAN for top, step in zip(tops, steps, strict=True)
    )
    if fine:
        return None if n_piece >= _FEWEST_PIECE_ROWS else packed_bits(*tops)
    bits = min(_WIDE_BITS, _SUM_BITS - max(1, n_copies).bit_length())
    return _scale_bits(tops[0], bits), _scale_bits(tops[1], bits)


def _scale_bits(top: float, bits: int) -> int:
    """Return the power of two that scales `top` to just below 2**bits, within the range of float64."""
    return 0 if top == 0 else min(bits - math.frexp(top)[1], 1000)
