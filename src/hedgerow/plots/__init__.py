"""Pictures of fitted models, in scikit-learn's manner: `Display.from_estimator(...)` computes and draws.

A display holds what it draws, so that `plot` can draw it again on other axes. Matplotlib is imported when
something is drawn.
"""

from hedgerow.plots.bias_variance import BiasVarianceDisplay
from hedgerow.plots.cascade import CascadeDisplay
from hedgerow.plots.error_rounds import ErrorRoundsDisplay
from hedgerow.plots.margins import MarginDistributionDisplay
from hedgerow.plots.rounds import BoostingRoundsDisplay
from hedgerow.plots.sample_sizes import SampleSizeDisplay
from hedgerow.plots.shapes import ShapeFunctionDisplay
from hedgerow.plots.weight_paths import WeightPathsDisplay

__all__ = [
    "BiasVarianceDisplay",
    "BoostingRoundsDisplay",
    "CascadeDisplay",
    "ErrorRoundsDisplay",
    "MarginDistributionDisplay",
    "SampleSizeDisplay",
    "ShapeFunctionDisplay",
    "WeightPathsDisplay",
]
