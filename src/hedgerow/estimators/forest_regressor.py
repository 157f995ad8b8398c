"""ForestRegressor: the base of forests for numbers, with quantiles and prediction intervals."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.bagging import intervals
from hedgerow.bagging.forest import FittedForest
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.bagging.sampling import OutOfBag
from hedgerow.estimators.base import RegressorBase, supports_dask
from hedgerow.estimators.forest_base import ALLOWED, ForestBase
from hedgerow.estimators.parameters import Allowed, flag, one_of
from hedgerow.estimators.validation import FitInput, InputOptions, Target
from hedgerow.estimators.votes import squeeze_outputs
from hedgerow.table import Schema
from hedgerow.threads import Team, resolve_n_jobs
from hedgerow.voting import EncodedRows


class ForestRegressor(RegressorBase, ForestBase):
    """Base class of forests for numbers, of one or several outputs; quantiles and intervals need one."""

    n_outputs_: int
    _leaf_targets: LeafTargets | None
    _residuals: Floats  # targets minus out-of-bag predictions, NaN for rows without one
    _residual_weight: Floats | None
    _ranks: Floats  # see `LeafTargets.ranks`; set together with `_leaf_targets`

    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "criterion": one_of("squared_error", "poisson"),
        "keep_targets": flag(),
    }

    def _input_options(self) -> InputOptions:
        return replace(super()._input_options(), multi_output=True)

    def _check_target(self, y: Floats, target: Target) -> None:
        if self.criterion == "poisson":
            bad = np.flatnonzero((y.reshape(len(y), -1) < 0).any(axis=1))
            if bad.size:
                raise ValueError(
                    f"y[{bad[0]}] is {y[bad[0]]}, which criterion='poisson' does not allow: it must be >= 0"
                )

    def _set_members(self, result: FittedForest, schema: Schema, classes: NDArray[Any] | None) -> None:
        super()._set_members(result, schema, classes)
        self.n_outputs_, self._leaf_targets = result.model.forest.n_outputs, result.leaf_targets

    def _set_out_of_bag(self, oob: OutOfBag, data: FitInput) -> None:
        super()._set_out_of_bag(oob, data)
        if self.n_outputs_ == 1:
            self._residuals = data.train.y.ravel() - self.oob_prediction_
            self._residual_weight = data.train.sample_weight
        if oob.ranks is not None:
            self._ranks = oob.ranks

    @supports_dask
    def predict(self, X: Any) -> Floats:
        """Return the mean over the trees of the mean target in the leaf of every row.

        Returns
        -------
        float64 array of shape (n_samples,) or (n_samples, n_outputs)
        """
        return squeeze_outputs(self._means(X))

    # --- quantiles and intervals

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Floats:
        """Quantiles of the target, from the training targets in the leaves of every row (Meinshausen 2006).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        quantiles : float or sequence of floats
            From 0 to 1. Every tree spreads the same weight over the training rows of the leaf, in proportion
            to how often it drew them; the quantile q is the smallest target up to which the total weight is
            at least q.

        Returns
        -------
        float64 array of shape (n_samples, n_quantiles)
        """
        levels, rows = intervals.check_quantiles(quantiles), self._encoded(X)
        leaves = self._stored_targets("predict_quantiles")
        return leaves.quantiles(self.model_.forest, rows, levels, resolve_n_jobs(self.n_jobs))

    def predict_interval(self, X: Any, coverage: float = 0.9, method: str = "oob") -> Floats:
        """Return intervals that contain the target with a probability of about `coverage`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        coverage : float
            Above 0 and below 1.
        method : {"oob", "jackknife+", "quantiles", "calibrated"}
            "oob": the prediction plus quantiles of the out-of-bag residuals, of one width for all rows.
            "jackknife+": the jackknife+ after the bootstrap. Its coverage is at least 2 * coverage - 1 for
            any distribution, and usually close to `coverage`; its time is proportional to rows times training
            rows times trees. "quantiles": from `predict_quantiles`. Widths follow the noise, but the coverage
            may be too low or too high. "calibrated": the same at levels that have the required coverage out
            of bag. It is the best choice for heteroscedastic noise, with some hundred trees and
            `min_samples_leaf` of about 5, since no bound is beyond the targets in the leaves. All but
            "quantiles" need ``oob_score=True``, the last two ``keep_targets=True``.

        Returns
        -------
        float64 array of shape (n_samples, 2)
            Lower and upper bounds; infinite where the coverage cannot be achieved, except for "quantiles".
        """
        coverage, method = intervals.check_coverage(coverage), intervals.check_method(method)
        rows, model, n_threads = self._encoded(X), self.model_, resolve_n_jobs(self.n_jobs)
        forest = model.forest
        if method == "quantiles":
            leaves = self._stored_targets("method='quantiles'")
            return np.column_stack(intervals.quantile_interval(leaves, forest, rows, coverage, n_threads))
        self._check_residuals(method)
        if method == "calibrated":
            leaves = self._stored_targets("method='calibrated'")
            levels = intervals.calibrated_levels(self._ranks, coverage, self._residual_weight)
            return np.column_stack(intervals.between_levels(leaves, forest, rows, levels, n_threads))
        if method == "oob":
            prediction = model.means(rows.table, n_threads)[:, 0]
            return np.column_stack(
                intervals.oob_interval(prediction, self._residuals, coverage, self._residual_weight)
            )
        with Team(n_threads) as team:
            in_bag = self._tree_sampler.in_bag(forest.n_trees, team)
        trees, residuals = intervals.OutOfBagTrees.of(in_bag, len(self._residuals)), self._residuals
        if self._residual_weight is not None:  # rows of weight zero are ignored
            residuals = np.where(self._residual_weight > 0, residuals, np.nan)
        bounds = intervals.jackknife_interval(forest, rows, trees, residuals, coverage, n_threads)
        return np.column_stack(bounds)

    def _encoded(self, X: Any) -> EncodedRows:
        return EncodedRows(self._read(X), self.model_.bins)

    def _stored_targets(self, what: str) -> LeafTargets:
        self._check_one_output(what)
        if self._leaf_targets is None:
            raise ValueError(
                f"{what} needs the targets of the leaves, which are not stored: set keep_targets=True, from "
                "the first tree on, and fit again"
            )
        return self._leaf_targets

    def _check_residuals(self, method: str) -> None:
        self._check_one_output(f"method={method!r}")
        if not hasattr(self, "_residuals"):
            raise ValueError(
                f"method={method!r} needs out-of-bag predictions: set bootstrap=True and oob_score=True and "
                "fit again, or use method='quantiles'"
            )

    def _check_one_output(self, what: str) -> None:
        if self.n_outputs_ > 1:
            raise ValueError(f"{what} needs a forest with one output; this one has {self.n_outputs_}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags
