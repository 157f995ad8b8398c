"""Base class of the update rules of the AdaBoost family: scores, row weights and statistics of the rounds.

Scores are raw (outputs, rows): one output for two classes, positive for the second, else one for each class.
In every round a learner separates the classes under the distribution D, a step adds values to the scores of
its leaves, and D is computed from the new scores. A rule defines D, the step and a bound of the training
error. `hedgerow.boosting.adaboost.RULES` lists the rules of `AdaBoostClassifier`.
"""

import abc
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.boosting.adaboost_members import FittedMember
from hedgerow.boosting.loop import RoundResult, StopBoosting
from hedgerow.boosting.weak_learners import (
    Classes,
    ClassTargets,
    Distribution,
    RowWeights,
    Targets,
    probability_directions,
)
from hedgerow.kernels.cpu.adaboost import add_table, wrong_weight
from hedgerow.kernels.cpu.elementary import exp, log_into
from hedgerow.kernels.cpu.random import RESTART, draw_rows
from hedgerow.threads import Team, cached_property

CHANCE = 1e-10  # an edge below this is rounding: the learner is no better than chance
_MAX_RESTARTS = 10  # in a row
_DRAW_BITS = 8  # the number of a draw has the rounds before it and, in its low bits, the restarts in a row


def rounds_before(draw: float) -> int:
    """Return the number of rounds before the restart with this draw."""
    return int(draw) >> _DRAW_BITS


@dataclass(eq=False)
class ScoredRows:
    """Rows with their classes, integer weights (empty if all are equal) and scores of the ensemble.

    `rows` is the input of the learners: codes for trees, X for other members.
    """

    classes: Classes
    rounded: Integers
    raw: Floats  # (outputs, rows)
    rows: Any
    weight: Floats | None = None  # the sample weights

    def error(self, team: Team) -> float:
        """Return the weighted fraction of the rows that are misclassified."""
        classes, rounded = self.classes, self.rounded
        sums = team.over_rows(len(classes), partial(wrong_weight, self.raw, classes, rounded))
        return sum(map(int, sums)) / (int(rounded.sum()) if rounded.size else len(classes))


@dataclass(eq=False)
class ScoreUpdate:
    """What one fitted learner adds to the outputs from `first_output` on.

    leaf_values : float64 (outputs, leaves), the value of each leaf; or None
    directions : float64 (outputs, training rows) of a member that predicts numbers; or None

    After the round `fitted` is replaced by its compact form, a `WeakTree` or an estimator.
    """

    fitted: Any
    first_output: int
    leaf_values: Floats | None = None
    directions: Floats | None = None


@dataclass(eq=False)
class Step:
    """What one round adds to the ensemble, and its statistics.

    weight, error and normalizer are alpha, epsilon and Z. `max_step` is the largest absolute value that it
    can add to a score. `gain_scale` multiplies the gains of the splits in the model; None for the default.
    """

    updates: list[ScoreUpdate]
    weight: float
    error: float
    normalizer: float
    max_step: float
    last: bool = False
    gain_scale: float | None = None

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees of the round."""
        return sum(update.fitted.n_leaves for update in self.updates)

    def compact(self) -> None:
        """Discard arrays of the size of the training rows."""
        for update in self.updates:
            update.fitted, update.directions = update.fitted.compact, None


@dataclass(eq=False)
class RoundStatistics:
    """One entry per round; see the attributes of `hedgerow.AdaBoostClassifier`.

    AdaBoost.R2 has the first three only. `restarts` is the number of the last draw of new weights, -1 for
    none.
    """

    weights: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    normalizers: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    max_steps: list[float] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.weights)

    def first(self, n_rounds: int) -> "RoundStatistics":
        """Copy the statistics of the first rounds."""
        return RoundStatistics(*(values[:n_rounds] for values in vars(self).values()))

    def add(self, step: Step) -> None:
        """Append the statistics that all rules have."""
        self.weights.append(step.weight)
        self.errors.append(step.error)
        self.normalizers.append(step.normalizer)


@dataclass(frozen=True)
class RuleOptions:
    """Options of the rules.

    labels : labels of the classes, in the order of their numbers
    restart : draw new weights when a learner is no better than chance
    external_members : whether members are estimators of another library
    quiet : stop without a warning or an error when a learner is no better than chance
    """

    labels: NDArray[Any]
    learning_rate: float = 1.0
    restart: bool = False
    seed: int = 0
    external_members: bool = False
    quiet: bool = False

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)


class MemberOutputs(Protocol):
    """Computes outputs of a model for the training rows; see `hedgerow.boosting.adaboost_fit`."""

    def train_scores(self, model: Any) -> Floats:
        """Return scores (outputs, rows) of a sum of members."""

    def member_predictions(self, model: Any, rows: Any = None) -> Iterator[Floats]:
        """Yield predictions of each member of a median; None for the training rows."""


class AdaBoostRule(abc.ABC):
    """An update rule of the AdaBoost family.

    The scores of `train` are zero, or those of a model that the fit starts from, with its `statistics`. The
    error of the evaluation sets is computed in every round.
    """

    two_classes_only: ClassVar[bool] = False  # estimators refuse a target of more classes
    prediction_type: ClassVar[str] = "classes"  # what members of other libraries must predict
    criterion: ClassVar[str | None] = None  # of the splits of trees, if the rule requires one
    default_criterion: ClassVar[str | None] = None  # of the default stump
    measure: ClassVar[str] = "error"
    advice: ClassVar[str] = "use another estimator, or check that y depends on X"
    no_progress: ClassVar[str] = "the weak learner is no better than chance on the weighted training rows"

    def __init__(
        self,
        train: ScoredRows,
        evaluations: Sequence[ScoredRows],
        weights: RowWeights,
        options: RuleOptions,
        statistics: RoundStatistics | None = None,
    ) -> None:
        self.train, self.evaluations, self.weights = train, evaluations, weights
        self.options, self.team = options, weights.team
        self.learning_rate, self.n_classes = options.learning_rate, options.n_classes
        self.steepness = self.steepness_for(options.n_classes)
        self.statistics = RoundStatistics() if statistics is None else statistics
        self.steps: list[Step] = []
        self.stop_reason = ""
        self._restarts_in_a_row = 0
        self._restart_draw = -1  # number of the draw of the last restart
        self._restart_factor: Floats | None = None
        self._restart_scores: Floats | None = None
        self.distribution = self.reweight()

    # --- a rule defines these three

    @abc.abstractmethod
    def reweight(self) -> Distribution:
        """Compute D for the next round from the scores."""

    @abc.abstractmethod
    def step(self, fitted: list[Any]) -> Step | None:
        """Compute the step of the fitted learners; None if they are no better than chance."""

    @abc.abstractmethod
    def bound(self) -> float:
        """Return the upper bound of the training error, from the current scores."""

    # --- of fitted models

    @classmethod
    def steepness_for(cls, n_classes: int) -> float:  # noqa: ARG003 - other rules use it
        """Return the factor of scores in probabilities, softmax(factor * score)."""
        return 2.0

    @classmethod
    def row_weights(cls, raw: Floats, classes: Classes) -> Floats:
        """Return weights, not normalized, of rows with these scores; exp(-margin) unless overridden."""
        with Team(1) as team:
            n_classes = 2 if len(raw) == 1 else len(raw)
            weights = RowWeights(None, len(classes), None, team)
            return weights.exponential(raw, classes, cls.steepness_for(n_classes))[0]

    # --- the round

    def targets(self, iteration: int) -> list[Targets]:
        """Separate the classes under D."""
        return [ClassTargets(self.train.classes, self.options.labels, self.distribution)]

    def update(self, fitted: list[Any], iteration: int) -> RoundResult | None:
        """Add the step to all scores and compute the new weights of the rows."""
        step = self.step(fitted)
        if step is None:
            self._restart_or_stop(iteration)
            return None
        self._restarts_in_a_row = 0
        for rows in (self.train, *self.evaluations):
            self._add(step, rows)
        self.steps.append(step)
        self.statistics.add(step)
        self.statistics.max_steps.append(step.max_step)
        self.statistics.restarts.append(self._restart_draw)
        self.distribution = self.reweight()
        self.statistics.bounds.append(0.0 if step.last else self.bound())
        if step.last:
            self.is_finished()
        result = self.result(step)
        step.compact()
        return result

    def result(self, step: Step) -> RoundResult:
        """Return losses of the round, for the callbacks."""
        train = self.train.error(self.team)
        return RoundResult(step.n_leaves, train, self.evaluate(), self.measure, step.last)

    def evaluate(self) -> tuple[float, ...]:
        """Return the loss or error of each evaluation set at the current scores."""
        return tuple(rows.error(self.team) for rows in self.evaluations)

    def _add(self, step: Step, rows: ScoredRows) -> None:
        """Add a step to the scores of rows."""
        is_train = rows is self.train
        for update in step.updates:
            fitted, leaf_values, first = update.fitted, update.leaf_values, update.first_output
            if leaf_values is None:
                directions = update.directions if is_train else self.directions(fitted, rows.rows)
                assert directions is not None  # noqa: S101 - an update has leaf values or directions
                raw = rows.raw[first : first + len(directions)]
                raw += step.weight * directions
                continue
            raw = rows.raw[first : first + len(leaf_values)]
            leaf_ids = fitted.leaf_ids if is_train else fitted.apply(rows.rows)
            self.team.over_rows(len(leaf_ids), partial(add_table, raw, leaf_ids, leaf_values))

    def directions(self, fitted: FittedMember, rows: Any = None) -> Floats:
        """Return directions (outputs, rows) of a member that predicts probabilities or numbers.

        `rows` is None for the training rows.
        """
        if self.prediction_type == "probabilities":
            return probability_directions(fitted.probabilities(rows), self.smoothing)
        return fitted.numbers(rows)[np.newaxis]

    # --- end of the fit, and removed rounds

    def is_finished(self) -> bool:
        """Return whether the last round was perfect, so that no round can follow."""
        statistics = self.statistics
        if not (statistics.bounds and statistics.errors[-1] == statistics.bounds[-1] == 0.0):
            return False
        self.stop_reason = (
            f"the learner of round {statistics.n_rounds} is perfect: its weighted error is 0, and it decides "
            "alone"
        )
        return True

    @property
    def row_weight(self) -> Floats:
        """Weights of the training rows after the last round, not normalized."""
        return self.distribution.weight

    def resume(self, model: Any, ensemble: MemberOutputs) -> None:
        """Restore the weights of the last restart, if there was one in the rounds of the model."""
        draw = self.statistics.restarts[-1] if self.statistics.restarts else -1
        if draw >= 0:
            self._restart_from(int(draw), ensemble.train_scores(model.cut(rounds_before(draw))))

    def truncate(self, model: Any, ensemble: MemberOutputs) -> None:
        """Go back to the weights after the rounds of a truncated model."""
        self.train.raw = ensemble.train_scores(model)
        self.statistics = self.statistics.first(model.n_rounds)
        # a restart may have happened in a later round
        self._restart_draw, self._restart_factor, self._restart_scores = -1, None, None
        self.resume(model, ensemble)
        self.distribution = self.reweight()

    # --- no better than chance

    def _restart_or_stop(self, iteration: int) -> None:
        restart = self.options.restart
        if restart and self._restarts_in_a_row < _MAX_RESTARTS:
            self._restart_from((iteration << _DRAW_BITS) + self._restarts_in_a_row, self.train.raw.copy())
            self._restarts_in_a_row += 1
            return
        if self.options.quiet:
            raise StopBoosting
        attempts = f" after {_MAX_RESTARTS} restarts" if restart else ""
        if not self.statistics.weights:
            raise ValueError(
                f"{self.no_progress} in the first round{attempts}; there is nothing to boost: {self.advice}"
            )
        self.stop_reason = (
            f"{self.no_progress} in round {iteration + 1}{attempts}: the model has the rounds before it"
        )
        if not restart:
            hint = "on_chance='restart' continues with new random weights"
            warnings.warn(f"boosting stopped: {self.stop_reason}; {hint}", stacklevel=2)
        raise StopBoosting

    def _restart_from(self, draw: int, scores: Floats) -> None:
        """Draw random weights of mean one, -ln(uniform) (wagging: Webb 2000); margins count from `scores`."""
        draws = np.empty(self.weights.n_rows, np.uint64)
        draw_rows(self.options.seed, RESTART, draw, draws)
        uniform = ((draws >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        log_into(uniform, uniform)
        self._restart_draw, self._restart_scores = draw, scores
        self._restart_factor = self.weights.factor * -uniform
        self.distribution = self.reweight()

    # --- helpers of the rules

    @property
    def factor(self) -> Floats:
        """Factor of the row weights: the sample weights, or those drawn at a restart."""
        return self.weights.factor if self._restart_factor is None else self._restart_factor

    def scores_since_restart(self) -> Floats:
        """Return the scores of the training rows, without those at the last restart."""
        return self.train.raw if self._restart_scores is None else self.train.raw - self._restart_scores

    def exponential(self, steepness: float) -> Distribution:
        """Return D of weights exp(-margin); `mean_exponential` is their mean over all rounds."""
        raw, classes = self.train.raw, self.train.classes
        restarted = self._restart_scores is not None
        reused = None if restarted else vars(self).get("distribution")  # the old D is not used any more
        distribution, self._shift = self.weights.exponential_distribution(
            raw, classes, steepness, into=reused
        )
        self._mean = distribution.total / self.initial_total
        if not restarted:
            return distribution
        raw = self.scores_since_restart()
        return self.weights.exponential_distribution(raw, classes, steepness, self.factor)[0]

    def mean_exponential(self, offset: float = 0.0) -> float:
        """Return the weighted mean of exp(offset - margin); a single exponential cannot become 0 * inf."""
        return self._mean * float(exp(self._shift + offset))

    @cached_property
    def initial_total(self) -> float:
        """Sum of the sample weights."""
        plain = self.weights.plain_factor
        return self.weights.sum(plain) if plain.size else float(self.weights.n_copies)

    @property
    def smoothing(self) -> float:
        """1 / (2 m), added to a weight of zero before a logarithm (Schapire and Singer 1999)."""
        return 1.0 / (2.0 * self.weights.n_copies)
