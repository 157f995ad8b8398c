"""Losses of classification: y holds class numbers 0, 1, ... as float64.

Two classes have one raw score, (1, n), for class 1; K classes have one for each, (K, n).
"""

import numpy as np

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.elementary import exp
from hedgerow.kernels.cpu import elementary, gradients
from hedgerow.losses.base import (
    LOSSES,
    NO_WEIGHT,
    KernelLoss,
    LogitLink,
    Loss,
    LossOptions,
    SoftmaxLink,
    weighted_mean,
)

SMALLEST_FRACTION = 2.0**-52  # the probability of a class without rows: the start stays finite


def _fraction(y: Floats, number: int, weight: Floats | None) -> float:
    fraction = weighted_mean((y == number).astype(np.float64), weight)
    return min(max(fraction, SMALLEST_FRACTION), 1.0 - SMALLEST_FRACTION)


class _ClassLoss(Loss):
    """A loss of class numbers."""

    n_classes = 2

    def check_target(self, y: Floats) -> None:
        super().check_target(y)
        valid = (y >= 0) & (y < self.n_classes) & (y == np.floor(y))
        self._require_target(valid, y, f"a class number from 0 to {self.n_classes - 1}")


class _BinaryLoss(_ClassLoss, KernelLoss):
    """A loss of two classes with one score, that of class 1."""

    link: LogitLink

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Score of the fraction of class 1."""
        fraction = _fraction(y, 1, weight)
        return np.array([elementary.log(fraction / (1.0 - fraction)) / self.link.slope])


class BinaryLogLoss(_BinaryLoss):
    """log(1 + exp(raw)) - y raw: minus the log-likelihood of y; raw is the log odds of class 1.

    >>> loss = BinaryLogLoss()
    >>> loss.link.inverse(loss.start(np.array([0.0, 1.0, 1.0, 1.0]), None))
    array([0.75])
    """

    name = "log_loss"
    kernels = (gradients.fill_logistic, gradients.loss_logistic)
    step_bound = 4.0  # the best step of a leaf of one class is infinite (Friedman et al. 2000 clip at 4)
    link = LogitLink()

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Return one Newton step in each leaf (Friedman 2001, algorithm 5), as in scikit-learn.

        A full line search goes to the bound in every leaf of one class, which overfits.
        """
        probabilities = self.link.inverse(raw)
        curvatures = probabilities * (1.0 - probabilities)
        return _newton_steps(y - probabilities, curvatures, weight, starts, self.step_bound)


class Exponential(_BinaryLoss):
    """exp(-s raw) with s = 2y - 1: the loss of AdaBoost; raw is half the log odds of class 1.

    Scores are clamped to +-500 where they are exponents, so that gradients stay finite.

    >>> loss = Exponential()
    >>> loss.link.inverse(loss.start(np.array([0.0, 1.0, 1.0, 1.0]), None))
    array([0.75])
    """

    name = "exponential"
    kernels = (gradients.fill_exponential, gradients.loss_exponential)
    step_bound = 2.0  # 4 on the scale of log odds
    link = LogitLink(slope=2.0)

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Return one Newton step in each leaf, as in scikit-learn: (a - b) / (a + b), from -1 to 1.

        a and b are the sums of the losses of classes 1 and 0. The step of least loss, log(a / b) / 2,
        overfits leaves of one class, where it goes to the bound.
        """
        limit, signs = gradients.EXPONENT_LIMIT, 2.0 * y - 1.0
        losses = exp(np.clip(-signs * raw, -limit, limit))
        return _newton_steps(signs * losses, losses, weight, starts, self.step_bound)


class MultinomialLogLoss(_ClassLoss):
    """log(sum over k of exp(raw_k)) - raw_y: minus the log-likelihood of the class number y.

    Parameters
    ----------
    n_classes : int
        The number of classes K, at least 2; one output for each.

    Examples
    --------
    >>> loss = MultinomialLogLoss(3)
    >>> loss.link.inverse(loss.start(np.array([0.0, 1.0, 2.0, 2.0]), None)).round(12)
    array([0.25, 0.25, 0.5 ])
    """

    name = "log_loss"
    step_bound = 4.0
    link = SoftmaxLink()

    def __init__(self, n_classes: int) -> None:
        if n_classes < 2:
            raise ValueError(f"n_classes must be at least 2; got {n_classes!r}")
        self.n_classes = self.n_outputs = int(n_classes)

    def __repr__(self) -> str:
        return f"MultinomialLogLoss({self.n_classes})"

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return centred logs of the fractions of the classes."""
        fractions = [_fraction(y, number, weight) for number in range(self.n_classes)]
        return self.link.link(np.array(fractions))

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Gradient p_k - [y = k], hessian p_k (1 - p_k)."""
        gradients.fill_softmax(y, raw, gradient, hessian, start, stop)

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Minus log-likelihoods."""
        out = np.empty(stop - start)
        gradients.loss_softmax(y, raw, out, start, stop)
        return out

    def line_search(
        self,
        y: Floats,
        raw: Floats,
        weight: Floats | None,
        rows: RowNumbers,
        starts: Integers,
        output: int = 0,
    ) -> Floats:
        """Compute one Newton step for output k (Friedman 2001, algorithm 6).

        (K - 1) / K * sum(w r) / sum(w p (1 - p)) with r = [y = k] - p; the factor accounts for all K trees of
        a round, which change the scores. `raw` must be the scores before the round.
        """
        p = np.empty((1, y.size))
        gradients.softmax(raw, output, p)
        probabilities, weights = p[0][rows], NO_WEIGHT if weight is None else weight[rows]
        factor = (self.n_classes - 1) / self.n_classes
        residuals = (y[rows] == output) - probabilities
        curvatures = probabilities * (1.0 - probabilities)
        return _newton_steps(residuals, curvatures, weights, starts, self.step_bound, factor)


def _newton_steps(
    residuals: Floats, curvatures: Floats, weight: Floats, starts: Integers, bound: float, factor: float = 1.0
) -> Floats:
    """Return factor * sum(w residual) / sum(w curvature) of every leaf, within the bound."""
    slope = gradients.leaf_sums(residuals, weight, starts)
    curvature = gradients.leaf_sums(curvatures, weight, starts)
    with np.errstate(all="ignore"):  # with a tiny curvature the step is clipped below
        step = np.divide(factor * slope, curvature, out=np.zeros_like(slope), where=slope != 0.0)
    return np.asarray(np.clip(step, -bound, bound))


def _log_loss(options: LossOptions) -> Loss:
    # with one class, the start is the whole model
    return BinaryLogLoss() if options.n_classes <= 2 else MultinomialLogLoss(options.n_classes)


def _exponential(options: LossOptions) -> Loss:
    if options.n_classes > 2:
        raise ValueError(
            f"loss='exponential' supports two classes; y has {options.n_classes}: use loss='log_loss'"
        )
    return Exponential()


LOSSES["classification"].update(log_loss=_log_loss, exponential=_exponential)
