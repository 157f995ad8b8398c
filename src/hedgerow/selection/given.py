"""Given: a table with its target, checked once for all methods.

Labels are kept twice: as they are, for the model that is handed back, and as class numbers, which every fit
on the way reads faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.estimators import inputs
from hedgerow.selection.methods import Method, find_method
from hedgerow.selection.splits import check_task
from hedgerow.table import read_table

_LEAST_ROWS = 4


@dataclass(frozen=True, eq=False)
class Given:
    """A table and its target.

    Parameters
    ----------
    X : any table
    y : array
        As given.
    numbers : array
        Class numbers (int64) or the numbers to be predicted (float64).
    task : str
    n_classes : int or None

    Examples
    --------
    >>> given = Given.of([[1.0], [2.0], [3.0], [4.0]], ["b", "a", "b", "b"], "classification", "choose")
    >>> given.numbers.tolist(), given.n_classes
    ([1, 0, 1, 1], 2)
    """

    X: Any
    y: NDArray[Any]
    numbers: NDArray[Any]
    task: str
    n_classes: int | None

    @classmethod
    def of(cls, X: Any, y: Any, task: str, who: str) -> "Given":
        """Check everything; `who` is how messages call the caller."""
        check_task(task)
        table = read_table(X, estimator_name=who)
        raw_y = inputs.read_target(y, table.n_rows, who)
        target = inputs.Labels.of(raw_y) if task == "classification" else inputs.Numbers()
        numbers: NDArray[Any] = target.read(raw_y)
        if table.n_rows < _LEAST_ROWS:
            raise ValueError(f"X has {table.n_rows} rows; {who} needs at least {_LEAST_ROWS}")
        if target.n_classes is not None:
            numbers = numbers.astype(np.int64)
        return cls(X, raw_y, numbers, task, target.n_classes)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.y)

    def methods(self, names: Sequence[str]) -> tuple[list[Method], list[tuple[Method, str]]]:
        """The methods of these names that can be used, and the others with the reason."""
        if isinstance(names, str) or not len(names):
            raise ValueError(f"methods={names!r} is not allowed: it must be a list of names of methods")
        usable, refused = [], []
        for method in map(find_method, dict.fromkeys(names)):
            reason = method.reason_against(self.task, self.n_classes)
            if reason is None:
                usable.append(method)
            else:
                refused.append((method, reason))
        return usable, refused
