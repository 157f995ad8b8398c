"""Extremely randomised trees, with scikit-learn's face."""

from typing import Any, ClassVar

from hedgerow.dtypes import MAX_BINS
from hedgerow.estimators.forest_base import ForestClassifier, ForestRegressor


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classes: random columns, and a random cut of each.

    Parameters
    ----------
    n_estimators : int
        The number of trees.
    criterion : {"gini", "entropy", "log_loss"}
        What splits make small; "log_loss" is another name of "entropy".
    max_depth : int or None
        Most splits from the root to a leaf; None for no limit. See the notes.
    min_samples_split, min_samples_leaf : int or float
        Rows that a node must have to be split, and that a leaf must have; a number, or a share of the rows. A
        row counts as often as it was drawn.
    min_weight_fraction_leaf : float
        Least share of the whole weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None
        Columns that are tried at a node, of those that vary among its rows: a number, a share, or all.
    max_leaf_nodes : int or None
        Most leaves of a tree; it is then grown best first.
    min_impurity_decrease : float
        Least fall of the impurity by a split, weighted by the share of the node in the tree.
    bootstrap : bool
        Give every tree as many rows as there are, drawn with replacement; else all rows.
    oob_score : bool or callable
        Compute the out-of-bag attributes. A function is given the targets and what `predict` says of them
        out of bag, where there is such; True is the accuracy.
    n_jobs : int or None
        Threads; None and -1 for all cores. The model is the same for any number.
    random_state : int, RandomState or None
        The model is a pure function of it and of the data.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a tree.
    warm_start : bool
        Go on from the fitted model with more trees: the same ones as in one fit.
    class_weight : dict, "balanced", "balanced_subsample" or None
        Weights of the classes, in the splits and in the leaves. "balanced" gives all classes the same weight
        among the training rows, "balanced_subsample" among the rows of every tree.
    max_samples : int, float or None
        Rows that a tree draws: a number, a share, or as many as there are.
    monotonic_cst : sequence of -1, 0, 1, or dict by column name, or None
        Directions in which predictions may not fall (1) or not rise (-1); only with two classes, and of the
        probability of the second.
    max_bins : int
        Most bins of a numeric column, up to 255.
    bin_edges : sequence of numbers, sequence of them and None, dict, or None
        Edges to cut numeric columns at; see the notes of `RandomForestClassifier`. None for edges at
        quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    feature_importances_ : float64 array of shape (n_features,)
        Share of each column in the fall of impurity.
    oob_score_ : float
        Accuracy of the out-of-bag predictions, weighted as the rows are.
    oob_decision_function_ : float64 array of shape (n_samples, n_classes)
        Probabilities by the trees that did not learn from the row; NaN where there are none.
    oob_votes_ : int64 array of shape (n_samples,)
        How many trees did not learn from the row.
    oob_losses_ : PairLosses
        What the trees lose on rows they did not learn from, one by one and in pairs: with it,
        `hedgerow.theory.certify` tells what is proven about the error.
    estimator_weights_ : float64 array of shape (n_estimators,)
        Shares of the trees in the vote, all the same unless the model comes from `reweighted`.
    row_fingerprints_ : RowFingerprints
        Fingerprints of the training rows, by which `is_training_row` and certificates know them again.
    n_estimators_ : int
        The number of trees; fewer than asked for after an interrupt.
    model_ : ForestModel
        The trees and the bins of the columns; ``model_.nbytes`` is their size.

    Notes
    -----
    A threshold is drawn uniformly among the bins of a column between the smallest and the largest value of
    the node. All rows are given to every tree unless ``bootstrap=True``. Everything else is as in
    `RandomForestClassifier`.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).predict([[5.0, 3.4, 1.5, 0.2]])
    array([0])
    """

    _random_cuts: ClassVar[bool] = True

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        max_bins: int = MAX_BINS,
        bin_edges: Any = None,
        categorical_features: Any = None,
    ) -> None:
        self._set_parameters(locals())


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for numbers: a random cut of each column.

    Parameters
    ----------
    n_estimators : int
        The number of trees.
    criterion : {"squared_error", "poisson"}
        What splits make small; "poisson" is for counts, and its targets may not be negative.
    max_depth : int or None
        Most splits from the root to a leaf; None for no limit. See the notes.
    min_samples_split, min_samples_leaf : int or float
        Rows that a node must have to be split, and that a leaf must have; a number, or a share of the rows. A
        row counts as often as it was drawn.
    min_weight_fraction_leaf : float
        Least share of the whole weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None
        Columns that are tried at a node, of those that vary among its rows: a number, a share, or all.
    max_leaf_nodes : int or None
        Most leaves of a tree; it is then grown best first.
    min_impurity_decrease : float
        Least fall of the impurity by a split, weighted by the share of the node in the tree.
    bootstrap : bool
        Give every tree as many rows as there are, drawn with replacement; else all rows.
    oob_score : bool or callable
        Compute the out-of-bag attributes. A function is given the targets and what `predict` says of them
        out of bag, where there is such; True is R2.
    n_jobs : int or None
        Threads; None and -1 for all cores. The model is the same for any number.
    random_state : int, RandomState or None
        The model is a pure function of it and of the data.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a tree.
    warm_start : bool
        Go on from the fitted model with more trees: the same ones as in one fit.
    max_samples : int, float or None
        Rows that a tree draws: a number, a share, or as many as there are.
    monotonic_cst : sequence of -1, 0, 1, or dict by column name, or None
        Directions in which predictions may not fall (1) or not rise (-1); only with one output.
    max_bins : int
        Most bins of a numeric column, up to 255.
    bin_edges : sequence of numbers, sequence of them and None, dict, or None
        Edges to cut numeric columns at; see the notes of `RandomForestRegressor`. None for edges at
        quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns split by sets of categories; None and "from_dtype" take those of a categorical dtype.
    keep_targets : bool
        Keep the training targets of every leaf, which `predict_quantiles` needs; the model is larger by some
        5 bytes a row and tree. With several outputs none are kept.

    Attributes
    ----------
    n_outputs_, n_features_in_, feature_names_in_
        As in scikit-learn.
    feature_importances_ : float64 array of shape (n_features,)
        Share of each column in the fall of impurity.
    oob_score_ : float
        R2 of the out-of-bag predictions, weighted as the rows are.
    oob_prediction_ : float64 array of shape (n_samples,) or (n_samples, n_outputs)
        Mean over the trees that did not learn from the row; NaN where there are none.
    oob_votes_ : int64 array of shape (n_samples,)
        How many trees did not learn from the row.
    n_estimators_ : int
        The number of trees; fewer than asked for after an interrupt.
    model_ : ForestModel
        The trees and the bins of the columns; ``model_.nbytes`` is their size.

    Notes
    -----
    A threshold is drawn uniformly among the bins of a column between the smallest and the largest value of
    the node. All rows are given to every tree unless ``bootstrap=True``. Everything else is as in
    `RandomForestRegressor`.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2)
    0.45
    """

    _random_cuts: ClassVar[bool] = True

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        max_bins: int = MAX_BINS,
        bin_edges: Any = None,
        categorical_features: Any = None,
        keep_targets: bool = True,
    ) -> None:
        self._set_parameters(locals())
