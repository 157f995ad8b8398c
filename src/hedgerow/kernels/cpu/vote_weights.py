"""Weights of voters that lower a bound: one descent on the simplex.

J(w) = w' A w + h * sum_i w_i ln(w_i n), where A (n, n) holds mean joint losses and h > 0 draws towards equal
weights. Steps are multiplicative, w_i <- w_i exp(-s dJ/dw_i), then scaled to sum 1 (exponentiated gradient,
Kivinen and Warmuth 1997), with a step s that grows while J falls and is halved when it does not.
"""

import numpy as np

from hedgerow.kernels.cpu.elementary import exp, log
from hedgerow.kernels.cpu.jit import njit

_GROW, _SHRINK = 1.5, 0.5


@njit(cache=True, nogil=True)
def mean_of_pairs(matrix, weights):
    """w' A w, in the order of the voters: the same bits everywhere, which a library's product is not."""
    value = 0.0
    for i in range(weights.shape[0]):
        row = 0.0
        for j in range(weights.shape[0]):
            row += matrix[i, j] * weights[j]
        value += weights[i] * row
    return value


@njit(cache=True, nogil=True)
def _objective(matrix, weights, pull, gradient):
    """J, and its gradient up to a constant; sums run in the order of the voters."""
    n = weights.shape[0]
    value = 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            row += matrix[i, j] * weights[j]
        logarithm = log(weights[i] * n)
        value += weights[i] * (row + pull * logarithm)
        gradient[i] = 2.0 * row + pull * logarithm
    return value


@njit(cache=True, nogil=True)
def lower_votes(matrix, pull, weights, n_steps, tolerance):
    """Move `weights`, all positive and of sum 1, downhill; returns J where they end.

    Ends when a step lowers J by less than `tolerance` times J, or after `n_steps`.
    """
    n = weights.shape[0]
    gradient, tried, slope = np.empty(n), np.empty(n), np.empty(n)
    value, step = _objective(matrix, weights, pull, gradient), 1.0
    for _ in range(n_steps):
        least = gradient.min()
        total = 0.0
        for i in range(n):
            tried[i] = max(weights[i] * exp(-step * (gradient[i] - least)), 1e-300)  # it has a logarithm
            total += tried[i]
        for i in range(n):
            tried[i] /= total
        reached = _objective(matrix, tried, pull, slope)
        if reached < value:
            done = value - reached < tolerance * value
            value = reached
            weights[:], gradient[:] = tried, slope
            step *= _GROW
            if done:
                break
        else:
            step *= _SHRINK
            if step < 1e-12:
                break
    return value
