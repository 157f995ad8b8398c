"""Within `python_bodies` nothing compiled is left; afterwards all is as before."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

import hedgerow.estimators  # noqa: F401 - with all that fits a model
from hedgerow.kernels.cpu import random, split
from hedgerow.kernels.cpu.records import SPLIT
from python_bodies import _python, python_bodies


def compiled():
    """Everything compiled that a module of the package holds by name."""
    return {
        (module_name, name): value
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("hedgerow.")
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher | _Intrinsic)
    }


def test_nothing_compiled_is_left_and_all_of_it_comes_back():
    before = compiled()
    assert len(before) > 250
    with python_bodies():
        assert compiled() == {}
    assert compiled() == before
    with pytest.raises(ZeroDivisionError), python_bodies():
        raise ZeroDivisionError
    assert compiled() == before


def test_what_goes_in_and_comes_out_has_numbas_types():
    with python_bodies():
        assert type(random.draw(1, 2, 3, 4)) is int
        assert type(split.leaf_value(3, 2, 0.5, 0.0, -np.inf, np.inf)) is float
    assert random.draw(1, 2, 3, 4) == random.draw(np.int64(1), 2, 3, 4)


def test_records_have_attributes_and_are_written_where_they_lie():
    found = np.zeros(3, SPLIT)
    found["gain"] = [1.0, 5.0, 2.0]
    seen = []

    def body(records, record):
        seen.append((records[1].gain, record.goes_left.shape))
        records[0].column = 7
        record.threshold = 9
        record.goes_left[2] = np.uint64(3)

    _python(body)(found, found[2])
    assert seen == [(5.0, (4,))]
    assert found["column"].tolist() == [7, 0, 0]
    assert found["threshold"].tolist() == [0, 0, 9]
    assert found["goes_left"][2].tolist() == [0, 0, 3, 0]
