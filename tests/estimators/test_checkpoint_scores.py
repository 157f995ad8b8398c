"""Checkpoints with scores of rows: of fits with dropped rounds, and with leaf values by fold."""

import json
from functools import partial

import numpy as np
import pytest

import hedgerow
from checkpoint_cases import Killed, KillingStore, rows
from hedgerow import Checkpoint, ModelFileError
from hedgerow.backends.cpu import TrainingScores
from hedgerow.boosting import gradient_boosting as engine
from hedgerow.container import pack, unpack
from hedgerow.estimators import checkpoint as module
from hedgerow.io.models import to_bytes
from hedgerow.memory import FitSize

REGRESSOR, CLASSIFIER = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
X, TARGETS = rows()
X[:, 3] = np.round(np.abs(np.nan_to_num(X[:, 3])) * 4)
VALID, OTHERS = X[:40], {name: y[:40] for name, y in TARGETS.items()}
WEIGHTS = {"sample_weight": np.where(np.arange(len(X)) % 7, np.linspace(0.1, 2.0, len(X)), 0.0)}
DROPPED = {"drop_rate": 0.5, "random_state": 2, "min_samples_leaf": 5}
FOLDS = {"leaf_value_folds": 3, "random_state": 2, "min_samples_leaf": 5}
STOPS = {"n_estimators": 60, "learning_rate": 0.9, "early_stopping": True, "n_iter_no_change": 4}
SYMMETRIC = {"growth_policy": "symmetric", "max_leaf_nodes": None, "max_depth": 3}
CODED = {"categorical_features": [3], "max_categories_for_sets": 3}

# name: estimator, target, parameters, arguments of `fit`
CASES = {
    "dropped": (REGRESSOR, "numbers", DROPPED, {}),
    "dropped, three classes": (CLASSIFIER, "three", DROPPED | {"subsample": 0.6, "max_drop": 2}, WEIGHTS),
    "dropped, evaluated": (
        CLASSIFIER, "three", DROPPED | {"learning_rate_decay": 0.9},
        {"eval_set": [(VALID, OTHERS["three"]), (VALID[:9], OTHERS["three"][:9])]},
    ),
    "dropped, first order": (CLASSIFIER, "two", DROPPED | {"newton": False} | SYMMETRIC, WEIGHTS),
    "dropped, line search": (REGRESSOR, "numbers", DROPPED | {"loss": "absolute_error"}, WEIGHTS),
    "dropped, gradients": (CLASSIFIER, "three", DROPPED | {"sampling": "gradient"}, {}),
    "dropped, statistics": (CLASSIFIER, "three", DROPPED | CODED, {"eval_set": (VALID, OTHERS["three"])}),
    "folds": (REGRESSOR, "numbers", FOLDS, WEIGHTS),
    "folds, huber": (REGRESSOR, "numbers", FOLDS | {"loss": "huber", "subsample": 0.6}, WEIGHTS),
    "folds, stopped": (CLASSIFIER, "three", FOLDS | STOPS, WEIGHTS),
    "folds, stopped, sampled": (CLASSIFIER, "two", FOLDS | STOPS | {"subsample": 0.6}, {}),
    "folds, evaluated": (REGRESSOR, "numbers", FOLDS | STOPS, {"eval_set": (VALID, OTHERS["numbers"] + 1)}),
    "folds, bayesian": (REGRESSOR, "numbers", FOLDS | {"sampling": "bayesian"}, WEIGHTS),
    "folds, two models": (CLASSIFIER, "three", FOLDS | STOPS | {"n_folds": 2}, WEIGHTS),
    "folds, two models, evaluated": (
        CLASSIFIER, "two", FOLDS | {"n_folds": 2, "subsample": 0.6}, {"eval_set": (VALID, OTHERS["two"])},
    ),
    "folds, statistics": (CLASSIFIER, "three", FOLDS | CODED | SYMMETRIC, {}),
}  # fmt: skip


def fit(name, more=None, **arguments):
    kind, target, parameters, own = CASES[name]
    model = kind(**{"n_estimators": 7} | parameters | (more or {}))
    return model.fit(X, TARGETS[target], **(own | arguments))


def kill(monkeypatch, fit_with, path, n_writes):
    """Let a fit end after so many writes, one in every round."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "_stores", [KillingStore(module._stores[0], n_writes)])
        with pytest.raises(Killed):
            fit_with(checkpoint=Checkpoint(path, rounds=1))


@pytest.mark.parametrize("name", CASES)
def test_a_fit_that_is_killed_twice_has_the_bytes_of_one_fit(name, tmp_path, monkeypatch):
    path, whole = tmp_path / "fit", to_bytes(fit(name))
    n_rounds = []
    for n_writes in (1, 3):
        kill(monkeypatch, partial(fit, name), path, n_writes)
        n_rounds.append(hedgerow.load(path).n_estimators_)
    assert n_rounds == [1, 4]
    resumed = fit(name, more={"n_jobs": 2}, checkpoint=path)
    assert len(resumed.history_["round"]) > 4
    assert to_bytes(resumed) == whole
    before = path.read_bytes()
    assert to_bytes(fit(name, checkpoint=path)) == whole
    assert path.read_bytes() == before


@pytest.mark.parametrize("n_rounds", range(1, 7))
@pytest.mark.parametrize("name", ["dropped, evaluated", "folds"])
def test_a_fit_may_end_after_any_round_and_have_more_rounds_later(name, n_rounds, tmp_path):
    path = tmp_path / "fit"
    fit(name, more={"n_estimators": n_rounds}, checkpoint=path)
    assert to_bytes(fit(name, checkpoint=path)) == to_bytes(fit(name))


@pytest.mark.parametrize("name", ["dropped, evaluated", "folds, stopped", "folds, two models"])
def test_without_the_scores_the_model_would_be_another(name, tmp_path, monkeypatch):
    path = tmp_path / "fit"
    kill(monkeypatch, partial(fit, name), path, 3)
    monkeypatch.setattr(engine._TreeEnsemble, "restore_scores", lambda *_: None)
    assert to_bytes(fit(name, checkpoint=path)) != to_bytes(fit(name))


def test_the_scores_of_evaluation_sets_are_in_the_file(tmp_path, monkeypatch):
    path, name = tmp_path / "fit", "dropped, evaluated"
    kill(monkeypatch, partial(fit, name), path, 3)
    contents = unpack(path.read_bytes())
    contents.arrays["scores.evaluation"][0] += 1e-3
    path.write_bytes(pack(contents.text, contents.arrays))
    one, other = fit(name, checkpoint=path), fit(name)
    assert one.history_["validation_loss"][:3] == other.history_["validation_loss"][:3]
    assert one.history_["validation_loss"][3] != other.history_["validation_loss"][3]
    assert one.history_["validation_loss_1"][3] != other.history_["validation_loss_1"][3]


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("dropped", {"training": (1, 1, 240)}),
        ("dropped, evaluated", {"training": (1, 3, 240), "evaluation": (3, 49)}),
        ("folds, evaluated", {"training": (1, 1, 240)}),
        ("folds, two models", {"training": (2, 3, 240)}),
    ],
)
def test_a_checkpoint_has_eight_bytes_per_row_and_output_more(name, shapes, tmp_path):
    path = tmp_path / "fit"
    model = fit(name, checkpoint=path)
    arrays = unpack(path.read_bytes()).arrays
    found = {key.removeprefix("scores."): array for key, array in arrays.items() if key.startswith("scores.")}
    assert {key: array.shape for key, array in found.items()} == shapes
    assert {array.dtype for array in found.values()} == {np.dtype(np.float64)}
    if name == "dropped, evaluated":  # for dropped rounds they are those of the model, but for rounding
        assert np.allclose(found["training"][0], model._raw(X), rtol=1e-9, atol=1e-9)
        assert np.allclose(found["evaluation"][:, :40], model._raw(VALID), rtol=1e-9, atol=1e-9)
    elif name != "dropped":
        assert not np.allclose(found["training"].mean(axis=0), model._raw(X))
    hedgerow.save(hedgerow.load(path), tmp_path / "model")
    assert not any(key.startswith("scores.") for key in unpack((tmp_path / "model").read_bytes()).arrays)


@pytest.mark.parametrize(
    ("method", "number"), [("gradients", 4), ("fit", 4), ("update", 4), ("mean_loss", 4)]
)
@pytest.mark.parametrize("name", ["dropped, evaluated", "folds, stopped, sampled"])
def test_a_round_that_is_interrupted_is_not_in_the_file(name, method, number, tmp_path, monkeypatch):
    path, whole, calls = tmp_path / "fit", to_bytes(fit(name)), []
    original = getattr(TrainingScores, method)

    def interrupted(*arguments):
        calls.append(method)
        if len(calls) == number:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingScores, method, interrupted)
        with pytest.warns(UserWarning, match="fit was interrupted"):
            fit(name, checkpoint=Checkpoint(path, rounds=2))
    assert hedgerow.load(path).n_estimators_ == 2
    assert to_bytes(fit(name, checkpoint=path)) == whole


@pytest.mark.parametrize(
    ("name", "n_scores"),
    [("dropped, evaluated", 3 * (240 + 49)), ("folds, two models", 2 * 3 * 240), ("folds, evaluated", 240)],
)
def test_memory_for_the_scores_is_estimated(name, n_scores, tmp_path, monkeypatch):
    found = []
    monkeypatch.setattr(FitSize, "require", lambda _, estimate, **_more: found.append(estimate))
    fit(name, more={"n_estimators": 1})
    assert not any("scores in the checkpoint" in estimate for estimate in found)
    fit(name, more={"n_estimators": 1}, checkpoint=tmp_path / "fit")
    sizes = [estimate.get("scores in the checkpoint") for estimate in found]
    assert [size for size in sizes if size is not None] == [32 * n_scores]


# --- damaged files


@pytest.fixture
def changed(tmp_path):
    """Return a function that writes a checkpoint, changes its arrays and description, and resumes the fit."""

    def change(name, do):
        path = tmp_path / "fit"
        fit(name, more={"n_estimators": 3}, checkpoint=path)
        contents = unpack(path.read_bytes())
        description = json.loads(contents.text)
        do(contents.arrays, description)
        path.write_bytes(pack(json.dumps(description), contents.arrays))
        return partial(fit, name, checkpoint=path)

    return change


def put(name, make):
    return lambda arrays, _: arrays.update({f"scores.{name}": make(arrays[f"scores.{name}"])})


def with_value(value):
    def make(array):
        array.flat[5] = value
        return array

    return make


def set_sets(_, description):
    description["checkpoint"]["evaluation_sets"] = []


SHAPE = r"its shape must begin with \(1, 3, 240\)"
DAMAGE = {
    "missing": (lambda arrays, _: arrays.pop("scores.training"), "the array 'scores.training' is missing"),
    "not a number": (put("training", with_value(np.nan)), "scores.training: the scores must be finite"),
    "infinite": (put("training", with_value(-np.inf)), "scores.training: the scores must be finite"),
    "large": (put("training", with_value(1e302)), "and not too large"),
    "narrow": (
        put("training", lambda a: a.astype(np.float32)), "must have 3 axes of float64; got 3 of float32",
    ),
    "axes": (put("training", lambda a: a[0]), r"must have 3 axes of float64; got 2"),
    "rows": (put("training", lambda a: a[:, :, 1:]), SHAPE),
    "outputs": (put("training", lambda a: a[:, :1]), SHAPE),
    "models": (put("training", lambda a: np.repeat(a, 2, axis=0)), SHAPE),
    "evaluation is missing": (
        lambda arrays, _: arrays.pop("scores.evaluation"), "the array 'scores.evaluation' is missing",
    ),
    "evaluation, outputs": (put("evaluation", lambda a: a[:1]), r"its shape must begin with \(3,\)"),
    "evaluation, not a number": (put("evaluation", with_value(np.nan)), "scores.evaluation: the scores"),
    "evaluation, rows": (put("evaluation", lambda a: a[:, 1:]), "has scores of other rows; pass"),
    "no sets": (set_sets, "the array 'scores.evaluation' does not belong to the model"),
    "no data": (
        lambda _, description: description["data_fingerprints"].clear(),
        "data_fingerprints: there must be one",
    ),
    "unknown": (
        lambda arrays, _: arrays.update({"scores.other": np.zeros(3)}),
        "the array 'scores.other' does not belong to the model",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_scores_are_refused(name, changed):
    do, message = DAMAGE[name]
    again = changed("dropped, evaluated", do)
    error = ValueError if name == "evaluation, rows" else ModelFileError
    with pytest.raises(error, match=rf"checkpoint='.*'.*{message}"):
        again()


def test_scores_of_another_number_of_models_are_refused(changed):
    again = changed("folds, two models", put("training", lambda a: a[:1]))
    with pytest.raises(ModelFileError, match=r"its shape must begin with \(2, 3, 240\)"):
        again()


def test_scores_of_evaluation_sets_belong_to_dropped_rounds_only(changed):
    again = changed(
        "folds, evaluated", lambda arrays, _: arrays.update({"scores.evaluation": np.zeros((1, 40))})
    )
    with pytest.raises(ModelFileError, match=r"'scores.evaluation' does not belong to the model"):
        again()


def test_scores_in_other_checkpoints_and_in_models_are_refused(tmp_path):
    path, scores = tmp_path / "fit", {"scores.training": np.zeros((1, 1, 240))}
    model = REGRESSOR(n_estimators=3).fit(X, TARGETS["numbers"], checkpoint=path)
    contents = unpack(path.read_bytes())
    path.write_bytes(pack(contents.text, contents.arrays | scores))
    with pytest.raises(ModelFileError, match=r"'scores.training' does not belong to the model"):
        model.fit(X, TARGETS["numbers"], checkpoint=path)
    hedgerow.save(fit("folds"), path)
    contents = unpack(path.read_bytes())
    path.write_bytes(pack(contents.text, contents.arrays | scores))
    with pytest.raises(ModelFileError, match=r"'scores.training' does not belong to the model"):
        hedgerow.load(path)


@pytest.mark.parametrize(
    ("name", "parameter"), [("dropped", "drop_rate=0.5"), ("folds", "leaf_value_folds=3")]
)
def test_a_warm_start_from_a_checkpoint_is_refused(name, parameter, tmp_path):
    path = tmp_path / "fit"
    fit(name, checkpoint=path)
    model = hedgerow.load(path).set_params(warm_start=True, n_estimators=9)
    with pytest.raises(ValueError, match=f"warm_start=True is not allowed with {parameter}"):
        model.fit(X, TARGETS["numbers"])
