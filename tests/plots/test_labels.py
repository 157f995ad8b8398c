"""All pictures of the report: no words collide or are cut, text stays text in SVG, and only house colours."""

import io
import re
from itertools import combinations

import matplotlib as mpl
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
    y, _, called = rows(n_classes)
    return plots.ConfusionMatrixDisplay.from_predictions(y, called)


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


PICTURES = {
    **{f"confusion {k}": lambda k=k: confusion(k) for k in (2, 5, 12, 30)},
    **{f"calibration {k}": lambda k=k: ranking(plots.CalibrationDisplay, k) for k in (2, 4)},
    **{f"ROC {k}": lambda k=k: ranking(plots.RocCurveDisplay, k) for k in (2, 7, 9)},
    **{f"PR {k}": lambda k=k: ranking(plots.PrecisionRecallDisplay, k) for k in (2, 7, 9)},
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


@pytest.fixture
def drawn(monkeypatch):
    """The texts that have been drawn: ticks beyond the ends of an axis are not."""
    texts = []
    draw = mpl.text.Text.draw

    def draw_and_tell(text, renderer, *arguments):
        if text.get_visible() and text.get_text().strip():
            texts.append(text)
        draw(text, renderer, *arguments)

    monkeypatch.setattr(mpl.text.Text, "draw", draw_and_tell)
    return texts


@pytest.mark.parametrize("name", PICTURES)
def test_no_words_are_cut_and_none_collide(name, drawn):
    figure = PICTURES[name]().figure_
    figure.canvas.draw()  # lays the panels out
    drawn.clear()
    figure.canvas.draw()
    boxes = {text: mpl.text.Text.get_window_extent(text) for text in drawn}  # without arrows
    assert len(boxes) > 3
    for text, box in boxes.items():
        inside = (
            box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        )
        assert inside, text.get_text()
    level = {text: box.padded(-1) for text, box in boxes.items() if text.get_rotation() in {0, 90}}
    for one, other in combinations(level, 2):
        assert not level[one].overlaps(level[other]), (one.get_text(), other.get_text())


@pytest.mark.parametrize("name", PICTURES)
def test_text_stays_text_and_only_house_colours_are_used(name):
    figure = PICTURES[name]().figure_
    page = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(page, format="svg", transparent=True)
    svg = page.getvalue()
    house = {colour.lower() for colour in (*style.COLOURS, style.INK, style.FAINT, style.SOFT, "#ffffff")}
    assert {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", svg)} <= house
    assert "DejaVuSans-" not in svg  # letters drawn as shapes
    assert svg.count("<text") > 3


def test_short_names_keep_beginning_and_end():
    assert labels.shorten(LONG, 11) == "a_col…rs_00"
    assert len(labels.shorten(LONG, 12)) == 12


def test_figures_of_ticks_are_plain():
    assert [labels.format_tick(value) for value in (1234567, -0.00001, 0.1 + 0.2)] == [
        "1.2346e6",
        "−1e−5",
        "0.3",
    ]
