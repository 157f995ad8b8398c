"""Fit the members of a bagging ensemble, each to its own sample, and average their predictions.

Members do not depend on each other: jobs fit them in parallel, and the loop collects them in the order of
their numbers. An interrupt (Ctrl-C) stops the fit; the members fitted so far are the model.

Predictions are arrays (outputs, rows): a probability or a vote for every class, or one number. They are
summed in the order of the members, so that no bit of the result depends on the number of jobs.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.pair_losses import IN_BAG, Losses, PairLosses, loss_steps
from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import BootstrapSampler, OutOfBag
from hedgerow.boosting.loop import FitOptions, IndependentMembers, run_rounds
from hedgerow.members import (
    ConstantHypothesis,
    fit_member,
    is_hedgerow,
    predict_classes,
    predict_probabilities,
    predict_values,
)
from hedgerow.threads import resolve_n_jobs

_MANY_ROWS = 10_000  # fewer rows are predicted faster by one thread than by several


# --- jobs


@dataclass(frozen=True)
class JobRunner:
    """Runs jobs in parallel.

    Hedgerow estimators release the interpreter lock and run in threads, on all cores by default. Others run
    as joblib and scikit-learn run them: in `n_jobs` processes, one by default. A
    `joblib.parallel_config` applies to both; with ``backend="dask"`` the workers of a cluster run the jobs.

    threads : whether the members are Hedgerow estimators.
    """

    n_jobs: int | None
    threads: bool

    @classmethod
    def of(cls, estimator: Any, n_jobs: int | None) -> "JobRunner":
        """Return the runner for members that are clones of an estimator."""
        return cls(n_jobs, is_hedgerow(estimator))

    @property
    def n_concurrent(self) -> int:
        """The number of jobs that run at the same time, if it can be determined."""
        return resolve_n_jobs(self.n_jobs) if self.threads else resolve_n_jobs(self.n_jobs or 1)

    def run(self, jobs: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of delayed calls, in the order of the calls, as they become available."""
        n_jobs = resolve_n_jobs(self.n_jobs) if self.threads else self.n_jobs
        prefer = "threads" if self.threads else None
        results: Iterator[Any] = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(jobs)
        return results


# --- the fit


@dataclass(frozen=True, eq=False)
class MemberTask:
    """The data that all members are fitted to.

    y : labels or numbers (n,).
    weight : float64 (n,), passed to the members; None if rows are drawn by weight or have none.
    """

    estimator: Any
    table: RawTable
    y: NDArray[Any]
    weight: Floats | None
    sampler: BootstrapSampler
    is_classifier: bool

    def __sizeof__(self) -> int:
        """Approximate size with all rows: joblib's Dask backend sends large arguments only once."""
        n_rows, n_columns = self.table.shape
        return 8 * n_rows * (n_columns + 4)


def fit_to_sample(task: MemberTask, number: int) -> Any:
    """Fit a clone to its sample, in which rows are repeated as often as they are drawn.

    Few estimators can be fitted to one class: for such a sample, return a `ConstantHypothesis`.
    """
    sampler = task.sampler
    rows = sampler.rows(number)
    y = task.y[rows]
    if task.is_classifier and np.all(y == y[0]):
        return ConstantHypothesis(y[:1])
    all_rows = not sampler.replace and len(rows) == len(task.y)
    X = task.table.take(None if all_rows else rows, None if sampler.all_columns else sampler.columns(number))
    return fit_member(
        task.estimator, sampler.member_seed(number), X, y, None if task.weight is None else task.weight[rows],
        step=f"as member {number}, fitted to {len(rows)} rows", parallel=True,
    )  # fmt: skip


class _ParallelMembers:
    """The weak learner of the loop: returns members that parallel jobs have fitted."""

    def __init__(self, task: MemberTask, numbers: range, runner: JobRunner) -> None:
        self._task, self._numbers, self._stopped = task, numbers, False
        self._results = runner.run(self._jobs())

    def _jobs(self) -> Iterator[Any]:
        for number in self._numbers:
            if self._stopped:
                return
            yield delayed(fit_to_sample)(self._task, number)

    def fit(self, targets: int, iteration: int) -> Any:
        return next(self._results)

    def stop(self) -> Iterator[Any]:
        """Start no further jobs; yield the members of those that run."""
        self._stopped = True
        with suppress(Exception):  # an interrupt may have ended worker processes too
            yield from self._results


@dataclass(frozen=True, eq=False)
class FittedBagging:
    """Result of a fit, or of the members so far."""

    members: list[Any]
    sampler: BootstrapSampler
    out_of_bag: OutOfBag | None = None


def fit_bagging(
    task: MemberTask, previous: Sequence[Any], options: FitOptions, runner: JobRunner
) -> FittedBagging:
    """Fit members until there are `n_rounds`, the previous members included."""
    rule = IndependentMembers(list(previous))
    learner = _ParallelMembers(task, range(len(previous), options.n_rounds), runner)
    try:
        run_rounds(
            rule, learner, options, len(previous),
            has_evaluation_sets=False, snapshot=lambda *_: FittedBagging(list(rule.members), task.sampler),
        )  # fmt: skip
    except BaseException:
        deque(learner.stop(), maxlen=0)  # the jobs end, and joblib does not warn of unused results
        raise
    rule.members.extend(learner.stop())  # there are some only after an interrupt
    if not rule.members:
        raise KeyboardInterrupt  # before the first member: there is no model
    return FittedBagging(rule.members, task.sampler)


# --- predictions


def predict_member(
    member: Any,
    table: RawTable,
    columns: Integers | None,
    classes: NDArray[Any] | None,
    soft: bool,
    rows: Integers | None = None,
) -> Floats:
    """Return predictions (outputs, rows) of a member; 0 for classes that were not in its sample.

    With `soft`, members that have probabilities return them; others vote for the class they predict.
    `classes` is None for regressors.

    >>> from sklearn.svm import LinearSVC
    >>> member = LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> table, classes = RawTable.of([[1.0], [0.0]], ""), np.array(["maybe", "no", "yes"])
    >>> predict_member(member, table, None, classes, soft=True)
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """
    X = table.take(rows, columns)
    if classes is None:
        return predict_values(member, X)[np.newaxis]
    if soft and hasattr(member, "predict_proba"):
        return predict_probabilities(member, X, classes)
    predicted = predict_classes(member, X, classes)
    votes: Floats = (np.arange(len(classes))[:, np.newaxis] == predicted).astype(np.float64)
    return votes


@dataclass(frozen=True, eq=False)
class FittedMembers:
    """Fitted members and how they vote.

    columns : the columns that each was fitted to, None for all.
    classes, soft : see `predict_member`.
    weights : float64 (members,) of sum 1, or None for equal weights.
    """

    members: Sequence[Any]
    columns: Sequence[Integers | None]
    classes: NDArray[Any] | None
    soft: bool
    weights: Floats | None = None

    @property
    def n_outputs(self) -> int:
        """The number of classes; 1 for regressors."""
        return 1 if self.classes is None else len(self.classes)

    def means(self, table: RawTable, runner: JobRunner) -> Floats:
        """Return mean predictions (rows, outputs)."""
        sums = np.zeros((self.n_outputs, table.shape[0]))
        for number, predicted in enumerate(self._predictions(table, runner)):
            sums += predicted if self.weights is None else self.weights[number] * predicted
        return np.ascontiguousarray((sums / len(self.members) if self.weights is None else sums).T)

    def losses(self, table: RawTable, classes: Integers, runner: JobRunner) -> Losses:
        """Return the loss of each member on every row, (rows, members); see `pair_losses`."""
        out: Losses = np.empty((table.shape[0], len(self.members)), np.int16)
        for number, predicted in enumerate(self._predictions(table, runner)):
            out[:, number] = loss_steps(predicted, classes)
        return out

    def _predictions(self, table: RawTable, runner: JobRunner) -> Iterator[Floats]:
        """Yield the predictions (outputs, rows) of each member."""
        if runner.threads and table.shape[0] < _MANY_ROWS:
            runner = JobRunner(1, threads=True)
        return runner.run(
            delayed(predict_member)(member, table, columns, self.classes, self.soft)
            for member, columns in zip(self.members, self.columns, strict=True)
        )

    def out_of_bag(
        self, table: RawTable, sampler: BootstrapSampler, runner: JobRunner, classes: Integers | None = None
    ) -> OutOfBag:
        """Predict the training rows; classes : class numbers of the rows, None for regressors."""
        numbered = enumerate(zip(self.members, self.columns, strict=True))
        jobs = (
            delayed(_predict_out_of_bag)(member, table, sampler, number, columns, self.classes, self.soft)
            for number, (member, columns) in numbered
        )
        n_rows, n_members = table.shape[0], len(self.members)
        sums, votes = np.zeros((self.n_outputs, n_rows)), np.zeros(n_rows, np.int64)
        losses = np.full((0 if classes is None else n_rows, n_members), IN_BAG, np.int16)
        for number, (rows, predicted) in enumerate(runner.run(jobs)):
            sums[:, rows] += predicted
            votes[rows] += 1
            if classes is not None:
                losses[rows, number] = loss_steps(predicted, classes[rows])
        means = np.divide(sums, votes, out=np.full_like(sums, np.nan), where=votes > 0)
        pairs = None if classes is None else PairLosses.of([losses], n_members, self.n_outputs)
        return OutOfBag(np.ascontiguousarray(means.T), votes, pairs)


def _predict_out_of_bag(
    member: Any,
    table: RawTable,
    sampler: BootstrapSampler,
    number: int,
    columns: Integers | None,
    classes: NDArray[Any] | None,
    soft: bool,
) -> tuple[Integers, Floats]:
    """Return the rows that are not in the sample of member `number`, and its predictions for them."""
    rows = sampler.out_of_bag(number)
    if not rows.size:  # few estimators accept a table without rows
        return rows, np.empty((1 if classes is None else len(classes), 0))
    return rows, predict_member(member, table, columns, classes, soft, rows)
