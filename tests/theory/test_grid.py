"""quantile_grid: the edges a learner would find, from rows that are set aside for it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from hedgerow import AdaBoostClassifier, DecisionStump, ExtraTreesClassifier, RandomForestClassifier
from hedgerow.theory.grid import quantile_grid


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("max_bins", [2, 16, 255, 1000])
def test_a_learner_on_the_grid_of_its_own_rows_is_the_learner_without_a_grid(max_bins):
    X, y = rows()
    X[::7, 1] = np.nan
    grid = quantile_grid(X, max_bins)
    assert [edges.dtype for edges in grid] == [np.float64] * 3
    plain = AdaBoostClassifier(DecisionStump(max_bins=max_bins), n_estimators=5).fit(X, y)
    fixed = AdaBoostClassifier(DecisionStump(max_bins=max_bins, bin_edges=grid), n_estimators=5).fit(X, y)
    assert fixed.model_.bins.edges.tobytes() == plain.model_.bins.edges.tobytes()
    assert fixed.decision_function(X).tobytes() == plain.decision_function(X).tobytes()


def test_every_bin_has_about_as_many_rows():
    X, _ = rows(1000)
    for column, edges in zip(X.T, quantile_grid(X, 10), strict=True):
        assert np.bincount(np.searchsorted(edges, column)).tolist() == [100] * 10


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_grid_from_rows_set_aside_does_not_move_with_the_training_rows(kind):
    X, y = rows()
    grid = quantile_grid(X[:100])
    first, second = (
        kind(5, random_state=0, bin_edges=grid).fit(X[part], y[part])
        for part in (slice(100, 250), slice(250, 400))
    )
    assert first.model_.bins.edges.tolist() == second.model_.bins.edges.tolist()
    assert first.model_.bins.edges.tolist() == np.concatenate(grid).tolist()
    assert first.model_.bins.user_defined.all()
    assert first.score(X[250:], y[250:]) > 0.8


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_categorical_columns_have_no_edges(library):
    X, y = rows()
    table = library({"size": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "blue"), "width": X[:, 2]})
    grid = quantile_grid(table, 8, categorical_features=["colour"])
    assert [None if edges is None else len(edges) for edges in grid] == [7, None, 7]
    model = DecisionStump(bin_edges=grid, categorical_features=["colour"]).fit(table, y)
    assert model.model_.bins.user_defined.tolist() == [1, 0, 1]
    typed = pd.DataFrame({"size": X[:, 0], "colour": pd.Categorical(np.where(X[:, 1] > 0, "r", "b"))})
    assert quantile_grid(typed)[1] is None


def test_odd_columns():
    X = np.column_stack([np.full(6, 3.0), np.full(6, np.nan), [-np.inf, -np.inf, 1, 2, np.inf, np.inf]])
    constant, missing, infinite = quantile_grid(X)
    assert constant.tolist() == missing.tolist() == []
    assert infinite.tolist() == [1.5, 2.0]  # finite, as bin_edges must be
    DecisionStump(bin_edges=quantile_grid(X)).fit(X, [0, 1, 0, 1, 0, 1])


def test_sparse_rows_give_the_grid_of_dense_ones():
    X = sparse.random_array((200, 5), density=0.3, rng=np.random.default_rng(0), format="csr")
    for one, other in zip(quantile_grid(X), quantile_grid(X.toarray()), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("max_bins", [1, 65_536, 8.0, None, "many"])
def test_a_wrong_number_of_bins_is_named(max_bins):
    with pytest.raises(
        ValueError, match=r"max_bins=.* is not allowed: it must be an integer from 2 to 65535"
    ):
        quantile_grid(np.zeros((3, 2)), max_bins)


def test_rows_are_checked_as_everywhere():
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\).*required by quantile_grid"):
        quantile_grid(np.empty((0, 2)))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        quantile_grid(np.arange(3.0))
