"""Members of any kind: what a fitted estimator says of rows, as classes, probabilities or numbers.

A vote model is such members with their weights; scores are (outputs, rows). How a member's words become
its direction in the score:

    classes          -1 or +1 for two classes, else 1 for the class it names and 0 for the others
    probabilities    log(p1 / p0) / 2, else (K - 1)(log p_k - mean of log p)      (Zhu et al. 2009)
    numbers          what it predicts, one member for each output
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from hedgerow._typing import Floats
from hedgerow.kernels.cpu.elementary import log_into

Classes = NDArray[np.int32]


def class_numbers(member: Any, X: Any, classes: NDArray[Any]) -> Classes:
    """The places among `classes` of what a classifier predicts."""
    labels = np.asarray(member.predict(X)).reshape(-1)
    _refuse_other_length(member, labels, X)
    places = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    if np.any(classes[places] != labels):
        wrong = labels[classes[places] != labels].tolist()[0]
        raise ValueError(
            f"the weak learner {member!r} predicted {wrong!r}, which is not among the classes "
            f"{classes.tolist()}"
        )
    return places.astype(np.int32)


def class_probabilities(member: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities (classes, rows); a class that the member never saw has 0."""
    given = np.asarray(member.predict_proba(X), np.float64)
    _refuse_other_length(member, given, X)
    known = np.asarray(member.classes_)
    if given.ndim != 2 or given.shape[1] != len(known) or not np.all(np.abs(given - 0.5) <= 0.5 + 1e-6):
        raise ValueError(
            f"the weak learner {member!r} gave probabilities of shape {given.shape} or not from 0 to 1; "
            f"{len(known)} such numbers a row are needed"
        )
    out = np.zeros((len(classes), len(given)))
    out[np.searchsorted(classes, known)] = given.T
    return out


def numbers(member: Any, X: Any) -> Floats:
    """What a regressor predicts."""
    values = np.asarray(member.predict(X), np.float64).reshape(-1)
    _refuse_other_length(member, values, X)
    if not np.all(np.isfinite(values)):
        raise ValueError(f"the weak learner {member!r} predicted a value that is not finite")
    return values


def _refuse_other_length(member: Any, said: NDArray[Any], X: Any) -> None:
    """Kernels trust that there is one answer a row."""
    if len(said) != _num_samples(X):
        raise ValueError(
            f"the weak learner {member!r} gave {len(said)} answers for {_num_samples(X)} rows; it must give "
            "one a row"
        )


def vote(classes: Classes | list[int], n_classes: int) -> Floats:
    """Directions (outputs, rows) of votes for classes."""
    if n_classes == 2:
        return 2.0 * np.asarray(classes)[np.newaxis] - 1.0
    named: Floats = (np.arange(n_classes)[:, np.newaxis] == np.asarray(classes)).astype(np.float64)
    return named


def log_ratio(probabilities: Floats, floor: float) -> Floats:
    """Directions (outputs, rows) of probabilities (classes, rows), none of them taken below `floor`."""
    logs = np.maximum(probabilities, floor)
    log_into(logs.reshape(-1), logs.reshape(-1))
    if len(logs) == 2:
        return np.asarray(0.5 * (logs[1:] - logs[:1]))
    mean = np.zeros(logs.shape[1])
    for of_class in logs:  # in this order: np.mean may add in another
        mean += of_class
    directions: Floats = (logs - mean / len(logs)) * (len(logs) - 1.0)
    return directions


@dataclass(frozen=True, eq=False)
class VoteModel:
    """Members of any kind and their weights.

    Parameters
    ----------
    members : rounds x problems
    weights : float64 (rounds,), alpha
    says : {"classes", "probabilities", "numbers"}
    classes : array of labels
    n_outputs : int
    floor : float
        Of probabilities.
    """

    members: list[list[Any]]
    weights: list[float]
    says: str
    classes: NDArray[Any]
    n_outputs: int
    floor: float

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.members)

    def cut(self, n_rounds: int) -> "VoteModel":
        """The first rounds."""
        return replace(self, members=self.members[:n_rounds], weights=self.weights[:n_rounds])

    def scores(self, X: Any, n_rows: int) -> Floats:
        """Scores of all rows."""
        scores = np.zeros((self.n_outputs, n_rows))
        for scores in self.staged_scores(X, n_rows):  # noqa: B007 - the last one is wanted
            pass
        return scores

    def staged_scores(self, X: Any, n_rows: int) -> Iterator[Floats]:
        """Scores after every round; the array is reused."""
        scores = np.zeros((self.n_outputs, n_rows))
        for members, weight in zip(self.members, self.weights, strict=True):
            scores += weight * self.directions(members, X)
            yield scores

    def directions(self, members: Sequence[Any], X: Any) -> Floats:
        """The directions (outputs, rows) of the members of a round."""
        if self.says == "classes":
            return vote(class_numbers(members[0], X, self.classes), len(self.classes))
        if self.says == "probabilities":
            return log_ratio(class_probabilities(members[0], X, self.classes), self.floor)
        return np.stack([numbers(member, X) for member in members])
