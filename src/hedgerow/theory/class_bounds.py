"""Bounds on the error on new rows from the size of the hypothesis class.

Symmetrisation (Vapnik and Chervonenkis 1971) compares the error R_m on m rows with that on m further rows. G
is the growth function of the class, see `growth`:

    P[sup over the class of R - R_m >= eps] <= 4 G(2m) exp(-m eps^2 / 8)

The right side is delta for eps = sqrt(8/m (ln G(2m) + ln(4/delta))). The functions return eps: the training
error plus eps bounds the error on new rows with probability 1 - delta, for any distribution and any learner.

m is the number of training rows, and delta the probability that the bound does not hold, above 0 and below 1.
The other parameters are those of `growth`; all numbers may be arrays, which are broadcast.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow._typing import Floats
from hedgerow.elementary import log
from hedgerow.theory import growth
from hedgerow.theory.growth import counts, numbers, plain


def growth_deviation(log_growth_2m: ArrayLike, m: ArrayLike, delta: ArrayLike) -> Any:
    """Return the deviation from the training error of m rows, sqrt(8/m (ln G(2m) + ln(4/delta))).

    The bound fails with probability delta. `log_growth_2m` is ln G(2m), at least 0: a function of `growth` at
    2 m.

    Examples
    --------
    >>> from hedgerow.theory import stump_growth
    >>> round(growth_deviation(stump_growth(2000, 10), 1000, 0.05), 4)
    0.3462
    """
    points, log_growth = counts("m", m), numbers("log_growth_2m", log_growth_2m, 0.0)
    probability = np.asarray(delta)
    if probability.dtype.kind not in "fiu" or not np.all((probability > 0.0) & (probability < 1.0)):
        raise ValueError(f"delta={delta!r} is not allowed: it must be a number > 0 and < 1")
    return plain(np.sqrt(8.0 / points * (log_growth + log(4.0 / probability))))


def vc_bound(m: ArrayLike, D: ArrayLike, delta: ArrayLike) -> Any:
    """Return the deviation from the training error of m rows for a class of VC dimension at most D.

    The bound fails with probability delta. For 2m < D all labelings are counted, and the result is above 1.

    Examples
    --------
    >>> from hedgerow.theory import boosted_vc_dimension
    >>> round(vc_bound(10**6, boosted_vc_dimension(100, 3), 0.05), 4)
    0.6457
    """
    return growth_deviation(growth.sauer(_double(m), D), m, delta)


def growth_bound(m: ArrayLike, d: ArrayLike, T: ArrayLike, delta: ArrayLike) -> Any:
    """Return the deviation from the training error of m rows for votes of T classifiers of VC dimension d.

    The bound fails with probability delta.

    Examples
    --------
    >>> round(growth_bound(10**6, 3, 100, 0.05), 4)  # less than that of vc_bound
    0.2082
    """
    return growth_deviation(growth.boosted_growth(_double(m), d, T), m, delta)


def stump_bound(
    m: ArrayLike, n_columns: ArrayLike, T: ArrayLike, delta: ArrayLike, *, missing: bool = False
) -> Any:
    """Return the deviation from the training error of m rows for votes of T stumps in n_columns columns.

    The bound fails with probability delta; `missing` is whether values may be missing.

    Examples
    --------
    >>> round(stump_bound(10**6, 3, 100, 0.05), 4)
    0.1476
    """
    return growth_deviation(growth.boosted_stump_growth(_double(m), n_columns, T, missing=missing), m, delta)


def tree_bound(
    m: ArrayLike,
    n_columns: ArrayLike,
    n_leaves: ArrayLike,
    T: ArrayLike,
    delta: ArrayLike,
    *,
    missing: bool = False,
) -> Any:
    """Return the deviation from the training error for votes of T trees of at most n_leaves leaves.

    The other parameters are those of `stump_bound`.

    Examples
    --------
    >>> round(tree_bound(10**6, 3, 8, 100, 0.05), 4)
    0.3247
    """
    log_growth = growth.boosted_tree_growth(_double(m), n_columns, n_leaves, T, missing=missing)
    return growth_deviation(log_growth, m, delta)


def _double(m: ArrayLike) -> Floats:
    return 2.0 * counts("m", m)
