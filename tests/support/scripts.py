"""Load the scripts of examples/ and benchmarks/ as modules."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_script(path):
    """Return the module of a script, such as "examples/validity.py"; it may import others of its folder."""
    path = ROOT / path
    name = f"{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(path.parent))
            spec.loader.exec_module(module)
    return sys.modules[name]
