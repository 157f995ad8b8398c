"""Damaged and hostile model files: a clean refusal, or a model that predicts."""

import json

import numpy as np
import pytest

from hedgerow.container import pack, unpack
from hedgerow.io import ModelFileError, load
from hedgerow.io.models import from_bytes, to_bytes
from model_cases import changed, coloured, regressor


def test_damage_anywhere_is_found():
    data = to_bytes(coloured()[0])
    value = data.index(b"learning_rate")
    for place in (9, value, value + 20, len(data) // 2, len(data) - 1):
        broken = bytearray(data)
        broken[place] ^= 1
        with pytest.raises(ModelFileError):
            from_bytes(bytes(broken))


def test_other_files_are_no_models(tmp_path):
    for data in (b"", b"buy milk", b"\x02" + bytes(7) + b"{}", pack("{}", {}), pack("[]", {})):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(ModelFileError, match="file: "):
            load(tmp_path / "file")
    with pytest.raises(ModelFileError, match="not a model of Hedgerow"):
        from_bytes(b"\x10" + bytes(7) + b'{"t":{}}        '.replace(b'{"t":{}}', b"{}      "))
    with pytest.raises(ModelFileError, match="not valid JSON"):
        from_bytes(pack("[" * 100_000, {}))


ENTRIES = [
    ({"format": 0}, "format 0; formats are numbered from 1"),
    ({"format": True}, "format must be int; got True"),
    ({"estimator": "Pipeline"}, "estimator must be one of .*; got 'Pipeline'"),
    ({"estimator": "GradientBoostingRegressor"}, "has no parameter 'class_weight'"),
    ({"parameters": []}, "parameters must be dict; got"),
    ({"parameters": {"learning_rate": -1.0}}, "learning_rate=-1.0 is not allowed"),
    ({"parameters": {"random_state": "now"}}, "random_state"),
    ({"parameters": {"class_weight": {"items": [[[], 1]]}}}, "class_weight is malformed"),
    ({"parameters": {"class_weight": {"items": 3}}}, "class_weight is malformed"),
    ({"schema": {"n_columns": 10**12, "names": None, "categories": []}}, "schema"),
    ({"schema": None}, "schema must be dict; got None"),
    ({"classes": None}, "classes must be a JSON object"),
    ({"classes": {"dtype": "<i8", "values": [0]}}, "at least two labels"),
    ({"classes": {"dtype": "<i8", "values": [0, 1]}}, "initial_scores: 1 scores are required"),
    ({"classes": {"dtype": "<i8", "values": [2, 1, 0]}}, "increasing"),
    ({"classes": {"dtype": "|i1", "values": [0, 1, 400]}}, "classes do not fit dtype int8"),
    ({"classes": {"dtype": "<U2", "values": ["a", "b", "long"]}}, "increasing labels of dtype <U2"),
    ({"classes": {"dtype": "<U999999999", "values": ["a", "b", "c"]}}, "classes cannot have the dtype"),
    ({"classes": {"dtype": "object", "values": ["a", 1, "c"]}}, "classes do not fit dtype object"),
    ({"initial_scores": [0.0, 0.0]}, "initial_scores: 3 scores are required"),
    ({"initial_scores": [0.0, 0.0, float("nan")]}, "is not valid JSON: NaN is not allowed"),
    ({"initial_scores": [0.0, 0.0, "0"]}, "initial_scores must be a list of numbers"),
    ({"loss": {"name": "log_loss"}}, "parameters must be dict; got nothing"),
    ({"loss": {"name": "os.system", "parameters": {}}}, "loss must be one of .*; got 'os.system'"),
    ({"loss": {"name": "log_loss", "parameters": {"delta": 1.0}}}, "other parameters"),
    ({"loss": {"name": "exponential", "parameters": {}}}, "two classes"),
    ({"history": {"round": [1, "two"]}}, "history: 'round' must be a list of numbers"),
    ({"history": {"round": [0], "train_loss": [10**400]}}, "'train_loss' must be a list of numbers"),
    ({"best_iteration": 400}, "best_iteration must be an integer in 0..3; got 400"),
    ({"seed": -1}, "seed must be an integer in 0"),
    ({"seed": 1.5}, "seed must be int or null; got 1.5"),
]


@pytest.mark.parametrize(("entries", "message"), ENTRIES, ids=lambda value: str(value)[:40])
def test_descriptions_are_checked(entries, message):
    data = to_bytes(coloured()[0])
    from_bytes(changed(data))  # fine as it is
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, **entries))


def test_parameters_of_losses_are_checked():
    data = to_bytes(regressor(loss="huber")[0])
    for alpha, delta in [(2.0, 1.0), (0.5, -1.0), (0.5, float("inf")), (0.5, "1")]:
        with pytest.raises(ModelFileError, match=r"alpha|delta|finite|Infinity"):
            from_bytes(changed(data, loss={"name": "huber", "parameters": {"alpha": alpha, "delta": delta}}))


def put(place, value):
    def edit(array):
        array = array.copy()
        array[place] = value
        return array

    return edit


EDITS = [
    ("bins.edges", put(0, np.nan), "numbers below infinity"),
    ("bins.edges", put(-1, np.inf), "numbers below infinity"),
    ("bins.edges", lambda a: a[::-1].copy(), "must increase"),
    ("bins.edges", lambda a: a[1:], "edge_starts: it must go from 0"),
    ("bins.edge_starts", put(1, -4), "must not decrease"),
    ("bins.edge_starts", put(0, 1), "must go from 0"),
    ("bins.edge_starts", lambda a: a[1:], "it must have 5 entries"),
    ("bins.category_codes", put(0, 0), "code 0 is reserved for missing"),
    ("bins.category_starts", put(slice(1, 4), 1), "every category must have one code"),
    ("bins.category_starts", put(slice(None), 0), "must go from 0 to 4"),
    ("forest.starts", put(0, -1), "must go from 0"),
    ("forest.starts", put(1, 0), "every tree must have a node|nodes"),
    ("forest.starts", lambda a: np.delete(a, 1), "every round must have 3 trees"),
    ("forest.starts", lambda a: a[:0], "at least one entry"),
    ("forest.output", put(0, 2), "it must count to 2"),
    ("forest.output", lambda a: a[:-1], "one per tree"),
    ("forest.left", put(0, -1), "children must follow"),
    ("forest.left", put(1, 1), "children must follow"),
    ("forest.left", put(0, 10), "children must be nodes of the same tree"),
    ("forest.left", put(0, 3), "must have one parent"),
    ("forest.left", put(0, 0), "must have one parent"),
    ("forest.left", lambda a: a[:-1], "entries are required, one per node"),
    ("forest.column", put(0, 4), "a column number is out of range"),
    ("forest.column", put(0, -1), "a column number is out of range"),
    ("forest.threshold", put(0, 256), "a bin is out of range|it must be 0 without a numeric"),
    ("forest.set_number", put(slice(None), -1), "sets are for categorical columns"),
    ("forest.set_number", lambda a: np.where(a == 0, 1, a).astype(np.int32), "every set must belong"),
    ("forest.set_number", lambda a: np.where(a < 0, -2, a).astype(np.int32), "it must be -1 without a set"),
    ("forest.sets", lambda a: a[:-1], "every set must belong to one split"),
    ("forest.sets", lambda a: a[:, :3], "4 words"),
    ("forest.sets", lambda a: a.ravel(), "2 axes of uint64"),
    ("forest.missing_left", put(0, 2), "0 or 1"),
    ("forest.value", put(0, np.nan), "values must be finite"),
    ("forest.value", lambda a: a.astype(np.int64), "1 axes of float64"),
    ("forest.gain", put(0, np.nan), "gains"),
    ("forest.count", put(0, -1), "counts"),
    ("forest.count", lambda a: a[:0], "one per node"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "edit", "message"), EDITS)
def test_arrays_are_checked(name, edit, message):
    data = to_bytes(coloured()[0])
    array = edit(unpack(data).arrays[name])
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, arrays={name: array}))


def test_leaves_say_nothing_of_splits():
    data = to_bytes(coloured()[0])
    arrays = unpack(data).arrays
    leaf = int(np.flatnonzero(arrays["forest.left"] == 0)[0])
    for name, value in [("column", 1), ("threshold", 1), ("missing_left", 1), ("gain", 1.0)]:
        with pytest.raises(ModelFileError, match=f"forest.{name}"):
            from_bytes(changed(data, arrays={f"forest.{name}": put(leaf, value)(arrays[f"forest.{name}"])}))


def test_arrays_are_all_there_and_no_others():
    contents = unpack(to_bytes(regressor()[0]))
    with pytest.raises(ModelFileError, match=r"'bins\.edges' is missing"):
        from_bytes(pack(contents.text, {k: v for k, v in contents.arrays.items() if k != "bins.edges"}))
    with pytest.raises(ModelFileError, match=r"'forest\.extra' does not belong"):
        from_bytes(pack(contents.text, contents.arrays | {"forest.extra": np.zeros(3)}))


# --- random damage: a clean refusal, or a model that predicts


def refused_or_sound(data, X):
    try:
        model = from_bytes(data)
    except ModelFileError:
        return True
    X = X.set_axis(getattr(model, "feature_names_in_", range(4)), axis=1)  # names may be what changed
    assert len(model.predict(X)) == len(model.apply(X)) == len(X)
    return False


def test_random_bytes_are_refused():
    model, X = coloured()
    data, rng = to_bytes(model), np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        broken = bytearray(data)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            broken[place] = rng.integers(0, 256)
        refused += refused_or_sound(bytes(broken), X) or bytes(broken) == data
    for length in rng.integers(0, len(data), 100):
        assert refused_or_sound(data[:length], X)
    for _ in range(100):  # the header only: it is what the parsers see
        broken = bytearray(data)
        broken[rng.integers(0, 3000)] = rng.integers(0, 256)
        refused += refused_or_sound(bytes(broken), X) or bytes(broken) == data
    assert refused == 300


def random_array(array, rng):
    """The array with a few entries replaced, cut or lengthened."""
    array, how = array.copy(), rng.integers(0, 4)
    if how == 0:
        return array[: rng.integers(0, len(array) + 1)]
    if how == 1:
        return np.concatenate([array, array[-1:]])
    extremes = [0, 1, 2, 3, 5, 200]
    if array.dtype.kind != "u":
        extremes += [-1, -2]
    if array.dtype.kind == "f":
        extremes += [np.nan, np.inf, -np.inf, 1e308]
    elif array.dtype.itemsize > 1:
        extremes += [np.iinfo(array.dtype).max, np.iinfo(array.dtype).min]
    for _ in range(rng.integers(1, 4)):
        if array.size:
            array.flat[rng.integers(0, array.size)] = extremes[rng.integers(0, len(extremes))]
    return array


def test_random_arrays_are_refused_or_sound():
    model, X = coloured()
    data, rng = to_bytes(model), np.random.default_rng(0)
    arrays = unpack(data).arrays
    names = sorted(arrays)
    refused = 0
    for turn in range(400):
        name = names[turn % len(names)]
        refused += refused_or_sound(changed(data, arrays={name: random_array(arrays[name], rng)}), X)
    assert refused > 200


JUNK = [None, True, -1, 0, 2**70, 1.5, float("nan"), "", "x" * 50, [], {}, [[]], [None], {"float": "inf"}]


def random_description(value, rng):
    """The JSON value with one of its parts replaced, left out or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = sorted(value)[rng.integers(0, len(value))]
        if rng.random() < 0.1:
            return {name: part for name, part in value.items() if name != key}
        return value | {key: random_description(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.integers(0, len(value))
        if rng.random() < 0.2:
            return [*value, value[place]]
        return [*value[:place], random_description(value[place], rng), *value[place + 1 :]]
    return JUNK[rng.integers(0, len(JUNK))]


def test_random_descriptions_are_refused_or_sound():
    model, X = coloured()
    contents, rng = unpack(to_bytes(model)), np.random.default_rng(0)
    description = json.loads(contents.text)
    refused = 0
    for _ in range(400):
        text = json.dumps(random_description(description, rng))
        refused += refused_or_sound(pack(text, contents.arrays), X)
    assert refused > 200
