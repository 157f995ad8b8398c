"""What every loss has in common.

A loss L(y, raw) compares a target with a raw score. Shapes throughout: n rows and K outputs (K is
1 except for several classes); y float64 (n,), raw, gradient and hessian float64 (K, n) in C order,
weight float64 (n,) or None. `fill` and `row_losses` never see weights: the caller weights.
"""

import abc
import math

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.kernels.cpu.losses import leaf_sums, pair_sum
from hedgerow.losses.links import IdentityLink, Link
from hedgerow.losses.search import RELATIVE_SLOPE, leaf_means, minimise

BLOCK_ROWS = 65_536  # rows whose losses are held at once
NO_WEIGHT = np.empty(0)  # what the kernels take for "every row weighs one"


class Loss(abc.ABC):
    """A loss with its link.

    Attributes
    ----------
    name : str
        Its name in the table of losses.
    n_outputs : int
        Raw scores a row, K.
    link : Link
        Between the raw score and the mean of the target.
    constant_hessian : bool
        The hessian is 1 in every row.
    needs_line_search : bool
        The second derivative says nothing (it is zero almost everywhere, or we do not use it):
        the hessian is filled with 1, and leaf values must come from `line_search`.
    splittable : bool
        Threads may call `fill` on pieces of the rows. Otherwise call it once, for all rows.
    step_bound : float
        The furthest that one step moves a raw score. Where the best step is infinite, as in a leaf
        with rows of one class only, this is the step taken.
    """

    name: str = ""
    n_outputs: int = 1
    constant_hessian: bool = False
    needs_line_search: bool = False
    splittable: bool = True
    step_bound: float = math.inf
    link: Link = IdentityLink()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # --- what a loss must say

    @abc.abstractmethod
    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Give the constant raw scores (K,) of least loss; finite for every accepted target."""

    @abc.abstractmethod
    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Write dL/draw and d2L/draw2, unweighted, for the rows [start, stop)."""

    @abc.abstractmethod
    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Give the losses (stop - start,) of the rows [start, stop), unweighted."""

    # --- what most losses share

    def check_target(self, y: Floats) -> None:
        """Raise ValueError if `y` is no target for this loss."""
        if y.size == 0:
            raise ValueError("y has no rows; at least one is needed")
        self._refuse_where(~np.isfinite(y), y, "finite values")

    def _refuse_where(self, bad: NDArray[np.bool_], y: Floats, needed: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"y: loss={self.name!r} needs {needed}; found {y[row]} at row {row}")

    def prepare(self, y: Floats, raw: Floats, weight: Floats | None) -> None:  # noqa: B027
        """Do what must be done before each round; most losses have nothing to do."""

    def go_on_from(self, before: "Loss") -> None:  # noqa: B027
        """Take over what the loss of the same kind that a fit goes on from has found; most have nothing."""

    def mean_loss(self, y: Floats, raw: Floats, weight: Floats | None) -> float:
        """Give the weighted mean of the loss, the same bits however many threads there are."""
        total = total_weight(y, weight)
        parts: list[float] = []
        for a in range(0, y.size, BLOCK_ROWS):
            b = min(a + BLOCK_ROWS, y.size)
            losses = self.row_losses(y, raw, a, b)
            parts += pair_sum(losses, NO_WEIGHT if weight is None else weight[a:b])
        return math.fsum(parts) / total

    def line_search(
        self,
        y: Floats,
        raw: Floats,
        weight: Floats | None,
        rows: RowNumbers,
        starts: Integers,
        output: int = 0,
    ) -> Floats:
        """Find the step of least loss for each leaf.

        Parameters
        ----------
        y, raw, weight
            All rows; raw is (K, n).
        rows : uint32
            Row numbers grouped by leaf.
        starts : int64 (n_leaves + 1,)
            Leaf l holds rows[starts[l]:starts[l + 1]].
        output : int
            The output k whose tree is grown.

        Returns
        -------
        float64 (n_leaves,)
            argmin over step of the sum in the leaf of weight * L(y, raw + step), within
            +-step_bound; 0 for a leaf without weight.
        """
        targets, scores = y[rows], raw[output][rows]
        weights = gather_weight(weight, rows)
        counts = np.diff(starts)

        def derivatives(step: Floats) -> tuple[Floats, Floats]:
            moved = (scores + np.repeat(step, counts))[np.newaxis]
            gradient, hessian = self._derivatives(targets, moved)
            slope = leaf_sums(gradient[0], weights, starts)
            return slope, leaf_sums(hessian[0], weights, starts)

        gradient, _ = self._derivatives(targets, scores[np.newaxis])
        noise = RELATIVE_SLOPE * leaf_sums(np.abs(gradient[0]), weights, starts)
        bound = np.full(counts.size, self.step_bound)
        return minimise(derivatives, -bound, bound, noise)

    def global_line_search(self, y: Floats, raw: Floats, direction: Floats, weight: Floats | None) -> float:
        """Find the step length rho >= 0 of least loss along one direction for all rows.

        Parameters
        ----------
        y, raw, weight
            All rows; raw is (K, n).
        direction : float64 (n,) or (K, n)
            What the weak learner answered.

        Returns
        -------
        float
            argmin over rho of the sum of weight * L(y, raw + rho * direction); no row moves
            further than step_bound.
        """
        ways = np.atleast_2d(direction)
        furthest = float(np.max(np.abs(ways), initial=0.0))
        if furthest == 0.0:
            return 0.0
        weights = NO_WEIGHT if weight is None else weight
        whole = np.array([0, y.size], dtype=np.int64)

        def along(values: Floats) -> Floats:
            rows = values[0].copy()
            for output in values[1:]:
                rows += output
            return np.asarray(leaf_sums(rows, weights, whole))

        def derivatives(step: Floats) -> tuple[Floats, Floats]:
            gradient, hessian = self._derivatives(y, raw + step[0] * ways)
            return along(gradient * ways), along(hessian * ways * ways)

        gradient, _ = self._derivatives(y, raw)
        noise = RELATIVE_SLOPE * along(np.abs(gradient * ways))
        high = np.array([self.step_bound / furthest])
        return float(minimise(derivatives, np.zeros(1), high, noise)[0])

    def _derivatives(self, y: Floats, raw: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = np.empty_like(raw), np.empty_like(raw)
        self.fill(y, raw, gradient, hessian, 0, y.size)
        return gradient, hessian


def total_weight(y: Floats, weight: Floats | None) -> float:
    """Sum the weights of all rows; ValueError if there is none."""
    if weight is None:
        return float(y.size)
    high, low = pair_sum(weight, NO_WEIGHT)
    total = float(high + low)
    if not total > 0.0:
        raise ValueError(f"sample_weight sums to {total}; at least one row needs a positive weight")
    return total


def weighted_mean(values: Floats, weight: Floats | None) -> float:
    """Mean of all rows, to the last bit the same for a weight of 2 and for the row twice."""
    total_weight(values, weight)  # refuses rows without weight
    whole = np.array([0, values.size], dtype=np.int64)
    return float(leaf_means(values, NO_WEIGHT if weight is None else weight, whole)[0])


def gather_weight(weight: Floats | None, rows: RowNumbers) -> Floats:
    """Weights of the given rows, as the kernels take them."""
    return NO_WEIGHT if weight is None else weight[rows]
