"""A stage: the best trees, scores as the detector has them, the highest threshold that lets enough pass."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.threads import Team
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
from hedgerow.vision.windows import WindowSet
from oracle_windows import best_gain, labelled, make_features, one_team

ALGORITHMS = ("gentle", "real", "discrete")
NOISE = 2.0**-44  # a gain below this share of the weight need not be found


def booster_of(features, windows, validation, rules, team=None):
    team = team or one_team()
    tilted = bool(features.tilted.any())
    sets = [(WindowSet(images, team, tilted=tilted), classes) for images, classes in (windows, validation)]
    return StageBooster(*sets, features, rules, team)


def boosted(kind="basic", algorithm="gentle", *, n=80, most=120, **rules):
    """A boosted stage of few windows: (booster, stage, windows, held-out windows, model)."""
    windows, validation = labelled(n, seed=1), labelled(n + 20, seed=2)
    features = make_features(kind, (8, 8), most=most)
    settings = {"max_learners": 8, "max_false_alarm": 0.05, "min_hit_rate": 0.9} | rules
    booster = booster_of(features, windows, validation, StageOptions(algorithm, **settings))
    stage = booster.boost()
    return booster, stage, windows, validation, as_model(features, stage)


def as_model(features, stage):
    return with_stage(empty_cascade(features.kind, features.window), features, stage.trees, stage.threshold)


class Spy:
    """Stands before the learner of a booster and keeps what was asked and answered."""

    def __init__(self, booster):
        self.learner, self.rounds = booster.learner, []
        booster.learner = self

    def fit(self, targets, iteration):
        weight = targets[0].distribution.rounded.copy()
        answers = self.learner.fit(targets, iteration)
        self.rounds.append((weight, answers[0].tree, answers[0].leaf_ids.copy()))
        return answers


# --- training and detection are one


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kind", ["basic", "all", "lbp"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_scores_are_those_of_the_detector_bit_for_bit(algorithm, kind, depth):
    booster, stage, windows, validation, model = boosted(kind, algorithm, max_depth=depth)
    assert model.n_stages == 1
    assert model.n_trees == len(stage.trees)
    assert np.diff(model.tree_starts).max() <= 2**depth - 1
    for (images, classes), scores, rates in (
        (windows, booster._scores, (stage.train_hit_rate, stage.train_false_alarm)),
        (validation, booster._validation_scores, (stage.hit_rate, stage.false_alarm)),
    ):
        passed, found = evaluate_windows(model, images)
        assert (passed >= 0).all()
        assert found.tobytes() == scores.tobytes()
        assert rates == (np.mean(passed[classes == 1] == 1), np.mean(passed[classes == 0] == 1))


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("kind", ["all", "lbp"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_tree_sends_every_window_to_the_leaf_it_was_grown_with(algorithm, kind, depth):
    windows, validation = labelled(90, seed=3), labelled(60, seed=4)
    features = make_features(kind, (8, 8), most=80)
    rules = StageOptions(algorithm, max_depth=depth, max_learners=6, max_false_alarm=0.01)
    booster = booster_of(features, windows, validation, rules)
    spy = Spy(booster)
    stage = booster.boost()
    for tree, (_, grown, cells) in zip(stage.trees, spy.rounds, strict=False):
        scores = tree.scores(booster.windows, features)
        assert len(tree.values) == grown.n_leaves
        values = {int(cell): set(scores[cells == cell].tolist()) for cell in np.unique(cells)}
        assert all(len(found) == 1 for found in values.values())


def test_patterns_of_zero_go_to_a_side_like_any_other():
    windows, validation = labelled(60, seed=1), labelled(60, seed=2)
    for images, classes in (windows, validation):  # a bright middle: no neighbour reaches it
        images[classes == 0] = 10
        images[classes == 0, 3:5, 3:5] = 200
    features = make_features("lbp", (8, 8))
    booster = booster_of(features, windows, validation, StageOptions(max_learners=3))
    assert (booster.coded.by_column == 0).any()
    stage = booster.boost()
    assert (stage.hit_rate, stage.false_alarm) == (1.0, 0.0)
    passed, _ = evaluate_windows(as_model(features, stage), validation[0])
    assert np.array_equal(passed == 1, validation[1] == 1)


# --- the threshold


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.98, 0.995, 1.0])
def test_the_threshold_is_the_highest_that_lets_the_wanted_share_pass(rate, algorithm):
    booster, stage, _, (_, classes), _ = boosted(algorithm=algorithm, min_hit_rate=rate)
    scores = booster._validation_scores[classes == 1]
    assert np.float32(stage.threshold) == stage.threshold
    assert stage.hit_rate >= rate
    assert np.sum(scores >= stage.threshold) >= math.ceil(Fraction(str(rate)) * len(scores))
    higher = float(np.nextafter(np.float32(stage.threshold), np.float32(np.inf)))
    assert np.sum(scores >= higher) < math.ceil(Fraction(str(rate)) * len(scores))


def test_no_object_of_a_tie_at_the_threshold_is_lost():
    windows, (images, classes) = labelled(60, seed=1), labelled(40, seed=2)
    images[classes == 1] = images[1]  # all held-out objects are one
    features = make_features("basic", (8, 8), most=60)
    for algorithm in ALGORITHMS:
        rules = StageOptions(algorithm, min_hit_rate=0.5, max_learners=5, max_false_alarm=0.01)
        booster = booster_of(features, windows, (images, classes), rules)
        stage = booster.boost()
        assert stage.hit_rate == 1.0
        assert all(hit_rate == 1.0 for hit_rate, _ in stage.curve)
        passed, _ = evaluate_windows(as_model(features, stage), images[classes == 1])
        assert np.all(passed == 1)


@pytest.mark.parametrize("value", [0.1, -0.1, 1 / 3, 1e-30, 0.0, -7.000000001, 123456.789, -1e20])
def test_a_threshold_is_never_above_the_score(value):
    value = np.float64(value)
    below = _round_down_to_float32(value)
    assert below.dtype == np.float32
    assert float(below) <= value
    assert float(np.nextafter(below, np.float32(np.inf))) > value


# --- when it ends


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_stage_ends_at_the_first_tree_that_meets_the_target(algorithm):
    _, stage, _, _, _ = boosted("all", algorithm, max_false_alarm=0.45, max_learners=60)
    assert stage.false_alarm <= 0.45
    assert all(false_alarm > 0.45 for _, false_alarm in stage.curve[:-1])
    assert stage.curve[-1] == (stage.hit_rate, stage.false_alarm)
    assert len(stage.curve) == len(stage.trees)
    assert all(hit_rate >= 0.9 for hit_rate, _ in stage.curve)


@pytest.mark.parametrize("most", [1, 2, 7])
def test_a_stage_has_at_most_max_learners_trees(most):
    _, stage, _, _, _ = boosted(max_learners=most, max_false_alarm=1e-9)
    assert len(stage.trees) == most


def test_a_longer_stage_begins_like_a_shorter_one():
    short, long = (boosted(max_learners=n, max_false_alarm=1e-9)[1] for n in (3, 8))
    assert long.curve[:3] == short.curve
    for one, other in zip(short.trees, long.trees, strict=False):
        assert all(
            np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(other).values(), strict=True)
        )


def test_the_target_of_a_harder_stage_takes_more_trees():
    easy, hard = (boosted("all", max_false_alarm=f, max_learners=100)[1] for f in (0.8, 0.3))
    assert len(easy.trees) < len(hard.trees)
    assert hard.false_alarm <= 0.3


def test_the_watch_sees_every_round():
    windows, validation = labelled(60, seed=1), labelled(60, seed=2)
    features = make_features("basic", (8, 8), most=60)
    booster = booster_of(features, windows, validation, StageOptions(max_learners=4, max_false_alarm=0.01))
    seen = []
    booster.boost(lambda stage: seen.append((len(stage.trees), stage.hit_rate, stage.false_alarm)))
    assert [n for n, _, _ in seen] == [1, 2, 3, 4]
    assert [pair[1:] for pair in seen] == booster.stage.curve


def test_an_interrupt_comes_through():
    def interrupt(_stage):
        raise KeyboardInterrupt

    windows, validation = labelled(60, seed=1), labelled(60, seed=2)
    booster = booster_of(make_features("basic", (8, 8), most=60), windows, validation, StageOptions())
    with pytest.raises(KeyboardInterrupt):
        booster.boost(interrupt)


# --- the search


@pytest.mark.parametrize("kind", ["all", "lbp"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_stump_is_the_best_of_all_cuts_of_all_features(algorithm, kind):
    windows, validation = labelled(40, seed=5), labelled(40, seed=6)
    features = make_features(kind, (8, 8), most=60)
    booster = booster_of(
        features, windows, validation, StageOptions(algorithm, max_learners=6, max_false_alarm=1e-9)
    )
    spy = Spy(booster)
    stage = booster.boost()
    criterion = CRITERIA[algorithm]
    assert stage.trees
    for weight, tree, _ in spy.rounds[: len(stage.trees)]:
        best = best_gain(
            booster.coded.by_column,
            windows[1].tolist(),
            weight.tolist(),
            criterion,
            categorical=kind == "lbp",
        )
        assert float(tree.nodes["split"]["gain"][0]) == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_haar_threshold_lies_between_the_windows_it_parts(algorithm):
    windows, validation = labelled(50, seed=5), labelled(40, seed=6)
    features = make_features("all", (8, 8), most=60)
    booster = booster_of(
        features, windows, validation, StageOptions(algorithm, max_learners=5, max_false_alarm=1e-9)
    )
    spy = Spy(booster)
    stage = booster.boost()
    for tree, (_, _, cells) in zip(stage.trees, spy.rounds, strict=False):
        values = booster.windows.values(features, int(tree.feature[0])).astype(np.float64)
        left, right = values[cells == 1].max(), values[cells == 2].min()
        assert left < tree.threshold[0] <= right
        assert tree.threshold[0] == pytest.approx((left + right) / 2, rel=1e-6, abs=1e-9)


def test_both_kinds_weigh_the_same_at_first():
    images, classes = labelled(60, seed=1)
    few = np.flatnonzero((classes == 0) | (np.arange(60) < 12))
    booster = booster_of(
        make_features("basic", (8, 8), most=40),
        (images[few], classes[few]),
        labelled(40),
        StageOptions(max_learners=1),
    )
    spy = Spy(booster)
    booster.boost()
    weight, kinds = spy.rounds[0][0].astype(float), classes[few]
    assert weight[kinds == 1].sum() == pytest.approx(weight[kinds == 0].sum(), rel=1e-6)


@pytest.mark.parametrize("n_members", [2, 3])
def test_any_number_of_threads_gives_the_same_stage(n_members):
    windows, validation = labelled(700, seed=1), labelled(300, seed=2)
    features = make_features("all", (8, 8), most=400)
    made = []
    for n in (1, n_members):
        with Team(n, chunk_rows=64) as team:
            rules = StageOptions(max_learners=4, max_depth=2, max_false_alarm=0.01)
            stage = booster_of(features, windows, validation, rules, team).boost()
        made.append([stage.threshold, *(a.tobytes() for tree in stage.trees for a in vars(tree).values())])
    assert made[0] == made[1]


# --- weight trimming


@pytest.mark.parametrize("trim", [0.01, 0.1, 0.3])
def test_the_lightest_windows_are_left_out_of_the_search(trim):
    rng = np.random.default_rng(0)
    weight, classes = rng.integers(1, 10**8, 300) ** 2, (rng.random(300) < 0.3).astype(np.uint8)
    kept = _trim_weights(weight, classes, trim)
    assert kept.dtype == np.uint32
    assert np.all(np.diff(kept.astype(int)) > 0)
    is_kept = np.isin(np.arange(300), kept)
    for kind in (0, 1):  # of either kind
        inside, out = weight[is_kept & (classes == kind)], weight[~is_kept & (classes == kind)]
        whole = int(inside.sum() + out.sum())
        assert 0 < out.sum() <= trim * whole
        assert out.max() <= inside.min()
        assert out.sum() + inside.min() > trim * whole  # no further one could go


def test_no_trimming_means_all_windows():
    assert len(_trim_weights(np.arange(5), np.zeros(5, np.uint8), 0.0)) == 0


@pytest.mark.parametrize("n_objects", [3, 40, 77])
def test_the_strongest_trimming_leaves_windows_of_both_kinds(n_objects):
    classes = (np.arange(80) < n_objects).astype(np.uint8)
    weight = np.where(classes == 1, 10**12 // n_objects, 10**12 // (80 - n_objects))
    kept = _trim_weights(weight, classes, 0.5)
    assert set(classes[kept].tolist()) == {0, 1}


@pytest.mark.parametrize("kind", ["basic", "lbp"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_trimmed_stage_is_still_what_the_detector_sees(algorithm, kind, depth):
    booster, stage, _, validation, model = boosted(kind, algorithm, weight_trim=0.2, max_depth=depth)
    assert stage.hit_rate >= 0.9
    assert evaluate_windows(model, validation[0])[1].tobytes() == booster._validation_scores.tobytes()


# --- hard cases


@pytest.mark.parametrize("kind", ["all", "lbp"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_windows_that_cannot_be_told_apart_give_no_tree(algorithm, kind):
    images, _ = labelled(30, seed=1)
    twice, classes = np.concatenate([images, images]), np.repeat(np.array([0, 1], np.uint8), 30)
    booster = booster_of(
        make_features(kind, (8, 8), most=60), (twice, classes), (twice, classes), StageOptions(algorithm)
    )
    stage = booster.boost()
    assert stage.trees == stage.curve == []
    assert (stage.hit_rate, stage.false_alarm) == (1.0, 1.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_stage_of_flat_windows_only_has_no_tree(algorithm):
    flat = np.repeat(np.arange(20, dtype=np.uint8), 64).reshape(20, 8, 8)
    classes = (np.arange(20) % 2).astype(np.uint8)
    booster = booster_of(
        make_features("all", (8, 8), most=60), (flat, classes), (flat, classes), StageOptions(algorithm)
    )
    stage = booster.boost()
    assert stage.trees == stage.curve == []
    assert (stage.hit_rate, stage.false_alarm) == (1.0, 1.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_flat_windows_among_others_do_no_harm(algorithm):
    (images, classes), validation = labelled(60, seed=1), labelled(60, seed=2)
    images[classes == 0] //= 255
    images[0], images[2] = 0, 255
    features = make_features("all", (8, 8), most=60)
    booster = booster_of(features, (images, classes), validation, StageOptions(algorithm, max_learners=5))
    stage = booster.boost()
    assert np.isfinite(stage.threshold)
    assert all(np.isfinite(tree.threshold).all() and np.isfinite(tree.values).all() for tree in stage.trees)
    assert (
        evaluate_windows(as_model(features, stage), validation[0])[1].tobytes()
        == booster._validation_scores.tobytes()
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(12))
def test_features_that_soon_have_no_more_to_say_end_the_stage(seed, algorithm):
    windows, validation = labelled(60, seed=1), labelled(60, seed=2)
    features = make_features("basic", (8, 8), most=2, seed=seed)
    rules = StageOptions(algorithm, max_learners=30, max_false_alarm=0.01)
    booster = booster_of(features, windows, validation, rules)
    stage = booster.boost()
    assert 1 <= len(stage.trees) <= 30
    assert all(len(tree.feature) >= 1 for tree in stage.trees)
    assert (
        evaluate_windows(as_model(features, stage), validation[0])[1].tobytes()
        == booster._validation_scores.tobytes()
    )


def test_two_windows_are_enough_to_boost_on():
    images, classes = labelled(2, seed=1)
    features = make_features("basic", (8, 8), most=100)
    stage = booster_of(
        features, (images, classes), labelled(40, seed=2), StageOptions(max_learners=2)
    ).boost()
    assert 1 <= len(stage.trees) <= 2
