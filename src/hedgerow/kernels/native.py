"""Kernels: Python functions that run as machine code.

A `NativeKernel` has one entry point (see `entry_points`) for every signature it was called with. Calling it
tries them in turn; one that gets arguments of other types returns NotImplemented. Then, once per signature,
the code is loaded, from the first source that has it:

    1. the shared library of the installed package, for this processor          (`library.Library`)
    2. object files that an earlier process compiled and stored                 (`cache.ObjectCache`)
    3. Numba, in other processes, for all signatures of the family at once      (`cache.ObjectCache`)

HEDGEROW_KERNELS selects the source: `jit` compiles for this processor even if there is a library, `jit:NAME`
for the processor NAME as LLVM names it, and `x86-64-v2` (or -v3, -v4, aarch64) loads the library of a level.
"""

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hedgerow.kernels import signatures
from hedgerow.kernels.cache import ObjectCache, listed_jobs
from hedgerow.kernels.library import Library
from hedgerow.kernels.signatures import Array, Record, Signature, Tuple, Type, dtype_of

LOCK = threading.RLock()  # held while code is loaded or compiled
_METH_FASTCALL = 0x80


class NativeKernel:
    """A kernel: its Python body, and the entry points that were loaded.

    Parameters
    ----------
    py_func : function
        The body, in the subset of Python that Numba compiles.
    options : dict
        Options of `numba.njit`.
    separate : bool
        Whether it stays a function of its own in kernels that call it.
    """

    separate: ClassVar[list[str]] = []  # the names of such kernels, module by module

    def __init__(
        self, py_func: Callable[..., Any], options: dict[str, Any], *, separate: bool = False
    ) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func, self.options = py_func, options
        self.name = f"{py_func.__module__.removeprefix(signatures.PACKAGE + '.')}.{py_func.__name__}"
        if separate:
            NativeKernel.separate.append(f"{py_func.__module__}.{py_func.__name__}")
        self._entries: tuple[Callable[..., Any], ...] = ()
        self._loaded: dict[Signature, Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the kernel."""
        for entry in self._entries:
            result = entry(*args)
            if result is not NotImplemented:
                return result
        return self._call_other(args)

    def _call_other(self, args: tuple[Any, ...]) -> Any:
        """Run the kernel on arguments that no loaded entry point takes unchanged."""
        n_wanted = self.py_func.__code__.co_argcount
        if len(args) != n_wanted:
            raise TypeError(f"kernel {self.name} takes {n_wanted} arguments, not {len(args)}")
        actual = tuple(signatures.describe(arg) for arg in args)
        wanted = self._listed(actual) or actual
        entry = self._loaded.get(wanted) or self._load(wanted)
        result = entry(*map(signatures.convert, args, wanted))
        if result is NotImplemented:
            raise TypeError(
                f"kernel {self.name} does not take {signatures.text_of(actual)}: "
                "an array that it writes to is read-only"
            )
        return result

    def _listed(self, actual: Signature) -> Signature | None:
        """Return the signature of the list that takes the arguments, if there is one."""
        for wanted in signatures.of_kernel(self.name):
            if len(wanted) == len(actual) and all(map(signatures.accepts, wanted, actual)):
                return wanted
        return None

    def _load(self, signature: Signature) -> Callable[..., Any]:
        with LOCK:
            if signature not in self._loaded:
                address = code().address(self.name, signature)
                self._loaded[signature] = entry = make_function(address, self.name, signature)
                self._entries = (*self._entries, entry)
            return self._loaded[signature]

    @property
    def signatures(self) -> list[str]:
        """The signatures that were loaded."""
        return [signatures.text_of(signature) for signature in self._loaded]

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    # --- within Numba, that is, in processes that compile

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's version of the kernel."""
        import numba  # noqa: PLC0415 - only processes that compile import Numba

        from hedgerow.kernels.frontend import KernelCompiler  # noqa: PLC0415

        njit: Any = numba.njit  # its types do not include all options
        only_body = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": KernelCompiler}
        return njit(**self.options, **only_body)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """The type of the kernel as a global variable of another kernel."""
        return self.dispatcher._numba_type_


class DeferredIntrinsic:
    """An intrinsic of Numba, whose module is imported when a kernel that uses it is compiled."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @property
    def _numba_type_(self) -> Any:
        from importlib import import_module  # noqa: PLC0415 - only processes that compile import these

        from numba.core.registry import cpu_target  # noqa: PLC0415

        intrinsic = getattr(import_module(self.module), self.name)
        cpu_target.typing_context.refresh()  # finds what the module registered
        cpu_target.target_context.refresh()
        return cpu_target.typing_context.resolve_value_type(intrinsic)


# --- where machine code comes from


class Code:
    """The machine code of this process: a library, and a cache of compiled objects."""

    def __init__(self, setting: str) -> None:
        self.library = None if setting.startswith("jit") else Library.find(setting or None)
        self.cache = ObjectCache(setting.removeprefix("jit").removeprefix(":") or None)

    def address(self, kernel: str, signature: Signature) -> int:
        """Return the address of an entry point, after compiling it if necessary."""
        text = signatures.text_of(signature)
        found = self.library.address(kernel, text) if self.library else None
        return found or self.cache.address(kernel, text)

    def compile_listed(self) -> int:
        """Compile listed kernels, except rare ones, that are not stored yet; return their number."""
        families = [family for family in signatures.listed() if family != signatures.RARE]
        jobs = [job for job in listed_jobs(families) if not (self.library and self.library.address(*job))]
        return self.cache.compile(jobs)

    def describe(self) -> str:
        """Describe in one line where the code comes from."""
        return self.library.describe() if self.library else self.cache.describe()


@functools.cache
def code() -> Code:
    """Return the machine code of this process."""
    check_layout()
    return Code(os.environ.get("HEDGEROW_KERNELS", ""))


_prepared: set[str] = set()


def prepare(*families: str) -> None:
    """Compile the kernels of families that a fit will use, on all cores.

    Without it, a kernel is compiled with its family when it is first called, and a fit waits several times.
    """
    if not _prepared.issuperset(families):
        with LOCK:
            if code().library is None:
                code().cache.compile_missing(listed_jobs(families))
            _prepared.update(families)


# --- entry points as Python functions


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_definitions: list[_MethodDefinition] = []  # CPython keeps pointers to them


def make_function(address: int, name: str, signature: Signature) -> Callable[..., Any]:
    """Return the Python function of an entry point."""
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, None)
    _definitions.append(definition)
    new = ctypes.pythonapi["PyCFunction_NewEx"]
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.addressof(definition), constants(signature), None)  # type: ignore[no-any-return]


def constants(signature: Signature) -> tuple[Any, ...]:
    """Return the objects that an entry point compares with; see `entry_points`."""
    fixed = (NotImplemented, RuntimeError, np.ndarray, np.void, bool, np.bool_, float, np.float64, np.float32)
    return (*fixed, *(dtype for kind in signature for dtype in _dtypes(kind)))


def _dtypes(kind: Type) -> list[np.dtype[Any]]:
    if isinstance(kind, Array | Record):
        return [dtype_of(kind.dtype)]
    if isinstance(kind, Tuple):
        return [dtype for item in kind.items for dtype in _dtypes(item)]
    return []


def check_layout() -> None:
    """Raise ImportError if this Python or NumPy stores its objects otherwise than entry points read them."""
    array = np.zeros((2, 3), np.int16)[:, :2]
    record = np.zeros(1, np.dtype([("a", np.int64)]))
    scalar = record[0]

    def word(item: object, offset: int, kind: Any = ctypes.c_ssize_t) -> int:
        return int(kind.from_address(id(item) + offset).value)

    shape = (ctypes.c_ssize_t * 2).from_address(word(array, 32))
    strides = (ctypes.c_ssize_t * 2).from_address(word(array, 40))
    right = (
        word(array, 8) == id(np.ndarray)
        and word(array, 16) == array.ctypes.data
        and word(array, 24, ctypes.c_int) == array.ndim
        and (tuple(shape), tuple(strides)) == (array.shape, array.strides)
        and word(array, 56) == id(array.dtype)
        and word(array, 64, ctypes.c_int) == array.flags.num
        and word(scalar, 24) == record.ctypes.data
        and word(scalar, 32) == id(scalar.dtype)
    )
    if not right:
        raise ImportError("this version of Python or NumPy has an unknown layout of arrays")


if hasattr(os, "register_at_fork"):
    # If another thread held the lock during a fork, it would stay locked in the child: so a fork waits.
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
