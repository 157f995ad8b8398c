"""Displays of fitted models with the interface of scikit-learn: `from_estimator` computes and draws.

A display holds what it draws, so that `plot` can draw it again on other axes. Its figure is `figure_`,
its axes `ax_`, or `axes_` for several panels. Matplotlib is installed by the extra `plots`.
"""

from hedgerow.optional import require_extra

require_extra("matplotlib", extra="plots")

from hedgerow.plots.bias_variance import BiasVarianceDisplay  # noqa: E402 - without matplotlib, one line
from hedgerow.plots.boosting_curves import MarginDistributionDisplay, WeightPathsDisplay  # noqa: E402
from hedgerow.plots.boosting_rounds import BoostingRoundsDisplay  # noqa: E402
from hedgerow.plots.bounds import BoundsDisplay  # noqa: E402
from hedgerow.plots.cascade import CascadeDisplay  # noqa: E402
from hedgerow.plots.classification import CalibrationDisplay, ConfusionMatrixDisplay  # noqa: E402
from hedgerow.plots.comparison import CurvesDisplay, ScoresDisplay  # noqa: E402
from hedgerow.plots.error_rounds import ErrorRoundsDisplay  # noqa: E402
from hedgerow.plots.importances import ImportancesDisplay  # noqa: E402
from hedgerow.plots.loss_rounds import LossRoundsDisplay  # noqa: E402
from hedgerow.plots.partial_dependence import PartialDependenceDisplay  # noqa: E402
from hedgerow.plots.ranking import PrecisionRecallDisplay, RocCurveDisplay  # noqa: E402
from hedgerow.plots.regression import PredictedDisplay  # noqa: E402
from hedgerow.plots.sample_sizes import SampleSizeDisplay  # noqa: E402
from hedgerow.plots.shapes import ShapeFunctionDisplay  # noqa: E402

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
