"""Boosting of one stage: trees, scores, threshold, and its end."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.threads import Team
from hedgerow.vision.features import WindowSet
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import (
    CRITERIA,
    StageBooster,
    StageOptions,
    _round_down_to_float32,
    _trim_weights,
    empty_cascade,
    with_stage,
)
from oracle_windows import best_gain, labelled, make_features

ALGORITHMS = ("gentle", "real", "discrete")


def booster_of(features, windows, validation, options, team=None):
    team = team or Team(1)
    tilted = bool(features.tilted.any())
    sets = [(WindowSet(images, team, tilted=tilted), classes) for images, classes in (windows, validation)]
    return StageBooster(*sets, features, options, team)


def make_booster(
    kind="basic", algorithm="gentle", *, n=60, most=60, windows=None, validation=None, **options
):
    """A booster on a few windows of 8 x 8 pixels."""
    windows = labelled(n, seed=1) if windows is None else windows
    validation = labelled(n, seed=2) if validation is None else validation
    features = make_features(kind, (8, 8), most=most)
    options = {"max_learners": 8, "max_false_alarm": 0.01, "min_hit_rate": 0.9} | options
    return booster_of(features, windows, validation, StageOptions(algorithm, **options))


def as_model(booster):
    features, stage = booster.features, booster.stage
    return with_stage(empty_cascade(features.kind, features.window), features, stage.trees, stage.threshold)


class Recorder:
    """Replaces the learner of a booster and stores the weights, trees and leaf ids of all rounds."""

    def __init__(self, booster):
        self.learner, self.rounds = booster.learner, []
        booster.learner = self

    def fit(self, targets, iteration):
        weight = targets[0].distribution.rounded.copy()
        fitted = self.learner.fit(targets, iteration)
        self.rounds.append((weight, fitted[0].tree, fitted[0].leaf_ids.copy()))
        return fitted


def recorded(*args, **options):
    """A booster after boosting, and its recorder."""
    booster = make_booster(*args, **options)
    recorder = Recorder(booster)
    booster.boost()
    return booster, recorder


# --- scores


@pytest.mark.parametrize(
    ("algorithm", "kind", "depth", "trim"),
    [
        *(("gentle", "basic", 1, 0.0), ("gentle", "lbp", 2, 0.2), ("gentle", "all", 3, 0.0)),
        *(("real", "all", 1, 0.2), ("real", "lbp", 3, 0.0)),
        *(("discrete", "basic", 2, 0.2), ("discrete", "lbp", 1, 0.0), ("discrete", "all", 3, 0.0)),
    ],
)
def test_scores_equal_the_detector(algorithm, kind, depth, trim):
    windows, validation = labelled(80, seed=1), labelled(100, seed=2)
    booster = make_booster(
        kind, algorithm, most=120, windows=windows, validation=validation, max_depth=depth, weight_trim=trim
    )
    stage = booster.boost()
    model = as_model(booster)
    assert (model.n_stages, model.n_trees) == (1, len(stage.trees))
    assert np.diff(model.tree_starts).max() <= 2**depth - 1
    assert stage.hit_rate >= 0.9
    for (images, classes), scores, rates in (
        (windows, booster._scores, (stage.train_hit_rate, stage.train_false_alarm)),
        (validation, booster._validation_scores, (stage.hit_rate, stage.false_alarm)),
    ):
        passed, found = evaluate_windows(model, images)
        assert (passed >= 0).all()
        assert found.tobytes() == scores.tobytes()
        assert rates == (np.mean(passed[classes == 1] == 1), np.mean(passed[classes == 0] == 1))


@pytest.mark.parametrize(
    ("algorithm", "kind", "depth"), [("gentle", "all", 3), ("real", "lbp", 3), ("discrete", "all", 1)]
)
def test_trees_send_windows_to_the_leaves_they_were_grown_with(algorithm, kind, depth):
    booster, recorder = recorded(kind, algorithm, n=90, most=80, max_depth=depth, max_learners=6)
    for tree, (_, grown, leaf_ids) in zip(booster.stage.trees, recorder.rounds, strict=False):
        scores = tree.scores(booster.windows, booster.features)
        assert len(tree.values) == grown.n_leaves
        assert all(len(set(scores[leaf_ids == leaf].tolist())) == 1 for leaf in np.unique(leaf_ids))


def test_lbp_code_zero_is_split():
    windows, validation = labelled(60, seed=1), labelled(60, seed=2)
    for images, classes in (windows, validation):  # a bright centre: all neighbours are darker
        images[classes == 0] = 10
        images[classes == 0, 3:5, 3:5] = 200
    booster = make_booster(
        "lbp", most=None, windows=windows, validation=validation, max_learners=3, max_false_alarm=0.5
    )
    assert (booster.coded.by_column == 0).any()
    stage = booster.boost()
    assert (stage.hit_rate, stage.false_alarm) == (1.0, 0.0)
    passed, _ = evaluate_windows(as_model(booster), validation[0])
    assert np.array_equal(passed == 1, validation[1] == 1)


# --- the threshold


@pytest.mark.parametrize(
    ("algorithm", "rate"),
    [("gentle", 0.5), ("gentle", 0.98), ("real", 0.9), ("real", 1.0), ("discrete", 0.7), ("discrete", 0.995)],
)
def test_threshold_is_the_highest_with_the_required_hit_rate(algorithm, rate):
    booster = make_booster(algorithm=algorithm, n=100, min_hit_rate=rate)
    stage = booster.boost()
    scores = booster._validation_scores[booster.validation_classes == 1]
    required = math.ceil(Fraction(str(rate)) * len(scores))
    assert np.float32(stage.threshold) == stage.threshold
    assert stage.hit_rate >= rate
    higher = float(np.nextafter(np.float32(stage.threshold), np.float32(np.inf)))
    assert np.sum(scores >= stage.threshold) >= required > np.sum(scores >= higher)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ties_at_the_threshold_pass(algorithm):
    images, classes = labelled(40, seed=2)
    images[classes == 1] = images[1]  # all validation objects are equal
    booster = make_booster(
        algorithm=algorithm, validation=(images, classes), min_hit_rate=0.5, max_learners=5
    )
    stage = booster.boost()
    assert all(hit_rate == 1.0 for hit_rate, _ in stage.curve)
    assert np.all(evaluate_windows(as_model(booster), images[classes == 1])[0] == 1)


@pytest.mark.parametrize("value", [0.1, -0.1, 1e-30, 0.0, -7.000000001, 123456.789, -1e20])
def test_round_down_to_float32(value):
    value = np.float64(value)
    below = _round_down_to_float32(value)
    assert below.dtype == np.float32
    assert float(below) <= value
    assert float(np.nextafter(below, np.float32(np.inf))) > value


# --- the end of a stage


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stage_ends_at_the_first_tree_that_reaches_the_target(algorithm):
    stage = make_booster("all", algorithm, n=80, most=120, max_false_alarm=0.45, max_learners=60).boost()
    assert stage.false_alarm <= 0.45
    assert all(false_alarm > 0.45 for _, false_alarm in stage.curve[:-1])
    assert stage.curve[-1] == (stage.hit_rate, stage.false_alarm)
    assert len(stage.curve) == len(stage.trees)
    assert all(hit_rate >= 0.9 for hit_rate, _ in stage.curve)


def test_longer_stages_start_with_the_trees_of_shorter_ones():
    short, long = (make_booster(max_learners=n, max_false_alarm=1e-9).boost() for n in (3, 8))
    assert (len(short.trees), len(long.trees)) == (3, 8)
    assert long.curve[:3] == short.curve
    for one, other in zip(short.trees, long.trees, strict=False):
        for name, array in vars(one).items():
            assert np.array_equal(array, getattr(other, name))


def test_callback_is_called_after_every_tree():
    booster, calls = make_booster(max_learners=4), []
    booster.boost(lambda stage: calls.append((len(stage.trees), stage.hit_rate, stage.false_alarm)))
    assert [n for n, _, _ in calls] == [1, 2, 3, 4]
    assert [call[1:] for call in calls] == booster.stage.curve


def test_boost_raises_keyboard_interrupt():
    def interrupt(_stage):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_booster().boost(interrupt)


# --- the search


@pytest.mark.parametrize(
    ("algorithm", "kind"), [("gentle", "all"), ("real", "lbp"), ("discrete", "all"), ("discrete", "lbp")]
)
def test_stumps_have_the_largest_gain(algorithm, kind):
    booster, recorder = recorded(kind, algorithm, n=40, max_learners=5, max_false_alarm=1e-9)
    assert booster.stage.trees
    for weight, tree, _ in recorder.rounds[: len(booster.stage.trees)]:
        data = booster.coded.by_column, booster.classes.tolist(), weight.tolist(), CRITERIA[algorithm]
        best = best_gain(*data, categorical=kind == "lbp")
        assert float(tree.nodes["split"]["gain"][0]) == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_haar_thresholds_are_between_the_values_of_both_sides(algorithm):
    booster, recorder = recorded("all", algorithm, n=50, max_learners=5, max_false_alarm=1e-9)
    for tree, (_, _, leaf_ids) in zip(booster.stage.trees, recorder.rounds, strict=False):
        values = booster.windows.values(booster.features, int(tree.feature[0])).astype(np.float64)
        left, right = values[leaf_ids == 1].max(), values[leaf_ids == 2].min()
        assert left < tree.threshold[0] <= right
        assert tree.threshold[0] == pytest.approx((left + right) / 2, rel=1e-6, abs=1e-9)


def test_both_classes_have_equal_initial_weight():
    images, classes = labelled(60, seed=1)
    few = np.flatnonzero((classes == 0) | (np.arange(60) < 12))
    booster, recorder = recorded(windows=(images[few], classes[few]), max_learners=1)
    weight = recorder.rounds[0][0].astype(float)
    positive = booster.classes == 1
    assert weight[positive].sum() == pytest.approx(weight[~positive].sum(), rel=1e-6)


def test_stage_does_not_depend_on_threads():
    windows, validation = labelled(300, seed=1), labelled(100, seed=2)
    features = make_features("all", (8, 8), most=200)
    options = StageOptions(max_learners=3, max_depth=2, max_false_alarm=0.01)
    made = []
    for n in (1, 3):
        with Team(n, chunk_rows=64) as team:
            stage = booster_of(features, windows, validation, options, team).boost()
        made.append([stage.threshold, *(a.tobytes() for tree in stage.trees for a in vars(tree).values())])
    assert made[0] == made[1]


# --- weight trimming


@pytest.mark.parametrize("trim", [0.01, 0.3])
def test_weight_trim_excludes_the_lightest_windows(trim):
    rng = np.random.default_rng(0)
    weight, classes = rng.integers(1, 10**8, 300) ** 2, (rng.random(300) < 0.3).astype(np.uint8)
    rows = _trim_weights(weight, classes, trim)
    assert rows.dtype == np.uint32
    assert np.all(np.diff(rows.astype(int)) > 0)
    used = np.isin(np.arange(300), rows)
    for kind in (0, 1):
        inside, outside = weight[used & (classes == kind)], weight[~used & (classes == kind)]
        total = int(inside.sum() + outside.sum())
        assert 0 < outside.sum() <= trim * total < outside.sum() + inside.min()
        assert outside.max() <= inside.min()


def test_without_weight_trim_all_windows_are_used():
    assert len(_trim_weights(np.arange(5), np.zeros(5, np.uint8), 0.0)) == 0


@pytest.mark.parametrize("n_objects", [3, 77])
def test_strongest_weight_trim_keeps_both_classes(n_objects):
    classes = (np.arange(80) < n_objects).astype(np.uint8)
    weight = np.where(classes == 1, 10**12 // n_objects, 10**12 // (80 - n_objects))
    rows = _trim_weights(weight, classes, 0.5)
    assert set(classes[rows].tolist()) == {0, 1}


# --- hard cases


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("kind", "images"),
    [
        ("all", np.tile(labelled(30, seed=1)[0], (2, 1, 1))),  # the same windows in both classes
        ("lbp", np.tile(labelled(30, seed=1)[0], (2, 1, 1))),
        ("all", np.repeat(np.arange(60, dtype=np.uint8), 64).reshape(60, 8, 8)),
    ],
    ids=["equal haar", "equal lbp", "uniform"],
)
def test_windows_without_differences_give_no_trees(algorithm, kind, images):
    data = images, np.repeat(np.array([0, 1], np.uint8), 30)
    stage = make_booster(kind, algorithm, windows=data, validation=data).boost()
    assert stage.trees == stage.curve == []
    assert (stage.hit_rate, stage.false_alarm) == (1.0, 1.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_some_uniform_windows_give_finite_trees(algorithm):
    images, classes = labelled(60, seed=1)
    images[classes == 0] //= 255
    images[0], images[2] = 0, 255
    booster = make_booster("all", algorithm, windows=(images, classes), max_learners=5)
    stage = booster.boost()
    assert np.isfinite(stage.threshold)
    assert all(np.isfinite(tree.threshold).all() and np.isfinite(tree.values).all() for tree in stage.trees)
    scores = evaluate_windows(as_model(booster), labelled(60, seed=2)[0])[1]
    assert scores.tobytes() == booster._validation_scores.tobytes()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stage_ends_if_no_split_improves(algorithm):
    validation = labelled(60, seed=2)
    for seed in range(3):
        features = make_features("basic", (8, 8), most=2, seed=seed)
        options = StageOptions(algorithm, max_learners=30, max_false_alarm=0.01)
        booster = booster_of(features, labelled(60, seed=1), validation, options)
        stage = booster.boost()
        assert 1 <= len(stage.trees) <= 30
        scores = evaluate_windows(as_model(booster), validation[0])[1]
        assert scores.tobytes() == booster._validation_scores.tobytes()


def test_two_windows_are_enough():
    stage = make_booster(windows=labelled(2, seed=1), most=100, max_learners=2).boost()
    assert 1 <= len(stage.trees) <= 2
