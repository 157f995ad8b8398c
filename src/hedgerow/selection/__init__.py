"""Select a method for a table.

methods, metrics, splits -> trials (one setting) -> search -> choosing (the best method, within a budget)
                         -> comparing (every method, cross-validated)
"""

from hedgerow.members import take_rows
from hedgerow.selection.choosing import choose, fit_choice, fit_method
from hedgerow.selection.comparing import CompareRow, Comparison, compare
from hedgerow.selection.method_options import MethodOptions
from hedgerow.selection.methods import AUTO, METHODS, Method, make_model
from hedgerow.selection.metrics import METRICS, Metric, score_model
from hedgerow.selection.results import Choice, Ensemble, Trial
from hedgerow.selection.splits import RowOrder, fold_rows, hold_out
from hedgerow.selection.threshold import FixedThresholdClassifier
from hedgerow.selection.weighted_ensemble import WeightedEnsembleClassifier, WeightedEnsembleRegressor

__all__ = [
    "AUTO",
    "METHODS",
    "METRICS",
    "Choice",
    "CompareRow",
    "Comparison",
    "Ensemble",
    "FixedThresholdClassifier",
    "Method",
    "MethodOptions",
    "Metric",
    "RowOrder",
    "Trial",
    "WeightedEnsembleClassifier",
    "WeightedEnsembleRegressor",
    "choose",
    "compare",
    "fit_choice",
    "fit_method",
    "fold_rows",
    "hold_out",
    "make_model",
    "score_model",
    "take_rows",
]
