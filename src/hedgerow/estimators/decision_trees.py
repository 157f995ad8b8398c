"""Weak learners as estimators: a stump, and small trees for classes and for numbers.

They are fitted on their own, or passed to an ensemble as its `estimator`, which then grows them on codes that
it computes once. A fitted estimator holds a `TreeModel`. For numbers it is a single tree, and the value of a
leaf is the mean target. For classes there is one copy of the tree per class, and the value of a leaf is the
fraction of its weight that the class has.
"""

import abc
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import MAX_BINS, MAX_WIDE_BINS, Floats
from hedgerow.binning import find_bins
from hedgerow.boosting.weak_learners import ClassTargets, NumericTargets, RowWeights, WeakTreeLearner
from hedgerow.estimators import parameters
from hedgerow.estimators.base import ClassifierBase, EnsembleBase, RegressorBase, supports_dask
from hedgerow.estimators.parameters import Allowed, edges_by_column, integer, none, number, one_of
from hedgerow.estimators.validation import FitInput
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.weak_tree import WeakGrower, WeakRules
from hedgerow.losses.base import weighted_mean
from hedgerow.memory import FitSize, estimate_weak_trees, weak_tree_nodes
from hedgerow.table import Schema
from hedgerow.threads import Team, resolve_n_jobs


class WeakTreeEstimator(EnsembleBase, abc.ABC):
    """Base class of the stump and the trees."""

    model_: TreeModel

    @abc.abstractmethod
    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """Return the limits of the tree; `criterion` replaces that of the estimator."""

    def edges_by_column(self, schema: Schema) -> list[Floats | None] | None:
        """Return the bin edges of the parameter `bin_edges`, by column; None without any."""
        if self.bin_edges is None:
            return None
        return edges_by_column(self.bin_edges, schema, int(self.max_bins))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, target: str | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features), files or Dask collection
        y : array of shape (n_samples,)
            Labels (strings, whole numbers or booleans), or numbers within ±1e100.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. A whole number equals that many copies of the row; zero omits the row.
        target : str, optional
            If X is in files, the name of the target column; y is then omitted.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, target=target)

    def _run(self, data: FitInput) -> TreeModel:
        train, n_threads = data.train, resolve_n_jobs(self.n_jobs)
        size = FitSize.of(train.table, type(self).__name__, max_bins=int(self.max_bins), n_threads=n_threads)
        advice = "use fewer rows or columns, a smaller max_depth"
        size.require(self.estimate_memory(size, data.target.n_classes), advice=advice)
        edges = self.edges_by_column(data.schema)
        with Team(n_threads) as team:
            weights = RowWeights(train.sample_weight, data.n_rows, None, team)
            bins = find_bins(train.table, self.max_bins, copies=weights.counts, team=team, user_edges=edges)
            grower = WeakGrower(bins.encode(train.table, team, for_growing=False), self.weak_rules(), team)
            nodes, values = self._grow(WeakTreeLearner(grower, weights), data)
        trees = []
        for output in values:
            trees.append(nodes.copy())
            trees[-1]["value"] = output
        return TreeModel(np.zeros(len(values)), bins, Forest.of(trees, range(len(values))))

    def estimate_memory(self, size: FitSize, n_classes: int | None) -> dict[str, int]:
        """Estimate the memory of a fit; n_classes : None for a regression tree."""
        rules, classes = self.weak_rules(), n_classes is not None
        n_nodes = weak_tree_nodes(size.n_rows, rules.max_depth, rules.max_leaf_nodes, classes=classes)
        return estimate_weak_trees(size, n_classes or 2, n_nodes)

    @abc.abstractmethod
    def _grow(self, learner: WeakTreeLearner, data: FitInput) -> tuple[NDArray[np.void], Floats]:
        """Return the nodes of a tree and their values (outputs, nodes)."""

    def _set_fitted(self, result: TreeModel, data: FitInput) -> None:
        self._set_model(result, data.schema, data.target.classes)
        self._set_fingerprints(data)

    def _set_model(self, model: TreeModel, schema: Schema, classes: NDArray[Any] | None) -> Self:
        """Set the attributes of a tree, also of one from a file or an ensemble."""
        self._set_columns(schema)
        self.model_ = model
        if classes is not None:
            self.classes_ = classes
        return self

    def _scores(self, X: Any) -> Floats:
        joined = self._predict_stream(X, self._scores, axis=1)
        if joined is not None:
            return joined
        table = self._read(X)
        self._require_prediction_memory(table.n_rows, len(self.model_.start), arrays=2)
        return self.model_.scores(table, resolve_n_jobs(self.n_jobs))

    @supports_dask
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the leaf of every row."""
        table = self._read(X)
        return self.model_.predictor.leaves(table, resolve_n_jobs(self.n_jobs))[:, 0]


class ClassTree(ClassifierBase, WeakTreeEstimator):
    """Base class of trees for classes: the leaves hold the fractions of the classes."""

    def _grow(self, learner: WeakTreeLearner, data: FitInput) -> tuple[NDArray[np.void], Floats]:
        labels = np.asarray(data.target.classes)
        targets = ClassTargets(data.train.y.astype(np.int32), labels, learner.weights.initial_distribution())
        (fitted,) = learner.fit([targets], 0)
        sums = fitted.sample_sums.T.astype(np.float64)
        total = sums[0].copy()
        for class_sums in sums[1:]:
            total += class_sums
        return fitted.tree.nodes, np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)

    @supports_dask
    def predict_proba(self, X: Any) -> Floats:
        """Return fractions of the classes in the leaf of every row, (n_samples, n_classes)."""
        return np.ascontiguousarray(self._scores(X).T)


class DecisionStump(ClassTree):
    """A tree of one split: the classic weak learner.

    Parameters
    ----------
    criterion : {"error", "gini"}
        What the split minimizes: the weighted error or the Gini impurity.
    max_bins : int
        Maximum number of bins of a numeric column, up to 65,535. The stump is exact for a column with at most
        that many distinct values.
    bin_edges : sequence of numbers, one such sequence or None per column, dict, or None
        Edges at which numeric columns are split; see the notes. None for quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" select those of a categorical dtype.
    n_jobs : int or None
        Number of threads; None and -1 for all cores. The stump does not depend on it.

    Attributes
    ----------
    feature_ : int
        The column of the split, -1 if no split improves the criterion.
    threshold_ : float
        Values up to it go left; infinite if all values do, NaN for a categorical column.
    polarity_ : int
        +1 if the left leaf is the first class and the right leaf the second, -1 if reversed, 0 if both are
        the same class or there are more than two classes.
    leaf_classes_ : array of two labels
        The classes of the left and of the right leaf.
    left_categories_ : list or None
        The categories that go left, for a categorical column.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    `bin_edges` is one increasing sequence of numbers for all numeric columns, or a sequence with one entry
    per column, or a dict of entries by column name or position; with None, or without an entry, the edges of
    a column come from the training rows. Values up to an edge go left. Edges are used unchanged, at most
    ``max_bins - 1`` per column; an empty sequence separates only missing values from the others. Stumps on
    edges that do not come from the training rows are a finite hypothesis class, fixed before the data:
    margin bounds require that. `hedgerow.theory.quantile_grid` computes edges from other rows.

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
        "max_bins": integer(2, MAX_WIDE_BINS),
        "bin_edges": parameters.edges() | none(),
        "n_jobs": parameters.threads() | none(),
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
        self._set_parameters(locals())

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """Return the limits of a tree with one split."""
        return WeakRules(max_depth=1, criterion=criterion or self.criterion)

    def _set_model(self, model: TreeModel, schema: Schema, classes: NDArray[Any] | None) -> Self:
        super()._set_model(model, schema, classes)
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
            self.left_categories_ = _left_categories(forest.sets[0], model, schema, self.feature_)
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
        tags.classifier_tags.poor_score = True  # two leaves cannot separate three classes
        return tags


def _left_categories(
    goes_left: NDArray[np.uint64], model: TreeModel, schema: Schema, column: int
) -> list[Any]:
    """Return the categories in a set of codes."""
    categories = schema.categories[column]
    assert categories is not None  # noqa: S101 - only a categorical column is split by a set
    first = int(model.bins.table_starts[column])
    codes = model.bins.tables[first : first + len(categories)].tolist()
    bits = goes_left.tolist()
    return [name for name, code in zip(categories, codes, strict=True) if bits[code >> 6] >> (code & 63) & 1]


_TREE_ALLOWED: dict[str, Allowed] = {
    "max_depth": integer(1) | none(),
    "max_leaf_nodes": integer(2) | none(),
    "min_weight_fraction_leaf": number(0, 0.5),
    "max_bins": integer(2, MAX_WIDE_BINS),
    "bin_edges": parameters.edges() | none(),
    "n_jobs": parameters.threads() | none(),
}


class DecisionTreeClassifier(ClassTree):
    """A small tree for classes.

    Parameters
    ----------
    criterion : {"gini", "error"}
        What splits minimize.
    max_depth, max_leaf_nodes : int or None
        Limits; None for no limit. The leaf with the largest gain is split first.
    min_weight_fraction_leaf : float
        Minimum fraction of the total weight in a leaf.
    max_bins : int
        Maximum number of bins of a numeric column, up to 65,535.
    bin_edges : sequence of numbers, one such sequence or None per column, dict, or None
        Edges at which numeric columns are split; see the notes of `DecisionStump`. None for quantiles of the
        training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" select those of a categorical dtype.
    n_jobs : int or None
        Number of threads; None and -1 for all cores. The tree does not depend on it.

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
        self._set_parameters(locals())

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """Return the limits of the parameters."""
        return WeakRules(
            self.max_depth, self.max_leaf_nodes, criterion or self.criterion, self.min_weight_fraction_leaf
        )


class DecisionTreeRegressor(RegressorBase, WeakTreeEstimator):
    """A small tree for numbers, by least squares.

    Parameters
    ----------
    max_depth, max_leaf_nodes, min_weight_fraction_leaf, max_bins, bin_edges, categorical_features, n_jobs
        As in `DecisionTreeClassifier`.

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
        self._set_parameters(locals())

    def weak_rules(self, criterion: str | None = None) -> WeakRules:
        """Return the limits of the parameters; least squares has no criterion."""
        return WeakRules(self.max_depth, self.max_leaf_nodes, "gini", self.min_weight_fraction_leaf)

    def _grow(self, learner: WeakTreeLearner, data: FitInput) -> tuple[NDArray[np.void], Floats]:
        y = data.train.y
        centre = weighted_mean(y, data.train.sample_weight)  # a large mean would hide the gains
        centred = y - centre
        max_abs = float(np.abs(centred[learner.weights.rows]).max())
        (fitted,) = learner.fit([NumericTargets(centred, learner.weights.factor, max_abs)], 0)
        return fitted.tree.nodes, (fitted.values + centre)[np.newaxis]

    @supports_dask
    def predict(self, X: Any) -> Floats:
        """Return the mean of the target in the leaf of every row, (n_samples,)."""
        means: Floats = self._scores(X)[0]
        return means
