"""Build what a release consists of, and check it: `make wheel`.

    dist/hedgerow-VERSION.tar.gz                       sources
    dist/hedgerow-VERSION-py3-none-any.whl             any platform; requires Numba and compiles at first use
    dist/hedgerow-VERSION-py3-none-PLATFORM.whl        with compiled kernels; does not require Numba

A platform wheel is the plain one with a shared library for each level of processors. Its entry points use
CPython's stable ABI only, so that one wheel serves all versions of Python. An x86-64 machine builds those of
x86_64 and aarch64, any other machine its own. A kernel with fused multiplications and additions is not built.
The plain wheel and the platform wheel of this machine are installed into new environments and fit models of
all families there (`benchmarks/model_checksums.py`). With the platform wheel nothing may be compiled. Models
must have the same bits with the libraries of all levels and with kernels compiled at first use.
`tests/other_processors/aarch64.py --wheel` checks the wheel of aarch64 in emulation.

The libraries of this machine are kept in `.cache/libraries`, which `make demo` names in HEDGEROW_LIBRARIES.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from hedgerow.kernels.library import usable_levels

ROOT = Path(__file__).parents[1]
MACHINE = platform.machine()
# The levels of processors of each platform that this machine can compile for.
LEVELS = {MACHINE: (MACHINE,)}
if MACHINE == "x86_64":
    LEVELS = {"x86_64": ("x86-64-v2", "x86-64-v3", "x86-64-v4"), "aarch64": ("aarch64",)}
KEPT = ROOT / ".cache" / "libraries"
CHECKSUMS = ROOT / "benchmarks" / "model_checksums.py"
# After the fits: kernels must come from a library, without Numba, or from a cache.
CHECK = """
import importlib.util, runpy, sys
from hedgerow.kernels.native import code
script, wanted = sys.argv.pop(), sys.argv.pop()
runpy.run_path(script, run_name="__main__")
found = "library" if code().library else "cache"
assert found == wanted, f"kernels come from {code().describe()}"
if found == "library":
    assert importlib.util.find_spec("numba") is None, "the platform wheel installed Numba"
    assert "llvmlite" not in sys.modules
print(f"kernels {code().describe()}", file=sys.stderr)
"""


def run(*command: str | Path, **environment: str) -> None:
    """Run a command in the project's folder; stop if it fails."""
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, env={**os.environ, **environment})


def platform_wheel(plain: Path, machine: str, libraries: Path) -> Path:
    """Add the libraries to a plain wheel and remove the requirement of Numba; return the new wheel."""
    # Kernels call nothing but memcpy, memset, malloc, free and sched_yield: any glibc has them.
    tag = f"manylinux_2_17_{machine}"
    target = plain.with_name(plain.name.replace("-any.whl", f"-{tag}.whl"))
    record: list[tuple[str, str, int | str]] = []
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:

        def write(name: str, data: bytes) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append((name, f"sha256={digest}", len(data)))
            out.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)

        names = source.namelist()
        for name in names:
            if name.endswith(".dist-info/RECORD"):
                continue
            data = source.read(name)
            if name.endswith(".dist-info/METADATA"):
                data = without_numba(data.decode()).encode()
            elif name.endswith(".dist-info/WHEEL"):
                data = data.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
                data = data.replace(b"Tag: py3-none-any", f"Tag: py3-none-{tag}".encode())
            write(name, data)
        for path in sorted(libraries.iterdir()):
            write(f"hedgerow/kernels/libraries/{path.name}", path.read_bytes())
        folder = next(name for name in names if name.endswith(".dist-info/RECORD"))
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows([*record, (folder, "", "")])
        out.writestr(folder, table.getvalue())
    return target


def without_numba(metadata: str) -> str:
    """Make the requirement of Numba an extra, `jit`."""
    head, _, body = metadata.partition("\n\n")
    lines = [line for line in head.split("\n") if not line.startswith("Requires-Dist: numba")]
    if len(lines) != head.count("\n"):
        raise SystemExit("the plain wheel does not require numba exactly once")
    requirement = next(line for line in head.split("\n") if line.startswith("Requires-Dist: numba"))
    return "\n".join([*lines, "Provides-Extra: jit", f"{requirement} ; extra == 'jit'"]) + f"\n\n{body}"


def check(wheel: Path, *, compiled: bool) -> dict[str, list[str]]:
    """Install a wheel into a new environment and fit models there; return a line of checksums for every fit.

    With compiled kernels, the fits are made with the library of every level that this processor can run.
    """
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "env" / "bin" / "python"
        run(sys.executable, "-m", "venv", Path(folder) / "env")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        for setting in usable_levels() if compiled else [""]:
            variables = {"HEDGEROW_CACHE": str(Path(folder) / "cache"), "HEDGEROW_KERNELS": setting}
            variables |= {"HEDGEROW_LIBRARIES": "", "PYTHONPATH": ""}
            done = subprocess.run(
                [python, "-c", CHECK, "library" if compiled else "cache", CHECKSUMS],
                cwd=folder,
                env={**os.environ, **variables},
                check=True,
                text=True,
                stdout=subprocess.PIPE,
            )
            found[setting or "compiled at first use"] = done.stdout.splitlines()
    return found


def compare(found: dict[str, list[str]]) -> None:
    """Print how many fits have the same bits with all builds; stop if some have not."""
    fits = list(zip(*found.values(), strict=True))
    different = [lines for lines in fits if len(set(lines)) > 1]
    print(f"{len(fits) - len(different)} of {len(fits)} fits have the same bits with {', '.join(found)}")
    for lines in different:
        print("\n".join(f"  {line}  {name}" for name, line in zip(found, lines, strict=True)))
    if different or not fits:
        raise SystemExit("the builds do not have the same bits")


def keep(libraries: Path) -> None:
    """Replace the libraries that `make demo` uses."""
    shutil.rmtree(KEPT, ignore_errors=True)
    shutil.copytree(libraries, KEPT)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--no-check", action="store_true", help="build only")
    options = parser.parse_args()
    for old in options.out.glob("hedgerow-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", options.out)
    (plain,) = options.out.glob("*-any.whl")
    wheels = {}
    for machine, levels in LEVELS.items():
        with tempfile.TemporaryDirectory() as folder:
            for level in levels:
                run(sys.executable, "-m", "hedgerow.kernels.build", "--cpu", level, "--out", folder)
            wheels[machine] = platform_wheel(plain, machine, Path(folder))
            if machine == MACHINE:
                keep(Path(folder))
    if not options.no_check:
        compare(check(wheels[MACHINE], compiled=True) | check(plain, compiled=False))
    for path in sorted(options.out.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
