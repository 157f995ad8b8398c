"""Hedgerow turns weak learners into strong ones.

Boosting, bagging, forests and cascades in pure Python with Numba kernels: the same model, bit for bit,
for any number of threads and any chunking (tested on x86-64, and on aarch64 in emulation).
"""

from typing import TYPE_CHECKING

from hedgerow import estimators
from hedgerow.optional import lazy_names

if TYPE_CHECKING:
    from hedgerow.boosting.callbacks import Round, TimeLimit
    from hedgerow.boosting.loop import EarlyStopping
    from hedgerow.estimators import (  # noqa: F401 - the site needs each name; __all__ has them below
        AdaBoostClassifier,
        AdaBoostRegressor,
        AnyBoostClassifier,
        BaggingClassifier,
        BaggingRegressor,
        DecisionStump,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        LogitBoostClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
        SchapireBoostClassifier,
    )
    from hedgerow.estimators.checkpoint import Checkpoint
    from hedgerow.io import ModelFileError, load, load_card, load_certificate, save
    from hedgerow.streams import Stream

__version__ = "0.1.0"

__all__ = [
    "Checkpoint",
    "EarlyStopping",
    "ModelFileError",
    "Round",
    "Stream",
    "TimeLimit",
    "__version__",
    "load",
    "load_card",
    "load_certificate",
    "save",
]
__all__ += estimators.__all__

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "hedgerow.boosting.callbacks": ["Round", "TimeLimit"],
        "hedgerow.boosting.loop": ["EarlyStopping"],
        "hedgerow.estimators": estimators.__all__,
        "hedgerow.estimators.checkpoint": ["Checkpoint"],
        "hedgerow.io": ["ModelFileError", "load", "load_card", "load_certificate", "save"],
        "hedgerow.streams": ["Stream"],
    },
    ["datasets", "estimators", "io", "plots", "report", "selection", "streams", "theory", "vision"],
)
