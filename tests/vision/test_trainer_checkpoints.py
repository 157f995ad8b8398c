"""Checkpoints of the training: interrupted, resumed, of other data, and damaged."""

import signal

import numpy as np
import pytest

from hedgerow.container import ModelFileError
from hedgerow.vision import trainer as trainer_module
from hedgerow.vision.model import pack_cascade, unpack_cascade
from hedgerow.vision.samples import Jitter
from hedgerow.vision.stage import first_stages
from hedgerow.vision.training_data import TrainingLog
from oracle_windows import photos
from trainer_cases import NEGATIVES, POSITIVES, fitted, packed


def interrupting(monkeypatch, stage, trees=None, how=None):
    """Interrupt the boosting of a stage after this number of trees, or else its mining."""

    def interrupt(*_):
        if how is None:
            raise KeyboardInterrupt
        how()

    class Interrupting(TrainingLog):
        def boosting(self, number, most):
            def callback(boosted):
                if number == stage and len(boosted.trees) == trees:
                    interrupt()

            return callback

        def mining(self, number, n):
            return interrupt if number == stage and trees is None else lambda _: None

    monkeypatch.setattr(trainer_module, "TrainingLog", Interrupting)


@pytest.fixture(scope="module")
def whole():
    """Uninterrupted training."""
    return fitted(n_stages=4)


@pytest.fixture(scope="module")
def one_stage():
    return fitted(n_stages=1)


@pytest.mark.parametrize("stops", [[1], [2, 3], [4]])
def test_resumed_training_gives_the_same_bytes(whole, tmp_path, stops):
    for n_stages in stops:
        stopped = fitted(n_stages=n_stages, checkpoint=tmp_path / "c")
        assert stopped.cascade_.n_stages == n_stages
        assert (tmp_path / "c").read_bytes() == packed(stopped)
    resumed = fitted(n_stages=4, checkpoint=str(tmp_path / "c"))
    assert packed(resumed) == packed(whole) == (tmp_path / "c").read_bytes()
    assert [report.to_json() for report in resumed.stages_] == [report.to_json() for report in whole.stages_]
    assert resumed.curves_ == [[]] * stops[-1] + whole.curves_[stops[-1] :]
    log = [text for text in resumed.log_[1:] if not text.startswith(("stage", "ended"))]
    assert [text.split()[0] for text in log] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(("stage", "trees"), [(2, None), (3, 1)])
def test_interrupted_training_keeps_its_stages_and_can_be_resumed(whole, tmp_path, monkeypatch, stage, trees):
    with monkeypatch.context() as patch:
        interrupting(patch, stage, trees)
        with pytest.warns(
            UserWarning, match=rf"interrupted in stage {stage}: the cascade has the earlier stages"
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
def test_sigint_interrupts_training(monkeypatch, n_jobs):
    interrupting(monkeypatch, 2, 1, how=lambda: signal.raise_signal(signal.SIGINT))
    with pytest.warns(UserWarning, match="interrupted in stage 2"):
        assert fitted(n_jobs=n_jobs, n_stages=4).cascade_.n_stages == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_checkpoint_with_more_stages_is_shortened(whole, tmp_path):
    before = packed(whole)
    (tmp_path / "c").write_bytes(before)
    fewer = fitted(n_stages=2, checkpoint=tmp_path / "c")
    assert packed(fewer) == packed(fitted(n_stages=2))
    assert (tmp_path / "c").read_bytes() == before


OTHER_PARAMETERS = {
    "random_state": 1,
    "n_negatives": 41,
    "features": "core",
    "algorithm": "real",
    "max_features": 81,
    "min_hit_rate": 0.96,
    "max_false_alarm": 0.4,
    "weight_trim": 0.1,
    "validation_fraction": 0.25,
    "scale_factor": 1.4,
    "mirror": True,
    "jitter": 1,
    "positives": POSITIVES[::-1],
    "negatives": NEGATIVES[::-1],
    "groups": np.arange(60) // 2,
}


@pytest.mark.parametrize("name", OTHER_PARAMETERS)
def test_checkpoint_of_other_training_is_rejected(one_stage, tmp_path, name):
    before = packed(one_stage)
    (tmp_path / "c").write_bytes(before)
    with pytest.raises(ModelFileError, match=r"checkpoint='.*c' .*other data, parameters or random_state"):
        fitted(n_stages=2, checkpoint=tmp_path / "c", **{name: OTHER_PARAMETERS[name]})
    assert (tmp_path / "c").read_bytes() == before


@pytest.mark.parametrize("damage", ["truncated", "byte", "empty", "text", "without info"])
def test_damaged_checkpoint_is_rejected(one_stage, tmp_path, damage):
    data = packed(one_stage)
    bad = {
        "truncated": data[:-5],
        "byte": data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        "empty": b"",
        "text": b"notes on faces",
        "without info": pack_cascade(one_stage.cascade_.model, {}),
    }[damage]
    (tmp_path / "c").write_bytes(bad)
    with pytest.raises(ModelFileError, match=r"checkpoint='.*c'"):
        fitted(n_stages=2, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == bad


def test_checkpoint_is_rejected_if_one_image_changed(tmp_path):
    images = photos(12)
    fitted(negatives=images, n_stages=1, checkpoint=tmp_path / "c")
    images[7] = images[7][::-1].copy()
    with pytest.raises(ModelFileError, match="other data"):
        fitted(negatives=images, n_stages=2, checkpoint=tmp_path / "c")


def test_checkpoint_provides_the_seed_without_random_state(tmp_path):
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
def test_checkpoints_store_all_allowed_parameters(tmp_path, parameters):
    trainer = fitted(checkpoint=tmp_path / "c", **{"n_stages": 1, "max_learners": 20} | parameters)
    assert unpack_cascade((tmp_path / "c").read_bytes())[1] == trainer.cascade_.info
    again = fitted(checkpoint=tmp_path / "c", **{"n_stages": 1, "max_learners": 20} | parameters)
    assert packed(again) == packed(trainer)
