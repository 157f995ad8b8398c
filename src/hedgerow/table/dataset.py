"""Dataset: the rows of a fit or of an evaluation set."""

from dataclasses import dataclass
from typing import Any

from hedgerow._typing import Floats
from hedgerow.table.table import Table


@dataclass(eq=False)
class Dataset:
    """Rows with targets and weights.

    Parameters
    ----------
    X : Any
        The input as passed by the user, for members of other libraries.
    table : Table
        The validated table.
    y : float64 (n_rows,), or (n_rows, n_outputs)
        Numbers, or positions of the labels among the classes.
    sample_weight : float64 (n_rows,) or None
    """

    X: Any
    table: Table
    y: Floats
    sample_weight: Floats | None
