"""What the weak learners share: reading, growing one tree, and what the leaves of classes say.

A fitted one holds a `TreeModel` of a single tree. For classes every leaf has the share of each class in its
weight, in one copy of the tree a class; for numbers their mean.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.binning import find_bins
from hedgerow.boosting.model import TreeModel
from hedgerow.boosting.needs import require_tree
from hedgerow.boosting.weak import ClassProblem, GrownAnswer, GrownLearner
from hedgerow.boosting.weights import RowWeights
from hedgerow.estimators import elsewhere, inputs
from hedgerow.estimators.bin_edges import given_edges
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.limits import check_table, require_answer
from hedgerow.estimators.parameters import Allowed, check_parameters
from hedgerow.estimators.scoring import Classifies
from hedgerow.estimators.trained import RemembersFit, look_at_table
from hedgerow.forest import Forest
from hedgerow.growing.weak import WeakGrower, WeakRules
from hedgerow.table import Schema, Table, read_table
from hedgerow.threads import Team, resolve_n_jobs


class WeakTreeEstimator(RemembersFit, BaseEstimator):  # type: ignore[misc]
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
        check_table(X, name)
        table = read_table(X, estimator_name=name, categorical_features=self.categorical_features)
        y, sample_weight = elsewhere.survey_of(table, y, sample_weight)
        raw_y = inputs.read_target(y, table.n_rows, name)
        target = self._target(raw_y)
        numbers = target.read(raw_y)
        weight = inputs.read_weights(sample_weight, table.n_rows)
        given = self.given_edges(table.schema)
        n_threads = resolve_n_jobs(self.n_jobs)
        require_tree(self.weak_rules(), table, target.n_classes, int(self.max_bins), n_threads, name)
        with Team(resolve_n_jobs(self.n_jobs)) as team:
            weights = RowWeights(weight, table.n_rows, None, team)
            bins = find_bins(table, self.max_bins, copies=weights.counts, team=team, given=given)
            grower = WeakGrower(bins.encode(table, team, for_growing=False), self.weak_rules(), team)
            learner = GrownLearner(grower, weights, resample=False, seed=0, team=team)
            nodes, values = self._answer(learner, numbers, target, weight)
        trees = []
        for output in values:
            trees.append(nodes.copy())
            trees[-1]["value"] = output
        model = TreeModel(np.zeros(len(values)), bins, Forest.of(trees, range(len(values))))
        self._keep(model, table.schema, target.classes)
        self._was_trained_on(look_at_table(table, numbers, weight, resolve_n_jobs(self.n_jobs)), more=False)

    def _target(self, y: NDArray[Any]) -> inputs.Numbers | inputs.Labels:
        raise TypeError(f"{type(self).__name__} does not say how to read its target")

    def _answer(
        self, learner: GrownLearner, y: Floats, target: Any, weight: Floats | None
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
        require_answer(type(self).__name__, table.n_rows, len(self.model_.start), arrays=2)
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
        self, learner: GrownLearner, y: Floats, target: Any, weight: Floats | None
    ) -> tuple[NDArray[np.void], Floats]:
        problem = ClassProblem(y.astype(np.int32), target.classes, learner.weights.uniform())
        (answer,) = learner.answer([problem], 0)
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


def leaf_shares(answer: GrownAnswer) -> Floats:
    """Shares (classes, nodes) of the weight in every leaf, 0 in inner nodes."""
    sums = answer.opinion.T.astype(np.float64)
    total = sums[0].copy()
    for of_class in sums[1:]:
        total += of_class
    shares: Floats = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return shares
