"""Sharded rows: objects that each hold the codes of some rows, in this process or on other machines.

A shard is used by one thread at a time. Each of its methods returns a pair: its own result, and a tuple
of int64 arrays to be summed over all shards. Integer sums do not depend on the order of addition, so the
number and the location of the shards do not change a model. Other machines add up the sums of their shards
before they send them.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.growing.row_layout import RowLayout

Sums = tuple[Integers, ...]
Range = tuple[int, int]  # a first row, and the row after the last
Result = TypeVar("Result")

_MAX_FAILURES = 20


class ShardsLost(Exception):  # noqa: N818 - not an error: the fit continues
    """Some shards were lost and created again; the caller must restore the state of all shards.

    The state of all shards is restored because it is unknown which of them completed the last call.
    """


class ShardFactory(Protocol):
    """Creates a shard. It is sent to the processes that hold the rows, so it must be picklable."""

    @property
    def by_row(self) -> bool:
        """Whether codes are (rows, stride) as in `hedgerow.binning.aligned_rows`, or (columns, rows)."""

    @property
    def layout(self) -> RowLayout | None:
        """The bytes of a row of codes (rows, stride) if values of the table are behind them, else None."""

    @property
    def row_bytes(self) -> int:
        """Bytes of a shard per row, without its codes and its slices of the row arrays."""

    def __call__(self, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]], first: int) -> Any:
        """Create the shard of the rows from number `first` on, with its slices of the row arrays."""


def layout_of(factory: ShardFactory, n_columns: int) -> RowLayout | None:
    """Return the layout of the rows of a factory; None for codes (columns, rows)."""
    return (factory.layout or RowLayout(n_columns)) if factory.by_row else None


class ShardedRows(Protocol):
    """All shards, in the order of their rows."""

    @property
    def bounds(self) -> Sequence[Range]:
        """The first row of every shard, and the one after its last."""

    def call(self, method: str, *args: Any) -> tuple[list[Any], Sums]:
        """Call a method of every shard: the results in order, and the sums. May raise `ShardsLost`."""

    def call_each(self, method: str, args: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Sums]:
        """Call a method of every shard, with different arguments for each."""

    def close(self) -> None:
        """Release the shards."""


class ShardFailureCounter:
    """Counts how often shards are lost during one operation, and gives up after 20 times.

    >>> ShardFailureCounter().retry(lambda: "done", on_failure=lambda: None)
    'done'
    """

    def __init__(self) -> None:
        self._n = 0

    def retry(self, call: Callable[[], Result], on_failure: Callable[[], None]) -> Result:
        """Call a function of shards until none is lost during the call; `on_failure` restores their state."""
        while True:
            try:
                result = call()
            except ShardsLost:
                self.count()
                on_failure()
                continue
            self._n = 0
            return result

    def count(self) -> None:
        """Count one loss."""
        self._n += 1
        if self._n > _MAX_FAILURES:
            raise ConnectionError(
                f"workers were lost {_MAX_FAILURES} times before one tree was grown: see their logs; if "
                "memory was short, use more workers, or workers with more memory"
            )


class LocalShards:
    """Shards in this process, one thread for each; `on_close` is called once, by `close`.

    >>> class Counter:
    ...     def __init__(self, first, stop):
    ...         self.n = stop - first
    ...     def count(self, times):
    ...         return "done", (np.array([self.n * times]),)
    >>> bounds = [(0, 3), (3, 10)]
    >>> shards = LocalShards([Counter(*rows) for rows in bounds], bounds)
    >>> shards.call("count", 2)
    (['done', 'done'], (array([20]),))
    >>> shards.close()
    """

    def __init__(
        self,
        shards: Sequence[Any],
        bounds: Sequence[Range],
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.shards, self.bounds, self._on_close = shards, bounds, on_close
        self._threads = ThreadPoolExecutor(len(shards)) if len(shards) > 1 else None

    def call(self, method: str, *args: Any) -> tuple[list[Any], Sums]:
        """Call a method of every shard; see `ShardedRows.call`."""
        return self.call_each(method, [args] * len(self.shards))

    def call_each(self, method: str, args: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Sums]:
        """Call a method of every shard, with different arguments; see `ShardedRows.call_each`."""
        pairs = zip(self.shards, args, strict=True)
        if self._threads is None:
            return sum_results(getattr(shard, method)(*own) for shard, own in pairs)
        futures = [self._threads.submit(getattr(shard, method), *own) for shard, own in pairs]
        return sum_results(future.result() for future in futures)

    def close(self) -> None:
        """Release the shards; see `ShardedRows.close`."""
        if self._threads is not None:
            self._threads.shutdown()
        self.shards = ()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None


def split_range(start: int, stop: int, n_ranges: int) -> list[Range]:
    """Return ranges of about equal length, none of them empty.

    >>> split_range(5, 12, 3), split_range(0, 1, 4)
    ([(5, 7), (7, 9), (9, 12)], [(0, 1)])
    """
    n = max(1, min(n_ranges, stop - start))
    return list(pairwise(start + (stop - start) * number // n for number in range(n + 1)))


def sum_results(results: Iterable[tuple[Any, Sums]]) -> tuple[list[Any], Sums]:
    """Return the results of several shards as a list, and the sums of their integers as int64."""
    own_results: list[Any] = []
    total: Sums = ()
    for own, sums in results:
        own_results.append(own)
        if not total:  # no other code uses these arrays: add in place
            total = tuple(np.require(array, np.int64, "W") for array in sums)
            continue
        for array, added in zip(total, sums, strict=True):
            np.add(array, added, out=array)
    return own_results, total
