"""Select a method for a table.

methods, metrics, splits -> trials (one setting) -> choosing (the best method, within a time budget)
                         -> comparing (every method, cross-validated)
"""

from hedgerow.selection.choosing import choose
from hedgerow.selection.comparing import CompareRow, Comparison, compare
from hedgerow.selection.methods import AUTO, METHODS, Method, make_model
from hedgerow.selection.metrics import METRICS, Metric, score_model
from hedgerow.selection.results import Choice, Trial
from hedgerow.selection.splits import fold_rows, hold_out, take_rows

__all__ = [
    "AUTO",
    "METHODS",
    "METRICS",
    "Choice",
    "CompareRow",
    "Comparison",
    "Method",
    "Metric",
    "Trial",
    "choose",
    "compare",
    "fold_rows",
    "hold_out",
    "make_model",
    "score_model",
    "take_rows",
]
