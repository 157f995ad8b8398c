"""Rows by number, wherever they are: which partitions hold them, and who is to have their codes.

partitions     |---- 0 ----|-- 1 --|-------- 2 --------|
holders        |------ worker A ------|--- worker B ---|     cut by rows, in proportion to threads
parts          |   0    |    1     |  2  |      3      |     one for each thread of a worker
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.binning import Bins, row_stride
from hedgerow.distributed import pieces
from hedgerow.distributed.cluster import Future, Workers
from hedgerow.distributed.partitions import Partitions
from hedgerow.distributed.scan import Found
from hedgerow.memory import format_bytes

Range = tuple[int, int]  # rows from the first to before the second

_USABLE = 0.95  # of a worker's memory; above, Dask's nanny ends it


@dataclass(frozen=True, eq=False)
class RowsOfPartitions:
    """All rows of a collection, of which codes can be made."""

    partitions: Partitions
    found: Found
    bins: Bins
    by_row: bool

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return self.found.scan.n_rows

    @property
    def row_bytes(self) -> int:
        """Bytes of the codes of a row."""
        width = np.dtype(self.bins.code_dtype).itemsize
        return row_stride(self.bins.n_columns) if self.by_row else self.bins.n_columns * width

    def codes(self, start: int, stop: int) -> list[Future]:
        """Tasks that make the codes of some rows, in order."""
        lengths = self.found.lengths
        ends = np.cumsum(lengths).tolist()
        numbers: list[int] = []
        inside: list[Range] = []
        for number, (length, end) in enumerate(zip(lengths, ends, strict=True)):
            first = end - length
            if length and first < stop and end > start:
                numbers.append(number)
                inside.append((max(start, first) - first, min(stop, end) - first))
        return self.partitions.over(
            pieces.codes, numbers, inside, (self.found.layout, self.bins, self.by_row)
        )


def share_out(ranges: Sequence[Range], workers: dict[str, int]) -> list[tuple[str, int, int]]:
    """Cut ranges of rows among workers, in proportion to their threads: (address, first, after the last).

    >>> share_out([(0, 10)], {"a": 1, "b": 3, "c": 1})
    [('a', 0, 2), ('b', 2, 8), ('c', 8, 10)]
    >>> share_out([(0, 1), (7, 9)], {"a": 1, "b": 1})
    [('a', 0, 1), ('b', 7, 9)]
    """
    addresses = list(workers)
    shares = np.concatenate([[0], np.cumsum([workers[address] for address in addresses])])
    n_rows = sum(stop - start for start, stop in ranges)
    cuts = (n_rows * shares // shares[-1]).tolist()  # of all ranges one after the other, so that few are cut
    plan, before = [], 0
    for start, stop in ranges:
        for address, first, last in zip(addresses, cuts[:-1], cuts[1:], strict=True):
            a, b = max(first, before), min(last, before + stop - start)
            if b > a:
                plan.append((address, start + a - before, start + b - before))
        before += stop - start
    return plan


def cut(start: int, stop: int, n_parts: int) -> list[Range]:
    """Rows in parts of equal length, none of them empty.

    >>> cut(5, 12, 3), cut(0, 1, 4)
    ([(5, 7), (7, 9), (9, 12)], [(0, 1)])
    """
    n = max(1, min(n_parts, stop - start))
    return list(pairwise(start + (stop - start) * part // n for part in range(n + 1)))


def refuse_without_room(plan: Sequence[tuple[str, int, int]], workers: Workers, row_bytes: int) -> None:
    """Raise if a worker has no room for its rows, of so many bytes each."""
    need: dict[str, int] = {}
    for address, start, stop in plan:
        need[address] = need.get(address, 0) + (stop - start) * row_bytes
    for address, n_bytes in need.items():
        info = workers[address]
        limit = info.get("memory_limit") or 0
        metrics = info.get("metrics", {})
        other = max(0, metrics.get("memory", 0) - metrics.get("managed_bytes", 0))  # what cannot be spilled
        if limit and n_bytes > _USABLE * limit - other:
            raise MemoryError(
                f"the Dask worker {address} needs about {format_bytes(n_bytes)} for its share of the rows, "
                f"and {format_bytes(max(0, int(_USABLE * limit - other)))} of its memory limit of "
                f"{format_bytes(limit)} are free: use more workers, or workers with more memory"
            )


def bytes_a_row(shares: dict[str, Any]) -> int:
    """Bytes that the shares of a row take."""
    return sum(int(np.prod(one.shape[1:], dtype=np.int64)) * one.dtype.itemsize for one in shares.values())
