"""A training that is stopped and goes on gives the same bytes; a checkpoint of another one is refused."""

import signal

import numpy as np
import pytest

from hedgerow.container import ModelFileError
from hedgerow.vision import trainer as trainer_module
from hedgerow.vision.images import Jitter
from hedgerow.vision.stage import first_stages
from hedgerow.vision.storage import pack_cascade, unpack_cascade
from hedgerow.vision.training_data import TrainingLog
from oracle_windows import photos
from trainer_cases import NEGATIVES, POSITIVES, fitted, packed


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


@pytest.mark.parametrize("stops", [[1], [2], [3], [1, 2, 3], [4]])
def test_training_that_goes_on_from_a_checkpoint_gives_the_same_bytes(whole, tmp_path, stops):
    for n_stages in stops:
        stopped = fitted(n_stages=n_stages, checkpoint=tmp_path / "c")
        assert stopped.cascade_.n_stages == n_stages
        assert (tmp_path / "c").read_bytes() == packed(stopped)
    resumed = fitted(n_stages=4, checkpoint=str(tmp_path / "c"))
    assert packed(resumed) == packed(whole)
    assert (tmp_path / "c").read_bytes() == packed(whole)
    assert [report.to_json() for report in resumed.stages_] == [report.to_json() for report in whole.stages_]
    assert resumed.curves_ == [[]] * stops[-1] + whole.curves_[stops[-1] :]


@pytest.mark.parametrize("trees", [None, 1])
@pytest.mark.parametrize("stage", [2, 3, 4])
def test_an_interrupted_training_keeps_its_stages_and_goes_on_to_the_same_bytes(
    whole, tmp_path, monkeypatch, stage, trees
):
    with monkeypatch.context() as patch:
        interrupting(patch, stage, trees)
        with pytest.warns(
            UserWarning, match=rf"interrupted in stage {stage}: the cascade has the stages before"
        ):
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


def test_a_checkpoint_of_more_stages_gives_the_first_of_them(tmp_path):
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
    with pytest.raises(ModelFileError, match=r"checkpoint='.*c' .*other data, parameters or random_state"):
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


def test_one_other_image_of_many_is_noticed(tmp_path):
    images = photos(40)
    fitted(negatives=images, n_stages=1, checkpoint=tmp_path / "c")
    images[23] = images[23][::-1].copy()
    with pytest.raises(ModelFileError, match="other data"):
        fitted(negatives=images, n_stages=2, checkpoint=tmp_path / "c")


def test_without_a_random_state_training_goes_on_with_that_of_the_checkpoint(tmp_path):
    first = fitted(n_stages=1, random_state=None, checkpoint=tmp_path / "c")
    second = fitted(n_stages=2, random_state=None, checkpoint=tmp_path / "c")
    assert (
        first_stages(second.cascade_.model, 1).threshold.tobytes() == first.cascade_.model.threshold.tobytes()
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_negatives": np.int64(40), "max_features": np.int32(80), "n_stages": np.int64(1)},
        {"min_hit_rate": (0.95, 0.9), "max_false_alarm": [np.float32(0.5), 0.4]},
        {"min_hit_rate": np.float64(0.95), "mirror": np.bool_(True)},
        {"window": [8, 8]},
        {"window": np.array([8, 8])},
        {"max_features": None},
        {"jitter": Jitter(1)},
    ],
    ids=str,
)
def test_whatever_numbers_are_allowed_can_be_kept_in_a_checkpoint(tmp_path, parameters):
    trainer = fitted(checkpoint=tmp_path / "c", **{"n_stages": 1, "max_learners": 20} | parameters)
    assert unpack_cascade((tmp_path / "c").read_bytes())[1] == trainer.cascade_.info
    again = fitted(checkpoint=tmp_path / "c", **{"n_stages": 1, "max_learners": 20} | parameters)
    assert packed(again) == packed(trainer)
