"""The row loops of gradient boosting: losses, gradients, gradients as integers, and sums over leaves.

y, raw, gradient and hessian are float64 with one entry a row; with several outputs raw, gradient
and hessian are (K, n). A `fill_*` loop writes gradient = dL/draw and hessian = d2L/draw2 of
unweighted rows, a `loss_*` loop writes L; each row depends on itself alone, so that threads may process any
ranges of rows. `weight` is (n,), or empty when all rows weigh one: one compiled signature for both. `starts`
(n_leaves + 1,) cuts arrays whose rows are grouped by leaf:

    rows   = [ r3 r7 r8 | r0 r2 | r1 r4 r5 r6 ]
    starts = [ 0          3       5             9 ]

Gradients and hessians are scaled by powers of two and rounded to the nearest integers before they are summed.
An integer weight multiplies the rounded value, so that it acts exactly as that many copies of the row; any
other weight multiplies before the rounding.
"""

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.elementary import exp_clamped, log, log1p
from hedgerow.kernels.cpu.jit import kernel

EXPONENT_LIMIT = 500.0  # exp(500) = 1e217 times a target, a weight and a sum stays below 1e308
SOFTMAX_ROWS = 1024  # rows whose largest score and normaliser stay in the first-level cache
SPLITTER = 134217729.0  # 2**27 + 1: cuts a float64 into two halves of 26 bits
_MAX_COUNTED = 1024  # steps of a row in the sums of `pack`


# --- squared, absolute, quantile, Huber


@kernel
def fill_squared(y: Floats, raw: Floats, gradient: Floats, hessian: Floats) -> None:
    """L = (raw - y)**2 / 2."""
    for i in range(y.size):
        gradient[i] = raw[i] - y[i]
        hessian[i] = 1.0


@kernel
def loss_squared(y: Floats, raw: Floats, out: Floats) -> None:
    """L = (raw - y)**2 / 2."""
    for i in range(y.size):
        difference = raw[i] - y[i]
        out[i] = 0.5 * difference * difference


@kernel
def fill_pinball(
    y: Floats, raw: Floats, gradient: Floats, hessian: Floats, under: float, over: float
) -> None:
    """L = under * (y - raw) below y, over * (raw - y) above; gradient 0 where raw = y."""
    for i in range(y.size):
        g = over if raw[i] > y[i] else 0.0
        gradient[i] = -under if raw[i] < y[i] else g
        hessian[i] = 1.0


@kernel
def loss_pinball(y: Floats, raw: Floats, out: Floats, under: float, over: float) -> None:
    """L = under * (y - raw) below y, over * (raw - y) above."""
    for i in range(y.size):
        difference = raw[i] - y[i]
        out[i] = over * difference if difference > 0.0 else -under * difference


@kernel
def fill_huber(y: Floats, raw: Floats, gradient: Floats, hessian: Floats, delta: float) -> None:
    """Gradient = raw - y, clamped to [-delta, delta]."""
    for i in range(y.size):
        difference = raw[i] - y[i]
        g = delta if difference > delta else difference  # noqa: FURB136 - nan must pass
        gradient[i] = -delta if g < -delta else g  # noqa: FURB136
        hessian[i] = 1.0


@kernel
def loss_huber(y: Floats, raw: Floats, out: Floats, delta: float) -> None:
    """L = r**2 / 2 up to |r| = delta, then delta * (|r| - delta / 2); r = raw - y."""
    for i in range(y.size):
        r = abs(raw[i] - y[i])
        out[i] = 0.5 * r * r if r <= delta else delta * (r - 0.5 * delta)


# --- Poisson, gamma, Tweedie: one family, power 1 to 2, mean = exp(raw)


@kernel
def _clamp_exponent(raw: float) -> float:
    raw = EXPONENT_LIMIT if raw > EXPONENT_LIMIT else raw  # noqa: FURB136 - nan must pass
    return -EXPONENT_LIMIT if raw < -EXPONENT_LIMIT else raw  # noqa: FURB136


@kernel
def fill_tweedie(y: Floats, raw: Floats, gradient: Floats, hessian: Floats, power: float) -> None:
    """Gradient = m - t with m = exp((2 - power) raw), t = y exp((1 - power) raw)."""
    above, below = 2.0 - power, power - 1.0  # both >= 0
    for i in range(y.size):
        score = _clamp_exponent(raw[i])
        m = exp_clamped(above * score)
        t = y[i] * exp_clamped(-below * score)
        gradient[i] = m - t
        hessian[i] = above * m + below * t


@kernel
def loss_tweedie(y: Floats, raw: Floats, out: Floats, power: float) -> None:
    """Half the deviance of a mean exp(raw), up to a constant of y.

    power 1 (Poisson)  exp(raw) - y raw
    power 2 (gamma)    raw + y exp(-raw)
    between            exp((2 - power) raw) / (2 - power) + y exp((1 - power) raw) / (power - 1)
    """
    above, below = 2.0 - power, power - 1.0
    for i in range(y.size):
        score = _clamp_exponent(raw[i])
        first = exp_clamped(above * score) / above if above > 0.0 else score
        second = exp_clamped(-below * score) / below if below > 0.0 else -score
        out[i] = first + y[i] * second


# --- two classes: y is 0 or 1


@kernel
def fill_logistic(y: Floats, raw: Floats, gradient: Floats, hessian: Floats) -> None:
    """Gradient = p - y, hessian = p (1 - p), with p = 1 / (1 + exp(-raw))."""
    for i in range(y.size):
        e = exp_clamped(-raw[i])
        p = 1.0 / (1.0 + e)
        gradient[i] = p - y[i]
        hessian[i] = p * (e * p)  # e p = 1 - p, without the cancellation where p is near 1


@kernel
def loss_logistic(y: Floats, raw: Floats, out: Floats) -> None:
    """L = log(1 + exp(raw)) - y raw."""
    for i in range(y.size):
        score = raw[i]
        linear = (score if score > 0.0 else 0.0) - y[i] * score  # noqa: FURB136 - nan must pass
        out[i] = linear + log1p(exp_clamped(-abs(score)))


@kernel
def fill_exponential(y: Floats, raw: Floats, gradient: Floats, hessian: Floats) -> None:
    """Gradient = -s exp(-s raw), hessian = exp(-s raw), with s = 2y - 1."""
    for i in range(y.size):
        s = 2.0 * y[i] - 1.0
        e = exp_clamped(_clamp_exponent(-s * raw[i]))
        gradient[i] = -s * e
        hessian[i] = e


@kernel
def loss_exponential(y: Floats, raw: Floats, out: Floats) -> None:
    """L = exp(-s raw), with s = 2y - 1."""
    for i in range(y.size):
        out[i] = exp_clamped(_clamp_exponent((1.0 - 2.0 * y[i]) * raw[i]))


# --- several classes: y is the class number, p = softmax of the column of raw (K, n)


@kernel
def _normalise(raw: Floats, start: int, stop: int, top: Floats, total: Floats) -> None:
    """Top = the largest score of each row, total = sum over outputs of exp(raw - top)."""
    n = stop - start
    for k in range(raw.shape[0]):
        scores = raw[k, start:stop]
        for i in range(n):
            top[i] = scores[i] if k == 0 or scores[i] > top[i] else top[i]
    total[:n] = 0.0
    for k in range(raw.shape[0]):
        scores = raw[k, start:stop]
        for i in range(n):
            total[i] += exp_clamped(scores[i] - top[i])


@kernel
def fill_softmax(y: Floats, raw: Floats, gradient: Floats, hessian: Floats, start: int, stop: int) -> None:
    """Gradient[k] = p_k - [y = k], hessian[k] = p_k (1 - p_k), for rows [start, stop)."""
    top, total = np.empty(SOFTMAX_ROWS), np.empty(SOFTMAX_ROWS)
    for a in range(start, stop, SOFTMAX_ROWS):
        b = min(a + SOFTMAX_ROWS, stop)
        _normalise(raw, a, b, top, total)
        classes = y[a:b]
        for k in range(raw.shape[0]):
            scores, g, h = raw[k, a:b], gradient[k, a:b], hessian[k, a:b]
            for i in range(b - a):
                p = exp_clamped(scores[i] - top[i]) / total[i]
                g[i] = p - (1.0 if classes[i] == k else 0.0)
                h[i] = p * (1.0 - p)


@kernel
def loss_softmax(y: Floats, raw: Floats, out: Floats, start: int, stop: int) -> None:
    """L = log(sum over k of exp(raw_k)) - raw_y, for rows [start, stop); out starts at `start`."""
    top, total = np.empty(SOFTMAX_ROWS), np.empty(SOFTMAX_ROWS)
    for a in range(start, stop, SOFTMAX_ROWS):
        b = min(a + SOFTMAX_ROWS, stop)
        _normalise(raw, a, b, top, total)
        out_block = out[a - start : b - start]
        for i in range(b - a):
            out_block[i] = log(total[i]) + (top[i] - raw[int(y[a + i]), a + i])


@kernel
def softmax(raw: Floats, first: int, out: Floats) -> None:
    """Write p of the outputs first, first + 1, ... for every row; out is (outputs, n)."""
    top, total = np.empty(SOFTMAX_ROWS), np.empty(SOFTMAX_ROWS)
    n = raw.shape[1]
    for a in range(0, n, SOFTMAX_ROWS):
        b = min(a + SOFTMAX_ROWS, n)
        _normalise(raw, a, b, top, total)
        for k in range(out.shape[0]):
            scores, p = raw[first + k, a:b], out[k, a:b]
            for i in range(b - a):
                p[i] = exp_clamped(scores[i] - top[i]) / total[i]


# --- sums over leaves


@kernel
def pair_sum(values: Floats, weight: Floats) -> tuple[float, float]:
    """Sum weight * values as high + low, to about 100 bits.

    The rounding errors of products and sums are added to `low` (Dekker, Knuth). Hence a weight of 2 has the
    same sum as two copies of the row, and the order of the rows does not matter.
    """
    high, low = 0.0, 0.0
    weighted = weight.size > 0
    for i in range(values.size):
        product, lost = values[i], 0.0
        if weighted:
            v, w = values[i], weight[i]
            product = v * w
            v_high = SPLITTER * v - (SPLITTER * v - v)
            w_high = SPLITTER * w - (SPLITTER * w - w)
            v_low, w_low = v - v_high, w - w_high
            lost = ((v_high * w_high - product) + v_high * w_low + v_low * w_high) + v_low * w_low
        total = high + product
        back = total - high
        low += ((high - (total - back)) + (product - back)) + lost
        high = total
    return high, low


def leaf_sums(values: Floats, weight: Floats, starts: Integers) -> Floats:
    """Sum weight * values in every leaf; see `pair_sum`."""
    sums = np.empty(starts.size - 1)
    fill_leaf_sums(values, weight, starts, sums)
    return sums


@kernel
def fill_leaf_sums(values: Floats, weight: Floats, starts: Integers, sums: Floats) -> None:
    """Write the sums of all leaves."""
    for leaf in range(sums.size):
        a, b = starts[leaf], starts[leaf + 1]
        high, low = pair_sum(values[a:b], weight[a:b])  # an empty weight stays empty
        sums[leaf] = high + low


# --- gradients as integers


@kernel
def largest(gradient, hessian, weight, copies, start, stop):
    """Return the largest |gradient| and hessian of rows [start, stop) with weight, and the number not finite.

    The rows are sliced before the loop: an index that might be negative keeps LLVM from vectorising.
    """
    g, h = gradient[start:stop], hessian[start:stop]
    w = weight[start:stop] if weight.shape[0] else weight
    times = copies[start:stop] if copies.shape[0] else copies
    top_g, top_h, bad = 0.0, 0.0, 0
    for i in range(g.shape[0]):
        size, curvature = abs(g[i]), h[i]
        if w.shape[0]:
            size *= w[i]
            curvature *= w[i]
        if times.shape[0] and times[i] == 0:
            size, curvature = 0.0, 0.0
        bad += not ((size < np.inf) & (curvature >= 0.0) & (curvature < np.inf))
        top_g = max(top_g, size)
        top_h = max(top_h, curvature)
    return top_g, top_h, bad


@kernel
def pack(gradient, hessian, weight, copies, g_scale, h_scale, out, start, stop):
    """out = gradient * 2**32 + hessian as integers, times copies.

    Returns sums of |gradient| and hessian to which no row adds more than 1024 steps, so that an outlier
    does not hide that the others are rounded to 0, and the smallest hessian of a row before copies.
    """
    g, h, packed = gradient[start:stop], hessian[start:stop], out[start:stop]
    w = weight[start:stop] if weight.shape[0] else weight
    times = copies[start:stop] if copies.shape[0] else copies
    sum_g, sum_h, least = np.int64(0), np.int64(0), np.int64(1 << 62)
    for i in range(g.shape[0]):
        scale = w[i] if w.shape[0] else 1.0
        slope = np.int64(np.rint(g[i] * scale * g_scale))
        curvature = np.int64(np.rint(h[i] * scale * h_scale))
        n = times[i] if times.shape[0] else np.int64(1)
        sum_g += min(abs(slope), _MAX_COUNTED) * n
        sum_h += min(curvature, _MAX_COUNTED) * n
        if n and scale > 0.0:
            least = min(least, curvature)
        packed[i] = ((slope << np.int64(32)) + curvature) * n
    return sum_g, sum_h, least


@kernel
def spread(gradient, hessian, weight, copies, g_scale, h_scale, out, start, stop):
    """Write out[:, 0] gradients and out[:, 1] hessians as integers; return the smallest hessian."""
    least = np.int64(1 << 62)
    for i in range(start, stop):
        scale = weight[i] if weight.shape[0] else 1.0
        n = copies[i] if copies.shape[0] else np.int64(1)
        curvature = np.int64(np.rint(hessian[i] * scale * h_scale))
        out[i, 0] = np.int64(np.rint(gradient[i] * scale * g_scale)) * n
        out[i, 1] = curvature * n
        if n and scale > 0.0:
            least = min(least, curvature)
    return least


# --- scores


@kernel
def add_leaf_values(scores, rows, starts, values, start, stop):
    """scores[row] += values[leaf] for rows[start:stop]; leaf l has rows[starts[l]:starts[l + 1]]."""
    leaf = np.searchsorted(starts, start, side="right") - 1
    while start < stop:
        end = min(stop, starts[leaf + 1])
        value = values[leaf]
        for k in range(start, end):
            scores[np.uintp(rows[k])] += value
        start = end
        leaf += 1
