"""ROC and precision-recall curves: areas as scikit-learn's, the mean of classes, thinning, errors."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score, roc_auc_score

from hedgerow import AdaBoostClassifier, RandomForestClassifier
from hedgerow.plots import PrecisionRecallDisplay, RocCurveDisplay

kinds = pytest.mark.parametrize("display_of", [RocCurveDisplay, PrecisionRecallDisplay])
both = pytest.mark.parametrize(
    ("display_of", "area_of"),
    [(RocCurveDisplay, roc_auc_score), (PrecisionRecallDisplay, average_precision_score)],
)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@both
def test_areas_are_those_of_scikit_learn_with_and_without_ties(display_of, area_of):
    generator = np.random.default_rng(0)
    y = generator.random(3000) < 0.2
    for scores in (
        generator.normal(size=3000) + y,
        np.round(generator.normal(size=3000) + y),
        np.zeros(3000),
    ):
        (curve,) = display_of.from_predictions(y, scores).curves
        assert curve.area == pytest.approx(area_of(y, scores))
        assert len(curve.x) <= 402


@both
def test_of_two_classes_it_is_the_second(display_of, area_of):
    X, y = load_breast_cancer(return_X_y=True)
    names = np.where(y == 1, "benign", "malignant")
    model = AdaBoostClassifier(n_estimators=5).fit(X[::2], names[::2])
    display = display_of.from_estimator(model, X[1::2], names[1::2])
    scores = model.predict_proba(X[1::2])[:, 1]
    assert display.curves[0].area == pytest.approx(area_of(names[1::2] == "malignant", scores))
    assert display.mean is None
    assert legend(display)[-1].startswith("malignant: ")


@both
def test_several_classes_are_set_against_the_rest_and_averaged(display_of, area_of):
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
def test_the_drawn_mean_has_the_area_it_says(display_of):
    generator = np.random.default_rng(1)
    y = generator.integers(0, 3, 600)
    scores = generator.normal(size=(600, 3))
    scores[np.arange(600), y] += 1.5
    mean = display_of.from_predictions(y, scores).mean
    assert np.trapezoid(mean.y, mean.x) == pytest.approx(mean.area, abs=0.01)


@kinds
def test_of_more_classes_than_colours_the_worst_are_named(display_of):
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X[::2], y[::2])
    display = display_of.from_estimator(model, X[1::2], y[1::2])
    worst = sorted(display.curves, key=lambda curve: curve.area)[:3]
    assert {f"{curve.name}: {curve.area:.3f}" for curve in worst} == set(legend(display)[:-1])


def test_a_decision_function_ranks_as_well():
    X, y = load_iris(return_X_y=True)
    model = RidgeClassifier().fit(X, y > 0)
    assert RocCurveDisplay.from_estimator(model, X, y > 0).curves[0].area == pytest.approx(1)


def test_a_class_without_rows_is_left_out():
    display = RocCurveDisplay.from_predictions([0, 1, 0, 1], np.eye(3)[[0, 1, 0, 1]], labels=[0, 1, 2])
    assert [curve.name for curve in display.curves] == ["0", "1"]


@kinds
def test_what_cannot_be_drawn_is_said(display_of):
    with pytest.raises(ValueError, match="y holds the class 'a' only: rows of another class are needed"):
        display_of.from_predictions(["a", "a"], [0.1, 0.2], labels=["a", "b"])
    with pytest.raises(ValueError, match="2 rows of the 3 classes"):
        display_of.from_predictions(["a", "b"], [0.1, 0.2], labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="the labels are of different kinds"):
        display_of.from_predictions(np.array(["a", None, 1], dtype=object), [0.1, 0.2, 0.3])


def test_a_class_whose_name_begins_with_an_underscore_is_in_the_legend():
    y, scores = np.array(["_a", "_b", "c"] * 10), np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    for kind in (RocCurveDisplay, PrecisionRecallDisplay):
        named = [text.get_text() for text in kind.from_predictions(y, scores).ax_.get_legend().get_texts()]
        assert [name.partition(":")[0] for name in named[:3]] == ["_a", "_b", "c"]


def test_an_area_just_below_one_is_not_called_one():
    y, scores = np.repeat([0, 1], 5000), np.arange(10000) / 10000
    scores[[4999, 5000]] = scores[[5000, 4999]]
    named = RocCurveDisplay.from_predictions(y, scores).ax_.get_legend().get_texts()
    assert [text.get_text() for text in named] == ["1: AUC > 0.999"]
