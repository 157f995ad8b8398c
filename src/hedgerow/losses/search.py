"""Searches for the best step, many leaves at a time.

A search works on arrays with one entry a leaf: the slope of a convex function of the step, its
curvature, and the bracket [low, high] known to hold the minimum. The values of the rows of all
leaves lie one after the other, cut by `starts`, as in the kernels.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.losses import leaf_quantiles, leaf_sums

MAX_ITERATIONS = 100  # Newton needs about 6; halving an interval down to its last bit about 60
RELATIVE_STEP = 1e-12  # a move this small against the step itself ends the search
RELATIVE_SLOPE = 1e-14  # a slope this small against the sum of |slopes| is rounding

Derivatives = Callable[[Floats], tuple[Floats, Floats]]


def minimise(derivatives: Derivatives, low: Floats, high: Floats, noise: Floats) -> Floats:
    """Minimise convex functions of one step each, starting from the step 0, by bracketed Newton.

    A Newton move is taken while it stays inside the bracket and is at most half the move before
    it. Otherwise the search goes to the bound, if that has not been tried; then it halves the
    bracket or, where there is no bound, doubles its move.

    Parameters
    ----------
    derivatives : callable
        Slopes and curvatures (m,) at steps (m,). Curvatures only choose the way and may be rough;
        slopes that are not finite mean that the step is too large.
    low, high : float64 (m,)
        Bounds of the steps, low <= 0 <= high; may be infinite.
    noise : float64 (m,)
        Slopes up to this size count as zero.

    Returns
    -------
    float64 (m,)
    """
    step = np.zeros_like(low)
    move = np.full_like(low, np.inf)
    # The bracket; one float wider than the bounds, which shows that a bound has not been tried.
    left, right = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    for _ in range(MAX_ITERATIONS):
        slope, curvature = derivatives(step)
        slope = np.where(np.isfinite(slope), slope, np.copysign(np.inf, step))
        left = np.where(slope < 0.0, step, left)
        right = np.where(slope > 0.0, step, right)
        with np.errstate(all="ignore"):
            newton = np.clip(step - slope / curvature, low, high)
            usable = (curvature > 0.0) & (newton > left) & (newton < right)
            usable &= np.abs(newton - step) <= 0.5 * np.abs(move)
            bound = np.where(slope < 0.0, high, low)
            untried = np.isfinite(bound) & np.where(slope < 0.0, right > high, left < low)
            middle = left + 0.5 * (right - left)
            further = step - np.sign(slope) * np.where(np.isfinite(move), 2.0 * np.abs(move), 0.0)
        other = np.where(np.isfinite(middle), middle, further)
        target = np.where(usable, newton, np.where(untried, bound, other))
        target = np.where(np.abs(slope) <= noise, step, target)
        move = target - step
        step = target
        if np.all(np.abs(move) <= RELATIVE_STEP * np.abs(step)):
            break
    return np.clip(step, low, high)


def leaf_means(values: Floats, weight: Floats, starts: Integers) -> Floats:
    """Weighted mean in every leaf; 0 in a leaf without weight."""
    sums: Floats = leaf_sums(values, weight, starts)
    totals = leaf_weights(weight, starts)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0.0)


def leaf_weights(weight: Floats, starts: Integers) -> Floats:
    """Total weight of every leaf; the number of rows when `weight` is empty."""
    if not weight.size:
        return np.diff(starts).astype(np.float64)
    return np.asarray(leaf_sums(weight, np.empty(0), starts))


def leaf_levels(values: Floats, weight: Floats, starts: Integers, level: float) -> Floats:
    """Find in every leaf the smallest value at or below which lies `level` of its weight."""
    if weight.size:
        return np.asarray(leaf_quantiles(values.copy(), weight.copy(), starts, level))
    levels = np.zeros(starts.size - 1)
    for leaf, (a, b) in enumerate(itertools.pairwise(starts)):
        if b > a:
            rank = max(math.ceil(level * (b - a)), 1) - 1
            # + 0.0: which of the equal values 0 and -0 comes first differs between CPUs
            levels[leaf] = np.partition(values[a:b], rank)[rank] + 0.0
    return levels
