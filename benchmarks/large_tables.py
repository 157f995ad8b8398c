"""Learning rates of `n_estimators="auto"` on large tables: test losses, rounds and seconds.

    python benchmarks/large_tables.py

The tables are parts of Covertype (HEDGEROW_DATA): class 2 against the others, the seven classes, and the
elevation as a number, and the simulated problem of `make bench` with columns of noise. A rate applies to all
rounds; all else is the default, two threads.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, mean_squared_error

import hedgerow
from data import covertype, simulated
from hedgerow.text_table import format_table

THREADS, ELEVATION = 2, 0
RATES, RATES_OF_CLASSES = (0.1, 0.2, 0.3, 0.5), (0.2, 0.4)
Problem = tuple[str, Any, NDArray[Any], NDArray[Any], tuple[float, ...], int]


def problems() -> list[Callable[[], Problem]]:
    """Return functions that make a problem: name, estimator, X, y, rates and number of training rows."""
    X, y = covertype()
    number, two_classes = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
    others = np.delete(X, ELEVATION, axis=1)
    elevation = X[:, ELEVATION].astype(np.float64)
    return [
        lambda: ("class 2, 150,000 rows", two_classes, X, y == 1, RATES, 150_000),
        lambda: ("class 2, 470,000 rows", two_classes, X, y == 1, RATES, 470_000),
        lambda: ("elevation, 470,000 rows", number, others, elevation, RATES, 470_000),
        lambda: ("seven classes, 470,000 rows", two_classes, X, y, RATES_OF_CLASSES, 470_000),
        lambda: ("simulated, 500,000 × 200", two_classes, *simulated(600_000, 200), (0.1, 0.3), 500_000),
    ]


def main() -> None:
    """Fit all problems with all rates and print a Markdown table."""
    rows = []
    for make in problems():
        name, estimator, X, y, rates, n_train = make()
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[:n_train], order[-100_000:]
        for rate in rates:
            model = estimator(learning_rate=rate, n_jobs=THREADS)
            start = time.perf_counter()
            model.fit(X[train], y[train])
            seconds = time.perf_counter() - start
            if estimator is hedgerow.GradientBoostingRegressor:
                loss = mean_squared_error(y[test], model.predict(X[test]))
            else:
                loss = log_loss(y[test], model.predict_proba(X[test]))
            rows.append([name, f"{rate}", f"{loss:.4g}", str(model.n_estimators_), f"{seconds:.1f}"])
            print(*rows[-1], flush=True)
    print(format_table(["table", "rate", "test loss", "rounds", "seconds"], rows))


if __name__ == "__main__":
    main()
