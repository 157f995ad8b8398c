"""The options of the commands of tables and of the machine, a dataclass for each; its docstring is the help.

This module and `image_commands` import nothing of the library, so that `--help` is fast: `app` imports the
module that does the work when a command runs, and passes it this one object.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.options import argument_field, field, flag_field


@dataclass(frozen=True)
class Reading:
    """The options that describe a training file."""

    drop: list[str] | None = field(
        None, "COLUMNS", "Columns to leave out, separated by commas; can be repeated.", "--drop", "-d"
    )
    categorical: list[str] | None = field(
        None,
        "COLUMNS",
        "Columns to use as categories, separated by commas; can be repeated.",
        "--categorical",
        "-c",
    )
    date_format: list[str] | None = field(
        None, "COLUMN=FORMAT", "The format of dates, as for strptime: born=%d.%m.%Y; can be repeated."
    )
    decimal: str | None = field(None, "SIGN", "The decimal sign of all numbers: . or ,")
    missing: list[str] | None = field(
        None, "TEXT", "A text that means a missing value; can be repeated.", "--missing"
    )
    encoding: str | None = field(
        None, "NAME", "The encoding of a text file, such as cp1252; detected by default."
    )
    skip_bad_lines: options.SkipBadLines = False
    strict: bool = flag_field("Refuse a file if anything about it has to be guessed or left out.", "--strict")
    accept_layout: bool = flag_field(
        "With --strict: accept lines left out or filled up, generated names, the choice of a sheet.",
        "--accept-layout",
    )


@dataclass(frozen=True)
class Train:
    """Fit the best ensemble to a table, and save it with its certificate."""

    data: options.Data
    target: options.Target
    method: str = field(
        "auto", "NAME", f"The ensemble method: auto, {', '.join(options.METHODS)}.", "--method", "-m"
    )
    out: Path | None = field(
        None, "MODEL", "The model file; by default the name of DATA with the suffix .hedgerow.", "--out", "-o"
    )
    report: Path | None = field(None, "FILE", "An HTML report to write.", "--report", "-r")
    task: options.Task = "auto"
    reading: Reading = Reading()  # its options are in this place
    hold_out: float = field(
        0.2, "SHARE", "Share of the rows to hold out for scores and certificate; 0 for none."
    )
    refit: bool = flag_field(
        "Finally refit the model to all rows; the certificate applies to the model fitted without the "
        "held-out rows.",
        "--refit",
    )
    group: options.Group = None
    time: options.Time = None
    budget: float | None = field(
        None, "SECONDS", "Time to choose settings and to fit, without compilation; 60 by default."
    )
    single: bool = flag_field("Keep the best single model, not a weighted ensemble of several.", "--single")
    metric: str | None = field(
        None,
        "NAME",
        f"The metric by which settings are chosen: {', '.join(options.METRICS)} (or pinball:0.9); log-loss "
        "or rmse by default.",
    )
    param: list[str] | None = field(
        None, "NAME=VALUE", "A parameter of --method; can be repeated.", "--param", "-p"
    )
    weight: options.Weight = None
    class_weight: str | None = field(
        None, "WEIGHTS", "Weights of classes in fitting: balanced, or rare=5,often=1."
    )
    threshold: str | None = field(
        None, "NUMBER", "Probability from which the positive class is predicted; or f1, to maximise F1."
    )
    cost: str | None = field(None, "COSTS", "Choose the threshold with the lowest cost: fp=1,fn=10.")
    positive: str | None = field(
        None, "LABEL", "The positive class; by default the second of the two in sorted order."
    )
    max_size: str | None = field(
        None, "SIZE", "Maximum size of the model file; 50MB and 8 bytes per training row by default."
    )
    seed: options.Seed = 0
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Predict:
    """Predict the rows of a table: labels with their probabilities, or numbers."""

    model: options.Model
    data: options.Data
    out: Path | None = field(
        None,
        "FILE",
        "The file to write, CSV, Parquet or Arrow by its suffix; CSV to standard output by default.",
        "--out",
        "-o",
    )
    keep: list[str] | None = field(
        None, "COLUMN", "A column of DATA to copy; can be repeated.", "--keep", "-k"
    )
    keep_all: bool = flag_field("Copy all columns of DATA.", "--keep-all")
    skip_bad_lines: options.SkipBadLines = False
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Compare:
    """Cross-validate every method on the same folds, with times."""

    data: options.Data
    target: options.Target
    method: list[str] | None = field(
        None,
        "NAME",
        f"A method: {', '.join(options.ALL_METHODS)}; can be repeated. All by default.",
        "--method",
        "-m",
    )
    folds: int = field(5, "NUMBER", "Number of folds.")
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
    data: Path | None = argument_field(
        "DATA",
        "Rows that are new to the model, or its training file, of which the held-out rows are used. "
        "Without DATA the stored certificate is printed.",
        None,
    )
    delta: float = field(0.05, "NUMBER", "Probability that the certificate is wrong.")
    out: Path | None = field(None, "FILE", "A .json or .html file to write.", "--out", "-o")
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Explain:
    """Show which columns matter and how predictions depend on them."""

    model: options.Model
    data: Path | None = argument_field(
        "DATA", "Rows for partial dependence; with the target, also for permutation importances.", None
    )
    top: int = field(10, "NUMBER", "Number of columns, and of stumps, to show.", "--top", "-n")
    seed: options.Seed = 0
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Report:
    """Write an HTML report of a model on rows that are new to it."""

    model: options.Model
    data: options.Data
    out: Path | None = field(
        None,
        "FILE",
        "The HTML file to write; by default the name of MODEL with the suffix .html.",
        "--out",
        "-o",
    )
    seed: options.Seed = 0
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class Demo:
    """Compare boosting with logistic regression on three data sets."""

    out: Path = field(Path("hedgerow-demo.html"), "FILE", "The HTML report to write.", "--out", "-o")
    full: bool = flag_field("Use all rows and repetitions, which takes some minutes.", "--full")
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
