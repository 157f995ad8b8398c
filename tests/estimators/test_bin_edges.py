"""Bin edges passed by the user: every estimator uses them unchanged; pickles and warm starts keep them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from bin_edges_cases import BOOSTED, GRID, NAN, WEAK, boosted, cuts, found_edges, problem, same, tree_model
from forest_cases import KINDS, data_for, predictions
from forest_cases import classes as forest_classes
from hedgerow import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionStump,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.binning import Bins, find_bins
from hedgerow.estimators.decision_trees import DecisionTreeClassifier
from hedgerow.io import load, save
from hedgerow.table import read_table
from hedgerow.threads import Team

# --- edges at quantiles, passed by the user


@pytest.mark.parametrize("kind", WEAK)
def test_a_weak_learner_with_the_edges_it_would_find_is_the_same(kind):
    X, y = problem(kind())
    for max_bins in (7, 255, 1000):
        model = kind(max_bins=max_bins, bin_edges=found_edges(X, max_bins)).fit(X, y)
        assert same(model, kind(max_bins=max_bins).fit(X, y))


@pytest.mark.parametrize("model", BOOSTED, ids=lambda model: type(model).__name__)
def test_a_boosted_learner_with_the_edges_it_would_find_is_the_same(model):
    X, y = problem(model)
    with_edges, plain = boosted(model, bin_edges=found_edges(X)).fit(X, y), clone(model).fit(X, y)
    assert same(with_edges, plain)
    assert tree_model(with_edges).bins.user_defined.tolist() == [1, 1, 1, 1]
    assert with_edges.predict(X).tolist() == plain.predict(X).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_with_the_edges_it_would_find_is_the_same(kind):
    X, y = data_for(kind)
    model = kind(n_estimators=5, random_state=0, bin_edges=found_edges(X)).fit(X, y)
    assert same(model, kind(n_estimators=5, random_state=0).fit(X, y))
    assert model.model_.bins.user_defined.tolist() == [1] * X.shape[1]


def test_by_default_no_edges_are_defined_by_the_user():
    X, y = problem()
    model = DecisionStump().fit(X, y)
    assert model.model_.bins.user_defined.tolist() == [0, 0, 0, 0]
    assert model.model_.bins.user_defined.dtype == np.uint8


# --- edges are used as they are


@pytest.mark.parametrize("kind", WEAK)
def test_thresholds_are_edges_of_the_user(kind):
    X, y = problem(kind())
    model = kind(bin_edges=GRID).fit(X, y)
    assert cuts(model)
    assert cuts(model) <= {*GRID, np.inf}
    assert model.model_.bins.edges.tolist() == GRID * 4
    assert model.model_.bins.edges.dtype == np.float64


@pytest.mark.parametrize("model", BOOSTED, ids=lambda model: type(model).__name__)
def test_thresholds_of_every_round_are_edges_of_the_user(model):
    X, y = problem(model)
    edges = [GRID, [0.0], [], None]
    fitted = boosted(model, bin_edges=edges).fit(X, y)
    forest, bins = tree_model(fitted).forest, tree_model(fitted).bins
    assert bins.user_defined.tolist() == [1, 1, 1, 0]
    assert [bins.edges_of(column).tolist() for column in range(3)] == edges[:3]
    assert bins.edges_of(3).tolist() == found_edges(X)[3].tolist()
    inner = forest.left > 0
    thresholds = forest.thresholds(bins)
    for column, allowed in enumerate(edges[:3]):
        assert set(thresholds[inner & (forest.column == column)].tolist()) <= {*allowed, np.inf}


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_predicts_the_same_between_two_edges(kind):
    X, y = data_for(kind)
    model = kind(n_estimators=5, random_state=0, bin_edges=GRID).fit(X, y)
    assert model.model_.bins.edges.tolist() == GRID * X.shape[1]
    middles = np.array([-2.0, -0.5, 0.0, 1.0, 9.0])
    moved = np.where(np.isnan(X), NAN, middles[np.searchsorted(GRID, X)])
    assert predictions(model, moved).tolist() == predictions(model, X).tolist()
    assert len(np.unique(predictions(model, X), axis=0)) > 2


def test_values_at_an_edge_go_left():
    X, y = np.array([[1.0], [2.0], [2.5], [3.0]]), [0, 0, 1, 1]
    model = DecisionStump(bin_edges=[2.0]).fit(X, y)
    assert model.threshold_ == 2.0
    assert model.predict([[2.0], [np.nextafter(2.0, 3.0)]]).tolist() == [0, 1]


def test_the_edges_stay_when_rows_have_few_values():
    model = DecisionStump(bin_edges=[0.1, 0.2, 0.7, 5.0]).fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert model.model_.bins.edges.tolist() == [0.1, 0.2, 0.7, 5.0]
    assert model.threshold_ in (0.1, 0.2, 0.7)
    assert model.score([[0.0], [1.0]], [0, 1]) == 1.0


def test_without_edges_a_column_is_never_cut():
    X, y = problem()
    X = np.nan_to_num(X)
    assert str(DecisionStump(bin_edges=[]).fit(X, y)) in ("always 0", "always 1")
    X[:, 2] = np.where(y == 1, NAN, X[:, 2])
    model = DecisionStump(bin_edges=[]).fit(X, y)
    assert str(model) == "x2 present: 0, missing: 1"
    assert model.score(X, y) == 1.0
    forest = RandomForestClassifier(5, bin_edges=[], random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.9


def test_infinite_values_lie_beyond_all_edges():
    X, y = np.array([[-np.inf], [0.0], [1.0], [np.inf]]), [0, 0, 1, 1]
    assert DecisionStump(bin_edges=[-5.0, 0.5, 5.0]).fit(X, y).threshold_ == 0.5
    assert DecisionStump(bin_edges=[5.0]).fit(X, [0, 0, 0, 1]).predict(X).tolist() == [0, 0, 0, 1]


def test_edges_of_the_user_do_not_depend_on_rows():
    X, y = problem()
    weight = (np.arange(len(X)) % 3).astype(float)
    model = AdaBoostClassifier(DecisionStump(bin_edges=GRID), n_estimators=3)
    assert clone(model).fit(X, y, weight).model_.bins.edges.tolist() == GRID * 4
    assert clone(model).fit(X[:10], y[:10]).model_.bins.edges.tolist() == GRID * 4


def test_sparse_columns_give_the_same_model():
    X = sparse.random_array((300, 30), density=0.03, rng=np.random.default_rng(0), format="csr")
    y = np.asarray(X.sum(axis=1) > 0.4).astype(int)
    edges = [[-1.0, 0.0, 0.25, 0.5, 2.0]] * 30
    for kind in (RandomForestClassifier, DecisionStump):
        other = {"random_state": 0, "n_estimators": 4} if kind is RandomForestClassifier else {}
        model = kind(bin_edges=edges, **other).fit(X, y)
        assert same(model, kind(bin_edges=edges, **other).fit(X.toarray(), y))
        assert model.predict(X).tolist() == model.predict(X.toarray()).tolist()
        assert set(model.predict(X).tolist()) == {0, 1}


@pytest.mark.parametrize("kind", [*WEAK, *KINDS])
def test_any_number_of_threads_gives_the_same_arrays(kind):
    X, y = problem(kind(), n_rows=6000)
    others = {"n_estimators": 3, "random_state": 0} if kind in KINDS else {}
    edges = [GRID, None, found_edges(X[:500])[2], []]
    one, two = (kind(bin_edges=edges, n_jobs=n, **others).fit(X, y) for n in (1, 2))
    assert same(one, two)
    assert one.model_.bins.user_defined.tolist() == two.model_.bins.user_defined.tolist() == [1, 0, 1, 1]


def test_found_and_user_defined_edges_do_not_depend_on_threads():
    X = np.random.default_rng(0).normal(size=(30_000, 9))
    X[:, 4] = np.arange(30_000) % 300  # more categories than codes
    table = read_table(X, categorical_features=[4])
    edges = [None, np.array([0.5]), None, np.empty(0), None, None, np.array([-1.0, 1.0]), None, None]
    alone, plain = find_bins(table, user_edges=edges), find_bins(table)
    with Team(2) as team:
        together = find_bins(table, team=team, user_edges=edges)
    for name in ("edges", "edge_starts", "tables", "table_starts", "user_defined"):
        assert getattr(alone, name).tobytes() == getattr(together, name).tobytes()
    assert alone.user_defined.tolist() == [0, 1, 0, 1, 0, 0, 1, 0, 0]
    for column in range(9):
        expected = plain.edges_of(column) if edges[column] is None else edges[column]
        assert alone.edges_of(column).tolist() == expected.tolist()
    assert alone.tables.tolist() == plain.tables.tolist()


def test_more_than_255_bins_when_the_learner_allows_it():
    X = np.arange(2000.0)[:, np.newaxis]
    y = (X[:, 0] > 1234).astype(int)
    model = DecisionStump(max_bins=2000, bin_edges=np.arange(1999.0)).fit(X, y)
    assert model.threshold_ == 1234.0


# --- parameters, pickles, warm starts


@pytest.mark.parametrize("kind", [*WEAK, *KINDS])
def test_parameters_are_not_changed_and_cloned(kind):
    X, y = problem(kind())
    for edges in ([np.array(GRID), None, [], [0.5]], {0: GRID}, np.array(GRID)):
        model = kind(bin_edges=edges)
        assert model.get_params()["bin_edges"] is edges
        assert kind().set_params(bin_edges=edges).bin_edges is edges
        others = {"n_estimators": 3, "random_state": 0} if kind in KINDS else {}
        model.set_params(**others).fit(X, y)
        assert model.bin_edges is edges
        assert same(clone(model).fit(X, y), model)
        assert "bin_edges=" in repr(model)


def test_later_changes_of_the_array_do_not_change_the_model():
    X, y = problem()
    edges = np.array(GRID)
    model = DecisionStump(bin_edges=edges).fit(X, y)
    edges += 10.0
    assert model.model_.bins.edges.tolist() == GRID * 4


@pytest.mark.parametrize(
    "model",
    [
        DecisionStump(bin_edges=GRID),
        RandomForestClassifier(3, random_state=0, bin_edges={1: GRID}),
        AdaBoostClassifier(DecisionStump(bin_edges=[GRID, None, [], GRID]), n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_pickles_keep_user_defined_edges(model):
    X, y = problem()
    fitted = clone(model).fit(X, y)
    read = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - our own
    assert same(read, fitted)
    assert read.model_.bins.user_defined.tolist() == fitted.model_.bins.user_defined.tolist()
    assert read.predict(X).tolist() == fitted.predict(X).tolist()


def test_bins_have_no_user_defined_edges_by_default():
    bins = Bins(np.array([0.5]), np.array([0, 1, 1]), np.empty(0, np.uint8), np.zeros(3, np.int64))
    assert bins.user_defined.tolist() == [0, 0]
    assert bins.with_user_defined(np.array([1, 0], np.uint8)).user_defined.tolist() == [1, 0]
    assert bins.user_defined.tolist() == [0, 0]


def test_user_defined_edges_are_not_in_model_files_of_gradient_boosting(tmp_path):
    X, y = problem()
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    assert model.model_.bins.user_defined.tolist() == [0, 0, 0, 0]
    save(model, tmp_path / "model.hedgerow")
    assert load(tmp_path / "model.hedgerow").model_.bins.user_defined.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("model", BOOSTED, ids=lambda model: type(model).__name__)
def test_warm_starts_of_boosting_need_the_same_edges(model):
    X, y = problem(model)
    edges = [GRID, None, [0.0], []]
    whole = boosted(model, bin_edges=edges).fit(X, y)
    resumed = boosted(model, bin_edges=edges).set_params(n_estimators=2, warm_start=True).fit(X, y)
    resumed.set_params(n_estimators=model.n_estimators).fit(X, y)
    assert same(resumed, whole)
    assert tree_model(resumed).bins.user_defined.tolist() == [1, 0, 1, 1]
    for other in (None, [GRID, None, [0.5], []], [GRID, None, None, []], [GRID, GRID, [0.0], []]):
        resumed.set_params(n_estimators=30, estimator__bin_edges=other)
        with pytest.raises(ValueError, match="must be those of the fitted model with warm_start=True"):
            resumed.fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_of_forests_need_the_same_edges(kind):
    X, y = data_for(kind)
    whole = kind(5, random_state=0, bin_edges=GRID).fit(X, y)
    resumed = kind(2, random_state=0, bin_edges=GRID, warm_start=True).fit(X, y)
    assert same(resumed.set_params(n_estimators=5).fit(X, y), whole)
    assert resumed.model_.bins.user_defined.tolist() == [1] * X.shape[1]
    with pytest.raises(ValueError, match="at least one of these has changed"):
        resumed.set_params(n_estimators=6, bin_edges=[0.0]).fit(X, y)


def test_members_of_an_ensemble_have_its_edges():
    X, y = problem()
    model = AdaBoostClassifier(DecisionStump(bin_edges=GRID), n_estimators=4).fit(X, y)
    for stump in model.estimators_:
        assert stump.bin_edges == GRID
        assert stump.threshold_ in (*GRID, np.inf)
        assert stump.model_.bins.user_defined.all()


def test_members_of_bagging_have_edges_for_all_or_named_columns():
    X, y = forest_classes()
    table = pd.DataFrame(X, columns=list("abcde"))
    for edges in (GRID, {"b": GRID, "d": [0.0]}):
        bag = BaggingClassifier(DecisionTreeClassifier(bin_edges=edges), n_estimators=4, random_state=0)
        bag.fit(table, y)
        for member in bag.estimators_:
            bins, names = member.model_.bins, list(member.feature_names_in_)
            found = {names[c]: bins.edges_of(c).tolist() for c in np.flatnonzero(bins.user_defined)}
            assert found == (edges if isinstance(edges, dict) else dict.fromkeys("abcde", GRID))
