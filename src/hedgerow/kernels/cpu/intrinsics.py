"""Machine instructions that Numba does not offer.

All of them act on arrays by byte offset or by element and return at once; none of them changes a result,
they only affect when memory is read and when a thread waits. Kernels name them with `jit.intrinsics`, since
only processes that compile import Numba.
"""

import sys

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


@intrinsic
def prefetch(typingctx, array, byte_offset):
    """Request the cache line at `byte_offset` of `array`; a wrong offset is harmless."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        address = builder.gep(builder.bitcast(data, byte), [args[1]])
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data_cache = (ir.Constant(word, value) for value in (0, 3, 1))
        builder.call(function, [address, read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.uintp), codegen


def _element(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def atomic_add(typingctx, array, index, value):
    """Add `value` to an int64 element atomically; return its previous value."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", _element(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


@intrinsic
def atomic_load(typingctx, array, index):
    """Read an int64 element that another thread may be writing."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(_element(context, builder, signature, args), "seq_cst", 8)

    return types.int64(array, types.intp), codegen


@intrinsic
def lowest_bit(typingctx, bits):
    """Index of the lowest set bit of an unsigned integer that is not zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return bits(bits), codegen


@intrinsic
def yield_time_slice(typingctx):
    """Let another thread run: a waiting thread must not occupy the core of the one it waits for."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, _YIELD), [])
        return context.get_dummy_value()

    return types.void(), codegen
