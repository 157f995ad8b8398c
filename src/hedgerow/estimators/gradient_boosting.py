"""Gradient boosting for classes and for numbers, with scikit-learn's face."""

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.estimators.base import Target
from hedgerow.estimators.classifying import ScoreClassifier, columns_of
from hedgerow.estimators.gradient_base import GradientBoosting
from hedgerow.estimators.inputs import Labels, Numbers, weigh_classes
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.parameters import Allowed, class_weights, loss_for, nothing, one_of, real
from hedgerow.estimators.scoring import Regresses
from hedgerow.losses import CustomLoss, Loss, make_loss


class GradientBoostingClassifier(ScoreClassifier, GradientBoosting):
    """Gradient boosting of trees for two or more classes.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or object
        "exponential" is for two classes, as is a user's own loss: an object with ``loss(y, raw)`` and
        ``gradient_hessian(y, raw)``.
    n_estimators : int
        The number of rounds; with several classes, each grows one tree a class.
    learning_rate : float
        Shrinkage: the share of each step that is taken.
    max_leaf_nodes : int or None
        Leaves of a tree, grown best first; None for no limit.
    max_depth : int or None
        Depth of a tree; None for no limit.
    min_samples_leaf : int
        Fewest rows of a leaf.
    min_child_weight : float
        Least sum of hessians of a leaf.
    min_split_gain : float
        A split must reduce twice the objective by more than this.
    l1_regularization, l2_regularization : float
        Penalties on the leaf values; with `newton=False`, where these come from a line search, they only
        guide the choice of splits.
    max_bins : int
        Most bins of a numeric column, up to 255; missing values have one more.
    subsample : float
        Share of the rows each round is grown on.
    colsample_bytree, max_features : float
        Share of the columns that each tree, and each node of it, may use.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.
    categorical_smoothing : float
        Weight added to every category, against trusting rare ones.
    monotonic_cst : sequence or dict, optional
        1 (rising), -1 (falling) or 0 (free) for every column, or by column name.
    interaction_cst : "pairwise", "no_interactions" or sequence of sets of columns, optional
        Columns that may meet on one path of a tree.
    newton : bool
        Second-order steps; False for Friedman's first-order algorithm with a line search in each leaf.
    estimator : regressor, optional
        Another weak learner, fitted to the pseudo-residuals, with one line search for the whole step. The
        parameters of trees, bins and constraints then have no meaning.
    early_stopping : bool or "auto"
        Stop when the validation loss no longer falls; "auto" does so above 10,000 rows.
    validation_fraction : float
        Share of the rows held out for that, when `fit` is given no `eval_set`.
    n_iter_no_change, tol : int, float
        Rounds without an improvement of more than `tol` that end the fit. The model keeps the rounds up
        to the best one.
    class_weight : dict, "balanced" or None
        Weights of the classes, 1 for those not named; "balanced" gives all classes the same total weight.
        They do not act on an `eval_set`.
    warm_start : bool
        Go on from the fitted model with more rounds.
    random_state : int, RandomState or None
        Of subsampling, column sampling and the held-out rows.
    n_jobs : int or None
        Threads; None and -1 for all cores. The model is the same for any number.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a round.

    Attributes
    ----------
    n_estimators_, n_iter_ : int
        Rounds of the model.
    history_ : dict of lists
        For every round its number, seconds since the start and leaves; with evaluation sets or
        verbose > 0 also the losses.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation loss.
    feature_importances_ : array
        Share of each column in the total gain; `importances("split")` counts splits.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    classes_ : array
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, min_samples_leaf=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        "loss": loss_for("classification"),
        "class_weight": class_weights() | one_of("balanced") | nothing(),
    }

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        l1_regularization: float = 0.0,
        l2_regularization: float = 3.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_features: float = 1.0,
        categorical_features: Any = None,
        categorical_smoothing: float = 10.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        newton: bool = True,
        estimator: Any = None,
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.max_leaf_nodes, self.max_depth = max_leaf_nodes, max_depth
        self.min_samples_leaf, self.min_child_weight = min_samples_leaf, min_child_weight
        self.min_split_gain = min_split_gain
        self.l1_regularization, self.l2_regularization = l1_regularization, l2_regularization
        self.max_bins = max_bins
        self.subsample, self.colsample_bytree, self.max_features = subsample, colsample_bytree, max_features
        self.categorical_features = categorical_features
        self.categorical_smoothing = categorical_smoothing
        self.monotonic_cst, self.interaction_cst = monotonic_cst, interaction_cst
        self.newton = newton
        self.estimator = estimator
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _target(self, y: NDArray[Any]) -> Target:
        return Labels.of(y)

    def _make_loss(self, target: Target) -> Loss:
        loss = make_loss(_own(self.loss), task="classification", n_classes=target.n_classes)
        accepted = 2 if isinstance(loss, CustomLoss) else getattr(loss, "n_classes", None)
        if accepted != target.n_classes:
            raise ValueError(f"loss={self.loss!r} is no loss for the {target.n_classes} classes of y")
        return loss

    def _weigh(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        return weigh_classes(self.class_weight, y, np.asarray(target.classes), weight)

    def _probabilities(self, raw: Floats) -> Floats:
        return columns_of(self.loss_.link.inverse(raw))

    def _largest_margin(self, n_rounds: int) -> float:
        reach = float(self._tree_model("margins").reaches[n_rounds])
        return reach if len(self.classes_) == 2 else 2.0 * reach  # scores of classes reach both ways


class GradientBoostingRegressor(Regresses, GradientBoosting):
    """Gradient boosting of trees for numbers.

    Parameters
    ----------
    loss : str or object
        "squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie", or a
        user's own loss: an object with ``loss(y, raw)`` and ``gradient_hessian(y, raw)``.
    n_estimators : int
        The number of rounds, one tree each.
    learning_rate : float
        Shrinkage: the share of each step that is taken.
    max_leaf_nodes : int or None
        Leaves of a tree, grown best first; None for no limit.
    max_depth : int or None
        Depth of a tree; None for no limit.
    min_samples_leaf : int
        Fewest rows of a leaf.
    min_child_weight : float
        Least sum of hessians of a leaf.
    min_split_gain : float
        A split must reduce twice the objective by more than this.
    l1_regularization, l2_regularization : float
        Penalties on the leaf values; with `newton=False` and with the losses "absolute_error", "quantile"
        and "huber", where these come from a line search, they only guide the choice of splits.
    max_bins : int
        Most bins of a numeric column, up to 255; missing values have one more.
    subsample : float
        Share of the rows each round is grown on.
    colsample_bytree, max_features : float
        Share of the columns that each tree, and each node of it, may use.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.
    categorical_smoothing : float
        Weight added to every category, against trusting rare ones.
    monotonic_cst : sequence or dict, optional
        1 (rising), -1 (falling) or 0 (free) for every column, or by column name.
    interaction_cst : "pairwise", "no_interactions" or sequence of sets of columns, optional
        Columns that may meet on one path of a tree.
    newton : bool
        Second-order steps; False for Friedman's first-order algorithm with a line search in each leaf.
    estimator : regressor, optional
        Another weak learner, fitted to the pseudo-residuals, with one line search for the whole step. The
        parameters of trees, bins and constraints then have no meaning.
    early_stopping : bool or "auto"
        Stop when the validation loss no longer falls; "auto" does so above 10,000 rows.
    validation_fraction : float
        Share of the rows held out for that, when `fit` is given no `eval_set`.
    n_iter_no_change, tol : int, float
        Rounds without an improvement of more than `tol` that end the fit. The model keeps the rounds up
        to the best one.
    quantile : float
        Of loss="quantile".
    alpha : float
        Of loss="huber": the quantile of absolute residuals beyond which the loss is linear.
    power : float
        Of loss="tweedie": the variance grows with this power of the mean, from 1 to 2.
    warm_start : bool
        Go on from the fitted model with more rounds.
    random_state : int, RandomState or None
        Of subsampling, column sampling and the held-out rows.
    n_jobs : int or None
        Threads; None and -1 for all cores. The model is the same for any number.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a round.

    Attributes
    ----------
    n_estimators_, n_iter_ : int
        Rounds of the model.
    history_ : dict of lists
        For every round its number, seconds since the start and leaves; with evaluation sets or
        verbose > 0 also the losses.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation loss.
    feature_importances_ : array
        Share of each column in the total gain; `importances("split")` counts splits.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(loss="absolute_error", n_estimators=50).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        "loss": loss_for("regression"),
        "quantile": real(0, 1, above=True, below=True),
        "alpha": real(0, 1, above=True, below=True),
        "power": real(1, 2),
    }

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        l1_regularization: float = 0.0,
        l2_regularization: float = 3.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_features: float = 1.0,
        categorical_features: Any = None,
        categorical_smoothing: float = 10.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        newton: bool = True,
        estimator: Any = None,
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        quantile: float = 0.5,
        alpha: float = 0.9,
        power: float = 1.5,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.max_leaf_nodes, self.max_depth = max_leaf_nodes, max_depth
        self.min_samples_leaf, self.min_child_weight = min_samples_leaf, min_child_weight
        self.min_split_gain = min_split_gain
        self.l1_regularization, self.l2_regularization = l1_regularization, l2_regularization
        self.max_bins = max_bins
        self.subsample, self.colsample_bytree, self.max_features = subsample, colsample_bytree, max_features
        self.categorical_features = categorical_features
        self.categorical_smoothing = categorical_smoothing
        self.monotonic_cst, self.interaction_cst = monotonic_cst, interaction_cst
        self.newton = newton
        self.estimator = estimator
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.quantile = quantile
        self.alpha = alpha
        self.power = power
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _target(self, y: NDArray[Any]) -> Target:
        return Numbers()

    def _make_loss(self, target: Target) -> Loss:
        return make_loss(
            _own(self.loss),
            task="regression",
            quantile=self.quantile,
            alpha=self.alpha,
            power=self.power,
        )

    @lazily
    def predict(self, X: Any) -> Floats:
        """Predicted mean (or median, or quantile, as the loss says).

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        raw = self._raw(X)[0]  # first: it knows whether there is a model
        means: Floats = self.loss_.link.inverse(raw)
        return means

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predictions after every round."""
        for raw in self._staged_raw(X):
            yield self.loss_.link.inverse(raw[0])


def _own(loss: Any) -> Any:
    """A loss that the model may change as it learns; the parameter stays as the user made it."""
    return copy.copy(loss) if isinstance(loss, Loss) else loss
