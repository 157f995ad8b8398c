"""exp, log and related functions of numbers and arrays, with the same bits on every processor.

NumPy and the C library round these functions differently on different processors. Results that users
compare (probabilities, losses, bounds) come from the kernels of `kernels.cpu.elementary` instead.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from hedgerow._typing import Floats
from hedgerow.kernels.cpu.elementary import exp_into, log1p_into, log_into, sigmoid_into

Values = TypeVar("Values", float, Floats)  # a number, or an array of any shape


def exp(x: Values) -> Values:
    """Return e to the power of x.

    >>> exp(0.0), exp([0.0, 1.0]).round(12).tolist()
    (1.0, [1.0, 2.718281828459])
    """
    return _apply(exp_into, x)


def log(x: Values) -> Values:
    """Return the natural logarithm; that of 0 is -inf, that of a negative number NaN.

    >>> log([1.0, 0.0]).tolist()
    [0.0, -inf]
    """
    return _apply(log_into, x)


def sigmoid(x: Values) -> Values:
    """Return 1 / (1 + exp(-x)).

    >>> sigmoid(0.0)
    0.5
    """
    return _apply(sigmoid_into, x)


def log1p(x: Values) -> Values:
    """Return log(1 + x), also accurate for small x.

    >>> log1p(1e-20)
    1e-20
    """
    return _apply(log1p_into, x)


def expm1(x: Values) -> Values:
    """Return exp(x) - 1, also accurate for small x.

    With u = exp(x) rounded, (u - 1) x / log(u) has the rounding error of u in numerator and denominator,
    which cancels (Kahan; Higham 2002, section 1.14.1).

    >>> expm1(1e-20), expm1([1.0, -800.0]).round(12).tolist()
    (1e-20, [1.718281828459, -1.0])
    """
    values = np.asarray(x, np.float64)
    u = np.asarray(exp(values))
    regular = (u != 1.0) & (u > 0.0) & (u < np.inf)
    safe = np.where(regular, u, 2.0)
    result = np.where(regular, (safe - 1.0) * values / log(safe), np.where(u == 1.0, values, u - 1.0))
    answer: Any = result if values.ndim else float(result)
    return answer  # type: ignore[no-any-return]


def _apply(kernel: Callable[..., None], x: Values) -> Values:
    values = np.ascontiguousarray(x, np.float64)
    out = np.empty(values.shape)
    kernel(values.reshape(-1), out.reshape(-1))
    result: Any = out if np.ndim(x) else float(out.item())
    return result  # type: ignore[no-any-return]
