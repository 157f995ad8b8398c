"""Small data sets that illustrate boosting, and label noise.

Every function returns plain arrays: X is float64 of shape (n_samples, n_features), and y is int64 with the
classes -1 and +1 (0 and 1 for the accidents, which are read from a file of another package).
`random_state` is an integer, a `numpy.random.RandomState` or None, as in scikit-learn.
"""

from hedgerow.datasets.accidents import load_accidents
from hedgerow.datasets.simulated import (
    flip_labels,
    load_three_points,
    load_toy,
    make_gaussian,
    make_hastie,
    make_interval,
)

__all__ = [
    "flip_labels",
    "load_accidents",
    "load_three_points",
    "load_toy",
    "make_gaussian",
    "make_hastie",
    "make_interval",
]
