"""Sizes of a gradient boosting fit that follow from its table: the value "auto" of parameters.

    n_estimators="auto"    rounds, rate, folds and sampling follow from rows, columns and outputs
    n_estimators=100       so many rounds of one model: "auto" of all others is the classic value

The sizes are functions of the shape of the table only, so that the same rows in memory, in files or on a cluster have
the same model. `benchmarks/accuracy.py` is the study behind them.
"""

from dataclasses import dataclass

AUTO = "auto"
MOST_ROUNDS = 1000  # with n_estimators="auto", where validation ends the fit


@dataclass(frozen=True)
class Sizes:
    """Parameters of `GradientBoostingClassifier` and `GradientBoostingRegressor` of these names."""

    learning_rate: float = 0.1
    min_samples_leaf: int = 20
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    n_folds: int | None = None
    n_iter_no_change: int = 10


def auto_sizes(n_rows: int, n_outputs: int) -> Sizes:
    """Return the sizes for a table of so many rows with weight."""
    raise NotImplementedError
