"""Kernels run as the Python that is written, without Numba.

Numba hides the body of a kernel: nobody can say which of its lines have run. Within `python_bodies()` every
kernel of the package is its own Python function, and every intrinsic what `plain_intrinsics` says. What goes
in from outside gets the types that Numba would give it: integers are int64, floats are float64, and records
have attributes; what comes out is as Numba returns it. Machine integers wrap, as in a compiled kernel.

The bodies give the same bits as the compiled kernels: integers are NumPy's, floats are added and multiplied
one by one, and nothing is fused. The tests in `python_kernels` hold it.
"""

import sys
import threading
from collections.abc import Hashable
from contextlib import contextmanager
from functools import cache, wraps

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

import plain_intrinsics

_INSIDE = threading.local()  # whether this thread runs a body: what it calls is handed over as it is


class _Record:
    """One record of an array: its fields as attributes, which are written to the array."""

    def __init__(self, record):
        vars(self)["record"] = record

    def __getattr__(self, name):
        return _taken(self.record[name])

    def __setattr__(self, name, value):
        self.record[name] = value


def _taken(value):
    """An argument as a compiled kernel sees it."""
    if isinstance(value, np.ndarray):
        return value.view(np.recarray) if value.dtype.names else value
    if isinstance(value, np.void):
        return _Record(value)
    if isinstance(value, tuple):
        parts = [_taken(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    for kind, machine in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if type(value) is kind:
            return machine(value)
    return value


def _given(value):
    """A result as a compiled kernel returns it."""
    if isinstance(value, tuple):
        return tuple(_given(part) for part in value)
    return value.item() if isinstance(value, np.generic) else value


def _python(body):
    @wraps(body)
    def call(*args):
        if getattr(_INSIDE, "yes", False):
            return body(*args)
        _INSIDE.yes = True
        try:
            with np.errstate(all="ignore"):
                return _given(body(*map(_taken, args)))
        finally:
            _INSIDE.yes = False

    return call


@cache
def _stand_in(compiled):
    if isinstance(compiled, _Intrinsic):
        return getattr(plain_intrinsics, compiled._name)
    return _python(compiled.py_func)


def _exchange(others):
    """Put others[value] in the place of every value that a module of the package holds by name."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("hedgerow."):
            for name, value in list(vars(module).items()):
                if isinstance(value, Hashable) and value in others:
                    setattr(module, name, others[value])


@contextmanager
def python_bodies():
    """Run the kernels of the package through their Python bodies."""
    kernels = {
        value: _stand_in(value)
        for name, module in list(sys.modules.items())
        if name.startswith("hedgerow.kernels.")
        for value in vars(module).values()
        if isinstance(value, Dispatcher | _Intrinsic) and value.__module__.startswith("hedgerow.")
    }
    try:
        _exchange(kernels)
        yield
    finally:
        _exchange({python: compiled for compiled, python in kernels.items()})


def both_ways(case):
    """What `case()` gives with compiled kernels, and what with their Python bodies."""
    compiled = case()
    with python_bodies():
        return compiled, case()
