"""Metrics against scikit-learn's, and their standard errors against what they should be."""

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from hedgerow import GradientBoostingRegressor
from hedgerow.selection import METRICS, score_model
from hedgerow.selection.metrics import find_metric, metric_named, score_predictions
from hedgerow.selection.predictions import Predictions, class_predictions
from hedgerow.selection.trials import standard_error


def _classes(n_classes, n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), truth] += 1.0
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return class_predictions(
        truth, probabilities.round(2) / probabilities.round(2).sum(axis=1, keepdims=True)
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_of_classes_are_those_of_scikit_learn(n_classes):
    predictions = _classes(n_classes)
    scores = score_predictions(predictions, "classification")
    truth, printed, probabilities = predictions.y_true, predictions.y_pred, predictions.probabilities
    assert scores["accuracy"] == pytest.approx(theirs.accuracy_score(truth, printed))
    assert scores["balanced-accuracy"] == pytest.approx(theirs.balanced_accuracy_score(truth, printed))
    assert scores["log-loss"] == pytest.approx(theirs.log_loss(truth, probabilities))
    macro = score_predictions(predictions, "classification", METRICS["f1-macro"])["f1-macro"]
    assert macro == pytest.approx(theirs.f1_score(truth, printed, average="macro"))
    assert "f1-macro" not in scores
    if n_classes == 2:
        assert scores["f1"] == pytest.approx(theirs.f1_score(truth, printed))
        expected = theirs.average_precision_score(truth, probabilities[:, 1])
        assert scores["pr-auc"] == pytest.approx(expected)
        assert scores["auc"] == pytest.approx(theirs.roc_auc_score(truth, probabilities[:, 1]))
        assert scores["brier"] == pytest.approx(theirs.brier_score_loss(truth, probabilities[:, 1]))
    else:
        assert not {"auc", "pr-auc", "f1"} & set(scores)
        one_hot = np.eye(n_classes)[truth]
        assert scores["brier"] == pytest.approx(np.mean(np.sum((probabilities - one_hot) ** 2, axis=1)))


def test_scores_of_numbers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    printed = truth + rng.normal(size=200)
    scores = score_predictions(Predictions(truth, printed), "regression")
    assert scores["r2"] == pytest.approx(theirs.r2_score(truth, printed))
    assert scores["rmse"] == pytest.approx(theirs.root_mean_squared_error(truth, printed))
    assert scores["mae"] == pytest.approx(theirs.mean_absolute_error(truth, printed))
    assert scores["mape"] == pytest.approx(theirs.mean_absolute_percentage_error(truth, printed))
    assert "pinball" not in scores
    for name, level in (("pinball", 0.5), ("pinball:0.9", 0.9)):
        score = metric_named(name).score(Predictions(truth, printed))
        assert score == pytest.approx(theirs.mean_pinball_loss(truth, printed, alpha=level))


def test_the_positive_class_of_f1_and_average_precision_can_be_the_first():
    both = _classes(2)
    first = class_predictions(both.y_true, both.probabilities, positive=0)
    scores = score_predictions(first, "classification")
    assert scores["f1"] == pytest.approx(theirs.f1_score(both.y_true, both.y_pred, pos_label=0))
    expected = theirs.average_precision_score(both.y_true == 0, both.probabilities[:, 0])
    assert scores["pr-auc"] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["f1", "f1-macro", "pr-auc"])
def test_the_influence_of_a_row_is_that_of_leaving_it_out(name):
    predictions = _classes(2, n=2000)
    row_scores = METRICS[name].row_scores(predictions)
    n = len(row_scores)
    for row in range(0, n, 100):
        kept = np.arange(n) != row
        without = METRICS[name].score(
            class_predictions(predictions.y_true[kept], predictions.probabilities[kept])
        )
        left_out = (n - 1) * (np.mean(row_scores) - without)
        assert left_out == pytest.approx(row_scores[row] - np.mean(row_scores), abs=0.02)


@pytest.mark.parametrize(
    ("name", "task", "n_classes", "y", "message"),
    [
        ("mape", "regression", None, [1.0, 0.0], "y holds 0"),
        ("pr-auc", "classification", 3, None, "it needs two classes, and y has 3"),
        ("f1", "classification", 3, None, "use 'f1-macro'"),
        ("pinball:1.5", "regression", None, None, "must be one of 'r2'"),
        ("pinball:x", "regression", None, None, "'pinball:0.9'"),
        ("mae", "classification", 2, None, "not allowed for classification"),
        ("f1", "regression", None, None, "not allowed for regression"),
    ],
)
def test_a_metric_is_refused_where_it_does_not_apply(name, task, n_classes, y, message):
    with pytest.raises(ValueError, match=message):
        find_metric(name, task, n_classes, y)


@pytest.mark.parametrize(
    "name", ["accuracy", "balanced-accuracy", "log-loss", "brier", "auc", "f1", "pr-auc"]
)
def test_the_standard_error_of_a_score_is_its_deviation_over_samples(name):
    population = _classes(2, n=40_000)
    scores, errors = [], []
    for part in range(100):
        rows = slice(400 * part, 400 * part + 400)
        predictions = class_predictions(population.y_true[rows], population.probabilities[rows])
        row_scores = METRICS[name].row_scores(predictions)
        scores.append(np.mean(row_scores))
        errors.append(standard_error(row_scores))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.2)


@pytest.mark.parametrize("name", ["r2", "rmse", "mae"])
def test_the_standard_error_of_numbers_is_their_deviation_over_samples(name):
    rng = np.random.default_rng(1)
    scores, errors = [], []
    for _ in range(150):
        truth = rng.uniform(-2, 2, size=300)
        row_scores = METRICS[name].row_scores(Predictions(truth, truth + rng.normal(size=300)))
        scores.append(np.mean(row_scores))
        errors.append(standard_error(row_scores))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.35)


def test_log_loss_of_certain_wrong_predictions_is_finite():
    scores = score_predictions(
        class_predictions(np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]])), "classification"
    )
    assert scores["log-loss"] == pytest.approx(theirs.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]]))
    assert scores["log-loss"] < 20


def test_undefined_scores_are_left_out():
    scores = score_predictions(class_predictions(np.zeros(3, int), np.full((3, 2), 0.5)), "classification")
    assert "auc" not in scores
    assert scores["accuracy"] == 1.0
    assert score_predictions(Predictions(np.ones(4), np.array([1.0, 1.0, 1.0, 2.0])), "regression") == {
        "rmse": 0.5,
        "mae": 0.25,
        "mape": 0.25,
    }
    perfect = score_predictions(Predictions(np.arange(4.0), np.arange(4.0)), "regression")
    assert perfect == {"rmse": 0.0, "mae": 0.0, "r2": 1.0}


def test_an_unknown_class_counts_as_wrong():
    X, y = make_classification(100, random_state=0)
    model = LogisticRegression().fit(X, y)
    scores = score_model(model, X[:4], np.array([7, 7, 7, 7]), "classification")
    assert scores["accuracy"] == 0.0
    assert scores["log-loss"] > 30


def test_a_model_without_probabilities_has_fewer_scores():
    X, y = make_classification(100, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = RidgeClassifier().fit(X, labels)
    scores = score_model(model, X, labels, "classification")
    assert set(scores) == {"accuracy", "balanced-accuracy", "f1"}
    assert scores["accuracy"] == model.score(X, labels)


def test_score_model_of_a_regressor():
    X = np.arange(60.0)[:, np.newaxis]
    model = GradientBoostingRegressor(min_samples_leaf=1).fit(X, 3.0 * X[:, 0])
    assert score_model(model, X, 3.0 * X[:, 0], "regression")["r2"] > 0.99


def test_metrics_have_a_direction():
    better = {name for name, metric in METRICS.items() if metric.higher_is_better}
    assert better == {"accuracy", "balanced-accuracy", "f1", "f1-macro", "auc", "pr-auc", "r2"}
    assert METRICS["auc"].loss(0.9) == -0.9
    assert METRICS["mae"].loss(0.9) == 0.9


@pytest.mark.parametrize(
    ("name", "task", "n_classes", "message"),
    [
        ("auc", "classification", 3, "needs two classes, and y has 3"),
        ("rmse", "classification", 2, "must be one of 'accuracy'"),
        ("acuracy", "classification", 2, "must be one of 'accuracy'"),
        ("accuracy", "regression", None, "must be one of 'r2'"),
    ],
)
def test_a_metric_of_another_task_is_refused(name, task, n_classes, message):
    with pytest.raises(ValueError, match=message):
        find_metric(name, task, n_classes)
