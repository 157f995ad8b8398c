"""Weights of voters that minimise a bound: descent on the simplex.

J(w) = w' A w + h * sum_i w_i ln(w_i n), where A (n, n) holds mean joint losses and h > 0 penalises unequal
weights. Steps are multiplicative, w_i <- w_i exp(-s dJ/dw_i), then scaled to sum 1 (exponentiated gradient,
Kivinen and Warmuth 1997), with a step s that grows while J decreases and is halved otherwise.
"""

import numpy as np

from hedgerow.kernels.cpu.elementary import exp, log
from hedgerow.kernels.cpu.jit import kernel

_GROW, _SHRINK = 1.5, 0.5


@kernel
def mean_of_pairs(matrix, weights):
    """w' A w, in the order of the voters: the same bits on every machine, unlike the product of a library."""
    value = 0.0
    for i in range(weights.shape[0]):
        row = 0.0
        for j in range(weights.shape[0]):
            row += matrix[i, j] * weights[j]
        value += weights[i] * row
    return value


@kernel
def _objective(matrix, weights, penalty, gradient):
    """J, and its gradient up to a constant; sums run in the order of the voters."""
    n = weights.shape[0]
    value = 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            row += matrix[i, j] * weights[j]
        logarithm = log(weights[i] * n)
        value += weights[i] * (row + penalty * logarithm)
        gradient[i] = 2.0 * row + penalty * logarithm
    return value


@kernel
def minimize_objective(matrix, penalty, weights, n_steps, tolerance):
    """Minimise J over `weights`, all positive and of sum 1, in place; return the last J.

    Stops when a step decreases J by less than `tolerance` times J, or after `n_steps`.
    """
    n = weights.shape[0]
    gradient, new_weights, new_gradient = np.empty(n), np.empty(n), np.empty(n)
    value, step = _objective(matrix, weights, penalty, gradient), 1.0
    for _ in range(n_steps):
        least = gradient[0]
        for i in range(1, n):
            least = min(least, gradient[i])
        total = 0.0
        for i in range(n):
            moved = weights[i] * exp(-step * (gradient[i] - least))
            new_weights[i] = max(moved, 1e-300)  # its logarithm is finite
            total += new_weights[i]
        for i in range(n):
            new_weights[i] /= total
        new_value = _objective(matrix, new_weights, penalty, new_gradient)
        if new_value < value:
            done = value - new_value < tolerance * value
            value = new_value
            for i in range(n):
                weights[i], gradient[i] = new_weights[i], new_gradient[i]
            step *= _GROW
            if done:
                break
        else:
            step *= _SHRINK
            if step < 1e-12:
                break
    return value
