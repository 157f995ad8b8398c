"""BaggingBase: the base of bagging of any estimator, for classes and for numbers."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.members import FittedBagging, FittedMembers, JobRunner, MemberTask, fit_bagging
from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import BootstrapSampler, SamplingPool, count_or_fraction
from hedgerow.boosting.loop import FitOptions
from hedgerow.estimators import parameters
from hedgerow.estimators.decision_trees import WeakTreeEstimator
from hedgerow.estimators.parameters import Allowed, flag, integer, none, number, uses_positions
from hedgerow.estimators.remote_input import require_in_memory
from hedgerow.estimators.validation import FitInput, InputOptions
from hedgerow.estimators.votes import BaggedEnsemble
from hedgerow.members import accepts_weights
from hedgerow.memory import FitSize, estimate_bagging
from hedgerow.table import Schema
from hedgerow.table.reading import check_same_columns

ALLOWED: dict[str, Allowed] = {
    "n_estimators": integer(1),
    "max_samples": integer(1) | number(0, 1, above=True),
    "max_features": integer(1) | number(0, 1, above=True),
    "bootstrap": flag(),
    "bootstrap_features": flag(),
    "oob_score": flag() | Allowed(callable, "a function of (y, predicted)"),
    "warm_start": flag(),
    "n_jobs": parameters.threads() | none(),
    "random_state": parameters.seed() | none(),
    "verbose": integer(0) | flag(),
}


class BaggingBase(BaggedEnsemble):
    """Base class of bagging; subclasses define the constructor, the default member and the predictions."""

    estimators_: list[Any]
    _member: ClassVar[str] = "member"
    _weights: Floats | None = None
    _soft_voting: bool = False

    @abstractmethod
    def _member_estimator(self) -> Any:
        """Return the estimator whose clones are the members."""

    # --- fit

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None, target: Any = None
    ) -> Self:
        """Fit the members, each to its own sample.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The members receive rows and columns of it with its type: parts of a data frame are data frames.
        y : array of shape (n_samples,)
            Labels (strings, integers or booleans), or numbers within ±1e100; one output.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100.
            With ``bootstrap=True`` rows are drawn in proportion to their weights: an integer acts exactly as
            that many copies of the row (but see `max_samples`), zero omits the row. With ``bootstrap=False``
            the weights of the sampled rows are passed to the members, which must accept them.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that stores the members so far, by default every minute (see `Checkpoint`). If it
            exists, the fit resumes from it: the model is the same as without interruption, bit for bit.
        target : None
            For remote tables, which bagging does not accept: X must be in memory.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, target=target, checkpoint=checkpoint)
        self._warn_without_votes()
        return self

    def _input_options(self) -> InputOptions:
        name = type(self).__name__
        return replace(super()._input_options(), in_memory=name, raw=True, grows_trees=False)

    def _is_warm_start(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "estimators_")

    def _previous(self) -> list[Any] | None:
        if not self._is_warm_start():
            return None
        self._check_warm_start()
        return list(self.estimators_)

    def _run(self, data: FitInput) -> Any:
        table: Any = data.train.table
        weight, classes = data.train.sample_weight, data.target.classes
        sampler = self._make_sampler(table, data)
        self._require_memory(table, data.target.n_classes, sampler)
        self._check_not_finite_rows(table, sampler)
        task = MemberTask(
            self._member_estimator(),
            table.as_matrix() if self.bootstrap_features else table,
            data.train.y if classes is None else classes[data.train.y.astype(np.int64)],
            None if self.bootstrap else weight,
            sampler,
            classes is not None,
        )
        options = FitOptions(
            n_rounds=int(self.n_estimators),
            verbose=int(self.verbose),
            title=type(self).__name__,
            checkpointer=data.checkpointer,
        )
        result = fit_bagging(task, data.previous or [], options, self._runner())
        if not self.oob_score:
            return result
        numbers = range(len(result.members))
        columns = [None if sampler.all_columns else sampler.columns(number) for number in numbers]
        members = FittedMembers(result.members, columns, classes, self._uses_soft_voting())
        class_numbers = None if classes is None else data.train.y.astype(np.int64)
        oob = members.out_of_bag(task.table, sampler, self._runner(), class_numbers)
        return self._with_oob_score(replace(result, out_of_bag=oob), data)

    def _uses_soft_voting(self) -> bool:
        return getattr(self, "voting", None) == "soft"

    def _make_sampler(self, table: RawTable, data: FitInput) -> BootstrapSampler:
        """Return the sampler; checks that depend on the number of rows and columns."""
        weight, estimator = data.train.sample_weight, self._member_estimator()
        if weight is not None and not self.bootstrap and not accepts_weights(estimator):
            raise ValueError(
                f"sample_weight with bootstrap=False is passed to the members, but estimator={estimator!r} "
                "has no sample_weight in its fit; set bootstrap=True to draw rows by weight"
            )
        pool = SamplingPool.of(table.row_keys(data.train.y), weight, by_weight=bool(self.bootstrap))
        n_columns = table.shape[1]
        sampler = BootstrapSampler(
            pool,
            count_or_fraction("max_samples", self.max_samples, pool.size, "rows to draw from"),
            bool(self.bootstrap),
            n_columns,
            count_or_fraction("max_features", self.max_features, n_columns, "columns of X"),
            bool(self.bootstrap_features),
            _accepts_any_order(estimator),
            data.seed,
        )
        edges, draws_columns = getattr(estimator, "bin_edges", None), sampler.n_chosen < n_columns
        is_drawn = edges is not None and (draws_columns or sampler.replace_columns)
        if is_drawn and (isinstance(edges, dict) or uses_positions(edges)):
            raise ValueError(
                f"estimator={estimator!r} has bin_edges of single columns, but its members are fitted to "
                "drawn columns (max_features, bootstrap_features): pass one sequence of edges for all columns"
            )
        if data.previous is not None and not sampler.same_as(self._sampler):
            raise ValueError(
                "warm_start=True needs the same X, y and sample_weight and the same max_samples, "
                "max_features, bootstrap, bootstrap_features and type of estimator; at least one of these "
                "has changed since the last fit. Set warm_start=False to start again"
            )
        if self.oob_score and not sampler.leaves_rows_out:
            raise ValueError(
                f"oob_score={self.oob_score!r} needs rows that members are not trained on; with "
                "bootstrap=False set max_samples below 1.0"
            )
        return sampler

    def _require_memory(self, table: RawTable, n_classes: int | None, sampler: BootstrapSampler) -> None:
        n_jobs, (n_rows, n_columns) = self._runner().n_concurrent, table.shape
        stored = getattr(table.X, "nnz", None)  # values of a sparse matrix; each has an index too
        stored_fraction = 1.0 if stored is None else min(1.0, 2.0 * stored / max(1, n_rows * n_columns))
        size = FitSize(
            name=type(self).__name__, n_rows=n_rows, n_columns=n_columns, n_outputs=n_classes or 1,
            n_rounds=int(self.n_estimators),
        )  # fmt: skip
        samples = estimate_bagging(
            size,
            n_drawn=sampler.n_draws,
            n_chosen=max(1, round(sampler.n_chosen * stored_fraction)),
            n_jobs=n_jobs,
            item_bytes=int(getattr(getattr(table.X, "dtype", None), "itemsize", 8)),
            oob=bool(self.oob_score),
        )
        members: list[dict[str, int]] = []
        estimator = self._member_estimator()
        if isinstance(estimator, WeakTreeEstimator):  # others may check their memory themselves
            member = FitSize(
                name="", n_rows=sampler.n_draws, n_columns=sampler.n_chosen, max_bins=int(estimator.max_bins)
            )
            members = [estimator.estimate_memory(member, n_classes)] * min(n_jobs, int(self.n_estimators))
        advice = "use fewer rows, a smaller max_samples or max_features, or fewer n_jobs"
        size.require(samples, *members, advice=advice)

    def _check_not_finite_rows(self, table: RawTable, sampler: BootstrapSampler) -> None:
        """Refuse missing values that the estimator does not accept, if their rows are in no sample."""
        tags = self._member_tags()
        bad = np.empty(0, np.int64) if tags.input_tags.allow_nan else table.not_finite_rows()
        if bad.size and not any(np.isin(bad, sampler.rows(b)).any() for b in range(self.n_estimators)):
            raise ValueError(
                f"Input X contains NaN or infinity in row {bad[0]}, which is in no sample; "
                f"estimator={self._member_estimator()!r} does not accept such values by its tags"
            )

    # --- fitted attributes

    def _set_members(self, result: FittedBagging, schema: Schema, classes: NDArray[Any] | None) -> None:
        self._set_columns(schema)
        self.estimators_, self._sampler, self._weights = result.members, result.sampler, None
        self._soft_voting = self._uses_soft_voting()  # set_params does not change a fitted model
        self._seed = result.sampler.seed
        self.estimators_features_ = [result.sampler.columns(number) for number in range(len(result.members))]
        if classes is not None:
            self.classes_ = classes

    def _n_members_and_weights(self) -> tuple[int, Floats | None]:
        return len(self.estimators_), self._weights

    @property
    def estimators_samples_(self) -> list[Integers]:
        """Row numbers of the sample of each member, repeated as drawn; drawn again at every call."""
        check_is_fitted(self, "estimators_")
        return [self._sampler.rows(number) for number in range(len(self.estimators_))]

    # --- predictions

    def _runner(self) -> JobRunner:
        return JobRunner.of(self._member_estimator(), self.n_jobs)

    def _members(self) -> FittedMembers:
        columns = [None if self._sampler.all_columns else drawn for drawn in self.estimators_features_]
        classes = getattr(self, "classes_", None)
        return FittedMembers(self.estimators_, columns, classes, self._soft_voting, self._weights)

    def _read(self, X: Any) -> Any:
        """Return X in memory, of any type, with the columns of the model."""
        if not hasattr(self, "estimators_"):
            check_is_fitted(self, "estimators_")
        name = type(self).__name__
        if type(X) is not np.ndarray:
            require_in_memory(X, f"this method of {name}")
        table = RawTable.of(X, name)
        check_same_columns(table.names, table.shape[1], self.schema_, name)
        return table

    def _member_input(self, X: Any) -> RawTable:
        """Return X as the members receive it."""
        table: RawTable = self._read(X)
        return table.as_matrix() if self._sampler.replace_columns else table

    def _means(self, X: Any) -> Floats:
        """Return mean predictions (rows, outputs) of the members."""
        table, members = self._member_input(X), self._members()
        self._require_prediction_memory(table.shape[0], members.n_outputs, arrays=2)
        return members.means(table, self._runner())

    def _member_tags(self) -> Any:
        """scikit-learn's tags of the members; None if `estimator` is not allowed."""
        allowed = self.estimator is None or self._allowed["estimator"].test(self.estimator)
        return get_tags(self._member_estimator()) if allowed else None

    def __sklearn_tags__(self) -> Any:
        tags, members = super().__sklearn_tags__(), self._member_tags()
        tags.input_tags.allow_nan = tags.input_tags.sparse = False
        if members is not None:
            tags.input_tags.allow_nan = members.input_tags.allow_nan
            tags.input_tags.sparse = members.input_tags.sparse
        return tags


def _accepts_any_order(estimator: Any) -> bool:
    """Return whether it is a Hedgerow tree that ignores column positions; see `BootstrapSampler`."""
    if not isinstance(estimator, WeakTreeEstimator):
        return False
    if estimator.bin_edges is not None and uses_positions(estimator.bin_edges):
        return False
    columns = estimator.categorical_features
    return columns is None or (isinstance(columns, str) and columns == "from_dtype")
