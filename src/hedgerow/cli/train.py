"""`hedgerow train`: a table in; a model, a certificate and a report out."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import hedgerow
from hedgerow.cli import card, options, tables
from hedgerow.cli.errors import UsageError
from hedgerow.cli.fits import Fit, fit_model, tell_fit, write_report
from hedgerow.cli.leaks import copied_rows, telling_columns
from hedgerow.cli.output import Output, plain
from hedgerow.cli.places import check_new_file, written
from hedgerow.cli.tables import Problem
from hedgerow.io import save
from hedgerow.selection import AUTO, METHODS, METRICS

Method = Annotated[
    str, typer.Option(metavar="NAME", help=f"auto, {', '.join(AUTO)}: the family of the ensemble.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="By default the name of DATA with .hedgerow.", show_default=False),
]
ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where an HTML report goes.", show_default=False)
]
HoldOut = Annotated[
    float, typer.Option(metavar="SHARE", help="Of the rows, kept apart to measure and certify.")
]
Budget = Annotated[
    float, typer.Option(metavar="SECONDS", help="Time for auto to choose in; compiling is not counted.")
]
MetricName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What auto chooses by, one of {', '.join(METRICS)}; log-loss or rmse by default.",
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
    """Fit the best ensemble to a table; save it with its certificate, and write a report."""
    output = Output(as_json)
    place = out if out is not None else Path(f"{_stem(data)}.hedgerow")
    tables.check_choice("--method", method, ("auto", *AUTO))
    tables.check_share("--hold-out", hold_out)
    tables.check_numbers(seed, threads)
    if not 0 < budget < float("inf"):
        raise UsageError(f"--budget {budget:g} is not allowed: it must be a number of seconds above 0")
    if metric is not None:
        tables.check_choice("--metric", metric, tuple(METRICS))
    replaces = check_new_file("--out", place, force=force, inputs=(data,))
    replaces_report = check_new_file(
        "--report", report, force=force, suffixes=(".html",), inputs=(data, place)
    )
    problem = tables.read_problem(
        data, target, task=task, drop=drop, categorical=categorical, share=hold_out, seed=seed
    )
    tables.check_tested(problem)
    _check_fits(problem, method, metric)
    tables.tell_problem(problem, output)
    output.say(
        f"held out: {len(problem.test):,} of {len(problem.y):,} rows, drawn by seed {seed}; "
        f"the model sees the other {len(problem.train):,}"
    )
    fit = fit_model(problem, method, metric, budget, seed, threads, output)
    leaks = telling_columns(fit.model, problem) + copied_rows(problem)
    tell_fit(fit, problem, leaks, output)
    described = describe_training(fit, problem, hold_out, seed)
    save(fit.model, place, card=described)
    output.say(f"model: {written(place, replaced=replaces)}")
    if report is not None:
        write_report(place, fit, problem, seed, report, output, reproduce=(described["command"],))
        output.say(f"report: {written(report, replaced=replaces_report)}")
    output.result({**described, "leaks": leaks, "model": str(place), "report": report and str(report)})


def _check_fits(problem: Problem, method: str, metric: str | None) -> None:
    """Refuse a method or a metric that is not for such a target."""
    n_classes = len(np.unique(problem.y)) if problem.task == "classification" else None
    reason = None if method == "auto" else METHODS[method].reason_against(problem.task, n_classes)
    if reason is not None:
        raise UsageError(f"--method {method} is not allowed for {problem.recipe.target!r}: {reason}")
    if metric is not None and problem.task not in METRICS[metric].tasks:
        fitting = ", ".join(name for name, one in METRICS.items() if problem.task in one.tasks)
        raise UsageError(f"--metric {metric} is not allowed for {problem.task}: it must be one of {fitting}")
    if metric == "auc" and n_classes != 2:
        raise UsageError(f"--metric auc is not allowed: it needs two classes, and there are {n_classes}")


def _without_seconds(choice: dict[str, Any]) -> dict[str, Any]:
    """The same training gives the same file: no clock's readings in it."""
    trials = [{**trial, "fit_seconds": None} for trial in choice["trials"]]
    return {**choice, "trials": trials, "best": {**choice["best"], "fit_seconds": None}, "seconds": None}


def _stem(path: Path) -> str:
    """The name of a file without folders and without all its endings.

    >>> _stem(Path("data/cars.v2.csv.gz"))
    'cars.v2'
    """
    name = path.name
    for ending in (
        ".gz",
        ".bz2",
        ".zst",
        ".lz4",
        ".xz",
        ".csv",
        ".tsv",
        ".txt",
        ".parquet",
        ".arrow",
        ".feather",
    ):
        name = name.removesuffix(ending)
    return name or "model"


def describe_training(fit: Fit, problem: Problem, share: float, seed: int) -> dict[str, Any]:
    """The card."""
    described: dict[str, Any] = plain(
        {
            "kind": card.KIND,
            "hedgerow": hedgerow.__version__,
            "recipe": problem.recipe.to_dict(),
            "data": {
                "name": problem.path.name,
                "sha256": tables.digest(problem.path),
                "rows": problem.summary.n_rows,
                "unlabelled": problem.n_unlabelled,
            },
            "hold_out": {
                "share": share,
                "seed": seed,
                "rows": len(problem.test),
                "train_rows": len(problem.train),
            },
            "estimator": type(fit.model).__name__,
            "choice": fit.choice and _without_seconds(fit.choice.to_dict()),
            "scores": fit.scores,
            "certificate": fit.certificate and fit.certificate.to_dict(),
            "command": card.command_line(),
        }
    )
    return described
