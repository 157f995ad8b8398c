"""Distributions that the tests of bias and variance draw from."""

import numpy as np

from hedgerow.datasets import make_gaussian


def draw_numbers(seed, n=60):
    """y = x0 + normal noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + rng.normal(size=n)


def draw_noise(seed, n=60):
    """Numbers that have nothing to do with X."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 2)), rng.normal(size=n)


def draw_classes(seed, n=80):
    """Three classes by the first column, one in ten wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    flip = rng.random(n) < 0.1
    return X, np.where(flip, (y + rng.integers(1, 3, n)) % 3, y)


def draw_two(seed, n=120):
    return make_gaussian(n, 4, n_informative=4, noise=0.0, random_state=seed)


def some_points():
    return np.random.default_rng(10**6).uniform(-1, 1, (50, 2))


NUMBERS_TEST = (some_points(), some_points()[:, 0])
CLASSES_TEST = (2 * some_points(), np.digitize(2 * some_points()[:, 0], [-0.5, 0.5]))
