"""Interrupted fits are resumed with the same bytes as without interruption, or refused."""

import json
import os

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow
from checkpoint_cases import Killed, KillingStore, cases, rows
from hedgerow import Checkpoint, EarlyStopping, ModelFileError
from hedgerow.container import pack, unpack
from hedgerow.estimators import checkpoint as module
from hedgerow.io.models import to_bytes

CASES = cases()
TREES = ["sklearn.tree._tree.Tree"]  # that foreign members may hold

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* rows are in the bag of every"),  # few members, on purpose
    pytest.mark.filterwarnings("ignore:boosting stopped"),
]


@pytest.fixture
def killing(monkeypatch):
    """Return a function that makes a fit end after so many writes."""
    store = module._stores[0]

    def after(n_writes):
        monkeypatch.setattr(module, "_stores", [KillingStore(store, n_writes) if n_writes else store])

    return after


@pytest.mark.parametrize("name", CASES)
def test_a_resumed_fit_gives_the_same_bytes(name, tmp_path, killing):
    case, path = CASES[name], tmp_path / "fit.safetensors"
    whole = to_bytes(case.fit())
    stops = 0
    for n_writes in (1, 3):
        killing(n_writes)
        try:
            case.fit(checkpoint=Checkpoint(path, rounds=1, trusted=TREES))
        except Killed:
            stops += 1
    assert stops > 0
    killing(0)
    checkpoint = Checkpoint(path, trusted=TREES)
    assert to_bytes(case.fit(checkpoint=checkpoint)) == whole
    before = path.read_bytes()
    assert to_bytes(case.fit(checkpoint=checkpoint)) == whole  # a fit that is done ends at once
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["gradient, stops", "resampled", "forest", "bag", "three"])
def test_a_checkpoint_does_not_change_the_fit(name, tmp_path):
    case = CASES[name]
    with_one = case.fit(checkpoint=Checkpoint(tmp_path / "fit.safetensors", rounds=2))
    assert to_bytes(with_one) == to_bytes(case.fit())
    assert with_one.get_params(deep=False).keys() == case.model.get_params(deep=False).keys()


@pytest.mark.parametrize("name", ["gradient", "real", "logit", "forest of numbers", "bag", "foreign bag"])
def test_a_warm_start_gives_the_bytes_of_one_fit(name):
    case = CASES[name]
    n_rounds = case.model.n_estimators
    X, targets = rows()
    X, y = np.nan_to_num(X) if case.clean else X, targets[case.target]
    model = clone(case.model).set_params(warm_start=True, n_estimators=n_rounds // 2).fit(X, y)
    model.set_params(n_estimators=n_rounds).fit(X, y)
    assert to_bytes(model) == to_bytes(clone(case.model).set_params(warm_start=True).fit(X, y))


def test_a_checkpoint_is_a_model_of_the_rounds_so_far(tmp_path, killing):
    path = tmp_path / "fit.safetensors"
    killing(3)
    with pytest.raises(Killed):
        CASES["gradient"].fit(checkpoint=Checkpoint(path, rounds=2))
    assert hedgerow.load(path).n_estimators_ == 6


def test_a_warm_start_with_a_checkpoint_continues_both(tmp_path, killing):
    X, targets = rows()
    y, path = targets["two"], tmp_path / "fit.safetensors"
    stops = {"early_stopping": True, "n_iter_no_change": 4, "random_state": 0, "learning_rate": 0.9}

    def begun():
        model = hedgerow.GradientBoostingClassifier(n_estimators=5, warm_start=True, **stops).fit(X, y)
        return model.set_params(n_estimators=40)

    whole = to_bytes(begun().fit(X, y))
    killing(2)
    with pytest.raises(Killed):
        begun().fit(X, y, checkpoint=Checkpoint(path, rounds=1))
    killing(0)
    assert to_bytes(begun().fit(X, y, checkpoint=path)) == whole
    other = hedgerow.GradientBoostingClassifier(n_estimators=4, warm_start=True, **stops).fit(X, y)
    with pytest.raises(ValueError, match="warm start from another model"):
        other.set_params(n_estimators=40).fit(X, y, checkpoint=path)


def test_more_rounds_continue_a_finished_fit(tmp_path):
    path, case = tmp_path / "fit.safetensors", CASES["forest"]
    X, targets = rows()
    case.fit(checkpoint=path)
    more = clone(case.model).set_params(n_estimators=14)
    assert to_bytes(clone(more).fit(X, targets["three"], checkpoint=path)) == to_bytes(
        more.fit(X, targets["three"])
    )


def test_a_seed_that_was_drawn_is_kept(tmp_path, killing):
    X, targets = rows()
    path, model = (
        tmp_path / "fit.safetensors",
        hedgerow.GradientBoostingClassifier(n_estimators=8, subsample=0.5),
    )
    killing(3)
    with pytest.raises(Killed):
        model.fit(X, targets["two"], checkpoint=Checkpoint(path, rounds=1))
    seed = hedgerow.load(path)._seed
    killing(0)
    assert model.fit(X, targets["two"], checkpoint=path)._seed == seed
    again = hedgerow.GradientBoostingClassifier(n_estimators=8, subsample=0.5, random_state=seed).fit(
        X, targets["two"]
    )
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


def test_callbacks_are_called_with_past_rounds(tmp_path, killing):
    X, targets = rows()
    path, calls = tmp_path / "fit.safetensors", []
    valid = {"eval_set": (X[:50], targets["two"][:50])}
    killing(4)
    with pytest.raises(Killed):
        CASES["gradient"].fit(checkpoint=Checkpoint(path, rounds=1), callbacks=[lambda _: None], **valid)
    killing(0)
    CASES["gradient"].fit(
        checkpoint=path, callbacks=[lambda done: calls.append((done.number, *done.validation_loss)) or False],
        **valid,
    )  # fmt: skip
    whole = []
    CASES["gradient"].fit(
        callbacks=[lambda done: whole.append((done.number, *done.validation_loss)) or False], **valid
    )
    assert calls == whole


def test_a_custom_stopping_callback_continues_counting(tmp_path, killing):
    X, targets = rows()
    given = {"eval_set": (X[:60], targets["three"][:60])}
    model = hedgerow.GradientBoostingClassifier(n_estimators=80, learning_rate=0.9, random_state=0)

    def fit(**more):
        return clone(model).fit(X[60:], targets["three"][60:], callbacks=[EarlyStopping(3)], **given, **more)

    whole = fit()
    assert whole.n_estimators_ < 80
    path = tmp_path / "fit.safetensors"
    killing(whole.n_estimators_ - 1)
    with pytest.raises(Killed):
        fit(checkpoint=Checkpoint(path, rounds=1))
    killing(0)
    assert to_bytes(fit(checkpoint=path)) == to_bytes(whole)


# --- fits that cannot be resumed


@pytest.fixture
def kept(tmp_path):
    path = tmp_path / "fit.safetensors"
    CASES["gradient"].fit(checkpoint=path)
    return path


def test_other_rows_and_other_parameters_are_named(kept):
    X, targets = rows()
    y, model = targets["two"], CASES["gradient"].model
    before = kept.read_bytes()
    with pytest.raises(ValueError, match="of a fit with another X; pass another path, or remove the file"):
        clone(model).fit(X + 1, y, checkpoint=kept)
    with pytest.raises(ValueError, match="of a fit with another X and y"):
        clone(model).fit(X[1:], y[1:], checkpoint=kept)
    with pytest.raises(ValueError, match="another sample_weight"):
        clone(model).fit(X, y, np.full(len(y), 2.0), checkpoint=kept)
    with pytest.raises(ValueError, match="another eval_set"):
        clone(model).fit(X, y, eval_set=(X, y), checkpoint=kept)
    with pytest.raises(ValueError, match=r"of a fit with subsample=0\.7, now it is 0\.6"):
        clone(model).set_params(subsample=0.6).fit(X, y, checkpoint=kept)
    with pytest.raises(ValueError, match="of a fit with random_state=1, now it is 2"):
        clone(model).set_params(random_state=2).fit(X, y, checkpoint=kept)
    with pytest.raises(ValueError, match="is of a GradientBoostingClassifier"):
        hedgerow.RandomForestClassifier().fit(X, y, checkpoint=kept)
    with pytest.raises(ValueError, match="n_estimators=3 is below the 9 rounds"):
        clone(model).set_params(n_estimators=3).fit(X, y, checkpoint=kept)
    assert kept.read_bytes() == before


def test_a_fit_that_fails_leaves_the_old_model(kept):
    X, targets = rows()
    model = clone(CASES["gradient"].model).fit(X, targets["two"])
    before = to_bytes(model)
    with pytest.raises(ValueError, match="another X"):
        model.fit(X + 1, targets["two"], checkpoint=kept)
    assert to_bytes(model) == before


def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path):
    path = tmp_path / "model.safetensors"
    hedgerow.save(CASES["gradient"].fit(), path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="a model, not a checkpoint"):
        CASES["gradient"].fit(checkpoint=path)
    path.write_text("buy milk")
    with pytest.raises(ModelFileError, match=r"checkpoint='.*' cannot be read: not a safetensors file"):
        CASES["gradient"].fit(checkpoint=path)
    assert path.read_text() == "buy milk"
    assert before


@pytest.mark.parametrize(
    ("checkpoint", "error", "message"),
    [
        (3, TypeError, "checkpoint=3 is not allowed: it must be the name of a file, a Checkpoint or None"),
        ("", TypeError, "checkpoint='' is not allowed"),
        ("no/such/folder/fit", ValueError, "a file in a folder that exists"),
        (".", ValueError, "a file in a folder that exists"),
    ],
)
def test_fit_rejects_invalid_checkpoints(checkpoint, error, message):
    with pytest.raises(error, match=message):
        CASES["bag"].fit(checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 3}, "path=3 is not allowed: it must be the name of a file"),
        ({"path": "a", "rounds": 0}, "rounds=0 is not allowed"),
        ({"path": "a", "seconds": -1.0}, r"seconds=-1\.0 is not allowed"),
        ({"path": "a", "seconds": float("nan")}, "seconds=nan is not allowed"),
    ],
)
def test_checkpoint_rejects_invalid_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Checkpoint(**arguments)


def test_what_no_file_can_hold_is_refused_before_the_fit(tmp_path):
    X, targets = rows()

    class Own(type(hedgerow.GradientBoostingRegressor().fit(X, targets["numbers"]).loss_)):
        pass

    model = hedgerow.GradientBoostingRegressor(loss=Own())
    with pytest.raises(ModelFileError, match=r"loss=.* is an object"):
        model.fit(X, targets["numbers"], checkpoint=tmp_path / "fit.safetensors")
    assert not any(tmp_path.iterdir())


def test_a_disk_that_is_full_does_not_end_the_fit(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(module._stores[0]), "write", full)
    with pytest.warns(UserWarning, match="could not be written, the fit continues: .*No space left"):
        model = CASES["bag"].fit(checkpoint=Checkpoint(tmp_path / "fit.safetensors"))
    assert len(model.estimators_) == 8


def test_a_checkpoint_is_due_by_seconds_or_rounds():
    checkpoint = Checkpoint("a", rounds=3, seconds=2.0)
    due = [checkpoint.is_due(n, seconds) for n, seconds in [(1, 0.0), (3, 0.0), (1, 2.0)]]
    assert due == [False, True, True]
    assert not Checkpoint("a", seconds=None).is_due(10**6, 1e9)
    assert os.fspath(checkpoint.path) == "a"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("leaves", [3], "every list must have 9 numbers"),
        ("round", [0, 1, 2, 3, 4, 5, 6, 7, -1], "rounds and leaves must be counts"),
        ("round", [0.5] * 9, "rounds and leaves must be counts"),
    ],
)
def test_fit_rejects_checkpoints_with_impossible_histories(kept, name, values, message):
    contents = unpack(kept.read_bytes())
    description = json.loads(contents.text)
    description["history"][name] = values
    kept.write_bytes(pack(json.dumps(description), contents.arrays))
    with pytest.raises(ModelFileError, match=message):
        CASES["gradient"].fit(checkpoint=kept)
