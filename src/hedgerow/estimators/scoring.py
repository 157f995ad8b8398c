"""Old names of `base.ClassifierBase` and `base.RegressorBase`."""

from hedgerow.estimators.base import ClassifierBase as Classifies
from hedgerow.estimators.base import RegressorBase as Regresses

__all__ = ["Classifies", "Regresses"]
