"""GradientBoostingBase: from the parameters of gradient boosting to the options of a fit.

A parameter that is "auto" becomes a number (`Sizes`), and parameters that exclude each other are refused
before any work starts. The classes with the constructors are in `hedgerow.estimators.gradient_boosting`.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.backends.row_sampling import SAMPLINGS
from hedgerow.backends.target_statistics import (
    TargetOptions,
    coded_columns,
    columns_of_many,
    continues_statistics,
)
from hedgerow.boosting.folds import FOLD_COUNTS, count_held_out, draw_folds
from hedgerow.boosting.gradient_boosting import FitResult, GradientBoostingOptions, fit_gradient_boosting
from hedgerow.boosting.gradient_members import MemberModel
from hedgerow.boosting.sizes import AUTO, MAX_ROUNDS, MIN_ROWS, Sizes, auto_sizes
from hedgerow.estimators import parameters
from hedgerow.estimators.base import supports_dask
from hedgerow.estimators.boosting_base import COMMON, BoostingBase
from hedgerow.estimators.parameters import (
    Allowed,
    flag,
    integer,
    interaction_groups,
    monotonic_directions,
    none,
    number,
    one_of,
)
from hedgerow.estimators.validation import FitInput, InputOptions, Target
from hedgerow.forest import TreeModel
from hedgerow.growing.grower import GrowthOptions
from hedgerow.losses import CustomLoss, Loss, make_loss
from hedgerow.table import Schema
from hedgerow.threads import resolve_n_jobs

_AUTO = one_of("auto")
_DEFAULT_LEAVES = 31
_SYMMETRIC_DEPTH, _LARGEST_DEPTH = 6, 16  # of symmetric trees
_SUBSAMPLES = {"gradient": 0.3, "bayesian": 1.0}  # "auto" of `subsample`
ALLOWED: dict[str, Allowed] = {
    **COMMON,
    "n_estimators": integer(1) | _AUTO,
    "learning_rate": number(0, above=True) | _AUTO,
    "early_stopping": flag() | _AUTO | none(),
    "n_iter_no_change": integer(1) | _AUTO,
    "learning_rate_decay": number(0, 1, above=True),
    "max_leaf_step": number(0, above=True) | none(),
    "path_smooth": number(0),
    "leaf_value_folds": integer(2, 16) | none(),
    "growth_policy": one_of("best_first", "symmetric"),
    "max_leaf_nodes": integer(2) | none(),
    "max_depth": integer(1) | none(),
    "min_samples_leaf": integer(1) | _AUTO,
    **dict.fromkeys(("min_child_weight", "min_split_gain", "categorical_smoothing"), number(0)),
    "l1_regularization": number(0),
    "l2_regularization": number(0) | _AUTO,
    "linear_leaves": flag(),
    "linear_l2": number(0),
    "monotonic_cst": parameters.directions() | none(),
    "interaction_cst": one_of("pairwise", "no_interactions") | parameters.groups() | none(),
    "max_bins": integer(2, 255),
    "random_strength": number(0),
    **dict.fromkeys(("subsample", "colsample_bytree", "max_features"), number(0, 1, above=True) | _AUTO),
    "max_categories_for_sets": integer(0) | _AUTO | none(),
    "sampling": one_of(*SAMPLINGS),
    "bagging_temperature": number(0),
    "drop_rate": number(0, 1, below=True),
    "max_drop": integer(1) | none(),
    "newton": flag(),
    "n_folds": parameters.any_of(*FOLD_COUNTS) | _AUTO | none(),
    "estimator": parameters.regressor() | none(),
}


class GradientBoostingBase(BoostingBase):
    """Base class of gradient boosting; a subclass defines the constructor."""

    loss_: Loss
    _kernel_families: ClassVar[tuple[str, ...]] = ("gradient_boosting", "predictions")

    def _make_loss(self, n_classes: int | None) -> Loss:
        """Return the loss for targets of this number of classes; None for numbers."""
        if n_classes is None:
            own = {"quantile": self.quantile, "alpha": self.alpha, "power": self.power}
            return make_loss(self.loss, task="regression", **own)
        loss = make_loss(self.loss, task="classification", n_classes=n_classes)
        accepted = 2 if isinstance(loss, CustomLoss) else getattr(loss, "n_classes", None)
        if accepted != n_classes:
            raise ValueError(f"loss={self.loss!r} is not a loss for the {n_classes} classes of y")
        return loss

    def _check_target(self, y: Floats, target: Target) -> None:
        loss = self._make_loss(target.n_classes)
        if self.linear_leaves and loss.requires_line_search:
            raise ValueError(
                f"linear_leaves=True is not allowed with loss={self.loss!r}, whose leaf values are found by "
                "a line search: it must be False"
            )
        loss.check_target(y)

    def _previous(self) -> TreeModel | MemberModel | None:
        if not self._is_warm_start():
            return None
        model: TreeModel | MemberModel = self.model_
        self._check_n_estimators(model.n_rounds)
        if (self.estimator is None) != isinstance(model, TreeModel):
            kind = "trees" if isinstance(model, TreeModel) else "other regressors"
            raise ValueError(
                f"estimator={self.estimator!r} cannot continue a model of {kind}; with warm_start=True it "
                "must stay None or stay a regressor"
            )
        n_folds = model.n_folds if isinstance(model, TreeModel) else 1
        if self.n_folds != AUTO and (self.n_folds or 1) != n_folds:
            raise ValueError(
                f"n_folds={self.n_folds} cannot continue a model of {n_folds} folds; with warm_start=True it "
                "must stay the same"
            )
        if isinstance(model, TreeModel) and model.forest.linear is not None and not self.linear_leaves:
            raise ValueError(
                f"linear_leaves={self.linear_leaves} cannot continue a model of linear leaves; with "
                "warm_start=True it must stay True"
            )
        if (
            self.max_categories_for_sets != AUTO
            and isinstance(model, TreeModel)
            and not continues_statistics(
                model.bins, columns_of_many(self.schema_, self.max_categories_for_sets)
            )
        ):
            raise ValueError(
                f"max_categories_for_sets={self.max_categories_for_sets} cannot continue the fitted model, "
                "which codes other columns by target statistics; with warm_start=True it must stay the same"
            )
        n_classes = len(self.classes_) if hasattr(self, "classes_") else None
        if type(self._make_loss(n_classes)) is not type(self.loss_):
            raise ValueError(
                f"loss={self.loss!r} cannot continue a model fitted with {self.loss_!r}; with "
                "warm_start=True it must stay the same"
            )
        return model

    def _input_options(self) -> InputOptions:
        self._check_sampling()
        self._check_dropping()
        self._check_leaf_value_folds()
        self._check_symmetric_size()
        self._check_linear_leaves()
        return replace(super()._input_options(), class_weight=getattr(self, "class_weight", None))

    def _check_sampling(self) -> None:
        """Raise ValueError for parameters that exclude the way of sampling."""
        refused = f"is not allowed with sampling={self.sampling!r}"
        if self.sampling != "uniform" and self.estimator is not None:
            raise ValueError(
                f"estimator={self.estimator!r} {refused}: only trees are fitted to weighted rows"
            )
        if self.sampling == "gradient" and self.subsample == 1:
            raise ValueError(f"subsample={self.subsample!r} {refused}: it must be below 1, or 'auto'")

    def _refuse(self, option: str, refused: Sequence[tuple[str, bool, str]]) -> None:
        """Raise ValueError for a parameter that an option excludes.

        refused : name of a parameter, whether its value is excluded, and what is allowed
        """
        for name, is_refused, allowed in refused:
            if is_refused:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not allowed with {option}: it must be {allowed}"
                )

    def _check_dropping(self) -> None:
        """Raise ValueError for parameters that need the values of earlier trees to stay the same."""
        if self.drop_rate:
            self._refuse(
                f"drop_rate={self.drop_rate}, which changes earlier trees",
                (
                    ("n_estimators", self.n_estimators == AUTO, "a number"),
                    ("early_stopping", bool(self.early_stopping), "False or None"),
                    ("n_folds", self.n_folds not in (None, AUTO), "None or 'auto'"),
                    ("warm_start", bool(self.warm_start), "False"),
                    ("estimator", self.estimator is not None, "None"),
                ),
            )

    def _check_linear_leaves(self) -> None:
        """Raise ValueError for parameters that need constant leaves."""
        if not self.linear_leaves:
            return
        for name, is_refused, reason, allowed in (
            ("estimator", self.estimator is not None, "only trees have leaves", "None"),
            ("newton", not self.newton, "linear functions need hessians", "True"),
            ("drop_rate", bool(self.drop_rate), "dropped rounds need constant leaves", "0"),
            ("max_leaf_step", self.max_leaf_step is not None, "it bounds constant leaves", "None"),
            (
                "leaf_value_folds",
                self.leaf_value_folds is not None,
                "functions are of all rows",
                "None",
            ),
        ):
            if is_refused:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not allowed with linear_leaves=True: {reason}; it "
                    f"must be {allowed}"
                )

    def _check_leaf_value_folds(self) -> None:
        """Raise ValueError for parameters that need scores that follow from the stored trees."""
        folds = self.leaf_value_folds
        if folds is not None:
            self._refuse(
                f"leaf_value_folds={folds}, whose scores of training rows are not those of the stored trees",
                (
                    ("drop_rate", bool(self.drop_rate), "0"),
                    ("warm_start", bool(self.warm_start), "False"),
                    ("estimator", self.estimator is not None, "None"),
                ),
            )

    def _n_rounds(self) -> int:
        return MAX_ROUNDS if self.n_estimators == AUTO else int(self.n_estimators)

    def _stops_early(self, data: FitInput) -> bool:
        if self.early_stopping is None:
            return bool(self.n_estimators == AUTO and _count_held_out(data) >= MIN_ROWS)
        return super()._stops_early(data)

    def _sizes(self, data: FitInput, loss: Loss) -> Sizes:
        """Return the parameters that may be "auto", as numbers."""
        sizes = Sizes()
        if self.n_estimators == AUTO and self._stops_early(data) and _count_held_out(data) >= MIN_ROWS:
            classes = data.target.classes is not None
            sizes = auto_sizes(data.n_weighted_rows, data.schema.n_columns, loss.n_outputs, classes=classes)
            if self.learning_rate != AUTO:
                sizes = sizes.with_rate(float(self.learning_rate))
            if loss.requires_line_search:  # a quantile of few rows is biased
                sizes = replace(sizes, min_samples_leaf=Sizes().min_samples_leaf)
            if not self._may_have_folds(loss):
                sizes = replace(sizes, n_folds=None)
        if self.sampling in _SUBSAMPLES:
            sizes = replace(sizes, subsample=_SUBSAMPLES[self.sampling])
        if isinstance(data.previous, TreeModel):  # folds go on, with any number of rows and rounds
            n_folds = data.previous.n_folds
            sizes = replace(sizes, n_folds=None if n_folds == 1 else n_folds)
        passed = {field.name: getattr(self, field.name) for field in fields(sizes)}
        return replace(sizes, **{name: value for name, value in passed.items() if value != AUTO})

    def _may_have_folds(self, loss: Loss) -> bool:
        """Return whether the models are trees, and the loss does not change from round to round."""
        return self.estimator is None and type(loss).prepare is Loss.prepare

    def _run(self, data: FitInput) -> FitResult:
        loss = self._make_loss(data.target.n_classes)
        if data.previous is not None and hasattr(loss, "resume_from"):  # a user's own loss may not have it
            loss.resume_from(self.loss_)
        sizes = self._sizes(data, loss)
        options = self._fit_options(
            GradientBoostingOptions,
            data,
            n_iter_no_change=int(sizes.n_iter_no_change),
            draws_validation_rows=sizes.n_folds is None,
            n_rounds=int(sizes.n_estimators),
            estimator=self.estimator,
            loss=loss,
            learning_rate=float(sizes.learning_rate),
            learning_rate_decay=float(self.learning_rate_decay),
            max_leaf_step=None if self.max_leaf_step is None else float(self.max_leaf_step),
            path_smooth=float(self.path_smooth),
            leaf_value_folds=None if self.leaf_value_folds is None else int(self.leaf_value_folds),
            growth=self._growth_options(data.schema, loss, sizes, data.seed),
            max_bins=int(self.max_bins),
            newton=bool(self.newton),
            sampling=str(self.sampling),
            subsample=float(sizes.subsample),
            bagging_temperature=float(self.bagging_temperature),
            drop_rate=float(self.drop_rate),
            max_drop=None if self.max_drop is None else int(self.max_drop),
            target_options=self._target_options(data, sizes.max_categories_for_sets),
            linear_l2=float(self.linear_l2) if self.linear_leaves else None,
            n_folds=int(sizes.n_folds or 1),
            folds=self._draw_folds(data, loss, sizes.n_folds),
            evaluates_folds=not data.evaluation_sets,
        )
        return fit_gradient_boosting(data.train, data.evaluation_sets, options, data.previous)

    def _draw_folds(self, data: FitInput, loss: Loss, n_folds: int | None) -> NDArray[np.uint8] | None:
        """Return the fold of every row; None without folds."""
        if n_folds is None:
            return None
        refused = f"n_folds={n_folds} is not allowed with"
        if self.estimator is not None:
            raise ValueError(f"{refused} estimator={self.estimator!r}: the models of folds are trees")
        if not self._may_have_folds(loss):
            raise ValueError(f"{refused} loss={self.loss!r}, which changes from round to round")
        n_rows = _count_held_out(data)
        if n_rows < n_folds:
            alone = "" if data.target.classes is None else ", not counting the only row of a class"
            raise ValueError(f"n_folds={n_folds} is more than the {n_rows} rows of positive weight{alone}")
        return draw_folds(data.class_numbers, data.train.sample_weight, data.n_rows, int(n_folds), data.seed)

    def _target_options(self, data: FitInput, most: int | None) -> TargetOptions | None:
        """Return which columns are coded by target statistics; None without any."""
        if self.estimator is not None or not data.schema.categorical_columns:
            return None
        columns = columns_of_many(data.schema, most)
        if isinstance(data.previous, TreeModel) and not continues_statistics(data.previous.bins, columns):
            columns = coded_columns(data.previous.bins)  # "auto", with other rows than those of the model
        if not columns or self._has_other_rows(data):
            return None
        return TargetOptions(columns, float(self.categorical_smoothing), data.target.n_classes or 0)

    def _has_other_rows(self, data: FitInput) -> bool:
        """Return whether a warm start has other rows than those whose statistics coded the columns.

        Predictions use the codes of these rows, and so must trees: they are then split by sets of codes.
        """
        first = getattr(self, "data_fingerprints_", ())[:1]
        return data.previous is not None and first != (data.fingerprint,)

    def _growth_options(self, schema: Schema, loss: Loss, sizes: Sizes, seed: int) -> GrowthOptions:
        monotonic = monotonic_directions(self.monotonic_cst, schema)
        if monotonic.size and loss.n_outputs > 1:
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r} is not allowed with {loss.n_outputs} classes: "
                "their probabilities depend on each other; it must be None or all 0"
            )
        if monotonic.size and self.linear_leaves:
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r} is not allowed with linear_leaves=True: a leaf may "
                "have any slope; it must be None or all 0"
            )
        symmetric, max_leaf_nodes, max_depth = False, self.max_leaf_nodes, self.max_depth
        if self.growth_policy == "symmetric":
            symmetric, max_leaf_nodes, max_depth = True, None, max_depth or _SYMMETRIC_DEPTH
        # int and float: the kernels would be compiled again for a NumPy scalar of another type
        return GrowthOptions(
            max_leaf_nodes=None if max_leaf_nodes is None else int(max_leaf_nodes),
            max_depth=None if max_depth is None else int(max_depth),
            symmetric=symmetric,
            min_samples_leaf=int(sizes.min_samples_leaf),
            min_child_weight=float(self.min_child_weight),
            min_split_gain=float(self.min_split_gain),
            l1_regularization=float(self.l1_regularization),
            l2_regularization=float(sizes.l2_regularization),
            categorical_smoothing=float(self.categorical_smoothing),
            columns_per_tree=float(sizes.colsample_bytree),
            columns_per_node=float(sizes.max_features),
            monotonic=monotonic,
            groups=interaction_groups(self.interaction_cst, schema.n_columns),
            random_strength=float(self.random_strength),
            learning_rate=float(sizes.learning_rate),
            n_outputs=loss.n_outputs,
            seed=seed,
        )

    def _check_symmetric_size(self) -> None:
        """Raise ValueError for limits that symmetric trees cannot have."""
        if self.growth_policy != "symmetric":
            return
        if self.max_leaf_nodes not in (None, _DEFAULT_LEAVES):
            raise ValueError(
                f"max_leaf_nodes={self.max_leaf_nodes} is not allowed with growth_policy='symmetric', whose "
                "trees have 2**max_depth leaves; set max_depth instead"
            )
        if self.max_depth is not None and self.max_depth > _LARGEST_DEPTH:
            raise ValueError(
                f"max_depth={self.max_depth} is not allowed with growth_policy='symmetric': it must be at "
                f"most {_LARGEST_DEPTH}"
            )

    def _set_fitted(self, result: FitResult, data: FitInput) -> None:
        super()._set_fitted(result, data)
        self.loss_ = result.loss

    @property
    def n_folds_(self) -> int:
        """Number of models that the fitted one is the mean of."""
        check_is_fitted(self)
        return self.model_.n_folds if isinstance(self.model_, TreeModel) else 1

    @supports_dask
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return leaf numbers of the rows.

        Returns
        -------
        int32 array of shape (n_samples, n_trees)
            Trees in the order they were grown: in every round those of each fold, with one tree per class.
        """
        model = self._tree_model("apply")
        table = self._read(X)
        self._require_prediction_memory(table.n_rows, model.forest.n_trees, item_bytes=4)
        return model.predictor.leaves(table, resolve_n_jobs(self.n_jobs))


def _count_held_out(data: FitInput) -> int:
    return count_held_out(data.class_numbers, data.train.sample_weight, data.n_rows)
