"""The cache of compiled kernels, written by several processes at once."""

from numba.core.caching import IndexDataCacheFile

from hedgerow.kernels.cpu.jit import _CacheFile, njit
from hedgerow.kernels.cpu.random import draw_rows


def interleaved(kind, folder):
    """Two processes save two versions: each has read the index before the other has written anything."""
    first, second = (kind(str(folder), "kernel-1.py311", "stamp") for _ in range(2))
    writes = []
    for file in (first, second):
        file._load_index = dict
        file._save_index, file._save_data = (
            lambda *args, write=write: writes.append((write, args))
            for write in (file._save_index, file._save_data)
        )
    first.save("of integers", "code of integers")
    second.save("of floats", "code of floats")
    for number in (0, 2, 3, 1):  # the second write of the first process comes last
        write, args = writes[number]
        write(*args)
    return kind(str(folder), "kernel-1.py311", "stamp")


def test_versions_are_not_confused(tmp_path):
    file = interleaved(_CacheFile, tmp_path)
    assert file.load("of floats") in ("code of floats", None)
    assert file.load("of integers") in ("code of integers", None)
    assert {file.load("of floats"), file.load("of integers")} != {None}


def test_cache_of_numba_confuses_versions(tmp_path):
    """When this fails, Numba has its own solution, and ours can be removed."""
    assert interleaved(IndexDataCacheFile, tmp_path).load("of floats") == "code of integers"


def test_kernels_use_the_cache():
    assert type(draw_rows._cache._cache_file) is _CacheFile
    assert njit(nogil=True)(lambda x: x + 1)(1) == 2
