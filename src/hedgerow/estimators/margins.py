"""Old names of `votes`."""

from hedgerow.estimators.votes import VoteMargins as ShareMargins
from hedgerow.estimators.votes import score_margins

__all__ = ["ShareMargins", "score_margins"]
