"""Machine code of a kernel: from its Python body to an object file.

    Python body --(Numba)--> LLVM IR of the kernel and its callees --> one module --(LLVM)--> object file

Numba only types and lowers (see `frontend`). The callees and the entry point (see `entry_points`) are linked
into one module, which is optimised once: optimising and compiling each callee by itself as well, as Numba
does, takes three times as long.
"""

import os
import re
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.np import numpy_support

from hedgerow.kernels.cache import TARGET
from hedgerow.kernels.entry_points import C_ORDER, FLAGS_NAME, WRITEABLE, EntryBuilder
from hedgerow.kernels.frontend import lowering_only
from hedgerow.kernels.native import NativeKernel
from hedgerow.kernels.signatures import Array, Record, Scalar, Signature, Type, constant, dtype_of

# Intrinsics of LLVM that become calls of the mathematical library, whose last bits differ between systems, or
# products and sums that are rounded once on some processors.
_INEXACT = (
    r"exp|exp2|exp10|log|log2|log10|pow|powi|a?(sin|cos|tan)h?|atan2|sincos|sincospi|ldexp|frexp|fma|fmuladd"
)
# What a kernel may call: other intrinsics, functions of the C library that any process has, and CPython's.
_KNOWN = rf"llvm\.(?!({_INEXACT})\.).*|Py.*|malloc|free|memcpy|memmove|memset|sqrt|sched_yield|SwitchToThread"
# The instructions of a fused multiplication and addition: x86-64, then aarch64 with SVE.
FUSED = re.compile(r"\t(v?fn?m(?:ad|sub|sb|la|ls)\w*|fcmla)\b")

# --- types


def numba_type(kind: Type) -> Any:
    """Return Numba's type of an argument."""
    if isinstance(kind, Scalar):
        return {"bool": types.boolean}.get(kind.name) or getattr(types, kind.name)
    if isinstance(kind, Record):
        return numpy_support.from_dtype(dtype_of(kind.dtype))
    if isinstance(kind, Array):
        layout: Any = "C" if kind.contiguous or not kind.ndim else "A"
        # Arrays of files and memory maps may start at any byte; x86 and ARM load them as fast.
        return types.Array(numpy_support.from_dtype(dtype_of(kind.dtype)), kind.ndim, layout, aligned=False)
    items = tuple(numba_type(item) for item in kind.items)
    return types.BaseTuple.from_types(items, constant(kind.name) if kind.name else None)


# --- lowering


def _target_machine() -> Any:
    """Return the machine to compile for: that of the environment variable TARGET, or this one."""
    if setting := os.environ.get(TARGET):
        triple, name, features = setting.split(" ")
    else:
        triple, name = llvm.get_process_triple(), llvm.get_host_cpu_name()
        features = llvm.get_host_cpu_features().flatten()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=name, features=features, opt=3, reloc="pic", codemodel="default")


def compile_object(kernel: Any, signature: Signature, symbol: str) -> bytes:
    """Return the object file of a kernel for a signature; `symbol` names its entry point."""
    machine = _target_machine()
    with global_compiler_lock, lowering_only(machine) as context:
        arguments = tuple(numba_type(kind) for kind in signature)
        kernel.dispatcher.compile(arguments)
        result = kernel.dispatcher.overloads[arguments]
        entry = EntryBuilder(context, result, symbol)
        module = result.library.linked_module()
        for text in (_MEMORY, cgutils.normalize_ir_text(str(entry.build(signature)))):
            module.link_in(llvm.parse_assembly(text))
        name = result.fndesc.llvm_func_name
        module.get_function(name).add_function_attribute("noinline")  # its attributes are read below
        _keep_separate(module)
        _keep_only(module, symbol)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        _optimise(context.codegen(), module)
        flags = _flags(module, name, entry.arrays)
        module.link_in(
            llvm.parse_assembly(f"@{FLAGS_NAME} = constant [{len(flags)} x i32] {_listing(flags)}")
        )
        module.get_global_variable(FLAGS_NAME).linkage = "internal"
        module.verify()
        _check_symbols(module)
        stored = bytes(machine.emit_object(module))
        if TARGET in os.environ:  # a library of a release
            _check_instructions(machine.emit_assembly(module))
        return stored


def _check_symbols(module: Any) -> None:
    """Raise ValueError if the code needs a function that some processes do not have."""
    needed = {function.name for function in module.functions if function.is_declaration}
    unknown = sorted(name for name in needed if not re.fullmatch(_KNOWN, name))
    if unknown:
        raise ValueError(f"it calls {', '.join(unknown)}: write a loop instead of NumPy's function")


def _check_instructions(assembly: str) -> None:
    """Raise ValueError if the code has fused multiplications and additions: they would change results."""
    found = sorted({match[1] for match in FUSED.finditer(assembly)})
    if found:
        raise ValueError(f"it has the fused instructions {', '.join(found)}")


def _keep_separate(module: Any) -> None:
    """Prevent LLVM from inlining separate kernels; Numba's names start with those of the module."""
    names = [name.split(".") for name in NativeKernel.separate]
    starts = tuple("_ZN" + "".join(f"{len(word)}{word}" for word in name) + "B" for name in names)
    for function in module.functions:
        if not function.is_declaration and function.name.startswith(starts):
            function.add_function_attribute("noinline")


def _keep_only(module: Any, name: str) -> None:
    """Make every other function internal, so that it is inlined or removed."""
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == name else "internal"
    for variable in module.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"


def _optimise(generator: Any, module: Any) -> None:
    """Run LLVM's passes as Numba does: a cheap round to inline, then all passes with both vectorisers."""
    cheap = {"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}
    for options in (cheap, {}):
        passes, builder = generator._module_pass_manager(**options)
        passes.run(module, builder)


def _flags(module: Any, name: str, arrays: "list[tuple[str, Array]]") -> list[int]:
    """Return the flags that each array must have: writeable, unless LLVM found that it is only read.

    Numba passes the fields of an array one after the other; its data pointer is the fifth, `arg.NAME.4`. LLVM
    marks a pointer that is never written through as readonly, and removes arguments that are not used.
    """
    head = next(
        (line for line in str(module).split("\n") if line.startswith("define") and f"@{name}(" in line), ""
    )
    pointers = re.findall(r'ptr ([^%]*)%"?([^,)"]*)"?(?=[,)])', head)
    written = {
        argument for attributes, argument in pointers if not re.search("readonly|readnone", attributes)
    }
    return [
        (C_ORDER if kind.contiguous else 0) | (WRITEABLE if f"{argument}.4" in written else 0)
        for argument, kind in arrays
    ]


def _listing(values: list[int]) -> str:
    return f"[{', '.join(f'i32 {value}' for value in values)}]" if values else "zeroinitializer"


# Memory of arrays that a kernel creates: what Numba's runtime does, for one thread. A block starts with the
# fields that Numba's code reads: reference count, destructor and its argument, data, size. Arrays that are
# arguments have no block: inlined, counting them is counting references of null, which LLVM removes.
_MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %head = add i64 %wide, 64
  %total = add i64 %size, %head
  %block = call ptr @malloc(i64 %total)
  %none = icmp eq ptr %block, null
  br i1 %none, label %failed, label %filled
failed:
  ret ptr null
filled:
  %start = ptrtoint ptr %block to i64
  %past = add i64 %start, %head
  %over = urem i64 %past, %wide
  %offset = sub i64 %head, %over
  %data = getelementptr i8, ptr %block, i64 %offset
  store i64 1, ptr %block
  %at = getelementptr i8, ptr %block, i64 24
  store ptr %data, ptr %at
  %length = getelementptr i8, ptr %block, i64 32
  store i64 %size, ptr %length
  ret ptr %block
}

define ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align)
  ret ptr %block
}

define ptr @NRT_Allocate(i64 %size) alwaysinline {
  %memory = call ptr @malloc(i64 %size)
  ret ptr %memory
}

define void @NRT_Free(ptr %memory) alwaysinline {
  call void @free(ptr %memory)
  ret void
}

define ptr @NRT_MemInfo_data_fast(ptr %block) alwaysinline {
  %at = getelementptr i8, ptr %block, i64 24
  %data = load ptr, ptr %at
  ret ptr %data
}

define void @NRT_incref(ptr %block) alwaysinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %counted
counted:
  %count = load i64, ptr %block
  %more = add i64 %count, 1
  store i64 %more, ptr %block
  br label %end
end:
  ret void
}

define void @NRT_decref(ptr %block) alwaysinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %counted
counted:
  %count = load i64, ptr %block
  %less = sub i64 %count, 1
  store i64 %less, ptr %block
  %unused = icmp eq i64 %less, 0
  br i1 %unused, label %last, label %end
last:
  call void @free(ptr %block)
  br label %end
end:
  ret void
}
"""
