"""Smoothed leaf values and leaf values by fold: whole fits, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import hedgerow
from boosting_cases import classes, numbers, same_forests
from hedgerow.backends.row_sampling import draw_positions
from hedgerow.kernels.cpu.random import LEAF_FOLDS, draw

REGRESSOR, CLASSIFIER = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
FEW = {"n_estimators": 6, "min_samples_leaf": 5, "random_state": 3}
SYMMETRIC = {"growth_policy": "symmetric", "max_leaf_nodes": None, "max_depth": 4}
MONOTONIC = {"monotonic_cst": [1, -1, 0, 0]}


def data(n_classes=None):
    return numbers(300) if n_classes is None else classes(300, n_classes)


OPTIONS = {
    "two classes": (CLASSIFIER, 2, {}),
    "three classes": (CLASSIFIER, 3, {"n_folds": 2, "max_leaf_step": 0.7}),
    "symmetric": (CLASSIFIER, 3, {**SYMMETRIC, "subsample": 0.7}),
    "monotonic": (REGRESSOR, None, {**MONOTONIC, "min_samples_leaf": 1}),
    "line search": (REGRESSOR, None, {"loss": "absolute_error", **MONOTONIC}),
    "line search, symmetric": (REGRESSOR, None, {"loss": "huber", **SYMMETRIC}),
    "first order": (CLASSIFIER, 2, {"newton": False, "subsample": 0.6}),
    "bayesian": (REGRESSOR, None, {"sampling": "bayesian"}),
    "gradient": (CLASSIFIER, 3, {"sampling": "gradient"}),
    "target statistics": (REGRESSOR, None, {"max_categories_for_sets": 3, "categorical_features": [3]}),
}
LEAF_VALUES = [{"path_smooth": 4.0}, {"leaf_value_folds": 3}, {"path_smooth": 4.0, "leaf_value_folds": 2}]


@pytest.mark.parametrize("own", LEAF_VALUES, ids=str)
@pytest.mark.parametrize("name", OPTIONS)
def test_threads_chunks_weights_of_zero_and_files_do_not_change_bits(name, own, tmp_path):
    kind, n_classes, options = OPTIONS[name]
    X, y = data(n_classes)
    X[:, 3] = np.round(np.abs(X[:, 3]) * 4)
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    weight[::7] = 0.0
    parameters = FEW | options | own
    one = kind(n_jobs=1, **parameters).fit(X, y, sample_weight=weight)
    two = kind(n_jobs=2, **parameters)
    two._chunk_rows = 41
    two.fit(X, y, sample_weight=weight)
    assert same_forests(one, two)
    if "max_categories_for_sets" not in options:  # rows of weight zero define categories, too
        kept = weight > 0
        assert same_forests(one, kind(**parameters).fit(X[kept], y[kept], sample_weight=weight[kept]))
    assert not same_forests(one, kind(**FEW | options).fit(X, y, sample_weight=weight))
    hedgerow.save(two, tmp_path / "model")
    assert np.array_equal(hedgerow.load(tmp_path / "model").predict(X), one.predict(X))
    assert np.all(np.isfinite(one.predict(X)))


@pytest.mark.parametrize("name", ["three classes", "monotonic", "line search", "bayesian"])
def test_none_of_them_is_the_default(name):
    kind, n_classes, options = OPTIONS[name]
    X, y = data(n_classes)
    parameters = FEW | options
    plain = kind(**parameters).fit(X, y)
    assert same_forests(plain, kind(path_smooth=0, leaf_value_folds=None, **parameters).fit(X, y))


# --- smoothing


def test_values_of_a_tree_are_those_of_the_formula():
    X, y = data()
    s, options = (
        10.0,
        {"n_estimators": 1, "learning_rate": 1.0, "l2_regularization": 0.0, "max_leaf_nodes": 8},
    )
    plain = REGRESSOR(**options).fit(X, y).model_.forest
    found = REGRESSOR(path_smooth=s, **options).fit(X, y).model_.forest
    assert np.array_equal(plain.left, found.left)
    expected = plain.value.copy()
    for parent, left in enumerate(plain.left.tolist()):
        for child in (left, left + 1) if left else ():
            n = plain.count[child]
            expected[child] = plain.value[child] * n / (n + s) + expected[parent] * s / (n + s)
    assert np.allclose(found.value, expected, rtol=1e-12)


def test_medians_are_smoothed_towards_the_median_of_the_node_above():
    X, y = data()
    options = {"loss": "absolute_error", "n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 2}
    model = REGRESSOR(path_smooth=30.0, **options).fit(X, y)
    leaves, residual = model.apply(X)[:, 0], y - model.model_.start[0]
    for leaf in np.unique(leaves):
        own = np.sort(residual[leaves == leaf])
        root = np.sort(residual)[(len(y) - 1) // 2]
        expected = (len(own) * own[(len(own) - 1) // 2] + 30.0 * root) / (len(own) + 30.0)
        assert model.model_.forest.value[leaf] == pytest.approx(expected, rel=1e-9)


def test_a_leaf_of_too_few_rows_of_a_symmetric_tree_keeps_the_smoothed_value_above():
    X, y = data()
    options = {**SYMMETRIC, "n_estimators": 1, "min_samples_leaf": 15}
    forest = REGRESSOR(path_smooth=10.0, **options).fit(X, y).model_.forest
    n_small = 0
    for parent, left in enumerate(forest.left.tolist()):
        for child in (left, left + 1) if left else ():
            if forest.count[child] < 15:
                n_small += 1
                assert forest.value[child] == forest.value[parent]
    assert n_small > 3


@pytest.mark.parametrize("options", [{}, {"loss": "absolute_error"}, {"newton": False, "loss": "poisson"}])
@pytest.mark.parametrize("growth", [{}, SYMMETRIC])
def test_a_whole_weight_is_that_many_copies(options, growth):
    X, y = data()
    y, copies = np.abs(y), np.random.default_rng(0).integers(0, 4, len(y))
    parameters = {"n_estimators": 4, "path_smooth": 5.0, **options, **growth}
    weighted = REGRESSOR(**parameters).fit(X, y, sample_weight=copies)
    repeated = REGRESSOR(**parameters).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert same_forests(weighted, repeated)


@pytest.mark.parametrize("path_smooth", [3.0, 100.0])
@pytest.mark.parametrize(
    "options", [{}, SYMMETRIC, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.2, **SYMMETRIC}]
)
def test_predictions_obey_monotonic_constraints(path_smooth, options):
    X, y = data()
    y = y - 2.0 * X[:, 1] + np.random.default_rng(5).normal(size=len(y))
    model = REGRESSOR(
        n_estimators=20, min_samples_leaf=1, path_smooth=path_smooth, **MONOTONIC, **options
    ).fit(X, y)
    for column, direction in ((0, 1), (1, -1)):
        grid = np.repeat(X[:60], 25, axis=0)
        grid[:, column] = np.tile(np.linspace(-3, 3, 25), 60)
        steps = np.diff(model.predict(grid).reshape(60, 25), axis=1) * direction
        assert steps.min() >= -1e-12
        assert steps.max() > 0


def test_bounded_steps_stay_bounded():
    X, y = data(2)
    values = CLASSIFIER(max_leaf_step=0.25, path_smooth=1.0, **FEW).fit(X, y).model_.forest.value
    assert np.abs(values).max() <= 0.025
    assert len(np.unique(values)) > 20  # clipped before they are smoothed


def test_dropped_rounds_and_warm_starts_have_smoothed_values():
    X, y = data()
    one = REGRESSOR(path_smooth=5.0, **FEW).fit(X, y)
    two = REGRESSOR(path_smooth=5.0, warm_start=True, **FEW | {"n_estimators": 2}).fit(X, y)
    assert same_forests(one, two.set_params(n_estimators=6).fit(X, y))
    dropped = REGRESSOR(path_smooth=5.0, drop_rate=0.5, **FEW).fit(X, y)
    assert not same_forests(dropped, REGRESSOR(drop_rate=0.5, **FEW).fit(X, y))


# --- leaf values by fold


def fold_of(seed, iteration, n_rows, n_folds):
    return np.array([(draw(seed, LEAF_FOLDS, iteration, i) >> 32) * n_folds >> 32 for i in range(n_rows)])


@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_values_of_trees_are_those_of_plain_boosting_with_scores_by_fold(subsample):
    X, y = data()
    rate, l2, n_folds = 0.5, 2.0, 3
    model = REGRESSOR(
        learning_rate=rate, l2_regularization=l2, leaf_value_folds=n_folds, subsample=subsample,
        max_leaf_nodes=6, **FEW,
    ).fit(X, y)  # fmt: skip
    leaves, forest = model.apply(X), model.model_.forest
    scores = np.full(len(y), model.model_.start[0])
    for tree in range(6):
        drawn = np.ones(len(y), bool)
        if subsample < 1:
            drawn = np.isin(np.arange(len(y)), draw_positions(len(y), subsample, 3, tree))
        folds, residual, own = fold_of(3, tree, len(y), n_folds), y - scores, leaves[:, tree]
        stored = forest.value[forest.starts[tree] + own]
        steps = stored.copy()
        for leaf in np.unique(own[drawn]):
            rows = drawn & (own == leaf)
            value = rate * residual[rows].sum() / (rows.sum() + l2)
            assert stored[rows][0] == pytest.approx(value, rel=1e-2, abs=1e-3)
            for fold in range(n_folds):
                others = rows & (folds != fold)
                steps[rows & (folds == fold)] = rate * residual[others].sum() / (others.sum() + l2)
        scores += steps
    assert np.abs(scores - model.predict(X)).max() > 0.1


def test_medians_by_fold_are_those_of_the_other_rows():
    X, y = data()
    options = {"loss": "absolute_error", "learning_rate": 1.0, "max_leaf_nodes": 2, "n_estimators": 2}
    model = REGRESSOR(leaf_value_folds=2, random_state=3, **options).fit(X, y)
    leaves, forest = model.apply(X), model.model_.forest
    folds, scores = fold_of(3, 0, len(y), 2), np.full(len(y), model.model_.start[0])
    residual, steps = y - scores, np.zeros(len(y))
    for leaf in np.unique(leaves[:, 0]):
        for fold in (0, 1):
            others = np.sort(residual[(leaves[:, 0] == leaf) & (folds != fold)])
            steps[(leaves[:, 0] == leaf) & (folds == fold)] = others[(len(others) - 1) // 2]
    residual -= steps
    for leaf in np.unique(leaves[:, 1]):
        own = np.sort(residual[leaves[:, 1] == leaf])
        assert forest.value[forest.starts[1] + leaf] == pytest.approx(own[(len(own) - 1) // 2], rel=1e-9)


def test_the_first_tree_is_that_of_all_rows_and_validation_rows_get_its_values():
    X, y = data(2)
    new, target = classes(200, seed=1)
    options = FEW | {"n_estimators": 1}
    plain = CLASSIFIER(**options).fit(X, y, eval_set=[(new, target)], callbacks=[lambda _round: False])
    model = CLASSIFIER(leaf_value_folds=2, **options)
    model.fit(X, y, eval_set=[(new, target)], callbacks=[lambda _round: False])
    assert same_forests(plain, model)
    assert plain.history_["validation_loss"] == model.history_["validation_loss"]
    assert plain.history_["train_loss"][0] < model.history_["train_loss"][0]


@pytest.mark.parametrize("subsample", [1.0, 0.7])
def test_validation_losses_are_those_of_the_model(subsample):
    X, y = data(3)
    new, target = classes(200, 3, seed=1)
    model = CLASSIFIER(leaf_value_folds=3, subsample=subsample, **FEW)
    model.fit(X, y, eval_set=[(new, target)], callbacks=[lambda _round: False])
    raw = np.ascontiguousarray(model._raw(new))
    loss = model.loss_.mean_loss(target.astype(float), raw, None)
    assert model.history_["validation_loss"][-1] == pytest.approx(loss, rel=1e-9)


def test_an_automatic_number_of_rounds_works_with_folds_of_leaf_values():
    X, y = data(2)
    model = CLASSIFIER(leaf_value_folds=2, tol=0.01).fit(X, y)
    assert (model.n_folds_, model.score(X, y) > 0.85) == (8, True)


@pytest.mark.parametrize(
    "parameters",
    [{"drop_rate": 0.1}, {"warm_start": True}, {"estimator": LinearRegression()}],
    ids=str,
)
def test_what_needs_scores_of_stored_trees_is_refused(parameters):
    X, y = data()
    ((name, value),) = parameters.items()
    with pytest.raises(ValueError) as caught:
        REGRESSOR(n_estimators=3, leaf_value_folds=4, **parameters).fit(X, y)
    assert str(caught.value).startswith(f"{name}={value!r} is not allowed with leaf_value_folds=4")
