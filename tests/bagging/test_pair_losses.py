"""Losses of voters, alone and in pairs, compared with sums of one voter and one row at a time."""

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as OtherTree

import hedgerow.bagging.pair_losses as module
import hedgerow.estimators.adaboost_base
import hedgerow.voting
import oracle_votes as oracle
from forest_cases import classes, frame, signal
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    LogitBoostClassifier,
    RandomForestClassifier,
)
from hedgerow.bagging.pair_losses import IN_BAG, STEPS, PairLosses, loss_steps

ARRAYS = ("losses", "products", "counts", "differences")


def binary(n_rows=150, seed=0):
    X, score = signal(n_rows, seed=seed)
    return X, (score > np.median(score)).astype(int)


def numbers_of(model, y):
    return np.searchsorted(model.classes_, y)


def assert_sums(found, losses):
    """Compare with the oracle; differences exist for two classes only."""
    alone, products, counts, differences = oracle.pair_sums(losses)
    assert found.losses.tolist() == alone
    assert found.products.tolist() == products
    assert found.counts.tolist() == counts
    if found.n_classes == 2:
        assert found.differences.tolist() == differences
    else:
        assert found.differences.shape == (0, 0)
    assert all(getattr(found, name).dtype == np.int64 for name in ARRAYS)


def same_arrays(first, second):
    return all(getattr(first, name).tobytes() == getattr(second, name).tobytes() for name in ARRAYS)


# --- sums


def test_steps_are_rounded_up_and_fit_in_16_bits():
    shares = np.array([0.0, 1.0, 0.5, 1 / 3, 1 - 1e-12, 1e-12])
    found = loss_steps(np.stack([1.0 - shares, shares]), np.ones(6, np.int64))
    assert found.dtype == np.int16
    assert found.tolist() == [STEPS, 0, STEPS // 2, math.ceil(STEPS * 2 / 3), 1, STEPS]
    assert np.iinfo(np.int16).max >= STEPS


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_wrong_vote_has_a_mean_loss_of_at_least_a_half(n_classes):
    rng = np.random.default_rng(n_classes)
    n_voters, n_rows = 7, 500
    for scale in (1.0, None):  # probabilities, then any numbers from 0 to 1
        predictions = rng.dirichlet(np.full(n_classes, 0.7), (n_voters, n_rows)).transpose(0, 2, 1)
        predictions = predictions if scale else rng.random(predictions.shape)
        weights, labels = rng.dirichlet(np.ones(n_voters)), rng.integers(0, n_classes, n_rows)
        losses = np.stack([loss_steps(answer, labels) for answer in predictions]) / STEPS
        right = np.argmax(np.einsum("v,vkr->kr", weights, predictions), axis=0) == labels
        assert np.all(weights @ losses >= 0.5 - 1e-12, where=~right)
        assert 0.1 < right.mean() < 0.9
        assert np.all((losses >= 0) & (losses <= 1))
        if scale:  # and at most 1 minus the share of the label
            away = 1.0 - np.take_along_axis(predictions, labels[np.newaxis, np.newaxis], axis=1)[:, 0]
            assert np.all(losses <= away + 1 / STEPS + 1e-12)


def test_random_losses_sum_up_to_those_of_the_oracle():
    rng = np.random.default_rng(0)
    losses = rng.integers(0, STEPS + 1, (40, 7)).astype(np.int16)
    losses[rng.random(losses.shape) < 0.4] = IN_BAG
    as_lists = [[None if loss == IN_BAG else int(loss) for loss in row] for row in losses]
    found = PairLosses.of([losses[:13], losses[13:14], losses[14:]], 7, 2)
    assert_sums(found, as_lists)
    weights = rng.dirichlet(np.ones(7))
    gibbs, tandem, differ = oracle.means(oracle.pair_sums(as_lists), weights)
    assert found.gibbs(weights) == pytest.approx(gibbs, rel=1e-12)
    assert found.tandem(weights) == pytest.approx(tandem, rel=1e-12)
    assert found.disagreement(weights) == pytest.approx(differ, rel=1e-12)
    assert found.n == min(found.counts.diagonal())
    assert found.n_pairs == found.counts.min() <= found.n


def test_sums_of_maximal_losses_are_exact():
    everything = np.full((10_000, 3), STEPS, np.int16)  # more rows than one block
    found = PairLosses.of([everything], 3, 2)
    assert found.losses.tolist() == [10_000 * STEPS] * 3
    assert found.products.tolist() == [[10_000 * STEPS**2] * 3] * 3
    assert found.counts.tolist() == [[10_000] * 3] * 3
    assert not found.differences.any()
    even = np.full(3, 1 / 3)
    assert found.gibbs(even) == found.tandem(even) == pytest.approx(1.0)


def test_chunks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    losses = rng.integers(IN_BAG, STEPS + 1, (9_000, 5)).astype(np.int16)
    whole = PairLosses.of([losses], 5, 2)
    assert same_arrays(whole, PairLosses.of(np.array_split(losses, 17), 5, 2))
    for n_threads, n_rows in ((1, 100), (2, 4_096), (4, 77)):
        monkeypatch.setattr(module, "_BLOCK_ROWS", n_rows)
        assert same_arrays(whole, PairLosses.of([losses], 5, 2, n_threads=n_threads))
        assert same_arrays(whole, PairLosses.of(np.array_split(losses, 5), 5, 2, n_threads=n_threads))


def test_a_voter_trained_on_all_rows_has_no_mean():
    found = PairLosses.of([np.array([[IN_BAG, 0], [IN_BAG, STEPS]], np.int16)], 2, 2)
    assert found.n == found.n_pairs == 0
    assert np.isnan(found.voter_losses[0])
    assert found.voter_losses[1] == 0.5
    assert np.isnan(found.tandem_losses[0]).all()


# --- forests


@pytest.mark.parametrize(
    ("kind", "n_classes", "leaves"),
    [
        (RandomForestClassifier, 2, {}),
        (RandomForestClassifier, 4, {"max_leaf_nodes": 6}),
        (ExtraTreesClassifier, 2, {"min_samples_leaf": 9}),
        (ExtraTreesClassifier, 4, {}),
    ],
)
def test_losses_of_a_forest_are_those_of_its_trees(kind, n_classes, leaves):
    X, y = classes(140, n_classes)
    model = kind(9, bootstrap=True, oob_score=True, random_state=3, **leaves)
    with pytest.warns(UserWarning, match="in the bag of every tree"):
        model.fit(X, y)
    assert_sums(model.oob_losses_, oracle.forest_losses(model, X, numbers_of(model, y), left_out=True))
    other, labels = classes(80, n_classes, seed=5)
    found = model.vote_losses(other, labels)
    assert_sums(found, oracle.forest_losses(model, other, numbers_of(model, labels), left_out=False))
    assert np.all(found.counts == 80)
    assert found.caveats == ()


def test_losses_with_categorical_columns():
    X, score = frame(200)
    y = score > np.median(score)
    model = RandomForestClassifier(40, max_leaf_nodes=9, oob_score=True, random_state=0).fit(X, y)
    assert_sums(model.oob_losses_, oracle.forest_losses(model, X, y.astype(int), left_out=True))


def test_weights_of_rows_do_not_move_the_losses_but_raise_a_doubt():
    X, y = binary()
    weight = 1.0 + np.arange(len(y)) % 3
    model = RandomForestClassifier(40, max_samples=0.4, oob_score=True, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert_sums(model.oob_losses_, oracle.forest_losses(model, X, y, left_out=True))
    assert len(model.oob_losses_.caveats) == 1
    assert "sample_weight" in model.oob_losses_.caveats[0]
    assert model.fit(X, y, np.full(len(y), 2.0)).oob_losses_.caveats == ()


def test_threads_and_blocks_do_not_change_the_losses_of_a_forest(monkeypatch):
    X, y = binary(20_000)
    model = RandomForestClassifier(
        12, max_leaf_nodes=30, max_samples=0.5, oob_score=True, random_state=0, n_jobs=1
    ).fit(X, y)
    first, out_of_bag = model.vote_losses(X, y), model.oob_losses_
    for n_jobs in (2, 4):
        monkeypatch.setattr(hedgerow.voting, "_LOSS_ROWS", 32_768 if n_jobs == 2 else 3_000)
        monkeypatch.setattr(hedgerow.voting, "_CHUNK_ROWS", 8_192 // n_jobs)
        model.set_params(n_jobs=n_jobs)
        assert same_arrays(first, model.vote_losses(X, y))
        assert same_arrays(out_of_bag, model.fit(X, y).oob_losses_)


# --- bagging


@pytest.mark.parametrize(
    ("learner", "voting", "n_classes"),
    [
        (DecisionTreeClassifier(max_depth=3), "soft", 2),
        (DecisionTreeClassifier(max_depth=3), "hard", 3),
        (GaussianNB(), "soft", 3),
        (GaussianNB(), "hard", 2),
        (LinearSVC(), "soft", 3),
    ],
)
def test_losses_of_bagging_are_those_of_its_members(learner, voting, n_classes):
    X, y = classes(120, n_classes)
    X = np.nan_to_num(X)
    model = BaggingClassifier(
        learner, n_estimators=20, voting=voting, max_features=0.6, max_samples=0.6, oob_score=True,
        random_state=1,
    ).fit(X, y)  # fmt: skip
    numbers, soft = numbers_of(model, y), voting == "soft"
    assert_sums(model.oob_losses_, oracle.bag_losses(model, X, numbers, left_out=True, soft=soft))
    other, labels = classes(60, n_classes, seed=7)
    other = np.nan_to_num(other)
    expected = oracle.bag_losses(model, other, numbers_of(model, labels), left_out=False, soft=soft)
    assert_sums(model.vote_losses(other, labels), expected)


def test_threads_do_not_change_the_losses_of_bagging():
    X, y = binary(400)
    options = {"n_estimators": 12, "max_samples": 0.4, "oob_score": True, "random_state": 0}
    one, other = (BaggingClassifier(**options, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    assert same_arrays(one.vote_losses(X, y), other.vote_losses(X, y))
    assert same_arrays(one.oob_losses_, other.oob_losses_)


def test_pasting_leaves_rows_out_as_well():
    X, y = binary(120)
    model = BaggingClassifier(
        n_estimators=15, bootstrap=False, max_samples=0.4, oob_score=True, random_state=0
    ).fit(X, y)
    assert model.oob_losses_.counts.diagonal().tolist() == [72] * 15
    assert_sums(model.oob_losses_, oracle.bag_losses(model, X, y, left_out=True))


# --- boosted votes


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=12),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, algorithm="samme"),
        AdaBoostClassifier(OtherTree(max_depth=1), n_estimators=5),
        AnyBoostClassifier(n_estimators=8, cost="logistic"),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'algorithm', '')} {model.estimator}",
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_losses_of_boosted_members(model, n_classes):
    if n_classes == 3 and isinstance(model, AnyBoostClassifier):
        pytest.skip("two classes only")
    X, y = classes(150, n_classes)
    X = np.nan_to_num(X)
    model.fit(X, y)
    other, labels = classes(70, n_classes, seed=3)
    other = np.nan_to_num(other)
    predicted = [member.predict(other) for member in model.estimators_]
    losses = [[STEPS * int(vote[i] != label) for vote in predicted] for i, label in enumerate(labels)]
    assert_sums(model.vote_losses(other, labels), losses)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_losses_of_boosted_members_in_blocks(n_classes, monkeypatch):
    X, y = classes(150, n_classes)
    X = np.nan_to_num(X)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4).fit(X, y)
    whole = model.vote_losses(X, y)
    monkeypatch.setattr(hedgerow.estimators.adaboost_base, "CHUNK_ROWS", 40)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix, list):
        assert same_arrays(whole, model.vote_losses(form(X), y))


def test_losses_of_boosted_members_on_data_frames(monkeypatch):
    X, score = frame(150)
    y = score > np.median(score)
    learner = DecisionTreeClassifier(max_depth=2, categorical_features="from_dtype")
    model = AdaBoostClassifier(learner, n_estimators=4).fit(X, y)
    whole = model.vote_losses(X, y)
    monkeypatch.setattr(hedgerow.estimators.adaboost_base, "CHUNK_ROWS", 40)
    for form in (X, pl.from_pandas(X), pa.Table.from_pandas(X)):
        assert same_arrays(whole, model.vote_losses(form, y))


@pytest.mark.parametrize(
    "model", [LogitBoostClassifier(n_estimators=3), AdaBoostClassifier(n_estimators=3, algorithm="real")]
)
def test_regression_members_have_no_losses(model):
    X, y = binary()
    with pytest.raises(TypeError, match="do not vote: they predict numbers"):
        model.fit(X, y).vote_losses(X, y)


def test_labels_and_lengths_are_checked():
    X, y = binary()
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="149 rows, but X has 150"):
        model.vote_losses(X, y[:-1])
    with pytest.raises(ValueError, match="7"):
        model.vote_losses(X, np.where(np.arange(len(y)) == 3, 7, y))
