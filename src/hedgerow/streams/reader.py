"""StreamReader: one pass after another over the rows of a source, in chunks.

A chunk is (number of its first row, Arrow table). Batches of any size are split and joined into chunks of a
set number of rows. At most one chunk per thread is in memory at a time.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import pyarrow as pa

from hedgerow.datafiles.column_types import is_text
from hedgerow.progress import ProgressBar
from hedgerow.streams.sources import Source, check_names, open_source
from hedgerow.streams.stream import Stream
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.reading import make_table
from hedgerow.table.table import Schema, Table

Chunk: TypeAlias = tuple[int, pa.Table]
_Result = TypeVar("_Result")

_MAX_THREADS = 8  # eight threads work faster than one reads, and each holds a chunk
_CHUNK_BYTES = 16_000_000
CHUNK_ROWS = 65_536  # enough for the work on a chunk to hide the overhead of Python


@dataclass(frozen=True, eq=False)
class StreamReader:
    """Reads the rows of a source."""

    source: Source
    columns: list[str]  # the features
    n_threads: int
    progress: bool  # whether a progress bar is shown for each pass

    @classmethod
    def open(cls, stream: Stream) -> "StreamReader":
        """Open the source of a stream, and find the columns that are features."""
        named = {"target": stream.target, "sample_weight": stream.sample_weight}
        others = {name: what for what, name in named.items() if name is not None}
        chosen = stream.columns is not None
        source = open_source(stream.source, {*others, *(stream.columns or ())}, only=chosen)
        for name, what in others.items():
            check_names([name], source.schema, what, source.name)
        if stream.target is not None and stream.target == stream.sample_weight:
            raise ValueError(f"sample_weight={stream.sample_weight!r} is already the column of the target")
        if stream.columns is None:
            columns = [name for name in source.schema.names if name not in others]
        else:
            columns = list(stream.columns)
            check_names(columns, source.schema, "columns", source.name)
        for name in columns:
            if name in others:
                raise ValueError(f"columns must not contain {name!r}, which is the {others[name]}")
        if len(set(columns)) < len(columns):
            raise ValueError(f"columns must not contain a name twice; got {columns!r}")
        return cls(source, columns, stream.n_threads, bool(stream.progress))

    def map_chunks(
        self, task: Callable[[Chunk], _Result], title: str, n_rows: int | None, more: Sequence[str] = ()
    ) -> Generator[_Result, None, None]:
        """Yield the results of `task` for every chunk of one pass, in order; `more` columns are read too."""
        size = chunk_rows(len(self.columns))
        batches = self.source.batches([*self.columns, *more], size, use_threads=self.n_threads > 1)

        def counted(chunk: Chunk) -> tuple[int, _Result]:
            return chunk[1].num_rows, task((chunk[0], _compact_dictionaries(chunk[1])))

        done = 0
        bar = ProgressBar(n_rows, title) if self.progress else nullcontext()
        with bar as shown, closing(batches):
            results = map_ordered(counted, split_chunks(batches, size), self.n_threads)
            # first the threads end, then the files are closed
            with closing(results):
                for count, result in results:
                    done += count
                    if shown is not None:
                        shown.update(done, "rows")
                    yield result
        pa.default_memory_pool().release_unused()  # Arrow keeps freed memory for later

    def frame(self, table: pa.Table, hint: str) -> FrameSource:
        """Return the features of a chunk as a data frame; `hint` is advice about columns of strings."""
        frame = as_frame(table.select(self.columns))
        assert frame is not None  # noqa: S101 - it is an Arrow table
        return FrameSource(frame, hint)

    def empty_frame(self, hint: str) -> FrameSource:
        """Return the features without values: their names and types, and one row of nulls.

        Without any row Arrow cannot concatenate the dictionaries of some types.
        """
        types = {name: self.source.schema.field(name).type for name in self.columns}
        return self.frame(pa.table({name: pa.nulls(1, kind) for name, kind in types.items()}), hint)

    def table(self, chunk: pa.Table, schema: Schema, hint: str) -> Table:
        """Return the features of a chunk as a table of known columns."""
        return make_table(self.frame(chunk, hint), schema)


def chunk_rows(n_columns: int) -> int:
    """Return the number of rows of a chunk: fewer for a wide table, so that a chunk is 16 MB as float64.

    >>> chunk_rows(28), chunk_rows(1000)
    (65536, 2000)
    """
    return max(1, min(CHUNK_ROWS, _CHUNK_BYTES // (8 * max(1, n_columns))))


def split_chunks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[Chunk]:
    """Split and join batches into chunks of `size` rows; shorter ones at the end and where types change.

    >>> rows = [pa.RecordBatch.from_pydict({"x": list(range(n))}) for n in (3, 0, 1, 5)]
    >>> [(start, chunk.num_rows) for start, chunk in split_chunks(rows, 4)]
    [(0, 4), (4, 4), (8, 1)]
    """
    start, rows, held = 0, 0, list[pa.RecordBatch]()
    for batch in batches:
        if batch.num_rows and held and not batch.schema.equals(held[0].schema):
            yield start, pa.Table.from_batches(held)
            start, rows, held = start + rows, 0, []
        used = 0
        while used < batch.num_rows:
            piece = batch.slice(used, size - rows)
            held.append(piece)
            used, rows = used + piece.num_rows, rows + piece.num_rows
            if rows == size:
                yield start, pa.Table.from_batches(held)
                start, rows, held = start + rows, 0, []
    if held:
        yield start, pa.Table.from_batches(held)


def map_ordered(
    task: Callable[[Chunk], _Result], chunks: Iterator[Chunk], n_threads: int
) -> Generator[_Result, None, None]:
    """Yield the results of `task` for every chunk, in order, while the next chunks are read."""
    n_threads = min(n_threads, _MAX_THREADS)
    if n_threads == 1:
        yield from map(task, chunks)
        return
    pending: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            for chunk in chunks:
                pending.append(threads.submit(task, chunk))
                del chunk  # free it before the next is read
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:  # after an error, or when the generator is closed
                future.cancel()


def _compact_dictionaries(rows: pa.Table) -> pa.Table:
    """Return a chunk whose dictionaries hold no more values than it has rows.

    All values of a dictionary are read, and files return all values with every batch.

    >>> words = pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), list("abcdef"))
    >>> _compact_dictionaries(pa.table({"word": words}))["word"].chunk(0).dictionary.to_pylist()
    ['c', 'a']
    """
    for position, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        kind = column.type
        if not (pa.types.is_dictionary(kind) and is_text(kind.value_type)):
            continue
        if sum(len(chunk.dictionary) for chunk in column.chunks) > rows.num_rows:
            rows = rows.set_column(position, name, column.cast(kind.value_type).dictionary_encode())
    return rows
