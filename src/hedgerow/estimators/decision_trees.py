"""Weak learners as estimators: a stump, and small trees for classes and for numbers.

They are fitted on their own, or passed to an ensemble as its `estimator`, which then grows them on codes that
it computes once. A fitted one holds a `TreeModel` of a single tree. For classes every leaf has the share of
each class in its weight, in one copy of the tree for each class; for numbers it has their mean.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.binning import find_bins
from hedgerow.boosting.row_weights import RowWeights
from hedgerow.boosting.weak_learners import ClassTargets, FittedTree, NumericTargets, WeakTreeLearner
from hedgerow.dtypes import MAX_BINS, MAX_WIDE_BINS
from hedgerow.estimators import elsewhere, inputs, parameters
from hedgerow.estimators.bin_edges import given_edges
from hedgerow.estimators.fingerprints import DataFingerprint, DataFingerprintMixin
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.parameters import Allowed, check_parameters, nothing, one_of, real, whole
from hedgerow.estimators.scoring import Classifies, Regresses
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.weak_tree import WeakGrower, WeakRules
from hedgerow.losses.base import weighted_mean
from hedgerow.memory import require_prediction_memory
from hedgerow.memory_estimates import (
    FitSize,
    estimate_weak_trees,
    require_input_memory,
    weak_tree_nodes,
)
from hedgerow.table import Schema, Table, read_table
from hedgerow.threads import Team, resolve_n_jobs


class WeakTreeEstimator(DataFingerprintMixin, BaseEstimator):  # type: ignore[misc]
    """What the three share."""

    _allowed: ClassVar[dict[str, Allowed]] = {}

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """How far a tree may grow; `criterion` replaces the estimator's own."""
        raise TypeError(f"{type(self).__name__} does not say how it grows; it has {criterion}")

    def given_edges(self, schema: Schema) -> list[Floats | None] | None:
        """Edges that are given for the columns of a table; an ensemble that grows the tree asks too."""
        return given_edges(self.bin_edges, schema, int(self.max_bins))

    def _grow(self, X: Any, y: Any, sample_weight: Any, target_name: str | None) -> None:
        check_parameters(self.get_params(deep=False), self._allowed)
        X, y, sample_weight = elsewhere.given(X, y, sample_weight, target_name, n_jobs=self.n_jobs)
        with elsewhere.let_go_of(X):
            self._grow_on(X, y, sample_weight)

    def _grow_on(self, X: Any, y: Any, sample_weight: Any) -> None:
        name = type(self).__name__
        require_input_memory(X, name)
        table = read_table(X, estimator_name=name, categorical_features=self.categorical_features)
        y, sample_weight = elsewhere.survey_of(table, y, sample_weight)
        raw_y = inputs.read_target(y, table.n_rows, name)
        target = self._target(raw_y)
        numbers = target.encode(raw_y)
        weight = inputs.read_weights(sample_weight, table.n_rows)
        given = self.given_edges(table.schema)
        n_threads = resolve_n_jobs(self.n_jobs)
        size = FitSize.of(table, name, max_bins=int(self.max_bins), n_threads=n_threads)
        size.require(
            self.estimate_memory(size, target.n_classes),
            advice="use fewer rows or columns, a smaller max_depth",
        )
        with Team(resolve_n_jobs(self.n_jobs)) as team:
            weights = RowWeights(weight, table.n_rows, None, team)
            bins = find_bins(table, self.max_bins, copies=weights.counts, team=team, user_edges=given)
            grower = WeakGrower(bins.encode(table, team, for_growing=False), self.weak_rules(), team)
            learner = WeakTreeLearner(grower, weights, resample=False, seed=0, team=team)
            nodes, values = self._answer(learner, numbers, target, weight)
        trees = []
        for output in values:
            trees.append(nodes.copy())
            trees[-1]["value"] = output
        model = TreeModel(np.zeros(len(values)), bins, Forest.of(trees, range(len(values))))
        self._keep(model, table.schema, target.classes)
        self._add_data_fingerprint(
            DataFingerprint.of_table(table, numbers, weight, resolve_n_jobs(self.n_jobs)), warm_start=False
        )

    def estimate_memory(self, size: FitSize, n_classes: int | None) -> dict[str, int]:
        """Estimate the memory of a fit; n_classes : None for a regression tree."""
        rules, classes = self.weak_rules(), n_classes is not None
        n_nodes = weak_tree_nodes(size.n_rows, rules.max_depth, rules.max_leaf_nodes, classes=classes)
        return estimate_weak_trees(size, n_classes or 2, n_nodes)

    def _target(self, y: NDArray[Any]) -> inputs.Numbers | inputs.Labels:
        raise TypeError(f"{type(self).__name__} does not say how to read its target")

    def _answer(
        self, learner: WeakTreeLearner, y: Floats, target: Any, weight: Floats | None
    ) -> tuple[NDArray[np.void], Floats]:
        """Nodes of the grown tree and their values (outputs, nodes)."""
        raise TypeError(f"{type(self).__name__} does not say what it grows")

    def _keep(self, model: TreeModel, schema: Schema, classes: NDArray[Any] | None) -> Self:
        """Set the fitted attributes."""
        self.model_, self.schema_ = model, schema
        self.n_features_in_ = schema.n_columns
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if classes is not None:
            self.classes_ = classes
        return self

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        elsewhere.refuse_elsewhere(X, f"this method of {type(self).__name__}")
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    def _scores(self, X: Any) -> Floats:
        joined = elsewhere.in_pieces(self, X, self._scores, axis=1)
        if joined is not None:
            return joined
        table = self._read(X)
        require_prediction_memory(type(self).__name__, table.n_rows, len(self.model_.start), arrays=2)
        return self.model_.scores(table, resolve_n_jobs(self.n_jobs))

    @lazily
    def apply(self, X: Any) -> NDArray[np.int32]:
        """The number of the leaf of every row."""
        table = self._read(X)
        return self.model_.predictor.leaves(table, resolve_n_jobs(self.n_jobs))[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class ClassTree(Classifies, WeakTreeEstimator):
    """A tree for classes: its leaves hold the shares of the classes."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, target: str | None = None) -> Self:
        """Fit to classes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features), files or Dask collection
        y : array of shape (n_samples,)
            Labels: strings, whole numbers or booleans.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. A whole number acts exactly as that many copies of the row, zero as no row.
        target : str, optional
            Where X is in files, the column that is learned; y is then left out.

        Returns
        -------
        self
        """
        self._grow(X, y, sample_weight, target)
        return self

    def _target(self, y: NDArray[Any]) -> inputs.Labels:
        return inputs.Labels.of(y)

    def _answer(
        self, learner: WeakTreeLearner, y: Floats, target: Any, weight: Floats | None
    ) -> tuple[NDArray[np.void], Floats]:
        problem = ClassTargets(y.astype(np.int32), target.classes, learner.weights.initial_distribution())
        (answer,) = learner.fit([problem], 0)
        return answer.tree.nodes, leaf_shares(answer)

    @lazily
    def predict_proba(self, X: Any) -> Floats:
        """Shares of the classes in the leaf of every row, (n_samples, n_classes)."""
        return np.ascontiguousarray(self._scores(X).T)

    @lazily
    def predict(self, X: Any) -> NDArray[Any]:
        """Heaviest class in the leaf of every row; the first of equal ones."""
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return labels


def leaf_shares(answer: FittedTree) -> Floats:
    """Shares (classes, nodes) of the weight in every leaf, 0 in inner nodes."""
    sums = answer.sample_sums.T.astype(np.float64)
    total = sums[0].copy()
    for of_class in sums[1:]:
        total += of_class
    shares: Floats = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return shares


class DecisionStump(ClassTree):
    """A tree of one split: the classic weak learner.

    Parameters
    ----------
    criterion : {"error", "gini"}
        What the split makes small: the weighted share of rows on the wrong side, or the Gini impurity.
    max_bins : int
        Most bins of a numeric column, up to 65,535. A column with no more distinct values than that is cut
        between all of them: the stump is exact.
    bin_edges : sequence of numbers, sequence of them and None, dict, or None
        Edges to cut numeric columns at; see the notes. None for edges at quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.
    n_jobs : int or None
        Threads; None and -1 for all cores. The stump is the same for any number.

    Attributes
    ----------
    feature_ : int
        The column of the split, -1 when no split is better than none.
    threshold_ : float
        Values up to it go left; infinite when all values do, NaN for a categorical column.
    polarity_ : int
        +1 when the right side is the second class and the left side the first, -1 the other way round, 0
        when both are the same or there are more classes.
    leaf_classes_ : array of two labels
        The classes of the left and of the right side.
    left_categories_ : list or None
        The categories that go left, for a categorical column.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    `bin_edges` is one sequence of rising numbers for every numeric column, or a sequence with one entry a
    column, or a dict of entries by column name or position; with None, or without an entry, the edges of
    a column come from the training rows. Values up to an edge go left. Edges are used as they are, at most
    ``max_bins - 1`` a column; with an empty sequence only missing values are told from the others. Stumps on
    edges that do not come from the training rows are a finite class, fixed before the data are seen: that is
    what bounds by margins ask for. `hedgerow.theory.quantile_grid` finds edges on rows set aside.

    Examples
    --------
    >>> stump = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> print(stump)
    x0 <= 2.5: low, else high
    >>> stump.threshold_, stump.polarity_, stump.predict([[2.2]]).item()
    (2.5, -1, 'low')
    >>> DecisionStump(bin_edges=[0.0, 3.2]).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]).threshold_
    3.2
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        "criterion": one_of("error", "gini"),
        "max_bins": whole(2, MAX_WIDE_BINS),
        "bin_edges": parameters.edges() | nothing(),
        "n_jobs": parameters.threads() | nothing(),
    }

    def __init__(
        self,
        criterion: str = "error",
        *,
        max_bins: int = MAX_BINS,
        bin_edges: Any = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_bins, self.bin_edges = max_bins, bin_edges
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """One split."""
        return WeakRules(max_depth=1, criterion=criterion or self.criterion)

    def _keep(self, model: TreeModel, schema: Schema, classes: NDArray[Any] | None) -> Self:
        super()._keep(model, schema, classes)
        forest, bins = model.forest, model.bins
        values = forest.value.reshape(len(model.start), -1)  # (classes, nodes)
        votes = self.classes_[np.argmax(values, axis=0)]
        split = bool(forest.left[0])
        self.feature_ = int(forest.column[0]) if split else -1
        self.leaf_classes_ = votes[1:3] if split else votes[[0, 0]]
        self.left_categories_ = None
        self.threshold_ = np.inf
        self._missing_left = bool(forest.missing_left[0])
        if split and forest.set_number[0] < 0:
            self.threshold_ = float(forest.thresholds(bins)[0])
        elif split:
            self.threshold_ = np.nan
            self.left_categories_ = _categories_in(forest.sets[0], model, schema, self.feature_)
        order = [self.classes_.tolist().index(label) for label in self.leaf_classes_.tolist()]
        self.polarity_ = order[1] - order[0] if len(self.classes_) == 2 else 0
        return self

    def __str__(self) -> str:
        if not hasattr(self, "model_"):
            return repr(self)
        low, high = self.leaf_classes_.tolist()
        if self.feature_ < 0:
            return f"always {low}"
        names = self.schema_.names
        name = names[self.feature_] if names is not None else f"x{self.feature_}"
        if self.left_categories_ is not None:
            return f"{name} in {self.left_categories_}: {low}, else {high}"
        if np.isposinf(self.threshold_):
            return f"{name} present: {low}, missing: {high}"
        return f"{name} <= {self.threshold_:.6g}: {low}, else {high}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # two leaves cannot tell three classes apart
        return tags


def _categories_in(goes_left: NDArray[np.uint64], model: TreeModel, schema: Schema, column: int) -> list[Any]:
    """Names of the categories in a set of codes."""
    categories = schema.categories[column]
    assert categories is not None  # noqa: S101 - only a categorical column is split by a set
    first = int(model.bins.table_starts[column])
    codes = model.bins.tables[first : first + len(categories)].tolist()
    words = goes_left.tolist()
    return [name for name, code in zip(categories, codes, strict=True) if words[code >> 6] >> (code & 63) & 1]


_TREE_ALLOWED: dict[str, Allowed] = {
    "max_depth": whole(1) | nothing(),
    "max_leaf_nodes": whole(2) | nothing(),
    "min_weight_fraction_leaf": real(0, 0.5),
    "max_bins": whole(2, MAX_WIDE_BINS),
    "bin_edges": parameters.edges() | nothing(),
    "n_jobs": parameters.threads() | nothing(),
}


class DecisionTreeClassifier(ClassTree):
    """A small tree for classes.

    Parameters
    ----------
    criterion : {"gini", "error"}
        What splits make small.
    max_depth, max_leaf_nodes : int or None
        Limits; None is none. Leaves are split best first.
    min_weight_fraction_leaf : float
        Least share of the whole weight in a leaf.
    max_bins : int
        Most bins of a numeric column, up to 65,535.
    bin_edges : sequence of numbers, sequence of them and None, dict, or None
        Edges to cut numeric columns at; see the notes of `DecisionStump`. None for edges at
        quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.
    n_jobs : int or None
        Threads; None and -1 for all cores. The tree is the same for any number.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> DecisionTreeClassifier(max_depth=2).fit(X, y).predict(X).tolist()
    ['no', 'no', 'no', 'yes']
    """

    _allowed: ClassVar[dict[str, Allowed]] = {"criterion": one_of("gini", "error"), **_TREE_ALLOWED}

    def __init__(
        self,
        criterion: str = "gini",
        *,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        min_weight_fraction_leaf: float = 0.0,
        max_bins: int = MAX_BINS,
        bin_edges: Any = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth, self.max_leaf_nodes = max_depth, max_leaf_nodes
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_bins, self.bin_edges = max_bins, bin_edges
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """Limits of the parameters."""
        return WeakRules(
            self.max_depth, self.max_leaf_nodes, criterion or self.criterion, self.min_weight_fraction_leaf
        )


class DecisionTreeRegressor(Regresses, WeakTreeEstimator):
    """A small tree for numbers, by least squares.

    Parameters
    ----------
    max_depth, max_leaf_nodes : int or None
        Limits; None is none. Leaves are split best first.
    min_weight_fraction_leaf : float
        Least share of the whole weight in a leaf.
    max_bins : int
        Most bins of a numeric column, up to 65,535.
    bin_edges : sequence of numbers, sequence of them and None, dict, or None
        Edges to cut numeric columns at; see the notes of `DecisionStump`. None for edges at
        quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.
    n_jobs : int or None
        Threads; None and -1 for all cores. The tree is the same for any number.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0]], [0.0, 0.0, 6.0]).predict([[2.6]])
    array([6.])
    """

    _allowed: ClassVar[dict[str, Allowed]] = _TREE_ALLOWED

    def __init__(
        self,
        *,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        min_weight_fraction_leaf: float = 0.0,
        max_bins: int = MAX_BINS,
        bin_edges: Any = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth, self.max_leaf_nodes = max_depth, max_leaf_nodes
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_bins, self.bin_edges = max_bins, bin_edges
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """Limits of the parameters; least squares needs no criterion."""
        return WeakRules(self.max_depth, self.max_leaf_nodes, "gini", self.min_weight_fraction_leaf)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, target: str | None = None) -> Self:
        """Fit to numbers.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features), files or Dask collection
        y : array of shape (n_samples,)
            Numbers within ±1e100.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. A whole number acts exactly as that many copies of the row, zero as no row.
        target : str, optional
            Where X is in files, the column that is learned; y is then left out.

        Returns
        -------
        self
        """
        self._grow(X, y, sample_weight, target)
        return self

    def estimate_memory(self, size: FitSize, n_classes: int | None) -> dict[str, int]:
        """Estimate the memory of a fit; n_classes : None for a regression tree."""
        rules, classes = self.weak_rules(), n_classes is not None
        n_nodes = weak_tree_nodes(size.n_rows, rules.max_depth, rules.max_leaf_nodes, classes=classes)
        return estimate_weak_trees(size, n_classes or 2, n_nodes)

    def _target(self, y: NDArray[Any]) -> inputs.Numbers:
        return inputs.Numbers()

    def _answer(
        self, learner: WeakTreeLearner, y: Floats, target: Any, weight: Floats | None
    ) -> tuple[NDArray[np.void], Floats]:
        centre = weighted_mean(y, weight)  # taken off: squares of a far-away mean would drown the gains
        centred = y - centre
        largest = float(np.abs(centred[learner.weights.rows]).max())
        (answer,) = learner.fit([NumericTargets(centred, learner.weights.factor, largest)], 0)
        return answer.tree.nodes, (answer.values + centre)[np.newaxis]

    @lazily
    def predict(self, X: Any) -> Floats:
        """Mean of the target in the leaf of every row, (n_samples,)."""
        means: Floats = self._scores(X)[0]
        return means


__all__ = ["DecisionStump", "DecisionTreeClassifier", "DecisionTreeRegressor", "WeakTreeEstimator"]
