"""Out-of-bag predictions of bagging and forests: the score, and rows without a prediction."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats

_BALANCED = "class_weight='balanced' depends on the labels of all rows, also of out-of-bag rows"
_WEIGHTED = "rows were drawn by sample_weight: out-of-bag rows are not distributed like new rows"


class OutOfBag:
    """Mixin: the score of predictions by members that were not trained on a row."""

    oob_score: Any
    oob_score_: float
    oob_votes_: NDArray[np.int64]

    def _score_out_of_bag(
        self, y: NDArray[Any], predicted: NDArray[Any], weight: Floats | None, score: Any
    ) -> None:
        """Set `oob_score_` from all targets and weights, and the predictions of rows with votes."""
        has_votes = self.oob_votes_ > 0
        counts = has_votes if weight is None else has_votes & (weight > 0)
        predicted, y = predicted[counts[has_votes]], y[counts]
        if not len(y):
            self.oob_score_ = np.nan
        elif callable(self.oob_score):
            self.oob_score_ = self.oob_score(y, predicted)
        else:
            row_weight = None if weight is None else weight[counts]
            self.oob_score_ = float(score(y, predicted, sample_weight=row_weight))

    def _warn_without_votes(self, members: str) -> None:
        n_without, n = np.sum(self.oob_votes_ == 0), len(self.oob_votes_)
        if n_without:
            warnings.warn(
                f"{n_without} of {n} rows are in the bag of every {members}: they have no out-of-bag "
                f"prediction (NaN) and are ignored in oob_score_; use more {members}s",
                stacklevel=3,
            )


def doubts_about(
    weight: Floats | None, class_weight: Any = None, before: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Reasons why out-of-bag rows may not be like new ones; `before`: those of the members of a warm start.

    >>> doubts_about(np.array([1.0, 1.0])), len(doubts_about(np.array([1.0, 2.0]), "balanced"))
    ((), 2)
    """
    doubts = list(before)
    if weight is not None and np.any(weight != weight[0]):
        doubts.append(_WEIGHTED)
    if isinstance(class_weight, str) and class_weight == "balanced":
        doubts.append(_BALANCED)
    return tuple(dict.fromkeys(doubts))
