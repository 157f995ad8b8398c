"""A link ties the raw score of the model, any real number, to the mean of the target.

`link(mean)` gives raw scores, `inverse(raw)` gives means; both take and return float64 arrays of
one shape. exp and log are the library's own, so that predictions have the same bits everywhere.
"""

import abc
from collections.abc import Callable

import numpy as np

from hedgerow._typing import Floats
from hedgerow.kernels.cpu.elementary import exp_into, log_into, sigmoid_into
from hedgerow.kernels.cpu.losses import softmax


def _apply(kernel: Callable[[Floats, Floats], None], x: Floats) -> Floats:
    x = np.ascontiguousarray(x, dtype=np.float64)
    out = np.empty_like(x)
    kernel(x.reshape(-1), out.reshape(-1))
    return out


def exp(x: Floats) -> Floats:
    """Exponential of an array of any shape, the same bits on every CPU."""
    return _apply(exp_into, x)


def log(x: Floats) -> Floats:
    """Natural logarithm of an array of any shape, the same bits on every CPU."""
    return _apply(log_into, x)


class Link(abc.ABC):
    """A pair of inverse functions between means and raw scores."""

    @abc.abstractmethod
    def link(self, mean: Floats) -> Floats:
        """Raw scores of means."""

    @abc.abstractmethod
    def inverse(self, raw: Floats) -> Floats:
        """Means of raw scores."""


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
        """Log odds, divided by the slope."""
        with np.errstate(divide="ignore"):  # probability 1 has score inf
            return log(mean / (1.0 - mean)) / self.slope

    def inverse(self, raw: Floats) -> Floats:
        """Probability of class 1."""
        return _apply(sigmoid_into, self.slope * raw)


class SoftmaxLink(Link):
    """Probabilities = softmax of the scores over the first axis: (K, n) or (K,).

    Scores that differ by a constant have the same probabilities; `link` gives those of mean 0.

    >>> SoftmaxLink().inverse(np.zeros((4, 2)))[:, 0]
    array([0.25, 0.25, 0.25, 0.25])
    """

    def link(self, mean: Floats) -> Floats:
        """Centred logs of the probabilities."""
        raw = log(mean)
        centre = np.zeros(raw.shape[1:])
        for scores in raw:  # in this order: np.mean may add in another
            centre += scores
        return np.asarray(raw - centre / len(raw))

    def inverse(self, raw: Floats) -> Floats:
        """Softmax over the first axis."""
        scores = np.ascontiguousarray(raw, dtype=np.float64)
        out = np.empty_like(scores)
        softmax(scores.reshape(len(scores), -1), 0, out.reshape(len(scores), -1))
        return out
