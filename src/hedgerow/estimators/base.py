"""EnsembleBase: the base class of all estimators, with the steps that every fit has.

    check parameters -> (read a checkpoint) -> validate the input -> run the engine -> set attributes

`EnsembleBase._fit` does these steps in this order. The `fit` of an estimator has the signature and the
documentation, and calls it. An estimator defines

    _allowed                     what its parameters may be, see `hedgerow.estimators.parameters`
    _input_options()             what it accepts as X and y, extending those of the base class
    _check_target(y, target)     raise an error for targets that the method cannot be fitted to
    _previous()                  what a warm start continues, validated; None for a new fit
    _run(data)                   run the engine on a `FitInput`, return its result
    _set_fitted(result, data)    set all fitted attributes; the only method that does

`_run` sets no attributes: a fit that fails leaves the estimator unchanged. `_set_fitted` is called once,
after `_run`. With a checkpoint it is also called on copies of the estimator, with the results that the engine
passes to `data.checkpointer`, so it must not change anything but attributes of `self`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.elementary import log
from hedgerow.estimators import validation
from hedgerow.estimators.fingerprints import DataFingerprint, RowFingerprintsMixin, RowHashes
from hedgerow.estimators.parameters import Allowed, check_parameters
from hedgerow.estimators.remote_input import (
    dask_predict,
    is_dask,
    predict_stream,
    require_in_memory,
    score_remote,
)
from hedgerow.estimators.validation import FitInput, InputOptions, Target
from hedgerow.system_memory import require_prediction_memory
from hedgerow.table import Schema, Table, read_table
from hedgerow.table.remote import RemoteInput, RemoteTable
from hedgerow.table.table import plain_table
from hedgerow.threads import resolve_n_jobs

Method = TypeVar("Method", bound=Callable[..., Any])

_MAX_UNCHECKED_PREDICTIONS = 100_000  # numbers that need no check of memory


def supports_dask(method: Method) -> Method:
    """Decorate a method of rows to return a lazy Dask Array for a Dask collection.

    >>> class Doubling:
    ...     @supports_dask
    ...     def predict(self, X):
    ...         return [2 * x for x in X]
    >>> Doubling().predict([1, 2])
    [2, 4]
    """
    name = method.__name__

    @wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if type(X) is np.ndarray or not is_dask(X):  # the type first: predictions of single rows are fast
            return method(self, X, *args, **kwargs)
        return dask_predict(self, name, X, args, kwargs)

    return call  # type: ignore[return-value]


class FittedAttributesMixin:
    """Mixin of estimators that model files can contain."""

    def _set_fitted_attributes(self, **values: Any) -> None:
        """Set fitted attributes to the values of a file; no other module sets any."""
        for name, value in values.items():
            setattr(self, name, value)


class EnsembleBase(FittedAttributesMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of all estimators, see the module."""

    data_fingerprints_: tuple[DataFingerprint, ...]
    schema_: Schema
    n_features_in_: int
    _allowed: ClassVar[dict[str, Allowed]] = {}
    _kernel_families: ClassVar[tuple[str, ...]] = ()  # of `kernels/signatures.txt`, which every fit uses

    def _set_parameters(self, arguments: dict[str, Any]) -> None:
        """Set the arguments of the constructor, its `locals()`, as parameters."""
        for name, value in arguments.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # --- defined by estimators

    def _input_options(self) -> InputOptions:
        """Return what the estimator accepts."""
        fitted = self._is_warm_start()
        return InputOptions(
            name=type(self).__name__,
            is_classifier=isinstance(self, ClassifierMixin),
            categorical_features=self._categorical_features(),
            schema=self.schema_ if fitted else None,
            classes=getattr(self, "classes_", None) if fitted else None,
            check_target=self._check_target,
            hash_rows=isinstance(self, RowFingerprintsMixin),
            kernel_families=self._kernel_families,
            n_threads=resolve_n_jobs(getattr(self, "n_jobs", 1)),
            verbose=int(getattr(self, "verbose", 0)),
        )

    def _categorical_features(self) -> Any:
        return getattr(self, "categorical_features", None)

    def _check_target(self, y: Floats, target: Target) -> None:
        """Raise an error for encoded targets that the method cannot be fitted to."""

    def _is_warm_start(self) -> bool:
        """Return whether a fit continues the fitted model."""
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "model_")

    def _previous(self) -> Any:
        """Return what a warm start continues, None for a new fit."""
        return None

    def _uses_evaluation_sets(self, data: FitInput) -> bool:
        """Return whether evaluation sets can influence the model."""
        return False

    @abstractmethod
    def _run(self, data: FitInput) -> Any:
        """Run the engine and return its result."""

    @abstractmethod
    def _set_fitted(self, result: Any, data: FitInput) -> None:
        """Set the fitted attributes."""

    # --- fit

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        eval_set: Any = None,
        callbacks: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        check_parameters(self.get_params(deep=False), self._allowed)
        options = self._input_options()
        X, y, sample_weight = validation.open_input(X, y, sample_weight, target, options)
        with closing(X) if isinstance(X, RemoteInput) else nullcontext():  # releases what workers hold
            model, checkpointer = self, None
            if checkpoint is not None:
                from hedgerow.estimators.checkpoint import FileCheckpointer  # noqa: PLC0415 - only if it is used

                checkpointer = FileCheckpointer(self, checkpoint)
                model = checkpointer.model
            previous = model._previous()  # noqa: SLF001 - a copy of self
            data = validation.validate_fit_input(
                X, y, sample_weight, options,
                eval_set=eval_set, callbacks=callbacks, has_checkpoint=checkpointer is not None,
            )  # fmt: skip
            del y, sample_weight  # large, and not used by anything else where X is remote
            data.previous, data.checkpointer = previous, checkpointer
            if data.evaluation_sets or isinstance(X, RemoteInput):
                self._finish_hashes(data)
            if checkpointer is not None:
                checkpointer.check_data(data)
            data.seed = model._fit_seed(data)  # noqa: SLF001 - a copy of self
            result = model._run(data)  # noqa: SLF001
            model._set_fitted(result, data)  # noqa: SLF001
        if checkpointer is not None:
            checkpointer.copy_to(self)
        return self

    def _fit_seed(self, data: FitInput) -> int:
        """Return the seed; that of the fitted model if it is continued."""
        resumed = data.checkpointer is not None and data.checkpointer.resumed
        continues = resumed or bool(getattr(self, "warm_start", False))
        seed: int | None = getattr(self, "_seed", None) if continues else None
        return validation.make_seed(getattr(self, "random_state", 0)) if seed is None else seed

    def _finish_hashes(self, data: FitInput) -> None:
        """Add hashes of evaluation sets that influence the model; release targets of remote tables."""
        sets = data.evaluation_sets
        if data.row_fingerprints is not None and sets and self._uses_evaluation_sets(data):
            for dataset in sets:
                hashes = RowHashes.of(dataset.table, resolve_n_jobs(getattr(self, "n_jobs", 1)))
                data.row_fingerprints = data.row_fingerprints.with_hashes(hashes)
        for dataset in (data.train, *sets):
            if isinstance(dataset.table, RemoteTable):
                dataset.table.discard_targets()

    # --- attributes of all estimators

    def _set_columns(self, schema: Schema) -> None:
        self.schema_ = schema
        self.n_features_in_ = schema.n_columns
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _set_fingerprints(self, data: FitInput) -> None:
        """Set the fingerprints of all fits of the model."""
        continues, rows = data.previous is not None, data.row_fingerprints
        resumed = data.checkpointer is not None and data.checkpointer.resumed
        if rows is not None:
            if not continues or (resumed and not data.checkpointer.from_model):
                self.row_fingerprints_ = rows
            elif not resumed and hasattr(self, "row_fingerprints_"):
                self.row_fingerprints_ = self.row_fingerprints_.joined_with(rows)
        previous = getattr(self, "data_fingerprints_", ()) if continues else ()
        same = previous[-1:] == (data.fingerprint,)
        self.data_fingerprints_ = previous if same else (*previous, data.fingerprint)

    # --- predictions

    def _read(self, X: Any) -> Table:
        """Return X in memory as a table with the columns of the model."""
        if not hasattr(self, "schema_"):
            check_is_fitted(self)
        table = plain_table(X, self.schema_)
        if table is not None:
            return table
        if type(X) is not np.ndarray:
            require_in_memory(X, f"this method of {type(self).__name__}")
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    def _require_prediction_memory(
        self, n_rows: int, n_outputs: int, arrays: int = 1, item_bytes: int = 8
    ) -> None:
        """Raise MemoryError for predictions (rows, outputs) that are too large; skip small ones."""
        if n_rows * n_outputs > _MAX_UNCHECKED_PREDICTIONS:
            require_prediction_memory(type(self).__name__, n_rows, n_outputs, arrays, item_bytes)

    def _predict_stream(
        self, X: Any, predict: Callable[[Any], NDArray[Any]], axis: int = 0
    ) -> NDArray[Any] | None:
        """Return predictions of rows in files, None if X is in memory."""
        return None if type(X) is np.ndarray else predict_stream(self, X, predict, axis)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class ScoreMixin:
    """Mixin with the score of classifiers and regressors, also of remote tables."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier; R² of a regressor, the fraction of the variance explained.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
            Or files, as in `fit`.
        y : array or Dask collection of shape (n_samples,)
            Or the name of a column, if X is in files.
        sample_weight : array or Dask collection of shape (n_samples,), optional
            Or the name of a column, if y is one.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score, r2_score  # noqa: PLC0415 - loads 0.05 s of modules

        metric = accuracy_score if isinstance(self, ClassifierMixin) else r2_score
        score = score_remote(self, metric, X, y, sample_weight)
        return float(super().score(X, y, sample_weight)) if score is None else score  # type: ignore[misc]


class ClassifierBase(ScoreMixin, ClassifierMixin):  # type: ignore[misc]
    """Mixin of classifiers; it comes before the base class."""

    classes_: NDArray[Any]

    @supports_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row; the first of equal ones.

        Returns
        -------
        array of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)  # first: it checks that the model is fitted
        labels: NDArray[Any] = self.classes_[np.argmax(probabilities, axis=1)]
        return labels

    @supports_dask
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of `predict_proba`.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return np.asarray(log(self.predict_proba(X)))


class RegressorBase(ScoreMixin, RegressorMixin):  # type: ignore[misc]
    """Mixin of regressors; it comes before the base class."""


def score_margins(raw: Floats, classes: NDArray[np.integer[Any]], max_step: float) -> Floats:
    """Return margins from -1 to 1 of raw scores (outputs, rows).

    One output is the score of the second class, with margin y F / max_step. Else the margin is the score of
    the label minus the largest other score, divided by `max_step`.

    >>> score_margins(np.array([[1.0, -3.0]]), np.array([1, 1]), 4.0)
    array([ 0.25, -0.75])
    >>> score_margins(np.array([[0.5], [0.25], [0.25]]), np.array([1]), 1.0)
    array([-0.25])
    """
    if len(raw) == 1:
        difference = np.where(classes == 1, raw[0], -raw[0])
    else:
        rows = np.arange(len(classes))
        others = raw.copy()
        others[classes, rows] = -np.inf
        difference = raw[classes, rows] - others.max(axis=0)
    return np.asarray(np.clip(difference / (max_step or 1.0), -1.0, 1.0))  # without steps all margins are 0
