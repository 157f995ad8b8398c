"""Loss: the interface of all losses, the links they use, and the table of names.

A loss L(y, raw) compares a target with a raw score. Shapes: n rows and K outputs (K is 1 except for several
classes); y float64 (n,), raw, gradient and hessian float64 (K, n) in C order, weight float64 (n,) or None.
`fill` and `row_losses` are unweighted: the caller applies weights. To add a loss, write a class in
`classification` or `regression` and add it to the table at the foot of that module.
"""

import abc
import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.elementary import exp, log, sigmoid
from hedgerow.kernels.cpu.gradients import leaf_sums, pair_sum, softmax
from hedgerow.losses.line_search import minimise

BLOCK_ROWS = 65_536  # rows whose losses are held at once
NO_WEIGHT = np.empty(0)  # for kernels: every row has weight 1
_RELATIVE_SLOPE = 1e-14  # a slope this small relative to the sum of |slopes| is rounding error


# --- links


class Link(abc.ABC):
    """A function between the mean of the target and the raw score of the model; for arrays of any shape."""

    @abc.abstractmethod
    def link(self, mean: Floats) -> Floats:
        """Return raw scores of means."""

    @abc.abstractmethod
    def inverse(self, raw: Floats) -> Floats:
        """Return means of raw scores."""


class IdentityLink(Link):
    """Mean = raw.

    >>> IdentityLink().inverse(np.array([1.5]))
    array([1.5])
    """

    def link(self, mean: Floats) -> Floats:
        """Raw = mean."""
        return np.array(mean, dtype=np.float64)

    def inverse(self, raw: Floats) -> Floats:
        """Mean = raw."""
        return np.array(raw, dtype=np.float64)


class LogLink(Link):
    """Mean = exp(raw).

    >>> LogLink().inverse(np.array([0.0]))
    array([1.])
    """

    def link(self, mean: Floats) -> Floats:
        """Raw = log(mean)."""
        return log(mean)

    def inverse(self, raw: Floats) -> Floats:
        """Mean = exp(raw)."""
        return exp(raw)


class LogitLink(Link):
    """Probability of class 1 = 1 / (1 + exp(-slope * raw)).

    Parameters
    ----------
    slope : float
        1 when raw is the log odds, 2 when it is half the log odds, as with the exponential loss.

    Examples
    --------
    >>> LogitLink().inverse(np.array([0.0]))
    array([0.5])
    """

    def __init__(self, slope: float = 1.0) -> None:
        self.slope = slope

    def link(self, mean: Floats) -> Floats:
        """Return the log odds, divided by the slope."""
        with np.errstate(divide="ignore"):  # probability 1 has score inf
            return log(mean / (1.0 - mean)) / self.slope

    def inverse(self, raw: Floats) -> Floats:
        """Return the probability of class 1."""
        return sigmoid(self.slope * raw)


class SoftmaxLink(Link):
    """Probabilities = softmax of the scores over the first axis: (K, n) or (K,).

    Scores that differ by a constant have the same probabilities; `link` gives those of mean 0.

    >>> SoftmaxLink().inverse(np.zeros((4, 2)))[:, 0]
    array([0.25, 0.25, 0.25, 0.25])
    """

    def link(self, mean: Floats) -> Floats:
        """Return centred logs of the probabilities."""
        raw = log(mean)
        centre = np.zeros(raw.shape[1:])
        for scores in raw:  # np.mean may add in another order
            centre += scores
        return np.asarray(raw - centre / len(raw))

    def inverse(self, raw: Floats) -> Floats:
        """Softmax over the first axis."""
        scores = np.ascontiguousarray(raw, dtype=np.float64)
        out = np.empty_like(scores)
        softmax(scores.reshape(len(scores), -1), 0, out.reshape(len(scores), -1))
        return out


# --- losses


class Loss(abc.ABC):
    """A loss with its link.

    Attributes
    ----------
    name : str
        Its name in the table of losses.
    n_outputs : int
        Raw scores per row, K.
    link : Link
        Between the raw score and the mean of the target.
    requires_line_search : bool
        The second derivative is not used, because it is zero, or almost zero far from the target: the hessian
        is filled with 1, `leaf_steps` is overridden, and leaf values come from `line_search`.
    splittable : bool
        Threads may call `fill` on ranges of rows. Otherwise call it once, for all rows.
    step_bound : float
        The largest change of a raw score by one step. The best step may be infinite, for example in a leaf of
        one class.
    """

    name: str = ""
    n_outputs: int = 1
    requires_line_search: bool = False
    splittable: bool = True
    step_bound: float = math.inf
    link: Link = IdentityLink()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return the constant raw scores (K,) of least loss; finite for every valid target.

        The default, for one output and a convex loss without a step bound, is a line search from 0.
        """
        rows, starts = np.arange(y.size, dtype=np.uint32), np.array([0, y.size], dtype=np.int64)
        return self.line_search(y, np.zeros((1, y.size)), weight, rows, starts)

    @abc.abstractmethod
    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Write dL/draw and d2L/draw2, unweighted, for the rows [start, stop)."""

    @abc.abstractmethod
    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Return the losses (stop - start,) of the rows [start, stop), unweighted."""

    def check_target(self, y: Floats) -> None:
        """Raise ValueError if `y` is not a valid target of this loss."""
        if y.size == 0:
            raise ValueError("y must have at least one row; got none")
        self._require_target(np.isfinite(y), y, "finite")

    def _require_target(self, valid: NDArray[np.bool_], y: Floats, allowed: str) -> None:
        if not valid.all():
            row = int(np.argmin(valid))
            raise ValueError(f"y must be {allowed} for loss={self.name!r}; got {y[row]} at row {row}")

    def prepare(self, y: Floats, raw: Floats, weight: Floats | None) -> None:  # noqa: B027
        """Update the state of the loss before a round; most losses have none."""

    def resume_from(self, previous: "Loss") -> None:  # noqa: B027
        """Copy the state of the loss of a resumed fit; most losses have none."""

    def mean_loss(self, y: Floats, raw: Floats, weight: Floats | None) -> float:
        """Return the weighted mean of the loss; the number of threads does not change its bits."""
        total = total_weight(y, weight)
        sums: list[float] = []
        for a in range(0, y.size, BLOCK_ROWS):
            b = min(a + BLOCK_ROWS, y.size)
            losses = self.row_losses(y, raw, a, b)
            sums += pair_sum(losses, NO_WEIGHT if weight is None else weight[a:b])
        return math.fsum(sums) / total

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

        rows are the row numbers grouped by leaf: leaf l holds rows[starts[l]:starts[l + 1]]. output is the
        output whose tree is grown. Returns for each leaf the step that minimises the sum of
        weight * L(y, raw + step), within +-step_bound; 0 for a leaf without weight.
        """
        weights = NO_WEIGHT if weight is None else weight[rows]
        return self.leaf_steps(y[rows], raw[output][rows], weights, starts)

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Do a `line_search` for targets, scores and weights in the order of the leaves, all (rows,)."""
        counts = np.diff(starts)

        def derivatives(step: Floats) -> tuple[Floats, Floats]:
            gradient, hessian = self._derivatives(y, (raw + np.repeat(step, counts))[np.newaxis])
            return leaf_sums(gradient[0], weight, starts), leaf_sums(hessian[0], weight, starts)

        gradient, _ = self._derivatives(y, raw[np.newaxis])
        noise = _RELATIVE_SLOPE * leaf_sums(np.abs(gradient[0]), weight, starts)
        bound = np.full(counts.size, self.step_bound)
        return minimise(derivatives, -bound, bound, noise)

    def global_line_search(self, y: Floats, raw: Floats, direction: Floats, weight: Floats | None) -> float:
        """Find the step length rho >= 0 of least loss along one direction, (n,) or (K, n), for all rows.

        Returns argmin over rho of the sum of weight * L(y, raw + rho * direction); no score changes by more
        than step_bound.
        """
        directions = np.atleast_2d(direction)
        largest = float(np.max(np.abs(directions), initial=0.0))
        if largest == 0.0:
            return 0.0
        weights = NO_WEIGHT if weight is None else weight
        one_leaf = np.array([0, y.size], dtype=np.int64)

        def sum_rows(values: Floats) -> Floats:
            rows = values[0].copy()
            for output in values[1:]:
                rows += output
            return np.asarray(leaf_sums(rows, weights, one_leaf))

        def derivatives(step: Floats) -> tuple[Floats, Floats]:
            gradient, hessian = self._derivatives(y, raw + step[0] * directions)
            return sum_rows(gradient * directions), sum_rows(hessian * directions * directions)

        gradient, _ = self._derivatives(y, raw)
        noise = _RELATIVE_SLOPE * sum_rows(np.abs(gradient * directions))
        high = np.array([self.step_bound / largest])
        return float(minimise(derivatives, np.zeros(1), high, noise)[0])

    def _derivatives(self, y: Floats, raw: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = np.empty_like(raw), np.empty_like(raw)
        self.fill(y, raw, gradient, hessian, 0, y.size)
        return gradient, hessian


class KernelLoss(Loss):
    """A loss of one output with kernels: fill(y, raw, gradient, hessian, ...) and loss(y, raw, out, ...)."""

    kernels: ClassVar[tuple[Callable[..., None], Callable[..., None]]]

    def kernel_parameters(self) -> tuple[float, ...]:
        """Further arguments of both kernels."""
        return ()

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Write dL/draw and d2L/draw2, unweighted, for the rows [start, stop)."""
        arrays = (y[start:stop], *(array[0, start:stop] for array in (raw, gradient, hessian)))
        self.kernels[0](*arrays, *self.kernel_parameters())

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Return the losses (stop - start,) of the rows [start, stop), unweighted."""
        out = np.empty(stop - start)
        self.kernels[1](y[start:stop], raw[0, start:stop], out, *self.kernel_parameters())
        return out


# --- sums and means over rows and leaves
# The values of all leaves follow one another; `starts` are their boundaries, as in the kernels.


def leaf_means(values: Floats, weight: Floats, starts: Integers) -> Floats:
    """Return the weighted mean of every leaf; 0 for a leaf without weight."""
    sums: Floats = leaf_sums(values, weight, starts)
    totals: Floats = np.diff(starts).astype(np.float64)
    if weight.size:
        totals = leaf_sums(weight, NO_WEIGHT, starts)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0.0)


def total_weight(y: Floats, weight: Floats | None) -> float:
    """Return the sum of the weights; raise ValueError if it is not positive."""
    if weight is None:
        return float(y.size)
    high, low = pair_sum(weight, NO_WEIGHT)
    total = float(high + low)
    if not total > 0.0:
        raise ValueError(f"sample_weight must be positive in at least one row; its sum is {total}")
    return total


def weighted_mean(values: Floats, weight: Floats | None) -> float:
    """Return the mean of all rows; a weight of 2 gives the same bits as two copies of the row."""
    total_weight(values, weight)  # raises if there is none
    one_leaf = np.array([0, values.size], dtype=np.int64)
    return float(leaf_means(values, NO_WEIGHT if weight is None else weight, one_leaf)[0])


# --- the table of names


class LossOptions(NamedTuple):
    """Parameters of an estimator that some losses have."""

    n_classes: int = 2
    quantile: float = 0.5
    alpha: float = 0.9
    power: float = 1.5


LOSSES: dict[str, dict[str, Callable[[LossOptions], Loss]]] = {"regression": {}, "classification": {}}


def make_loss(
    loss: Any,
    *,
    task: str,
    n_classes: int | None = None,
    quantile: float = 0.5,
    alpha: float = 0.9,
    power: float = 1.5,
) -> Loss:
    """Make a loss from its name or from a user's object.

    Parameters
    ----------
    loss : str or object
        A name in `LOSSES`, a `Loss` (it is copied), or an object as `CustomLoss` describes it.
    task : {"regression", "classification"}
        The kind of target.
    n_classes : int, optional
        Required for classification.
    quantile, alpha, power : float
        Parameters of the losses "quantile", "huber" and "tweedie".

    Returns
    -------
    Loss

    Examples
    --------
    >>> make_loss("log_loss", task="classification", n_classes=3)
    MultinomialLogLoss(3)
    """
    if task not in LOSSES:
        raise ValueError(f"task must be one of {sorted(LOSSES)}; got {task!r}")
    if task == "classification" and n_classes is None:
        raise ValueError("n_classes must be an integer for classification; got None")
    if isinstance(loss, str):
        if loss not in LOSSES[task]:
            raise ValueError(
                f"loss must be one of {sorted(LOSSES[task])} for {task}, or an object with loss(y, raw) and "
                f"gradient_hessian(y, raw); got {loss!r}"
            )
        return LOSSES[task][loss](LossOptions(n_classes or 2, quantile, alpha, power))
    if isinstance(loss, Loss):
        return copy.copy(loss)  # a fit may change it
    if n_classes is not None and n_classes > 2:
        raise ValueError(f"a custom loss supports two classes; y has {n_classes} (loss={loss!r})")
    from hedgerow.losses.custom import CustomLoss  # noqa: PLC0415 - it imports this module

    return CustomLoss(loss, task=task)
