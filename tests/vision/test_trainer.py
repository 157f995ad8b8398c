"""Training a cascade: honest records, two parts of the data that never meet, and ends that are explained."""

import json
import math

import numpy as np
import pytest

from hedgerow.vision.mining import Miner
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import StageBooster
from hedgerow.vision.storage import unpack_cascade
from hedgerow.vision.training_data import read_training_data, validation_mask
from oracle_windows import objects, photos
from trainer_cases import NEGATIVES, POSITIVES, fitted, make, packed


@pytest.fixture(scope="module")
def whole():
    """A training that nothing disturbed."""
    return fitted(n_stages=4)


# --- what comes out


def test_a_cascade_finds_what_it_was_trained_on(whole):
    cascade, new = whole.cascade_, objects(100, seed=9)
    assert cascade.n_stages == 4
    assert cascade.window == (8, 8)
    assert np.mean(cascade.score_windows(new) > -np.inf) > 0.8
    image = photos(1, seed=77, shape=(30, 40))[0]
    image[10:18, 20:28] = new[0]
    assert any(
        abs(found.x - 20) <= 2 and abs(found.y - 10) <= 2 and found.width <= 12
        for found in cascade.detect(image, min_neighbors=0)
    )


def test_the_record_tells_what_the_stages_do(whole):
    assert [report.stage for report in whole.stages_] == [1, 2, 3, 4]
    model = whole.cascade_.model
    assert [report.n_learners for report in whole.stages_] == np.diff(model.stage_starts).tolist()
    for product, rate in (("total_hit_rate", "hit_rate"), ("total_false_alarm", "false_alarm")):
        rates = [getattr(report, rate) for report in whole.stages_]
        products = [getattr(report, product) for report in whole.stages_]
        assert products == pytest.approx([math.prod(rates[: n + 1]) for n in range(4)])
    for report, curve in zip(whole.stages_, whole.curves_, strict=True):
        assert 0.95 <= report.hit_rate <= 1
        assert report.false_alarm <= 0.5 or report.n_learners == 6
        assert len(curve) == report.n_learners
        assert tuple(curve[-1]) == (report.hit_rate, report.false_alarm)
        assert 20 <= report.n_negatives <= 40
    rates = [report.pass_rate for report in whole.stages_]
    assert 0.9 < rates[0] <= 1
    assert sorted(rates, reverse=True) == rates


def test_lost_objects_are_counted_over_all_stages():
    trainer = fitted(min_hit_rate=0.8, validation_fraction=0.4)
    rates = [report.hit_rate for report in trainer.stages_]
    assert len(rates) == 3
    assert sum(rate < 1 for rate in rates) >= 2
    totals = [report.total_hit_rate for report in trainer.stages_]
    assert totals == pytest.approx([math.prod(rates[: n + 1]) for n in range(3)])
    data = read_training_data(POSITIVES, NEGATIVES, None, trainer.get_params(), {})
    assert np.mean(evaluate_windows(trainer.cascade_.model, data.validation)[0] == 3) == pytest.approx(
        totals[-1]
    )


def test_held_out_objects_pass_as_the_record_says(whole):
    data = read_training_data(POSITIVES, NEGATIVES, None, whole.get_params(), {})
    stages, _ = evaluate_windows(whole.cascade_.model, data.validation)
    assert np.mean(stages == 4) == pytest.approx(whole.stages_[-1].total_hit_rate)
    passed = [int(np.sum(evaluate_windows(whole.cascade_.model, data.train)[0] >= n)) for n in range(4)]
    assert [report.n_positives for report in whole.stages_] == passed


def test_the_mean_of_the_positives_is_kept(whole):
    data = read_training_data(POSITIVES, NEGATIVES, None, whole.get_params(), {})
    assert np.array_equal(whole.mean_positive_, data.train.mean(axis=0))


@pytest.mark.parametrize("algorithm", ["gentle", "real", "discrete"])
@pytest.mark.parametrize("features", ["basic", "core", "all", "lbp"])
def test_all_features_and_algorithms_can_be_trained(features, algorithm):
    trainer = fitted(features=features, algorithm=algorithm, n_stages=1, max_depth=2, min_hit_rate=0.7)
    assert trainer.cascade_.kind == ("LBP" if features == "lbp" else "HAAR")
    assert trainer.cascade_.n_stages == 1
    model, info = unpack_cascade(packed(trainer))
    assert info["parameters"]["features"] == features
    assert (
        evaluate_windows(model, POSITIVES)[1].tobytes()
        == evaluate_windows(trainer.cascade_.model, POSITIVES)[1].tobytes()
    )


def test_a_trained_cascade_can_be_saved_and_loaded(whole, tmp_path):
    whole.cascade_.save(tmp_path / "a.hedgerow")
    assert (tmp_path / "a.hedgerow").read_bytes() == packed(whole)
    whole.cascade_.save(tmp_path / "a.xml")
    assert (tmp_path / "a.xml").read_bytes().startswith(b"<?xml")


# --- the same bytes


@pytest.mark.parametrize("features", ["all", "lbp"])
def test_any_number_of_threads_gives_the_same_bytes(features):
    settings = {"features": features, "max_depth": 2, "n_negatives": 300, "n_stages": 2}
    assert len({packed(fitted(n_jobs=n, **settings)) for n in (1, 2, 4)}) == 1


def test_another_seed_gives_another_cascade_and_the_same_seed_the_same(whole):
    assert packed(fitted(n_stages=4)) == packed(whole)
    assert packed(fitted(n_stages=2, random_state=1)) != packed(fitted(n_stages=2))
    assert packed(fitted(random_state=np.random.RandomState(5))) == packed(
        fitted(random_state=np.random.RandomState(5))
    )


def test_more_stages_leave_the_first_ones_as_they_were(whole):
    short = fitted(n_stages=2).cascade_.model
    for name in ("stage_thresholds", "values", "feature", "threshold", "rects"):
        assert np.array_equal(
            getattr(whole.cascade_.model, name)[: len(getattr(short, name))], getattr(short, name)
        )


def test_seconds_are_not_in_the_file(whole):
    assert "seconds" not in json.dumps(whole.cascade_.info)
    assert any(report.seconds > 0 for report in whole.stages_)


# --- when it ends


def test_it_ends_with_the_last_stage(whole):
    assert whole.stop_reason_ == "all 4 stages are trained"
    assert whole.log_[-1] == "ended: all 4 stages are trained"


def test_it_ends_when_the_target_is_reached():
    trainer = fitted(n_stages=50, target_false_alarm=0.2)
    assert 1 <= trainer.cascade_.n_stages < 10
    assert "target_false_alarm is reached" in trainer.stop_reason_
    before = fitted(n_stages=trainer.cascade_.n_stages)
    assert before.stop_reason_.startswith("all")
    assert packed(before) == packed(trainer)


def test_it_ends_when_negatives_run_out_and_says_so():
    with pytest.warns(UserWarning, match="training ended after [0-9]+ stages: too few negatives"):
        trainer = fitted(n_stages=50, max_learners=40)
    assert 1 <= trainer.cascade_.n_stages < 50
    assert trainer.stop_reason_.startswith("too few negatives: of ")
    assert f"pass the {trainer.cascade_.n_stages} stages" in trainer.stop_reason_


def test_fewer_negatives_than_wanted_are_told():
    trainer = fitted(n_stages=1, n_negatives=10**6)
    told = [text for text in trainer.log_ if "negatives instead of" in text]
    assert told
    assert "instead of 1,000,000" in told[0]
    assert trainer.stages_[0].n_negatives == int(told[0].split()[2].replace(",", ""))


@pytest.mark.parametrize(
    ("positives", "negatives", "words"),
    [
        (POSITIVES[:2], NEGATIVES, "1 validation positives, 1 and 1 pass .*; at least 10 are required"),
        (np.full((60, 8, 8), 50, np.uint8), NEGATIVES, "0 and 0 pass .*; at least 10 are required"),
        (POSITIVES, [np.full((30, 30), 50, np.uint8)] * 4, "too few negatives"),
        (
            np.repeat(NEGATIVES[0][None, :8, :8], 60, axis=0),
            [NEGATIVES[0][:8, :8]] * 99,
            "reject no negative validation windows",
        ),
    ],
    ids=["two positives", "flat positives", "flat images", "the same"],
)
@pytest.mark.filterwarnings("error")
def test_a_training_of_nothing_is_an_error(positives, negatives, words):
    with pytest.raises(ValueError, match=rf"no stage was trained: .*({words})"):
        fitted(positives, negatives)


def test_one_image_or_one_original_cannot_be_parted():
    with pytest.raises(ValueError, match="only 1 image without the object: at least 2 are required"):
        fitted(negatives=NEGATIVES[:1])
    with pytest.raises(ValueError, match="only 1 original: at least 2 are required"):
        fitted(groups=np.zeros(60, int))
    assert fitted(negatives=NEGATIVES[:2], n_stages=1).cascade_.n_stages == 1


# --- the two parts of the data


def test_no_original_is_on_both_sides():
    groups = np.random.default_rng(0).integers(0, 12, 60)
    marked = POSITIVES.copy()
    marked[:, 0, 0] = marked[:, 0, -1] = groups  # also when mirrored
    for mirror in (False, True):
        parameters = make(mirror=mirror, validation_fraction=0.3).get_params()
        data = read_training_data(marked, NEGATIVES, groups, parameters, {})
        train, held = set(data.train[:, 0, 0].tolist()), set(data.validation[:, 0, 0].tolist())
        assert train | held == set(groups.tolist())
        assert not train & held
        assert len(held) == 4  # of 12
        assert len(data.train) + len(data.validation) == 60 * (1 + mirror)


@pytest.mark.parametrize(("share", "n"), [(0.001, 1), (0.2, 2), (0.5, 5), (0.999, 9)])
def test_at_least_one_group_is_on_either_side(share, n):
    held = validation_mask(np.repeat(np.arange(10), 3), share, 0, 0)
    assert held.sum() == 3 * n
    assert np.all(held.reshape(10, 3) == held[::3, None])


def test_stages_are_boosted_on_windows_of_one_part_and_measured_on_those_of_the_other(monkeypatch):
    asked, sets = [], []
    mine, init = Miner.mine, StageBooster.__init__

    def spy_mine(self, model, n, stage, numbers, callback=None):
        found = mine(self, model, n, stage, numbers, callback)
        asked.append((set(numbers.tolist()), found.windows))
        return found

    def spy_init(self, windows, held, *rest):
        sets.append((windows, held))
        init(self, windows, held, *rest)

    monkeypatch.setattr(Miner, "mine", spy_mine)
    monkeypatch.setattr(StageBooster, "__init__", spy_init)
    fitted(n_stages=2, validation_fraction=0.3)
    assert len(asked) == 4
    assert asked[0][0] == asked[2][0]
    assert not asked[0][0] & asked[1][0]
    assert asked[0][0] | asked[1][0] == set(range(10))
    for number, pair in enumerate(sets):
        for (windows, classes), (_, others) in zip(pair, asked[2 * number : 2 * number + 2], strict=True):
            pixels = windows.pixels.T.reshape(-1, 8, 8)
            assert np.array_equal(pixels[classes == 0], others)
            assert windows.n == len(classes)


def test_each_stage_draws_its_own_features(monkeypatch):
    drawn = []
    init = StageBooster.__init__

    def spy(self, windows, held, features, *rest):
        drawn.append(features.rects.tobytes())
        assert len(features) == 80
        init(self, windows, held, features, *rest)

    monkeypatch.setattr(StageBooster, "__init__", spy)
    fitted()
    assert len(set(drawn)) == 3


# --- targets


def test_a_list_has_a_target_for_each_stage_and_the_last_is_for_all_further_ones(monkeypatch):
    rules = []
    init = StageBooster.__init__

    def spy(self, windows, held, features, rule, team):
        rules.append((rule.min_hit_rate, rule.max_false_alarm))
        init(self, windows, held, features, rule, team)

    monkeypatch.setattr(StageBooster, "__init__", spy)
    trainer = fitted(min_hit_rate=[1.0, 0.9], max_false_alarm=(0.6, 0.7, 0.8, 0.9))
    assert rules == [(1.0, 0.6), (0.9, 0.7), (0.9, 0.8)]
    assert trainer.stages_[0].hit_rate == 1.0


def test_all_held_out_objects_pass_if_they_must():
    trainer = fitted(min_hit_rate=1.0)
    assert trainer.stages_[-1].total_hit_rate == 1.0
    data = read_training_data(POSITIVES, NEGATIVES, None, trainer.get_params(), {})
    assert np.all(evaluate_windows(trainer.cascade_.model, data.validation)[0] == 3)
