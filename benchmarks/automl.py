"""`choose`, which `hedgerow train` calls, beside FLAML and AutoGluon with the same budget and threads.

    python benchmarks/automl.py run --budget 30 --out automl.json
    python benchmarks/automl.py report automl.json

The tables are held-back tables of the accuracy study (accuracy_tables.py), three quarters of the rows of
each for training. Every fit runs in a process of its own; kernels are compiled before. The loss is the
log-loss or the root of the mean squared error on the other rows. FLAML has its default learners, AutoGluon
two of its presets.
Both are installed by hand, since they pin versions of other libraries:

    pip install 'flaml[automl]' 'autogluon.tabular[lightgbm,catboost,xgboost]'
"""

import argparse
import json
import logging
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error

from accuracy import split
from accuracy_tables import CASES, Case
from hedgerow.text_table import format_table

THREADS = 2
TABLES = (
    "german", "vowel", "yeast", "hypothyroid", "titanic", "adult", "happiness", "hpc_jobs",
    "airfoil", "skillcraft", "wine_quality", "ames", "car_prices", "diamonds",
)  # fmt: skip
Predict = Callable[[pd.DataFrame], Any]


def fit_hedgerow(X: pd.DataFrame, y: pd.Series, case: Case, budget: float) -> Predict:
    """Fit the estimator that `choose` returns."""
    from hedgerow.selection import choose

    model = choose(X, y.to_numpy(), case.task, budget=budget, n_jobs=THREADS).model
    return model.predict_proba if case.task == "classification" else model.predict


def fit_flaml(X: pd.DataFrame, y: pd.Series, case: Case, budget: float) -> Predict:
    """Fit FLAML's choice among its default learners."""
    from flaml import AutoML

    model = AutoML()
    metric = "log_loss" if case.task == "classification" else "rmse"
    options = {"time_budget": budget, "n_jobs": THREADS, "seed": 0, "verbose": 0, "log_file_name": ""}
    model.fit(X_train=X, y_train=y, task=case.task, metric=metric, **options)
    return model.predict_proba if case.task == "classification" else model.predict


def fit_autogluon(X: pd.DataFrame, y: pd.Series, case: Case, budget: float, preset: str) -> Predict:
    """Fit AutoGluon with a preset."""
    from autogluon.tabular import TabularPredictor

    metric = "log_loss" if case.task == "classification" else "root_mean_squared_error"
    folder = tempfile.mkdtemp()
    problem = "regression"
    if case.task == "classification":
        problem = "binary" if y.nunique() == 2 else "multiclass"
    predictor = TabularPredictor("target", problem, metric, path=folder, verbosity=0)
    predictor.fit(
        X.assign(target=y), presets=preset, time_limit=budget, num_cpus=THREADS, num_gpus=0, verbosity=0
    )
    if case.task == "classification":
        return lambda rows: predictor.predict_proba(rows)[sorted(y.unique())].to_numpy()
    return predictor.predict


CONTENDERS: dict[str, Callable[..., Predict]] = {
    "Hedgerow": fit_hedgerow,
    "FLAML": fit_flaml,
    "AutoGluon medium": lambda *given: fit_autogluon(*given, "medium_quality"),
    "AutoGluon good": lambda *given: fit_autogluon(*given, "good_quality"),
}


def measure(options: argparse.Namespace) -> None:
    """Fit one contender to one table and print its loss and seconds as JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    case = next(case for case in CASES if case.name == options.table)
    X, X_test, y, y_test = split(case, 0)
    start = time.perf_counter()
    predict = CONTENDERS[options.library](X, y, case, options.budget)
    seconds = time.perf_counter() - start
    predicted = np.asarray(predict(X_test), np.float64)
    if case.task == "regression":
        loss = float(root_mean_squared_error(y_test, predicted))
    else:
        predicted = np.clip(predicted, 1e-15, 1.0)
        loss = float(log_loss(y_test, predicted / predicted.sum(axis=1, keepdims=True)))
    print("RESULT " + json.dumps({"loss": loss, "seconds": seconds}))


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have yet."""
    path = Path(options.out)
    runs = json.loads(path.read_text()) if path.exists() else {}
    for table in options.tables or TABLES:
        for library in options.library or CONTENDERS:
            key = f"{library} | {table}"
            if key in runs:
                continue
            command = [sys.executable, __file__, "measure", library, table, "--budget", str(options.budget)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
            runs[key] = json.loads(lines[-1].removeprefix("RESULT ")) if lines else None
            reason = done.stderr.strip().splitlines()[-1:] if not lines else []
            print(key, runs[key] or reason, flush=True)
            path.write_text(json.dumps(runs, indent=0))


def report(options: argparse.Namespace) -> None:
    """Print losses by table, and mean ranks."""
    runs = json.loads(Path(options.file).read_text())
    names = list(dict.fromkeys(key.split(" | ")[0] for key in runs))
    tables = list(dict.fromkeys(key.split(" | ")[1] for key in runs))
    found = [[runs.get(f"{name} | {table}") for name in names] for table in tables]
    losses = np.array([[math.inf if one is None else one["loss"] for one in row] for row in found])
    ranks = (losses[:, :, None] > losses[:, None]).sum(axis=2) + 1.0
    rows = [[table, *(f"{loss:.4g}" for loss in row)] for table, row in zip(tables, losses, strict=True)]
    means = zip(ranks.mean(axis=0), ranks.std(axis=0, ddof=1) / math.sqrt(len(tables)), strict=True)
    rows.append(["mean rank", *(f"{mean:.2f} ± {error:.2f}" for mean, error in means)])
    longest = [max((row[i] or {"seconds": 0})["seconds"] for row in found) for i in range(len(names))]
    rows.append(["longest fit, s", *(f"{seconds:.0f}" for seconds in longest)])
    print(format_table(["table", *names], rows))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.set_defaults(action=measure)
    one.add_argument("library")
    one.add_argument("table")
    several = commands.add_parser("run")
    several.set_defaults(action=run)
    several.add_argument("--out", required=True)
    several.add_argument("--tables", nargs="*")
    several.add_argument("--library", action="append")
    for command in (one, several):
        command.add_argument("--budget", type=float, default=30.0)
    command = commands.add_parser("report")
    command.set_defaults(action=report)
    command.add_argument("file")
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
