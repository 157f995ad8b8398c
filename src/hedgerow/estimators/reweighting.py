"""Old name of `votes.WeightedVote`."""

from hedgerow.estimators.votes import WeightedVote as Reweighted

__all__ = ["Reweighted"]
