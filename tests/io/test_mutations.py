"""Hostile files of every kind: a clean refusal, or a model that answers.

Every mutation has a checksum that fits, so that the checks of the contents are what it meets.
"""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

from hedgerow import container
from hedgerow.container import pack, unpack
from hedgerow.io import ModelFileError
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.theory import certify
from model_cases import fitted

CASES = [
    "adaboost", "adaboost samme, categories", "adaboost gentle", "logitboost", "anyboost sigmoid",
    "adaboost.r2, categories", "three", "forest", "forest, shallow", "forest, categories",
    "forest of numbers", "extra trees", "bag, few rows", "bag of boosters", "bag of forests", "tree",
    "stump, categories", "gradient",
]  # fmt: skip
TURNS = 38  # of each of three ways

# What a sound model may say to rows whose columns are not those it was fitted to, or of answers that
# overflow; an IndexError, a KeyError or an AttributeError would be a hole in the checks.
CLEAR = (ValueError, TypeError)


def refused_or_sound(data, X):
    """Whether a file is refused; a model that is not must answer all that it can be asked."""
    try:
        model = from_bytes(data)
    except ModelFileError:
        return True
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            assert len(model.predict(X)) == len(X)
            if hasattr(model, "predict_proba"):
                assert len(model.predict_proba(X)) == len(X)
            if hasattr(model, "predict_interval"):
                assert len(model.predict_interval(X, method="quantiles")) == len(X)
            if is_classifier(model):
                certify(model)
        except CLEAR:
            return True
        str(model), getattr(model, "estimators_", None), getattr(model, "feature_importances_", None)
    return False


def repacked(data):
    """The bytes with a checksum that fits."""
    data = bytearray(data)
    data[container._DIGEST] = container._digest(data)
    return bytes(data)


def flipped(data, rng):
    """A few bytes changed, most of them in the arrays."""
    broken = bytearray(data)
    head = 8 + int.from_bytes(data[:8], "little")
    for _ in range(rng.integers(1, 4)):
        low, high = (8, head) if rng.random() < 0.3 else (head, len(data))
        broken[rng.integers(low, high)] = rng.integers(0, 256)
    return repacked(broken)


def changed_array(contents, rng):
    """An array with a few entries replaced, cut or lengthened, or that of another name."""
    names = sorted(contents.arrays)
    name = names[rng.integers(0, len(names))]
    array, how = contents.arrays[name].copy(), rng.integers(0, 6)
    if how == 0:
        array = array[: rng.integers(0, len(array) + 1)]
    elif how == 1:
        array = np.concatenate([array, array[-1:]])
    elif how == 2:
        alike = [other for other in names if contents.arrays[other].dtype == array.dtype]
        array = contents.arrays[alike[rng.integers(0, len(alike))]]
    elif array.size:
        extremes = [0, 1, 2, 3, 5, 200]
        if array.dtype.kind == "f":
            extremes += [-1, np.nan, np.inf, -np.inf, 1e308, 1e-320]
        else:
            extremes += [np.iinfo(array.dtype).max, np.iinfo(array.dtype).min]
        for _ in range(rng.integers(1, 4)):
            array.flat[rng.integers(0, array.size)] = extremes[rng.integers(0, len(extremes))]
    arrays = contents.arrays | {name: array}
    if rng.random() < 0.05:
        del arrays[name]
    return pack(contents.text, arrays)


JUNK = [None, True, -1, 0, 1, 2**70, 1.5, float("nan"), "", "x" * 50, [], {}, [[]], [None], {"float": "inf"}]


def changed_value(value, rng):
    """The JSON value with one of its parts replaced, left out or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = sorted(value)[rng.integers(0, len(value))]
        if rng.random() < 0.1:
            return {name: part for name, part in value.items() if name != key}
        return value | {key: changed_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.integers(0, len(value))
        if rng.random() < 0.2:
            return [*value, value[place]]
        return [*value[:place], changed_value(value[place], rng), *value[place + 1 :]]
    return JUNK[rng.integers(0, len(JUNK))]


@pytest.mark.parametrize("name", CASES)
def test_mutations_are_refused_or_sound(name):
    model, X, _ = fitted(name)
    data, rows = to_bytes(model), X[:7]
    contents = unpack(data)
    description = json.loads(contents.text)
    rng = np.random.default_rng(CASES.index(name))
    refused = 0
    for _ in range(TURNS):
        refused += refused_or_sound(flipped(data, rng), rows)
        refused += refused_or_sound(changed_array(contents, rng), rows)
        text = json.dumps(changed_value(description, rng))
        refused += refused_or_sound(pack(text, contents.arrays), rows)
    assert not refused_or_sound(repacked(data), rows)
    assert TURNS / 2 < refused < 3 * TURNS
