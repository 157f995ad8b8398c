"""Fitting the members of a bag: each learns from a sample of its own and knows nothing of the others.

It is the loop of boosting with a rule that asks for the next member and learns nothing from the answer. So
members can be fitted ahead, in parallel; they are taken in the order of their numbers. A bar shows them, and
an interrupt (Ctrl-C) ends the fit with the members begun so far.
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
from hedgerow.bagging.pair_losses import KNOWN, Losses, in_steps
from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import BootstrapSampler
from hedgerow.boosting.loop import FitOptions, RoundResult, run_rounds
from hedgerow.members import (
    ConstantHypothesis,
    predict_classes,
    predict_probabilities,
    predict_values,
    seeded_clone,
)
from hedgerow.threads import resolve_n_jobs

_MANY_ROWS = 10_000  # to predict


@dataclass(frozen=True, eq=False)
class MemberTask:
    """What the members learn from.

    Parameters
    ----------
    estimator : classifier or regressor, not fitted
    table : RawTable
    y : array of labels or numbers (n,)
    weight : float64 (n,) or None
        Handed to the members; None when rows are drawn by weight, or have none.
    draws : BootstrapSampler
    classes : bool
        Whether y are labels.
    """

    estimator: Any
    table: RawTable
    y: NDArray[Any]
    weight: Floats | None
    draws: BootstrapSampler
    classes: bool

    def __sizeof__(self) -> int:
        """Bytes with all rows, about: joblib's Dask backend sends large arguments to a worker only once."""
        n_rows, n_columns = self.table.shape
        return 8 * n_rows * (n_columns + 4)


def fit_member(lesson: MemberTask, number: int) -> Any:
    """A clone fitted to its sample, whose rows are repeated as often as they are drawn.

    A sample of one class only is learned by a `ConstantHypothesis`: few learners can fit it.
    """
    draws = lesson.draws
    rows = draws.rows(number)
    y = lesson.y[rows]
    if lesson.classes and np.all(y == y[0]):
        return ConstantHypothesis(y[:1])
    everything = not draws.replace and len(rows) == len(lesson.y)
    X = lesson.table.part(None if everything else rows, None if draws.all_columns else draws.columns(number))
    weight = {} if lesson.weight is None else {"sample_weight": lesson.weight[rows]}
    member = seeded_clone(lesson.estimator, draws.member_seed(number))
    if is_ours(member) and "n_jobs" in member.get_params(deep=False) and member.n_jobs is None:
        member.set_params(n_jobs=1)  # the members are what runs in parallel
    try:
        member.fit(X, y, **weight)
    except MemoryError:
        raise
    except Exception as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"estimator={lesson.estimator!r} failed as member {number}, learning from {len(rows)} rows: "
            f"{error}"
        ) from error
    return member


# --- in parallel


def is_ours(estimator: Any) -> bool:
    """Whether an estimator is one of this library."""
    return type(estimator).__module__.partition(".")[0] == __name__.partition(".")[0]


@dataclass(frozen=True)
class JobRunner:
    """Who fits and asks the members, and how many at a time.

    Our own learners let go of the interpreter's lock, and threads need no copies of anything: all cores by
    default. Others are run as joblib and scikit-learn do by default: processes, one unless more are asked
    for. Both are run as a `joblib.parallel_config` says where there is one, on the workers of a cluster with
    ``backend="dask"``.
    """

    n_jobs: int | None
    ours: bool

    @property
    def n_at_once(self) -> int:
        """How many of them work at the same time, as far as can be told."""
        return resolve_n_jobs(self.n_jobs) if self.ours else resolve_n_jobs(self.n_jobs or 1)

    def to_ask(self, n_rows: int) -> "JobRunner":
        """Those to ask members of ours about so many rows; starting threads takes longer than few rows do."""
        return JobRunner(1, self.ours) if self.ours and n_rows < _MANY_ROWS else self

    def in_order(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Results of delayed calls, as they come but in the order of the calls."""
        n_jobs = resolve_n_jobs(self.n_jobs) if self.ours else self.n_jobs
        prefer = "threads" if self.ours else None
        results: Iterator[Any] = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(tasks)
        return results


# --- the loop


class CollectMembers:
    """The rule: asks for the next member and takes what comes."""

    def __init__(self, members: list[Any]) -> None:
        self.members = members

    def evaluate(self) -> tuple[float, ...]:
        """Nothing is followed."""
        return ()

    def targets(self, iteration: int) -> int:
        """Ask for a member by its number."""
        return iteration

    def update(self, fitted: Any, iteration: int) -> RoundResult:
        """Take the member."""
        self.members.append(fitted)
        return RoundResult()


class _Answers:
    """The learner: hands over members that workers fit ahead."""

    def __init__(self, lesson: MemberTask, numbers: range, workers: JobRunner) -> None:
        self._lesson, self._numbers, self._stopped = lesson, numbers, False
        self._results = workers.in_order(self._tasks())

    def _tasks(self) -> Iterator[Any]:
        """Calls for the workers, who take a few at a time."""
        for number in self._numbers:
            if self._stopped:
                return
            yield delayed(fit_member)(self._lesson, number)

    def fit(self, targets: int, iteration: int) -> Any:
        return next(self._results)

    def rest(self) -> Iterator[Any]:
        """Members whose fit the workers have begun, when no more are wanted."""
        self._stopped = True
        with suppress(Exception):  # an interrupt may have ended worker processes too
            yield from self._results


def fit_members(lesson: MemberTask, before: Sequence[Any], plan: FitOptions, workers: JobRunner) -> list[Any]:
    """The members `before` and those that follow, up to as many as planned."""
    rule = CollectMembers(list(before))
    answers = _Answers(lesson, range(len(before), plan.n_rounds), workers)
    try:
        run_rounds(
            rule, answers, plan, len(before),
            has_evaluation_sets=False, snapshot=lambda *_: list(rule.members),
        )  # fmt: skip
    except BaseException:
        deque(answers.rest(), maxlen=0)  # the workers end, and joblib does not warn of results not taken
        raise
    rule.members.extend(answers.rest())  # there are some after an interrupt only
    if not rule.members:
        raise KeyboardInterrupt  # not one member is there to make a model of
    return rule.members


@dataclass(frozen=True, eq=False)
class Voting:
    """How a member is asked.

    Parameters
    ----------
    classes : array of labels, or None for regressors
    soft : bool
        Take probabilities of the members that have them. All others vote for the class they predict.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> member = LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> Voting(np.array(["maybe", "no", "yes"]), soft=True).answer(member, [[1.0], [0.0]])
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """

    classes: NDArray[Any] | None
    soft: bool

    @property
    def n_outputs(self) -> int:
        """The number of classes, 1 for numbers."""
        return 1 if self.classes is None else len(self.classes)

    def answer(self, member: Any, X: Any) -> Floats:
        """What a member says, (outputs, rows); a class it has never seen gets nothing."""
        if self.classes is None:
            return predict_values(member, X)[np.newaxis]
        if self.soft and hasattr(member, "predict_proba"):
            return predict_probabilities(member, X, self.classes)
        named = predict_classes(member, X, self.classes)
        votes: Floats = (np.arange(len(self.classes))[:, np.newaxis] == named).astype(np.float64)
        return votes

    def ask(self, member: Any, table: RawTable, columns: Integers | None) -> Floats:
        """What a member that knows these columns says of all rows."""
        return self.answer(member, table.part(None, columns))

    def ask_left_out(
        self, member: Any, table: RawTable, draws: BootstrapSampler, number: int, columns: Integers | None
    ) -> tuple[Integers, Floats]:
        """The rows that member `number` did not learn from, and what it says of them."""
        rows = draws.out_of_bag(number)
        if not rows.size:  # few estimators answer to a table without rows
            return rows, np.empty((self.n_outputs, 0))
        return rows, self.answer(member, table.part(rows, columns))


@dataclass(frozen=True, eq=False)
class FittedMembers:
    """Fitted members, the columns each of them knows (None for all) and how they are asked.

    weights : float64 (members,) of sum 1, or None when all count the same.
    """

    members: Sequence[Any]
    columns: Sequence[Integers | None]
    ballot: Voting
    weights: Floats | None = None

    def means(self, table: RawTable, workers: JobRunner) -> Floats:
        """Mean answers (outputs, rows)."""
        ask = delayed(self.ballot.ask)
        tasks = (ask(m, table, c) for m, c in zip(self.members, self.columns, strict=True))
        sums = np.zeros((self.ballot.n_outputs, table.shape[0]))
        for number, answer in enumerate(workers.to_ask(table.shape[0]).in_order(tasks)):
            sums += answer if self.weights is None else self.weights[number] * answer
        return sums / len(self.members) if self.weights is None else sums

    def losses(self, table: RawTable, classes: Integers, workers: JobRunner) -> Losses:
        """What each member loses on every row, (rows, members), see `pair_losses`."""
        ask = delayed(self.ballot.ask)
        tasks = (ask(m, table, c) for m, c in zip(self.members, self.columns, strict=True))
        out: Losses = np.empty((table.shape[0], len(self.members)), np.int16)
        for number, answer in enumerate(workers.to_ask(table.shape[0]).in_order(tasks)):
            out[:, number] = in_steps(answer, classes)
        return out

    def out_of_bag(
        self, table: RawTable, draws: BootstrapSampler, workers: JobRunner, classes: Integers | None = None
    ) -> tuple[Floats, Integers, Losses]:
        """Mean answers (outputs, rows) of the members that did not learn from a row, and how many there are.

        NaN for rows that every member learned from. Then what each member loses, (rows, members), if the
        numbers of the `classes` of the rows are given.
        """
        ask = delayed(self.ballot.ask_left_out)
        known = enumerate(zip(self.members, self.columns, strict=True))
        tasks = (ask(member, table, draws, number, columns) for number, (member, columns) in known)
        sums = np.zeros((self.ballot.n_outputs, table.shape[0]))
        counts = np.zeros(table.shape[0], np.int64)
        n_kept = 0 if classes is None else table.shape[0]
        losses = np.full((n_kept, len(self.members)), KNOWN, np.int16)
        for number, (rows, answer) in enumerate(workers.in_order(tasks)):
            sums[:, rows] += answer
            counts[rows] += 1
            if classes is not None:
                losses[rows, number] = in_steps(answer, classes[rows])
        means = np.full_like(sums, np.nan)
        return np.divide(sums, counts, out=means, where=counts > 0), counts, losses
