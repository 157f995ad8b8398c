"""The options of the commands of tables and of the machine, a dataclass for each; its docstring is the help.

This module and `image_commands` import nothing of the library, so that `--help` is fast: `app` imports the
module that does the work when a command runs, and passes it this one object.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options

MethodName = Annotated[
    str,
    options.option("NAME", f"The ensemble method: auto, {', '.join(options.METHODS)}.", "--method", "-m"),
]
ModelFile = Annotated[
    Path | None,
    options.option(
        "MODEL", "The model file; by default the name of DATA with the suffix .hedgerow.", "--out", "-o"
    ),
]
ReportFile = Annotated[Path | None, options.option("FILE", "An HTML report to write.", "--report", "-r")]
HoldOut = Annotated[
    float,
    options.option("SHARE", "Share of the rows to hold out for scores and certificate; 0 for none."),
]
Refit = Annotated[
    bool,
    options.flag(
        "Finally refit the model to all rows; the certificate applies to the model fitted without the "
        "held-out rows.",
        "--refit",
    ),
]
Single = Annotated[
    bool,
    options.flag("Keep the best single model, not a weighted ensemble of several.", "--single"),
]
Parameter = Annotated[
    list[str] | None,
    options.option("NAME=VALUE", "A parameter of --method; can be repeated.", "--param", "-p"),
]
Budget = Annotated[
    float | None,
    options.option("SECONDS", "Time to choose settings and to fit, without compilation; 60 by default."),
]
Threshold = Annotated[
    str | None,
    options.option(
        "NUMBER", "Probability from which the positive class is predicted; or f1, to maximise F1."
    ),
]
Cost = Annotated[
    str | None,
    options.option("COSTS", "Choose the threshold with the lowest cost: fp=1,fn=10."),
]
Positive = Annotated[
    str | None,
    options.option("LABEL", "The positive class; by default the second of the two in sorted order."),
]
MaxSize = Annotated[
    str | None,
    options.option("SIZE", "Maximum size of the model file; 50MB and 8 bytes per training row by default."),
]


@dataclass(frozen=True)
class Reading:
    """The options that describe a training file."""

    drop: options.Drop = None
    categorical: options.Categorical = None
    date_format: options.DateFormat = None
    decimal: options.Decimal = None
    missing: options.Missing = None
    encoding: options.Encoding = None
    skip_bad_lines: options.SkipBadLines = False
    strict: options.Strict = False
    accept_layout: options.AcceptLayout = False


@dataclass(frozen=True)
class Train:
    """Fit the best ensemble to a table, and save it with its certificate."""

    data: options.Data
    target: options.Target
    method: MethodName = "auto"
    out: ModelFile = None
    report: ReportFile = None
    task: options.Task = "auto"
    reading: Reading = Reading()  # its options are in this place
    hold_out: HoldOut = 0.2
    refit: Refit = False
    group: options.Group = None
    time: options.Time = None
    budget: Budget = None
    single: Single = False
    metric: options.MetricName = None
    param: Parameter = None
    weight: options.Weight = None
    class_weight: options.ClassWeight = None
    threshold: Threshold = None
    cost: Cost = None
    positive: Positive = None
    max_size: MaxSize = None
    seed: options.Seed = 0
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Predict:
    """Predict the rows of a table: labels with their probabilities, or numbers."""

    model: options.Model
    data: options.Data
    out: Annotated[
        Path | None,
        options.option(
            "FILE",
            "The file to write, CSV, Parquet or Arrow by its suffix; CSV to standard output by default.",
            "--out",
            "-o",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        options.option("COLUMN", "A column of DATA to copy; can be repeated.", "--keep", "-k"),
    ] = None
    keep_all: Annotated[bool, options.flag("Copy all columns of DATA.", "--keep-all")] = False
    skip_bad_lines: options.SkipBadLines = False
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Compare:
    """Cross-validate every method on the same folds, with times."""

    data: options.Data
    target: options.Target
    method: Annotated[
        list[str] | None,
        options.option(
            "NAME",
            f"A method: {', '.join(options.ALL_METHODS)}; can be repeated. All by default.",
            "--method",
            "-m",
        ),
    ] = None
    folds: Annotated[int, options.option("NUMBER", "Number of folds.")] = 5
    group: options.Group = None
    time: options.Time = None
    weight: options.Weight = None
    task: options.Task = "auto"
    reading: Reading = Reading()  # its options are in this place
    seed: options.Seed = 0
    threads: options.Threads = None
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Certify:
    """Print every bound that applies to the error on new rows."""

    model: options.Model
    data: Annotated[
        Path | None,
        options.argument(
            "DATA",
            "Rows that are new to the model, or its training file, of which the held-out rows are used. "
            "Without DATA the stored certificate is printed.",
        ),
    ] = None
    delta: Annotated[float, options.option("NUMBER", "Probability that the certificate is wrong.")] = 0.05
    out: Annotated[Path | None, options.option("FILE", "A .json or .html file to write.", "--out", "-o")] = (
        None
    )
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Explain:
    """Show which columns matter and how predictions depend on them."""

    model: options.Model
    data: Annotated[
        Path | None,
        options.argument(
            "DATA", "Rows for partial dependence; with the target, also for permutation importances."
        ),
    ] = None
    top: Annotated[
        int, options.option("NUMBER", "Number of columns, and of stumps, to show.", "--top", "-n")
    ] = 10
    seed: options.Seed = 0
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Report:
    """Write an HTML report of a model on rows that are new to it."""

    model: options.Model
    data: options.Data
    out: Annotated[
        Path | None,
        options.option(
            "FILE",
            "The HTML file to write; by default the name of MODEL with the suffix .html.",
            "--out",
            "-o",
        ),
    ] = None
    seed: options.Seed = 0
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Demo:
    """Compare boosting with logistic regression on three data sets."""

    out: Annotated[Path, options.option("FILE", "The HTML report to write.", "--out", "-o")] = Path(
        "hedgerow-demo.html"
    )
    full: Annotated[
        bool, options.flag("Use all rows and repetitions, which takes some minutes.", "--full")
    ] = False
    seed: options.Seed = 0
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Warmup:
    """Compile the kernels of every method."""

    as_json: options.AsJson = False


@dataclass(frozen=True)
class Info:
    """Show versions, the processor, threads and the kernel cache."""

    as_json: options.AsJson = False


def root(
    context: typer.Context,
    version: Annotated[bool, options.flag("Show the version.", "--version")] = False,
) -> None:
    """Print the version or the list of commands."""
    if version:
        import hedgerow  # noqa: PLC0415 - its name is otherwise that of the package

        typer.echo(f"hedgerow {hedgerow.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
