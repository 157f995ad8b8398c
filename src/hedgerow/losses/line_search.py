"""Searches over all leaves at once: the step of least loss, and weighted quantiles."""

import itertools
import math
from collections.abc import Callable

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.quantiles import weighted_quantiles

_MAX_ITERATIONS = 100  # Newton needs about 6; bisection to the last bit about 60
_MAX_BISECTIONS = 1_700  # 1,573 doublings from the smallest float to the largest step, then 64 halvings
_RELATIVE_STEP = 1e-12  # a move this small relative to the step ends the search
_LARGEST_STEP = 1e150  # the square of a score of this size is finite, and so are sums of such squares

Derivatives = Callable[[Floats], tuple[Floats, Floats]]


def minimise(derivatives: Derivatives, low: Floats, high: Floats, noise: Floats) -> Floats:
    """Minimise convex functions of one step each, starting from the step 0, by bracketed Newton.

    A Newton move is used if it stays inside the bracket and is at most half the previous move. Otherwise the
    search tries the bound, once; then it halves the bracket or, without a bound, doubles its move. After 100
    moves it uses the signs of the slopes only.

    derivatives returns slopes and curvatures (m,) at steps (m,). Curvatures may be approximate; slopes that
    are not finite mean that the step is too large. low <= 0 <= high bound the steps and may be infinite.
    Slopes up to the size of noise count as zero. All arrays are (m,). Raises ValueError if a function without
    bounds has no minimum.
    """
    step, move, previous_slope = np.zeros_like(low), np.full_like(low, np.inf), np.full_like(low, np.nan)
    last_unbracketed = np.zeros_like(low)  # the last move without a bracket
    # The bracket, one float wider than the bounds as long as a bound has not been tried.
    left, right = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    for _ in range(_MAX_ITERATIONS):
        slope, curvature = derivatives(step)
        slope = np.where(np.isfinite(slope), slope, np.copysign(np.inf, step))
        left = np.where(slope < 0.0, step, left)
        right = np.where(slope > 0.0, step, right)
        zero = np.abs(slope) <= noise
        with np.errstate(all="ignore"):
            newton = np.clip(step - slope / curvature, low, high)
            usable = (curvature > 0.0) & (newton > left) & (newton < right)
            usable &= (np.abs(newton - step) <= 0.5 * np.abs(move)) & (np.abs(newton) <= _LARGEST_STEP)
            # A hessian that is filled with 1 gives small Newton moves far from the minimum. A small move ends
            # the search only if the last change of the slope agrees with the curvature.
            secant = (slope - previous_slope) / move
            exact = (secant >= 0.1 * curvature) & (secant < np.inf)
            bound = np.where(slope < 0.0, high, low)
            untried = np.isfinite(bound) & np.where(slope < 0.0, right > high, left < low)
            middle = left + 0.5 * (right - left)
            # Where the slope is almost constant, each move without a bracket is twice the last such move, not
            # twice the Newton move between them. The first one is 1 if the curvature is 0.
            last_unbracketed = np.where(np.abs(slope) > 0.5 * np.abs(previous_slope), last_unbracketed, 0.0)
            further = np.maximum(2.0 * last_unbracketed, np.where(np.isfinite(move), 2.0 * np.abs(move), 1.0))
            beyond = np.clip(step - np.sign(slope) * further, -_LARGEST_STEP, _LARGEST_STEP)
        bracketed = untried | np.isfinite(middle)
        last_unbracketed = np.where(usable | bracketed, last_unbracketed, further)
        other = np.where(untried, bound, np.where(bracketed, middle, beyond))
        target = np.where(zero, step, np.where(usable, newton, other))
        move, previous_slope, step = target - step, slope, target
        ended = np.abs(move) <= _RELATIVE_STEP * np.abs(step)
        ended &= zero | np.where(usable, exact, bracketed)
        if np.all(ended):
            return np.clip(step, low, high)
    return np.clip(_bisect(derivatives, np.where(ended, step, np.nan), left, right, noise), low, high)


def _bisect(derivatives: Derivatives, known: Floats, left: Floats, right: Floats, noise: Floats) -> Floats:
    """Return the known steps; where they are NaN, double the step until there is a bracket, and halve it."""
    step, ended = known, np.isfinite(known)
    for _ in range(_MAX_BISECTIONS):
        open_end = np.isinf(left) | np.isinf(right)
        # The search started at 0: the finite end of an infinite bracket is the farthest step so far.
        further = np.clip(2.0 * np.where(np.isinf(left), right, left), -_LARGEST_STEP, _LARGEST_STEP)
        step = np.where(ended, step, np.where(open_end, further, _middle_float(left, right)))
        slope, _ = derivatives(step)
        slope = np.where(np.isfinite(slope), slope, np.copysign(np.inf, step))
        left = np.where(slope < 0.0, step, left)
        right = np.where(slope > 0.0, step, right)
        ended |= (np.abs(slope) <= noise) | (right - left <= _RELATIVE_STEP * np.abs(step))
        if np.all(ended):
            break
        if np.any(~ended & (np.isinf(left) | np.isinf(right)) & (np.abs(step) >= _LARGEST_STEP)):
            raise ValueError(
                "the loss has no minimum: the sum of its gradients has the same sign for steps up to "
                f"{_LARGEST_STEP:.0e}; is the sign of the gradient right?"
            )
    return step


def _middle_float(left: Floats, right: Floats) -> Floats:
    """Return the number with as many floats between left and it as between it and right.

    The bits of positive floats, read as integers, are in the order of the floats; those of negative ones in
    the reverse order.
    """
    smallest = np.iinfo(np.int64).min
    a, b = (np.where(x < 0, smallest - x, x) for x in (left.view(np.int64), right.view(np.int64)))
    middle = (a >> 1) + (b >> 1) + (a & b & 1)
    return np.asarray(np.where(middle < 0, smallest - middle, middle).view(np.float64))


def leaf_quantile(values: Floats, weight: Floats, starts: Integers, level: float) -> Floats:
    """Return for every leaf the smallest value at or below which lies the fraction `level` of its weight."""
    if weight.size:
        return np.asarray(weighted_quantiles(values.copy(), weight.copy(), starts, level))
    quantiles = np.zeros(starts.size - 1)
    for leaf, (a, b) in enumerate(itertools.pairwise(starts)):
        if b > a:
            rank = max(math.ceil(level * (b - a)), 1) - 1
            # + 0.0: CPUs differ in the order of the equal values 0 and -0
            quantiles[leaf] = np.partition(values[a:b], rank)[rank] + 0.0
    return quantiles
