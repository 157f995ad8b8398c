"""Fitting the AdaBoost family: rows and settings in, a model and its record out.

table -> bins -> codes -> [ rule asks, our trees answer ] x rounds -> forest      (our learners)
X ---------------------> [ rule asks, a clone answers  ] x rounds -> vote model  (any other)
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from hedgerow._typing import Floats
from hedgerow.binning import Bins, find_bins
from hedgerow.boosting.adaboost_family import (
    AdaBoostRule,
    Record,
    RuleSettings,
    ScoredRows,
    Step,
    rounds_before,
)
from hedgerow.boosting.callbacks import HistoryDict
from hedgerow.boosting.loop import FitOptions, run_rounds
from hedgerow.boosting.row_weights import RowWeights, class_dtype
from hedgerow.boosting.weak_learners import CodedTables, GrownLearner, MemberLearner, take_rows
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.weak_tree import WeakRules
from hedgerow.kernels.cpu.weights import WHOLE
from hedgerow.members import VoteModel
from hedgerow.memory_estimates import (
    estimate_adaboost,
    estimate_members,
    estimate_weak_trees,
    weak_tree_nodes,
)
from hedgerow.table.dataset import Dataset
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team

Model = TreeModel | VoteModel
MakeRule = Callable[[ScoredRows, Sequence[ScoredRows], RowWeights, RuleSettings, Record], AdaBoostRule]


@dataclass(eq=False, kw_only=True)
class AdaBoostOptions(FitOptions):
    """How to fit. `weak` are the rules of our own trees, `estimator` gives their edges; None for others."""

    make_rule: MakeRule
    rule: RuleSettings
    n_outputs: int
    says: str
    weak: WeakRules | None = None
    max_bins: int = 255
    resample: bool = False


@dataclass(eq=False)
class AdaBoostResult:
    """A model, the record of its rounds, and of the training rows the last weights, scores and classes."""

    model: Model
    record: Record
    sample_weights: Floats
    raw: Floats
    classes: NDArray[np.integer[Any]]
    stop_reason: str
    history: HistoryDict = field(default_factory=dict)
    best_round: int | None = None


def fit_adaboost(
    train: Dataset,
    evaluations: Sequence[Dataset],
    settings: AdaBoostOptions,
    previous: tuple[Model, Record] | None = None,
) -> AdaBoostResult:
    """Fit, or go on from a model and its record."""
    _require_memory(train, evaluations, settings)
    with ExitStack() as closing:
        team = closing.enter_context(Team(settings.n_threads, settings.chunk_rows))
        weights = RowWeights(train.sample_weight, train.table.n_rows, settings.validation_rows, team)
        if settings.weak is not None:
            fit: _Fit = _GrownFit(train, settings, weights, team, previous)
        else:
            fit = _MemberFit(train, settings, weights, team, previous)
        closing.callback(fit.close)
        trained = _judged(train, weights.shares, fit, settings)
        train.y = np.empty(0)  # eight bytes a row, and the classes are in `trained`
        followed = [_evaluation(rows, fit, team, settings) for rows in evaluations]
        if settings.validation_rows is not None:
            followed.insert(0, _held_out(train, trained, settings.validation_rows, fit, team))
        record = previous[1] if previous else Record()
        first = len(record.weights)
        kept = Record(*(list(values) for values in vars(record).values()))
        rule = settings.make_rule(trained, followed, weights, settings.rule, kept)
        _go_on_from_restart(rule, fit, train)

        def so_far(history: HistoryDict, best: int | None) -> AdaBoostResult:
            record = rule.record.cut(len(rule.record.weights))
            last = weights.normalised(rule.distribution.weight)
            model = fit.model(rule.steps)
            return AdaBoostResult(model, record, last, trained.raw, trained.classes, "", history, best)

        history, best = run_rounds(
            rule, fit.learner, settings, first,
            has_evaluation_sets=bool(followed), snapshot=so_far, finished=rule.is_finished(),
        )  # fmt: skip
        n_rounds = len(rule.record.weights) if best is None else best + 1
        reason, model = _reason(rule, settings, n_rounds), fit.model(rule.steps).cut(n_rounds)
        if n_rounds < len(rule.record.weights):  # weights, too, are those of the rounds that are kept
            trained.raw = fit.raw(train, model)
            rule.record = rule.record.cut(n_rounds)
            rule.forget_restart()  # it may have come after the rounds that are kept
            _go_on_from_restart(rule, fit, train)
            rule.distribution = rule.weigh()
        last = weights.normalised(rule.distribution.weight, in_place=True)
        return AdaBoostResult(model, rule.record, last, trained.raw, trained.classes, reason, history, best)


def _require_memory(train: Dataset, evaluations: Sequence[Dataset], settings: AdaBoostOptions) -> None:
    size = settings.size(train, evaluations, n_outputs=settings.n_outputs, max_bins=settings.max_bins)
    regresses, weak, n_nodes = settings.says == "numbers", settings.weak, 0
    if weak is None:
        learners = estimate_members(size)
    else:
        learners = estimate_weak_trees(size, 2 if regresses else settings.rule.n_classes)
        n_nodes = weak_tree_nodes(size.n_rows, weak.max_depth, weak.max_leaf_nodes, classes=not regresses)
    size.require(learners, estimate_adaboost(size, regression_trees=regresses, n_nodes=n_nodes))


def _go_on_from_restart(rule: AdaBoostRule, fit: "_Fit", train: Dataset) -> None:
    """Weigh the rows as they were after the last restart of the rounds that are there, if there was one."""
    restarts = rule.record.restarts
    if restarts and restarts[-1] >= 0:
        draw = restarts[-1]
        rule.begin_anew(int(draw), fit.raw(train, fit.model(rule.steps).cut(rounds_before(draw))))


def _reason(rule: AdaBoostRule, settings: AdaBoostOptions, n_kept: int) -> str:
    done = len(rule.record.weights)
    if n_kept < done:
        ended = f"no improvement for {done - n_kept} rounds"
        ended = ended if done < settings.n_rounds else "all rounds are done"
        return f"{ended}: the {n_kept} rounds up to the best are kept"
    if rule.stop_reason:
        return rule.stop_reason
    if done >= settings.n_rounds:
        return f"all {settings.n_rounds} rounds are done"
    return f"ended by a callback or an interrupt after {done} rounds"


class _Fit(Protocol):
    """A learner, how it reads rows, and how its steps become a model."""

    learner: Any

    def rows(self, rows: Dataset) -> Any:
        """What answers read of rows."""

    def take(self, rows: Any, numbers: NDArray[np.uint32]) -> Any:
        """Some of the training rows, as answers read them."""

    def raw(self, rows: Dataset, model: Any = None) -> Floats:
        """Scores of a model; without one, of that to go on from."""

    def model(self, steps: list[Step]) -> Model:
        """The steps as a model."""

    def close(self) -> None:
        """Let go of rows that are elsewhere."""


class _GrownFit:
    def __init__(
        self,
        train: Dataset,
        settings: AdaBoostOptions,
        weights: RowWeights,
        team: Team,
        previous: tuple[Model, Record] | None,
    ) -> None:
        before = previous[0] if previous else None
        assert before is None or isinstance(before, TreeModel)  # noqa: S101 - the estimator has checked it
        assert settings.weak is not None  # noqa: S101 - the caller has
        given = settings.estimator.given_edges(train.table.schema)
        self.bins: Bins = (
            find_bins(train.table, settings.max_bins, copies=weights.counts, team=team, given=given)
            if before is None
            else before.bins.kept_for(given)
        )
        self._before, self._team, self._n_outputs = before, team, settings.n_outputs
        self._train = train
        self._tables = CodedTables(self.bins, team)
        self._coded = self._tables.code(train.table)
        grower = self._tables.grower(self._coded, settings.weak)
        self.learner = GrownLearner(
            grower, weights, resample=settings.resample, seed=settings.rule.seed, team=team
        )

    def rows(self, rows: Dataset) -> Any:
        if rows is self._train:
            return self._coded
        return self._tables.code(rows.table)

    def take(self, rows: Any, numbers: NDArray[np.uint32]) -> Any:
        return take_rows(rows, numbers)

    def raw(self, rows: Dataset, model: TreeModel | None = None) -> Floats:
        model = model or self._before
        if model is None or not model.n_rounds:
            return np.zeros((self._n_outputs, rows.table.n_rows))
        if isinstance(rows.table, RemoteTable):
            return self._tables.placed(rows.table).scores(model.forest, self._n_outputs)
        return model.scores(rows.table, self._team.n_members)

    def model(self, steps: list[Step]) -> TreeModel:
        trees, values, weights = [], [], []
        outputs: list[int] = []
        for step in steps:
            for addition in step.additions:
                table = addition.table
                assert table is not None  # noqa: S101 - our trees give tables
                n_outputs = len(table)
                trees += [addition.answer.nodes] * n_outputs
                outputs += range(addition.first, addition.first + n_outputs)
                values.append(table.reshape(-1))
                weights += [abs(step.weight) / WHOLE] * n_outputs
        forest = Forest.of(trees, outputs)
        gain = forest.gain * np.repeat(weights, np.diff(forest.starts))
        forest = replace(forest, value=np.concatenate([*values, np.empty(0)]), gain=gain)
        if self._before is not None:
            forest = Forest.join(self._before.forest, forest)
        return TreeModel(np.zeros(self._n_outputs), self.bins, forest)

    def close(self) -> None:
        self._tables.close()


class _MemberFit:
    def __init__(
        self,
        train: Dataset,
        settings: AdaBoostOptions,
        weights: RowWeights,
        team: Team,
        previous: tuple[Model, Record] | None,
    ) -> None:
        before = previous[0] if previous else None
        assert before is None or isinstance(before, VoteModel)  # noqa: S101 - the estimator has checked it
        labels = settings.rule.labels
        floor = 1.0 / (2.0 * weights.n_copies)
        self._empty = VoteModel([], [], settings.says, labels, settings.n_outputs, floor)
        self._before = before
        self.learner = MemberLearner(
            settings.estimator, train.X, weights, self._empty,
            resample=settings.resample, seed=settings.rule.seed,
        )  # fmt: skip

    def rows(self, rows: Dataset) -> Any:
        return rows.X

    def take(self, rows: Any, numbers: NDArray[np.uint32]) -> Any:
        return _safe_indexing(self.learner.X, numbers.astype(np.int64))

    def raw(self, rows: Dataset, model: VoteModel | None = None) -> Floats:
        model = model or self._before or self._empty
        return model.scores(rows.X, rows.table.n_rows)

    def model(self, steps: list[Step]) -> VoteModel:
        members = [[addition.answer for addition in step.additions] for step in steps]
        alphas = [step.weight for step in steps]
        if self._before is not None:
            members, alphas = self._before.members + members, self._before.weights + alphas
        e = self._empty
        return VoteModel(members, alphas, e.says, e.classes, e.n_outputs, e.floor)

    def close(self) -> None:
        """All rows are here."""


def _judged(rows: Dataset, shares: NDArray[np.int64], fit: _Fit, settings: AdaBoostOptions) -> ScoredRows:
    classes = rows.y.astype(class_dtype(settings.rule.n_classes))
    return ScoredRows(classes, shares, fit.raw(rows), fit.rows(rows), rows.sample_weight)


def _evaluation(rows: Dataset, fit: _Fit, team: Team, settings: AdaBoostOptions) -> ScoredRows:
    shares = RowWeights(rows.sample_weight, rows.table.n_rows, None, team).shares
    return _judged(rows, shares, fit, settings)


def _held_out(
    train: Dataset, trained: ScoredRows, held: NDArray[np.uint32], fit: _Fit, team: Team
) -> ScoredRows:
    weight = None if train.sample_weight is None else train.sample_weight[held]
    rounded = RowWeights(weight, len(held), None, team).shares
    raw = np.ascontiguousarray(trained.raw[:, held])
    return ScoredRows(trained.classes[held], rounded, raw, fit.take(trained.rows, held), weight)
