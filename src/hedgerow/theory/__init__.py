"""Experiments that show why ensembles work, on any scikit-learn estimator.

Bagging is said to lower variance and boosting to lower bias: `bias_variance` measures both.
"""

from hedgerow.theory.measure import bias_variance
from hedgerow.theory.resamples import Resamples
from hedgerow.theory.results import BiasVariance

__all__ = ["BiasVariance", "Resamples", "bias_variance"]
