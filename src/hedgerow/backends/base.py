"""The interface of a backend: what gradient boosting, the AdaBoost family and forests need from rows.

A backend owns what is as large as the rows: their codes, and for gradient boosting also targets, scores,
gradients and statistics. The engines call it a few times per round and receive trees:

    gradient boosting   rows = backend.training_rows([fit], train)[0]
                        for every round:  gradients = rows.gradients()
                                          trees     = rows.fit(gradients, iteration)
                                          rows.update(trees)

    AdaBoost family     rows = backend.weak_rows(table, bins, team);  grower = rows.make_grower(rules)
                        for every round:  tree, leaf_ids = grower.grow_with_leaf_ids(sample, n_channels)

    forests             grower = backend.forest_grower(task, numbers, n_threads)
                        for every tree:   tree = grower.fit(number, number)

`hedgerow.backends.cpu` keeps the rows in memory, `hedgerow.backends.sharded` in shards, in this process or on
other machines. All backends return identical trees.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.backends.target_statistics import TargetStatistics
from hedgerow.binning import Bins
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.deep import ForestTask
from hedgerow.growing.grower import GrowthOptions, Weights
from hedgerow.growing.weak_tree import LeafIds, WeakRules, WeakTree
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.linear_terms import LinearTerms
from hedgerow.losses import Loss
from hedgerow.table.table import Dataset, Table
from hedgerow.threads import Team
from hedgerow.voting import VotingTree

# --- gradient boosting


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
    path_smooth: float
    leaf_value_folds: int | None
    estimator: Any
    linear_l2: float | None
    seed: int
    n_threads: int
    validation_rows: RowNumbers | None

    def rate(self, iteration: int) -> float:
        """Return the learning rate of a round."""

    def finish_values(
        self,
        values: Floats,
        counts: Integers,
        nodes: NDArray[np.void],
        iteration: int,
        value_nodes: Integers | None = None,
    ) -> Floats:
        """Bound and smooth values (nodes, m), and multiply them by the learning rate of the round."""

    def shrink(self, nodes: NDArray[np.void], iteration: int, value_nodes: Integers | None = None) -> None:
        """Do `finish_values` for the values of a tree."""


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


# --- the AdaBoost family


class WeakTreeGrower(Protocol):
    """Grows weak trees, see `hedgerow.growing.weak_tree.WeakGrower`."""

    def grow_with_leaf_ids(self, sample: Sample, n_channels: int) -> tuple[WeakTree, LeafIds]:
        """Grow a tree on the rows with weight; return it and the leaves of all rows."""


class WeakRows(Protocol):
    """Codes of rows for weak trees; the weights, classes and scores of all rows are in this process."""

    def make_grower(self, rules: WeakRules) -> WeakTreeGrower:
        """Return a grower of trees on these rows."""

    def leaf_ids(self, tree: WeakTree) -> LeafIds:
        """Return the node number of the leaf of every row."""

    def scores(self, forest: Forest, n_outputs: int) -> Floats:
        """Sum the leaf values of the trees of a forest, (outputs, rows)."""

    def close(self) -> None:
        """Release what is not in the memory of this process."""


# --- forests


class ForestGrower(Protocol):
    """Grows the trees of a forest before the loop requests them; the loop collects them in order."""

    def fit(self, targets: int, iteration: int) -> VotingTree:
        """Return the next tree."""

    def close(self) -> Iterator[VotingTree]:
        """Stop; yield the trees that are grown but not collected, which exist only after an interrupt."""


# --- all of them


class Backend(Protocol):
    """Where rows are kept and trees are grown; `FitOptions.backend` chooses one for a table.

    concurrent_fits : whether several threads may use the rows of several fits, of the same table, at once
    """

    concurrent_fits: bool

    def training_rows(self, fits: Sequence[TreeFit], train: Dataset) -> list[TrainingRows]:
        """Encode the training rows and compute their first scores, for each of several fits."""

    def evaluation_rows(self, fit: TreeFit, rows: Dataset) -> EvaluationRows:
        """Encode an evaluation set and compute its first scores."""

    def weak_rows(self, table: Table, bins: Bins, team: Team) -> WeakRows:
        """Encode rows for weak trees."""

    def forest_grower(self, task: ForestTask, numbers: range, n_threads: int) -> ForestGrower:
        """Start to grow trees of these numbers; `n_threads` are those of this process."""
