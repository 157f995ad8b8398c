"""Weights of an ensemble: greedy selection against an oracle, cross-fitted scores, folds of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.selection.ensemble_selection import (
    MAX_MEMBERS,
    CandidatePredictions,
    EnsembleRows,
    choose_weights,
    cross_fit,
    try_ensemble,
)
from hedgerow.selection.metrics import METRICS
from hedgerow.selection.predictions import Predictions, class_predictions

RNG = np.random.default_rng(0)


def library(n_models, n_rows, seed=0, *, metric="rmse", spread=1.0):
    """Models of independent errors."""
    rng = np.random.default_rng(seed)
    if METRICS[metric].tasks == ("regression",):
        y = rng.normal(size=n_rows)
        models = [Predictions(y, y + spread * rng.normal(size=n_rows)) for _ in range(n_models)]
    else:
        y = rng.integers(0, 3 if metric == "log-loss" else 2, n_rows)
        y[:3] = np.arange(3) % (y.max() + 1)
        noise = rng.gamma(1.0, size=(n_models, n_rows, y.max() + 1)) + np.eye(y.max() + 1)[y]
        models = [class_predictions(y, one / one.sum(axis=1, keepdims=True)) for one in noise]
    return CandidatePredictions(models, METRICS[metric])


def mean_loss(models, chosen):
    """The loss of the plain mean of the chosen models, one after the other."""
    first = models.predictions[0]
    values = [
        one.y_pred if one.probabilities is None else one.probabilities
        for one in (models.predictions[number] for number in chosen)
    ]
    mean = sum(values[1:], values[0]) / len(values)
    mixed = (
        Predictions(first.y_true, mean)
        if first.probabilities is None
        else class_predictions(first.y_true, mean)
    )
    score = models.metric.score(mixed)
    return np.inf if score is None else models.metric.loss(score)


def oracle(models, max_members, n_steps):
    """The definition, literally: every step tries every model on top of the list of those chosen."""
    n = len(models.predictions)
    chosen, found = [], []
    for _ in range(n_steps):
        allowed = range(n) if len(set(chosen)) < max_members else sorted(set(chosen))
        chosen.append(min(allowed, key=lambda one: mean_loss(models, [*chosen, one])))
        found.append((mean_loss(models, chosen), list(chosen)))
    best = min(found, key=lambda pair: pair[0])[1]
    return np.bincount(best, minlength=n)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(3, 30),
    st.integers(0, 10_000),
    st.sampled_from(["rmse", "mae", "log-loss", "auc"]),
    st.integers(1, 3),
)
def test_greedy_selection_is_that_of_the_oracle(n_models, n_rows, seed, metric, max_members):
    models = library(n_models, n_rows, seed, metric=metric)
    counts = choose_weights(models, max_members=max_members, n_steps=12)  # no member is too light
    assert counts.tolist() == oracle(models, max_members, 12).tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(3, 40), st.integers(0, 10_000), st.sampled_from(["rmse", "log-loss"]))
def test_an_ensemble_is_never_worse_than_the_best_on_the_rows_of_the_selection(n, n_rows, seed, metric):
    models = library(n, n_rows, seed, metric=metric)
    counts = choose_weights(models)
    losses = [mean_loss(models, [number]) for number in range(n)]
    chosen = np.repeat(np.arange(n), counts)
    assert mean_loss(models, chosen) <= min(losses) + 1e-12
    assert 1 <= np.count_nonzero(counts) <= MAX_MEMBERS
    light = np.flatnonzero((counts > 0) & (counts < 0.05 * counts.sum()))
    assert set(light.tolist()) <= {int(np.argmin(losses))}


def test_equal_models_are_selected_in_their_order():
    y = RNG.normal(size=20)
    same = Predictions(y, y + 1.0)
    assert choose_weights(CandidatePredictions([same, same, same], METRICS["rmse"])).tolist() == [1, 0, 0]


def test_light_members_are_left_out():
    y = np.zeros(2000)
    y[:2] = 40.0
    good = Predictions(y, np.where(np.arange(2000) < 2, 0.0, 0.1 * RNG.normal(size=2000)))
    rare = Predictions(y, np.where(np.arange(2000) < 2, 40.0, 25.0))  # right for two rows only
    assert choose_weights(CandidatePredictions([good, rare], METRICS["rmse"])).tolist() == [1, 0]


def test_an_undefined_metric_leaves_the_first_model():
    one_class = [class_predictions(np.zeros(9, int), RNG.dirichlet([1, 1], 9)) for _ in range(3)]
    assert choose_weights(CandidatePredictions(one_class, METRICS["auc"])).tolist() == [1, 0, 0]


def test_weights_of_a_part_do_not_depend_on_its_rows():
    models = library(4, 60)
    folds = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    predictions, rows = cross_fit(models, folds, choose_weights), np.concatenate(folds)
    np.testing.assert_array_equal(predictions.y_true, models.predictions[0].y_true[rows])
    for fold, other in (folds, folds[::-1]):
        counts = choose_weights(models.take(other))
        expected = models.take(fold).mean(counts).y_pred
        np.testing.assert_array_equal(predictions.y_pred[np.isin(rows, fold)], expected)


def test_the_score_of_an_ensemble_of_noise_is_not_that_of_its_selection():
    models = library(10, 60, spread=1.0)
    folds = [np.arange(start, 60, 5) for start in range(5)]
    tried = try_ensemble("regression", models.metric, range(10), models.predictions, folds)
    chosen = models.mean(choose_weights(models))
    assert tried.scores["rmse"] > models.metric.score(chosen)
    assert sum(tried.weights) == pytest.approx(1.0)
    assert list(tried.weights) == sorted(tried.weights, reverse=True)


def test_models_of_independent_errors_are_better_together_and_copies_are_not():
    y = RNG.normal(size=400)
    folds = [np.arange(start, 400, 5) for start in range(5)]
    models = [Predictions(y, y + RNG.normal(size=400)) for _ in range(3)]
    tried = try_ensemble("regression", METRICS["rmse"], [7, 3, 5], models, folds)
    assert tried.is_better
    assert set(tried.members) == {3, 5, 7}
    copies = [models[0], Predictions(y, models[0].y_pred + 1e-3 * RNG.normal(size=400))]
    assert not try_ensemble("regression", METRICS["rmse"], [0, 1], copies, folds).is_better


def test_models_without_probabilities_have_no_ensemble():
    y = RNG.integers(0, 2, 30)
    models = [Predictions(y, y), Predictions(y, y)]
    assert try_ensemble("classification", METRICS["accuracy"], [0, 1], models, [np.arange(30)]) is None


def test_parts_are_disjoint_and_keep_groups_together():
    y, groups = RNG.integers(0, 2, 300), np.repeat(np.arange(30), 10)
    rows = EnsembleRows.of(y, "classification", 0, groups)
    assert len(rows.folds) == 5
    everything = np.concatenate(rows.folds)
    assert len(set(everything.tolist())) == len(everything)
    for fold in rows.folds:
        others = np.setdiff1d(np.arange(300), fold)
        assert not set(groups[fold]) & set(groups[others])


def test_of_many_rows_a_sample_is_used_and_of_few_none():
    rows = EnsembleRows.of(RNG.normal(size=12_000), "regression", 0, None)
    assert (len(rows.rows), len(rows.folds)) == (10_000, 2)
    assert (np.diff(rows.rows) > 0).all()
    assert EnsembleRows.of(np.arange(19.0), "regression", 0, None) is None
    assert EnsembleRows.of(np.arange(40) % 2, "classification", 0, np.zeros(40, int)) is None
