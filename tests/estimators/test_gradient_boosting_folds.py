"""Models that are the mean of models of several folds."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import hedgerow
from boosting_cases import classes, classifier, numbers, regressor, same_forests
from hedgerow.boosting.folds import NO_FOLD, draw_folds, fold_seed

FOLDS = {"n_folds": 4, "random_state": 3}


def drawn(model, y, sample_weight=None):
    labels = None if not hasattr(model, "classes_") else np.searchsorted(model.classes_, y).astype(float)
    return draw_folds(labels, sample_weight, len(y), model.n_folds, model._seed)


def by_hand(model, X, y, fold):
    """Fit the model of one fold without folds: the other rows train, those of the fold weigh nothing."""
    parameters = model.get_params() | {"n_folds": None, "random_state": fold_seed(model._seed, fold)}
    weight = (drawn(model, y) != fold).astype(float)
    bins = type(model)(**parameters)
    return bins.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_folds", [2, 4, 8, 16])
def test_folds_are_of_equal_size_in_every_class(n_folds):
    labels = np.random.default_rng(0).choice(3, size=400, p=[0.7, 0.2, 0.1]).astype(float)
    weight = np.ones(400)
    weight[:20] = 0.0
    folds = draw_folds(labels, weight, 400, n_folds, seed=1)
    assert np.all(folds[:20] == NO_FOLD)
    sizes = np.bincount(folds[20:], minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for label in range(3):
        of_class = np.bincount(folds[20:][labels[20:] == label], minlength=n_folds)
        assert of_class.max() - of_class.min() <= 1
    assert not np.array_equal(folds, draw_folds(labels, weight, 400, n_folds, seed=2))


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (regressor, numbers()),
        (classifier, classes()),
        (classifier, classes(n_classes=3)),
    ],
    ids=["numbers", "two classes", "three classes"],
)
def test_the_model_of_a_fold_is_that_of_the_other_rows(make, data):
    X, y = data
    model = make(**FOLDS, subsample=0.8, colsample_bytree=0.5).fit(X, y)
    assert model.model_.n_folds == 4
    assert model.model_.n_rounds == model.n_estimators_ == 10
    mean = 0.0
    for fold in range(4):
        alone = by_hand(model, X, y, fold)
        own = model.model_.fold_model(fold)
        np.testing.assert_array_equal(own.start, alone.model_.start)
        scores, others = own.scores(model._read(X), 1), drawn(model, y) != fold
        # Not the same bits: the scale of the integer gradients is that of all rows, and bin edges lie between
        # values of all rows, so that rows of the fold may fall on the other side of an edge.
        expected = alone.model_.scores(alone._read(X), 1)
        np.testing.assert_allclose(scores[:, others], expected[:, others], atol=0.01)
        mean = mean + scores / 4
    np.testing.assert_allclose(model.model_.scores(model._read(X), 1), mean, rtol=1e-12, atol=1e-12)


def test_the_validation_loss_is_out_of_fold():
    X, y = classes(400)
    model = classifier(**FOLDS, early_stopping=True, n_estimators=60, n_iter_no_change=5).fit(X, y)
    folds, table = drawn(model, y), model._read(X)
    probabilities = np.empty(len(y))
    for fold in range(4):
        raw = model.model_.fold_model(fold).scores(table, 1)[0]
        probabilities[folds == fold] = 1 / (1 + np.exp(-raw[folds == fold]))
    losses = model.history_["validation_loss"]
    assert losses[model.best_iteration_] == min(losses)
    assert losses[model.best_iteration_] == pytest.approx(log_loss(y, probabilities))
    assert model.n_estimators_ == model.best_iteration_ + 1 < len(losses)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"loss": "absolute_error"}, {"newton": False}, {"early_stopping": True, "n_iter_no_change": 2}],
    ids=str,
)
def test_threads_do_not_change_the_model(parameters):
    X, y = numbers(500)
    one = regressor(**FOLDS, n_jobs=1, **parameters).fit(X, y)
    for n_jobs in (2, 5, 9):
        other = regressor(**FOLDS, n_jobs=n_jobs, **parameters).fit(X, y)
        assert same_forests(one, other)
        assert one.history_["round"] == other.history_["round"]


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_warm_start_is_one_long_fit(make):
    X, y = numbers() if make is regressor else classes(n_classes=3)
    settings = {**FOLDS, "subsample": 0.7, "max_features": 0.5}
    long = make(n_estimators=12, **settings).fit(X, y)
    warm = make(n_estimators=5, warm_start=True, **settings).fit(X, y)
    warm.set_params(n_estimators=12).fit(X, y)
    assert same_forests(warm, long)
    with pytest.raises(ValueError, match="n_folds=8 cannot continue a model of 4 folds"):
        warm.set_params(n_estimators=14, n_folds=8).fit(X, y)


@pytest.mark.parametrize(
    ("first", "more", "rows"),
    [
        ({"n_folds": 4}, {"n_estimators": 12}, 300),
        ({"n_folds": 4}, {"n_estimators": "auto"}, 20),
        ({"n_folds": 4}, {"n_estimators": "auto"}, 300),
        ({"n_folds": None}, {"n_estimators": "auto"}, 300),
    ],
    ids=str,
)
def test_a_warm_start_keeps_the_number_of_folds(first, more, rows):
    X, y = numbers(300)
    model = regressor(warm_start=True, **first).fit(X, y)
    n_folds, before, trees = model.n_folds_, model.predict(X), model.model_.forest.n_trees
    model.set_params(n_folds="auto", tol=0.01, **more)
    model.fit(X[:rows], y[:rows])  # on its own, it would have eight folds, or none
    assert model.n_folds_ == n_folds
    assert model.model_.forest.n_trees == n_folds * model.n_estimators_
    assert model.n_estimators_ >= trees // n_folds
    stages = list(model.staged_predict(X))
    np.testing.assert_array_equal(stages[trees // n_folds - 1], before)


def test_a_checkpoint_resumes(tmp_path):
    X, y = classes(n_classes=3)
    settings = {**FOLDS, "early_stopping": True, "n_iter_no_change": 3, "n_estimators": 30}
    whole = classifier(**settings).fit(X, y)
    path = tmp_path / "fit.safetensors"
    checkpoint = hedgerow.Checkpoint(path, rounds=1)
    stopped = classifier(**settings)
    stopped.fit(X, y, checkpoint=checkpoint, callbacks=[lambda done: done.number == 3])
    resumed = classifier(**settings).fit(X, y, checkpoint=checkpoint)
    assert same_forests(whole, resumed)
    assert whole.history_["validation_loss"] == resumed.history_["validation_loss"]


def test_files_keep_the_folds(tmp_path):
    X, y = classes(n_classes=3)
    model = classifier(**FOLDS).fit(X, y)
    hedgerow.save(model, tmp_path / "model.safetensors")
    loaded = hedgerow.load(tmp_path / "model.safetensors")
    assert same_forests(model, loaded)
    np.testing.assert_array_equal(model.model_.fold_starts, loaded.model_.fold_starts)
    loaded.set_params(warm_start=True, n_estimators=12).fit(X, y)
    assert same_forests(loaded, classifier(**FOLDS | {"n_estimators": 12}).fit(X, y))


def test_stages_and_margins_count_rounds_of_all_folds():
    X, y = classes(n_classes=3)
    model = classifier(**FOLDS).fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 10
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    assert np.abs(model.margins(X, y)).max() <= 1.0
    assert model.apply(X).shape == (len(X), 10 * 4 * 3)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_an_evaluation_set_stops_the_fit_in_place_of_the_folds():
    X, y = numbers(400)
    settings = {**FOLDS, "early_stopping": True, "n_estimators": 40, "n_iter_no_change": 3}
    model = regressor(**settings).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    losses = model.history_["validation_loss"]
    staged = [np.mean((y[300:] - predicted) ** 2) / 2 for predicted in model.staged_predict(X[300:])]
    assert losses[: model.n_estimators_] == pytest.approx(staged)
    assert "validation_loss_1" not in model.history_


def test_what_folds_do_not_support_is_refused():
    X, y = numbers()
    with pytest.raises(
        ValueError, match="n_folds=3 is not allowed: it must be 2, 4, 8 or 16 or 'auto' or None"
    ):
        regressor(n_folds=3).fit(X, y)
    with pytest.raises(ValueError, match="n_folds=4 is not allowed with loss='huber'"):
        regressor(n_folds=4, loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="n_folds=4 is not allowed with estimator="):
        regressor(n_folds=4, estimator=hedgerow.DecisionTreeRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="n_folds=16 is more than the 12 rows"):
        regressor(n_folds=16).fit(X[:12], y[:12])


def test_the_only_row_of_a_class_is_in_all_models():
    X, y = classes(60, n_classes=2)
    y = y.copy()
    y[7] = 2
    folds = draw_folds(y.astype(float), None, 60, 4, seed=0)
    assert folds[7] == NO_FOLD
    assert np.bincount(folds).tolist()[:4] == [15, 15, 15, 14]
    model = classifier(**FOLDS, early_stopping=True, min_samples_leaf=1, n_estimators=30).fit(X, y)
    assert model.predict(X[7:8]) == [2]
