"""Recipes: the features of each column, and that later files become the same features."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hedgerow import GradientBoostingClassifier
from hedgerow.datafiles import DataFileError, PlannedColumn, Recipe, make_recipe, read_data, write_data

N = 120
RNG = np.random.default_rng(7)
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in RNG.integers(0, 400, N)]
TABLE = pa.table(
    {
        "age": RNG.integers(18, 90, N).astype(float),
        "smoker": RNG.integers(0, 2, N).astype(bool),
        "hue": np.array(["red", "green", "7"])[RNG.integers(0, 3, N)],
        "born": DAYS,
        "unit": ["kg"] * N,
        "nothing": pa.nulls(N),
        "grade": np.array(["low", "high"])[RNG.integers(0, 2, N)],
    }
)
RECIPE = make_recipe(TABLE, "grade")


def test_make_recipe_plans_every_column():
    assert [(column.name, column.kind) for column in RECIPE.columns] == [
        ("age", "number"),
        ("smoker", "boolean"),
        ("hue", "category"),
        ("born", "date"),
    ]
    assert RECIPE.columns[3].parts == ("year", "month", "day", "weekday", "days")
    assert RECIPE.dropped == (("unit", "it is 'kg' in every row"), ("nothing", "it is empty"))
    printed = " ".join(RECIPE.notes)
    for text in ("The task is classification", "'born' holds dates"):
        assert text in printed


def test_features_have_the_values_of_the_table():
    features = RECIPE.features(TABLE)
    assert tuple(features.column_names) == RECIPE.feature_names
    assert features["age"].to_pylist() == TABLE["age"].to_pylist()
    assert features["hue"].to_pylist() == TABLE["hue"].to_pylist()
    for part in ("year", "month", "day"):
        assert features[f"born.{part}"].to_pylist() == [getattr(day, part) for day in DAYS]
    assert features["born.weekday"].to_pylist() == [day.weekday() for day in DAYS]
    assert features["born.days"].to_pylist() == [(day - dt.date(1970, 1, 1)).days for day in DAYS]


def test_hours_are_a_feature_if_any_date_has_a_time():
    moments = [dt.datetime(1969, 12, 31, 18), dt.datetime(2024, 5, 17)] * 2  # noqa: DTZ001
    table = pa.table({"t": moments, "y": ["a", "b", "b", "a"]})
    recipe = make_recipe(table, "y")
    assert recipe.columns[0].parts == ("year", "month", "day", "weekday", "hour", "days")
    features = recipe.features(table)
    assert features["t.hour"].to_pylist() == [18, 0, 18, 0]
    assert features["t.days"][0].as_py() == -0.25
    dates = pa.table({"t": [dt.date(2024, 5, 17)]})
    assert recipe.features(dates)["t.hour"].to_pylist() == [0]


def test_time_zones_are_converted_to_utc():
    noon = pa.array([dt.datetime(2024, 7, 1, 12)] * 4, pa.timestamp("ns", "UTC"))  # noqa: DTZ001
    paris = noon.cast(pa.timestamp("ns", "Europe/Paris"))
    recipe = Recipe("y", "classification", (PlannedColumn("t", "date", ("hour",)),))
    assert recipe.features(pa.table({"t": paris}))["t.hour"].to_pylist() == [12] * 4
    assert recipe.features(pa.table({"t": ["2024-07-01 14:00+02:00"]}))["t.hour"].to_pylist() == [12]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_files_of_any_format_become_the_same_features(tmp_path, suffix):
    write_data(TABLE, tmp_path / f"x{suffix}")
    again = read_data(tmp_path / f"x{suffix}")
    assert RECIPE.features(again).equals(RECIPE.features(TABLE))
    assert RECIPE.labels(again).tolist() == RECIPE.labels(TABLE).tolist()
    assert make_recipe(again, "grade") == RECIPE


def later_forms():
    age = TABLE["age"].cast(pa.int32())
    return {
        "other order and more columns": TABLE.select(TABLE.column_names[::-1]).append_column("more", age),
        "integers": TABLE.set_column(0, "age", age),
        "texts": TABLE.set_column(0, "age", age.cast(pa.string())),
        "decimals": TABLE.set_column(0, "age", age.cast(pa.decimal128(12, 2))),
        "booleans as 0 and 1": TABLE.set_column(1, "smoker", TABLE["smoker"].cast(pa.int64())),
        "booleans as 0.0 and 1.0": TABLE.set_column(
            1, "smoker", TABLE["smoker"].cast(pa.int8()).cast(pa.float64())
        ),
        "booleans as texts": TABLE.set_column(1, "smoker", TABLE["smoker"].cast(pa.string())),
        "dictionary": TABLE.set_column(2, "hue", TABLE["hue"].dictionary_encode()),
        "dates as texts": TABLE.set_column(3, "born", TABLE["born"].cast(pa.string())),
        "dates as seconds": TABLE.set_column(3, "born", TABLE["born"].cast(pa.timestamp("s"))),
        "dates as nanoseconds": TABLE.set_column(3, "born", TABLE["born"].cast(pa.timestamp("ns"))),
        "without the target": TABLE.drop_columns(["grade", "unit", "nothing"]),
    }


@pytest.mark.parametrize("form", later_forms())
def test_types_and_order_of_a_later_table_do_not_matter(form):
    assert RECIPE.features(later_forms()[form]).equals(RECIPE.features(TABLE))


def test_categories_that_look_like_numbers_keep_their_spelling(tmp_path):
    sevens = TABLE.filter(pa.compute.equal(TABLE["hue"], "7"))
    write_data(sevens, tmp_path / "x.csv")
    again = read_data(tmp_path / "x.csv")
    assert again["hue"].type == pa.int64()
    assert set(RECIPE.features(again)["hue"].to_pylist()) == {"7"}


def test_new_categories_and_empty_columns_are_allowed():
    table = pa.table({"age": pa.nulls(2), "smoker": pa.nulls(2), "hue": ["new", None], "born": pa.nulls(2)})
    features = RECIPE.features(table)
    assert features.schema.equals(RECIPE.features(TABLE).schema)
    assert features["hue"].to_pylist() == ["new", None]
    assert features["born.year"].null_count == features["smoker"].null_count == 2


def test_an_estimator_accepts_features_and_labels():
    model = GradientBoostingClassifier(n_estimators=3).fit(RECIPE.features(TABLE), RECIPE.labels(TABLE))
    assert set(model.predict(RECIPE.features(TABLE))) <= {"low", "high"}
    late = pa.table({"age": pa.nulls(1), "smoker": pa.nulls(1), "hue": ["new"], "born": pa.nulls(1)})
    assert model.predict(RECIPE.features(late)).shape == (1,)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("age", ["1", "abc", "2"], "column 'age' must hold numbers, as in training, but row 2 holds 'abc'"),
        ("age", [DAYS[0]] * 3, "column 'age' must hold numbers.*row 1 holds"),
        ("smoker", [0, 1, 2], "column 'smoker' must hold true or false.*row 3 holds 2"),
        ("smoker", ["true", "maybe", "false"], "row 2 holds 'maybe'"),
        ("born", [1, 2, 3], "column 'born' must hold dates.*row 1 holds 1"),
        ("born", ["2024-01-01", "soon", "later"], "row 2 holds 'soon'"),
        ("hue", [[1], [2], [3]], r"column 'hue' has the type list<.*>; it cannot be categories"),
    ],
)
def test_features_rejects_values_of_another_kind(name, values, message):
    table = TABLE[:3]
    with pytest.raises(DataFileError, match=message) as caught:
        RECIPE.features(table.set_column(table.column_names.index(name), name, pa.array(values)))
    assert str(caught.value).isprintable()


def test_features_rejects_missing_and_repeated_columns():
    with pytest.raises(DataFileError, match=r"there is no column 'age'; did you mean 'Age'\?$"):
        RECIPE.features(TABLE.rename_columns(["Age", *TABLE.column_names[1:]]))
    with pytest.raises(
        DataFileError, match=r"no column 'age'.*\(2 other columns of the model are missing too\)"
    ):
        RECIPE.features(TABLE.select(["hue"]))
    with pytest.raises(DataFileError, match="the column 'age' occurs 2 times"):
        RECIPE.features(TABLE.append_column("age", TABLE["age"]))
    with pytest.raises(DataFileError, match="there is no column 'grade'"):
        RECIPE.labels(TABLE.drop_columns(["grade"]))


def test_a_recipe_can_be_stored_as_json():
    assert Recipe.from_dict(json.loads(json.dumps(RECIPE.to_dict()))) == RECIPE


def changed(**changes):
    return RECIPE.to_dict() | changes


def one_column(**changes):
    column = {"name": "a", "kind": "number", "parts": [], "formats": [], "decimal": "", "kept": []}
    return changed(columns=[column | changes])


INVALID = {
    "no dictionary": [1],
    "a key too many": changed(more=1),
    "a key too few": {"target": "y"},
    "target no text": changed(target=1),
    "target no Unicode": changed(target="\ud800"),
    "unknown task": changed(task="clustering"),
    "task no text": changed(task=["classification"]),
    "unknown labels": changed(labels_are="colours"),
    "labels that do not fit": changed(labels_are="number"),
    "columns no list": changed(columns={}),
    "no columns": changed(columns=[]),
    "column no dictionary": changed(columns=["age"]),
    "unknown kind": one_column(kind="text"),
    "kind no text": one_column(kind=None),
    "name no text": one_column(name=None),
    "parts of a number": one_column(parts=["year"]),
    "date without parts": one_column(kind="date"),
    "unknown part": one_column(kind="date", parts=["era"]),
    "parts out of order": one_column(kind="date", parts=["days", "year"]),
    "part twice": one_column(kind="date", parts=["year", "year"]),
    "column is the target": one_column(name="grade"),
    "column is dropped": one_column(name="unit"),
    "feature twice": changed(
        columns=[
            *one_column(name="d", kind="date", parts=["year"])["columns"],
            *one_column(name="d.year")["columns"],
        ]
    ),
    "unknown decimal sign": one_column(decimal=";"),
    "unknown format": one_column(kind="date", parts=["year"], formats=["%Q"]),
    "a format that is no text": one_column(kind="date", parts=["year"], formats=[1]),
    "unknown encoding": changed(encoding="klingon"),
    "dropped no pairs": changed(dropped=[["a"]]),
    "reason no text": changed(dropped=[["a", 1]]),
    "notes no texts": changed(notes=[1]),
    "control characters in notes": changed(notes=["\x1b[2J"]),
    "reason of two lines": changed(dropped=[["a", "x\ny"]]),
}


@pytest.mark.parametrize("what", INVALID)
def test_from_dict_rejects_invalid_recipes_in_one_line(what):
    with pytest.raises(ValueError, match="recipe") as caught:
        Recipe.from_dict(INVALID[what])
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.float64(), pa.string()])
def test_dates_of_digits_may_be_numbers_later(kind):
    days = [20240501 + number for number in range(20)]
    table = pa.table({"day": [str(day) for day in days], "y": ["no", "yes"] * 10})
    recipe = make_recipe(table, "y")
    later = recipe.features(pa.table({"day": pa.array([20240517, None], pa.int64()).cast(kind)}))
    assert later["day.day"].to_pylist() == [17.0, None]
    with pytest.raises(DataFileError, match="column 'day' must hold dates, as in training, but row 1 holds"):
        recipe.features(pa.table({"day": pa.array([20240532], pa.int64()).cast(kind)}))


def test_times_of_day_become_minutes():
    texts = [f"{number}:05" for number in range(20)]
    recipe = make_recipe(pa.table({"start": texts, "y": ["no", "yes"] * 10}), "y")
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    for values in (["14:05", None], ["14:05:00", "n/a"], pa.array([dt.time(14, 5), None], pa.time32("s"))):
        assert recipe.features(pa.table({"start": values}))["start"].to_pylist() == [845.0, None]
    frame = pd.DataFrame({"start": [dt.time(0, 0, 30), None]})
    assert recipe.apply_frame(frame)["start"].to_pylist() == [0.5, None]
    with pytest.raises(
        DataFileError, match=r"column 'start' must hold times of day, .* but row 2 holds 'soon'"
    ):
        recipe.features(pa.table({"start": ["14:05", "soon"]}))
    with pytest.raises(DataFileError, match=r"column 'start' must hold times of day, .* but row 1 holds 5"):
        recipe.features(pa.table({"start": [5]}))
    numbers = make_recipe(pa.table({"start": range(20), "y": ["no", "yes"] * 10}), "y")
    with pytest.raises(DataFileError, match=r"column 'start' must hold numbers, .* but row 1 holds 14:05"):
        numbers.features(pa.table({"start": ["14:05"]}))
