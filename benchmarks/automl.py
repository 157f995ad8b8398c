"""`choose`, which `hedgerow train` calls, beside FLAML and AutoGluon with the same budget and threads.

    python benchmarks/automl.py run --tables held-back --seeds 3 --threads 1 --processes 2 --out automl.json
    python benchmarks/automl.py report automl.json

The tables are held-back tables of the accuracy study (accuracy_tables.py), which nothing was chosen on, or
development tables, on which `choose` was improved: the report keeps them apart. A seed is a split into three
quarters of the rows for training and a quarter for the test. Every fit runs in a process of its own; with
several processes each is bound to cores of its own. Libraries are imported, and Hedgerow's kernels compiled
by a fit of a hundredth of a second, before the time starts. The loss is the log-loss or the root of the mean
squared error on the test rows, its mean over seeds, also divided by the lowest mean of the table. FLAML has
its default learners, AutoGluon two of its presets, without neural networks (PyTorch is not installed). Where
the trial by which AutoGluon decides on stacking fails for lack of time, it is fitted again without that
trial, with the whole budget.

Both are installed by hand, since they pin versions of other libraries:

    pip install 'flaml[automl]' 'autogluon.tabular[lightgbm,catboost,xgboost]'
"""

import argparse
import importlib
import json
import logging
import math
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error

from accuracy import split
from accuracy_tables import CASES, Case
from hedgerow.text_table import format_table

TABLES = {
    "held-back": (
        "german", "vowel", "yeast", "hypothyroid", "titanic", "adult", "happiness", "hpc_jobs",
        "airfoil", "skillcraft", "wine_quality", "ames", "car_prices", "diamonds",
    ),
    "development": (
        "vehicle", "contraceptive", "flight_delays", "phoneme", "satimage", "magic",
        "saratoga", "fifa_value", "hotel_rates", "power_plant",
    ),
}  # fmt: skip
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_TIMEOUT = 300.0  # seconds more than the budget after which a process is ended
Predict = Callable[[pd.DataFrame], Any]


def fit_hedgerow(X: pd.DataFrame, y: pd.Series, case: Case, options: argparse.Namespace) -> Predict:
    """Fit the estimator that `choose` returns."""
    from hedgerow.selection import choose

    choice = choose(
        X, y.to_numpy(), case.task, budget=options.budget, n_jobs=options.threads, random_state=options.seed
    )
    if options.explain:
        print("\n".join(f"{one.description} {one.status} {one.note} {one.scores}" for one in choice.trials))
        print(choice.reason)
    model = choice.model
    return model.predict_proba if case.task == "classification" else model.predict


def fit_flaml(X: pd.DataFrame, y: pd.Series, case: Case, options: argparse.Namespace) -> Predict:
    """Fit FLAML's choice among its default learners."""
    from flaml import AutoML

    model = AutoML()
    metric = "log_loss" if case.task == "classification" else "rmse"
    model.fit(
        X_train=X, y_train=y, task=case.task, metric=metric, time_budget=options.budget,
        n_jobs=options.threads, seed=options.seed, verbose=0, log_file_name="",
    )  # fmt: skip
    return model.predict_proba if case.task == "classification" else model.predict


def fit_autogluon(
    X: pd.DataFrame, y: pd.Series, case: Case, options: argparse.Namespace, preset: str
) -> Predict:
    """Fit AutoGluon with a preset."""
    from autogluon.tabular import TabularPredictor

    metric = "log_loss" if case.task == "classification" else "root_mean_squared_error"
    problem = "regression"
    if case.task == "classification":
        problem = "binary" if y.nunique() == 2 else "multiclass"
    folder = Path(options.folder or tempfile.mkdtemp())

    def fit(name: str, **more: Any) -> TabularPredictor:
        predictor = TabularPredictor("target", problem, metric, path=str(folder / name), verbosity=0)
        return predictor.fit(
            X.assign(target=y), presets=preset, time_limit=options.budget, num_cpus=options.threads,
            num_gpus=0, verbosity=0, **more,
        )  # fmt: skip

    # "good_quality" deletes the models of folds, but predicts with them where the final fit has no time.
    kept = {"save_bag_folds": True} if preset == "good_quality" else {}
    try:
        predictor = fit("first", **kept)
    except AssertionError:  # its trial of stacking found no time, and left a fitted predictor behind
        predictor = fit("again", dynamic_stacking=False, **kept)
    if case.task == "classification":
        return lambda rows: predictor.predict_proba(rows)[sorted(y.unique())].to_numpy()
    return predictor.predict


CONTENDERS: dict[str, tuple[str, Callable[..., Predict]]] = {
    "Hedgerow": ("hedgerow.selection", fit_hedgerow),
    "FLAML": ("flaml", fit_flaml),
    "AutoGluon medium": ("autogluon.tabular", lambda *given: fit_autogluon(*given, "medium_quality")),
    "AutoGluon good": ("autogluon.tabular", lambda *given: fit_autogluon(*given, "good_quality")),
}


def measure(options: argparse.Namespace) -> None:
    """Fit one contender to one split of a table and print its loss and seconds as JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if options.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, options.cores)
    case = next(case for case in CASES if case.name == options.table)
    X, X_test, y, y_test = split(case, options.seed)
    module, fit = CONTENDERS[options.library]
    importlib.import_module(module)
    if options.library == "Hedgerow":  # compiles the kernels
        fit(X, y, case, argparse.Namespace(**{**vars(options), "budget": 0.01, "explain": False}))
    start = time.perf_counter()
    predict = fit(X, y, case, options)
    fitted = time.perf_counter()
    predicted = np.asarray(predict(X_test), np.float64)
    done = time.perf_counter()
    if case.task == "regression":
        loss = float(root_mean_squared_error(y_test, predicted))
    else:
        predicted = np.clip(predicted, 1e-15, 1.0)
        loss = float(log_loss(y_test, predicted / predicted.sum(axis=1, keepdims=True)))
    found = {"loss": loss, "seconds": fitted - start, "predict_seconds": done - fitted}
    print("RESULT " + json.dumps(found))


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have yet, on several groups of cores at once."""
    path = Path(options.out)
    runs = json.loads(path.read_text()) if path.exists() else {}
    tables = options.table or TABLES[options.tables]
    wanted = [
        (seed, table, library)
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        for table in tables
        for library in options.library or CONTENDERS
    ]
    waiting: queue.SimpleQueue[tuple[int, str, str]] = queue.SimpleQueue()
    for seed, table, library in wanted:
        if _key(library, table, seed) not in runs:
            waiting.put((seed, table, library))
    lock = threading.Lock()

    def work(number: int) -> None:
        cores = _cores(number, options)
        while True:
            try:
                seed, table, library = waiting.get_nowait()
            except queue.Empty:
                return
            found, reason = _measure_elsewhere(library, table, seed, cores, options)
            with lock:
                key = _key(library, table, seed)
                runs[key] = found
                print(key, found or reason, flush=True)
                path.write_text(json.dumps(runs, indent=0))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(options.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _key(library: str, table: str, seed: int) -> str:
    return f"{library} | {table} | {seed}"


def _cores(number: int, options: argparse.Namespace) -> list[int]:
    """Return the cores of a process: those of its number, as many as it has threads."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    allowed = options.cores or sorted(os.sched_getaffinity(0))
    if options.processes * options.threads > len(allowed):
        raise SystemExit(
            f"{options.processes} processes of {options.threads} threads need as many cores: there are "
            f"{len(allowed)}"
        )
    return allowed[number * options.threads : (number + 1) * options.threads]


def _measure_elsewhere(
    library: str, table: str, seed: int, cores: Sequence[int], options: argparse.Namespace
) -> tuple[dict[str, float] | None, str]:
    """Run `measure` in a process of its own; return what it found, or None and the end of its errors."""
    folder = tempfile.mkdtemp()
    command = [
        options.python.get(library.split(maxsplit=1)[0], sys.executable), __file__, "measure", library, table,
        "--seed", str(seed), "--budget", str(options.budget), "--threads", str(options.threads),
        "--folder", folder, *(["--cores", *map(str, cores)] if cores else []),
    ]  # fmt: skip
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(options.threads))}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=folder,
            timeout=options.budget + _TIMEOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, f"ended after {options.budget + _TIMEOUT:.0f} s"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if lines:
        return json.loads(lines[-1].removeprefix("RESULT ")), ""
    return None, "".join(done.stderr.strip().splitlines()[-1:])


def report(options: argparse.Namespace) -> None:
    """Print losses and ranks by table, mean ranks and seconds, for each set of tables."""
    runs: dict[tuple[str, str, int], dict[str, float] | None] = {}
    for file in options.files:
        for key, found in json.loads(Path(file).read_text()).items():
            library, table, seed = key.split(" | ")
            runs[library, table, int(seed)] = found
    names = [name for name in CONTENDERS if any(name == key[0] for key in runs)]
    held_back = {case.name for case in CASES if case.held_back}
    for title, is_held_back in (
        ("held-back tables: looked at only at the end, nothing was chosen on them", True),
        ("development tables: `choose` was improved on them", False),
    ):
        known = dict.fromkeys(key[1] for key in runs)
        tables = [table for table in known if (table in held_back) == is_held_back]
        if tables:
            print(f"\n{title}\n")
            _report_tables(runs, names, tables)


def _report_tables(runs: dict[Any, Any], names: Sequence[str], tables: Sequence[str]) -> None:
    seeds = sorted({key[2] for key in runs if key[1] in tables})
    found = [[[runs.get((name, table, seed)) for seed in seeds] for name in names] for table in tables]
    # (table, library, seed); a fit that failed is the worst, a fit that is not measured yet is left out
    losses = np.array(
        [[[math.inf if one is None else one["loss"] for one in row] for row in by] for by in found]
    )
    measured = [[all((name, table, seed) in runs for name in names) for seed in seeds] for table in tables]
    better = (losses[:, :, None] > losses[:, None]).sum(axis=2)
    equal = (losses[:, :, None] == losses[:, None]).sum(axis=2)
    ranks = np.where(np.array(measured)[:, None], 1.0 + better + (equal - 1) / 2, np.nan)
    kept = np.array(measured).any(axis=1)
    tables = [table for table, is_kept in zip(tables, kept, strict=True) if is_kept]
    ranks, losses = ranks[kept], np.where(np.isnan(ranks), np.nan, losses)[kept]
    of_tables, mean_losses = np.nanmean(ranks, axis=2), np.nanmean(losses, axis=2)
    normalised = mean_losses / mean_losses.min(axis=1, keepdims=True)
    normalised[np.isinf(normalised)] = np.nan  # a failed fit counts in the ranks
    rows = [
        [table, *(f"{loss:.4g} ({rank:.1f})" for loss, rank in zip(*pair, strict=True))]
        for table, *pair in zip(tables, mean_losses, of_tables, strict=True)
    ]
    errors = of_tables.std(axis=0, ddof=min(1, len(tables) - 1)) / math.sqrt(len(tables))
    rows.append(["mean rank ± s.e.", *map("{:.2f} ± {:.2f}".format, of_tables.mean(axis=0), errors)])
    rows.append(["loss / lowest, mean", *map("{:.3f}".format, np.nanmean(normalised, axis=0))])
    failed = [sum(one is None for row in found for one in row[i]) for i in range(len(names))]
    if any(failed):
        rows.append(["failed, or not measured", *map(str, failed)])
    for title, field, reduce in (
        ("fit, s, mean", "seconds", np.nanmean), ("fit, s, longest", "seconds", np.nanmax),
        ("predict, s, mean", "predict_seconds", np.nanmean),
    ):  # fmt: skip
        columns = range(len(names))
        seconds = [[one[field] for row in found for one in row[i] if one] or [math.nan] for i in columns]
        reduced = [float(reduce(one)) for one in seconds]
        rows.append([title, *(f"{one:.2g}" if one < 10 else f"{one:.0f}" for one in reduced)])
    print(format_table(["table: loss (rank)", *names], rows))
    n_splits = int(np.array(measured).sum())
    print(f"{n_splits} splits of {len(tables)} tables; the standard error is that of the mean over tables")


def _python(text: str) -> tuple[str, str]:
    library, _, path = text.partition("=")
    return library, path


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure", help="one fit, in this process")
    one.set_defaults(action=measure)
    one.add_argument("library", choices=CONTENDERS)
    one.add_argument("table")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--folder", help="for the files of AutoGluon")
    one.add_argument("--explain", action="store_true", help="print the trials of Hedgerow")
    several = commands.add_parser("run", help="all fits that the file does not have yet")
    several.set_defaults(action=run)
    several.add_argument("--out", required=True)
    several.add_argument("--tables", choices=TABLES, default="development")
    several.add_argument("--table", action="append", help="a single table, instead of a set")
    several.add_argument("--library", action="append", choices=CONTENDERS)
    several.add_argument("--seeds", type=int, default=1, help="number of splits")
    several.add_argument("--first-seed", type=int, default=0)
    several.add_argument("--processes", type=int, default=1, help="fits at once, each on cores of its own")
    several.add_argument(
        "--python", type=_python, action="append", default=[], metavar="LIBRARY=PATH",
        help="the interpreter of Hedgerow, FLAML or AutoGluon, if they cannot share one",
    )  # fmt: skip
    for command in (one, several):
        command.add_argument("--budget", type=float, default=30.0)
        command.add_argument("--threads", type=int, default=1)
        command.add_argument("--cores", type=int, nargs="*", help="the cores that may be used")
    command = commands.add_parser("report", help="losses, ranks and seconds")
    command.set_defaults(action=report)
    command.add_argument("files", nargs="+")
    options = parser.parse_args()
    if hasattr(options, "python"):
        options.python = dict(options.python)
    options.action(options)


if __name__ == "__main__":
    main()
