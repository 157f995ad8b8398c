"""Numba as the front end of the compiler: it types a kernel and lowers it to LLVM IR, and compiles nothing.

    with lowering_only(machine) as context:
        dispatcher.compile(types)        # its library has the IR of one function: LoweredLibrary

Numba is written for one function at a time and for all of Python. Kernels are many small functions in a small
subset of Python: most of its passes have nothing to do, and most calls were typed before. The passes that are
omitted here took a fifth of the time. Models have the same bytes with all passes of Numba.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from numba.core import codegen, typed_passes, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.types import unliteral
from numba.core.types.functions import BaseFunction, Dispatcher


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """The passes of Numba that kernels need.

    Kernels have no closures, `with` blocks, calls of `literally`, arithmetic of whole arrays or optional
    arguments; the passes for these are left out. Each of them would also analyse the function again.
    """

    passes: ClassVar[list[Any]] = [
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        untyped_passes.GenericRewrites,  # constant indices of tuples and records
        untyped_passes.ReconstructSSA,
        typed_passes.NopythonTypeInference,
        typed_passes.PreLowerStripPhis,
        typed_passes.IRLegalization,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    ]

    def define_pipelines(self) -> list[Any]:
        """Return the only pipeline."""
        manager = PassManager("kernel")
        for kind in self.passes:
            manager.add_pass(kind, kind.__name__)
        manager.finalize()
        return [manager]


class LoweredLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The IR of one function, which is not compiled.

    Passes over this function alone are run (`_optimize_functions` of Numba): without them the loops of
    prediction are not vectorised, and the passes over the whole module take longer.
    """

    def finalize(self) -> None:
        """Compile nothing."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address: nothing is compiled."""
        return 0

    def linked_module(self) -> Any:
        """Return a module of this function and everything that it calls."""
        module, linked = self._final_module.clone(), {self}
        waiting = list(self._linking_libraries)
        while waiting:
            library = waiting.pop()
            # Numba's runtime is of another class; see _MEMORY of `lowering`
            if library not in linked and isinstance(library, LoweredLibrary):
                linked.add(library)
                module.link_in(library._get_module_for_linking(), preserve=True)
                waiting += library._linking_libraries
        return module


@contextmanager
def lowering_only(machine: Any) -> Iterator[Any]:
    """Set Numba's context to lower only, for a target machine, and yield it.

    Versions of kernels that were made meanwhile are of no use to functions that Numba compiles later.
    """
    context = cpu_target.target_context
    generator = context.codegen()
    functions: Any = BaseFunction  # its methods are not declared to be replaced
    kernels: Any = Dispatcher
    before = generator._library_class, generator._tm
    generator._library_class, generator._tm = LoweredLibrary, machine
    functions.get_call_type, kernels.get_call_type = _stored_call_type, _plain_call_type
    replaced = {
        "get_executable": lambda *_: [].append,  # a new built-in function, which is never called
        "get_abi_sizeof": _stored_by_type(context.get_abi_sizeof),
        "get_abi_alignment": _stored_by_type(context.get_abi_alignment),
    }
    vars(context).update(replaced)
    try:
        yield context
    finally:
        generator._library_class, generator._tm = before
        functions.get_call_type, kernels.get_call_type = _find_call_type, _find_kernel_type
        for name in replaced:
            delattr(context, name)


_call_types: dict[Any, Any] = {}  # (function, types of its arguments) -> signature
_find_call_type: Any = BaseFunction.get_call_type


def _stored_call_type(function: Any, context: Any, args: Any, kws: dict[str, Any]) -> Any:
    """Return the signature of a call of a function of Numba or NumPy; seven of eight are repeated."""
    key = (function, tuple(args), tuple(kws.items()))
    if key not in _call_types:
        _call_types[key] = _find_call_type(function, context, args, kws)
    return _call_types[key]


_find_kernel_type: Any = Dispatcher.get_call_type


def _plain_call_type(kernel: Any, context: Any, args: Any, kws: dict[str, Any]) -> Any:
    """Return the signature of a call of a kernel, which is not lowered again for every number in a call."""
    plain = {name: unliteral(kind) for name, kind in kws.items()}
    return _find_kernel_type(kernel, context, tuple(map(unliteral, args)), plain)


def _stored_by_type(measure: Callable[[Any], int]) -> Callable[[Any], int]:
    """Store the results of a method that parses a module for every answer."""
    stored: dict[str, int] = {}

    def measured(kind: Any) -> int:
        text = str(kind)
        if text not in stored:
            stored[text] = measure(kind)
        return stored[text]

    return measured
