"""Keys of rows and parts of tables: a table means the same in every library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.bagging.raw_table import RawTable
from hedgerow.estimators.bagging import BaggingClassifier
from hedgerow.estimators.decision_trees import DecisionTreeClassifier
from hedgerow.io.models import to_bytes

COLUMNS = {
    "number": [0.5, 1.0, None, -0.0, 7.25, 2.0] * 20,
    "integer": [3, 1, 4, 1, 5, 9] * 20,
    "missing integer": [3, None, 4, 1, 5, 9] * 20,
    "boolean": [True, False, False, True, True, False] * 20,
    "missing boolean": [True, None, False, True, None, False] * 20,
    "nothing": [None] * 120,
    "colour": ["red", "blue", "red", "green", "blue", "blue"] * 20,
    "missing colour": [None, "blue", "red", None, "blue", "green", "blue", "red"] * 15,
}
COLOURS = ("colour", "missing colour")


def arrow():
    columns = {name: pa.array(values) for name, values in COLUMNS.items()}
    return pa.table(columns | {name: columns[name].dictionary_encode() for name in COLOURS})


def arrow_in_chunks():
    """Dictionaries that differ from chunk to chunk."""
    whole = arrow()
    texts = whole.cast(
        pa.schema([(f.name, pa.string() if f.name in COLOURS else f.type) for f in whole.schema])
    )
    parts = [texts.slice(0, 1), texts.slice(1, 50), texts.slice(51)]
    columns = {
        name: pa.chunked_array(
            [
                p[name].combine_chunks().dictionary_encode() if name in COLOURS else p[name].combine_chunks()
                for p in parts
            ]
        )
        for name in COLUMNS
    }
    return pa.table(columns)


def pandas():
    """With the dtypes that pandas itself finds: objects for booleans with gaps, floats for integers."""
    frame = pd.DataFrame(COLUMNS)
    return frame.assign(**{name: pd.Categorical(COLUMNS[name]) for name in COLOURS})


def pandas_of_arrow():
    kinds = {"Int64": ["integer", "missing integer"], "boolean": ["boolean", "missing boolean"]}
    return pandas().astype({name: kind for kind, names in kinds.items() for name in names})


def polars():
    return pl.DataFrame(COLUMNS).with_columns(pl.col(*COLOURS).cast(pl.Categorical))


def objects():
    return np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=object)


KINDS = [arrow_in_chunks, pandas, pandas_of_arrow, polars, objects]
TARGET = np.array([0, 1, 0, 0, 1, 1] * 20)


def one_column(table, name):
    if isinstance(table, np.ndarray):
        return table[:, [list(COLUMNS).index(name)]]
    return table.select([name]) if hasattr(table, "select") else table[[name]]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("make", KINDS)
def test_a_column_has_the_same_keys_in_every_library(make, name):
    expected = RawTable.of(one_column(arrow(), name), "").row_keys()
    np.testing.assert_array_equal(RawTable.of(one_column(make(), name), "").row_keys(), expected)
    values = [repr(None if value is None else float(value) if not isinstance(value, str) else value)
              for value in COLUMNS[name]]  # fmt: skip
    assert len(set(expected.tolist())) == len({"0.0" if value == "-0.0" else value for value in values})


@pytest.mark.parametrize("make", KINDS[:-1])
def test_bagging_is_the_same_for_every_library(make):
    def data(table):
        return to_bytes(BaggingClassifier(n_estimators=3, random_state=0).fit(table, TARGET))

    assert data(make()) == data(arrow())


def test_keys_of_values_do_not_depend_on_their_neighbours():
    def key(*values):
        return RawTable.of(np.array([[value] for value in values], object), "").row_keys()[0]

    assert key(None) == key(None, "red") == key(None, 1.5) == key(np.nan)
    assert key(1) == key(1.0, "red") == key(True) == key(1, None)
    assert len({int(key(value)) for value in (1, "1", None, "None", 10**400, "nan")}) == 6


@pytest.mark.parametrize("make", [arrow, *KINDS[:-1]])
def test_the_array_of_a_frame_keeps_missing_values(make):
    matrix = RawTable.of(make(), "").as_matrix().X
    colours = [value if isinstance(value, str) else None for value in matrix[:, -1].tolist()]
    assert colours == COLUMNS["missing colour"]
    np.testing.assert_array_equal(RawTable.of(matrix, "").row_keys(), RawTable.of(arrow(), "").row_keys())


def test_features_drawn_twice_are_the_same_in_every_library():
    def probabilities(table):
        learner = DecisionTreeClassifier(categorical_features=[0, 1])
        model = BaggingClassifier(learner, n_estimators=4, bootstrap_features=True, random_state=0)
        return model.fit(table, TARGET).predict_proba(table)

    expected = probabilities(objects()[:, -2:])
    for make in [arrow, *KINDS[:-1]]:
        table = make()
        part = table.select(list(COLOURS)) if hasattr(table, "select") else table[list(COLOURS)]
        np.testing.assert_array_equal(probabilities(part), expected)


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_dates_have_the_keys_of_their_seconds(make):
    days = np.array(["2026-01-01", "2026-01-02", "NaT"], "datetime64[us]")
    seconds = np.array([[1767225600.0], [1767312000.0], [np.nan]])
    keys = RawTable.of(make({"day": days}), "").row_keys()
    np.testing.assert_array_equal(keys, RawTable.of(seconds, "").row_keys())
