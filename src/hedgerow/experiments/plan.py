"""The plan of the experiments: sizes of a quick and a full run, data sets and methods."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hedgerow.datasets import load_accidents, make_gaussian
from hedgerow.estimators import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    RandomForestClassifier,
)


@dataclass(frozen=True)
class ExperimentPlan:
    """Sizes of the experiments.

    Parameters
    ----------
    folds, repeats : int
        Folds and repeats of the comparison of all methods.
    curve_folds : int
        Folds of the figures; each fold is a fit at every point of a curve.
    simulated_rows : int
    accident_rows : int or None
        Rows drawn from the accidents, None for all of them.
    learners : int
        Rounds of boosting in the comparison and in the noise figure.
    most_learners : int
        The largest number of learners in figure 1.
    shrunk_learners : int
        The fixed number of learners of figure 2.
    trees : int
        Trees of a forest.
    members : int
        Trees of a bagging ensemble.
    rates : tuple of float
        Learning rates of figure 2.
    shares : tuple of float
        Shares of flipped training labels.
    noisy : tuple of str
        Names of the problems whose labels are flipped.
    claim_repeats, claim_splits : int
        Repeats of 10-fold cross-validation, and random 75/25 splits, for the claim about five learners.

    Examples
    --------
    >>> FULL.folds * FULL.repeats, QUICK.folds * QUICK.repeats
    (20, 5)
    """

    folds: int
    repeats: int
    curve_folds: int
    simulated_rows: int
    accident_rows: int | None
    learners: int
    most_learners: int
    shrunk_learners: int
    trees: int
    members: int
    rates: tuple[float, ...]
    shares: tuple[float, ...]
    noisy: tuple[str, ...]
    claim_repeats: int
    claim_splits: int


QUICK = ExperimentPlan(
    folds=5,
    repeats=1,
    curve_folds=3,
    simulated_rows=5000,
    accident_rows=5000,
    learners=100,
    most_learners=200,
    shrunk_learners=50,
    trees=100,
    members=100,
    rates=(0.03, 0.1, 0.3, 1.0),
    shares=(0.0, 0.2, 0.4),
    noisy=("simulated", "cancer"),
    claim_repeats=2,
    claim_splits=40,
)

FULL = replace(
    QUICK,
    folds=10,
    repeats=2,
    curve_folds=10,
    accident_rows=None,
    learners=200,
    most_learners=500,
    shrunk_learners=100,
    rates=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
    shares=(0.0, 0.1, 0.2, 0.3, 0.4),
    noisy=("simulated", "cancer", "accidents"),
    claim_repeats=10,
    claim_splits=200,
)


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows with their classes.

    Examples
    --------
    >>> Problem("ten", "Ten rows", np.zeros((10, 1)), np.arange(10) % 2).majority
    0.5
    """

    name: str  # one word
    title: str  # with the numbers of rows and columns
    X: NDArray[np.float64]
    y: NDArray[np.int64]  # classes 0 and 1
    is_coded: bool = False  # columns are codes with few values, which a linear model can one-hot encode

    @property
    def majority(self) -> float:
        """The share of the larger class."""
        return float(np.bincount(self.y).max() / len(self.y))


def load_problems(plan: ExperimentPlan, seed: int) -> tuple[list[Problem], list[str]]:
    """Return the data sets of a plan.

    Parameters
    ----------
    plan : ExperimentPlan
    seed : int
        Seed of the simulated rows, and of the sample of the accidents.

    Returns
    -------
    problems : list of Problem
    left_out : list of str
        Sentences about data sets that are not installed.
    """
    n_rows, left_out = plan.simulated_rows, []
    X, y = make_gaussian(n_rows, 30, random_state=seed)
    problems = [Problem("simulated", f"Simulated data, {n_rows:,} × 30", X, (y > 0).astype(np.int64))]
    X, y = load_breast_cancer(return_X_y=True)
    title = f"Breast cancer, {X.shape[0]:,} × {X.shape[1]}"
    problems.append(Problem("cancer", title, X, y.astype(np.int64)))
    try:
        problems.append(_accidents(plan.accident_rows, seed))
    except FileNotFoundError as error:
        left_out.append(f"US road accidents are left out: {error}.")
    return problems, left_out


def _accidents(n_rows: int | None, seed: int) -> Problem:
    X, y, names = load_accidents()
    size = f"{len(y):,} × {len(names)}"
    if n_rows is not None and n_rows < len(y):
        size = f"{n_rows:,} of {len(y):,} rows × {len(names)}"
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:n_rows])
        X, y = X[rows], y[rows]
    return Problem("accidents", f"US road accidents, {size}", X, y, is_coded=True)


LOGISTIC, ONE_HOT = "logistic regression", "one-hot logistic regression"
ADABOOST, GENTLE, LOGITBOOST, GRADIENT = "AdaBoost", "Gentle AdaBoost", "LogitBoost", "gradient boosting"
FOREST, BAGGING = "random forest", "bagging"

LINEAR = (LOGISTIC, ONE_HOT)
BOOSTING = (ADABOOST, LOGITBOOST, GRADIENT)  # of figures 1 and 2
COMPARED = (LOGISTIC, *BOOSTING, FOREST, BAGGING)
UNDER_NOISE = (*BOOSTING, LOGISTIC, GENTLE, FOREST)  # four as in figures 1 and 2, so in their colours
FOREST_LEAF, BAGGED_DEPTH = 5, 10

CAVEATS = (
    (
        "Parameters are the same for all data sets, and none was tuned within the folds. Those of boosting "
        "and of logistic regression are textbook values; the leaf size of the forest and the depth of the "
        "bagged trees were chosen on one split of the simulated data and of the accidents, which favours "
        "these two methods."
    ),
    (
        "A best number of learners or rate is the best of the points drawn, selected on the rows on which it "
        "is scored, so that it is slightly optimistic. Differences are tested one pair at a time, without a "
        "correction for the number of pairs."
    ),
)


@dataclass(frozen=True)
class Maker:
    """Create methods by name.

    Examples
    --------
    >>> maker = Maker(learners=200, trees=100, members=50)
    >>> maker.make(ADABOOST).n_estimators, maker.describe(ADABOOST)
    (200, '200 stumps, rate 1')
    >>> maker.make(GRADIENT, learners=5, rate=1.0).learning_rate
    1.0
    """

    learners: int  # rounds of boosting
    trees: int  # of a forest
    members: int  # trees of a bagging ensemble
    random_state: int = 0
    n_jobs: int | None = None  # the models are the same for any number of threads

    def make(self, name: str, *, learners: int | None = None, rate: float | None = None) -> Any:
        """Return an unfitted classifier; `learners` and `rate` are for boosting."""
        boosted: dict[str, Any] = {"n_estimators": learners or self.learners, "n_jobs": self.n_jobs}
        if rate is not None:
            boosted["learning_rate"] = rate
        elif name == GRADIENT:
            boosted["learning_rate"] = 0.1
        seeded: dict[str, Any] = {"random_state": self.random_state}
        trees = partial(RandomForestClassifier, n_jobs=self.n_jobs, **seeded)
        linear = partial(LogisticRegression, max_iter=1000)
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        shape: dict[str, Any] = {"max_depth": 3, "max_leaf_nodes": 8}  # 8 leaves are no limit at depth 3
        methods: dict[str, Callable[[], Any]] = {
            LOGISTIC: lambda: make_pipeline(StandardScaler(), linear()),
            ONE_HOT: lambda: make_pipeline(encoder, linear()),
            ADABOOST: lambda: AdaBoostClassifier(**boosted),
            GENTLE: lambda: AdaBoostClassifier(algorithm="gentle", **boosted),
            LOGITBOOST: lambda: LogitBoostClassifier(**boosted),
            GRADIENT: lambda: GradientBoostingClassifier(early_stopping=False, **shape, **seeded, **boosted),
            FOREST: lambda: trees(n_estimators=self.trees, min_samples_leaf=FOREST_LEAF),
            # bagging of trees: a forest that may split on any column
            BAGGING: lambda: trees(n_estimators=self.members, max_features=1.0, max_depth=BAGGED_DEPTH),
        }
        if name not in methods:
            raise ValueError(f"name={name!r} is not allowed: it must be one of {', '.join(methods)}")
        return methods[name]()

    def describe(self, name: str) -> str:
        """Describe the parameters of a method."""
        stumps = f"{self.learners} stumps, rate 1"
        return {
            LOGISTIC: "columns scaled",
            ONE_HOT: "a column for each value",
            **dict.fromkeys((ADABOOST, GENTLE, LOGITBOOST), stumps),
            GRADIENT: f"{self.learners} trees of depth 3, rate 0.1",
            FOREST: f"{self.trees} trees, leaves of {FOREST_LEAF} rows or more",
            BAGGING: f"{self.members} trees of depth ≤ {BAGGED_DEPTH}",
        }[name]
