"""The estimators, with the interface of scikit-learn: validate the input, run the engine, store the model."""

from hedgerow.estimators.adaboost import AdaBoostClassifier
from hedgerow.estimators.adaboost_regressor import AdaBoostRegressor
from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor
from hedgerow.estimators.decision_trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.estimators.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.estimators.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.estimators.logitboost import AnyBoostClassifier, LogitBoostClassifier
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
