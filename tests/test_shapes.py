import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from hedgerow import AdaBoostClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.binning import Bins
from hedgerow.forest import Forest, TreeModel
from hedgerow.shapes import ShapeFunction, shape_functions
from hedgerow.table import Schema


def table(n=400, seed=0):
    """Numbers, numbers with gaps, strings, whole numbers as categories, and a column of noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(size=n), "income": rng.normal(size=n)})
    X.loc[rng.random(n) < 0.2, "income"] = np.nan
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red", "white"], n))
    X.loc[rng.random(n) < 0.1, "colour"] = None
    X["shop"] = pd.Categorical(rng.integers(0, 9, n))
    X["noise"] = rng.normal(size=n)
    score = np.abs(X["age"]) + X["income"].fillna(1.5) + 2 * X["colour"].isin(["red", "white"])
    return X, np.asarray(score + X["shop"].astype(int) / 4)


def classes(score, n_classes):
    return np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def stumps(kind=GradientBoostingClassifier, **parameters):
    return kind(**{"max_leaf_nodes": 2, "n_estimators": 60, "learning_rate": 0.3, **parameters})


def functions_of(model):
    return shape_functions(model.model_, model.schema_)


def raw_scores(model, X):
    """Raw scores as (outputs, rows)."""
    raw = model.decision_function(X)
    return raw[None] if raw.ndim == 1 else raw.T


def forest(*trees):
    """A forest of (output, column, threshold, missing_left, left, right) and (output, value) trees."""
    nodes, output = [], []
    for tree in trees:
        output.append(tree[0])
        if len(tree) == 2:
            nodes.append([(0, 0, 0, 0, tree[1])])
        else:
            _, column, threshold, missing_left, left, right = tree
            nodes.append([(column, threshold, 1, missing_left, 0.0), (0, 0, 0, 0, left), (0, 0, 0, 0, right)])
    columns = np.array([node for tree in nodes for node in tree]).T
    return Forest(
        starts=np.cumsum([0, *map(len, nodes)]).astype(np.int64),
        output=np.array(output, np.int32),
        column=columns[0].astype(np.int32),
        threshold=columns[1].astype(np.int32),
        left=columns[2].astype(np.int32),
        set_number=np.full(columns.shape[1], -1, np.int32),
        missing_left=columns[3].astype(np.uint8),
        value=columns[4],
        gain=np.zeros(columns.shape[1]),
        count=np.zeros(columns.shape[1], np.int64),
        sets=np.empty((0, 4), np.uint64),
    )


def bins(*edges):
    starts = np.cumsum([0, *map(len, edges)]).astype(np.int64)
    no_tables = np.zeros(len(edges) + 1, np.int64)
    return Bins(np.concatenate(edges).astype(np.float64), starts, np.empty(0, np.uint8), no_tables)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("columns", [["age", "noise"], ["age", "income"], ["colour", "shop"], None], ids=str)
def test_the_functions_and_the_intercept_sum_to_the_score(columns, n_classes):
    X, score = table()
    X = X if columns is None else X[columns]
    model = stumps().fit(X, classes(score, n_classes))
    X_new = (table(300, seed=1)[0])[X.columns]
    functions = functions_of(model)
    assert [function.name for function in functions] == list(X.columns)
    assert len(functions.intercept) == (1 if n_classes == 2 else 3)
    np.testing.assert_allclose(functions.scores(X_new), raw_scores(model, X_new), rtol=0, atol=1e-9)
    by_hand = sum(function(X_new[function.name]) for function in functions) + functions.intercept[:, None]
    np.testing.assert_allclose(by_hand, raw_scores(model, X_new), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("algorithm", "n_classes"),
    [("discrete", 2), ("discrete", 3), ("m1", 2), ("samme", 3), ("real", 2), ("real", 3), ("gentle", 3)],
)
def test_boosted_stumps_are_shape_functions_for_every_algorithm(algorithm, n_classes):
    X, score = table()
    model = AdaBoostClassifier(algorithm=algorithm, n_estimators=15).fit(X, classes(score, n_classes))
    np.testing.assert_allclose(model.shape_functions().scores(X), raw_scores(model, X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_without_names_of_either_precision_sum_to_the_score(dtype):
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(dtype)
    X[::7, 1] = np.nan
    model = stumps(GradientBoostingRegressor).fit(X, np.sin(X[:, 0]) + np.isnan(X[:, 1]))
    functions = functions_of(model)
    assert [function.name for function in functions] == [None] * 3
    np.testing.assert_allclose(functions.scores(X)[0], model.predict(X), rtol=0, atol=1e-9)
    extremes = np.array([[np.inf, np.nan, -np.inf], [-np.inf, np.inf, np.nan]], dtype)
    np.testing.assert_allclose(functions.scores(extremes)[0], model.predict(extremes), atol=1e-9)


def test_a_value_on_an_edge_belongs_to_the_step_at_its_left():
    model = stumps(n_estimators=1, min_samples_leaf=1).fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
    (function,) = functions_of(model)
    np.testing.assert_array_equal(function.edges, [3.0])
    low, high = function.heights[0]
    assert low < high
    np.testing.assert_array_equal(function([3.0, np.nextafter(3.0, 4.0)]), [[low, high]])


def test_steps_at_equal_thresholds_are_one_step_and_constant_trees_are_intercept():
    trees = forest(
        (0, 0, 2, 0, -1.0, 1.0),
        (0, 0, 1, 1, -2.0, 2.0),
        (0, 5.0),
        (0, 0, 2, 1, -4.0, 4.0),
        (1, 0, 2, 0, 8.0, 16.0),
        (1, 7.0),
    )
    model = TreeModel(np.array([0.5, 0.25]), bins([10.0, 20.0], [0.0]), trees)
    functions = shape_functions(model, Schema(2, ("a", "b"), (None, None)))
    np.testing.assert_array_equal(functions.intercept, [5.5, 7.25])
    np.testing.assert_array_equal(functions[0].edges, [10.0, 20.0])
    np.testing.assert_array_equal(functions[0].heights, [[-7.0, -3.0, 7.0], [8.0, 8.0, 16.0]])
    np.testing.assert_array_equal(functions[0].missing, [1.0 - 2.0 - 4.0, 16.0])
    np.testing.assert_array_equal(model.start, [0.5, 0.25])


def test_a_split_that_sends_only_missing_right_has_no_step():
    trees = forest((0, 0, 3, 0, -1.0, 1.0), (0, 1, 1, 0, 2.0, 3.0))  # 3 is the last code of column 0
    model = TreeModel(np.zeros(1), bins([10.0, 20.0], []), trees)
    functions = shape_functions(model, Schema(2, None, (None, None)))
    for function, present, missing in zip(functions, (-1.0, 2.0), (1.0, 3.0), strict=True):
        assert function.edges.size == 0
        np.testing.assert_array_equal(function([5.0, np.inf, np.nan]), [[present, present, missing]])


def test_a_feature_without_a_split_is_zero_and_has_no_steps():
    X, score = table()
    X["colour"] = X["colour"].cat.add_categories(["never seen"])
    X["same"], X["one"] = 1.0, pd.Categorical(["a"] * len(X))
    functions = functions_of(stumps().fit(X, classes(score, 2)))
    same, one = functions[5], functions[6]
    assert same.edges.size == 0
    np.testing.assert_array_equal(same([1.0, 2.0, np.nan]), [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(one(["a", "b"]), [[0.0, 0.0]])
    assert functions[0].heights.any()
    assert functions[2].categories == ["blue", "green", "red", "white"]


def test_unseen_and_missing_categories_have_the_value_of_missing():
    X, score = table()
    function = functions_of(stumps().fit(X, classes(score, 3)))[3]
    assert function.categories == list(range(9))
    values = function([3, 3.0, 77, None, np.nan])
    np.testing.assert_array_equal(values[:, 0], function.heights[:, 3])
    np.testing.assert_array_equal(values[:, 1], function.heights[:, 3])
    np.testing.assert_array_equal(values[:, 2:], np.repeat(function.missing[:, None], 3, axis=1))


def test_rare_categories_that_share_a_code_share_a_height():
    rng = np.random.default_rng(0)
    colours = rng.choice([*"abcdefgh"], 800, p=[0.4, 0.3, 0.2, 0.02, 0.02, 0.02, 0.02, 0.02])
    X = pd.DataFrame({"colour": pd.Categorical(colours)})
    model = stumps(max_bins=4).fit(X, (np.isin(colours, ["a", "e"]) ^ (rng.random(800) < 0.1)).astype(int))
    (function,) = functions_of(model)
    assert len(np.unique(function.heights[0, 3:])) == 1
    assert function.heights.shape == (1, 8)
    np.testing.assert_allclose(function(colours)[0] + functions_of(model).intercept, raw_scores(model, X)[0])


def test_centred_functions_have_mean_zero_and_the_same_sum():
    X, score = table()
    model = stumps().fit(X, classes(score, 3))
    exact = functions_of(model)
    centred = exact.centred(X)
    np.testing.assert_allclose(centred.contributions(X).mean(axis=2), 0, atol=1e-12)
    np.testing.assert_allclose(centred.scores(X), raw_scores(model, X), atol=1e-9)
    np.testing.assert_allclose(exact.scores(X), raw_scores(model, X), atol=1e-9)
    assert np.abs(exact.contributions(X).mean(axis=2)).max() > 1e-6
    np.testing.assert_allclose(centred.intercept, raw_scores(model, X).mean(axis=1))


def test_functions_can_be_copied_and_pickled():
    X, score = table()
    functions = functions_of(stumps().fit(X, classes(score, 2)))
    for twin in (copy.deepcopy(functions), pickle.loads(pickle.dumps(functions))):  # noqa: S301 - our own
        np.testing.assert_array_equal(twin.scores(X), functions.scores(X))


def test_larger_trees_are_refused_with_advice():
    X, score = table()
    model = stumps(max_leaf_nodes=4).fit(X, classes(score, 2))
    with pytest.raises(ValueError, match=r"tree 0 has 4 leaves.*max_leaf_nodes=2.*DecisionStump"):
        functions_of(model)


def test_the_first_tree_that_is_too_large_is_named():
    X, score = table()
    first, second = (stumps(max_leaf_nodes=m, n_estimators=5).fit(X, score > 0).model_ for m in (2, 3))
    model = TreeModel(first.start, first.bins, Forest.join(first.forest, second.forest))
    with pytest.raises(ValueError, match="tree 5 has 3 leaves"):
        shape_functions(model, Schema(5, None, (None,) * 5))


def test_a_model_of_other_regressors_is_refused():
    model = GradientBoostingRegressor(estimator=LinearRegression(), n_estimators=2)
    model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])
    with pytest.raises(TypeError, match="need a model of trees; got a MemberModel"):
        functions_of(model)


def test_values_in_two_dimensions_are_refused():
    step = ShapeFunction(0, None, np.array([1.0]), np.array([[0.0, 1.0]]), np.zeros(1))
    with pytest.raises(ValueError, match=r"values has shape \(1, 2\)"):
        step([[1.0, 2.0]])
