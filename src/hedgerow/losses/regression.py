"""Losses for numbers: y is float64 (n,), raw is (1, n), K = 1."""

import numpy as np

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.kernels.cpu import losses as kernels
from hedgerow.losses.base import NO_WEIGHT, Loss, gather_weight, total_weight, weighted_mean
from hedgerow.losses.links import IdentityLink, LogLink, exp, log
from hedgerow.losses.search import leaf_levels, leaf_means, minimise

SMALLEST_MEAN = 2.0**-52  # a target whose weighted rows are all 0 starts at log of this, -36


def _whole(y: Floats) -> Integers:
    return np.array([0, y.size], dtype=np.int64)  # all rows as one leaf


def _level(y: Floats, weight: Floats | None, level: float) -> float:
    total_weight(y, weight)  # refuses rows without weight
    weights = NO_WEIGHT if weight is None else weight
    return float(leaf_levels(y, weights, _whole(y), level)[0])


def _require(parameter: str, value: float, allowed: str, accepted: bool) -> None:
    if not accepted:
        raise ValueError(f"{parameter}={value!r} is not allowed; it must lie in {allowed}")


class SquaredError(Loss):
    """(raw - y)**2 / 2: the mean.

    >>> SquaredError().start(np.array([1.0, 2.0, 6.0]), None)
    array([3.])
    """

    name = "squared_error"
    constant_hessian = True
    link = IdentityLink()

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Mean of y."""
        return np.array([weighted_mean(y, weight)])

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Gradient raw - y, hessian 1."""
        kernels.fill_squared(
            y[start:stop], raw[0, start:stop], gradient[0, start:stop], hessian[0, start:stop]
        )

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Half the squared errors."""
        out = np.empty(stop - start)
        kernels.loss_squared(y[start:stop], raw[0, start:stop], out)
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
        """Mean residual of each leaf."""
        return leaf_means((y - raw[output])[rows], gather_weight(weight, rows), starts)


class Quantile(Loss):
    """The pinball loss: quantile * (y - raw) below y, (1 - quantile) * (raw - y) above.

    The quantile of weighted rows is the smallest y at or below which lies that share of the
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
    constant_hessian = True
    needs_line_search = True
    link = IdentityLink()

    def __init__(self, quantile: float = 0.5) -> None:
        _require("quantile", quantile, "(0, 1), ends excluded", 0.0 < quantile < 1.0)
        self.quantile = float(quantile)
        self.under = self.quantile  # slope where raw is too low
        self.over = 1.0 - self.quantile  # slope where raw is too high

    def __repr__(self) -> str:
        return f"Quantile({self.quantile!r})"

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Quantile of y."""
        return np.array([_level(y, weight, self.quantile)])

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Gradient -under below y and over above it, 0 at y; hessian 1."""
        g, h = gradient[0, start:stop], hessian[0, start:stop]
        kernels.fill_pinball(y[start:stop], raw[0, start:stop], g, h, self.under, self.over)

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Pinball losses."""
        out = np.empty(stop - start)
        kernels.loss_pinball(y[start:stop], raw[0, start:stop], out, self.under, self.over)
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
        """Quantile of the residuals of each leaf."""
        residuals = (y - raw[output])[rows]
        return leaf_levels(residuals, gather_weight(weight, rows), starts, self.quantile)


class AbsoluteError(Quantile):
    """|raw - y|: the median.

    >>> AbsoluteError().start(np.array([1.0, 2.0, 60.0]), None)
    array([2.])
    """

    name = "absolute_error"

    def __init__(self) -> None:
        super().__init__(0.5)
        self.under = self.over = 1.0

    def __repr__(self) -> str:
        return "AbsoluteError()"


class Huber(Loss):
    """Squared error up to |raw - y| = delta, absolute error beyond.

    delta is renewed in `prepare`, before each round: the alpha quantile of the training rows'
    |y - raw| (Friedman 2001, algorithm 4). Losses of different rounds hence differ a little in
    kind. Leaf values come from Friedman's formula: the median of the residuals plus the mean of
    their deviations from it, each cut at delta.

    Parameters
    ----------
    alpha : float
        The share of rows whose residuals count as ordinary, between 0 and 1.

    Examples
    --------
    >>> loss = Huber(alpha=0.9)
    >>> loss.prepare(np.arange(11.0), np.zeros((1, 11)), None)
    >>> loss.delta
    9.0
    """

    name = "huber"
    constant_hessian = True
    needs_line_search = True
    link = IdentityLink()

    def __init__(self, alpha: float = 0.9) -> None:
        _require("alpha", alpha, "(0, 1), ends excluded", 0.0 < alpha < 1.0)
        self.alpha = float(alpha)
        self.delta = 1.0

    def __repr__(self) -> str:
        return f"Huber({self.alpha!r})"

    def prepare(self, y: Floats, raw: Floats, weight: Floats | None) -> None:
        """Renew delta."""
        sizes = np.abs(y - raw[0])
        # Where the quantile is 0 nothing could be learned from the rest: squared error then.
        self.delta = _level(sizes, weight, self.alpha) or _level(sizes, weight, 1.0) or 1.0

    def go_on_from(self, before: Loss) -> None:
        """Take over delta, which is renewed by every round."""
        self.delta = getattr(before, "delta", self.delta)

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Give the best constant, with the delta that belongs to the median."""
        median = _level(y, weight, 0.5)
        self.prepare(y, np.full((1, y.size), median), weight)
        weights = NO_WEIGHT if weight is None else weight

        def derivatives(step: Floats) -> tuple[Floats, Floats]:
            residuals = y - (median + step[0])
            inner = (np.abs(residuals) <= self.delta).astype(np.float64)
            slope = -leaf_means(np.clip(residuals, -self.delta, self.delta), weights, _whole(y))
            return slope, leaf_means(inner, weights, _whole(y))

        # the best constant is never further than delta from the median
        bound = np.array([self.delta])
        return median + minimise(derivatives, -bound, bound, np.zeros(1))

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Gradient raw - y cut at delta, hessian 1."""
        g, h = gradient[0, start:stop], hessian[0, start:stop]
        kernels.fill_huber(y[start:stop], raw[0, start:stop], g, h, self.delta)

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Huber losses with the present delta."""
        out = np.empty(stop - start)
        kernels.loss_huber(y[start:stop], raw[0, start:stop], out, self.delta)
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
        """Friedman's formula in each leaf: median plus mean of the cut deviations."""
        residuals, weights = (y - raw[output])[rows], gather_weight(weight, rows)
        medians = leaf_levels(residuals, weights, starts, 0.5)
        deviations = residuals - np.repeat(medians, np.diff(starts))
        return medians + leaf_means(np.clip(deviations, -self.delta, self.delta), weights, starts)


class Tweedie(Loss):
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
    step_bound = 10.0  # a leaf of zeros would go to -inf; exp(10) = 22026 in one step is enough
    link = LogLink()

    def __init__(self, power: float = 1.5) -> None:
        _require("power", power, "[1, 2]", 1.0 <= power <= 2.0)
        self.power = float(power)

    def __repr__(self) -> str:
        return f"Tweedie({self.power!r})"

    def check_target(self, y: Floats) -> None:
        """Refuse negative values, for power 2 also 0."""
        super().check_target(y)
        if self.power == 2.0:
            self._refuse_where(y <= 0.0, y, "y > 0")
            return
        self._refuse_where(y < 0.0, y, "y >= 0")
        if not y.any():
            raise ValueError(f"y: loss={self.name!r} needs a positive value; all values are 0")

    def start(self, y: Floats, weight: Floats | None) -> Floats:
        """Log of the mean of y."""
        return self.link.link(np.array([max(weighted_mean(y, weight), SMALLEST_MEAN)]))

    def fill(self, y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
        """Gradient m - t, hessian (2 - power) m + (power - 1) t; see the kernel."""
        g, h = gradient[0, start:stop], hessian[0, start:stop]
        kernels.fill_tweedie(y[start:stop], raw[0, start:stop], g, h, self.power)

    def row_losses(self, y: Floats, raw: Floats, start: int, stop: int) -> Floats:
        """Half deviances, up to a constant of y."""
        out = np.empty(stop - start)
        kernels.loss_tweedie(y[start:stop], raw[0, start:stop], out, self.power)
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
        """Logarithm of (sum of t / sum of m) of each leaf: a closed form."""
        # The gradient m e**((2 - power) step) - t e**((1 - power) step) is 0 at step = log(t / m).
        limit = kernels.EXPONENT_LIMIT
        scores = np.clip(raw[output][rows], -limit, limit)
        weights = gather_weight(weight, rows)
        m = leaf_means(exp((2.0 - self.power) * scores), weights, starts)
        t = leaf_means(y[rows] * exp((1.0 - self.power) * scores), weights, starts)
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
