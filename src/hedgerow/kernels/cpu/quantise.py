"""Gradients and hessians as integers.

A row's statistics are its gradient and hessian, scaled by a power of two and rounded to the nearest
integer. An integer weight multiplies the rounded value, so that it acts exactly as that many copies of the
row; any other weight multiplies before the rounding.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import njit

_MOST_COUNTED = 1024


@njit(cache=True, nogil=True, error_model="numpy")
def largest(gradient, hessian, weight, copies, start, stop):
    """The largest |gradient| and hessian of rows [start, stop) that have weight, and how many are not finite.

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


@njit(cache=True, nogil=True, error_model="numpy")
def pack(gradient, hessian, weight, copies, g_scale, h_scale, out, start, stop):
    """out = gradient * 2**32 + hessian as integers, times copies.

    Returns sums of |gradient| and hessian to which no row adds more than 1024 steps, so that a wild one
    cannot hide that the others vanish, and the smallest hessian of a row before copies.
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
        sum_g += min(abs(slope), _MOST_COUNTED) * n
        sum_h += min(curvature, _MOST_COUNTED) * n
        if n:
            least = min(least, curvature)
        packed[i] = ((slope << np.int64(32)) + curvature) * n
    return sum_g, sum_h, least


@njit(cache=True, nogil=True, error_model="numpy")
def spread(gradient, hessian, weight, copies, g_scale, h_scale, out, start, stop):
    """The same into two channels: out[:, 0] gradients, out[:, 1] hessians; returns the smallest hessian."""
    least = np.int64(1 << 62)
    for i in range(start, stop):
        scale = weight[i] if weight.shape[0] else 1.0
        n = copies[i] if copies.shape[0] else np.int64(1)
        curvature = np.int64(np.rint(hessian[i] * scale * h_scale))
        out[i, 0] = np.int64(np.rint(gradient[i] * scale * g_scale)) * n
        out[i, 1] = curvature * n
        if n:
            least = min(least, curvature)
    return least


@njit(cache=True, nogil=True, error_model="numpy")
def add_leaf_values(scores, rows, starts, values, start, stop):
    """scores[row] += values[leaf] for rows[start:stop]; leaf l owns rows[starts[l]:starts[l + 1]]."""
    leaf = np.searchsorted(starts, start, side="right") - 1
    while start < stop:
        end = min(stop, starts[leaf + 1])
        value = values[leaf]
        for k in range(start, end):
            scores[np.uintp(rows[k])] += value
        start = end
        leaf += 1
