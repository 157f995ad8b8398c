"""What all boosting estimators share: check the input, run a fit, hold the model."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.boosting.callbacks import Callback
from hedgerow.estimators import inputs, parameters
from hedgerow.estimators.checkpoints import Fit, run_fit
from hedgerow.estimators.elsewhere import (
    forget,
    given,
    in_pieces,
    let_go_of,
    read_rows,
    refuse_elsewhere,
    survey_of,
)
from hedgerow.estimators.fingerprints import DataFingerprint, DataFingerprintMixin
from hedgerow.estimators.parameters import Allowed, check_parameters, flag, nothing, one_of, real, whole
from hedgerow.forest import TreeModel
from hedgerow.memory_estimates import (
    require_evaluation_memory,
    require_input_memory,
    require_prediction_memory,
)
from hedgerow.shapes import ShapeFunctions, shape_functions
from hedgerow.table import Schema, Table, read_table
from hedgerow.table.dataset import Dataset
from hedgerow.threads import CHUNK_ROWS, resolve_n_jobs

Target = inputs.Numbers | inputs.Labels

_LARGE = 10_000  # rows above which early_stopping="auto" stops early


COMMON: dict[str, Allowed] = {  # parameters that all of them have
    "n_estimators": whole(1),
    "learning_rate": real(0, above=True),
    "early_stopping": flag() | one_of("auto"),
    "validation_fraction": real(0, 1, above=True, below=True),
    "n_iter_no_change": whole(1),
    "tol": real(0),
    "warm_start": flag(),
    "random_state": parameters.seed() | nothing(),
    "n_jobs": parameters.threads() | nothing(),
    "verbose": whole(0) | flag(),
}


class Watchers(NamedTuple):
    """Who looks at the rounds of a fit: the user's callbacks, and who keeps it."""

    callbacks: Sequence[Callback]
    fit: Fit


class Boosting(DataFingerprintMixin, BaseEstimator):  # type: ignore[misc]
    """Everything but the constructor, the target, the fit itself and what a score means."""

    history_: dict[str, list[float]]
    row_fingerprints_: Any
    _allowed: ClassVar[dict[str, Allowed]] = {}  # what the parameters may be
    _chunk_rows = CHUNK_ROWS  # rows a thread takes at a time; no result depends on it

    # --- what an estimator must say

    def _target(self, y: NDArray[Any]) -> Target:
        """How targets are read."""
        raise TypeError(f"{type(self).__name__} does not say how to read its target")

    def _fit_rows(
        self,
        train: Dataset,
        evaluations: list[Dataset],
        target: Target,
        watchers: "Watchers",
        previous: Any,
    ) -> None:
        """Run the fit and set the fitted attributes."""
        raise TypeError(f"{type(self).__name__} does not say how it is fitted")

    # --- what some estimators change

    def _rules_of_parameters(self) -> dict[str, Allowed]:
        return self._allowed

    def _categorical_features(self) -> Any:
        return self.categorical_features

    def _previous(self) -> Any:
        """The model to go on from, with warm_start."""
        return None

    def _row_fingerprints(self, table: Table, classes: Floats, n_classes: int, weight: Floats | None) -> Any:
        """What a classifier remembers of its training rows."""
        raise TypeError(f"{type(self).__name__} has no classes")

    def _weigh(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        """Weights of the rows; a classifier multiplies the weights of the classes in."""
        return weight

    def _check_target(self, y: Floats, target: Target, *, more: bool) -> None:
        """Refuse a target that the method cannot be fitted to; `more` when going on from a model."""

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
            Missing values (NaN, None, null) are allowed and take the direction that fits best.
            Or a table larger than memory: a path or glob of Parquet or Arrow files, a pyarrow Dataset, a
            function that gives record batches, a `hedgerow.streams.Stream`, or a Dask collection.
        y : array of shape (n_samples,)
            Labels (strings, whole numbers or booleans), or numbers within ±1e100.
        sample_weight : array of shape (n_samples,), optional
            From 0 to 1e100. A whole number acts exactly as that many copies of the row, zero as no row.
            Where X is in files, the name of the column of weights.
        eval_set : (X, y), (X, y, sample_weight) or a list of them, optional
            Rows whose loss or error is followed; with early stopping, the first decides. Where X is in files,
            y and sample_weight are names of columns.
        callbacks : sequence of callables, optional
            Called with a `hedgerow.Round` after every round; a true answer ends the fit.
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that keeps the rounds so far, every minute unless a `Checkpoint` says otherwise. If it is
            there, the fit goes on from it: the model is the same as without a stop, to the last bit.
        target : str, optional
            Where X is in files, the column that is learned; y is then left out.

        Returns
        -------
        self
        """
        check_parameters(self.get_params(deep=False), self._rules_of_parameters())
        told = inputs.read_callbacks(callbacks)
        rows = self._given(X, y, sample_weight, target)
        with let_go_of(rows[0]):
            run_fit(
                self,
                checkpoint,
                lambda model, under_way: model._fit(*rows, eval_set, Watchers(told, under_way)),  # noqa: SLF001
            )
        return self

    def _given(self, X: Any, y: Any, sample_weight: Any, target: str | None = None) -> tuple[Any, Any, Any]:
        """X, y and weights, or what X is elsewhere."""
        rows = given(X, y, sample_weight, target, n_jobs=self.n_jobs, verbose=int(self.verbose))
        if self._has_members():
            refuse_elsewhere(rows[0], f"estimator={self.estimator!r}")
        return rows

    def _fit(self, X: Any, y: Any, sample_weight: Any, eval_set: Any, watchers: "Watchers") -> None:
        previous = self._previous()
        name = type(self).__name__
        known: dict[str, Any] = (
            {"categorical_features": self._categorical_features()}
            if previous is None
            else {"schema": self.schema_}
        )
        require_input_memory(X, name, encoded=not self._has_members())
        table, y, sample_weight = read_rows(X, y, sample_weight, watchers.fit, name, **known)
        raw_y = inputs.read_target(y, table.n_rows, name)
        target = self._target(raw_y) if previous is None else self._fitted_target()
        train = Dataset(X, table, target.read(raw_y), inputs.read_weights(sample_weight, table.n_rows))
        trained_on = self._look_at(train)
        n_classes = target.n_classes
        seen = (
            None
            if n_classes is None
            else self._row_fingerprints(table, train.y, n_classes, train.sample_weight)
        )
        train.sample_weight = self._weigh(train.y, target, train.sample_weight)
        self._check_target(train.y, target, more=previous is not None)
        evaluations = [
            self._read_evaluation(f"eval_set[{i}]", one, train, target)
            for i, one in enumerate(inputs.read_eval_sets(eval_set))
        ]
        if n_classes is not None and (self._stops_early(table.n_rows) or watchers.callbacks):
            for rows in evaluations:  # they decide how many rounds there are
                assert seen is not None  # noqa: S101 - there are classes
                seen = seen.with_hashes(self._row_fingerprints(rows.table, rows.y, n_classes, None))

        def remember(model: Any, _results: Any) -> None:
            fit = watchers.fit
            if seen is not None and (previous is None or (fit.taken_up and not fit.from_model)):
                model.row_fingerprints_ = seen
            elif seen is not None and not fit.taken_up and hasattr(model, "row_fingerprints_"):
                model.row_fingerprints_ = model.row_fingerprints_.joined_with(
                    seen
                )  # a file of format 1 does not know them
            model._add_data_fingerprint(trained_on, warm_start=previous is not None)  # noqa: SLF001 - of the same class

        watchers.fit.compare(trained_on, lambda: [self._look_at(rows) for rows in evaluations])
        watchers.fit.set_by(remember)
        del y, raw_y, sample_weight  # of rows elsewhere nobody else holds them
        for rows in (train, *evaluations):
            forget(rows.table)
        self._fit_rows(train, evaluations, target, watchers, previous)

    def _look_at(self, rows: Dataset) -> DataFingerprint:
        return DataFingerprint.of_table(rows.table, rows.y, rows.sample_weight, resolve_n_jobs(self.n_jobs))

    def _fitted_target(self) -> Target:
        return inputs.Labels(self.classes_) if hasattr(self, "classes_") else inputs.Numbers()

    def _refuse_fewer_rounds(self, n_rounds: int) -> None:
        if self.n_estimators < n_rounds:
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {n_rounds} rounds of the fitted model; with "
                "warm_start=True it must be at least as many"
            )

    def _read_evaluation(
        self, name: str, followed: tuple[Any, Any, Any], train: Dataset, target: Target
    ) -> Dataset:
        estimator_name = type(self).__name__
        try:
            X, y, weight = self._given(*followed)
            require_evaluation_memory(X)
            table = read_table(X, schema=train.table.schema, estimator_name=estimator_name)
            y, weight = survey_of(table, y, weight)
            raw_y = inputs.read_target(y, table.n_rows, estimator_name)
            numbers = target.read(raw_y)
            # beside the training rows: those of an evaluation set alone may all be 0
            self._check_target(np.concatenate([numbers, train.y]), target, more=False)
            return Dataset(X, table, numbers, inputs.read_weights(weight, table.n_rows))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}: {error}") from error

    def _read_seed(self) -> int:
        """The seed; that of the fitted model when going on from it."""
        seed = getattr(self, "_seed", None) if self.warm_start else None
        return inputs.read_seed(self.random_state) if seed is None else seed

    def _stops_early(self, n_rows: int) -> bool:
        return n_rows > _LARGE if self.early_stopping == "auto" else bool(self.early_stopping)

    def _plan(
        self, train: Dataset, target: Target, watchers: "Watchers", *, has_evaluation: bool
    ) -> dict[str, Any]:
        """What every fit is told, as the fields of a `hedgerow.boosting.loop.FitOptions`."""
        seed, n_rows = self._read_seed(), train.table.n_rows
        stops, held_out = self._stops_early(n_rows), None
        if stops and not has_evaluation:
            groups = None if target.n_classes is None else train.y
            held_out = inputs.held_out_rows(
                groups, train.sample_weight, n_rows, self.validation_fraction, seed
            )
        return {
            "n_rounds": int(self.n_estimators),
            "seed": seed,
            "estimator": self.estimator,
            "n_threads": resolve_n_jobs(self.n_jobs),
            "chunk_rows": self._chunk_rows,
            "patience": self.n_iter_no_change if stops else None,
            "tol": float(self.tol),
            "verbose": int(self.verbose),
            "callbacks": watchers.callbacks,
            "checkpointer": watchers.fit.checkpointer,
            "validation_rows": held_out,
            "title": type(self).__name__,
        }

    def _keep_common(
        self,
        model: Any,
        schema: Schema,
        target: Target,
        seed: int,
        history: dict[str, list[float]],
        best_round: int | None,
        n_before: int,
    ) -> None:
        """Set the fitted attributes, all at the end: a fit that fails leaves the old model whole."""
        before = self.history_ if n_before else {}
        self.history_ = _joined(before, n_before, history)
        self.model_ = model
        self.schema_ = schema
        self._seed = seed
        self.n_estimators_ = self.n_iter_ = model.n_rounds
        self.best_iteration_ = best_round
        self.n_features_in_ = schema.n_columns
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if target.classes is not None:
            self.classes_ = target.classes

    # --- after fitting

    def _read(self, X: Any) -> Table:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        refuse_elsewhere(X, f"this method of {type(self).__name__}")
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    def _require_answer(self, table: Table) -> None:
        """Refuse more scores than there is room for: with their probabilities, by row and by column."""
        classes = getattr(self, "classes_", None)
        n_outputs, arrays = (1, 1) if classes is None else (max(2, len(classes)), 3)
        require_prediction_memory(type(self).__name__, table.n_rows, n_outputs, arrays)

    def _raw(self, X: Any) -> Floats:
        """Raw scores (outputs, rows)."""
        joined = in_pieces(self, X, self._raw, axis=1)
        if joined is not None:
            return joined
        table = self._read(X)
        self._require_answer(table)
        scores: Floats
        if isinstance(self.model_, TreeModel):
            scores = self.model_.scores(table, resolve_n_jobs(self.n_jobs))
        else:
            scores = self.model_.scores(X, table.n_rows)
        return scores

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        table = self._read(X)
        self._require_answer(table)
        stages: Iterator[Floats]
        if isinstance(self.model_, TreeModel):
            stages = self.model_.staged_scores(table, resolve_n_jobs(self.n_jobs))
        else:
            stages = self.model_.staged_scores(X, table.n_rows)
        return stages

    def _tree_model(self, what: str) -> TreeModel:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        if not isinstance(self.model_, TreeModel):
            raise AttributeError(  # noqa: TRY004 - scikit-learn asks with hasattr
                f"{what} needs trees, and this model was fitted with estimator={self.estimator!r}"
            )
        return self.model_

    def importances(self, kind: str = "gain") -> Floats:
        """Importance of every column.

        Parameters
        ----------
        kind : {"gain", "split"}
            The total gain of the splits on a column, as a share of all, or their number.

        Returns
        -------
        float64 array of shape (n_features,)
        """
        if kind not in ("gain", "split"):
            raise ValueError(f"kind={kind!r} is not allowed: it must be 'gain' or 'split'")
        forest = self._tree_model("importances").forest
        inner = forest.left > 0
        weights = forest.gain[inner] if kind == "gain" else None
        totals = np.bincount(forest.column[inner], weights, self.n_features_in_).astype(np.float64)
        whole = float(sum(totals.tolist()))
        return totals / whole if kind == "gain" and whole > 0 else totals

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the total gain."""
        return self.importances("gain")

    def shape_functions(self) -> ShapeFunctions:
        """The model as a sum of one function of each column; only for ensembles of stumps.

        Returns
        -------
        ShapeFunctions
            A list of `ShapeFunction`, one a column, with an `intercept`; see `hedgerow.shapes`.
        """
        return shape_functions(self._tree_model("shape_functions"), self.schema_)

    def _has_members(self) -> bool:
        """Whether the estimator is one of another library."""
        return self.estimator is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        if self._has_members() and parameters.learner().test(self.estimator):
            members = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = members.allow_nan, members.sparse
        return tags


def _joined(
    before: dict[str, list[float]], n_before: int, now: dict[str, list[float]]
) -> dict[str, list[float]]:
    """The record of the `n_before` rounds gone on from and of the new ones; NaN where a part has no value."""
    n_now = len(now.get("round", []))
    joined = {}
    for name in dict.fromkeys([*before, *now]):
        old = before.get(name, [])[:n_before]
        old = old + [math.nan] * (n_before - len(old))
        joined[name] = old + now.get(name, [math.nan] * n_now)
    return joined
