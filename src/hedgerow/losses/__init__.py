"""Losses: one small class each, with its link, and a table of names.

y is (n,), raw scores are (K, n), one row of scores for each output; see `Loss` for the interface.
"""

from hedgerow.losses.base import LOSSES, IdentityLink, Link, LogitLink, LogLink, Loss, SoftmaxLink, make_loss
from hedgerow.losses.classification import BinaryLogLoss, Exponential, MultinomialLogLoss
from hedgerow.losses.custom import CustomLoss
from hedgerow.losses.regression import AbsoluteError, Gamma, Huber, Poisson, Quantile, SquaredError, Tweedie

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "BinaryLogLoss",
    "CustomLoss",
    "Exponential",
    "Gamma",
    "Huber",
    "IdentityLink",
    "Link",
    "LogLink",
    "LogitLink",
    "Loss",
    "MultinomialLogLoss",
    "Poisson",
    "Quantile",
    "SoftmaxLink",
    "SquaredError",
    "Tweedie",
    "make_loss",
]
