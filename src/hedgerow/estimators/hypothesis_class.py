"""HypothesisClass: the hypotheses that boosting chooses from, as generalization bounds count them."""

import math
from dataclasses import dataclass
from typing import Any

from hedgerow.binning import Bins
from hedgerow.growing.weak_tree import WeakRules

_MAX_LEAVES = 1024


class NoVoteError(AttributeError, TypeError):
    """The model is not a vote of a known hypothesis class. `hasattr` is False: it is an `AttributeError`."""


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
        """Return the class of trees with these limits; a `NoVoteError` if it is not counted here."""
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
