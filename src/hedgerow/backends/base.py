"""The interface of a backend: what gradient boosting with trees needs from the rows of a fit.

A backend owns everything that is as large as the rows: codes, targets, scores, gradients and statistics. The
engine calls it a few times per round and receives trees:

    rows = backend.training_rows([fit], train)[0]
    for every round:
        gradients = rows.gradients()
        trees     = rows.fit(gradients, iteration)
        rows.update(trees)

`hedgerow.backends.cpu` keeps the rows in memory, `hedgerow.backends.sharded` in shards, in this process or on
other machines. All backends return identical trees.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, RowNumbers
from hedgerow.backends.target_statistics import TargetStatistics
from hedgerow.binning import Bins
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.grower import GrowthOptions, Weights
from hedgerow.linear_terms import LinearTerms
from hedgerow.losses import Loss
from hedgerow.table.table import Dataset
from hedgerow.threads import Team


@dataclass(frozen=True, eq=False)
class TreeRound:
    """The trees of a round, as node records: one per output; with folds, one per output and fold.

    `terms` are the linear functions of the leaves of every tree; none for constant leaves.
    """

    trees: list[NDArray[np.void]]
    n_leaves: int
    terms: Sequence[LinearTerms] = field(default=(), kw_only=True)


class BoostingOptions(Protocol):
    """The options of a fit that the rows and weak learners read; see `GradientBoostingOptions`."""

    loss: Loss
    growth: GrowthOptions
    newton: bool
    sampling: str
    subsample: float
    bagging_temperature: float
    drop_rate: float
    max_drop: int | None
    estimator: Any
    linear_l2: float | None
    seed: int
    n_threads: int
    validation_rows: RowNumbers | None

    def rate(self, iteration: int) -> float:
        """Return the learning rate of a round."""

    def shrink(self, nodes: NDArray[np.void], iteration: int) -> None:
        """Bound the values of a tree, and multiply them by the learning rate of the round."""


@dataclass(eq=False)
class TreeFit:
    """A fit, as all backends receive it.

    Parameters
    ----------
    options : BoostingOptions
    bins : Bins
    start : float64 (outputs,)
        Scores before the first tree.
    weights : Weights
        Weights of the training rows.
    loss_weight : float64 (rows,) or None
        The same weights for the loss; 0 for validation rows.
    team : Team
    previous : TreeModel or None
        The model that the fit starts from.
    forest : callable
        Returns all trees so far, including those of `previous`.
    statistics : TargetStatistics or None
        Of columns that are coded by target statistics.
    """

    options: BoostingOptions
    bins: Bins
    start: Floats
    weights: Weights
    loss_weight: Floats | None
    team: Team
    previous: TreeModel | None
    forest: Callable[[], Forest]
    statistics: TargetStatistics | None = None


class EvaluationRows(Protocol):
    """Rows with targets and scores."""

    def update(self, fitted: Any) -> None:
        """Add the trees of a round to the scores."""

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""

    def close(self) -> None:
        """Release what is not in the memory of this process; by default nothing."""
        return


class TrainingRows(EvaluationRows, Protocol):
    """The training rows of a fit; they are also the weak learner of the boosting loop.

    `validation` are the training rows that are held out for validation. `update` updates their scores too.
    """

    @property
    def validation(self) -> EvaluationRows | None:
        """The rows held out for validation."""

    def gradients(self) -> Any:
        """Compute the gradients at the current scores; return them, or None if shards keep them."""

    def fit(self, gradients: Any, iteration: int) -> Any:
        """Grow the trees of a round, with their leaf values."""


class Backend(Protocol):
    """Creates the rows of a fit from datasets."""

    def training_rows(self, fits: Sequence[TreeFit], train: Dataset) -> list[TrainingRows]:
        """Encode the training rows and compute their first scores, for each of several fits."""

    def evaluation_rows(self, fit: TreeFit, rows: Dataset) -> EvaluationRows:
        """Encode an evaluation set and compute its first scores."""
