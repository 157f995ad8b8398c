"""Weighted ensembles: the weighted mean of the predictions of several models of the same rows.

    probabilities = (w_1 p_1 + w_2 p_2 + ...) / (w_1 + w_2 + ...)      added in the order of the members

`choose` returns one where it is better than the best single model. The members are complete models, each with
its own method and parameters; `bagging` and `boosting` are for many members of one kind.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.elementary import log
from hedgerow.estimators.base import FittedAttributesMixin
from hedgerow.estimators.fingerprints import RowFingerprints, RowFingerprintsMixin, RowHashes


class _WeightedEnsemble(FittedAttributesMixin, BaseEstimator):  # type: ignore[misc]
    """Fits the members, checks that they belong together, and adds their predictions."""

    estimators_: list[Any]
    weights_: Floats

    def __init__(self, estimators: Sequence[Any], *, weights: Sequence[float] | None = None) -> None:
        self.estimators = estimators
        self.weights = weights

    @classmethod
    def of(cls, fitted: Sequence[Any], weights: Sequence[float] | None = None) -> Self:
        """Return the ensemble of fitted models, which are not copied."""
        model = cls(fitted, weights=weights)
        model._set_fitted(list(fitted), model._checked_weights())
        return model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a copy of every member to the rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Every member must accept it.

        Returns
        -------
        self
        """
        weights = self._checked_weights()
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._set_fitted([clone(one).fit(X, y, **weighted) for one in self.estimators], weights)
        return self

    def _checked_weights(self) -> Floats:
        """Check the parameters; return weights of sum 1."""
        _check_estimators(self.estimators, of_classes=isinstance(self, ClassifierMixin))
        n = len(self.estimators)
        if self.weights is None:
            return np.full(n, 1.0 / n)
        allowed = f"it must be None or {n} numbers of at least 0, of which one is above 0"
        try:
            weights = np.asarray(self.weights, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"weights={self.weights!r} is not allowed: {allowed}") from error
        valid = weights.shape == (n,) and bool(np.isfinite(weights).all() and (weights >= 0).all())
        if not (valid and 0 < ordered_sum(weights) < np.inf):
            raise ValueError(f"weights={self.weights!r} is not allowed: {allowed}")
        return np.asarray(weights / ordered_sum(weights))

    def _set_fitted(self, members: list[Any], weights: Floats) -> None:
        for member in members:
            check_is_fitted(member)
        first = members[0]
        for number, member in enumerate(members[1:], 1):
            _check_same(first, member, number)
        self.estimators_, self.weights_ = members, weights
        for name in ("n_features_in_", "feature_names_in_", "schema_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
            elif hasattr(self, name):
                delattr(self, name)
        fingerprints = [one for member in members for one in getattr(member, "data_fingerprints_", ())]
        self.data_fingerprints_ = tuple(dict.fromkeys(fingerprints))

    def _sum(self, predictions: Any) -> Floats:
        """Return the weighted mean of the predictions of the members, an iterable."""
        total: Any = 0.0
        for weight, predicted in zip(self.weights_, predictions, strict=True):
            total = total + weight * np.asarray(predicted, np.float64)
        return np.asarray(total / ordered_sum(self.weights_))

    @property
    def feature_importances_(self) -> Floats:
        """Weighted mean of the importances of the members; only if all members have them."""
        check_is_fitted(self, "estimators_")
        return self._sum(member.feature_importances_ for member in self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class WeightedEnsembleClassifier(RowFingerprintsMixin, ClassifierMixin, _WeightedEnsemble):  # type: ignore[misc]
    """The weighted mean of the probabilities of several classifiers.

    `hedgerow.selection.choose` makes such an ensemble from its best trials. Model files store it:
    `hedgerow.save` and `hedgerow.load` keep members and weights. `hedgerow.theory.certify` certifies it with
    hold-out rows.

    Parameters
    ----------
    estimators : sequence of classifiers with predict_proba
        `fit` fits copies of them.
    weights : sequence of float, optional
        A weight of at least 0 for each; they are divided by their sum. By default all are equal.

    Attributes
    ----------
    estimators_ : list of the fitted classifiers
    weights_ : float64 array of shape (n_estimators,)
        The weights; their sum is 1.
    classes_ : array of labels
    feature_importances_ : float64 array of shape (n_features,)
        Weighted mean of those of the members; only if all have them.
    row_fingerprints_, data_fingerprints_
        Fingerprints of the rows that the members were fitted to.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import AdaBoostClassifier, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [AdaBoostClassifier(n_estimators=20), RandomForestClassifier(20, random_state=0)]
    >>> model = WeightedEnsembleClassifier(members, weights=[1, 3]).fit(X, y)
    >>> model.weights_.tolist(), model.predict(X[:2]).tolist()
    ([0.25, 0.75], [0, 0])
    """

    classes_: NDArray[Any]

    def _set_fitted(self, members: list[Any], weights: Floats) -> None:
        super()._set_fitted(members, weights)
        self.classes_ = np.asarray(members[0].classes_)
        self._set_row_fingerprints()

    def _set_row_fingerprints(self) -> None:
        """Set the fingerprints of the training rows of all members; equal ones are stored once."""
        for name in ("row_fingerprints_", "grid_hashes_"):
            self.__dict__.pop(name, None)
        for member in self.estimators_:
            rows: RowFingerprints | None = getattr(member, "row_fingerprints_", None)
            if rows is None:
                continue
            if not hasattr(self, "row_fingerprints_"):
                self.row_fingerprints_ = rows
            elif _are_equal(self.row_fingerprints_, rows):
                member.row_fingerprints_ = self.row_fingerprints_
            else:
                self.row_fingerprints_ = self.row_fingerprints_.joined_with(rows)
        grids = [getattr(member, "grid_hashes_", None) for member in self.estimators_]
        known: list[RowHashes] = [one for one in grids if one is not None]
        if known:
            exact, rounded = (
                np.concatenate(arrays) for arrays in zip(*(one[:2] for one in known), strict=True)
            )
            self.grid_hashes_ = RowHashes(exact, rounded, known[0].is_narrow)

    def row_hashes(self, X: Any) -> RowHashes:
        """Return hashes of rows."""
        check_is_fitted(self, "estimators_")
        known = [member for member in self.estimators_ if hasattr(member, "row_fingerprints_")]
        if not known:
            raise AttributeError(f"no member of this {type(self).__name__} has row_fingerprints_")
        hashes: RowHashes = known[0].row_hashes(X)
        return hashes

    @property
    def separate_members_(self) -> list[Any]:
        """All members, unless they have the same fingerprints of their rows; then none.

        Their hashes may differ too: `BaggingClassifier` hashes categories differently from other models. A
        member of another library has no fingerprints, or those of its last step if it is a pipeline.
        """
        rows = [getattr(member, "row_fingerprints_", None) for member in self.estimators_]
        same = rows[0] is not None and all(one is rows[0] for one in rows)
        return [] if same else list(self.estimators_)

    def is_training_row(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows hold the same values as a row that a member was fitted to."""
        members = [one for one in self.separate_members_ if hasattr(one, "row_fingerprints_")]
        if not members:
            return super().is_training_row(X)
        return np.asarray(np.any([member.is_training_row(X) for member in members], axis=0))

    def predict_proba(self, X: Any) -> Floats:
        """Return the weighted mean of the probabilities of the members, (n_samples, n_classes)."""
        check_is_fitted(self, "estimators_")
        return self._sum(member.predict_proba(X) for member in self.estimators_)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of `predict_proba`."""
        return np.asarray(log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row; the first of equal ones."""
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return labels


class WeightedEnsembleRegressor(RegressorMixin, _WeightedEnsemble):  # type: ignore[misc]
    """The weighted mean of the predictions of several regressors.

    Parameters
    ----------
    estimators : sequence of regressors
        `fit` fits copies of them.
    weights : sequence of float, optional
        See `WeightedEnsembleClassifier`.

    Attributes
    ----------
    estimators_, weights_, feature_importances_, data_fingerprints_, n_features_in_, feature_names_in_
        See `WeightedEnsembleClassifier`.

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> trees = [DecisionTreeRegressor(max_depth=1), DecisionTreeRegressor()]
    >>> WeightedEnsembleRegressor(trees).fit([[1.0], [2.0], [3.0]], [0.0, 0.0, 6.0]).predict([[2.0], [3.0]])
    array([0., 6.])
    """

    def predict(self, X: Any) -> Floats:
        """Return the weighted mean of the predictions of the members."""
        check_is_fitted(self, "estimators_")
        return self._sum(member.predict(X) for member in self.estimators_)


def members_of(model: Any) -> list[tuple[float, Any]]:
    """Return the weights and models of a weighted ensemble, with a threshold or without; or a single model.

    >>> [weight for weight, _ in members_of("any other model")]
    [1.0]
    """
    inner = getattr(model, "estimator_", model)
    if not isinstance(inner, _WeightedEnsemble):
        return [(1.0, inner)]
    check_is_fitted(inner, "estimators_")
    return list(zip(inner.weights_.tolist(), inner.estimators_, strict=True))


def ordered_sum(weights: Floats) -> float:
    """Return the sum of weights, added in their order: a mean of numbers up to 1 is then at most 1.

    >>> ordered_sum(np.array([0.25, 0.75]))
    1.0
    """
    return float(np.cumsum(weights)[-1])


def _check_estimators(estimators: Any, *, of_classes: bool) -> None:
    kind = "classifiers with predict_proba" if of_classes else "regressors"
    if not isinstance(estimators, list | tuple) or not len(estimators):
        raise ValueError(f"estimators={estimators!r} is not allowed: it must be a list of {kind}")
    for number, one in enumerate(estimators):
        right = hasattr(one, "fit") and is_classifier(one) == of_classes
        if not right or (of_classes and not hasattr(one, "predict_proba")):
            raise ValueError(f"estimators[{number}]={one!r} is not allowed: it must hold {kind}")


def _check_same(first: Any, member: Any, number: int) -> None:
    """Raise ValueError for a member with other columns or classes than the first."""
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        a, b = (np.asarray(getattr(one, name, ())).tolist() for one in (first, member))
        if a != b:
            what = "classes" if name == "classes_" else "columns"
            raise ValueError(
                f"estimators[{number}] has other {what} than estimators[0]: {name} is not the same"
            )


def _are_equal(a: RowFingerprints, b: RowFingerprints) -> bool:
    if a is b:
        return True
    mine, theirs = a.hashes, b.hashes
    same = np.array_equal(mine.exact, theirs.exact) and np.array_equal(mine.rounded, theirs.rounded)
    same = same and mine.is_narrow == theirs.is_narrow
    return same and a.weighted == b.weighted and np.array_equal(a.class_counts, b.class_counts)
