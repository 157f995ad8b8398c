"""Random changes of archives of objects of other libraries; see `hedgerow.io.skops_archive`.

A changed archive is packed in canonical form: otherwise the reader would refuse it for its form only.
"""

import contextlib
import io
import json

import numpy as np

from fuzz_changes import BYTES, changed_array, changed_value
from hedgerow.io.skops_archive import SCHEMA, packed, unpacked

TYPES = [
    *("builtins.eval", "builtins.exec", "builtins.getattr", "builtins.print", "builtins.dict"),
    *("builtins.list", "builtins.str", "builtins.slice", "os.system", "posix.system", "subprocess.Popen"),
    *("shutil.rmtree", "pathlib.Path", "antigravity.x", "this.x", "types.x", "functools.partial"),
    *("operator.attrgetter", "numpy.ndarray", "numpy.fromfile", "numpy.load", "numpy.exp", "numpy.dtype"),
    *("numpy.int64", "hedgerow.forest.Forest", "hedgerow.DecisionStump", "sklearn.tree._tree.Tree"),
    *("sklearn.linear_model._ridge.Ridge", "sklearn.pipeline.Pipeline", "sklearn.dummy.x"),
    *("sklearn.naive_bayes.np", "sklearn.preprocessing._function_transformer.FunctionTransformer"),
]
LOADERS = [
    *("ObjectNode", "TypeNode", "FunctionNode", "MethodNode", "PartialNode", "ReduceNode", "CachedNode"),
    *("JsonNode", "NdArrayNode", "SparseMatrixNode", "BytesNode", "BytearrayNode", "DictNode", "ListNode"),
    *("RandomStateNode", "RandomGeneratorNode", "OperatorFuncNode", "SliceNode", "SetNode", "TupleNode"),
    *("UfuncNode", "DtypeNode", "LossNode", "TreeNode", "_DictWithDeprecatedKeysNode"),
    "DatetimeTimedeltaNode",
]


def is_archive(array):
    return array.dtype == np.uint8 and array.ndim == 1 and array[:4].tobytes() == b"PK\x03\x04"


def changed_archive(array, rng):
    """Change the archive in an array."""
    data, what = array.tobytes(), rng.random()
    if what >= 0.15:
        with contextlib.suppress(Exception):  # an earlier change may have made it invalid
            entries = unpacked(data)
            changed = _changed_schema(entries, rng) if what < 0.6 else _changed_entries(entries, rng)
            return np.frombuffer(packed(changed), np.uint8).copy()
    return np.frombuffer(rng.choice(BYTES)(data, rng, data), np.uint8).copy()


def states(value):
    """Yield all entries of a schema that describe objects."""
    if isinstance(value, dict):
        if "__class__" in value:
            yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from states(one)


def _changed_schema(entries, rng):
    schema = json.loads(entries[SCHEMA])
    for _ in range(rng.choice((1, 1, 2, 3))):
        found, what = list(states(schema)), rng.random()
        if not found:
            break
        state = rng.choice(found)
        if what < 0.25:
            state["__module__"], _, state["__class__"] = rng.choice(TYPES).rpartition(".")
        elif what < 0.40:
            state["__loader__"] = rng.choice(LOADERS)
        elif what < 0.55:
            other = json.loads(json.dumps(rng.choice(found)))
            state[rng.choice(("content", "file", "type", "x"))] = rng.choice((other, 0, None, "0.npy", "[1]"))
        elif what < 0.60:
            state["__id__"] = rng.choice((1, 2**63, rng.choice(found).get("__id__", 5)))
        else:
            schema = changed_value(schema, rng)
    return entries | {SCHEMA: json.dumps(schema).encode()}


def _changed_entries(entries, rng):
    name, what = rng.choice(list(entries)), rng.random()
    if what < 0.1:
        return {one: data for one, data in entries.items() if one != name}
    if what < 0.2:
        return entries | {rng.choice(("9.npy", "../x.npy", "/x", name, "schema.json")): entries[name]}
    if what < 0.3:
        return entries | {name: entries[rng.choice(list(entries))]}
    if what < 0.45 or not name.endswith(".npy"):
        return entries | {name: rng.choice(BYTES)(entries[name] or b"x", rng, entries[name] or b"x")}
    array = np.load(io.BytesIO(entries[name]), allow_pickle=False)
    stream = io.BytesIO()
    new = changed_array(array, rng) if array.dtype.kind in "iuf" else array[:1]
    np.save(stream, new, allow_pickle=False)
    return entries | {name: stream.getvalue()}
