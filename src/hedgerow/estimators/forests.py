"""Random forests and extremely randomised trees, with the interface of scikit-learn."""

from typing import Any, ClassVar

from hedgerow._typing import MAX_BINS
from hedgerow.estimators.forest_base import ForestClassifier
from hedgerow.estimators.forest_regressor import ForestRegressor


class RandomForestClassifier(ForestClassifier):
    """Random forest for classes: deep trees on resampled rows and random columns, and their vote.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}
        Impurity that splits reduce; "log_loss" is another name of "entropy".
    max_depth : int or None
        Maximal depth of a tree; None for no limit. See the notes.
    min_samples_split, min_samples_leaf : int or float
        Minimal number of rows of a node that is split, and of a leaf: a number, or a fraction of the rows. A
        row counts as often as it was drawn.
    min_weight_fraction_leaf : float
        Minimal fraction of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None
        Columns tried at a node, of those that vary among its rows: a number, a fraction, or None for all.
    max_leaf_nodes : int or None
        Maximal number of leaves of a tree, which is then grown best first.
    min_impurity_decrease : float
        Minimal decrease of the impurity by a split, weighted by the fraction of rows in the node.
    bootstrap : bool
        Draw the rows of every tree with replacement; otherwise grow every tree on all rows.
    oob_score : bool or callable
        Compute the out-of-bag attributes. A function receives the targets and the out-of-bag predictions of
        all rows that have one; True for the accuracy.
    n_jobs : int or None
        Number of threads; None and -1 for all cores. The model does not depend on it.
    random_state : int, RandomState or None
        Seed of all random choices. The model is a function of it and of the data.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line per tree.
    warm_start : bool
        Add trees to the fitted model; the result is the same as that of one fit.
    class_weight : dict, "balanced", "balanced_subsample" or None
        Weights of the classes, in splits and leaves. "balanced" gives all classes the same total weight among
        the training rows, "balanced_subsample" among the rows of every tree.
    max_samples : int, float or None
        Rows drawn for a tree: a number (an integer, also of NumPy), a fraction, or None for the number of
        rows.
    monotonic_cst : sequence of -1, 0, 1, or dict by column name, or None
        1 (increasing), -1 (decreasing) or 0 (unconstrained) for every column, for the probability of the
        second of two classes.
    max_bins : int
        Maximal number of bins of a numeric column, up to 255.
    bin_edges : sequence of numbers, one such sequence or None per column, dict, or None
        Bin edges of numeric columns, see the notes; None for edges at quantiles of the training rows.
    categorical_features : None, "from_dtype", mask, positions or names
        Columns that are split by sets of categories; None and "from_dtype" for those of a categorical dtype.

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    feature_importances_ : float64 array of shape (n_features,)
        Fraction of each column in the decrease of impurity.
    oob_score_ : float
        Accuracy of the out-of-bag predictions, weighted as the rows are.
    oob_decision_function_ : float64 array of shape (n_samples, n_classes)
        Probabilities of the trees that were not trained on the row; NaN if there are none.
    oob_votes_ : int64 array of shape (n_samples,)
        Number of trees that were not trained on the row.
    oob_losses_ : PairLosses
        Out-of-bag losses of the trees, one by one and in pairs; `hedgerow.theory.certify` bounds the error
        with them.
    estimator_weights_ : float64 array of shape (n_estimators,)
        Weights of the trees in the vote, equal unless the model comes from `reweighted`.
    row_fingerprints_ : RowFingerprints
        Hashes of the training rows; `is_training_row` and certificates recognise them.
    n_estimators_ : int
        Number of trees; fewer than `n_estimators` after an interrupt.
    model_ : ForestModel
        The trees and the bins of the columns; ``model_.nbytes`` is their size.

    Notes
    -----
    y has one output; `RandomForestRegressor` accepts several.

    A column with one value among the rows of a node cannot be split. In scikit-learn it still counts as one
    of the `max_features` columns of the node; here another column is drawn instead. If many columns hardly
    vary, as one-hot columns do, trees are smaller and the forest is better.

    Rows are drawn in an order that depends on their values only: neither the order of the training rows, nor
    whether a row is repeated or has an integer weight, changes the model. An interrupt (Ctrl-C) stops the
    fit; the trees grown so far are the model.

    Deep trees are the default, but on noisy data shallower ones can be better. Choose the depth by
    validation, with `sklearn.model_selection.GridSearchCV`, or by the out-of-bag score of one fit per depth::

        for depth in (4, 8, 16, None):
            forest = RandomForestClassifier(max_depth=depth, oob_score=True).fit(X, y)
            print(depth, forest.oob_score_)

    `bin_edges` is one ascending sequence for all numeric columns, or a sequence with one entry per column, or
    a dict of entries by column name or position; with None, or without an entry, the edges of a column are
    quantiles of the training rows. Values up to an edge go left. A column has at most ``max_bins - 1`` edges.
    Edges at quantiles of the training rows depend slightly on the out-of-bag rows: bounds from out-of-bag
    votes hold exactly only for edges passed by the user, such as those that `hedgerow.theory.quantile_grid`
    computes from rows set aside.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 3)
    0.958
    """

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
        bootstrap: bool = True,
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


class RandomForestRegressor(ForestRegressor):
    """Random forest for numbers, of one or several outputs: deep trees on resampled rows, and their mean.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}
        Impurity that splits reduce; "poisson" is for counts, and needs targets >= 0.
    max_features : int, float, "sqrt", "log2" or None
        Columns tried at a node, of those that vary among its rows: a number, a fraction, or None for all.
    oob_score : bool or callable
        Compute the out-of-bag attributes. A function receives the targets and the out-of-bag predictions of
        all rows that have one; True for R².
    monotonic_cst : sequence of -1, 0, 1, or dict by column name, or None
        1 (increasing), -1 (decreasing) or 0 (unconstrained) for every column; only with one output.
    keep_targets : bool
        Store the training targets of every leaf for `predict_quantiles`; the model is larger by about 5 bytes
        per row and tree. They are not stored with several outputs.
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `RandomForestClassifier`.
    max_leaf_nodes, min_impurity_decrease, bootstrap, max_samples, max_bins, bin_edges
        As in `RandomForestClassifier`.
    categorical_features, n_jobs, random_state, verbose, warm_start
        As in `RandomForestClassifier`.

    Attributes
    ----------
    n_outputs_, n_features_in_, feature_names_in_
        As in scikit-learn.
    oob_score_ : float
        R² of the out-of-bag predictions, weighted as the rows are.
    oob_prediction_ : float64 array of shape (n_samples,) or (n_samples, n_outputs)
        Mean of the trees that were not trained on the row; NaN if there are none.
    feature_importances_, oob_votes_, n_estimators_, model_
        As in `RandomForestClassifier`.

    Notes
    -----
    y may have the shape (n_samples, n_outputs). Quantiles, intervals and monotonic constraints need one
    output. For everything else see the notes of `RandomForestClassifier`.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(min_samples_leaf=5, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2)
    0.44
    >>> model.predict_quantiles(X[:2], quantiles=[0.1, 0.9])
    array([[111., 276.],
           [ 49., 114.]])
    """

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
        bootstrap: bool = True,
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


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classes: random columns, and a random cut of each.

    Parameters
    ----------
    bootstrap : bool
        Draw the rows of every tree with replacement; by default every tree is grown on all rows.
    n_estimators, criterion, max_depth, min_samples_split, min_samples_leaf
        As in `RandomForestClassifier`.
    min_weight_fraction_leaf, max_features, max_leaf_nodes, min_impurity_decrease
        As in `RandomForestClassifier`.
    oob_score, n_jobs, random_state, verbose, warm_start, class_weight, max_samples
        As in `RandomForestClassifier`.
    monotonic_cst, max_bins, bin_edges, categorical_features
        As in `RandomForestClassifier`.

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    feature_importances_, estimator_weights_, row_fingerprints_, n_estimators_, model_
        As in `RandomForestClassifier`.
    oob_score_, oob_decision_function_, oob_votes_, oob_losses_
        As in `RandomForestClassifier`.

    Notes
    -----
    A threshold is drawn uniformly among the bins of a column between the smallest and the largest value of
    the node. Every tree is grown on all rows unless ``bootstrap=True``. Everything else is as in
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
    """Extremely randomised trees for numbers, of one or several outputs: a random cut of each column.

    Parameters
    ----------
    bootstrap : bool
        Draw the rows of every tree with replacement; by default every tree is grown on all rows.
    n_estimators, criterion, max_depth, min_samples_split, min_samples_leaf
        As in `RandomForestRegressor`.
    min_weight_fraction_leaf, max_features, max_leaf_nodes, min_impurity_decrease
        As in `RandomForestRegressor`.
    oob_score, n_jobs, random_state, verbose, warm_start, max_samples
        As in `RandomForestRegressor`.
    monotonic_cst, max_bins, bin_edges, categorical_features, keep_targets
        As in `RandomForestRegressor`.

    Attributes
    ----------
    n_outputs_, n_features_in_, feature_names_in_
        As in scikit-learn.
    feature_importances_, n_estimators_, model_, oob_score_, oob_prediction_, oob_votes_
        As in `RandomForestRegressor`.

    Notes
    -----
    A threshold is drawn uniformly among the bins of a column between the smallest and the largest value of
    the node. Every tree is grown on all rows unless ``bootstrap=True``. Everything else is as in
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
