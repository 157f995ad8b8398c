"""ForestBase: the base of random forests and extremely randomised trees, for classes and for numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.forest import FittedForest, ForestOptions, fit_forest, rounded_up
from hedgerow.bagging.pair_losses import STEPS, Losses, PairLosses
from hedgerow.boosting.loop import FitOptions
from hedgerow.dtypes import MAX_BINS
from hedgerow.estimators import elsewhere, inputs, parameters
from hedgerow.estimators.bin_edges import given_edges
from hedgerow.estimators.checkpoints import Fit, run_fit
from hedgerow.estimators.constraints import monotonic_directions
from hedgerow.estimators.fingerprints import DataFingerprint, DataFingerprintMixin
from hedgerow.estimators.forest_quantiles import ForestQuantiles
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.out_of_bag import OutOfBag, doubts_about
from hedgerow.estimators.parameters import Allowed, check_parameters, flag, nothing, one_of, real, whole
from hedgerow.estimators.reweighting import Reweighted
from hedgerow.estimators.scoring import Classifies, Regresses
from hedgerow.growing.statistics import is_whole
from hedgerow.memory_estimates import (
    FitSize,
    distinct_rows,
    estimate_forest,
    forest_tree_leaves,
    require_input_memory,
    require_prediction_memory,
)
from hedgerow.table import Schema, Table, read_table
from hedgerow.table.dataset import Dataset
from hedgerow.threads import resolve_n_jobs
from hedgerow.voting import CodedRows, EncodedRows

Target = inputs.Labels | inputs.Numbers

_FRACTION = Allowed(
    lambda v: not isinstance(v, int | np.integer) and real(0, 1, above=True).test(v),
    real(0, 1, above=True).description,
)  # the integer 1 is a number of rows, and too few to split

ALLOWED: dict[str, Allowed] = {
    "n_estimators": whole(1),
    "max_depth": whole(1) | nothing(),
    "min_samples_split": whole(2) | _FRACTION,
    "min_samples_leaf": whole(1) | real(0, 1, above=True, below=True),
    "min_weight_fraction_leaf": real(0, 0.5),
    "max_features": whole(1) | real(0, 1, above=True) | one_of("sqrt", "log2") | nothing(),
    "max_leaf_nodes": whole(2) | nothing(),
    "min_impurity_decrease": real(0),
    "bootstrap": flag(),
    "oob_score": flag() | Allowed(callable, "a function of (y, predicted)"),
    "n_jobs": parameters.threads() | nothing(),
    "random_state": parameters.seed() | nothing(),
    "verbose": whole(0) | flag(),
    "warm_start": flag(),
    "max_samples": whole(1) | real(0, 1, above=True) | nothing(),
    "monotonic_cst": parameters.directions() | nothing(),
    "max_bins": whole(2, MAX_BINS),
    "bin_edges": parameters.edges() | nothing(),
}


@dataclass(eq=False)
class _Input:
    """The validated input of a fit."""

    train: Dataset
    target: Target
    fingerprint: DataFingerprint
    seed: int
    previous: FittedForest | None


class ForestBase(DataFingerprintMixin, OutOfBag, BaseEstimator):  # type: ignore[misc]
    """Fit, out-of-bag predictions and means of the trees; subclasses define the target."""

    _allowed: ClassVar[dict[str, Allowed]] = {}
    _random_cuts: ClassVar[bool] = False
    _oob_names: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_votes_")

    def _set_parameters(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of the constructor, its `locals()`, under their names."""
        for name, value in arguments.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # --- defined by subclasses

    def _read_y(self, y: Any, n_rows: int) -> tuple[Target, Floats]:
        raise NotImplementedError

    def _tree_weight(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        """Weights of rows within a tree: sample weights, unless rows are drawn by weight."""
        return None if self.bootstrap or weight is None or is_whole(weight) else weight

    def _set_out_of_bag(self, fitted: FittedForest, means: Floats, data: _Input) -> None:
        """Set the out-of-bag attributes from mean predictions (rows, outputs)."""
        raise NotImplementedError

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
            the weights count in splits and leaves. Integers act exactly as that many copies of the rows, zero
            as no row: a tree draws as many rows as there are copies, so that few are out of its bag. Weights
            that are not all integers, or stand for more than 16 copies per row, are proportions only, and a
            tree draws as many rows as there are.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that stores the trees so far, every minute unless a `Checkpoint` says otherwise. If it
            exists, the fit resumes from it: the model is the same as without interruption, bit for bit.
        target : str, optional
            Name of the target column if X is in files; y is then left out.

        Returns
        -------
        self
        """
        check_parameters(self.get_params(deep=False), self._allowed)
        self._check_sampling()
        rows = elsewhere.given(X, y, sample_weight, target, n_jobs=self.n_jobs, verbose=int(self.verbose))
        with elsewhere.let_go_of(rows[0]):
            run_fit(self, checkpoint, lambda model, under_way: model._fit(*rows, under_way))  # noqa: SLF001
        if self.oob_score:
            self._warn_without_votes("tree")
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, under_way: Fit) -> None:
        data = self._validate(X, y, sample_weight, under_way)
        under_way.set_by(lambda model, fitted: model._set_fitted(fitted, data))  # noqa: SLF001
        fitted, old = self._run(data, under_way.checkpointer), vars(self).copy()
        try:
            self._set_fitted(fitted, data)
            if fitted.rows is not None:
                self._compute_out_of_bag(fitted, data)
        except BaseException:  # the user's oob_score may fail: restore the old model
            self.__dict__ = old
            raise

    def _validate(self, X: Any, y: Any, sample_weight: Any, under_way: Fit) -> _Input:
        previous, name = self._previous(), type(self).__name__
        known: dict[str, Any] = (
            {"categorical_features": self.categorical_features}
            if previous is None
            else {"schema": self.schema_}
        )
        require_input_memory(X, name)
        table, y, sample_weight = elsewhere.read_rows(X, y, sample_weight, under_way, name, **known)
        target, numbers = self._read_y(y, table.n_rows)
        self._require_memory(table, target.n_classes, 1 if numbers.ndim == 1 else numbers.shape[1])
        weight = inputs.read_weights(sample_weight, table.n_rows)
        fingerprint = DataFingerprint.of_table(table, numbers, weight, resolve_n_jobs(self.n_jobs))
        under_way.compare(fingerprint)
        seed = inputs.read_seed(self.random_state) if previous is None else self._seed
        return _Input(Dataset(X, table, numbers, weight), target, fingerprint, seed, previous)

    def _run(self, data: _Input, checkpointer: Any) -> FittedForest:
        train = data.train
        run = FitOptions(
            checkpointer=checkpointer,
            n_rounds=int(self.n_estimators),
            seed=data.seed,
            n_threads=resolve_n_jobs(self.n_jobs),
            verbose=int(self.verbose),
            title=type(self).__name__,
        )
        tree_weight = self._tree_weight(train.y, data.target, train.sample_weight)
        return fit_forest(train, tree_weight, self._options(data), run, data.previous)

    def _options(self, data: _Input) -> ForestOptions:
        schema, n_classes = data.train.table.schema, data.target.n_classes
        return ForestOptions(
            n_classes=n_classes,
            criterion="entropy" if self.criterion == "log_loss" else str(self.criterion),
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_features=self.max_features,
            random_cuts=self._random_cuts,
            bootstrap=bool(self.bootstrap),
            max_samples=self.max_samples,
            max_bins=self.max_bins,
            edges=None if self.bin_edges is None else given_edges(self.bin_edges, schema, self.max_bins),
            directions=self._directions(schema, n_classes, data.train.y),
            balance_trees=self._balances_trees(),
            keep_targets=bool(getattr(self, "keep_targets", False)),
            out_of_bag=bool(self.oob_score),
        )

    def _balances_trees(self) -> bool:
        """Whether class weights are computed for every tree."""
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
        """The forest that a warm start adds trees to."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        if self.model_.weights is not None:
            raise ValueError(
                "warm_start=True cannot add trees to a forest whose trees have weights of their own; set "
                "warm_start=False to start again"
            )
        n_trees = self.model_.forest.n_trees
        if self.n_estimators < n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {n_trees} trees of the fitted model; with "
                "warm_start=True it must be at least as many"
            )
        return FittedForest(self.model_, self._tree_sampler, getattr(self, "_leaf_targets", None))

    def _require_memory(self, table: Table, n_classes: int | None, n_outputs: int) -> None:
        """Refuse a forest that needs more memory than is available; n_classes is None for regression."""
        size = FitSize.of(
            table, type(self).__name__, n_outputs=n_classes or n_outputs,
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
            n_leaves=forest_tree_leaves(n_drawn, min_leaf, self.max_leaf_nodes, self.max_depth),
            classes=n_classes is not None,
            oob=bool(self.oob_score),
            keep_rows=bool(getattr(self, "keep_targets", False)),
        )
        advice = "use fewer rows, columns or trees, or smaller ones (min_samples_leaf, max_leaf_nodes)"
        size.require(estimate, advice=advice)

    # --- fitted attributes

    def _set_fitted(self, fitted: FittedForest, data: _Input) -> None:
        self._set_forest(fitted, data.train.table.schema, data.target.classes)
        self._add_data_fingerprint(data.fingerprint, warm_start=data.previous is not None)

    def _set_forest(self, fitted: FittedForest, schema: Schema, classes: NDArray[Any] | None) -> None:
        """Set the attributes of the model; out-of-bag attributes of an earlier fit are removed."""
        self.model_, self._tree_sampler, self.schema_ = fitted.model, fitted.sampler, schema
        self._seed = fitted.sampler.draws.seed
        self.n_features_in_, self.n_estimators_ = schema.n_columns, fitted.model.forest.n_trees
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if classes is not None:
            self.classes_, self.n_classes_ = classes, len(classes)
        for name in self._oob_names:
            if hasattr(self, name):
                delattr(self, name)

    def _compute_out_of_bag(self, fitted: FittedForest, data: _Input) -> None:
        assert fitted.rows is not None  # noqa: S101 - checked by the caller
        assert fitted.in_bag is not None  # noqa: S101
        n_threads = resolve_n_jobs(self.n_jobs)
        sums, self.oob_votes_ = fitted.model.forest.out_of_bag_votes(fitted.rows, fitted.in_bag, n_threads)
        means, has_votes = np.full_like(sums, np.nan), (self.oob_votes_ > 0)[:, np.newaxis]
        np.divide(sums, self.oob_votes_[:, np.newaxis], out=means, where=has_votes)
        self._set_out_of_bag(fitted, means, data)

    # --- predictions

    def _read(self, X: Any) -> Table:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        elsewhere.refuse_elsewhere(X, f"this method of {type(self).__name__}")
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    def _means(self, X: Any) -> Floats:
        """Mean predictions (rows, outputs) of the trees."""
        joined = elsewhere.in_pieces(self, X, self._means)
        if joined is not None:
            return joined
        table = self._read(X)
        require_prediction_memory(type(self).__name__, table.n_rows, self.model_.forest.n_outputs)
        means: Floats = self.model_.means(table, resolve_n_jobs(self.n_jobs))
        return means

    @lazily
    def apply(self, X: Any) -> Integers:
        """Leaf of every row in every tree, as its number among the nodes of the tree.

        The proximity of two rows is the share of trees in which they are in the same leaf.

        Returns
        -------
        int64 array of shape (n_samples, n_estimators)
        """
        table, model = self._read(X), self.model_
        require_prediction_memory(type(self).__name__, table.n_rows, model.forest.n_trees)
        leaves: Integers = model.forest.leaf_ids(EncodedRows(table, model.bins), resolve_n_jobs(self.n_jobs))
        return leaves

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the decrease of impurity, averaged over the trees.

        It is biased towards columns with many values, and measured on the training rows:
        `sklearn.inspection.permutation_importance` has neither fault and accepts these estimators.
        """
        check_is_fitted(self, "model_")
        importances: Floats = self.model_.forest.importances()
        return importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class ForestClassifier(Classifies, Reweighted, ForestBase):
    """Base of the forests for classes, of one output."""

    classes_: NDArray[Any]
    _doubts: tuple[str, ...] = ()  # why out-of-bag rows may not be like new ones
    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "criterion": one_of("gini", "entropy", "log_loss"),
        "class_weight": nothing() | one_of("balanced", "balanced_subsample") | parameters.class_weights(),
    }
    _oob_names: ClassVar[tuple[str, ...]] = (
        *("oob_score_", "oob_votes_", "oob_decision_function_"),
        *("oob_losses_", "vote_losses_"),
    )

    def _read_y(self, y: Any, n_rows: int) -> tuple[Target, Floats]:
        raw = inputs.read_target(y, n_rows, type(self).__name__)
        is_warm = self.warm_start and hasattr(self, "model_")
        target = inputs.Labels(self.classes_) if is_warm else inputs.Labels.of(raw)
        return target, target.encode(raw)

    def _tree_weight(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        own = super()._tree_weight(y, target, weight)
        if self.class_weight is None or self._balances_trees():
            return own
        assert target.classes is not None  # noqa: S101 - labels have classes
        inputs.weigh_classes(self.class_weight, y, target.classes, weight)  # refuses zero weights only
        factors = inputs.class_factors(self.class_weight, y, target.classes, weight)[y.astype(np.int64)]
        return factors if own is None else factors * own

    def _set_fitted(self, fitted: FittedForest, data: _Input) -> None:
        super()._set_fitted(fitted, data)
        train = data.train
        self.row_fingerprints_ = self._row_fingerprints(
            train.table, train.y, len(self.classes_), train.sample_weight
        )
        self.grid_hashes_ = getattr(self.bin_edges, "hashes", None)
        before = self._doubts if self.warm_start else ()
        self._doubts = doubts_about(train.sample_weight, self.class_weight, before)

    def _set_out_of_bag(self, fitted: FittedForest, means: Floats, data: _Input) -> None:
        from sklearn.metrics import accuracy_score  # noqa: PLC0415 - loads 0.05 s of modules

        assert fitted.rows is not None  # noqa: S101 - there are out-of-bag rows
        classes, has_votes = data.train.y.astype(np.int64), self.oob_votes_ > 0
        self.oob_decision_function_ = means
        predicted = self.classes_[np.argmax(means[has_votes], axis=1)]
        self._score_out_of_bag(self.classes_[classes], predicted, data.train.sample_weight, accuracy_score)
        losses = self._losses(fitted.rows, classes, fitted.in_bag)
        n_threads = resolve_n_jobs(self.n_jobs)
        self.oob_losses_ = PairLosses.of(
            losses, self.n_estimators_, len(self.classes_), self._doubts, n_threads
        )

    def _losses(
        self, rows: CodedRows, classes: Integers, in_bag: NDArray[np.uint8] | None = None
    ) -> Iterator[Losses]:
        n_threads = resolve_n_jobs(self.n_jobs)
        losses: Iterator[Losses] = self.model_.forest.losses(rows, classes, STEPS, n_threads, in_bag)
        return losses

    def vote_losses(self, X: Any, y: Any) -> PairLosses:
        """Losses of the trees on new rows, one by one and in pairs.

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
        losses = self._losses(EncodedRows(table, self.model_.bins), classes)
        return PairLosses.of(losses, self.n_estimators_, len(self.classes_), n_threads=n_threads)

    @property
    def estimator_weights_(self) -> Floats:
        """Weight of every tree in the vote: equal for all, unless `reweighted` has changed it."""
        check_is_fitted(self, "model_")
        n_trees, weights = self.model_.forest.n_trees, self.model_.weights
        return np.full(n_trees, 1.0 / n_trees) if weights is None else weights.copy()

    def _set_weights(self, weights: Floats) -> None:
        self.model_ = replace(self.model_, weights=weights)

    @lazily
    def predict_proba(self, X: Any) -> Floats:
        """Mean over the trees of the class shares in the leaf of every row.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return self._means(X)

    @lazily
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @lazily
    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of every row; the first one of equal classes.

        Returns
        -------
        array of shape (n_samples,)
        """
        means = self._means(X)
        labels: NDArray[Any] = self.classes_[np.argmax(means, axis=1)]
        return labels


class ForestRegressor(Regresses, ForestQuantiles, ForestBase):
    """Base of the forests for numbers, of one or several outputs."""

    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "criterion": one_of("squared_error", "poisson"),
        "keep_targets": flag(),
    }
    _oob_names: ClassVar[tuple[str, ...]] = (
        *("oob_score_", "oob_votes_", "oob_prediction_"),
        *("_residuals", "_residual_weight", "_ranks"),
    )

    def _read_y(self, y: Any, n_rows: int) -> tuple[Target, Floats]:
        target = inputs.Numbers()
        numbers = target.encode(inputs.read_target(y, n_rows, type(self).__name__, multi_output=True))
        if self.criterion == "poisson":
            bad = np.flatnonzero((numbers.reshape(n_rows, -1) < 0).any(axis=1))
            if bad.size:
                raise ValueError(
                    f"y[{bad[0]}] is {numbers[bad[0]]}, which criterion='poisson' does not allow: it must "
                    "be >= 0"
                )
        return target, numbers

    def _set_forest(self, fitted: FittedForest, schema: Schema, classes: NDArray[Any] | None) -> None:
        super()._set_forest(fitted, schema, classes)
        self.n_outputs_, self._leaf_targets = fitted.model.forest.n_outputs, fitted.leaf_targets

    def _set_out_of_bag(self, fitted: FittedForest, means: Floats, data: _Input) -> None:
        from sklearn.metrics import r2_score  # noqa: PLC0415 - loads 0.05 s of modules

        y, weight = data.train.y, data.train.sample_weight
        self.oob_prediction_ = means[:, 0] if means.shape[1] == 1 else means
        self._score_out_of_bag(y, self.oob_prediction_[self.oob_votes_ > 0], weight, r2_score)
        if self.n_outputs_ > 1:
            return
        y = y.ravel()
        self._residuals, self._residual_weight = y - self.oob_prediction_, weight
        if self._leaf_targets is not None:
            assert fitted.rows is not None  # noqa: S101 - there are out-of-bag rows
            assert fitted.in_bag is not None  # noqa: S101
            forest, n_threads = fitted.model.forest, resolve_n_jobs(self.n_jobs)
            self._ranks = self._leaf_targets.ranks(forest, fitted.rows, fitted.in_bag, y, n_threads)

    @lazily
    def predict(self, X: Any) -> Floats:
        """Mean over the trees of the mean target in the leaf of every row.

        Returns
        -------
        float64 array of shape (n_samples,) or (n_samples, n_outputs)
        """
        means = self._means(X)
        return means[:, 0] if means.shape[1] == 1 else means

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags
