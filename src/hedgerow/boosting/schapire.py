"""Boosting by three hypotheses (Schapire 1990): a vote of three, each learned from a sample of its own.

    S = [ S1 | the rows outside S1, as h1 answers them:   w w w w w w   r r r r r r r r r r r r r r ]
    S2 =                                                  w w w         r r r
    S3 = those on which h1 and h2 disagree, of                  w w w         r r r r r r r r r r r

(w: wrong, r: right). h1 is learned from S1; h2 from S2, of which h1 has half wrong: what h1 knows is of no
help there; h3 from S3, where one of both must be wrong. Half of the mistakes of h1 are kept from S2: were
all of them there, h1 would be right on all of S3, and h3 would learn to repeat h1. As S2 takes a greater
share of the wrong rows than of the right ones, S3 leans a little to rows that h1 has right; thinning these
out would put that straight, but fewer rows would take part, and on small tables h3 is the worse for it.

The vote: what h1 and h2 say where they agree, else what h3 says. For two classes that is the majority; for
several it is the majority too, and h3 decides when all three differ, as it was learned to.

A hypothesis may be a vote of three in turn: that is the recursion of the paper.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from hedgerow._typing import Integers
from hedgerow.boosting.schapire_votes import (
    ConstantHypothesis,
    Hypothesis,
    VoteOfThree,
    WeakHypothesis,
    share,
    vote,
    weak_errors,
)
from hedgerow.boosting.weak_learners import seeded_clone
from hedgerow.kernels.cpu.random import THREE_SAMPLES, draw_rows

LEAST_HALF = 5  # rows in each half of S2: fewer teach h2 nothing, and its vote then does harm
NEARLY_ALL = 0.9  # the share of S that should take part; the search of m1 aims at it
ENOUGH, TOO_MANY = 0.88, 0.95  # shares that end the search; with more, S2 and S3 are smaller than need be
MOST_TRIALS = 5  # sizes of S1 that the search tries


def amplified_error(error: float, depth: int = 1) -> float:
    """The error of a vote of three whose members have this error, g(a) = 3 a^2 - 2 a^3, `depth` times over.

    When h1 errs on at most a share a < 1/2 of the distribution, and h2 and h3 on at most a of theirs (half
    of the weight where h1 is wrong; only where h1 and h2 disagree), the vote errs on at most g(a) < a
    (Schapire 1990). That holds for any number of classes and for the training rows as a distribution.

    Parameters
    ----------
    error : float
        From 0 to 1/2.
    depth : int
        Of the recursion.

    Returns
    -------
    float

    Examples
    --------
    >>> [round(amplified_error(0.3, depth), 4) for depth in range(4)]
    [0.3, 0.216, 0.1198, 0.0396]
    >>> amplified_error(0.5, depth=3)
    0.5
    """
    if not 0.0 <= error <= 0.5:
        raise ValueError(f"error={error!r} is not allowed: it must be a number >= 0 and <= 0.5")
    if depth < 0:
        raise ValueError(f"depth={depth!r} is not allowed: it must be an integer >= 0")
    for _ in range(depth):
        error = error * error * (3.0 - 2.0 * error)
    return error


# --- the weak learner


class AnyClassifier:
    """Fits clones of a scikit-learn classifier to rows of the training table.

    Parameters
    ----------
    estimator : scikit-learn classifier
    X : the table as the user gave it
    y : int64 (n,), class numbers
    classes : array of the labels, sorted
    seed : int
        Gives every clone that has a `random_state` one of its own.
    learned : list of fitted estimators, optional
        The first ones that a fit which was stopped has learned, in their order; the others are added. They
        are asked for in the same order every time, so that those that are there need not be learned again.
    tell : callable, optional
        Called after every one that is added.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Integers,
        classes: NDArray[Any],
        seed: int,
        learned: list[Any] | None = None,
        tell: Callable[[], None] | None = None,
    ) -> None:
        self.estimator, self.y, self.classes, self.seed = estimator, y, classes, seed
        self._learned, self._tell, self._place = learned, tell, 0
        if sparse.issparse(X):
            self.X = X.tocsr()
        else:  # as it is, unless it is an array only in name
            self.X = X if hasattr(X, "__getitem__") else np.asarray(X)

    def take(self, rows: Integers) -> Any:
        """These rows of X."""
        return self.X if len(rows) == len(self.y) else _safe_indexing(self.X, rows)

    def learn(self, rows: Integers, node: int) -> WeakHypothesis:
        """Fit a clone to these rows."""
        y = self.y[rows]
        if y.min() == y.max():
            return WeakHypothesis(rows, ConstantHypothesis(self.classes[y[:1]]), self.classes)
        return WeakHypothesis(rows, self._member(rows, node), self.classes)

    def _member(self, rows: Integers, node: int) -> Any:
        """A fitted clone, or the one that was learned in its place before."""
        place, self._place = self._place, self._place + 1
        if self._learned is not None and place < len(self._learned):
            return self._learned[place]
        member = seeded_clone(self.estimator, self.seed + node)
        with self.naming(node, f"learning from {len(rows)} rows"):
            member.fit(self.take(rows), self.classes[self.y[rows]])
        if self._learned is not None:
            self._learned.append(member)
        if self._tell is not None:
            self._tell()
        return member

    @contextmanager
    def naming(self, node: int, doing: str) -> Iterator[None]:
        """Say in errors which hypothesis failed, and at what."""
        try:
            yield
        except Exception as error:
            raise ValueError(
                f"estimator={self.estimator!r} failed as {path_of(node)}, {doing}: {error}"
            ) from error


def path_of(node: int) -> str:
    """Where a node stands: "h1.h3" is h3 of the vote that is h1. The root is 0, its members 1, 2 and 3."""
    names: list[str] = []
    while node:
        node, member = divmod(node - 1, 3)
        names.insert(0, f"h{member + 1}")
    return ".".join(names) or "the vote"


# --- the size of S1


@dataclass(frozen=True)
class Shortage:
    """Too few rows outside S1 that h1 has wrong, or too few that it has right."""

    n_wrong: int
    n_right: int

    def __str__(self) -> str:
        n_rows = self.n_wrong + self.n_right
        if not self.n_wrong:
            return f"h1 made no mistake on the {n_rows} rows outside S1, so that no half of S2 could be wrong"
        few, kind = min((self.n_wrong, "wrongly"), (self.n_right, "rightly"))
        return (
            f"h1 classified only {few} of the {n_rows} rows outside S1 {kind}, and S2 needs {2 * LEAST_HALF}"
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """h1 and h2 for one size of S1, what they say to all of S, and the three samples."""

    samples: tuple[Integers, Integers, Integers]
    members: tuple[Hypothesis, Hypothesis]
    answers: tuple[Integers, Integers]

    @property
    def n_used(self) -> int:
        """How many rows take part."""
        return sum(map(len, self.samples))


def search_size(n_rows: int, attempt: Callable[[int], Any]) -> tuple[Any, Any]:
    """Find m1, the size of S1, such that nearly all rows take part.

    All of S1 takes part, and of the other rows a share that depends little on m1: so many of them h1 has
    wrong, and so many h1 and h2 dispute. Hence the rows that take part rise with m1 nearly on a straight
    line, which ends in (n_rows, n_rows). The next trial is where the line through the last one meets the
    aim, or the middle of what is left when that lies outside: two or three trials are the rule. When m1
    left too few mistakes, the next leaves as many more rows as are needed at the same error, but at least
    a third of the rows stay in S1.

    Parameters
    ----------
    n_rows : int
    attempt : callable
        From a size to an object with `n_used`, or to a `Shortage`.

    Returns
    -------
    (trial or None, shortage or None)
        The trial nearest to the aim, and the last shortage.
    """
    aim = NEARLY_ALL * n_rows
    least, high = max(1, n_rows // 3), n_rows - 4 * LEAST_HALF
    low = least
    size = min(max(low, 3 * n_rows // 4), high)
    best, shortage = None, None
    for _ in range(MOST_TRIALS):
        if low > high:
            break
        tried = attempt(size)
        if isinstance(tried, Shortage):
            shortage, high = tried, size - 1
            few = max(1, min(tried.n_wrong, tried.n_right))
            proposal = n_rows - math.ceil((n_rows - size) * 2.5 * LEAST_HALF / few)
        else:
            best = tried if best is None else min(best, tried, key=lambda one: abs(one.n_used - aim))
            if ENOUGH * n_rows <= tried.n_used <= TOO_MANY * n_rows:
                break
            low, high = (size + 1, high) if tried.n_used < aim else (low, size - 1)
            unused = max(1, n_rows - tried.n_used)
            proposal = n_rows - round((n_rows - aim) * (n_rows - size) / unused)
        if proposal < low == least:
            proposal = least
        size = proposal if low <= proposal <= high else (low + high) // 2
    return best, shortage


# --- the algorithm


class SchapireBooster:
    """Boosts a weak learner by three hypotheses, recursively.

    Parameters
    ----------
    learner : AnyClassifier
    first_share : float or None
        m1 as a share of S, at every level; None to search it.
    tell : callable
        Given the depth that is left and a line on every trial.
    """

    def __init__(
        self, learner: AnyClassifier, first_share: float | None, tell: Callable[[int, str], None]
    ) -> None:
        self.learner, self.first_share, self.tell = learner, first_share, tell

    def boost(self, rows: Integers, depth: int, node: int = 0) -> Hypothesis:
        """Learn from these rows: a weak hypothesis at depth 0, else a vote of three of one depth less."""
        y = self.learner.y[rows]
        if depth == 0 or y.min() == y.max():
            return self.learner.learn(rows, node)
        task = _Task(rows, self.learner.take(rows), y, self._order(len(rows), node), depth, node)
        if self.first_share is None:
            trial, shortage = search_size(len(rows), lambda size: self._attempt(task, size))
        else:
            size = min(max(1, round(self.first_share * len(rows))), len(rows) - 1)
            tried = self._attempt(task, size)
            trial, shortage = (None, tried) if isinstance(tried, Shortage) else (tried, None)
        if trial is None:
            return self._alone(task, shortage)
        return self._complete(task, trial)

    def _order(self, n_rows: int, node: int) -> Integers:
        """Places of the rows of S in the random order in which samples are drawn."""
        draws = np.empty(n_rows, np.uint64)
        draw_rows(self.learner.seed, THREE_SAMPLES, node, draws)
        return np.argsort(draws, kind="stable")

    def _member(self, task: "_Task", number: int, sample: Integers) -> tuple[Hypothesis, Integers]:
        """h1, h2 or h3, learned from the sample, and what it says to all of S."""
        node = 3 * task.node + number
        member = self.boost(sample, task.depth - 1, node)
        with self.learner.naming(node, f"asked about {len(task.rows)} rows"):
            return member, member.predict(task.X)

    def _attempt(self, task: "_Task", size: int) -> Trial | Shortage:
        """h1 and h2 with an S1 of this size."""
        sample1 = np.sort(task.rows[task.order[:size]])
        first, said1 = self._member(task, 1, sample1)
        outside = task.order[size:]
        is_wrong = (said1 != task.y)[outside]
        wrong, right = outside[is_wrong], outside[~is_wrong]
        half = min(len(wrong), len(right)) // 2
        if half < LEAST_HALF:
            shortage = Shortage(len(wrong), len(right))
            self.tell(task.depth, f"S1 of {size} rows: {shortage}")
            return shortage
        sample2 = np.sort(task.rows[np.concatenate([wrong[:half], right[:half]])])
        second, said2 = self._member(task, 2, sample2)
        left = np.concatenate([wrong[half:], right[half:]])
        sample3 = np.sort(task.rows[left[said1[left] != said2[left]]])
        trial = Trial((sample1, sample2, sample3), (first, second), (said1, said2))
        sizes = ", ".join(f"S{i} of {len(sample)}" for i, sample in enumerate(trial.samples, start=1))
        self.tell(task.depth, f"{sizes} rows: {trial.n_used} of {len(task.rows)} take part")
        return trial

    def _alone(self, task: "_Task", shortage: Shortage | None) -> VoteOfThree:
        """h1, learned anew from all rows: three samples cannot be had, or would be too small."""
        why = f"{len(task.rows)} rows are too few for three samples" if shortage is None else str(shortage)
        first, said = self._member(task, 1, task.rows)
        none = np.empty(0, np.int64)
        errors = weak_errors(task.y, [said])
        reason = f"h1 alone, learned from all {len(task.rows)} rows: {why}"
        return VoteOfThree(
            task.rows, (first,), (task.rows, none, none), errors, float(errors[0]), float(errors[0]), reason
        )

    def _complete(self, task: "_Task", trial: Trial) -> VoteOfThree:
        """Learn h3 and let the three vote."""
        reason = f"three hypotheses, learned from {trial.n_used} of {len(task.rows)} rows"
        third, said = trial.members[0], trial.answers[0]
        if len(trial.samples[2]):
            third, said = self._member(task, 3, trial.samples[2])
        else:
            reason += "; h3 is h1, because h1 and h2 agree on all rows outside S1 and S2"
        members = (*trial.members, third)
        for number, member in enumerate(members, start=1):
            if isinstance(member, WeakHypothesis) and isinstance(member.estimator, ConstantHypothesis):
                reason += f"; h{number} is constant, because its sample holds one class only"
        answers = [*trial.answers, said]
        errors = weak_errors(task.y, answers)
        error = share(vote(answers) != task.y)
        worst = float(np.nanmax(errors))
        bound = amplified_error(worst) if worst < 0.5 else 1.0
        return VoteOfThree(task.rows, members, trial.samples, errors, error, bound, reason)


@dataclass(frozen=True, eq=False)
class _Task:
    """What one vote is learned from: rows of the table, X and y of them, a random order, and its place."""

    rows: Integers
    X: Any
    y: Integers
    order: Integers
    depth: int
    node: int
