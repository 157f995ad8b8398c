"""Bagging of any estimator, with the interface of scikit-learn."""

from typing import Any, ClassVar

from hedgerow._typing import Floats
from hedgerow.bagging.members import FittedBagging
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.estimators import parameters
from hedgerow.estimators.bagging_base import ALLOWED, BaggingBase
from hedgerow.estimators.base import ClassifierBase, RegressorBase, supports_dask
from hedgerow.estimators.decision_trees import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.estimators.parameters import Allowed, none, one_of
from hedgerow.estimators.validation import FitInput
from hedgerow.estimators.votes import WeightedVote


class BaggingClassifier(ClassifierBase, WeightedVote, BaggingBase):
    """Bagging of classifiers: members fitted to random samples of the rows, and their vote.

    Parameters
    ----------
    estimator : classifier, optional
        A Hedgerow classifier, or any other with the interface of scikit-learn, also a pipeline; None for
        `DecisionTreeClassifier` with ``max_depth=None``. Its `random_state` is set to another seed in every
        member.
    n_estimators : int
        Number of members.
    max_samples : int or float
        Rows drawn for a member: a number (an integer, also of NumPy), or a fraction of all rows. With integer
        sample weights it is a fraction of the copies that they represent, unless these are more than 16 times
        the rows.
    max_features : int or float
        Columns drawn for a member: a number, or a fraction.
    bootstrap : bool
        Draw rows with replacement; otherwise each at most once (pasting).
    bootstrap_features : bool
        Draw columns with replacement. Members then receive a data frame as an array, since a data frame
        cannot hold a column twice.
    voting : {"soft", "hard"}
        Mean of the probabilities of the members, or the fraction of members that predict a class. Members
        without `predict_proba` always vote for the class they predict.
    oob_score : bool or callable
        Compute the out-of-bag attributes. A function receives the labels and the out-of-bag predictions; True
        for the accuracy.
    warm_start : bool
        Add members to the fitted model; the result is the same as that of one fit.
    n_jobs : int or None
        Number of members that are fitted, or predict, at a time; -1 for all cores. Hedgerow estimators run in
        threads, and None means all cores. Others run as in scikit-learn: None means one, or the value of a
        `joblib.parallel_config`. The model does not depend on it.
    random_state : int, RandomState or None
        Seed of the samples and of random members. The model is a function of it and of the data.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line per member.

    Attributes
    ----------
    estimators_ : list
        The fitted members. The member of a sample with one class only is a `ConstantHypothesis`. Hedgerow
        estimators with ``n_jobs=None`` use one thread each.
    estimators_samples_ : list of int64 arrays
        Row numbers of the samples, repeated as drawn. They are not stored, but drawn again.
    estimators_features_ : list of int64 arrays
        Columns of each member, in ascending order. Hedgerow trees receive them in random order: a tree uses
        the first of equally good splits, and members should differ in that too.
    oob_score_ : float
        Accuracy of the out-of-bag predictions, weighted as the rows are. Rows without one are ignored.
    oob_decision_function_ : float64 array of shape (n_samples, n_classes)
        Probabilities of the members that were not trained on the row; NaN if there are none.
    oob_votes_ : int64 array of shape (n_samples,)
        Number of members that were not trained on the row.
    oob_losses_ : PairLosses
        Out-of-bag losses of the members, see `hedgerow.theory.certify`.
    estimator_weights_ : float64 array of shape (n_estimators,)
        Weights of the members in the vote.
    row_fingerprints_ : RowFingerprints
        Hashes of the training rows; `is_training_row` and certificates recognise them.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Members are fitted to the drawn rows, repeated as drawn, rather than to weights: this works for every
    estimator. Rows are drawn in an order that depends on their values only: neither the order of the training
    rows, nor whether a row is repeated or has an integer weight, changes the model.

    An interrupt (Ctrl-C) stops the fit; the members fitted so far are the model.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BaggingClassifier(SVC(), n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 3)
    0.917
    >>> model.predict_proba(X[6:8])  # members without probabilities: fractions of their votes
    array([[1. , 0. ],
           [0.8, 0.2]])
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        "estimator": parameters.classifier() | none(),
        **ALLOWED,
        "voting": one_of("soft", "hard"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        voting: str = "soft",
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    def _member_estimator(self) -> Any:
        return DecisionTreeClassifier(max_depth=None) if self.estimator is None else self.estimator

    def _set_fitted(self, result: FittedBagging, data: FitInput) -> None:
        super()._set_fitted(result, data)
        values = self._member_estimator().get_params()
        edges = [value for name, value in values.items() if name.endswith("bin_edges")]
        self.grid_hashes_ = next((grid.hashes for grid in edges if hasattr(grid, "hashes")), None)

    def _set_weights(self, weights: Floats) -> None:
        self._weights = weights

    def vote_losses(self, X: Any, y: Any) -> PairLosses:
        """Return losses of the members on new rows, one by one and in pairs; see `RandomForestClassifier`."""
        table = self._member_input(X)
        classes = self._class_numbers(y, table.shape[0])
        losses = self._members().losses(table, classes, self._runner())
        return PairLosses.of([losses], len(self.estimators_), len(self.classes_))

    @supports_dask
    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the probabilities of the members, or fractions of their votes.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return self._means(X)

    def __sklearn_tags__(self) -> Any:
        tags, members = super().__sklearn_tags__(), self._member_tags()
        if members is not None:
            tags.classifier_tags.poor_score = members.classifier_tags.poor_score
        return tags


class BaggingRegressor(RegressorBase, BaggingBase):
    """Bagging of regressors, of one output: members fitted to random samples of the rows, and their mean.

    Parameters
    ----------
    estimator : regressor, optional
        A Hedgerow regressor, or any other with the interface of scikit-learn, also a pipeline; None for
        `DecisionTreeRegressor` with ``max_depth=None``.
    oob_score : bool or callable
        Compute the out-of-bag attributes. A function receives the targets and the out-of-bag predictions;
        True for R².
    n_estimators, max_samples, max_features, bootstrap, bootstrap_features
        As in `BaggingClassifier`.
    warm_start, n_jobs, random_state, verbose
        As in `BaggingClassifier`.

    Attributes
    ----------
    estimators_, estimators_samples_, estimators_features_
        The members, their rows and their columns; as in `BaggingClassifier`.
    oob_score_ : float
        R² of the out-of-bag predictions, weighted as the rows are. Rows without one are ignored.
    oob_prediction_ : float64 array of shape (n_samples,)
        Mean of the members that were not trained on the row; NaN if there are none.
    oob_votes_ : int64 array of shape (n_samples,)
        Number of members that were not trained on the row.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(KNeighborsRegressor(), n_estimators=50, oob_score=True, random_state=0)
    >>> round(model.fit(X, y).oob_score_, 3)
    0.404
    >>> model.predict(X[:2]).round(1)
    array([184.3,  85. ])
    """

    _allowed: ClassVar[dict[str, Allowed]] = {"estimator": parameters.regressor() | none(), **ALLOWED}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    def _member_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=None) if self.estimator is None else self.estimator

    @supports_dask
    def predict(self, X: Any) -> Floats:
        """Return the mean of the predictions of the members.

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        prediction: Floats = self._means(X)[:, 0]
        return prediction

    def __sklearn_tags__(self) -> Any:
        tags, members = super().__sklearn_tags__(), self._member_tags()
        if members is not None:
            tags.regressor_tags.poor_score = members.regressor_tags.poor_score
        return tags
