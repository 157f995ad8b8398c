"""Fitting gradient boosting: datasets and options in, a model out.

    table -> bins -> codes -> [ gradients -> trees -> scores ] x rounds -> forest

Every round computes the gradients of the loss at the current scores, fits trees to them (or regressors of
another library) and adds these to the scores (Friedman 2001; second order: Chen and Guestrin 2016). The rows
are in memory, in files or on a cluster: see `hedgerow.backends.base`.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.backends.base import EvaluationRows, TrainingRows, TreeFit, TreeRound
from hedgerow.backends.leaf_values import smooth_values
from hedgerow.backends.restorable_shards import is_central
from hedgerow.backends.target_statistics import TargetOptions, TargetStatistics
from hedgerow.binning import find_bins
from hedgerow.boosting.callbacks import HistoryDict
from hedgerow.boosting.dart import DropEvaluationRows, DropTrainingRows, rounds_of
from hedgerow.boosting.folds import FoldTeams, FoldTrainingRows, fold_options
from hedgerow.boosting.gradient_members import MemberEnsemble, MemberModel
from hedgerow.boosting.loop import FitOptions, RoundResult, run_rounds
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.grower import GrowthOptions, Weights, mask_weights
from hedgerow.losses import Loss
from hedgerow.memory import estimate_gradient_boosting, estimate_members
from hedgerow.table.table import Dataset
from hedgerow.threads import Team

Model = TreeModel | MemberModel


@dataclass(eq=False, kw_only=True)
class GradientBoostingOptions(FitOptions):
    """Options of gradient boosting."""

    loss: Loss
    learning_rate: float
    learning_rate_decay: float = 1.0  # factor of the rate from round to round
    max_leaf_step: float | None = None  # bound of leaf values before they are multiplied by the rate
    growth: GrowthOptions
    max_bins: int = 255
    newton: bool = True  # fit trees to gradients and hessians, not to gradients only
    sampling: str = "uniform"  # see hedgerow.backends.row_sampling
    subsample: float = 1.0  # fraction of the rows that are drawn for every round
    bagging_temperature: float = 1.0  # exponent of the weights of sampling="bayesian"
    n_folds: int = 1  # models that the fitted one is the mean of
    folds: NDArray[np.uint8] | None = None  # the fold of every row if there are several
    evaluates_folds: bool = True  # compute the out-of-fold loss in every round
    drop_rate: float = 0.0  # the probability that a round is dropped while a later one is fitted, see `dart`
    max_drop: int | None = None  # of rounds that are dropped at once
    path_smooth: float = 0.0  # pulls the value of a node towards its parent's, see `smooth_values`
    leaf_value_folds: int | None = None  # of the rows of a round, see hedgerow.backends.leaf_values
    target_options: TargetOptions | None = None  # of columns that are coded by target statistics
    linear_l2: float | None = None  # penalty of the linear functions of leaves; None for constant leaves

    @property
    def stores_scores(self) -> bool:
        """Whether a checkpoint stores the scores of rows, because these do not follow from the trees."""
        return self.drop_rate > 0.0 or self.leaf_value_folds is not None

    def rate(self, iteration: int) -> float:
        """Return the learning rate of a round, by products, which are the same on all machines."""
        rate = self.learning_rate
        if self.learning_rate_decay != 1.0:
            for _ in range(iteration):
                rate *= self.learning_rate_decay
        return rate

    def finish_values(
        self,
        values: Floats,
        counts: Integers,
        nodes: NDArray[np.void],
        iteration: int,
        value_nodes: Integers | None = None,
    ) -> Floats:
        """Bound and smooth values (nodes, m), and multiply them by the learning rate of the round."""
        if self.max_leaf_step is not None:
            values = np.clip(values, -self.max_leaf_step, self.max_leaf_step)
        if self.path_smooth:
            values = smooth_values(values, counts, nodes, self.path_smooth, value_nodes)
        return values * self.rate(iteration)

    def shrink(self, nodes: NDArray[np.void], iteration: int, value_nodes: Integers | None = None) -> None:
        """Do `finish_values` for the values of a tree."""
        values, counts = nodes["value"][:, np.newaxis], nodes["count"][:, np.newaxis]
        nodes["value"] = self.finish_values(values, counts, nodes, iteration, value_nodes)[:, 0]


@dataclass(eq=False)
class FitResult:
    """A fitted model, its loss and the history of its rounds; for a checkpoint also scores of rows."""

    model: Model
    loss: Loss
    history: HistoryDict = field(default_factory=dict)
    best_round: int | None = None
    scores: dict[str, Floats] = field(default_factory=dict)


def fit_gradient_boosting(
    train: Dataset,
    evaluation_sets: Sequence[Dataset],
    options: GradientBoostingOptions,
    previous: Model | None = None,
) -> FitResult:
    """Fit a model, or add rounds to `previous`."""
    _require_memory(train, evaluation_sets, options)
    rounds: list[Any] = []
    first_round = 0 if previous is None else previous.n_rounds
    stored = options.checkpointer.pop_scores() if options.checkpointer else {}
    if stored and options.drop_rate and isinstance(previous, TreeModel):  # its trees may be dropped
        rounds, previous = list(rounds_of(previous)), previous.cut(0)
    with ExitStack() as stack:
        team = stack.enter_context(Team(options.n_threads, options.chunk_rows))
        ensemble = _start_ensemble(train, options, previous, rounds, team, stack)
        training = ensemble.training_rows(train)
        stack.callback(training.close)
        evaluation_rows = []
        for rows in evaluation_sets:
            evaluation_rows.append(ensemble.evaluation_rows(rows))
            stack.callback(evaluation_rows[-1].close)
        rule = GradientRule(training, evaluation_rows, rounds, evaluate_training=options.verbose > 0)
        if stored:
            ensemble.restore_scores(stored)
            stored = {}  # as large as the scores of the rows

        def snapshot(history: HistoryDict, best_round: int | None) -> FitResult | None:
            if options.stores_scores and rule.in_round:
                return None  # after an interrupt: the scores are not those of the rounds
            return FitResult(ensemble.model(), options.loss, history, best_round, ensemble.scores())

        history, best_round = run_rounds(
            rule, training, options, first_round,
            has_evaluation_sets=bool(rule.evaluated), snapshot=snapshot,
        )  # fmt: skip
        model = ensemble.model()
    model = model if best_round is None else model.cut(best_round + 1)
    return FitResult(model, options.loss, history, best_round)


def _require_memory(
    train: Dataset, evaluation_sets: Sequence[Dataset], options: GradientBoostingOptions
) -> None:
    """Raise MemoryError if the fit needs more memory than is available."""
    n_outputs = options.loss.n_outputs
    size = options.size(
        train, evaluation_sets, n_outputs=n_outputs, max_bins=options.max_bins, n_folds=options.n_folds
    )
    central = size.is_remote and is_central(options)
    weighted = options.sampling != "uniform" and (central or not size.is_remote)
    size = replace(
        size, is_central=central, is_weighted=weighted, linear_leaves=options.linear_l2 is not None
    )
    if options.target_options is not None:
        n_coded = len(options.target_options.columns)
        size = replace(size, n_columns=size.n_columns + n_coded * (n_outputs - 1), n_coded=n_coded)
    if options.estimator is None:
        growth, n_rows = options.growth, size.n_rows
        n_leaves = growth.max_leaves(n_rows)
        if not growth.symmetric:
            n_leaves = min(n_leaves, max(1, n_rows // growth.min_samples_leaf))
        estimate = estimate_gradient_boosting(size, n_leaves, is_complete=growth.symmetric)
    else:
        estimate = estimate_members(size, evaluates=True)
    if options.leaf_value_folds is not None:
        estimate["leaf value folds"] = 25 * size.n_rows * size.n_folds  # one byte a row, and their draws
    if options.checkpointer and options.stores_scores:
        n_scores = n_outputs * (size.n_rows * size.n_folds + size.n_evaluated * (options.drop_rate > 0.0))
        estimate["scores in the checkpoint"] = 32 * n_scores  # four copies while the file is made
    advice, large_part = "use fewer rows or columns, a smaller eval_set", sum(estimate.values()) // 4
    if options.growth.symmetric and estimate.get("histograms", 0) > large_part:
        advice += ", a smaller max_depth"
    elif estimate.get("trees", 0) > large_part:
        advice += (
            f", a smaller n_estimators or {'max_depth' if options.growth.symmetric else 'max_leaf_nodes'}"
        )
    size.require(estimate, advice=advice)


class GradientRule:
    """The update rule of gradient boosting; the training rows are also the weak learner.

    rounds : receives what is fitted in every round
    evaluate_training : compute the loss of the training rows even without evaluation sets, in another pass
    in_round : whether a round has begun and is not complete
    """

    in_round = False

    def __init__(
        self,
        training: TrainingRows,
        evaluation_rows: Sequence[EvaluationRows],
        rounds: list[Any],
        *,
        evaluate_training: bool,
    ) -> None:
        self.training, self.evaluation_rows, self.rounds = training, evaluation_rows, rounds
        self.evaluated = [*([] if training.validation is None else [training.validation]), *evaluation_rows]
        self.evaluate_training = evaluate_training or bool(self.evaluated)

    def targets(self, iteration: int) -> Any:
        """Compute the gradients of the loss at the current scores."""
        self.in_round = True
        return self.training.gradients()

    def update(self, fitted: Any, iteration: int) -> RoundResult:
        """Add what was fitted to the ensemble and to all scores."""
        self.rounds.append(fitted)  # first: shards that are lost meanwhile are restored from the ensemble
        for rows in (self.training, *self.evaluation_rows):
            rows.update(fitted)
        train_loss = self.training.mean_loss() if self.evaluate_training else None
        result = RoundResult(fitted.n_leaves, train_loss, self.evaluate())
        self.in_round = False
        return result

    def evaluate(self) -> tuple[float, ...]:
        """Return the loss of each evaluation set at the current scores."""
        return tuple(rows.mean_loss() for rows in self.evaluated)


def _start_ensemble(
    train: Dataset,
    options: GradientBoostingOptions,
    previous: Model | None,
    rounds: list[Any],
    team: Team,
    stack: ExitStack,
) -> "_TreeEnsemble | MemberEnsemble":
    model_options, starts, weight = [options], list[Floats](), None
    if options.folds is not None:
        model_options = [fold_options(options, fold) for fold in range(options.n_folds)]
    for fold, own in enumerate(model_options):
        weight = mask_weights(train.sample_weight, own.validation_rows, len(train.y))
        if previous is None:
            starts.append(own.loss.start(train.y, weight))
        elif isinstance(previous, TreeModel) and previous.fold_starts is not None:
            starts.append(previous.fold_starts[fold])
        else:
            starts.append(previous.start)
    if options.estimator is None and not isinstance(previous, MemberModel):
        return _TreeEnsemble(train, options, model_options, starts, previous, rounds, team, stack)
    if options.estimator is not None and not isinstance(previous, TreeModel):
        return MemberEnsemble(options, previous, rounds, starts[0], weight, team)
    raise TypeError(f"a {type(previous).__name__} cannot be resumed with estimator={options.estimator!r}")


class _TreeEnsemble:
    """Trees on binned columns: one model, or one for each fold and their mean.

    model_options, starts : the options and the start scores of every model
    rounds : all rounds so far, without those of the `previous` model
    stack : closes the teams of the models
    """

    def __init__(
        self,
        train: Dataset,
        options: GradientBoostingOptions,
        model_options: Sequence[GradientBoostingOptions],
        starts: Sequence[Floats],
        previous: TreeModel | None,
        rounds: list[TreeRound],
        team: Team,
        stack: ExitStack,
    ) -> None:
        n_rows, self._options, self._previous, self._rounds = train.table.n_rows, options, previous, rounds
        weights = Weights.of(train.sample_weight, n_rows, options.validation_rows)
        bins = previous.bins if previous else find_bins(
            train.table, options.max_bins, copies=weights.row_counts(n_rows), team=team
        )  # fmt: skip
        statistics = None
        if options.target_options is not None:
            statistics = TargetStatistics(train.table, train.y, options.target_options)
            bins = bins if previous else statistics.add_to(bins, weights, options.max_bins)
        growth = options.growth.for_columns(bins.sources)
        self._teams: FoldTeams | None = None
        self._fold_starts: Floats | None = None
        start, previous_models = starts[0], [previous]
        if options.folds is not None:
            # a user's loss is called by one thread at a time
            at_once = options.loss.splittable and options.backend(train.table).concurrent_fits
            self._teams = FoldTeams(team, options.n_folds, stack, at_once=at_once)
            previous_models = [previous and previous.fold_model(fold) for fold in range(options.n_folds)]
            self._fold_starts = np.stack(starts)
            start = np.array([math.fsum(scores) / options.n_folds for scores in zip(*starts, strict=True)])
        self._fits = [
            TreeFit(
                replace(own, growth=replace(growth, seed=own.growth.seed)),
                bins,
                starts[model],
                Weights.of(train.sample_weight, n_rows, own.validation_rows),
                mask_weights(train.sample_weight, own.validation_rows, n_rows),
                self._teams.teams[model] if self._teams else team,
                previous_models[model],
                partial(self._fold_forest, model),
                statistics,
            )
            for model, own in enumerate(model_options)
        ]
        self._mean_fit = TreeFit(options, bins, start, weights, None, team, previous, self._forest)
        self._training: list[Any] = []  # the training rows of every model
        self._dropping: list[Any] = []  # evaluation sets whose scores do not follow from the trees

    def training_rows(self, train: Dataset) -> TrainingRows:
        """Prepare the training rows."""
        y, folds = train.y, self._options.folds
        self._training = rows = self._options.backend(train.table).training_rows(self._fits, train)
        if self._options.drop_rate:
            return DropTrainingRows(rows[0], self._rounds, self._options)
        if folds is None or self._teams is None:
            return rows[0]
        training = FoldTrainingRows(rows, y, train.sample_weight, folds, self._teams)
        if not self._options.evaluates_folds:
            training.validation = None
        return training

    def evaluation_rows(self, rows: Dataset) -> EvaluationRows:
        """Prepare an evaluation set."""
        evaluation = self._options.backend(rows.table).evaluation_rows(self._mean_fit, rows)
        if not self._options.drop_rate:
            return evaluation
        self._dropping.append(evaluation)
        return DropEvaluationRows(evaluation)

    def scores(self) -> dict[str, Floats]:
        """Return the scores that a checkpoint stores: of the models (models, outputs, rows), of all sets."""
        scores = {}
        if self._options.stores_scores:
            scores["training"] = np.stack([rows.raw for rows in self._training])
        if self._dropping:
            scores["evaluation"] = np.concatenate([rows.raw for rows in self._dropping], axis=1)
        return scores

    def restore_scores(self, scores: dict[str, Floats]) -> None:
        """Set the scores to those of a checkpoint."""
        for rows, raw in zip(self._training, scores["training"], strict=True):
            rows.restore(raw)
        first = 0
        for rows in self._dropping:
            rows.raw[:] = scores["evaluation"][:, first : first + rows.raw.shape[1]]
            first += rows.raw.shape[1]

    def model(self) -> TreeModel:
        """Make a model of all rounds so far."""
        return TreeModel(self._mean_fit.start, self._mean_fit.bins, self._forest(), self._fold_starts)

    def _fold_forest(self, fold: int) -> Forest:
        """Return all trees of the model of a fold so far."""
        return self.model().fold_model(fold).forest

    def _forest(self) -> Forest:
        n_outputs = self._options.loss.n_outputs
        trees = [tree for done in self._rounds for tree in done.trees]
        terms = [own for done in self._rounds for own in done.terms]
        forest = Forest.of(trees, [number % n_outputs for number in range(len(trees))], terms)
        return Forest.join(self._previous.forest, forest) if self._previous else forest
