"""A maker of every loss, and valid data for it."""

from functools import partial

import numpy as np

from hedgerow.elementary import exp, log1p, sigmoid
from hedgerow.losses import LOSSES, BinaryLogLoss, CustomLoss, Exponential, MultinomialLogLoss, Tweedie
from hedgerow.losses.base import LossOptions


class PseudoHuber:
    """A smooth convex loss, as a user writes it; + * / sqrt alone round the same everywhere."""

    def loss(self, y, raw):
        return np.sqrt(1 + (raw - y) ** 2) - 1

    def gradient_hessian(self, y, raw):
        square = 1 + (raw - y) ** 2
        root = np.sqrt(square)
        return (raw - y) / root, 1 / (square * root)


class LogCosh:
    """log(2 cosh(raw - y)); the second derivative rounds to 0 where raw is far from y."""

    def loss(self, y, raw):
        size = np.abs(raw - y)
        return size + log1p(exp(-2 * size))

    def gradient_hessian(self, y, raw):
        slope = 2 * sigmoid(2 * (raw - y)) - 1
        return slope, 1 - slope**2


class LogCoshHessian1(LogCosh):
    """The same with a hessian that is not the second derivative."""

    def gradient_hessian(self, y, raw):
        return super().gradient_hessian(y, raw)[0], np.ones_like(y)


OPTIONS = LossOptions(quantile=0.3, alpha=0.7, power=1.4)

MAKERS = {
    **{name: partial(make, OPTIONS) for name, make in LOSSES["regression"].items()},
    "tweedie at 1": lambda: Tweedie(1.0),
    "tweedie at 2": lambda: Tweedie(2.0),
    "binary": BinaryLogLoss,
    "exponential": Exponential,
    "two outputs": lambda: MultinomialLogLoss(2),
    "multinomial": lambda: MultinomialLogLoss(4),
    "custom": lambda: CustomLoss(PseudoHuber()),
    "custom log-cosh": lambda: CustomLoss(LogCosh()),
}


def sample(loss, n=60, seed=0):
    """A valid target and raw scores near it; no score equals its target."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(loss.n_outputs, n))
    if hasattr(loss, "n_classes"):
        y = rng.integers(0, loss.n_classes, n).astype(np.float64)
        y[: loss.n_classes] = np.arange(loss.n_classes)
    elif isinstance(loss, Tweedie):
        y = rng.gamma(2.0, size=n)
        y[::7] = 0.5 if loss.power == 2.0 else 0.0
    else:
        y = rng.normal(size=n) * 2
    loss.prepare(y, raw, None)
    return y, raw


def fill(loss, y, raw):
    gradient, hessian = np.full_like(raw, np.nan), np.full_like(raw, np.nan)
    loss.fill(y, raw, gradient, hessian, 0, y.size)
    return gradient, hessian


def leaves(n, seed=0):
    """Rows in random order, cut into leaves of 1, 9 and the remaining rows."""
    rows = np.random.default_rng(seed).permutation(n).astype(np.uint32)
    return rows, np.array([0, 1, 10, n], dtype=np.int64)
