"""One wrong number in a file of any kind: the message names the place."""

import json

import numpy as np
import pytest

from hedgerow.container import unpack
from hedgerow.io import ModelFileError
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.kernels.cpu.votes import LEAF
from model_cases import changed, fitted

SHIFT = np.uint64(36)  # of the child in a word
BY_SET = 2


def put(place, value):
    def edit(array):
        array = array.copy()
        array[place] = value
        return array

    return edit


def first(kind, change):
    """Change the first word of a kind."""

    def edit(words):
        words = words.copy()
        place = np.flatnonzero((words & np.uint64(3)) == kind)[0]
        words[place] = change(words[place])
        return words

    return edit


def longer(array):
    return np.concatenate([array, array[-1:]])


def child(number):
    return lambda word: (word & ((np.uint64(1) << SHIFT) - np.uint64(1))) | (np.uint64(number) << SHIFT)


ARRAYS = [
    ("forest", "votes.starts", put(1, 0), "every tree needs a node"),
    ("forest", "votes.starts", lambda a: a[:1], "there must be a tree"),
    ("forest", "votes.value_starts", put(0, 1), "it must go from 0"),
    ("forest, shallow", "votes.values", put((0, 0), np.nan), "values must be finite"),
    ("forest, shallow", "votes.values", put((0, 0), 1.5), "shares of classes lie in 0..1"),
    ("forest", "votes.values", lambda a: a[:, :1], "2 numbers a leaf are needed"),
    ("forest", "votes.gains", put((0, 0), -1.0), "gains must be positive"),
    ("forest", "votes.gains", lambda a: a[:, 1:], r"the shape \(30, 4\) is needed"),
    ("forest", "votes.words", put(0, LEAF), "every node but the root needs one parent"),
    ("forest", "votes.words", first(0, child(0)), "children must come after their parent"),
    ("forest", "votes.words", first(0, child(2**20)), "children must lie in their tree"),
    ("forest", "votes.words", first(0, lambda w: w | np.uint64(15 << 18)), "there is no such column"),
    ("forest", "votes.words", first(0, lambda w: w | np.uint64(1 << 17)), "there is no such bin"),
    ("forest", "votes.words", first(LEAF, child(2**20)), "there is no such leaf"),
    ("forest", "votes.words", first(LEAF, lambda w: w | np.uint64(1 << 18)), "a leaf has no column"),
    ("forest", "votes.words", first(LEAF, lambda w: w | np.uint64(4)), "only numeric splits have"),
    ("forest", "votes.words", first(1, lambda w: w ^ np.uint64(3)), "sets are for categorical columns"),
    ("forest, categories", "votes.set_number", lambda a: a[:0], "every node needs an entry, since"),
    ("forest, categories", "votes.set_number", lambda a: a[1:], "every node needs an entry"),
    ("forest, categories", "votes.set_number", lambda a: np.maximum(a, 9999), "there is no such set"),
    ("forest, categories", "votes.set_number", lambda a: np.maximum(a, 0), "it is -1 without a set"),
    ("forest, categories", "votes.sets", lambda a: a[:, :2], "4 words are needed"),
    ("forest", "vote_weights", lambda _: np.full(30, 0.5), "the sum of weights must be 1"),
    ("forest", "vote_weights", lambda _: np.full(29, 1 / 29), "30 weights are needed, one a member"),
    ("forest of numbers", "vote_weights", lambda _: np.full(30, 1 / 30), "count the same"),
    ("forest", "bins.given", put(0, 2), "it must be 0 or 1"),
    ("forest", "bins.given", longer, "4 entries are needed"),
    ("forest", "draws.order", put(0, 150), "there is no such row"),
    ("forest", "draws.order", lambda a: put(0, a[1])(a), "a row has one place"),
    ("forest, weighed", "draws.ends", put(0, 0), "every row needs tickets"),
    ("forest, weighed", "draws.ends", lambda a: a[::-1].copy(), "every row needs tickets"),
    ("forest", "draws.copies", lambda _: np.ones(3, np.int64), "there must be one a row"),
    ("forest", "draws.copies", lambda _: np.full(150, -1), "numbers from 0 on"),
    ("forest", "oob.oob_votes_", put(0, 31), "no row has more answers than members"),
    ("forest", "oob.oob_decision_function_", put((0, 0), 7.0), "shares lie in 0..1"),
    ("forest", "oob.oob_decision_function_", lambda a: a[:, :1], r"the shape \(150, 2\) is needed"),
    ("forest", "oob_losses_.losses", put(0, -1), "a loss is 1 at the most"),
    ("forest", "oob_losses_.losses", longer, "losses of 30 voters are needed"),
    ("forest", "oob_losses_.products", put((0, 0), 2**60), "a loss is 1 at the most"),
    ("forest", "oob_losses_.products", put((0, 1), 0), "pairs have no order"),
    ("forest", "oob_losses_.counts", put((0, 0), 2**60), "numbers of rows"),
    ("forest", "oob_losses_.counts", put((0, 0), 1), "a loss is 1 at the most"),
    ("forest", "oob_losses_.differences", lambda a: a[:0, :0], r"the shape \(30, 30\)"),
    ("forest of numbers", "leaves.starts", put(1, 0), "every leaf needs a target"),
    ("forest of numbers", "leaves.starts", lambda a: a[1:], "entries are needed"),
    ("forest of numbers", "leaves.places", put(0, 2**31), "there is no such target"),
    ("forest of numbers", "leaves.places", lambda a: a[::-1].copy(), "places must rise within a leaf"),
    ("forest of numbers", "leaves.draws", put(0, 0), "a target in a leaf was drawn"),
    ("forest of numbers", "leaves.targets", lambda a: a[::-1].copy(), "targets must rise"),
    ("forest of numbers", "leaves.targets", put(0, -np.inf), "targets must be finite"),
    ("forest of numbers", "leaves.weights", lambda _: np.ones(2), "every target needs a weight"),
    ("forest of numbers", "oob._residuals", put(0, np.inf), "answers must be finite"),
    ("adaboost", "rows.weights", put(0, -1.0), "weights are numbers from 0 on"),
    ("adaboost", "rows.margins", put(0, 1.5), "margins lie in -1..1"),
    ("adaboost", "rows.margins", lambda a: a[1:], "there must be one a row"),
    ("adaboost", "seen.rounded", lambda a: a[1:], "150 fingerprints are needed"),
    ("adaboost on a grid", "grid.exact", lambda a: a[:0], "fingerprints are needed|there must be a row"),
    ("adaboost", "forest.starts", lambda a: a[:-1], "entries are needed|it must go from"),
    ("tree", "forest.value", put((0, 0), 2.0), "shares of classes lie in 0..1"),
    ("tree", "forest.value", longer, "values of 3 outputs are needed"),
    ("three", "hypothesis.rows", put(0, -1), "rows are numbers from 0 on"),
    ("three", "hypothesis.rows", lambda a: a[::-1].copy(), "rows must rise"),
    ("bag", "members.0.forest.left", put(0, -1), "children must come after"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "array", "edit", "message"), ARRAYS)
def test_arrays_are_checked(name, array, edit, message):
    data = to_bytes(fitted(name)[0])
    edited = edit(unpack(data).arrays[array])
    from_bytes(changed(data))  # fine as it is
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, arrays={array: edited}))


ENTRIES = [
    ("adaboost", ["rule"], "LogitRule", "rule 'LogitRule' is none of AdaBoostClassifier"),
    ("adaboost", ["most_rounds"], 0, "most_rounds is 0; it must lie in 1"),
    ("adaboost", ["learners"], [], "there must be one at least"),
    ("adaboost", ["learners", 0, "estimator"], "RandomForestClassifier", "parameters: criterion"),
    ("adaboost", ["learners", 0], None, "learners is None; a class and its parameters are needed"),
    ("adaboost", ["record", "weights", 0], {"float": "inf"}, "the numbers must be finite"),
    ("adaboost", ["record", "errors"], [0.5], "4 numbers are needed, found 1"),
    ("adaboost", ["record", "reaches", 0], -1.0, "reaches must not be negative"),
    ("adaboost", ["stop_reason"], None, "stop_reason is None"),
    ("adaboost", ["seen", "counts"], [1], "counts must be 2 numbers of rows"),
    ("adaboost", ["seen", "narrow"], 0, "narrow is 0; bool or null is needed"),
    ("adaboost", ["seen"], None, r"'seen\.\w+' does not belong"),
    ("adaboost", ["format"], 1, "format 1 has no AdaBoostClassifier"),
    ("adaboost gentle", ["record", "weights", 0], 0.0, "is not 0"),
    ("anyboost", ["cost"], "os.system", "cost 'os.system' is unknown"),
    ("adaboost.r2", ["record", "weights", 0], 0.0, "weights must be positive"),
    ("adaboost.r2", ["record", "weights", 0], 1e306, "weights must be smaller"),
    ("adaboost.r2", ["fitted_loss"], "huge", "fitted_loss 'huge' is unknown"),
    ("gradient", ["versions"], None, "versions is None; dict is needed"),
    ("gradient", ["versions"], {"hedgerow": 1}, "versions must name those of hedgerow"),
    ("gradient", ["versions", "skops"], "0.16", "versions must name those of hedgerow"),
    ("forest", ["draws", "n_draws"], 10**15, "n_draws is 10{15}; it must lie in 1..150"),
    ("forest", ["draws", "size"], 10**15, "it must lie in 1..2400"),
    ("forest", ["draws", "seed"], None, "a seed is needed"),
    ("forest", ["draws", "n_columns"], 5, "there are 4 columns"),
    ("forest", ["draws", "n_chosen"], 3, "a tree is given all columns"),
    ("forest", ["oob", "classes_"], 1, "'classes_' is no out-of-bag attribute"),
    ("forest", ["oob_score"], {"float": "nan"}, "oob_score is"),
    ("forest", ["doubts"], [1], "they must be sentences"),
    ("forest", ["oob_losses_", "doubts"], [1], "doubts must be sentences"),
    ("forest of numbers", ["n_outputs"], 2, "2 numbers a leaf are needed"),
    ("forest of numbers", ["keeps_targets"], False, r"'leaves\.\w+' does not belong"),
    ("bag", ["members"], [], "there must be one"),
    ("bag", ["members", 0], {"constant": 3}, "constant is 3; it must lie in 0..2"),
    ("bag", ["members", 0], 7, "members.0 is int; a JSON object is needed"),
    ("bag", ["members", 0, "estimator"], "Pipeline", "estimator 'Pipeline' is unknown"),
    ("bag", ["members", 0, "classes", "values", 0], "na", "it has other classes"),
    ("bag", ["members", 0, "schema", "names", 0], "z", "its columns have other names"),
    ("bag of numbers", ["members", 0, "classes"], {"dtype": "<i8", "values": [0, 1]}, "classes is"),
    ("three", ["hypothesis", "members"], [], "a vote has one member or three"),
    ("three", ["hypothesis", "members", 0], None, "hypothesis.0 is NoneType"),
    ("three", ["hypothesis", "errors"], [0.1], "3 numbers are needed"),
    ("three", ["hypothesis", "reason"], 4, "reason is 4"),
    ("tree", ["classes", "values"], ["no", "so"], "values of 2 outputs are needed"),
    ("tree of numbers", ["classes"], [], "classes is"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "place", "value", "message"), ENTRIES)
def test_entries_are_checked(name, place, value, message):
    data = to_bytes(fitted(name)[0])
    description = json.loads(unpack(data).text)
    inner = description
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(data, **description))


def test_trees_of_a_round_that_votes_are_alike():
    data = to_bytes(fitted("adaboost m1, three classes")[0])
    threshold = unpack(data).arrays["forest.threshold"]
    place = np.flatnonzero(threshold > 1)[0]
    with pytest.raises(ModelFileError, match="the trees of a round must be alike"):
        from_bytes(changed(data, arrays={"forest.threshold": put(place, 1)(threshold)}))


def test_votes_are_not_nested_without_end():
    data = to_bytes(fitted("three")[0])
    contents = unpack(data)
    description = json.loads(contents.text)
    inner, arrays = description["hypothesis"], dict(contents.arrays)
    names = [name for name in arrays if name.startswith("hypothesis.")]
    for depth in range(1, 12):
        inner = {"members": [inner], "errors": [0.0] * 3, "error": [0.0, 0.0], "reason": ""}
        prefix = "hypothesis." + "0." * depth
        arrays |= {prefix + name.removeprefix("hypothesis."): contents.arrays[name] for name in names}
    with pytest.raises(ModelFileError, match="votes are nested more than 10 deep"):
        from_bytes(changed(data, arrays=arrays, hypothesis=inner))
