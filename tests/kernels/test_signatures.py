"""The list of signatures: it is valid, and the common uses of the package compile nothing else."""

import gc
import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge

from dask_cases import cluster_of, dask_array
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionStump,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.binning import EDGE_SAMPLE_ROWS
from hedgerow.kernels import signatures
from hedgerow.kernels.cpu.records import NODE, Search
from hedgerow.kernels.native import NativeKernel
from hedgerow.kernels.signatures import accepts, convert, describe, parse, text_of
from hedgerow.losses import LOSSES, make_loss
from hedgerow.selection import AUTO, METHODS, make_model
from hedgerow.theory import certify
from hedgerow.vision import CascadeTrainer, load_cascade
from stream_cases import chosen, features, rows, write

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6))
TARGETS = {
    "two classes": (X[:, 0] > 0).astype(np.int64),
    "three classes": np.digitize(X[:, 0], (-0.5, 0.5)),
    "numbers": X[:, 0] + X[:, 1],
}


def all_kernels():
    return [found for found in gc.get_objects() if type(found) is NativeKernel]


def loaded():
    return {(found.name, text) for found in all_kernels() for text in found.signatures}


# --- text


@pytest.mark.parametrize(
    "text",
    [
        "int64",
        "float64[::1], uint8[:, ::1], int64[:, :]",
        "records.NODE[::1], records.SPLIT",
        "(int64, (bool, float32)), uint64",
        "records.Search(int64[:, :, ::1], float64[:, ::1], int64[:, ::1]), int64",
        "",
    ],
)
def test_text_is_parsed_and_written(text):
    assert text_of(parse(text)) == text


@pytest.mark.parametrize("text", ["int64)", "(int64))", "int64]"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="not a signature"):
        parse(text)


def test_values_are_described():
    search = Search(np.zeros((1, 3, 2), np.int64), np.zeros((1, 2)), np.zeros((1, 2), np.int64))
    nodes = np.zeros(2, NODE)
    values = (nodes, nodes[0], search, (1, 2.0, True), np.float32(1), np.uint64(1), np.int16(1), X.T)
    assert text_of(tuple(map(describe, values))) == (
        "records.NODE[::1], records.NODE, "
        "records.Search(int64[:, :, ::1], float64[:, ::1], int64[:, ::1]), (int64, float64, bool), "
        "float32, uint64, int64, float64[:, :]"
    )


def test_values_without_a_type_are_refused():
    with pytest.raises(TypeError, match="takes no argument of type str"):
        describe("text")
    with pytest.raises(TypeError, match="is not a record"):
        describe(np.zeros(1, [("a", np.int8)]))


@pytest.mark.parametrize(
    ("wanted", "arguments", "allowed"),
    [
        ("float64", "int64", True),
        ("int64", "float64", False),
        ("int64", "bool", True),
        ("uint64", "int64", True),
        ("float64[:]", "float64[::1]", True),
        ("float64[::1]", "float64[:]", False),
        ("float64[:]", "float32[:]", False),
        ("(int64, float64)", "(int64, int64)", True),
        ("(int64, float64)", "(int64)", False),
        ("records.NODE", "records.SPLIT", False),
    ],
)
def test_conversions_that_keep_results_are_allowed(wanted, arguments, allowed):
    assert accepts(*parse(wanted), *parse(arguments)) is allowed


def test_converted_numbers_have_the_type_of_the_signature():
    (kind,) = parse("(float64, int64)")
    real, whole = convert((3, True), kind)
    assert (type(real), type(whole)) == (np.float64, np.int64)


# --- the list


def test_every_listed_kernel_exists_and_no_signature_is_listed_twice():
    names = set()
    for kernels in signatures.listed().values():
        for name, found in kernels.items():
            module, function = name.split(".")
            kernel = getattr(import_module(f"{signatures.PACKAGE}.{module}"), function)
            n_arguments = kernel.py_func.__code__.co_argcount
            for signature in found:
                assert len(signature) == n_arguments, name
                assert (name, signature) not in names
                names.add((name, signature))
    assert len(names) < 160


def test_the_kernels_of_all_losses_are_listed():
    listed = {name for kernels in signatures.listed().values() for name in kernels}
    for task, makers in LOSSES.items():
        for name in makers:
            loss = make_loss(name, task=task, n_classes=2 if task == "classification" else None)
            assert {kernel.name for kernel in loss.kernels} <= listed, name


def fit_frame(_folder):
    names = pa.array(RNG.choice(["a", "b", "c"], len(X))).dictionary_encode()
    table = pa.table({"number": X[:, 0], "narrow": X[:, 1].astype(np.float32), "name": names})
    for method in AUTO:
        make_model(method, "classification", n_estimators=2).fit(table, TARGETS["two classes"]).predict(table)


def fit_methods(_folder):
    for method, described in METHODS.items():
        for name, y in TARGETS.items():
            task = "regression" if name == "numbers" else "classification"
            n_classes = None if task == "regression" else len(np.unique(y))
            if method != "linear" and described.reason_against(task, n_classes) is None:
                make_model(method, task, random_state=0).fit(X, y).predict(X)


def fit_many_rows(_folder):
    many = RNG.standard_normal((EDGE_SAMPLE_ROWS + 1, 1))  # bin edges come from a sample
    make_model("gradient", "regression", n_estimators=2).fit(many, many[:, 0])


SMALL = {"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0}
# Parameters of gradient boosting that other kernels, or other arguments of kernels, serve.
PARAMETERS = [
    {"subsample": 1.0, "early_stopping": True},
    {"n_folds": 4, "early_stopping": True, "n_estimators": 100},
    {"subsample": 0.5},
    {"subsample": 0.5, "early_stopping": True, "validation_fraction": 0.3},
    {"sampling": "gradient"},
    {"sampling": "bayesian", "subsample": 0.5},
    {"sampling": "bayesian", "n_folds": 2, "early_stopping": True},
    {"colsample_bytree": 0.5, "max_features": 0.5},
    {"drop_rate": 0.5},
    {"linear_leaves": True, "subsample": 0.5},
    {"path_smooth": 2.0, "leaf_value_folds": 2},
    {"leaf_value_folds": 3, "subsample": 0.5, "n_folds": 2, "early_stopping": True},
    {"max_categories_for_sets": 2, "categorical_features": [0]},
    {"max_categories_for_sets": 2, "categorical_features": [0], "n_folds": 2, "early_stopping": True},
    {"growth_policy": "symmetric", "random_strength": 1.0, "max_leaf_nodes": None, "max_depth": 2},
    {"growth_policy": "symmetric", "n_folds": 2, "max_leaf_nodes": None, "max_depth": 2},
]


def fit_gradient_boosting(_folder):
    coded = X.copy()
    coded[:, 0] = RNG.integers(0, 5, len(X))
    for parameters in PARAMETERS:
        for name, y in TARGETS.items():
            make = GradientBoostingRegressor if name == "numbers" else GradientBoostingClassifier
            model = make(**SMALL | parameters).fit(coded, y)
            model.predict(coded.astype(np.float32))
    for loss in LOSSES["regression"]:
        model = GradientBoostingRegressor(loss, **SMALL, early_stopping=True)
        model.fit(X, np.abs(TARGETS["numbers"]) + 0.1)
    for y in (TARGETS["two classes"], TARGETS["three classes"]):
        model = GradientBoostingClassifier(**SMALL, warm_start=True, newton=False)
        model.fit(X, y, sample_weight=RNG.random(len(X)), eval_set=[(X[:50], y[:50])])
        model.set_params(n_estimators=5).fit(X, y, sample_weight=RNG.random(len(X)))
        GradientBoostingClassifier(estimator=Ridge(), **SMALL, early_stopping=True).fit(X, y).predict(X)


def fit_adaboost(_folder):
    y = TARGETS["three classes"]
    for criterion in ("error", "gini"):
        for bins in (255, 65_535):
            AdaBoostClassifier(DecisionStump(criterion=criterion, max_bins=bins), n_estimators=3).fit(X, y)
    for algorithm in ("discrete", "real", "gentle"):
        model = AdaBoostClassifier(algorithm=algorithm, n_estimators=3, early_stopping=True, resample=True)
        model.fit(X, TARGETS["two classes"]).predict_proba(X)
    for loss in ("linear", "square", "exponential"):
        AdaBoostRegressor(loss=loss, n_estimators=3, early_stopping=True).fit(X, TARGETS["numbers"]).predict(
            X
        )


def fit_forests(_folder):
    model = RandomForestRegressor(n_estimators=40, oob_score=True, random_state=0).fit(X, TARGETS["numbers"])
    model.predict_quantiles(X, (0.1, 0.9))
    for method in ("oob", "jackknife+", "quantiles", "calibrated"):
        model.predict_interval(X, 0.5, method=method)
    ExtraTreesRegressor(n_estimators=2).fit(X, TARGETS["numbers"]).predict_quantiles(X, 0.5)
    for make in (RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier):
        model = make(n_estimators=3, bootstrap=True, oob_score=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows are out of bag
            model.fit(X, TARGETS["three classes"], sample_weight=RNG.random(len(X))).predict_log_proba(X)


def fit_streams(folder):
    table = rows(200)
    write(chosen(table, "label", "weight"), folder / "classes", cuts=(80,))
    write(chosen(table, "score"), folder / "numbers", cuts=(80,))
    for parameters in (
        {},
        {"n_folds": 2},
        {"growth_policy": "symmetric", "max_leaf_nodes": None, "max_depth": 2},
        {"linear_leaves": True},
    ):
        options = SMALL | {"early_stopping": True} | parameters
        GradientBoostingClassifier(**options).fit(folder / "classes", target="label", sample_weight="weight")
        if "linear_leaves" in parameters:
            write(table.select(["narrow", "score"]), folder / "narrow", cuts=(80,))
            GradientBoostingRegressor(**options).fit(folder / "narrow", target="score")
            continue
        GradientBoostingRegressor("absolute_error", **options).fit(folder / "numbers", target="score")
    for make in (AdaBoostClassifier, RandomForestClassifier):
        model = make(n_estimators=3, random_state=0)
        model.fit(folder / "classes", target="label", sample_weight="weight").predict(features(table))


def fit_shards(_folder):
    with cluster_of(2):
        lazy = dask_array(X, [100, 200])
        for y in TARGETS.values():
            make = GradientBoostingRegressor if y.dtype.kind == "f" else GradientBoostingClassifier
            for parameters in (
                {"early_stopping": True},
                PARAMETERS[-2],
                {"n_folds": 2, "subsample": 0.5},
                {"linear_leaves": True, "sampling": "gradient"},
            ):
                make(**SMALL | parameters).fit(lazy, y).predict(X)
        AdaBoostClassifier(n_estimators=2).fit(lazy, TARGETS["two classes"])
        RandomForestClassifier(n_estimators=2, random_state=0).fit(lazy, TARGETS["two classes"])


def make_certificates(_folder):
    y = TARGETS["two classes"]
    for method in AUTO:
        certify(make_model(method, "classification", n_estimators=2).fit(X[:200], y[:200]), X[200:], y[200:])


def train_and_detect(_folder):
    objects = RNG.integers(60, 120, (60, 12, 12)).astype(np.uint8)
    objects[:, 5:7, 1:11] += 100
    images = [RNG.integers(0, 256, (60, 60)).astype(np.uint8) for _ in range(10)]
    options = {"n_stages": 1, "n_negatives": 100, "max_features": 500, "random_state": 0, "verbose": 0}
    CascadeTrainer((12, 12), **options).fit(objects, images)
    load_cascade("frontalface").detect(RNG.integers(0, 256, (80, 80)).astype(np.uint8))


USES = [
    fit_methods,
    fit_frame,
    fit_many_rows,
    fit_gradient_boosting,
    fit_adaboost,
    fit_forests,
    fit_streams,
    fit_shards,
    make_certificates,
    train_and_detect,
]


@pytest.mark.parametrize("use", USES)
def test_common_uses_compile_nothing_that_is_not_listed(use, tmp_path):
    """If it fails: make the arguments of the kernel those of the list, or add a line to signatures.txt."""
    before = loaded()
    use(tmp_path)
    new = {(name, text) for name, text in loaded() - before if parse(text) not in signatures.of_kernel(name)}
    assert new == set()


# A process that loaded no other kernels.
FIRST_FIT = """
import gc, sys
import numpy as np
import hedgerow
from hedgerow.estimators import validation
from hedgerow.kernels.cache import family_of
from hedgerow.kernels.native import NativeKernel

def loaded():
    kernels = [found for found in gc.get_objects() if type(found) is NativeKernel]
    return [(kernel.name, text) for kernel in kernels for text in kernel.signatures]

def prepare(*families):
    assert not loaded()
    print(*families)

validation.prepare = prepare
X = np.random.default_rng(0).normal(size=(200, 3))
getattr(hedgerow, sys.argv[1])(random_state=0).fit(X, (X[:, 0] > 0).astype(int)).predict(X)
print(*{family_of(*job) for job in loaded()})
"""


@pytest.mark.parametrize(
    ("estimator", "families"),
    [
        ("GradientBoostingClassifier", {"gradient_boosting", "predictions"}),
        ("GradientBoostingRegressor", {"gradient_boosting", "predictions"}),
        ("AdaBoostClassifier", {"adaboost", "predictions"}),
        ("RandomForestClassifier", {"forests"}),
        ("RandomForestRegressor", {"forests"}),
    ],
)
def test_a_default_fit_loads_its_families_first_and_no_others(estimator, families):
    """Otherwise the first fit of a checkout waits several times."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FIT, estimator], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    prepared, used = (set(line.split()) for line in done.stdout.splitlines())
    assert prepared == used == {*families, "binning"}
