"""Decomposition of the error of many fitted clones at the same test points, and its result, `BiasVariance`.

The predictions are one array (R, outputs, n) of R repeats at n test points: a number, or a probability or a
vote (1 or 0) for every class. A term (error, noise, bias, variance, ...) has one number per test point and is
averaged over the points.

The formulas are in `bias_variance`. The net variance of the zero-one loss, unbiased minus biased variance, is
c2 (1 - p_m) of Domingos, with c2 = 1 where m = t and -p_t / (1 - p_m) elsewhere, and the variance effect of
James.

Standard errors come from a bootstrap over the repeats. The jackknife would be cheaper, but it is inconsistent
for a majority vote, as it is for a median.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers

Terms = dict[str, Floats]  # arrays (n,) by name

_N_REPLICATES = 200  # a standard error is then known to 5 %


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Terms at the test points, and their means in the bootstrap."""

    points: Terms
    replicates: Terms  # (200,), from the same samples for equal numbers of repeats: differences can be paired
    centre: Floats  # (outputs, n): the mean prediction, or the fractions of the votes


def class_truth(labels: Integers, noise: Floats, n_classes: int) -> Floats:
    """Return probabilities q (classes, n): 1 - noise for the label, and the rest evenly for the others.

    >>> class_truth(np.array([0, 2]), np.array([0.0, 0.2]), 3)
    array([[1. , 0.1],
           [0. , 0.1],
           [0. , 0.8]])
    """
    q = np.tile(noise / (n_classes - 1), (n_classes, 1))
    q[labels, np.arange(len(labels))] = 1.0 - noise
    return q


def one_hot(votes: Integers, n_classes: int) -> Floats:
    """Return votes (n,) as probabilities (classes, n)."""
    return np.asarray(np.arange(n_classes)[:, np.newaxis] == votes, dtype=np.float64)


def squared(predictions: Floats, truth: Floats, noise: Floats, scale: float = 1.0) -> Decomposition:
    """Decompose scale * |a - y|^2 of predictions (R, outputs, n), R >= 2.

    truth (outputs, n) is the mean of y, and noise (n,) the mean of scale * |y - truth|^2. The scale is 1/2
    for probabilities: the loss of a certain prediction is then 0 or 1.
    """
    n_repeats = len(predictions)

    def size(vectors: Floats) -> Floats:
        return np.asarray(scale * (vectors * vectors).sum(axis=-2))

    centre: Floats = predictions.mean(axis=0)
    away = predictions - centre  # small numbers: no cancellation if the predictions are nearly equal
    squares, errors = size(away), size(predictions - truth)  # (R, n)

    def terms(counts: Floats) -> Terms:
        shift = _weighted_sum(counts, away) / n_repeats
        about_mean = np.maximum(_weighted_sum(counts, squares) - n_repeats * size(shift), 0.0)
        variance = about_mean / (n_repeats - 1)
        bias = size(centre + shift - truth) - variance / n_repeats
        error = noise + _weighted_sum(counts, errors) / n_repeats
        return {"error": error, "noise": noise, "bias": bias, "variance": variance}

    return Decomposition(terms(np.ones(n_repeats)), _bootstrap(terms, n_repeats), centre)


def zero_one(predictions: Floats, labels: Integers, noise: Floats) -> Decomposition:
    """Decompose the fraction of wrong votes (R, K, n), 1 for one class and 0 for the others; R, K >= 2.

    labels (n,) are the most probable labels, and noise (n,) the probability of all others together.
    """
    (n_repeats, n_classes, _), rows = predictions.shape, np.arange(len(labels))
    truth = class_truth(labels, noise, n_classes)
    errors = 1.0 - (predictions * truth).sum(axis=1)  # (R, n)

    def terms(counts: Floats) -> Terms:
        votes = _weighted_sum(counts, predictions)  # integers
        main = np.argmax(votes, axis=0)  # the first of equal ones
        wrong = main != labels
        right, variance = votes[labels, rows] / n_repeats, 1.0 - votes[main, rows] / n_repeats
        unbiased, biased = np.where(wrong, 0.0, variance), np.where(wrong, right, 0.0)
        return {
            "error": _weighted_sum(counts, errors) / n_repeats,
            "noise": noise,
            "bias": wrong.astype(np.float64),
            "variance": variance,
            "unbiased_variance": unbiased,
            "biased_variance": biased,
            "net_noise": noise * (right - (1.0 - right) / (n_classes - 1)),
            "net_variance": unbiased - biased,
        }

    return Decomposition(terms(np.ones(n_repeats)), _bootstrap(terms, n_repeats), predictions.mean(axis=0))


def _weighted_sum(counts: Floats, values: Floats) -> Floats:
    """Sum counts[r] * values[r] over the repeats r in their order; that of BLAS depends on the processor."""
    total = np.zeros(values.shape[1:])
    for count, value in zip(counts.tolist(), values, strict=True):
        if count:
            total += count * value
    return total


def _bootstrap(terms: Callable[[Floats], Terms], n_repeats: int) -> Terms:
    """Return the means of the terms in bootstrap samples of the repeats."""
    # integers: NumPy draws a multinomial with exp and log of the C library
    draws = np.random.default_rng(n_repeats).integers(0, n_repeats, (_N_REPLICATES, n_repeats))
    means = [
        {name: float(values.mean()) for name, values in terms(counts).items()}
        for counts in (np.bincount(rows, minlength=n_repeats).astype(np.float64) for rows in draws)
    ]
    return {name: np.array([sample[name] for sample in means]) for name in means[0]}


def standard_error(replicates: Floats, n_repeats: int) -> float:
    """Return the standard error of a term, with the factor that makes it unbiased for a mean."""
    return float(replicates.std() * np.sqrt(n_repeats / (n_repeats - 1)))


# --- the result

# The terms of a sum as they are printed: sign, name of the attribute, text.
_ADDED = (("+", "bias", "bias²"), ("+", "variance", "variance"))
_SUMS = {
    "squared": _ADDED,
    "brier": _ADDED,
    "kohavi_wolpert": _ADDED,
    "zero_one": (
        ("+", "bias", "bias"),
        ("+", "unbiased_variance", "unbiased variance"),
        ("−", "biased_variance", "biased variance"),
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance:
    """Bias and variance of an estimator, measured by `bias_variance`.

    ``error = net_noise + bias + net_variance`` up to rounding, for every loss. Except for the zero-one loss,
    the net terms equal noise and variance.

    Attributes
    ----------
    name : str
        The class of the estimator.
    loss : str
        The decomposed loss.
    n_repeats, n_points : int
        Numbers of training sets and of test points.
    noise_known : bool
        Whether `noise` was passed. If not, it is 0, and the noise is part of the bias.
    error, noise, bias, variance : float
        Means over the test points; `bias` is the squared bias of the squared losses.
    unbiased_variance, biased_variance : float
        Zero-one loss: the variance at points where the main prediction is correct, which increases the error,
        and the fraction of correct predictions where it is wrong, which decreases the error. With two classes
        and without noise their sum is the variance. For other losses, the variance and 0.
    net_noise, net_variance : float
        Contributions of noise and variance to the error.
    standard_errors : dict of float
        Standard errors of all terms from a bootstrap over the repeats: the variation with other training
        sets at the same test points.
    per_point : dict of float64 arrays of shape (n_points,)
        The terms at every test point.
    replicates : dict of float64 arrays of shape (200,)
        The terms in the bootstrap samples, which are the same for all results with equal `n_repeats`.
    main_prediction : array of shape (n_points,) or (n_points, n_classes)
        The mean prediction, the mean probabilities (Brier), or the label with most votes.
    classes : array of labels or None
        All labels.
    seed : int
        Results with the same seed and sampler have the same training sets.

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> from hedgerow.theory import bias_variance
    >>> from sklearn.datasets import make_friedman1
    >>> def sampler(seed):
    ...     return make_friedman1(100, noise=1.0, random_state=seed)
    >>> test = make_friedman1(200, noise=0.0, random_state=12345)
    >>> stump, deep = (
    ...     bias_variance(DecisionTreeRegressor(max_depth=d), sampler, test=test, noise=1.0, random_state=0)
    ...     for d in (1, None)
    ... )
    >>> print(deep)
    Bias and variance of DecisionTreeRegressor, squared loss, 50 repeats, 200 test points
      error       16.86 ± 0.40
      = noise      1.00
      + bias²      4.57 ± 0.20
      + variance  11.29 ± 0.37
    >>> difference, standard_error = stump.difference(deep, "bias")
    >>> difference > 4 * standard_error
    True
    """

    name: str
    loss: str
    n_repeats: int
    n_points: int
    noise_known: bool
    error: float
    noise: float
    bias: float
    variance: float
    unbiased_variance: float
    biased_variance: float
    net_noise: float
    net_variance: float
    standard_errors: Mapping[str, float]
    per_point: Mapping[str, Floats]
    replicates: Mapping[str, Floats]
    main_prediction: NDArray[Any]
    classes: NDArray[Any] | None
    seed: int

    def difference(self, other: "BiasVariance", term: str = "error") -> tuple[float, float]:
        """Return the difference of a term between this result and another.

        Parameters
        ----------
        other : BiasVariance
            A result for the same loss. If it has the same seed and number of repeats, it must have the same
            sampler: both then have the same training sets, and the difference is computed in pairs.
        term : str
            "error", "bias", "variance", ...

        Returns
        -------
        difference, standard_error : float
        """
        if not isinstance(other, BiasVariance):
            raise TypeError(f"other must be a BiasVariance; got {type(other).__name__}")
        if other.loss != self.loss:
            raise ValueError(f"other must have the loss {self.loss!r}; got {other.loss!r}")
        if term not in self.standard_errors:
            allowed = ", ".join(map(repr, self.standard_errors))
            raise ValueError(f"term={term!r} is not allowed: it must be one of {allowed}")
        value = getattr(self, term) - getattr(other, term)
        if (self.seed, self.n_repeats) == (other.seed, other.n_repeats):
            differences = self.replicates[term] - other.replicates[term]
            return value, standard_error(differences, self.n_repeats)
        return value, math.sqrt(self.standard_errors[term] ** 2 + other.standard_errors[term] ** 2)

    @property
    def sum_of_terms(self) -> list[tuple[str, str, str]]:
        """The terms of the error: sign, name of the attribute, and text."""
        terms = list(_SUMS[self.loss])
        if not self.noise_known:
            sign, term, text = terms[0]
            terms[0] = (sign, term, f"{text} and noise")
        elif self.noise > 0:
            terms.insert(0, ("+", "net_noise" if self.loss == "zero_one" else "noise", "noise"))
        return terms

    def __str__(self) -> str:
        """Return the sum, one term per line."""
        lines = [("error", self.error, self.standard_errors["error"])]
        for number, (sign, term, text) in enumerate(self.sum_of_terms):
            mark = sign if number else "="
            error = 0.0 if term == "noise" else self.standard_errors[term]  # the noise is an input
            lines.append((f"{mark} {text}", getattr(self, term), error))
        decimals = _decimals(lines[0][2], self.error)
        figures = [f"{value:.{decimals}f}" for _, value, _ in lines]
        width, wide = max(len(line[0]) for line in lines), max(map(len, figures))
        head = (
            f"Bias and variance of {self.name}, {self.loss.replace('_', '-')} loss, "
            f"{self.n_repeats} repeats, {self.n_points} test points"
        )
        body = [
            f"  {text:{width}}  {figure:>{wide}}" + (f" ± {error:.{decimals}f}" if error else "")
            for (text, _, error), figure in zip(lines, figures, strict=True)
        ]
        return "\n".join([head, *body])

    def __repr__(self) -> str:
        terms = ", ".join(
            f"{name}={getattr(self, name):.4g}" for name in ("error", "noise", "bias", "variance")
        )
        return f"BiasVariance({self.name}, {self.loss!r}, {terms}, n_repeats={self.n_repeats})"


def _decimals(error: float, value: float) -> int:
    """Return the decimals for two digits of a standard error, or four of the value if there is none.

    >>> [_decimals(error, 1.0) for error in (0.0, 0.0012, 0.39, 12.0)]
    [4, 4, 2, 0]
    """
    scale = error or abs(value) / 1000
    return int(np.clip(np.ceil(-np.log10(scale)) + 1, 0, 12)) if scale > 0 else 4
