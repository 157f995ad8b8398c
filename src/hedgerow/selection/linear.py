"""Linear models for any table: logistic regression for classes, ridge regression for numbers.

They are what an ensemble should beat, and are here for comparison only. Linear models cannot read a table as
trees can, so it is made ready for them:

    number     median for missing values, then (value - mean) / deviation; and one column more, 1 where it was
               missing, if that ever was so
    category   one column a category, 1 where the row has it; a missing or unseen one is all zeros
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators import inputs
from hedgerow.selection.hearing import collected
from hedgerow.table import Schema, Table, read_table
from hedgerow.threads import one_library_thread

_WIDE = 256  # columns of categories above which they are stored as a sparse matrix


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a table becomes columns that a linear model can weigh; made from the training rows.

    Parameters
    ----------
    schema : Schema
    numeric : int64 array
        Positions of the numeric columns.
    low, high, median, mean, deviation : float64 arrays, one entry a numeric column
        `low` and `high` are the extremes of the finite values: infinities are drawn in to them.
    marked : int64 array
        Which numeric columns get a column for "was missing".
    """

    schema: Schema
    numeric: NDArray[np.int64]
    low: Floats
    high: Floats
    median: Floats
    mean: Floats
    deviation: Floats
    marked: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table) -> "Preparation":
        """Look at the training rows."""
        numeric = np.array(
            [j for j, categories in enumerate(table.schema.categories) if categories is None], np.int64
        )
        values = table.block(0, table.n_rows)[:, numeric].astype(np.float64)
        marked = np.flatnonzero(np.isnan(values).any(axis=0))
        finite = np.where(np.isfinite(values), values, np.nan)
        empty = np.isnan(finite).all(axis=0)
        finite[:, empty] = 0.0  # a column without a number says nothing
        low, high = np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
        median = np.nanmedian(finite, axis=0)
        filled = _filled(values, low, high, median)
        deviation = filled.std(axis=0)
        deviation[~(deviation > 0)] = 1.0
        return cls(table.schema, numeric, low, high, median, filled.mean(axis=0), deviation, marked)

    def columns(self, table: Table) -> Any:
        """The columns (rows, columns) of a table of the same schema, sparse if there are many categories."""
        block = table.block(0, table.n_rows)
        values = block[:, self.numeric].astype(np.float64)
        scaled = (_filled(values, self.low, self.high, self.median) - self.mean) / self.deviation
        dense = [scaled, np.isnan(values[:, self.marked]).astype(np.float64)]
        sizes = {j: len(values) for j, values in enumerate(self.schema.categories) if values is not None}
        if sum(sizes.values()) <= _WIDE:
            hot = [(block[:, [j]] == np.arange(size)).astype(np.float64) for j, size in sizes.items()]
            return np.hstack(dense + hot)
        wide = [_one_hot(block[:, j], size) for j, size in sizes.items()]
        return sparse.hstack([sparse.csr_matrix(np.hstack(dense)), *wide], format="csr")


def _filled(values: Floats, low: Floats, high: Floats, median: Floats) -> Floats:
    drawn_in = np.where(np.isposinf(values), high, np.where(np.isneginf(values), low, values))
    return np.where(np.isnan(drawn_in), median, drawn_in)


def _one_hot(numbers: NDArray[Any], size: int) -> Any:
    rows = np.flatnonzero(~np.isnan(numbers))
    places = numbers[rows].astype(np.int64)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape=(len(numbers), size))


class _LinearBaseline(BaseEstimator):  # type: ignore[misc]
    """Reading the table and asking the model."""

    preparation_: Preparation
    linear_: Any

    def _learn(self, model: Any, table: Table, y: NDArray[Any]) -> None:
        preparation = Preparation.of(table)
        # One thread: the products are small, and their last bits must not depend on the number of cores.
        with one_library_thread(), collected():  # it may not converge to the last digit: still a comparison
            self.linear_ = model.fit(preparation.columns(table), y)
        self.preparation_ = preparation
        self.n_features_in_ = table.n_columns

    def _model(self) -> Any:
        check_is_fitted(self, "linear_")
        return self.linear_

    def _columns(self, X: Any) -> Any:
        schema = self.preparation_.schema
        return self.preparation_.columns(read_table(X, schema=schema, estimator_name=type(self).__name__))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class LogisticBaseline(ClassifierMixin, _LinearBaseline):  # type: ignore[misc]
    """Logistic regression on any table; scikit-learn's `LogisticRegression` behind a `Preparation`.

    Parameters
    ----------
    C : float
        The larger, the less the weights are held back.
    max_iter : int

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
        """Fit to labels."""
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - loads 0.2 s of modules

        name = type(self).__name__
        table = read_table(X, categorical_features=self.categorical_features, estimator_name=name)
        raw_y = inputs.read_target(y, table.n_rows, name)
        labels = inputs.Labels.of(raw_y)
        model = LogisticRegression(C=self.C, max_iter=self.max_iter)
        self._learn(model, table, labels.read(raw_y).astype(np.int64))
        self.classes_ = labels.classes
        return self

    @property
    def n_iter_(self) -> int:
        """How many steps the fit took."""
        return int(self._model().n_iter_.max())

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n_samples, n_classes)."""
        return np.asarray(self._model().predict_proba(self._columns(X)), np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable classes."""
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return labels


class RidgeBaseline(RegressorMixin, _LinearBaseline):  # type: ignore[misc]
    """Ridge regression on any table; scikit-learn's `RidgeCV` behind a `Preparation`.

    Examples
    --------
    >>> RidgeBaseline().fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 8.0]).predict([[5.0]]).round(1)
    array([10.])
    """

    def __init__(self, *, categorical_features: Any = None) -> None:
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to numbers."""
        from sklearn.linear_model import RidgeCV  # noqa: PLC0415 - loads 0.2 s of modules

        name = type(self).__name__
        table = read_table(X, categorical_features=self.categorical_features, estimator_name=name)
        numbers = inputs.Numbers().read(inputs.read_target(y, table.n_rows, name))
        self._learn(RidgeCV(alphas=np.logspace(-3, 4, 15)), table, numbers)
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted means, (n_samples,)."""
        return np.asarray(self._model().predict(self._columns(X)), np.float64)
