"""Errors with and without a column of many categories, beside LightGBM and CatBoost.

    python benchmarks/high_cardinality.py

The table is ToyotaCorolla of the package dmba: prices of 1,436 cars, with a column of 319 models. Every
learner is cross-validated with this column and without it, on the same folds for several seeds. A difference
is one of the root mean squared errors of a fold, with minus without: below 0 the column helps. Its standard
error is that of the mean over all folds and seeds; folds share training rows, so it is a little too small.
Peers that are not installed are left out.
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dmba
import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import KFold

from hedgerow.selection import make_model
from hedgerow.text_table import format_column, format_means, format_table

COLUMN, TARGET = "Model", "Price"
Learner = Callable[[pd.DataFrame, Any, pd.DataFrame, int], Any]  # X, y, X_test, seed -> predictions


def read() -> tuple[pd.DataFrame, Any]:
    """Return the columns, text as categories, and the prices."""
    frame = pd.read_csv(Path(dmba.__file__).parent / "csvFiles" / "ToyotaCorolla.csv.gz")
    X = frame.drop(columns=["Id", TARGET])
    text = [name for name in X if X[name].dtype.kind not in "iufb"]
    return X.astype(dict.fromkeys(text, "category")), frame[TARGET].to_numpy(np.float64)


def hedgerow_learner(method: str, **parameters: Any) -> Learner:
    """Return a method of Hedgerow."""

    def predict(X: pd.DataFrame, y: Any, X_test: pd.DataFrame, seed: int) -> Any:
        return make_model(method, "regression", random_state=seed, **parameters).fit(X, y).predict(X_test)

    return predict


def lightgbm_learner(X: pd.DataFrame, y: Any, X_test: pd.DataFrame, seed: int) -> Any:
    """Fit LightGBM with its defaults."""
    import lightgbm

    return lightgbm.LGBMRegressor(random_state=seed, verbose=-1).fit(X, y).predict(X_test)


def catboost_learner(X: pd.DataFrame, y: Any, X_test: pd.DataFrame, seed: int) -> Any:
    """Fit CatBoost with its defaults."""
    import catboost

    names = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
    model = catboost.CatBoostRegressor(random_seed=seed, verbose=0, allow_writing_files=False)
    return model.fit(X, y, cat_features=names).predict(X_test)


def learners() -> dict[str, Learner]:
    """Return the learners by name; peers if they are installed."""
    found: dict[str, Learner] = {
        "gradient boosting": hedgerow_learner("gradient"),
        "gradient boosting, target statistics": hedgerow_learner("gradient", max_categories_for_sets=32),
        "random forest": hedgerow_learner("forest"),
        "bagging": hedgerow_learner("bagging"),
    }
    if find_spec("lightgbm"):
        found["LightGBM"] = lightgbm_learner
    if find_spec("catboost"):
        found["CatBoost"] = catboost_learner
    return found


def cross_validate(learner: Learner, X: pd.DataFrame, y: Any, seeds: int, folds: int) -> Any:
    """Return the root mean squared error of every fold of every seed."""
    errors = []
    for seed in range(seeds):
        for train, test in KFold(folds, shuffle=True, random_state=seed).split(X):
            predicted = learner(X.iloc[train], y[train], X.iloc[test], seed)
            errors.append(root_mean_squared_error(y[test], predicted))
    return np.array(errors)


def main() -> None:
    """Cross-validate all learners, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of learners; all by default")
    options = parser.parse_args()
    X, y = read()
    names, means, differences = [], [], []
    for name, learner in learners().items():
        if options.only and name not in options.only:
            continue
        tables = X, X.drop(columns=[COLUMN])
        both = [cross_validate(learner, table, y, options.seeds, options.folds) for table in tables]
        difference = both[0] - both[1]
        names.append(name)
        means.append([float(np.mean(errors)) for errors in both])
        error = np.std(difference, ddof=1) / np.sqrt(len(difference))
        differences.append((float(np.mean(difference)), float(error)))
    columns = [format_column(list(values)) for values in zip(*means, strict=True)]
    heads = ["learner", f"RMSE with {COLUMN}", "without", "difference"]
    rows = zip(names, *columns, format_means(differences), strict=True)
    print(f"{options.seeds} seeds of {options.folds} folds; differences are means with standard errors\n")
    print(format_table(heads, rows))


if __name__ == "__main__":
    main()
