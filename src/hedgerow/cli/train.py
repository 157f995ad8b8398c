"""`hedgerow train`: fit a model to a table; save it with its certificate, and write a report.

It warns of leaks. The "number of injured" determines the severity of an accident, but is not known earlier: a
model with such a column looks perfect and is useless. The same holds for test rows that are copies of
training rows.
"""

import shlex
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import hedgerow
from hedgerow._typing import Integers
from hedgerow.cli import options
from hedgerow.cli.errors import CommandError, UsageError, input_errors
from hedgerow.cli.evaluate import Evaluation, evaluate, write_report
from hedgerow.cli.options import check_choice, check_output_file, command_line, describe_file
from hedgerow.cli.output import Output, format_duration, format_score, plain
from hedgerow.cli.table_model import (
    DATA_SUFFIXES,
    KIND,
    PreparedTable,
    ReadingOptions,
    file_checksum,
    print_table,
    read_training_table,
)
from hedgerow.datafiles.files import split_source
from hedgerow.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.io import save
from hedgerow.selection import AUTO, METHODS, METRICS, choose, make_model, take_rows

_MIN_TRAINING_ROWS = 4


@dataclass(frozen=True)
class TrainOptions:
    """The options of the command that the fit and the card need."""

    method: str
    metric: str | None
    budget: float
    hold_out: float
    seed: int
    threads: int | None

    def check(self) -> None:
        """Raise UsageError for an option that no table can have."""
        check_choice("--method", self.method, ("auto", *AUTO))
        if not 0.0 < self.hold_out < 1.0:
            raise UsageError(
                f"--hold-out {self.hold_out:g} is not allowed: it must be a number between 0 and 1"
            )
        options.check_numbers(self.seed, self.threads)
        if not 0 < self.budget < float("inf"):
            raise UsageError(
                f"--budget {self.budget:g} is not allowed: it must be a number of seconds above 0"
            )
        if self.metric is not None:
            check_choice("--metric", self.metric, tuple(METRICS))


def train(
    data: Path,
    target: str,
    *,
    out: Path | None,
    report: Path | None,
    task: str,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Fit the best ensemble to a table, and save it with its certificate."""
    output = Output(as_json)
    reading = ReadingOptions(**{field.name: settings.pop(field.name) for field in fields(ReadingOptions)})
    chosen = TrainOptions(**settings)
    chosen.check()
    model_path = out if out is not None else Path(f"{_stem(data)}.hedgerow")
    replaces = check_output_file("--out", model_path, force=force, others=(data,))
    replaces_report = check_output_file(
        "--report", report, force=force, suffixes=(".html",), others=(data, model_path)
    )
    table = read_training_table(data, target, reading, task=task, share=chosen.hold_out, seed=chosen.seed)
    _check_table(table, chosen)
    print_table(table, output)
    evaluation, leaks = _fit_and_evaluate(table, chosen, output)
    card = _card(evaluation, table, chosen)
    save(evaluation.model, model_path, card=card, certificate=evaluation.certificate)
    output.text(f"model: {describe_file(model_path, replaced=replaces)}")
    if report is not None:
        write_report(model_path, evaluation, table, chosen.seed, report, output, commands=(card["command"],))
        output.text(f"report: {describe_file(report, replaced=replaces_report)}")
    certificate = evaluation.certificate and evaluation.certificate.to_dict()
    files = {"model": str(model_path), "report": report and str(report)}
    output.result({**card, "certificate": certificate, "leaks": leaks, **files})


def _fit_and_evaluate(
    table: PreparedTable, chosen: TrainOptions, output: Output
) -> tuple[Evaluation, list[str]]:
    """Fit and evaluate a model, print both, and return also warnings of leaks."""
    output.text(
        f"held out: {len(table.test):,} of {len(table.y):,} rows, drawn with seed {chosen.seed}; "
        f"training rows: {len(table.train):,}"
    )
    start = time.perf_counter()
    model, choice = _fit(table, chosen, output)
    seconds = time.perf_counter() - start
    evaluation = evaluate(model, table, choice)
    leaks = leaking_columns(model, table) + copied_rows(table)
    _print_evaluation(evaluation, table, seconds, leaks, output)
    return evaluation, leaks


def _check_table(table: PreparedTable, chosen: TrainOptions) -> None:
    """Raise an error for too few rows, or for a method or a metric that does not support the target."""
    n_train, n_test = len(table.train), len(table.test)
    if not n_test:
        raise CommandError(f"{table.path}: {len(table.y)} rows are too few to hold some out")
    if n_train < _MIN_TRAINING_ROWS:
        raise CommandError(
            f"{table.path}: {n_test} of {len(table.y)} rows are held out; the remaining {n_train} are too "
            f"few for training, at least {_MIN_TRAINING_ROWS} are needed"
        )
    n_classes = len(np.unique(table.y)) if table.task == "classification" else None
    method, metric = chosen.method, chosen.metric
    reason = None if method == "auto" else METHODS[method].reason_against(table.task, n_classes)
    if reason is not None:
        raise UsageError(f"--method {method} is not allowed for {table.recipe.target!r}: {reason}")
    if metric is not None and table.task not in METRICS[metric].tasks:
        allowed = ", ".join(name for name, one in METRICS.items() if table.task in one.tasks)
        raise UsageError(f"--metric {metric} is not allowed for {table.task}: it must be one of {allowed}")
    if metric == "auc" and n_classes != 2:
        raise UsageError(f"--metric auc is not allowed: it needs two classes, and there are {n_classes}")


def _fit(table: PreparedTable, chosen: TrainOptions, output: Output) -> tuple[Any, Any]:
    """Fit the named method, or the best one, to the training rows; return also the Choice, if any."""
    X, y = table.take(table.train)
    method = chosen.method
    common: dict[str, Any] = {"random_state": chosen.seed, "n_jobs": chosen.threads}
    title = "choosing" if method == "auto" else f"fitting {METHODS[method].title}"
    with output.progress(title) as progress, input_errors():
        if method != "auto":
            return make_model(method, table.task, **common).fit(X, y), None
        common |= {"metric": chosen.metric, "budget": chosen.budget}
        choice = choose(X, y, table.task, progress=progress, **common)
    return choice.model, choice


def _print_evaluation(
    evaluation: Evaluation, table: PreparedTable, seconds: float, leaks: list[str], output: Output
) -> None:
    """Print the trials, the model, its scores and its certificate."""
    if evaluation.choice is not None:
        output.page(evaluation.choice)
    output.text(" ".join(repr(evaluation.model).split()), "bold")
    n = len(table.test)
    rows = "1 held-out row" if n == 1 else f"{n:,} held-out rows"
    output.text(f"fitted in {format_duration(seconds)}; scores of the {rows}:")
    scores = evaluation.scores
    titles = [METRICS[name].title for name in scores]
    output.table(titles, [[format_score(value) for value in scores.values()]])
    if evaluation.certificate is not None:
        output.text(f"certificate: {evaluation.certificate.statement}", "green")
    for leak in leaks:
        output.note(leak)


def _stem(path: Path) -> str:
    """Return the name of a file without folders and suffixes of data files.

    >>> _stem(Path("data/cars.v2.csv.gz")), _stem(Path("cars.xlsx::2024")), _stem(Path("-"))
    ('cars.v2', 'cars-2024', 'model')
    """
    file_path, inner = split_source(path)
    name = file_path.name
    for suffix in DATA_SUFFIXES:
        name = name.removesuffix(suffix)
    if inner is not None:
        name += f"-{Path(inner).stem}"
    return name if name.strip("-") else "model"


def _card(evaluation: Evaluation, table: PreparedTable, chosen: TrainOptions) -> dict[str, Any]:
    """Return the card of the model; see `table_model`."""
    n_rows = table.summary.n_rows
    card: dict[str, Any] = plain(
        {
            "kind": KIND,
            "hedgerow": hedgerow.__version__,
            "recipe": table.recipe.to_dict(),
            "data": {
                "name": table.path.name,
                "sha256": file_checksum(table.path),
                "rows": n_rows,
                "unlabelled": n_rows - len(table.row_numbers),
            },
            "hold_out": {
                "share": chosen.hold_out,
                "seed": chosen.seed,
                "rows": len(table.test),
                "train_rows": len(table.train),
            },
            "estimator": type(evaluation.model).__name__,
            "choice": evaluation.choice and _without_seconds(evaluation.choice.to_dict()),
            "scores": evaluation.scores,
            "command": command_line(),
        }
    )
    return card


def _without_seconds(choice: dict[str, Any]) -> dict[str, Any]:
    """Remove measured times: the same training gives the same file."""
    trials = [{**trial, "fit_seconds": None} for trial in choice["trials"]]
    return {**choice, "trials": trials, "best": {**choice["best"], "fit_seconds": None}, "seconds": None}


# --- leaks

_COLUMNS = 5  # number of the most important columns that are examined
_ROWS = 20_000
_DEPTH = 4
_REMAINING_ERROR = 0.03  # of the error of the best constant prediction, at most, if a column leaks the target
_MIN_ROWS = 30  # with fewer, a column predicts the target by chance
_COPIES = 0.05  # share of the test rows from which copies are reported
_CONTINUOUS = 0.1  # distinct values per row, from which equal rows are hardly chance


def leaking_columns(model: Any, table: PreparedTable) -> list[str]:
    """Return a warning for each important column that alone predicts the target."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None or len(table.y) < _MIN_ROWS:
        return []
    names = table.X.column_names
    return [
        f"column {names[number]!r} alone predicts {table.recipe.target!r} almost perfectly: is it known "
        f"before {table.recipe.target!r} is? If not, leave it out: --drop {shlex.quote(names[number])}"
        for number in np.argsort(importances)[::-1][:_COLUMNS]
        if importances[number] > 0 and _is_leaking(table, names[number])
    ]


def _is_leaking(table: PreparedTable, name: str) -> bool:
    """Return whether a small tree on the column leaves at most 3 % of the error of a constant prediction."""
    X = table.X.select([name])
    rows, test = _some(table.train), np.concatenate([_some(table.train), _some(table.test)])
    y, y_true = table.y[rows], table.y[test]  # also training rows, because test rows may be few
    if table.task == "regression":
        tree = DecisionTreeRegressor(max_depth=_DEPTH + 2).fit(take_rows(X, rows), y)
        residual = y_true.astype(np.float64) - tree.predict(take_rows(X, test))
        return bool(np.mean(residual**2) <= _REMAINING_ERROR * np.var(y_true.astype(np.float64)))
    tree = DecisionTreeClassifier(max_depth=_DEPTH).fit(take_rows(X, rows), y)
    error = np.mean(tree.predict(take_rows(X, test)) != y_true)
    constant_error = 1.0 - np.unique(y_true, return_counts=True)[1].max() / len(y_true)
    return bool(error <= _REMAINING_ERROR * constant_error)


def copied_rows(table: PreparedTable) -> list[str]:
    """Return a warning if test rows are copies of training rows.

    Rows of categories are often equal by chance; so there is no warning unless a column of numbers has values
    that rarely occur twice.
    """
    if not any(_is_continuous(column) for column in table.X.columns):
        return []
    keys = _row_keys(table)
    copies = int(np.isin(keys[table.test], keys[table.train]).sum())
    if copies < max(2, _COPIES * len(table.test)):
        return []
    warning = (
        f"{copies:,} of the {len(table.test):,} held-out rows are copies of training rows: unless they are "
        "separate observations, scores and certificate are too optimistic; remove the copies"
    )
    return [warning]


def _row_keys(table: PreparedTable) -> NDArray[np.uint64]:
    """Return a hash for each row: the codes of its values, mixed modulo 2**64."""
    keys = np.unique(table.y, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    for column in table.X.columns:
        encoded = column.dictionary_encode().unify_dictionaries()
        codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks])
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        keys += codes.astype(np.int64).view(np.uint64)
    return keys


def _is_continuous(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() >= _CONTINUOUS * len(column))


def _some(rows: Integers) -> Integers:
    """Return at most `_ROWS` rows, evenly spaced because the file may be sorted."""
    return rows[:: -(-len(rows) // _ROWS)]
