"""Linear models for any table: logistic regression for classes, ridge regression for numbers.

They are baselines that an ensemble should beat, for comparison only. A scikit-learn pipeline prepares the
columns:

    number     infinities replaced by the extremes, missing values by the median; then standardised; and an
               indicator column if values were missing
    category   one-hot encoded; a missing or unknown category is all zeros
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators import validation
from hedgerow.selection.caught_warnings import caught_warnings
from hedgerow.table import Schema, Table, read_table
from hedgerow.threads import one_blas_thread


class _ReplaceInfinities(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replace infinities by the smallest and the largest finite value of the column in training."""

    def fit(self, X: Floats, _y: Any = None) -> Self:
        finite = np.isfinite(X)
        self.low_ = np.min(X, axis=0, where=finite, initial=np.inf)
        self.high_ = np.max(X, axis=0, where=finite, initial=-np.inf)
        empty = ~finite.any(axis=0)
        self.low_[empty] = self.high_[empty] = 0.0
        return self

    def transform(self, X: Floats) -> Floats:
        return np.where(np.isposinf(X), self.high_, np.where(np.isneginf(X), self.low_, X))


def _pipeline(schema: Schema, values: Floats, model: Any) -> Any:
    """Return an unfitted pipeline for the values of a table: float64 numbers, categories as codes."""
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415 - loads 0.2 s of modules
    from sklearn.impute import MissingIndicator, SimpleImputer  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: PLC0415

    sizes = {j: len(values) for j, values in enumerate(schema.categories) if values is not None}
    numeric = [j for j in range(len(schema.categories)) if j not in sizes]
    missing = [j for j in numeric if np.isnan(values[:, j]).any()]
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    codes = [np.arange(size, dtype=np.float64) for size in sizes.values()]
    columns = ColumnTransformer(
        [
            ("number", make_pipeline(imputer, StandardScaler()), numeric),
            ("missing", MissingIndicator(features="all"), missing),
            ("category", OneHotEncoder(categories=codes, handle_unknown="ignore"), list(sizes)),
        ]
    )
    return make_pipeline(_ReplaceInfinities(), columns, model)


class _LinearBaseline(BaseEstimator):  # type: ignore[misc]
    """Reads the table, and fits and calls the pipeline."""

    schema_: Schema
    pipeline_: Any

    def _read(self, X: Any) -> Table:
        categorical = self.categorical_features
        return read_table(X, categorical_features=categorical, estimator_name=type(self).__name__)

    def _fit(self, model: Any, table: Table, y: NDArray[Any]) -> None:
        values = _values(table)
        # One thread: the products are small, and their last bits must not depend on the number of cores.
        with one_blas_thread(), caught_warnings():  # a baseline need not converge to the last digit
            self.pipeline_ = _pipeline(table.schema, values, model).fit(values, y)
        self.schema_ = table.schema
        self.n_features_in_ = table.n_columns

    def _predict(self, method: str, X: Any) -> Floats:
        check_is_fitted(self, "pipeline_")
        table = read_table(X, schema=self.schema_, estimator_name=type(self).__name__)
        return np.asarray(getattr(self.pipeline_, method)(_values(table)), np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _values(table: Table) -> Floats:
    return table.block(0, table.n_rows).astype(np.float64)


class LogisticBaseline(ClassifierMixin, _LinearBaseline):  # type: ignore[misc]
    """Logistic regression on any table.

    Parameters
    ----------
    C : float
        Inverse strength of the regularisation.
    max_iter : int
    categorical_features : as for the ensembles

    Examples
    --------
    >>> X, y = [["red", 1.0], ["red", None], ["blue", 2.0], ["blue", 1.5]], ["stop", "stop", "go", "go"]
    >>> LogisticBaseline(categorical_features=[0]).fit(X, y).predict([["red", 1.0], ["green", 2.0]]).tolist()
    ['stop', 'go']
    """

    def __init__(self, C: float = 1.0, *, max_iter: int = 1000, categorical_features: Any = None) -> None:
        self.C = C
        self.max_iter = max_iter
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to labels."""
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - loads 0.2 s of modules

        table = self._read(X)
        raw_y = validation.validate_target(y, table.n_rows, type(self).__name__)
        labels = validation.ClassTarget.of(raw_y)
        model = LogisticRegression(C=self.C, max_iter=self.max_iter)
        self._fit(model, table, labels.encode(raw_y).astype(np.int64))
        self.classes_ = labels.classes
        return self

    @property
    def n_iter_(self) -> int:
        """Number of iterations of the fit."""
        check_is_fitted(self, "pipeline_")
        return int(self.pipeline_[-1].n_iter_.max())

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        return self._predict("predict_proba", X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable classes."""
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return labels


class RidgeBaseline(RegressorMixin, _LinearBaseline):  # type: ignore[misc]
    """Ridge regression on any table, its penalty chosen by cross-validation.

    Examples
    --------
    >>> RidgeBaseline().fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 8.0]).predict([[5.0]]).round(1)
    array([10.])
    """

    def __init__(self, *, categorical_features: Any = None) -> None:
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to numbers."""
        from sklearn.linear_model import RidgeCV  # noqa: PLC0415 - loads 0.2 s of modules

        table = self._read(X)
        numbers = validation.NumberTarget().encode(
            validation.validate_target(y, table.n_rows, type(self).__name__)
        )
        self._fit(RidgeCV(alphas=np.logspace(-3, 4, 15)), table, numbers)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the predicted means, (n_samples,)."""
        return self._predict("predict", X)
