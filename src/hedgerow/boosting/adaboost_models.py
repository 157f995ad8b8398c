"""Models of the AdaBoost family besides `TreeModel`: votes of members, and weighted medians (AdaBoost.R2).

`VoteModel` adds up the scores of members of other libraries. `MedianTrees` and `MedianMembers` predict a
weighted median. Predictions of the members are (rows, members). The weighted median of a row is the smallest
prediction for which the members that predict at most this value have half of the total weight. A single
extreme member changes it little.

`HypothesisClass` describes the hypotheses that members are chosen from, as generalization bounds count them.
"""

import abc
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.binning import Bins
from hedgerow.boosting.weak_learners import probability_directions, vote_directions
from hedgerow.forest import TreeModel
from hedgerow.growing.weak_tree import WeakRules
from hedgerow.kernels.cpu.adaboost import update_medians
from hedgerow.kernels.cpu.forest import find_leaves
from hedgerow.kernels.cpu.quantiles import weighted_quantiles
from hedgerow.losses.base import weighted_mean
from hedgerow.members import MemberSum, predict_classes, predict_probabilities, predict_values
from hedgerow.system_memory import require_memory
from hedgerow.table import Table
from hedgerow.threads import Team, over_rows, rows_per_block

Predictions = Callable[[int, int], Floats]  # predictions (rows, members) of rows start..stop-1
OverRows = Callable[[int, Callable[[int, int], Any]], Any]

_BITS = 52  # of the sum of integer weights
_BLOCK_ROWS = 4096  # rows whose medians are computed at a time
_CHUNK_ROWS = 8192  # rows that a thread processes at a time
_MAX_LEAVES = 1024  # of trees whose class is counted
_FIRST_ROUNDS = 16  # initial capacity of running medians, doubled when it is full


@dataclass(frozen=True, eq=False)
class VoteModel(MemberSum):
    """Members of other libraries in the AdaBoost family.

    Scores are sums of weight * direction:

    classes          -1 or +1 for two classes, else 1 for the predicted class and 0 for the others
    probabilities    log(p1 / p0) / 2, else (K - 1)(log p_k - mean of log p)      (Zhu et al. 2009)
    numbers          the prediction, one member for each output

    """

    members: list[list[Any]]  # rounds x outputs
    weights: list[float]  # alpha of every round
    prediction_type: str
    classes: NDArray[Any]  # the labels
    n_outputs: int
    floor: float  # lower limit of probabilities

    def cut(self, n_rounds: int) -> "VoteModel":
        """Return a model of the first rounds."""
        return replace(self, members=self.members[:n_rounds], weights=self.weights[:n_rounds])

    def _start(self, n_rows: int) -> Floats:
        return np.zeros((self.n_outputs, n_rows))

    def _added(self, X: Any) -> Iterator[Floats]:
        for members, weight in zip(self.members, self.weights, strict=True):
            yield weight * self._directions(members, X)

    def _directions(self, members: Sequence[Any], X: Any) -> Floats:
        """Return directions (outputs, rows) of the members of a round."""
        if self.prediction_type == "classes":
            return vote_directions(predict_classes(members[0], X, self.classes), len(self.classes))
        if self.prediction_type == "probabilities":
            return probability_directions(predict_probabilities(members[0], X, self.classes), self.floor)
        return np.stack([predict_values(member, X) for member in members])


# --- weighted medians


def integer_weights(weights: Sequence[float]) -> Floats:
    """Scale weights to integers whose sums are below 2**53.

    Float64 adds these exactly, in any order, so that halves of the sum are exact.
    """
    exponent = _BITS - math.frexp(math.fsum(weights))[1]
    scaled: Floats = np.maximum(np.rint(np.ldexp(np.array(weights), exponent)), 1.0)
    return scaled


def weighted_medians(values: Floats, weights: Sequence[float]) -> Floats:
    """Compute the weighted median of every row of `values` (rows, members).

    >>> weighted_medians(np.array([[3.0, 1.0, 2.0], [5.0, 0.0, 9.0]]), [1.0, 1.0, 1.5])
    array([2., 5.])
    """
    n_rows, n_members = values.shape
    starts = np.arange(n_rows + 1, dtype=np.int64) * n_members
    flat = np.array(values, order="C").reshape(-1)  # a copy: the kernel reorders it
    medians: Floats = weighted_quantiles(flat, np.tile(integer_weights(weights), n_rows), starts, 0.5)
    return medians


class RunningMedians:
    """Weighted medians of rows, to which members are added one by one; over_rows : `Team.over_rows`."""

    def __init__(self, n_rows: int, over_rows: OverRows) -> None:
        self.medians = np.empty(n_rows)
        self._over_rows = over_rows
        self._values = np.empty((n_rows, _FIRST_ROUNDS))
        self._members = np.empty((n_rows, _FIRST_ROUNDS), np.int32)

    def add(self, predicted: Floats, weights: Sequence[float]) -> None:
        """Update the medians with the predictions of another member; `weights` are those of all members."""
        if len(weights) > self._values.shape[1]:
            self._values, self._members = (
                np.concatenate([array, np.empty_like(array)], axis=1)
                for array in (self._values, self._members)
            )
        values, members, medians = self._values, self._members, self.medians
        scaled_weights, predicted = integer_weights(weights).astype(np.int64), np.ascontiguousarray(predicted)
        self._over_rows(
            len(medians),
            lambda a, b: update_medians(values, members, predicted, scaled_weights, medians, a, b),
        )


@dataclass(frozen=True, eq=False)
class MedianModel(abc.ABC):
    """One member and its weight alpha for every round."""

    weights: list[float]

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.weights)

    @abc.abstractmethod
    def cut(self, n_rounds: int) -> "MedianModel":
        """Return the first rounds."""

    @abc.abstractmethod
    def member_predictions(self, X: Any, table: Table) -> Predictions:
        """Return predictions of the members."""

    def predict(self, X: Any, table: Table, n_threads: int) -> Floats:
        """Return weighted medians of all rows."""
        predictions, out = self.member_predictions(X, table), np.empty(table.n_rows)
        step = rows_per_block(max(table.n_columns, self.n_rounds), _BLOCK_ROWS)

        def fill(start: int, stop: int) -> None:
            for a in range(start, stop, step):
                b = min(a + step, stop)
                out[a:b] = weighted_medians(predictions(a, b), self.weights)

        over_rows(table.n_rows, fill, n_threads, _CHUNK_ROWS)
        return out

    def staged_predict(self, X: Any, table: Table, n_threads: int) -> Iterator[Floats]:
        """Yield weighted medians after every round."""
        predictions, n_rows = self.member_predictions(X, table), table.n_rows
        need = {"predictions of the members": 24 * n_rows * self.n_rounds}
        require_memory(
            need, f"medians of {n_rows:,} rows after each of {self.n_rounds:,} rounds", "use fewer rows"
        )
        member_values = np.empty((n_rows, self.n_rounds))
        step = rows_per_block(max(table.n_columns, self.n_rounds), _BLOCK_ROWS)
        for a in range(0, n_rows, step):
            b = min(a + step, n_rows)
            member_values[a:b] = predictions(a, b)
        running = RunningMedians(n_rows, lambda n, task: over_rows(n, task, n_threads, _CHUNK_ROWS))
        for number in range(self.n_rounds):
            running.add(member_values[:, number], self.weights[: number + 1])
            yield running.medians.copy()


@dataclass(frozen=True, eq=False)
class MedianTrees(MedianModel):
    """Trees; the value of a leaf is the prediction of the tree, and values are not added up."""

    trees: TreeModel

    def cut(self, n_rounds: int) -> "MedianTrees":
        """Return the first rounds."""
        return MedianTrees(self.weights[:n_rounds], self.trees.cut(n_rounds))

    def member_predictions(self, X: Any, table: Table) -> Predictions:
        """Return leaf values of the rows of a table."""
        forest, bins = self.trees.forest, self.trees.predictor.bins
        flat, firsts = forest.trees, forest.starts[:-1]

        def predictions(start: int, stop: int) -> Floats:
            leaves = np.empty((stop - start, forest.n_trees), np.int32)
            find_leaves(table.block(start, stop), bins, flat, leaves, 0)
            values: Floats = forest.value[leaves + firsts]
            return values

        return predictions


@dataclass(frozen=True, eq=False)
class MedianMembers(MedianModel):
    """Fitted regressors of another library."""

    members: list[Any]

    def cut(self, n_rounds: int) -> "MedianMembers":
        """Return the first rounds."""
        return MedianMembers(self.weights[:n_rounds], self.members[:n_rounds])

    def member_predictions(self, X: Any, table: Table) -> Predictions:
        """Return predictions for X; `predict` of each member is called once."""
        predictions = np.stack([predict_values(member, X) for member in self.members], axis=1)
        return lambda start, stop: predictions[start:stop]


class MedianRows:
    """Rows with their running medians, whose mean absolute error is computed.

    rows : input of the learner, or None
    subset : numbers of these rows among the training rows, if they are some of them
    """

    def __init__(
        self,
        y: Floats,
        weight: Floats | None,
        team: Team,
        *,
        rows: Any = None,
        subset: NDArray[np.uint32] | None = None,
    ) -> None:
        self.y, self.weight, self.rows, self.subset = y, weight, rows, subset
        self._running = RunningMedians(len(y), team.over_rows)

    def add(self, predicted: Floats, weights: Sequence[float]) -> None:
        """Add the predictions of another member; `weights` are those of all members."""
        self._running.add(predicted, weights)

    def error(self) -> float:
        """Return the weighted mean of |y - median|."""
        return weighted_mean(np.abs(self.y - self._running.medians), self.weight)


# --- hypothesis classes


class NoVoteError(AttributeError, TypeError):
    """Raised for a model that is not a vote of a known hypothesis class; `hasattr` is then False."""


@dataclass(frozen=True)
class HypothesisClass:
    """Trees with at most `n_leaves` leaves, each predicting one of two classes; stumps have two leaves.

    Missing values may go to either side of a split, and a split may separate them from all others.

    Parameters
    ----------
    n_columns : int
    n_leaves : int
    n_edges : tuple of int, or None
        Number of possible thresholds of each column, if they were fixed before the data; None if they come
        from the training rows.

    Examples
    --------
    >>> HypothesisClass(2, 2, (9, 9)).size  # 2 columns x (9 thresholds x 4 + missing alone x 2), 2 constants
    78
    """

    n_columns: int
    n_leaves: int
    n_edges: tuple[int, ...] | None = None

    @classmethod
    def of(cls, rules: WeakRules, bins: Bins) -> "HypothesisClass":
        """Return the class of trees with these limits; raise `NoVoteError` if its size is unknown."""
        if bins.categorical.any():
            raise NoVoteError("categorical columns are split by sets of categories, which are not counted")
        if rules.max_depth is None and rules.max_leaf_nodes is None:
            raise NoVoteError("the trees may have any number of leaves")
        depth = _MAX_LEAVES if rules.max_depth is None else rules.max_depth
        leaves = min(2 ** min(depth, _MAX_LEAVES), rules.max_leaf_nodes or 2**_MAX_LEAVES)
        if leaves > _MAX_LEAVES:
            raise NoVoteError(f"the trees may have more than {_MAX_LEAVES:,} leaves, too many for any bound")
        edges: Any = (bins.edge_starts[1:] - bins.edge_starts[:-1]).tolist()
        return cls(bins.n_columns, leaves, tuple(edges) if bins.user_defined.all() else None)

    @property
    def is_stumps(self) -> bool:
        """Whether trees have one split."""
        return self.n_leaves == 2

    @property
    def size(self) -> int:
        """Maximum number of hypotheses, for thresholds that were fixed before the data.

        A tree with L leaves has one of Catalan(L - 1) shapes, a split in each of L - 1 nodes and a class in
        each leaf. A column with e edges has 2 e + 1 splits: missing values go to either side, or alone.
        """
        if self.n_edges is None:
            raise NoVoteError("thresholds come from the training rows: the class is not finite")
        splits = sum(2 * edges + 1 for edges in self.n_edges)
        if self.is_stumps:
            return 2 * splits + 2  # a split with two orders of the classes, or a constant
        inner = self.n_leaves - 1
        shapes = math.comb(2 * inner, inner) // (inner + 1)
        return shapes * int(splits**inner) * int(2**self.n_leaves)
