"""Thin scikit-learn faces: check the input, run a loop, hold the model."""

from hedgerow.estimators.adaboost import AdaBoostClassifier
from hedgerow.estimators.adaboost_regressor import AdaBoostRegressor
from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor
from hedgerow.estimators.decision_trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.estimators.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from hedgerow.estimators.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.estimators.logitboost import AnyBoostClassifier, LogitBoostClassifier
from hedgerow.estimators.random_forest import RandomForestClassifier, RandomForestRegressor
from hedgerow.estimators.schapire import SchapireBoostClassifier

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AnyBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LogitBoostClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "SchapireBoostClassifier",
]
