"""Boosting by three hypotheses: the samples of the paper, bounds of the theory, and test errors."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from hedgerow.boosting.schapire import MAX_TRIALS, MIN_HALF, Shortage, amplified_error, search_size
from hedgerow.boosting.schapire_votes import VoteOfThree, WeakHypothesis, vote, weak_errors
from hedgerow.estimators.schapire import SchapireBoostClassifier
from schapire_cases import STUMP, boosted, four_classes, moons

LEARNERS = [STUMP, LogisticRegression(), KNeighborsClassifier(3)]


# --- amplified errors


def test_amplified_error_is_its_formula_and_converges_to_zero():
    for a in np.linspace(0.0, 0.5, 11):
        assert amplified_error(a) == pytest.approx(3 * a**2 - 2 * a**3, abs=1e-15)
        assert amplified_error(a, 0) == a
        assert amplified_error(a, 3) == amplified_error(amplified_error(amplified_error(a)))
    assert [amplified_error(a, 50) for a in (0.0, 0.5)] == [0.0, 0.5]  # fixed points
    errors = [amplified_error(0.49, depth) for depth in range(12)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02  # weakly learnable is strongly learnable


@pytest.mark.parametrize(
    ("error", "depth", "message"),
    [
        (0.6, 1, "error=0.6 is not allowed: it must be a number >= 0 and <= 0.5"),
        (math.nan, 1, "error=nan is not allowed: it must be a number >= 0 and <= 0.5"),
        (0.3, -1, "depth=-1 is not allowed: it must be an integer >= 0"),
    ],
)
def test_amplified_error_rejects_invalid_arguments(error, depth, message):
    with pytest.raises(ValueError, match=message):
        amplified_error(error, depth)


class Erring(ClassifierMixin, BaseEstimator):
    """Errs on a random share of the rows; column 0 of X is the label, column 1 the number of the row."""

    def __init__(self, share, random_state=None):
        self.share, self.random_state = share, random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        draws = np.random.default_rng(self.random_state).random(int(X[:, 1].max()) + 1)
        errs = draws[X[:, 1].astype(int)] < self.share
        return np.where(errs, 1 - X[:, 0], X[:, 0]).astype(int)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("depth", [1, 2])
def test_the_vote_of_learners_with_error_a_has_the_error_of_the_theory(share, depth):
    # Independent errors are the same on every distribution and reach the bound with equality.
    n_rows = 60_000
    y = np.random.default_rng(0).integers(0, 2, n_rows)
    X = np.stack([y, np.arange(n_rows)], axis=1).astype(float)
    model = SchapireBoostClassifier(Erring(share), depth=depth, random_state=0).fit(X, y)
    assert model.n_estimators_ == 3**depth
    assert all(len(sample) > 100 for sample in model.samples_)
    member = amplified_error(share, depth - 1)
    np.testing.assert_allclose(model.errors_, member, atol=0.025)  # of h3 on the rows in dispute: fewest rows
    assert model.training_error_ == pytest.approx(amplified_error(share, depth), abs=0.006)
    assert model.training_error_ == np.mean(model.predict(X) != y)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_the_training_error_is_below_the_bound_whatever_the_hypotheses(data):
    # Any number of classes; equality is possible. Many predictions are right, else no error is below 1/2.
    n_classes, n_rows = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 60))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    y = random.integers(0, n_classes, n_rows)
    shares = [data.draw(st.floats(0, 0.6)) for _ in range(3)]
    wrong = [random.integers(0, n_classes, n_rows) for _ in shares]
    predicted = [np.where(random.random(n_rows) < s, w, y) for s, w in zip(shares, wrong, strict=True)]
    worst = np.nanmax(weak_errors(y, predicted))
    if worst < 0.5:
        assert np.mean(vote(predicted) != y) <= amplified_error(worst) + 1e-12


def test_the_bound_is_attained_in_the_worst_case():
    # Every error is exactly 1/4: h2 errs on a quarter of both halves, h3 on a quarter of the rows in dispute.
    y = np.zeros(64, int)
    first, second, third = (y.copy() for _ in range(3))
    first[:16] = 1
    second[:4], second[16:28] = 1, 1  # 4 of 16 and 12 of 48
    disagree = np.flatnonzero(first != second)  # 12 + 12 rows
    third[disagree[:6]] = 1
    np.testing.assert_array_equal(weak_errors(y, [first, second, third]), [0.25, 0.25, 0.25])
    assert np.mean(vote([first, second, third])) == amplified_error(0.25) == 10 / 64


def test_errors_are_those_of_the_filtered_distributions():
    X, y = make_moons(2000, noise=0.25, random_state=0)
    model = SchapireBoostClassifier(STUMP, random_state=0).fit(X, y)
    predicted = [member.predict(X) for member in model.estimators_]
    wrong1 = predicted[0] != y
    weight = np.where(wrong1, 0.5 / wrong1.sum(), 0.5 / (~wrong1).sum())
    disagree = predicted[0] != predicted[1]
    wanted = [wrong1.mean(), weight[predicted[1] != y].sum(), np.mean(predicted[2][disagree] != y[disagree])]
    np.testing.assert_allclose(model.errors_, wanted)
    assert model.training_error_ == np.mean(model.predict(X) != y) <= model.training_error_bound_
    assert model.training_error_bound_ == amplified_error(max(model.errors_))


@pytest.mark.parametrize("depth", [1, 2])
def test_every_vote_of_the_recursion_is_below_its_bound(depth):
    def check(node):
        if hasattr(node, "members"):
            assert node.error <= node.bound + 1e-12
            for member in node.members:
                check(member)

    for seed in range(5):
        X, y = make_moons(1000, noise=0.3, random_state=seed)
        check(SchapireBoostClassifier(STUMP, depth=depth, random_state=seed).fit(X, y).hypothesis_)


def test_errors_not_below_one_half_have_no_bound():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 2)), random.integers(0, 4, 300)
    model = SchapireBoostClassifier(STUMP, random_state=0).fit(X, y)
    assert max(model.errors_) > 0.5
    assert model.training_error_bound_ == 1.0


# --- the three samples


@pytest.mark.parametrize(("make", "first_share"), [(moons, None), (four_classes, 0.5)])
@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: type(e).__name__)
def test_the_three_samples_are_those_of_the_paper(estimator, make, first_share):
    X, y = make()
    model = boosted(estimator, first_share=first_share).fit(X, y)
    h1, h2, h3 = model.estimators_
    for member, sample in zip(model.hypothesis_.members, model.samples_, strict=True):
        assert np.array_equal(member.rows, sample)
        assert np.array_equal(sample, np.unique(sample))
    predicted1, predicted2 = h1.predict(X), h2.predict(X)
    s1, s2, s3 = model.samples_
    wrong = np.flatnonzero(predicted1 != y)
    if first_share:
        assert len(s1) == 0.5 * len(y)
    # S2: outside S1, half wrong by h1, and that is half of the mistakes there
    assert not np.isin(s2, s1).any()
    assert np.isin(s2, wrong).sum() == len(s2) / 2
    n_wrong, n_right = (np.setdiff1d(rows, s1).size for rows in (wrong, np.flatnonzero(predicted1 == y)))
    assert len(s2) // 2 == min(n_wrong, n_right) // 2 >= MIN_HALF
    # S3: all the others on which h1 and h2 disagree
    others = np.setdiff1d(np.arange(len(y)), np.concatenate([s1, s2]))
    assert np.array_equal(s3, others[predicted1[others] != predicted2[others]])
    assert len(s3)
    # each member is fitted to its sample
    for number, (member, sample) in enumerate(zip((h1, h2, h3), model.samples_, strict=True), start=1):
        copy = clone(estimator)
        if "random_state" in copy.get_params():
            copy.set_params(random_state=number)
        assert np.array_equal(copy.fit(X[sample], y[sample]).predict(X), member.predict(X))
    wanted = np.where(predicted1 == predicted2, predicted1, h3.predict(X))
    assert np.array_equal(model.predict(X), wanted)


def test_the_first_sample_is_a_fair_draw():
    X, y = moons(3000)
    drawn = np.array(
        [boosted(random_state=seed, first_share=0.4).fit(X, y).samples_[0] for seed in range(20)]
    )
    counts = np.bincount(drawn.ravel(), minlength=3000)  # of 20 draws with probability 0.4: variance 4.8
    assert np.var(counts) == pytest.approx(4.8, rel=0.15)
    assert np.mean(y[drawn]) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("make", [moons, four_classes])
@pytest.mark.parametrize("estimator", [STUMP, GaussianNB()], ids=lambda e: type(e).__name__)
def test_nearly_all_rows_are_in_a_sample(estimator, make):
    shares = []
    for seed in range(4):
        X, y = make(seed=seed)
        model = boosted(estimator, random_state=seed).fit(X, y)
        shares.append(len(np.unique(np.concatenate(model.samples_))) / len(y))
        assert f"learned from {round(shares[-1] * len(y))} of {len(y)} rows" in model.stop_reason_
    assert 0.87 <= np.mean(shares) <= 0.95


def test_the_search_fits_few_first_hypotheses():
    fitted = []

    class Counting(DecisionTreeClassifier):
        def fit(self, X, y):
            fitted.append(len(X))
            return super().fit(X, y)

    for seed in range(8):
        X, y = moons(seed=seed)
        boosted(Counting(max_depth=1), random_state=seed).fit(X, y)
    assert len(fitted) <= 8 * (2 * 2.5 + 1)  # two and a half trials of h1 and h2 on average, and one h3


class Line:
    """A trial that uses the same share of the rows outside S1 for any size of S1."""

    def __init__(self, size, n_rows, share):
        self.size, self.n_used = size, size + round(share * (n_rows - size))


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("n_rows", [60, 1000, 10**6])
def test_the_search_finds_the_size_on_a_line_in_two_trials(n_rows, share):
    tried = []
    best, shortage = search_size(n_rows, lambda size: tried.append(Line(size, n_rows, share)) or tried[-1])
    assert shortage is None
    assert len(tried) <= (2 if n_rows > 60 else 3)
    assert 0.88 <= best.n_used / n_rows <= 0.95 or best.size in (n_rows // 3, n_rows - 4 * MIN_HALF)


@pytest.mark.parametrize("error", [0.004, 0.01, 0.03, 0.2])
def test_the_search_leaves_as_many_mistakes_as_are_needed(error):
    tried = []

    def attempt(size):
        tried.append(size)
        wrong = int(error * (1000 - size))
        return Shortage(wrong, 1000 - size - wrong) if wrong < 10 else Line(size, 1000, 2 * error)

    best, shortage = search_size(1000, attempt)
    assert len(tried) <= MAX_TRIALS
    assert min(tried) >= 333
    if error < 0.015:  # under ten mistakes in two thirds of the rows: none of three sizes has enough
        assert best is None
        assert shortage.n_wrong < 10
        assert len(tried) <= 2
    else:
        assert best.size == max(size for size in tried if int(error * (1000 - size)) >= 10)


def test_depth_two_is_a_vote_of_votes():
    X, y = moons(3000)
    model = boosted(depth=2, first_share=0.4).fit(X, y)
    assert model.n_estimators_ == len(model.estimators_) == 9
    assert all(isinstance(member, VoteOfThree) for member in model.hypothesis_.members)
    predictions = []
    for member, sample in zip(model.hypothesis_.members, model.samples_, strict=True):
        assert np.array_equal(member.rows, sample)
        inner = [weak.rows for weak in member.members]
        assert all(isinstance(weak, WeakHypothesis) for weak in member.members)
        assert all(np.array_equal(a, b) for a, b in zip(inner, member.samples, strict=True))
        assert len(np.unique(np.concatenate(inner))) == sum(map(len, inner))
        assert np.isin(np.concatenate(inner), sample).all()
        predicted = [weak.estimator.predict(X) for weak in member.members]
        predictions.append((np.sum(predicted, axis=0) >= 2).astype(int))
    assert np.array_equal(model.predict(X), (np.sum(predictions, axis=0) >= 2).astype(int))
    assert np.isin(model.samples_[1], np.flatnonzero(predictions[0] != y)).mean() == 0.5
    seeds = [weak.random_state for weak in model.estimators_]
    assert seeds == list(range(4, 13))
    assert boosted(depth=3, first_share=0.4).fit(*moons(8000)).n_estimators_ == 27


# --- test errors, means over six seeds


def interval(n_rows, seed):
    X = np.random.default_rng(seed).uniform(-1, 1, (n_rows, 1))
    return X, (np.abs(X[:, 0]) < 0.5).astype(int)


def diagonal(n_rows, seed):
    X = np.random.default_rng(seed).uniform(-1, 1, (n_rows, 2))
    return X, (X.sum(axis=1) > 0).astype(int)


def circles(n_rows, seed):
    return make_circles(n_rows, noise=0.15, factor=0.5, random_state=seed)


@cache
def mean_error(make, **parameters):
    errors = []
    for seed in range(6):
        X, y = make(4000, seed)
        model = SchapireBoostClassifier(STUMP, random_state=seed, **parameters) if parameters else STUMP
        errors.append(1.0 - model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]))
    return np.mean(errors)


@pytest.mark.parametrize(
    ("make", "first_share"), [(interval, None), (diagonal, 1 / 3), (moons, 1 / 3), (circles, None)]
)
def test_three_stumps_are_better_than_one(make, first_share):
    assert mean_error(make, depth=1, first_share=first_share) < 0.75 * mean_error(make)


@pytest.mark.parametrize(("make", "first_share"), [(diagonal, 1 / 3), (moons, 1 / 3), (circles, None)])
def test_nine_stumps_are_better_than_three_where_three_are_not_enough(make, first_share):
    one, two = (mean_error(make, depth=depth, first_share=first_share) for depth in (1, 2))
    assert two < (0.8 * one if make is not moons else one)


def test_three_thresholds_are_an_interval():
    # A stump cannot have less than 1/4 of it wrong. Nine, of smaller samples, are no better than three.
    assert mean_error(interval) > 0.24
    assert mean_error(interval, depth=1) < 0.01
    assert mean_error(interval, depth=2) < 0.02
