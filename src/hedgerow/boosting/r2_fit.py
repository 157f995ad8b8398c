"""Fitting AdaBoost.R2: rows and settings in, a median model and its record out.

table -> bins -> codes -> [ rule asks, our trees answer ] x rounds -> median of trees    (our learners)
X ---------------------> [ rule asks, a clone answers  ] x rounds -> median of members  (any other)
"""

import abc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.binning import BinnedTable, find_bins
from hedgerow.boosting.callbacks import HistoryDict
from hedgerow.boosting.loop import FitOptions, run_rounds
from hedgerow.boosting.median import Followed, MedianMembers, MedianModel, MedianTrees
from hedgerow.boosting.r2 import R2Record, R2Rule
from hedgerow.boosting.row_weights import RowWeights
from hedgerow.boosting.weak_learners import (
    CodedTables,
    GrownAnswer,
    GrownLearner,
    MemberAnswer,
    MemberLearner,
)
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.weak_shards import RemoteRows
from hedgerow.growing.weak_tree import WeakRules
from hedgerow.losses.base import weighted_mean
from hedgerow.members import VoteModel, numbers
from hedgerow.memory_estimates import estimate_adaboost_r2, estimate_members, estimate_weak_trees
from hedgerow.table.dataset import Dataset
from hedgerow.threads import Team


@dataclass(eq=False, kw_only=True)
class R2Settings(FitOptions):
    """How to fit. `weak` are the rules of our own trees, `estimator` gives their edges; None for others."""

    loss: str
    learning_rate: float
    weak: WeakRules | None = None
    max_bins: int = 255
    resample: bool = False


@dataclass(eq=False)
class R2Fitted:
    """A model, the record of its rounds, and the last weights of the training rows."""

    model: MedianModel
    record: R2Record
    sample_weights: Floats
    stop_reason: str
    history: HistoryDict = field(default_factory=dict)
    best_round: int | None = None


def fit_r2(
    train: Dataset, evaluations: Sequence[Dataset], settings: R2Settings, previous: R2Fitted | None = None
) -> R2Fitted:
    """Fit, or go on from a model and its record."""
    size = settings.size(train, evaluations, max_bins=settings.max_bins)
    n_evaluated = size.n_evaluated + size.n_held_out + (size.n_rows if settings.verbose else 0)
    size.require(
        estimate_members(size) if settings.weak is None else estimate_weak_trees(size, 2),
        estimate_adaboost_r2(size, n_evaluated),
        advice="use fewer rows or columns, a smaller eval_set",
    )
    with ExitStack() as closing:
        team = closing.enter_context(Team(settings.n_threads, settings.chunk_rows))
        weights = RowWeights(train.sample_weight, train.table.n_rows, settings.validation_rows, team)
        before = previous.model if previous else None
        learning: _Learning = (
            _Fitting(train, settings, weights)
            if settings.weak is None
            else _Growing(train, settings, weights, before)
        )
        closing.callback(learning.close)
        rule = _rule(train, evaluations, settings, weights, learning, previous)
        first = len(rule.record.weights)
        if previous:
            _replay(rule, learning, previous.model, follow=True)
        if previous and rule.record.ended:  # nothing can follow, as in a fit that never stopped
            rule.stop_reason = previous.stop_reason

        def so_far(history: HistoryDict, best: int | None) -> R2Fitted:
            record = rule.record.cut(len(rule.record.weights))
            model = learning.model(rule.kept, record.weights, before)
            last = weights.normalised(rule.weight)
            return R2Fitted(model, record, last, rule.stop_reason, history, best)

        history, best = run_rounds(
            rule, learning.learner, settings, first,
            has_evaluation_sets=bool(rule.evaluations), snapshot=so_far,
            finished=bool(previous and rule.record.ended),
        )  # fmt: skip
        done = len(rule.record.weights)
        if not done:
            raise KeyboardInterrupt("fit was interrupted before its first round was done: there is no model")
        fitted = so_far(history, best)
        fitted.stop_reason = rule.stop_reason or _reason(done, settings, best)
        if best is not None and best + 1 < done:  # back to the weights of the rounds that are kept
            fitted.model, rule.record = fitted.model.cut(best + 1), rule.record.cut(best + 1)
            rule.start()
            _replay(rule, learning, fitted.model, follow=False)
            fitted.record, fitted.sample_weights = rule.record, weights.normalised(rule.weight)
        return fitted


def _rule(
    train: Dataset,
    evaluations: Sequence[Dataset],
    settings: R2Settings,
    weights: RowWeights,
    learning: "_Learning",
    previous: R2Fitted | None,
) -> R2Rule:
    team, held, rows = weights.team, settings.validation_rows, weights.rows
    followed = [Followed(one.y, one.sample_weight, team, rows=learning.read(one)) for one in evaluations]
    if held is not None:
        weight = None if train.sample_weight is None else train.sample_weight[held]
        followed.insert(0, Followed(train.y[held], weight, team, taken=held))
    own = None
    if settings.verbose:  # only when it is looked at: it holds 12 bytes a row and round
        own = Followed(train.y[rows], weights.user[rows], team, taken=rows)
    record = previous.record.cut(previous.model.n_rounds) if previous else R2Record()
    return R2Rule(
        train.y, learning, weights, loss=settings.loss, learning_rate=settings.learning_rate,
        train=own, evaluations=followed, record=record,
    )  # fmt: skip


def _replay(rule: R2Rule, learning: "_Learning", model: MedianModel, *, follow: bool) -> None:
    """Move D as the members of a model did: the same bits as if the fit had never stopped."""
    alphas = rule.record.weights[: -1 if rule.record.ended else None]  # an end moves nothing
    elsewhere = [learning.said(model, one.rows) for one in rule.evaluations if one.taken is None]
    for number, said in enumerate(learning.said(model)):
        losses = rule.losses(said)
        if losses is not None and number < len(alphas):
            rule.reweigh(losses, alphas[number])
        if follow:
            rule.note(said, [next(others) for others in elsewhere], number)


def _reason(done: int, settings: R2Settings, best: int | None) -> str:
    if done >= settings.n_rounds:
        return f"all {settings.n_rounds} rounds are done"
    if best is not None and done - 1 - best >= (settings.patience or 0):
        return f"no improvement for {settings.patience} rounds: the {best + 1} rounds up to the best are kept"
    return f"ended by a callback or an interrupt after {done} rounds"


class _Learning(abc.ABC):
    """A learner, how it reads rows, what its answers say of them, and how they become a model."""

    learner: Any
    target: Floats
    largest: float

    @abc.abstractmethod
    def read(self, rows: Dataset) -> Any:
        """Rows as answers read them."""

    @abc.abstractmethod
    def says(self, answer: Any, rows: Any = None) -> Floats:
        """What an answer says of rows; None for the training rows."""

    @abc.abstractmethod
    def keep(self, answer: Any, alpha: float) -> Any:
        """What the model needs of an answer."""

    @abc.abstractmethod
    def model(self, kept: list[Any], weights: list[float], before: MedianModel | None) -> MedianModel:
        """A model of what was kept, after the rounds of `before`."""

    @abc.abstractmethod
    def said(self, model: MedianModel, rows: Any = None) -> Iterator[Floats]:
        """What each member of a model says of rows as answers read them; None for the training rows."""

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of rows that are elsewhere."""


class _Growing(_Learning):
    """Our trees, on codes that are made once."""

    def __init__(
        self, train: Dataset, settings: R2Settings, weights: RowWeights, before: MedianModel | None
    ) -> None:
        assert before is None or isinstance(before, MedianTrees)  # noqa: S101 - the estimator has checked it
        assert settings.weak is not None  # noqa: S101 - the caller has
        self._team = weights.team
        given = settings.estimator.given_edges(train.table.schema)
        self.bins = (
            find_bins(train.table, settings.max_bins, copies=weights.counts, team=self._team, given=given)
            if before is None
            else before.trees.bins.kept_for(given)
        )
        # The mean is taken off: squares of a far-away one would drown the gains. Rows that take no part
        # have no say in the scale of the others.
        self.centre = weighted_mean(train.y, weights.user)
        self.target = np.zeros(len(train.y))
        self.target[weights.rows] = train.y[weights.rows] - self.centre
        self.largest = float(np.abs(self.target).max())
        self._tables = CodedTables(self.bins, self._team)
        self._coded = self._tables.code(train.table)
        self.learner = GrownLearner(
            self._tables.grower(self._coded, settings.weak), weights,
            resample=settings.resample, seed=settings.seed, team=self._team,
        )  # fmt: skip

    def read(self, rows: Dataset) -> BinnedTable | RemoteRows:
        return self._tables.code(rows.table)

    def says(self, answer: GrownAnswer, rows: BinnedTable | RemoteRows | None = None) -> Floats:
        cells = answer.cells if rows is None else answer.cells_of(rows)
        said: Floats = (answer.values + self.centre)[cells]
        return said

    def keep(self, answer: GrownAnswer, alpha: float) -> NDArray[np.void]:
        nodes = answer.tree.nodes.copy()
        nodes["value"] = answer.values + self.centre
        # Gains are sums over the weight the tree was grown on, which is another one when rows are drawn.
        nodes["split"]["gain"] *= alpha / int(answer.opinion[:, 0].sum())
        return nodes

    def model(self, kept: list[Any], weights: list[float], before: MedianModel | None) -> MedianTrees:
        forest = Forest.of(kept, [0] * len(kept))
        if isinstance(before, MedianTrees):
            forest = Forest.join(before.trees.forest, forest)
        return MedianTrees(weights, TreeModel(np.zeros(1), self.bins, forest))

    def said(self, model: MedianModel, rows: BinnedTable | RemoteRows | None = None) -> Iterator[Floats]:
        assert isinstance(model, MedianTrees)  # noqa: S101 - as in __init__
        coded = self._coded if rows is None else rows
        forest = model.trees.forest
        for tree in range(model.n_rounds):
            if isinstance(coded, RemoteRows):
                yield coded.scores(forest.select(range(tree, tree + 1)), 1)[0]
                continue
            values = np.zeros(coded.n_rows)
            forest.add_coded_scores(coded, tree, values, self._team)
            yield values

    def close(self) -> None:
        self._tables.close()


class _Fitting(_Learning):
    """Clones of any other regressor, on X as it was given."""

    def __init__(self, train: Dataset, settings: R2Settings, weights: RowWeights) -> None:
        self.target, self.largest = train.y, float(np.abs(train.y).max())
        reading = VoteModel([], [], "numbers", np.empty(0), 1, 0.0)
        self.learner = MemberLearner(
            settings.estimator, train.X, weights, reading, resample=settings.resample, seed=settings.seed
        )

    def read(self, rows: Dataset) -> Any:
        return rows.X

    def says(self, answer: MemberAnswer, rows: Any = None) -> Floats:
        return numbers(answer.member, self.learner.X if rows is None else rows)

    def keep(self, answer: MemberAnswer, alpha: float) -> Any:
        return answer.member

    def model(self, kept: list[Any], weights: list[float], before: MedianModel | None) -> MedianMembers:
        earlier = before.members if isinstance(before, MedianMembers) else []
        return MedianMembers(weights, earlier + kept)

    def said(self, model: MedianModel, rows: Any = None) -> Iterator[Floats]:
        assert isinstance(model, MedianMembers)  # noqa: S101 - the estimator has checked it
        for member in model.members:
            yield numbers(member, self.learner.X if rows is None else rows)
