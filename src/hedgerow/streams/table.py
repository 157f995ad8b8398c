"""StreamedTable: a table in files after its first pass; codes of its rows are made in a second one."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats
from hedgerow.binning import BinnedTable, Bins, row_stride
from hedgerow.dtypes import CODE
from hedgerow.growing.shards import LocalShards
from hedgerow.kernels.cpu.binning import encode
from hedgerow.streams.chunks import Chunk
from hedgerow.streams.reading import Reading
from hedgerow.streams.room import Room, is_mapped
from hedgerow.streams.stream import Stream
from hedgerow.table.remote import RemoteTable, TableScan
from hedgerow.threads import Team

Bounds = list[tuple[int, int]]


class StreamedTable(RemoteTable):
    """A table whose rows are in files.

    Parameters
    ----------
    scan : TableScan
        What the first pass has found.
    reading : Reading
        How to read them again.
    stream : Stream
        Says where codes may go.
    hint : str
        What to do about columns of texts.
    """

    __slots__ = ("_hint", "_reading", "_stream")

    low_memory = True  # who streams is short of memory: rounds take some longer, codes half the room

    def __init__(self, scan: TableScan, reading: Reading, stream: Stream, hint: str) -> None:
        super().__init__(scan)
        self._reading, self._stream, self._hint = reading, stream, hint

    def make_shards(
        self, factory: Callable[..., Any], bins: Any, row_arrays: dict[str, NDArray[Any]], n_threads: int
    ) -> LocalShards:
        """Code all rows, and make a part of them for every thread; see `RemoteTable.make_shards`."""
        n, by_row = self.n_rows, bool(factory.by_row)  # type: ignore[attr-defined]
        n_parts = max(1, min(n_threads, n))
        bounds = [(n * part // n_parts, n * (part + 1) // n_parts) for part in range(n_parts)]
        room, codes = self._coded(bins, bounds, by_row=by_row)
        self._forget_sample()
        try:
            parts = [
                factory(one, {name: values[first:last] for name, values in row_arrays.items()}, first)
                for one, (first, last) in zip(codes, bounds, strict=True)
            ]
        except BaseException:
            room.close()
            raise
        return LocalShards(parts, bounds, room.close)

    def encode(self, bins: Any, team: Team, *, for_growing: bool = True) -> BinnedTable:
        """Codes of all rows; see `RemoteTable.encode`."""
        _, (codes,) = self._coded(bins, [(0, self.n_rows)], by_row=False)
        return BinnedTable.of(bins, codes, team, for_growing=for_growing)

    def codes_in_memory(self, n_bytes: int) -> int:
        """How much of so many bytes of codes would be in memory, and not in a file."""
        return 0 if is_mapped(n_bytes, self._stream.memory_limit) else n_bytes

    def _forget_sample(self) -> None:
        """Let go of the values of the rows that edges were taken from."""
        none, rows = self.scan.sample[:0].copy(), self.scan.sample_rows[:0].copy()
        self.scan = replace(self.scan, sample=none, sample_rows=rows)

    # --- the second pass

    def _coded(self, bins: Bins, bounds: Bounds, *, by_row: bool) -> tuple[Room, list[NDArray[Any]]]:
        """Codes of all rows in parts, and the room they are in, which is closed if anything goes wrong."""
        dtype = np.dtype(CODE if by_row else bins.code_dtype)
        width = row_stride(self.n_columns) if by_row else self.n_columns * dtype.itemsize
        sizes = [(last - first) * width for first, last in bounds]
        room = Room(sizes, self._stream.memory_limit, self._stream.folder)
        try:
            shape = (-1, width) if by_row else (self.n_columns, -1)
            codes = [piece.view(dtype).reshape(shape) for piece in room.pieces()]
            self._fill(bins, bounds, codes, by_row=by_row)
        except BaseException:
            room.close()
            raise
        return room, codes

    def _fill(self, bins: Bins, bounds: Bounds, codes: list[NDArray[Any]], *, by_row: bool) -> None:
        raw = (bins.edges, bins.edge_starts, bins.tables, bins.table_starts)
        none = np.empty((0, 0), CODE)
        name = self._reading.source.name

        def code(chunk: Chunk) -> int:
            start, rows = chunk
            stop = start + int(rows.num_rows)
            if stop > self.n_rows:
                raise ValueError(_changed(name, f"it had {self.n_rows:,} rows, and now has more"))
            block = self._reading.table(rows, self.schema, self._hint).block(0, rows.num_rows)
            self._compare(block, start, stop, name)
            for (first, last), part in zip(bounds, codes, strict=True):
                a, b = max(start, first), min(stop, last)
                if a >= b:
                    continue
                mine = block[a - start : b - start]
                if by_row:
                    part[a - first : b - first, self.n_columns :] = 0
                    encode(mine, *raw, part, none, a - first)
                else:
                    encode(mine, *raw, none, part, a - first)
            return stop

        last = 0
        with closing(self._reading.over(code, "Coding rows", self.n_rows)) as stops:
            for last in stops:  # noqa: B007 - where the last chunk ends counts
                pass
        if last != self.n_rows:
            raise ValueError(_changed(name, f"it had {self.n_rows:,} rows, and now has {last:,}"))

    def _compare(self, block: AnyFloats, start: int, stop: int, name: str) -> None:
        """Refuse rows that are not those of the first pass, by those whose values were kept."""
        kept = self.scan.sample_rows
        a, b = np.searchsorted(kept, [start, stop])
        same = block[kept[a:b] - start] == self.scan.sample[a:b]
        if same.all():
            return
        both = np.isnan(block[kept[a:b] - start]) & np.isnan(self.scan.sample[a:b])
        others = np.argwhere(~(same | both))
        if len(others):
            row, column = kept[a + others[0, 0]], self._reading.columns[others[0, 1]]
            raise ValueError(_changed(name, f"row {row} has another value in column {column!r}"))


def _changed(name: str, what: str) -> str:
    return f"{name} did not give the same rows in the second pass as in the first: {what}"
