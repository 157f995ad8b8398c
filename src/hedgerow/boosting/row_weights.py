"""The distribution D over the training rows that boosting moves, as floats and as exact integers.

    u  float64 (n,)   a row's weight, not normalised, without its copies
    q  int64 (n,)     copies * round(u * 2**61 / sum)      what our own learners and all errors use

Sums of q do not depend on the order of the rows, and 61 bits are more than a float64 has. An integer
sample weight multiplies the rounded weight, so that it acts exactly as so many copies of the row.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.growing.statistics import Weights
from hedgerow.kernels.cpu.random import RESAMPLE, draw_rows
from hedgerow.kernels.cpu.weights import (
    WHOLE,
    fill_exponents,
    raise_exponents,
    round_moments,
    round_weights,
    weigh_rows,
    weighted_sum,
)
from hedgerow.threads import CHUNK_ROWS, Team, cached_property

Classes = NDArray[Any]  # class numbers, one byte each where that is enough; see `class_dtype`


def class_dtype(n_classes: int) -> type[np.integer[Any]]:
    """What class numbers are held in."""
    return np.uint8 if n_classes <= 256 else np.int32


@dataclass(frozen=True, eq=False)
class Distribution:
    """Weights of the rows at one moment.

    Parameters
    ----------
    weight : float64 (n,), u
    rounded : int64 (n,), q
    total : float, the sum of u times the copies
    """

    weight: Floats
    rounded: Integers
    total: float


class RowWeights:
    """What the weights of the rows are made from: the user's sample weights, and threads.

    Parameters
    ----------
    sample_weight : float64 (n,) or None
    n_rows : int
    held_out : uint32 rows that take no part, or None
    team : Team
    """

    def __init__(
        self, sample_weight: Floats | None, n_rows: int, held_out: NDArray[np.uint32] | None, team: Team
    ) -> None:
        given = Weights.of(sample_weight, n_rows, held_out)
        self.counts = given.row_counts(n_rows)  # for bins
        self.n_rows, self.team = n_rows, team
        everyone = len(given.rows) == n_rows
        self._rows = None if everyone else given.rows
        self.plain_factor = np.empty(0)  # the same as `factor`, but empty when all are one
        if given.weight.size or not everyone:
            self.plain_factor = np.zeros(n_rows)
            part = given.rows
            self.plain_factor[part] = _near_one(given.weight[part]) if given.weight.size else 1.0
        self.copies = given.copies.astype(np.float64)
        self.n_taking_part = len(given.rows)
        self.n_copies = int(given.copies[given.rows].sum()) if given.copies.size else len(given.rows)

    @property
    def rows(self) -> NDArray[np.uint32]:
        """The rows that take part."""
        return np.arange(self.n_rows, dtype=np.uint32) if self._rows is None else self._rows

    @cached_property
    def factor(self) -> Floats:
        """The sample weights, without copies, scaled so that the largest is near 1."""
        return self.plain_factor if self.plain_factor.size else np.ones(self.n_rows)

    @property
    def shares(self) -> Integers:
        """The sample weights as integers, empty when all rows weigh the same."""
        if not self.plain_factor.size and not self.copies.size:
            return np.empty(0, np.int64)
        return self.uniform().rounded

    @property
    def user(self) -> Floats:
        """The sample weights, 0 for rows that take no part."""
        return self.factor * self.copies if self.copies.size else self.factor

    def uniform(self) -> Distribution:
        """D of the first round: the sample weights themselves."""
        return self.distribution(self.factor.copy())

    def distribution(self, weight: Floats, into: Integers | None = None) -> Distribution:
        """D for weights that already have the sample weights in them, but not the copies."""
        total = self.sum(weight)
        self._refuse_total(total)
        rounded, copies = np.empty(self.n_rows, np.int64) if into is None else into, self.copies
        scale = WHOLE / total
        self.team.over_rows(
            self.n_rows, lambda a, b: round_weights(weight[a:b], copies[a:b], scale, rounded[a:b])
        )
        return Distribution(weight, rounded, total)

    def _refuse_total(self, total: float) -> None:
        if not (total > 0.0 and math.isfinite(total)):
            raise FloatingPointError(
                f"the weights of the rows sum to {total}: the scores have left the range of float64"
            )

    def moments(self, weight: Floats, target: Floats, largest: float) -> tuple[Integers, Integers]:
        """Integers of weight and of weight * target / largest, for least squares; |target| <= largest."""
        # The inverse of a number without its full bits overflows.
        scale, unit = WHOLE / self.sum(weight), min(1.0 / largest, sys.float_info.max) if largest else 0.0
        first, second, copies = np.empty(self.n_rows, np.int64), np.empty(self.n_rows, np.int64), self.copies
        self.team.over_rows(
            self.n_rows,
            lambda a, b: round_moments(
                weight[a:b], target[a:b], copies[a:b], scale, unit, first[a:b], second[a:b]
            ),
        )
        return first, second

    def exponential(
        self,
        raw: Floats,
        classes: Classes,
        steepness: float,
        factor: Floats | None = None,
        into: Floats | None = None,
    ) -> tuple[Floats, float]:
        """U = factor * exp(exponent - shift) for every row, and the shift, their largest exponent.

        `factor` replaces the sample weights; see the kernels for the exponent.
        """
        factor = self.plain_factor if factor is None else factor
        out = np.empty(self.n_rows) if into is None else into
        tops: list[float] = []
        self.team.over_rows(
            self.n_rows,
            lambda a, b: tops.append(fill_exponents(raw, classes, steepness, factor, out, a, b)),
        )
        shift = max(tops)
        self.team.over_rows(self.n_rows, lambda a, b: raise_exponents(out[a:b], factor[a:b], shift))
        return out, shift

    def exponential_distribution(
        self,
        raw: Floats,
        classes: Classes,
        steepness: float,
        factor: Floats | None = None,
        into: Distribution | None = None,
    ) -> tuple[Distribution, float]:
        """D of the exponential weights and their shift; `into` is a D whose memory is used again."""
        weight, rounded = (None, None) if into is None else (into.weight, into.rounded)
        if self.n_rows > CHUNK_ROWS:
            weight, shift = self.exponential(raw, classes, steepness, factor, weight)
            return self.distribution(weight, rounded), shift
        factor = self.plain_factor if factor is None else factor
        if weight is None or rounded is None:
            weight, rounded = np.empty(self.n_rows), np.empty(self.n_rows, np.int64)
        total, shift = weigh_rows(raw, classes, steepness, factor, self.copies, weight, rounded)
        self._refuse_total(total)
        return Distribution(weight, rounded, total), shift

    def sum(self, weight: Floats) -> float:
        """Sum of the weights times the copies.

        To about 100 bits before it is rounded: neither threads nor the order of rows change it, and a weight
        of 2 gives the sum that the row given twice gives.
        """
        parts: list[float] = []
        copies = self.copies
        self.team.over_rows(
            self.n_rows, lambda a, b: parts.extend(weighted_sum(weight[a:b], copies[a:b])), CHUNK_ROWS
        )
        return math.fsum(parts)

    def normalised(self, weight: Floats, *, in_place: bool = False) -> Floats:
        """D itself: weights with their copies, that sum to one."""
        scaled = np.divide(weight, self.sum(weight), out=weight if in_place else None)
        return np.multiply(scaled, self.copies, out=scaled) if self.copies.size else scaled


def _near_one(weight: Floats) -> Floats:
    """Weights times a power of two, so that the largest is near 1: neither sums nor scales overflow.

    None is below what the integers can tell from 0, so that none comes to 0 times an exponential.
    """
    scaled: Floats = np.ldexp(weight, -math.frexp(float(weight.max()))[1])
    return np.maximum(scaled, 2.0**-62)


def draw_sample(rounded: Integers, n_draws: int, seed: int, number: int) -> NDArray[np.int64]:
    """Row numbers drawn with replacement, each with a probability in proportion to its integer weight."""
    draws = np.empty(n_draws, np.uint64)
    draw_rows(seed, RESAMPLE, number, draws)
    ends = np.cumsum(rounded)
    places = (draws % np.uint64(ends[-1])).astype(np.int64)
    return np.searchsorted(ends, places, side="right")
