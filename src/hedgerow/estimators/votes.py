"""Votes of members: margins, weights of the members, and the base class of bagging and forests.

A margin measures how clearly a vote favours the label, from -1 (all against it) to 1 (all for it).
"""

import copy
import math
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.sampling import OutOfBag
from hedgerow.estimators.base import EnsembleBase, score_margins
from hedgerow.estimators.fingerprints import RowFingerprintsMixin
from hedgerow.estimators.validation import FitInput
from hedgerow.table import Schema

_OF_EQUAL_VOTES = ("oob_score_", "oob_decision_function_", "oob_votes_")
_WEIGHTED = "rows were drawn by sample_weight: out-of-bag rows are not distributed like new rows"
_BALANCED = "class_weight='balanced' depends on the labels of all rows, also of out-of-bag rows"


class VoteMargins(RowFingerprintsMixin):
    """Mixin of classifiers whose probabilities are fractions of a vote; it comes before the base class."""

    def margins(self, X: Any, y: Any) -> Floats:
        """Return the fraction of the vote for the label minus the largest fraction of another class.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float64 array of shape (n_samples,)
            From -1 to 1; negative where the vote is wrong.
        """
        fractions = self.predict_proba(X)  # type: ignore[attr-defined]
        return score_margins(np.ascontiguousarray(fractions.T), self._class_numbers(y, len(fractions)), 1.0)


# --- bagging and forests


class BaggedEnsemble(EnsembleBase):
    """Base class of bagging and forests: independent members, out-of-bag predictions and warm starts."""

    oob_votes_: Integers
    _member: ClassVar[str]  # name of a member in messages
    _oob_names: ClassVar[tuple[str, ...]] = (
        *("oob_score_", "oob_votes_", "oob_decision_function_", "oob_prediction_", "oob_losses_"),
        *("vote_losses_", "_residuals", "_residual_weight", "_ranks"),
    )

    @abstractmethod
    def _n_members_and_weights(self) -> tuple[int, Floats | None]:
        """Return the number of fitted members and their weights in the vote; None for equal weights."""

    @abstractmethod
    def _set_members(self, result: Any, schema: Schema, classes: NDArray[Any] | None) -> None:
        """Set the attributes of the members, from a fit or a file."""

    def _warn_without_votes(self) -> None:
        if self.oob_score and not self.oob_votes_.all():
            warnings.warn(
                f"{np.sum(self.oob_votes_ == 0)} of {len(self.oob_votes_)} rows are in the bag of every "
                f"{self._member}: they have no out-of-bag prediction (NaN) and are ignored in oob_score_; "
                f"use more {self._member}s",
                stacklevel=3,
            )

    def _check_warm_start(self) -> None:
        n_members, weights = self._n_members_and_weights()
        if weights is not None:
            raise ValueError(
                f"warm_start=True cannot add {self._member}s to a model whose {self._member}s have weights "
                "of their own; set warm_start=False to start again"
            )
        if self.n_estimators < n_members:
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {n_members} {self._member}s of the fitted "
                "model; with warm_start=True it must be at least as many"
            )

    def _with_oob_score(self, result: Any, data: FitInput) -> Any:
        """Add the score of the out-of-bag predictions of all rows with votes and a positive weight."""
        oob, weight, classes = result.out_of_bag, data.train.sample_weight, data.target.classes
        if oob is None:
            return result
        from sklearn.metrics import accuracy_score, r2_score  # noqa: PLC0415 - loads 0.05 s of modules

        y, predicted, metric, score = data.train.y, squeeze_outputs(oob.means), r2_score, math.nan
        if classes is not None:
            y, metric = classes[y.astype(np.int64)], accuracy_score
            predicted = classes[np.argmax(oob.means, axis=1)]
        used = oob.votes > 0 if weight is None else (oob.votes > 0) & (weight > 0)
        if used.any() and callable(self.oob_score):
            score = self.oob_score(y[used], predicted[used])
        elif used.any():
            used_weight = None if weight is None else weight[used]
            score = float(metric(y[used], predicted[used], sample_weight=used_weight))
        return replace(result, out_of_bag=replace(oob, score=score))

    def _set_fitted(self, result: Any, data: FitInput) -> None:
        for name in self._oob_names:
            self.__dict__.pop(name, None)
        self._set_members(result, data.schema, data.target.classes)
        self._set_fingerprints(data)
        if result.out_of_bag is not None:
            self._set_out_of_bag(result.out_of_bag, data)

    def _set_out_of_bag(self, oob: OutOfBag, data: FitInput) -> None:
        self.oob_votes_, self.oob_score_ = oob.votes, oob.score
        if oob.losses is None:
            self.oob_prediction_ = squeeze_outputs(oob.means)
        else:
            self.oob_decision_function_ = oob.means
            self.oob_losses_ = replace(oob.losses, caveats=self._out_of_bag_caveats(data))

    def _out_of_bag_caveats(self, data: FitInput) -> tuple[str, ...]:
        """Return reasons why out-of-bag rows may not be like new ones."""
        return out_of_bag_caveats(data.train.sample_weight)


class WeightedVote(VoteMargins):
    """Mixin of classifiers that are the weighted mean of their members; it comes before `BaggedEnsemble`."""

    @property
    def estimator_weights_(self) -> Floats:
        """Weight of every member in the vote: equal for all, unless `reweighted` has changed it."""
        check_is_fitted(self)
        n, weights = self._n_members_and_weights()  # type: ignore[attr-defined]
        return np.full(n, 1.0 / n) if weights is None else weights.copy()

    @abstractmethod
    def _set_weights(self, weights: Floats) -> None:
        """Set the weights of the members."""

    def reweighted(self, weights: Any) -> Self:
        """Return a copy whose members vote with other weights; this model is not changed.

        Parameters
        ----------
        weights : array of shape (n_estimators,)
            Numbers >= 0, not all zero; they are scaled to sum 1.

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


def squeeze_outputs(means: Floats) -> Floats:
    """Return means (rows, outputs) as (rows,) if there is one output."""
    return means[:, 0] if means.shape[1] == 1 else means


def out_of_bag_caveats(
    sample_weight: Floats | None, class_weight: Any = None, before: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return reasons why out-of-bag rows may not be like new ones; `before` are those of earlier members.

    >>> out_of_bag_caveats(np.array([1.0, 1.0])), len(out_of_bag_caveats(np.array([1.0, 2.0]), "balanced"))
    ((), 2)
    """
    caveats = list(before)
    if sample_weight is not None and np.any(sample_weight != sample_weight[0]):
        caveats.append(_WEIGHTED)
    if isinstance(class_weight, str) and class_weight == "balanced":
        caveats.append(_BALANCED)
    return tuple(dict.fromkeys(caveats))
