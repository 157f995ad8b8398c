"""make_recipe: the task of a target, columns that are rejected, and notes for the user."""

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.datafiles import DataFileError, ReadOptions, TypedTable, UndecidedError, make_recipe, read_typed

N = 60
DAY = dt.date(2024, 5, 17)
NAMES = [f"Person {number}" for number in range(N)]


def table(**columns):
    return pa.table({"x": [number % 7 for number in range(N)]} | columns)


@pytest.mark.parametrize(
    ("target", "task", "labels", "values"),
    [
        (["no", "yes"] * 30, "classification", "text", {"no", "yes"}),
        (pa.array(["no", "yes"] * 30).dictionary_encode(), "classification", "text", {"no", "yes"}),
        (["0", "1"] * 30, "classification", "text", {"0", "1"}),
        ([True, False] * 30, "classification", "boolean", {True, False}),
        ([3, 8] * 30, "classification", "integer", {3, 8}),
        ([3.0, 8.0] * 30, "classification", "integer", {3, 8}),
        ([1, 2, 3, 4, 5] * 12, "classification", "integer", {1, 2, 3, 4, 5}),
        ([1, 2, 3, 4, 5, 6] * 10, "regression", "number", {1, 2, 3, 4, 5, 6}),  # a tenth of the rows
        ([0.5, 1.5] * 30, "regression", "number", {0.5, 1.5}),
        (list(range(N)), "regression", "number", set(range(N))),
        (pa.array([1, 2, 3] * 20, pa.uint8()), "classification", "integer", {1, 2, 3}),
        (pa.array(list(range(N)), pa.decimal128(9, 2)), "regression", "number", set(range(N))),
    ],
)
def test_the_task_is_inferred_and_labels_keep_their_type(target, task, labels, values):
    data = table(y=target)
    recipe = make_recipe(data, "y")
    y = recipe.labels(data)
    assert (recipe.task, recipe.labels_are) == (task, labels)
    assert set(y.tolist()) == values
    assert y.dtype == {"text": object, "boolean": bool, "integer": np.int64, "number": np.float64}[labels]
    assert recipe.notes[0].startswith(f"The task is {task}: ")


def test_names_may_be_copied_with_the_spaces_around_them():
    recipe = make_recipe(table(y=["no", "yes"] * 30, z=NAMES), " y ", drop=["z "])
    assert (recipe.target, recipe.feature_names) == ("y", ("x",))
    spaced = pa.table({"y ": ["no", "yes"] * 30, "x": list(range(N))})
    assert make_recipe(spaced, "y ").target == "y "


def test_the_task_can_be_requested():
    numbers = table(y=[number % 30 for number in range(N)])
    assert make_recipe(numbers, "y", task="classification").labels(numbers).dtype == np.int64
    booleans = table(y=[True, False] * 30)
    assert make_recipe(booleans, "y", task="regression").labels(booleans)[:2].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("target", "task", "message"),
    [
        (["a"] * N, None, "the target 'y' has one class only, 'a'; at least 2 are needed"),
        ([7] * N, None, "the target 'y' has one class only, 7"),
        ([7.5] * N, None, "the target 'y' is 7.5 in every row; there is nothing to predict"),
        ([f"name {i}" for i in range(60)], None, r"has 60 classes in 60 rows; at least 2 rows per class"),
        ([None] * N, None, "the target 'y' is missing in every row"),
        (["NA", ""] * 30, None, "the target 'y' is missing in every row"),
        ([DAY] * N, None, "the target 'y' holds dates, which cannot be predicted"),
        ([[1]] * N, None, "the target 'y' holds the type list.*, which cannot be predicted"),
        ([0.5, 1.0] * 30, "classification", "the target 'y' holds 0.5, which is not a class"),
        (["a", "b"] * 30, "regression", "the target 'y' holds texts such as 'a'; regression needs numbers"),
        ([1.5, float("inf")] * 30, None, "the target 'y' holds an infinite number"),
        ([1, 2] * 30, "ranking", "task='ranking' is not allowed: it must be one of"),
    ],
)
def test_make_recipe_rejects_targets_that_cannot_be_learned(target, task, message):
    with pytest.raises(DataFileError, match=message) as caught:
        make_recipe(table(y=target), "y", task=task)
    assert str(caught.value).isprintable()


UNUSABLE = [
    (NAMES, "an identifier or free text: 60 different values in 60 rows, such as 'Person 0'"),
    (["fine\nthing " + name for name in NAMES], r"such as 'fine\\nthing Person 0'"),
    ([*NAMES[:-1], NAMES[0]], "^free text: 59 different values in 60 rows"),
    ([[1], [2]] * 30, "its type list<.*> cannot be used"),
    ([b"a", b"b"] * 30, "its type binary cannot be used"),
]


@pytest.mark.parametrize(("values", "reason"), UNUSABLE)
def test_unusable_columns_are_left_out_with_the_reason(values, reason):
    data = table(c=values, y=["no", "yes"] * 30)
    recipe = make_recipe(data, "y")
    assert recipe.feature_names == ("x",)
    ((name, stated),) = recipe.dropped
    assert name == "c"
    assert re.search(reason, stated)
    assert stated.isprintable()


@pytest.mark.parametrize(("values", "reason"), UNUSABLE)
def test_strict_refuses_unusable_columns_with_the_option_that_works(values, reason):
    data = table(c=values, y=["no", "yes"] * 30)
    with pytest.raises(UndecidedError, match=reason.lstrip("^")) as caught:
        make_recipe(data, "y", strict=True)
    assert caught.value.options == "--drop c"
    assert str(caught.value).isprintable()
    recipe = make_recipe(data, "y", drop=["c"], strict=True)
    assert recipe.dropped == (("c", "requested"),)


def test_all_problems_are_reported_at_once():
    numbers = [str(number) for number in range(N)]
    data = table(
        age=["unknown", *numbers[1:]],
        size=[*numbers[:-2], "too big", "too big"],
        y=["no", "yes"] * 30,
    )
    with pytest.raises(UndecidedError) as caught:
        make_recipe(data, "y")
    assert caught.value.options == "--missing unknown --missing 'too big'"
    for text in ("2 problems", "column 'age' holds numbers, but 'unknown' in 1 row", "'too big' in 2 rows"):
        assert text in str(caught.value)
    known = TypedTable(data, ReadOptions(missing=("unknown", "too big")))
    recipe = make_recipe(known, "y", strict=True)
    assert recipe.features(known)["size"].null_count == 2
    assert recipe.missing == ("unknown", "too big")


def test_free_text_may_be_named_categorical():
    data = table(name=NAMES, y=["no", "yes"] * 30)
    recipe = make_recipe(data, "y", categorical=["name", "x"])
    assert [column.kind for column in recipe.columns] == ["category", "category"]
    assert recipe.features(data)["x"][:2].to_pylist() == ["0", "1"]


def test_names_with_spaces_are_quoted_for_the_command_line():
    data = table(**{"full name": NAMES, "y": ["no", "yes"] * 30})
    with pytest.raises(UndecidedError, match="solved by --drop 'full name'"):
        make_recipe(data, "y", strict=True)


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("Y", {}, r"there is no column 'Y'; did you mean 'y'\?"),
        ("y", {"drop": ["z"]}, "there is no column 'z'; the columns are 'x', 'y'"),
        ("y", {"categorical": ["z"]}, "there is no column 'z'"),
        ("y", {"drop": ["y"]}, "the column 'y' cannot be dropped: it is the target"),
        ("y", {"drop": ["x"], "categorical": ["x"]}, "cannot be dropped: it is also named categorical"),
        ("y", {"categorical": ["y"]}, "the column 'y' is the target; it cannot be a categorical column"),
        ("y", {"drop": "x"}, "drop='x' is not allowed: it must be a list of names"),
        ("y", {"drop": ["x"]}, "no column is left to predict 'y'"),
    ],
)
def test_names_are_checked(target, options, message):
    with pytest.raises(DataFileError, match=message):
        make_recipe(table(y=["no", "yes"] * 30), target, **options)


def test_rows_without_a_label_are_left_out_with_a_note():
    data = table(c=["rare", *["usual"] * (N - 1)], y=["", *["no", "yes"] * 29, "no"])
    recipe = make_recipe(data, "y")
    assert "1 of 60 rows has no 'y'; left out." in recipe.notes[1]
    assert recipe.dropped == (("c", "it is 'usual' in every row"),)  # of the rows that count
    rows = data.filter(recipe.has_label(data))
    assert rows.num_rows == N - 1
    assert len(recipe.labels(rows)) == N - 1
    with pytest.raises(DataFileError, match="the target 'y' is missing in 1 of 60 rows"):
        recipe.labels(data)
    with pytest.raises(DataFileError, match="the target 'y' is missing in every row"):
        recipe.has_label(data[:1])


def test_unusual_columns_have_notes():
    data = table(
        number=list(range(100, 100 + N)),
        day=[f"{number % 5 + 1}/5/2024" for number in range(N)],
        digits=[str(number % 9) for number in range(N)],
        y=["no", "yes"] * 30,
    )
    printed = " ".join(make_recipe(data, "y").notes)
    assert "'number' counts the rows, as an identifier does" in printed
    assert "'day' holds dates such as '1/5/2024', read as month/day/year (no value decides" in printed
    assert "'digits' is text whose values are all numbers" in printed
    assert "'x'" not in printed


def test_a_date_and_a_column_cannot_share_a_feature():
    data = pa.table({"d": [DAY, DAY + dt.timedelta(1)] * 30, "d.year": range(N), "y": ["no", "yes"] * 30})
    with pytest.raises(DataFileError, match=r"the date 'd' becomes 'd\.year', which is also a column"):
        make_recipe(data, "y")


def test_labels_of_a_later_table_are_those_of_training():
    booleans = make_recipe(table(y=[True, False] * 30), "y")
    assert booleans.labels(table(y=[1, 0] * 30)).tolist() == [True, False] * 30
    integers = make_recipe(table(y=[1, 2] * 30), "y")
    assert integers.labels(table(y=["1", "2"] * 30)).dtype == np.int64
    assert integers.labels(table(y=[1.0, 2.0] * 30)).tolist() == [1, 2] * 30
    with pytest.raises(DataFileError, match="its classes are whole numbers"):
        integers.labels(table(y=[1.0, 2.5] * 30))
    texts = make_recipe(table(y=["1", "x"] * 30), "y")
    assert texts.labels(table(y=[1, 2] * 30)).tolist() == ["1", "2"] * 30


def test_other_texts_among_dates_are_reported_and_strict_reports_everything_else_too():
    days = [f"2024-01-{number % 28 + 1:02}" for number in range(N)]
    data = table(when=["soon", *days[1:]], name=NAMES, y=["no", "yes"] * 30)
    with pytest.raises(UndecidedError, match=r"'when' holds dates, but 'soon' in 1 row$") as caught:
        make_recipe(data, "y")
    assert caught.value.options == "--missing soon"
    with pytest.raises(UndecidedError) as caught:
        make_recipe(data, "y", strict=True)
    assert caught.value.options == "--missing soon --drop name"
    known = TypedTable(data, ReadOptions(missing=("soon",)))
    assert "when.days" in make_recipe(known, "y", drop=["name"], strict=True).feature_names


@pytest.mark.parametrize(
    ("form", "others"),
    [
        ("2024-01-{:02}", ["2024-02-30"]),
        ("2024-01-{:02} 10:00", ["2024-02-30 10:00", "n. b."]),
        ("{:02}.01.2024", ["31.02.2024", "99.99.9999"]),
        ("1/{}/2024", ["31/12/2024"]),
        ("{} Jan 2024", ["soon", "17 Foo 2024", "30 Feb 2024"]),
    ],
)
def test_dates_that_do_not_exist_are_reported(form, others):
    days = [form.format(number % 28 + 1) for number in range(N)]
    data = table(when=[*others, *days[len(others) :]], y=["no", "yes"] * 30)
    with pytest.raises(UndecidedError) as caught:
        make_recipe(data, "y")
    for text in others:
        assert f"'when' holds dates, but {text!r} in 1 row" in str(caught.value)
    known = TypedTable(data, ReadOptions(missing=tuple(others)))
    assert known.values("when").null_count == len(others)
    assert "when.days" in make_recipe(known, "y").feature_names


def test_numbers_of_accounting_with_another_text_are_reported():
    prices = ["$ -", *(f"$ ({number}.50)" for number in range(1, N - 1)), "free"]
    with pytest.raises(UndecidedError, match=r"'price' holds numbers, but 'free' in 1 row$"):
        make_recipe(table(price=prices, y=["no", "yes"] * 30), "y")


def test_numbers_that_look_like_an_identifier_have_a_note():
    rng = np.random.default_rng(0)
    n = 600
    columns = {
        "number": rng.integers(1_000_000, 10_000_000, n).tolist(),
        "customer_id": (10_000 + np.cumsum(rng.integers(1, 2000, n) ** 3)).tolist(),
        "price": np.exp(rng.normal(12, 0.5, n)).astype(int).tolist(),
        "code": [f"C{code}" for code in rng.integers(0, 250, n)],
        "zone": [f"Z{code}" for code in rng.integers(0, 150, n)],
        "y": ["no", "yes"] * 300,
    }
    data = pa.table(columns)
    recipe = make_recipe(data, "y")
    printed = " ".join(recipe.notes)
    assert set(recipe.feature_names) == set(data.column_names) - {"y"}
    for name in ("number", "customer_id", "code"):
        assert f"'{name}' looks like an identifier" in printed
        assert f"--drop {name} leaves it out" in printed
    assert "'price'" not in printed
    assert "'zone'" not in printed


def test_strict_proposes_an_option_that_accepts_the_layout(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{number % 7},{number % 5}.5,{'yes' if number % 2 else 'no'}\n" for number in range(N))
    path.write_text(f"Report\n\nage,mass,y\n,kg,\n{rows}3,4\nTotal,9,\n")
    data = read_typed(path)
    with pytest.raises(UndecidedError) as caught:
        make_recipe(data, "y", strict=True)
    assert caught.value.options == "--accept-layout"
    assert caught.value.is_solved
    for text in ("4 problems", "'Report'", "holds units", "'Total,9,'", "Line 65 has 2 of 3 fields"):
        assert text in str(caught.value)
    assert make_recipe(data, "y", strict=True, accept_layout=True).feature_names == ("age", "mass")


def test_categories_that_look_like_an_identifier_have_a_note():
    data = table(name=NAMES, y=["no", "yes"] * 30)
    printed = " ".join(make_recipe(data, "y", categorical=["name", "x"]).notes)
    assert "'name' looks like an identifier: 60 different values in 60 rows" in printed
