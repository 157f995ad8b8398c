"""What the rules of the AdaBoost family share: scores, weights that are a function of them, a record.

Scores are raw (outputs, rows): one output for two classes, positive for the second, else one a class.
A round parts into a question (tell the classes apart under D), a step (how much the answer adds to the
score of each of its cells), and new weights. A rule says how D follows from the scores and what the step is.
"""

import abc
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.boosting.loop import RoundResult, StopBoosting
from hedgerow.boosting.row_weights import Classes, Distribution, RowWeights
from hedgerow.boosting.weak_learners import ClassProblem, Problem
from hedgerow.kernels.cpu.elementary import exp, log_into
from hedgerow.kernels.cpu.random import RESTART, draw_rows
from hedgerow.kernels.cpu.weights import add_table, wrong_weight
from hedgerow.threads import Team, cached_property

CHANCE = 1e-10  # an edge below this is rounding: the learner does no better than chance
_MOST_RESTARTS = 10  # in a row
_DRAW_BITS = 8  # a draw is numbered by the rounds before it and, in so many bits, by its place in a row


def rounds_before(draw: float) -> int:
    """How many rounds there were when weights were begun anew with this draw."""
    return int(draw) >> _DRAW_BITS


@dataclass(eq=False)
class ScoredRows:
    """Rows with their classes, integer weights (empty: all the same), and the scores the ensemble gives.

    `rows` is what an answer reads of them: codes for our trees, X for other members.
    """

    classes: Classes
    rounded: Integers
    raw: Floats  # (outputs, rows)
    rows: Any
    weight: Floats | None = None  # as the user gave them

    def error(self, team: Team) -> float:
        """The weighted share of the rows that are classified wrongly."""
        parts: list[int] = []
        raw, classes, rounded = self.raw, self.classes, self.rounded
        team.over_rows(
            len(classes), lambda a, b: parts.append(int(wrong_weight(raw, classes, rounded, a, b)))
        )
        return sum(parts) / (int(rounded.sum()) if rounded.size else len(classes))


@dataclass(eq=False)
class Addition:
    """What one answer adds to the outputs from `first` on; once added, only its tree or member is kept.

    table : float64 (outputs, cells), the value of each cell; or None
    directions : float64 (outputs, training rows) of a member that says numbers; or None
    """

    answer: Any
    first: int
    table: Floats | None = None
    directions: Floats | None = None


@dataclass(eq=False)
class Step:
    """A round's addition to the ensemble, and what is recorded of it.

    weight, error and normalizer are alpha, epsilon and Z; `reach` is the largest absolute value it can add.
    """

    additions: list[Addition]
    weight: float
    error: float
    normalizer: float
    reach: float
    last: bool = False


@dataclass(eq=False)
class Record:
    """One entry a round; see the attributes of `hedgerow.AdaBoostClassifier`.

    restarts : the number of the draw that weights were last begun anew with, -1 for none
    """

    weights: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    normalizers: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)

    def cut(self, n_rounds: int) -> "Record":
        """The first rounds."""
        return Record(*(getattr(self, name)[:n_rounds] for name in vars(self)))


@dataclass(frozen=True)
class RuleSettings:
    """What every rule is given beside the rows."""

    labels: NDArray[Any]
    learning_rate: float = 1.0
    restart: bool = False
    seed: int = 0
    foreign: bool = False  # members are of another library
    quiet: bool = False  # when no learner is better than chance, the caller says so

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)


class AdaBoostRule(abc.ABC):
    """An update rule of the AdaBoost family.

    Parameters
    ----------
    train : ScoredRows
        Its scores may be those of an ensemble to go on from.
    evaluations : sequence of ScoredRows
        Further rows whose error is followed.
    weights : RowWeights
    settings : RuleSettings
    record : Record
        Of the rounds gone on from.
    """

    says: ClassVar[str] = "classes"  # what members of other libraries are asked for
    criterion: ClassVar[str | None] = None  # of our trees' splits, when the rule must have one
    measure: ClassVar[str] = "error"
    advice: ClassVar[str] = "use another estimator, or check that y depends on X"
    refusal: ClassVar[str] = "the weak learner is no better than chance on the weighted training rows"

    def __init__(
        self,
        train: ScoredRows,
        evaluations: Sequence[ScoredRows],
        weights: RowWeights,
        settings: RuleSettings,
        record: Record | None = None,
    ) -> None:
        self.train, self.evaluations, self.weights = train, evaluations, weights
        self.settings, self.team = settings, weights.team
        self.learning_rate, self.n_classes = settings.learning_rate, settings.n_classes
        self.record = Record() if record is None else record
        self.steps: list[Step] = []
        self.stop_reason = ""
        self._drawn = -1  # the number of the draw of the last restart
        self._drawn_factor: Floats | None = None  # of the last restart
        self._since: Floats | None = None  # scores at the last restart
        self._restarts = 0
        self.distribution = self.weigh()

    # --- what a rule must say

    @abc.abstractmethod
    def weigh(self) -> Distribution:
        """D for the next round."""

    @abc.abstractmethod
    def step(self, answers: list[Any]) -> Step | None:
        """What the answers add; None when they are no better than chance."""

    @abc.abstractmethod
    def bound(self) -> float:
        """What the training error is proven to be at the most, from the scores as they are."""

    # --- the round

    def targets(self, iteration: int) -> list[Problem]:
        """Tell the classes apart under D."""
        return [ClassProblem(self.train.classes, self.settings.labels, self.distribution)]

    def update(self, answers: list[Any], iteration: int) -> RoundResult | None:
        """Add the step to all scores and weigh the rows anew."""
        step = self.step(answers)
        if step is None:
            self._refuse(iteration)
            return None
        self._restarts = 0
        for judged in (self.train, *self.evaluations):
            self.add(step, judged)
        self.steps.append(step)
        record = self.record
        record.weights.append(step.weight)
        record.errors.append(step.error)
        record.normalizers.append(step.normalizer)
        record.reaches.append(step.reach)
        record.restarts.append(self._drawn)
        self.distribution = self.weigh()
        record.bounds.append(0.0 if step.last else self.bound())
        if step.last:
            self.is_finished()
        outcome = self.outcome(step)
        for addition in step.additions:  # what is as large as the training rows is needed no more
            addition.answer, addition.directions = addition.answer.kept, None
        return outcome

    def is_finished(self) -> bool:
        """Whether the last round was perfect: nothing is left to do."""
        if not (self.record.bounds and self.record.errors[-1] == self.record.bounds[-1] == 0.0):
            return False
        self.stop_reason = (
            f"the learner of round {len(self.record.errors)} is perfect: its weighted error is 0, and it "
            "decides alone"
        )
        return True

    def outcome(self, step: Step) -> RoundResult:
        """What callbacks are told."""
        train = self.train.error(self.team)
        return RoundResult(n_leaves(step), train, self.evaluate(), self.measure, step.last)

    def evaluate(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""
        return tuple(judged.error(self.team) for judged in self.evaluations)

    def add(self, step: Step, judged: ScoredRows) -> None:
        """Add a step to the scores of some rows."""
        for addition in step.additions:
            answer, table = addition.answer, addition.table
            here = judged is self.train
            if table is None:
                directions = addition.directions if here else self.directions(answer, judged.rows)
                assert directions is not None  # noqa: S101 - a step has a table or directions
                raw = judged.raw[addition.first : addition.first + len(directions)]
                raw += step.weight * directions
                continue
            raw = judged.raw[addition.first : addition.first + len(table)]
            cells = answer.cells if here else answer.cells_of(judged.rows)
            self.team.over_rows(len(cells), partial(add_table, raw, cells, table))

    def directions(self, answer: Any, rows: Any) -> Floats:
        """Directions (outputs, rows) of a member that says numbers or probabilities."""
        raise TypeError(f"{type(self).__name__} adds tables only")

    # --- no better than chance

    def _refuse(self, number: int) -> None:
        if self.settings.restart and self._restarts < _MOST_RESTARTS:
            self._restart(number)
            return
        again = f" after {_MOST_RESTARTS} restarts" if self.settings.restart else ""
        error = self.refusal
        if self.settings.quiet:
            raise StopBoosting
        if not self.record.weights:
            raise ValueError(f"{error} in the first round{again}; there is nothing to boost: {self.advice}")
        self.stop_reason = f"{error} in round {number + 1}{again}: the rounds before it are the model"
        if not self.settings.restart:
            hint = "on_chance='restart' would go on with new weights"
            warnings.warn(f"boosting stopped: {self.stop_reason}; {hint}", stacklevel=2)
        raise StopBoosting

    def _restart(self, number: int) -> None:
        """Begin anew after so many rounds."""
        self.begin_anew((number << _DRAW_BITS) + self._restarts, self.train.raw.copy())
        self._restarts += 1

    def begin_anew(self, draw: int, since: Floats) -> None:
        """Go on with random weights of mean one, -ln(uniform) (wagging: Webb 2000), from these scores on."""
        draws = np.empty(self.weights.n_rows, np.uint64)
        draw_rows(self.settings.seed, RESTART, draw, draws)
        uniform = ((draws >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        log_into(uniform, uniform)
        self._drawn, self._drawn_factor, self._since = draw, self.weights.factor * -uniform, since
        self.distribution = self.weigh()

    def forget_restart(self) -> None:
        """Go on as if weights had never begun anew."""
        self._drawn, self._drawn_factor, self._since = -1, None, None

    # --- helpers of the rules

    def exponential(self, steepness: float) -> Distribution:
        """D of weights exp(-margin); their weighted mean over all rounds is what `mean_exponential` tells."""
        raw, classes = self.train.raw, self.train.classes
        before = vars(self).get("distribution")  # nobody looks at it any more
        into = before if self._since is None else None
        distribution, self._shift = self.weights.exponential_distribution(raw, classes, steepness, into=into)
        self._mean = distribution.total / self.initial_total
        if self._since is None:
            return distribution
        raw = raw - self._since
        return self.weights.exponential_distribution(raw, classes, steepness, self.factor)[0]

    def mean_exponential(self, more: float = 0.0) -> float:
        """Weighted mean of exp(more - margin); one exponential, so that 0 * inf cannot come of two."""
        return self._mean * float(exp(self._shift + more))

    @property
    def factor(self) -> Floats:
        """What weights are multiplied with: the sample weights, or those drawn at a restart."""
        return self.weights.factor if self._drawn_factor is None else self._drawn_factor

    @cached_property
    def initial_total(self) -> float:
        """Sum of the sample weights."""
        plain = self.weights.plain_factor
        return self.weights.sum(plain) if plain.size else float(self.weights.n_copies)

    @property
    def smoothing(self) -> float:
        """1 / (2 m), what is added to a weight of zero before a logarithm (Schapire and Singer 1999)."""
        return 1.0 / (2.0 * self.weights.n_copies)


def n_leaves(step: Step) -> int:
    """Leaves of all trees of a round just taken."""
    return sum(addition.answer.n_leaves for addition in step.additions)


def split_error(answer: Any) -> tuple[int, int]:
    """Integer weights of the rows that an answer's votes have right and wrong."""
    sums: list[list[int]] = answer.sums.tolist()
    right = sum(row[vote] for row, vote in zip(sums, answer.votes, strict=True))
    return right, sum(map(sum, sums)) - right
