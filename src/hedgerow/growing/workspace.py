"""The memory a fit needs to grow trees, made once and reused for every tree."""

import numpy as np
from numpy.typing import NDArray

from hedgerow.dtypes import ROW
from hedgerow.kernels.cpu.records import NODE, SPLIT, Codes, Frontier, Histograms, Search, Workspace

_POOL_BYTES = 128 << 20  # histograms of open nodes kept for subtraction; beyond it they are made anew


def slots_for(n_leaves: int, entries: int) -> int:
    """How many histograms of open nodes are kept."""
    return int(max(2, min(n_leaves, _POOL_BYTES // (16 * entries))))


def make_workspace(codes: Codes, n_leaves: int, group_words: int, n_members: int) -> Workspace:
    """Arrays for trees of at most `n_leaves` leaves on the rows of `codes`."""
    n_rows, n_columns = codes.by_column.shape[1], len(codes.n_bins)
    entries, stored_entries = int(codes.offsets[-1]), int(codes.stored_offsets[-1])
    longest = int(codes.n_bins.max()) + 1
    n_nodes = 2 * n_leaves + 1
    n_slots = slots_for(n_leaves, entries)
    frontier = Frontier(
        heap=np.empty(n_nodes, np.int64),
        slots=np.empty(n_slots, np.int64),
        control=np.zeros(16, np.int64),
        groups=np.zeros((n_nodes if group_words else 1, group_words), np.uint64),
        found=np.zeros((2, n_columns), SPLIT),
        allowed=np.zeros((2, n_columns), np.uint8),
        chosen=np.empty(n_columns, np.int64),
    )
    histograms = Histograms(
        pool=np.empty((n_slots + 2, 2, entries), np.int64),
        packed=np.empty((n_members, stored_entries), np.int64),
        partial=np.empty((n_members, 2, stored_entries), np.int64),
        counts=np.empty(entries, np.int64),
        used=np.zeros(n_members, np.int64),
    )
    search = Search(
        sums=np.empty((n_members, 3, longest), np.int64),
        gains=np.empty((n_members, longest)),
        order=np.empty((n_members, longest), np.int64),
    )
    rows, spare = np.empty(n_rows, ROW), np.empty((2, n_rows), ROW)
    return Workspace(rows, spare, np.zeros((2, n_members), np.int64), frontier, histograms, search)


def make_nodes(n_leaves: int) -> NDArray[np.void]:
    """Node records for a tree of at most `n_leaves` leaves."""
    return np.zeros(2 * n_leaves + 1, NODE)
