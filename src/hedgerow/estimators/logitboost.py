"""LogitBoostClassifier and AnyBoostClassifier."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import AdaBoostRule
from hedgerow.boosting.adaboost_fit import AdaBoostResult
from hedgerow.boosting.adaboost_models import NoVoteError
from hedgerow.boosting.anyboost import AnyRule, LogitRule
from hedgerow.boosting.costs import COSTS, MarginCost, make_cost
from hedgerow.estimators.adaboost_base import ALLOWED, AdaBoostClassifierBase
from hedgerow.estimators.parameters import Allowed
from hedgerow.estimators.validation import FitInput


class LogitBoostClassifier(AdaBoostClassifierBase):
    """LogitBoost: boosting of the log-likelihood by Newton steps, for two or more classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a stump fitted by least squares, a hedgerow tree, or any scikit-learn
        regressor.
    n_estimators : int
        Maximum number of rounds; with several classes, a round fits one learner for each class.
    on_chance : {"stop", "restart"}
        What to do when the learner finds nothing to add: stop, or continue with new random weights.
    early_stopping : bool or "auto"
        Stop when the validation log-loss stops decreasing; "auto" for more than 10,000 rows.
    learning_rate, resample, validation_fraction, n_iter_no_change, tol
        As in `AdaBoostClassifier`.
    warm_start, random_state, n_jobs, verbose
        As in `AdaBoostClassifier`.

    Attributes
    ----------
    estimators_ : list
        The fitted members; lists of them with several classes.
    estimator_weights_ : array
        Factor of the predictions of each member: the learning rate, times 1/2 or (K - 1) / K.
    estimator_errors_, edges_ : array
        Weighted fraction of the responses whose sign a round predicts wrongly, and 1/2 minus that.
    training_error_bound_ : array
        The mean log-loss to base 2 after every round, an upper bound of the training error.
    normalizers_ : array
        The factor by which each round changed that bound.
    sample_weights_ : array
        The final weights p (1 - p) of the training rows, normalized.
    history_ : dict of lists
        Number, seconds, leaves and log-loss of every round, and the log-loss of each evaluation set.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation loss.
    stop_reason_, n_estimators_, n_iter_, classes_, feature_importances_, n_features_in_, feature_names_in_
        As in `AdaBoostClassifier`.

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
        self._set_parameters(locals())

    def _rule(self) -> type[AdaBoostRule]:
        return LogitRule


class AnyBoostClassifier(AdaBoostClassifierBase):
    """AnyBoost: gradient descent in function space on any cost of the margin, for two classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a `DecisionStump`, a hedgerow `DecisionTreeClassifier`, or any
        scikit-learn classifier.
    cost : {"exponential", "logistic", "sigmoid"} or object
        The cost to minimize. "exponential" is AdaBoost; "sigmoid" is 1 - tanh(10 m + 1) of the normalized
        margin m (DOOM II), which ignores rows far on the wrong side; see
        `hedgerow.boosting.costs.SigmoidCost` for other slopes. A custom cost is an object with
        ``cost(margin)`` and ``derivative(margin)`` on arrays, decreasing and never negative. With the
        attribute ``normalised = True`` margins are divided by the sum of the weights, and an optional method
        ``probability(score)`` returns the probability of the second class.
    on_chance : {"stop", "restart"}
        What to do when a learner is not a descent direction: stop with a warning and keep the rounds so far,
        or draw new random weights and continue (at most ten times in a row).
    early_stopping : bool or "auto"
        Stop when the validation cost stops decreasing; "auto" for more than 10,000 rows.
    n_estimators, learning_rate, resample, validation_fraction, n_iter_no_change, tol
        As in `AdaBoostClassifier`.
    warm_start, random_state, n_jobs, verbose
        As in `AdaBoostClassifier`.

    Attributes
    ----------
    estimator_weights_ : array
        alpha of every round, from a line search.
    estimator_errors_, edges_ : array
        Weighted error of every round, and 1/2 minus that.
    training_error_bound_ : array
        The mean cost divided by the cost of margin 0 after every round, an upper bound of the training error.
    normalizers_ : array
        The factor by which each round changed that bound.
    history_ : dict of lists
        Number, seconds, leaves and cost of every round, and the cost of each evaluation set.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation cost.
    estimators_, sample_weights_, stop_reason_, n_estimators_, n_iter_
        As in `AdaBoostClassifier`.
    classes_, feature_importances_, n_features_in_, feature_names_in_
        As in `AdaBoostClassifier`.

    Examples
    --------
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> AnyBoostClassifier(n_estimators=3).fit(X, y).estimator_weights_.round(2)
    array([0.42, 0.65, 0.92])
    """

    _sign_decides = False  # a custom cost may have any probability
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
        self._set_parameters(locals())

    def _rule(self) -> type[AdaBoostRule]:
        return AnyRule

    def _make_rule(self) -> Any:
        return partial(AnyRule, cost=make_cost(self.cost))

    def _set_fitted(self, result: AdaBoostResult, data: FitInput) -> None:
        super()._set_fitted(result, data)
        self._set_cost(make_cost(self.cost), is_named=isinstance(self.cost, str))

    def _set_cost(self, cost: MarginCost, *, is_named: bool) -> None:
        """Set the cost of the fitted model, also of one from a file."""
        self._fitted_cost, self._fitted_cost_is_named = cost, is_named

    def _require_votes(self) -> None:
        super()._require_votes()
        if not self._fitted_cost_is_named:
            raise NoVoteError(
                "a custom cost defines which class is predicted: it may not be that of the vote"
            )

    def _probabilities(self, raw: Floats) -> Floats:
        """Return the probabilities of the cost; else the fraction of the votes for the second class."""
        probability = getattr(self._fitted_cost, "probability", None)
        if probability is not None:
            second = np.asarray(probability(raw[0]), np.float64)
        else:
            mean_vote = raw[0] / (math.fsum(self._statistics.max_steps) or 1.0)
            second = np.clip(0.5 + 0.5 * mean_vote, 0.0, 1.0)  # sums may be rounded in another order
        return np.stack([1.0 - second, second], axis=1)

    def _row_weights(self, raw: Floats, classes: NDArray[np.int32], number: int) -> Floats:
        cost = self._fitted_cost
        total = math.fsum(self._statistics.weights[: number + 1])
        length = max(1.0, total) if getattr(cost, "normalised", False) else 1.0
        margins = np.where(classes == 1, raw[0], -raw[0]) / length
        return -np.asarray(cost.derivative(margins), np.float64)
