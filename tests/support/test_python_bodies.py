"""Within `python_bodies` no kernel is compiled; afterwards all kernels are restored."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

import hedgerow.estimators  # noqa: F401 - imports the kernels of all models
from hedgerow.kernels.cpu import random, split
from hedgerow.kernels.cpu.records import SPLIT
from python_bodies import _python, python_bodies


def compiled():
    """All compiled functions in modules of the package."""
    return {
        (module_name, name): value
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("hedgerow.")
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher | _Intrinsic)
    }


def test_kernels_are_replaced_and_restored():
    before = compiled()
    assert len(before) > 250
    with python_bodies():
        assert compiled() == {}
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
