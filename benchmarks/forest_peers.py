"""Random forests in each library behind one small interface: `fit`, `predict`, `model_bytes`.

A `Task` has the parameters that all forests share: numbers of trees, threads and classes. Other parameters
are the defaults of the library, except those that make boosting libraries grow a forest: a sample of 63.2 %
of the rows per tree (the distinct rows of a bootstrap), the square root of the number of columns per node, no
shrinkage.

The defaults differ most in size: scikit-learn and Hedgerow grow until leaves are pure, YDF 16 levels, XGBoost
6, LightGBM 31 leaves. Limited trees may be fast and inaccurate, so each of these libraries is also measured
as *deep*, with its limits removed or, if time and memory do not allow that, raised.

`fit` starts from a float32 table in memory and includes building the library's own data set. `predict`
returns the result of the library: probabilities as (n_rows,) of class 1 or (n_rows, n_classes), or numbers. A
library is imported by its adapter, so that a process imports only the one that it measures.
"""

import math
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

BOOTSTRAP_SHARE = 0.632  # 1 - 1/e: the share of distinct rows in a bootstrap of all


@dataclass(frozen=True)
class Task:
    """Parameters that all forests share."""

    n_classes: int = 2  # 0: y holds numbers
    trees: int = 100
    threads: int = 2


class Forest(ABC):
    """One library's random forest."""

    name: ClassVar[str]
    module: ClassVar[str]  # the name it is imported by
    ours: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        self.task = task
        self._library: Any = import_module(self.module)
        self._model: Any = None

    @abstractmethod
    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        """Build the library's data set and grow all trees."""

    @abstractmethod
    def predict(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return probabilities, or numbers, in the shape of the library."""

    @abstractmethod
    def model_bytes(self) -> int:
        """Return the size of the stored forest."""


def node_share(X: NDArray[np.float32]) -> float:
    """Return the fraction of columns that a node searches: √columns of them."""
    return math.sqrt(X.shape[1]) / X.shape[1]


class Estimator(Forest):
    """A forest with the interface of scikit-learn, at its own defaults."""

    family: ClassVar[str] = "RandomForest"
    parameters: ClassVar[dict[str, Any]] = {}

    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        """Fit a classifier or a regressor."""
        make = getattr(self._library, self.family + ("Classifier" if self.task.n_classes else "Regressor"))
        size = {"n_estimators": self.task.trees, "n_jobs": self.task.threads}
        forest = make(**size, random_state=0, **self.parameters)
        self._model = forest.fit(X, y)

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows, n_classes), or (n_rows,) numbers."""
        return self._model.predict_proba(X) if self.task.n_classes else self._model.predict(X)

    def model_bytes(self) -> int:
        """Return the length of the pickle."""
        return len(pickle.dumps(self._model))


class Hedgerow(Estimator):
    """The forest of Hedgerow."""

    name = "Hedgerow"
    module = "hedgerow"
    ours = True


class HedgerowEntropy(Hedgerow):
    """The criterion that YDF uses."""

    name = "Hedgerow, entropy"
    parameters: ClassVar[dict[str, Any]] = {"criterion": "entropy"}


class HedgerowFew(Hedgerow):
    """A fifth of the trees, which is as accurate as some other libraries."""

    name = "Hedgerow, a fifth of the trees"

    def __init__(self, task: Task) -> None:
        super().__init__(replace(task, trees=max(1, task.trees // 5)))


class HedgerowExtra(Hedgerow):
    """One random threshold per column, all rows in every tree."""

    name = "Hedgerow ExtraTrees"
    family = "ExtraTrees"


class ScikitLearn(Estimator):
    """Exact splits between sorted values."""

    name = "scikit-learn"
    module = "sklearn.ensemble"


class ScikitLearnExtra(ScikitLearn):
    """One random threshold per column, all rows in every tree."""

    name = "scikit-learn ExtraTrees"
    family = "ExtraTrees"


class LightGBM(Forest):
    """Its forest mode: every tree fits the initial gradients; K trees per tree of the task if K > 2."""

    name = "LightGBM rf"
    module = "lightgbm"
    extra: ClassVar[dict[str, Any]] = {}

    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        """Build a Dataset and train on it."""
        binary = self.task.n_classes == 2
        parameters = {
            "objective": "binary" if binary else "multiclass",
            "num_class": 1 if binary else self.task.n_classes,
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": BOOTSTRAP_SHARE,
            "feature_fraction_bynode": node_share(X),
            "num_threads": self.task.threads,
            "verbose": -1,
            **self.extra,
        }
        data = self._library.Dataset(X, y, params=parameters)
        self._model = self._library.train(parameters, data, self.task.trees)

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows,) for two classes, (n_rows, n_classes) for more."""
        return self._model.predict(X, num_threads=self.task.threads)

    def model_bytes(self) -> int:
        """Return the length of its text file."""
        return len(self._model.model_to_string())


class LightGBMDeep(LightGBM):
    """Many leaves. Memory grows with the limit: each leaf has a histogram (131,072 leaves took 16 GB)."""

    name = "LightGBM rf, deep"
    extra: ClassVar[dict[str, Any]] = {
        "num_leaves": 8192,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 1e-9,
    }


class XGBoost(Forest):
    """Its forest mode: one round of parallel trees; K trees per tree of the task if K > 2."""

    name = "XGBoost rf"
    module = "xgboost"
    extra: ClassVar[dict[str, Any]] = {}

    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        """Build a QuantileDMatrix, the leaner of its two data sets, and train on it."""
        binary = self.task.n_classes == 2
        parameters = {
            "objective": "binary:logistic" if binary else "multi:softprob",
            "tree_method": "hist",
            "num_parallel_tree": self.task.trees,
            "learning_rate": 1.0,
            "subsample": BOOTSTRAP_SHARE,
            "colsample_bynode": node_share(X),
            "nthread": self.task.threads,
            "verbosity": 0,
            **({} if binary else {"num_class": self.task.n_classes}),
            **self.extra,
        }
        data = self._library.QuantileDMatrix(X, y, nthread=self.task.threads)
        self._model = self._library.train(parameters, data, 1)

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows,) for two classes, (n_rows, n_classes) for more."""
        return self._model.inplace_predict(X)

    def model_bytes(self) -> int:
        """Return the length of its binary JSON."""
        return len(self._model.save_raw())


class XGBoostDeep(XGBoost):
    """Deep enough for nearly pure leaves, with nothing held back from small ones."""

    name = "XGBoost rf, deep"
    extra: ClassVar[dict[str, Any]] = {"max_depth": 30, "min_child_weight": 0.0, "reg_lambda": 1e-6}


class YDF(Forest):
    """Yggdrasil Decision Forests: exact splits, trees of 16 levels, each votes for one class.

    Its out-of-bag evaluation is switched off: no other library makes one unasked.
    """

    name = "YDF"
    module = "ydf"
    extra: ClassVar[dict[str, Any]] = {}

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._library.verbose(0)

    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        """Train on a dictionary of columns."""
        learner = self._library.RandomForestLearner(
            label="y",
            num_trees=self.task.trees,
            num_threads=self.task.threads,
            compute_oob_performances=False,
            **self.extra,
        )
        self._model = learner.train({**columns(X), "y": y})

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return (n_rows,) for two classes, (n_rows, n_classes) for more; it picks its quickest engine."""
        return self._model.predict(columns(X), num_threads=self.task.threads)

    def model_bytes(self) -> int:
        """Return the length of the serialised model."""
        return len(self._model.serialize())


class YDFDeep(YDF):
    """Grown until leaves are pure, with averaged probabilities, as in scikit-learn."""

    name = "YDF, deep"
    extra: ClassVar[dict[str, Any]] = {"max_depth": -1, "min_examples": 1, "winner_take_all": False}


class YDFBinned(YDF):
    """Columns in 255 bins, which trains faster according to its manual."""

    name = "YDF, 255 bins"
    extra: ClassVar[dict[str, Any]] = {"discretize_numerical_columns": True}


def columns(X: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Return views of the columns by name; no value is copied."""
    return {f"c{i}": X[:, i] for i in range(X.shape[1])}


FORESTS: dict[str, type[Forest]] = {
    "hedgerow": Hedgerow,
    "hedgerow-entropy": HedgerowEntropy,
    "hedgerow-few": HedgerowFew,
    "hedgerow-extra": HedgerowExtra,
    "sklearn": ScikitLearn,
    "sklearn-extra": ScikitLearnExtra,
    "lightgbm": LightGBM,
    "lightgbm-deep": LightGBMDeep,
    "xgboost": XGBoost,
    "xgboost-deep": XGBoostDeep,
    "ydf": YDF,
    "ydf-deep": YDFDeep,
    "ydf-binned": YDFBinned,
}
