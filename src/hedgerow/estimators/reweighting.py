"""Votes that do not all count the same: a copy of a fitted bag or forest with other weights."""

import copy
import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.margins import ShareMargins

_OF_EQUAL_VOTES = ("oob_score_", "oob_decision_function_", "oob_votes_")


class Reweighted(ShareMargins):
    """What classifiers that are the mean of their members share, a mixin before the base class."""

    @property
    def estimator_weights_(self) -> Floats:
        """The share of every member in the vote: the same for all, unless `reweighted` has changed it."""
        raise TypeError(f"{type(self).__name__} does not say what its members weigh")

    def _set_weights(self, weights: Floats) -> None:
        raise TypeError(f"{type(self).__name__} does not say where it keeps weights")

    def reweighted(self, weights: Any) -> Self:
        """A copy whose members vote with other weights; this model stays as it is.

        Parameters
        ----------
        weights : array of shape (n_estimators,)
            None negative, not all zero; they are scaled to sum 1.

        Returns
        -------
        The copy, without the attributes that describe the equal vote, such as `oob_score_`. See
        `hedgerow.theory.optimize_votes` for weights that lower what is proven about the error.

        Examples
        --------
        >>> from hedgerow import RandomForestClassifier
        >>> forest = RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
        >>> forest.reweighted([3, 1]).estimator_weights_
        array([0.75, 0.25])
        """
        check_is_fitted(self)
        n = len(self.estimator_weights_)
        given = np.asarray(weights)
        words = f"it must be {n} numbers >= 0, one for every member, and not all zero"
        if given.shape != (n,) or given.dtype.kind not in "fiub":
            raise ValueError(
                f"weights of shape {given.shape} and type {given.dtype} are not allowed: {words}"
            )
        given = given.astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
        if bad.size or not given.any():
            shown = f"weights[{bad[0]}]={given[bad[0]]}" if bad.size else "weights that are all zero"
            raise ValueError(f"{shown} is not allowed: {words}")
        given /= given.max()  # the sum of large ones must not overflow
        other = copy.copy(self)
        other._set_weights(given / math.fsum(given))  # noqa: SLF001 - of our own kind
        for name in _OF_EQUAL_VOTES:
            vars(other).pop(name, None)
        return other
