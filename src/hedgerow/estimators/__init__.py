"""Thin scikit-learn faces: check the input, run a loop, hold the model."""

from hedgerow.estimators.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]
