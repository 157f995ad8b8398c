"""Shared libraries of entry points, one for each level of processors, which a platform wheel contains.

    libraries/x86-64-v3.so      the entry points of all signatures of signatures.txt
    libraries/x86-64-v3.json    {"sources": ..., "library": ..., "entries": {"kernel(types)": symbol}}

`sources` is the checksum of the kernels that were compiled, `library` that of the file. A library that is
damaged, of other sources or of another system is not loaded: one warning says so, and kernels are compiled
instead.
"""

import ctypes
import hashlib
import json
import platform
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Self

FOLDER = Path(__file__).with_name("libraries")

# Levels of x86-64 (System V ABI): what /proc/cpuinfo calls the instructions of each.
_V2 = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2}


class Library:
    """A loaded library.

    Parameters
    ----------
    path : Path
        The shared library; its manifest is beside it.
    """

    def __init__(self, path: Path) -> None:
        manifest = json.loads(path.with_suffix(".json").read_bytes())
        if manifest["sources"] != source_checksum():
            raise ValueError("it was built from other sources")
        if manifest["library"] != hashlib.sha256(path.read_bytes()).hexdigest():
            raise ValueError("its checksum differs from that of its manifest")
        self.path, self.level = path, path.stem
        self.entries = {str(name): str(symbol) for name, symbol in manifest["entries"].items()}
        self.loaded = ctypes.CDLL(str(path))

    @classmethod
    def find(cls, level: str | None = None) -> Self | None:
        """Return the library of a level, or of the highest level of this processor; None if there is none."""
        wanted = [level] if level else usable_levels()
        for path in (FOLDER / f"{name}.so" for name in wanted):
            if path.exists():
                try:
                    return cls(path)
                except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                    warnings.warn(
                        f"{path} is not used, kernels are compiled instead: {error}",
                        RuntimeWarning,
                        stacklevel=2,
                    )
                    return None
        if level:
            raise ValueError(f"HEDGEROW_KERNELS={level}: {FOLDER} contains no such library")
        return None

    def address(self, kernel: str, signature: str) -> int | None:
        """Return the address of an entry point."""
        symbol = self.entries.get(f"{kernel}({signature})")
        if symbol is None:
            return None
        return ctypes.cast(self.loaded[symbol], ctypes.c_void_p).value

    def describe(self) -> str:
        """Say in a line which library this is."""
        return f"compiled for {self.level}: {len(self.entries)} entry points in {self.path}"


def usable_levels() -> list[str]:
    """Return the levels that this processor can run, the highest first."""
    if sys.platform != "linux":
        return []
    if platform.machine() != "x86_64":
        return [platform.machine()]
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return ["x86-64-v2"]
    flags = next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())
    return [level for level, needed in LEVELS.items() if needed <= flags]


@cache
def source_checksum() -> str:
    """Return the checksum of the files that determine the machine code of kernels."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    compiler = [here / f"{name}.py" for name in ("entry_points", "frontend", "lowering", "signatures")]
    for path in [*sorted((here / "cpu").glob("*.py")), *compiler]:
        digest.update(f"{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
