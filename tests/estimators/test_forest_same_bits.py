"""Forests are the same, byte for byte, for any threads, orders, frames, weights, warm starts and CPUs."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forest_cases import (
    CLASSIFIERS,
    KINDS,
    bag_counts,
    bits,
    classes,
    data_for,
    frame,
    numbers,
    predictions,
    signal,
)
from hedgerow import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from same_bits_cases import FORESTS, weights

QUICK = settings(max_examples=8, deadline=None, derandomize=True)
THREADS = (1, 3)


def trained(name, **parameters):
    """A model and its predictions, as bytes."""
    model, (X, y, weight) = FORESTS[name]()
    model.set_params(**parameters).fit(X, y, weight)
    return pickle.dumps(
        (bits(model), predictions(model, X[:3000]).tobytes(), model.apply(X[-500:]).tobytes())
    )


@pytest.mark.parametrize("name", FORESTS)
def test_trees_do_not_depend_on_threads(name):
    first, *others = (trained(name, n_jobs=n_jobs) for n_jobs in THREADS)
    assert all(other == first for other in others)
    assert trained(name, random_state=4) != first


def test_predictions_do_not_depend_on_threads():
    X, y = classes(9000)
    predicted = set()
    for n_jobs in THREADS:
        model = RandomForestClassifier(12, oob_score=True, random_state=0, n_jobs=n_jobs)
        with pytest.warns(UserWarning, match="in the bag of every tree"):
            model.fit(X, y)
        predicted.add((model.oob_decision_function_.tobytes(), model.oob_votes_.tobytes(), model.oob_score_))
        predicted.add((model.predict_proba(X).tobytes(), model.apply(X).tobytes(), 0.0))
    assert len(predicted) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_row_has_the_same_prediction(kind):
    X, y = data_for(kind, 400)
    model = kind(8, random_state=0).fit(X, y)
    alone = np.concatenate([predictions(model, X[row : row + 1]) for row in range(40)])
    assert alone.tobytes() == predictions(model, X)[:40].tobytes()


# --- types of X and y


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_kind_of_data_frame_does_not_matter(kind):
    table, y = frame(500)
    number_columns = {name: table[name].to_numpy() for name in "abc"}
    colours = table["colour"].astype(str).to_numpy()
    in_polars = pl.DataFrame(number_columns, nan_to_null=True).with_columns(
        colour=pl.Series(colours, dtype=pl.Categorical)
    )
    as_float32 = table.astype(dict.fromkeys("abc", np.float32))
    encoded = pa.table({**number_columns, "colour": pa.array(colours).dictionary_encode()})
    model = kind(5, random_state=0).fit(table, y)
    assert model.model_.forest.sets.size
    predicted = model.predict(table).tobytes()
    for other in (as_float32, in_polars, in_polars.to_arrow(), encoded):
        again = kind(5, random_state=0).fit(other, y)
        assert bits(again) == bits(model)
        assert again.predict(other).tobytes() == predicted
        assert model.predict(other).tobytes() == predicted
    mixed = np.column_stack([table[list("abc")].to_numpy().astype(object), colours.astype(object)])
    from_objects = kind(5, random_state=0, categorical_features=[3]).fit(mixed, y)
    assert bits(from_objects) == bits(model)


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_does_not_matter(kind, bootstrap):
    X, y = data_for(kind, 400)
    order = np.random.default_rng(0).permutation(400)
    parameters = {"n_estimators": 20, "bootstrap": bootstrap, "oob_score": bootstrap, "random_state": 0}
    model, moved = kind(**parameters).fit(X, y), kind(**parameters).fit(X[order], y[order])
    assert bits(moved) == bits(model)
    assert predictions(moved, X).tobytes() == predictions(model, X).tobytes()
    assert np.array_equal(bag_counts(moved), bag_counts(model)[:, order])
    if bootstrap:
        assert np.array_equal(moved.oob_votes_, model.oob_votes_[order])
        name = "oob_decision_function_" if kind in CLASSIFIERS else "oob_prediction_"
        assert np.array_equal(getattr(moved, name), getattr(model, name)[order])


# --- weights


WEIGHTED = {
    "default": {},
    "all rows": {"bootstrap": False},
    "few columns": {"max_features": 1},
    "large leaves": {"min_samples_leaf": 6, "min_samples_split": 15},
    "shares": {"min_samples_leaf": 0.03, "max_samples": 0.4, "bootstrap": True},
    "weight of leaves": {"min_weight_fraction_leaf": 0.05},
    "few leaves": {"max_leaf_nodes": 9},
    "many leaves": {"max_leaf_nodes": 150, "max_features": 1},
    "useful splits": {"min_impurity_decrease": 0.01},
}


@pytest.mark.parametrize(
    ("kind", "setting"),
    [(KINDS[(i + j) % 4], setting) for i, setting in enumerate(WEIGHTED) for j in range(2)],
)
def test_an_integer_weight_equals_copies(kind, setting):
    X, y = data_for(kind, 200)
    weight = weights("whole", 200)
    parameters = {"n_estimators": 4, "random_state": 0} | WEIGHTED[setting]
    model = kind(**parameters).fit(X, y, sample_weight=weight)
    copies = kind(**parameters).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert predictions(model, X).tobytes() == predictions(copies, X).tobytes()
    assert np.array_equal(model.feature_importances_, copies.feature_importances_)
    assert not np.array_equal(predictions(model, X), predictions(kind(**parameters).fit(X, y), X))


@pytest.mark.parametrize("bootstrap", [True, False])
def test_an_integer_weight_equals_copies_in_a_large_table(bootstrap):
    X, y = classes(3500)
    model = RandomForestClassifier(3, bootstrap=bootstrap, random_state=0)
    weighted = predictions(model.fit(X, y, sample_weight=np.full(3500, 2)), X)
    assert np.array_equal(predictions(model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)), X), weighted)


@QUICK
@given(st.permutations(range(25)), st.lists(st.integers(0, 3), min_size=25, max_size=25))
def test_integer_weights_equal_copies_in_any_order(order, weight):
    X, y = numbers(25)
    weight = np.array(weight)
    weight[0] += 1
    for kind in (RandomForestRegressor, ExtraTreesRegressor):
        model = kind(3, max_features=2, random_state=1).fit(X[order], y[order], sample_weight=weight[order])
        copies = kind(3, max_features=2, random_state=1).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        assert np.array_equal(model.predict(X), copies.predict(X))


@pytest.mark.parametrize(("bootstrap", "weighting"), [(True, "whole"), (False, "real")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_zero_is_no_row(kind, bootstrap, weighting):
    X, y = data_for(kind, 300)
    weight = weights(weighting, 300) * (np.arange(300) % 3 > 0)
    kept = weight > 0
    X_far = np.where(kept[:, np.newaxis], X, 1e6)
    model = kind(5, bootstrap=bootstrap, random_state=0).fit(X_far, y, sample_weight=weight)
    others = kind(5, bootstrap=bootstrap, random_state=0).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert bits(model) == bits(others)
    assert predictions(model, X).tobytes() == predictions(others, X).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_are_none(kind):
    X, y = data_for(kind, 200)
    plain = kind(5, random_state=0).fit(X, y)
    assert bits(kind(5, random_state=0).fit(X, y, sample_weight=np.ones(200))) == bits(plain)
    assert bits(kind(5, random_state=0).fit(X, y, sample_weight=1)) == bits(plain)


# --- warm starts


WARM_STARTS = {
    "default": {},
    "few rows": {"bootstrap": True, "max_samples": 0.5},
    "few leaves": {"max_leaf_nodes": 12},
    "few columns": {"max_features": 2, "min_samples_leaf": 3},
}


@pytest.mark.parametrize(
    ("kind", "setting"),
    [(KINDS[(i + j) % 4], setting) for i, setting in enumerate(WARM_STARTS) for j in range(2)],
)
def test_warm_start_gives_the_trees_of_one_fit(kind, setting):
    X, y = data_for(kind)
    parameters = {"n_estimators": 10, "random_state": 4} | WARM_STARTS[setting]
    whole = kind(**parameters).fit(X, y)
    grown = kind(**parameters | {"n_estimators": 5}, warm_start=True).fit(X, y)
    first = bits(grown)
    assert grown.model_.forest.n_trees == 5
    grown.set_params(n_estimators=10).fit(X, y)
    assert bits(grown) == bits(whole) != first
    assert predictions(grown, X).tobytes() == predictions(whole, X).tobytes()
    assert np.array_equal(grown.feature_importances_, whole.feature_importances_)
    assert bits(grown.fit(X, y)) == bits(whole)  # as many trees as there are: nothing to do


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_gives_the_out_of_bag_predictions_of_one_fit(kind):
    X, y = data_for(kind)
    parameters = {"bootstrap": True, "oob_score": True, "random_state": 4}
    whole = kind(30, **parameters).fit(X, y)
    grown = kind(20, **parameters | {"oob_score": False}, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=30, oob_score=True).fit(X, y)
    for name in vars(whole).keys() & set(kind._oob_names):
        mine, theirs = getattr(grown, name), getattr(whole, name)
        if name == "oob_losses_":
            for part in ("losses", "products", "counts", "differences"):
                assert np.array_equal(getattr(mine, part), getattr(theirs, part)), part
        else:
            assert np.array_equal(mine, theirs), name


def test_warm_start_joins_trees_with_and_without_sets():
    table, y = frame(200)
    table["colour"] = pd.Categorical(np.where(np.arange(200) % 50, "red", "blue"))  # hardly ever split on
    parameters = {"max_leaf_nodes": 3, "max_features": 1, "random_state": 0}
    whole = ExtraTreesRegressor(12, **parameters).fit(table, y)
    has_sets = np.diff(whole.model_.forest.set_starts) > 0
    assert 0 < has_sets.sum() < 12
    grown = ExtraTreesRegressor(1, **parameters, warm_start=True)
    for n_trees in range(1, 13):
        grown.set_params(n_estimators=n_trees).fit(table, y)
    assert bits(grown) == bits(whole)


def test_warm_start_keeps_the_seed_with_weights():
    X, y = numbers()
    weight = weights("real", 300)
    model = RandomForestRegressor(4, warm_start=True).fit(X, y, weight)
    first = predictions(model, X) * 4
    drawn = bag_counts(model)
    model.set_params(n_estimators=6, random_state=1).fit(X, y, weight)
    assert np.array_equal(bag_counts(model)[:4], drawn)
    again = RandomForestRegressor(6, random_state=model._seed).fit(X, y, weight)
    assert bits(again) == bits(model)
    assert not np.allclose(predictions(model, X) * 6, first)


# --- seeds


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_seeds_make_other_forests_and_the_same_again(kind, bootstrap):
    X, y = data_for(kind)

    def fitted(seed):
        return bits(kind(4, bootstrap=bootstrap, max_features=2, random_state=seed).fit(X, y))

    assert fitted(1) == fitted(1)
    assert fitted(np.random.RandomState(1)) == fitted(np.random.RandomState(1))
    assert fitted(1) != fitted(2)
    assert fitted(None) != fitted(None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_tree_is_its_own(kind):
    X, y = data_for(kind)
    forest = kind(10, random_state=0, max_features=2).fit(X, y).model_.forest
    trees = {forest.nodes[a:b].tobytes() for a, b in zip(forest.starts[:-1], forest.starts[1:], strict=True)}
    assert len(trees) == 10


def test_random_forests_and_extra_trees_differ():
    X, score = signal()
    y = score > 0
    forests = [
        kind(4, bootstrap=False, random_state=0).fit(X, y)
        for kind in (RandomForestClassifier, ExtraTreesClassifier)
    ]
    assert bits(forests[0]) != bits(forests[1])
