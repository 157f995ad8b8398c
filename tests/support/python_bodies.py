"""Run kernels as plain Python functions, without Numba.

Coverage cannot measure the lines of a compiled kernel. Within `python_bodies()` every kernel of the package
is its Python function, and every intrinsic its version in `plain_intrinsics`. Arguments get the types that
Numba uses: integers are int64, floats are float64, and records have attributes; results are as Numba returns
them. Machine integers wrap, as in a compiled kernel.

The bodies compute the same bits as the compiled kernels: integers are NumPy's, floats are added and
multiplied one by one, and nothing is fused. `tests/kernels/test_python_*.py` check it.
"""

import sys
import threading
from collections.abc import Hashable
from contextlib import contextmanager
from functools import cache, wraps
from types import FunctionType

import numpy as np

import plain_intrinsics
from hedgerow.kernels.native import DeferredIntrinsic, NativeKernel

_INSIDE = threading.local()  # whether this thread runs a body, whose calls need no conversion


class _Record:
    """One record of an array: its fields as attributes, which are written to the array."""

    def __init__(self, record):
        vars(self)["record"] = record

    def __getattr__(self, name):
        return _as_argument(self.record[name])

    def __setattr__(self, name, value):
        self.record[name] = value


def _as_argument(value):
    """Convert an argument as Numba does."""
    if isinstance(value, np.ndarray):
        return value.view(np.recarray) if value.dtype.names else value
    if isinstance(value, np.void):
        return _Record(value)
    if isinstance(value, tuple):
        items = [_as_argument(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    for kind, machine in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if type(value) is kind:
            return machine(value)
    return value


def _as_result(value):
    """Convert a result as Numba does."""
    if isinstance(value, tuple):
        return tuple(_as_result(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value


def _python(body):
    @wraps(body)
    def call(*args):
        if getattr(_INSIDE, "yes", False):
            return body(*args)
        _INSIDE.yes = True
        try:
            with np.errstate(all="ignore"):
                return _as_result(body(*map(_as_argument, args)))
        finally:
            _INSIDE.yes = False

    return call


@cache
def _python_version(compiled):
    if isinstance(compiled, DeferredIntrinsic):
        return getattr(plain_intrinsics, compiled.name)
    return _python(compiled.py_func)


def holders():
    """The modules of the package, and the classes that they define."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("hedgerow."):
            yield module
            classes = {value for value in vars(module).values() if isinstance(value, type)}
            yield from (one for one in classes if one.__module__ == module_name)


def _replace(others):
    """Replace every value, and every item of a tuple, in modules and classes by others[value]."""
    for holder in holders():
        for name, value in list(vars(holder).items()):
            if isinstance(value, NativeKernel | DeferredIntrinsic | FunctionType) and value in others:
                setattr(holder, name, others[value])
            elif type(value) is tuple and any(isinstance(v, Hashable) and v in others for v in value):
                setattr(holder, name, tuple(others.get(item, item) for item in value))


@contextmanager
def python_bodies():
    """Run the kernels of the package through their Python bodies."""
    kernels = {
        value: _python_version(value)
        for name, module in list(sys.modules.items())
        if name.startswith("hedgerow.kernels.")
        for value in vars(module).values()
        if isinstance(value, NativeKernel | DeferredIntrinsic) and value.__module__.startswith("hedgerow.")
    }
    try:
        _replace(kernels)
        yield
    finally:
        _replace({python: compiled for compiled, python in kernels.items()})


def both_ways(case):
    """Return the results of `case()` with compiled kernels and with their Python bodies."""
    compiled = case()
    with python_bodies():
        return compiled, case()
