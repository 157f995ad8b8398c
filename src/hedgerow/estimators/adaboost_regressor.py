"""AdaBoost for numbers (AdaBoost.R2), with scikit-learn's face."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import RoundStatistics, RuleOptions
from hedgerow.boosting.adaboost_fit import AdaBoostOptions, AdaBoostResult, fit_adaboost
from hedgerow.boosting.adaboost_models import MedianMembers, MedianModel, MedianTrees
from hedgerow.boosting.r2 import LOSSES, R2Rule
from hedgerow.estimators import parameters
from hedgerow.estimators.base import RegressorBase, supports_dask
from hedgerow.estimators.boosting_base import COMMON, BoostingBase
from hedgerow.estimators.decision_trees import DecisionTreeRegressor
from hedgerow.estimators.parameters import Allowed, flag, nothing, one_of
from hedgerow.estimators.validation import FitInput
from hedgerow.forest import TreeModel
from hedgerow.threads import resolve_n_jobs


class AdaBoostRegressor(RegressorBase, BoostingBase):
    """AdaBoost.R2: members fitted to rows weighted by how badly the members before predict them.

    The prediction is the median of the members, weighted by alpha: robust against a wild one, and never
    outside the values that the members say.

    Parameters
    ----------
    estimator : regressor, optional
        The weak learner: None for a `DecisionTreeRegressor` of ours with ``max_depth=3``, or any
        scikit-learn regressor. One without `sample_weight` in its fit is boosted by weighted resampling.
    n_estimators : int
        The most rounds.
    learning_rate : float
        Shrinkage: the share of each step of the weights that is taken.
    loss : {"linear", "square", "exponential"}
        How an error e counts beside the largest one E of the round: e / E, its square or 1 - exp(-e / E).
    resample : bool
        Give the learner rows drawn by their weights instead of weights, as Drucker's original does. On few
        and noisy rows that is often a little better: the members differ more.
    early_stopping : bool or "auto"
        Stop when the mean absolute error of validation rows no longer falls; "auto" does so above 10,000
        rows.
    validation_fraction : float
        Share of the rows held out for that, when `fit` is given no `eval_set`.
    n_iter_no_change, tol : int, float
        Rounds without an improvement of more than `tol` that end the fit. The model keeps the rounds up
        to the best one.
    warm_start : bool
        Go on from the fitted model with more rounds.
    random_state : int, RandomState or None
        Of resampling, the held-out rows and the learner.
    n_jobs : int or None
        Threads of our own learners; None and -1 for all cores. The model is the same for any number.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a round.

    Attributes
    ----------
    estimators_ : list
        The members, fitted.
    estimator_weights_ : array
        alpha of every round.
    estimator_errors_ : array
        Weighted mean loss of every round, from 0 to 1; the fit ends at 1/2.
    edges_ : array
        1/2 less that.
    normalizers_ : array
        Z of every round: what the weights sum to before they are normalised.
    sample_weights_ : array
        The last distribution over the training rows.
    stop_reason_ : str
        Why the fit ended.
    history_ : dict of lists
        For every round its number, seconds and leaves; with evaluation sets the mean absolute error on each,
        "validation_loss", and with verbose > 0 that on the training rows, "train_loss".
    best_iteration_ : int or None
        With early stopping, the round of lowest validation error.
    n_estimators_, n_iter_ : int
        Rounds of the model.
    feature_importances_ : array
        Share of each column in what the splits gained, weighted by alpha; for trees of ours.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    H. Drucker, "Improving Regressors using Boosting Techniques", ICML 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(n_estimators=3).fit(X, y)
    >>> model.estimator_errors_.round(2), model.estimator_weights_.round(2)
    (array([0.28, 0.31, 0.3 ]), array([0.93, 0.82, 0.87]))
    >>> model.predict(X[:2]).round(1)
    array([208.6,  87.5])
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        **COMMON,
        "estimator": parameters.regressor() | nothing(),
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
        resample: bool = False,
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.loss = loss
        self.resample = resample
        self.early_stopping, self.validation_fraction = early_stopping, validation_fraction
        self.n_iter_no_change, self.tol = n_iter_no_change, tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs, self.verbose = n_jobs, verbose

    # --- learners

    def _learner(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _has_members(self) -> bool:
        return not isinstance(self._learner(), DecisionTreeRegressor)

    def _categorical_features(self) -> Any:
        return None if self._has_members() else self._learner().categorical_features

    # --- fitting

    def _previous(self) -> tuple[MedianModel, RoundStatistics] | None:
        learner = self._learner()
        if not self._has_members():
            parameters.check_parameters(learner.get_params(deep=False), learner._allowed)  # noqa: SLF001
        if not self._is_warm_start():
            return None
        self._check_n_estimators(self.model_.n_rounds)
        if self._has_members() != isinstance(self.model_, MedianMembers):
            kind = "other regressors" if isinstance(self.model_, MedianMembers) else "trees"
            raise ValueError(
                f"estimator={self.estimator!r} cannot go on from a model of {kind}; with warm_start=True it "
                "must stay of the same kind"
            )
        if self.loss != self._fitted_loss:
            raise ValueError(
                f"loss={self.loss!r} cannot go on from a model fitted with loss={self._fitted_loss!r}; with "
                "warm_start=True it must stay the same"
            )
        return self.model_, self._statistics

    def _run(self, data: FitInput) -> AdaBoostResult:
        return fit_adaboost(data.train, data.evaluation_sets, self._settings(data), data.previous)

    def _set_fitted(self, result: AdaBoostResult, data: FitInput) -> None:
        super()._set_fitted(result, data)
        self._keep_rounds(result.statistics, self.loss)
        self.sample_weights_ = result.sample_weights
        self.stop_reason_ = result.stop_reason

    def _keep_rounds(self, statistics: RoundStatistics, loss: str) -> None:
        """Set what the rounds leave: their record, and the loss they were made with."""
        self._fitted_loss, self._statistics = loss, statistics
        self.estimator_weights_ = np.array(statistics.weights)
        self.estimator_errors_ = np.array(statistics.errors)
        self.edges_ = 0.5 - self.estimator_errors_
        self.normalizers_ = np.array(statistics.normalizers)

    def _settings(self, data: FitInput) -> AdaBoostOptions:
        learner, own = self._learner(), not self._has_members()
        rule = RuleOptions(np.empty(0), float(self.learning_rate), seed=data.seed, external_members=not own)
        return self._fit_options(
            AdaBoostOptions,
            data,
            make_rule=partial(R2Rule, loss=self.loss),
            rule=rule,
            median=True,
            tree_rules=learner.weak_rules() if own else None,
            max_bins=int(learner.max_bins) if own else 255,
            resample=bool(self.resample),
            estimator=learner,
        )

    # --- after fitting

    @supports_dask
    def predict(self, X: Any) -> Floats:
        """Weighted medians of what the members say.

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
        """Predictions after every round."""
        table = self._read(X)
        model: MedianModel = self.model_
        yield from model.staged_predict(X, table, resolve_n_jobs(self.n_jobs))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R squared after every round."""
        from sklearn.metrics import r2_score  # noqa: PLC0415 - loads 0.05 s of modules

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    @property
    def estimators_(self) -> list[Any]:
        """The members in the order of the rounds."""
        model = self.model_
        if isinstance(model, MedianMembers):
            return list(model.members)
        given, bins, forest = self._learner().get_params(deep=False), model.trees.bins, model.trees.forest
        return [
            DecisionTreeRegressor(**given)._keep(  # noqa: SLF001 - a tree as an estimator of its own
                TreeModel(np.zeros(1), bins, forest.select(range(t, t + 1))), self.schema_, None
            )
            for t in range(model.n_rounds)
        ]

    def _tree_model(self, what: str) -> TreeModel:
        model = getattr(self, "model_", None)
        return model.trees if isinstance(model, MedianTrees) else super()._tree_model(what)

    def shape_functions(self) -> NoReturn:
        """Refuse: a median is no sum of functions of single columns."""
        raise AttributeError(
            "shape_functions needs a sum of stumps, and AdaBoostRegressor predicts a median of its members; "
            "GradientBoostingRegressor(max_leaf_nodes=2) is such a sum"
        )
