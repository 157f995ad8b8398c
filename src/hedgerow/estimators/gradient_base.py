"""What the gradient boosting estimators share: check the input, run the loop, hold the model."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hedgerow.boosting.fit import Fitted, Rows, Settings, fit_gradient
from hedgerow.boosting.loop import Callback
from hedgerow.boosting.model import MemberModel, TreeModel
from hedgerow.estimators import inputs, parameters
from hedgerow.estimators.constraints import interaction_groups, monotonic_directions
from hedgerow.estimators.parameters import Allowed, check_parameters, flag, nothing, one_of, real, whole
from hedgerow.growing.rules import GrowthRules
from hedgerow.losses import Loss
from hedgerow.table import Schema, Table, read_table
from hedgerow.threads import CHUNK_ROWS, resolve_n_jobs

Floats = NDArray[np.float64]
Target = inputs.Numbers | inputs.Labels

_LARGE = 10_000  # rows above which early_stopping="auto" stops early

ALLOWED: dict[str, Allowed] = {
    "n_estimators": whole(1),
    "learning_rate": real(0, above=True),
    "max_leaf_nodes": whole(2) | nothing(),
    "max_depth": whole(1) | nothing(),
    "min_samples_leaf": whole(1),
    "min_child_weight": real(0),
    "min_split_gain": real(0),
    "l1_regularization": real(0),
    "l2_regularization": real(0),
    "categorical_smoothing": real(0),
    "monotonic_cst": parameters.directions() | nothing(),
    "interaction_cst": one_of("pairwise", "no_interactions") | parameters.groups() | nothing(),
    "max_bins": whole(2, 255),
    "subsample": real(0, 1, above=True),
    "colsample_bytree": real(0, 1, above=True),
    "max_features": real(0, 1, above=True),
    "newton": flag(),
    "estimator": parameters.regressor() | nothing(),
    "early_stopping": flag() | one_of("auto"),
    "validation_fraction": real(0, 1, above=True, below=True),
    "n_iter_no_change": whole(1),
    "tol": real(0),
    "warm_start": flag(),
    "random_state": parameters.seed() | nothing(),
    "n_jobs": parameters.threads() | nothing(),
    "verbose": whole(0) | flag(),
}


class GradientBoosting(BaseEstimator):  # type: ignore[misc]
    """Everything but the constructor, the target and what a score means."""

    history_: dict[str, list[float]]
    _allowed: ClassVar[dict[str, Allowed]] = {}  # what parameters of the estimator's own may be
    _chunk_rows = CHUNK_ROWS  # rows a thread takes at a time; no result depends on it

    def _target(self, y: NDArray[Any]) -> Target:
        """How targets are read."""
        raise TypeError(f"{type(self).__name__} does not say how to read its target")

    def _make_loss(self, target: Target) -> Loss:
        """The loss for this kind of target."""
        raise TypeError(f"{type(self).__name__} does not say which loss it uses")

    def _weigh(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        """Weights of the rows; a classifier multiplies the weights of the classes in."""
        return weight

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Missing values (NaN, None, null) are allowed and take the direction that fits best.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A whole number acts exactly as that many copies of the row, zero as no row.
        eval_set : (X, y), (X, y, sample_weight) or a list of them, optional
            Rows whose loss is followed; with early stopping, the first decides.
        callbacks : sequence of callables, optional
            Called with a `hedgerow.Round` after every round; a true answer ends the fit.

        Returns
        -------
        self
        """
        check_parameters(self.get_params(deep=False), ALLOWED | self._allowed)
        watchers = inputs.read_callbacks(callbacks)
        previous = self._previous()
        name = type(self).__name__
        known: dict[str, Any] = (
            {"categorical_features": self.categorical_features}
            if previous is None
            else {"schema": self.schema_}
        )
        table = read_table(X, estimator_name=name, **known)
        raw_y = inputs.read_target(y, table.n_rows, name)
        target = self._target(raw_y) if previous is None else self._fitted_target()
        numbers = target.read(raw_y)
        weight = self._weigh(numbers, target, inputs.read_weights(sample_weight, table.n_rows))
        train = Rows(X, table, numbers, weight)
        loss = self._checked_loss(target, numbers, previous is not None)
        evaluations = [
            self._read_evaluation(f"eval_set[{i}]", one, train, target, loss)
            for i, one in enumerate(inputs.read_eval_sets(eval_set))
        ]
        settings = self._settings(train, target, loss, bool(evaluations), watchers)
        fitted = fit_gradient(train, evaluations, settings, previous)
        self._keep(fitted, table.schema, target, settings, previous)
        return self

    def _previous(self) -> TreeModel | MemberModel | None:
        """The model to go on from, with warm_start."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        model: TreeModel | MemberModel = self.model_
        if self.n_estimators < model.n_rounds:
            raise ValueError(
                f"n_estimators={self.n_estimators} is below the {model.n_rounds} rounds of the fitted "
                "model; with warm_start=True it must be at least as many"
            )
        if (self.estimator is None) != isinstance(model, TreeModel):
            kind = "trees" if isinstance(model, TreeModel) else "other regressors"
            raise ValueError(
                f"estimator={self.estimator!r} cannot go on from a model of {kind}; with warm_start=True it "
                "must stay None or stay a regressor"
            )
        return model

    def _fitted_target(self) -> Target:
        return inputs.Labels(self.classes_) if hasattr(self, "classes_") else inputs.Numbers()

    def _checked_loss(self, target: Target, y: Floats, more: bool) -> Loss:
        """The loss, for a target that it accepts."""
        loss = self._make_loss(target)
        loss.check_target(y)
        if more and type(loss) is not type(self.loss_):
            raise ValueError(
                f"loss={self.loss!r} cannot go on from a model fitted with {self.loss_!r}; with "
                "warm_start=True it must stay the same"
            )
        return loss

    def _read_evaluation(
        self, name: str, given: tuple[Any, Any, Any], train: Rows, target: Target, loss: Loss
    ) -> Rows:
        X, y, weight = given
        estimator_name = type(self).__name__
        try:
            table = read_table(X, schema=train.table.schema, estimator_name=estimator_name)
            raw_y = inputs.read_target(y, table.n_rows, estimator_name)
            numbers = target.read(raw_y)
            # beside the training rows: those of an evaluation set alone may all be 0
            loss.check_target(np.concatenate([numbers, train.y]))
            return Rows(X, table, numbers, inputs.read_weights(weight, table.n_rows))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}: {error}") from error

    def _settings(
        self, train: Rows, target: Target, loss: Loss, has_evaluation: bool, callbacks: Sequence[Callback]
    ) -> Settings:
        schema, n_rows = train.table.schema, train.table.n_rows
        seed = getattr(self, "_seed", None) if self.warm_start else None
        seed = inputs.read_seed(self.random_state) if seed is None else seed
        stops = n_rows > _LARGE if self.early_stopping == "auto" else bool(self.early_stopping)
        held_out = None
        if stops and not has_evaluation:
            groups = None if target.n_classes is None else train.y
            held_out = inputs.held_out_rows(groups, train.weight, n_rows, self.validation_fraction, seed)
        rules = self._rules(schema, seed)
        if rules.monotonic.size and loss.n_outputs > 1:
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r} is not allowed with {loss.n_outputs} classes: their "
                "probabilities depend on each other; it must be None or all 0"
            )
        return Settings(
            loss=loss,
            n_rounds=int(self.n_estimators),
            learning_rate=float(self.learning_rate),
            rules=rules,
            max_bins=int(self.max_bins),
            newton=bool(self.newton),
            subsample=float(self.subsample),
            seed=seed,
            n_threads=resolve_n_jobs(self.n_jobs),
            chunk_rows=self._chunk_rows,
            estimator=self.estimator,
            patience=self.n_iter_no_change if stops else None,
            tol=float(self.tol),
            verbose=int(self.verbose),
            callbacks=callbacks,
            held_out=held_out,
            title=type(self).__name__,
        )

    def _rules(self, schema: Schema, seed: int) -> GrowthRules:
        # int and float: for a NumPy scalar of another type the kernels would be compiled anew
        return GrowthRules(
            max_leaf_nodes=None if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            max_depth=None if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=int(self.min_samples_leaf),
            min_child_weight=float(self.min_child_weight),
            min_split_gain=float(self.min_split_gain),
            l1_regularization=float(self.l1_regularization),
            l2_regularization=float(self.l2_regularization),
            categorical_smoothing=float(self.categorical_smoothing),
            columns_per_tree=float(self.colsample_bytree),
            columns_per_node=float(self.max_features),
            monotonic=monotonic_directions(self.monotonic_cst, schema),
            groups=interaction_groups(self.interaction_cst, schema.n_columns),
            seed=seed,
        )

    def _keep(
        self,
        fitted: Fitted,
        schema: Schema,
        target: Target,
        settings: Settings,
        previous: TreeModel | MemberModel | None,
    ) -> None:
        """Set the fitted attributes, all at the end: a fit that fails leaves the old model whole."""
        before = {} if previous is None else self.history_
        n_before = 0 if previous is None else previous.n_rounds
        self.history_ = _joined(before, n_before, fitted.history)
        self.model_ = fitted.model
        self.loss_ = settings.loss
        self.schema_ = schema
        self._seed = settings.seed
        self.n_estimators_ = self.n_iter_ = fitted.model.n_rounds
        self.best_iteration_ = fitted.best_round
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
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    def _raw(self, X: Any) -> Floats:
        """Raw scores (outputs, rows)."""
        table = self._read(X)
        if isinstance(self.model_, MemberModel):
            return self.model_.scores(X, table.n_rows)
        return self.model_.scores(table, resolve_n_jobs(self.n_jobs))

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        table = self._read(X)
        if isinstance(self.model_, MemberModel):
            return self.model_.staged_scores(X, table.n_rows)
        return self.model_.staged_scores(table, resolve_n_jobs(self.n_jobs))

    def _tree_model(self, what: str) -> TreeModel:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        if isinstance(self.model_, MemberModel):
            raise AttributeError(  # noqa: TRY004 - scikit-learn asks with hasattr
                f"{what} needs trees, and this model was fitted with estimator={self.estimator!r}"
            )
        return self.model_

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf numbers of the rows.

        Returns
        -------
        int32 array of shape (n_samples, n_trees)
            Trees in the order they were grown; with several classes, one a class in every round.
        """
        model = self._tree_model("apply")
        return model.predictor.leaves(self._read(X), resolve_n_jobs(self.n_jobs))

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        if parameters.regressor().test(self.estimator):
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
