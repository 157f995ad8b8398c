"""Constraints and bin edges as arrays for the grower, and values that do not match the columns of X."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bin_edges_cases import BOOSTED, GRID, NAN, WEAK, boosted, problem
from boosting_cases import classes, classifier, numbers, regressor
from forest_cases import KINDS, frame
from hedgerow import AdaBoostClassifier, DecisionStump, RandomForestClassifier
from hedgerow.estimators.parameters import (
    edges_by_column,
    interaction_groups,
    monotonic_directions,
    uses_positions,
)
from hedgerow.growing.deep import DeepGrower
from hedgerow.growing.weak_tree import WeakGrower
from hedgerow.table import Schema

# --- constraints

PLAIN = Schema(3, None, (None, None, None))
NAMED = Schema(3, ("a", "b", "c"), (None, np.array(["x", "y"], dtype=object), None))


@pytest.mark.parametrize("none", [None, [0, 0, 0], np.zeros(3), {}, {"a": 0}])
def test_zero_directions_are_no_constraint(none):
    assert monotonic_directions(none, NAMED if isinstance(none, dict) else PLAIN).shape == (0,)


@pytest.mark.parametrize(
    "constraints", [[1, 0, -1], (1.0, 0.0, -1.0), np.array([1, 0, -1], np.int8), {"c": -1, "a": 1}]
)
def test_directions(constraints):
    found = monotonic_directions(constraints, NAMED if isinstance(constraints, dict) else PLAIN)
    assert found.dtype == np.int8
    assert found.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("constraints", "schema", "message"),
    [
        ([1, 0], PLAIN, "monotonic_cst has 2 directions, but X has 3 columns; pass one direction per column"),
        ([1, 0, 0, 0], PLAIN, "monotonic_cst has 4 directions, but X has 3 columns"),
        ({"a": 1}, PLAIN, r"monotonic_cst names the columns \['a'\], but X has no column names"),
        (
            {"a": 1, "z": 1},
            NAMED,
            r"names the columns \['z'\], which X does not have; its columns are \['a', 'b'",
        ),
        ([0, 1, 0], NAMED, "monotonic_cst of column 'b' is 1, but the column is categorical .* it must be 0"),
    ],
)
def test_fit_rejects_directions_that_do_not_match_the_columns(constraints, schema, message):
    with pytest.raises(ValueError, match=message):
        monotonic_directions(constraints, schema)


def groups_of(bits):
    """Sets of columns from the bit sets."""
    return [
        {column for column in range(len(bits)) if int(bits[column, number // 64]) >> (number % 64) & 1}
        for number in range(64 * bits.shape[1])
    ]


@pytest.mark.parametrize(
    ("constraints", "n_columns", "expected"),
    [
        ([{0, 1}, {1, 2}], 3, [{0, 1}, {1, 2}]),
        ([{0}], 3, [{0}, {1, 2}]),  # the rest is one more group
        ([], 2, [{0, 1}]),
        ("no_interactions", 3, [{0}, {1}, {2}]),
        ("pairwise", 3, [{0, 1}, {0, 2}, {1, 2}]),
        ("pairwise", 1, [{0}]),
        ("no_interactions", 130, [{column} for column in range(130)]),
    ],
)
def test_groups(constraints, n_columns, expected):
    bits = interaction_groups(constraints, n_columns)
    assert bits.shape == (n_columns, -(-len(expected) // 64))
    assert [group for group in groups_of(bits) if group] == expected


def test_no_groups_is_no_constraint():
    assert interaction_groups(None, 5).shape == (0, 0)


def test_fit_rejects_groups_of_columns_outside_of_x():
    with pytest.raises(
        ValueError, match=r"interaction_cst names the columns \[4, 9\], but X has 4 columns.*0..3"
    ):
        regressor(interaction_cst=[{0, 4}, {9}]).fit(*numbers())


def test_fit_rejects_directions_with_several_classes():
    X, y = classes(n_classes=3)
    with pytest.raises(ValueError, match=r"monotonic_cst=\[1, 0, 0, 0\] is not allowed with 3 classes"):
        classifier(monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    assert classifier(monotonic_cst=[0, 0, 0, 0], n_estimators=1).fit(X, y).n_estimators_ == 1


def test_fit_rejects_directions_of_categorical_columns():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="monotonic_cst of column 'b' is 1, but the column is categorical"):
        regressor(monotonic_cst={"b": 1}, categorical_features=["b"]).fit(frame, y)


# --- forms of bin_edges


FORMS = [
    (GRID, [GRID] * 3),
    (tuple(GRID), [GRID] * 3),
    (np.array(GRID, np.float32), [GRID] * 3),
    (pd.Series(GRID, index=list("abcd")), [GRID] * 3),
    (pl.Series(GRID), [GRID] * 3),
    (range(3), [[0.0, 1.0, 2.0]] * 3),
    ([2, 10**30], [[2.0, 1e30]] * 3),
    ([], [[]] * 3),
    ([[], None, [1]], [[], None, [1.0]]),
    ((np.array([1, 2]), pd.Series([0.5]), pl.Series([0.5])), [[1.0, 2.0], [0.5], [0.5]]),
    (np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    ([None, None, None], [None] * 3),
    ({}, [None] * 3),
    ({"c": [1.0], "a": []}, [[], None, [1.0]]),
    ({0: [1.0], np.int64(2): None}, [[1.0], None, None]),
    ({"a": [1.0], 2: [2.0]}, [[1.0], None, [2.0]]),
]


@pytest.mark.parametrize(("bin_edges", "expected"), FORMS)
def test_edges_of_every_form(bin_edges, expected):
    schema = Schema(3, ("a", "b", "c"), (None, None, None))
    read = edges_by_column(bin_edges, schema, 255)
    assert [None if one is None else one.tolist() for one in read] == expected
    assert all(one is None or one.dtype == np.float64 for one in read)
    values = np.random.default_rng(0).normal(size=(20, 3))
    model = DecisionStump(bin_edges=bin_edges)
    model.fit(pd.DataFrame(values, columns=list("abc")), np.arange(20) % 2)
    assert model.model_.bins.user_defined.tolist() == [one is not None for one in expected]


def test_one_array_is_for_numeric_columns_only():
    X, score = frame()
    model = RandomForestClassifier(3, random_state=0, bin_edges=GRID).fit(X, score > 0)
    assert model.model_.bins.user_defined.tolist() == [1, 1, 1, 0]
    assert np.diff(model.model_.bins.edge_starts).tolist() == [4, 4, 4, 0]
    assert model.model_.bins.n_bins.tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_of_data_frames_are_named(library):
    X, y = problem()
    table = library(dict(zip(["one", "two", "three", "four"], X.T, strict=True)))
    by_name = {"three": [0.0], "one": GRID}
    for model in (
        DecisionStump(bin_edges=by_name),
        RandomForestClassifier(3, random_state=0, bin_edges=by_name),
        AdaBoostClassifier(DecisionStump(bin_edges=by_name), n_estimators=3),
    ):
        bins = model.fit(table, y).model_.bins
        assert bins.user_defined.tolist() == [1, 0, 1, 0]
        assert (bins.edges_of(0).tolist(), bins.edges_of(2).tolist()) == (GRID, [0.0])


def test_edges_are_by_position_unless_named_or_the_same_for_all():
    assert not uses_positions(np.array(GRID))
    assert not uses_positions({"a": GRID, "b": None})
    assert uses_positions([GRID, GRID])
    assert uses_positions({"a": GRID, 1: None})


# --- invalid bin edges


SHAPES = [
    3.0,
    "quantiles",
    {0.5, 1.5},
    np.zeros((1, 1, 1)),
    np.array(1.0),
    pd.DataFrame({"a": [1.0]}),
    {1.5: [0.0]},
    {-1: [0.0]},
    {None: [0.0]},
    {True: [0.0]},
]


@pytest.mark.parametrize("value", SHAPES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kind", [*WEAK, *KINDS])
def test_fit_rejects_other_forms_before_it_reads_x(kind, value):
    text = (
        f"bin_edges={value!r} is not allowed: it must be a sequence of numbers, a sequence of such sequences "
        "or None, one per column, or a dict of them by column name or position or None"
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        kind(bin_edges=value).fit(None, None)


WRONG = [
    ([0.0, NAN], "bin_edges holds nan at position 1; edges must be finite numbers"),
    (np.array([0.0, np.inf]), "bin_edges holds inf at position 1; edges must be finite numbers"),
    ([1, "2"], "bin_edges holds '2' at position 1; edges must be finite numbers"),
    ([False, 1.0], "bin_edges holds False at position 0; edges must be finite numbers"),
    ([1.0, 10**400], f"bin_edges holds {10**400} at position 1; edges must be finite numbers"),
    ([0.0, 2.0, 1.0], "bin_edges holds 1.0 after 2.0; edges must be strictly rising"),
    ([0.0, 0.0], "bin_edges holds 0.0 after 0.0; edges must be strictly rising"),
    ([2**53, 2**53 + 1], "edges must be strictly rising"),
    (list(range(255)), "bin_edges has 255 edges, but max_bins=255 allows at most 254"),
    ([[0.0], [1.0]], "bin_edges has 2 entries, but X has 4 columns; pass one entry per column, None for"),
    ([[0.0], 1.0, None, None], "bin_edges of column 'b' is 1.0; it must be a sequence of numbers or None"),
    ([[[0.0]], None, None, None], "bin_edges of column 'a' is [[0.0]]; it must be a sequence of numbers"),
    ([None, "ab", None, None], "bin_edges of column 'b' is 'ab'; it must be a sequence of numbers or None"),
    ({"b": [NAN]}, "bin_edges of column 'b' holds nan at position 0; edges must be finite numbers"),
    ({2: [2.0, 1.0]}, "bin_edges of column 'c' holds 1.0 after 2.0; edges must be strictly rising"),
    ({"c": range(300)}, "bin_edges of column 'c' has 300 edges, but max_bins=255 allows at most 254"),
    ({"e": [1.0]}, "bin_edges names the column 'e', which X does not have; its columns are ['a', 'b', 'c'"),
    ({4: [1.0]}, "bin_edges names column 4, but X has 4 columns; positions must lie in 0..3"),
    ({"a": [1.0], 0: [2.0]}, "bin_edges names a column twice, as 'a' and as 0"),
    ({"colour": [1.0]}, "bin_edges of column 'colour' is [1.0], but the column is categorical and has no"),
    ([None, None, None, []], "bin_edges of column 'colour' is [], but the column is categorical and has no"),
]


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_fit_rejects_edges_before_a_tree_is_grown(monkeypatch, value, message):
    def grown(*_):
        raise AssertionError("a tree was grown before the error")

    for grower in (DeepGrower, WeakGrower):
        monkeypatch.setattr(grower, "__init__", grown)
    X, score = frame(60)
    X.columns = ["a", "b", "c", "colour"]
    for model in (
        *(kind(bin_edges=value) for kind in [*WEAK, *KINDS]),
        *(boosted(model, bin_edges=value) for model in BOOSTED),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            model.fit(X, (score > 0).astype(int))


def test_messages_name_columns_without_names_by_position():
    X, y = problem()
    with pytest.raises(ValueError, match=r"bin_edges of column 1 holds nan at position 0"):
        DecisionStump(bin_edges=[None, [NAN], None, None]).fit(X, y)
    with pytest.raises(ValueError, match=r"names the columns \['a'\], but X has no column names; pass their"):
        DecisionStump(bin_edges={"a": [0.0]}).fit(X, y)


def test_the_number_of_edges_is_that_of_the_bins_less_one():
    X, y = problem()
    assert DecisionStump(max_bins=5, bin_edges=GRID).fit(X, y).model_.bins.n_bins.tolist() == [5] * 4
    with pytest.raises(ValueError, match="has 4 edges, but max_bins=4 allows at most 3"):
        DecisionStump(max_bins=4, bin_edges=GRID).fit(X, y)
