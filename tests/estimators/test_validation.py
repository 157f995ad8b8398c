"""Validation: seeds, targets, weights, evaluation sets, callbacks; validation rows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hedgerow.boosting.folds import validation_rows
from hedgerow.estimators.targets import apply_class_weight, validate_weights
from hedgerow.estimators.validation import (
    ClassTarget,
    NumberTarget,
    _evaluation_tuples,
    _validate_callbacks,
    make_seed,
    validate_target,
)


def test_seeds():
    assert make_seed(5) == make_seed(np.int32(5)) == 5
    assert 0 <= make_seed(2**70 + 1) < 2**63
    assert make_seed(np.random.RandomState(0)) == make_seed(np.random.RandomState(0))
    assert make_seed(None) >= 0


def test_numbers():
    read = NumberTarget().encode
    assert read(np.array([1, 2], np.int8)).dtype == np.float64
    assert read(np.array([True, False])).tolist() == [1.0, 0.0]
    assert read(np.array([1, 2.5], dtype=object)).tolist() == [1.0, 2.5]
    with pytest.raises(ValueError, match="Input y contains NaN or infinity: row 1 is nan"):
        read(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="y must be numeric for regression"):
        read(np.array(["a"], dtype=object))
    with pytest.raises(ValueError, match="y has dtype datetime64"):
        read(np.array(["2020-01-01"], "datetime64[D]"))


def test_encoded_targets_are_a_copy():
    y = np.array([1.0, 2.0])
    numbers = NumberTarget().encode(y)
    numbers[0] = 9.0
    assert y[0] == 1.0


def test_labels():
    labels = ClassTarget.of(np.array(["b", "a", "b"]))
    assert labels.classes.tolist() == ["a", "b"]
    assert labels.encode(np.array(["b", "a"])).tolist() == [1.0, 0.0]
    for wrong in (np.array(["c"]), np.array(["A"]), np.array([""]), np.array([1])):
        with pytest.raises(
            ValueError, match=r"y holds the label .*, which is not among the training classes \['a'"
        ):
            labels.encode(wrong)
    assert ClassTarget.of(np.array([True, False])).encode(np.array([False, True])).tolist() == [0.0, 1.0]
    assert ClassTarget.of(np.array([3, 1, 2])).n_classes == 3


def test_labels_that_cannot_be_sorted():
    with pytest.raises(TypeError, match="the labels in y cannot be sorted: they are of type int, str;"):
        ClassTarget.of(np.array(["a", 1], dtype=object))


def test_targets_have_the_rows_of_x():
    assert validate_target([1, 2], 2, "Model").tolist() == [1, 2]
    with pytest.raises(ValueError, match="y has 2 rows, but X has 3; they must be equal"):
        validate_target([1, 2], 3, "Model")
    with pytest.raises(ValueError, match="Model requires y to be passed, but the target y is None"):
        validate_target(None, 3, "Model")


def test_weights():
    assert validate_weights(None, 3) is None
    assert validate_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert validate_weights([1, 0, 2], 3).tolist() == [1.0, 0.0, 2.0]
    strided = np.arange(6.0)[::2]
    strided.flags.writeable = False
    read = validate_weights(strided, 3)
    assert read.flags.carray  # writable and without gaps: no kernel is compiled for another kind of array
    assert read.tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is -1.0"):
        validate_weights([1, -1, 2], 3)


def test_class_weights():
    y, classes = np.array([0.0, 0.0, 0.0, 1.0]), np.array(["a", "b"])
    assert apply_class_weight(None, y, classes, None) is None
    assert apply_class_weight({"b": 3}, y, classes, None).tolist() == [1.0, 1.0, 1.0, 3.0]
    np.testing.assert_allclose(apply_class_weight("balanced", y, classes, None), [2 / 3, 2 / 3, 2 / 3, 2])
    weighed = apply_class_weight("balanced", y, classes, np.array([1.0, 1.0, 0.0, 4.0]))
    np.testing.assert_allclose(weighed, [1.5, 1.5, 0.0, 3.0])
    only = apply_class_weight("balanced", y, classes, np.array([1.0, 1.0, 1.0, 0.0]))
    np.testing.assert_allclose(only, [0.5, 0.5, 0.5, 0.0])  # a class without weight gets none


def test_evaluation_sets():
    assert _evaluation_tuples(None) == []
    assert _evaluation_tuples(("X", "y")) == [("X", "y", None)]
    assert _evaluation_tuples([("X", "y"), ("X", "y", "w")]) == [("X", "y", None), ("X", "y", "w")]
    assert _evaluation_tuples([]) == []


def test_callbacks():
    assert _validate_callbacks(None) == []
    assert _validate_callbacks((print,)) == [print]


# --- held-out rows


@pytest.mark.parametrize(
    ("n_rows", "fraction", "n_held"), [(100, 0.1, 10), (15, 0.1, 2), (2, 0.01, 1), (5, 0.99, 4)]
)
def test_the_share_of_held_out_rows(n_rows, fraction, n_held):
    held = validation_rows(None, None, n_rows, fraction, 0)
    assert len(held) == n_held
    assert held.dtype == np.uint32
    assert np.all(np.diff(held.astype(int)) > 0)


def test_held_out_rows_follow_the_seed():
    one, same, other = (validation_rows(None, None, 1000, 0.1, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert len(np.intersect1d(one, other)) < 30


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.5, 0.9])
def test_every_group_has_its_share_of_validation_rows(fraction):
    groups = np.repeat([0.0, 1.0, 2.0, 3.0], [1, 9, 90, 900])
    order = np.random.default_rng(0).permutation(1000)
    held = validation_rows(groups[order], None, 1000, fraction, 0)
    taken = np.bincount(groups[order][held].astype(int), minlength=4)
    assert abs(taken.sum() - 1000 * fraction) <= 1
    assert np.all(np.abs(taken - fraction * np.array([1, 9, 90, 900])) <= 1)
    assert taken[0] == 0  # the only row of a group stays for training


def test_rows_of_weight_zero_are_not_held_out():
    weight = np.tile([0.0, 1.0, 2.0], 50)
    groups = np.tile([0.0, 0.0, 1.0, 1.0, 1.0], 30)
    kept = np.flatnonzero(weight > 0)
    held = validation_rows(groups, weight, 150, 0.2, 0)
    assert np.array_equal(held, kept[validation_rows(groups[kept], None, 100, 0.2, 0)])


@pytest.mark.parametrize("groups", [None, np.arange(4.0)])
def test_nothing_to_hold_out(groups):
    n_rows = 1 if groups is None else 4
    with pytest.raises(
        ValueError, match=f"validation_fraction=0.5 of n_samples={n_rows} rows leaves nothing"
    ):
        validation_rows(groups, None, n_rows, 0.5, 0)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_label_is_named(missing):
    with pytest.raises(ValueError, match="y has a missing label: row 2 is"):
        ClassTarget.of(np.array(["a", "b", missing], dtype=object))


@pytest.mark.parametrize("chunked", [False, True])
def test_a_missing_label_of_an_arrow_dictionary_is_refused(chunked):
    labels = pa.array(["a", None, "b", "a"]).dictionary_encode()
    with pytest.raises(ValueError, match="missing label: row 1"):
        ClassTarget.of(validate_target(pa.chunked_array([labels]) if chunked else labels, 4, "test"))
    whole = labels.fill_null("b") if not chunked else pa.chunked_array([labels.drop_null()])
    read = validate_target(whole, len(whole), "test")
    assert set(read.tolist()) == {"a", "b"}
