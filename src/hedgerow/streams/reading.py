"""Reading: one pass after another over the rows of a source, and how a chunk of them becomes a table."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from hedgerow.progress import ProgressBar
from hedgerow.streams.chunks import Chunk, chunk_rows, chunks, in_order
from hedgerow.streams.sources import Source, check_names, is_text, open_source
from hedgerow.streams.stream import Stream
from hedgerow.table.columns import category_numbers
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.table import Schema, Table

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class Reading:
    """How rows are read.

    Parameters
    ----------
    source : Source
    columns : list of str
        The features.
    n_threads : int
    shows : bool
        Whether a bar is shown for each pass.
    """

    source: Source
    columns: list[str]
    n_threads: int
    shows: bool

    @classmethod
    def of(cls, stream: Stream) -> "Reading":
        """Open the source of a stream, and find the columns that are features."""
        named = {"target": stream.target, "sample_weight": stream.sample_weight}
        others = {name: what for what, name in named.items() if name is not None}
        chosen = stream.columns is not None
        source = open_source(stream.source, {*others, *(stream.columns or ())}, only=chosen)
        for what, name in named.items():
            check_names([] if name is None else [name], source.schema, what, source.name)
        if len(others) < sum(name is not None for name in named.values()):
            raise ValueError(
                f"sample_weight={stream.sample_weight!r} is not allowed: that column is the target already"
            )
        if stream.columns is None:
            columns = [name for name in source.schema.names if name not in others]
        else:
            columns = list(stream.columns)
            check_names(columns, source.schema, "columns", source.name)
        for name in columns:
            if name in others:
                raise ValueError(
                    f"columns names {name!r}, which is the {others[name]}: a column is one of both"
                )
        if len(set(columns)) < len(columns):
            raise ValueError(f"columns={columns!r} is not allowed: it names a column twice")
        return cls(source, columns, stream.n_threads, bool(stream.progress))

    def over(
        self, task: Callable[[Chunk], _Answer], title: str, n_rows: int | None, more: Sequence[str] = ()
    ) -> Generator[_Answer, None, None]:
        """What `task` makes of every chunk of rows, in their order: one pass.

        more : columns that are read beside the features.
        """
        size = chunk_rows(len(self.columns))
        batches = self.source.batches([*self.columns, *more], size, use_threads=self.n_threads > 1)

        def counted(chunk: Chunk) -> tuple[int, _Answer]:
            return chunk[1].num_rows, task((chunk[0], _without_unused(chunk[1])))

        done = 0
        with self._bar(title, n_rows) as bar, closing(batches):
            answers = in_order(counted, chunks(batches, size), self.n_threads)
            # first the threads end, then the files are closed
            with closing(answers):
                for count, answer in answers:
                    done += count
                    if bar is not None:
                        bar.update(done, "rows")
                    yield answer
        pa.default_memory_pool().release_unused()  # Arrow keeps what it has had, for the next time

    def _bar(self, title: str, n_rows: int | None) -> AbstractContextManager[ProgressBar | None]:
        return ProgressBar(n_rows, title) if self.shows else nullcontext()

    def frame(self, table: pa.Table, hint: str) -> FrameSource:
        """The features of a chunk, as any data frame is read; `hint` says what to do about texts."""
        found = as_frame(table.select(self.columns))
        assert found is not None  # noqa: S101 - it is an Arrow table
        return FrameSource(found, hint)

    def empty_frame(self, hint: str) -> FrameSource:
        """The features without values: their names and types, and one row of nulls.

        Without any row Arrow could not join the chunks of dictionaries of some types, there being none.
        """
        schema = self.source.schema
        return self.frame(
            pa.table({name: pa.nulls(1, schema.field(name).type) for name in self.columns}), hint
        )

    def table(self, chunk: pa.Table, schema: Schema, hint: str) -> Table:
        """The features of a chunk as a table of known columns."""
        frame = self.frame(chunk, hint)
        numbers: dict[int, Any] = {
            column: category_numbers(frame.coded(column), places)
            for column, places in schema.category_positions.items()
        }
        return frame.table(schema, numbers)


def _without_unused(rows: pa.Table) -> pa.Table:
    """A chunk whose dictionaries hold no more values than it has rows.

    All values of a dictionary are gone through, and files give the whole of it with every batch.

    >>> whole = pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), list("abcdef"))
    >>> _without_unused(pa.table({"word": whole}))["word"].chunk(0).dictionary.to_pylist()
    ['c', 'a']
    """
    for place, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        kind = column.type
        if not (pa.types.is_dictionary(kind) and is_text(kind.value_type)):
            continue
        if sum(len(one.dictionary) for one in column.chunks) > rows.num_rows:
            rows = rows.set_column(place, name, column.cast(kind.value_type).dictionary_encode())
    return rows
