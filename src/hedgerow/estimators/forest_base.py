"""What the four forests share: reading, drawing, growing, out-of-bag answers."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.bagging.forest import (
    DeepOptions,
    DeepTarget,
    ForestModel,
    TreeSampler,
    TreeTask,
    at_hand,
    bin_rows,
    grow_forest,
)
from hedgerow.binning import BinnedTable
from hedgerow.boosting.loop import FitOptions
from hedgerow.dtypes import MAX_BINS
from hedgerow.estimators import elsewhere, inputs, parameters
from hedgerow.estimators.bin_edges import given_edges
from hedgerow.estimators.checkpoints import Fit, run_fit
from hedgerow.estimators.constraints import monotonic_directions
from hedgerow.estimators.fingerprints import DataFingerprint, DataFingerprintMixin
from hedgerow.estimators.forest_sizes import columns_per_node, share_of
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.out_of_bag import OutOfBag
from hedgerow.estimators.parameters import Allowed, check_parameters, flag, nothing, one_of, real, whole
from hedgerow.growing.deep import DeepGrower
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
from hedgerow.threads import Team, resolve_n_jobs
from hedgerow.voting import VoteForest, VotingTree

Target = inputs.Labels | inputs.Numbers

_SHARE = Allowed(
    lambda v: not isinstance(v, int | np.integer) and real(0, 1, above=True).test(v),
    real(0, 1, above=True).description,
)  # the integer 1 is a number of rows, and too few to split

ALLOWED: dict[str, Allowed] = {
    "n_estimators": whole(1),
    "max_depth": whole(1) | nothing(),
    "min_samples_split": whole(2) | _SHARE,
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


class Forest(DataFingerprintMixin, OutOfBag, BaseEstimator):  # type: ignore[misc]
    """Everything but the constructor, the target and what the trees' means are."""

    _allowed: ClassVar[dict[str, Allowed]] = {}
    _random_cuts: ClassVar[bool] = False
    _oob_names: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_votes_")

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Keep the arguments of the constructor, its `locals()`, under their names."""
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # --- what the kinds say

    def _read_y(self, y: Any, n_rows: int) -> tuple[Target, Floats]:
        """How targets are read, and the targets: (n,), or (n, outputs) when there are several."""
        raise TypeError(f"{type(self).__name__} does not say how to read its target")

    def _deep_target(
        self, y: Floats, target: Target, sampling: TreeSampler, weight: Floats | None
    ) -> DeepTarget:
        """Targets as integers; `weight` has what sampling does not take into account."""
        raise TypeError(f"{type(self).__name__} does not say what its trees learn")

    def _keep_oob(self, means: Floats, known: NDArray[np.bool_]) -> tuple[NDArray[Any], Any]:
        """Keep the means (rows, outputs); returns predictions of the `known` rows and the default score."""
        raise TypeError(f"{type(self).__name__} does not say what its trees answer")

    def _own_weight(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        """What a row weighs in the trees that it is in: its sample weight, unless it is drawn by that."""
        return None if self.bootstrap or weight is None or is_whole(weight) else weight

    # --- fitting

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None, target: Any = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Missing values (NaN, None, null) are allowed and take the direction that fits best.
            Or a table larger than memory: a path or glob of Parquet or Arrow files, a pyarrow Dataset, a
            function that gives record batches, a `hedgerow.streams.Stream`, or a Dask collection.
        y : array of shape (n_samples,)
            Labels (strings, whole numbers or booleans), or numbers within ±1e100, for regressors also
            (n_samples, n_outputs).
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. With ``bootstrap=True`` rows are drawn in proportion to their weights, else the
            weights count in splits and leaves. Whole numbers act exactly as that many copies of the rows,
            zero as no row: a tree draws as many rows as there are copies, so that few are left out of its
            bag. Weights that are not all whole, or stand for more than 16 copies a row, are proportions
            only, and a tree draws as many rows as there are.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that keeps the trees so far, every minute unless a `Checkpoint` says otherwise. If it is
            there, the fit goes on from it: the model is the same as without a stop, to the last bit.
        target : str, optional
            Where X is in files, the column that is learned; y is then left out.

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
            self._tell_unknown("tree")
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, under_way: Fit) -> None:
        before = self._fitted_before()
        name = type(self).__name__
        known: dict[str, Any] = (
            {"schema": self.schema_} if before else {"categorical_features": self.categorical_features}
        )
        require_input_memory(X, name)
        table, y, sample_weight = elsewhere.read_rows(X, y, sample_weight, under_way, name, **known)
        target, numbers = self._read_y(y, table.n_rows)
        self._require_memory(table, target.n_classes, 1 if numbers.ndim == 1 else numbers.shape[1])
        weight = inputs.read_weights(sample_weight, table.n_rows)
        directions = monotonic_directions(self.monotonic_cst, table.schema)
        self._check_directions(directions, target, numbers)
        seed = self._seed if before else inputs.read_seed(self.random_state)
        own = self._own_weight(numbers, target, weight)
        trained_on = DataFingerprint.of_table(table, numbers, weight, resolve_n_jobs(self.n_jobs))
        under_way.compare(trained_on)
        with Team(resolve_n_jobs(self.n_jobs)) as team:
            given = given_edges(self.bin_edges, table.schema, self.max_bins)
            binned = bin_rows(table, weight, self.max_bins, team, given)
            sampling = TreeSampler.of(
                binned, numbers, weight,
                replace=bool(self.bootstrap), n_draws=self._n_draws, seed=seed, team=team,
            )  # fmt: skip
            lesson = self._lesson(binned, numbers, target, sampling, own, directions, seed)
            if before:
                self._check_same(binned, sampling)

            def keep(model: Self, trees: list[VotingTree]) -> None:
                forest = self._forest(before, trees, n_pure)
                model._keep(ForestModel(binned.bins, forest), sampling, table.schema, target, seed)
                model._keep_more(trees, numbers, weight, n_before=forest.n_trees - len(trees))
                model._remember(table, numbers, weight)
                model._add_data_fingerprint(trained_on, warm_start=before is not None)

            deep = lesson.grower.target
            n_pure = deep.n_outputs if deep.is_classes else 0
            under_way.set_by(keep)
            n_before = before.n_trees if before else 0
            trees = grow_forest(lesson, n_before, self._plan(team.n_members, under_way.checkpointer), table)
            del lesson, deep  # as large as the table
            in_bag = sampling.in_bag(n_before + len(trees), team) if self.oob_score else None
        old = vars(self).copy()
        try:
            under_way.set(self, trees)
            if in_bag is not None:
                self._set_oob(at_hand(table, binned), numbers, in_bag, weight)
        except BaseException:  # a score of the user's own may fail: the old model stays whole
            self.__dict__ = old
            raise

    def _plan(self, n_threads: int, checkpointer: Any) -> FitOptions:
        return FitOptions(
            checkpointer=checkpointer,
            n_rounds=int(self.n_estimators),
            n_threads=n_threads,
            verbose=int(self.verbose),
            title=type(self).__name__,
        )

    def _forest(self, before: VoteForest | None, trees: list[VotingTree], n_pure: int) -> VoteForest:
        if before is not None and not trees:
            return before
        grown = VoteForest.of(trees, n_pure)
        return grown if before is None else VoteForest.join(before, grown)

    def _lesson(
        self,
        binned: BinnedTable,
        y: Floats,
        target: Target,
        sampling: TreeSampler,
        own: Floats | None,
        directions: NDArray[np.int8],
        seed: int,
    ) -> TreeTask:
        deep = self._deep_target(y, target, sampling, own)
        n_draws = sampling.draws.n_draws
        rules = DeepOptions(
            criterion=self._criterion(),
            max_depth=self.max_depth,
            max_leaves=self.max_leaf_nodes,
            min_split=max(2, share_of(self.min_samples_split, n_draws)),
            min_leaf=share_of(self.min_samples_leaf, n_draws),
            min_weight_fraction=float(self.min_weight_fraction_leaf),
            min_gain=float(self.min_impurity_decrease),
            columns_per_node=columns_per_node(self.max_features, binned.n_columns),
            random_cuts=self._random_cuts,
        )
        grower = DeepGrower(
            binned, deep, rules, directions, n_draws, seed,
            class_factors=self._balances_trees(), keep_rows=self._keeps_rows(deep),
        )  # fmt: skip
        return TreeTask(grower, sampling, self._balances_trees())

    def _criterion(self) -> str:
        return str(self.criterion)

    def _balances_trees(self) -> bool:
        """Whether classes are weighed anew for every tree."""
        return False

    def _keeps_rows(self, target: DeepTarget) -> bool:
        """Whether the rows of the leaves are wanted."""
        return False

    def _keep_more(self, trees: list[VotingTree], y: Floats, weight: Floats | None, n_before: int) -> None:
        """Keep what else is wanted of the new trees."""

    def _remember(self, table: Table, y: Floats, weight: Floats | None) -> None:
        """Keep what is needed to know the rows again."""

    # --- checks

    def _check_sampling(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError(
                f"max_samples={self.max_samples} is not allowed with bootstrap=False, where every tree gets "
                "all rows: it must be None"
            )
        if not self.bootstrap and self.oob_score:
            raise ValueError(
                f"oob_score={self.oob_score!r} needs rows that trees do not learn from: it must be False "
                "with bootstrap=False"
            )

    def _check_directions(self, directions: NDArray[np.int8], target: Target, y: Floats) -> None:
        if not directions.size:
            return
        n = target.n_classes
        if n is not None and n > 2:
            raise ValueError(f"monotonic_cst is not allowed with {n} classes: there must be two")
        if y.ndim > 1:
            raise ValueError(f"monotonic_cst is not allowed with {y.shape[1]} outputs: there must be one")

    def _fitted_before(self) -> VoteForest | None:
        """The forest to go on from, with warm_start."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        forest: VoteForest = self.model_.forest
        if self.model_.weights is not None:
            raise ValueError(
                "warm_start=True cannot go on from a forest whose trees have been given weights of their "
                "own; set warm_start=False to begin anew"
            )
        if self.n_estimators < forest.n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {forest.n_trees} trees of the fitted model; "
                "with warm_start=True it must be at least as many"
            )
        return forest

    def _check_same(self, binned: BinnedTable, sampling: TreeSampler) -> None:
        bins, old = binned.bins, self.model_.bins
        same_bins = all(
            np.array_equal(getattr(bins, name), getattr(old, name))
            for name in ("edges", "edge_starts", "tables", "table_starts", "given")
        )
        same_rows = sampling.draws.same_as(self._tree_sampler.draws)
        if not (same_bins and same_rows and np.array_equal(sampling.copies, self._tree_sampler.copies)):
            raise ValueError(
                "warm_start=True goes on with the same X, y and sample_weight and with the same max_samples, "
                "bootstrap, max_bins and bin_edges; something of these has changed since the last fit. Set "
                "warm_start=False to begin anew"
            )

    def _n_draws(self, size: int) -> int:
        """Rows a tree draws, of so many."""
        if self.max_samples is None:
            return size
        if isinstance(self.max_samples, int | np.integer) and self.max_samples > size:
            raise ValueError(
                f"max_samples={self.max_samples} is not allowed: it must be at most {size}, the number of "
                "rows"
            )
        return share_of(self.max_samples, size, round_up=False)

    def _require_memory(self, table: Table, n_classes: int | None, n_outputs: int) -> None:
        """Refuse a forest that needs more memory than there is; n_classes : None for regression."""
        size = FitSize.of(
            table, type(self).__name__, n_outputs=n_classes or n_outputs,
            n_threads=resolve_n_jobs(self.n_jobs), n_rounds=int(self.n_estimators),
        )  # fmt: skip
        n_draws = min(size.n_rows, share_of(self.max_samples or 1.0, size.n_rows, round_up=False))
        n_draws = n_draws if self.bootstrap else size.n_rows
        n_drawn = distinct_rows(size.n_rows, n_draws, replace=bool(self.bootstrap))
        min_leaf = share_of(self.min_samples_leaf, n_draws)
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

    # --- what a fit leaves

    def _keep(
        self, model: ForestModel, sampling: TreeSampler, schema: Schema, target: Target, seed: int
    ) -> None:
        """Set the fitted attributes, all at the end: a fit that fails leaves the old model whole."""
        self.model_, self._tree_sampler, self.schema_, self._seed = model, sampling, schema, seed
        self.n_features_in_, self.n_estimators_ = schema.n_columns, model.forest.n_trees
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if target.classes is not None:
            self.classes_, self.n_classes_ = target.classes, len(target.classes)
        for name in self._oob_names:
            if hasattr(self, name):
                delattr(self, name)

    def _set_oob(self, table: Table, y: Floats, in_bag: NDArray[np.uint8], weight: Floats | None) -> None:
        forest, bins = self.model_.forest, self.model_.bins
        sums, self.oob_votes_ = forest.left_out_votes(table, bins, in_bag, resolve_n_jobs(self.n_jobs))
        known = self.oob_votes_ > 0
        means = np.full_like(sums, np.nan)
        np.divide(sums, self.oob_votes_[:, np.newaxis], out=means, where=known[:, np.newaxis])
        predicted, score = self._keep_oob(means, known)
        self._score_oob(self._said(y), predicted, weight, score)

    def _said(self, y: Floats) -> NDArray[Any]:
        """Targets as the user gave them."""
        return y

    # --- after fitting

    def _read(self, X: Any) -> Table:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        elsewhere.refuse_elsewhere(X, f"this method of {type(self).__name__}")
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    def _means(self, X: Any) -> Floats:
        """Mean of what the trees say, (rows, outputs)."""
        joined = elsewhere.in_pieces(self, X, self._means)
        if joined is not None:
            return joined
        table = self._read(X)
        require_prediction_memory(type(self).__name__, table.n_rows, self.model_.forest.n_outputs)
        means: Floats = self.model_.means(table, resolve_n_jobs(self.n_jobs))
        return means

    @lazily
    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf of every row in every tree, as its number among the nodes of the tree.

        Rows that often come to the same leaves are alike: the share of trees in which they do is their
        proximity.

        Returns
        -------
        int64 array of shape (n_samples, n_estimators)
        """
        table = self._read(X)
        require_prediction_memory(type(self).__name__, table.n_rows, self.model_.forest.n_trees)
        leaves: NDArray[np.int64] = self.model_.forest.leaves(
            table, self.model_.bins, resolve_n_jobs(self.n_jobs)
        )
        return leaves

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the fall of impurity, its mean over the trees.

        Columns with many values get more of it than they deserve, and it is measured on the training rows:
        `sklearn.inspection.permutation_importance` has neither fault, and takes these estimators.
        """
        check_is_fitted(self, "model_")
        importances: Floats = self.model_.forest.importances()
        return importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags
