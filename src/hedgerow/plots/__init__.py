"""Pictures of fitted models, in scikit-learn's manner: `Display.from_estimator(...)` computes and draws.

A display holds what it draws, so that `plot` can draw it again on other axes. Matplotlib is imported when
something is drawn.
"""

from hedgerow.plots.bias_variance import BiasVarianceDisplay
from hedgerow.plots.bounds import BoundsDisplay
from hedgerow.plots.calibration import CalibrationDisplay
from hedgerow.plots.cascade import CascadeDisplay
from hedgerow.plots.confusion import ConfusionMatrixDisplay
from hedgerow.plots.curves import CurvesDisplay
from hedgerow.plots.error_rounds import ErrorRoundsDisplay
from hedgerow.plots.importances import ImportancesDisplay
from hedgerow.plots.loss_rounds import LossRoundsDisplay
from hedgerow.plots.margins import MarginDistributionDisplay
from hedgerow.plots.partial import PartialDependenceDisplay
from hedgerow.plots.predicted import PredictedDisplay
from hedgerow.plots.ranking import PrecisionRecallDisplay, RocCurveDisplay
from hedgerow.plots.rounds import BoostingRoundsDisplay
from hedgerow.plots.sample_sizes import SampleSizeDisplay
from hedgerow.plots.scores import ScoresDisplay
from hedgerow.plots.shapes import ShapeFunctionDisplay
from hedgerow.plots.weight_paths import WeightPathsDisplay

__all__ = [
    "BiasVarianceDisplay",
    "BoostingRoundsDisplay",
    "BoundsDisplay",
    "CalibrationDisplay",
    "CascadeDisplay",
    "ConfusionMatrixDisplay",
    "CurvesDisplay",
    "ErrorRoundsDisplay",
    "ImportancesDisplay",
    "LossRoundsDisplay",
    "MarginDistributionDisplay",
    "PartialDependenceDisplay",
    "PrecisionRecallDisplay",
    "PredictedDisplay",
    "RocCurveDisplay",
    "SampleSizeDisplay",
    "ScoresDisplay",
    "ShapeFunctionDisplay",
    "WeightPathsDisplay",
]
