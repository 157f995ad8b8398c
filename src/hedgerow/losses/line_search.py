"""Searches over all leaves at once: the step of least loss, and weighted quantiles."""

import itertools
import math
from collections.abc import Callable

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.gradients import leaf_quantiles

_MAX_ITERATIONS = 100  # Newton needs about 6; bisection to the last bit about 60
_RELATIVE_STEP = 1e-12  # a move this small relative to the step ends the search


def minimise(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], low: Floats, high: Floats, noise: Floats
) -> Floats:
    """Minimise convex functions of one step each, starting from the step 0, by bracketed Newton.

    A Newton move is used if it stays inside the bracket and is at most half the previous move. Otherwise the
    search tries the bound, once; then it halves the bracket or, without a bound, doubles its move.

    derivatives returns slopes and curvatures (m,) at steps (m,). Curvatures may be approximate; slopes that
    are not finite mean that the step is too large. low <= 0 <= high bound the steps and may be infinite.
    Slopes up to the size of noise count as zero. All arrays are (m,).
    """
    step = np.zeros_like(low)
    move = np.full_like(low, np.inf)
    # The bracket, one float wider than the bounds as long as a bound has not been tried.
    left, right = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    for _ in range(_MAX_ITERATIONS):
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
        if np.all(np.abs(move) <= _RELATIVE_STEP * np.abs(step)):
            break
    return np.clip(step, low, high)


def leaf_quantile(values: Floats, weight: Floats, starts: Integers, level: float) -> Floats:
    """Return for every leaf the smallest value at or below which lies the share `level` of its weight."""
    if weight.size:
        return np.asarray(leaf_quantiles(values.copy(), weight.copy(), starts, level))
    found = np.zeros(starts.size - 1)
    for leaf, (a, b) in enumerate(itertools.pairwise(starts)):
        if b > a:
            rank = max(math.ceil(level * (b - a)), 1) - 1
            # + 0.0: CPUs differ in the order of the equal values 0 and -0
            found[leaf] = np.partition(values[a:b], rank)[rank] + 0.0
    return found
