"""Fitting the AdaBoost family, classifiers and AdaBoost.R2: datasets and options in, a model out.

table -> bins -> codes -> [ rule.targets -> tree  -> rule.update ] x rounds -> forest, or median of trees
X ----------------------> [ rule.targets -> clone -> rule.update ] x rounds -> vote, or median of members

Classifiers add up the scores of their members, AdaBoost.R2 takes the weighted median of the predictions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow._typing import Floats, Integers, Keys, RowNumbers
from hedgerow.backends.base import WeakRows
from hedgerow.binning import Bins, find_bins
from hedgerow.boosting.adaboost_family import AdaBoostRule, RoundStatistics, RuleOptions, ScoredRows, Step
from hedgerow.boosting.adaboost_members import MemberLearner
from hedgerow.boosting.adaboost_models import MedianMembers, MedianModel, MedianRows, MedianTrees, VoteModel
from hedgerow.boosting.callbacks import HistoryDict
from hedgerow.boosting.loop import FitOptions, run_rounds
from hedgerow.boosting.r2 import R2Rule
from hedgerow.boosting.weak_learners import Resampler, RowSubset, RowWeights, WeakTreeLearner, class_dtype
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.weak_tree import WeakRules
from hedgerow.kernels.cpu.adaboost import WHOLE
from hedgerow.members import predict_values, take_rows
from hedgerow.memory import (
    estimate_adaboost,
    estimate_adaboost_r2,
    estimate_members,
    estimate_weak_trees,
    weak_tree_nodes,
)
from hedgerow.table import Table
from hedgerow.table.table import Dataset
from hedgerow.threads import Team

Model = TreeModel | VoteModel | MedianModel
FamilyRule = AdaBoostRule | R2Rule


@dataclass(eq=False, kw_only=True)
class AdaBoostOptions(FitOptions):
    """Options of the family.

    make_rule : a rule class, or a partial of one
    n_outputs : number of scores of a row
    prediction_type : what members of other libraries predict: "classes", "probabilities" or "numbers"
    median : whether the prediction is the weighted median of the members (AdaBoost.R2)
    tree_rules : limits of trees; None for members of other libraries
    user_edges : the user's bin edges by column; None without any
    row_keys : hashes of the rows, if members are fitted to rows drawn by their weights
    """

    make_rule: Callable[..., FamilyRule]
    rule: RuleOptions
    n_outputs: int = 1
    prediction_type: str = "numbers"
    median: bool = False
    tree_rules: WeakRules | None = None
    max_bins: int = 255
    user_edges: list[Floats | None] | None = None
    row_keys: Keys | None = None


@dataclass(eq=False)
class AdaBoostResult:
    """A model, the statistics of its rounds, and the final weights of the training rows.

    `train` has the scores and classes of the training rows of a classifier.
    """

    model: Any
    statistics: RoundStatistics
    sample_weights: Floats
    train: Any
    stop_reason: str
    history: HistoryDict = field(default_factory=dict)
    best_round: int | None = None


def fit_adaboost(
    train: Dataset,
    evaluations: Sequence[Dataset],
    options: AdaBoostOptions,
    previous: tuple[Model, RoundStatistics] | None = None,
) -> AdaBoostResult:
    """Fit a model, or add rounds to a previous one."""
    _require_memory(train, evaluations, options)
    with ExitStack() as stack:
        team = stack.enter_context(Team(options.n_threads, options.chunk_rows))
        weights = RowWeights(train.sample_weight, train.table.n_rows, options.validation_rows, team)
        resampler = None
        if options.row_keys is not None:
            resampler = Resampler(options.row_keys, train.y, weights, options.rule.seed)
        make_ensemble = _AdaBoostMemberEnsemble if options.tree_rules is None else _AdaBoostTreeEnsemble
        ensemble: _AdaBoostTreeEnsemble | _AdaBoostMemberEnsemble = make_ensemble(
            train, options, weights, resampler, previous[0] if previous else None
        )
        stack.callback(ensemble.close)
        statistics = previous[1].first(previous[0].n_rounds) if previous else RoundStatistics()
        make_rule = _median_rule if options.median else _score_rule
        rule = make_rule(train, evaluations, options, ensemble, weights, statistics)
        if previous:
            rule.resume(previous[0], ensemble)

        def snapshot(history: HistoryDict, best: int | None) -> AdaBoostResult:
            statistics = rule.statistics.first(rule.statistics.n_rounds)
            final = weights.normalized(rule.row_weight)
            model = ensemble.model(rule.steps)
            return AdaBoostResult(model, statistics, final, rule.train, rule.stop_reason, history, best)

        history, best = run_rounds(
            rule, ensemble.learner, options, statistics.n_rounds,
            has_evaluation_sets=bool(rule.evaluations), snapshot=snapshot, finished=rule.is_finished(),
        )  # fmt: skip
        n_done = rule.statistics.n_rounds
        n_kept = n_done if best is None else best + 1
        reason, model = _stop_reason(rule, options, n_kept), ensemble.model(rule.steps).cut(n_kept)
        if n_kept < n_done:
            rule.truncate(model, ensemble)
        final = weights.normalized(rule.row_weight, in_place=True)
        return AdaBoostResult(model, rule.statistics, final, rule.train, reason, history, best)


def _require_memory(train: Dataset, evaluations: Sequence[Dataset], options: AdaBoostOptions) -> None:
    size = options.size(train, evaluations, n_outputs=options.n_outputs, max_bins=options.max_bins)
    numeric, trees, n_nodes = options.prediction_type == "numbers", options.tree_rules, 0
    if trees is None:
        learners = estimate_members(size)
    else:
        learners = estimate_weak_trees(size, 2 if numeric else options.rule.n_classes)
        n_nodes = weak_tree_nodes(size.n_rows, trees.max_depth, trees.max_leaf_nodes, classes=not numeric)
    if options.median:
        n_evaluated = size.n_evaluated + size.n_held_out + (size.n_rows if options.verbose else 0)
        advice = "use fewer rows or columns, a smaller eval_set"
        size.require(learners, estimate_adaboost_r2(size, n_evaluated), advice=advice)
    else:
        size.require(learners, estimate_adaboost(size, regression_trees=numeric, n_nodes=n_nodes))


def _stop_reason(rule: FamilyRule, options: AdaBoostOptions, n_kept: int) -> str:
    n_done = rule.statistics.n_rounds
    if n_kept < n_done:
        end = f"no improvement for {n_done - n_kept} rounds"
        end = end if n_done < options.n_rounds else "all rounds are done"
        return f"{end}: the {n_kept} rounds up to the best are kept"
    if rule.stop_reason:
        return rule.stop_reason
    if n_done >= options.n_rounds:
        return f"all {options.n_rounds} rounds are done"
    return f"stopped by a callback or an interrupt after {n_done} rounds"


# --- rules with their rows


def _score_rule(
    train: Dataset,
    evaluations: Sequence[Dataset],
    options: AdaBoostOptions,
    ensemble: "_AdaBoostTreeEnsemble | _AdaBoostMemberEnsemble",
    weights: RowWeights,
    statistics: RoundStatistics,
) -> FamilyRule:
    """Create a rule of a classifier."""
    team, validation_rows = weights.team, options.validation_rows

    def scored(data: Dataset, rounded: Integers) -> ScoredRows:
        classes = data.y.astype(class_dtype(options.rule.n_classes))
        return ScoredRows(classes, rounded, ensemble.scores(data), ensemble.encode(data), data.sample_weight)

    def rounded(weight: Floats | None, n_rows: int) -> Integers:
        return RowWeights(weight, n_rows, None, team).rounded

    scored_train = scored(train, weights.rounded)
    train.y = np.empty(0)  # release 8 bytes per row: the classes are in `scored_train`
    sets = [scored(data, rounded(data.sample_weight, data.table.n_rows)) for data in evaluations]
    if validation_rows is not None:
        weight = None if train.sample_weight is None else train.sample_weight[validation_rows]
        raw = np.ascontiguousarray(scored_train.raw[:, validation_rows])
        rows = ensemble.take(validation_rows)
        classes = scored_train.classes[validation_rows]
        sets.insert(0, ScoredRows(classes, rounded(weight, len(classes)), raw, rows, weight))
    return options.make_rule(scored_train, sets, weights, options.rule, statistics)


def _median_rule(
    train: Dataset,
    evaluations: Sequence[Dataset],
    options: AdaBoostOptions,
    ensemble: "_AdaBoostTreeEnsemble | _AdaBoostMemberEnsemble",
    weights: RowWeights,
    statistics: RoundStatistics,
) -> FamilyRule:
    """Create the rule of AdaBoost.R2."""
    team, subset = weights.team, options.validation_rows
    sets = [MedianRows(data.y, data.sample_weight, team, rows=ensemble.encode(data)) for data in evaluations]
    if subset is not None:
        weight = None if train.sample_weight is None else train.sample_weight[subset]
        sets.insert(0, MedianRows(train.y[subset], weight, team, subset=subset))
    monitored = None
    if options.verbose:  # only if its error is printed: it holds 12 bytes per row and round
        rows = weights.rows
        monitored = MedianRows(train.y[rows], weights.sample_weight[rows], team, subset=rows)
    return options.make_rule(train.y, monitored, sets, weights, options.rule, statistics)


# --- ensembles: a learner, its input, and the model of its members


class _AdaBoostTreeEnsemble:
    """Trees, grown on codes."""

    def __init__(
        self,
        train: Dataset,
        options: AdaBoostOptions,
        weights: RowWeights,
        resampler: Resampler | None,
        previous: Any,
    ) -> None:
        assert options.tree_rules is not None  # noqa: S101 - `fit_adaboost` has checked it
        team, edges = weights.team, options.user_edges
        is_median = isinstance(previous, MedianTrees)
        self._previous: TreeModel | None = previous.trees if is_median else previous
        self._previous_weights: list[float] = previous.weights if is_median else []
        self.bins: Bins = (
            find_bins(train.table, options.max_bins, copies=weights.counts, team=team, user_edges=edges)
            if self._previous is None
            else self._previous.bins.checked_for_warm_start(edges)
        )
        self._team, self._options = team, options
        self._train = options.backend(train.table).weak_rows(train.table, self.bins, team)
        self._rows: dict[Table, WeakRows] = {train.table: self._train}
        self.learner = WeakTreeLearner(self._train.make_grower(options.tree_rules), weights, resampler)

    def encode(self, data: Dataset) -> WeakRows:
        """Return the rows as the fitted learners read them."""
        table = data.table
        if table not in self._rows:
            backend = self._options.backend(table)
            self._rows[table] = backend.weak_rows(table, self.bins, self._team)
        return self._rows[table]

    def take(self, numbers: RowNumbers) -> RowSubset:
        """Select training rows."""
        return RowSubset(numbers)

    def scores(self, data: Dataset) -> Floats:
        """Return scores of the previous model; zero without one."""
        if self._previous is None or not self._previous.n_rounds:
            return np.zeros((self._options.n_outputs, data.table.n_rows))
        return self.encode(data).scores(self._previous.forest, self._options.n_outputs)

    def train_scores(self, model: TreeModel) -> Floats:
        """Return scores of the training rows with a model."""
        return self._train.scores(model.forest, self._options.n_outputs)

    def member_predictions(self, model: MedianTrees, rows: WeakRows | None = None) -> Iterator[Floats]:
        """Yield predictions of each member of a median; None for the training rows."""
        for tree in range(model.n_rounds):
            yield (rows or self._train).scores(model.trees.forest.select(range(tree, tree + 1)), 1)[0]

    def model(self, steps: list[Step]) -> TreeModel | MedianTrees:
        trees, outputs, values, scales = [], list[int](), [np.empty(0)], list[float]()
        for step in steps:
            scale = abs(step.weight) / WHOLE if step.gain_scale is None else step.gain_scale
            for update in step.updates:
                leaf_values = update.leaf_values
                assert leaf_values is not None  # noqa: S101 - trees have leaf values
                n_outputs = len(leaf_values)
                trees += [update.fitted.nodes] * n_outputs
                outputs += range(update.first_output, update.first_output + n_outputs)
                values.append(leaf_values.reshape(-1))
                scales += [scale] * n_outputs
        forest = Forest.of(trees, outputs)
        gain = forest.gain * np.repeat(scales, np.diff(forest.starts))
        forest = replace(forest, value=np.concatenate(values), gain=gain)
        if self._previous is not None:
            forest = Forest.join(self._previous.forest, forest)
        model = TreeModel(np.zeros(self._options.n_outputs), self.bins, forest)
        if not self._options.median:
            return model
        return MedianTrees(_median_weights(self._previous_weights, steps), model)

    def close(self) -> None:
        """Release remote rows."""
        while self._rows:
            self._rows.popitem()[1].close()


class _AdaBoostMemberEnsemble:
    """Clones of an estimator of another library, fitted to X."""

    def __init__(
        self,
        train: Dataset,
        options: AdaBoostOptions,
        weights: RowWeights,
        resampler: Resampler | None,
        previous: Any,
    ) -> None:
        self._previous, self._train, self._median = previous, train, options.median
        smoothing = 1.0 / (2.0 * weights.n_copies)
        self._empty = VoteModel(
            [], [], options.prediction_type, options.rule.labels, options.n_outputs, smoothing
        )
        self.learner = MemberLearner(
            options.estimator, train.X, weights, options.prediction_type, resampler, options.rule.seed
        )

    def encode(self, data: Dataset) -> Any:
        return data.X

    def take(self, numbers: RowNumbers) -> Any:
        return take_rows(self.learner.X, numbers)

    def scores(self, data: Dataset) -> Floats:
        model: VoteModel = self._previous or self._empty
        return model.scores(data.X, data.table.n_rows)

    def train_scores(self, model: VoteModel) -> Floats:
        return model.scores(self._train.X, self._train.table.n_rows)

    def member_predictions(self, model: MedianMembers, rows: Any = None) -> Iterator[Floats]:
        for member in model.members:
            yield predict_values(member, self.learner.X if rows is None else rows)

    def model(self, steps: list[Step]) -> VoteModel | MedianMembers:
        previous = self._previous
        members = [[update.fitted for update in step.updates] for step in steps]
        if self._median:
            weights = _median_weights(previous.weights if previous else [], steps)
            return MedianMembers(
                weights, (previous.members if previous else []) + [member for (member,) in members]
            )
        weights = [step.weight for step in steps]
        if previous:
            members, weights = previous.members + members, previous.weights + weights
        return replace(self._empty, members=members, weights=weights)

    def close(self) -> None:
        """Nothing is remote."""


def _median_weights(previous: list[float], steps: list[Step]) -> list[float]:
    weights = previous + [step.weight for step in steps]
    if not weights:
        raise KeyboardInterrupt("fit was interrupted before its first round was done: there is no model")
    return weights
