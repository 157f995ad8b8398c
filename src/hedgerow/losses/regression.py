"""Losses of regression: y is float64 (n,), raw is (1, n), K = 1."""

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.elementary import exp, log
from hedgerow.kernels.cpu import gradients
from hedgerow.losses.base import (
    LOSSES,
    NO_WEIGHT,
    KernelLoss,
    LogLink,
    Loss,
    leaf_means,
    total_weight,
    weighted_mean,
)
from hedgerow.losses.line_search import leaf_quantile, minimise

SMALLEST_MEAN = 2.0**-52  # of the start, for targets of weight 0 or all 0: log is -36


def _one_leaf(y: Floats) -> Integers:
    return np.array([0, y.size], dtype=np.int64)  # all rows as one leaf


def _quantile(y: Floats, weight: Floats | None, level: float) -> float:
    total_weight(y, weight)  # raises if there is none
    weights = NO_WEIGHT if weight is None else weight
    return float(leaf_quantile(y, weights, _one_leaf(y), level)[0])


def _require(parameter: str, value: float, allowed: str, accepted: bool) -> None:
    if not accepted:
        raise ValueError(f"{parameter} must lie in {allowed}; got {value!r}")


class SquaredError(KernelLoss):
    """(raw - y)**2 / 2: predicts the mean. The gradient is raw - y, the hessian 1.

    >>> SquaredError().start(np.array([1.0, 2.0, 6.0]), None)
    array([3.])
    """

    name = "squared_error"
    kernels = (gradients.fill_squared, gradients.loss_squared)

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return the mean of y."""
        return np.array([weighted_mean(y, weight)])

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Return the mean residual of each leaf."""
        return leaf_means(y - raw, weight, starts)


class Quantile(KernelLoss):
    """The pinball loss: quantile * (y - raw) below y, (1 - quantile) * (raw - y) above.

    The quantile of weighted rows is the smallest y at or below which lies that fraction of the
    weight, without interpolation; with an even number of rows the median is the lower one.

    Parameters
    ----------
    quantile : float
        Which quantile to predict, between 0 and 1.

    Examples
    --------
    >>> Quantile(0.75).start(np.arange(8.0), None)
    array([5.])
    """

    name = "quantile"
    kernels = (gradients.fill_pinball, gradients.loss_pinball)
    requires_line_search = True

    def __init__(self, quantile: float = 0.5) -> None:
        _require("quantile", quantile, "(0, 1), ends excluded", 0.0 < quantile < 1.0)
        self.quantile = float(quantile)
        self.under = self.quantile  # slope where raw is too low
        self.over = 1.0 - self.quantile  # slope where raw is too high

    def __repr__(self) -> str:
        return f"Quantile({self.quantile!r})"

    def kernel_parameters(self) -> tuple[float, ...]:
        """Return slopes below and above y."""
        return (self.under, self.over)

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return the quantile of y."""
        return np.array([_quantile(y, weight, self.quantile)])

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Return the quantile of the residuals of each leaf."""
        return leaf_quantile(y - raw, weight, starts, self.quantile)


class AbsoluteError(Quantile):
    """|raw - y|: predicts the median.

    >>> AbsoluteError().start(np.array([1.0, 2.0, 60.0]), None)
    array([2.])
    """

    name = "absolute_error"

    def __init__(self) -> None:
        super().__init__(0.5)
        self.under = self.over = 1.0

    def __repr__(self) -> str:
        return "AbsoluteError()"


class Huber(KernelLoss):
    """Squared error up to |raw - y| = delta, absolute error beyond.

    `prepare` sets delta before each round to the alpha quantile of |y - raw| in the training rows (Friedman
    2001, algorithm 4); hence losses of different rounds have different deltas. The leaf value is the median
    of the residuals plus the mean of their deviations from it, each clipped at delta.

    Parameters
    ----------
    alpha : float
        The fraction of rows whose residuals are below delta, between 0 and 1.

    Examples
    --------
    >>> loss = Huber(alpha=0.9)
    >>> loss.prepare(np.arange(11.0), np.zeros((1, 11)), None)
    >>> loss.delta
    9.0
    """

    name = "huber"
    kernels = (gradients.fill_huber, gradients.loss_huber)
    requires_line_search = True

    def __init__(self, alpha: float = 0.9) -> None:
        _require("alpha", alpha, "(0, 1), ends excluded", 0.0 < alpha < 1.0)
        self.alpha = float(alpha)
        self.delta = 1.0

    def __repr__(self) -> str:
        return f"Huber({self.alpha!r})"

    def kernel_parameters(self) -> tuple[float, ...]:
        """Return delta."""
        return (self.delta,)

    def prepare(self, y: Floats, raw: Floats, weight: Floats | None) -> None:
        """Set delta."""
        sizes = np.abs(y - raw[0])
        # If the quantile is 0 all gradients would be 0: use squared error.
        self.delta = _quantile(sizes, weight, self.alpha) or _quantile(sizes, weight, 1.0) or 1.0

    def resume_from(self, previous: Loss) -> None:
        """Copy delta."""
        self.delta = getattr(previous, "delta", self.delta)

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return the best constant for the delta of the median."""
        median = _quantile(y, weight, 0.5)
        self.prepare(y, np.full((1, y.size), median), weight)
        weights = NO_WEIGHT if weight is None else weight

        def derivatives(step: Floats) -> tuple[Floats, Floats]:
            residuals = y - (median + step[0])
            inner = (np.abs(residuals) <= self.delta).astype(np.float64)
            slope = -leaf_means(np.clip(residuals, -self.delta, self.delta), weights, _one_leaf(y))
            return slope, leaf_means(inner, weights, _one_leaf(y))

        # the best constant differs from the median by at most delta
        bound = np.array([self.delta])
        return median + minimise(derivatives, -bound, bound, np.zeros(1))

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Return the median plus mean of the clipped deviations in each leaf."""
        medians = leaf_quantile(y - raw, weight, starts, 0.5)
        deviations = y - raw - np.repeat(medians, np.diff(starts))
        return medians + leaf_means(np.clip(deviations, -self.delta, self.delta), weight, starts)


class Tweedie(KernelLoss):
    """Half the Tweedie deviance of the mean exp(raw), up to a constant of y.

    The variance grows as mean**power. Scores are clamped to +-500 where they are exponents, so
    that gradients stay finite.

    Parameters
    ----------
    power : float
        From 1 (Poisson: counts) to 2 (gamma: positive amounts); between them amounts with zeros.

    Examples
    --------
    >>> loss = Tweedie(1.5)
    >>> loss.link.inverse(loss.start(np.array([0.0, 1.0, 5.0]), None))
    array([2.])
    """

    name = "tweedie"
    kernels = (gradients.fill_tweedie, gradients.loss_tweedie)
    step_bound = 10.0  # a leaf of zeros has an infinite step; a factor of exp(10) = 22026 is enough
    link = LogLink()

    def __init__(self, power: float = 1.5) -> None:
        _require("power", power, "[1, 2]", 1.0 <= power <= 2.0)
        self.power = float(power)

    def __repr__(self) -> str:
        return f"Tweedie({self.power!r})"

    def kernel_parameters(self) -> tuple[float, ...]:
        """Return the power."""
        return (self.power,)

    def check_target(self, y: Floats) -> None:
        """Require values of at least 0, for power 2 above 0."""
        super().check_target(y)
        if self.power == 2.0:
            self._require_target(y > 0.0, y, "above 0")
            return
        self._require_target(y >= 0.0, y, "at least 0")
        if not y.any():
            raise ValueError(f"y must have a value above 0 for loss={self.name!r}; all are 0")

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Return the log of the mean of y."""
        return self.link.link(np.array([max(weighted_mean(y, weight), SMALLEST_MEAN)]))

    def leaf_steps(self, y: Floats, raw: Floats, weight: Floats, starts: Integers) -> Floats:
        """Logarithm of (sum of t / sum of m) of each leaf: a closed form."""
        # The gradient m e**((2 - power) step) - t e**((1 - power) step) is 0 at step = log(t / m).
        limit = gradients.EXPONENT_LIMIT
        scores = np.clip(raw, -limit, limit)
        m = leaf_means(exp((2.0 - self.power) * scores), weight, starts)
        t = leaf_means(y * exp((1.0 - self.power) * scores), weight, starts)
        ratio = np.divide(t, m, out=np.ones_like(m), where=m > 0.0)  # no weight: no step
        return np.clip(log(ratio), -self.step_bound, self.step_bound)


class Poisson(Tweedie):
    """exp(raw) - y raw, for counts: half the Poisson deviance, up to a constant of y.

    >>> Poisson().start(np.array([0.0, 2.0]), None)
    array([0.])
    """

    name = "poisson"

    def __init__(self) -> None:
        super().__init__(1.0)

    def __repr__(self) -> str:
        return "Poisson()"


class Gamma(Tweedie):
    """Raw + y exp(-raw), for positive amounts: half the gamma deviance, up to a constant of y.

    >>> Gamma().start(np.array([0.5, 1.5]), None)
    array([0.])
    """

    name = "gamma"

    def __init__(self) -> None:
        super().__init__(2.0)

    def __repr__(self) -> str:
        return "Gamma()"


LOSSES["regression"].update(
    squared_error=lambda _: SquaredError(),
    absolute_error=lambda _: AbsoluteError(),
    huber=lambda options: Huber(options.alpha),
    quantile=lambda options: Quantile(options.quantile),
    poisson=lambda _: Poisson(),
    gamma=lambda _: Gamma(),
    tweedie=lambda options: Tweedie(options.power),
)
