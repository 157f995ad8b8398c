"""Out-of-bag answers of bags and forests: the score, rows without an answer, and the losses of the voters."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats

_BALANCED = "class_weight='balanced' weighs the classes by the labels of all rows, those left out too"
_WEIGHTED = "rows were drawn by sample_weight, so that those left out are not like new ones"


class OutOfBag:
    """What bags and forests do with the answers of members that did not learn from a row; a mixin."""

    oob_score: Any
    oob_score_: float
    oob_votes_: NDArray[np.int64]

    def _score_oob(
        self, said: NDArray[Any], predicted: NDArray[Any], weight: Floats | None, score: Any
    ) -> None:
        """Set `oob_score_` by the targets and predictions (n,) or (known,) of the rows that have one.

        said, weight : of all rows; predicted : of those with an answer.
        """
        known = self.oob_votes_ > 0
        counts = known if weight is None else known & (weight > 0)
        predicted, said = predicted[counts[known]], said[counts]
        if not len(said):
            self.oob_score_ = np.nan
        elif callable(self.oob_score):
            self.oob_score_ = self.oob_score(said, predicted)
        else:
            row_weight = None if weight is None else weight[counts]
            self.oob_score_ = float(score(said, predicted, sample_weight=row_weight))

    def _tell_unknown(self, members: str) -> None:
        n_unknown, n = np.sum(self.oob_votes_ == 0), len(self.oob_votes_)
        if n_unknown:
            warnings.warn(
                f"{n_unknown} of {n} rows are in the bag of every {members}: they have no out-of-bag "
                f"prediction (NaN) and do not count in oob_score_; more {members}s would help",
                stacklevel=3,
            )


def doubts_about(
    weight: Floats | None, class_weight: Any = None, before: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Why rows left out may not be like new ones; `before`: of the members gone on from.

    >>> doubts_about(np.array([1.0, 1.0])), len(doubts_about(np.array([1.0, 2.0]), "balanced"))
    ((), 2)
    """
    doubts = list(before)
    if weight is not None and np.any(weight != weight[0]):
        doubts.append(_WEIGHTED)
    if isinstance(class_weight, str) and class_weight == "balanced":
        doubts.append(_BALANCED)
    return tuple(dict.fromkeys(doubts))
