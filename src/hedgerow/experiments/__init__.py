"""The experiments that boosting is taught with: who is right more often, and what the parameters do.

problems, methods, plan -> measure -> tables, findings -> results (a page, JSON)
"""

from hedgerow.experiments.methods import CAVEATS
from hedgerow.experiments.plan import FULL, QUICK, Plan
from hedgerow.experiments.results import Experiments
from hedgerow.experiments.run import run_experiments, run_plan
from hedgerow.experiments.tables import ResultCurves, ResultTable

__all__ = [
    "CAVEATS",
    "FULL",
    "QUICK",
    "Experiments",
    "Plan",
    "ResultCurves",
    "ResultTable",
    "run_experiments",
    "run_plan",
]
