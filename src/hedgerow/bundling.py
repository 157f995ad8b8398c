"""Bundling: columns that are never away from their usual code in the same row share one stored column.

One-hot and other sparse columns are mostly one code, the usual one. Where two of them never differ from it
together, one byte a row can hold both: 0 for "both as usual", then the other codes of the first, then those
of the second. Histograms add up one entry a row instead of two; what the usual code of a column sums to is
the node's total less the others. Sums are integers, so the trees are exactly those without bundling.
(Exclusive feature bundling, Ke et al. 2017, without conflicts.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_USUAL_SHARE = 0.5  # of the rows looked at: a column with a rarer most frequent code is not tried
_ROWS_LOOKED_AT = 8192
_MAX_CODES = 255  # of a shared column beside "all as usual"
_BUNDLES_TRIED = 16


@dataclass(frozen=True, eq=False)
class Bundles:
    """Where the codes of the table's columns are stored.

    Parameters
    ----------
    stored : int64 (columns,)
        The stored column of each column.
    usual : int64 (columns,)
        The code that is left out of a shared column, -1 for a column that is stored alone.
    base : int64 (columns,)
        In a shared column: code c is stored as base + c for c < usual, as base + c - 1 for c > usual.
    widths : int64 (stored columns,)
        Codes of each stored column.
    """

    stored: NDArray[np.int64]
    usual: NDArray[np.int64]
    base: NDArray[np.int64]
    widths: NDArray[np.int64]


def find_bundles(by_column: NDArray[np.uint8], n_bins: NDArray[np.int64]) -> Bundles:
    """Put columns into shared ones, first fit, in the order of the columns."""
    usual = _usual_codes(by_column)
    members: list[list[int]] = []
    taken: list[NDArray[np.bool_]] = []
    codes_used: list[int] = []
    for column in np.flatnonzero(usual >= 0):
        unusual = by_column[column] != usual[column]
        for place in range(min(len(members), _BUNDLES_TRIED)):
            if codes_used[place] + n_bins[column] <= _MAX_CODES and not np.any(taken[place] & unusual):
                members[place].append(int(column))
                taken[place] |= unusual
                codes_used[place] += int(n_bins[column])
                break
        else:
            members.append([int(column)])
            if len(taken) < _BUNDLES_TRIED:  # a byte a row: those of no use would be a second table
                taken.append(unusual)
            codes_used.append(int(n_bins[column]))
    return _layout([group for group in members if len(group) > 1], usual, n_bins)


def no_bundles(n_bins: NDArray[np.int64]) -> Bundles:
    """Every column stored alone."""
    return _layout([], np.full(len(n_bins), -1, np.int64), n_bins)


def _usual_codes(by_column: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The most frequent code of every column that has a usual one, else -1."""
    usual = np.full(len(by_column), -1, np.int64)
    step = max(1, by_column.shape[1] // _ROWS_LOOKED_AT)
    for column, codes in enumerate(by_column):
        counts = np.bincount(codes[::step])
        if counts.max() > _USUAL_SHARE * counts.sum():
            usual[column] = counts.argmax()
    return usual


def _layout(groups: list[list[int]], usual: NDArray[np.int64], n_bins: NDArray[np.int64]) -> Bundles:
    """Stored columns in the order of their first member."""
    n_columns = len(n_bins)
    group_of = {column: group for group in groups for column in group}
    stored, base = np.full(n_columns, -1, np.int64), np.zeros(n_columns, np.int64)
    left_out = np.full(n_columns, -1, np.int64)
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
            stored[member], base[member], left_out[member] = len(widths), width, usual[member]
            width += int(n_bins[member])
        widths.append(width)
    return Bundles(stored, left_out, base, np.array(widths, np.int64))
