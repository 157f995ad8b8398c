"""AdaBoostClassifier: AdaBoost for classes, with all its update rules."""

from typing import Any, ClassVar

from hedgerow.boosting.adaboost import RULES
from hedgerow.estimators.adaboost_base import ALLOWED, AdaBoostClassifierBase
from hedgerow.estimators.parameters import Allowed, one_of


class AdaBoostClassifier(AdaBoostClassifierBase):
    """AdaBoost for two or more classes.

    Parameters
    ----------
    estimator : estimator, optional
        The weak learner: None for a `DecisionStump`, a hedgerow `DecisionTreeClassifier`, or any
        scikit-learn classifier (for algorithm="gentle": regressor). A learner without `sample_weight` in its
        fit is boosted by weighted resampling.
    n_estimators : int
        Maximum number of rounds.
    learning_rate : float
        Shrinkage: the fraction of each step that is used.
    algorithm : {"discrete", "m1", "samme", "real", "samme.r", "gentle"}
        The update rule. "discrete" and "m1" give the same classifier for two classes; alpha is twice as large
        with "m1". With several classes, "discrete" is SAMME at half its scale, "m1" requires an error below
        1/2, "real" is SAMME.R, and "gentle" separates each class from the others.
    resample : bool
        Pass rows drawn by their weights to the learner, instead of weights.
    on_chance : {"stop", "restart"}
        What to do when a learner is no better than chance: stop with a warning and keep the rounds so far,
        or draw new random weights and continue (at most ten times in a row).
    early_stopping : bool or "auto"
        Stop when the validation error stops decreasing; "auto" for more than 10,000 rows.
    validation_fraction : float
        Fraction of the rows used for validation if `fit` gets no `eval_set`.
    n_iter_no_change, tol : int, float
        Number of rounds without an improvement of more than `tol` that stop the fit. The model keeps the
        rounds up to the best one.
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
