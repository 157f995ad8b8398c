"""Decorators of kernels.

The kernels of deep trees and of detection pass dozens of arrays from function to function and create none.
`_nrt=False` omits the reference counting of arrays: it took half of the time of a tree of small nodes.
Functions that are called for every node are inlined by LLVM: their arguments would take some 300 machine
words on the stack. (Numba's own `inline="always"` runs as fast, but takes much longer to compile.)
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from hedgerow.kernels.native import DeferredIntrinsic, NativeKernel


def _kernel(*, separate: bool = False, **options: Any) -> Callable[[Callable[..., Any]], NativeKernel]:
    """Return a decorator; the options are those of `numba.njit`."""
    options = {"nogil": True, "error_model": "numpy"} | options
    return lambda function: NativeKernel(function, options, separate=separate)


kernel = _kernel()
inlined_kernel = _kernel(forceinline=True)
separate_kernel = _kernel(separate=True)  # never inlined
deep_kernel = _kernel(_nrt=False)
deep_inline = _kernel(_nrt=False, forceinline=True)


def intrinsics(module: str, *names: str) -> tuple[Any, ...]:
    """Return intrinsics of a module of this package, which is imported when a kernel is compiled."""
    return tuple(_intrinsic(f"{__package__}.{module}", name) for name in names)


_intrinsic = cache(DeferredIntrinsic)  # one object for each, however many modules use it
