"""Bundling: columns that never differ from their usual code in the same row share one stored column.

One-hot and other sparse columns mostly hold one code, the usual one. If two of them never differ from it in
the same row, one byte per row can hold both: 0 for "both usual", then the other codes of the first, then
those of the second. Histograms add one entry per row instead of two; the sum of the usual code of a column
is the total of the node less the others. Sums are integers, so the trees are exactly those without bundling.
(Exclusive feature bundling, Ke et al. 2017, without conflicts.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers

_USUAL_SHARE = 0.5  # of sampled rows: columns whose most frequent code is rarer are stored alone
_SAMPLE_ROWS = 8192
_MAX_CODES = 255  # of a shared column beside "all usual"
_MAX_TRIED = 16  # bundles that a column is compared with


@dataclass(frozen=True, eq=False)
class Bundles:
    """The stored column of every column.

    Parameters
    ----------
    stored : int64 (columns,)
        The stored column of each column.
    usual : int64 (columns,)
        The code that a shared column omits, -1 for a column that is stored alone.
    base : int64 (columns,)
        In a shared column: code c is stored as base + c for c < usual, as base + c - 1 for c > usual.
    widths : int64 (stored columns,)
        Codes of each stored column.
    """

    stored: Integers
    usual: Integers
    base: Integers
    widths: Integers


def find_bundles(by_column: NDArray[np.uint8], n_bins: Integers) -> Bundles:
    """Assign columns to shared ones, first fit, in the order of the columns."""
    usual = _usual_codes(by_column)
    members: list[list[int]] = []
    taken: list[NDArray[np.bool_]] = []
    codes_used: list[int] = []
    for column in np.flatnonzero(usual >= 0):
        unusual = by_column[column] != usual[column]
        for bundle in range(min(len(members), _MAX_TRIED)):
            if codes_used[bundle] + n_bins[column] <= _MAX_CODES and not np.any(taken[bundle] & unusual):
                members[bundle].append(int(column))
                taken[bundle] |= unusual
                codes_used[bundle] += int(n_bins[column])
                break
        else:
            members.append([int(column)])
            if len(taken) < _MAX_TRIED:  # one byte per row: more would be as large as a second table
                taken.append(unusual)
            codes_used.append(int(n_bins[column]))
    return _layout([group for group in members if len(group) > 1], usual, n_bins)


def no_bundles(n_bins: Integers) -> Bundles:
    """Store every column alone."""
    return _layout([], np.full(len(n_bins), -1, np.int64), n_bins)


def _usual_codes(by_column: NDArray[np.uint8]) -> Integers:
    """Return the usual code of every column, -1 for none."""
    usual = np.full(len(by_column), -1, np.int64)
    step = max(1, by_column.shape[1] // _SAMPLE_ROWS)
    for column, codes in enumerate(by_column):
        counts = np.bincount(codes[::step])
        if counts.max() > _USUAL_SHARE * counts.sum():
            usual[column] = counts.argmax()
    return usual


def _layout(groups: list[list[int]], usual: Integers, n_bins: Integers) -> Bundles:
    """Number the stored columns in the order of their first member."""
    n_columns = len(n_bins)
    group_of = {column: group for group in groups for column in group}
    stored, base = np.full(n_columns, -1, np.int64), np.zeros(n_columns, np.int64)
    omitted = np.full(n_columns, -1, np.int64)
    widths: list[int] = []
    for column in range(n_columns):
        if stored[column] >= 0:
            continue
        if column not in group_of:
            stored[column] = len(widths)
            widths.append(int(n_bins[column]) + 1)
            continue
        width = 1
        for member in group_of[column]:
            stored[member], base[member], omitted[member] = len(widths), width, usual[member]
            width += int(n_bins[member])
        widths.append(width)
    return Bundles(stored, omitted, base, np.array(widths, np.int64))
