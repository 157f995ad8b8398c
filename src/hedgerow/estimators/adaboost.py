"""AdaBoostClassifier: AdaBoost for classes, with all its update rules; AdaBoostRegressor: AdaBoost.R2."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NoReturn

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost import RULES
from hedgerow.boosting.adaboost_fit import AdaBoostResult
from hedgerow.boosting.adaboost_models import MedianMembers, MedianModel, MedianTrees
from hedgerow.boosting.r2 import LOSSES, R2Rule
from hedgerow.estimators import parameters
from hedgerow.estimators.adaboost_base import ALLOWED, AdaBoostBase, AdaBoostClassifierBase
from hedgerow.estimators.base import RegressorBase, supports_dask
from hedgerow.estimators.boosting_base import COMMON
from hedgerow.estimators.decision_trees import DecisionTreeRegressor
from hedgerow.estimators.parameters import Allowed, flag, none, one_of
from hedgerow.estimators.validation import FitInput
from hedgerow.forest import TreeModel
from hedgerow.threads import resolve_n_jobs


class AdaBoostClassifier(AdaBoostClassifierBase):
    """AdaBoost for two or more classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a `DecisionStump`, a hedgerow `DecisionTreeClassifier`, or any
        scikit-learn classifier (for algorithm="gentle": regressor). A learner whose `fit` has no
        `sample_weight` is boosted by weighted resampling.
    n_estimators : int
        Maximum number of rounds.
    learning_rate : float
        Shrinkage: the fraction of each step that is used.
    algorithm : {"discrete", "m1", "samme", "real", "samme.r", "gentle"}
        The update rule. "discrete" and "m1" give the same classifier for two classes; alpha is twice as large
        with "m1". With several classes, "discrete" is SAMME at half its scale, "m1" requires an error below
        1/2, "real" is SAMME.R, and "gentle" separates each class from the others.
    resample : bool
        Pass rows drawn by their weights to the learner, instead of weights; an integer weight counts as
        that many rows. The order of the rows does not matter.
    on_chance : {"stop", "restart"}
        What to do when a learner is no better than chance: stop with a warning and keep the rounds so far,
        or draw new random weights and continue (at most ten times in a row).
    early_stopping : bool or "auto"
        Stop when the validation error stops decreasing; "auto" for more than 10,000 rows.
    validation_fraction : float
        Fraction of the rows used for validation if `fit` gets no `eval_set`.
    n_iter_no_change, tol : int, float
        Number of rounds without an improvement that stop the fit; rounds after the best are dropped. An
        improvement is more than `tol` times the fall of the validation error since the first round.
    warm_start : bool
        Continue the fitted model with more rounds; the result equals a single longer fit, bit for bit, unless
        new weights were drawn (`on_chance="restart"`).
    random_state : int, RandomState or None
        Seed of resampling, restarts, the validation rows and the learner.
    n_jobs : int or None
        Number of threads of hedgerow trees; None and -1 for all cores. The model does not depend on it.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line per round.

    Attributes
    ----------
    estimators_ : list
        The fitted members.
    estimator_weights_ : array
        alpha of every round; for the real-valued algorithms the learning rate.
    estimator_errors_ : array
        Weighted error of every round, epsilon.
    edges_ : array
        1/2 - epsilon.
    normalizers_ : array
        Z of every round: the sum of the weights before they are normalized.
    training_error_bound_ : array
        Upper bound of the training error after every round: the product of the normalizers. For more than two
        classes: the same for votes, times the number of classes for "gentle", NaN for "samme.r", which has no
        known bound.
    sample_weights_ : array
        The final distribution over the training rows.
    training_margins_ : array
        `margins` of the training rows.
    row_fingerprints_ : RowFingerprints
        Hashes of the training rows; `is_training_row` and certificates recognize rows by them.
    stop_reason_ : str
        Why the fit stopped.
    history_ : dict of lists
        Number, seconds, leaves and training error of every round, and the error of each evaluation set.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation error.
    n_estimators_, n_iter_ : int
        Number of rounds of the model.
    feature_importances_ : array
        Fraction of the total gain of the splits of each column, weighted by alpha.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> model.estimator_errors_.round(2), model.estimator_weights_.round(2)
    (array([0.3 , 0.21, 0.14]), array([0.42, 0.65, 0.92]))
    >>> float(model.score(X, y))
    1.0
    """

    _allowed: ClassVar[dict[str, Allowed]] = {**ALLOWED, "algorithm": one_of(*RULES)}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: str = "discrete",
        resample: bool = False,
        on_chance: str = "stop",
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())


class AdaBoostRegressor(RegressorBase, AdaBoostBase):
    """AdaBoost.R2: each member is fitted to rows weighted by the errors of the previous members.

    The prediction is the median of the members, weighted by alpha: a single extreme member changes it little,
    and it always lies within the predictions of the members.

    Parameters
    ----------
    estimator : regressor, optional
        The weak learner: None for a `DecisionTreeRegressor` with ``max_depth=3``, or any scikit-learn
        regressor. A learner whose `fit` has no `sample_weight` is boosted by weighted resampling.
    learning_rate : float
        Shrinkage: the fraction of each step of the weights that is used.
    loss : {"linear", "square", "exponential"}
        Loss of an error e, relative to the largest error E of the round: e / E, its square or
        1 - exp(-e / E).
    resample : bool
        Pass rows drawn by their weights to the learner, as in Drucker's paper and in scikit-learn. With False
        the learner receives weights: nothing is random, and the error is usually higher, since the members
        differ less.
    early_stopping : bool or "auto"
        Stop when the mean absolute error of validation rows stops decreasing; "auto" for more than 10,000
        rows.
    n_estimators, validation_fraction, n_iter_no_change, tol, warm_start, random_state, n_jobs, verbose
        As in `AdaBoostClassifier`.

    Attributes
    ----------
    estimator_weights_ : array
        alpha of every round.
    estimator_errors_ : array
        Weighted mean loss of every round, from 0 to 1; the fit stops at 1/2.
    edges_ : array
        1/2 minus `estimator_errors_`.
    history_ : dict of lists
        Number, seconds and leaves of every round; the mean absolute error of each evaluation set,
        "validation_loss", and with verbose > 0 that of the training rows, "train_loss".
    estimators_, normalizers_, sample_weights_, stop_reason_, n_estimators_, n_iter_, feature_importances_
        As in `AdaBoostClassifier`.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation error.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    H. Drucker, "Improving Regressors using Boosting Techniques", ICML 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, y)
    >>> model.estimator_errors_.round(2), model.estimator_weights_.round(2)
    (array([0.24, 0.2 , 0.3 ]), array([1.13, 1.36, 0.84]))
    >>> model.predict(X[:2]).round(1)
    array([195.8,  96.4])
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        **COMMON,
        "estimator": parameters.regressor() | none(),
        "loss": one_of(*LOSSES),
        "resample": flag(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        resample: bool = True,
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    def _weak_learner(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _has_members(self) -> bool:
        return not isinstance(self._weak_learner(), DecisionTreeRegressor)

    def _make_rule(self) -> Any:
        return partial(R2Rule, loss=self.loss)

    # --- fitting

    def _check_warm_start(self) -> None:
        if self._has_members() != isinstance(self.model_, MedianMembers):
            kind = "other regressors" if isinstance(self.model_, MedianMembers) else "trees"
            raise ValueError(
                f"estimator={self.estimator!r} cannot continue a model of {kind}; with warm_start=True it "
                "must stay of the same kind"
            )
        if self.loss != self._fitted_loss:
            raise ValueError(
                f"loss={self.loss!r} cannot continue a model fitted with loss={self._fitted_loss!r}; with "
                "warm_start=True it must stay the same"
            )

    def _set_fitted(self, result: AdaBoostResult, data: FitInput) -> None:
        super()._set_fitted(result, data)
        self._fitted_loss = self.loss

    # --- predictions

    @supports_dask
    def predict(self, X: Any) -> Floats:
        """Return weighted medians of the predictions of the members.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        joined = self._predict_stream(X, self.predict)
        if joined is not None:
            return joined
        table = self._read(X)
        model: MedianModel = self.model_
        return model.predict(X, table, resolve_n_jobs(self.n_jobs))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield predictions after every round."""
        table = self._read(X)
        model: MedianModel = self.model_
        yield from model.staged_predict(X, table, resolve_n_jobs(self.n_jobs))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield R squared after every round."""
        from sklearn.metrics import r2_score  # noqa: PLC0415 - loads 0.05 s of modules

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    def _members(self) -> list[Any]:
        model = self.model_
        if isinstance(model, MedianMembers):
            return list(model.members)
        trees = model.trees
        return [
            self._as_regressor(trees, trees.forest.select(range(tree, tree + 1)))
            for tree in range(model.n_rounds)
        ]

    def _tree_model(self, method: str) -> TreeModel:
        model = getattr(self, "model_", None)
        return model.trees if isinstance(model, MedianTrees) else super()._tree_model(method)

    def shape_functions(self) -> NoReturn:
        """Not available: a median is not a sum of functions of single columns."""
        raise AttributeError(
            "shape_functions needs a sum of stumps, and AdaBoostRegressor predicts a median of its members; "
            "GradientBoostingRegressor(max_leaf_nodes=2) is such a sum"
        )
