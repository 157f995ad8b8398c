"""Hostile archives of foreign objects are rejected before any object is made, in little memory."""

import io
import json
import tracemalloc
import zipfile
from functools import cache

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from hedgerow import AdaBoostClassifier, BaggingClassifier, GradientBoostingRegressor
from hedgerow.container import unpack
from hedgerow.io import ModelFileError, reader, skops_archive
from hedgerow.io.foreign import dumped, loaded
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.io.skops_archive import SCHEMA, packed, unpacked
from model_cases import changed, classes, numbers


@cache
def rows(n_columns=2):
    X, signal = numbers(60, n_columns)
    return np.nan_to_num(X), classes(signal, 2)


@cache
def archive():
    X, y = rows()
    return dumped(GaussianNB().fit(X, y), "members.0")


@cache
def bag():
    return to_bytes(BaggingClassifier(GaussianNB(), n_estimators=2, random_state=0).fit(*rows()))


def state(name, loader, **more):
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **more}


def plain(value):
    return state("builtins.str", "JsonNode", content=json.dumps(value), is_json=True)


def estimator(**attributes):
    """The schema of a Ridge with these attributes."""
    attributes["_sklearn_version"] = plain(sklearn.__version__)
    keys = [state("builtins.str", "TypeNode") for _ in attributes]
    keys = state("builtins.list", "ListNode", content=keys)
    held = state("builtins.dict", "DictNode", content=attributes, key_types=keys)
    return state("sklearn.linear_model._ridge.Ridge", "ObjectNode", content=held, protocol=2)


def array(values, **more):
    buffer = io.BytesIO()
    np.save(buffer, values, **more)
    return buffer.getvalue()


def packed_object(schema, **entries):
    named = {name.replace("_", "."): held for name, held in entries.items()}
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    return packed({SCHEMA: text, **{name.removeprefix("."): held for name, held in named.items()}})


def numbered(file, name="numpy.ndarray"):
    return state(name, "NdArrayNode", type="numpy", file=file)


def test_helpers_of_this_module_make_a_valid_archive():
    found = loaded(packed_object(estimator(coef_=numbered("0.npy")), _0_npy=array(np.ones(2))), "a")
    assert isinstance(found, Ridge)
    assert found.coef_.tolist() == [1.0, 1.0]


def test_load_rejects_archives_in_another_form():
    entries = unpacked(archive())
    assert packed(entries) == archive()
    pressed = io.BytesIO()
    with zipfile.ZipFile(pressed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, held in entries.items():
            file.writestr(zipfile.ZipInfo(name), held, zipfile.ZIP_DEFLATED)
    timed = io.BytesIO()
    with zipfile.ZipFile(timed, "w") as file:
        for name, held in entries.items():
            file.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), held)
    spaced = (archive() + b" ", b" " + archive())
    for data in (pressed.getvalue(), timed.getvalue(), *spaced, archive()[:-1], b""):
        with pytest.raises(ModelFileError, match="a is damaged"):
            loaded(data, "a")


def test_load_rejects_archives_that_expand(monkeypatch):
    """Many entries that share the same bytes, or one that is compressed."""
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(SCHEMA, json.dumps(estimator(coef_=numbered("0.npy"))))
        file.writestr("0.npy", array(np.zeros(2_000_000)))
    shared = bytearray(packed({f"{number}.bin": bytes(1 << 16) for number in range(3)}))
    for number in range(1, 3):  # all names refer to the first entry
        position = shared.index(f"{number}.bin".encode(), shared.index(b"PK\x01\x02"))
        shared[position - 4 : position] = bytes(4)
    tracemalloc.start()
    try:
        for data in (bomb.getvalue(), bytes(shared)):
            tracemalloc.reset_peak()
            with pytest.raises(ModelFileError, match="a is damaged"):
                loaded(data, "a")
            assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(skops_archive, "MAX_ENTRIES", 2)
    with pytest.raises(ModelFileError, match="at most 2 entries"):
        loaded(archive(), "a")


def header(shape, dtype="<f8"):
    """The header of an array, without its contents."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


ARRAYS = {
    "more than the file has": header((2**40,)),
    "without bytes": header((2**40,), "|V0"),
    "without entries": header((2**40, 0)),
    "objects": array(np.array([1, None], object), allow_pickle=True),
    "longer than the header": array(np.ones(2)) + b"12345678",
    "not an array": b"nothing",
    "a zip file": packed({"a.npy": array(np.ones(2))}),
    "negative shape": header((-2,)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_load_rejects_arrays_that_differ_from_their_headers(name):
    data = packed_object(estimator(coef_=numbered("0.npy")), _0_npy=ARRAYS[name])
    with pytest.raises(ModelFileError, match="a is damaged"):
        loaded(data, "a")


def test_load_rejects_sparse_matrices_with_wrong_indices():
    def held(matrix):
        buffer = io.BytesIO()
        sparse.save_npz(buffer, matrix, compressed=False)
        whole = zipfile.ZipFile(io.BytesIO(buffer.getvalue()))
        return packed({name: whole.read(name) for name in whole.namelist()})

    node = state("scipy.sparse._csr.csr_matrix", "SparseMatrixNode", type="scipy", file="0.npz")
    good = sparse.csr_matrix(np.eye(3))
    assert loaded(packed_object(estimator(coef_=node), _0_npz=held(good)), "a").coef_.nnz == 3
    good.indices[1] = 7
    for matrix in (good, sparse.coo_matrix(np.eye(3))):
        with pytest.raises(ModelFileError, match="a is damaged"):
            loaded(packed_object(estimator(coef_=node), _0_npz=held(matrix)), "a")


def deep(levels):
    text = json.dumps(estimator(coef_="HERE"))
    level = json.dumps(state("builtins.list", "ListNode", content=["HERE"]))
    for _ in range(levels):
        text = text.replace('"HERE"', level)
    return text.replace('"HERE"', json.dumps(plain(1))).encode()


def doubling():
    """Lists that refer twice to the previous list: 2**59 states, if references were allowed."""
    found = [state("builtins.list", "ListNode", content=[], __id__=1)]
    for number in range(2, 60):
        again = [{"__id__": number - 1}, {"__id__": number - 1}]
        found.append(state("builtins.list", "ListNode", content=again, __id__=number))
    return estimator(coef_=state("builtins.list", "ListNode", content=found))


SCHEMAS = {
    "not JSON": b"{",
    "no object": b"[]",
    "no state": b"{}",
    "numbers": b"1" * 5000,
    "deep": deep(3000),
    "brackets": b"[" * 100_000,
    "doubling": doubling(),
    "without a protocol": state("sklearn.linear_model._ridge.Ridge", "ObjectNode"),
    "an unknown loader": estimator() | {"__loader__": "Nothing"},
    "a missing array": estimator(coef_=numbered("0.npy")),
    "an array of the schema": estimator(coef_=numbered(SCHEMA)),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_load_rejects_wrong_schemas(name):
    with pytest.raises(ModelFileError, match="a is damaged") as error:
        loaded(packed_object(SCHEMAS[name]), "a")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_load_rejects_entries_without_an_object():
    with pytest.raises(ModelFileError, match="does not belong to any object"):
        loaded(packed_object(estimator(), _0_npy=array(np.ones(1))), "a")
    with pytest.raises(ModelFileError, match=r"cannot have the entry 'a\.npy'"):
        loaded(packed_object(estimator(), a_npy=array(np.ones(1))), "a")
    node = state("builtins.bytes", "BytesNode", file="0.npy")
    with pytest.raises(ModelFileError, match=r"refers to the entry '0\.npy'"):
        loaded(packed_object(estimator(coef_=node), _0_npy=array(np.ones(1))), "a")


def made(name, argument):
    return state(name, "ConstructorFromReduceNode", content=plain([argument]))


def mapping(**values):
    keys = [state("builtins.str", "TypeNode") for _ in values]
    content = {name: plain(value) for name, value in values.items()}
    keys = state("builtins.list", "ListNode", content=keys)
    return state("builtins.dict", "DictNode", content=content, key_types=keys)


TYPES = {
    "os.system": state("os.system", "FunctionNode"),
    "builtins.eval": state("builtins.eval", "TypeNode"),
    "functools.partial": state(
        "functools.partial",
        "PartialNode",
        content=dict(func=plain("a"), args=plain([]), kwds=plain({}), namespace=plain(None)),  # noqa: C408
    ),
    "numpy.void": numbered("0.npy", "numpy.void"),  # of a number, it has that many bytes
    "numpy.random.mtrand.RandomState": state(
        "numpy.random.mtrand.RandomState", "RandomStateNode", content=plain({})
    ),
    "numpy.ndarray": made("numpy.ndarray", 10**10),  # called with a size
    "scipy.sparse._csr.csr_matrix": made("scipy.sparse._csr.csr_matrix", [10**10, 2]),
    "numpy.random._generator.Generator": state(
        "numpy.random._generator.Generator",
        "RandomGeneratorNode",
        content={"bit_generator": mapping(bit_generator="PCG64"), "seed_seq": mapping(pool_size=10**9)},
    ),
    "os.PathLike": state("os.PathLike", "ConstructorFromReduceNode", content=plain([])),
    "sklearn.tree._tree.Tree": state("sklearn.tree._tree.Tree", "ObjectNode"),
    "sklearn.svm._classes.SVC": state("sklearn.svm._classes.SVC", "ObjectNode"),
    "sklearn.linear_model.os": state("sklearn.linear_model.os", "ObjectNode"),  # unknown to skops
    "builtins.Ridge": state("builtins.Ridge", "ObjectNode"),
}


@pytest.mark.parametrize("name", TYPES)
def test_load_rejects_unsafe_types(name):
    more = {"_0_npy": array(np.array(10**9))} if "void" in name else {}
    data = packed_object(estimator(coef_=TYPES[name]), **more)
    with pytest.raises(
        ModelFileError, match=f"not known to be safe.*{name}|Can't find loader .* for type {name}"
    ):
        loaded(data, "a")


def test_load_rejects_objects_of_hedgerow_in_archives():
    ours = state("hedgerow.estimators.decision_trees.DecisionStump", "ObjectNode", protocol=2)
    with pytest.raises(ModelFileError, match="an object of Hedgerow within an object of another library"):
        loaded(packed_object(ours), "a", {"hedgerow.estimators.decision_trees.DecisionStump"})


def test_damaged_archives_are_rejected_or_predict():
    rng, X = np.random.default_rng(0), rows()[0]
    refused = 0
    for number in range(80):
        array = unpack(bag()).arrays["skops.1"].copy()
        for _ in range(1 + number % 2):
            array[rng.integers(0, len(array))] = rng.integers(0, 256)
        try:
            model = from_bytes(changed(bag(), arrays={"skops.1": array}))
        except ModelFileError as error:
            refused += "\n" not in str(error)
            continue
        assert len(model.predict(X)) == len(X)
    assert refused > 50


# --- members


def test_load_rejects_wrong_members():
    X, y = rows()
    wider, other = rows(3)[0], np.where(y == 1, 7, 0)
    wrong = [
        (Ridge().fit(X, y), "it must be a"),
        (GaussianNB(), "is not fitted"),
        (StandardScaler().fit(X), "it must be a|not a fitted member"),
        (GaussianNB().fit(wider, y), "its columns must be those of the model"),
        (GaussianNB().fit(X, other), "its classes must be classes of the model"),
    ]
    for member, message in wrong:
        data = np.frombuffer(dumped(member, "a"), np.uint8)
        with pytest.raises(ModelFileError, match=message):
            from_bytes(changed(bag(), arrays={"skops.1": data}))


def test_load_rejects_wrong_numbers_of_members():
    X, y = rows()
    data = to_bytes(AdaBoostClassifier(GaussianNB(), n_estimators=2, random_state=0).fit(X, y))
    first = json.loads(unpack(data).text)["members"][0]
    cases = [([first], "of 2 rounds"), ([[], []], "round 0 must have 1"), (None, "must be list")]
    for members, message in cases:
        with pytest.raises(ModelFileError, match=message):
            from_bytes(changed(data, members=members))
    for floor in (0.0, 0.6):
        with pytest.raises(ModelFileError, match="floor"):
            from_bytes(changed(data, probability_floor=floor))
    with pytest.raises(ModelFileError, match="does not belong to the model"):
        from_bytes(changed(data, arrays={"skops.9": np.zeros(3, np.uint8)}))
    for number in (9, -1, 10**400, True, "0"):
        with pytest.raises(ModelFileError):
            from_bytes(changed(data, members=[[{"skops": number}]] * 2))
    boosted = to_bytes(GradientBoostingRegressor(estimator=Ridge(), n_estimators=2).fit(X, X[:, 0]))
    cases = [("steps", [1.0], "2 numbers"), ("initial_scores", [], "1 scores"), ("members", 3, "list")]
    for name, value, message in cases:
        with pytest.raises(ModelFileError, match=message):
            from_bytes(changed(boosted, **{name: value}))


def test_load_rejects_learners_that_are_not_estimators():
    wrong = {
        "estimator is not an estimator": estimator(),  # it has none of its parameters
        "it must be a classifier": state("builtins.list", "ListNode", content=[], protocol=2),
    }
    for message, schema in wrong.items():
        array = np.frombuffer(packed_object(schema), np.uint8)
        with pytest.raises(ModelFileError, match=message):
            from_bytes(changed(bag(), arrays={"skops.0": array}))


def test_references_to_the_same_object_are_limited(monkeypatch):
    data = changed(bag(), members=[{"skops": 1}, {"skops": 2}, *[{"skops": 1}] * 3])
    first, *_, last = from_bytes(data).estimators_
    assert first is not last
    np.testing.assert_array_equal(first.theta_, last.theta_)
    monkeypatch.setattr(reader, "MAX_REPEATED", 2 * len(archive()))
    with pytest.raises(ModelFileError, match="too many references"):
        from_bytes(data)
