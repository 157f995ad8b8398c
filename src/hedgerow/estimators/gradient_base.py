"""What the gradient boosting estimators share: their parameters, growth rules and losses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.gradient_boosting import (
    FitResult,
    GradientBoostingOptions,
    fit_gradient_boosting,
)
from hedgerow.boosting.gradient_members import MemberModel
from hedgerow.estimators import parameters
from hedgerow.estimators.base import COMMON, Boosting, Target, Watchers
from hedgerow.estimators.constraints import interaction_groups, monotonic_directions
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.parameters import Allowed, flag, nothing, one_of, real, whole
from hedgerow.forest import TreeModel
from hedgerow.growing.grower import GrowthOptions
from hedgerow.losses import Loss
from hedgerow.memory_estimates import require_prediction_memory
from hedgerow.table import Schema
from hedgerow.table.dataset import Dataset
from hedgerow.threads import resolve_n_jobs

ALLOWED: dict[str, Allowed] = {
    **COMMON,
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
}


class GradientBoosting(Boosting):
    """Everything but the constructor, the target and what a score means."""

    def _make_loss(self, target: Target) -> Loss:
        """The loss for this kind of target."""
        raise TypeError(f"{type(self).__name__} does not say which loss it uses")

    def _rules_of_parameters(self) -> dict[str, Allowed]:
        return ALLOWED | self._allowed

    def _fit_rows(
        self,
        train: Dataset,
        evaluations: list[Dataset],
        target: Target,
        watchers: Watchers,
        previous: TreeModel | MemberModel | None,
    ) -> None:
        loss = self._make_loss(target)
        if previous is not None and hasattr(loss, "go_on_from"):  # a user's own may know nothing of it
            loss.go_on_from(self.loss_)
        settings = self._settings(train, target, loss, bool(evaluations), watchers)
        schema = train.table.schema
        watchers.fit.set_by(
            lambda model, fitted: model._keep(fitted, schema, target, settings, previous)  # noqa: SLF001
        )
        watchers.fit.set(self, fit_gradient_boosting(train, evaluations, settings, previous))

    def _previous(self) -> TreeModel | MemberModel | None:
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        model: TreeModel | MemberModel = self.model_
        self._refuse_fewer_rounds(model.n_rounds)
        if (self.estimator is None) != isinstance(model, TreeModel):
            kind = "trees" if isinstance(model, TreeModel) else "other regressors"
            raise ValueError(
                f"estimator={self.estimator!r} cannot go on from a model of {kind}; with warm_start=True it "
                "must stay None or stay a regressor"
            )
        return model

    def _check_target(self, y: Floats, target: Target, *, more: bool) -> None:
        loss = self._make_loss(target)
        loss.check_target(y)
        if more and type(loss) is not type(self.loss_):
            raise ValueError(
                f"loss={self.loss!r} cannot go on from a model fitted with {self.loss_!r}; with "
                "warm_start=True it must stay the same"
            )

    def _settings(
        self, train: Dataset, target: Target, loss: Loss, has_evaluation: bool, watchers: Watchers
    ) -> GradientBoostingOptions:
        plan = self._plan(train, target, watchers, has_evaluation=has_evaluation)
        rules = self._rules(train.table.schema, plan["seed"])
        if rules.monotonic.size and loss.n_outputs > 1:
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r} is not allowed with {loss.n_outputs} classes: their "
                "probabilities depend on each other; it must be None or all 0"
            )
        return GradientBoostingOptions(
            loss=loss,
            learning_rate=float(self.learning_rate),
            growth=rules,
            max_bins=int(self.max_bins),
            newton=bool(self.newton),
            subsample=float(self.subsample),
            **plan,
        )

    def _rules(self, schema: Schema, seed: int) -> GrowthOptions:
        # int and float: for a NumPy scalar of another type the kernels would be compiled anew
        return GrowthOptions(
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
        fitted: FitResult,
        schema: Schema,
        target: Target,
        settings: GradientBoostingOptions,
        previous: TreeModel | MemberModel | None,
    ) -> None:
        n_before = 0 if previous is None else previous.n_rounds
        self._keep_common(
            fitted.model, schema, target, settings.seed, fitted.history, fitted.best_round, n_before
        )
        self.loss_ = settings.loss

    @lazily
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf numbers of the rows.

        Returns
        -------
        int32 array of shape (n_samples, n_trees)
            Trees in the order they were grown; with several classes, one a class in every round.
        """
        model = self._tree_model("apply")
        table = self._read(X)
        require_prediction_memory(type(self).__name__, table.n_rows, model.forest.n_trees, item_bytes=4)
        return model.predictor.leaves(table, resolve_n_jobs(self.n_jobs))
