"""The hypotheses that boosting chooses its members from, as generalisation bounds count them."""

import math
from dataclasses import dataclass
from typing import Any

from hedgerow.binning import Bins
from hedgerow.growing.weak_tree import WeakRules

_MOST_LEAVES = 1024


class NoVoteError(AttributeError, TypeError):
    """The model has no weighted vote of known hypotheses; an `AttributeError`, so that `hasattr` is False."""


@dataclass(frozen=True)
class HypothesisClass:
    """Trees of at most so many leaves, each of which names one of two classes; stumps have two leaves.

    Missing values may go either way at every cut, and a cut may part them from all others.

    Parameters
    ----------
    n_columns : int
    n_leaves : int
    n_edges : tuple of int, or None
        How many values each column may be cut at, where these were given before the rows were seen; None if
        they come from the rows.

    Examples
    --------
    >>> HypothesisClass(2, 2, (9, 9)).size  # 2 columns x (9 cuts x 4 + missing alone x 2), and two constants
    78
    """

    n_columns: int
    n_leaves: int
    n_edges: tuple[int, ...] | None = None

    @classmethod
    def of(cls, rules: WeakRules, bins: Bins) -> "HypothesisClass":
        """Refuses, with a `TypeError` that says why, what is not counted here."""
        if bins.categorical.any():
            raise NoVoteError("categorical columns are cut by sets of categories, which are not counted here")
        if rules.max_depth is None and rules.max_leaf_nodes is None:
            raise NoVoteError("the trees may have any number of leaves")
        depth = _MOST_LEAVES if rules.max_depth is None else rules.max_depth  # more than is looked at
        leaves = min(2 ** min(depth, _MOST_LEAVES), rules.max_leaf_nodes or 2**_MOST_LEAVES)
        if leaves > _MOST_LEAVES:
            raise NoVoteError(
                f"the trees may have more than {_MOST_LEAVES:,} leaves, too large a class for any bound"
            )
        edges: Any = (bins.edge_starts[1:] - bins.edge_starts[:-1]).tolist()
        return cls(bins.n_columns, leaves, tuple(edges) if bins.user_defined.all() else None)

    @property
    def is_stumps(self) -> bool:
        """Whether there is one cut."""
        return self.n_leaves == 2

    @property
    def size(self) -> int:
        """How many hypotheses there are at the most, with cuts at given values only.

        A tree of L leaves is one of Catalan(L - 1) shapes with a cut in each of L - 1 nodes and a class in
        each leaf. A column with e edges has 2 e + 1 cuts: missing goes either way at each, or alone.
        """
        if self.n_edges is None:
            raise NoVoteError("columns are cut at values that come from the rows: the class is not finite")
        cuts = sum(2 * edges + 1 for edges in self.n_edges)
        if self.is_stumps:
            return 2 * cuts + 2  # a cut and which side is which class, or a constant
        inner = self.n_leaves - 1
        shapes = math.comb(2 * inner, inner) // (inner + 1)
        return shapes * int(cuts**inner) * int(2**self.n_leaves)
