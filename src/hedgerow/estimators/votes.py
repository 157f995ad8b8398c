"""Votes: margins of classifiers, members that vote with weights, and out-of-bag votes.

A margin measures how clearly a vote favours the label, from -1 (all against it) to 1 (all for it).
"""

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.estimators.base import score_margins
from hedgerow.estimators.fingerprints import RowFingerprintsMixin

_OF_EQUAL_VOTES = ("oob_score_", "oob_decision_function_", "oob_votes_")


class VoteMargins(RowFingerprintsMixin):
    """Mixin of classifiers whose probabilities are shares of a vote; it comes before the base class."""

    def margins(self, X: Any, y: Any) -> Floats:
        """Share of the vote for the label minus the largest share of another class.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float64 array of shape (n_samples,)
            From -1 to 1; negative where the vote is wrong.
        """
        shares = self.predict_proba(X)  # type: ignore[attr-defined]
        return score_margins(np.ascontiguousarray(shares.T), self._class_numbers(y, len(shares)), 1.0)


class WeightedVote(VoteMargins):
    """Mixin of classifiers that are the weighted mean of their members; it comes before the base class."""

    @property
    def estimator_weights_(self) -> Floats:
        """Weight of every member in the vote: equal weights, unless `reweighted` has changed them."""
        raise NotImplementedError

    def _set_weights(self, weights: Floats) -> None:
        raise NotImplementedError

    def reweighted(self, weights: Any) -> Self:
        """Return a copy whose members vote with other weights; this model is not changed.

        Parameters
        ----------
        weights : array of shape (n_estimators,)
            None negative, not all zero; they are scaled to sum 1.

        Returns
        -------
        The copy, without the attributes that describe the equal vote, such as `oob_score_`. See
        `hedgerow.theory.optimize_votes` for weights that minimise a bound on the error.

        Examples
        --------
        >>> from hedgerow import RandomForestClassifier
        >>> forest = RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
        >>> forest.reweighted([3, 1]).estimator_weights_
        array([0.75, 0.25])
        """
        check_is_fitted(self)
        n = len(self.estimator_weights_)
        values = np.asarray(weights)
        allowed = f"it must be {n} numbers >= 0, one for every member, and not all zero"
        if values.shape != (n,) or values.dtype.kind not in "fiub":
            raise ValueError(
                f"weights of shape {values.shape} and type {values.dtype} are not allowed: {allowed}"
            )
        values = values.astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if bad.size or not values.any():
            shown = f"weights[{bad[0]}]={values[bad[0]]}" if bad.size else "weights that are all zero"
            raise ValueError(f"{shown} is not allowed: {allowed}")
        values /= values.max()  # the sum of large ones must not overflow
        other = copy.copy(self)
        other._set_weights(values / math.fsum(values))  # noqa: SLF001 - of the same class
        for name in _OF_EQUAL_VOTES:
            vars(other).pop(name, None)
        return other


# --- out-of-bag votes

_WEIGHTED = "rows were drawn by sample_weight: out-of-bag rows are not distributed like new rows"
_BALANCED = "class_weight='balanced' depends on the labels of all rows, also of out-of-bag rows"


class OutOfBagVotes:
    """Mixin of bagging and forests."""

    oob_score: Any
    oob_votes_: Integers

    def _out_of_bag_score(
        self,
        y: NDArray[Any],
        predicted: NDArray[Any],
        votes: Integers,
        sample_weight: Floats | None,
        metric: Callable[..., float],
    ) -> float:
        """Score of the predictions of all rows with votes and a positive weight."""
        counts = votes > 0 if sample_weight is None else (votes > 0) & (sample_weight > 0)
        if not counts.any():
            return math.nan
        if callable(self.oob_score):
            score: float = self.oob_score(y[counts], predicted[counts])
            return score
        weight = None if sample_weight is None else sample_weight[counts]
        return float(metric(y[counts], predicted[counts], sample_weight=weight))

    def _warn_without_votes(self, member: str) -> None:
        n_without, n = np.sum(self.oob_votes_ == 0), len(self.oob_votes_)
        if n_without:
            warnings.warn(
                f"{n_without} of {n} rows are in the bag of every {member}: they have no out-of-bag "
                f"prediction (NaN) and are ignored in oob_score_; use more {member}s",
                stacklevel=3,
            )


def out_of_bag_doubts(
    sample_weight: Floats | None, class_weight: Any = None, before: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Reasons why out-of-bag rows may not be like new ones; `before` are those of earlier members.

    >>> out_of_bag_doubts(np.array([1.0, 1.0])), len(out_of_bag_doubts(np.array([1.0, 2.0]), "balanced"))
    ((), 2)
    """
    doubts = list(before)
    if sample_weight is not None and np.any(sample_weight != sample_weight[0]):
        doubts.append(_WEIGHTED)
    if isinstance(class_weight, str) and class_weight == "balanced":
        doubts.append(_BALANCED)
    return tuple(dict.fromkeys(doubts))
