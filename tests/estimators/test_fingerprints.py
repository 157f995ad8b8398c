"""Classifiers recognise their training rows in tables of any type."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from forest_cases import classes, signal
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    BaggingClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    RandomForestClassifier,
    SchapireBoostClassifier,
)
from hedgerow.estimators.fingerprints import RowFingerprints, RowHashes
from hedgerow.table import read_table

BY_DTYPE = DecisionTreeClassifier(max_depth=2, categorical_features="from_dtype")
MODELS = {
    "ada": lambda: AdaBoostClassifier(BY_DTYPE, n_estimators=3),
    "logit": lambda: LogitBoostClassifier(DecisionStump(categorical_features="from_dtype"), n_estimators=3),
    "any": lambda: AnyBoostClassifier(BY_DTYPE, n_estimators=3),
    "gradient": lambda: GradientBoostingClassifier(n_estimators=3),
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "extra": lambda: ExtraTreesClassifier(3, random_state=0),
    "bag": lambda: BaggingClassifier(BY_DTYPE, n_estimators=3, random_state=0),
    "three": lambda: SchapireBoostClassifier(BY_DTYPE, random_state=0),
}
EVERY = pytest.mark.parametrize("name", MODELS)


def rows(n_rows=200, seed=0):
    X, score = signal(n_rows, seed=seed)
    return X, (score > 1.0).astype(int)


def colours(n_rows=200, seed=0):
    """A pandas frame: numbers with holes, whole numbers, a flag and a category."""
    X, y = rows(n_rows, seed)
    table = pd.DataFrame(X[:, :2], columns=["a", "b"])
    table["count"] = np.arange(n_rows) % 7
    table["flag"] = np.arange(n_rows) % 2 == 0
    table["colour"] = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(n_rows) % 3])
    return table, y


@cache
def fitted(name):
    return MODELS[name]().fit(*rows())


@EVERY
def test_is_training_row_recognises_training_rows_only(name):
    (X, y), (other, _) = rows(), rows(seed=1)
    model = fitted(name)
    mixed = np.concatenate([other[:3], X[5:7], other[3:4]])
    assert model.is_training_row(mixed).tolist() == [False, False, False, True, True, False]
    assert not model.is_training_row(other).any()
    assert model.row_fingerprints_.n_rows == len(X)
    assert model.row_fingerprints_.class_counts.tolist() == np.bincount(y).tolist()
    assert model.row_fingerprints_.chance_error == pytest.approx(min(np.mean(y), 1 - np.mean(y)))
    for form in (X, np.asfortranarray(X), X.tolist(), X[::-1], X.astype(np.float32), X.astype(">f8")):
        assert model.is_training_row(form).all()  # signal() has values that float32 represents


@EVERY
def test_one_changed_value_makes_another_row(name):
    X, model = rows()[0], fitted(name)
    for column in range(X.shape[1]):
        other = X.copy()
        other[:, column] = np.where(np.isnan(other[:, column]), 0.125, other[:, column] + 0.125)
        assert not model.is_training_row(other).any()
    swapped = X[:, [1, 0, 2, 3, 4]]  # the same values in other columns
    same = np.all((swapped == X) | (np.isnan(swapped) & np.isnan(X)), axis=1)
    assert model.is_training_row(swapped).tolist() == same.tolist()


@EVERY
def test_zeros_and_missing_values_are_one_value_each(name):
    X, model = rows()[0], fitted(name)
    other = np.where(X == 0, -0.0, X)
    other[np.isnan(other)] = np.float64(np.uint64(0xFFF8000000000123).view(np.float64))
    assert (X == 0).any()
    assert np.isnan(X).any()
    assert model.is_training_row(other).all()
    if name != "bag":  # which hashes objects by their texts
        assert model.is_training_row(other.astype(object)).all()


@EVERY
def test_sparse_rows_are_their_dense_ones(name):
    X, y = rows()
    X = np.where(np.abs(np.nan_to_num(X)) < 0.7, 0.0, np.nan_to_num(X))
    forms = [sparse.csr_matrix(X), sparse.csc_array(X), sparse.coo_array(X), X]
    for fitted_to in (forms[0], X):
        model = MODELS[name]().fit(fitted_to, y)
        assert all(model.is_training_row(form).all() for form in forms)
        moved = sparse.csr_matrix(X + 0.1 * (X != 0))  # rows of zeros are not changed
        assert model.is_training_row(moved).tolist() == np.all(X == 0, axis=1).tolist()


@EVERY
def test_data_frames_of_all_libraries_are_the_same_rows(name):
    table, y = colours()
    model = MODELS[name]().fit(table, y)
    forms = [
        table,
        pl.from_pandas(table),
        pa.Table.from_pandas(table),
        table.astype({"count": "float64"}),
        table.astype({"count": "Int64", "a": "Float64"}),
        table.set_index(pd.Index(np.arange(len(table))[::-1])),
    ]
    for form in forms:
        assert model.is_training_row(form).all()
    others, _ = colours(seed=1)
    assert not model.is_training_row(others).any()
    repainted = table.assign(colour=table["colour"].cat.rename_categories({"red": "blue", "blue": "red"}))
    assert model.is_training_row(repainted).tolist() == (table["colour"] == "green").tolist()
    for other in (table[table.columns[::-1]], table.iloc[:, :4]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.is_training_row(other)


@EVERY
def test_a_pickled_copy_has_fingerprints_and_a_clone_has_none(name):
    copied = pickle.loads(pickle.dumps(fitted(name)))  # noqa: S301 - our own bytes
    assert copied.is_training_row(rows()[0]).all()
    assert not hasattr(clone(fitted(name)), "row_fingerprints_")


def test_a_row_takes_eight_bytes():
    X, y = rows(5000)
    stored = RandomForestClassifier(2, random_state=0).fit(X, y).row_fingerprints_
    assert len(bits(stored.hashes)) == 8 * len(X)
    assert len(pickle.dumps(stored)) < 8 * len(X) + 1000


def bits(hashes):
    return hashes.exact.tobytes() + hashes.rounded.tobytes()


@pytest.mark.parametrize("name", ["ada", "gradient", "forest"])
def test_threads_do_not_change_the_hashes(name):
    X, y = rows(9000)
    one, other = (MODELS[name]().set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 4))
    assert bits(one.row_fingerprints_.hashes) == bits(other.row_fingerprints_.hashes)


def test_blocks_of_a_table_do_not_change_the_hashes():
    X, _ = rows(9000)
    whole = RowHashes.of(read_table(X), 4)
    parts = [RowHashes.of(read_table(part), 1) for part in np.array_split(X, 7)]
    for name in ("exact", "rounded"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert getattr(whole, name).tobytes() == joined.tobytes()


@pytest.mark.parametrize("name", ["ada", "logit", "any", "gradient"])
def test_a_warm_start_on_other_rows_stores_both(name):
    X, y = rows()
    more, labels = rows(seed=1)
    model = MODELS[name]().set_params(warm_start=True).fit(X, y)
    model.set_params(n_estimators=5).fit(more, labels)
    assert model.is_training_row(X).all()
    assert model.is_training_row(more).all()
    assert model.row_fingerprints_.n_rows == len(X) + len(more)
    assert model.row_fingerprints_.class_counts.sum() == len(X) + len(more)
    model.set_params(warm_start=False).fit(more, labels)
    assert not model.is_training_row(X).any()


@EVERY
def test_a_warm_start_on_the_same_rows_counts_them_once(name):
    X, y = rows()
    model = MODELS[name]()
    if "warm_start" not in model.get_params():
        pytest.skip("without warm_start")
    model.set_params(warm_start=True).fit(X, y).set_params(n_estimators=5).fit(X, y)
    assert model.row_fingerprints_.n_rows == len(X)


@EVERY
def test_fingerprints_store_whether_weights_differ(name):
    X, y = rows()
    model = MODELS[name]()
    if name == "three":
        pytest.skip("without sample_weight")
    assert not model.fit(X, y).row_fingerprints_.weighted
    assert not model.fit(X, y, sample_weight=np.full(len(y), 3.0)).row_fingerprints_.weighted
    assert model.fit(X, y, sample_weight=1.0 + np.arange(len(y)) % 2).row_fingerprints_.weighted


def row_hashes(numbers):
    hashes = np.asarray(numbers, np.uint32)
    return RowHashes(hashes, hashes)


def training(numbers):
    return RowFingerprints(row_hashes(numbers), np.array([len(numbers)]), weighted=False)


def test_rows_are_found_by_their_hashes():
    stored = training([5, 1, 5, 2, 5, 1, 9])
    assert stored.contains(row_hashes([0, 1, 2, 3, 9, 2**32 - 1])).tolist() == [0, 1, 1, 0, 1, 0]


# --- rows that are equal by chance


VALUES = {
    "few": np.full(60, 1 / 60),
    "as many as rows": np.full(200, 1 / 200),
    "many": np.full(5000, 1 / 5000),
    "some often": (1 / np.arange(1, 3000)) / np.sum(1 / np.arange(1, 3000)),
}


@pytest.mark.parametrize("n_new", [40, 3000])
@pytest.mark.parametrize("name", VALUES)
def test_new_rows_of_few_values_rarely_have_a_small_chance(name, n_new):
    rng = np.random.default_rng(n_new)
    chances = []
    for _ in range(60):
        old, new = (rng.choice(len(VALUES[name]), n, p=VALUES[name]) for n in (200, n_new))
        chances.append(training(old).chance_of_overlap(row_hashes(new)))
    assert np.mean(np.array(chances) < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)
    assert np.sum(np.array(chances) < 1e-3) <= 2
    assert 0.0 <= min(chances) <= max(chances) <= 1.0


def test_old_rows_that_are_all_different_are_noticed_when_there_are_ten():
    old, new = np.arange(400, dtype=np.uint32), np.arange(1000, 1300, dtype=np.uint32)
    chances = [training(old).chance_of_overlap(row_hashes(np.concatenate([new, old[:k]]))) for k in range(30)]
    assert chances[0] == 1.0
    assert chances == sorted(chances, reverse=True)
    assert chances[1] > 0.3
    assert chances[12] < 1e-3


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_rows_that_were_repeated_for_training_are_noticed_when_tested_once(copies):
    old = np.arange(300, dtype=np.uint32)
    assert training(np.repeat(old, copies)).chance_of_overlap(row_hashes(old)) < 1e-9


def test_the_same_rows_in_another_order_are_never_new():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 15, 5000).astype(np.uint32)  # every value is in every sample
    assert training(few).chance_of_overlap(row_hashes(few[::-1])) == 0.0
    assert training(few).chance_of_overlap(row_hashes(rng.integers(0, 15, 5000))) > 0.5


def test_a_subset_of_the_training_rows_is_too_similar():
    rng = np.random.default_rng(3)
    old, new = rng.integers(0, 81, 3000), rng.integers(0, 81, 1000)
    assert training(old).chance_of_similarity(row_hashes(new)) > 0.01
    assert training(old).chance_of_similarity(row_hashes(old[:1000])) < 1e-3
    assert training(old).chance_of_similarity(row_hashes(old[1:])) < 1e-9


def test_halves_of_a_designed_experiment_are_new_to_each_other():
    half = np.repeat(np.arange(8), 20)
    assert training(half).chance_of_overlap(row_hashes(half)) > 0.5


@pytest.mark.parametrize("shift", [1.6e9, 2.0**25])
def test_values_that_are_equal_as_float32_are_distinguished(shift):
    rng = np.random.default_rng(3)
    X, y = shift + rng.random((600, 2)), rng.integers(0, 2, 600)
    model = RandomForestClassifier(2, random_state=0).fit(X[:400], y[:400])
    assert not model.is_training_row(X[400:]).any()
    assert model.is_training_row(X[:400]).all()
    assert model.chance_of_overlap(X[:200]) < 1e-9


def test_chance_of_overlap_of_a_model():
    (X, y), (other, _) = rows(), rows(seed=1)
    model = RandomForestClassifier(2, random_state=0).fit(X, y)
    assert model.chance_of_overlap(other) == 1.0
    assert model.chance_of_overlap(X) == 0.0
    assert model.chance_of_overlap(X[:20]) < 1e-6


def test_different_rows_rarely_share_a_hash():
    X = np.arange(200_000, dtype=np.float64).reshape(-1, 2)
    hashes = RowHashes.of(read_table(X), 1).exact
    n_pairs = len(X) * (len(X) - 1) / 2
    assert len(X) - len(np.unique(hashes)) <= 5 + 2 * n_pairs / 2**32


def test_labels_are_not_part_of_a_hash():
    X, y = classes(100)
    model = RandomForestClassifier(2, random_state=0).fit(X, y)
    assert bits(model.row_hashes(X)) == bits(model.row_fingerprints_.hashes)


def test_a_classifier_without_fingerprints_raises():
    X, y = rows()
    model = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    del model.row_fingerprints_
    with pytest.raises(AttributeError, match="has no row_fingerprints_"):
        model.is_training_row(X)
