"""Sizes of a gradient boosting fit that follow from its table: the value "auto" of parameters.

    n_estimators="auto"    rounds, rate, folds, sampling and penalties follow from rows, outputs and task
    n_estimators=100       100 rounds of one model: every other "auto" is a fixed value

They are functions of the shape of the table only, so that the same rows in memory, in files or on a cluster
have the same model. `benchmarks/accuracy.py` and `benchmarks/ablation.py` are the studies behind them.
"""

import math
from dataclasses import dataclass, replace

AUTO = "auto"
_MAX_ROUNDS = 1000  # with n_estimators="auto", where validation ends the fit
_MAX_ROUNDS_FACTOR = 10  # for learning rates below that of "auto"
MAX_ROUNDS = _MAX_ROUNDS * _MAX_ROUNDS_FACTOR
MIN_ROWS = 32  # for validation; with fewer rows, the sizes are those of n_estimators=100
_EIGHT_FOLDS = 100_000  # rows times outputs up to which the model is the mean of eight
_FOUR_FOLDS = 400_000  # of four; with more rows, a tenth of them for validation costs little accuracy
_MAX_ROUNDS_OF_CLASSES = 400  # three or more classes: their loss may fall slowly for a thousand rounds
_MANY_CLASSES = 10  # from which on a rate of 0.2 often needs more rounds than that
_FEW_COLUMNS = 4  # about how many columns a node tries with several classes
_MANY_CATEGORIES = 32  # of a column, above which target statistics are more accurate than sets
_ROWS_FOR_STATISTICS = 1000  # two or more classes; with 400 rows they are not more accurate
_ROWS_FOR_MEANS = 3000  # numbers, whose means vary more; with 1,200 rows they are not
_CLASSES_FOR_STATISTICS = 10  # a column is repeated for every class: with many classes, memory and time grow


@dataclass(frozen=True)
class Sizes:
    """Parameters that may be "auto"; the defaults are those for a number of rounds that is passed."""

    learning_rate: float = 0.1
    min_samples_leaf: int = 20
    l2_regularization: float = 3.0
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    max_features: float = 1.0
    n_folds: int | None = None
    max_categories_for_sets: int | None = None
    n_iter_no_change: int = 10
    n_estimators: int = 100

    def with_rate(self, learning_rate: float) -> "Sizes":
        """Change the rate; a lower one has up to ten times as many rounds, in inverse proportion.

        >>> Sizes().with_rate(0.05).n_estimators, Sizes().with_rate(1e-6).n_estimators
        (200, 1000)
        >>> Sizes().with_rate(0.5).n_estimators
        100
        """
        factor = min(max(self.learning_rate / learning_rate, 1.0), _MAX_ROUNDS_FACTOR)
        return replace(self, learning_rate=learning_rate, n_estimators=math.ceil(self.n_estimators * factor))


def auto_folds(n_rows: int, n_outputs: int) -> int | None:
    """Return the number of folds of n_estimators="auto"; None for one model and a tenth of the rows.

    >>> auto_folds(1000, 1), auto_folds(100_000, 3), auto_folds(1_000_000, 1)
    (8, 4, None)
    """
    limits = ((8, _EIGHT_FOLDS), (4, _FOUR_FOLDS))
    return next((folds for folds, most in limits if n_rows * n_outputs <= most), None)


def _auto_categories(n_rows: int, n_outputs: int, *, classes: bool) -> int | None:
    """Return above how many categories a column is coded by target statistics; None for no column.

    >>> [_auto_categories(n_rows, 1, classes=True) for n_rows in (999, 1000)]
    [None, 32]
    >>> _auto_categories(2999, 1, classes=False), _auto_categories(3000, 11, classes=True)
    (None, None)
    """
    least = _ROWS_FOR_STATISTICS if classes else _ROWS_FOR_MEANS
    return _MANY_CATEGORIES if n_rows >= least and n_outputs <= _CLASSES_FOR_STATISTICS else None


def auto_sizes(n_rows: int, n_columns: int, n_outputs: int, *, classes: bool) -> Sizes:
    """Return the sizes for n_estimators="auto" and a table with `n_rows` rows of positive weight.

    >>> auto_sizes(1000, 20, 1, classes=True).n_folds, auto_sizes(1_000_000, 20, 1, classes=True).n_folds
    (8, None)
    >>> [auto_sizes(1000, 20, n_classes, classes=True).learning_rate for n_classes in (9, 10)]
    [0.2, 0.4]
    >>> [auto_sizes(n_rows, 20, 1, classes=True).learning_rate for n_rows in (100_000, 100_001)]
    [0.1, 0.3]
    """
    is_large = n_rows * n_outputs > _EIGHT_FOLDS  # small steps would need more rounds than are allowed
    sizes = Sizes(
        learning_rate=0.3 if is_large else 0.1,
        min_samples_leaf=5 if classes else 2,
        subsample=0.75,
        colsample_bytree=0.7,
        max_features=0.7,
        n_folds=auto_folds(n_rows, n_outputs),
        max_categories_for_sets=_auto_categories(n_rows, n_outputs, classes=classes),
        n_iter_no_change=20,
        n_estimators=_MAX_ROUNDS,
    )
    if n_outputs > 1:  # a round has several trees: fewer rounds, and fewer columns for each tree
        fraction = min(0.8, max(0.5, math.sqrt(_FEW_COLUMNS / n_columns)))
        return replace(
            sizes,
            learning_rate=0.4 if is_large or n_outputs >= _MANY_CLASSES else 0.2,
            colsample_bytree=fraction,
            max_features=fraction,
            n_estimators=_MAX_ROUNDS_OF_CLASSES,
        )
    # hessians of two classes are at most 1/4, those of numbers are 1
    return replace(sizes, l2_regularization=10.0) if classes else sizes
