"""Layout of the displays: texts do not overlap, text stays text in SVG, colours are those of the style."""

import io
import re
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pytest

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor, plots
from hedgerow.plots import labels, style
from hedgerow.theory.certificate import Bound, Certificate

LONG = "a_column_whose_name_has_forty_letters_00"


def rows(n_classes):
    generator = np.random.default_rng(0)
    y = generator.integers(0, n_classes, 400)
    scores = generator.random((400, n_classes))
    scores[np.arange(400), y] += 1
    names = np.array([f"a class with a long name, number {number}" for number in range(n_classes)])
    return names[y], scores / scores.sum(axis=1, keepdims=True), names[scores.argmax(axis=1)]


def table():
    generator = np.random.default_rng(0)
    number, codes = generator.normal(size=300) * 1000 - 2000, generator.integers(0, 30, 300)
    number[::5] = np.nan
    kinds = pa.array([f"a category with a long name {code}" for code in codes]).dictionary_encode()
    X = pa.table({f"{LONG}0": number, f"{LONG}1": kinds, f"{LONG}2": generator.integers(0, 3, 300)})
    return X, np.nan_to_num(number) + 100 * codes


def confusion(n_classes):
    y, _, predicted = rows(n_classes)
    return plots.ConfusionMatrixDisplay.from_predictions(y, predicted)


def ranking(display_of, n_classes):
    y, scores, _ = rows(n_classes)
    return display_of.from_predictions(y, scores)


def partial(*, classes):
    X, y = table()
    kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
    model = kind(n_estimators=5).fit(X, np.digitize(y, [-2000, 0, 1000]) if classes else y)
    return plots.PartialDependenceDisplay.from_estimator(model, X, features=[0, 1, 2])


def importances():
    X, y = table()
    model = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    return plots.ImportancesDisplay.from_estimator(model, X, y, method="permutation")


def bounds():
    found = tuple(Bound(f"{LONG} {k}", 0.1 + 0.3 * k, 0.01, 100, "", "") for k in range(5))
    return plots.BoundsDisplay.from_certificate(Certificate("a model", 0.05, 0.4, found), test_error=0.09)


def scores():
    found = {f"{LONG} {k}": (0.9 - 0.01 * k, 0.01) for k in range(12)}
    return plots.ScoresDisplay.from_scores(found, "accuracy")


def curves():
    found = {
        f"a method, number {k}": (np.array([0.8, 0.9, 0.9 + 0.001 * k]), np.full(3, 0.01)) for k in range(7)
    }
    return plots.CurvesDisplay.from_values(
        [1, 10, 1000], found, x_label="learners", y_label="accuracy", log_x=True
    )


FIGURES = {
    **{f"confusion {k}": lambda k=k: confusion(k) for k in (2, 5, 12, 30)},
    **{f"calibration {k}": lambda k=k: ranking(plots.CalibrationDisplay, k) for k in (2, 4)},
    **{f"ROC {k}": lambda k=k: ranking(plots.RocCurveDisplay, k) for k in (2, 9)},
    "PR 7": lambda: ranking(plots.PrecisionRecallDisplay, 7),
    "importances": importances,
    "partial dependence of numbers": lambda: partial(classes=False),
    "partial dependence of classes": lambda: partial(classes=True),
    "bounds": bounds,
    "scores": scores,
    "curves": curves,
    "predicted": lambda: plots.PredictedDisplay.from_predictions(
        1e6 * np.sin(np.arange(2000.0)), 1e6 * np.cos(np.arange(2000.0))
    ),
    "losses": lambda: plots.LossRoundsDisplay(
        {"train": 1 / np.arange(1.0, 90), "validation": 0.2 + 1 / np.arange(1.0, 90)}, "log-loss", 70
    ).plot(),
}


@pytest.mark.parametrize("name", FIGURES)
def test_texts_do_not_overlap_and_stay_text_in_svg(name, monkeypatch):
    figure = FIGURES[name]().figure_
    figure.draw_without_rendering()  # lays the panels out
    drawn = []  # ticks beyond the ends of an axis are not drawn
    draw = mpl.text.Text.draw

    def record(text, renderer, *arguments):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        draw(text, renderer, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(mpl.text.Text, "draw", record)
        figure.draw_without_rendering()
    check_boxes(figure, {text: mpl.text.Text.get_window_extent(text) for text in drawn})  # without arrows
    page = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(page, format="svg", transparent=True)
    svg = page.getvalue()
    known = {colour.lower() for colour in (*style.COLOURS, style.INK, style.FAINT, style.SOFT, "#ffffff")}
    assert {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", svg)} <= known
    assert "DejaVuSans-" not in svg  # letters drawn as shapes
    assert svg.count("<text") > 3


def check_boxes(figure, boxes):
    """Texts are within the figure, and level ones do not overlap."""
    assert len(boxes) > 3
    right, top = figure.bbox.x1 + 1, figure.bbox.y1 + 1
    for text, box in boxes.items():
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= right and box.y1 <= top
        assert inside, text.get_text()
    level = {text: box.padded(-1) for text, box in boxes.items() if text.get_rotation() in {0, 90}}
    for one, other in combinations(level, 2):
        assert not level[one].overlaps(level[other]), (one.get_text(), other.get_text())


HALF = np.full((2, 3), 0.5)
SINGLE = [
    plots.ErrorRoundsDisplay(np.array([0.2, 0.0]), np.array([0.3, 0.1])),
    plots.LossRoundsDisplay({"train": np.array([0.2, 0.1])}, "log-loss"),
    plots.MarginDistributionDisplay(np.array([[-0.5, 0.5, 1.0]])),
    plots.WeightPathsDisplay(np.ones((1, 3)), ["row 0"], np.ones((3, 3))),
    plots.SampleSizeDisplay([10, 20], HALF, HALF),
]


@pytest.mark.parametrize("display", SINGLE, ids=lambda display: type(display).__name__)
def test_displays_draw_on_passed_axes_and_again(display):
    figure, ax = plt.subplots()
    assert display.plot(ax) is display
    assert (display.ax_, display.figure_) == (ax, figure)
    assert ax.get_legend() is not None
    display.plot(legend=False)
    assert display.figure_ is not figure
    assert display.ax_.get_legend() is None


def test_shorten_keeps_beginning_and_end():
    assert labels.shorten(LONG, 11) == "a_col…rs_00"
    assert len(labels.shorten(LONG, 12)) == 12


def test_tick_labels_are_plain_numbers():
    ticks = [labels.format_tick(value) for value in (1234567, -0.00001, 0.1 + 0.2)]
    assert ticks == ["1.2346e6", "−1e−5", "0.3"]
