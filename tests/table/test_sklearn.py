"""scikit-learn's checks pass for estimators that validate X with read_table only."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from hedgerow.table import read_table


class LeastSquares(BaseEstimator):
    """A linear model with 0 for missing values: small, and accurate enough for the checks."""

    def _fit(self, X, targets, sample_weight):
        table = read_table(X, estimator_name=type(self).__name__)
        check_consistent_length(np.empty(table.n_rows), targets)
        weight = _check_sample_weight(sample_weight, np.empty((table.n_rows, 1)))
        if not weight.any():
            raise ValueError("Every sample_weight is zero.")
        self.schema_ = table.schema
        self.n_features_in_ = table.n_columns
        if table.schema.names is not None:
            self.feature_names_in_ = np.array(table.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        root = np.sqrt(weight)[:, None]
        rows = self._rows(table)
        self.coef_ = np.linalg.pinv(root * rows, rcond=1e-10) @ (root * targets)
        return self

    @staticmethod
    def _rows(table):
        values = np.nan_to_num(table.block(0, table.n_rows).astype(np.float64))
        return np.column_stack([values, np.ones(table.n_rows)])

    def _predict(self, X):
        check_is_fitted(self)
        rows = self._rows(read_table(X, schema=self.schema_, estimator_name=type(self).__name__))
        return np.einsum("ij,jk->ik", rows, self.coef_)  # each row independently of the others

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def checked_target(y, name, **options):
    if y is None:
        raise ValueError(f"This {name} requires y to be passed, but the target y is None.")
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y", **options)
    return column_or_1d(y, warn=True)


class LeastSquaresRegressor(RegressorMixin, LeastSquares):
    def fit(self, X, y, sample_weight=None):
        y = checked_target(y, "LeastSquaresRegressor").astype(np.float64)
        return self._fit(X, y[:, None], sample_weight)

    def predict(self, X):
        return self._predict(X)[:, 0]


class LeastSquaresClassifier(ClassifierMixin, LeastSquares):
    def fit(self, X, y, sample_weight=None):
        y = checked_target(y, "LeastSquaresClassifier", ensure_all_finite=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return self._fit(X, np.eye(len(self.classes_))[codes], sample_weight)

    def predict(self, X):
        scores = self._predict(X)
        return self.classes_[scores.argmax(axis=1)]


@parametrize_with_checks([LeastSquaresRegressor(), LeastSquaresClassifier()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
