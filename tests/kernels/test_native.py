"""Kernels as Python functions: what they accept, what they refuse, and what they return."""

import pickle
import threading

import numpy as np
import pytest

from hedgerow.kernels import native, signatures
from hedgerow.kernels.cpu import gradients, random
from hedgerow.kernels.cpu.grow import convert_units, leaves_in_order
from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.records import NODE
from hedgerow.kernels.cpu.split import leaf_value

ROWS = 10


def squared():
    """Arguments of `fill_squared`: targets, scores, gradients, hessians."""
    return [np.arange(ROWS, dtype=float), np.zeros(ROWS), np.empty(ROWS), np.empty(ROWS)]


def test_results_are_python_numbers():
    assert type(random.draw(1, 2, 3, 4)) is int
    assert 0 <= random.draw(1, 2, 3, 4) < 2**64
    assert type(leaf_value(3, 2, 0.5, 0.0, -np.inf, np.inf)) is float
    high, low = gradients.pair_sum(np.ones(3), np.empty(0))
    assert (high, low) == (3.0, 0.0)
    assert gradients.fill_squared(*squared()) is None


def test_numbers_of_any_kind_are_accepted():
    expected = random.draw(1, 2, 3, 4)
    assert random.draw(np.int64(1), np.int32(2), np.uint8(3), True + 3) == expected
    assert random.draw(1, 2, 3, np.uint64(4)) == expected
    whole, real = (leaf_value(3, 2, value, 0.0, -np.inf, np.inf) for value in (1, 1.0))
    assert whole == real  # an integer in place of a float


@pytest.mark.parametrize("wrong", ["text", None, [1.0], 2j, 2**70])
def test_other_arguments_are_refused(wrong):
    with pytest.raises((TypeError, OverflowError), match=r"kernel|int too (large|big)"):
        random.draw(1, 2, 3, wrong)


def test_a_wrong_number_of_arguments_is_refused():
    gradients.fill_squared(*squared())
    with pytest.raises(TypeError, match=r"gradients\.fill_squared takes 4 arguments, not 3"):
        gradients.fill_squared(*squared()[:3])


def test_arrays_that_are_only_read_may_be_read_only():
    y, raw, gradient, hessian = squared()
    y.flags.writeable = raw.flags.writeable = False
    gradients.fill_squared(y, raw, gradient, hessian)
    np.testing.assert_array_equal(gradient, -y)


def test_arrays_that_are_written_must_be_writable():
    arguments = squared()
    arguments[2].flags.writeable = False
    with pytest.raises(TypeError, match=r"gradients\.fill_squared.*read-only"):
        gradients.fill_squared(*arguments)


def test_strided_arrays_are_compiled_for():
    y, raw, gradient, hessian = squared()
    wide = np.zeros((ROWS, 2))
    wide[:, 0] = y
    gradients.fill_squared(wide[:, 0], raw, gradient, hessian)
    np.testing.assert_array_equal(gradient, -y)
    assert any("float64[:]" in text for text in gradients.fill_squared.signatures)


def test_records_of_an_equal_dtype_are_accepted():
    """Those of an unpickled array are not the same object."""
    nodes = np.zeros(3, NODE)
    nodes["value"], nodes["stop"] = 1.5, 7
    copied = pickle.loads(pickle.dumps(nodes))  # noqa: S301
    assert copied.dtype == NODE
    assert copied.dtype is not NODE
    for table in (nodes, copied):
        convert_units(table, 2.0, 1.0)
        assert table["value"].tolist() == [3.0] * 3
        leaves, starts = np.zeros(3, np.int64), np.zeros(4, np.int64)
        leaves_in_order(table, leaves, starts)
        assert starts[1] == 7


def test_integers_of_c_are_one_type():
    """NumPy has two types of 64 bits, of which one is never int64."""
    arrays = [np.zeros(4, kind) for kind in ("q", "l")]
    for starts in arrays:
        sums = np.empty(3)
        gradients.fill_leaf_sums(np.ones(2), np.empty(0), starts.astype(starts.dtype), sums)
        assert sums.tolist() == [0.0] * 3


def test_a_kernel_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(random.draw)) is random.draw  # noqa: S301
    assert random.draw.__doc__.startswith("Return a uniform uint64")
    assert random.draw.name == "random.draw"


def test_a_signature_is_loaded_once_by_threads_that_call_at_once():
    uncached, found = kernel(random.draw.py_func), []
    threads = [threading.Thread(target=lambda: found.append(uncached(1, 2, 3, 4))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [random.draw(1, 2, 3, 4)] * 8
    assert uncached.signatures == ["int64, int64, int64, int64"]


def test_an_unknown_layout_of_arrays_is_an_import_error(monkeypatch):
    native.check_layout()
    monkeypatch.setattr(native.np, "ndarray", object)
    with pytest.raises(ImportError, match="unknown layout of arrays"):
        native.check_layout()


def test_the_list_prefers_the_exact_signature():
    wanted = random.draw._listed(tuple(signatures.parse("int64, int64, int64, uint64")))
    assert signatures.text_of(wanted) == "int64, int64, int64, uint64"
    assert random.draw._listed(tuple(signatures.parse("int64, float64[:]"))) is None
