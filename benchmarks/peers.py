"""Gradient boosting in each library behind one small interface: `fit(X, y)`, `predict_proba(X)`.

A `Task` has the parameters that all libraries share; other parameters are the defaults of the
library, except that none stops early and each uses 255 bins. Each library is called by its fastest
interface (LightGBM and XGBoost natively, not through scikit-learn), `fit` includes building its
data set from the float32 table, and `predict_proba` returns the result of the library: (n_rows,)
probabilities of class 1 or (n_rows, n_classes).

A library is imported by its adapter, so that a process imports only the one that it measures.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

LEARNING_RATE = 0.1
MAX_BINS = 255


@dataclass(frozen=True)
class Task:
    """Parameters that all libraries share."""

    n_classes: int = 2
    n_rounds: int = 100
    leaves: int = 31
    threads: int = 2


class Library(ABC):
    """One library's gradient boosting classifier."""

    name: ClassVar[str]
    package: ClassVar[str]  # the name it is installed under, for its version

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """Build the library's data set and fit all rounds."""

    @abstractmethod
    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return probabilities in the shape of the library."""


class Hedgerow(Library):
    """Regularised as LightGBM is by default, so that both grow trees of the same kind."""

    name = "Hedgerow"
    package = "hedgerow"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        from hedgerow import GradientBoostingClassifier

        self._make = GradientBoostingClassifier

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """Fit the estimator."""
        self._model: Any = self._make(
            n_estimators=self.task.n_rounds,
            learning_rate=LEARNING_RATE,
            max_leaf_nodes=self.task.leaves,
            max_depth=None,
            max_bins=MAX_BINS,
            min_samples_leaf=20,
            l2_regularization=0.0,
            subsample=1.0,
            early_stopping=False,
            random_state=0,
            n_jobs=self.task.threads,
            verbose=0,
        ).fit(X, y)

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows, n_classes)."""
        return self._model.predict_proba(X)


class LightGBM(Library):
    """Leaf-wise growth with float statistics."""

    name = "LightGBM"
    package = "lightgbm"
    extra: ClassVar[dict[str, Any]] = {}

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        import lightgbm

        self._library = lightgbm
        self._parameters = {
            "objective": "binary" if task.n_classes == 2 else "multiclass",
            "num_class": 1 if task.n_classes == 2 else task.n_classes,
            "num_leaves": task.leaves,
            "max_bin": MAX_BINS,
            "learning_rate": LEARNING_RATE,
            "num_threads": task.threads,
            "verbose": -1,
            **self.extra,
        }

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """Build a Dataset and train on it."""
        data = self._library.Dataset(X, y, params=self._parameters)
        self._model = self._library.train(self._parameters, data, self.task.n_rounds)

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows,) for two classes, (n_rows, n_classes) for more."""
        return self._model.predict(X, num_threads=self.task.threads)


class LightGBMQuantised(LightGBM):
    """LightGBM with gradients rounded to a few levels."""

    name = "LightGBM quantised"
    extra: ClassVar[dict[str, Any]] = {"use_quantized_grad": True}


class XGBoost(Library):
    """Histogram trees grown leaf by leaf."""

    name = "XGBoost hist"
    package = "xgboost-cpu"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        import xgboost

        self._library = xgboost
        self._parameters = {
            "objective": "binary:logistic" if task.n_classes == 2 else "multi:softprob",
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": task.leaves,
            "max_depth": 0,
            "max_bin": MAX_BINS,
            "eta": LEARNING_RATE,
            "nthread": task.threads,
            "verbosity": 0,
        }
        if task.n_classes > 2:
            self._parameters["num_class"] = task.n_classes

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """Build a QuantileDMatrix, the leaner of its two data sets, and train on it."""
        data = self._library.QuantileDMatrix(X, y, max_bin=MAX_BINS, nthread=self.task.threads)
        self._model = self._library.train(self._parameters, data, self.task.n_rounds)

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows,) for two classes, (n_rows, n_classes) for more."""
        return self._model.inplace_predict(X)


class HistGradientBoosting(Library):
    """scikit-learn; the benchmark sets its number of threads by OMP_NUM_THREADS."""

    name = "scikit-learn HGB"
    package = "scikit-learn"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        from sklearn.ensemble import HistGradientBoostingClassifier

        self._make = HistGradientBoostingClassifier

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """Fit the estimator."""
        self._model = self._make(
            max_iter=self.task.n_rounds,
            learning_rate=LEARNING_RATE,
            max_leaf_nodes=self.task.leaves,
            max_bins=MAX_BINS,
            early_stopping=False,
            random_state=0,
        ).fit(X, y)

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows, n_classes)."""
        return self._model.predict_proba(X)


class CatBoost(Library):
    """Symmetric trees with one split per level, whose size is set by the depth.

    The depth is the smallest with enough leaves: 8 for 255; the default of the library, 6, for up to 64.
    """

    name = "CatBoost"
    package = "catboost"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        from catboost import CatBoostClassifier

        self._make = CatBoostClassifier

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """Fit the estimator, which makes its own Pool."""
        self._model = self._make(
            iterations=self.task.n_rounds,
            learning_rate=LEARNING_RATE,
            depth=6 if self.task.leaves <= 64 else 8,
            border_count=MAX_BINS - 1,  # borders between bins
            thread_count=self.task.threads,
            random_seed=0,
            allow_writing_files=False,
            logging_level="Silent",
        ).fit(X, y)

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows, n_classes)."""
        return self._model.predict_proba(X, thread_count=self.task.threads)


LIBRARIES: dict[str, type[Library]] = {
    "hedgerow": Hedgerow,
    "lightgbm": LightGBM,
    "lightgbm-quantised": LightGBMQuantised,
    "xgboost": XGBoost,
    "hgb": HistGradientBoosting,
    "catboost": CatBoost,
}
