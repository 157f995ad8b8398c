"""Accuracy of default parameters: many real tables, several repeats, peers with their own defaults.

    python benchmarks/accuracy.py run --tables development --out runs.json
    python benchmarks/accuracy.py run --tables held-back --out runs.json
    python benchmarks/accuracy.py report runs.json

A repeat is a random split: three quarters of the rows for training, the others for the loss, which is
log-loss for classes and the mean squared error for numbers. All libraries get the same data frames and two
threads (`--threads`; scikit-learn uses all cores); columns of categories are passed as such to all of them. A
run adds to the file what it does not have yet. The tables are those of accuracy_tables.py; half of them,
chosen by the hash of their names, are held back: defaults may be studied on the development tables only. To
study parameters, pass contenders like

    --contender 'Hedgerow {"learning_rate": 0.05, "n_estimators": 1000}'

The report compares by table, with losses averaged over repeats:

rank      1 for the lowest loss; mean over tables
wins      the fraction of tables on which a library has a lower loss than CatBoost
excess    log2 of the loss relative to the lowest on the table; mean over tables
Elo       from all pairs of libraries and tables by the Bradley-Terry model, 1000 for the mean
seconds   of the processor (all threads together) for all fits and predictions

With `--baseline NAME` it prints instead log2 of the loss relative to that of one contender: the mean over
tables with its standard error, for all tables, those of few and of many rows, of classes and of numbers.
"""

import argparse
import contextlib
import json
import math
import time
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import accuracy_contenders
from accuracy_contenders import CONTENDERS, make_contender
from accuracy_tables import CASES, Case
from hedgerow.text_table import format_table

TEST_FRACTION = 0.25
REFERENCE = "CatBoost"
FEW_ROWS = 3_000
_FLOOR = 1e-15  # of a predicted probability

# --- one fit


def split(
    case: Case, repeat: int, max_rows: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, Any, Any]:
    """Return the training and test rows of a repeat, of at most `max_rows` rows; classes are numbers."""
    X, y = _load_table(case)
    strata = None
    if case.task == "classification":
        y = pd.Series(pd.factorize(y, sort=True)[0], index=X.index)
        kept = y.map(y.value_counts()) >= 8  # a class must be in both parts
        X, y = X[kept].reset_index(drop=True), pd.Series(pd.factorize(y[kept], sort=True)[0])
        strata = y
    sizes: dict[str, Any] = {"test_size": TEST_FRACTION}
    if max_rows is not None and len(y) > max_rows:
        n_test = round(TEST_FRACTION * max_rows)
        sizes = {"test_size": n_test, "train_size": max_rows - n_test}
    return tuple(train_test_split(X, y, random_state=repeat, stratify=strata, **sizes))


@cache
def _load_table(case: Case) -> tuple[pd.DataFrame, pd.Series]:
    return case.load()


def test_loss(model: Any, task: str, X_test: pd.DataFrame, y_test: Any) -> float:
    """Return the log-loss or the mean squared error of a fitted model."""
    if task == "regression":
        return float(
            np.mean((y_test.to_numpy() - np.asarray(model.predict(X_test), np.float64).ravel()) ** 2)
        )
    predicted = np.clip(np.asarray(model.predict_proba(X_test), np.float64), _FLOOR, 1.0)
    predicted /= predicted.sum(axis=1, keepdims=True)
    return float(log_loss(y_test, predicted, labels=np.arange(predicted.shape[1])))


def measure(name: str, case: Case, repeat: int) -> dict[str, float]:
    """Fit and evaluate one contender on one repeat."""
    X_train, X_test, y_train, y_test = split(case, repeat)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_contender(name, case, repeat).fit(X_train, y_train)
        fitted = time.process_time()
        loss = test_loss(model, case.task, X_test, y_test)
    return {"loss": loss, "fit": fitted - start, "predict": time.process_time() - fitted}


# --- runs


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have yet."""
    accuracy_contenders.THREADS = options.threads
    path = Path(options.out)
    runs = json.loads(path.read_text()) if path.exists() else {}
    names = options.contender or list(CONTENDERS)
    _load(names)
    cases = [case for case in CASES if _chosen(case, options.tables, options.only)]
    for case in cases:
        for name in names:
            for repeat in range(options.repeats):
                key = f"{name} | {case.name} | {repeat}"
                if key in runs:
                    continue
                runs[key] = measure(name, case, repeat)
                found = runs[key]
                print(f"{key}: {found['loss']:.5g} in {found['fit']:.2f} s", flush=True)
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(runs, indent=0))
        partial.replace(path)


def _load(names: Sequence[str]) -> None:
    """Fit every library once, so that imports and compiled kernels are not part of the first times."""
    for task in ("classification", "regression"):
        case = next(case for case in CASES if case.task == task)
        X_train, X_test, y_train, _ = split(case, 0)
        for library in dict.fromkeys(name.partition("{")[0].strip() for name in names):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make_contender(library, case, 0).fit(X_train, y_train).predict(X_test)


def _chosen(case: Case, tables: str, only: Sequence[str]) -> bool:
    if only:
        return case.name in only
    return tables == "all" or (tables == "held-back") == case.held_back


# --- report


def report(options: argparse.Namespace) -> None:
    """Print the comparison of the libraries in files of runs."""
    runs: dict[str, dict[str, float]] = {}
    for file in options.files:
        runs |= json.loads(Path(file).read_text())
    losses: dict[tuple[str, str], list[float]] = {}
    seconds: dict[tuple[str, str], float] = {}
    chosen = {case.name for case in CASES if _chosen(case, options.tables, options.only)}
    for key, found in runs.items():
        name, table, _ = key.split(" | ")
        if table in chosen and (not options.contender or name in options.contender):
            losses.setdefault((name, table), []).append(found["loss"])
            seconds[name, table] = seconds.get((name, table), 0.0) + found["fit"] + found["predict"]
    names = list(dict.fromkeys(name for name, _ in losses))
    tables = [table for table in sorted(chosen) if all((name, table) in losses for name in names)]
    means = np.array([[np.mean(losses[name, table]) for name in names] for table in tables])
    print(f"{len(tables)} tables, {min(map(len, losses.values()))} repeats or more\n")
    if options.baseline:
        print(_relative(names, tables, means, names.index(options.baseline)))
    else:
        print(_summary(names, tables, means, seconds))
    if options.by_table:
        rows = [[table, *(f"{value:.5g}" for value in row)] for table, row in zip(tables, means, strict=True)]
        print(format_table(["table", *names], rows))


def _summary(
    names: list[str], tables: list[str], means: np.ndarray, seconds: dict[tuple[str, str], float]
) -> str:
    ranks = np.apply_along_axis(_ranks, 1, means)
    excess = np.log2(means / means.min(axis=1, keepdims=True))
    reference = names.index(REFERENCE) if REFERENCE in names else 0
    elo = _elo(means)
    rows = []
    for i in np.argsort(ranks.mean(axis=0)):
        error = ranks[:, i].std(ddof=1) / math.sqrt(len(tables)) if len(tables) > 1 else 0.0
        wins = np.mean(means[:, i] < means[:, reference])
        total = sum(seconds[names[i], table] for table in tables)
        rows.append([
            names[i], f"{ranks[:, i].mean():.2f} ± {error:.2f}", f"{100 * wins:.0f} %",
            f"{excess[:, i].mean():.4f}", f"{elo[i]:.0f}", f"{total:.1f}",
        ])  # fmt: skip
    return format_table(
        ["library", "rank", f"wins over {names[reference]}", "excess", "Elo", "seconds"], rows
    )


def _relative(names: list[str], tables: list[str], means: np.ndarray, baseline: int) -> str:
    """Return a table of log2 of losses relative to those of a baseline, by kind of table."""
    cases = {case.name: case for case in CASES}
    targets = [cases[table].load()[1] for table in tables]
    is_small = np.array([len(y) < FEW_ROWS for y in targets])
    of_classes = np.array([cases[table].task == "classification" for table in tables])
    of_two = of_classes & np.array([y.nunique() == 2 for y in targets])
    groups = {
        "all": np.ones(len(tables), bool), f"< {FEW_ROWS:,} rows": is_small, "more rows": ~is_small,
        "two classes": of_two, "more classes": of_classes & ~of_two, "numbers": ~of_classes,
    }  # fmt: skip
    groups = {title: own for title, own in groups.items() if own.any()}
    rows = []
    for title, own in groups.items():
        ratios = np.log2(means[own] / means[own, baseline : baseline + 1])
        errors = ratios.std(axis=0, ddof=1) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0 * ratios[0]
        cells = [f"{m:+.3f} ± {e:.3f}" for m, e in zip(ratios.mean(axis=0), errors, strict=True)]
        rows.append([f"{title} ({own.sum()})", *cells])
    rows.append([f"lower, of {len(tables)}", *map(str, (means < means[:, [baseline]]).sum(axis=0))])
    numbered = "\n".join(f"{number}  {name}" for number, name in enumerate(names))
    lines = [["tables", *map(str, range(len(names)))], *rows]
    table = "\n".join(f"{title:22}" + "".join(f"{cell:>17}" for cell in cells) for title, *cells in lines)
    return f"{numbered}\n\n{table}"


def _ranks(values: np.ndarray) -> np.ndarray:
    return (
        (values[:, None] > values[None]).sum(axis=1) + (values[:, None] == values[None]).sum(axis=1) / 2 + 0.5
    )


def _elo(means: np.ndarray) -> np.ndarray:
    """Return Bradley-Terry strengths as Elo numbers; one more draw between all pairs makes all finite."""
    wins = (means[:, :, None] < means[:, None]).sum(axis=0) + 0.5 * (means[:, :, None] == means[:, None]).sum(
        axis=0
    )
    np.fill_diagonal(wins, 0.0)
    wins += 0.5 * (1 - np.eye(len(wins)))
    games, strength = wins + wins.T, np.ones(len(wins))
    for _ in range(1000):
        strength = wins.sum(axis=1) / (games / (strength[:, None] + strength[None])).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
    return 1000 + 400 * np.log10(strength)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, action in (("run", run), ("report", report)):
        command = commands.add_parser(name)
        command.set_defaults(action=action)
        command.add_argument("--tables", choices=("development", "held-back", "all"), default="development")
        command.add_argument("--only", nargs="*", default=[], metavar="TABLE")
        command.add_argument("--contender", action="append", help="a name, with JSON parameters if wanted")
        if name == "run":
            command.add_argument("--repeats", type=int, default=3)
            command.add_argument("--threads", type=int, default=accuracy_contenders.THREADS)
            command.add_argument("--out", required=True)
        else:
            command.add_argument("files", nargs="+")
            command.add_argument("--by-table", action="store_true")
            command.add_argument("--baseline", metavar="NAME", help="a contender of the files")
    options = parser.parse_args(arguments)
    with contextlib.suppress(BrokenPipeError):
        options.action(options)


if __name__ == "__main__":
    main()
