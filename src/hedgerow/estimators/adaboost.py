"""AdaBoost for classes, in all its forms, with scikit-learn's face."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost import RULES, GentleRule, RealRule, VoteRule
from hedgerow.boosting.adaboost_family import AdaBoostRule
from hedgerow.boosting.row_weights import RowWeights
from hedgerow.estimators.adaboost_base import ALLOWED, AdaBoostBase
from hedgerow.estimators.parameters import Allowed, one_of
from hedgerow.threads import Team


class AdaBoostClassifier(AdaBoostBase):
    """AdaBoost for two or more classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a `DecisionStump`, a `DecisionTreeClassifier` of ours, or any
        scikit-learn classifier (for algorithm="gentle": regressor). One without `sample_weight` in its fit
        is boosted by weighted resampling.
    n_estimators : int
        The most rounds.
    learning_rate : float
        Shrinkage: the share of each step that is taken.
    algorithm : {"discrete", "m1", "samme", "real", "samme.r", "gentle"}
        The update rule. "discrete" and "m1" give the same classifier for two classes, alpha being twice as
        large with "m1". With several classes, "discrete" is SAMME at half its scale, "m1" asks for an error
        below 1/2, "real" is SAMME.R, and "gentle" sets each class against the others.
    resample : bool
        Give the learner rows drawn by their weights instead of weights.
    on_chance : {"stop", "restart"}
        What to do when a learner is no better than chance: stop with the rounds so far and a warning, or
        draw new random weights and go on (at most ten times in a row).
    early_stopping : bool or "auto"
        Stop when the validation error no longer falls; "auto" does so above 10,000 rows.
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
        alpha of every round; for the real-valued algorithms the learning rate.
    estimator_errors_ : array
        Weighted error of every round, epsilon.
    edges_ : array
        1/2 - epsilon.
    normalizers_ : array
        Z of every round: what the weights sum to before they are normalised.
    training_error_bound_ : array
        After every round, what the training error is proven to be at the most: the product of the
        normalizers. For more than two classes: the same for votes, times the number of classes for
        "gentle", NaN for "samme.r", where no such bound is known.
    sample_weights_ : array
        The last distribution over the training rows.
    training_margins_ : array
        `margins` of the training rows.
    row_fingerprints_ : RowFingerprints
        Fingerprints of the training rows, by which `is_training_row` and certificates know them again.
    stop_reason_ : str
        Why the fit ended.
    history_ : dict of lists
        For every round its number, seconds, leaves and training error, and the error of each evaluation set.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation error.
    n_estimators_, n_iter_ : int
        Rounds of the model.
    feature_importances_ : array
        Share of each column in what the splits gained, weighted by alpha.
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
        self.estimator = estimator
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.algorithm = algorithm
        self.resample, self.on_chance = resample, on_chance
        self.early_stopping, self.validation_fraction = early_stopping, validation_fraction
        self.n_iter_no_change, self.tol = n_iter_no_change, tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs, self.verbose = n_jobs, verbose

    def _rule(self) -> type[AdaBoostRule]:
        return RULES[self.algorithm]

    def _says_why(self) -> str:
        return f"algorithm={self.algorithm!r}"

    def _criterion(self) -> str | None:
        default_real = self.estimator is None and self._rule() is RealRule
        return "gini" if default_real else self._rule().criterion

    def _steepness(self) -> float:
        rule, k = self._fitted_rule, len(self.classes_)
        if issubclass(rule, VoteRule):
            return 1.0 / rule.share
        return 1.0 / (k - 1.0) if rule is RealRule and k > 2 else 2.0

    def _row_weights(self, raw: Floats, classes: NDArray[np.int32], number: int) -> Floats:
        with Team(1) as team:
            weights = RowWeights(None, len(classes), None, team)
            if self._fitted_rule is not GentleRule or len(raw) == 1:
                return weights.exponential(raw, classes, self._steepness())[0]
            parts = [
                weights.exponential(raw[k : k + 1], (classes == k).astype(np.int32), 2.0)
                for k in range(len(raw))
            ]
        top = max(shift for _, shift in parts)
        total = np.zeros(len(classes))
        for weight, shift in parts:
            total += weight * np.exp(shift - top)
        return total
