"""Sizes of hypothesis classes, compared with enumerations of all hypotheses."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier as OtherTree

from forest_cases import frame
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    LogitBoostClassifier,
)
from hedgerow.boosting.adaboost_models import HypothesisClass
from hedgerow.theory import growth

MISSING = -1


def cells(n_edges):
    """Every combination of bins, MISSING included: all that hypotheses can distinguish."""
    return list(itertools.product(*([MISSING, *range(edges + 1)] for edges in n_edges)))


def cuts(n_edges):
    """Which cells go left, for every possible cut, as tuples of bool."""
    all_cells, found = cells(n_edges), set()
    for column, edges in enumerate(n_edges):
        values = [cell[column] for cell in all_cells]
        for edge in range(edges):
            for missing_left in (False, True):
                found.add(tuple(missing_left if v == MISSING else v <= edge for v in values))
        found.add(tuple(v == MISSING for v in values))
    return sorted(found)


def trees(n_edges, n_leaves):
    """Every labeling of the cells by a tree of up to so many leaves."""
    n, split = len(cells(n_edges)), cuts(n_edges)
    by_leaves = {1: {(False,) * n, (True,) * n}}
    for leaves in range(2, n_leaves + 1):
        here = set(by_leaves[leaves - 1])
        for cut, first in itertools.product(split, range(1, leaves)):
            for left, right in itertools.product(by_leaves[first], by_leaves[leaves - first]):
                here.add(tuple(a if c else b for a, b, c in zip(left, right, cut, strict=True)))
        by_leaves[leaves] = here
    return by_leaves[n_leaves]


@pytest.mark.parametrize("n_edges", [(1,), (5,), (1, 1), (3, 2), (0, 4), (2, 1, 2), (0,)])
def test_the_count_of_stumps_is_exact(n_edges):
    assert HypothesisClass(len(n_edges), 2, n_edges).size == len(trees(n_edges, 2))


@pytest.mark.parametrize(
    ("n_edges", "n_leaves"), [((1,), 3), ((3,), 3), ((1, 1), 3), ((2, 1), 3), ((1,), 4), ((3,), 4), ((2,), 5)]
)
def test_no_tree_is_left_out_of_the_count(n_edges, n_leaves):
    assert HypothesisClass(len(n_edges), n_leaves, n_edges).size >= len(trees(n_edges, n_leaves))


def test_more_leaves_and_more_edges_make_a_larger_class():
    sizes = [HypothesisClass(3, leaves, (4, 4, 4)).size for leaves in range(2, 12)]
    assert sizes == sorted(set(sizes))
    sizes = [HypothesisClass(2, 4, (edges, 3)).size for edges in range(8)]
    assert sizes == sorted(set(sizes))


def test_sizes_are_whole_numbers_without_end():
    assert isinstance(HypothesisClass(1000, 300, (254,) * 1000).size, int)


@pytest.mark.parametrize("n_edges", [(1,), (3, 2), (2, 2, 2)])
def test_the_growth_function_bounds_the_number_of_labelings(n_edges):
    n = len(cells(n_edges))
    for leaves in (2, 3) if len(n_edges) < 3 else (2,):
        known = trees(n_edges, leaves)
        if leaves == 2:
            assert np.log(len(known)) <= growth.stump_growth(n, len(n_edges), missing=True) + 1e-12
        assert np.log(len(known)) <= growth.tree_growth(n, len(n_edges), leaves, missing=True) + 1e-12


# --- fitted models


EDGES = [np.array([-0.5, 0.5, 1.0]), np.array([0.25, 2.0])]


def grid():
    """A row in every cell of EDGES."""
    inside = [[np.nan, -1.0, 0.0, 0.75, 2.0], [np.nan, 0.0, 1.0, 3.0]]
    order = cells((3, 2))
    return np.array([[inside[column][bin_ + 1] for column, bin_ in enumerate(cell)] for cell in order])


@pytest.mark.parametrize("n_leaves", [2, 3])
def test_members_are_in_the_class_that_is_counted(n_leaves):
    known, found = trees((3, 2), n_leaves), set()
    for seed in range(12):
        X, y = _two_columns(seed)
        learner = (
            DecisionStump(bin_edges=EDGES)
            if n_leaves == 2
            else DecisionTreeClassifier(max_depth=None, max_leaf_nodes=n_leaves, bin_edges=EDGES)
        )
        model = AdaBoostClassifier(learner, n_estimators=5, on_chance="restart").fit(X, y)
        weak = model.hypothesis_class_
        assert (weak.n_columns, weak.n_leaves, weak.n_edges) == (2, n_leaves, (3, 2))
        found |= {tuple(bool(vote) for vote in member.predict(grid())) for member in model.estimators_}
    assert found <= known
    assert len(found) > 10


def _two_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2)) * 1.5
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, (np.nan_to_num(X).sum(axis=1) + rng.normal(size=120) > 0).astype(int)


@pytest.mark.parametrize(
    ("learner", "n_leaves"),
    [
        (None, 2),
        (DecisionStump(), 2),
        (DecisionTreeClassifier(max_depth=1), 2),
        (DecisionTreeClassifier(max_depth=3), 8),
        (DecisionTreeClassifier(max_depth=3, max_leaf_nodes=5), 5),
        (DecisionTreeClassifier(max_depth=2, max_leaf_nodes=50), 4),
        (DecisionTreeClassifier(max_depth=None, max_leaf_nodes=6), 6),
    ],
)
def test_the_learner_determines_the_number_of_leaves(learner, n_leaves):
    X, y = _two_columns(0)
    weak = AdaBoostClassifier(learner, n_estimators=2).fit(X, y).hypothesis_class_
    assert (weak.n_columns, weak.n_leaves) == (2, n_leaves)
    assert weak.is_stumps == (n_leaves == 2)
    assert weak.n_edges is None
    with pytest.raises(TypeError, match="come from the training rows"):
        _ = weak.size


def test_the_class_is_that_of_the_fit_not_of_later_parameters():
    X, y = _two_columns(0)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=2).fit(X, y)
    model.estimator.max_depth = 1
    model.set_params(estimator=None)
    assert model.hypothesis_class_.n_leaves == 8


def test_user_defined_edges_make_the_class_finite():
    X, y = _two_columns(0)
    given = AdaBoostClassifier(DecisionStump(bin_edges=[[0.0], [1.0, 2.0]]), n_estimators=2).fit(X, y)
    assert given.hypothesis_class_.n_edges == (1, 2)
    assert given.hypothesis_class_.size == 2 * (3 + 5) + 2


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=None), n_estimators=2), "any number of leaves"),
        (AdaBoostClassifier(OtherTree(max_depth=1), n_estimators=2), "not trees of hedgerow"),
        (AdaBoostClassifier(n_estimators=2, algorithm="real"), "do not vote"),
        (AdaBoostClassifier(n_estimators=2, algorithm="gentle"), "do not vote"),
        (LogitBoostClassifier(n_estimators=2), "do not vote"),
    ],
)
def test_unknown_hypothesis_classes_raise_the_reason(model, reason):
    X, y = _two_columns(0)
    X = np.nan_to_num(X)
    y = np.where(np.arange(len(y)) % 9 == 0, 1 - y, y)  # no tree is perfect
    model.fit(X, y)
    with pytest.raises(TypeError, match=reason):
        _ = model.hypothesis_class_
    assert "hypothesis_class_" not in dir(model)  # dir of scikit-learn calls hasattr


def test_categories_are_not_counted():
    X, score = frame()
    learner = DecisionStump(categorical_features="from_dtype")
    model = AdaBoostClassifier(learner, n_estimators=2).fit(X, score > 1)
    with pytest.raises(TypeError, match="sets of categories"):
        _ = model.hypothesis_class_


class Hinge:
    """A cost without probabilities."""

    def cost(self, margin):
        return np.maximum(0.0, 1.0 - margin)

    def derivative(self, margin):
        return np.where(margin < 1.0, -1.0, 0.0)


def test_a_custom_cost_has_no_hypothesis_class():
    X, y = _two_columns(0)
    model = AnyBoostClassifier(cost=Hinge(), n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="a custom cost"):
        _ = model.hypothesis_class_
    assert AnyBoostClassifier(n_estimators=2).fit(X, y).hypothesis_class_.is_stumps
