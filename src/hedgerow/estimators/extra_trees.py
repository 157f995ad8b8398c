"""Extremely randomised trees, with the interface of scikit-learn."""

from typing import Any, ClassVar

from hedgerow.dtypes import MAX_BINS
from hedgerow.estimators.forest_base import ForestClassifier, ForestRegressor


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
