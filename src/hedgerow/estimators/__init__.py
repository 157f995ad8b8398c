"""Thin scikit-learn faces: check the input, run a loop, hold the model."""

from hedgerow.estimators.adaboost import AdaBoostClassifier
from hedgerow.estimators.adaboost_regressor import AdaBoostRegressor
from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor
from hedgerow.estimators.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.estimators.logitboost import AnyBoostClassifier, LogitBoostClassifier
from hedgerow.estimators.schapire import SchapireBoostClassifier
from hedgerow.estimators.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AnyBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LogitBoostClassifier",
    "SchapireBoostClassifier",
]
