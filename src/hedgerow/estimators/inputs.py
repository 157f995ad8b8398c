"""Old names of `validation` and `targets`, until all estimators use them."""

from hedgerow.estimators.targets import apply_class_weight as weigh_classes
from hedgerow.estimators.targets import class_factors
from hedgerow.estimators.targets import validate_weights as read_weights
from hedgerow.estimators.validation import ClassTarget as Labels
from hedgerow.estimators.validation import NumberTarget as Numbers
from hedgerow.estimators.validation import make_seed as read_seed
from hedgerow.estimators.validation import validate_target as read_target

__all__ = ["Labels", "Numbers", "class_factors", "read_seed", "read_target", "read_weights", "weigh_classes"]
