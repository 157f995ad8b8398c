"""What voters lose on rows that they have not seen, one by one and in pairs.

The loss of a voter on a row is (1 - p + q) / 2, where p is what it gives to the label and q the most it gives
to another class: 0 or 1 for a vote, 1 - p for the probabilities of two classes, and no more than that for
several. If the vote of all, the mean with some weights, is wrong, another class has at least as much of it as
the label, so that the mean loss is at least 1/2: that is what bounds from votes are made of.

Losses are counted in whole steps of 1 / STEPS, rounded up. Sums of products of such numbers are exact in
float64, in any order, so that a matrix product of any library gives the same bits.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.vote_weights import mean_of_pairs
from hedgerow.memory import require_memory
from hedgerow.memory_estimates import estimate_pairs
from hedgerow.threads import Team, one_library_thread

Losses = NDArray[np.int16]  # (rows, voters), in steps, or KNOWN

STEPS = 4096
KNOWN = -1  # in place of a loss: the voter has learned from the row
_ROWS_AT_ONCE = 4096  # of a matrix product: float32 holds sums of so many losses exactly


def in_steps(answer: Floats, classes: Integers) -> NDArray[np.int16]:
    """Losses (rows,) of a voter, from what it gives to the classes (classes, rows) and the labels' numbers.

    >>> in_steps(np.array([[0.0, 0.9999, 0.75, 0.4], [1.0, 0.0001, 0.25, 0.6]]), np.array([0, 0, 0, 1]))
    array([4096,    1, 1024, 1639], dtype=int16)
    """
    rows = np.arange(len(classes))
    others = answer.copy()
    others[classes, rows] = 0.0
    share = 0.5 * (1.0 + answer[classes, rows] - others.max(axis=0, initial=0.0))
    lost: NDArray[np.int16] = np.ceil(STEPS * (1.0 - np.clip(share, 0.0, 1.0))).astype(np.int16)
    return lost


@dataclass(frozen=True, eq=False)
class PairLosses:
    """Sums over the rows that voters have not seen.

    Parameters
    ----------
    losses : int64 (voters,)
        Sums of the losses of each voter, in steps.
    products : int64 (voters, voters)
        Sums of the products of the losses of two voters, over rows that neither has seen, in squared steps.
    counts : int64 (voters, voters)
        How many such rows there are; on the diagonal those of one voter.
    differences : int64 (voters, voters)
        Sums, over the same rows, of l (1 - l') + l' (1 - l), the chance that two voters with the losses l and
        l' name different classes, in squared steps; (0, 0) for more than two classes.
    n_classes : int
    doubts : tuple of str
        Why the rows may not be like new ones; none if they are.

    Examples
    --------
    Two voters, three rows, of which the second voter has learned from the first:

    >>> wrong, right = STEPS, 0
    >>> losses = np.array([[right, KNOWN], [wrong, wrong], [wrong, right]], np.int16)
    >>> pairs = PairLosses.of([losses], n_voters=2, n_classes=2)
    >>> even = np.array([0.5, 0.5])
    >>> pairs.n, pairs.n_pairs, round(pairs.gibbs(even), 3), round(pairs.tandem(even), 3)
    (2, 2, 0.583, 0.542)
    """

    losses: Integers
    products: Integers
    counts: Integers
    differences: Integers
    n_classes: int
    doubts: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        chunks: Iterable[Losses],
        n_voters: int,
        n_classes: int,
        doubts: tuple[str, ...] = (),
        n_threads: int = 1,
    ) -> "PairLosses":
        """Add up; chunks : losses (rows, voters) of some rows each."""
        what = f"comparing all pairs of {n_voters:,} voters"
        require_memory(estimate_pairs(n_voters, n_threads), what, "use fewer voters")
        sums = [_Sums.none(n_voters) for _ in range(n_threads)]
        # A library's own threads spin: beside other work 5.1 s were measured in place of 0.1 with one thread.
        with Team(n_threads) as team, one_library_thread():
            for chunk in chunks:
                starts = range(0, len(chunk), _ROWS_AT_ONCE)

                def add(member: int, chunk: Losses = chunk, starts: range = starts) -> None:
                    for start in starts[member::n_threads]:
                        sums[member].add(chunk[start : start + _ROWS_AT_ONCE], n_classes == 2)

                team.together(add, min(n_threads, max(1, len(starts))))
        losses, products, counts, alone = (sum(parts) for parts in zip(*sums, strict=True))
        differences = STEPS * (alone + alone.T) - 2.0 * products if n_classes == 2 else np.empty((0, 0))
        whole = [array.astype(np.int64) for array in (losses, products, counts, differences)]
        return cls(whole[0], whole[1], whole[2], whole[3], n_classes, doubts)

    @property
    def n_voters(self) -> int:
        """How many voters there are."""
        return len(self.losses)

    @property
    def n(self) -> int:
        """The fewest rows that a voter has not seen."""
        return int(self.counts.diagonal().min())

    @property
    def n_pairs(self) -> int:
        """The fewest rows that two voters have both not seen."""
        return int(self.counts.min())

    @property
    def voter_losses(self) -> Floats:
        """Mean loss (voters,) of each voter; NaN for one that knows all rows."""
        return _ratio(self.losses / STEPS, self.counts.diagonal())

    @property
    def tandem_losses(self) -> Floats:
        """Mean product (voters, voters) of the losses of two voters."""
        return _ratio(self.products / STEPS**2, self.counts)

    def gibbs(self, weights: Floats) -> float:
        """Mean loss of a voter drawn by the weights, which sum to 1."""
        return math.fsum(weights * self.voter_losses)

    def tandem(self, weights: Floats) -> float:
        """Mean product of the losses of two voters drawn by the weights."""
        return float(mean_of_pairs(self.tandem_losses, weights))

    def disagreement(self, weights: Floats) -> float:
        """Chance that two voters drawn by the weights name different classes, of two."""
        return float(mean_of_pairs(_ratio(self.differences / STEPS**2, self.counts), weights))


def _ratio(sums: NDArray[Any], counts: NDArray[Any]) -> Floats:
    out: Floats = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=out, where=counts > 0)
    return out


class _Sums(NamedTuple):
    """Sums of whole numbers, held as floats: of losses, of products, of rows, and of losses in pairs."""

    losses: Floats
    products: Floats
    counts: Floats
    alone: Floats  # of the first of two voters, on rows that neither has seen

    @classmethod
    def none(cls, n: int) -> "_Sums":
        return cls(np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)))

    def add(self, chunk: Losses, two_classes: bool) -> None:
        """Add a few rows."""
        unseen = (chunk != KNOWN).astype(np.float32)
        lost = np.maximum(chunk, 0).astype(np.float64)
        np.add(self.losses, lost.sum(axis=0), out=self.losses)
        np.add(self.products, lost.T @ lost, out=self.products)
        np.add(self.counts, unseen.T @ unseen, out=self.counts)
        if two_classes:
            np.add(self.alone, lost.astype(np.float32).T @ unseen, out=self.alone)
