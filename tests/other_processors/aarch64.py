"""Compare models of an emulated aarch64 processor with those of this machine, byte for byte.

    python tests/other_processors/aarch64.py FOLDER
    python tests/other_processors/aarch64.py FOLDER --wheel dist/hedgerow-*-manylinux_2_17_aarch64.whl

Not part of `make test`: it needs a Debian system, root, the network and some minutes. Steps:

1. unpack an arm64 Python from Debian's packages, and aarch64 wheels of NumPy, SciPy and scikit-learn;
2. cross-compile the kernels for aarch64, generic and with SVE, or unpack the wheel of a release;
3. check that no multiplication and addition in them are fused;
4. run benchmarks/model_checksums.py on the same data here and there, in user-mode emulation, and compare the
   checksums of model files and predictions. Numba is not there: nothing can be compiled.

What this does not try: a real processor of this kind, macOS, Windows.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from hedgerow.kernels.lowering import FUSED

ROOT = Path(__file__).parents[2]
CHECKSUMS = ROOT / "benchmarks" / "model_checksums.py"
QEMU = "qemu-aarch64-static"
EXPECTED = ("qemu-user-static", "binutils-aarch64-linux-gnu")
LIBRARIES = ("libc6", "libexpat1", "zlib1g", "libffi8", "libbz2-1.0", "liblzma5", "libstdc++6", "libgcc-s1")
WHEELS = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals", "safetensors")
LEVELS = ("aarch64", "aarch64+sve")
LIBRARIES_FOLDER = "hedgerow/kernels/libraries"
DESCRIBE = "from hedgerow.kernels.native import code; print(code().describe())"


def run(*command: str | Path, folder: Path | None = None, **environment: str) -> str:
    """Run a command and return what it prints; stop if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def unpack_python(folder: Path) -> Path:
    """Unpack Debian's Python for arm64; return it."""
    missing = [
        name for name in EXPECTED if not shutil.which(QEMU if "qemu" in name else "aarch64-linux-gnu-ld")
    ]
    run("dpkg", "--add-architecture", "arm64")
    run("apt-get", "update", "-qq")
    if missing:
        run("apt-get", "install", "-y", "-qq", *missing)
    found = run("apt-cache", "depends", "python3-minimal:arm64")
    version = re.search(r"Depends: python(3\.\d+)-minimal", found)
    if version is None:
        raise SystemExit("no python3-minimal of arm64 among Debian's packages")
    name = f"python{version[1]}"
    packages = (f"{name}-minimal", f"lib{name}-minimal", f"lib{name}-stdlib", *LIBRARIES)
    with tempfile.TemporaryDirectory() as downloads:
        run(
            "apt-get",
            "download",
            "-qq",
            *(f"{package}:arm64" for package in packages),
            folder=Path(downloads),
        )
        for package in Path(downloads).iterdir():
            run("dpkg", "-x", package, folder / "root")
    return folder / "root" / "usr" / "bin" / name


def unpack_wheels(folder: Path, version: str) -> None:
    """Unpack wheels for aarch64 into `site`."""
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 27, 28)] + [
        "--platform=manylinux2014_aarch64"
    ]
    with tempfile.TemporaryDirectory() as downloads:
        download = (
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--only-binary=:all:",
            "--dest",
            downloads,
        )
        run(*download, f"--python-version={version}", "--implementation=cp", *platforms, *WHEELS)
        for wheel in Path(downloads).iterdir():
            with zipfile.ZipFile(wheel) as file:
                file.extractall(folder / "site")


def emulate(folder: Path, python: Path, source: Path, *arguments: str | Path) -> str:
    """Run a Python program on an emulated processor with all extensions; return what it prints."""
    return run(
        QEMU, "-cpu", "max", "-L", folder / "root", python, *arguments,
        PYTHONHOME=str(folder / "root" / "usr"), PYTHONPATH=f"{source}:{folder / 'site'}",
    )  # fmt: skip


def packages(folder: Path, wheel: Path | None) -> dict[str, Path]:
    """Return folders with the package and a library for aarch64: that of the wheel, or two that are built."""
    if wheel:
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder / "wheel")
        return {wheel.name: folder / "wheel"}
    sources = {level: folder / f"src-{level}" for level in LEVELS}
    for level, source in sources.items():
        shutil.copytree(ROOT / "src", source, dirs_exist_ok=True)
        libraries = source / LIBRARIES_FOLDER
        run(sys.executable, "-m", "hedgerow.kernels.build", "--cpu", level, "--out", libraries)
    return sources


def main() -> None:
    """Run the steps and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the emulated system, some 400 MB")
    parser.add_argument("--wheel", type=Path, help="the wheel of a release, instead of the sources")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    python = unpack_python(folder)
    unpack_wheels(folder, python.name.removeprefix("python"))
    data = folder / "tables.npz"  # functions such as np.sin differ in their last bits
    run(sys.executable, CHECKSUMS, "--save-data", data)
    arguments = (CHECKSUMS, "--data", data)
    expected = run(sys.executable, *arguments).splitlines()
    failed = False
    for name, source in packages(folder, options.wheel).items():
        code = run("aarch64-linux-gnu-objdump", "-d", source / LIBRARIES_FOLDER / "aarch64.so")
        n_fused = len(FUSED.findall(code))  # they round once instead of twice
        print(f"{name}: {n_fused} fused multiply-adds in {code.count(chr(10))} lines of machine code")
        print(f"{name}: kernels are {emulate(folder, python, source, '-c', DESCRIBE).strip()}")
        found = emulate(folder, python, source, *arguments).splitlines()
        equal = sum(a == b for a, b in zip(expected, found, strict=False))
        print(f"{name}: {equal} of {len(expected)} cases have the bytes of this machine", flush=True)
        failed |= n_fused > 0 or found != expected
        for ours, theirs in zip(expected, found, strict=False):
            if ours != theirs:
                print(f"  {ours}\n  {theirs}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
