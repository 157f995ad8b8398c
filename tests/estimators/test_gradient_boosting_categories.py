"""Columns of many categories: `max_categories_for_sets`."""

import pickle

import numpy as np
import pandas as pd
import pytest

import hedgerow
from boosting_cases import same_forests

ROWS, TOWNS = 600, 40
FEW = {"n_estimators": 6, "max_categories_for_sets": 10, "min_samples_leaf": 5, "random_state": 3}
REGRESSOR, CLASSIFIER = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier


def towns(seed=0, n=ROWS):
    """Numbers, a column of many categories, some missing, and a target that depends on both."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, TOWNS, n)
    effect = np.random.default_rng(99).normal(size=TOWNS)
    X = pd.DataFrame({"size": rng.normal(size=n)})
    names = np.array([f"t{number}" for number in range(TOWNS)], dtype=object)[town]
    names[rng.random(n) < 0.05] = None
    X["town"] = pd.Categorical(names)
    return X, effect[town] + X["size"].to_numpy() + 0.3 * rng.normal(size=n)


def cases():
    X, y = towns()
    yield "numbers", REGRESSOR(**FEW), X, y
    yield "folds", REGRESSOR(n_folds=2, subsample=0.7, **FEW), X, y
    yield "line search", REGRESSOR("absolute_error", **FEW), X, y
    yield "two classes", CLASSIFIER(n_folds=2, **FEW), X, y > 0
    yield "three classes", CLASSIFIER(n_folds=2, **FEW), X, np.digitize(y, [-1, 1])


CASES = {name: case for name, *case in cases()}


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("name", CASES)
def test_the_bits_do_not_depend_on_threads_and_chunks(name):
    model, X, y = CASES[name]
    one = type(model)(**model.get_params() | {"n_jobs": 1}).fit(X, y)
    two = type(model)(**model.get_params() | {"n_jobs": 2})
    two._chunk_rows = 101
    two.fit(X, y)
    assert same_forests(one, two)
    assert np.array_equal(scores(one, X), scores(two, X))


@pytest.mark.parametrize("name", CASES)
def test_a_warm_start_and_files_continue_the_fit(name, tmp_path):
    model, X, y = CASES[name]
    whole = type(model)(**model.get_params()).fit(X, y)
    part = type(model)(**model.get_params() | {"n_estimators": 3, "warm_start": True}).fit(X, y)
    hedgerow.save(part, tmp_path / "part")
    part = pickle.loads(pickle.dumps(hedgerow.load(tmp_path / "part")))  # noqa: S301 - our own
    part.set_params(n_estimators=6).fit(X, y)
    assert same_forests(whole, part)
    hedgerow.save(part, tmp_path / "whole")
    new, _ = towns(1)
    assert np.array_equal(scores(whole, new), scores(hedgerow.load(tmp_path / "whole"), new))


def test_a_checkpoint_resumes_the_fit(tmp_path):
    X, y = towns()
    model = REGRESSOR(n_folds=2, **FEW)
    whole = REGRESSOR(n_folds=2, **FEW).fit(X, y)
    path = tmp_path / "fit"
    model.fit(X, y, checkpoint=hedgerow.Checkpoint(path, rounds=1), callbacks=[lambda done: done.number == 2])
    model.fit(X, y, checkpoint=path)
    assert same_forests(whole, model)


def test_it_is_better_than_sets_where_categories_are_many():
    X, y = towns(n=400)
    new, target = towns(1, n=2000)
    losses = [
        np.mean(
            (target - REGRESSOR(n_estimators=60, max_categories_for_sets=most).fit(X, y).predict(new)) ** 2
        )
        for most in (None, 10)
    ]
    assert losses[1] < 0.7 * losses[0]


def test_missing_and_unknown_categories_are_on_the_side_of_the_prior():
    X, y = towns()
    model = REGRESSOR(**FEW | {"n_estimators": 1, "max_leaf_nodes": 2, "learning_rate": 1.0})
    X, y = X[["town"]], y + 10.0 * (X["town"] == "t5")  # one category has a far larger mean
    model.fit(X, y)
    unknown = pd.DataFrame({"town": pd.Categorical(["nowhere", None, "t1", "t5"])})
    predicted = model.predict(unknown)
    assert predicted[0] == predicted[1] == predicted[2] < predicted[3]


def test_importances_and_shapes_are_of_the_columns_of_the_table():
    X, y = towns()
    labels = np.digitize(y, [-1, 1])
    model = CLASSIFIER(max_leaf_nodes=2, **FEW).fit(X, labels)
    assert model.model_.bins.sources.tolist() == [0, 1, 1, 1]
    assert model.feature_importances_.shape == (2,)
    assert model.feature_importances_.min() > 0.1
    assert np.allclose(model.shape_functions().scores(X), model.decision_function(X).T)
    alone = CLASSIFIER(interaction_cst="no_interactions", **FEW).fit(X, labels)
    forest = alone.model_.forest
    for tree in range(forest.n_trees):
        nodes = slice(*forest.starts[tree : tree + 2])
        used = forest.column[nodes][forest.left[nodes] > 0]
        assert len(set(np.minimum(used, 1).tolist())) <= 1  # columns 1 to 3 are one column of the table


def test_rows_of_weight_zero_are_no_rows():
    X, y = towns()
    weight = np.ones(ROWS)
    weight[::7] = 0.0
    kept = weight > 0
    one = REGRESSOR(**FEW).fit(X, y, sample_weight=weight)
    two = REGRESSOR(**FEW).fit(X[kept], y[kept])
    assert same_forests(one, two)


def test_errors():
    X, y = towns()
    with pytest.raises(ValueError, match="max_categories_for_sets=-1 is not allowed: it must be an integer"):
        REGRESSOR(max_categories_for_sets=-1).fit(X, y)
    model = REGRESSOR(warm_start=True, **FEW).fit(X, y)
    model.set_params(max_categories_for_sets=None, n_estimators=9)
    with pytest.raises(ValueError, match="max_categories_for_sets=None cannot continue the fitted model"):
        model.fit(X, y)


def test_it_changes_nothing_without_such_columns():
    X, y = towns()
    X = X[["size"]]
    other = REGRESSOR(**FEW | {"max_categories_for_sets": None}).fit(X, y)
    assert same_forests(REGRESSOR(**FEW).fit(X, y), other)


def is_coded(model):
    return bool(model.model_.bins.by_statistic.any())


@pytest.mark.parametrize(("kind", "least"), [(CLASSIFIER, 1000), (REGRESSOR, 3000)])
def test_auto_codes_columns_of_many_categories_if_there_are_enough_rows(kind, least):
    X, y = towns(n=least + 1)
    y = y > 0 if kind is CLASSIFIER else y
    one = {"n_folds": 2, "max_leaf_nodes": 2, "learning_rate": 0.5, "tol": 0.1}
    weight = np.ones(least + 1)
    weight[:2] = 0.0  # rows of weight zero are not counted
    assert is_coded(kind(**one).fit(X, y))
    assert not is_coded(kind(**one).fit(X, y, sample_weight=weight))
    assert not is_coded(kind(**one | {"max_categories_for_sets": None}).fit(X, y))
    assert not is_coded(kind(**one | {"max_categories_for_sets": TOWNS}).fit(X, y))
    assert not is_coded(kind(n_estimators=3).fit(X, y))
    few = X.assign(town=X["town"].where(X["town"].cat.codes < 32).cat.remove_unused_categories())
    assert few["town"].nunique() == 32
    assert not is_coded(kind(**one).fit(few, y))


def test_auto_continues_with_the_columns_of_the_model():
    X, y = towns(n=3100)
    few = X[:900], y[:900]
    options = {"n_folds": 2, "max_leaf_nodes": 3, "warm_start": True}
    coded = REGRESSOR(early_stopping=True, max_categories_for_sets=10, n_estimators=2, **options).fit(X, y)
    coded.set_params(max_categories_for_sets="auto", n_estimators=4).fit(X, y)
    same = REGRESSOR(early_stopping=True, max_categories_for_sets=10, n_estimators=4, **options).fit(X, y)
    assert same_forests(coded, same)
    assert is_coded(coded)
    sets = REGRESSOR(tol=0.3, **options).fit(*few)
    assert not is_coded(sets)
    n_rounds = sets.n_estimators_
    sets.set_params(tol=1e-3).fit(X, y)
    assert not is_coded(sets)
    assert sets.n_estimators_ > n_rounds


@pytest.mark.parametrize("n_classes", [None, 3])
def test_a_warm_start_with_other_rows_predicts_them_as_it_was_fitted(n_classes, tmp_path):
    def data(seed, sign):
        X, y = towns(seed, n=2000)
        size = X["size"].to_numpy()
        y = size + sign * (y - size)  # the effects of the towns, which the codes are in the order of
        return X, y if n_classes is None else np.digitize(y, [-1, 1])

    kind = REGRESSOR if n_classes is None else CLASSIFIER
    first, other, new = data(0, 1), data(1, -1), data(2, -1)
    model = kind(warm_start=True, **FEW | {"n_estimators": 20}).fit(*first)
    model = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    before = model.score(*new)
    model.set_params(n_estimators=60).fit(*other, eval_set=other)
    alone = kind(**FEW | {"n_estimators": 40}).fit(*other)
    assert is_coded(model)
    assert model.score(*new) > before + 0.9 * (alone.score(*new) - before)
    hedgerow.save(model, tmp_path / "model")
    assert np.array_equal(scores(model, new[0]), scores(hedgerow.load(tmp_path / "model"), new[0]))
    again = hedgerow.load(tmp_path / "model").set_params(n_estimators=80, warm_start=True).fit(*other)
    assert again.score(*new) > model.score(*new) - 0.02
