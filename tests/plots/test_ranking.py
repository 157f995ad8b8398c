"""ROC and precision-recall curves: areas, the mean of classes, legends, and rejected inputs."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score, roc_auc_score

from hedgerow import AdaBoostClassifier, RandomForestClassifier
from hedgerow.plots import PrecisionRecallDisplay, RocCurveDisplay
from plot_cases import legend

kinds = pytest.mark.parametrize("display_of", [RocCurveDisplay, PrecisionRecallDisplay])
both = pytest.mark.parametrize(
    ("display_of", "area_of"),
    [(RocCurveDisplay, roc_auc_score), (PrecisionRecallDisplay, average_precision_score)],
)


@both
def test_areas_are_those_of_scikit_learn_with_and_without_ties(display_of, area_of):
    generator = np.random.default_rng(0)
    y = generator.random(3000) < 0.2
    distinct = generator.normal(size=3000) + y
    for scores in (distinct, np.round(distinct), np.zeros(3000)):
        (curve,) = display_of.from_predictions(y, scores).curves
        assert curve.area == pytest.approx(area_of(y, scores))
        assert len(curve.x) <= 402


@both
def test_second_of_two_classes_is_positive(display_of, area_of):
    X, y = load_breast_cancer(return_X_y=True)
    names = np.where(y == 1, "benign", "malignant")
    model = AdaBoostClassifier(n_estimators=5).fit(X[::2], names[::2])
    display = display_of.from_estimator(model, X[1::2], names[1::2])
    scores = model.predict_proba(X[1::2])[:, 1]
    assert display.curves[0].area == pytest.approx(area_of(names[1::2] == "malignant", scores))
    assert display.mean is None
    assert legend(display)[-1].startswith("malignant: ")


@both
def test_several_classes_have_curves_against_the_rest_and_a_mean(display_of, area_of):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X[::3], y[::3])
    display = display_of.from_estimator(model, X[1::3], y[1::3])
    scores = model.predict_proba(X[1::3])
    areas = [area_of(y[1::3] == k, scores[:, k]) for k in range(3)]
    assert [curve.area for curve in display.curves] == pytest.approx(areas)
    assert display.mean.area == pytest.approx(np.mean(areas))
    assert legend(display)[-1].endswith(f" {np.mean(areas):.3f}")
    assert len(legend(display)) == 4


@kinds
def test_mean_curve_has_the_mean_area(display_of):
    generator = np.random.default_rng(1)
    y = generator.integers(0, 3, 600)
    scores = generator.normal(size=(600, 3))
    scores[np.arange(600), y] += 1.5
    mean = display_of.from_predictions(y, scores).mean
    assert np.trapezoid(mean.y, mean.x) == pytest.approx(mean.area, abs=0.01)


@kinds
def test_worst_classes_are_named_if_there_are_more_than_colours(display_of):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 9, 300)
    display = display_of.from_predictions(y, generator.random((300, 9)) + 0.5 * np.eye(9)[y])
    worst = sorted(display.curves, key=lambda curve: curve.area)[:3]
    assert {f"{curve.name}: {curve.area:.3f}" for curve in worst} == set(legend(display)[:-1])


def test_decision_function_is_used_without_probabilities():
    X, y = load_iris(return_X_y=True)
    model = RidgeClassifier().fit(X, y > 0)
    assert RocCurveDisplay.from_estimator(model, X, y > 0).curves[0].area == pytest.approx(1)


def test_classes_without_rows_are_omitted():
    display = RocCurveDisplay.from_predictions([0, 1, 0, 1], np.eye(3)[[0, 1, 0, 1]], labels=[0, 1, 2])
    assert [curve.name for curve in display.curves] == ["0", "1"]


@kinds
def test_invalid_inputs_are_rejected(display_of):
    with pytest.raises(ValueError, match="y holds the class 'a' only: rows of another class are needed"):
        display_of.from_predictions(["a", "a"], [0.1, 0.2], labels=["a", "b"])
    with pytest.raises(ValueError, match="2 rows of the 3 classes"):
        display_of.from_predictions(["a", "b"], [0.1, 0.2], labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="the labels are of different kinds"):
        display_of.from_predictions(np.array(["a", None, 1], dtype=object), [0.1, 0.2, 0.3])


@kinds
def test_classes_that_begin_with_an_underscore_are_in_the_legend(display_of):
    y, scores = np.array(["_a", "_b", "c"] * 10), np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    names = legend(display_of.from_predictions(y, scores))
    assert [name.partition(":")[0] for name in names[:3]] == ["_a", "_b", "c"]


def test_areas_below_one_are_not_rounded_to_one():
    y, scores = np.repeat([0, 1], 5000), np.arange(10000) / 10000
    scores[[4999, 5000]] = scores[[5000, 4999]]
    assert legend(RocCurveDisplay.from_predictions(y, scores)) == ["1: AUC > 0.999"]
