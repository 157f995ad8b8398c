"""Within `python_bodies` no kernel is compiled; afterwards all kernels are restored."""

import numpy as np
import pytest

import hedgerow.estimators  # noqa: F401 - imports the kernels of all models
from hedgerow.kernels.cpu import random, split
from hedgerow.kernels.cpu.records import SPLIT
from hedgerow.kernels.native import DeferredIntrinsic, NativeKernel
from python_bodies import _python, holders, python_bodies


def compiled():
    """All compiled functions in modules and classes of the package."""
    return {
        (holder.__name__, name, value)
        for holder in holders()
        for name, held in vars(holder).items()
        for value in (held if type(held) is tuple else [held])
        if isinstance(value, NativeKernel | DeferredIntrinsic)
    }


def test_kernels_are_replaced_and_restored():
    before = compiled()
    assert len(before) > 250
    assert any("gradients" in value.__module__ and holder == "SquaredError" for holder, _, value in before)
    with python_bodies():
        assert compiled() == set()
    assert compiled() == before
    with pytest.raises(ZeroDivisionError), python_bodies():
        raise ZeroDivisionError
    assert compiled() == before


def test_arguments_and_results_have_the_types_of_numba():
    with python_bodies():
        assert type(random.draw(1, 2, 3, 4)) is int
        assert type(split.leaf_value(3, 2, 0.5, 0.0, -np.inf, np.inf)) is float
    assert random.draw(1, 2, 3, 4) == random.draw(np.int64(1), 2, 3, 4)


def test_records_have_attributes_and_are_written_in_place():
    found = np.zeros(3, SPLIT)
    found["gain"] = [1.0, 5.0, 2.0]
    read = []

    def body(records, record):
        read.append((records[1].gain, record.goes_left.shape))
        records[0].column = 7
        record.threshold = 9
        record.goes_left[2] = np.uint64(3)

    _python(body)(found, found[2])
    assert read == [(5.0, (4,))]
    assert found["column"].tolist() == [7, 0, 0]
    assert found["threshold"].tolist() == [0, 0, 9]
    assert found["goes_left"][2].tolist() == [0, 0, 3, 0]
