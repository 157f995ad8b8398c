"""`hedgerow train`: fit a model to a table; save it with its certificate, and write a report."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import hedgerow
from hedgerow.cli import options
from hedgerow.cli.errors import UsageError, input_errors
from hedgerow.cli.evaluate import Evaluation, evaluate, write_report
from hedgerow.cli.leaks import find_leaks
from hedgerow.cli.model_file import KIND, command_line
from hedgerow.cli.options import check_choice, check_output_file, describe_file
from hedgerow.cli.output import Output, format_duration, format_score, plain
from hedgerow.cli.prepared_table import (
    PreparedTable,
    check_split,
    file_checksum,
    print_table,
    read_training_table,
)
from hedgerow.io import save
from hedgerow.selection import AUTO, METHODS, METRICS, choose, make_model

_SUFFIXES = (
    *(".gz", ".bz2", ".zst", ".lz4", ".xz"),
    *(".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather"),
)

Method = Annotated[str, typer.Option(metavar="NAME", help=f"The ensemble method: auto, {', '.join(AUTO)}.")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="The model file; by default the name of DATA with the suffix .hedgerow.",
        show_default=False,
    ),
]
ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="An HTML report to write.", show_default=False)
]
HoldOut = Annotated[
    float, typer.Option(metavar="SHARE", help="Share of the rows to hold out for scores and certificate.")
]
Budget = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Time for auto to choose a method, without compilation."),
]
MetricName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"The metric by which auto chooses: {', '.join(METRICS)}; log-loss or rmse by default.",
        show_default=False,
    ),
]


def train(
    data: options.Data,
    target: options.Target,
    method: Method = "auto",
    out: Out = None,
    report: ReportFile = None,
    task: options.Task = "auto",
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    hold_out: HoldOut = 0.2,
    budget: Budget = 60.0,
    metric: MetricName = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Fit the best ensemble to a table, and save it with its certificate."""
    output = Output(as_json)
    model_path = out if out is not None else Path(f"{_stem(data)}.hedgerow")
    check_choice("--method", method, ("auto", *AUTO))
    if not 0.0 < hold_out < 1.0:
        raise UsageError(f"--hold-out {hold_out:g} is not allowed: it must be a number between 0 and 1")
    options.check_numbers(seed, threads)
    if not 0 < budget < float("inf"):
        raise UsageError(f"--budget {budget:g} is not allowed: it must be a number of seconds above 0")
    if metric is not None:
        check_choice("--metric", metric, tuple(METRICS))
    replaces = check_output_file("--out", model_path, force=force, others=(data,))
    replaces_report = check_output_file(
        "--report", report, force=force, suffixes=(".html",), others=(data, model_path)
    )
    table = read_training_table(
        data, target, task=task, drop=drop, categorical=categorical, share=hold_out, seed=seed
    )
    check_split(table)
    _check_method(table, method, metric)
    print_table(table, output)
    output.text(
        f"held out: {len(table.test):,} of {len(table.y):,} rows, drawn with seed {seed}; "
        f"training rows: {len(table.train):,}"
    )
    start = time.perf_counter()
    model, choice = _fit(table, method, metric, budget, seed, threads, output)
    seconds = time.perf_counter() - start
    evaluation = evaluate(model, table, choice)
    leaks = find_leaks(model, table)
    _print_evaluation(evaluation, table, seconds, leaks, output)
    card = _card(evaluation, table, hold_out, seed)
    save(model, model_path, card=card, certificate=evaluation.certificate)
    output.text(f"model: {describe_file(model_path, replaced=replaces)}")
    if report is not None:
        write_report(model_path, evaluation, table, seed, report, output, commands=(card["command"],))
        output.text(f"report: {describe_file(report, replaced=replaces_report)}")
    certificate = evaluation.certificate and evaluation.certificate.to_dict()
    files = {"model": str(model_path), "report": report and str(report)}
    output.result({**card, "certificate": certificate, "leaks": leaks, **files})


def _check_method(table: PreparedTable, method: str, metric: str | None) -> None:
    """Raise UsageError for a method or a metric that does not support the target."""
    n_classes = len(np.unique(table.y)) if table.task == "classification" else None
    reason = None if method == "auto" else METHODS[method].reason_against(table.task, n_classes)
    if reason is not None:
        raise UsageError(f"--method {method} is not allowed for {table.recipe.target!r}: {reason}")
    if metric is not None and table.task not in METRICS[metric].tasks:
        allowed = ", ".join(name for name, one in METRICS.items() if table.task in one.tasks)
        raise UsageError(f"--metric {metric} is not allowed for {table.task}: it must be one of {allowed}")
    if metric == "auc" and n_classes != 2:
        raise UsageError(f"--metric auc is not allowed: it needs two classes, and there are {n_classes}")


def _fit(
    table: PreparedTable,
    method: str,
    metric: str | None,
    budget: float,
    seed: int,
    threads: int | None,
    output: Output,
) -> tuple[Any, Any]:
    """Fit the named method, or the best one, to the training rows; return also the Choice, if any."""
    X, y = table.take(table.train)
    title = "choosing" if method == "auto" else f"fitting {METHODS[method].title}"
    with output.progress(title) as progress, input_errors():
        if method != "auto":
            return make_model(method, table.task, random_state=seed, n_jobs=threads).fit(X, y), None
        choice = choose(
            X,
            y,
            table.task,
            metric=metric,
            budget=budget,
            random_state=seed,
            n_jobs=threads,
            progress=progress,
        )
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

    >>> _stem(Path("data/cars.v2.csv.gz"))
    'cars.v2'
    """
    name = path.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name or "model"


def _card(evaluation: Evaluation, table: PreparedTable, share: float, seed: int) -> dict[str, Any]:
    """Return the card of the model; see `model_file`."""
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
                "share": share,
                "seed": seed,
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
