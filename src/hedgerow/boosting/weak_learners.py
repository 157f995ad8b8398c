"""Weak learners of the AdaBoost family: our own trees on codes, or any scikit-learn estimator on X.

An update rule asks a list of problems, one but for the rules that treat several classes one by one, and a
learner answers each. An answer parts the rows into cells (leaves, or the classes predicted) that it votes
for, or says a number for every row.
"""

import sys
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from hedgerow._typing import Floats, Integers
from hedgerow.binning import BinnedTable, Bins
from hedgerow.boosting.row_weights import Classes, Distribution, RowWeights, draw_sample
from hedgerow.growing.weak_shards import RemoteRows, RowSubset, ShardedWeakGrower
from hedgerow.growing.weak_tree import WeakGrower, WeakRules, WeakTree
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.kernels.cpu.weights import tally
from hedgerow.members import VoteModel, class_numbers, class_probabilities
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team, cached_property

_TARGET_STEPS = 1 << 30  # of a target between 0 and its largest, when rows are drawn
CodedRows = BinnedTable | RemoteRows | RowSubset
_NO_INTEGERS, _NO_CLASSES = np.empty(0, np.int64), np.empty(0, np.uint8)


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Tell the classes apart under a distribution. `labels` are the names of the classes."""

    classes: Classes
    labels: NDArray[Any]
    distribution: Distribution


@dataclass(frozen=True, eq=False)
class NumberProblem:
    """Fit numbers by weighted least squares; |target| <= largest."""

    target: Floats
    weight: Floats
    largest: float


Problem = ClassProblem | NumberProblem


class Answer(Protocol):
    """What the rules read of an answer.

    `cells` are those of the training rows; `votes` the class each cell stands for; `sums` (cells, classes)
    the integer weights of the distribution in it; `values` what each cell is worth in a number problem.
    """

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree; 0 for other learners."""


class GrownAnswer:
    """A tree of ours.

    Parameters
    ----------
    tree : WeakTree
    cells : int32 (n,)
        Leaves of the training rows.
    sums : int64 (nodes, classes)
        Weights of the distribution in every leaf, 0 in inner nodes.
    opinion : int64 (nodes, channels)
        The same for the rows the tree was grown on: a drawn sample, or all.
    reach : (float, float, float)
        Of a number problem: `largest`, and the least and the greatest target.
    """

    def __init__(
        self,
        tree: WeakTree,
        cells: Classes,
        sums: Integers,
        opinion: Integers,
        team: Team,
        reach: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        self.tree, self.cells, self.sums, self.opinion = tree, cells, sums, opinion
        self.kept, self.n_leaves, self._reach, self._team = tree, tree.n_leaves, reach, team

    @cached_property
    def votes(self) -> list[int]:
        """The heaviest class of every node; the first of equal ones."""
        return [weights.index(max(weights)) for weights in self.opinion.tolist()]

    @property
    def values(self) -> Floats:
        """The weighted mean of the target in every node, within the targets.

        Rows that are lighter than the rest by many powers of ten have few bits of their moments left.
        """
        largest, low, high = self._reach
        weight, second = self.opinion.T.astype(np.float64)
        means: Floats = np.divide(second, weight, out=np.zeros(len(weight)), where=weight > 0)
        return np.clip(means * largest, low, high)

    def cells_of(self, rows: CodedRows) -> Classes:
        """The leaves of other rows, or of some of the training rows."""
        if isinstance(rows, RowSubset):
            taken: Classes = self.cells[rows.numbers]
            return taken
        return rows.cells(self.tree) if isinstance(rows, RemoteRows) else self.tree.cells(rows, self._team)


class MemberAnswer:
    """A fitted estimator of another library; `model` reads what it says."""

    n_leaves = 0

    def __init__(self, member: Any, X: Any, problem: Problem, model: VoteModel) -> None:
        self.member, self.X, self._problem, self.model = member, X, problem, model
        self.kept = member

    @cached_property
    def probabilities(self) -> Floats:
        """Of the training rows, (classes, rows)."""
        return class_probabilities(self.member, self.X, self._labels)

    @property
    def _labels(self) -> NDArray[Any]:
        assert isinstance(self._problem, ClassProblem)  # noqa: S101 - only such problems have cells
        return self._problem.labels

    @cached_property
    def cells(self) -> Classes:
        """The classes that the member predicts for the training rows."""
        if self.model.says == "probabilities":
            return np.asarray(np.argmax(self.probabilities, axis=0), np.int32)
        return self.cells_of(self.X)

    def cells_of(self, rows: Any) -> Classes:
        """The classes that the member predicts for other rows."""
        return class_numbers(self.member, rows, self._labels)

    @property
    def votes(self) -> list[int]:
        """A cell is the class it stands for."""
        return list(range(len(self._labels)))

    @cached_property
    def sums(self) -> Integers:
        """Weights of the distribution by predicted and true class."""
        assert isinstance(self._problem, ClassProblem)  # noqa: S101 - see _labels
        sums = np.zeros((len(self._labels),) * 2, np.int64)
        tally(self.cells, self._problem.classes, self._problem.distribution.rounded, sums)
        return sums


class Draws:
    """Rows drawn by their weights: a pure function of the seed, the round, the attempt and the problem."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._number, self._attempt = -1, 0

    def begin(self, number: int) -> None:
        """Note a round; the same number once more is another attempt."""
        self._attempt = self._attempt + 1 if number == self._number else 0
        self._number = number

    def rows(self, rounded: Integers, n_draws: int, place: int) -> NDArray[np.int64]:
        """Draw for problem number `place`."""
        key = (self._number << 32) + (self._attempt << 24) + place
        return draw_sample(rounded, n_draws, self.seed, key)


class CodedTables:
    """Codes of the tables of a fit, here or where their rows are; and growers of trees on them.

    Parameters
    ----------
    bins : Bins
    team : Team
    """

    def __init__(self, bins: Bins, team: Team) -> None:
        self.bins, self.team = bins, team
        self._placed: dict[RemoteTable, RemoteRows] = {}

    def code(self, table: Table) -> BinnedTable | RemoteRows:
        """The codes of a table."""
        if isinstance(table, RemoteTable):
            return self.placed(table)
        return self.bins.encode(table, self.team, for_growing=False)

    def placed(self, table: RemoteTable) -> RemoteRows:
        """The codes of a table that is elsewhere, which are made once."""
        if table not in self._placed:
            self._placed[table] = RemoteRows(table, self.bins, self.team.n_members)
        return self._placed[table]

    def grower(self, rows: BinnedTable | RemoteRows, rules: WeakRules) -> WeakGrower | ShardedWeakGrower:
        """What grows weak trees on coded rows."""
        if isinstance(rows, RemoteRows):
            return ShardedWeakGrower(rows, rules, self.team)
        return WeakGrower(rows, rules, self.team)

    def close(self) -> None:
        """Let go of rows that are elsewhere."""
        while self._placed:
            self._placed.popitem()[1].close()


def take_rows(rows: BinnedTable | RemoteRows, numbers: NDArray[np.uint32]) -> CodedRows:
    """Some of the training rows, as answers read them."""
    return RowSubset(numbers) if isinstance(rows, RemoteRows) else rows.take(numbers)


class GrownLearner:
    """Answers with trees of ours.

    Parameters
    ----------
    grower : WeakGrower or ShardedWeakGrower
    weights : RowWeights
    resample : bool
        Grow on rows drawn by the distribution, not on weights.
    seed : int
    team : Team
    """

    def __init__(
        self,
        grower: WeakGrower | ShardedWeakGrower,
        weights: RowWeights,
        *,
        resample: bool,
        seed: int,
        team: Team,
    ) -> None:
        self.grower, self.weights, self.resample, self.team = grower, weights, resample, team
        self._draws = Draws(seed)

    def fit(self, targets: list[Problem], iteration: int) -> list[GrownAnswer]:
        """One tree a problem."""
        self._draws.begin(iteration)
        return [
            self._classes(problem, place) if isinstance(problem, ClassProblem)
            else self._numbers(problem, place)
            for place, problem in enumerate(targets)
        ]  # fmt: skip

    def _classes(self, problem: ClassProblem, place: int) -> GrownAnswer:
        weight = problem.distribution.rounded
        if self.resample:
            weight = self._drawn(weight, place)
        sample = Sample(weight, _NO_INTEGERS, problem.classes)
        tree, cells = self.grower.grow_with_cells(sample, len(problem.labels))
        sums = opinion = tree.sums
        if self.resample:
            sums = np.zeros_like(opinion)
            tally(cells, problem.classes, problem.distribution.rounded, sums)
        return GrownAnswer(tree, cells, sums, opinion, self.team)

    def _numbers(self, problem: NumberProblem, place: int) -> GrownAnswer:
        weight, second = self.weights.moments(problem.weight, problem.target, problem.largest)
        if self.resample:
            drawn = self._drawn(weight, place)
            unit = min(_TARGET_STEPS / (problem.largest or 1.0), sys.float_info.max)
            weight, second = drawn * _TARGET_STEPS, drawn * np.rint(problem.target * unit).astype(np.int64)
        tree, cells = self.grower.grow_with_cells(Sample(weight, second, _NO_CLASSES), 2)
        everyone = self.weights.n_taking_part == self.weights.n_rows
        target = problem.target if everyone else problem.target[self.weights.rows]
        reach = problem.largest, float(target.min()), float(target.max())
        return GrownAnswer(tree, cells, tree.sums, tree.sums, self.team, reach)

    def _drawn(self, rounded: Integers, place: int) -> Integers:
        """How often each row is drawn, in as many draws as rows take part."""
        rows = self._draws.rows(rounded, self.weights.n_taking_part, place)
        return np.bincount(rows, minlength=len(rounded)).astype(np.int64)


class MemberLearner:
    """Answers with clones of an estimator.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor
    X : the rows as the user gave them
    weights : RowWeights
    model : VoteModel
        How members are read; an empty one.
    resample : bool
        Fit to rows drawn by the distribution; always done for estimators without `sample_weight`.
    seed : int
        Of the draws; and gives every clone that has a `random_state` one of its own.
    """

    def __init__(
        self, estimator: Any, X: Any, weights: RowWeights, model: VoteModel, *, resample: bool, seed: int
    ) -> None:
        self.estimator, self.weights, self.model, self.seed = estimator, weights, model, seed
        self.X = X.tocsr() if sparse.issparse(X) else X if hasattr(X, "__getitem__") else np.asarray(X)
        self.resample = resample or not has_fit_parameter(estimator, "sample_weight")
        everyone = len(weights.rows) == weights.n_rows
        self._part = self.X if everyone else _safe_indexing(self.X, weights.rows.astype(np.int64))
        self._draws = Draws(seed)

    def fit(self, targets: list[Problem], iteration: int) -> list[MemberAnswer]:
        """One clone a problem."""
        self._draws.begin(iteration)
        answers = []
        for place, problem in enumerate(targets):
            member = seeded_clone(self.estimator, self.seed + iteration * len(targets) + place)
            try:
                self._fit(member, problem, place)
            except (KeyboardInterrupt, MemoryError):
                raise
            except Exception as error:
                raise ValueError(
                    f"the weak learner {self.estimator!r} failed in round {iteration + 1}: {error}"
                ) from error
            answers.append(MemberAnswer(member, self.X, problem, self.model))
        return answers

    def _fit(self, member: Any, problem: Problem, place: int) -> None:
        y: NDArray[Any]
        if isinstance(problem, ClassProblem):
            y, weight = problem.labels[problem.classes], problem.distribution.weight
            rounded = problem.distribution.rounded
        else:
            y, weight = problem.target, problem.weight
            rounded, _ = self.weights.moments(weight, problem.target, problem.largest)
        if self.resample:
            rows = self._draws.rows(rounded, self.weights.n_taking_part, place)
            member.fit(_safe_indexing(self.X, rows), y[rows])
            return
        part = self.weights.rows
        normalised = self.weights.normalised(weight)[part]
        # A mean of one, not a sum of one: many learners weigh rows against a penalty of fixed size.
        member.fit(self._part, y[part], sample_weight=normalised * self.weights.n_copies)


def seeded_clone(estimator: Any, seed: int) -> Any:
    """A clone; what it has of `random_state` is set to the seed."""
    member = clone(estimator)
    names = [name for name in member.get_params() if name.split("__")[-1] == "random_state"]
    return member.set_params(**dict.fromkeys(names, seed % 2**31))
