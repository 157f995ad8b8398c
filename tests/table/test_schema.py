"""Schema: conversion to JSON and back, and data that is not a schema."""

import json
import pickle

import numpy as np
import pytest

from hedgerow.table import Schema

OBJECTS = np.empty(3, dtype=object)
OBJECTS[:] = [1.5, 2, "two"]
SCHEMA = Schema(
    8,
    ("a", "b", "c", "d", "e", "f", "g", "é\0"),
    (
        None,
        np.array([False, True]),
        np.array([-(2**63), 5]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.array([-np.inf, 0.1, 1 / 3, np.inf]),
        np.array(["", "red"], dtype=object),
        OBJECTS,
        np.array([], dtype=np.int64),
    ),
)


def copy_of(schema):
    return Schema.from_dict(json.loads(json.dumps(schema.to_dict(), allow_nan=False)))


def test_schema_is_restored_from_json():
    again = copy_of(SCHEMA)
    assert again == SCHEMA
    assert again.names == SCHEMA.names
    for ours, theirs in zip(SCHEMA.categories, again.categories, strict=True):
        if ours is None:
            assert theirs is None
        else:
            assert ours.dtype == theirs.dtype
            assert list(map(repr, ours.tolist())) == list(map(repr, theirs.tolist()))


def test_schema_without_names_and_numpy_strings():
    schema = Schema(2, None, (None, np.array(["blue", "red"])))
    again = copy_of(schema)
    assert again == schema
    assert again.names is None
    assert again.categories[1].tolist() == ["blue", "red"]
    assert pickle.loads(pickle.dumps(schema)) == schema  # noqa: S301


@pytest.mark.parametrize(
    "other",
    [
        Schema(1, None, (None,)),
        Schema(2, ("a", "b"), (None, np.array([1, 2]))),
        Schema(2, None, (None, np.array([1, 3]))),
        Schema(2, None, (None, np.array([1.0, 2.5]))),
        Schema(2, None, (None, None)),
        "schema",
    ],
)
def test_different_schemas_are_not_equal(other):
    assert Schema(2, None, (None, np.array([1, 2]))) != other


def test_schema_is_immutable():
    with pytest.raises(AttributeError):
        SCHEMA.n_columns = 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_columns": 0}, "n_columns"),
        ({"n_columns": "2"}, "n_columns"),
        ({"n_columns": True}, "n_columns"),
        ({"n_columns": 3}, "must have 3 entries"),
        ({"names": ["a"]}, "must have 2 entries"),
        ({"names": ["a", 1]}, "list of str"),
        ({"names": "ab"}, "list of str"),
        ({"categories": None}, "list of dicts"),
        ({"categories": [None, 3]}, "list of dicts"),
        ({"categories": [None, {}]}, "column 1 must be a dict"),
        ({"categories": [None, {"dtype": "complex128", "values": []}]}, "must be a dict"),
        ({"categories": [None, {"dtype": "int64", "values": 3}]}, "must be a dict"),
        ({"categories": [None, {"dtype": "int64", "values": [True]}]}, "must all be of dtype int64"),
        ({"categories": [None, {"dtype": "bool", "values": [1]}]}, "must all be of dtype bool"),
        ({"categories": [None, {"dtype": "object", "values": [[]]}]}, "must all be of dtype object"),
        ({"categories": [None, {"dtype": "object", "values": [{"float": "x"}]}]}, "must all be of"),
        ({"categories": [None, {"dtype": "int64", "values": [2**70]}]}, "do not fit int64"),
        ({"categories": [None, {"dtype": "uint64", "values": [-1]}]}, "do not fit uint64"),
        ({"categories": [None, {"dtype": "object", "values": ["a", "a"]}]}, "must be distinct"),
        ({"categories": [None, {"dtype": "float64", "values": [float("nan")]}]}, "must be distinct"),
    ],
)
def test_from_dict_rejects_other_data(change, message):
    good = {"n_columns": 2, "names": ["a", "b"], "categories": [None, None]}
    assert Schema.from_dict(good) == Schema(2, ("a", "b"), (None, None))
    with pytest.raises(ValueError, match=message):
        Schema.from_dict(good | change)


@pytest.mark.parametrize("missing", ["n_columns", "names", "categories"])
def test_from_dict_rejects_missing_entries(missing):
    data = SCHEMA.to_dict()
    del data[missing]
    with pytest.raises(ValueError, match=missing):
        Schema.from_dict(data)
