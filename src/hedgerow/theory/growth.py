"""Growth functions and VC dimensions of classes of classifiers.

The growth function G(m) of a class of two-class classifiers is the largest number of different labelings, of
2^m, of any m points. The functions return its natural logarithm, or an upper bound on it, which is at most
m ln 2. The VC dimension is the largest m with G(m) = 2^m.

A boosted classifier is the sign of a weighted sum of T weak ones (Freund and Schapire 1997). The T weak ones
label m points in at most G(m)^T ways; each way makes the points vectors of T numbers, which a linear
threshold function without a constant (VC dimension T, for any prediction at a tie) labels in at most
(em/T)^T ways. With Sauer's lemma, G(m) <= (em/d)^d for the VC dimension d and m >= d:

    ln G_boosted(m) <= d T ln(em/d) + T ln(em/T)

Counting the labelings of the weak classifiers directly is tighter. Points with different values in a column
can be split between any two neighbours: m - 1 splits with two polarities each, and two constant labelings
that all columns share.

    stumps in c columns                      2 + 2 c (m - 1)
    the same with missing values             2 + c (4 (m - 2) + 2), m >= 2
    trees with at most L leaves              Catalan(L-1) (c (m - 1) + 1)^(L-1) 2^L
    the same with missing values             Catalan(L-1) (2 c (m - 1) + 1)^(L-1) 2^L

Missing values: if k >= 1 values are missing in a column, m - k - 1 splits have the missing values on
either side, and the split of missing against present values: 4 (m - k - 1) + 2 labelings, largest at k = 1.
Trees: there are Catalan(L-1) shapes with L leaves. Each of the L - 1 inner nodes has a split; the split with
all points on the left is the same in all columns and represents smaller trees. Each leaf has a label. A
proper split is one of m - 1 in a column, or one of 2 (m - k - 1) + 2 <= 2 (m - 1) with missing values.

The counts are for ordered columns. A categorical column that splits into arbitrary sets has more labelings.
The parameters of all functions are at least 1 and may be arrays, which are broadcast; scalars return a float:

    m                 number of points
    T                 number of weak classifiers in a vote, the rounds of boosting
    d                 VC dimension of the weak classifiers, or an upper bound on it; need not be an integer
    n_columns         number of columns
    n_leaves          maximum number of leaves of a tree
    missing           whether values may be missing; False by default
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow._typing import Floats
from hedgerow.distributions import LN2, stirling_error
from hedgerow.elementary import log
from hedgerow.estimators.parameters import check_parameters, flag, integer

_MAX = float(np.finfo(np.float64).max)


def sauer(m: ArrayLike, d: ArrayLike) -> Any:
    """Return ln G(m) of m points for a class of VC dimension at most d: d ln(em/d), at most m ln 2.

    For m < d, where (em/d)^d is not a bound, the result is m ln 2.

    Examples
    --------
    >>> round(sauer(100, 2), 4)
    9.824
    >>> round(sauer(3, 5), 4)  # all 2^3 labelings
    2.0794
    """
    return plain(_sauer(counts("m", m), numbers("d", d, 1.0)))


def boosted_growth(m: ArrayLike, d: ArrayLike, T: ArrayLike) -> Any:
    """Return ln G(m) of m points for votes of T classifiers of VC dimension at most d.

    Examples
    --------
    >>> round(boosted_growth(10**9, 2, 10**4), 1)
    545731.6
    """
    points = counts("m", m)
    return plain(_boosted(points, _sauer(points, numbers("d", d, 1.0)), counts("T", T)))


def boosted_vc_dimension(T: ArrayLike, d: ArrayLike) -> Any:
    """Return an upper bound on the VC dimension of votes of T classifiers of VC dimension d, for T, d >= 3.

    It is T (d + 1) (3 ln(T (d + 1)) + 2).

    References
    ----------
    S. Shalev-Shwartz, S. Ben-David, "Understanding machine learning", 2014, lemma 10.3.

    Examples
    --------
    >>> round(boosted_vc_dimension(100, 3), 1)
    7989.8
    """
    size = counts("T", T, 3) * (numbers("d", d, 3.0) + 1.0)
    return plain(size * (3.0 * log(size) + 2.0))


def stump_growth(m: ArrayLike, n_columns: ArrayLike, *, missing: bool = False) -> Any:
    """Return ln G(m) of m points for stumps in n_columns columns, with `missing` values or not.

    Examples
    --------
    >>> round(np.exp(stump_growth(10, 3)))
    56
    >>> round(np.exp(stump_growth(10, 3, missing=True)))
    104
    """
    return plain(_stumps(counts("m", m), n_columns, missing))


def boosted_stump_growth(m: ArrayLike, n_columns: ArrayLike, T: ArrayLike, *, missing: bool = False) -> Any:
    """Return ln G(m) of m points for votes of T stumps in n_columns columns, with `missing` values or not.

    Examples
    --------
    >>> round(boosted_stump_growth(10**9, 10, 10**4), 1), round(boosted_growth(10**9, 5, 10**4), 1)
    (362319.2, 1130820.7)
    """
    points = counts("m", m)
    return plain(_boosted(points, _stumps(points, n_columns, missing), counts("T", T)))


def tree_growth(m: ArrayLike, n_columns: ArrayLike, n_leaves: ArrayLike, *, missing: bool = False) -> Any:
    """Return ln G(m) of m points for trees of at most n_leaves leaves in n_columns columns.

    `missing` is whether values may be missing.

    Examples
    --------
    >>> round(np.exp(tree_growth(30, 2, 3)))  # 2 * 59^2 * 8
    55696
    """
    points = counts("m", m)
    return plain(np.minimum(_trees(points, n_columns, n_leaves, missing), points * LN2))


def boosted_tree_growth(
    m: ArrayLike, n_columns: ArrayLike, n_leaves: ArrayLike, T: ArrayLike, *, missing: bool = False
) -> Any:
    """Return ln G(m) of m points for votes of T such trees as in `tree_growth`.

    Examples
    --------
    >>> round(boosted_tree_growth(10**9, 10, 8, 10**4), 1)
    1853005.2
    """
    points = counts("m", m)
    return plain(_boosted(points, _trees(points, n_columns, n_leaves, missing), counts("T", T)))


def threshold_vc_dimension(polarity: bool = True) -> int:
    """Return the VC dimension of thresholds in one column: 2, or 1 with one polarity.

    Examples
    --------
    >>> threshold_vc_dimension(), threshold_vc_dimension(polarity=False)
    (2, 1)
    """
    check_parameters(locals(), {"polarity": flag()})
    return 2 if polarity else 1


def stump_vc_dimension(n_columns: int, *, missing: bool = False) -> int:
    """Return the VC dimension of stumps: the largest V with C(V, V // 2) <= 2 n_columns.

    To shatter V points, every set of V // 2 of them must be on one side of a split, and a column has one such
    set at each end of its order. This is also sufficient (Gey 2018). The VC dimension grows like log2.

    If values may be `missing`, a column has at most 4 such sets, with and without the missing values, and the
    result is an upper bound.

    References
    ----------
    S. Gey, "Vapnik-Chervonenkis dimension of axis-parallel cuts", Communications in Statistics 47, 2018.
    O. T. Yildiz, "VC-dimension of univariate decision trees", IEEE Transactions on Neural Networks 26, 2015.

    Examples
    --------
    >>> [stump_vc_dimension(c) for c in (1, 2, 3, 10, 1000)]
    [2, 3, 4, 6, 13]
    """
    check_parameters(locals(), {"n_columns": integer(1), "missing": flag()})
    sets, size = (4 if missing else 2) * int(n_columns), 2
    while math.comb(size + 1, (size + 1) // 2) <= sets:
        size += 1
    return size


def tree_vc_dimension(n_columns: int, n_leaves: int, *, missing: bool = False) -> int:
    """Return an upper bound on the VC dimension of trees: the largest m with m ln 2 <= ln G(m).

    The parameters are those of `tree_growth`, as single integers.

    Examples
    --------
    >>> [tree_vc_dimension(10, leaves) for leaves in (1, 2, 8, 100)]
    [1, 8, 84, 1676]
    """
    check_parameters(locals(), {"n_columns": integer(1), "n_leaves": integer(1), "missing": flag()})

    def all_labelings(m: int) -> bool:
        count = float(_trees(counts("m", m), n_columns, n_leaves, missing))
        return m * LN2 <= count * (1.0 + 1e-12)  # rounding must not make it smaller

    # True for m = 1 and concave in m: true up to some m, and false after it.
    low, high = 1, 2
    while all_labelings(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if all_labelings(middle) else (low, middle)
    return low


def _sauer(m: Floats, d: Floats) -> Floats:
    lemma = d * (1.0 + log(m / d))
    return np.where(m < d, m * LN2, np.minimum(lemma, m * LN2))


def _boosted(m: Floats, weak: Floats, T: Floats) -> Floats:
    """Return ln G(m) of a linear threshold function of T weak classifiers."""
    return np.minimum(T * np.minimum(weak, m * LN2) + _sauer(m, T), m * LN2)


def _stumps(m: Floats, n_columns: ArrayLike, missing: bool) -> Floats:
    columns = counts("n_columns", n_columns)
    per_column = np.where(m > 1.0, 4.0 * (m - 2.0) + 2.0, 0.0) if _flag(missing) else 2.0 * (m - 1.0)
    return np.minimum(log(2.0 + columns * per_column), m * LN2)


def _trees(m: Floats, n_columns: ArrayLike, n_leaves: ArrayLike, missing: bool) -> Floats:
    columns, leaves = counts("n_columns", n_columns), counts("n_leaves", n_leaves)
    nodes = leaves - 1.0
    # Catalan(k) = (2k)! / (k! k! (k + 1)), by Stirling's formula, in which the large terms cancel exactly
    k = np.maximum(nodes, 1.0)
    central = 2.0 * k * LN2 - 0.5 * log(math.pi * k) + stirling_error(2.0 * k) - 2.0 * stirling_error(k)
    shapes = np.where(nodes > 0.0, central - log(k + 1.0), 0.0)
    splits = (2.0 if _flag(missing) else 1.0) * columns * (m - 1.0) + 1.0
    return np.asarray(shapes + nodes * log(splits) + leaves * LN2, np.float64)


def counts(name: str, values: ArrayLike, low: int = 1) -> Floats:
    """Check integers and return them as floats, exact up to 2^53."""
    array = np.asarray(values)
    whole_numbers = array.dtype.kind in "iu" or (array.dtype.kind == "f" and np.all(array == np.floor(array)))
    if not whole_numbers or not np.all((array >= low) & np.isfinite(array)):
        raise ValueError(
            f"{name}={values!r} is not allowed: it must be an integer >= {low}, or such integers"
        )
    return array.astype(np.float64)


def numbers(name: str, values: ArrayLike, low: float, high: float = _MAX) -> Floats:
    """Check numbers from `low` to `high` and return them as floats; by default they must be finite."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or not np.all((array >= low) & (array <= high)):
        allowed = f"a number >= {low:g}" + ("" if high >= _MAX else f" and <= {high:g}")
        raise ValueError(f"{name}={values!r} is not allowed: it must be {allowed}, or such numbers")
    return array.astype(np.float64)


def _flag(missing: bool) -> bool:
    check_parameters(locals(), {"missing": flag()})
    return bool(missing)


def plain(array: Any) -> Any:
    """Return a float for a scalar, and an array otherwise."""
    return float(array) if np.ndim(array) == 0 else array
