"""Samples of the rows of a round whose gradients are multiplied by factors; uniform ones are `Weights.draw`.

    gradient   of a fraction `subsample` of the rows, two thirds are the rows of the largest gradients, the
               rest is drawn from the others and has the total weight of these (gradient-based one-side
               sampling, Ke et al. 2017)
    bayesian   a uniform draw; each row weighs (-log u)**t with u uniform in (0, 1): the Bayesian bootstrap
               (Rubin 1981) for the temperature t = 1, equal weights for t = 0

Draws are hashes of the seed, the round and the position of a row among those of positive weight. Weights are
computed row by row, before gradients become integers, so that no sum depends on threads.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, RowNumbers
from hedgerow.backends.base import BoostingOptions
from hedgerow.elementary import exp, log
from hedgerow.growing.grower import Weights
from hedgerow.kernels.cpu.random import ROW_WEIGHTS, draw_positions, draw_row_range

SAMPLINGS = ("uniform", "gradient", "bayesian")
TOP_FRACTION = 2.0 / 3.0  # of the rows of gradient-based sampling, as in LightGBM: 0.2 of all, and 0.1 drawn


class RowSampler:
    """Draws the rows of every round, and what their gradients are multiplied by."""

    def __init__(self, options: BoostingOptions, weights: Weights, n_rows: int) -> None:
        self._options, self._weights, self._n_rows = options, weights, n_rows

    def draw(self, gradient: Floats, iteration: int) -> tuple[RowNumbers, Floats]:
        """Return the rows of a round in ascending order, and factors (all rows,) of gradients and hessians.

        gradient : (outputs, all rows).
        """
        options, rows = self._options, self._weights.rows
        if options.sampling == "gradient":
            return self._draw_by_gradient(gradient, iteration)
        drawn = self._weights.draw(options.subsample, options.seed, iteration)
        factors = np.ones(self._n_rows)
        factors[rows] = bayesian_factors(options.seed, options.bagging_temperature, iteration, 0, len(rows))
        return drawn, factors

    def _draw_by_gradient(self, gradient: Floats, iteration: int) -> tuple[RowNumbers, Floats]:
        options, rows = self._options, self._weights.rows
        n_rows = len(rows)
        size = np.abs(gradient[0][rows])
        for output in gradient[1:]:  # np.sum may add in another order
            size += np.abs(output[rows])
        weight = self._weights.copies if self._weights.copies.size else self._weights.weight
        is_top = _largest(size * weight[rows] if weight.size else size, top_count(n_rows, options.subsample))
        n_top = int(is_top.sum())
        fraction = max(0.0, options.subsample * n_rows - n_top) / max(1, n_rows - n_top)
        chosen = np.zeros(n_rows, np.bool_)
        chosen[draw_positions(n_rows, fraction, options.seed, iteration)] = fraction > 0.0
        factors = np.ones(self._n_rows)
        factors[rows[chosen & ~is_top]] = 1.0 / fraction if fraction else 1.0
        return rows[chosen | is_top], factors


def top_count(n_rows: int, subsample: float) -> int:
    """Return how many rows are used for their large gradients.

    >>> top_count(1000, 0.3), top_count(2, 0.3)
    (200, 1)
    """
    return min(n_rows, math.ceil(round(TOP_FRACTION * subsample * n_rows, 6)))


def _largest(values: Floats, n: int) -> NDArray[np.bool_]:
    """Return whether a value is one of the n largest; the first of equal values are preferred."""
    least = np.partition(values, len(values) - n)[len(values) - n]
    chosen: NDArray[np.bool_] = values > least
    equal = np.flatnonzero(values == least)
    chosen[equal[: n - int(chosen.sum())]] = True
    return chosen


def bayesian_factors(seed: int, temperature: float, iteration: int, start: int, stop: int) -> Floats:
    """Return the factors of a round for positions [start, stop) among the rows of positive weight."""
    draws = np.empty(stop - start, np.uint64)
    draw_row_range(seed, ROW_WEIGHTS, iteration, start, draws)
    return bayesian_weights(draws, temperature)


def bayesian_weights(draws: NDArray[np.uint64], temperature: float) -> Floats:
    """Return (-log u)**temperature for uniform uint64 draws.

    >>> draws = np.array([0, 2**63, 2**64 - 1], np.uint64)
    >>> bayesian_weights(draws, 1.0).round(3).tolist(), bayesian_weights(draws, 0.0).tolist()
    ([36.737, 0.693, 0.0], [1.0, 1.0, 1.0])
    """
    uniform = ((draws >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52  # exact, never 0 or 1
    weights: Floats = exp(temperature * log(-log(uniform)))
    return weights
