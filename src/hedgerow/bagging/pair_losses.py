"""Losses of single voters and of pairs of voters on rows that they were not trained on.

The loss of a voter on a row is (1 - p + q) / 2, where p is the probability it predicts for the label and q
the largest one for another class: 0 or 1 for a vote, 1 - p for two classes, and at most that for several. If
the weighted mean of all voters is wrong, another class has at least as much of it as the label, and the mean
loss is at least 1/2. Bounds from votes are derived from this.

Losses are integers in steps of 1 / STEPS, rounded up. Sums of products of such numbers are exact in float64,
in any order, so that a matrix product of any library gives the same bits.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.vote_weights import mean_of_pairs
from hedgerow.memory import estimate_pairs
from hedgerow.system_memory import require_memory
from hedgerow.threads import Team, one_blas_thread

Losses = NDArray[np.int16]  # (rows, voters), in steps, or IN_BAG

STEPS = 4096
IN_BAG = -1  # in place of a loss: the voter was trained on the row
_BLOCK_ROWS = 4096  # of a matrix product: float32 holds sums of that many losses exactly


def loss_steps(predicted: Floats, classes: Integers) -> NDArray[np.int16]:
    """Return the losses (rows,) of a voter from its predictions (classes, rows) and the class numbers of y.

    >>> loss_steps(np.array([[0.0, 0.9999, 0.75, 0.4], [1.0, 0.0001, 0.25, 0.6]]), np.array([0, 0, 0, 1]))
    array([4096,    1, 1024, 1639], dtype=int16)
    """
    rows = np.arange(len(classes))
    others = predicted.copy()
    others[classes, rows] = 0.0
    vote_for_label = 0.5 * (1.0 + predicted[classes, rows] - others.max(axis=0, initial=0.0))
    losses: NDArray[np.int16] = np.ceil(STEPS * (1.0 - np.clip(vote_for_label, 0.0, 1.0))).astype(np.int16)
    return losses


@dataclass(frozen=True, eq=False)
class PairLosses:
    """Sums over the rows that voters were not trained on.

    Parameters
    ----------
    losses : int64 (voters,)
        Sums of the losses of each voter, in steps.
    products : int64 (voters, voters)
        Sums of the products of the losses of two voters, over rows that neither was trained on, in squared
        steps.
    counts : int64 (voters, voters)
        The number of these rows; on the diagonal, those of one voter.
    differences : int64 (voters, voters)
        Sums, over the same rows, of l (1 - l') + l' (1 - l), the probability that two voters with the losses
        l and l' predict different classes, in squared steps; (0, 0) for more than two classes.
    n_classes : int
    caveats : tuple of str
        Reasons why the rows may not be like new ones; empty if there are none.

    Examples
    --------
    Two voters and three rows; the second voter was trained on the first row:

    >>> wrong, right = STEPS, 0
    >>> losses = np.array([[right, IN_BAG], [wrong, wrong], [wrong, right]], np.int16)
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
    caveats: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        chunks: Iterable[Losses],
        n_voters: int,
        n_classes: int,
        caveats: tuple[str, ...] = (),
        n_threads: int = 1,
    ) -> "PairLosses":
        """Add up the losses (rows, voters) of chunks of rows."""
        what = f"comparing all pairs of {n_voters:,} voters"
        require_memory(estimate_pairs(n_voters, n_threads), what, "use fewer voters")
        sums = [_Sums.zeros(n_voters) for _ in range(n_threads)]
        # Threads of the BLAS library wait actively: 5.1 s on a busy machine, 0.1 s with one thread.
        with Team(n_threads) as team, one_blas_thread():
            for chunk in chunks:
                starts = range(0, len(chunk), _BLOCK_ROWS)

                def add(thread: int, chunk: Losses = chunk, starts: range = starts) -> None:
                    for start in starts[thread::n_threads]:
                        sums[thread].add(chunk[start : start + _BLOCK_ROWS], n_classes == 2)

                team.together(add, min(n_threads, max(1, len(starts))))
        losses, products, counts, single = (sum(arrays) for arrays in zip(*sums, strict=True))
        differences = STEPS * (single + single.T) - 2.0 * products if n_classes == 2 else np.empty((0, 0))
        integers = [array.astype(np.int64) for array in (losses, products, counts, differences)]
        return cls(integers[0], integers[1], integers[2], integers[3], n_classes, caveats)

    @property
    def n_voters(self) -> int:
        """The number of voters."""
        return len(self.losses)

    @property
    def n(self) -> int:
        """The smallest number of rows that a voter was not trained on."""
        return int(self.counts.diagonal().min())

    @property
    def n_pairs(self) -> int:
        """The smallest number of rows that neither of two voters was trained on."""
        return int(self.counts.min())

    @property
    def voter_losses(self) -> Floats:
        """Mean loss (voters,) of each voter; NaN for one that was trained on all rows."""
        return _ratio(self.losses / STEPS, self.counts.diagonal())

    @property
    def tandem_losses(self) -> Floats:
        """Mean product (voters, voters) of the losses of two voters."""
        return _ratio(self.products / STEPS**2, self.counts)

    def gibbs(self, weights: Floats) -> float:
        """Return the mean loss of a voter drawn by the weights, which sum to 1."""
        return math.fsum(weights * self.voter_losses)

    def tandem(self, weights: Floats) -> float:
        """Return the mean product of the losses of two voters drawn by the weights."""
        return float(mean_of_pairs(self.tandem_losses, weights))

    def disagreement(self, weights: Floats) -> float:
        """Return the probability that two voters drawn by the weights predict different classes, of two."""
        return float(mean_of_pairs(_ratio(self.differences / STEPS**2, self.counts), weights))


def _ratio(sums: NDArray[Any], counts: NDArray[Any]) -> Floats:
    out: Floats = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=out, where=counts > 0)
    return out


class _Sums(NamedTuple):
    """Sums of integers, as floats: of losses, of products, of rows, and of losses in pairs."""

    losses: Floats
    products: Floats
    counts: Floats
    single: Floats  # losses of the first of two voters, on rows that neither was trained on

    @classmethod
    def zeros(cls, n: int) -> "_Sums":
        return cls(np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)))

    def add(self, chunk: Losses, two_classes: bool) -> None:
        """Add some rows."""
        is_out_of_bag = (chunk != IN_BAG).astype(np.float32)
        losses = np.maximum(chunk, 0).astype(np.float64)
        np.add(self.losses, losses.sum(axis=0), out=self.losses)
        np.add(self.products, losses.T @ losses, out=self.products)
        np.add(self.counts, is_out_of_bag.T @ is_out_of_bag, out=self.counts)
        if two_classes:
            np.add(self.single, losses.astype(np.float32).T @ is_out_of_bag, out=self.single)
