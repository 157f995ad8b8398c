"""Ten points of Schapire's tutorials, intervals on a line, simulated tables, and label noise.

The ten points and the three half-planes of AdaBoost: left of a, left of b, above c. Each misclassifies three
points, and no point is misclassified twice.

             a                       b
             |                +      |
             |                       |   -
             |         +             |
             |                    +  |
    - - - - -|- - - - - - - - - - - -|- - - - - - c
             |  -                    |
             |                       |      -
        +    |                       |
             |      -                |
          +  |                       |
             |             -         |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.utils import check_random_state

from hedgerow._typing import Floats, Integers, is_missing
from hedgerow.estimators.parameters import check_parameters, integer, number

Data = tuple[Floats, Integers]

_TOY = (  # x, y, label
    (0.08, 0.40, +1),
    (0.14, 0.18, +1),
    (0.28, 0.52, -1),
    (0.36, 0.28, -1),
    (0.44, 0.76, +1),
    (0.52, 0.10, -1),
    (0.60, 0.92, +1),
    (0.68, 0.68, +1),
    (0.84, 0.84, -1),
    (0.92, 0.46, -1),
)


def load_toy() -> Data:
    """Return ten points in the plane that three half-planes classify without error.

    This is the example of Schapire's tutorials on boosting, with coordinates similar to the well-known
    drawing. AdaBoost with the best horizontal or vertical half-plane in every round has weighted errors of
    3/10, 3/14 and 3/22 (0.30, 0.21, 0.14), weights of 0.42, 0.65 and 0.92, and no training error after three
    rounds. In rounds 1 and 2 several half-planes are tied, and each gives these numbers. The order of the
    drawing (left line, right line, horizontal line) results if ties go to the lower column, then the lower
    threshold.

    Returns
    -------
    X : float64 array of shape (10, 2)
    y : int64 array of shape (10,)
        Five -1 and five +1.

    Examples
    --------
    >>> X, y = load_toy()
    >>> X.shape
    (10, 2)
    >>> y
    array([ 1,  1, -1, -1,  1, -1,  1,  1, -1, -1])
    """
    points = np.array(_TOY)
    return np.ascontiguousarray(points[:, :2]), points[:, 2].astype(np.int64)


def load_three_points() -> Data:
    """Return the smallest set that no threshold classifies: labels -1, +1, -1 at -1, 0, 1.

    Every threshold function misclassifies at least one of the three points.

    Returns
    -------
    X : float64 array of shape (3, 1)
    y : int64 array of shape (3,)

    Examples
    --------
    >>> X, y = load_three_points()
    >>> X.ravel(), y
    (array([-1.,  0.,  1.]), array([-1,  1, -1]))
    """
    return np.array([[-1.0], [0.0], [1.0]]), np.array([-1, 1, -1])


def make_interval(
    n_samples: int = 100, low: float = -0.5, high: float = 0.5, noise: float = 0.0, random_state: Any = None
) -> Data:
    """Simulate points on a line that are +1 inside an interval and -1 on both sides of it.

    A threshold on x is correct in at most two of the three regions. For all weights of the points, one of the
    regions has at most a third of the weight, so the best threshold has an error of at most 1/3: thresholds
    are weak hypotheses with an edge of 1/6.

    Parameters
    ----------
    n_samples : int
        Number of points, at least 3. One is drawn in each of the three regions, so no threshold is correct
        on all points; the others are uniform on [-1, 1].
    low, high : float
        The closed interval, with -1 < low < high < 1.
    noise : float
        Fraction of the labels that are flipped, from 0 to 1, except those of the three points above.
    random_state : int, RandomState or None

    Returns
    -------
    X : float64 array of shape (n_samples, 1)
    y : int64 array of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_interval(6, random_state=0)
    >>> X.ravel().round(2)
    array([-0.15, -0.78,  0.09,  0.29,  0.39,  0.98])
    >>> y
    array([ 1, -1,  1,  1,  1, -1])
    """
    unit = number(-1, 1)
    check_parameters(locals(), {"n_samples": integer(3), "low": unit, "high": unit, "noise": number(0, 1)})
    if not -1 < low < high < 1:
        raise ValueError(f"low={low!r} and high={high!r} are not allowed: -1 < low < high < 1 is required")
    rng = check_random_state(random_state)
    x = rng.uniform(-1.0, 1.0, n_samples)
    # the first three: one per region; np.nextafter keeps the outer two outside the closed interval
    lower, upper = [-1.0, low, np.nextafter(high, 2.0)], [np.nextafter(low, -2.0), high, 1.0]
    x[:3] = np.clip(rng.uniform(lower, upper), lower, upper)
    y = np.where((x >= low) & (x <= high), 1, -1)
    if noise:
        n_noisy = min(round(noise * n_samples), n_samples - 3)
        rows = 3 + rng.permutation(n_samples - 3)[:n_noisy]
        y[rows] = -y[rows]
    order = rng.permutation(n_samples)
    return x[order, None], y[order]


def make_gaussian(
    n_samples: int = 5000,
    n_features: int = 30,
    *,
    n_informative: int = 10,
    noise: float = 0.3,
    random_state: Any = None,
) -> Data:
    """Simulate normal features with linear and quadratic effects.

    The informative features come first and alternate: feature 0 has a linear effect, 1 a quadratic one, 2 a
    linear one, and so on. With k of them,

        score = (sum of x_j + sum of (x_j ** 2 - 1) / sqrt(2)) / sqrt(k) + noise * normal,

    and y is +1 where the score is positive. All terms have mean 0 and variance 1. A linear model represents
    only the linear effects; a sum of functions of one feature each represents all effects.

    Parameters
    ----------
    n_samples, n_features : int
        The shape of X.
    n_informative : int
        Number of features with an effect, from 1 to `n_features`.
    noise : float
        Standard deviation of the noise; that of the effects is 1.
    random_state : int, RandomState or None

    Returns
    -------
    X : float64 array of shape (n_samples, n_features)
    y : int64 array of shape (n_samples,)
        Classes -1 and +1; slightly less than half are +1, because squares are skewed.

    Examples
    --------
    >>> X, y = make_gaussian(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((5000, 30), [-1, 1])
    """
    check_parameters(locals(), {"n_samples": integer(1), "n_features": integer(1), "noise": number(0)})
    check_parameters(locals(), {"n_informative": integer(1, n_features)})
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    linear, squared = X[:, 0:n_informative:2], X[:, 1:n_informative:2]
    score = linear.sum(axis=1) + ((squared**2 - 1) / np.sqrt(2)).sum(axis=1)
    score = score / np.sqrt(n_informative) + noise * rng.standard_normal(n_samples)
    return X, np.where(score > 0, 1, -1)


def make_hastie(n_samples: int = 12000, n_features: int = 10, random_state: Any = None) -> Data:
    """Simulate points inside and outside a sphere: example 10.2 of Hastie, Tibshirani and Friedman.

    Features are standard normal, and y is +1 where their sum of squares is above the median of its
    distribution, chi-squared with `n_features` degrees of freedom: 9.34 for ten. A linear model is no better
    than chance.

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
    check_parameters(locals(), {"n_samples": integer(1), "n_features": integer(1)})
    X = check_random_state(random_state).standard_normal((n_samples, n_features))
    median = 9.34 if n_features == 10 else float(chi2.median(n_features))  # as rounded in the book
    return X, np.where((X**2).sum(axis=1) > median, 1, -1)


def flip_labels(y: Any, share: float = 0.1, random_state: Any = None) -> tuple[NDArray[Any], Integers]:
    """Replace a fraction of the labels by other classes.

    The rows are drawn without replacement. Each gets one of the other classes with equal probability.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels of two or more classes: numbers, strings or booleans. It is not changed.
    share : float
        Fraction of the labels to replace, from 0 to 1; their number is rounded to the nearest integer.
    random_state : int, RandomState or None

    Returns
    -------
    noisy : array of shape (n_samples,)
        The new labels, with the same dtype.
    flipped : int64 array
        The changed rows, in increasing order.

    Examples
    --------
    >>> noisy, flipped = flip_labels(["cat", "dog", "dog", "cat", "cow"], share=0.4, random_state=0)
    >>> noisy
    array(['dog', 'dog', 'cow', 'cat', 'cow'], dtype='<U3')
    >>> flipped
    array([0, 2])
    """
    labels = np.array(y)
    check_parameters({"share": share}, {"share": number(0, 1)})
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional; got shape {labels.shape}")
    classes, positions = _classes(labels)
    n_flipped = round(share * len(labels))
    if n_flipped and len(classes) < 2:
        raise ValueError(f"y must have at least two classes; got only {classes.tolist()[0]!r}")
    rng = check_random_state(random_state)
    flipped: Integers = np.sort(rng.permutation(len(labels))[:n_flipped]).astype(np.int64)
    # a shift by 1 to K - 1, modulo K classes, always changes the class
    shifts = rng.randint(1, max(len(classes), 2), size=n_flipped)
    labels[flipped] = classes[(positions[flipped] + shifts) % max(len(classes), 1)]
    return labels, flipped


def _classes(labels: NDArray[Any]) -> tuple[NDArray[Any], Integers]:
    """Return the sorted classes, and the position of every label among them."""
    for row, label in enumerate(labels.tolist() if labels.dtype.kind in "fO" else ()):
        if is_missing(label):
            raise ValueError(f"y[{row}]={label!r} is not allowed: every label must be a class")
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"the labels in y cannot be sorted: {error}") from error
