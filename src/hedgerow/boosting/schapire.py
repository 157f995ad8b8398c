"""Boosting by three hypotheses (Schapire 1990): a vote of three, each fitted to its own sample.

    S = [ S1 | the rows outside S1, as h1 predicts them:  w w w w w w   r r r r r r r r r r r r r r ]
    S2 =                                                  w w w         r r r
    S3 = rows where h1 and h2 disagree, out of                  w w w         r r r r r r r r r r r

(w: wrong, r: right). h1 is fitted to S1; h2 to S2, half of which h1 misclassifies, so that h1 is no better
than chance on it; h3 to S3, where one of the two must be wrong. Half of the mistakes of h1 are not in S2:
otherwise h1 would be right on all of S3, and h3 would learn to repeat h1. S2 has a larger fraction of the
wrong rows than of the right ones, so that S3 has a few too many rows that h1 predicts correctly. Removing
some of them would correct that, but fewer rows would be used, and on small tables h3 becomes worse.

The vote: the prediction of h1 and h2 where they agree, else that of h3. This is the majority; with several
classes h3 decides when all three differ.

A hypothesis may itself be a vote of three: the recursion of the paper.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.boosting.schapire_votes import (
    Hypothesis,
    VoteOfThree,
    WeakHypothesis,
    fraction_true,
    vote,
    weak_errors,
)
from hedgerow.kernels.cpu.random import SCHAPIRE_SAMPLES, draw_rows
from hedgerow.members import ConstantHypothesis, fit_member, indexable_rows, member_errors, take_rows

MIN_HALF = 5  # rows in each half of S2: with fewer h2 learns nothing, and its vote makes the result worse
TARGET_FRACTION = 0.9  # fraction of S that should be used; the search for m1 aims at it
ENOUGH, TOO_MANY = 0.88, 0.95  # the search ends in between; with more, S2 and S3 are smaller than necessary
MAX_TRIALS = 5  # sizes of S1 that the search tries


def amplified_error(error: float, depth: int = 1) -> float:
    """Return the error of a vote of three members with this error: 3 a^2 - 2 a^3, applied `depth` times.

    With g(a) = 3 a^2 - 2 a^3: if h1 has an error of at most a < 1/2 on the distribution, and h2 and h3 of at
    most a on theirs (half of the weight where h1 is wrong; only where h1 and h2 disagree), the vote has an
    error of at most g(a) < a (Schapire 1990). This holds for any number of classes and for the training rows
    as a distribution.

    Parameters
    ----------
    error : float
        From 0 to 1/2.
    depth : int
        Depth of the recursion.

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


class SampleLearner:
    """Fits clones of a scikit-learn classifier to samples of the training rows, with class numbers y.

    seed : of the clones that have a `random_state`
    fitted : the first estimators of a resumed fit; new ones are appended. Every fit uses them in this order.
    after_fit : called after every estimator that is appended
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Integers,
        classes: NDArray[Any],
        seed: int,
        fitted: list[Any] | None = None,
        after_fit: Callable[[], None] | None = None,
    ) -> None:
        self.estimator, self.y, self.classes, self.seed = estimator, y, classes, seed
        self._fitted, self._after_fit, self._n_used = fitted, after_fit, 0
        self.X = indexable_rows(X)

    def take(self, rows: Integers) -> Any:
        """Select rows of X."""
        return self.X if len(rows) == len(self.y) else take_rows(self.X, rows)

    def fit(self, rows: Integers, node: int) -> WeakHypothesis:
        """Fit a clone to these rows."""
        y = self.y[rows]
        if y.min() == y.max():
            return WeakHypothesis(rows, ConstantHypothesis(self.classes[y[:1]]), self.classes)
        return WeakHypothesis(rows, self._member(rows, node), self.classes)

    def _member(self, rows: Integers, node: int) -> Any:
        """Fit a clone, or return the one of the resumed fit."""
        index, self._n_used = self._n_used, self._n_used + 1
        if self._fitted is not None and index < len(self._fitted):
            return self._fitted[index]
        labels, step = self.classes[self.y[rows]], f"as {node_path(node)}, learning from {len(rows)} rows"
        member = fit_member(self.estimator, self.seed + node, self.take(rows), labels, step=step)
        if self._fitted is not None:
            self._fitted.append(member)
        if self._after_fit is not None:
            self._after_fit()
        return member


def node_path(node: int) -> str:
    """Return the name of a node: "h1.h3" is h3 of the vote h1. The root is 0, its members are 1 to 3."""
    names: list[str] = []
    while node:
        node, member = divmod(node - 1, 3)
        names.insert(0, f"h{member + 1}")
    return ".".join(names) or "the vote"


# --- the size of S1


@dataclass(frozen=True)
class Shortage:
    """Too few rows outside S1 that h1 misclassifies, or too few that it classifies correctly."""

    n_wrong: int
    n_right: int

    def __str__(self) -> str:
        n_rows = self.n_wrong + self.n_right
        if not self.n_wrong:
            return f"h1 made no mistake on the {n_rows} rows outside S1, so that S2 has no wrong half"
        few, kind = min((self.n_wrong, "wrongly"), (self.n_right, "correctly"))
        return (
            f"h1 classified only {few} of the {n_rows} rows outside S1 {kind}, and S2 requires {2 * MIN_HALF}"
        )


@dataclass(frozen=True, eq=False)
class SizeTrial:
    """h1 and h2 for one size of S1, their predictions for all of S, and the three samples."""

    samples: tuple[Integers, Integers, Integers]
    members: tuple[Hypothesis, Hypothesis]
    predictions: tuple[Integers, Integers]

    @property
    def n_used(self) -> int:
        """Number of rows in the samples."""
        return sum(map(len, self.samples))


def search_size(n_rows: int, attempt: Callable[[int], Any]) -> tuple[Any, Any]:
    """Find m1, the size of S1, for which nearly all rows are used.

    All rows of S1 are used, and a fraction of the others that depends little on m1: those that h1
    misclassifies or on which h1 and h2 disagree. Hence the number of used rows is nearly linear in m1 and
    passes through (n_rows, n_rows). The next trial is where the line through the last one meets the target,
    or the middle of the interval if that is outside; usually two or three trials are enough. If m1 left too
    few mistakes, the next one leaves as many more rows as are required at the same error, but at least a
    third of the rows stay in S1.

    `attempt(size)` returns an object with `n_used`, or a `Shortage`. The result is the trial nearest to the
    target or None, and the last shortage or None.
    """
    target = TARGET_FRACTION * n_rows
    least, high = max(1, n_rows // 3), n_rows - 4 * MIN_HALF
    low = least
    size = min(max(low, 3 * n_rows // 4), high)
    best, shortage = None, None
    for _ in range(MAX_TRIALS):
        if low > high:
            break
        tried = attempt(size)
        if isinstance(tried, Shortage):
            shortage, high = tried, size - 1
            few = max(1, min(tried.n_wrong, tried.n_right))
            proposal = n_rows - math.ceil((n_rows - size) * 2.5 * MIN_HALF / few)
        else:
            best = tried if best is None else min(best, tried, key=lambda trial: abs(trial.n_used - target))
            if ENOUGH * n_rows <= tried.n_used <= TOO_MANY * n_rows:
                break
            low, high = (size + 1, high) if tried.n_used < target else (low, size - 1)
            unused = max(1, n_rows - tried.n_used)
            proposal = n_rows - round((n_rows - target) * (n_rows - size) / unused)
        if proposal < low == least:
            proposal = least
        size = proposal if low <= proposal <= high else (low + high) // 2
    return best, shortage


# --- the algorithm


class SchapireBooster:
    """Boosts a weak learner by three hypotheses, recursively.

    first_share : m1 as a fraction of S, at every level; None to search for it
    log : called with the remaining depth and a line of text for every trial
    """

    def __init__(
        self, learner: SampleLearner, first_share: float | None, log: Callable[[int, str], None]
    ) -> None:
        self.learner, self.first_share, self.log = learner, first_share, log

    def boost(self, rows: Integers, depth: int, node: int = 0) -> Hypothesis:
        """Fit a weak hypothesis at depth 0, else a vote of three hypotheses of one depth less."""
        y = self.learner.y[rows]
        if depth == 0 or y.min() == y.max():
            return self.learner.fit(rows, node)
        task = _Task(rows, self.learner.take(rows), y, self._order(len(rows), node), depth, node)
        if self.first_share is None:
            trial, shortage = search_size(len(rows), lambda size: self._attempt(task, size))
        else:
            size = min(max(1, round(self.first_share * len(rows))), len(rows) - 1)
            tried = self._attempt(task, size)
            trial, shortage = (None, tried) if isinstance(tried, Shortage) else (tried, None)
        if trial is None:
            return self._fit_alone(task, shortage)
        return self._complete(task, trial)

    def _order(self, n_rows: int, node: int) -> Integers:
        """Return the random order in which the samples are drawn from S."""
        draws = np.empty(n_rows, np.uint64)
        draw_rows(self.learner.seed, SCHAPIRE_SAMPLES, node, draws)
        return np.argsort(draws, kind="stable")

    def _member(self, task: "_Task", number: int, sample: Integers) -> tuple[Hypothesis, Integers]:
        """Fit h1, h2 or h3 to the sample; return it and its predictions for all of S."""
        node = 3 * task.node + number
        member = self.boost(sample, task.depth - 1, node)
        with member_errors(self.learner.estimator, f"as {node_path(node)}, predicting {len(task.rows)} rows"):
            return member, member.predict(task.X)

    def _attempt(self, task: "_Task", size: int) -> SizeTrial | Shortage:
        """Fit h1 and h2 with an S1 of this size."""
        sample1 = np.sort(task.rows[task.order[:size]])
        first, predicted1 = self._member(task, 1, sample1)
        outside = task.order[size:]
        is_wrong = (predicted1 != task.y)[outside]
        wrong, right = outside[is_wrong], outside[~is_wrong]
        half = min(len(wrong), len(right)) // 2
        if half < MIN_HALF:
            shortage = Shortage(len(wrong), len(right))
            self.log(task.depth, f"S1 of {size} rows: {shortage}")
            return shortage
        sample2 = np.sort(task.rows[np.concatenate([wrong[:half], right[:half]])])
        second, predicted2 = self._member(task, 2, sample2)
        unused = np.concatenate([wrong[half:], right[half:]])
        sample3 = np.sort(task.rows[unused[predicted1[unused] != predicted2[unused]]])
        trial = SizeTrial((sample1, sample2, sample3), (first, second), (predicted1, predicted2))
        sizes = ", ".join(f"S{i} of {len(sample)}" for i, sample in enumerate(trial.samples, start=1))
        self.log(task.depth, f"{sizes} rows: {trial.n_used} of {len(task.rows)} are used")
        return trial

    def _fit_alone(self, task: "_Task", shortage: Shortage | None) -> VoteOfThree:
        """Fit h1 to all rows, because three samples are impossible or would be too small."""
        why = f"{len(task.rows)} rows are too few for three samples" if shortage is None else str(shortage)
        first, predicted = self._member(task, 1, task.rows)
        none = np.empty(0, np.int64)
        errors = weak_errors(task.y, [predicted])
        reason = f"h1 alone, learned from all {len(task.rows)} rows: {why}"
        return VoteOfThree(
            task.rows, (first,), (task.rows, none, none), errors, float(errors[0]), float(errors[0]), reason
        )

    def _complete(self, task: "_Task", trial: SizeTrial) -> VoteOfThree:
        """Fit h3 and create the vote."""
        reason = f"three hypotheses, learned from {trial.n_used} of {len(task.rows)} rows"
        third, predicted = trial.members[0], trial.predictions[0]
        if len(trial.samples[2]):
            third, predicted = self._member(task, 3, trial.samples[2])
        else:
            reason += "; h3 is h1, because h1 and h2 agree on all rows outside S1 and S2"
        members = (*trial.members, third)
        for number, member in enumerate(members, start=1):
            if isinstance(member, WeakHypothesis) and isinstance(member.estimator, ConstantHypothesis):
                reason += f"; h{number} is constant, because its sample has one class only"
        predictions = [*trial.predictions, predicted]
        errors = weak_errors(task.y, predictions)
        error = fraction_true(vote(predictions) != task.y)
        worst = float(np.nanmax(errors))
        bound = amplified_error(worst) if worst < 0.5 else 1.0
        return VoteOfThree(task.rows, members, trial.samples, errors, error, bound, reason)


@dataclass(frozen=True, eq=False)
class _Task:
    """Input of one vote: row numbers, X and y of these rows, a random order, and its node."""

    rows: Integers
    X: Any
    y: Integers
    order: Integers
    depth: int
    node: int
