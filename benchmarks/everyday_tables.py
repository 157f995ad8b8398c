"""`hedgerow train` on everyday tables, beside the defaults of other libraries.

    python benchmarks/everyday_tables.py --budget 10

Twelve tables of the package dmba, written as CSV files as they are. A quarter of the rows is kept for
testing and passed to no library. Each table goes through all commands (train with a report, predict, explain,
certify) and through Python (load, predict a raw data frame). LightGBM, HistGradientBoosting and
CatBoost are fitted with their defaults to the same training rows; text, dates too, is categorical. Scores are
log-loss, or the root of the mean squared error, on the test rows. A table whose commands fail, or whose
training takes longer than 1.2 times the budget and 5 seconds, is marked, and the exit code is 1.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dmba
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error

import hedgerow
from hedgerow.text_table import format_table

PEERS = ("LightGBM", "HistGradientBoosting", "CatBoost")
FEW = 12  # values of a numeric target up to which it is a class


@dataclass(frozen=True)
class Case:
    """A table of dmba, its target, and columns that would reveal the target or number the rows."""

    file: str
    target: str
    drop: tuple[str, ...] = ()


CASES = (
    Case("UniversalBank", "Personal Loan", ("ID",)),
    Case("GermanCredit", "RESPONSE", ("OBS#",)),
    Case("FlightDelays", "Flight Status", ("DEP_TIME",)),
    Case("accidentsFull", "MAX_SEV_IR", ("INJURY_CRASH", "NO_INJ_I", "PRPTYDMG_CRASH", "FATALITIES")),
    Case("ToyotaCorolla", "Price", ("Id",)),
    Case("WestRoxbury", "TOTAL VALUE ", ("TAX",)),
    Case("Airfares", "FARE"),
    Case("eBayAuctions", "Competitive?"),
    Case("Taxi-cancellation-case", "Car_Cancellation", ("row#",)),
    Case("Tayko", "Spending", ("sequence_number", "Purchase")),
    Case("LaptopSalesJanuary2008", "Retail Price"),
    Case("Universities", "Graduation rate"),
)


@dataclass
class Row:
    """What was measured for one table: seconds and scores of `hedgerow train` and of each peer."""

    case: Case
    method: str
    seconds: dict[str, float]
    scores: dict[str, float]
    problems: list[str]


def read(case: Case) -> pd.DataFrame:
    """Return a table without rows that have no target."""
    frame = pd.read_csv(Path(dmba.__file__).parent / "csvFiles" / f"{case.file}.csv.gz")
    return frame[frame[case.target].notna()].reset_index(drop=True)


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of hedgerow in a new process."""
    line = [sys.executable, "-m", "hedgerow", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def is_classes(target: pd.Series) -> bool:
    """Whether a target is one of classes."""
    return target.dtype.kind not in "iuf" or target.nunique() <= FEW


def score(truth: pd.Series, predicted: Any, labels: Any) -> float:
    """Log-loss of probabilities, or the root of the mean squared error of numbers (without labels)."""
    if labels is None:
        return float(root_mean_squared_error(truth, predicted))
    return float(log_loss(truth.astype(str), predicted, labels=list(labels)))


def run_commands(case: Case, train: pd.DataFrame, test: pd.DataFrame, folder: Path, budget: float) -> Row:
    """Run all commands of one table and return the score of the saved model."""
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    model = folder / "model.hedgerow"
    drop = [word for name in case.drop for word in ("--drop", name)]
    options = [*drop, "--budget", str(budget), "--out", model, "--report", folder / "report.html", "--force"]
    start = time.perf_counter()
    result = command("train", folder / "train.csv", "--target", case.target, *options)
    row = Row(case, "–", {"Hedgerow": time.perf_counter() - start}, {}, [])
    if result.returncode:
        row.problems.append(f"train: {result.stderr.strip()}")
        return row
    if row.seconds["Hedgerow"] > 1.2 * budget + 5:
        row.problems.append(f"train took {row.seconds['Hedgerow']:.1f} s")
    predicted = folder / "predicted.csv"
    for arguments in (
        ("predict", model, folder / "test.csv", "--out", predicted, "--force"),
        ("explain", model, folder / "test.csv"),
        *([("certify", model)] if is_classes(train[case.target]) else []),
    ):
        result = command(*arguments)
        if result.returncode:
            row.problems.append(f"{arguments[0]}: {result.stderr.strip()}")
    loaded = hedgerow.load(model)
    features = test.drop(columns=[case.target])
    row.method = type(loaded.estimator).__name__
    classes = is_classes(train[case.target])
    values = loaded.predict_proba(features) if classes else loaded.predict(features)
    labels = [str(label) for label in loaded.classes_] if classes else None
    row.scores["Hedgerow"] = score(test[case.target], values, labels)
    if predicted.exists():
        written = pd.read_csv(predicted)
        same = written.iloc[:, 0].astype(str).tolist() if classes else written.iloc[:, 0].to_numpy()
        python = [str(label) for label in loaded.predict(features)] if classes else values
        if not (same == python if classes else np.allclose(same, python)):
            row.problems.append("predict in Python differs from the command")
    return row


def prepared(case: Case, train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns that peers accept: numbers, and text as categories of the training rows."""
    frames: list[dict[str, Any]] = [{}, {}]
    for name in train.columns.drop([case.target, *case.drop]):
        column = train[name]
        if column.dtype.kind in "iufb":
            frames[0][name], frames[1][name] = column, test[name]
            continue
        categories = column.astype(str).value_counts().index[:250]  # HistGradientBoosting allows 255
        for frame, source in zip(frames, (train, test), strict=True):
            text = source[name].astype(str)
            frame[name] = pd.Categorical(text.where(text.isin(categories)), categories=categories)
    return pd.DataFrame(frames[0]), pd.DataFrame(frames[1])


def peers(classes: bool) -> Iterator[tuple[str, Any]]:
    """Yield the peers with their defaults and two threads."""
    import catboost
    import lightgbm
    from sklearn import ensemble

    kind = "Classifier" if classes else "Regressor"
    yield "LightGBM", getattr(lightgbm, f"LGBM{kind}")(n_jobs=2, verbose=-1)
    forest = getattr(ensemble, f"HistGradientBoosting{kind}")
    yield "HistGradientBoosting", forest(categorical_features="from_dtype", random_state=0)
    yield (
        "CatBoost",
        getattr(catboost, f"CatBoost{kind}")(thread_count=2, verbose=0, allow_writing_files=False),
    )


def measure_peers(row: Row, train: pd.DataFrame, test: pd.DataFrame) -> None:
    """Fit the peers and add their times and scores."""
    target = row.case.target
    classes = is_classes(train[target])
    X, X_test = prepared(row.case, train, test)
    y = train[target].astype(str) if classes else train[target]
    for name, model in peers(classes):
        text = [column for column in X if isinstance(X[column].dtype, pd.CategoricalDtype)]
        more: dict[str, Any] = {}
        inputs = X, X_test
        if name == "CatBoost":
            more["cat_features"] = text
            strings = [
                {column: frame[column].astype(object).fillna("other") for column in text} for frame in inputs
            ]
            inputs = tuple(frame.assign(**one) for frame, one in zip(inputs, strings, strict=True))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(inputs[0], y, **more)
            row.seconds[name] = time.perf_counter() - start
            values = model.predict_proba(inputs[1]) if classes else model.predict(inputs[1])
        row.scores[name] = score(test[target], values, model.classes_ if classes else None)


def main() -> None:
    """Measure the tables and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of hedgerow train --budget")
    parser.add_argument("--only", nargs="*", help="names of tables; all by default")
    parser.add_argument("--folder", type=Path, help="where to keep models and reports")
    options = parser.parse_args()
    rows = []
    for case in CASES:
        if options.only and case.file not in options.only:
            continue
        frame = read(case)
        chosen = np.random.default_rng(0).random(len(frame)) < 0.25
        train, test = frame[~chosen], frame[chosen]
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.folder or Path(temporary)) / case.file
            folder.mkdir(parents=True, exist_ok=True)
            row = run_commands(case, train, test, folder, options.budget)
        measure_peers(row, train, test)
        rows.append(row)
        print(row.case.file, row.method, row.scores, row.seconds, row.problems, flush=True)
    heads = ["table", "method", "train s", "score", *(f"{name}" for name in PEERS), "CatBoost s"]
    body = [
        [
            row.case.file,
            row.method,
            f"{row.seconds['Hedgerow']:.1f}",
            f"{row.scores.get('Hedgerow', np.nan):.4g}",
            *(f"{row.scores[name]:.4g}" for name in PEERS),
            f"{row.seconds['CatBoost']:.1f}",
        ]
        for row in rows
    ]
    print(format_table(heads, body, left=(0, 1)))
    problems = [f"{row.case.file}: {problem}" for row in rows for problem in row.problems]
    print(*problems, sep="\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
