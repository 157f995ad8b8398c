"""Model files of gradient boosting: attributes, parameters, seeds, labels; models that cannot be saved."""

import json
from dataclasses import fields

import numpy as np
import pytest
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import hedgerow
from hedgerow import GradientBoostingRegressor
from hedgerow.binning import Bins
from hedgerow.container import unpack
from hedgerow.forest import Forest
from hedgerow.io import ModelFileError, save
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.io.parameters import LEFT_OUT
from hedgerow.io.trees import BINS, FOREST, LINEAR, USER_EDGES
from hedgerow.kernels.cpu.forest import add_predictions
from hedgerow.linear_terms import LinearTerms
from hedgerow.losses import Huber
from model_cases import changed, classifier, fitted, numbers, regressor, small


def test_fitted_attributes_of_a_frame_are_restored():
    model, *_ = fitted("three classes, categories, names")
    same = from_bytes(to_bytes(model))
    assert same.classes_.tolist() == ["no", "perhaps", "yes"]
    assert same.classes_.dtype == model.classes_.dtype
    assert same.feature_names_in_.tolist() == ["a", "b", "c", "colour"]
    assert same.schema_.categories[3].tolist() == ["blue", "green", "red", "white"]
    assert same._seed == 3


def test_history_is_restored_without_seconds():
    model, *_ = fitted("early stopping")
    history = from_bytes(to_bytes(model)).history_
    assert set(history) == set(model.history_)
    assert np.isnan(history["seconds"]).all()
    assert len(history["seconds"]) == len(history["round"])
    for name in ("round", "leaves", "train_loss", "validation_loss", "validation_loss_1"):
        assert history[name] == model.history_[name]


def test_parameters_that_influence_the_model_are_restored():
    model, _ = regressor(
        monotonic_cst=(1, 0, 0, -1),
        interaction_cst=[{2, 0}, {1}],
        n_jobs=2,
        verbose=0,
        random_state=np.int64(5),
    )
    found = from_bytes(to_bytes(model)).get_params()
    assert found["monotonic_cst"] == [1, 0, 0, -1]
    assert found["interaction_cst"] == [[0, 2], [1]]
    assert found["n_jobs"] is None
    same = set(found) - {"monotonic_cst", "interaction_cst"} - LEFT_OUT
    assert {name: found[name] for name in same} == {name: model.get_params()[name] for name in same}


def test_equal_models_give_equal_bytes_without_a_seed():
    first, _ = classifier(n_jobs=1, early_stopping="auto", random_state=None)  # for more rows than these
    second, _ = classifier(n_jobs=2, early_stopping="auto", random_state=None)
    assert first._seed != second._seed
    assert to_bytes(first) == to_bytes(second)
    assert b'"seed\\":null' in to_bytes(first)


def test_seed_that_the_fit_used_is_stored():
    first, _ = classifier(subsample=0.5, random_state=None)
    assert from_bytes(to_bytes(first))._seed == first._seed
    assert from_bytes(to_bytes(first)).random_state is None


@pytest.mark.parametrize(
    "parameters",
    [
        {"random_strength": 1.0},
        {"sampling": "gradient", "subsample": "auto"},
        {"sampling": "bayesian", "subsample": "auto"},
        {"max_categories_for_sets": 1, "categorical_features": [3]},
        {"linear_leaves": True, "min_samples_leaf": 20, "subsample": 0.8},
        {"n_estimators": "auto", "tol": 0.1, "n_iter_no_change": 2},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_a_warm_start_of_a_loaded_model_is_that_of_the_model(parameters):
    X, y = numbers(60)
    X[:, 3] = np.round(np.abs(X[:, 3]))
    model = GradientBoostingRegressor(
        **({"n_estimators": 2, "min_samples_leaf": 2} | parameters), random_state=None, warm_start=True
    ).fit(X, y)
    loaded = from_bytes(to_bytes(model)).set_params(warm_start=True)
    n_rounds = model.n_estimators_ + 3
    for one in (model, loaded):
        one.set_params(n_estimators=n_rounds, early_stopping=False).fit(X, y)
    assert to_bytes(loaded) == to_bytes(model)


def test_the_seed_of_dropped_rounds_is_stored():
    model = GradientBoostingRegressor(n_estimators=3, drop_rate=0.5, random_state=None).fit(*numbers(60))
    assert from_bytes(to_bytes(model))._seed == model._seed


def test_sets_and_dicts_have_one_form():
    first, _ = regressor(interaction_cst=[{0, 9 % 4, 2}, {3}])
    second, _ = regressor(interaction_cst=({2, 0, 1}, [3]))
    assert to_bytes(first) == to_bytes(second)
    first, _ = classifier(class_weight={0: 1.0, 1: 2.5})
    second, _ = classifier(class_weight={np.int64(1): 2.5, np.int64(0): 1.0})
    assert to_bytes(first) == to_bytes(second)


@pytest.mark.parametrize("random_state", [4, None, np.random.RandomState(0)], ids=["4", "none", "generator"])
def test_warm_start_of_loaded_model_gives_the_bytes_of_one_fit(random_state):
    X, signal = numbers()
    model = small(
        GradientBoostingRegressor, loss="huber", warm_start=True, subsample=0.7, random_state=random_state
    )
    half = to_bytes(model.fit(X, signal))
    continued = to_bytes(model.set_params(n_estimators=9).fit(X, signal))
    resumed = from_bytes(half).set_params(n_estimators=9).fit(X, signal)
    assert resumed.n_iter_ == 9
    assert to_bytes(resumed) == continued
    if random_state == 4:
        assert to_bytes(clone(model).fit(X, signal)) == continued


def test_safetensors_reads_the_file(tmp_path):
    model, *_ = fitted("three classes, categories, names")
    save(model, tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", framework="np") as file:
        assert set(file.keys()) == {
            *BINS, *FOREST, USER_EDGES, "row_fingerprints.exact", "row_fingerprints.rounded",
        }  # fmt: skip
        np.testing.assert_array_equal(file.get_tensor("forest.value"), model.model_.forest.value)
        description = json.loads(file.metadata()["hedgerow"])
    assert description["format"] == 1
    assert description["hedgerow"] == hedgerow.__version__
    assert description["versions"] == {"hedgerow": hedgerow.__version__}


def test_loaded_model_compiles_no_other_kernel():
    model, X, _ = fitted("two classes")
    model.predict(X)
    before = list(add_predictions.signatures)
    same = from_bytes(to_bytes(model))
    same.predict(X)
    assert add_predictions.signatures == before


def test_layout_lists_every_array_of_bins_and_forest():
    optional = {"sources", "linear"}  # written only if columns are repeated, and if leaves are linear
    for kind, table in ((Bins, BINS), (Forest, FOREST), (LinearTerms, LINEAR)):
        names = {field.name for field in fields(kind)} - optional
        assert names == {field.attribute for field in table.values()}


# --- labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([-3, 7], np.int8),
        np.array([1, 2**64 - 1], np.uint64),
        np.array([-1.0, 1.0], np.float32),
        np.array(["ä", "日本"]),
        np.array(["no", "yes"], "<U40"),
        np.array(["no", "yes"], object),
        np.array([3, 4], object),
        np.array([2, 300], ">i4"),
    ],
    ids=str,
)
def test_labels_of_every_dtype_are_restored(labels):
    model, X = classifier()
    model.classes_ = np.sort(labels)
    same = from_bytes(to_bytes(model))
    assert same.classes_.tolist() == model.classes_.tolist()
    assert same.classes_.dtype == labels.dtype.newbyteorder("=")
    assert same.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([b"a", b"b"]),
        np.array(["2001-01-01", "2001-01-02"], "M8[D]"),
        np.array([1, 2], np.longdouble),
        np.array([None, "a"], object),
    ],
    ids=str,
)
def test_save_rejects_labels_of_other_dtypes(labels):
    model, _ = classifier()
    model.classes_ = labels
    with pytest.raises(ModelFileError, match="classes_ has dtype"):
        to_bytes(model)


# --- models that cannot be saved


class Doubled(GradientBoostingRegressor):
    pass


class OwnLoss:
    name = "squared_error"  # a name that is taken

    def loss(self, y, raw):
        return (y - raw) ** 2

    def gradient_hessian(self, y, raw):
        return 2 * (raw - y), np.full_like(y, 2.0)


def test_save_rejects_unfitted_derived_and_other_models(tmp_path):
    X, signal = numbers()
    X = np.nan_to_num(X)
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        save(GradientBoostingRegressor(), path)
    with pytest.raises(ModelFileError, match="Doubled cannot be saved; allowed are GradientBoostingC"):
        save(small(Doubled).fit(X, signal), path)
    with pytest.raises(ModelFileError, match="LinearRegression cannot be saved"):
        save(LinearRegression(), path)
    with pytest.raises(ModelFileError, match=r"loss=.*OwnLoss.* is an object"):
        save(small(GradientBoostingRegressor, loss=OwnLoss()).fit(X, signal), path)
    with pytest.raises(ModelFileError, match=r"loss=Huber\(0.5\) is an object"):
        save(small(GradientBoostingRegressor, loss=Huber(0.5)).fit(X, signal), path)
    renamed = small(GradientBoostingRegressor, loss=OwnLoss()).fit(X, signal)
    with pytest.raises(ModelFileError, match=r"fitted with CustomLoss"):
        save(renamed.set_params(loss="squared_error"), path)
    assert not list(tmp_path.iterdir())


def test_save_rejects_invalid_parameters():
    model, _ = regressor()
    with pytest.raises(ModelFileError, match=r"categorical_features holds .*object"):
        to_bytes(model.set_params(categorical_features=object()))
    with pytest.raises(ValueError, match="n_estimators='many' is not allowed"):
        to_bytes(model.set_params(categorical_features=None, n_estimators="many"))


def test_save_rejects_infinite_values():
    model, _ = regressor()
    model.model_.forest.value[0] = np.inf
    with pytest.raises(ModelFileError, match=r"forest.value: values must be finite"):
        to_bytes(model)


# --- files of other versions


@pytest.mark.parametrize("number", [2, 40])
def test_load_rejects_newer_formats(number):
    model, _ = regressor()
    message = rf"has format {number}, and Hedgerow \S+ reads formats up to 1; Hedgerow '9.0' wrote it"
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(to_bytes(model), format=number, hedgerow="9.0"))
    with pytest.raises(ModelFileError, match=rf"has format {number}, .* a development version wrote it: fit"):
        from_bytes(changed(to_bytes(model), format=number))


def test_missing_parameters_take_their_defaults():
    model, _ = regressor()
    parameters = json.loads(unpack(to_bytes(model)).text)["parameters"]
    del parameters["tol"]
    assert from_bytes(changed(to_bytes(model), parameters=parameters)).tol == 1e-7
    with pytest.raises(ModelFileError, match="has no parameter 'charm'"):
        from_bytes(changed(to_bytes(model), parameters=parameters | {"charm": 1}))
    with pytest.raises(ModelFileError, match="has no parameter 'n_jobs' in files"):
        from_bytes(changed(to_bytes(model), parameters=parameters | {"n_jobs": 1}))
