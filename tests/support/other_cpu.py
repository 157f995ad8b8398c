"""A process of its own, compiled for the plainest processor: what it trains must have the same bits.

A test module that uses it is run as a script there: it writes what it trained to the folder it is given.
"""

import os
import subprocess
import sys
from pathlib import Path

import numba


def numpy_features():
    """The instruction sets beyond its baseline that NumPy uses here."""
    from numpy._core import _multiarray_umath as core  # noqa: PLC0415 - NumPy's own tests ask so

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def run_on_plain_cpu(script, folder):
    """Run a test module as a script for a generic CPU; it must end well, and be what it was told to be."""
    plain = {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(Path(os.environ.get("NUMBA_CACHE_DIR") or folder) / "generic"),
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features()),
        "PYTHONPATH": str(Path(__file__).parent),  # the cases
    }
    done = subprocess.run(
        [sys.executable, script, str(folder)],
        env=os.environ | plain,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["generic", "0"]


def tell_cpu():
    """What `run_on_plain_cpu` reads: the CPU compiled for, and how much more NumPy uses than it must."""
    sys.stdout.write(f"{numba.config.CPU_NAME} {len(numpy_features())}")
