"""Pictures of fitted models, in scikit-learn's manner: `Display.from_estimator(...)` computes and draws.

A display holds what it draws, so that `plot` can draw it again on other axes. Matplotlib is imported when
something is drawn.
"""

from hedgerow.plots.bias_variance import BiasVarianceDisplay
from hedgerow.plots.rounds import BoostingRoundsDisplay
from hedgerow.plots.shapes import ShapeFunctionDisplay

__all__ = ["BiasVarianceDisplay", "BoostingRoundsDisplay", "ShapeFunctionDisplay"]
