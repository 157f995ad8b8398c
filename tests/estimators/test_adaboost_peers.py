"""Comparison with scikit-learn's AdaBoostClassifier, round by round: with its stumps, and with ours.

algorithm="samme" has its alpha; "discrete" has half of it. Of two equally good splits, scikit-learn chooses
by the tree's random_state and hedgerow the lower column. Hence the learner of the strict comparisons has no
random_state, and exact stumps are compared by their errors, which a tie does not change in its own round.
"""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import AdaBoostClassifier as Theirs
from sklearn.tree import DecisionTreeClassifier

from adaboost_cases import SklearnStump, breast, iris, several, two
from hedgerow import AdaBoostClassifier, DecisionStump
from hedgerow.datasets import make_hastie

ROUNDS = 25
PROBLEMS = {
    "breast": breast,
    "hastie": lambda: make_hastie(800, random_state=0),
    "noise": lambda: two(400),
    "iris": iris,
    "wine": lambda: load_wine(return_X_y=True),
    "several": lambda: several(4, 400),
}
SHARES = {"samme": 1.0, "discrete": 0.5}  # of scikit-learn's alpha


def theirs(X, y, learner=None, weight=None, n_estimators=ROUNDS, **parameters):
    model = Theirs(SklearnStump() if learner is None else learner, n_estimators=n_estimators, **parameters)
    return model.fit(X, y, weight)


@pytest.mark.parametrize(
    ("name", "algorithm", "learning_rate"),
    [
        ("breast", "samme", 1.0),
        ("hastie", "discrete", 0.5),
        ("noise", "discrete", 1.0),
        ("iris", "samme", 0.5),
        ("wine", "discrete", 1.0),
        ("several", "samme", 0.5),
    ],
)
def test_with_its_stumps_every_round_is_the_same(name, algorithm, learning_rate):
    X, y = PROBLEMS[name]()
    weight = None if algorithm == "samme" else np.random.default_rng(0).uniform(0.5, 2, len(y))
    other = theirs(X, y, weight=weight, learning_rate=learning_rate)
    model = AdaBoostClassifier(
        SklearnStump(), algorithm=algorithm, n_estimators=ROUNDS, learning_rate=learning_rate
    ).fit(X, y, weight)
    assert model.n_estimators_ == len(other.estimators_) == ROUNDS
    np.testing.assert_allclose(model.estimator_errors_, other.estimator_errors_, rtol=1e-9)
    expected = SHARES[algorithm] * other.estimator_weights_
    np.testing.assert_allclose(model.estimator_weights_, expected, rtol=1e-9)
    for mine, its in zip(model.staged_predict(X), other.staged_predict(X), strict=True):
        assert np.array_equal(mine, its)
    for mine, its in zip(model.estimators_, other.estimators_, strict=True):
        assert np.array_equal(mine.predict(X), its.predict(X))
    np.testing.assert_allclose(model.score(X, y), other.score(X, y))


def test_a_tree_with_a_random_state_gives_the_same_where_no_splits_are_tied():
    X, y = make_hastie(800, random_state=1)
    learner = DecisionTreeClassifier(max_depth=1, random_state=7)
    options = {"n_estimators": ROUNDS, "learning_rate": 0.5, "random_state": 0}
    other = theirs(X, y, learner, **options)
    model = AdaBoostClassifier(learner, algorithm="samme", **options).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, other.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_, other.estimator_weights_, rtol=1e-9)
    assert np.array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize(("name", "learning_rate"), [*zip(PROBLEMS, [1.0, 0.5] * 3, strict=True)])
def test_our_exact_stumps_reach_the_same_errors_round_by_round(name, learning_rate):
    X, y = PROBLEMS[name]()
    other = theirs(X, y, learning_rate=learning_rate)
    stump = DecisionStump("gini", max_bins=65535)
    model = AdaBoostClassifier(
        stump, algorithm="samme", n_estimators=ROUNDS, learning_rate=learning_rate
    ).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, other.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_, other.estimator_weights_, rtol=1e-9)
    assert np.array_equal(model.predict(X), other.predict(X))
    for mine, its in zip(model.estimators_, other.estimators_, strict=True):
        assert np.array_equal(mine.predict(X), its.predict(X))  # iris has other columns that part it alike


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_stump_of_least_error_is_never_behind_in_the_first_round(name):
    X, y = PROBLEMS[name]()
    first = theirs(X, y, n_estimators=1).estimator_errors_[0]
    for max_bins in (255, 65535):
        model = AdaBoostClassifier(DecisionStump("error", max_bins=max_bins), n_estimators=1).fit(X, y)
        slack = 0.0 if max_bins == 65535 else 0.005  # 255 bins may miss the very best cut
        assert model.estimator_errors_[0] <= first + slack + 1e-12


@pytest.mark.parametrize("learner", [SklearnStump(), None])
def test_a_perfect_stump_ends_both(learner):
    X, y = np.arange(10.0)[:, None], np.repeat(["a", "b"], 5)
    other = theirs(X, y)
    model = AdaBoostClassifier(learner).fit(X, y)
    assert len(other.estimators_) == model.n_estimators_ == 1
    assert np.array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("name", ["breast", "iris"])
def test_binned_stumps_by_error_classify_new_rows_as_well(name):
    X, y = PROBLEMS[name]()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    other = Theirs(n_estimators=50, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    model = AdaBoostClassifier(n_estimators=50).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > other - 0.03
