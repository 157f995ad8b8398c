"""BoostingBase: gradient boosting and the AdaBoost family; BoostingClassifier: classifiers of raw scores.

Both fit in rounds and may stop early; they have a history, scores after every round, and importances. Raw
scores have shape (outputs, rows), with one output for numbers and for two classes.
"""

import abc
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.boosting.callbacks import Callback, HistoryDict
from hedgerow.boosting.folds import validation_rows
from hedgerow.boosting.loop import FitOptions
from hedgerow.estimators import parameters
from hedgerow.estimators.base import ClassifierBase, EnsembleBase, score_margins, supports_dask
from hedgerow.estimators.fingerprints import RowFingerprintsMixin
from hedgerow.estimators.parameters import Allowed, flag, integer, none, number, one_of
from hedgerow.estimators.validation import FitInput, InputOptions
from hedgerow.forest import TreeModel
from hedgerow.losses.base import LogitLink
from hedgerow.shapes import ShapeFunctions, shape_functions
from hedgerow.table import Schema
from hedgerow.threads import CHUNK_ROWS, resolve_n_jobs

Options = TypeVar("Options", bound=FitOptions)

_LARGE = 10_000  # rows above which early_stopping="auto" stops early
_TIE = 1e-9  # a score of two classes up to this may round to equal probabilities

COMMON: dict[str, Allowed] = {  # parameters of all boosting estimators
    "n_estimators": integer(1),
    "learning_rate": number(0, above=True),
    "early_stopping": flag() | one_of("auto"),
    "validation_fraction": number(0, 1, above=True, below=True),
    "n_iter_no_change": integer(1),
    "tol": number(0),
    "warm_start": flag(),
    "random_state": parameters.seed() | none(),
    "n_jobs": parameters.threads() | none(),
    "verbose": integer(0) | flag(),
}


class BoostingBase(EnsembleBase, abc.ABC):
    """Base class of estimators that are fitted in rounds."""

    history_: HistoryDict
    model_: Any
    _chunk_rows: ClassVar[int] = CHUNK_ROWS  # rows per task of a thread; no result depends on it

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: Any = None,
        target: str | None = None,
    ) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Missing values (NaN, None, null) are allowed; each split sends them to the better side.
            Or a table larger than memory: a path or glob of Parquet or Arrow files, a pyarrow Dataset, a
            function that returns record batches, a `hedgerow.streams.Stream`, or a Dask collection.
        y : array of shape (n_samples,)
            Labels (strings, whole numbers or booleans), or numbers within ±1e100.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. A whole number equals that many copies of the row exactly, zero equals no row;
            but where rows are drawn, held out or divided into folds, each copy is a row of its own.
            Gradient boosting does not normalise weights: its penalties and `min_child_weight` are compared to
            their sums, as in scikit-learn and LightGBM, so that a mean of about 1 is best.
            Where X is in files, the name of the column of weights.
        eval_set : (X, y), (X, y, sample_weight) or a list of them, optional
            Evaluation sets, whose loss or error is computed after every round; early stopping uses the first.
            Where X is in files, y and sample_weight are names of columns.
        callbacks : sequence of callables, optional
            Called with a `hedgerow.Round` after every round; a true return value stops the fit.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that stores the rounds so far, every minute unless a `Checkpoint` has other values. If it
            exists, the fit is resumed from it: the model is the same as without interruption, bit for bit.
        target : str, optional
            Where X is in files, the column of the target; y is then None.

        Returns
        -------
        self
        """
        return self._fit(
            X, y, sample_weight, target=target, eval_set=eval_set, callbacks=callbacks, checkpoint=checkpoint
        )

    # --- fitting

    def _has_members(self) -> bool:
        """Return whether the weak learners are estimators of another library."""
        return self.estimator is not None

    def _input_options(self) -> InputOptions:
        options = super()._input_options()
        if not self._has_members():
            return options
        return replace(options, grows_trees=False, in_memory=f"estimator={self.estimator!r}")

    def _stops_early(self, data: FitInput) -> bool:
        return data.n_weighted_rows > _LARGE if self.early_stopping == "auto" else bool(self.early_stopping)

    def _uses_evaluation_sets(self, data: FitInput) -> bool:
        return self._stops_early(data) or bool(data.callbacks)

    def _n_rounds(self) -> int:
        """Return the largest number of rounds."""
        return int(self.n_estimators)

    def _check_n_estimators(self, n_rounds: int) -> None:
        if self._n_rounds() < n_rounds:
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {n_rounds} rounds of the fitted model; with "
                "warm_start=True it must be at least as many"
            )

    def _fit_options(
        self,
        kind: type[Options],
        data: FitInput,
        *,
        n_iter_no_change: int | None = None,
        draws_validation_rows: bool = True,
        **own: Any,
    ) -> Options:
        """Return options of the engine: those that all methods share, and the method's own."""
        stops, rows = self._stops_early(data), None
        if stops and draws_validation_rows and not data.evaluation_sets:
            rows = validation_rows(
                data.class_numbers, data.train.sample_weight, data.n_rows, self.validation_fraction, data.seed
            )
        return kind(
            seed=data.seed,
            n_threads=resolve_n_jobs(self.n_jobs),
            chunk_rows=self._chunk_rows,
            patience=(n_iter_no_change or self.n_iter_no_change) if stops else None,
            tol=float(self.tol),
            verbose=int(self.verbose),
            callbacks=data.callbacks,
            checkpointer=data.checkpointer,
            validation_rows=rows,
            title=type(self).__name__,
            **own,
        )

    def _set_fitted(self, result: Any, data: FitInput) -> None:
        self._set_fingerprints(data)
        n_before = 0 if data.previous is None else self.model_.n_rounds
        before = self.history_ if n_before else {}
        history = join_histories(before, n_before, result.history)
        self._set_rounds(
            result.model, data.schema, data.target.classes, data.seed, history, result.best_round
        )

    def _set_rounds(
        self,
        model: Any,
        schema: Schema,
        classes: NDArray[Any] | None,
        seed: int,
        history: HistoryDict,
        best_round: int | None,
    ) -> None:
        """Set the attributes that every fitted model has, also one from a file."""
        self._set_columns(schema)
        self.model_, self._seed, self.history_, self.best_iteration_ = model, seed, history, best_round
        self.n_estimators_ = self.n_iter_ = model.n_rounds
        if classes is not None:
            self.classes_ = classes

    # --- scores

    def _model_inputs(self, X: Any) -> tuple[Any, int]:
        """Return the arguments of `scores` of the model; check the memory for scores and probabilities."""
        table, classes = self._read(X), getattr(self, "classes_", None)
        n_outputs, arrays = (1, 1) if classes is None else (max(2, len(classes)), 3)
        self._require_prediction_memory(table.n_rows, n_outputs, arrays)
        is_trees = isinstance(self.model_, TreeModel)
        return (table, resolve_n_jobs(self.n_jobs)) if is_trees else (X, table.n_rows)

    def _raw(self, X: Any) -> Floats:
        """Return raw scores (outputs, rows)."""
        joined = self._predict_stream(X, self._raw, axis=1)
        if joined is not None:
            return joined
        inputs = self._model_inputs(X)  # first: it checks that the model is fitted
        scores: Floats = self.model_.scores(*inputs)
        return scores

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        """Return raw scores after every round; arrays may be reused."""
        inputs = self._model_inputs(X)
        stages: Iterator[Floats] = self.model_.staged_scores(*inputs)
        return stages

    # --- trees

    def _tree_model(self, method: str) -> TreeModel:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        if not isinstance(self.model_, TreeModel):
            raise AttributeError(  # noqa: TRY004 - scikit-learn calls hasattr
                f"{method} needs trees, and this model was fitted with estimator={self.estimator!r}"
            )
        return self.model_

    def importances(self, kind: str = "gain") -> Floats:
        """Return the importance of every column.

        Parameters
        ----------
        kind : {"gain", "split"}
            "gain" is the total gain of the splits on a column, as a fraction of the gain of all splits;
            "split" is the number of these splits.

        Returns
        -------
        float64 array of shape (n_features,)
        """
        if kind not in ("gain", "split"):
            raise ValueError(f"kind={kind!r} is not allowed: it must be 'gain' or 'split'")
        model = self._tree_model("importances")
        forest, sources = model.forest, model.bins.sources
        inner = forest.left > 0
        weights = forest.gain[inner] if kind == "gain" else None
        columns = forest.column[inner] if sources is None else sources[forest.column[inner]]
        totals = np.bincount(columns, weights, self.n_features_in_).astype(np.float64)
        total = float(sum(totals.tolist()))
        return totals / total if kind == "gain" and total > 0 else totals

    @property
    def feature_importances_(self) -> Floats:
        """Fraction of each column in the total gain."""
        return self.importances("gain")

    def shape_functions(self) -> ShapeFunctions:
        """Return the model as a sum of functions of single columns; only for ensembles of stumps.

        Returns
        -------
        ShapeFunctions
            A list of `ShapeFunction`, one per column, with an `intercept`; see `hedgerow.shapes`.
        """
        return shape_functions(self._tree_model("shape_functions"), self.schema_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._has_members() and parameters.learner().test(self.estimator):
            members = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = members.allow_nan, members.sparse
        return tags


class BoostingClassifier(ClassifierBase, RowFingerprintsMixin, BoostingBase):
    """Base class of classifiers of raw scores.

    The predicted class always has the largest probability; ties go to the first class.
    """

    _sign_decides: ClassVar[bool] = True  # the second of two classes is more probable for positive scores

    def _probabilities(self, raw: Floats) -> Floats:
        """Return probabilities (rows, classes) of raw scores, by the link of the loss."""
        return as_probabilities(self.loss_.link.inverse(raw))

    @abc.abstractmethod
    def _largest_margin(self, n_rounds: int) -> float:
        """Return the largest margin that is possible after `n_rounds` rounds, not normalised."""

    @supports_dask
    def decision_function(self, X: Any) -> Floats:
        """Return raw scores.

        Returns
        -------
        float64 array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return _as_decision(self._raw(X))

    @supports_dask
    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of the classes.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return self._probabilities(self._raw(X))

    @supports_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row; ties go to the first class.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._most_probable(self._raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield raw scores after every round."""
        for raw in self._staged_raw(X):
            yield _as_decision(raw).copy()

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield probabilities of the classes after every round."""
        for raw in self._staged_raw(X):
            yield self._probabilities(raw)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the most probable classes after every round."""
        for raw in self._staged_raw(X):
            yield self._most_probable(raw)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after every round."""
        from sklearn.metrics import accuracy_score  # noqa: PLC0415 - loads 0.05 s of modules

        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def margins(self, X: Any, y: Any) -> Floats:
        """Normalised margins, from -1 (all votes against the label) to 1 (all votes for it), clipped.

        For two classes, y F(x) divided by the sum of the largest values that each round can add; for votes,
        this is the sum of their weights. For more classes, the score of the label minus the largest score of
        another class, divided by the largest possible difference.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        raw = self._raw(X)
        classes = self._class_numbers(y, raw.shape[1])
        return score_margins(raw, classes, self._largest_margin(self.n_estimators_))

    def staged_margins(self, X: Any, y: Any) -> Iterator[Floats]:
        """`margins` after every round."""
        classes = self._class_numbers(y, self._read(X).n_rows)
        for n_rounds, raw in enumerate(self._staged_raw(X), 1):
            yield score_margins(raw, classes, self._largest_margin(n_rounds))

    def _most_probable(self, raw: Floats) -> NDArray[Any]:
        loss = getattr(self, "loss_", None)  # the link of a user may be any function
        sign_decides = self._sign_decides if loss is None else type(loss.link) is LogitLink
        if len(raw) == 1 and sign_decides and np.all(np.abs(raw) > _TIE):
            labels: NDArray[Any] = self.classes_[(raw[0] > 0.0).astype(np.intp)]
        else:
            labels = self.classes_[np.argmax(self._probabilities(raw), axis=1)]
        return labels


def _as_decision(raw: Floats) -> Floats:
    return raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T)


def as_probabilities(means: Floats) -> Floats:
    """Return probabilities (rows, classes) from (outputs, rows); one output is that of the second class."""
    if len(means) > 1:
        return np.ascontiguousarray(means.T)
    second = means[0]
    return np.stack([1.0 - second, second], axis=1)


def join_histories(old: HistoryDict, n_old: int, new: HistoryDict) -> HistoryDict:
    """Join the history of the `n_old` rounds of a model and that of its warm start; NaN where missing."""
    n_new = len(new.get("round", []))
    joined = {}
    for name in dict.fromkeys([*old, *new]):
        values = old.get(name, [])[:n_old]
        values = values + [math.nan] * (n_old - len(values))
        joined[name] = values + new.get(name, [math.nan] * n_new)
    return joined
