"""Training of a cascade: reports, end, training and validation data, and targets."""

import json
import math

import numpy as np
import pytest

from hedgerow.vision.mining import Miner
from hedgerow.vision.model import unpack_cascade
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import StageBooster
from hedgerow.vision.training_data import read_training_data, validation_mask
from oracle_windows import objects, photos
from trainer_cases import NEGATIVES, POSITIVES, fitted, make, packed


@pytest.fixture(scope="module")
def whole():
    return fitted(n_stages=4)


# --- what comes out


def test_cascade_detects_objects_like_its_positives(whole):
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


def test_reports_describe_the_stages(whole):
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
    assert whole.stop_reason_ == "all 4 stages are trained"
    assert whole.log_[-1] == "ended: all 4 stages are trained"
    assert any(report.seconds > 0 for report in whole.stages_)
    assert "seconds" not in json.dumps(whole.cascade_.info)


def test_total_hit_rate_is_the_product_of_all_stages():
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


def test_reports_equal_the_rates_of_the_cascade(whole):
    data = read_training_data(POSITIVES, NEGATIVES, None, whole.get_params(), {})
    stages, _ = evaluate_windows(whole.cascade_.model, data.validation)
    assert np.mean(stages == 4) == pytest.approx(whole.stages_[-1].total_hit_rate)
    passed = [int(np.sum(evaluate_windows(whole.cascade_.model, data.train)[0] >= n)) for n in range(4)]
    assert [report.n_positives for report in whole.stages_] == passed
    assert np.array_equal(whole.mean_positive_, data.train.mean(axis=0))


@pytest.mark.parametrize(
    ("features", "algorithm"),
    [("basic", "real"), ("core", "gentle"), ("all", "discrete"), ("lbp", "gentle"), ("lbp", "discrete")],
)
def test_features_and_algorithms_can_be_trained(features, algorithm):
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


def test_training_does_not_depend_on_n_jobs():
    settings = {"features": "all", "max_depth": 2, "n_negatives": 300, "n_stages": 1}
    assert packed(fitted(n_jobs=1, **settings)) == packed(fitted(n_jobs=3, **settings))


def test_training_depends_only_on_the_seed(whole):
    assert packed(fitted(n_stages=4)) == packed(whole)
    seeds = (0, 1, np.random.RandomState(5), np.random.RandomState(5))
    first, other, one, same = (packed(fitted(n_stages=1, random_state=seed)) for seed in seeds)
    assert first != other
    assert one == same


def test_more_stages_do_not_change_the_first_ones(whole):
    short = fitted(n_stages=2).cascade_.model
    for name in ("stage_thresholds", "values", "feature", "threshold", "rects"):
        assert np.array_equal(
            getattr(whole.cascade_.model, name)[: len(getattr(short, name))], getattr(short, name)
        )


# --- when it ends


def test_training_ends_at_target_false_alarm():
    trainer = fitted(n_stages=50, target_false_alarm=0.2)
    assert 1 <= trainer.cascade_.n_stages < 10
    assert "target_false_alarm is reached" in trainer.stop_reason_
    before = fitted(n_stages=trainer.cascade_.n_stages)
    assert before.stop_reason_.startswith("all")
    assert packed(before) == packed(trainer)


def test_training_ends_early_with_a_warning_without_negatives():
    with pytest.warns(UserWarning, match="training ended after [0-9]+ stages: too few negatives"):
        trainer = fitted(n_stages=50, max_learners=40)
    assert 1 <= trainer.cascade_.n_stages < 50
    assert trainer.stop_reason_.startswith("too few negatives: of ")
    assert f"pass the {trainer.cascade_.n_stages} stages" in trainer.stop_reason_


def test_log_names_missing_negatives():
    trainer = fitted(n_stages=1, n_negatives=10**6)
    line = next(text for text in trainer.log_ if "negatives instead of 1,000,000" in text)
    assert trainer.stages_[0].n_negatives == int(line.split()[2].replace(",", ""))


@pytest.mark.parametrize(
    ("positives", "negatives", "message"),
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
def test_fit_raises_if_no_stage_can_be_trained(positives, negatives, message):
    with pytest.raises(ValueError, match=rf"no stage was trained: .*({message})"):
        fitted(positives, negatives)


def test_fit_requires_two_images_and_two_originals():
    with pytest.raises(ValueError, match="only 1 image without the object: at least 2 are required"):
        fitted(negatives=NEGATIVES[:1])
    with pytest.raises(ValueError, match="only 1 original: at least 2 are required"):
        fitted(groups=np.zeros(60, int))
    assert fitted(negatives=NEGATIVES[:2], n_stages=1).cascade_.n_stages == 1


# --- training and validation data


@pytest.fixture
def boosters(monkeypatch):
    """The arguments of all boosters of stages."""
    calls, init = [], StageBooster.__init__

    def record(self, *args):
        calls.append(args)
        init(self, *args)

    monkeypatch.setattr(StageBooster, "__init__", record)
    return calls


def test_originals_are_training_or_validation_data():
    groups = np.random.default_rng(0).integers(0, 12, 60)
    marked = POSITIVES.copy()
    marked[:, 0, 0] = marked[:, 0, -1] = groups  # also when mirrored
    for mirror in (False, True):
        parameters = make(mirror=mirror, validation_fraction=0.3).get_params()
        data = read_training_data(marked, NEGATIVES, groups, parameters, {})
        train, validation = set(data.train[:, 0, 0].tolist()), set(data.validation[:, 0, 0].tolist())
        assert train | validation == set(groups.tolist())
        assert not train & validation
        assert len(validation) == 4  # of 12
        assert len(data.train) + len(data.validation) == 60 * (1 + mirror)


@pytest.mark.parametrize(("share", "n"), [(0.001, 1), (0.2, 2), (0.5, 5), (0.999, 9)])
def test_validation_mask_has_groups_on_both_sides(share, n):
    validation = validation_mask(np.repeat(np.arange(10), 3), share, 0, 0)
    assert validation.sum() == 3 * n
    assert np.all(validation.reshape(10, 3) == validation[::3, None])


def test_rates_are_measured_on_validation_windows(boosters, monkeypatch):
    mined, mine = [], Miner.mine

    def record(self, model, n, stage, numbers, callback=None):
        found = mine(self, model, n, stage, numbers, callback)
        mined.append((set(numbers.tolist()), found.windows))
        return found

    monkeypatch.setattr(Miner, "mine", record)
    fitted(n_stages=2, validation_fraction=0.3)
    assert len(mined) == 4
    assert mined[0][0] == mined[2][0]
    assert not mined[0][0] & mined[1][0]
    assert mined[0][0] | mined[1][0] == set(range(10))
    for number, (*pair, _, _, _) in enumerate(boosters):
        for (windows, classes), (_, others) in zip(pair, mined[2 * number : 2 * number + 2], strict=True):
            pixels = windows.pixels.T.reshape(-1, 8, 8)
            assert np.array_equal(pixels[classes == 0], others)
            assert windows.n == len(classes)


def test_each_stage_draws_its_own_features(boosters):
    fitted(n_stages=2)
    features = [arguments[2] for arguments in boosters]
    assert [len(one) for one in features] == [80, 80]
    assert not np.array_equal(features[0].rects, features[1].rects)


# --- targets


def test_lists_have_one_target_per_stage(boosters):
    trainer = fitted(min_hit_rate=[1.0, 0.9], max_false_alarm=(0.6, 0.7, 0.8, 0.9))
    rules = [(options.min_hit_rate, options.max_false_alarm) for *_, options, _ in boosters]
    assert rules == [(1.0, 0.6), (0.9, 0.7), (0.9, 0.8)]
    assert trainer.stages_[0].hit_rate == 1.0


def test_min_hit_rate_one_passes_all_validation_objects():
    trainer = fitted(min_hit_rate=1.0, n_stages=2)
    assert trainer.stages_[-1].total_hit_rate == 1.0
    data = read_training_data(POSITIVES, NEGATIVES, None, trainer.get_params(), {})
    assert np.all(evaluate_windows(trainer.cascade_.model, data.validation)[0] == 2)
