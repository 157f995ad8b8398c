"""Shared libraries of entry points, one for each level of processors, which a platform wheel contains.

    libraries/x86-64-v3.so      the entry points of all signatures of signatures.txt
    libraries/x86-64-v3.json    {"sources": ..., "library": ..., "entries": ["kernel(types)", ...]}

`sources` is the checksum of the kernels that were compiled, `library` that of the file. A library that is
damaged, of other sources or of another system is not loaded: one warning says so, and the library of the
next level is used instead, or kernels are compiled.

HEDGEROW_LIBRARIES names a second folder, which a checkout may have: `make wheel` keeps the libraries of this
machine, and `make demo` uses them. Libraries of other sources are ignored there without a warning.
"""

import ctypes
import hashlib
import json
import os
import platform
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Self

FOLDER = Path(__file__).with_name("libraries")
SECOND_FOLDER = "HEDGEROW_LIBRARIES"

# Levels of x86-64 (System V ABI): what /proc/cpuinfo calls the instructions of each.
_V2 = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2}


class OtherSourcesError(ValueError):
    """The library was built from other sources."""


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
            raise OtherSourcesError("it was built from other sources")
        if manifest["library"] != hashlib.sha256(path.read_bytes()).hexdigest():
            raise ValueError("its checksum differs from that of its manifest")
        self.path, self.level = path, path.stem
        self.loaded = ctypes.CDLL(str(path))
        self._addresses = {str(name): self._address(*name.split("(", 1)) for name in manifest["entries"]}

    @classmethod
    def find(cls, level: str | None = None) -> Self | None:
        """Return the library of a level, or of the highest level of this processor; None if there is none."""
        second = os.environ.get(SECOND_FOLDER)
        folders = [FOLDER, Path(second)] if second else [FOLDER]
        levels = [level] if level else usable_levels()
        found, damaged = None, []
        for path in (folder / f"{name}.so" for name in levels for folder in folders):
            try:
                found = cls(path) if path.exists() else None
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                if path.parent == FOLDER or not isinstance(error, OtherSourcesError):
                    damaged.append(f"{path}: {error}")
            if found:
                break
        if damaged:
            instead = f"{found.path} is used instead" if found else "kernels are compiled instead"
            warnings.warn(
                f"a library of kernels is not used, {instead}: {'; '.join(damaged)}",
                RuntimeWarning,
                stacklevel=2,
            )
        elif level and not found:
            raise ValueError(f"HEDGEROW_KERNELS={level}: {FOLDER} contains no such library")
        return found

    def address(self, kernel: str, signature: str) -> int | None:
        """Return the address of an entry point."""
        return self._addresses.get(f"{kernel}({signature})")

    def _address(self, kernel: str, rest: str) -> int:
        function = self.loaded[symbol_of(kernel, rest.removesuffix(")"))]  # AttributeError if it has none
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def describe(self) -> str:
        """Describe the library in one line."""
        return f"compiled for {self.level}: {len(self._addresses)} entry points in {self.path}"


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


def symbol_of(kernel: str, signature: str) -> str:
    """Return the name of an entry point."""
    digest = hashlib.sha256(signature.encode()).hexdigest()[:16]
    return f"hedgerow_{kernel.replace('.', '_')}_{digest}"


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
