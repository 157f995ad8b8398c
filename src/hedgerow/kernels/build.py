"""Compile kernels: a shared library for a level of processors, or objects for another process.

python -m hedgerow.kernels.build --cpu x86-64-v3 --out .cache/libraries
"""

import argparse
import gc
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from hedgerow.kernels import signatures
from hedgerow.kernels.cache import ObjectCache, listed_jobs, write
from hedgerow.kernels.library import source_checksum, symbol_of


def work(folder: Path) -> None:
    """Compile the jobs of standard input, a kernel and a signature per line, into a folder."""
    from hedgerow.kernels.lowering import compile_object  # noqa: PLC0415 - imports Numba

    for line in sys.stdin:
        name, signature = line.rstrip("\n").split("\t")
        try:
            module, function = name.split(".")
            kernel = getattr(import_module(f"{signatures.PACKAGE}.{module}"), function)
            stored = compile_object(kernel, signatures.parse(signature), symbol_of(name, signature))
            write(folder, (name, signature), stored)
            answer = "done"
        except Exception as error:  # noqa: BLE001 - reported by the process that waits
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")[:2000]
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


def build_library(cpu: str, out: Path) -> Path:
    """Compile all signatures of the list and link them; return the path of the library."""
    jobs = listed_jobs(signatures.listed())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        objects = ObjectCache(cpu)
        objects.compile(jobs)
        paths = []
        for job in jobs:
            path = Path(temporary) / f"{symbol_of(*job)}.o"
            path.write_bytes(objects.read(job) or b"")
            paths.append(str(path))
        target = out / f"{cpu.partition('+')[0]}.so"
        # No libraries are named: the process that loads it has libc, libm and Python.
        subprocess.run(
            [*_linker(cpu), "-shared", "-s", "--gc-sections", "-o", str(target), *paths], check=True
        )
    manifest = {
        "sources": source_checksum(),
        "library": hashlib.sha256(target.read_bytes()).hexdigest(),
        "entries": [f"{kernel}({signature})" for kernel, signature in jobs],
    }
    target.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    return target


def _linker(cpu: str) -> list[str]:
    """Return the command of a linker: that of the system, or of the package ziglang."""
    foreign = cpu.startswith("aarch64") and platform.machine() != "aarch64"
    if found := shutil.which("aarch64-linux-gnu-ld" if foreign else "ld"):
        return [found]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "ld.lld"]
    raise SystemExit("no linker: install binutils or `pip install ziglang`")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", help="a level, for example x86-64-v3, or aarch64")
    parser.add_argument("--out", type=Path, help="folder of the library")
    parser.add_argument("--worker", type=Path, metavar="FOLDER", help="compile jobs of standard input")
    options = parser.parse_args()
    if options.worker:
        gc.disable()  # it takes a tenth of the time, and the process ends soon
        sys.modules["scipy"] = None  # type: ignore[assignment] # Numba would import it; no kernel uses it
        work(options.worker)
    elif options.cpu and options.out:
        sys.stdout.write(f"{build_library(options.cpu, options.out)}\n")
    else:
        parser.error("--cpu and --out are required")


if __name__ == "__main__":
    main()
