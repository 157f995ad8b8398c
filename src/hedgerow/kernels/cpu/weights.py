"""The row loops of the AdaBoost family: weights from scores, their integers, tallies and additions.

raw is (K, n): K = 1 for two classes, with h = -1 for class 0 and +1 for class 1, else one score a class.
classes is int32 (n,). The weight of a row is a function of its score alone,

    K = 1   exp(-steepness * y * raw / 2),  y = -1 or +1
    K > 1   exp(-steepness * raw[class])

and never carried from round to round: a fit that goes on from a saved model has the same weights, bit for
bit, as one that never stopped.
"""

import numpy as np
from numba import njit

from hedgerow.kernels.cpu.elementary import exp


@njit(cache=True, nogil=True, error_model="numpy")
def fill_exponents(raw, classes, steepness, factor, out, start, stop):
    """out = exponent of the weight; returns the largest one of the rows with a positive factor."""
    largest = -np.inf
    if raw.shape[0] == 1:
        scores = raw[0]
        half = 0.5 * steepness
        for i in range(start, stop):
            exponent = half * scores[i]
            out[i] = -exponent if classes[i] else exponent
    else:
        for i in range(start, stop):
            out[i] = -steepness * raw[classes[i], i]
    for i in range(start, stop):
        value = out[i] if factor[i] > 0.0 else -np.inf
        largest = max(largest, value)
    return largest


@njit(cache=True, nogil=True, error_model="numpy")
def raise_exponents(exponents, factor, shift):
    """exponents = factor * exp(exponents - shift), in place."""
    for i in range(exponents.size):
        exponents[i] = factor[i] * exp(exponents[i] - shift)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_sum(values, copies):
    """Sum of values, each as often as it has copies (once when that is empty), in a fixed order.

    Four sums side by side: one alone waits four cycles for each addition.
    """
    n = values.size
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    if copies.size:
        for i in range(n):
            a += values[i] * np.float64(copies[i])
        return a
    whole = n - n % 4
    for i in range(0, whole, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(whole, n):
        a += values[i]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, error_model="numpy")
def round_weights(values, copies, scale, out):
    """out = values * scale as integers, at least 1 for a positive value, times the copies.

    A weight never becomes 0: an error of 0 means that no row is wrong.
    """
    for i in range(values.size):
        rounded = np.int64(np.rint(values[i] * scale))
        out[i] = max(rounded, np.int64(1)) if values[i] > 0.0 else 0
    if copies.size:
        for i in range(values.size):
            out[i] *= copies[i]


@njit(cache=True, nogil=True, error_model="numpy")
def round_moments(values, targets, copies, scale, unit, weight, second):
    """weight = values * scale and second = values * scale * target * unit as integers, times the copies."""
    for i in range(values.size):
        scaled = values[i] * scale
        rounded = np.int64(np.rint(scaled))
        weight[i] = max(rounded, np.int64(1)) if values[i] > 0.0 else 0
        second[i] = np.int64(np.rint(scaled * (targets[i] * unit)))
    if copies.size:
        for i in range(values.size):
            weight[i] *= copies[i]
            second[i] *= copies[i]


@njit(cache=True, nogil=True, error_model="numpy")
def tally(cells, classes, weight, sums):
    """sums[cell, class] += weight."""
    for i in range(cells.size):
        sums[cells[i], classes[i]] += weight[i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_table(raw, cells, table, start, stop):
    """raw[k, row] += table[k, cell of the row]."""
    for k in range(raw.shape[0]):
        scores, values = raw[k], table[k]
        for i in range(start, stop):
            scores[i] += values[cells[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def wrong_weight(raw, classes, weight, start, stop):
    """Sum of the weights of the rows whose largest score is not their class's; the first of equal ones."""
    wrong = np.int64(0)
    for i in range(start, stop):
        if raw.shape[0] == 1:
            best = np.int64(raw[0, i] > 0.0)
        else:
            best = np.int64(0)
            for k in range(1, raw.shape[0]):
                if raw[k, i] > raw[best, i]:
                    best = k
        wrong += weight[i] if best != classes[i] else 0
    return wrong


@njit(cache=True, nogil=True, error_model="numpy")
def class_sums(classes, weight, sums):
    """sums[class] += weight."""
    for i in range(classes.size):
        sums[classes[i]] += weight[i]
