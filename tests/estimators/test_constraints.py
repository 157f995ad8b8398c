"""Constraints as the grower reads them, and what they refuse once the columns are known."""

import numpy as np
import pandas as pd
import pytest

from boosting_cases import classes, classifier, numbers, regressor
from hedgerow.estimators.column_parameters import interaction_groups, monotonic_directions
from hedgerow.table import Schema

PLAIN = Schema(3, None, (None, None, None))
NAMED = Schema(3, ("a", "b", "c"), (None, np.array(["x", "y"], dtype=object), None))


@pytest.mark.parametrize("none", [None, [0, 0, 0], np.zeros(3), {}, {"a": 0}])
def test_no_direction_is_no_constraint(none):
    assert monotonic_directions(none, NAMED if isinstance(none, dict) else PLAIN).shape == (0,)


@pytest.mark.parametrize(
    "given", [[1, 0, -1], (1.0, 0.0, -1.0), np.array([1, 0, -1], np.int8), {"c": -1, "a": 1}]
)
def test_directions(given):
    found = monotonic_directions(given, NAMED if isinstance(given, dict) else PLAIN)
    assert found.dtype == np.int8
    assert found.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("given", "schema", "message"),
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
def test_directions_that_do_not_fit_the_columns(given, schema, message):
    with pytest.raises(ValueError, match=message):
        monotonic_directions(given, schema)


def groups_of(bits):
    """Sets of columns from the bit sets."""
    return [
        {column for column in range(len(bits)) if int(bits[column, number // 64]) >> (number % 64) & 1}
        for number in range(64 * bits.shape[1])
    ]


@pytest.mark.parametrize(
    ("given", "n_columns", "wanted"),
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
def test_groups(given, n_columns, wanted):
    bits = interaction_groups(given, n_columns)
    assert bits.shape == (n_columns, -(-len(wanted) // 64))
    assert [group for group in groups_of(bits) if group] == wanted


def test_no_groups_is_no_constraint():
    assert interaction_groups(None, 5).shape == (0, 0)


def test_columns_outside_of_x_are_refused():
    with pytest.raises(
        ValueError, match=r"interaction_cst names the columns \[4, 9\], but X has 4 columns.*0..3"
    ):
        regressor(interaction_cst=[{0, 4}, {9}]).fit(*numbers())


def test_several_classes_have_no_direction():
    X, y = classes(n_classes=3)
    with pytest.raises(ValueError, match=r"monotonic_cst=\[1, 0, 0, 0\] is not allowed with 3 classes"):
        classifier(monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    assert classifier(monotonic_cst=[0, 0, 0, 0], n_estimators=1).fit(X, y).n_estimators_ == 1


def test_a_categorical_column_of_a_frame_has_no_direction():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="monotonic_cst of column 'b' is 1, but the column is categorical"):
        regressor(monotonic_cst={"b": 1}, categorical_features=["b"]).fit(frame, y)
