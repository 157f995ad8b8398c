"""Input forms, parameters and log of the trainer."""

import math

import pytest
from PIL import Image
from sklearn.base import clone

from hedgerow.vision import trainer as trainer_module
from hedgerow.vision.sources import write_vec
from hedgerow.vision.stage import Stage
from hedgerow.vision.trainer import CascadeTrainer
from hedgerow.vision.training_data import StageReport, TrainingLog, log_header, log_line
from oracle_windows import objects
from terminal import Terminal
from trainer_cases import NEGATIVES, POSITIVES, fitted, make, packed


@pytest.fixture(scope="module")
def whole():
    return fitted(n_stages=2)


# --- forms of data


def test_positives_of_another_size_are_resized():
    large = objects(60, size=12)
    trainer = fitted(large, n_stages=1)
    assert trainer.cascade_.window == (8, 8)
    assert fitted(list(large), n_stages=1).cascade_ == trainer.cascade_


def test_floats_are_grey_values(whole):
    same = fitted(POSITIVES / 255, [image / 255 for image in NEGATIVES], n_stages=2)
    assert packed(same) == packed(whole)


def test_folders_and_vec_files_equal_arrays(whole, tmp_path):
    for name, images in (("faces", POSITIVES), ("others", NEGATIVES)):
        (tmp_path / name).mkdir()
        for number, image in enumerate(images):
            Image.fromarray(image).save(tmp_path / name / f"{number:03}.png")
    (tmp_path / "faces.vec").write_bytes(write_vec(POSITIVES))
    for positives in (tmp_path / "faces", str(tmp_path / "faces.vec")):
        assert fitted(positives, tmp_path / "others", n_stages=2).cascade_ == whole.cascade_


def test_fit_raises_memory_error():
    with pytest.raises(
        MemoryError, match=r"8,000,000 features of 10,000,000 windows needs about 80 TB .* set max_features="
    ):
        trainer_module._check_memory(8_000_000, 10_000_000)


def test_windows_need_not_be_square():
    trainer = fitted(POSITIVES[:, :6], window=(8, 6), n_stages=1)
    assert trainer.cascade_.window == (8, 6)
    assert trainer.mean_positive_.shape == (6, 8)


def test_copies_and_mirror_images_are_added():
    plain, more = fitted(n_stages=1), fitted(n_stages=1, jitter=2, mirror=True)
    assert more.stages_[0].n_positives == 6 * plain.stages_[0].n_positives


def test_fit_rejects_positives_smaller_than_the_window():
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


def test_every_parameter_has_invalid_values():
    assert set(BAD) == set(CascadeTrainer().get_params())


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_fit_rejects_invalid_parameters_before_reading_data(name, value):
    with pytest.raises(ValueError, match=rf"^{name}=.* is not allowed: "):
        make(**{name: value}).fit("no such folder", "no such folder")


def test_missing_files_are_named():
    with pytest.raises(FileNotFoundError, match="no such folder"):
        fitted("no such folder")


def test_clone_and_repr():
    trainer = make(min_hit_rate=[0.9, 0.8])
    copy = clone(trainer)
    assert copy is not trainer
    assert copy.get_params() == trainer.get_params()
    assert repr(CascadeTrainer(n_stages=3)) == "CascadeTrainer(n_stages=3)"
    assert trainer.set_params(n_stages=7).n_stages == 7


def test_fitting_changes_no_parameter(whole):
    assert whole.get_params() == make(n_stages=2).get_params()


# --- the log


def test_the_log_is_a_table(whole):
    assert whole.log_[0] == log_header()
    rows = [text for text in whole.log_[1:] if not text.startswith(("stage", "ended"))]
    assert rows == [log_line(report) for report in whole.stages_]
    for text in rows:
        assert len(text) == len(log_header())
        assert len(text.split()) == 10
    assert [text.split()[0] for text in rows] == ["1", "2"]


def test_log_names_stages_that_miss_the_target(whole):
    missed = [f"stage {r.stage}: f is above max_false_alarm" for r in whole.stages_ if r.false_alarm > 0.5]
    assert [text.split(" after")[0] for text in whole.log_ if "max_false_alarm" in text] == missed


def test_log_line_shows_the_rates():
    report = StageReport(3, 17, 0.99512, 0.4321, 1.0, 0.4, 0.98, 0.00012, 4000, 5000, 1.5e-3, 12, 3.14)
    assert log_line(report).split() == [
        "3", "17", "0.9951", "0.4321", "0.9800", "1.2e-04", "4000", "5000", "1.5e-03", "3.1",
    ]  # fmt: skip
    assert "seconds" not in report.to_json()
    assert StageReport(**report.to_json()).to_json() == report.to_json()


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_verbose_prints_the_log(capsys, verbose):
    trainer = fitted(verbose=verbose, n_stages=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == (trainer.log_ if verbose == 2 else [])


@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_bar_on_terminals(verbose, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    with TrainingLog(verbose, terminal) as log:
        log.mining(1, 500)(123)
        log.boosting(2, 30)(Stage(trees=[None] * 5, hit_rate=0.9876, false_alarm=0.25))
    shown = terminal.getvalue()
    texts = ("stage 1: mining negatives", "123/500", "stage 2: boosting", "5 trees, d 0.9876, f 0.250")
    assert all(text in shown for text in texts) if verbose else shown == ""
