"""ForestBase: the base of random forests and extremely randomised trees, for classes and for numbers."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import MAX_BINS, Floats, Integers
from hedgerow.bagging.forest import FittedForest, ForestOptions, fit_forest, rounded_up
from hedgerow.bagging.pair_losses import STEPS, PairLosses
from hedgerow.boosting.loop import FitOptions
from hedgerow.estimators import parameters
from hedgerow.estimators.base import ClassifierBase, supports_dask
from hedgerow.estimators.parameters import (
    Allowed,
    edges_by_column,
    flag,
    integer,
    monotonic_directions,
    none,
    number,
    one_of,
)
from hedgerow.estimators.targets import apply_class_weight, class_factors
from hedgerow.estimators.validation import FitInput, InputOptions
from hedgerow.estimators.votes import BaggedEnsemble, WeightedVote, out_of_bag_caveats
from hedgerow.growing.grower import is_whole
from hedgerow.memory import FitSize, distinct_rows, estimate_forest, forest_tree_leaves
from hedgerow.table import Schema
from hedgerow.threads import resolve_n_jobs
from hedgerow.voting import EncodedRows, ForestModel

_FRACTION = Allowed(
    lambda v: not isinstance(v, int | np.integer) and number(0, 1, above=True).test(v),
    number(0, 1, above=True).description,
)  # the integer 1 is a number of rows, and too few to split

ALLOWED: dict[str, Allowed] = {
    "n_estimators": integer(1),
    "max_depth": integer(1) | none(),
    "min_samples_split": integer(2) | _FRACTION,
    "min_samples_leaf": integer(1) | number(0, 1, above=True, below=True),
    "min_weight_fraction_leaf": number(0, 0.5),
    "max_features": integer(1) | number(0, 1, above=True) | one_of("sqrt", "log2") | none(),
    "max_leaf_nodes": integer(2) | none(),
    "min_impurity_decrease": number(0),
    "bootstrap": flag(),
    "oob_score": flag() | Allowed(callable, "a function of (y, predicted)"),
    "n_jobs": parameters.threads() | none(),
    "random_state": parameters.seed() | none(),
    "verbose": integer(0) | flag(),
    "warm_start": flag(),
    "max_samples": integer(1) | number(0, 1, above=True) | none(),
    "monotonic_cst": parameters.directions() | none(),
    "max_bins": integer(2, MAX_BINS),
    "bin_edges": parameters.edges() | none(),
}


class ForestBase(BaggedEnsemble):
    """Base class of forests; subclasses define the constructor, the target and its predictions."""

    model_: ForestModel
    _kernel_families: ClassVar[tuple[str, ...]] = ("forests",)
    _member: ClassVar[str] = "tree"
    _random_cuts: ClassVar[bool] = False

    # --- fit

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None, target: Any = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Missing values (NaN, None, null) are allowed and go to the side of a split that fits best.
            Or a table larger than memory: a path or glob of Parquet or Arrow files, a pyarrow Dataset, a
            function that returns record batches, a `hedgerow.streams.Stream`, or a Dask collection.
        y : array of shape (n_samples,)
            Labels (strings, integers or booleans) for classifiers, of one output. Numbers within ±1e100 for
            regressors, which also accept (n_samples, n_outputs).
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. With ``bootstrap=True`` rows are drawn in proportion to their weights, otherwise
            the weights count in splits and leaves. Integers act exactly as that many copies of the rows, and
            zero omits the row: a tree draws as many rows as there are copies, so that few are out of its bag.
            Weights that are not all integers, or represent more than 16 copies per row, are proportions only,
            and a tree draws as many rows as there are.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that stores the trees so far, by default every minute (see `Checkpoint`). If it
            exists, the fit resumes from it: the model is the same as without interruption, bit for bit.
        target : str, optional
            Name of the target column if X is in files; y is then left out.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, target=target, checkpoint=checkpoint)
        self._warn_without_votes()
        return self

    def _input_options(self) -> InputOptions:
        self._check_sampling()
        return super()._input_options()

    def _run(self, data: FitInput) -> Any:
        options = self._options(data)
        self._require_memory(data, options)
        run = FitOptions(
            checkpointer=data.checkpointer,
            n_rounds=int(self.n_estimators),
            seed=data.seed,
            n_threads=resolve_n_jobs(self.n_jobs),
            verbose=int(self.verbose),
            title=type(self).__name__,
        )
        fitted = fit_forest(data.train, self._tree_weight(data), options, run, data.previous)
        return self._with_oob_score(fitted, data)

    def _tree_weight(self, data: FitInput) -> Floats | None:
        """Return weights of rows within a tree: sample weights, unless rows are drawn by weight."""
        weight = data.train.sample_weight
        return None if self.bootstrap or weight is None or is_whole(weight) else weight

    def _options(self, data: FitInput) -> ForestOptions:
        return ForestOptions(
            n_classes=data.target.n_classes,
            criterion="entropy" if self.criterion == "log_loss" else str(self.criterion),
            max_depth=None if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=None if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_features=self.max_features,
            random_cuts=self._random_cuts,
            bootstrap=bool(self.bootstrap),
            max_samples=self.max_samples,
            max_bins=int(self.max_bins),
            edges=None
            if self.bin_edges is None
            else edges_by_column(self.bin_edges, data.schema, self.max_bins),
            directions=self._directions(data.schema, data.target.n_classes, data.train.y),
            balance_trees=self._balances_trees(),
            keep_targets=bool(getattr(self, "keep_targets", False)),
            out_of_bag=bool(self.oob_score),
        )

    def _balances_trees(self) -> bool:
        """Return whether class weights are computed for every tree."""
        class_weight = getattr(self, "class_weight", None)
        return isinstance(class_weight, str) and class_weight == "balanced_subsample"

    def _directions(self, schema: Schema, n_classes: int | None, y: Floats) -> NDArray[np.int8]:
        if self.monotonic_cst is None:
            return np.empty(0, np.int8)
        directions = monotonic_directions(self.monotonic_cst, schema)
        if directions.size and n_classes is not None and n_classes > 2:
            raise ValueError(f"monotonic_cst is not allowed with {n_classes} classes: there must be two")
        if directions.size and y.ndim > 1:
            raise ValueError(f"monotonic_cst is not allowed with {y.shape[1]} outputs: there must be one")
        return directions

    def _check_sampling(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError(
                f"max_samples={self.max_samples} is not allowed with bootstrap=False, where every tree is "
                "grown on all rows: it must be None"
            )
        if not self.bootstrap and self.oob_score:
            raise ValueError(
                f"oob_score={self.oob_score!r} needs rows that trees are not trained on: it must be False "
                "with bootstrap=False"
            )

    def _previous(self) -> FittedForest | None:
        """Return the forest that a warm start adds trees to."""
        if not self._is_warm_start():
            return None
        self._check_warm_start()
        return FittedForest(self.model_, self._tree_sampler, getattr(self, "_leaf_targets", None))

    def _require_memory(self, data: FitInput, options: ForestOptions) -> None:
        """Refuse a forest that needs more memory than is available."""
        n_classes, y = data.target.n_classes, data.train.y
        size = FitSize.of(
            data.train.table, type(self).__name__, n_outputs=n_classes or y.reshape(len(y), -1).shape[1],
            n_threads=resolve_n_jobs(self.n_jobs), n_rounds=int(self.n_estimators),
        )  # fmt: skip
        n_draws = size.n_rows
        if self.bootstrap and self.max_samples is not None:
            n_draws = min(n_draws, rounded_up(self.max_samples, n_draws))
        n_drawn = distinct_rows(size.n_rows, n_draws, replace=bool(self.bootstrap))
        min_leaf = rounded_up(self.min_samples_leaf, n_draws)
        estimate = estimate_forest(
            size,
            n_drawn=n_drawn,
            n_leaves=forest_tree_leaves(n_drawn, min_leaf, options.max_leaf_nodes, options.max_depth),
            classes=n_classes is not None,
            oob=bool(self.oob_score),
            keep_rows=bool(getattr(self, "keep_targets", False)),
        )
        advice = "use fewer rows, columns or trees, or smaller ones (min_samples_leaf, max_leaf_nodes)"
        size.require(estimate, advice=advice)

    # --- fitted attributes

    def _set_members(self, result: FittedForest, schema: Schema, classes: NDArray[Any] | None) -> None:
        self._set_columns(schema)
        self.model_, self._tree_sampler = result.model, result.sampler
        self._seed, self.n_estimators_ = result.sampler.draws.seed, result.model.forest.n_trees
        if classes is not None:
            self.classes_, self.n_classes_ = classes, len(classes)

    def _n_members_and_weights(self) -> tuple[int, Floats | None]:
        return self.model_.forest.n_trees, self.model_.weights

    # --- predictions

    def _means(self, X: Any) -> Floats:
        """Return mean predictions (rows, outputs) of the trees."""
        streamed = self._predict_stream(X, self._means)
        if streamed is not None:
            return streamed
        table = self._read(X)
        self._require_prediction_memory(table.n_rows, self.model_.forest.n_outputs)
        return self.model_.means(table, resolve_n_jobs(self.n_jobs))

    @supports_dask
    def apply(self, X: Any) -> Integers:
        """Return the leaf of every row in every tree, as its number among the nodes of the tree.

        The proximity of two rows is the fraction of trees in which they are in the same leaf.

        Returns
        -------
        int64 array of shape (n_samples, n_estimators)
        """
        table, model = self._read(X), self.model_
        self._require_prediction_memory(table.n_rows, model.forest.n_trees)
        leaves: Integers = model.forest.leaf_ids(EncodedRows(table, model.bins), resolve_n_jobs(self.n_jobs))
        return leaves

    @property
    def feature_importances_(self) -> Floats:
        """Fraction of each column in the decrease of impurity, averaged over the trees.

        It is biased towards columns with many values, and measured on the training rows:
        `sklearn.inspection.permutation_importance` has neither fault and accepts these estimators.
        """
        check_is_fitted(self, "model_")
        importances: Floats = self.model_.forest.importances()
        return importances


class ForestClassifier(ClassifierBase, WeightedVote, ForestBase):
    """Base class of forests for classes, of one output."""

    _caveats: tuple[str, ...] = ()  # why out-of-bag rows may not be like new ones
    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "criterion": one_of("gini", "entropy", "log_loss"),
        "class_weight": none() | one_of("balanced", "balanced_subsample") | parameters.class_weights(),
    }

    def _tree_weight(self, data: FitInput) -> Floats | None:
        own = super()._tree_weight(data)
        if self.class_weight is None or self._balances_trees():
            return own
        y, weight, classes = data.train.y, data.train.sample_weight, data.target.classes
        assert classes is not None  # noqa: S101 - labels have classes
        apply_class_weight(self.class_weight, y, classes, weight)  # refuses zero weights only
        factors = class_factors(self.class_weight, y, classes, weight)[y.astype(np.int64)]
        return factors if own is None else factors * own

    def _set_fitted(self, result: FittedForest, data: FitInput) -> None:
        previous_caveats = self._caveats if self.warm_start else ()
        weight = data.train.sample_weight
        is_weighted = weight is not None or self.class_weight is not None
        self._caveats = (
            out_of_bag_caveats(weight, self.class_weight, previous_caveats)
            if is_weighted
            else previous_caveats
        )
        self.grid_hashes_ = getattr(self.bin_edges, "hashes", None)
        super()._set_fitted(result, data)

    def _out_of_bag_caveats(self, data: FitInput) -> tuple[str, ...]:
        return self._caveats

    def vote_losses(self, X: Any, y: Any) -> PairLosses:
        """Return losses of the trees on new rows, one by one and in pairs.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows that no tree was trained on.
        y : array of shape (n_samples,)

        Returns
        -------
        PairLosses
            Bounds from votes are computed from it, see `hedgerow.theory`.
        """
        table, n_threads = self._read(X), resolve_n_jobs(self.n_jobs)
        classes = self._class_numbers(y, table.n_rows)
        rows = EncodedRows(table, self.model_.bins)
        losses = self.model_.forest.losses(rows, classes, STEPS, n_threads)
        return PairLosses.of(losses, self.n_estimators_, len(self.classes_), n_threads=n_threads)

    def _set_weights(self, weights: Floats) -> None:
        self.model_ = replace(self.model_, weights=weights)

    @supports_dask
    def predict_proba(self, X: Any) -> Floats:
        """Return the mean over the trees of the class fractions in the leaf of every row.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return self._means(X)
