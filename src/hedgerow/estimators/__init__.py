"""The estimators, with the interface of scikit-learn: validate the input, run the engine, store the model."""

from typing import TYPE_CHECKING

from hedgerow.optional import lazy_names

if TYPE_CHECKING:
    from hedgerow.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
    from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor
    from hedgerow.estimators.decision_trees import (
        DecisionStump,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
    )
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "hedgerow.estimators.adaboost": ["AdaBoostClassifier", "AdaBoostRegressor"],
        "hedgerow.estimators.bagging": ["BaggingClassifier", "BaggingRegressor"],
        "hedgerow.estimators.decision_trees": [
            "DecisionStump",
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
        ],
        "hedgerow.estimators.forests": [
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
            "RandomForestClassifier",
            "RandomForestRegressor",
        ],
        "hedgerow.estimators.gradient_boosting": ["GradientBoostingClassifier", "GradientBoostingRegressor"],
        "hedgerow.estimators.logitboost": ["AnyBoostClassifier", "LogitBoostClassifier"],
        "hedgerow.estimators.schapire": ["SchapireBoostClassifier"],
    },
)
