"""Linear leaves: fits compared with plain Python, whole models, and what is refused."""

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression

import hedgerow
import oracle_linear
from boosting_cases import classes, numbers, same_forests
from hedgerow.backends.linear_leaves import LinearGrower
from hedgerow.growing.grower import GrowthOptions, TreeGrower
from hedgerow.shapes import shape_functions
from hedgerow.threads import Team
from python_bodies import both_ways
from reference_grower import channels
from tree_cases import make_binned, measure, unpacked

REGRESSOR, CLASSIFIER = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
FEW = {"n_estimators": 6, "min_samples_leaf": 10, "linear_leaves": True}
N_BINS, CATEGORICAL = [30, 9, 12, 40], [False, False, True, False]


def with_missing(X, seed=3):
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.1, np.nan, X)


# --- the fit of a tree


def grown_tree(seed=0, n=200, weight=None, l2=0.5, wide=False, dtype=np.float64, n_threads=1, **growth):
    """A tree with linear leaves on random values, and what it was fitted to."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(1, k + 1, n) for k in N_BINS])
    codes[rng.random(codes.shape) < 0.1] = 0
    binned = make_binned(codes, N_BINS, CATEGORICAL)
    values = np.where(codes == 0, np.nan, codes + rng.normal(size=codes.shape) / 4).astype(dtype)
    values[:2, 0], values[2, 1] = [np.inf, -np.inf], np.inf
    gradient = np.nan_to_num(values[:, 3]) * 0.3 + np.sin(codes[:, 0]) + rng.normal(size=n)
    measured, rows = measure(gradient, rng.random(n) + 0.1, weight)
    if wide:
        measured = SimpleNamespace(**vars(measured) | {"statistics": unpacked(measured.statistics)})
    options = GrowthOptions(min_samples_leaf=8, **growth)
    with Team(n_threads) as team:
        fit = SimpleNamespace(options=SimpleNamespace(linear_l2=l2), bins=binned.bins, team=team)
        grower = LinearGrower(TreeGrower(binned, options, team), fit, values)
        grown = grower.grow(measured, rows, 0)
        grown.rows = grown.rows.copy()
    return grown, values, measured


def grown_arrays(**case):
    return grown_tree(**case)[0].terms.arrays()


def assert_is_oracle(grown, values, measured, l2):
    numbers = channels(measured.statistics).tolist()
    unit = measured.gradient_unit / measured.hessian_unit
    terms, first, n_terms = grown.terms, np.cumsum(grown.terms.counts), 0
    for position, leaf in enumerate(grown.leaves.tolist()):
        rows = grown.rows[grown.starts[position] : grown.starts[position + 1]].tolist()
        columns = oracle_linear.path_columns(grown.nodes, leaf, [not c for c in CATEGORICAL])
        own = [values[rows, column].astype(np.float64) for column in columns]
        gradients, hessians = ([numbers[channel][row] for row in rows] for channel in (0, 1))
        n_rows = int(grown.nodes[leaf]["count"])
        truth = oracle_linear.fit_leaf(own, gradients, hessians, n_rows, l2 / measured.hessian_unit, unit)
        found = slice(first[leaf] - terms.counts[leaf], first[leaf])
        assert terms.column[found].tolist() == [columns[j] for j, *_ in truth]
        for at, name in enumerate(("slope", "mean", "lower", "upper"), 1):
            expected = [term[at] for term in truth]
            np.testing.assert_allclose(getattr(terms, name)[found], expected, rtol=1e-7, err_msg=name)
        n_terms += len(truth)
    assert len(terms.slope) == n_terms
    return n_terms


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"l2": 20.0, "max_leaf_nodes": 4},
        {"weight": np.arange(200) % 4},
        {"weight": np.arange(200) / 7},
        {"wide": True, "weight": (np.arange(200) % 5) * 2.0**20},
        {"dtype": np.float32},
        {"symmetric": True, "max_leaf_nodes": None, "max_depth": 3},
    ],
    ids=["plain", "few leaves", "copies", "weights", "wide", "float32", "symmetric"],
)
def test_terms_are_those_of_the_oracle(case):
    grown, values, measured = grown_tree(**case)
    if "symmetric" in case:  # small leaves have the value of a node above, and no function
        small = grown.value_nodes[grown.leaves] != grown.leaves
        assert not grown.terms.counts[grown.leaves[small]].any()
        keep = np.flatnonzero(~small)
        assert len(keep)
        assert grown.terms.counts[grown.leaves[keep]].any()
    else:
        assert assert_is_oracle(grown, values, measured, case.get("l2", 0.5)) > 3


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(20, 120), st.sampled_from([0.01, 1.0, 100.0]),
    st.sampled_from([None, "copies", "weights"]), st.integers(2, 12), st.booleans(),
)  # fmt: skip
def test_any_tree_has_the_terms_of_the_oracle(seed, n, l2, kind, n_leaves, wide):
    rng = np.random.default_rng(seed)
    weight = {"copies": rng.integers(0, 5, n), "weights": rng.exponential(size=n)}.get(kind)
    if kind == "copies":
        weight[0] = 1
    grown, values, measured = grown_tree(seed, n, weight, l2, wide, max_leaf_nodes=n_leaves)
    assert_is_oracle(grown, values, measured, l2)


def test_python_bodies_compute_the_same_terms():
    compiled, python = both_ways(partial(grown_arrays, n=120))
    assert len(compiled["slope"]) > 3
    for name, array in compiled.items():
        assert array.tobytes() == python[name].tobytes(), name


@pytest.mark.parametrize("options", [{}, {"growth_policy": "symmetric", "max_depth": 3}, {"subsample": 0.7}])
def test_python_bodies_predict_the_same(options):
    def case():
        X, y = numbers(150)
        X[:, 2] = np.round(X[:, 2])
        few = {**FEW, "n_estimators": 2, "categorical_features": [2], **options}
        model = REGRESSOR(**few).fit(with_missing(X), y)
        return (
            model._raw(with_missing(X)),
            model._raw(X[:5].astype(np.float32)),
            model.model_.forest.linear.slope,
        )

    compiled, python = both_ways(case)
    assert len(compiled[2]) > 3
    assert [array.tobytes() for array in compiled] == [array.tobytes() for array in python]


def test_terms_do_not_depend_on_threads_or_the_order_of_rows():
    one, two = (grown_arrays(n=20_000, n_threads=n) for n in (1, 3))
    assert all(array.tobytes() == two[name].tobytes() for name, array in one.items())
    X, y = numbers(300)
    order = np.random.default_rng(0).permutation(300)
    model = REGRESSOR(**FEW, l2_regularization=0.0, learning_rate=0.5)
    first = model.set_params(n_estimators=1).fit(X, y).model_.forest
    other = clone(model).fit(X[order], y[order]).model_.forest
    assert first.linear.slope.tobytes() == other.linear.slope.tobytes()


def test_combinations_of_columns_are_left_out_without_a_ridge():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X = np.column_stack([X, X[:, 0] * 2 - 1, np.zeros(200)])
    y = 3 * X[:, 0] - X[:, 1]
    model = REGRESSOR(n_estimators=30, linear_leaves=True, linear_l2=0.0, learning_rate=0.5, max_features=0.5)
    assert model.fit(X, y).score(X, y) > 0.99
    assert np.isfinite(model.model_.forest.linear.slope).all()


# --- models


def test_linear_targets_need_few_trees():
    X = np.random.default_rng(0).normal(size=(600, 4))
    y = X @ [3.0, -2.0, 1.0, 0.5]
    few = {"n_estimators": 15, "learning_rate": 0.3, "linear_l2": 0.1}
    constant, linear = (
        REGRESSOR(linear_leaves=chosen, **few).fit(X[:300], y[:300]).score(X[300:], y[300:])
        for chosen in (False, True)
    )
    assert 1 - linear < (1 - constant) / 4


@pytest.mark.parametrize(
    ("kind", "n_classes", "options"),
    [
        (REGRESSOR, None, {}),
        (REGRESSOR, None, {"loss": "poisson"}),
        (REGRESSOR, None, {"subsample": 0.5}),
        (REGRESSOR, None, {"categorical_features": [2], "max_categories_for_sets": 5}),
        (CLASSIFIER, 2, {"n_folds": 2}),
        (CLASSIFIER, 2, {"early_stopping": True}),
        (CLASSIFIER, 3, {"sampling": "gradient"}),
        (CLASSIFIER, 2, {"growth_policy": "symmetric"}),
        (REGRESSOR, None, {"path_smooth": 5.0}),
    ],
)
def test_predictions_are_those_of_the_terms_and_losses_those_of_predictions(kind, n_classes, options):
    X, y = numbers(300) if n_classes is None else classes(300, n_classes)
    y = np.abs(y) if "loss" in options else y
    X = with_missing(X)
    X[:, 2] = np.round(X[:, 2] * 2) if "categorical_features" in options else X[:, 2]
    new, target = X[200:] + 0.0, y[200:]
    model = kind(**FEW, **options, n_jobs=1).fit(X[:200], y[:200], eval_set=[(new, target)])
    raw = oracle_linear.predict(model, new)
    np.testing.assert_allclose(model._raw(new), raw, rtol=1e-12, atol=1e-13)
    assert model._raw(new[:3]).tobytes() == model._raw(new)[:, :3].tobytes()  # few rows, another kernel
    loss = model.loss_.mean_loss(target.astype(float), raw, None)
    last = [values[-1] for name, values in model.history_.items() if name.startswith("validation_loss")][-1]
    assert model.n_estimators_ < 6 or last == pytest.approx(loss, rel=1e-9)
    assert model.model_.forest.linear.counts.max() > 1


def test_scores_are_bounded_beyond_the_training_rows():
    X, y = numbers(300)
    model = REGRESSOR(**FEW).fit(X, y)
    far = np.concatenate([1e300 * X, -1e300 * X, np.where(X > 0, np.inf, -np.inf)])
    bound = model.model_.max_scores
    assert np.abs(model._raw(far)).max() <= bound[-1] * (1 + 1e-12)
    assert np.abs(model._raw(X)).max() <= bound[-1] * (1 + 1e-12)
    assert bound[-1] < 20 * np.abs(y).max()
    assert (np.diff(bound) >= 0).all()
    assert model.predict(np.full((1, 4), np.nan)).shape == (1,)


def test_margins_are_normalised_by_the_bound():
    X, y = classes(300)
    margins = CLASSIFIER(**FEW).fit(X, y).margins(X, y)
    assert np.abs(margins).max() <= 1


def test_folds_are_models_of_their_own():
    X, y = numbers(300)
    model = REGRESSOR(**FEW, n_folds=4, early_stopping=True).fit(X, y)
    mean = np.mean([oracle_linear_fold(model, fold, X) for fold in range(4)], axis=0)
    np.testing.assert_allclose(model._raw(X)[0], mean, rtol=1e-12)


def oracle_linear_fold(model, fold, X):
    table = hedgerow.table.read_table(X)
    return model.model_.fold_model(fold).scores(table, 1)[0]


@pytest.mark.parametrize("options", [{}, {"n_folds": 2, "early_stopping": True, "n_iter_no_change": 50}])
def test_warm_starts_checkpoints_and_stages(options, tmp_path):
    X, y = numbers(300)
    X = with_missing(X)
    whole = REGRESSOR(**FEW, **options).fit(X, y)
    part = REGRESSOR(**FEW | {"n_estimators": 3}, **options, warm_start=True).fit(X, y)
    half = part.predict(X)
    assert same_forests(part.set_params(n_estimators=6).fit(X, y), whole)
    stages = list(whole.staged_predict(X))
    assert stages[2].tobytes() == half.tobytes()
    assert stages[-1].tobytes() == whole.predict(X).tobytes()
    path = tmp_path / "fit"
    checkpoint = hedgerow.Checkpoint(path, seconds=0)

    def stop(done):
        if done.number == 2:
            raise KeyError("stopped")

    with pytest.raises(KeyError, match="stopped"):
        REGRESSOR(**FEW, **options).fit(X, y, checkpoint=checkpoint, callbacks=[stop])
    assert same_forests(REGRESSOR(**FEW, **options).fit(X, y, checkpoint=path), whole)
    copy = pickle.loads(pickle.dumps(whole))  # noqa: S301 - our own bytes
    assert copy.predict(X).tobytes() == whole.predict(X).tobytes()


def test_warm_starts_of_target_statistics_continue():
    X, y = numbers(300)
    X[:, 2] = np.round(X[:, 2] * 2)
    options = {"categorical_features": [2], "max_categories_for_sets": 5}
    whole = REGRESSOR(**FEW, **options).fit(X, y)
    part = REGRESSOR(**FEW | {"n_estimators": 3}, **options, warm_start=True).fit(X, y)
    assert same_forests(part.set_params(n_estimators=6).fit(X, y), whole)


def test_whole_weights_are_copies():
    X, y = numbers(200)
    copies = np.arange(200) % 3
    model = REGRESSOR(**FEW).fit(X, y, copies)
    assert same_forests(REGRESSOR(**FEW).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies)), model)


def test_without_numeric_columns_leaves_are_constant():
    X, y = numbers(300)
    X = np.round(X)
    options = {**FEW, "categorical_features": [0, 1, 2, 3]}
    model = REGRESSOR(**options).fit(X, y)
    plain = REGRESSOR(**options | {"linear_leaves": False}).fit(X, y)
    assert model.predict(X).tobytes() == plain.predict(X).tobytes()


# --- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": LinearRegression()}, "only trees have leaves; it must be None"),
        ({"newton": False}, "newton=False is not allowed with linear_leaves=True"),
        ({"drop_rate": 0.1}, "dropped rounds need constant leaves; it must be 0"),
        ({"max_leaf_step": 1.0}, "it bounds constant leaves; it must be None"),
        ({"leaf_value_folds": 2}, "functions are of all rows; it must be None"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "a leaf may have any slope; it must be None or all 0"),
        ({"loss": "absolute_error"}, "whose leaf values are found by a line search: it must be False"),
        ({"loss": "huber"}, "linear_leaves=True is not allowed with loss='huber'"),
        ({"linear_l2": -1.0}, "linear_l2=-1.0 is not allowed: it must be a number >= 0"),
    ],
)
def test_parameters_that_exclude_linear_leaves_are_refused(parameters, message):
    X, y = numbers(50)
    with pytest.raises(ValueError, match=message):
        REGRESSOR(**FEW | parameters).fit(X, y)


def test_other_uses_are_refused():
    X, y = numbers(100)
    model = REGRESSOR(**FEW, max_leaf_nodes=2).fit(X, y)
    with pytest.raises(ValueError, match="shape functions have steps"):
        shape_functions(model.model_, model.schema_)
    model.set_params(linear_leaves=False, warm_start=True, n_estimators=9)
    with pytest.raises(ValueError, match="linear_leaves=False cannot continue a model of linear leaves"):
        model.fit(X, y)


def test_constant_leaves_can_be_continued_by_linear_ones():
    X, y = numbers(300)
    model = REGRESSOR(**FEW | {"linear_leaves": False}, warm_start=True).fit(X, y)
    before = model.predict(X)
    model.set_params(linear_leaves=True, n_estimators=9).fit(X, y)
    assert list(model.staged_predict(X))[5].tobytes() == before.tobytes()
    assert not model.model_.forest.linear.counts[: model.model_.forest.starts[6]].any()


# --- a peer


@pytest.mark.compare
def test_quality_is_that_of_linear_trees_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = make_friedman1(2000, noise=1.0, random_state=0)
    train, test = slice(1000), slice(1000, None)
    theirs = lightgbm.LGBMRegressor(n_estimators=100, linear_tree=True, verbose=-1, n_jobs=1)
    theirs.fit(X[train], y[train])
    mine = REGRESSOR(n_estimators=100, linear_leaves=True).fit(X[train], y[train])
    errors = [np.mean((model.predict(X[test]) - y[test]) ** 2) for model in (mine, theirs)]
    assert errors[0] < 1.1 * errors[1]
