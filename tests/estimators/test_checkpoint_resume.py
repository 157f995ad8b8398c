"""Checkpoints of nested learners, names and labels, warm starts, changed folders."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow
from checkpoint_cases import Killed, KillingStore, rows
from hedgerow import Checkpoint
from hedgerow.container import pack, unpack
from hedgerow.estimators import checkpoint as module
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.theory import quantile_grid

X, TARGETS = rows()
Y = TARGETS["two"]
FRAME = pd.DataFrame(np.nan_to_num(X), columns=list("dcba"))
KINDS = {
    "gradient": hedgerow.GradientBoostingClassifier(n_estimators=4, random_state=0),
    "adaboost": hedgerow.AdaBoostClassifier(n_estimators=4, random_state=0),
    "forest": hedgerow.RandomForestClassifier(n_estimators=4, random_state=0),
    "bag": hedgerow.BaggingClassifier(n_estimators=4, random_state=0),
    "three": hedgerow.SchapireBoostClassifier(random_state=0),
}
WARM = [name for name, model in KINDS.items() if hasattr(model, "warm_start")]


@pytest.fixture
def stop(monkeypatch, tmp_path):
    """Return a function that begins a fit, ends it after so many writes, and returns the path."""

    def begin(fit, n_writes=2):
        path = tmp_path / "fit.safetensors"
        with monkeypatch.context() as patch:
            patch.setattr(module, "_stores", [KillingStore(module._stores[0], n_writes)])
            with pytest.raises(Killed):
                fit(checkpoint=Checkpoint(path, rounds=1))
        return path

    return begin


def resumes(fit, stop, n_writes=2):
    """Whether a resumed fit gives the bytes of an uninterrupted one, also when it is repeated."""
    path, whole = stop(fit, n_writes), to_bytes(fit())
    return all(to_bytes(fit(checkpoint=path)) == whole for _ in range(2))


# --- parameters as a file returns them


@pytest.mark.parametrize(
    "model",
    [
        hedgerow.GradientBoostingClassifier(n_estimators=4, monotonic_cst={"d": 1, "a": -1}),
        hedgerow.GradientBoostingClassifier(n_estimators=4, interaction_cst=[{3, 1}, {0, 2}]),
        hedgerow.GradientBoostingClassifier(n_estimators=4, interaction_cst=(range(2), [2, 3])),
        hedgerow.RandomForestClassifier(n_estimators=4, class_weight={1: 2.0, 0: np.float32(1.5)}),
        hedgerow.RandomForestClassifier(n_estimators=4, random_state=np.random.RandomState(0)),
        hedgerow.AdaBoostClassifier(
            hedgerow.DecisionStump(bin_edges={"d": [0.0, 1.0], "a": np.array([0.5])}), n_estimators=4
        ),
        hedgerow.AdaBoostClassifier(
            hedgerow.DecisionStump(bin_edges=quantile_grid(FRAME.iloc[:50], 8)), n_estimators=4
        ),
        hedgerow.AdaBoostClassifier(
            hedgerow.RandomForestClassifier(n_estimators=2, max_depth=1), n_estimators=4
        ),
    ],
)
def test_parameters_of_any_type_are_compared_by_value(model, stop):
    if model.random_state is None:
        model.set_params(random_state=0)
    assert resumes(lambda **arguments: clone(model).fit(FRAME.iloc[50:], Y[50:], **arguments), stop)


def test_the_number_of_trees_of_a_learner_may_not_change(tmp_path):
    path = tmp_path / "fit.safetensors"
    model = hedgerow.BaggingClassifier(
        hedgerow.RandomForestClassifier(n_estimators=2), n_estimators=2, random_state=0
    )
    model.fit(X, Y, checkpoint=path)
    with pytest.raises(ValueError, match="of a fit with estimator__n_estimators=2, now it is 3"):
        clone(model).set_params(estimator__n_estimators=3, n_estimators=3).fit(X, Y, checkpoint=path)
    clone(model).set_params(estimator__n_jobs=2, n_estimators=3, n_jobs=1).fit(X, Y, checkpoint=path)


def test_a_seed_that_is_taken_away_is_another_fit(tmp_path):
    path = tmp_path / "fit.safetensors"
    hedgerow.RandomForestClassifier(n_estimators=2, random_state=5).fit(X, Y, checkpoint=path)
    with pytest.raises(ValueError, match="of a fit with random_state=5, now it is None"):
        hedgerow.RandomForestClassifier(n_estimators=3).fit(X, Y, checkpoint=path)


@pytest.mark.parametrize("name", WARM)
def test_fewer_rounds_than_a_checkpoint_has_are_refused(name, tmp_path):
    path = tmp_path / "fit.safetensors"
    model = clone(KINDS[name]).fit(X, Y, checkpoint=path)
    with pytest.raises(ValueError, match=r"n_estimators=3 is below the 4 rounds of checkpoint='.*'; pass"):
        model.set_params(n_estimators=3).fit(X, Y, checkpoint=path)


@pytest.mark.parametrize("trusted", [3, "sklearn.tree._tree.Tree", [3]])
def test_trusted_types_are_a_list_of_names(trusted):
    with pytest.raises((TypeError, ValueError), match=r"trusted=.* must be a list of names of types"):
        Checkpoint("fit.safetensors", trusted=trusted)


# --- names and labels


@pytest.mark.parametrize("name", KINDS)
def test_other_names_and_other_labels_are_refused(name, stop):
    def fit(X, y, **arguments):
        return clone(KINDS[name]).fit(X, y, **arguments)

    path = stop(lambda **arguments: fit(FRAME, Y, **arguments), 1)
    for other in (FRAME.rename(columns={"d": "z"}), FRAME.to_numpy()):
        with pytest.raises(ValueError, match="of a fit with other names of the columns of X; pass another"):
            fit(other, Y, checkpoint=path)
    with pytest.raises(ValueError, match=r"with the labels \[0, 1\] \(int64\), not \['n', 'y'\] \(<U1\)"):
        fit(FRAME, np.array(["n", "y"])[Y], checkpoint=path)
    with pytest.raises(ValueError, match=r"not \[False, True\] \(bool\); pass another path"):
        fit(FRAME, Y.astype(bool), checkpoint=path)
    assert to_bytes(fit(FRAME, Y.tolist(), checkpoint=path)) == to_bytes(fit(FRAME, Y))


@pytest.mark.parametrize("name", KINDS)
def test_categories_may_stand_in_another_order_but_not_have_other_names(name, stop):
    letters = np.array(list("uvw"))[np.random.default_rng(0).integers(0, 3, len(Y))]
    table = FRAME.assign(letter=pd.Categorical(letters, list("uvw")))
    again = FRAME.assign(letter=pd.Categorical(letters, list("wuv")))
    path = stop(lambda **arguments: clone(KINDS[name]).fit(table, Y, **arguments), 1)
    other = table.assign(letter=table.letter.cat.rename_categories(list("abc")))
    with pytest.raises(ValueError, match="of a fit with another X; pass another path"):
        clone(KINDS[name]).fit(other, Y, checkpoint=path)
    whole = to_bytes(clone(KINDS[name]).fit(table, Y))
    assert to_bytes(clone(KINDS[name]).fit(again, Y, checkpoint=path)) == whole


# --- warm starts


@pytest.mark.parametrize("name", ["gradient", "adaboost"])
def test_a_warm_start_on_other_rows_counts_them_once(name, stop):
    def fit(**arguments):
        model = clone(KINDS[name]).set_params(warm_start=True).fit(X[:150], Y[:150])
        return model.set_params(n_estimators=8).fit(X, Y, **arguments)

    assert resumes(fit, stop)
    assert fit().row_fingerprints_.n_rows == 150 + len(Y)


@pytest.mark.parametrize("name", WARM)
@pytest.mark.filterwarnings("ignore:.* rows are in the bag of every")
def test_a_warm_start_resumes_the_file_of_its_own_model(name, tmp_path):
    path, model = tmp_path / "fit.safetensors", clone(KINDS[name]).set_params(warm_start=True)
    if "oob_score" in model.get_params():
        model.set_params(oob_score=True)
    for n_rounds in (4, 7):
        model.set_params(n_estimators=n_rounds).fit(X, Y, checkpoint=path)
    assert to_bytes(model) == to_bytes(clone(model).fit(X, Y))


def test_a_resumed_warm_start_may_have_more_rounds(stop):
    def fit(n_rounds, **arguments):
        model = clone(KINDS["gradient"]).set_params(warm_start=True).fit(X, Y)
        return model.set_params(n_estimators=n_rounds).fit(X, Y, **arguments)

    path = stop(lambda **arguments: fit(8, **arguments))
    assert to_bytes(fit(9, checkpoint=path)) == to_bytes(fit(9))


@pytest.mark.parametrize("name", KINDS)
def test_an_earlier_fit_of_the_estimator_does_not_matter(name, stop):
    path = stop(lambda **arguments: clone(KINDS[name]).fit(X, Y, **arguments), 1)
    used = clone(KINDS[name]).fit(FRAME, TARGETS["three"]).fit(X, Y, checkpoint=path)
    fresh = clone(KINDS[name]).fit(X, Y)
    assert to_bytes(used) == to_bytes(fresh)
    assert vars(used).keys() == vars(fresh).keys()


# --- ends


@pytest.mark.filterwarnings("ignore:boosting stopped")
@pytest.mark.parametrize("perfect", [True, False])
def test_the_reason_of_an_end_in_the_first_round_is_kept(perfect, stop):
    noise = np.random.default_rng(0).permutation(np.arange(len(Y)) % 2).astype(float)
    y = np.where(np.nan_to_num(X[:, 0]) > 0, 1.0, 2.0) if perfect else noise
    stump = hedgerow.DecisionTreeRegressor(max_depth=1)
    model = hedgerow.AdaBoostRegressor(stump, n_estimators=8, resample=False)
    fit = clone(model).fit(X, y)
    assert ("perfect" if perfect else "1/2 is chance") in fit.stop_reason_
    assert resumes(lambda **arguments: clone(model).fit(X, y, **arguments), stop, 1)


def two_values(seed, n):
    """One column of two values, which stumps fit after a few rounds."""
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 2, (n, 1)).astype(float)
    return column, (column[:, 0] > 0) ^ (rng.random(n) < 0.3)


def test_weights_are_those_before_a_restart_that_is_cut_away():
    train, valid = two_values(0, 60), two_values(1, 40)
    model = hedgerow.AdaBoostClassifier(
        algorithm="gentle", n_estimators=12, on_chance="restart", n_iter_no_change=6, random_state=0
    )
    cut = clone(model).set_params(early_stopping=True).fit(*train, eval_set=valid)
    n_rounds = len(cut.history_["round"])
    assert max(clone(model).set_params(n_estimators=n_rounds).fit(*train)._statistics.restarts) >= 0
    short = clone(model).set_params(n_estimators=cut.n_estimators_).fit(*train)
    assert max(short._statistics.restarts) == -1
    assert np.array_equal(cut.sample_weights_, short.sample_weights_)


@pytest.mark.parametrize("n_writes", [3, 5])
def test_a_fit_with_restarts_is_resumed(n_writes, stop):
    model = hedgerow.AdaBoostClassifier(
        algorithm="gentle", n_estimators=9, on_chance="restart", random_state=0
    )
    assert max(clone(model).fit(*two_values(0, 60))._statistics.restarts) >= 0
    assert resumes(lambda **arguments: clone(model).fit(*two_values(0, 60), **arguments), stop, n_writes)


@pytest.mark.parametrize("name", ["gradient", "adaboost"])
def test_an_interrupt_leaves_a_checkpoint_to_resume(name, tmp_path):
    path = tmp_path / "fit.safetensors"

    def interrupt(done):
        if done.number == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="fit was interrupted"):
        clone(KINDS[name]).fit(X, Y, callbacks=[interrupt], checkpoint=path)
    assert hedgerow.load(path).n_estimators_ == 2
    assert to_bytes(clone(KINDS[name]).fit(X, Y, checkpoint=path)) == to_bytes(clone(KINDS[name]).fit(X, Y))


# --- folders, pipelines and printing


def test_the_file_stays_where_it_is_when_the_working_folder_changes(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    leave = [lambda _: os.chdir(tmp_path / "other")]
    clone(KINDS["gradient"]).fit(X, Y, callbacks=leave, checkpoint=Checkpoint("fit.safetensors", rounds=1))
    assert (tmp_path / "fit.safetensors").exists()
    assert not any((tmp_path / "other").iterdir())


def test_a_step_of_a_pipeline_can_be_kept(tmp_path):
    path = tmp_path / "fit.safetensors"
    pipeline = make_pipeline(StandardScaler(), clone(KINDS["forest"]))
    pipeline.fit(X, Y, randomforestclassifier__checkpoint=path)
    assert hedgerow.load(path).n_estimators_ == 4


@pytest.mark.parametrize("kind", [hedgerow.GradientBoostingRegressor, hedgerow.AdaBoostRegressor])
def test_printing_does_not_change_the_file(kind, capsys):
    X, targets = rows()
    quiet, loud = (kind(n_estimators=3, random_state=0, verbose=verbose) for verbose in (0, 2))
    loud.fit(X, targets["numbers"])
    assert "train" in capsys.readouterr().err
    assert to_bytes(loud) == to_bytes(quiet.fit(X, targets["numbers"]))


def test_values_that_add_up_to_infinity_are_refused():
    X, targets = rows()
    model = hedgerow.AdaBoostClassifier(n_estimators=4).fit(X, targets["two"])
    contents = unpack(to_bytes(model))
    contents.arrays["forest.value"][:] = 1e308  # each is finite
    with pytest.raises(hedgerow.ModelFileError, match="the sum of the values of all trees is too large"):
        from_bytes(pack(contents.text, contents.arrays))
