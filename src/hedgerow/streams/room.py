"""Room for codes: memory of this process, or a file without a name that is mapped into it.

The file takes the place of memory where there is too little. It is removed from its folder as soon as it is
made, so that nothing is left behind however the process ends; closing the room gives its space back.
"""

import errno
import mmap
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.memory import available_memory, format_bytes

_LINE = 64  # bytes of a cache line, where every piece begins


class Room:
    """Room for so many bytes in pieces.

    Parameters
    ----------
    sizes : list of int
        Bytes of the pieces.
    limit : float or None
        Bytes that may be in memory; None for half of what is available.
    folder : path or None
        Where the file goes; None for the folder of temporary files.

    Attributes
    ----------
    is_mapped : bool
        Whether it is a file.

    Examples
    --------
    >>> room = Room([3, 5], None, None)
    >>> [len(piece) for piece in room.pieces()], room.is_mapped
    ([3, 5], False)
    >>> room.close()
    """

    def __init__(self, sizes: list[int], limit: float | None, folder: str | os.PathLike[str] | None) -> None:
        self._sizes = sizes
        padded = [-(-size // _LINE) * _LINE for size in sizes]
        self._starts = np.cumsum([0, *padded[:-1]]).tolist()
        total = sum(padded)
        self.is_mapped = is_mapped(total, limit)
        self._map: mmap.mmap | None = None
        self._memory: NDArray[np.uint8] | None
        if self.is_mapped:
            self._map = _mapped(total, Path(tempfile.gettempdir() if folder is None else folder))
            self._memory = np.frombuffer(self._map, np.uint8)
        else:
            memory = np.empty(total + _LINE, np.uint8)
            self._memory = memory[-memory.ctypes.data % _LINE :]

    def pieces(self) -> list[NDArray[np.uint8]]:
        """The pieces, each at the beginning of a cache line, holding anything."""
        assert self._memory is not None  # noqa: S101 - it is not closed
        return [
            self._memory[start : start + size] for start, size in zip(self._starts, self._sizes, strict=True)
        ]

    def close(self) -> None:
        """Give the space back; a mapped file does so at once, though a piece may still be held somewhere."""
        self._memory = None
        if self._map is not None and hasattr(mmap, "MADV_REMOVE"):
            # not every file system can: the space is then free when the last piece is let go
            with suppress(OSError):
                self._map.madvise(mmap.MADV_REMOVE)  # pieces read as zeros from now on
        self._map = None


def is_mapped(n_bytes: int, limit: float | None) -> bool:
    """Whether so many bytes go into a file."""
    if limit is None:
        there = available_memory()
        return there is not None and n_bytes > there // 2
    return n_bytes > limit


def _mapped(n_bytes: int, folder: Path) -> mmap.mmap:
    """A file of so many bytes, without a name, as memory."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise OSError(_too_little(n_bytes, folder, free))
    try:
        with tempfile.TemporaryFile(dir=folder, prefix="hedgerow-codes-") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)  # a full disk would else be a crash later
            else:
                file.truncate(n_bytes)
            return mmap.mmap(file.fileno(), n_bytes)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(_too_little(n_bytes, folder, shutil.disk_usage(folder).free)) from error
        raise OSError(
            f"folder={os.fspath(folder)!r} cannot hold the codes of the rows ({error.strerror}): name "
            "another with Stream(folder=...)"
        ) from error


def _too_little(n_bytes: int, folder: Path, free: int) -> str:
    return (
        f"folder={os.fspath(folder)!r} has {format_bytes(free)} free, and the codes of the rows need "
        f"{format_bytes(n_bytes)}: name another with Stream(folder=...), or raise Stream(memory_limit=...)"
    )
