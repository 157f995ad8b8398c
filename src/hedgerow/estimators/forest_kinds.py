"""Forests for classes and for numbers: their targets, and what the means of the trees are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.bagging.forest import LIGHT_BITS, DeepTarget, TreeSampler
from hedgerow.bagging.pair_losses import STEPS, Losses, PairLosses
from hedgerow.estimators import inputs, parameters
from hedgerow.estimators.forest_base import ALLOWED, Forest, Target
from hedgerow.estimators.forest_quantiles import Intervals
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.out_of_bag import doubts_about
from hedgerow.estimators.parameters import Allowed, flag, nothing, one_of
from hedgerow.estimators.reweighting import Reweighted
from hedgerow.estimators.scoring import Classifies, Regresses
from hedgerow.losses.base import weighted_mean
from hedgerow.table import Table
from hedgerow.threads import resolve_n_jobs


class ForestClassifier(Classifies, Reweighted, Forest):
    """What forests for classes share."""

    classes_: NDArray[Any]
    _doubts: tuple[str, ...] = ()  # about rows left out, of all trees
    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "criterion": one_of("gini", "entropy", "log_loss"),
        "class_weight": nothing() | one_of("balanced", "balanced_subsample") | parameters.class_weights(),
    }
    _oob_names: ClassVar[tuple[str, ...]] = (
        "oob_score_",
        "oob_votes_",
        "oob_decision_function_",
        *("oob_losses_", "vote_losses_"),
    )

    def _read_y(self, y: Any, n_rows: int) -> tuple[Target, Floats]:
        raw = inputs.read_target(y, n_rows, type(self).__name__)
        going_on = self.warm_start and hasattr(self, "model_")
        target = inputs.Labels(self.classes_) if going_on else inputs.Labels.of(raw)
        return target, target.encode(raw)

    def _criterion(self) -> str:
        return "entropy" if self.criterion == "log_loss" else str(self.criterion)

    def _balances_trees(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    def _own_weight(self, y: Floats, target: Target, weight: Floats | None) -> Floats | None:
        own = super()._own_weight(y, target, weight)
        if self.class_weight is None or self._balances_trees():
            return own
        assert target.classes is not None  # noqa: S101 - labels have classes
        inputs.weigh_classes(self.class_weight, y, target.classes, weight)  # refuses zero weights only
        factors = inputs.class_factors(self.class_weight, y, target.classes, weight)[y.astype(np.int64)]
        return factors if own is None else factors * own

    def _deep_target(
        self, y: Floats, target: Target, sampling: TreeSampler, weight: Floats | None
    ) -> DeepTarget:
        assert target.n_classes is not None  # noqa: S101 - labels have classes
        bits = {"bits": LIGHT_BITS} if self._balances_trees() else {}
        n_draws = sampling.draws.n_draws
        return DeepTarget.of_classes(y.astype(np.int64), target.n_classes, weight, n_draws, **bits)

    def _keep_oob(self, means: Floats, known: NDArray[np.bool_]) -> tuple[NDArray[Any], Any]:
        from sklearn.metrics import accuracy_score  # noqa: PLC0415 - loads 0.05 s of modules

        self.oob_decision_function_ = means
        return self.classes_[np.argmax(means[known], axis=1)], accuracy_score

    def _remember(self, table: Table, y: Floats, weight: Floats | None) -> None:
        self.row_fingerprints_ = self._row_fingerprints(table, y, len(self.classes_), weight)
        self.grid_hashes_ = getattr(self.bin_edges, "hashes", None)
        self._doubts = doubts_about(weight, self.class_weight, self._doubts if self.warm_start else ())

    def _set_oob(self, table: Table, y: Floats, in_bag: NDArray[np.uint8], weight: Floats | None) -> None:
        super()._set_oob(table, y, in_bag, weight)
        losses = self._losses(table, y.astype(np.int64), in_bag)
        n_threads = resolve_n_jobs(self.n_jobs)
        self.oob_losses_ = PairLosses.of(
            losses, self.n_estimators_, len(self.classes_), self._doubts, n_threads
        )

    def _losses(
        self, table: Table, classes: NDArray[np.int64], in_bag: NDArray[np.uint8] | None = None
    ) -> Iterator[Losses]:
        forest, bins, n_threads = self.model_.forest, self.model_.bins, resolve_n_jobs(self.n_jobs)
        losses: Iterator[Losses] = forest.losses(table, bins, classes, STEPS, n_threads, in_bag)
        return losses

    def vote_losses(self, X: Any, y: Any) -> PairLosses:
        """Losses of the trees on rows that are new to all of them, one by one and in pairs.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        PairLosses
            What bounds from votes are computed from, see `hedgerow.theory`.
        """
        table = self._read(X)
        losses = self._losses(table, self._class_numbers(y, table.n_rows))
        n_threads = resolve_n_jobs(self.n_jobs)
        return PairLosses.of(losses, self.n_estimators_, len(self.classes_), n_threads=n_threads)

    @property
    def estimator_weights_(self) -> Floats:
        """The share of every tree in the vote: the same for all, unless `reweighted` has changed it."""
        check_is_fitted(self, "model_")
        n_trees, weights = self.model_.forest.n_trees, self.model_.weights
        return np.full(n_trees, 1.0 / n_trees) if weights is None else weights.copy()

    def _set_weights(self, weights: Floats) -> None:
        self.model_ = replace(self.model_, weights=weights)

    def _said(self, y: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[y.astype(np.int64)]
        return labels

    @lazily
    def predict_proba(self, X: Any) -> Floats:
        """Mean over the trees of the shares of the classes in the leaf of every row.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return self._means(X)

    @lazily
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @lazily
    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of every row; ties go to the first class.

        Returns
        -------
        array of shape (n_samples,)
        """
        means = self._means(X)
        labels: NDArray[Any] = self.classes_[np.argmax(means, axis=1)]
        return labels


class ForestRegressor(Regresses, Intervals):
    """What forests for numbers share."""

    _allowed: ClassVar[dict[str, Allowed]] = {
        **ALLOWED,
        "criterion": one_of("squared_error", "poisson"),
        "keep_targets": flag(),
    }
    _oob_names: ClassVar[tuple[str, ...]] = (
        *("oob_score_", "oob_votes_", "oob_prediction_"),
        *("_residuals", "_residual_weight", "_ranks"),
    )

    def _read_y(self, y: Any, n_rows: int) -> tuple[Target, Floats]:
        target = inputs.Numbers()
        numbers = target.encode(inputs.read_target(y, n_rows, type(self).__name__, multi_output=True))
        if self.criterion == "poisson":
            bad = np.flatnonzero((numbers.reshape(n_rows, -1) < 0).any(axis=1))
            if bad.size:
                raise ValueError(
                    f"y[{bad[0]}] is {numbers[bad[0]]}, which criterion='poisson' does not allow: it must "
                    "be >= 0"
                )
        return target, numbers

    def _deep_target(
        self, y: Floats, target: Target, sampling: TreeSampler, weight: Floats | None
    ) -> DeepTarget:
        columns = y.reshape(len(y), -1)
        rows, copies = sampling.draws.pool.order, sampling.copies
        counts = (copies if weight is None else weight)[rows].astype(np.float64)
        centre = np.zeros(columns.shape[1])
        if self.criterion == "squared_error":
            centre = np.array([weighted_mean(column[rows], counts) for column in columns.T])
        return DeepTarget.of_numbers(columns, centre, rows, sampling.draws.n_draws, weight)

    def _keep(self, *args: Any) -> None:
        super()._keep(*args)
        self.n_outputs_ = self.model_.forest.n_outputs

    def _keep_oob(self, means: Floats, known: NDArray[np.bool_]) -> tuple[NDArray[Any], Any]:
        from sklearn.metrics import r2_score  # noqa: PLC0415 - loads 0.05 s of modules

        self.oob_prediction_ = means[:, 0] if means.shape[1] == 1 else means
        return self.oob_prediction_[known], r2_score

    @lazily
    def predict(self, X: Any) -> Floats:
        """Mean over the trees of the mean target in the leaf of every row.

        Returns
        -------
        float64 array of shape (n_samples,) or (n_samples, n_outputs)
        """
        means = self._means(X)
        return means[:, 0] if means.shape[1] == 1 else means

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags
