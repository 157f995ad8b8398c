"""Dataset: the rows of a fit or of an evaluation set."""

from dataclasses import dataclass
from typing import Any

from hedgerow._typing import Floats
from hedgerow.table.table import Table


@dataclass(eq=False)
class Dataset:
    """Rows with targets and weights."""

    X: Any  # as passed by the user, for members of other libraries
    table: Table  # validated
    y: Floats  # (n_rows,) or (n_rows, n_outputs), numbers, or positions of the labels among the classes
    sample_weight: Floats | None  # (n_rows,)
