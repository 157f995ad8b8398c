"""Training a cascade: the same bytes whatever the threads and interruptions, honest records, early errors."""

import io
import json
import math
import signal

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from sklearn.base import clone

from hedgerow.container import ModelFileError
from hedgerow.vision import trainer as trainer_module
from hedgerow.vision.mining import Miner
from hedgerow.vision.scan import judge
from hedgerow.vision.stage import Stage, StageBooster
from hedgerow.vision.storage import pack_cascade, unpack_cascade
from hedgerow.vision.trainer import CascadeTrainer
from hedgerow.vision.training_data import held_out, read_training_data
from hedgerow.vision.training_log import StageReport, TrainingLog, heading, line
from hedgerow.vision.vec import write_vec
from oracle_windows import objects, photos

POSITIVES, NEGATIVES = objects(60), photos(10)


def make(**parameters):
    usual = {
        "window": (8, 8),
        "n_stages": 3,
        "n_negatives": 40,
        "max_features": 80,
        "max_learners": 6,
        "min_hit_rate": 0.95,
        "scale_factor": 1.5,
        "random_state": 0,
        "n_jobs": 1,
        "verbose": 0,
    }
    return CascadeTrainer(**usual | parameters)


def fitted(positives=POSITIVES, negatives=NEGATIVES, groups=None, **parameters):
    return make(**parameters).fit(positives, negatives, groups=groups)


def packed(trainer):
    return pack_cascade(trainer.cascade_.model, trainer.cascade_.info)


def interrupting(monkeypatch, stage, trees=None, how=None):
    """Interrupt the boosting of a stage after so many trees, or the search for its negatives before."""

    def interrupt(*_):
        if how is None:
            raise KeyboardInterrupt
        how()

    class Interrupting(TrainingLog):
        def boosting(self, number, most):
            def watch(made):
                if number == stage and len(made.trees) == trees:
                    interrupt()

            return watch

        def mining(self, number, n):
            return interrupt if number == stage and trees is None else lambda _: None

    monkeypatch.setattr(trainer_module, "TrainingLog", Interrupting)


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


def test_held_out_objects_pass_as_the_record_says(whole):
    data = read_training_data(POSITIVES, NEGATIVES, None, whole.get_params(), {})
    stages, _ = judge(whole.cascade_.model, data.held)
    assert np.mean(stages == 4) == pytest.approx(whole.stages_[-1].total_hit_rate)
    passed = [int(np.sum(judge(whole.cascade_.model, data.train)[0] >= n)) for n in range(4)]
    assert [report.n_positives for report in whole.stages_] == passed


def test_the_mean_of_the_positives_is_kept(whole):
    data = read_training_data(POSITIVES, NEGATIVES, None, whole.get_params(), {})
    assert np.array_equal(whole.mean_positive_, data.train.mean(axis=0))


@pytest.mark.parametrize("algorithm", ["gentle", "real", "discrete"])
@pytest.mark.parametrize("features", ["basic", "core", "all", "lbp"])
def test_all_features_and_algorithms_can_be_trained(features, algorithm):
    trainer = fitted(features=features, algorithm=algorithm, n_stages=2, max_depth=2, weight_trim=0.1)
    assert trainer.cascade_.kind == ("LBP" if features == "lbp" else "HAAR")
    assert trainer.cascade_.n_stages == 2
    model, info = unpack_cascade(packed(trainer))
    assert info["parameters"]["features"] == features
    assert judge(model, POSITIVES)[1].tobytes() == judge(trainer.cascade_.model, POSITIVES)[1].tobytes()


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
    assert packed(fitted(n_stages=4, random_state=1)) != packed(whole)
    assert packed(fitted(random_state=np.random.RandomState(5))) == packed(
        fitted(random_state=np.random.RandomState(5))
    )


def test_more_stages_leave_the_first_ones_as_they_were(whole):
    short = fitted(n_stages=2).cascade_.model
    for name in ("stage_thresholds", "values", "feature", "threshold", "rects"):
        assert np.array_equal(getattr(whole.cascade_.model, name)[: len(getattr(short, name))], getattr(short, name))


def test_seconds_are_not_in_the_file(whole):
    assert "seconds" not in json.dumps(whole.cascade_.info)
    assert any(report.seconds > 0 for report in whole.stages_)


# --- checkpoints


@pytest.mark.parametrize("stops", [[1], [2], [3], [1, 2, 3], [4]])
def test_training_that_goes_on_from_a_checkpoint_gives_the_same_bytes(whole, tmp_path, stops):
    for n_stages in stops:
        stopped = fitted(n_stages=n_stages, checkpoint=tmp_path / "c")
        assert stopped.cascade_.n_stages == n_stages
        assert (tmp_path / "c").read_bytes() == packed(stopped)
    resumed = fitted(n_stages=4, checkpoint=str(tmp_path / "c"))
    assert packed(resumed) == packed(whole)
    assert (tmp_path / "c").read_bytes() == packed(whole)
    assert [report.plain() for report in resumed.stages_] == [report.plain() for report in whole.stages_]
    assert resumed.curves_ == [[]] * stops[-1] + whole.curves_[stops[-1] :]


@pytest.mark.parametrize("trees", [None, 1])
@pytest.mark.parametrize("stage", [2, 3, 4])
def test_an_interrupted_training_keeps_its_stages_and_goes_on_to_the_same_bytes(
    whole, tmp_path, monkeypatch, stage, trees
):
    with monkeypatch.context() as patch:
        interrupting(patch, stage, trees)
        with pytest.warns(UserWarning, match=rf"interrupted in stage {stage}: the cascade holds those before"):
            stopped = fitted(n_stages=4, checkpoint=tmp_path / "c")
    assert stopped.cascade_.n_stages == len(stopped.stages_) == stage - 1
    assert stopped.stop_reason_ == f"interrupted in stage {stage}"
    assert stopped.log_[-1] == f"ended: interrupted in stage {stage}"
    assert packed(stopped) == packed(fitted(n_stages=stage - 1))
    assert packed(fitted(n_stages=4, checkpoint=tmp_path / "c")) == packed(whole)


@pytest.mark.parametrize("trees", [None, 1])
def test_an_interrupt_in_the_first_stage_is_raised(tmp_path, monkeypatch, trees):
    interrupting(monkeypatch, 1, trees)
    with pytest.raises(KeyboardInterrupt):
        fitted(checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_signal_is_an_interrupt(monkeypatch, n_jobs):
    interrupting(monkeypatch, 2, 1, how=lambda: signal.raise_signal(signal.SIGINT))
    with pytest.warns(UserWarning, match="interrupted in stage 2"):
        assert fitted(n_jobs=n_jobs, n_stages=4).cascade_.n_stages == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_checkpoint_of_more_stages_gives_the_first_of_them(whole, tmp_path):
    fitted(n_stages=4, checkpoint=tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    fewer = fitted(n_stages=2, checkpoint=tmp_path / "c")
    assert packed(fewer) == packed(fitted(n_stages=2))
    assert (tmp_path / "c").read_bytes() == before


@pytest.mark.parametrize(
    "changed",
    [
        {"random_state": 1},
        {"n_negatives": 41},
        {"features": "core"},
        {"algorithm": "real"},
        {"max_features": 81},
        {"min_hit_rate": 0.96},
        {"max_false_alarm": 0.4},
        {"weight_trim": 0.1},
        {"validation_fraction": 0.25},
        {"scale_factor": 1.4},
        {"mirror": True},
        {"jitter": 1},
        {"positives": POSITIVES[::-1]},
        {"positives": POSITIVES[:-1]},
        {"negatives": NEGATIVES[::-1]},
        {"groups": np.arange(60) // 2},
    ],
    ids=str,
)
def test_a_checkpoint_of_another_training_is_refused_and_left_alone(tmp_path, changed):
    fitted(n_stages=1, checkpoint=tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    with pytest.raises(ModelFileError, match=r"checkpoint='.*c' .*other data, other parameters or another random_"):
        fitted(n_stages=2, checkpoint=tmp_path / "c", **changed)
    assert (tmp_path / "c").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "byte", "empty", "text", "cascade without a record"])
def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path, damage):
    whole = fitted(n_stages=1, checkpoint=tmp_path / "c").cascade_
    data = (tmp_path / "c").read_bytes()
    bad = {
        "cut": data[:-5],
        "byte": data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        "empty": b"",
        "text": b"notes on faces",
        "cascade without a record": pack_cascade(whole.model, {}),
    }[damage]
    (tmp_path / "c").write_bytes(bad)
    with pytest.raises(ModelFileError, match=r"checkpoint='.*c'"):
        fitted(n_stages=2, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == bad


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_negatives": np.int64(40), "max_features": np.int32(80), "n_stages": np.int64(1)},
        {"min_hit_rate": (0.95, 0.9), "max_false_alarm": [np.float32(0.5), 0.4]},
        {"min_hit_rate": np.float64(0.95), "mirror": np.bool_(True)},
        {"window": [8, 8]},
        {"window": np.array([8, 8])},
        {"max_features": None},
    ],
    ids=str,
)
def test_whatever_numbers_are_allowed_can_be_kept_in_a_checkpoint(tmp_path, parameters):
    trainer = fitted(checkpoint=tmp_path / "c", **{"n_stages": 1, "max_learners": 1} | parameters)
    assert unpack_cascade((tmp_path / "c").read_bytes())[1] == trainer.cascade_.info
    again = fitted(checkpoint=tmp_path / "c", **{"n_stages": 1, "max_learners": 1} | parameters)
    assert packed(again) == packed(trainer)


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
    trainer = fitted(n_stages=50, max_learners=40)
    assert 1 <= trainer.cascade_.n_stages < 50
    assert trainer.stop_reason_.startswith("negatives ran out: of ")
    assert f"the {trainer.cascade_.n_stages} stages let " in trainer.stop_reason_


def test_fewer_negatives_than_wanted_are_told():
    trainer = fitted(n_stages=1, n_negatives=10**6)
    told = [text for text in trainer.log_ if "negatives instead of" in text]
    assert told
    assert "instead of 1,000,000" in told[0]
    assert trainer.stages_[0].n_negatives == int(told[0].split()[2].replace(",", ""))


@pytest.mark.parametrize(
    ("positives", "negatives", "words"),
    [
        (POSITIVES[:2], NEGATIVES, "fewer than 10 positives"),
        (np.full((60, 8, 8), 50, np.uint8), NEGATIVES, "fewer than 10 positives"),
        (POSITIVES, [np.full((30, 30), 50, np.uint8)] * 4, "negatives ran out"),
        (np.repeat(NEGATIVES[0][None, :8, :8], 60, axis=0), [NEGATIVES[0][:8, :8]] * 99, "no feature tells|apart"),
    ],
    ids=["two positives", "flat positives", "flat images", "the same"],
)
@pytest.mark.filterwarnings("error")
def test_a_training_of_nothing_is_an_error(positives, negatives, words):
    with pytest.raises(ValueError, match=rf"nothing was trained: .*({words})"):
        fitted(positives, negatives)


def test_one_image_or_one_original_cannot_be_parted():
    with pytest.raises(ValueError, match="only 1 image without the object: at least 2 are needed"):
        fitted(negatives=NEGATIVES[:1])
    with pytest.raises(ValueError, match="only 1 original: at least 2 are needed"):
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
        train, held = set(data.train[:, 0, 0].tolist()), set(data.held[:, 0, 0].tolist())
        assert train | held == set(groups.tolist())
        assert not train & held
        assert len(held) == 4  # of 12
        assert len(data.train) + len(data.held) == 60 * (1 + mirror)


@pytest.mark.parametrize(("share", "n"), [(0.001, 1), (0.2, 2), (0.5, 5), (0.999, 9)])
def test_at_least_one_group_is_on_either_side(share, n):
    held = held_out(np.repeat(np.arange(10), 3), share, 0, 0)
    assert held.sum() == 3 * n
    assert np.all(held.reshape(10, 3) == held[::3, None])


def test_stages_are_boosted_on_windows_of_one_part_and_measured_on_those_of_the_other(monkeypatch):
    asked, sets = [], []
    mine, init = Miner.mine, StageBooster.__init__

    def spy_mine(self, model, n, stage, numbers, watch=None):
        found = mine(self, model, n, stage, numbers, watch)
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
    assert np.all(judge(trainer.cascade_.model, data.held)[0] == 3)


# --- forms of data


@pytest.fixture(scope="module")
def large():
    return objects(60, size=12)


def test_positives_of_another_size_are_resized(large):
    trainer = fitted(large, n_stages=1)
    assert trainer.cascade_.window == (8, 8)
    assert fitted(list(large), n_stages=1).cascade_ == trainer.cascade_


def test_floats_are_grey_values(whole):
    same = fitted(POSITIVES / 255, [image / 255 for image in NEGATIVES], n_stages=4)
    assert same.cascade_.model.n_trees == whole.cascade_.model.n_trees
    assert packed(same) == packed(whole)


def test_folders_and_vec_files_give_the_same_as_arrays(whole, tmp_path):
    for name, images in (("faces", POSITIVES), ("others", NEGATIVES)):
        (tmp_path / name).mkdir()
        for number, image in enumerate(images):
            Image.fromarray(image).save(tmp_path / name / f"{number:03}.png")
    (tmp_path / "faces.vec").write_bytes(write_vec(POSITIVES))
    for positives in (tmp_path / "faces", str(tmp_path / "faces.vec")):
        assert packed(fitted(positives, tmp_path / "others", n_stages=4)) == packed(whole)


def test_windows_need_not_be_square():
    trainer = fitted(POSITIVES[:, :6], window=(8, 6), n_stages=2)
    assert trainer.cascade_.window == (8, 6)
    assert trainer.mean_positive_.shape == (6, 8)


def test_copies_and_mirror_images_are_added():
    plain, more = fitted(n_stages=1), fitted(n_stages=1, jitter=2, mirror=True)
    assert more.stages_[0].n_positives == 6 * plain.stages_[0].n_positives


def test_positives_smaller_than_the_window_are_an_error():
    with pytest.raises(ValueError, match="smaller than the window of 12 × 12"):
        fitted(window=(12, 12))


# --- parameters


BAD = {
    "window": [None, (8,), (2, 8), (8, 2.5), 8, "8x8"],
    "features": ["haar", None, "BASIC", 3],
    "algorithm": ["logit", None, "samme"],
    "n_stages": [0, -1, 1.5, None, True, 1001],
    "min_hit_rate": [0.4, 1.1, None, [], [0.9, 2], "0.9", math.nan],
    "max_false_alarm": [0, 1, 1.0, None, [], (0.5, 0.0), math.nan],
    "target_false_alarm": [0, -0.1, 1.1, "x", math.inf],
    "max_learners": [0, 1.5, None],
    "max_depth": [0, 9, None, 1.0],
    "n_negatives": [0, 19, None, 1e3],
    "validation_fraction": [0, 1, -0.1, None, math.nan],
    "max_features": [0, -1, 1.5],
    "weight_trim": [-0.1, 0.6, None, math.nan],
    "scale_factor": [1, 0.9, 2.1, None],
    "jitter": [-1, 1.5, None, 1001],
    "mirror": [1, None, "yes"],
    "checkpoint": [5, "", ".", "no/such/folder/c"],
    "random_state": [-1, 1.5, "x"],
    "n_jobs": [0, 1.5, "2"],
    "verbose": [-1, 3, None],
}


def test_every_parameter_is_in_the_list():
    assert set(BAD) == set(CascadeTrainer().get_params())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_value_gets_an_error_before_anything_is_read(name, value):
    with pytest.raises(ValueError, match=rf"^{name}=.* is not allowed: "):
        make(**{name: value}).fit("no such folder", "no such folder")


def test_missing_files_are_named():
    with pytest.raises(FileNotFoundError, match="no such folder"):
        fitted("no such folder")


def test_a_trainer_can_be_cloned_and_shown():
    trainer = make(min_hit_rate=[0.9, 0.8])
    copy = clone(trainer)
    assert copy is not trainer
    assert copy.get_params() == trainer.get_params()
    assert repr(CascadeTrainer(n_stages=3)) == "CascadeTrainer(n_stages=3)"
    assert trainer.set_params(n_stages=7).n_stages == 7


def test_fitting_changes_no_parameter(whole):
    assert whole.get_params() == make(n_stages=4).get_params()


# --- the log


def test_the_log_is_a_table(whole):
    assert whole.log_[0] == heading()
    assert whole.log_[1:5] == [line(report) for report in whole.stages_]
    for text in whole.log_[1:5]:
        assert len(text) == len(heading())
        assert len(text.split()) == 10
    assert [text.split()[0] for text in whole.log_[1:5]] == ["1", "2", "3", "4"]


def test_a_line_has_the_rates_of_its_stage():
    report = StageReport(3, 17, 0.99512, 0.4321, 1.0, 0.4, 0.98, 0.00012, 4000, 5000, 1.5e-3, 12, 3.14)
    assert line(report).split() == [
        "3", "17", "0.9951", "0.4321", "0.9800", "1.2e-04", "4000", "5000", "1.5e-03", "3.1",
    ]  # fmt: skip
    assert "seconds" not in report.plain()
    assert StageReport(**report.plain()).plain() == report.plain()


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_lines_are_printed_if_asked_for(capsys, verbose):
    trainer = fitted(verbose=verbose, n_stages=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == (trainer.log_ if verbose == 2 else [])


def test_a_resumed_training_tells_the_stages_it_has(tmp_path):
    fitted(n_stages=2, checkpoint=tmp_path / "c")
    resumed = fitted(n_stages=3, checkpoint=tmp_path / "c")
    assert [text.split()[0] for text in resumed.log_[1:-1]] == ["1", "2", "3"]


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_terminal_gets_a_bar(verbose):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with TrainingLog(verbose, console) as log:
        log.mining(1, 500)(123)
        log._bar.refresh()
        log.boosting(2, 30)(Stage(trees=[None] * 5, hit_rate=0.9876, false_alarm=0.25))
        log._bar.refresh()
    shown = console.file.getvalue()
    if verbose:
        for words in ("stage 1: looking for negatives", "123 of 500", "stage 2: boosting", "5 trees, d 0.9876, f 0.250"):
            assert words in shown
    else:
        assert shown == ""
