"""Compare models of an emulated aarch64 processor with those of this machine, byte for byte.

    python tests/other_processors/aarch64.py FOLDER

Not part of `make test`: it needs a Debian system, root, the network and some minutes. Steps:

1. cross-compile the kernels for aarch64, generic and with SVE, and check that nothing in them is fused;
2. unpack an arm64 Python from Debian's packages, and aarch64 wheels of NumPy, SciPy and scikit-learn;
3. run benchmarks/model_checksums.py on the same data here and there, in user-mode emulation, and compare the
   checksums of model files and predictions.

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

ROOT = Path(__file__).parents[2]
CHECKSUMS = ROOT / "benchmarks" / "model_checksums.py"
QEMU = "qemu-aarch64-static"
EXPECTED = ("qemu-user-static", "binutils-aarch64-linux-gnu")
LIBRARIES = ("libc6", "libexpat1", "zlib1g", "libffi8", "libbz2-1.0", "liblzma5", "libstdc++6", "libgcc-s1")
WHEELS = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals", "safetensors")
LEVELS = ("aarch64", "aarch64+sve")


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


def unpack_wheels(folder: Path, version: str) -> Path:
    """Unpack wheels for aarch64; return their folder."""
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
    return folder / "site"


def main() -> None:
    """Run the steps and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the emulated system, some 400 MB")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    python = unpack_python(folder)
    site = unpack_wheels(folder, python.name.removeprefix("python"))
    data = folder / "tables.npz"  # functions such as np.sin differ in their last bits
    run(sys.executable, CHECKSUMS, "--save-data", data)
    arguments = (CHECKSUMS, "--data", data)
    expected = run(sys.executable, *arguments).splitlines()
    failed = False
    for level in LEVELS:
        source = folder / f"src-{level}"
        shutil.copytree(ROOT / "src", source, dirs_exist_ok=True)
        libraries = source / "hedgerow" / "kernels" / "libraries"
        run(sys.executable, "-m", "hedgerow.kernels.build", "--cpu", level, "--out", libraries)
        code = run("aarch64-linux-gnu-objdump", "-d", libraries / "aarch64.so")
        n_fused = len(re.findall(r"\tf(?:n?madd|n?msub|mla|mls)\b", code))  # they round once instead of twice
        failed |= n_fused > 0
        print(f"{level}: {n_fused} fused multiply-adds in {code.count(chr(10))} lines of machine code")
        found = run(
            QEMU, "-cpu", "max", "-L", folder / "root", python, *arguments,
            PYTHONHOME=str(folder / "root" / "usr"),
            PYTHONPATH=f"{source}:{site}",
            HEDGEROW_KERNELS="aarch64",
        ).splitlines()  # fmt: skip
        equal = sum(a == b for a, b in zip(expected, found, strict=False))
        failed |= found != expected
        print(f"{level}: {equal} of {len(expected)} cases have the bytes of this machine")
        for ours, theirs in zip(expected, found, strict=False):
            if ours != theirs:
                print(f"  {ours}\n  {theirs}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
