"""Displays of cascades: features, rates of the stages, axes, and the example."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.exceptions import NotFittedError

from hedgerow.plots.cascade import CascadeDisplay, feature_signs
from hedgerow.plots.style import BLUE, VERMILLION
from hedgerow.vision.cascade import Cascade
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.trainer import CascadeTrainer
from plot_cases import texts
from scripts import load_script

draw = CascadeDisplay.from_estimator

WINDOW = (16, 12)
RECTS = [
    [[0, 0, 8, 4], [4, 0, 4, 4], [0, 0, 0, 0]],  # left minus, right plus
    [[2, 2, 3, 9], [2, 5, 3, 3], [0, 0, 0, 0]],  # a bar in the middle
    [[8, 1, 4, 2], [8, 1, 2, 2], [0, 0, 0, 0]],  # tilted
]
WEIGHTS = [[-1, 2, 0], [-1, 3, 0], [-1, 2, 0]]
RATES = {"hit_rate": [1.0, 0.9], "false_alarm": [0.5, 0.25], "pass_rate": [0.8, 0.3]}


def cascade(*, info=None, kind="HAAR", features=(2, 0, 2, 1), trees=(1, 3), rects=RECTS):
    """Stumps on the features of these numbers; `trees` of them in each stage."""
    n = len(features)
    haar = kind == "HAAR"
    return Cascade(
        CascadeModel(
            kind,
            *WINDOW,
            rects=np.array(rects, np.int32),
            weights=np.array(WEIGHTS if haar else np.zeros((3, 3)), np.float32),
            tilted=np.array([0, 0, haar], np.uint8),
            feature=np.array(features, np.int32),
            threshold=np.zeros(n, np.float32),
            subsets=np.zeros((0 if haar else n, 8), np.uint32),
            left=np.zeros(n, np.int32),
            right=np.full(n, -1, np.int32),
            values=np.tile(np.array([-1, 1], np.float32), n),
            tree_starts=np.arange(n + 1, dtype=np.int32),
            stage_starts=np.concatenate([[0], np.cumsum(trees)]).astype(np.int32),
            stage_thresholds=np.zeros(len(trees), np.float32),
        ),
        info or {},
    )


def recorded(**rates):
    columns = RATES | rates
    stages = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return cascade(info={"stages": stages})


def background(display):
    """The image behind the features."""
    return np.asarray(display.axes_[0].images[0].get_array())


def lines(ax, colour):
    return [line for line in ax.lines if to_rgba(line.get_color()) == to_rgba(colour)]


# --- features


def test_distinct_features_are_drawn_in_the_order_of_the_nodes():
    display = draw(cascade())
    assert display.rects.tolist() == [RECTS[2], RECTS[0], RECTS[1]]
    assert display.tilted.tolist() == [1, 0, 0]
    assert display.stages.tolist() == [1, 2, 2]
    titles = [ax.get_title() for ax in display.axes_[:3]]
    assert titles == ["feature 1\nstage 1", "feature 2\nstage 2", "feature 3\nstage 2"]
    assert draw(cascade(), n_features=2).rects.tolist() == [RECTS[2], RECTS[0]]


def test_signs_are_those_of_the_weighted_sum():
    rects = np.array([[0, 0, 4, 4], [0, 0, 2, 2], [2, 2, 2, 2]])
    signs = feature_signs("HAAR", rects, np.array([-1, 2, 2]), tilted=False, window=(5, 4))
    assert signs.tolist() == [[1, 1, -1, -1, 0]] * 2 + [[-1, -1, 1, 1, 0]] * 2


def test_signs_of_a_tilted_feature_fill_diamonds():
    rects = np.array(RECTS[2])
    signs = feature_signs("HAAR", rects, np.array(WEIGHTS[2]), tilted=True, window=WINDOW, fine=10)
    # a rectangle of w x h, turned, covers 2 w h pixels; half of it is white
    assert np.sum(signs > 0) / 100 == pytest.approx(2 * 2 * 2, rel=0.01)
    assert np.sum(signs < 0) / 100 == pytest.approx(2 * 2 * 2, rel=0.01)
    assert signs[15, 80] == 1  # just below the top corner (8, 1)
    assert signs[60, 100] == -1  # (10, 6): in the second half, down to the right
    assert not signs[:10].any()
    assert not signs[:, :60].any()  # the left corner is x - h = 6
    assert not signs[:, 120:].any()  # the right corner is x + w = 12


def test_signs_are_half_transparent():
    ax = draw(cascade()).axes_[1]
    cover = np.asarray(ax.images[1].get_array())
    fine = cover.shape[1] // WINDOW[0]
    assert cover.shape == (WINDOW[1] * fine, WINDOW[0] * fine, 4)
    left, right, beside = cover[fine, fine], cover[fine, 5 * fine], cover[fine, 10 * fine]
    assert left[:3].tolist() == [0, 0, 0]
    assert right[:3].tolist() == [1, 1, 1]
    assert 0.3 < left[3] == right[3] < 0.9
    assert beside[3] == 0


def test_outlines_are_rectangles_diamonds_and_grids():
    display = draw(cascade())
    tilted, upright = (display.axes_[n].collections[0].get_segments() for n in (0, 1))
    assert [len(part) for part in (tilted, upright)] == [2, 2]  # the unused rectangle is not drawn
    assert tilted[0].tolist() == [[8, 1], [12, 5], [10, 7], [6, 3], [8, 1]]
    assert upright[1].tolist() == [[4, 0], [8, 0], [8, 4], [4, 4], [4, 0]]


def test_local_binary_pattern_is_a_grid_with_a_white_centre():
    display = draw(cascade(kind="LBP", rects=[[[1, 2, 4, 3], [0, 0, 0, 0], [0, 0, 0, 0]]] * 3))
    segments = np.array(display.axes_[0].collections[0].get_segments())
    assert segments.shape == (9, 5, 2)
    assert segments.reshape(-1, 2).min(axis=0).tolist() == [1, 2]
    assert segments.reshape(-1, 2).max(axis=0).tolist() == [13, 11]
    signs = feature_signs("LBP", display.rects[0], display.weights[0], tilted=False, window=WINDOW)
    assert np.argwhere(signs > 0).min(axis=0).tolist() == [5, 5]
    assert np.sum(signs > 0) == 12
    assert np.sum(signs < 0) == 8 * 12


def test_background_is_that_passed_or_the_mean_or_grey():
    photo = np.random.default_rng(0).integers(0, 256, (30, 40)).astype(np.uint8)
    mean = np.linspace(10, 200, 16 * 12).reshape(12, 16)
    known = cascade(info={"mean": mean.tolist()})
    assert np.array_equal(background(draw(known, n_features=1, background=photo)), photo)
    np.testing.assert_allclose(background(draw(known, n_features=1)), mean)
    assert background(draw(cascade(), n_features=1)).shape == (1, 1)
    assert draw(cascade(info={"mean": mean.T.tolist()}), n_features=1).background is None


# --- stages


def test_products_and_measured_shares_of_the_stages():
    display = draw(recorded())
    np.testing.assert_allclose(display.total_hit_rates, [1, 1, 0.9])
    np.testing.assert_allclose(display.total_false_alarms, [1, 0.5, 0.125])
    hits, alarms, _ = display.axes_[3:]
    (line,) = lines(hits, BLUE)
    np.testing.assert_allclose(line.get_xydata(), [[0, 1], [1, 1], [2, 0.9]])
    (line,) = lines(alarms, BLUE)
    np.testing.assert_allclose(line.get_xydata(), [[0, 1], [1, 0.5], [2, 0.125]])
    (marks,) = lines(alarms, VERMILLION)
    np.testing.assert_allclose(marks.get_xydata(), [[0, 0.8], [1, 0.3]])
    assert alarms.get_yscale() == "log"
    low, high = alarms.get_ylim()
    assert all(low < share < high for line in alarms.lines for share in line.get_ydata())
    assert "90 %" in texts(hits.texts)


def test_false_alarm_rate_of_zero_is_drawn_at_the_lower_end():
    alarms = draw(recorded(false_alarm=[0.5, 0.0]), n_features=1).axes_[2]
    (line,) = lines(alarms, BLUE)
    assert line.get_ydata()[-1] == alarms.get_ylim()[0] > 0
    assert "0" in texts(alarms.texts)


@pytest.mark.parametrize("stages", [[], [{"hit_rate": 1.0}] * 2, [{"stage": 1}]])
def test_incomplete_history_is_not_drawn(stages):
    display = draw(cascade(info={"stages": stages}))
    assert display.hit_rates is display.total_hit_rates is display.total_false_alarms is None
    assert len(display.axes_) == 3 + 1
    assert [bar.get_height() for bar in display.axes_[-1].patches] == [1, 3]
    assert display.axes_[-1].get_title(loc="left") == "trees, 4 in all"


# --- from a trainer


def test_fitted_trainer_has_its_history_and_its_mean_object():
    rng = np.random.default_rng(0)
    bars = rng.integers(60, 120, (60, 12, 12)).astype(np.uint8)
    bars[:, 4:8] += 100
    photos = [rng.integers(0, 256, (50, 50)).astype(np.uint8) for _ in range(8)]
    trainer = CascadeTrainer(
        (12, 12), n_stages=2, n_negatives=80, max_features=300, random_state=0, verbose=0, n_jobs=1
    )
    with pytest.raises(NotFittedError):
        draw(trainer)
    display = draw(trainer.fit(bars, photos))
    np.testing.assert_allclose(display.background, trainer.mean_positive_)
    assert display.hit_rates.tolist() == [stage.hit_rate for stage in trainer.stages_]
    assert display.pass_rates.tolist() == [stage.pass_rate for stage in trainer.stages_]
    assert display.n_trees.tolist() == [stage.n_learners for stage in trainer.stages_]
    again = draw(trainer.cascade_)
    np.testing.assert_array_equal(again.false_alarms, display.false_alarms)


# --- axes and rejected inputs


def test_panels_replace_a_single_axes_or_use_passed_axes():
    display = draw(recorded())
    figure, axes = plt.subplots(1, 2, figsize=(12, 5))
    assert display.plot(axes[1]) is display
    assert display.figure_ is figure
    left = axes[1].get_position().x0
    assert all(ax.get_position().x0 >= left - 1e-9 for ax in display.axes_)
    own = plt.subplots(2, 3)[1]
    assert display.plot(own).axes_.tolist() == own.ravel().tolist()
    figure.canvas.draw()  # rendering does not fail
    with pytest.raises(ValueError, match=r"ax holds 2 axes, and there are 6 panels"):
        display.plot(axes)


def test_invalid_inputs_are_rejected():
    for n_features in (0, 25, 2.5, "many"):
        with pytest.raises(ValueError, match="n_features"):
            draw(cascade(), n_features=n_features)
    with pytest.raises(TypeError, match=r"estimator=list is not allowed: .* CascadeTrainer or Cascade"):
        draw([1, 2])


# --- the example


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("skimage")
    return load_script("examples/train_cascade.py")


def test_example_uses_the_data_of_scikit_image(example):
    faces, images = example.load_data()
    assert faces.images.shape == (100 * 5 * 2, 24, 24)
    assert np.array_equal(np.unique(faces.group), np.arange(100))
    assert len(images) == len(example.PHOTOGRAPHS) + 1 + 100
    assert not {"coins", "camera", "astronaut"} & set(example.PHOTOGRAPHS)  # people are in these


def test_example_lists_detections_and_weak_detections(example):
    image = np.zeros((20, 30), np.uint8)

    class Finder:
        n_stages = 2
        model = cascade().model

        def detect(self, passed, min_neighbors=3):
            assert passed is image
            n = np.array([12, 5], np.int32)[: 1 if min_neighbors >= 5 else 2]
            boxes = np.array([[1, 2, 8, 9]] * len(n), np.int32)
            return example.Detections(boxes, np.ones(len(n)), n)

    found, lines = example.detect("mine", Finder(), image, 10)
    assert len(found) == 1
    assert lines[0].startswith("mine: 2 stages, 4 trees, ")
    assert lines[1:] == ["  (1, 2) 8 x 9, 12 windows agree", "  1 more where 10 windows or fewer agree"]
    figure = example.picture(image, {"mine": found, "other": found[:0]})
    assert [ax.get_title() for ax in figure.axes] == ["mine: 1 found", "other: 0 found"]
