"""What bagging for classes and for numbers share: reading, drawing, fitting and asking the members."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.members import FittedMembers, JobRunner, MemberTask, Voting, fit_members
from hedgerow.bagging.pair_losses import Losses
from hedgerow.bagging.raw_table import RawTable, row_keys
from hedgerow.bagging.sampling import BootstrapSampler, SamplingPool
from hedgerow.boosting.loop import FitOptions
from hedgerow.estimators import inputs, parameters
from hedgerow.estimators.bin_edges import by_position
from hedgerow.estimators.checkpoints import Fit, run_fit
from hedgerow.estimators.decision_trees import WeakTreeEstimator
from hedgerow.estimators.elsewhere import refuse_elsewhere
from hedgerow.estimators.fingerprints import DataFingerprint, DataFingerprintMixin
from hedgerow.estimators.out_of_bag import OutOfBag
from hedgerow.estimators.parameters import Allowed, check_parameters, flag, nothing, real, whole
from hedgerow.memory_estimates import (
    FitSize,
    estimate_bagging,
    require_input_memory,
    require_prediction_memory,
)

ALLOWED: dict[str, Allowed] = {
    "n_estimators": whole(1),
    "max_samples": whole(1) | real(0, 1, above=True),
    "max_features": whole(1) | real(0, 1, above=True),
    "bootstrap": flag(),
    "bootstrap_features": flag(),
    "oob_score": flag() | Allowed(callable, "a function of (y, predicted)"),
    "warm_start": flag(),
    "n_jobs": parameters.threads() | nothing(),
    "random_state": parameters.seed() | nothing(),
    "verbose": whole(0) | flag(),
}


class Bagging(DataFingerprintMixin, OutOfBag, BaseEstimator):  # type: ignore[misc]
    """Everything but the constructor, the target and what the members' answers mean."""

    _allowed: ClassVar[dict[str, Allowed]] = {}
    _oob_names: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_votes_")
    _weights: Floats | None = None
    _soft: bool = False

    # --- what the two say

    def _learner(self) -> Any:
        """The estimator, or the one that stands for None."""
        raise TypeError(f"{type(self).__name__} does not say what it bags")

    def _target(self, y: NDArray[Any]) -> inputs.Labels | inputs.Numbers:
        raise TypeError(f"{type(self).__name__} does not say how to read its target")

    def _voting(self) -> Voting:
        raise TypeError(f"{type(self).__name__} does not say how its members are asked")

    def _keep_oob(self, means: Floats, known: NDArray[np.bool_]) -> tuple[NDArray[Any], Any]:
        """Keep the means (outputs, rows); returns predictions of the `known` rows and the default score."""
        raise TypeError(f"{type(self).__name__} does not say what its members answer")

    # --- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
        target: str | None = None,
    ) -> Self:
        """Fit the members, each to a sample of its own.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The members are given rows and columns of it as it is: parts of a data frame are data frames.
        y : array of shape (n_samples,)
            Labels (strings, whole numbers or booleans), or numbers within ±1e100.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100.
            With ``bootstrap=True`` rows are drawn in proportion to their weights: a whole number acts exactly
            as that many copies of the row (but see `max_samples`), zero as no row. With ``bootstrap=False``
            the weights of the sampled rows are handed to the members, which must take them.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that keeps the members so far, every minute unless a `Checkpoint` says otherwise. If it is
            there, the fit goes on from it: the model is the same as without a stop, to the last bit.
        target : None
            For tables elsewhere, which members cannot be given: X must be in memory.

        Returns
        -------
        self
        """
        check_parameters(self.get_params(deep=False), self._allowed)
        refuse_elsewhere(X, type(self).__name__, target)
        run_fit(
            self,
            checkpoint,
            lambda model, under_way: model._fit(X, y, sample_weight, under_way),  # noqa: SLF001
        )
        if self.oob_score:
            self._warn_without_votes("member")
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, under_way: Fit) -> None:
        name = type(self).__name__
        require_input_memory(X, name, encoded=False)
        under_way.compare_names(X, y)
        table = RawTable.of(X, name)
        raw_y = inputs.read_target(y, table.shape[0], name)
        before = self._fitted_members()
        target = self._fitted_target() if before else self._target(raw_y)
        numbers = target.encode(raw_y)
        weight = inputs.read_weights(sample_weight, table.shape[0])
        trained_on = DataFingerprint.of(row_keys(table), table.shape[1], numbers, weight)
        under_way.compare(trained_on)
        draws = self._make_sampler(table, numbers, weight, more=bool(before))
        self._require_memory(table, target.n_classes, draws)
        self._refuse_unseen(table, draws)
        given = numbers if target.classes is None else target.classes[numbers.astype(np.int64)]
        task = MemberTask(
            self._learner(),
            table.as_matrix() if self.bootstrap_features else table,
            given,
            None if self.bootstrap else weight,
            draws,
            target.classes is not None,
        )

        def keep(model: Self, members: list[Any]) -> None:
            model._keep(members, draws, table, target)
            model._remember(table, numbers, weight)
            model._add_data_fingerprint(trained_on, warm_start=bool(before))

        under_way.set_by(keep)
        plan = FitOptions(
            n_rounds=int(self.n_estimators),
            verbose=int(self.verbose),
            title=name,
            checkpointer=under_way.checkpointer,
        )
        members, old = fit_members(task, before, plan, self._runner()), vars(self).copy()
        try:
            under_way.set(self, members)
            if self.oob_score:
                self._set_oob(task, numbers, weight)
        except BaseException:  # a score of the user's own may fail: the old model stays whole
            self.__dict__ = old
            raise

    def _require_memory(self, table: RawTable, n_classes: int | None, draws: BootstrapSampler) -> None:
        n_jobs, (n_rows, n_columns) = self._runner().n_concurrent, table.shape
        stored = getattr(table.X, "nnz", None)  # values of a sparse matrix; an index beside each
        share = 1.0 if stored is None else min(1.0, 2.0 * stored / max(1, n_rows * n_columns))
        size = FitSize(
            name=type(self).__name__, n_rows=n_rows, n_columns=n_columns, n_outputs=n_classes or 1,
            n_rounds=int(self.n_estimators),
        )  # fmt: skip
        bags = estimate_bagging(
            size,
            n_drawn=draws.n_draws,
            n_chosen=max(1, round(draws.n_chosen * share)),
            n_jobs=n_jobs,
            item_bytes=int(getattr(getattr(table.X, "dtype", None), "itemsize", 8)),
            oob=bool(self.oob_score),
        )
        members: list[dict[str, int]] = []
        learner = self._learner()
        if isinstance(learner, WeakTreeEstimator):  # others check for themselves, or not at all
            member = FitSize(
                name="", n_rows=draws.n_draws, n_columns=draws.n_chosen, max_bins=int(learner.max_bins)
            )
            members = [learner.estimate_memory(member, n_classes)] * min(n_jobs, int(self.n_estimators))
        advice = "use fewer rows, a smaller max_samples or max_features, or fewer n_jobs"
        size.require(bags, *members, advice=advice)

    def _remember(self, table: RawTable, y: Floats, weight: Floats | None) -> None:
        """Keep what is needed to know the rows again."""

    def _fitted_members(self) -> list[Any]:
        """The members to go on from, with warm_start."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            return []
        if self.n_estimators < len(self.estimators_):
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {len(self.estimators_)} members of the "
                "fitted model; with warm_start=True it must be at least as many"
            )
        if self._weights is not None:
            raise ValueError(
                "warm_start=True cannot go on from members that have been given weights of their own; set "
                "warm_start=False to begin anew"
            )
        return list(self.estimators_)

    def _fitted_target(self) -> inputs.Labels | inputs.Numbers:
        return inputs.Labels(self.classes_) if hasattr(self, "classes_") else inputs.Numbers()

    def _make_sampler(
        self, table: RawTable, y: Floats, weight: Floats | None, *, more: bool
    ) -> BootstrapSampler:
        """How rows and columns are drawn; checks what depends on their number, and on the fitted model."""
        replace = bool(self.bootstrap)
        if weight is not None and not replace and not has_fit_parameter(self._learner(), "sample_weight"):
            raise ValueError(
                f"sample_weight with bootstrap=False is handed to the members, but estimator="
                f"{self._learner()!r} has no sample_weight in its fit; set bootstrap=True to draw rows by "
                "weight"
            )
        pool = SamplingPool.of(row_keys(table, y), weight, by_weight=replace)
        n_columns = table.shape[1]
        draws = BootstrapSampler(
            pool,
            _number_of("max_samples", self.max_samples, pool.size, "rows to draw from"),
            replace,
            n_columns,
            _number_of("max_features", self.max_features, n_columns, "columns of X"),
            bool(self.bootstrap_features),
            _order_does_not_matter(self._learner()),
            self._sampler.seed if more else inputs.read_seed(self.random_state),
        )
        edges = getattr(self._learner(), "bin_edges", None)
        if (draws.n_chosen < n_columns or draws.replace_columns) and (
            isinstance(edges, dict) or by_position(edges)
        ):
            raise ValueError(
                f"estimator={self._learner()!r} has bin_edges for single columns, but its members are given "
                "drawn columns (max_features, bootstrap_features): give one sequence of edges for all of them"
            )
        if more and not draws.same_as(self._sampler):
            raise ValueError(
                "warm_start=True goes on with the same X, y and sample_weight and with the same max_samples, "
                "max_features, bootstrap, bootstrap_features and kind of estimator; something of these has "
                "changed since the last fit. Set warm_start=False to begin anew"
            )
        if self.oob_score and not draws.leaves_rows_out:
            raise ValueError(
                f"oob_score={self.oob_score!r} needs rows that members do not learn from; with "
                "bootstrap=False set max_samples below 1.0"
            )
        return draws

    def _refuse_unseen(self, table: RawTable, draws: BootstrapSampler) -> None:
        """Refuse missing values that the learner does not take, where no member would ever meet them."""
        bad = np.empty(0, np.int64) if self._learner_tags().input_tags.allow_nan else table.not_finite_rows()
        if bad.size and not any(np.isin(bad, draws.rows(b)).any() for b in range(self.n_estimators)):
            raise ValueError(
                f"Input X contains NaN or infinity in row {bad[0]}, and estimator={self._learner()!r} does "
                "not say that it takes such values; no member would have been given that row"
            )

    def _keep(
        self,
        members: list[Any],
        draws: BootstrapSampler,
        table: RawTable,
        target: inputs.Labels | inputs.Numbers,
    ) -> None:
        """Set the fitted attributes, all at the end: a fit that fails leaves the old model whole."""
        self.estimators_, self._weights = members, None
        self._soft = getattr(self, "voting", None) == "soft"  # a later set_params changes no fitted model
        self.estimators_features_ = [draws.columns(number) for number in range(len(members))]
        self._sampler, self._schema = draws, table.schema()
        self.n_features_in_ = draws.n_columns
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if target.classes is not None:
            self.classes_ = target.classes
        for name in self._oob_names:
            if hasattr(self, name):
                delattr(self, name)

    def _set_oob(self, task: MemberTask, y: Floats, weight: Floats | None) -> None:
        classes = y.astype(np.int64) if task.is_classifier else None
        bag, workers = self._members(), self._runner()
        means, self.oob_votes_, losses = bag.out_of_bag(task.table, self._sampler, workers, classes)
        predicted, score = self._keep_oob(means, self.oob_votes_ > 0)
        self._keep_losses(losses, weight)
        self._score_out_of_bag(task.y, predicted, weight, score)

    def _keep_losses(self, losses: Losses, weight: Floats | None) -> None:
        """Keep what the members lose on rows they do not know."""

    # --- after fitting

    def _runner(self) -> JobRunner:
        return JobRunner.of(self._learner(), self.n_jobs)

    def _members(self) -> FittedMembers:
        everything = self._sampler.all_columns
        columns = [None if everything else chosen for chosen in self.estimators_features_]
        return FittedMembers(self.estimators_, columns, self._voting(), self._weights)

    def _given(self, X: Any) -> RawTable:
        check_is_fitted(self, "estimators_")
        name = type(self).__name__
        refuse_elsewhere(X, f"this method of {name}")
        table = RawTable.of(X, name)
        table.check_columns(self._schema, name)
        return table

    def _to_ask(self, X: Any) -> RawTable:
        """X as the members are given it."""
        table = self._given(X)
        return table.as_matrix() if self._sampler.replace_columns else table

    def _means(self, X: Any) -> Floats:
        """Mean answers of the members, (outputs, rows)."""
        table = self._to_ask(X)
        require_prediction_memory(type(self).__name__, table.shape[0], self._voting().n_outputs, arrays=2)
        return self._members().means(table, self._runner())

    @property
    def estimators_samples_(self) -> list[Integers]:
        """The rows each member learned from, as often as it did; drawn once more at every call."""
        check_is_fitted(self, "estimators_")
        return [self._sampler.rows(number) for number in range(len(self.estimators_))]

    def _learner_tags(self) -> Any:
        """What scikit-learn knows of the members; None when the estimator is no such thing."""
        allowed = self.estimator is None or self._allowed["estimator"].test(self.estimator)
        return get_tags(self._learner()) if allowed else None

    def __sklearn_tags__(self) -> Any:
        tags, members = super().__sklearn_tags__(), self._learner_tags()
        if members is not None:
            tags.input_tags.allow_nan = members.input_tags.allow_nan
            tags.input_tags.sparse = members.input_tags.sparse
        return tags


def _order_does_not_matter(learner: Any) -> bool:
    """Whether it is a tree of ours whose columns may stand in any order; see `BootstrapSampler`."""
    if not isinstance(learner, WeakTreeEstimator):
        return False
    if by_position(learner.bin_edges):
        return False
    named = learner.categorical_features
    return named is None or (isinstance(named, str) and named == "from_dtype")  # not by their positions


def _number_of(name: str, value: Any, most: int, what: str) -> int:
    """A number or a share of `most`, as a number."""
    if not isinstance(value, int | np.integer):
        return max(1, int(value * most))
    if value > most:
        raise ValueError(f"{name}={value} is not allowed: it must be at most {most}, the number of {what}")
    return int(value)
