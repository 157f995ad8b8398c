"""The entry point of a kernel: a function in LLVM IR that Python can call.

It has the convention METH_FASTCALL of CPython,

    PyObject *entry(PyObject *constants, PyObject *const *args, Py_ssize_t n_args)

and uses functions of the stable ABI only. It compares the types of its arguments with those of its
signature and returns NotImplemented if one differs; otherwise it releases the interpreter lock and calls the
kernel. `constants` is the tuple that `native.constants` makes: NotImplemented, RuntimeError, types, dtypes.
The layout of ndarray and of records of NumPy is checked when entry points are loaded, see `native`.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from hedgerow.kernels.signatures import Array, Record, Signature, Tuple, Type, dtype_of

# Offsets in bytes and flags of NumPy's objects; `native.check_layout` compares them with real ones.
TYPE, DATA, NDIM, SHAPE, STRIDES, DESCR, FLAGS = 8, 16, 24, 32, 40, 56, 64
RECORD_DATA, RECORD_DESCR = 24, 32
C_ORDER, WRITEABLE = 0x1, 0x400
# Positions in `constants`; dtypes of arrays and records follow in the order of the arguments.
N_FIXED = 9
NOT_IMPLEMENTED, RUNTIME_ERROR, NDARRAY, VOID, BOOL, NP_BOOL, FLOAT, NP_FLOAT64, NP_FLOAT32 = range(N_FIXED)

_BYTE, _I32, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _BYTE.as_pointer()
FLAGS_NAME = "required_flags"  # a constant that `lowering` adds: for every array the flags that it must have


class EntryBuilder:
    """LLVM IR of an entry point."""

    def __init__(self, context: Any, result: Any, symbol: str) -> None:
        self.context, self.result = context, result
        self.module = context.create_module(symbol)
        kind = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _WORD])
        self.function = ir.Function(self.module, kind, symbol)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.mismatch = self.function.append_basic_block("mismatch")
        self.constants, self.n_dtypes = self.function.args[0], 0
        self.arrays: list[tuple[str, Array]] = []  # names of arguments as in Numba's code, and their types
        self.flags = ir.GlobalVariable(self.module, ir.ArrayType(_I32, 0), FLAGS_NAME)

    def build(self, signature: Signature) -> Any:
        """Return the module of the entry point."""
        b, fndesc, call_conv = self.builder, self.result.fndesc, self.context.call_conv
        pointers, count = self.function.args[1:]
        self._require(b.icmp_signed("==", count, ir.Constant(_WORD, len(signature))))
        values = []
        for position, (kind, numba_kind) in enumerate(zip(signature, fndesc.argtypes, strict=True)):
            item = b.load(b.gep(pointers, [ir.Constant(_WORD, position)]))
            values.append(self._value(kind, numba_kind, item, f"arg.{fndesc.args[position]}"))
        callee = ir.Function(
            self.module, call_conv.get_function_type(fndesc.restype, fndesc.argtypes), fndesc.llvm_func_name
        )
        thread = self._call(_POINTER, "PyEval_SaveThread")
        status, value = call_conv.call_function(b, callee, fndesc.restype, fndesc.argtypes, values)
        self._call(ir.VoidType(), "PyEval_RestoreThread", thread)
        with b.if_then(status.is_error, likely=False):
            text = cgutils.global_constant(
                self.module, "failed", cgutils.make_bytearray(f"kernel {fndesc.qualname} failed\0".encode())
            )
            error = self._constant(RUNTIME_ERROR)
            self._call(ir.VoidType(), "PyErr_SetString", error, b.bitcast(text, _POINTER))
            b.ret(ir.Constant(_POINTER, None))
        b.ret(self._result(fndesc.restype, value))
        b.position_at_end(self.mismatch)
        self._call(ir.VoidType(), "PyErr_Clear")
        answer = self._constant(NOT_IMPLEMENTED)
        self._call(ir.VoidType(), "Py_IncRef", answer)
        b.ret(answer)
        return self.module

    def _call(self, result: Any, name: str, *args: Any) -> Any:
        kind = ir.FunctionType(result, [arg.type for arg in args])
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, name), args)

    def _constant(self, position: int) -> Any:
        return self._call(_POINTER, "PyTuple_GetItem", self.constants, ir.Constant(_WORD, position))

    def _require(self, condition: Any) -> None:
        """Continue if the condition holds, else at the end of the function, which returns NotImplemented."""
        following = self.function.append_basic_block()
        self.builder.cbranch(condition, following, self.mismatch)
        self.builder.position_at_end(following)

    def _field(self, item: Any, offset: int, kind: Any = _POINTER) -> Any:
        address = self.builder.gep(item, [ir.Constant(_WORD, offset)])
        return self.builder.load(self.builder.bitcast(address, kind.as_pointer()))

    def _is_type(self, item: Any, *positions: int) -> Any:
        found, b = self._field(item, TYPE), self.builder
        equal = [b.icmp_unsigned("==", found, self._constant(position)) for position in positions]
        return equal[0] if len(equal) == 1 else b.or_(*equal)

    def _require_dtype(self, found: Any) -> None:
        self._require(self.builder.icmp_unsigned("==", found, self._constant(N_FIXED + self.n_dtypes)))
        self.n_dtypes += 1

    def _value(self, kind: Type, numba_kind: Any, item: Any, name: str) -> Any:
        if isinstance(kind, Array):
            return self._array(kind, numba_kind, item, name)
        if isinstance(kind, Tuple):
            return self._tuple(kind, numba_kind, item, name)
        if isinstance(kind, Record):
            self._require(self._is_type(item, VOID))
            self._require_dtype(self._field(item, RECORD_DESCR))
            data = self._field(item, RECORD_DATA)
            return self.builder.bitcast(data, self.context.get_value_type(numba_kind))
        return self._number(kind.name, item)

    def _array(self, kind: Array, numba_kind: Any, item: Any, name: str) -> Any:
        b = self.builder
        self._require(self._is_type(item, NDARRAY))
        self._require_dtype(self._field(item, DESCR))
        self._require(b.icmp_signed("==", self._field(item, NDIM, _I32), ir.Constant(_I32, kind.ndim)))
        required = b.load(b.gep(self.flags, [ir.Constant(_WORD, 0), ir.Constant(_WORD, len(self.arrays))]))
        self.arrays.append((name, kind))
        self._require(b.icmp_signed("==", b.and_(self._field(item, FLAGS, _I32), required), required))
        shape, strides = self._field(item, SHAPE), self._field(item, STRIDES)
        dims = [self._field(shape, 8 * k, _WORD) for k in range(kind.ndim)]
        steps = [self._field(strides, 8 * k, _WORD) for k in range(kind.ndim)]
        size = ir.Constant(_WORD, 1)
        for dim in dims:
            size = b.mul(size, dim)
        array = self.context.make_array(numba_kind)(self.context, b)
        array.data = b.bitcast(self._field(item, DATA), array.data.type)
        array.shape, array.strides = cgutils.pack_array(b, dims, _WORD), cgutils.pack_array(b, steps, _WORD)
        array.nitems, array.itemsize = size, ir.Constant(_WORD, dtype_of(kind.dtype).itemsize)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()

    def _tuple(self, kind: Tuple, numba_kind: Any, item: Any, name: str) -> Any:
        size = self._call(_WORD, "PyTuple_Size", item)  # -1 if it is not a tuple
        self._require(self.builder.icmp_signed("==", size, ir.Constant(_WORD, len(kind.items))))
        values = []
        for position, (inner, numba_inner) in enumerate(zip(kind.items, numba_kind, strict=True)):
            item_value = self._call(_POINTER, "PyTuple_GetItem", item, ir.Constant(_WORD, position))
            values.append(self._value(inner, numba_inner, item_value, f"{name}.{position}"))
        return self.context.make_tuple(self.builder, numba_kind, values)

    def _number(self, name: str, item: Any) -> Any:
        b = self.builder
        if name == "bool":
            self._require(self._is_type(item, BOOL, NP_BOOL))
            return b.icmp_signed("!=", self._call(_I32, "PyObject_IsTrue", item), ir.Constant(_I32, 0))
        if name in ("float32", "float64"):
            kinds = (NP_FLOAT32,) if name == "float32" else (FLOAT, NP_FLOAT64)
            self._require(self._is_type(item, *kinds))
            value = self._call(ir.DoubleType(), "PyFloat_AsDouble", item)
            return b.fptrunc(value, ir.FloatType()) if name == "float32" else value
        if name == "int64":
            value = self._call(_WORD, "PyLong_AsLongLong", item)
            failed = b.icmp_signed("==", value, ir.Constant(_WORD, -1))
            with b.if_then(failed, likely=False):
                error = self._call(_POINTER, "PyErr_Occurred")
                self._require(b.icmp_unsigned("==", error, ir.Constant(_POINTER, None)))
            return value
        index = self._call(_POINTER, "PyNumber_Index", item)
        self._require(b.icmp_unsigned("!=", index, ir.Constant(_POINTER, None)))
        value = self._call(_WORD, "PyLong_AsUnsignedLongLongMask", index)
        self._call(ir.VoidType(), "Py_DecRef", index)
        return value

    def _result(self, kind: Any, value: Any) -> Any:
        """The Python object of a result."""
        b = self.builder
        if kind == types.none:
            return self._call(_POINTER, "Py_BuildValue", b.bitcast(self._empty(), _POINTER))
        if _is(kind, types.BaseTuple):
            answer = self._call(_POINTER, "PyTuple_New", ir.Constant(_WORD, len(kind)))
            for position, inner in enumerate(kind.types):
                item_value = self._result(inner, b.extract_value(value, position))
                self._call(_I32, "PyTuple_SetItem", answer, ir.Constant(_WORD, position), item_value)
            return answer
        if _is(kind, types.Boolean):
            return self._call(_POINTER, "PyBool_FromLong", b.zext(value, _WORD))
        if _is(kind, types.Integer):
            if kind.signed:
                return self._call(
                    _POINTER, "PyLong_FromLongLong", b.sext(value, _WORD) if kind.bitwidth < 64 else value
                )
            wide = b.zext(value, _WORD) if kind.bitwidth < 64 else value
            return self._call(_POINTER, "PyLong_FromUnsignedLongLong", wide)
        if _is(kind, types.Float):
            wide = b.fpext(value, ir.DoubleType()) if kind.bitwidth < 64 else value
            return self._call(_POINTER, "PyFloat_FromDouble", wide)
        raise TypeError(f"kernel {self.result.fndesc.qualname} returns {kind}; it may return numbers only")

    def _empty(self) -> Any:
        """The format of Py_BuildValue that makes None."""
        return cgutils.global_constant(self.module, "nothing", cgutils.make_bytearray(b"\0"))


def _is(kind: Any, group: Any) -> bool:
    """Whether a type of Numba is of a group; its declared types lack most attributes."""
    return isinstance(kind, group)
