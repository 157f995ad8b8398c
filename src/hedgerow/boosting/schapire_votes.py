"""Models of boosting by three hypotheses: weak hypotheses, and votes of three, which may contain votes.

    VoteOfThree                 S: all rows
    ├─ h1 VoteOfThree           S1
    │     ├─ h1 WeakHypothesis  a sample of S1
    │     ...
    ├─ h2 VoteOfThree           S2
    └─ h3 VoteOfThree           S3

Hypotheses predict class numbers, the indices of the sorted labels.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.members import predict_classes


@dataclass(frozen=True, eq=False)
class WeakHypothesis:
    """A fitted weak learner, the training rows it was fitted to (sorted), and all classes."""

    rows: Integers
    estimator: Any
    classes: NDArray[Any]

    def predict(self, X: Any) -> Integers:
        """Return class numbers."""
        return predict_classes(self.estimator, X, self.classes).astype(np.int64)

    def weak(self) -> "Iterator[WeakHypothesis]":
        """Return this hypothesis as a vote of its own."""
        yield self

    def lines(self, note: str = "") -> list[str]:
        """Lines of the text, with a note after the number of rows."""
        return [f"from {len(self.rows)} rows{note}: {' '.join(str(self.estimator).split())}"]


@dataclass(frozen=True, eq=False)
class VoteOfThree:
    """Three hypotheses that vote, or h1 alone.

    Attributes
    ----------
    rows : int64 array
        S: the training rows it was fitted to, sorted.
    members : tuple of WeakHypothesis or VoteOfThree
        h1, h2 and h3; h3 is h1 itself when S3 is empty. (h1,) where there is no vote.
    samples : tuple of three int64 arrays
        S1, S2 and S3, sorted. Without a vote S1 is S, and the others are empty.
    errors : float64 (3,)
        Error of h1 on S; of h2 on S weighted so that half of the weight is where h1 is wrong; of h3 on the
        rows of S on which h1 and h2 disagree. NaN where there is no such hypothesis or no such row.
    error, bound : float
        Error of the vote on S, and `amplified_error` of the largest of `errors`: 1 if that is not below 1/2.
    reason : str
        Why there are three hypotheses, or h1 alone.

    Examples
    --------
    >>> from hedgerow.members import ConstantHypothesis
    >>> alone = WeakHypothesis(np.arange(3), ConstantHypothesis(np.array(["no"])), np.array(["no", "yes"]))
    >>> vote = VoteOfThree(alone.rows, (alone,), (alone.rows, *[alone.rows[:0]] * 2), np.zeros(3), 0, 0, "")
    >>> vote.predict([[1.0], [2.0]])
    array([0, 0])
    """

    rows: Integers
    members: "tuple[Hypothesis, ...]"
    samples: tuple[Integers, Integers, Integers]
    errors: Floats
    error: float
    bound: float
    reason: str

    def member_predictions(self, X: Any) -> list[Integers]:
        """Return class numbers that the members predict."""
        predictions = [member.predict(X) for member in self.members[:2]]
        if len(self.members) == 3:
            first, _, third = self.members
            predictions.append(predictions[0] if third is first else third.predict(X))
        return predictions

    def predict(self, X: Any) -> Integers:
        """Return class numbers by vote."""
        return vote(self.member_predictions(X))

    def vote_fractions(self, X: Any, n_classes: int) -> Floats:
        """Return the fractions of the vote, (rows, classes); the predicted class always has the largest.

        Every member has a third of the vote. If all three differ, h3 decides and has half of it. Of a vote
        within a vote only the result counts: the majority of all weak hypotheses may differ from it.
        """
        inner = self.members[0]
        if len(self.members) == 1 and isinstance(inner, VoteOfThree):
            return inner.vote_fractions(X, n_classes)
        predictions = self.member_predictions(X)
        votes = np.zeros((len(predictions[0]), n_classes), np.int64)
        rows = np.arange(len(votes))
        for predicted in predictions:
            votes[rows, predicted] += 1
        votes[rows, predictions[-1]] += (votes.max(axis=1) == 1) & (len(predictions) == 3)
        fractions: Floats = votes / votes.sum(axis=1, keepdims=True)
        return fractions

    def weak(self) -> Iterator[WeakHypothesis]:
        """Yield the weak hypotheses, each once, from left to right."""
        for number, member in enumerate(self.members):
            if not any(member is other for other in self.members[:number]):
                yield from member.weak()

    def lines(self, note: str = "") -> list[str]:
        """Lines of the text, with a note after the number of rows."""
        kind = "vote of three" if len(self.members) == 3 else "h1 alone"
        head = f"from {len(self.rows)} rows{note}: {kind}, error {self.error:.3f} on them"
        shown = [f"{head}, bound {self.bound:.3f}"]
        for number, member in enumerate(self.members, start=1):
            again = number == 3 and member is self.members[0]
            member_lines = ["is h1"] if again else member.lines(f", error {self.errors[number - 1]:.3f}")
            member_lines[0] = f"h{number} {member_lines[0]}"
            shown += ["  " + line for line in member_lines]
        return shown

    def __str__(self) -> str:
        return "\n".join(self.lines())


Hypothesis = WeakHypothesis | VoteOfThree


def vote(predictions: list[Integers]) -> Integers:
    """Return the prediction of the first two where they agree, else that of the third; or of a single one."""
    if len(predictions) == 1:
        return predictions[0]
    first, second, third = predictions
    return np.where(first == second, first, third)


def weak_errors(y: Integers, predictions: list[Integers]) -> Floats:
    """Return the errors of h1, h2 and h3, each on its own distribution over S; see `VoteOfThree`."""
    wrong = [predicted != y for predicted in predictions]
    errors = [fraction_true(wrong[0])]
    if len(predictions) == 3:
        halves = [fraction_true(wrong[1][half]) for half in (wrong[0], ~wrong[0]) if half.any()]
        errors += [sum(halves) / len(halves), fraction_true(wrong[2][predictions[0] != predictions[1]])]
    return np.array(errors + [math.nan] * (3 - len(errors)))


def fraction_true(chosen: NDArray[np.bool_]) -> float:
    """Return the fraction that is true; NaN if there are no values."""
    return int(np.count_nonzero(chosen)) / len(chosen) if len(chosen) else math.nan
