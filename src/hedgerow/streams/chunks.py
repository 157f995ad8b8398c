"""Chunks: batches of any size cut and joined into pieces of a set number of rows, and work on them in order.

A chunk is (number of its first row, Arrow table). No more of them are there at a time than threads work on.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias, TypeVar

import pyarrow as pa

Chunk: TypeAlias = tuple[int, pa.Table]
_Answer = TypeVar("_Answer")

_MOST_THREADS = 8  # reading is slower than what so many do with it, and each of them holds a chunk
_CHUNK_BYTES = 16_000_000
CHUNK_ROWS = 65_536  # enough for the work on a chunk to hide what Python costs


def chunk_rows(n_columns: int) -> int:
    """Rows of a chunk: of a wide table fewer, so that a chunk is 16 MB as float64.

    >>> chunk_rows(28), chunk_rows(1000)
    (65536, 2000)
    """
    return max(1, min(CHUNK_ROWS, _CHUNK_BYTES // (8 * max(1, n_columns))))


def chunks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[Chunk]:
    """Cut and join batches into chunks of `size` rows; a shorter one at the end and where types change.

    >>> rows = [pa.RecordBatch.from_pydict({"x": list(range(n))}) for n in (3, 0, 1, 5)]
    >>> [(start, chunk.num_rows) for start, chunk in chunks(rows, 4)]
    [(0, 4), (4, 4), (8, 1)]
    """
    start, rows, held = 0, 0, list[pa.RecordBatch]()
    for batch in batches:
        if batch.num_rows and held and not batch.schema.equals(held[0].schema):
            yield start, pa.Table.from_batches(held)
            start, rows, held = start + rows, 0, []
        used = 0
        while used < batch.num_rows:
            part = batch.slice(used, size - rows)
            held.append(part)
            used, rows = used + part.num_rows, rows + part.num_rows
            if rows == size:
                yield start, pa.Table.from_batches(held)
                start, rows, held = start + rows, 0, []
    if held:
        yield start, pa.Table.from_batches(held)


def in_order(
    task: Callable[[Chunk], _Answer], given: Iterator[Chunk], n_threads: int
) -> Generator[_Answer, None, None]:
    """What `task` makes of every chunk, in their order; threads work on chunks while the next are read."""
    n_threads = min(n_threads, _MOST_THREADS)
    if n_threads == 1:
        yield from map(task, given)
        return
    waiting: deque[Future[_Answer]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            for chunk in given:
                waiting.append(threads.submit(task, chunk))
                del chunk  # else it would be held while the next is read
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:  # after an error, or when nobody asks any more
                one.cancel()
