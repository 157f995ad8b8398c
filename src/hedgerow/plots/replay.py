"""The rounds of a fitted AdaBoost, followed again from its public record.

The learners and their weights say what every point weighed in every round:

    D_1(i) = 1 / m,    D_{t+1}(i) proportional to D_t(i) exp(-a_t y_i h_t(x_i)),

with a_t the weight of learner t, half of what M1 and SAMME report: theirs are twice as large for the same
classifier. Weights that were drawn anew on the way (on_chance="restart") cannot be seen in that record.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers

_DOUBLED = ("m1", "samme")
_VOTING = ("discrete", *_DOUBLED)


def read_record(estimator: Any) -> tuple[list[Any], Floats, Floats]:
    """The learners, their weights as the estimator reports them, and the a_t above."""
    check_is_fitted(estimator)
    kind = type(estimator).__name__
    for attribute in ("classes_", "estimators_", "estimator_weights_"):
        if not hasattr(estimator, attribute):
            raise TypeError(f"{kind} has no {attribute}: only rounds of weighted votes can be followed")
    if len(estimator.classes_) != 2:
        raise ValueError(f"{kind} has {len(estimator.classes_)} classes: only rounds with two can be drawn")
    algorithm = _algorithm(estimator)
    if algorithm not in _VOTING:
        raise ValueError(
            f"algorithm={algorithm!r} is not allowed: its learners do not vote for a class; it must be "
            f"{' or '.join(map(repr, _VOTING))}"
        )
    if getattr(estimator, "cost", "exponential") != "exponential":  # AnyBoost weighs by its cost's slope
        raise ValueError(f"cost={estimator.cost!r} is not allowed: it must be 'exponential', as in AdaBoost")
    learners = list(estimator.estimators_)
    if not learners:
        raise ValueError(f"{kind} has no rounds: there is nothing to draw")
    alphas = np.asarray(estimator.estimator_weights_, dtype=np.float64)[: len(learners)]
    return learners, alphas, alphas / 2 if algorithm in _DOUBLED else alphas


def _algorithm(estimator: Any) -> str:
    if type(estimator).__module__.startswith("sklearn."):
        return "samme"  # whatever its versions call their parameter
    return str(getattr(estimator, "algorithm", "discrete")).lower()


def read_rounds(rounds: int | Sequence[int] | None, n_rounds: int, most: int) -> list[int]:
    """Numbers of the rounds to draw, from 1; None for all of them, up to `most`.

    >>> read_rounds(None, 50, 7), read_rounds(2, 50, 7), read_rounds([1, 50], 50, 7)
    ([1, 2, 3, 4, 5, 6, 7], [1, 2], [1, 50])
    """
    if rounds is None:
        return list(range(1, min(n_rounds, most) + 1))
    is_count = isinstance(rounds, int | np.integer)
    numbers: list[Any] = np.ravel(np.asarray(rounds, dtype=object)).tolist()
    whole = all(isinstance(t, int | np.integer) and not isinstance(t, bool) for t in numbers)
    if not numbers or not whole or not all(1 <= t <= n_rounds for t in numbers):
        raise ValueError(
            f"rounds={rounds!r} is not allowed: the estimator has the rounds 1 to {n_rounds}, and it must be "
            "one number, numbers of rounds or None"
        )
    return list(range(1, int(numbers[0]) + 1)) if is_count else [int(t) for t in numbers]


def read_points(X: Any) -> tuple[Floats, list[str]]:
    """Points in the plane, and the names of the two axes."""
    names = ["x₀", "x₁"]
    if nw.dependencies.is_into_dataframe(X):
        names = list(nw.from_native(X).columns)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        shape = f"shape {points.shape}" if points.ndim != 2 else f"{points.shape[1]} columns"
        raise ValueError(f"X has {shape}: the rounds can be drawn for two columns only")
    if not np.all(np.isfinite(points)):
        row, column = np.argwhere(~np.isfinite(points))[0].tolist()
        raise ValueError(f"X[{row}, {column}] is {points[row, column]}: a point needs two finite numbers")
    return points, [str(name) for name in names]


def read_signs(labels: Any, classes: NDArray[Any], what: str) -> Integers:
    """-1 for the first class and +1 for the second."""
    given = np.asarray(labels)
    second = given == classes[1]
    if given.ndim != 1 or not np.all(second | (given == classes[0])):
        raise ValueError(f"{what} must hold the classes {classes.tolist()} only, one a row")
    return np.where(second, 1, -1)


def read_weights(sample_weight: Any, n_points: int) -> Floats:
    """The weights that boosting starts with, in sum 1."""
    if sample_weight is None:
        return np.full(n_points, 1 / n_points)
    weights: Floats = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_points,) or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(f"sample_weight must hold {n_points} finite numbers >= 0 that are not all 0")
    return weights / float(weights.sum())


def cast_votes(voter: Any, points: Floats, like: Any, classes: NDArray[Any], what: str) -> Integers:
    """What a classifier says at some points, -1 or +1; it gets them as a data frame if `like` is one."""
    rows: Any = points
    if hasattr(voter, "feature_names_in_") and nw.dependencies.is_into_dataframe(like):
        frame = nw.from_native(like)
        columns = dict(zip(frame.columns, points.T, strict=True))
        rows = nw.from_dict(columns, backend=frame.implementation).to_native()
    return read_signs(voter.predict(rows), classes, f"the predictions of {what}")


def follow_weights(first: Floats, y: Integers, votes: Integers, alphas: Floats) -> Floats:
    """What every point weighs at the beginning of each round, (rounds, points)."""
    weights = np.empty(votes.shape)
    now = first
    for t, vote in enumerate(votes):
        weights[t] = now
        if np.any(vote != y):  # a perfect learner ends the rounds, and its weight may be infinite
            now = now * np.exp(-alphas[t] * y * vote)
            now = now / now.sum()
    return weights
