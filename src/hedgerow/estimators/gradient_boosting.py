"""Gradient boosting for classes and for numbers: parameters and predictions; see `GradientBoostingBase`."""

from collections.abc import Iterator
from typing import Any, ClassVar

from hedgerow._typing import Floats
from hedgerow.estimators import parameters
from hedgerow.estimators.base import RegressorBase, supports_dask
from hedgerow.estimators.boosting_base import BoostingClassifier
from hedgerow.estimators.gradient_boosting_base import ALLOWED, GradientBoostingBase
from hedgerow.estimators.parameters import Allowed, loss_for, none, number, one_of


class GradientBoostingClassifier(BoostingClassifier, GradientBoostingBase):
    """Gradient boosting of trees for two or more classes.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or object
        "exponential" and custom losses, objects with ``loss(y, raw)`` and ``gradient_hessian(y, raw)``, are
        for two classes.
    n_estimators : int or "auto"
        Number of rounds; with several classes, each round grows one tree per class. With "auto", validation
        decides the number, up to 1000 (400 for three or more classes), and every parameter that is "auto"
        follows from the table; see Notes. The limit is higher for a lower `learning_rate`: in inverse
        proportion to it, up to ten times as high.
    learning_rate : float or "auto"
        Shrinkage: factor of each step.
    learning_rate_decay : float
        The rate of round t is `learning_rate * learning_rate_decay**t`; up to 1, which is constant.
    max_leaf_step : float, optional
        Bound of the absolute leaf values before they are multiplied by the rate; it is useful for classes,
        where Newton steps can be too large. None for no bound.
    path_smooth : float
        Shrinkage of leaf values towards the node above. With s = `path_smooth` and n rows, the value of a
        node is its own times n / (n + s) plus that of its parent times s / (n + s), from the root, which
        keeps its own, down to the leaves. Splits are chosen without it. 0 for none.
    leaf_value_folds : int, optional
        Number of random folds of the training rows, from 2 to 16, drawn in every round: the score of a row
        changes by a leaf value computed without the rows of its fold, so that later gradients are those of
        values not fitted to the row; see Notes. None for the values of all rows.
    growth_policy : {"best_first", "symmetric"}
        With "symmetric", all nodes of a level have the same split: the one with the largest sum of gains.
    max_leaf_nodes, max_depth : int or None
        Limits of a tree; None for no limit. Symmetric trees have up to 2**max_depth leaves, and no other
        `max_leaf_nodes` than 31 or None is allowed for them; their `max_depth` is at most 16, and 6 if None.
    min_samples_leaf, min_child_weight : int (or "auto"), float
        Minimal number of rows and minimal sum of hessians of a leaf. In a symmetric tree, a split gains
        nothing in a node where the sum of a child would be below `min_child_weight`, and a leaf of too few
        rows, an empty one too, has the value of the node above it.
    min_split_gain : float
        A split must reduce twice the objective by more than this.
    l1_regularization, l2_regularization : float (l2: or "auto")
        Penalties of the leaf values; with `newton=False` they only influence the choice of splits.
    linear_leaves : bool
        Leaves hold linear functions instead of constants; see Notes. Excludes `monotonic_cst`, `drop_rate`,
        `leaf_value_folds`, `max_leaf_step`, `newton=False`, other estimators, and losses with a line search.
    linear_l2 : float
        Penalty of the slopes of linear leaves, per standard deviation of the column in the leaf; compared to
        the sum of hessians of the leaf, as `l2_regularization`.
    max_bins : int
        Maximal number of bins of a numeric column, up to 255; missing values have a bin of their own.
    subsample, colsample_bytree, max_features : float or "auto"
        Fraction of the rows drawn for each round, and of the columns for each tree and for each node.
    random_strength : float
        Noise with which the best splits of the columns of a node are compared; see Notes. 0 for none.
    sampling : {"uniform", "gradient", "bayesian"}
        How rows are drawn. With "gradient", two thirds of the fraction `subsample` ("auto": 0.3) are the rows
        of the largest gradients, and the rest is drawn from the other rows and weighted to represent them
        (GOSS). With "bayesian", each row that is drawn ("auto": all) has a random weight in each round.
    bagging_temperature : float
        Weights of "bayesian" are `(-log u)**bagging_temperature` with u uniform between 0 and 1: 0 for equal
        weights, 1 for the Bayesian bootstrap.
    n_folds : 2, 4, 8, 16, None or "auto"
        The model is the mean of this number of models, each fitted to the rows of all folds but one; None
        for one model. They grow together, and the loss of all rows, each under the model that was not fitted
        to it, decides the number of rounds if the fit stops early.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" select those of a categorical dtype.
    categorical_smoothing : float
        Weight that is added to every category, which limits the influence of rare ones.
    max_categories_for_sets : int, None or "auto"
        Columns of more categories are split by the mean of the target, as numbers: the mean of a category is
        smoothed by `categorical_smoothing` rows of the overall mean, and a training row gets the mean of
        other rows, drawn without it. With several classes, there is a mean for each. None for sets in all
        columns.
    monotonic_cst : sequence or dict, optional
        1 (increasing), -1 (decreasing) or 0 (unconstrained) for every column, or by column name.
    interaction_cst : "pairwise", "no_interactions" or sequence of sets of columns, optional
        Columns that may be used together on a path of a tree.
    drop_rate, max_drop : float, int or None
        DART: in each round, each earlier one is left out with this probability, at most `max_drop`;
        the new trees and the left-out ones are then scaled down. Needs a number for `n_estimators`; early
        stopping, folds and warm starts are not possible, as the values of earlier trees change. A checkpoint
        then also has the scores of rows.
    newton : bool
        Second-order steps; False for Friedman's first-order algorithm: trees are fitted to the gradients, and
        leaf values are found by a line search, or by one Newton step for "log_loss" and "exponential".
    estimator : regressor, optional
        Another weak learner, fitted to the pseudo-residuals, with one line search for the step. Parameters of
        trees, bins and constraints are then ignored; `linear_leaves`, `leaf_value_folds`, `drop_rate`, a
        number for `n_folds`, and another `sampling` than "uniform" are not allowed.
    early_stopping : bool, "auto" or None
        Stop when the validation loss no longer falls; None does so if `n_estimators` is "auto", "auto" above
        10,000 rows. Without early stopping, `n_estimators="auto"` is 100 rounds of one model.
    validation_fraction : float
        Fraction of the training rows that is used for validation if there are no folds and no `eval_set`.
    n_iter_no_change, tol : int (or "auto"), float
        Rounds without an improvement that stop the fit; rounds after the best are dropped. An improvement is
        more than `tol` times the fall of the validation loss since the first round.
    class_weight : dict, "balanced" or None
        Weights of the classes, 1 for those not named; "balanced" gives all classes the same total weight.
        They do not apply to an `eval_set`.
    warm_start : bool
        Add rounds to the fitted model; "auto" of `n_folds` and `max_categories_for_sets` then keeps its folds
        and columns.
    random_state : int, RandomState or None
        Seed of all random numbers: folds, sampled rows and columns, validation rows, dropped rounds, noise.
        By default 0, so that a fit can be repeated; None draws another seed for every fit.
    n_jobs : int or None
        Threads; None and -1 for all cores. The model is the same for any number.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line per round.

    Attributes
    ----------
    n_estimators_, n_iter_ : int
        Number of rounds.
    history_ : dict of lists
        Number, seconds and leaves of every round; with evaluation sets or verbose > 0 also the losses.
    best_iteration_ : int or None
        With early stopping, the round of lowest validation loss.
    feature_importances_ : array
        Fraction of each column in the total gain; `importances("split")` counts splits.
    n_folds_ : int
        Number of models that the fitted one is the mean of; 1 without folds.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With a number of rounds, "auto" means `learning_rate=0.1`, `min_samples_leaf=20`,
    `l2_regularization=3`, no sampling of rows and columns, `max_categories_for_sets=None`,
    `n_folds=None` and `n_iter_no_change=10`.
    With `n_estimators="auto"` it means `learning_rate=0.1` (0.2 for three or more classes, 0.4 for ten or
    more; 0.3, and 0.4 for three or more classes, if rows times outputs are more than 100,000),
    `min_samples_leaf=5` (2 for numbers, 20 for medians and quantiles), `l2_regularization=3` (10 for two
    classes), `subsample=0.75`, `colsample_bytree=0.7`, `max_features=0.7` (0.5 each for three or more
    classes, and up to 0.8 if there are fewer than 16 columns), `max_categories_for_sets=32` from 1,000 rows
    on (3,000 for numbers) with at most ten classes and None otherwise, `n_iter_no_change=20`, and `n_folds=8`
    if rows times outputs are at most 100,000, 4 up to 400,000 and None beyond, where a tenth of the rows is
    used for validation. With fewer than 32 rows, or with `early_stopping=False`, it is 100 rounds of one
    model, and "auto" means the same as with a number of rounds. Rows of weight zero, and the only row of a
    class, which cannot be held out, are not among the 32. Numbers that are passed are always used.

    With `random_strength`, the column of a split is the one with the largest square root of the gain plus a
    normal number. In round t, counted from 0, and for a tree of n rows with gradients g and hessians h, its
    standard deviation is ``random_strength * sum(abs(g)) / sqrt(n * sum(h)) * m / (1 + m)`` with
    ``m = n * exp(-learning_rate * t)``. With 1 it is about as large as the root of the gain of a split on
    pure chance. A split still has to gain more than `min_split_gain`, and gains and leaf values are exact.

    With `leaf_value_folds`, splits are chosen with all rows, and the model has the leaf values of all rows.
    The value for a fold has the same formula, without the rows of the fold; it is 0 if the other rows of the
    leaf have a smaller sum of hessians than `min_child_weight`, or if there are none. Rows that `subsample`
    leaves out, validation rows and evaluation sets get the values of the model. The training loss in
    `history_` is that of the scores by fold. Warm starts are not possible, as these scores do not follow from
    the trees, and neither is `drop_rate`; a checkpoint also has the scores of the training rows. As with
    `subsample`, a whole weight is not the same as copies of the row, which may have different folds.

    With `linear_leaves`, trees are grown as without. Then each leaf gets a linear function of up to eight
    numeric columns, the deepest ones of its path, one for every five rows at most: its constant value, plus
    slopes times the columns less their means in the leaf (Shi, Li and Li 2019). The slopes minimise the
    same objective as the values, ``sum(g * f + h * f**2 / 2)``, plus ``linear_l2 / 2`` times the sum of
    squares of the slopes of standardised columns. Values beyond the range of the training rows in the leaf
    count as the end of the range, missing ones as the mean. `apply` and importances are those of the splits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, min_samples_leaf=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "loss": loss_for("classification"),
        "class_weight": parameters.class_weights() | one_of("balanced") | none(),
    }

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        learning_rate_decay: float = 1.0,
        max_leaf_step: float | None = None,
        path_smooth: float = 0.0,
        leaf_value_folds: int | None = None,
        growth_policy: str = "best_first",
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        l1_regularization: float = 0.0,
        l2_regularization: float | str = "auto",
        linear_leaves: bool = False,
        linear_l2: float = 10.0,
        max_bins: int = 255,
        sampling: str = "uniform",
        subsample: float | str = "auto",
        bagging_temperature: float = 1.0,
        colsample_bytree: float | str = "auto",
        max_features: float | str = "auto",
        random_strength: float = 0.0,
        categorical_features: Any = None,
        categorical_smoothing: float = 10.0,
        max_categories_for_sets: int | str | None = "auto",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        drop_rate: float = 0.0,
        max_drop: int | None = 50,
        newton: bool = True,
        n_folds: int | str | None = "auto",
        estimator: Any = None,
        early_stopping: bool | str | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-7,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    def _largest_margin(self, n_rounds: int) -> float:
        largest = float(self._tree_model("margins").max_scores[n_rounds])
        return largest if len(self.classes_) == 2 else 2.0 * largest  # of both scores of a difference


class GradientBoostingRegressor(RegressorBase, GradientBoostingBase):
    """Gradient boosting of trees for numbers.

    Parameters
    ----------
    loss : str or object
        "squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie", or a
        user's own loss: an object with ``loss(y, raw)`` and ``gradient_hessian(y, raw)``.
    n_estimators : int or "auto"
        Number of rounds, with one tree each; "auto" as in `GradientBoostingClassifier`.
    l1_regularization, l2_regularization : float (l2: or "auto")
        Penalties of the leaf values; with `newton=False` and with the losses "absolute_error", "quantile"
        and "huber", where a line search finds these, they only influence the choice of splits.
    quantile, alpha, power : float
        For loss="quantile" the quantile; for "huber" the quantile of absolute residuals beyond which the loss
        is linear; for "tweedie" the power of the mean, from 1 to 2, that the variance is proportional to.
    learning_rate, learning_rate_decay, max_leaf_step, path_smooth, leaf_value_folds, growth_policy
        As in `GradientBoostingClassifier`.
    max_leaf_nodes, max_depth, min_samples_leaf, min_child_weight, min_split_gain
        As in `GradientBoostingClassifier`.
    linear_leaves, linear_l2
        As in `GradientBoostingClassifier`.
    max_bins, sampling, subsample, bagging_temperature, colsample_bytree, max_features
        As in `GradientBoostingClassifier`.
    random_strength, n_folds
        As in `GradientBoostingClassifier`. The loss "huber" changes from round to round and has no folds.
    categorical_features, categorical_smoothing, max_categories_for_sets
        As in `GradientBoostingClassifier`.
    monotonic_cst, interaction_cst, drop_rate, max_drop, newton, estimator
        As in `GradientBoostingClassifier`.
    early_stopping, validation_fraction, n_iter_no_change, tol, warm_start, random_state, n_jobs, verbose
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    n_estimators_, n_iter_, history_, best_iteration_, feature_importances_, n_folds_
        As in `GradientBoostingClassifier`.
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
        **ALLOWED,
        "loss": loss_for("regression"),
        "quantile": number(0, 1, above=True, below=True),
        "alpha": number(0, 1, above=True, below=True),
        "power": number(1, 2),
    }

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        learning_rate_decay: float = 1.0,
        max_leaf_step: float | None = None,
        path_smooth: float = 0.0,
        leaf_value_folds: int | None = None,
        growth_policy: str = "best_first",
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        l1_regularization: float = 0.0,
        l2_regularization: float | str = "auto",
        linear_leaves: bool = False,
        linear_l2: float = 10.0,
        max_bins: int = 255,
        sampling: str = "uniform",
        subsample: float | str = "auto",
        bagging_temperature: float = 1.0,
        colsample_bytree: float | str = "auto",
        max_features: float | str = "auto",
        random_strength: float = 0.0,
        categorical_features: Any = None,
        categorical_smoothing: float = 10.0,
        max_categories_for_sets: int | str | None = "auto",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        drop_rate: float = 0.0,
        max_drop: int | None = 50,
        newton: bool = True,
        n_folds: int | str | None = "auto",
        estimator: Any = None,
        early_stopping: bool | str | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-7,
        quantile: float = 0.5,
        alpha: float = 0.9,
        power: float = 1.5,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    @supports_dask
    def predict(self, X: Any) -> Floats:
        """Predicted mean, or median or quantile with such a loss.

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        raw = self._raw(X)[0]  # first: it checks that the model is fitted
        return self.loss_.link.inverse(raw)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield predictions after every round."""
        for raw in self._staged_raw(X):
            yield self.loss_.link.inverse(raw[0])
