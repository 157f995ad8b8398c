"""How kernels are compiled, and how what is compiled is kept.

`njit` is Numba's, with a cache that several processes may write to at once.

The kernels of deep trees and of detection hand dozens of arrays from function to function and make none.
`_nrt=False` leaves out the counting of references to arrays, which they do not need: half of the time of a
tree of small nodes went into it. Parts that are called for every node are inlined by LLVM: their arguments
would be some 300 words on the stack. (Numba's own `inline="always"` runs as fast, but takes much longer to
compile.)
"""

import hashlib
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of a kernel's compiled versions, each named by what it was compiled for.

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
    """Numba's `njit`; options are its own."""

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if type(file) is IndexDataCacheFile:
            file.__class__ = _CacheFile
        return dispatcher

    return compiled


_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}

deep_kernel = njit(**_OPTIONS)
deep_part = njit(**_OPTIONS, forceinline=True)
