"""Confusion matrices: the counts, texts of the cells, and many classes."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.plots import ConfusionMatrixDisplay
from plot_cases import notes, texts

draw = ConfusionMatrixDisplay.from_predictions


def test_counts_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for model in (GradientBoostingClassifier(n_estimators=3), LogisticRegression(max_iter=500)):
        model.fit(X[::2], names[::2])
        display = ConfusionMatrixDisplay.from_estimator(model, X[1::2], names[1::2])
        np.testing.assert_array_equal(
            display.confusion_matrix, confusion_matrix(names[1::2], model.predict(X[1::2]))
        )
        assert display.display_labels.tolist() == ["setosa", "versicolor", "virginica"]
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Predicted label", "True label")


def test_cells_have_counts_and_shares_of_their_row():
    display = draw(["a"] * 1500 + ["b"] * 4, ["a"] * 1496 + ["b"] * 4 + ["b", "b", "a", "a"])
    assert notes(display) == ["1,496\n> 99 %", "4\n< 1 %", "2\n50 %", "2\n50 %"]
    np.testing.assert_allclose(display.shares.sum(axis=1), 1)


def test_cells_with_text_are_paler_than_cells_without():
    display = draw([0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1])
    colours = dict(zip(notes(display), [text.get_color() for text in display.ax_.texts], strict=True))
    assert (colours["4\n80 %"], colours["1\n20 %"], colours["0"]) == ("#333333", "#333333", "#5A626C")
    assert max(patch.get_alpha() for patch in display.ax_.patches) == pytest.approx(0.55)
    assert max(patch.get_alpha() for patch in draw(range(13), range(13)).ax_.patches) == pytest.approx(0.85)


def test_many_classes_have_a_key_instead_of_texts():
    labels = np.arange(40).repeat(3)
    display = draw(labels, np.roll(labels, 1))
    assert notes(display) == []
    (key,) = display.ax_.child_axes
    assert texts(key.get_yticklabels())[-1] == "100 %"
    shown = texts(display.ax_.get_xticklabels())
    assert 10 < len(shown) <= 40


def test_classes_without_rows_have_shares_of_zero():
    _, ax = plt.subplots()
    display = draw(["a", "b"], ["a", "b"], labels=["a", "b", "c"], ax=ax)
    assert display.ax_ is ax
    assert display.confusion_matrix.shape == (3, 3)
    assert display.shares[2].tolist() == [0, 0, 0]
    faces = [mpl.colors.to_hex(patch.get_facecolor()) for patch in display.ax_.patches]
    assert faces[:4] == ["#0072b2", "#d55e00", "#d55e00", "#d55e00"]
    assert notes(display.plot())[0] == "1\n100 %"


def test_regressors_are_rejected():
    model = GradientBoostingRegressor(n_estimators=2).fit(np.arange(40.0).reshape(-1, 1), np.arange(40.0))
    with pytest.raises(ValueError, match="only supports classifiers"):
        ConfusionMatrixDisplay.from_estimator(model, [[1.0]], [1.0])
