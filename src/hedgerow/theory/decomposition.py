"""Decomposition of the error of many fitted clones at the same test points.

The predictions are one array (R, outputs, n) of R repeats at n test points: a number, or a probability or a
vote (1 or 0) for every class. A term (error, noise, bias, variance, ...) has one number per test point and is
averaged over the points.

Squared loss, at one point with the true mean f, predictions a_r and their mean a (Geman et al. 1992):

    variance    s^2 = sum of |a_r - a|^2 / (R - 1)
    bias        |a - f|^2 - s^2 / R
    error       noise + mean of |a_r - f|^2  =  noise + bias + variance

Both terms are unbiased: |a - f|^2 alone is too large by s^2 / R on average. The division by R - 1, not R,
adds the same amount to the variance, so the sum is exact. A bias near zero may be negative by chance.

Zero-one loss, at one point with the most probable label t, probabilities q_k of the labels (q_t = 1 - noise,
the others equal), fractions p_k of the votes, and the main prediction m, the class with most votes (Domingos
2000):

    bias        1 if m is not t, else 0
    variance    1 - p_m: how often a prediction differs from the main prediction
    error       1 - sum of p_k q_k  =  c1 noise + bias + c2 variance
    c1          p_t - (1 - p_t) / (K - 1): noise corrects some wrong predictions
    c2          1 where m = t; else -p_t / (1 - p_m), since only predictions of t are correct

The variance at a biased point lowers the error. c2 variance is therefore reported as two terms: the unbiased
variance 1 - p_m where m = t, and the biased variance p_t elsewhere. Their difference, the net variance, is
the variance effect of James (2003).

Standard errors come from a bootstrap over the repeats. The jackknife would be cheaper, but it is inconsistent
for a majority vote, as it is for a median.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow._typing import Floats, Integers

Terms = dict[str, Floats]  # by name, (n,)

_N_REPLICATES = 200  # a standard error is then known to 5 %


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Terms at the test points, and their means in the bootstrap.

    Parameters
    ----------
    points : dict of float64 (n,)
    replicates : dict of float64 (200,)
        From the same bootstrap samples for equal numbers of repeats, so that differences can be paired.
    centre : float64 (outputs, n)
        The mean prediction, or the fractions of the votes.
    """

    points: Terms
    replicates: dict[str, Floats]
    centre: Floats


def class_truth(labels: Integers, noise: Floats, n_classes: int) -> Floats:
    """Probabilities q (classes, n): 1 - noise for the label, and the rest evenly for the others.

    >>> class_truth(np.array([0, 2]), np.array([0.0, 0.2]), 3)
    array([[1. , 0.1],
           [0. , 0.1],
           [0. , 0.8]])
    """
    q = np.tile(noise / (n_classes - 1), (n_classes, 1))
    q[labels, np.arange(len(labels))] = 1.0 - noise
    return q


def one_hot(votes: Integers, n_classes: int) -> Floats:
    """Votes (n,) as probabilities (classes, n)."""
    hot: Floats = (np.arange(n_classes)[:, np.newaxis] == votes).astype(np.float64)
    return hot


def squared(predictions: Floats, truth: Floats, noise: Floats, scale: float = 1.0) -> Decomposition:
    """Decompose scale * |a - y|^2.

    Parameters
    ----------
    predictions : float64 (R, outputs, n), R >= 2
    truth : float64 (outputs, n)
        The mean of y.
    noise : float64 (n,)
        The mean of scale * |y - truth|^2.
    scale : float
        1/2 for probabilities: the loss of a certain prediction is then 0 or 1.
    """
    n_repeats = len(predictions)

    def size(vectors: Floats) -> Floats:
        sizes: Floats = scale * (vectors * vectors).sum(axis=-2)
        return sizes

    centre: Floats = predictions.mean(axis=0)
    away = predictions - centre  # small numbers: no cancellation if the predictions are nearly equal
    squares, errors = size(away), size(predictions - truth)  # (R, n)

    def terms(counts: Floats) -> Terms:
        shift = np.tensordot(counts, away, 1) / n_repeats
        about_mean = np.maximum(counts @ squares - n_repeats * size(shift), 0.0)
        variance = about_mean / (n_repeats - 1)
        bias = size(centre + shift - truth) - variance / n_repeats
        error = noise + counts @ errors / n_repeats
        return {"error": error, "noise": noise, "bias": bias, "variance": variance}

    return Decomposition(terms(np.ones(n_repeats)), _bootstrap(terms, n_repeats), centre)


def zero_one(predictions: Floats, labels: Integers, noise: Floats) -> Decomposition:
    """Decompose the fraction of wrong votes.

    Parameters
    ----------
    predictions : float64 (R, K, n), R >= 2, K >= 2
        Votes: 1 for one class, 0 for the others.
    labels : int64 (n,)
        The most probable label.
    noise : float64 (n,)
        Probability of the other labels together.
    """
    (n_repeats, n_classes, _), rows = predictions.shape, np.arange(len(labels))
    truth = class_truth(labels, noise, n_classes)
    errors = 1.0 - (predictions * truth).sum(axis=1)  # (R, n)

    def terms(counts: Floats) -> Terms:
        votes = np.tensordot(counts, predictions, 1)  # integers
        main = np.argmax(votes, axis=0)  # the first of equal ones
        wrong = main != labels
        right, variance = votes[labels, rows] / n_repeats, 1.0 - votes[main, rows] / n_repeats
        unbiased, biased = np.where(wrong, 0.0, variance), np.where(wrong, right, 0.0)
        return {
            "error": counts @ errors / n_repeats,
            "noise": noise,
            "bias": wrong.astype(np.float64),
            "variance": variance,
            "unbiased_variance": unbiased,
            "biased_variance": biased,
            "net_noise": noise * (right - (1.0 - right) / (n_classes - 1)),
            "net_variance": unbiased - biased,
        }

    return Decomposition(terms(np.ones(n_repeats)), _bootstrap(terms, n_repeats), predictions.mean(axis=0))


def _bootstrap(terms: Callable[[Floats], Terms], n_repeats: int) -> dict[str, Floats]:
    """Return the means of the terms in bootstrap samples of the repeats."""
    even = np.full(n_repeats, 1 / n_repeats)
    draws = np.random.default_rng(n_repeats).multinomial(n_repeats, even, _N_REPLICATES)
    means = [
        {name: float(values.mean()) for name, values in terms(counts).items()}
        for counts in draws.astype(np.float64)
    ]
    return {name: np.array([one[name] for one in means]) for name in means[0]}


def standard_error(replicates: Floats, n_repeats: int) -> float:
    """Return the standard error of a term, with the factor that makes it unbiased for a mean."""
    return float(replicates.std() * np.sqrt(n_repeats / (n_repeats - 1)))
