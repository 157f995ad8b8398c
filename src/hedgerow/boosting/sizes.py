"""Sizes of a gradient boosting fit that follow from its table: the value "auto" of parameters.

    n_estimators="auto"    rounds, rate, folds, sampling and penalties follow from rows, outputs and task
    n_estimators=100       so many rounds of one model: "auto" of all others is a fixed value

They are functions of the shape of the table only, so that the same rows in memory, in files or on a cluster
have the same model. `benchmarks/accuracy.py` is the study behind them.
"""

from dataclasses import dataclass

AUTO = "auto"
MOST_ROUNDS = 1000  # with n_estimators="auto", where validation ends the fit
FEWEST_ROWS = 32  # of validation; with fewer rows, the sizes are those of a given number of rounds, 100
_FOLDS_UP_TO = 50_000  # rows: the mean of eight models
_FEW_FOLDS_UP_TO = (
    200_000  # rows: the mean of four; with more rows, a tenth of them for validation loses little
)
_MANY_OUTPUTS = (
    8  # trees of a round above which four folds are enough: the trees of many classes cost as much
)


@dataclass(frozen=True)
class Sizes:
    """Parameters of these names, with the values for a given number of rounds."""

    learning_rate: float = 0.1
    min_samples_leaf: int = 20
    l2_regularization: float = 3.0
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    max_features: float = 1.0
    n_folds: int | None = None
    n_iter_no_change: int = 10
    n_estimators: int = 100


def auto_sizes(n_rows: int, n_outputs: int, *, classes: bool) -> Sizes:
    """Return the sizes for n_estimators="auto" and a table with so many rows of positive weight.

    >>> auto_sizes(1000, 1, classes=True).n_folds, auto_sizes(1_000_000, 1, classes=True).n_folds
    (8, None)
    """
    if n_rows < FEWEST_ROWS:
        return Sizes()
    n_folds: int | None = None
    if n_rows <= _FOLDS_UP_TO and n_outputs <= _MANY_OUTPUTS:
        n_folds = 8
    elif n_rows <= _FEW_FOLDS_UP_TO:
        n_folds = 4
    return Sizes(
        min_samples_leaf=5 if classes else 2,
        l2_regularization=10.0 if classes else 3.0,  # hessians of classes are at most 1/4, of numbers 1
        subsample=0.75,
        colsample_bytree=0.7,
        max_features=0.7,
        n_folds=n_folds,
        n_iter_no_change=20,
        n_estimators=MOST_ROUNDS,
    )
