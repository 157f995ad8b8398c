"""Compilation of kernels: decorators, and a cache that several processes may write to at once.

The kernels of deep trees and of detection pass dozens of arrays from function to function and create none.
`_nrt=False` omits the reference counting of arrays: it took half of the time of a tree of small nodes.
Functions that are called for every node are inlined by LLVM: their arguments would take some 300 machine
words on the stack. (Numba's own `inline="always"` runs as fast, but takes much longer to compile.)
"""

import hashlib
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of a kernel's compiled versions, each named by a hash of its signature.

    Numba numbers them. Two processes that compile two versions at the same time both take the next number,
    and the index may then name a file that holds the other one's code, which reads integers as floats.
    """

    def save(self, key: Any, data: Any) -> None:
        """Write a version, and only then the index that names it."""
        version = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self._index_name.removesuffix('.nbi')}.{version}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


def njit(**options: Any) -> Any:
    """Numba's `njit` with the cache of this module."""

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if type(file) is IndexDataCacheFile:
            file.__class__ = _CacheFile
        return dispatcher

    return compiled


_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

kernel = njit(**_OPTIONS)
inlined_kernel = njit(**_OPTIONS, forceinline=True)
deep_kernel = njit(**_OPTIONS, _nrt=False)
deep_inline = njit(**_OPTIONS, _nrt=False, forceinline=True)
