"""Weak learners of the AdaBoost family: of other libraries, by resampling, and invalid ones."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier as ForeignTree

from adaboost_cases import (
    ALGORITHMS,
    VOTES,
    BadProbabilities,
    ConstantClassifier,
    Failing,
    IgnoresWeights,
    PerfectLater,
    SklearnRegressionStump,
    SklearnStump,
    WrongAfterFirstRound,
    WrongNumberOfLabels,
    WrongNumberOfValues,
    fit_without_warnings,
    make_kind,
    problem,
    signs,
    two,
)
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LogitBoostClassifier,
)

STOPPED = "boosting stopped: the weak learner is no better than chance"

# --- other libraries' learners


@pytest.mark.parametrize(
    "learner",
    [
        ForeignTree(max_depth=2), GaussianNB(), LogisticRegression(), SVC(), LinearSVC(),
        KNeighborsClassifier(3), make_pipeline(StandardScaler(), ForeignTree(max_depth=2)),
        AdaBoostClassifier(n_estimators=2), DecisionTreeClassifier(max_depth=2),
    ],
    ids=lambda learner: type(learner).__name__,
)  # fmt: skip
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_classifier_is_boosted(learner, n_classes):
    X, y = problem(n_classes)
    model = fit_without_warnings(AdaBoostClassifier(learner, n_estimators=5, random_state=0), X, y)
    assert model.n_estimators_ >= 1
    assert all(type(member) is type(learner) for member in model.estimators_)
    assert model.score(X, y) > 0.7
    votes = np.stack([member.predict(X) for member in model.estimators_])
    if n_classes == 2:
        score = model.estimator_weights_ @ signs(model, votes)
    else:
        score = np.einsum("m,mrk->rk", model.estimator_weights_, votes[:, :, None] == model.classes_)
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("algorithm", ["real", "samme.r"])
def test_probabilities_of_any_classifier_are_boosted(n_classes, algorithm):
    X, y = problem(n_classes)
    model = AdaBoostClassifier(GaussianNB(), algorithm=algorithm, n_estimators=4).fit(X, y)
    floor, score = 1 / (2 * len(y)), 0.0
    for member in model.estimators_:
        logs = np.log(np.maximum(member.predict_proba(X), floor))
        score = score + (
            (logs[:, 1] - logs[:, 0]) / 2
            if n_classes == 2
            else (n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True))
        )
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "learner",
    [SklearnRegressionStump(), KNeighborsRegressor(5), DecisionTreeRegressor(max_depth=2)],
    ids=lambda learner: type(learner).__name__,
)
def test_gentle_and_logit_boosting_take_any_regressor(learner, n_classes):
    X, y = problem(n_classes)
    for model in (AdaBoostClassifier(learner, algorithm="gentle"), LogitBoostClassifier(learner)):
        fit_without_warnings(model.set_params(n_estimators=3, random_state=0), X, y)
        assert model.score(X, y) > 0.75
        first = model.estimators_[0]
        assert isinstance(first if n_classes == 2 else first[2], type(learner))


def test_foreign_learners_get_weights_of_mean_one_and_only_rows_that_count():
    class Recording(SklearnStump):
        weights = []  # noqa: RUF012 - one list for all clones

        def fit(self, X, y, sample_weight=None):
            self.weights.append(sample_weight)
            return super().fit(X, y, sample_weight)

    X, y = two()
    weight = np.arange(len(y)) % 4 / 2.0
    model = AdaBoostClassifier(Recording(), n_estimators=3).fit(X, y, weight)
    assert [len(received) for received in Recording.weights] == [150] * 3
    np.testing.assert_allclose([np.mean(received) for received in Recording.weights], 1.0)
    assert np.array_equal(Recording.weights[0], weight[weight > 0] / weight[weight > 0].mean())
    assert model.sample_weights_[weight > 0].min() > 0


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.coo_matrix, list])
@pytest.mark.parametrize("learner", [ForeignTree(max_depth=1), KNeighborsClassifier(3)])
def test_external_learners_receive_x_unchanged(convert, learner):
    X, y = two()
    plain = AdaBoostClassifier(learner, n_estimators=4, random_state=0, early_stopping=True).fit(X, y)
    if convert in (pd.DataFrame, pl.DataFrame):
        table = convert(dict(zip("abcd", X.T, strict=True)))
    else:
        table = X.tolist() if convert is list else convert(X)
    model = AdaBoostClassifier(learner, n_estimators=4, random_state=0, early_stopping=True).fit(table, y)
    np.testing.assert_allclose(model.decision_function(table), plain.decision_function(X), rtol=1e-9)
    if convert is pd.DataFrame:
        assert list(model.estimators_[0].feature_names_in_) == list("abcd")


def test_members_have_seeds_derived_from_random_state():
    X, y = two()
    learner = ForeignTree(max_depth=1, splitter="random")
    one, same, other = (
        AdaBoostClassifier(learner, n_estimators=6, random_state=seed).fit(X, y) for seed in (0, 0, 1)
    )
    states = [member.random_state for member in one.estimators_]
    assert len(set(states)) == 6
    assert np.array_equal(one.decision_function(X), same.decision_function(X))
    assert not np.array_equal(one.decision_function(X), other.decision_function(X))
    assert learner.random_state is None


# --- resampling


@pytest.mark.parametrize("kind", [*ALGORITHMS, "logit", "any exponential"])
def test_hedgerow_trees_can_be_boosted_by_resampling(kind):
    X, y = two()
    plain = make_kind(kind, random_state=0).fit(X, y)
    drawn, same, other = (
        make_kind(kind, resample=True, random_state=seed, on_chance="restart").fit(X, y) for seed in (0, 0, 1)
    )
    assert np.array_equal(drawn.decision_function(X), same.decision_function(X))
    assert not np.array_equal(drawn.decision_function(X), other.decision_function(X))
    assert not np.array_equal(drawn.decision_function(X), plain.decision_function(X))
    assert drawn.score(X, y) > 0.75


def test_rows_are_drawn_by_their_weights():
    class Counting(SklearnStump):
        drawn = []  # noqa: RUF012 - one list for all clones

        def fit(self, X, y, sample_weight=None):
            assert sample_weight is None
            self.drawn.append(X[:, 0].astype(int))
            return super().fit(X, y)

    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(400.0), rng.normal(size=400)])
    y = (X[:, 1] > 0).astype(int)
    y[rng.random(400) < 0.3] ^= 1
    weight = np.repeat([0.0, 0.5, 4.5, 1.0], 100)
    AdaBoostClassifier(Counting(), n_estimators=1, resample=True, random_state=0).fit(X, y, weight)
    counts = np.bincount(Counting.drawn[0] // 100, minlength=4)
    assert counts[0] == 0
    assert counts.sum() == 300  # as many as take part
    np.testing.assert_allclose(counts[1:] / counts.sum(), [1 / 12, 9 / 12, 2 / 12], atol=0.06)


def test_a_learner_without_sample_weight_is_resampled():
    X, y = two()
    learner = KNeighborsClassifier(1)
    explicit, implicit = (
        AdaBoostClassifier(learner, n_estimators=6, resample=resample, random_state=5).fit(X, y)
        for resample in (True, False)
    )
    assert implicit.n_estimators_ > 1  # on all rows it would be perfect at once
    assert np.array_equal(explicit.decision_function(X), implicit.decision_function(X))


# --- learners at chance


@pytest.mark.parametrize("algorithm", [*VOTES, "real", "samme.r"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_learner_that_ignores_weights_stops_after_one_round(algorithm, n_classes):
    X, y = problem(n_classes)
    with pytest.warns(UserWarning, match=f"{STOPPED}.* in round 2.*on_chance='restart'"):
        model = AdaBoostClassifier(IgnoresWeights(), algorithm=algorithm).fit(X, y)
    assert model.n_estimators_ == len(model.estimators_) == len(model.history_["train_error"]) == 1
    assert "no better than chance" in model.stop_reason_
    assert np.array_equal(model.predict(X), model.estimators_[0].predict(X))


@pytest.mark.parametrize("algorithm", [*VOTES, "real"])
def test_on_chance_restart_continues_with_new_weights(algorithm):
    X, y = two()
    models = [
        AdaBoostClassifier(
            IgnoresWeights(), algorithm=algorithm, n_estimators=8, on_chance="restart", random_state=seed
        ).fit(X, y)
        for seed in (0, 0, 1)
    ]
    assert [model.n_estimators_ for model in models] == [8, 8, 8]
    assert np.array_equal(models[0].estimator_errors_, models[1].estimator_errors_)
    assert not np.array_equal(models[0].estimator_errors_, models[2].estimator_errors_)
    assert len(set(models[0].estimator_errors_)) == 8  # other weights, other errors of the same stump
    assert np.all(models[0].estimator_errors_ < 0.5)


def test_restarts_end():
    X, y = two()
    WrongAfterFirstRound.fits = 0
    model = AdaBoostClassifier(WrongAfterFirstRound(), on_chance="restart", random_state=0).fit(X, y)
    assert model.n_estimators_ == 1
    assert WrongAfterFirstRound.fits == 1 + 1 + 10  # one round, a rejected one, ten restarts
    assert "in round 2 after 10 restarts" in model.stop_reason_
    WrongAfterFirstRound.fits = 1
    with pytest.raises(ValueError, match="in the first round after 10 restarts; there is nothing to boost"):
        AdaBoostClassifier(WrongAfterFirstRound(), on_chance="restart").fit(X, y)


@pytest.mark.parametrize("kind", [*ALGORITHMS, "logit", "any exponential", "any sigmoid"])
def test_chance_in_the_first_round_is_an_error(kind):
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]  # exclusive or: no stump helps
    with pytest.raises(ValueError, match=r"no better than chance.* in the first round; there is nothing"):
        make_kind(kind).fit(X, y)


def test_constant_predictions():
    X, y = two()
    share = np.mean(y == 1)
    for learner in (ConstantClassifier(), DummyClassifier(strategy="most_frequent")):
        with pytest.warns(UserWarning, match=STOPPED):
            model = AdaBoostClassifier(learner).fit(X, y)
        assert model.n_estimators_ == 1
        assert model.estimator_errors_[0] == pytest.approx(min(share, 1 - share))
        assert len(set(model.predict(X))) == 1
    with pytest.raises(ValueError, match="no better than chance"):
        AdaBoostClassifier(ConstantClassifier(int(share < 0.5))).fit(X, y)
    with pytest.warns(UserWarning, match=STOPPED):  # constant columns: a stump without a split
        model = AdaBoostClassifier().fit(np.zeros((10, 2)), [0] * 7 + [1] * 3)
    assert str(model.estimators_[0]) == "always 0"


# --- perfect learners


@pytest.mark.parametrize("algorithm", VOTES)
@pytest.mark.parametrize("learner", [None, SklearnStump()])
def test_a_perfect_learner_ends_the_fit_and_decides_alone(algorithm, learner):
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdaBoostClassifier(learner, algorithm=algorithm).fit(X, y)
    assert model.n_estimators_ == 1
    assert model.stop_reason_ == (
        "the learner of round 1 is perfect: its weighted error is 0, and it decides alone"
    )
    assert model.estimator_errors_.tolist() == model.normalizers_.tolist() == [0.0]
    assert model.training_error_bound_.tolist() == [0.0]
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.array_equal(model.predict(X), y)


@pytest.mark.parametrize(
    ("kind", "learning_rate"),
    [*((kind, 1.0) for kind in (*VOTES, "any logistic")), ("discrete", 0.01), ("any sigmoid", 0.01)],
)
def test_a_perfect_learner_outvotes_all_before_it(kind, learning_rate):
    X, y = two(noise=1.0)
    model = make_kind(kind, n_estimators=60, learning_rate=learning_rate, random_state=0)
    model.set_params(estimator=PerfectLater(40)).fit(X, y)
    assert model.n_estimators_ == 41
    assert "perfect" in model.stop_reason_
    assert model.estimator_weights_[-1] > model.estimator_weights_[:-1].sum()
    assert np.array_equal(model.predict(X), y)
    assert model.training_error_bound_[-1] == 0.0


# --- learners that fail


@pytest.mark.parametrize("late", [0, 3])
def test_a_learner_that_raises_is_named_with_the_round(late):
    X, y = two()
    model = AdaBoostClassifier(Failing(late), random_state=0)
    with pytest.raises(
        ValueError, match=rf"estimator=Failing\(.*\) failed in round {late + 1}: the learner fails"
    ) as info:
        model.fit(X, y)
    assert isinstance(info.value.__cause__, RuntimeError)
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("label", ["maybe", 7, np.nan])
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_fit_rejects_members_that_predict_unknown_labels(label, labels):
    X, y = two()
    with pytest.raises(
        ValueError, match=r"estimator=ConstantClassifier\(.*predicted .* not among the classes"
    ):
        AdaBoostClassifier(ConstantClassifier(label)).fit(X, np.array(labels)[y])


@pytest.mark.parametrize("output", ["nan", "one column", "flat", "short", "long"])
def test_fit_rejects_invalid_probabilities(output):
    X, y = two()
    with pytest.raises(ValueError, match="estimator=BadProbabilities"):
        AdaBoostClassifier(BadProbabilities(output), algorithm="real").fit(X, y)


@pytest.mark.parametrize("more", [-1, 1, 10**6])
def test_fit_rejects_a_wrong_number_of_predictions(more):
    X, y = two()
    models = (
        AdaBoostClassifier(WrongNumberOfLabels(more)),
        AnyBoostClassifier(WrongNumberOfLabels(more)),
        AdaBoostClassifier(WrongNumberOfValues(more), algorithm="gentle"),
        LogitBoostClassifier(WrongNumberOfValues(more)),
    )
    for model in models:
        with pytest.raises(ValueError, match=f"returned {200 + more} predictions for 200 rows"):
            model.fit(X, y)


def test_a_regressor_that_predicts_nan_is_refused():
    class Lost(SklearnRegressionStump):
        def predict(self, X):
            return np.full(len(X), np.nan)

    X, y = two()
    for model in (AdaBoostClassifier(Lost(), algorithm="gentle"), LogitBoostClassifier(Lost())):
        with pytest.raises(ValueError, match=r"estimator=Lost\(\) predicted .*not finite"):
            model.fit(X, y)


# --- learners that do not fit the rule


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AdaBoostClassifier(LinearRegression()), "must be a classifier"),
        (AnyBoostClassifier(LinearRegression()), "must be a classifier"),
        (AdaBoostClassifier(DecisionTreeRegressor()), "it must be a classifier or None"),
        (AdaBoostClassifier(SVC(), algorithm="real"), "algorithm='real' requires predict_proba"),
        (AdaBoostClassifier(LinearSVC(), algorithm="samme.r"), "algorithm='samme.r' requires predict_proba"),
        (AdaBoostClassifier(GaussianNB(), algorithm="gentle"), "algorithm='gentle' fits numbers"),
        (LogitBoostClassifier(GaussianNB()), "LogitBoostClassifier fits numbers"),
    ],
)
def test_a_learner_of_the_wrong_kind_is_refused(model, message):
    X, y = two(20)
    with pytest.raises(ValueError, match=f"^estimator=.* is not allowed here: .*{message}"):
        model.fit(X, y)
