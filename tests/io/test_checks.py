"""Load rejects files with one wrong number or entry, with a message that names it, and other files."""

import json
from functools import cache

import numpy as np
import pytest

from hedgerow.container import pack, unpack
from hedgerow.io import ModelFileError, load
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.kernels.cpu.votes import LEAF
from model_cases import changed, fitted

SHIFT = np.uint64(36)  # of the child in a node
GRADIENT = "three classes, categories, names"


@cache
def valid_file(name):
    data = to_bytes(fitted(name)[0])
    from_bytes(changed(data))
    return data


def put(index, value):
    def edit(array):
        array = array.copy()
        array[index] = value
        return array

    return edit


def first(kind, change):
    """Change the first word of a kind."""

    def edit(words):
        words = words.copy()
        index = np.flatnonzero((words & np.uint64(3)) == kind)[0]
        words[index] = change(words[index])
        return words

    return edit


def longer(array):
    return np.concatenate([array, array[-1:]])


def child(number):
    return lambda word: (word & ((np.uint64(1) << SHIFT) - np.uint64(1))) | (np.uint64(number) << SHIFT)


ARRAYS = [
    ("forest", "votes.starts", put(1, 0), "every tree must have a node|nodes"),
    ("forest", "votes.starts", lambda a: a[:1], "there must be 1 to"),
    ("forest", "votes.value_starts", put(0, 1), "it must go from 0"),
    ("forest, shallow", "votes.values", put((0, 0), np.nan), "values must be finite"),
    ("forest, shallow", "votes.values", put((0, 0), 1.5), "class fractions must be in 0..1"),
    ("forest", "votes.values", lambda a: a[:, :1], "a leaf must have 2 numbers"),
    ("forest", "votes.gains", put((0, 0), -1.0), "gains must be positive"),
    ("forest", "votes.gains", lambda a: a[:, 1:], r"the shape must be \(20, 4\)"),
    ("forest", "votes.nodes", put(0, LEAF), "every node but the root must have one parent"),
    ("forest", "votes.nodes", first(0, child(0)), "children must follow their parent"),
    ("forest", "votes.nodes", first(0, child(2**20)), "children must be nodes of the same tree"),
    ("forest", "votes.nodes", first(0, lambda w: w | np.uint64(15 << 18)), "a column number is out of range"),
    ("forest", "votes.nodes", first(0, lambda w: w | np.uint64(1 << 17)), "a bin is out of range"),
    ("forest", "votes.nodes", first(LEAF, child(2**20)), "number of a leaf is out of range"),
    ("forest", "votes.nodes", first(LEAF, lambda w: w | np.uint64(1 << 18)), "must be 0 in a leaf"),
    ("forest", "votes.nodes", first(LEAF, lambda w: w | np.uint64(4)), "threshold must be 0 without"),
    ("forest", "votes.nodes", first(1, lambda w: w ^ np.uint64(3)), "sets are for categorical columns"),
    ("forest, categories", "votes.set_number", lambda a: a[:0], "every node must have an entry, since"),
    ("forest, categories", "votes.set_number", lambda a: a[1:], "every node must have an entry"),
    ("forest, categories", "votes.set_number", lambda a: np.maximum(a, 9999), "set is out of range"),
    ("forest, categories", "votes.set_number", lambda a: np.maximum(a, 0), "it must be -1 without a set"),
    ("forest, categories", "votes.sets", lambda a: a[:, :2], "a set must have 4 words"),
    ("forest", "vote_weights", lambda _: np.full(20, 0.5), "the sum of the weights must be 1"),
    ("forest", "vote_weights", lambda _: np.full(15, 1 / 15), "20 weights are required, one per member"),
    ("forest of numbers", "vote_weights", lambda _: np.full(20, 1 / 20), "have equal weights"),
    ("forest", "bins.user_edges", put(0, 2), "it must be 0 or 1"),
    ("forest", "bins.user_edges", longer, "4 entries are required"),
    ("forest", "bootstrap.row_order", put(0, 150), "a row number is out of range"),
    ("forest", "bootstrap.row_order", lambda a: put(0, a[1])(a), "every row must occur once"),
    ("forest, weighted", "bootstrap.cumulative_weights", put(0, 0), "every row must have a weight"),
    ("forest, weighted", "bootstrap.cumulative_weights", lambda a: a[::-1].copy(), "must have a weight"),
    ("forest", "bootstrap.row_copies", lambda _: np.ones(3, np.int64), "there must be one per row"),
    ("forest", "bootstrap.row_copies", lambda _: np.full(150, -1), "they must be counts"),
    ("forest", "oob.votes", put(0, 21), "they must be numbers of members"),
    ("forest", "oob.decision_function", put((0, 0), 7.0), "fractions must be in 0..1"),
    ("forest", "oob.decision_function", lambda a: a[:, :1], r"the shape must be \(150, 2\)"),
    ("forest", "oob_losses.losses", put(0, -1), "a loss must be at most 1"),
    ("forest", "oob_losses.losses", longer, "losses of 20 voters are required"),
    ("forest", "oob_losses.products", put((0, 0), 2**60), "a loss must be at most 1"),
    ("forest", "oob_losses.products", put((0, 1), 0), "pairs must be symmetric"),
    ("forest", "oob_losses.counts", put((0, 0), 2**60), "numbers of rows"),
    ("forest", "oob_losses.counts", put((0, 0), 1), "a loss must be at most 1"),
    ("forest", "oob_losses.differences", lambda a: a[:0, :0], r"the shape \(20, 20\)"),
    ("forest of numbers", "leaf_targets.starts", put(1, 0), "every leaf must have a target"),
    ("forest of numbers", "leaf_targets.starts", lambda a: a[1:], r"it must have \d+ entries; got \d+"),
    ("forest of numbers", "leaf_targets.target_index", put(0, 2**31), "number of a target is out of range"),
    ("forest of numbers", "leaf_targets.target_index", lambda a: a[::-1].copy(), "it must increase"),
    ("forest of numbers", "leaf_targets.counts", put(0, 0), "a count must be positive"),
    ("forest of numbers", "leaf_targets.targets", lambda a: a[::-1].copy(), "targets must not decrease"),
    ("forest of numbers", "leaf_targets.targets", put(0, -np.inf), "targets must be finite"),
    ("forest of numbers", "leaf_targets.weights", lambda _: np.ones(2), "every target must have a weight"),
    ("forest of numbers", "oob.residuals", put(0, np.inf), "numbers must be finite"),
    ("adaboost", "sample_weights", put(0, -1.0), "weights must be finite and not negative"),
    ("adaboost", "training_margins", put(0, 1.5), "margins must be in -1..1"),
    ("adaboost", "training_margins", lambda a: a[1:], "there must be one per training row"),
    ("adaboost", "row_fingerprints.rounded", lambda a: a[1:], "150 hashes are required"),
    ("adaboost on a grid", "grid_fingerprints.exact", lambda a: a[:0], "hashes|at least one row"),
    ("adaboost", "forest.starts", lambda a: a[:-1], "entries|it must go from"),
    ("tree", "forest.value", put((0, 0), 2.0), "class fractions must be in 0..1"),
    ("tree", "forest.value", longer, "values of 3 outputs are required"),
    ("three", "hypothesis.rows", put(0, -1), "row numbers must not be negative"),
    ("three", "hypothesis.rows", lambda a: a[::-1].copy(), "row numbers must increase"),
    ("bag", "members.0.forest.left", put(0, -1), "children must follow"),
]  # fmt: skip


GRADIENT_ARRAYS = [
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
ARRAYS += [(GRADIENT, *case) for case in GRADIENT_ARRAYS]


@pytest.mark.parametrize(("name", "array", "edit", "message"), ARRAYS)
def test_load_rejects_wrong_arrays(name, array, edit, message):
    data = valid_file(name)
    edited = edit(unpack(data).arrays[array])
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, arrays={array: edited}))


ENTRIES = [
    ("adaboost", ["rule"], "logit", "rule 'logit' is not a rule of AdaBoostClassifier"),
    ("adaboost", ["max_rounds"], 0, "max_rounds must be an integer in 1..2147483648; got 0"),
    ("adaboost", ["learners"], [], "there must be at least one"),
    ("adaboost", ["learners", 0, "estimator"], "RandomForestClassifier", "parameters: criterion"),
    ("adaboost", ["learners", 0], None, "learners must be a JSON object of .*; got None"),
    ("adaboost", ["round_statistics", "weights", 0], {"float": "inf"}, "the numbers must be finite"),
    ("adaboost", ["round_statistics", "errors"], [0.5], "4 numbers are required; got 1"),
    ("adaboost", ["round_statistics", "max_steps", 0], -1.0, "max_steps must not be negative"),
    ("adaboost", ["stop_reason"], None, "stop_reason must be str; got None"),
    ("adaboost", ["row_fingerprints", "class_counts"], [1], "class_counts must be 2 numbers of rows"),
    ("adaboost", ["row_fingerprints", "is_float32"], 0, "is_float32 must be bool or null; got 0"),
    ("adaboost", ["row_fingerprints"], None, r"'row_fingerprints\.\w+' does not belong"),
    ("adaboost gentle", ["round_statistics", "weights", 0], 0.0, "weights must not be 0"),
    ("anyboost", ["cost"], "os.system", "cost must be one of .*; got 'os.system'"),
    ("adaboost.r2", ["round_statistics", "weights", 0], 0.0, "weights must be positive"),
    ("adaboost.r2", ["round_statistics", "weights", 0], 1e306, "weights are too large"),
    ("adaboost.r2", ["fitted_loss"], "huge", "fitted_loss must be one of .*; got 'huge'"),
    ("gradient", ["versions"], None, "versions must be dict; got None"),
    ("gradient", ["versions"], {"hedgerow": 1}, "versions must name those of hedgerow"),
    ("gradient", ["versions", "skops"], "0.16", "versions must name those of hedgerow"),
    ("forest", ["bootstrap", "n_draws"], 10**15, "n_draws must be an integer in 1..150; got 10{15}"),
    ("forest", ["bootstrap", "size"], 10**15, "size must be an integer in 1..2400"),
    ("forest", ["bootstrap", "seed"], None, "a seed is required"),
    ("forest", ["bootstrap", "n_columns"], 5, "n_columns must be 4"),
    ("forest", ["bootstrap", "n_chosen"], 3, "a tree must get all columns"),
    ("forest", ["oob", "classes_"], 1, "'classes_' is not an out-of-bag attribute"),
    ("forest", ["oob_score"], {"float": "nan"}, "oob_score must be float or null"),
    ("forest", ["caveats"], [1], "caveats must be a string"),
    ("forest", ["oob_losses", "caveats"], [1], "caveats must be a string"),
    ("forest of numbers", ["n_outputs"], 2, "a leaf must have 2 numbers"),
    ("forest of numbers", ["has_leaf_targets"], False, r"'leaf_targets\.\w+' does not belong"),
    ("bag", ["members"], [], "at least one is required"),
    ("bag", ["members", 0], {"constant": 3}, "constant must be an integer in 0..2; got 3"),
    ("bag", ["members", 0], 7, "members.0 must be a JSON object; got int"),
    ("bag", ["members", 0, "estimator"], "Pipeline", "estimator must be one of .*; got 'Pipeline'"),
    ("bag", ["members", 0, "classes", "values", 0], "na", "its classes must be classes of the model"),
    ("bag", ["members", 0, "schema", "names", 0], "z", "its columns must be those of the model"),
    ("bag of numbers", ["members", 0, "classes"], {"dtype": "<i8", "values": [0, 1]}, "classes must be"),
    ("three", ["hypothesis", "members"], [], "a vote must have one member or three"),
    ("three", ["hypothesis", "members", 0], None, "hypothesis.0 must be a JSON object; got NoneType"),
    ("three", ["hypothesis", "errors"], [0.1], "3 numbers are required"),
    ("three", ["hypothesis", "reason"], 4, "reason must be str; got 4"),
    ("tree", ["classes", "values"], ["no", "so"], "values of 2 outputs are required"),
    ("tree of numbers", ["classes"], [], "classes must be"),
    (GRADIENT, ["format"], 0, "format 0; formats are numbered from 1"),
    (GRADIENT, ["format"], True, "format must be int; got True"),
    (GRADIENT, ["estimator"], "Pipeline", "estimator must be one of .*; got 'Pipeline'"),
    (GRADIENT, ["estimator"], "GradientBoostingRegressor", "has no parameter 'class_weight'"),
    (GRADIENT, ["parameters"], [], "parameters must be dict; got"),
    (GRADIENT, ["parameters"], {"learning_rate": -1.0}, "learning_rate=-1.0 is not allowed"),
    (GRADIENT, ["parameters"], {"random_state": "now"}, "random_state"),
    (GRADIENT, ["parameters"], {"class_weight": {"items": [[[], 1]]}}, "class_weight is malformed"),
    (GRADIENT, ["parameters"], {"class_weight": {"items": 3}}, "class_weight is malformed"),
    (GRADIENT, ["schema"], {"n_columns": 10**12, "names": None, "categories": []}, "schema"),
    (GRADIENT, ["schema"], None, "schema must be dict; got None"),
    (GRADIENT, ["classes"], None, "classes must be a JSON object"),
    (GRADIENT, ["classes"], {"dtype": "<i8", "values": [0]}, "at least two labels"),
    (GRADIENT, ["classes"], {"dtype": "<i8", "values": [0, 1]}, "initial_scores: 1 scores are required"),
    (GRADIENT, ["classes"], {"dtype": "<i8", "values": [2, 1, 0]}, "increasing"),
    (GRADIENT, ["classes"], {"dtype": "|i1", "values": [0, 1, 400]}, "classes do not fit dtype int8"),
    (GRADIENT, ["classes"], {"dtype": "<U2", "values": ["a", "b", "long"]}, "increasing labels of dtype <U2"),
    (GRADIENT, ["classes"], {"dtype": "<U999999999", "values": ["a", "b", "c"]}, "cannot have the dtype"),
    (GRADIENT, ["classes"], {"dtype": "object", "values": ["a", 1, "c"]}, "classes do not fit dtype object"),
    (GRADIENT, ["initial_scores"], [0.0, 0.0], "initial_scores: 3 scores are required"),
    (GRADIENT, ["initial_scores"], [0.0, 0.0, float("nan")], "is not valid JSON: NaN is not allowed"),
    (GRADIENT, ["initial_scores"], [0.0, 0.0, "0"], "initial_scores must be a list of numbers"),
    (GRADIENT, ["loss"], {"name": "log_loss"}, "parameters must be dict; got nothing"),
    (GRADIENT, ["loss"], {"name": "os.system", "parameters": {}}, "loss must be one of .*; got 'os.system'"),
    (GRADIENT, ["loss"], {"name": "log_loss", "parameters": {"delta": 1.0}}, "other parameters"),
    (GRADIENT, ["loss"], {"name": "exponential", "parameters": {}}, "two classes"),
    (GRADIENT, ["history"], {"round": [1, "two"]}, "history: 'round' must be a list of numbers"),
    (GRADIENT, ["history"], {"round": [0], "train_loss": [10**400]}, "'train_loss' must be a list"),
    (GRADIENT, ["best_iteration"], 400, "best_iteration must be an integer in 0..3; got 400"),
    (GRADIENT, ["seed"], -1, "seed must be an integer in 0"),
    (GRADIENT, ["seed"], 1.5, "seed must be int or null; got 1.5"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value", "message"), ENTRIES)
def test_load_rejects_wrong_entries(name, path, value, message):
    data = valid_file(name)
    description = json.loads(unpack(data).text)
    inner = description
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, **description))


def test_load_rejects_different_splits_of_the_trees_of_one_round():
    data = valid_file("adaboost m1, three classes")
    threshold = unpack(data).arrays["forest.threshold"]
    index = np.flatnonzero(threshold > 1)[0]
    with pytest.raises(ModelFileError, match="the trees of a round must have the same splits"):
        from_bytes(changed(data, arrays={"forest.threshold": put(index, 1)(threshold)}))


def test_nesting_of_votes_is_limited():
    data = valid_file("three")
    contents = unpack(data)
    description = json.loads(contents.text)
    inner, arrays = description["hypothesis"], dict(contents.arrays)
    names = [name for name in arrays if name.startswith("hypothesis.")]
    for depth in range(1, 12):
        inner = {"members": [inner], "errors": [0.0] * 3, "error": 0.0, "bound": 0.0, "reason": ""}
        prefix = "hypothesis." + "0." * depth
        arrays |= {prefix + name.removeprefix("hypothesis."): contents.arrays[name] for name in names}
    with pytest.raises(ModelFileError, match="votes are nested more than 10 deep"):
        from_bytes(changed(data, arrays=arrays, hypothesis=inner))


def test_load_rejects_wrong_parameters_of_losses():
    data = valid_file("huber")
    for alpha, delta in [(2.0, 1.0), (0.5, -1.0), (0.5, float("inf")), (0.5, "1")]:
        with pytest.raises(ModelFileError, match=r"alpha|delta|finite|Infinity"):
            from_bytes(changed(data, loss={"name": "huber", "parameters": {"alpha": alpha, "delta": delta}}))


LINEAR = [
    ("counts", lambda a: a[1:], "one per node"),
    ("counts", lambda a: np.where(a > 0, 9, 0).astype(np.int32), "a leaf has 0 to 8 terms"),
    ("counts", lambda a: -a, "a leaf has 0 to 8 terms"),
    ("counts", put(0, 1), "only a leaf may have terms"),
    ("counts", lambda a: a // 2, "their sum must be"),
    ("column", put(0, 4), "a column number is out of range"),
    ("column", put(0, -1), "a column number is out of range"),
    ("column", lambda a: np.full_like(a, 3), "the columns of terms must be numeric"),
    ("column", lambda a: a.astype(np.int64), "1 axes of int32"),
    ("slope", longer, "one per term"),
    ("slope", put(0, np.inf), "values must be finite"),
    ("slope", put(0, 1e308), "the sum of the values of all trees is too large"),
    ("mean", put(0, np.nan), "values must be finite"),
    ("mean", put(0, 1e10), "a mean must be between"),
    ("lower", put(0, -np.inf), "values must be finite"),
    ("upper", put(0, -1e300), "a mean must be between"),
]


@pytest.mark.parametrize(("name", "edit", "message"), LINEAR)
def test_load_rejects_wrong_linear_functions(name, edit, message):
    data = valid_file("linear leaves")
    arrays = unpack(data).arrays
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, arrays={f"linear.{name}": edit(arrays[f"linear.{name}"])}))


def test_only_gradient_boosting_may_have_linear_functions():
    linear = {
        name: array
        for name, array in unpack(valid_file("linear leaves")).arrays.items()
        if name.startswith("linear.")
    }
    for name in ("tree", "adaboost m1, three classes"):
        with pytest.raises(ModelFileError, match="does not belong"):
            from_bytes(changed(valid_file(name), arrays=linear))
    some = {name: array for name, array in linear.items() if name != "linear.mean"}
    with pytest.raises(ModelFileError, match=r"the array 'linear\.mean' is missing"):
        from_bytes(changed(valid_file(GRADIENT), arrays=some))


def test_load_rejects_splits_in_leaves():
    data = valid_file(GRADIENT)
    arrays = unpack(data).arrays
    leaf = int(np.flatnonzero(arrays["forest.left"] == 0)[0])
    for name, value in [("column", 1), ("threshold", 1), ("missing_left", 1), ("gain", 1.0)]:
        with pytest.raises(ModelFileError, match=f"forest.{name}"):
            from_bytes(changed(data, arrays={f"forest.{name}": put(leaf, value)(arrays[f"forest.{name}"])}))


def test_load_rejects_missing_and_additional_arrays():
    contents = unpack(valid_file("squared_error"))
    with pytest.raises(ModelFileError, match=r"'bins\.edges' is missing"):
        from_bytes(pack(contents.text, {k: v for k, v in contents.arrays.items() if k != "bins.edges"}))
    with pytest.raises(ModelFileError, match=r"'forest\.extra' does not belong"):
        from_bytes(pack(contents.text, contents.arrays | {"forest.extra": np.zeros(3)}))


# --- files that are not models


def test_load_rejects_a_file_with_a_changed_bit():
    data = valid_file(GRADIENT)
    value = data.index(b"learning_rate")
    for position in (9, value, value + 20, len(data) // 2, len(data) - 1):
        broken = bytearray(data)
        broken[position] ^= 1
        with pytest.raises(ModelFileError):
            from_bytes(bytes(broken))


def test_load_rejects_other_files(tmp_path):
    for data in (b"", b"buy milk", b"\x02" + bytes(7) + b"{}", pack("{}", {}), pack("[]", {})):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(ModelFileError, match="file: "):
            load(tmp_path / "file")
    with pytest.raises(ModelFileError, match="not a model of Hedgerow"):
        from_bytes(b"\x10" + bytes(7) + b'{"t":{}}        '.replace(b'{"t":{}}', b"{}      "))
    with pytest.raises(ModelFileError, match="not valid JSON"):
        from_bytes(pack("[" * 100_000, {}))
