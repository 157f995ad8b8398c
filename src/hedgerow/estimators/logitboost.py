"""LogitBoost and AnyBoost, with scikit-learn's face."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import AdaBoostRule
from hedgerow.boosting.adaboost_fit import AdaBoostResult
from hedgerow.boosting.anyboost import AnyRule
from hedgerow.boosting.costs import COSTS, MarginCost, make_cost
from hedgerow.boosting.logitboost import LogitRule
from hedgerow.estimators.adaboost_base import ALLOWED, AdaBoostBase
from hedgerow.estimators.hypothesis_class import NoVoteError
from hedgerow.estimators.parameters import Allowed
from hedgerow.estimators.validation import Target


class LogitBoostClassifier(AdaBoostBase):
    """LogitBoost: boosting of the log-likelihood by Newton steps, for two or more classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a stump fitted by least squares, a tree of ours, or any scikit-learn
        regressor.
    n_estimators : int
        The most rounds; with several classes, each fits one learner a class.
    learning_rate : float
        Shrinkage: the share of each step that is taken.
    resample : bool
        Give the learner rows drawn by their weights instead of weights.
    on_chance : {"stop", "restart"}
        What to do when the learner finds nothing to add: stop, or go on with new random weights.
    early_stopping : bool or "auto"
        Stop when the validation log-loss no longer falls; "auto" does so above 10,000 rows.
    validation_fraction : float
        Share of the rows held out for that, when `fit` is given no `eval_set`.
    n_iter_no_change, tol : int, float
        Rounds without an improvement of more than `tol` that end the fit. The model keeps the rounds up
        to the best one.
    warm_start : bool
        Go on from the fitted model with more rounds; the result is that of one long fit, bit for bit, unless
        weights were drawn anew on the way (`on_chance="restart"`).
    random_state : int, RandomState or None
        Of resampling, the held-out rows and the learner.
    n_jobs : int or None
        Threads of our own learners; None and -1 for all cores. The model is the same for any number.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a round.

    Attributes
    ----------
    estimators_ : list
        The members, fitted; lists of them with several classes.
    estimator_weights_ : array
        What each member's word is multiplied with: the learning rate, times 1/2 or (K - 1) / K.
    estimator_errors_, edges_ : array
        Weighted share of the responses whose sign a round has wrong, and 1/2 less that.
    training_error_bound_ : array
        The mean log-loss to the base of 2 after every round: no training error is larger.
    normalizers_ : array
        What each round multiplied that by.
    sample_weights_ : array
        The last weights p (1 - p) of the training rows, normalised.
    stop_reason_ : str
        Why the fit ended.
    history_ : dict of lists
        For every round its number, seconds, leaves and log-loss, and the log-loss of each evaluation set.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation loss.
    n_estimators_, n_iter_, classes_, feature_importances_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(LogitBoostClassifier(n_estimators=20).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
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
        self.estimator = estimator
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.resample, self.on_chance = resample, on_chance
        self.early_stopping, self.validation_fraction = early_stopping, validation_fraction
        self.n_iter_no_change, self.tol = n_iter_no_change, tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs, self.verbose = n_jobs, verbose

    def _rule(self) -> type[AdaBoostRule]:
        return LogitRule

    def _steepness(self) -> float:
        return 2.0 if len(self.classes_) == 2 else 1.0


class AnyBoostClassifier(AdaBoostBase):
    """AnyBoost: gradient descent in function space on any cost of the margin, for two classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a `DecisionStump`, a `DecisionTreeClassifier` of ours, or any
        scikit-learn classifier.
    cost : {"exponential", "logistic", "sigmoid"} or object
        What is made small. "exponential" is AdaBoost; "sigmoid" is 1 - tanh(10 m + 1) of the normalised
        margin m (DOOM II), which gives up on rows that are far on the wrong side; see
        `hedgerow.boosting.costs.SigmoidCost` for other slopes. A user's own cost is an object with
        ``cost(margin)`` and ``derivative(margin)`` on arrays, falling and never negative; its attribute
        ``normalised = True`` asks for margins divided by the sum of the weights, and a method
        ``probability(score)`` says what a score means.
    n_estimators : int
        The most rounds.
    learning_rate : float
        Shrinkage: the share of each step that is taken.
    resample : bool
        Give the learner rows drawn by their weights instead of weights.
    on_chance : {"stop", "restart"}
        What to do when a learner is no direction of descent: stop with the rounds so far and a warning, or
        draw new random weights and go on (at most ten times in a row).
    early_stopping : bool or "auto"
        Stop when the validation cost no longer falls; "auto" does so above 10,000 rows.
    validation_fraction : float
        Share of the rows held out for that, when `fit` is given no `eval_set`.
    n_iter_no_change, tol : int, float
        Rounds without an improvement of more than `tol` that end the fit. The model keeps the rounds up
        to the best one.
    warm_start : bool
        Go on from the fitted model with more rounds; the result is that of one long fit, bit for bit, unless
        weights were drawn anew on the way (`on_chance="restart"`).
    random_state : int, RandomState or None
        Of resampling, restarts, the held-out rows and the learner.
    n_jobs : int or None
        Threads of our own learners; None and -1 for all cores. The model is the same for any number.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a round.

    Attributes
    ----------
    estimators_ : list
        The members, fitted.
    estimator_weights_ : array
        alpha of every round, from a line search.
    estimator_errors_, edges_ : array
        Weighted error of every round, and 1/2 less that.
    training_error_bound_ : array
        The mean cost over the cost of margin 0 after every round: no training error is larger.
    normalizers_ : array
        What each round multiplied that by.
    sample_weights_ : array
        The last distribution over the training rows.
    stop_reason_ : str
        Why the fit ended.
    history_ : dict of lists
        For every round its number, seconds, leaves and cost, and the cost of each evaluation set.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation cost.
    n_estimators_, n_iter_, classes_, feature_importances_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> AnyBoostClassifier(n_estimators=3).fit(X, y).estimator_weights_.round(2)
    array([0.42, 0.65, 0.92])
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "cost": Allowed(
            lambda v: (
                v in COSTS if isinstance(v, str) else not isinstance(v, type) and isinstance(v, MarginCost)
            ),
            ", ".join(map(repr, COSTS)) + " or an object with cost(margin) and derivative(margin)",
        ),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        cost: Any = "exponential",
        n_estimators: int = 50,
        learning_rate: float = 1.0,
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
        self.estimator = estimator
        self.cost = cost
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.resample, self.on_chance = resample, on_chance
        self.early_stopping, self.validation_fraction = early_stopping, validation_fraction
        self.n_iter_no_change, self.tol = n_iter_no_change, tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs, self.verbose = n_jobs, verbose

    def _rule(self) -> type[AdaBoostRule]:
        return AnyRule

    def _make_rule(self) -> Any:
        return partial(AnyRule, cost=make_cost(self.cost))

    def _check_target(self, y: Floats, target: Target) -> None:
        if target.n_classes != 2:
            raise ValueError(
                f"Only binary classification is supported: y has {target.n_classes} classes; AnyBoost needs "
                "two, sklearn.multiclass.OneVsRestClassifier would set each against the others"
            )

    def _keep_record(self, fitted: AdaBoostResult) -> None:
        super()._keep_record(fitted)
        self._fitted_cost, self._fitted_cost_is_ours = make_cost(self.cost), isinstance(self.cost, str)

    def _refuse_other_than_votes(self) -> None:
        super()._refuse_other_than_votes()
        if not self._fitted_cost_is_ours:
            raise NoVoteError("a cost of your own says what scores mean, and so which class is predicted")

    def _probabilities(self, raw: Floats) -> Floats:
        """What the cost says a score means; else the share of the votes for the second class."""
        told = getattr(self._fitted_cost, "probability", None)
        if told is not None:
            second = np.asarray(told(raw[0]), np.float64)
        else:
            share = raw[0] / (math.fsum(self._statistics.max_steps) or 1.0)
            second = np.clip(0.5 + 0.5 * share, 0.0, 1.0)  # sums rounded in another order
        return np.stack([1.0 - second, second], axis=1)

    def _row_weights(self, raw: Floats, classes: NDArray[np.int32], number: int) -> Floats:
        cost = self._fitted_cost
        total = math.fsum(self._statistics.weights[: number + 1])
        length = max(1.0, total) if getattr(cost, "normalised", False) else 1.0
        margins = np.where(classes == 1, raw[0], -raw[0]) / length
        return -np.asarray(cost.derivative(margins), np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
