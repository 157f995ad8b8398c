"""Fitting gradient boosting: rows and settings in, a model out.

table -> bins -> codes -> [ rule asks, learner answers ] x rounds -> forest
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.binning import BinnedTable, find_bins
from hedgerow.boosting.callbacks import HistoryDict
from hedgerow.boosting.gradient import GradientRule, Scores
from hedgerow.boosting.learners import AnyLearner, TreeLearner, take_scores
from hedgerow.boosting.loop import FitOptions, run_rounds
from hedgerow.boosting.model import MemberModel, TreeModel
from hedgerow.forest import Forest
from hedgerow.growing.grower import GrowthOptions, TreeGrower
from hedgerow.growing.statistics import Quantiser, Weights, without_held_out
from hedgerow.losses import Loss
from hedgerow.memory_estimates import estimate_gradient_boosting, estimate_members
from hedgerow.table.dataset import Dataset
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team

Model = TreeModel | MemberModel


@dataclass(eq=False, kw_only=True)
class Settings(FitOptions):
    """How to fit."""

    loss: Loss
    learning_rate: float
    rules: GrowthOptions
    max_bins: int = 255
    newton: bool = True
    subsample: float = 1.0


@dataclass(eq=False)
class Fitted:
    """A model and the record of its rounds."""

    model: Model
    history: HistoryDict = field(default_factory=dict)
    best_round: int | None = None


def fit_gradient(
    train: Dataset, evaluations: Sequence[Dataset], settings: Settings, previous: Model | None = None
) -> Fitted:
    """Fit, or go on from `previous`."""
    _require_memory(train, evaluations, settings)
    with Team(settings.n_threads, settings.chunk_rows) as team:
        if settings.estimator is None and not isinstance(previous, MemberModel):
            return _fit_trees(train, evaluations, settings, previous, team)
        if settings.estimator is not None and not isinstance(previous, TreeModel):
            return _fit_members(train, evaluations, settings, previous, team)
    raise TypeError(f"a {type(previous).__name__} cannot go on with estimator={settings.estimator!r}")


def _require_memory(train: Dataset, evaluations: Sequence[Dataset], settings: Settings) -> None:
    size = settings.size(train, evaluations, n_outputs=settings.loss.n_outputs, max_bins=settings.max_bins)
    if settings.estimator is None:
        rules, n_rows = settings.rules, size.n_rows
        n_leaves = min(rules.max_leaves(n_rows), max(1, n_rows // rules.min_samples_leaf))
        estimate = estimate_gradient_boosting(size, n_leaves)
    else:
        estimate = estimate_members(size, evaluates=True)
    advice = "use fewer rows or columns, a smaller eval_set"
    if estimate.get("trees", 0) > sum(estimate.values()) // 4:
        advice += ", a smaller n_estimators or max_leaf_nodes"
    size.require(estimate, advice=advice)


def _fit_trees(
    train: Dataset,
    evaluations: Sequence[Dataset],
    settings: Settings,
    previous: TreeModel | None,
    team: Team,
) -> Fitted:
    if any(isinstance(rows.table, RemoteTable) for rows in (train, *evaluations)):
        return _fit_elsewhere(train, evaluations, settings, previous, team)
    n, loss = train.table.n_rows, settings.loss
    weights = Weights.of(train.sample_weight, n, settings.validation_rows)
    bins = previous.bins if previous else find_bins(
        train.table, settings.max_bins, copies=weights.row_counts(n), team=team
    )  # fmt: skip
    binned = bins.encode(train.table, team)
    weight = without_held_out(train.sample_weight, settings.validation_rows, n)
    start = previous.start if previous else loss.start(train.y, weight)

    def scores(rows: Dataset, weight: Floats | None, coded: BinnedTable) -> Scores:
        model = previous or TreeModel(start, bins, Forest.of([], []))
        return Scores(rows.y, weight, model.scores(rows.table, team.n_members), coded)

    trained = scores(train, weight, binned)
    followed = [
        scores(rows, rows.sample_weight, bins.encode(rows.table, team, for_growing=False))
        for rows in evaluations
    ]
    if settings.validation_rows is not None:
        held = settings.validation_rows
        held_weight = None if train.sample_weight is None else train.sample_weight[held]
        followed.insert(0, Scores(train.y[held], held_weight, trained.raw[:, held], binned.take(held)))
        trained.validation_rows = held
    learner = TreeLearner(
        TreeGrower(binned, settings.rules, team), Quantiser(weights, n, team), loss, trained,
        monotonic=settings.rules.monotonic, learning_rate=settings.learning_rate, newton=settings.newton,
        subsample=settings.subsample, seed=settings.seed, team=team,
    )  # fmt: skip
    first = previous.n_rounds if previous else 0

    def made(steps: list[Any]) -> TreeModel:
        outputs = list(range(loss.n_outputs)) * len(steps)
        forest = Forest.of([tree for step in steps for tree in step.trees], outputs)
        return TreeModel(start, bins, Forest.join(previous.forest, forest) if previous else forest)

    return _run(settings, trained, followed, learner, first, team, made)


def _fit_elsewhere(
    train: Dataset,
    evaluations: Sequence[Dataset],
    settings: Settings,
    previous: TreeModel | None,
    team: Team,
) -> Fitted:
    from hedgerow.boosting.elsewhere_fit import ElsewhereFit  # noqa: PLC0415 - it knows `Dataset` and `Settings`

    with ElsewhereFit(train, evaluations, settings, previous, team) as fit:
        rule, learner = fit.rule_and_learner()
        return _boosted(settings, rule, learner, fit.first, followed=bool(fit.followed), made=fit.made)


def _fit_members(
    train: Dataset,
    evaluations: Sequence[Dataset],
    settings: Settings,
    previous: MemberModel | None,
    team: Team,
) -> Fitted:
    loss = settings.loss
    weight = without_held_out(train.sample_weight, settings.validation_rows, len(train.y))
    start = previous.start if previous else loss.start(train.y, weight)

    def scores(rows: Dataset) -> Scores:
        model = previous or MemberModel(start, [], [])
        return Scores(rows.y, rows.sample_weight, model.scores(rows.X, len(rows.y)), rows.X)

    whole, followed = scores(train), [scores(rows) for rows in evaluations]
    if settings.validation_rows is not None:
        followed.insert(0, take_scores(whole, settings.validation_rows))
    taking_part = np.ones(len(train.y), bool) if weight is None else weight > 0
    trained = whole if taking_part.all() else take_scores(whole, np.flatnonzero(taking_part))
    learner = AnyLearner(
        settings.estimator, loss, trained,
        learning_rate=settings.learning_rate, subsample=settings.subsample, seed=settings.seed,
    )  # fmt: skip
    first = previous.n_rounds if previous else 0

    def made(steps: list[Any]) -> MemberModel:
        members, lengths = [step.members for step in steps], [step.step for step in steps]
        if previous:
            members, lengths = previous.members + members, previous.steps + lengths
        return MemberModel(start, members, lengths)

    return _run(settings, trained, followed, learner, first, team, made)


def _run(
    settings: Settings,
    trained: Scores,
    followed: list[Scores],
    learner: Any,
    first_round: int,
    team: Team,
    made: Callable[[list[Any]], Model],
) -> Fitted:
    """Boost with a rule that has the scores of all rows."""
    rule = GradientRule(
        settings.loss, trained, followed,
        newton=settings.newton, follow_train=bool(followed) or settings.verbose > 0, team=team,
    )  # fmt: skip
    return _boosted(settings, rule, learner, first_round, followed=bool(followed), made=made)


def _boosted(
    settings: Settings,
    rule: Any,
    learner: Any,
    first_round: int,
    *,
    followed: bool,
    made: Callable[[list[Any]], Model],
) -> Fitted:
    """Boost; `made` makes a model of steps, of which those up to the best round are kept."""

    def so_far(history: HistoryDict, best: int | None) -> Fitted:
        return Fitted(made(rule.steps), history, best)

    history, best = run_rounds(
        rule, learner, settings, first_round, has_evaluation_sets=followed, snapshot=so_far
    )
    model = made(rule.steps)
    return Fitted(model if best is None else model.cut(best + 1), history, best)
