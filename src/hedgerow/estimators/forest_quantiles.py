"""Quantiles and prediction intervals of forests that predict one number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.bagging.forest import DeepTarget
from hedgerow.bagging.intervals import (
    LeftOut,
    between_levels,
    calibrated_levels,
    check_coverage,
    check_method,
    check_quantiles,
    jackknife_interval,
    oob_interval,
    quantile_interval,
)
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.estimators import inputs
from hedgerow.estimators.forest_base import Forest
from hedgerow.table import Table
from hedgerow.threads import Team, resolve_n_jobs
from hedgerow.voting import VotingTree


class Intervals(Forest):
    """What a fit keeps for them, and how they are asked for."""

    _leaves: LeafTargets | None
    _residuals: Floats  # targets less out-of-bag predictions, NaN for rows without one
    _residual_weight: Floats | None
    _ranks: Floats  # see `LeafTargets.ranks`; only there with `_leaves`

    # --- kept by fit

    def _keeps_rows(self, target: DeepTarget) -> bool:
        return bool(self.keep_targets) and target.n_outputs == 1

    def _keep_more(self, trees: list[VotingTree], y: Floats, weight: Floats | None, n_before: int) -> None:
        before = self._leaves if n_before else None
        if not self.keep_targets or self.n_outputs_ > 1 or (n_before and before is None):
            self._leaves = None
            return
        if trees:
            own = self._own_weight(y, inputs.Numbers(), weight)
            new = LeafTargets.of(
                trees, y.ravel(), lambda tree: self._tree_sampler.counts(n_before + tree), own
            )
            self._leaves = new if before is None else LeafTargets.join(before, new)

    def _set_oob(self, table: Table, y: Floats, in_bag: NDArray[np.uint8], weight: Floats | None) -> None:
        super()._set_oob(table, y, in_bag, weight)
        if self.n_outputs_ > 1:
            return
        y, leaves = y.ravel(), self._leaves
        self._residuals, self._residual_weight = y - self.oob_prediction_, weight
        if leaves is not None:
            forest, bins, n_threads = self.model_.forest, self.model_.bins, resolve_n_jobs(self.n_jobs)
            self._ranks = leaves.ranks(forest, table, bins, in_bag, y, n_threads)

    # --- asked for

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Floats:
        """Quantiles of the target, from the training targets in the leaves of every row (Meinshausen 2006).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        quantiles : float or sequence of floats
            From 0 to 1. The quantile q is the smallest target up to which at least the weight q lies, when
            every tree spreads the same weight over the training rows of the leaf, as often as it drew them.

        Returns
        -------
        float64 array of shape (n_samples, n_quantiles)
        """
        wanted = check_quantiles(quantiles)
        table, model = self._read(X), self.model_
        leaves = self._kept_leaves("predict_quantiles")
        return leaves.quantiles(model.forest, table, model.bins, wanted, resolve_n_jobs(self.n_jobs))

    def predict_interval(self, X: Any, coverage: float = 0.9, method: str = "oob") -> Floats:
        """Intervals that hold the target with about the probability `coverage`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        coverage : float
            Above 0 and below 1.
        method : {"oob", "jackknife+", "quantiles", "calibrated"}
            "oob": the prediction plus quantiles of the out-of-bag residuals, of one width for all rows.
            "jackknife+": the jackknife+ after the bootstrap, whose coverage is at least 2 * coverage - 1 for
            any distribution, and close to `coverage` as a rule; it takes time in proportion to rows times
            training rows times trees. "quantiles": from `predict_quantiles`; widths follow the noise, but
            coverage may be off to either side. "calibrated": the same at levels that cover as wanted out of
            bag; the best choice where noise is not alike everywhere, with some hundred trees and
            `min_samples_leaf` of 5 or so, since no bound goes beyond the targets in the leaves. All but
            "quantiles" need ``oob_score=True``, the last two ``keep_targets=True``.

        Returns
        -------
        float64 array of shape (n_samples, 2)
            Lower and upper bounds; infinite where the coverage is out of reach, but for "quantiles".
        """
        coverage, method = check_coverage(coverage), check_method(method)
        table, model, n_threads = self._read(X), self.model_, resolve_n_jobs(self.n_jobs)
        forest, bins = model.forest, model.bins
        if method == "quantiles":
            leaves = self._kept_leaves("method='quantiles'")
            return np.column_stack(quantile_interval(leaves, forest, table, bins, coverage, n_threads))
        self._check_residuals(method)
        if method == "calibrated":
            leaves = self._kept_leaves("method='calibrated'")
            levels = calibrated_levels(self._ranks, coverage, self._residual_weight)
            return np.column_stack(between_levels(leaves, forest, table, bins, levels, n_threads))
        if method == "oob":
            prediction = model.means(table, n_threads)[:, 0]
            return np.column_stack(oob_interval(prediction, self._residuals, coverage, self._residual_weight))
        with Team(n_threads) as team:
            in_bag = self._tree_sampler.in_bag(forest.n_trees, team)
        left_out, residuals = LeftOut.of(in_bag, len(self._residuals)), self._residuals
        if self._residual_weight is not None:  # rows without weight are as good as not there
            residuals = np.where(self._residual_weight > 0, residuals, np.nan)
        bounds = jackknife_interval(forest, table, bins, left_out, residuals, coverage, n_threads)
        return np.column_stack(bounds)

    def _kept_leaves(self, what: str) -> LeafTargets:
        self._check_one_output(what)
        if self._leaves is None:
            raise ValueError(
                f"{what} needs the targets of the leaves, which the fit did not keep: set keep_targets=True, "
                "from the first tree on, and fit again"
            )
        return self._leaves

    def _check_residuals(self, method: str) -> None:
        self._check_one_output(f"method={method!r}")
        if not hasattr(self, "_residuals"):
            raise ValueError(
                f"method={method!r} needs out-of-bag predictions: set bootstrap=True and oob_score=True and "
                "fit again, or take method='quantiles'"
            )

    def _check_one_output(self, what: str) -> None:
        if self.n_outputs_ > 1:
            raise ValueError(f"{what} is for one output, and the forest was fitted to {self.n_outputs_}")
