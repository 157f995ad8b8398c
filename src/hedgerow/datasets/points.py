"""Small sets of points: the ten points of Schapire's tutorials, and intervals on a line.

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
from sklearn.utils import check_random_state

from hedgerow.estimators.parameters import check_parameters, real, whole

Data = tuple[NDArray[np.float64], NDArray[np.int64]]

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
    unit = real(-1, 1)
    check_parameters(locals(), {"n_samples": whole(3), "low": unit, "high": unit, "noise": real(0, 1)})
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
