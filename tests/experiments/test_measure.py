"""Folds, flipped labels and curves are the same for every method."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from hedgerow.experiments import measure
from hedgerow.experiments.plan import BOOSTING, COMPARED, GENTLE, LINEAR, ONE_HOT, Maker, Problem


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent class; records its inputs."""

    def __init__(self):
        self.inputs = []

    def fit(self, X, y):
        self.inputs.append((X[:, 0].astype(int), y.copy()))
        self.common_ = int(y.mean() > 0.5)
        return self

    def predict(self, X):
        self.inputs.append((X[:, 0].astype(int), None))
        return np.full(len(X), self.common_)

    def staged_predict(self, X):  # three rounds
        yield np.zeros(len(X), int)
        yield np.ones(len(X), int)
        yield np.zeros(len(X), int)


@pytest.fixture
def problem():
    y = (np.arange(60) % 3 == 0).astype(np.int64)
    return Problem("sixty", "Sixty rows", np.arange(60.0)[:, None], y)  # the column is the row number


def test_folds_are_disjoint_and_repeats_differ(problem):
    folds = measure.make_folds(problem.y, 5, 2, seed=3)
    assert len(folds) == 10
    for repeat in (folds[:5], folds[5:]):
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in repeat])), np.arange(60))
    for train, test in folds:
        assert not set(train) & set(test)
        assert problem.y[test].sum() == 4  # a third of twelve
    assert not all(np.array_equal(one[1], two[1]) for one, two in zip(folds[:5], folds[5:], strict=True))


def test_every_method_gets_the_rows_of_the_folds(problem):
    folds = measure.make_folds(problem.y, 3, 1, seed=0)
    for run in (
        lambda model: measure.cross_validate(model, problem, folds),
        lambda model: measure.curve_of_models([model], [1.0], problem, folds),
        lambda model: measure.curve_of_noise(model, [0.0], problem, folds, seed=5),
    ):
        model = Recorder()
        run(model)
        expected = [rows for fold in folds for rows in fold]
        for (rows, _), wanted in zip(model.inputs, expected, strict=True):
            np.testing.assert_array_equal(rows, wanted)


def test_scores_are_accuracies(problem):
    scores = measure.cross_validate(Recorder(), problem, measure.make_folds(problem.y, 5, 1, seed=0))
    np.testing.assert_allclose(scores.accuracy, 2 / 3)  # always the larger class
    assert scores.fit_seconds.shape == scores.predict_seconds.shape == (5,)


def test_models_that_stop_early_keep_their_last_accuracy(problem):
    folds = measure.make_folds(problem.y, 5, 1, seed=0)
    curve = measure.curve_of_rounds(Recorder(), problem, folds, 5)
    assert curve.x == (1.0, 2.0, 3.0, 4.0, 5.0)
    np.testing.assert_allclose(curve.mean, [2 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3])
    np.testing.assert_allclose(curve.spread, 0, atol=1e-15)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.4])
def test_share_of_training_labels_is_flipped_and_no_test_label(problem, share):
    folds = measure.make_folds(problem.y, 3, 1, seed=0)
    model = Recorder()
    curve = measure.curve_of_noise(model, [share], problem, folds, seed=1)
    for rows, labels in model.inputs[::2]:
        assert (labels != problem.y[rows]).sum() == round(share * len(rows))
    # the larger class stays the larger one below, so the accuracy on true labels does not change
    np.testing.assert_allclose(curve.mean, 2 / 3)


def test_flipped_labels_depend_on_seed_and_fold():
    y = np.arange(200) % 2
    one, again, other = (measure.noisy_labels(y, 0.2, key) for key in ((0, 1), (0, 1), (0, 2)))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    more = measure.noisy_labels(y, 0.4, (0, 1))
    assert (more != y)[one != y].all()  # a larger share flips the same rows and more


def test_the_standard_error_grows_with_the_overlap():
    gaps = np.array([0.01, 0.02, 0.03, 0.02])
    plain = gaps.std(ddof=1) / 2
    assert measure.standard_error(gaps, 0.0) == pytest.approx(plain)
    assert measure.standard_error(gaps, 1 / 4) == pytest.approx(plain * np.sqrt(2))
    assert measure.standard_error(gaps[:1], 0.0) == np.inf


@pytest.mark.parametrize("name", [*COMPARED, ONE_HOT, GENTLE])
def test_every_method_has_a_description_of_its_parameters(name):
    maker = Maker(learners=7, trees=5, members=3, random_state=4, n_jobs=1)
    model = maker.make(name)
    assert str(getattr(model, "n_estimators", "")) in maker.describe(name)
    if name not in LINEAR:
        assert model.n_jobs == 1
    if name in BOOSTING:
        assert (model.n_estimators, maker.make(name, learners=2, rate=0.5).learning_rate) == (7, 0.5)
        rate = f"rate {model.learning_rate:g}"
        assert maker.describe(name).endswith(rate)


def test_unknown_methods_are_rejected():
    with pytest.raises(ValueError, match=r"name='ridge' is not allowed: .* one of logistic regression"):
        Maker(1, 1, 1).make("ridge")
