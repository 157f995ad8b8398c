"""Textbook experiments: accuracy of boosting and logistic regression, and the effect of its parameters.

plan (sizes, data sets, methods) -> measure -> findings (sentences) -> results (tables, a page, JSON)
"""

from hedgerow.experiments.plan import CAVEATS, FULL, QUICK, ExperimentPlan
from hedgerow.experiments.results import Experiments, ResultCurves, ResultTable
from hedgerow.experiments.run import run_experiments, run_plan

__all__ = [
    "CAVEATS",
    "FULL",
    "QUICK",
    "ExperimentPlan",
    "Experiments",
    "ResultCurves",
    "ResultTable",
    "run_experiments",
    "run_plan",
]
