"""Options of fits that every method shares: parameters, weights, order of the rows, threshold, size.

Weights are used in fitting only: scores and certificates count every row once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.estimators.targets import class_factors
from hedgerow.selection.splits import RowOrder
from hedgerow.selection.threshold import Threshold

ClassWeight = str | Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class MethodOptions:
    """Options of `choose` and `fit_method`.

    Parameters
    ----------
    parameters : mapping
        Parameters of the method, for all of its settings; see `make_model`.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows in fitting.
    class_weight : "balanced" or mapping from labels to weights, optional
        They multiply the weights of the rows. "balanced": inversely proportional to the class frequencies.
    order : RowOrder, optional
        Groups or times of the rows, which decide how rows are split for validation.
    threshold : float, "f1" or {"fp": cost, "fn": cost}, optional
        The decision threshold of a classifier of two classes; see `hedgerow.selection.threshold`.
    positive : label, optional
        The positive class of the threshold, of "f1" and "pr-auc"; by default the second of the classes.
    max_size : int, optional
        Maximum size of the saved model, in bytes.

    Examples
    --------
    >>> options = MethodOptions(class_weight={"rare": 3.0})
    >>> options.weights(np.array(["rare", "often", "often"], dtype=object), "classification").tolist()
    [3.0, 1.0, 1.0]
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    sample_weight: Any = None
    class_weight: ClassWeight | None = None
    order: RowOrder | None = None
    threshold: Threshold | None = None
    positive: Any = None
    max_size: int | None = None

    def weights(self, y: NDArray[Any], task: str) -> Floats | None:
        """Check and multiply the weights of the rows and of their classes; None if there are none."""
        weights = None if self.sample_weight is None else _checked_weights(self.sample_weight, len(y))
        if self.class_weight is None:
            return weights
        if task == "regression":
            raise ValueError(f"class_weight={self.class_weight!r} is not allowed for regression")
        classes, numbers = np.unique(y, return_inverse=True)
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(
                    f"class_weight={self.class_weight!r} is not allowed: it must be 'balanced' or a "
                    "dict from labels to numbers above 0"
                )
        else:
            for label, weight in self.class_weight.items():
                if label not in classes.tolist():
                    raise ValueError(f"class_weight names {label!r}, which is not one of {classes.tolist()}")
                if not _is_positive(weight):
                    raise ValueError(f"class_weight of {label!r} is {weight!r}: it must be a number above 0")
        numbers = numbers.reshape(-1).astype(np.int64)
        codes = numbers.astype(np.float64)
        factors: Floats = class_factors(self.class_weight, codes, classes, weights)[numbers]
        return factors if weights is None else factors * weights


def _is_positive(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < np.inf


def _checked_weights(values: Any, n_rows: int) -> Floats:
    weights = np.asarray(values, np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}: it must have one number for each of {n_rows} rows"
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ValueError(
            f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}: it must be a number of at least 0"
        )
    if not weights.any():
        raise ValueError("sample_weight is 0 for every row: a weight above 0 is needed")
    return weights
