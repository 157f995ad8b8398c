"""A process whose kernels are compiled for a generic CPU: its models must have the same bits.

A test module runs as a script in this process and writes its models to the folder that is its argument.
"""

import os
import subprocess
import sys
from pathlib import Path

from hedgerow.kernels.native import code


def numpy_features():
    """The instruction sets beyond its baseline that NumPy uses on this machine."""
    from numpy._core import _multiarray_umath as core  # noqa: PLC0415 - as in NumPy's own tests

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def run_on_plain_cpu(script, folder):
    """Run a test module as a script for a generic CPU; check that it succeeds and used that CPU."""
    plain = {
        "HEDGEROW_KERNELS": "jit:generic",
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features()),
        "PYTHONPATH": str(Path(__file__).parent),  # the modules of test cases
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


def print_cpu():
    """Print the CPU of the kernels, and the number of instruction sets of NumPy beyond its baseline."""
    sys.stdout.write(f"{code().cache.cpu} {len(numpy_features())}")
