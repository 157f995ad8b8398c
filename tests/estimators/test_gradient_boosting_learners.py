"""Weak learners of other libraries, and line searches for trees."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from boosting_cases import classes, classifier, numbers, regressor
from hedgerow import GradientBoostingRegressor
from hedgerow.backends.cpu import order_steps
from hedgerow.growing.grower import GrownTree
from hedgerow.kernels.cpu.records import NODE

ANY = [
    Ridge(),
    DecisionTreeRegressor(max_depth=3),
    KNeighborsRegressor(20),
    make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
    GradientBoostingRegressor(n_estimators=2),
]


@pytest.mark.parametrize("estimator", ANY, ids=lambda e: type(e).__name__)
def test_any_regressor_is_a_weak_learner(estimator):
    X, y = numbers(600)
    model = regressor(estimator=estimator, learning_rate=0.5).fit(X[:400], y[:400])
    rule = model.loss_
    losses = [rule.mean_loss(y[:400], raw, None) for raw in model._staged_raw(X[:400])]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] < rule.mean_loss(y[:400], np.full((1, 400), model.model_.start[0]), None)
    assert model.score(X[400:], y[400:]) > 0.2
    assert [len(members) for members in model.model_.members] == [1] * 10


@pytest.mark.parametrize(("estimator", "n_classes"), [(ANY[0], 3), (ANY[1], 2)])
def test_any_regressor_boosts_a_classifier(estimator, n_classes):
    X, y = classes(600, n_classes)
    model = classifier(estimator=estimator).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 1.3 / n_classes
    assert [len(members) for members in model.model_.members] == [1 if n_classes == 2 else 3] * 10


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson"])
def test_any_regressor_with_any_loss(loss):
    X, y = numbers()
    y = np.exp(y)
    model = regressor(estimator=DecisionTreeRegressor(max_depth=3), loss=loss, learning_rate=0.5).fit(X, y)
    losses = [model.loss_.mean_loss(y, raw, None) for raw in model._staged_raw(X)]
    assert losses[-1] < losses[0]


def test_the_line_search_sets_the_step():
    # The direction is right, its length is far too small: one line search corrects it.
    class Timid(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.inner_ = LinearRegression().fit(X, y)
            return self

        def predict(self, X):
            return 1e-6 * self.inner_.predict(X)

    X, y = numbers()
    timid = regressor(estimator=Timid(), learning_rate=1.0, n_estimators=1).fit(X, y)
    np.testing.assert_allclose(timid.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-6)
    assert timid.model_.steps[0] == pytest.approx(1e6)


def test_least_squares_residuals_are_what_it_fits():
    X, y = numbers()
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    model = regressor(estimator=tree, learning_rate=0.5, n_estimators=2).fit(X, y)
    first = y.mean() + 0.5 * tree.fit(X, y - y.mean()).predict(X)
    wanted = first + 0.5 * tree.fit(X, y - first).predict(X)
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-9)


def test_weights_go_to_the_learner_and_zero_is_no_row():
    X, y = numbers()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    kept = weight > 0
    weighted = regressor(estimator=Ridge()).fit(X, y, weight)
    dropped = regressor(estimator=Ridge()).fit(X[kept], y[kept], weight[kept])
    repeated = regressor(estimator=Ridge()).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.array_equal(weighted.predict(X), dropped.predict(X))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    assert not np.allclose(weighted.predict(X), regressor(estimator=Ridge()).fit(X, y).predict(X))


@pytest.mark.parametrize("estimator", [KNeighborsRegressor(), ANY[3]], ids=lambda e: type(e).__name__)
def test_a_learner_without_sample_weight_is_refused_with_weights(estimator):
    X, y = numbers()
    with pytest.raises(
        ValueError, match=r"estimator=(?s:.)* has no sample_weight in its fit, but rows have weights"
    ):
        regressor(estimator=estimator).fit(X, y, np.ones(len(y)))
    Xc, yc = classes()
    with pytest.raises(ValueError, match="do not pass sample_weight or class_weight"):
        classifier(estimator=estimator, class_weight="balanced").fit(Xc, yc)


def test_members_are_random_by_the_seed_of_the_ensemble():
    X, y = numbers()
    for estimator in (ExtraTreeRegressor(max_depth=3), make_pipeline(ExtraTreeRegressor(max_depth=3))):
        make = partial(regressor, estimator=estimator, n_estimators=6)
        one, same, other = (make(random_state=seed).fit(X, y) for seed in (1, 1, 2))
        assert np.array_equal(one.predict(X), same.predict(X))
        assert not np.array_equal(one.predict(X), other.predict(X))
        roots = [members[0] for members in one.model_.members]
        trees = [member if isinstance(member, ExtraTreeRegressor) else member[-1] for member in roots]
        assert len({float(tree.tree_.threshold[0]) for tree in trees}) > 3  # not one seed for all
    assert estimator[-1].random_state is None  # the user's object is not changed


def test_subsample_draws_rows_for_the_learner():
    class Counting(LinearRegression):
        rows = []  # noqa: RUF012 - shared on purpose: members are clones

        def fit(self, X, y, sample_weight=None):
            self.rows.append(len(y))
            return super().fit(X, y, sample_weight)

    X, y = numbers()
    model = regressor(estimator=Counting(), subsample=0.5, random_state=0).fit(X, y)
    assert len(Counting.rows) == 10
    assert all(110 < n < 190 for n in Counting.rows)
    assert len(set(Counting.rows)) > 3
    same = regressor(estimator=Counting(), subsample=0.5, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(X), same.predict(X))


def test_early_stopping_holds_rows_back_from_the_learner():
    X, y = numbers(noise=1.0)
    model = regressor(
        estimator=DecisionTreeRegressor(max_depth=6),
        n_estimators=40,
        learning_rate=0.5,
        early_stopping=True,
        random_state=0,
    ).fit(X, y)
    assert model.n_estimators_ == model.best_iteration_ + 1 < 40
    assert len(model.history_["validation_loss"]) == model.n_estimators_ + 10
    assert model.model_.members[0][0].tree_.n_node_samples[0] == 270


def frames(X):
    names = list("abcd")
    yield pd.DataFrame(X, columns=names)
    yield pl.DataFrame(X, schema=names)
    yield pa.table(dict(zip(names, X.T, strict=True)))
    yield X.tolist()
    yield sparse.csr_matrix(X)
    yield sparse.coo_matrix(X)


def test_the_learner_receives_x_unchanged():
    X, y = numbers()
    X[np.abs(X) < 0.3] = 0.0
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    for parameters in ({}, {"subsample": 0.5, "early_stopping": True}):
        make = partial(
            regressor, estimator=Ridge(solver="lsqr"), n_estimators=3, random_state=0, **parameters
        )
        wanted = make().fit(X, y, weight).predict(X)
        for table in frames(X):
            predicted = make().fit(table, y, weight).predict(table)
            np.testing.assert_allclose(predicted, wanted, rtol=1e-4, atol=1e-4)


def test_a_column_transformer_by_names():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    scaled = make_column_transformer((StandardScaler(), ["a", "b"]), remainder="drop")
    model = regressor(estimator=make_pipeline(scaled, Ridge()), n_estimators=3).fit(frame, y)
    wanted = regressor(estimator=Ridge(), n_estimators=3).fit(X[:, :2], y).predict(X[:, :2])
    np.testing.assert_allclose(model.predict(frame), wanted, atol=0.02)


def test_a_learner_of_two_dimensions_is_flattened():
    class Column(LinearRegression):
        def predict(self, X):
            return super().predict(X)[:, None]

    X, y = numbers()
    assert np.array_equal(
        regressor(estimator=Column()).fit(X, y).predict(X),
        regressor(estimator=LinearRegression()).fit(X, y).predict(X),
    )


def test_a_learner_that_predicts_nothing_useful_is_named():
    class Broken(LinearRegression):
        def predict(self, X):
            return np.full(len(X), np.nan)

    X, y = numbers()
    with pytest.raises(ValueError, match=r"estimator=Broken\(\) predicted a value that is not finite"):
        regressor(estimator=Broken()).fit(X, y)


def test_a_learner_without_correlation_has_step_zero():
    X, _ = numbers()
    model = regressor(estimator=Ridge()).fit(X, np.full(len(X), 3.0))
    assert np.array_equal(model.predict(X), np.full(len(X), 3.0))
    assert model.model_.steps == [0.0] * 10


def test_methods_of_trees_raise_for_other_learners():
    X, y = numbers()
    model = regressor(estimator=Ridge()).fit(X, y)
    for call in (lambda: model.apply(X), model.importances):
        with pytest.raises(
            AttributeError, match="needs trees, and this model was fitted with estimator=Ridge"
        ):
            call()
    assert not hasattr(model, "feature_importances_")


# --- steps of a line search under monotonic constraints


def small_tree():
    """Three leaves: column 0 parts [a | b c], column 1 parts [b | c]; 10, 20 and 30 rows."""
    nodes = np.zeros(5, NODE)
    nodes["left"] = [1, 0, 3, 0, 0]
    nodes["start"], nodes["stop"] = [0, 0, 10, 10, 30], [60, 10, 60, 30, 60]
    nodes["count"] = nodes["stop"] - nodes["start"]
    nodes["split"]["column"] = [0, 0, 1, 0, 0]
    leaves, starts = np.array([1, 3, 4]), np.array([0, 10, 30, 60])
    return GrownTree(nodes, leaves, np.arange(60, dtype=np.uint32), starts)


@pytest.mark.parametrize(
    ("directions", "steps", "wanted"),
    [
        ([1, 1], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),  # in order: nothing moves
        ([1, 0], [1.0, 3.0, 2.0], [1.0, 3.0, 2.0]),  # column 1 is free
        ([0, 1], [9.0, 3.0, 2.0], [9.0, 2.4, 2.4]),  # (20 * 3 + 30 * 2) / 50
        ([0, -1], [9.0, 3.0, 2.0], [9.0, 3.0, 2.0]),
        ([1, 0], [4.0, 1.0, 5.0], [2.0, 2.0, 5.0]),  # (10 * 4 + 20 * 1) / 30; the third does not overlap
        ([-1, 0], [4.0, 1.0, 5.0], [4.75, 1.0, 4.75]),  # (10 * 4 + 30 * 5) / 40
        ([1, 1], [6.0, 3.0, 0.0], [2.0, 2.4, 2.4]),  # all three about 2, then (20 * 3 + 30 * 2) / 50
        ([1, -1], [4.0, 1.0, 5.0], [2.0, 3.8, 3.8]),  # then (20 * 2 + 30 * 5) / 50
    ],
)
def test_edges_of_steps_are_sorted(directions, steps, wanted):
    values = np.array(steps)
    order_steps(values, small_tree(), np.array(directions, np.int8))
    np.testing.assert_allclose(values, wanted)
