"""Losses of first-order gradient boosting and of AdaBoost.R2 beside those of scikit-learn; no times.

`GradientBoosting*(newton=False)` is compared with scikit-learn's estimators of the same names: 100 rounds of
depth 3, rate 0.1, ten random splits, a quarter of the rows for testing. All other parameters are the defaults
of each library, then those of scikit-learn: leaves of one row and no penalty. A ratio is the geometric mean
over the splits of the ratio of the test losses, ± its standard error; below 1, Hedgerow's loss is lower. With
leaves of one row, many splits have equal gains. scikit-learn then draws the column, Hedgerow takes the first
one; in the last column a very small `random_strength` draws it too.

`AdaBoostRegressor` is compared with default parameters on twenty samples: mean test R² and the mean of the
differences on the same samples, ± its standard error.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets, ensemble
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

import hedgerow
from gradient_boosting import standard_error

Arrays = tuple[NDArray[Any], NDArray[Any]]
Sample = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
SHARED = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3}
SAME = {"min_samples_leaf": 1, "min_child_weight": 0.0, "l2_regularization": 0.0}
VARIANTS: tuple[dict[str, Any], ...] = ({}, SAME, {**SAME, "random_strength": 1e-4})
TEST_ROWS = 2000
HEADS = (
    ("data", "loss", "scikit-learn", "Hedgerow", "ratio", "with leaves of one row", "and ties drawn"),
    ("data", "training rows", "scikit-learn", "Hedgerow", "difference"),
)


def digits() -> Arrays:
    """Return the images of threes and eights."""
    X, y = datasets.load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    return X[chosen], (y[chosen] == 8).astype(np.int64)


TABLES: dict[str, Callable[[], Arrays]] = {
    "breast cancer": partial(datasets.load_breast_cancer, return_X_y=True),
    "digits, 3 and 8": digits,
    "wine": partial(datasets.load_wine, return_X_y=True),
    "diabetes": partial(datasets.load_diabetes, return_X_y=True),
    "Friedman #1": partial(datasets.make_friedman1, 1000, noise=1.0, random_state=0),
}
TWO_CLASSES = ("breast cancer", "digits, 3 and 8")


def held_out_loss(model: Any, sample: Sample) -> float:
    """Fit on the training rows and return the log-loss or the squared error of the test rows."""
    X, X_test, y, y_test = sample
    model.fit(X, y)
    if y.dtype.kind == "i":
        return float(log_loss(y_test, model.predict_proba(X_test)))
    return float(mean_squared_error(y_test, model.predict(X_test)))


def first_order_row(name: str, loss: str | None, n_splits: int) -> list[str]:
    """Compare first-order boosting on one table; `loss` is None for the default."""
    X, y = TABLES[name]()
    kind = "Classifier" if y.dtype.kind == "i" else "Regressor"
    theirs, ours = (getattr(library, f"GradientBoosting{kind}") for library in (ensemble, hedgerow))
    shared = SHARED if loss is None else {**SHARED, "loss": loss}
    losses = np.empty((n_splits, 1 + len(VARIANTS)))
    for seed in range(n_splits):
        sample = train_test_split(X, y, random_state=seed, stratify=y if kind == "Classifier" else None)
        models = [theirs(**shared, random_state=seed)]
        models += [ours(**shared, **more, newton=False, random_state=seed) for more in VARIANTS]
        losses[seed] = [held_out_loss(model, sample) for model in models]
    logs = np.log(losses[:, 1:] / losses[:, :1])
    ratios = [
        f"{ratio:.2f} ± {ratio * standard_error(column):.2f}"
        for ratio, column in zip(np.exp(logs.mean(axis=0)), logs.T, strict=True)
    ]
    means = [f"{mean:.4g}" for mean in losses.mean(axis=0)[:2]]
    return [name, loss or ("log_loss" if kind == "Classifier" else "squared_error"), *means, *ratios]


def r2_settings() -> list[tuple[str, int, Callable[[int], Sample]]]:
    """List name, training rows and sampler of the twelve settings of AdaBoost.R2."""

    def friedman(make: Callable[..., Arrays], noise: float, n_rows: int, seed: int) -> Sample:
        X, y = make(n_rows + TEST_ROWS, noise=noise, random_state=seed)
        return X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]

    def diabetes(n_rows: int, seed: int) -> Sample:
        X, y = datasets.load_diabetes(return_X_y=True)
        return tuple(train_test_split(X, y, train_size=n_rows, random_state=seed))

    makers = (
        ("Friedman #1", datasets.make_friedman1, 1.0, (100, 200, 500, 2000)),
        ("Friedman #2", datasets.make_friedman2, 100.0, (100, 200, 500, 2000)),
        ("Friedman #3", datasets.make_friedman3, 0.1, (200, 500)),
    )
    settings: list[tuple[str, int, Callable[[int], Sample]]] = [
        (name, n_rows, partial(friedman, make, noise, n_rows))
        for name, make, noise, sizes in makers
        for n_rows in sizes
    ]
    return [*settings, *(("diabetes", n_rows, partial(diabetes, n_rows)) for n_rows in (150, 350))]


def r2_row(name: str, n_rows: int, draw: Callable[[int], Sample], n_samples: int) -> list[str]:
    """Compare AdaBoost.R2 in one setting."""
    scores = np.empty((n_samples, 2))
    for seed in range(n_samples):
        X, X_test, y, y_test = draw(seed)
        for column, library in enumerate((ensemble, hedgerow)):
            model = library.AdaBoostRegressor(random_state=seed).fit(X, y)
            scores[seed, column] = model.score(X_test, y_test)
    difference = scores[:, 1] - scores[:, 0]
    text = f"{difference.mean():+.4f} ± {standard_error(difference):.4f}"
    return [name, f"{n_rows:,}", *(f"{mean:.3f}" for mean in scores.mean(axis=0)), text]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two splits and samples each")
    n_splits, n_samples = (2, 2) if parser.parse_args(arguments).quick else (10, 20)
    first = [(name, None) for name in TABLES] + [(name, "exponential") for name in TWO_CLASSES]
    print_table(HEADS[0], (first_order_row(name, loss, n_splits) for name, loss in first))
    print()
    print_table(HEADS[1], (r2_row(*setting, n_samples) for setting in r2_settings()))


def print_table(head: Sequence[str], rows: Any) -> None:
    """Print each row as soon as it is known."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
