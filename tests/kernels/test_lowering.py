"""Object files of kernels, compiled and loaded within this process."""

import math
import sys

import numpy as np
import pytest

from hedgerow.kernels import build, cache, native, signatures
from hedgerow.kernels.cpu.jit import inlined_kernel, kernel
from hedgerow.kernels.lowering import _check_instructions, compile_object

CALLED = "groups.mark_inner"  # a kernel that no other function of Numba calls in this process


def compiled(body, text):
    """The Python function of a body for a signature."""
    signature = signatures.parse(text)
    stored = compile_object(kernel(body), signature, "entry")
    return native.make_function(cache.load_object(stored, "entry"), body.__name__, signature)


def test_arguments_of_every_kind_arrive():
    def body(flags, numbers, pair, small, word, on):
        flags[0] += 1
        return numbers[1, 2] + pair[0] * pair[1][0] + small, word + np.uint64(1), not on, flags[0]

    function = compiled(body, "int64[::1], float64[:, :], (int64, (float64, bool)), float32, uint64, bool")
    flags, numbers = np.zeros(1, np.int64), np.arange(12.0).reshape(4, 3).T
    result = function(
        flags, numbers, (3, (0.5, True)), np.float32(0.25), np.uint64(2**64 - 2), np.bool_(False)
    )
    assert result == (numbers[1, 2] + 1.75, 2**64 - 1, True, 1)
    assert [type(value) for value in result] == [float, int, bool, int]
    assert flags[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (1,),
        (np.zeros(2), 1, 1),
        (np.zeros(2, np.float32), 1),
        (np.zeros((2, 2)), 1),
        (np.zeros(4)[::2], 1),
        (np.zeros(2), 1.5),
        (np.zeros(2), 2**64),
        (np.zeros(2), "1"),
        ([0.0, 0.0], 1),
        (np.ma.zeros(2), 1),
    ],
)
def test_other_arguments_are_not_implemented(arguments):
    def body(values, position):
        values[position] = 1.0

    assert compiled(body, "float64[::1], int64")(*arguments) is NotImplemented


def test_arrays_that_a_kernel_creates_are_freed():
    resource = pytest.importorskip("resource")

    def body(n):
        total = 0.0
        for k in range(n):
            values = np.zeros(100_000)
            other = values if k % 2 else np.ones(10)
            total += values[k] + other[0]
        return total

    function = compiled(body, "int64")
    assert function(10) == 5.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert function(2000) == 1000.0  # 1.6 GB if nothing were freed
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_callees_are_part_of_the_object():
    @inlined_kernel
    def half(value):
        return value / 2.0

    def body(values):
        total = 0.0
        for i in range(values.shape[0]):
            total += half(values[i])
        return total

    assert compiled(body, "float64[::1]")(np.arange(5.0)) == 5.0


def test_an_exception_in_a_kernel_is_a_runtime_error():
    def body(values):
        if values[0] > 0.0:
            raise ValueError("too large")
        return values[0]

    function = compiled(body, "float64[::1]")
    assert function(np.zeros(1)) == 0.0
    with pytest.raises(RuntimeError, match=r"kernel .*body.* failed"):
        function(np.ones(1))


def test_code_that_needs_the_runtime_of_numba_is_refused():
    def body(values):
        values[:] = np.sort(values)

    with pytest.raises((ValueError, TypeError), match=r"write a loop|may return numbers only"):
        compiled(body, "float64[::1]")


@pytest.mark.parametrize("function", [np.exp, np.log, np.sin, np.power, math.pow])
def test_functions_of_the_mathematical_library_are_refused(function):
    """Their last bits differ between systems."""
    n_arguments = 2 if function in (np.power, math.pow) else 1

    def body(value):
        return function(value)

    def body_of_two(value):
        return function(value, 0.3)

    with pytest.raises(ValueError, match="write a loop instead"):
        compiled(body if n_arguments == 1 else body_of_two, "float64")


@pytest.mark.parametrize(
    ("code", "is_fused"),
    [
        ("\tvfmadd213pd\t%zmm0, %zmm1, %zmm2", True),
        ("\tvfnmsub231sd %xmm0, %xmm1, %xmm2", True),
        ("\tvfmaddsub132ps %xmm0, %xmm1, %xmm2", True),
        ("\tfmadd\td0, d1, d2, d3", True),
        ("\tfnmsub\td0, d1, d2, d3", True),
        ("\tfmla\tv0.2d, v1.2d, v2.2d", True),
        *(
            (f"\t{name}\tz0.d, p0/m, z1.d, z2.d", True)
            for name in ("fmad", "fmsb", "fnmad", "fnmsb", "fnmla")
        ),
        ("\tvmulpd\t%zmm0, %zmm1, %zmm2\n\tvaddpd\t%zmm0, %zmm1, %zmm2\n\tvpmaddwd %xmm0, %xmm1", False),
        ("\tmadd\tx0, x1, x2, x3\n\tfmul\td0, d1, d2\n\tfminnm\td0, d1, d2\n\tmla z0.d, p0/m, z1.d", False),
    ],
)
def test_fused_instructions_are_found(code, is_fused):
    if is_fused:
        with pytest.raises(ValueError, match="fused instructions"):
            _check_instructions(code)
    else:
        _check_instructions(code)


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v2", "aarch64+sve"])
def test_kernels_of_libraries_have_no_fused_instructions(target, monkeypatch):
    def body(values):
        total = 0.0
        for i in range(values.shape[0]):
            total += values[i] * values[i] + 0.5
        return total

    monkeypatch.setenv(cache.TARGET, cache.target_of(target))
    stored = compile_object(kernel(body), signatures.parse("float64[::1]"), "entry")
    assert stored.startswith(b"\x7fELF")


def test_a_kernel_is_lowered_once_for_all_numbers_in_calls():
    @inlined_kernel
    def power(value, n):
        return value if n == 0 else value * value

    def body(value):
        return power(value, 0) + power(value, 1) + power(value, 2)

    assert compiled(body, "float64")(3.0) == 21.0
    assert [str(kinds) for kinds in power.dispatcher.overloads] == ["(float64, int64)"]


def test_arrays_cannot_be_returned():
    with pytest.raises(TypeError, match="may return numbers only"):
        compiled(lambda values: values, "float64[::1]")


def test_a_worker_stores_objects_and_reports_errors(tmp_path, monkeypatch, capsys):
    signature = signatures.text_of(signatures.of_kernel(CALLED)[0])
    lines = [f"{CALLED}\t{signature}\n", "groups.nothing\tint64\n"]
    monkeypatch.setattr(sys, "stdin", lines)
    build.work(tmp_path)
    answers = capsys.readouterr().out.splitlines()
    assert answers[0] == "done"
    assert answers[1].startswith("AttributeError")
    (stored,) = tmp_path.iterdir()
    assert stored.name == f"{cache.symbol_of(CALLED, signature)}.o"
