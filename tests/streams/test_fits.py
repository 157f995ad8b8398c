"""Fits and predictions of tables in files are those of the same rows in memory."""

import sys
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import hedgerow
from hedgerow import AdaBoostClassifier, DecisionStump, GradientBoostingClassifier, RandomForestClassifier
from hedgerow.backends import target_statistics
from hedgerow.io.models import to_bytes
from hedgerow.streams import Stream, reader
from hedgerow.streams.table import CodeStorage, StreamedTable
from stream_cases import chosen, features, rows, write
from terminal import Terminal

FEW = {"n_estimators": 3, "random_state": 0}
MODELS = [
    (GradientBoostingClassifier(n_estimators=3), "label", None),
    (GradientBoostingClassifier(**FEW, early_stopping=True, subsample=0.5), "number", "weight"),
    (GradientBoostingClassifier(**FEW, class_weight="balanced", n_jobs=2), "number", "weight"),
    (GradientBoostingClassifier(**FEW, n_folds=4, early_stopping=True, subsample=0.5), "label", "weight"),
    (GradientBoostingClassifier(learning_rate=0.5), "number", None),
    (hedgerow.GradientBoostingRegressor("absolute_error", **FEW, n_folds=2), "score", None),
    (GradientBoostingClassifier(**FEW, growth_policy="symmetric", random_strength=1.0), "number", "weight"),
    (GradientBoostingClassifier(**FEW, sampling="gradient", n_folds=2), "label", "weight"),
    (hedgerow.GradientBoostingRegressor(**FEW, sampling="bayesian", n_jobs=3), "score", "weight"),
    (hedgerow.GradientBoostingRegressor(n_estimators=6, random_state=0, drop_rate=0.5), "score", None),
    (GradientBoostingClassifier(**FEW, max_categories_for_sets=3, early_stopping=True), "label", "weight"),
    (GradientBoostingClassifier(**FEW, path_smooth=5.0, n_folds=2), "number", "weight"),
    (GradientBoostingClassifier(**FEW, leaf_value_folds=2, subsample=0.5), "number", "weight"),
    (hedgerow.GradientBoostingRegressor(**FEW, linear_leaves=True, n_jobs=3), "score", "weight"),
    (
        GradientBoostingClassifier(
            **FEW, linear_leaves=True, max_categories_for_sets=3, n_folds=2, subsample=0.5
        ),
        "label",
        None,
    ),
    (
        GradientBoostingClassifier(**FEW, linear_leaves=True, sampling="gradient", n_jobs=2),
        "number",
        "weight",
    ),
    (AdaBoostClassifier(n_estimators=3), "number", "weight"),
    (hedgerow.LogitBoostClassifier(n_estimators=3), "label", None),
    (DecisionStump(), "number", "weight"),
    (hedgerow.DecisionTreeClassifier(max_depth=3), "number", None),
    (RandomForestClassifier(**FEW), "label", "weight"),
    (hedgerow.GradientBoostingRegressor(n_estimators=3), "score", "weight"),
    (hedgerow.GradientBoostingRegressor("absolute_error", n_estimators=3, verbose=1), "score", None),
    (hedgerow.AdaBoostRegressor(**FEW), "score", "weight"),
    (hedgerow.DecisionTreeRegressor(max_depth=3), "score", None),
    (hedgerow.RandomForestRegressor(**FEW), "score", "weight"),
    (hedgerow.ExtraTreesRegressor(**FEW), "score", None),
]


def name_of(model):
    return type(model).__name__ if hasattr(model, "fit") else None


def in_memory(model, table, target, weight=None, **options):
    X, weights = features(table), None if weight is None else np.asarray(table[weight])
    return clone(model).fit(X, np.asarray(table[target]), sample_weight=weights, **options)


@pytest.fixture(autouse=True)
def few_rows_per_chunk(monkeypatch):
    monkeypatch.setattr(reader, "CHUNK_ROWS", 300)


@pytest.mark.parametrize(("model", "target", "weight"), MODELS, ids=name_of)
def test_a_model_of_rows_in_files_is_that_of_rows_in_memory(tmp_path, model, target, weight):
    table = chosen(rows(), target, weight)
    folder = write(table, tmp_path / "rows", cuts=(1, 333, 900), row_group=50)
    wanted = in_memory(model, table, target, weight)
    found = clone(model).fit(f"{folder}/*", target=target, sample_weight=weight)
    if target != "score":
        assert found.classes_.dtype == wanted.classes_.dtype
    assert to_bytes(found) == to_bytes(wanted)
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(found, name):
            predict = getattr(found, name)
            np.testing.assert_array_equal(predict(folder), predict(features(table)))


def test_columns_of_many_categories_are_coded_by_target_statistics_by_default(tmp_path):
    table = chosen(rows(1200), "label")
    towns = np.random.default_rng(5).integers(0, 40, 1200)
    names = np.array([f"t{number}" for number in range(40)])[towns]
    table = table.append_column("town", pa.array(names).dictionary_encode())
    model = GradientBoostingClassifier(n_folds=2, tol=0.01, max_leaf_nodes=5)
    found = clone(model).fit(write(table, tmp_path / "rows", cuts=(500,)), target="label")
    assert found.model_.bins.by_statistic.sum() == 1
    assert to_bytes(found) == to_bytes(in_memory(model, table, "label"))


def test_a_model_of_other_rows_has_other_bytes():
    table, model = chosen(rows(), "label"), MODELS[0][0]
    one, other = (in_memory(model, some, "label") for some in (table, table.slice(1)))
    assert to_bytes(one) != to_bytes(other)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(**FEW),
        GradientBoostingClassifier(**FEW, linear_leaves=True, n_folds=2),
        AdaBoostClassifier(**FEW),
        RandomForestClassifier(**FEW),
    ],
    ids=name_of,
)
def test_codes_in_a_mapped_file_give_the_same_model_and_leave_no_file(tmp_path, model):
    table = chosen(rows(), "label")
    folder, codes = write(table, tmp_path / "rows"), tmp_path / "codes"
    codes.mkdir()
    found = clone(model).fit(Stream(folder, "label", memory_limit=0, folder=codes))
    assert to_bytes(found) == to_bytes(in_memory(model, table, "label"))
    assert not list(codes.iterdir())


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (GradientBoostingClassifier(n_estimators=2), ["narrow", "colour"]),  # float32
        (GradientBoostingClassifier(n_estimators=2, linear_leaves=True), ["narrow", "colour"]),
        (GradientBoostingClassifier(n_estimators=2, linear_leaves=True), ["colour"]),
        (
            GradientBoostingClassifier(n_estimators=2, categorical_features=["whole", "flag"]),
            ["whole", "x", "flag"],
        ),
        (GradientBoostingClassifier(n_estimators=2, max_bins=9, n_jobs=1), ["x", "narrow"]),
        (hedgerow.DecisionTreeClassifier(max_depth=2, max_bins=900), ["narrow", "x"]),  # codes of two bytes
    ],
    ids=["float32", "linear, float32", "linear, no numbers", "categories", "few bins", "many bins"],
)
def test_models_of_some_columns_and_three_classes(tmp_path, model, columns):
    table = rows()
    third = np.digitize(np.asarray(table["score"]), [-0.5, 0.5])
    table = table.select(columns).append_column("label", pa.array(third.astype(np.uint8)))
    found = clone(model).fit(write(table, tmp_path / "rows", cuts=(444,)), target="label")
    assert found.classes_.dtype == np.uint8
    assert to_bytes(found) == to_bytes(in_memory(model, table, "label"))


def test_a_fit_with_folds_encodes_the_rows_once(tmp_path, monkeypatch):
    calls = []
    encode = StreamedTable._encode
    monkeypatch.setattr(
        StreamedTable, "_encode", lambda *args, **options: calls.append(1) or encode(*args, **options)
    )
    folder = write(chosen(rows(), "label"), tmp_path / "rows")
    assert GradientBoostingClassifier(**FEW, n_folds=8).fit(folder, target="label").n_folds_ == 8
    assert calls == [1]


@pytest.mark.parametrize(
    "kind",
    [
        AdaBoostClassifier,
        RandomForestClassifier,
        hedgerow.LogitBoostClassifier,
        GradientBoostingClassifier,
        partial(
            GradientBoostingClassifier,
            sampling="gradient",
            max_categories_for_sets=3,
            random_state=0,
            n_folds=2,
        ),
        partial(GradientBoostingClassifier, linear_leaves=True, n_folds=2, random_state=0),
        partial(GradientBoostingClassifier, linear_leaves=True, sampling="gradient", random_state=0),
    ],
)
def test_all_fits_resume_from_a_model_and_from_a_checkpoint(tmp_path, kind):
    more = {"random_state": 0} if kind is RandomForestClassifier else {}
    table = chosen(rows(), "label")
    folder = write(table, tmp_path / "rows", cuts=(500,))
    wanted = to_bytes(in_memory(kind(n_estimators=4, **more), table, "label"))
    warm = kind(n_estimators=2, warm_start=True, **more).fit(folder, target="label")
    warm.set_params(n_estimators=4).fit(folder, target="label").set_params(warm_start=False)
    assert to_bytes(warm) == wanted
    model = kind(n_estimators=2, **more).fit(folder, target="label", checkpoint=tmp_path / "checkpoint")
    model.set_params(n_estimators=4).fit(folder, target="label", checkpoint=tmp_path / "checkpoint")
    assert to_bytes(model) == wanted
    with pytest.raises(ValueError, match="is of a fit with another X"):
        clone(model).fit(folder / "part-00.parquet", target="label", checkpoint=tmp_path / "checkpoint")


def test_values_of_linear_leaves_are_counted_and_limited_as_codes_are(tmp_path, monkeypatch):
    table = rows(6000).select(["x", "narrow", "colour", "score"])
    folder, storages, make = write(table, tmp_path / "rows"), [], CodeStorage.__init__

    def made(storage, sizes, *args):
        make(storage, sizes, *args)
        storages.append(storage)

    monkeypatch.setattr(CodeStorage, "__init__", made)
    model = hedgerow.GradientBoostingRegressor(**FEW, linear_leaves=True, n_jobs=1)
    n_bytes = 6000 * 32  # three codes, and two numbers of eight bytes
    for limit in (n_bytes, n_bytes - 1):
        model.fit(Stream(folder, "score", memory_limit=limit, folder=tmp_path))
        assert storages[-1].is_file == (limit < n_bytes)
    monkeypatch.setenv("HEDGEROW_MEMORY", "600kB")
    with pytest.raises(MemoryError, match=r"to 6,000 rows .*codes 192 kB"):
        model.fit(Stream(folder, "score", memory_limit=n_bytes))


@pytest.mark.parametrize(
    ("options", "is_evaluated"),
    [
        ({"drop_rate": 0.5, "subsample": 0.7}, True),
        ({"drop_rate": 0.5, "max_categories_for_sets": 3}, False),
        ({"leaf_value_folds": 2, "early_stopping": True, "n_iter_no_change": 9}, False),
        ({"leaf_value_folds": 2, "n_folds": 2, "subsample": 0.5}, True),
    ],
    ids=str,
)
def test_a_fit_that_stores_scores_resumes_from_files_and_in_memory(tmp_path, options, is_evaluated):
    table = chosen(rows(), "label", "weight")
    folder, path = write(table, tmp_path / "rows", cuts=(333, 900), row_group=50), tmp_path / "checkpoint"
    y, weight = np.asarray(table["label"]), np.asarray(table["weight"])
    in_files, held = {"target": "label", "sample_weight": "weight"}, {}
    if is_evaluated:
        held["eval_set"] = (features(table), y, weight)
        in_files["eval_set"] = (folder, "label", "weight")
    kind = partial(GradientBoostingClassifier, random_state=0, **options)
    wanted = to_bytes(kind(n_estimators=6).fit(features(table), y, weight, **held))
    kind(n_estimators=2).fit(folder, **in_files, checkpoint=path)
    kind(n_estimators=4).fit(features(table), y, weight, **held, checkpoint=path)
    assert to_bytes(kind(n_estimators=6).fit(folder, **in_files, checkpoint=path)) == wanted


@pytest.mark.parametrize("n_in_memory", [0, 2, 4])
def test_folds_with_target_statistics_copy_the_codes(tmp_path, monkeypatch, n_in_memory):
    """One column has more categories than codes; their numbers take several columns of codes."""
    rng, encoded, storages = np.random.default_rng(0), [], []
    table, encode, make = rows(900), StreamedTable._encode, CodeStorage.__init__
    city = pa.array(rng.integers(0, 300, 900).astype(str), mask=rng.random(900) < 0.1)
    score = np.asarray(table["score"]) + rng.normal(size=300)[rng.integers(0, 300, 900)]
    label = np.digitize(score, [-0.5, 0.5])
    table = table.select(["x", "colour", "weight"])
    table = table.append_column("city", city).append_column("label", pa.array(label))

    def made(storage, sizes, *args):
        make(storage, sizes, *args)
        storages.append(storage)

    monkeypatch.setattr(
        StreamedTable, "_encode", lambda *args, **more: encoded.append(1) or encode(*args, **more)
    )
    monkeypatch.setattr(CodeStorage, "__init__", made)
    monkeypatch.setattr(target_statistics, "_MOST_EDGES", 100)
    model = GradientBoostingClassifier(
        **FEW,
        max_categories_for_sets=3,
        n_folds=4,
        categorical_features=["colour", "city"],
        min_samples_leaf=5,
    )
    wanted = in_memory(model, table, "label", "weight")
    assert len(wanted.model_.bins.sources) == 3 + 2 * 2  # a column for each class
    bytes_of_codes = 2 * (-(-450 * 8 // 64) * 64)  # two shards, each at the start of a cache line
    stream = Stream(
        write(table, tmp_path / "rows"), memory_limit=n_in_memory * bytes_of_codes, folder=tmp_path
    )
    found = clone(model).set_params(n_jobs=2).fit(stream, target="label", sample_weight="weight")
    assert to_bytes(found) == to_bytes(wanted)
    assert len(encoded) == 2  # the numbers of categories, and codes
    assert [storage.is_file for storage in storages[1:]] == [number >= n_in_memory for number in range(4)]
    assert all(storage._memory is None for storage in storages[1:])


def test_every_kind_of_source_gives_the_same_model(tmp_path):
    table = chosen(rows(), "label")
    folder = write(table, tmp_path / "rows", cuts=(77,))
    model = GradientBoostingClassifier(n_estimators=2)
    wanted = to_bytes(in_memory(model, table, "label"))
    for source in (
        str(folder),
        pyarrow.dataset.dataset(folder),
        Stream(sorted(folder.iterdir())),
        lambda: table.to_batches(max_chunksize=100),
    ):
        assert to_bytes(clone(model).fit(source, target="label")) == wanted
    assert to_bytes(clone(model).fit(folder, "label")) == wanted


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=12, early_stopping=True, n_iter_no_change=2, random_state=0),
        GradientBoostingClassifier(n_estimators=5, linear_leaves=True, random_state=0),
        AdaBoostClassifier(n_estimators=6),
        hedgerow.LogitBoostClassifier(n_estimators=4),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("in_files", ["both", "evaluation", "training"])
def test_evaluation_sets_may_be_in_files(tmp_path, model, in_files):
    train, test = chosen(rows(), "label"), chosen(rows(400, seed=9), "label", "weight")
    held = (features(test), np.asarray(test["label"]), np.asarray(test["weight"]))
    wanted = in_memory(model, train, "label", eval_set=held)
    files = (write(test, tmp_path / "test", cuts=(50,)), "label", "weight")
    evaluated = held if in_files == "training" else files
    if in_files == "evaluation":
        found = in_memory(model, train, "label", eval_set=evaluated)
    else:
        found = clone(model).fit(write(train, tmp_path / "train"), target="label", eval_set=[evaluated])
    assert {name: found.history_[name] for name in found.history_ if name != "seconds"} == {
        name: wanted.history_[name] for name in wanted.history_ if name != "seconds"
    }
    assert len(found.history_) > 3
    assert to_bytes(found) == to_bytes(wanted)


def test_fingerprints_of_rows_in_files(tmp_path):
    table = chosen(rows(), "label")
    model = GradientBoostingClassifier(n_estimators=2).fit(write(table, tmp_path / "rows"), target="label")
    assert model.is_training_row(features(table)).all()
    assert model.feature_names_in_.tolist() == features(table).column_names


def test_methods_that_need_rows_in_memory(tmp_path):
    table = chosen(rows(60), "label")
    folder = write(table, tmp_path / "rows")
    for model in (AdaBoostClassifier(LogisticRegression()), hedgerow.BaggingClassifier()):
        with pytest.raises(TypeError, match="needs rows in memory: X must be an array or a data frame"):
            model.fit(folder, target="label")
    fitted = GradientBoostingClassifier(n_estimators=1, min_samples_leaf=1).fit(folder, target="label")
    with pytest.raises(TypeError, match="GradientBoostingClassifier needs rows in memory"):
        fitted.apply(folder)


def test_target_is_for_remote_rows_only():
    with pytest.raises(ValueError, match="target='label' is for an X in files or on a cluster; X is a list"):
        DecisionStump().fit([[1.0], [2.0]], [0, 1], target="label")
    with pytest.raises(ValueError, match="target='label' is for an X in files"):
        hedgerow.BaggingClassifier().fit([[1.0], [2.0]], [0, 1], target="label")
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        DecisionStump().fit([[1.0], [2.0]])


def test_progress_is_shown_with_verbose_only(tmp_path, capfd):
    folder = write(chosen(rows(100), "label"), tmp_path / "rows")
    GradientBoostingClassifier(n_estimators=1).fit(folder, target="label")
    assert capfd.readouterr() == ("", "")
    GradientBoostingClassifier(n_estimators=1, verbose=1).fit(folder, target="label")
    printed = capfd.readouterr().err
    assert "1/1" in printed
    assert "\r" not in printed


def test_progress_bars_count_the_rows_of_each_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    folder = write(chosen(rows(1000), "label"), tmp_path / "rows")
    DecisionStump().fit(Stream(folder, "label", progress=True))
    shown = sys.stderr.getvalue()
    assert "Reading rows" in shown
    assert "Encoding rows" in shown
    assert "1,000/1,000" in shown


@pytest.mark.parametrize("labels", [(1, 0), ("yes", "no")])
def test_scores_of_files_by_the_names_of_columns(tmp_path, labels):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    y = np.where(X["a"] + rng.normal(size=300) > 0, *labels)
    label = pd.Categorical(y) if "yes" in labels else y
    frame = X.assign(label=label, weight=rng.integers(1, 4, 300), number=X["b"] * 2)
    frame.to_parquet(tmp_path / "rows.parquet")
    path = str(tmp_path / "rows.parquet")
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    assert model.score(path, "label") == model.score(X, y) < 1
    assert model.score(path, "label", "weight") == model.score(X, y, frame["weight"]) != model.score(X, y)
    assert model.score(hedgerow.Stream(path, columns=list("abc")), "label") == model.score(X, y)
    numbers = hedgerow.RandomForestRegressor(n_estimators=3).fit(X, frame["number"])
    assert numbers.score(path, "number") == pytest.approx(numbers.score(X, frame["number"]))
    with pytest.raises(TypeError, match="sample_weight is a ndarray, and y='label' a column"):
        model.score(path, "label", np.ones(300))
    with pytest.raises(ValueError, match="'nothing'"):
        model.score(path, "nothing")


def test_bagging_and_schapire_need_rows_in_memory(tmp_path):
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7})
    X.to_parquet(tmp_path / "rows.parquet")
    y = (np.arange(40) > 20).astype(int)
    for model in (hedgerow.BaggingClassifier(n_estimators=2), hedgerow.SchapireBoostClassifier()):
        fitted = model.fit(X, y)
        with pytest.raises(TypeError, match=f"this method of {type(model).__name__} needs rows in memory"):
            fitted.predict(tmp_path / "rows.parquet")
