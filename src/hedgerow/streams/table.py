"""StreamedTable: a table in files after its first pass; a second pass makes codes of its rows.

Codes are stored in memory or, where they do not fit, in a file without a name that is mapped into memory.
The file is removed from its folder as soon as it exists, so that nothing is left however the process ends.
"""

import errno
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import CODE, AnyFloats
from hedgerow.binning import BinnedTable, Bins
from hedgerow.growing.row_layout import RowLayout
from hedgerow.growing.shards import LocalShards, Range, layout_of, split_range
from hedgerow.streams.reader import Chunk, StreamReader
from hedgerow.streams.stream import Stream
from hedgerow.system_memory import available_memory, format_bytes
from hedgerow.table.remote import RemoteTable, TableScan
from hedgerow.threads import Team

_LINE = 64  # bytes of a cache line, where every array starts


class StreamedTable(RemoteTable):
    """A table whose rows are in files; `memory_limit` and `folder` of the stream apply to the codes."""

    __slots__ = ("_hint", "_limit", "_open", "_reader", "_stream")

    low_memory = True  # codes take half the memory, and rounds some more time

    def __init__(self, scan: TableScan, reader: StreamReader, stream: Stream, hint: str) -> None:
        super().__init__(scan)
        self._reader, self._stream, self._hint = reader, stream, hint
        self._open: list[_SharedCodes] = []  # while shards use them
        self._limit: float | None = None  # of the bytes of all open codes in memory

    def make_shards(
        self, factory: Callable[..., Any], bins: Any, row_arrays: dict[str, NDArray[Any]], n_threads: int
    ) -> LocalShards:
        """Encode all rows, and create a shard for every thread; see `RemoteTable.make_shards`.

        The codes are those of shards that are still open, such as those of other folds, if these have the
        same bins; a copy of them if shards replace some columns, which all of these do for the same ones.
        """
        bounds = split_range(0, self.n_rows, n_threads)
        layout = layout_of(factory, bins.n_columns)  # type: ignore[arg-type]
        shared = self._open[-1] if self._open else None
        if shared is None or not (
            shared.bins is bins and shared.layout == layout and shared.bounds == bounds
        ):
            shared = _SharedCodes(bins, bounds, layout, *self._encode(bins, bounds, layout))
            none, rows = self.scan.sample[:0].copy(), self.scan.sample_rows[:0].copy()
            self.scan = replace(self.scan, sample=none, sample_rows=rows)  # edges exist: free the sample
            self._open.append(shared)
        elif "codes" in row_arrays:
            storage, copies = self._allocate(bins, bounds, layout)
            for copied, codes in zip(copies, shared.codes, strict=True):
                copied[:] = codes
            shared = _SharedCodes(bins, bounds, layout, storage, copies)
            self._open.append(shared)
        shared.n_users += 1

        def release() -> None:
            shared.n_users -= 1
            if not shared.n_users:
                shared.storage.close()
                self._open.remove(shared)

        try:
            shards = [
                factory(codes, {name: values[first:last] for name, values in row_arrays.items()}, first)
                for codes, (first, last) in zip(shared.codes, bounds, strict=True)
            ]
        except BaseException:
            release()
            raise
        return LocalShards(shards, bounds, release)

    def read_codes(self, bins: Any) -> NDArray[Any]:
        """Return codes of all rows; see `RemoteTable.read_codes`."""
        _, (codes,) = self._encode(bins, [(0, self.n_rows)], None)
        return codes

    def encode(self, bins: Any, team: Team, *, for_growing: bool = True) -> BinnedTable:
        """Return codes of all rows; see `RemoteTable.encode`."""
        return BinnedTable.of(bins, self.read_codes(bins), team, for_growing=for_growing)

    def codes_in_memory(self, n_bytes: int, n_copies: int = 1) -> int:
        """Return how many bytes of copies of codes, of `n_bytes` each, would be in memory, not in a file."""
        limit = code_limit(self._stream.memory_limit)
        if limit is None or n_copies * n_bytes <= limit:
            return n_copies * n_bytes
        return n_bytes * int(limit // n_bytes)

    # --- the second pass

    def _encode(
        self, bins: Bins, bounds: list[Range], layout: RowLayout | None
    ) -> tuple["CodeStorage", list[NDArray[Any]]]:
        """Return codes of all rows in arrays of these bounds, and their storage, closed after an error."""
        storage, codes = self._allocate(bins, bounds, layout)
        try:
            self._fill(bins, bounds, codes, layout)
        except BaseException:
            storage.close()
            raise
        return storage, codes

    def _allocate(
        self, bins: Bins, bounds: list[Range], layout: RowLayout | None
    ) -> tuple["CodeStorage", list[NDArray[Any]]]:
        """Return uninitialised arrays for codes, in memory if all that are open are within the limit."""
        dtype = np.dtype(bins.code_dtype if layout is None else CODE)
        width = bins.n_columns * dtype.itemsize if layout is None else layout.width
        sizes = [(last - first) * width for first, last in bounds]
        if not self._open:
            self._limit = code_limit(self._stream.memory_limit)
        n_bytes = sum(shared.storage.n_bytes_in_memory for shared in self._open)
        limit = math.inf if self._limit is None else self._limit - n_bytes
        storage = CodeStorage(sizes, limit, self._stream.folder)
        shape = (bins.n_columns, -1) if layout is None else (-1, width)
        return storage, [array.view(dtype).reshape(shape) for array in storage.arrays()]

    def _fill(
        self, bins: Bins, bounds: list[Range], codes: list[NDArray[Any]], layout: RowLayout | None
    ) -> None:
        name = self._reader.source.name

        def encode_chunk(chunk: Chunk) -> int:
            start, rows = chunk
            stop = start + int(rows.num_rows)
            if stop > self.n_rows:
                raise ValueError(_changed(name, f"it had {self.n_rows:,} rows, and now has more"))
            block = self._reader.table(rows, self.schema, self._hint).block(0, rows.num_rows)
            self._compare(block, start, stop, name)
            for (first, last), out in zip(bounds, codes, strict=True):
                a, b = max(start, first), min(stop, last)
                if a >= b:
                    continue
                own = block[a - start : b - start]
                if layout is None:
                    bins.encode_block(own, out, a - first, by_row=False)
                else:
                    layout.encode(bins, own, out, a - first)
            return stop

        last = 0
        with closing(self._reader.map_chunks(encode_chunk, "Encoding rows", self.n_rows)) as stops:
            for last in stops:  # noqa: B007 - the end of the last chunk
                pass
        if last != self.n_rows:
            raise ValueError(_changed(name, f"it had {self.n_rows:,} rows, and now has {last:,}"))

    def _compare(self, block: AnyFloats, start: int, stop: int, name: str) -> None:
        """Raise if sampled rows differ from those of the first pass."""
        rows = self.scan.sample_rows
        a, b = np.searchsorted(rows, [start, stop])
        second, first = block[rows[a:b] - start], self.scan.sample[a:b]
        different = np.argwhere((second != first) & ~(np.isnan(second) & np.isnan(first)))
        if len(different):
            row, column = rows[a + different[0, 0]], self._reader.columns[different[0, 1]]
            raise ValueError(_changed(name, f"row {row} has another value in column {column!r}"))


@dataclass(eq=False)
class _SharedCodes:
    """Codes of all rows in arrays of these bounds, and how many sharded rows use them."""

    bins: Bins
    bounds: list[Range]
    layout: RowLayout | None  # None for codes (columns, rows)
    storage: "CodeStorage"
    codes: list[NDArray[Any]]
    n_users: int = 0


def _changed(name: str, what: str) -> str:
    return f"{name} must return the same rows in both passes: {what}"


class CodeStorage:
    """Arrays of these sizes in bytes, in memory up to a limit of all bytes, or in a mapped file.

    The limit None stands for half of the available memory, the folder None for that of temporary files.

    >>> storage = CodeStorage([3, 5], None, None)
    >>> [len(array) for array in storage.arrays()], storage.is_file
    ([3, 5], False)
    >>> storage.close()
    """

    def __init__(self, sizes: list[int], limit: float | None, folder: str | os.PathLike[str] | None) -> None:
        padded = [-(-size // _LINE) * _LINE for size in sizes]
        starts, total = np.cumsum([0, *padded]).tolist()[:-1], sum(padded)
        self._slices = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        self.is_file = is_stored_in_file(total, limit)
        self.n_bytes_in_memory = 0 if self.is_file else total
        self._map: mmap.mmap | None = None
        self._memory: NDArray[np.uint8] | None
        if self.is_file:
            self._map = _map_file(total, Path(tempfile.gettempdir() if folder is None else folder))
            self._memory = np.frombuffer(self._map, np.uint8)
        else:
            memory = np.empty(total + _LINE, np.uint8)
            self._memory = memory[-memory.ctypes.data % _LINE :]

    def arrays(self) -> list[NDArray[np.uint8]]:
        """Return the arrays, uninitialised, each at the start of a cache line."""
        assert self._memory is not None  # noqa: S101 - it is not closed
        return [self._memory[one] for one in self._slices]

    def close(self) -> None:
        """Free the storage; that of a file at once, even if an array is still referenced."""
        self._memory = None
        if self._map is not None and hasattr(mmap, "MADV_REMOVE"):
            # some file systems cannot: they free the space with the last array
            with suppress(OSError):
                self._map.madvise(mmap.MADV_REMOVE)  # arrays read as zeros from now on
        self._map = None


def is_stored_in_file(n_bytes: int, limit: float | None) -> bool:
    """Return whether codes of `n_bytes` are stored in a file."""
    limit = code_limit(limit)
    return limit is not None and n_bytes > limit


def code_limit(limit: float | None) -> float | None:
    """Return the bytes of codes that may be in memory: half of what is available; None if that is unknown."""
    if limit is None:
        available = available_memory()
        return None if available is None else available // 2
    return limit


def _map_file(n_bytes: int, folder: Path) -> mmap.mmap:
    """Return a file of `n_bytes`, without a name, as memory."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise OSError(_disk_full(n_bytes, folder, free))
    try:
        with tempfile.TemporaryFile(dir=folder, prefix="hedgerow-codes-") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)  # a full disk would crash the process later
            else:
                file.truncate(n_bytes)
            return mmap.mmap(file.fileno(), n_bytes)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(_disk_full(n_bytes, folder, shutil.disk_usage(folder).free)) from error
        raise OSError(
            f"folder={os.fspath(folder)!r} cannot store the codes of the rows ({error.strerror}): pass "
            "another one, Stream(folder=...)"
        ) from error


def _disk_full(n_bytes: int, folder: Path, free: int) -> str:
    return (
        f"folder={os.fspath(folder)!r} has {format_bytes(free)} free, and the codes of the rows need "
        f"{format_bytes(n_bytes)}: pass another one, Stream(folder=...), or raise Stream(memory_limit=...)"
    )
