"""Simulated tables of independent standard normal features, with a rule that makes the label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.utils import check_random_state

from hedgerow.datasets.checks import check_count, check_real

Data = tuple[NDArray[np.float64], NDArray[np.int64]]


def make_gaussian(
    n_samples: int = 5000,
    n_features: int = 30,
    *,
    n_informative: int = 10,
    noise: float = 0.3,
    random_state: Any = None,
) -> Data:
    """Normal features of which some act linearly and some by their distance from zero.

    The informative features come first, by turns: feature 0 acts linearly, 1 by its square, 2 linearly, ...
    With k of them,

        score = (sum of x_j + sum of (x_j ** 2 - 1) / sqrt(2)) / sqrt(k) + noise * normal,

    and y is +1 where the score is above 0. All terms have mean 0 and variance 1. A linear model sees only
    half of the truth; a sum of step functions, one a feature, can express all of it.

    Parameters
    ----------
    n_samples, n_features : int
        The shape of X.
    n_informative : int
        Number of features that matter, from 1 to `n_features`.
    noise : float
        Standard deviation of what no feature explains, beside 1 of what they do.
    random_state : int, RandomState or None

    Returns
    -------
    X : float64 array of shape (n_samples, n_features)
    y : int64 array of shape (n_samples,)
        Classes -1 and +1; a little less than half are +1, since squares are skewed.

    Examples
    --------
    >>> X, y = make_gaussian(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((5000, 30), [-1, 1])
    """
    n_samples, n_features = check_count("n_samples", n_samples, 1), check_count("n_features", n_features, 1)
    n_informative = check_count("n_informative", n_informative, 1, n_features)
    noise = check_real("noise", noise, 0)
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    linear, squared = X[:, 0:n_informative:2], X[:, 1:n_informative:2]
    score = linear.sum(axis=1) + ((squared**2 - 1) / np.sqrt(2)).sum(axis=1)
    score = score / np.sqrt(n_informative) + noise * rng.standard_normal(n_samples)
    return X, np.where(score > 0, 1, -1)


def make_hastie(n_samples: int = 12000, n_features: int = 10, random_state: Any = None) -> Data:
    """Points inside and outside a sphere: example 10.2 of Hastie, Tibshirani and Friedman.

    Features are standard normal, and y is +1 where their sum of squares is above the median of its
    distribution, chi-squared with `n_features` degrees of freedom: 9.34 for ten. No linear model helps.

    Parameters
    ----------
    n_samples : int
        The book trains on 2,000 points and tests on 10,000.
    n_features : int
    random_state : int, RandomState or None
        With ten features, the same points as scikit-learn's `make_hastie_10_2`.

    Returns
    -------
    X : float64 array of shape (n_samples, n_features)
    y : int64 array of shape (n_samples,)
        Classes -1 and +1.

    References
    ----------
    Hastie, Tibshirani, Friedman, "The Elements of Statistical Learning", 2nd edition, equation 10.2.

    Examples
    --------
    >>> X, y = make_hastie(2000, random_state=0)
    >>> X.shape, float((y == 1).mean().round(1))
    ((2000, 10), 0.5)
    """
    n_samples, n_features = check_count("n_samples", n_samples, 1), check_count("n_features", n_features, 1)
    X = check_random_state(random_state).standard_normal((n_samples, n_features))
    median = 9.34 if n_features == 10 else float(chi2.median(n_features))  # the book's own digits
    return X, np.where((X**2).sum(axis=1) > median, 1, -1)
