"""A table that a command was given: read, understood, split.

`Problem` is what the commands work on: X, y, which rows are held out, and what a person is told about it. The
rows held out are a function of the labels, the share and the seed. A model's card keeps these and a checksum
of the file: given the same file, `certify` and `report` find the same rows again.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.cli.errors import UsageError, WorkError
from hedgerow.cli.output import Output
from hedgerow.datafiles import (
    DataFileError,
    Recipe,
    TableSummary,
    describe,
    make_recipe,
    nearest_names,
    read_data,
)
from hedgerow.selection import hold_out, take_rows

_LEAST_ROWS = 4  # to learn from
TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True, eq=False)
class Problem:
    """X and y of a file, and the rows held out."""

    path: Path
    recipe: Recipe
    summary: TableSummary
    X: pa.Table
    y: NDArray[Any]
    train: Integers
    test: Integers
    numbers: Integers  # of the rows in the file, from 1; rows without a target are left out

    @property
    def n_unlabelled(self) -> int:
        """How many rows were left out."""
        return self.summary.n_rows - len(self.numbers)

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.recipe.task

    def part(self, rows: Integers) -> tuple[Any, NDArray[Any]]:
        """X and y of some rows."""
        return take_rows(self.X, rows), self.y[rows]


def digest(path: Path) -> str | None:
    """The SHA-256 of a file; None of a pipe, which cannot be read again."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_choice(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        near = nearest_names(value, allowed, 1)
        meant = f"; did you mean {near[0]!r}?" if near else f": it must be one of {', '.join(allowed)}"
        raise UsageError(f"{option} {value!r} is not allowed{meant}")


def check_share(option: str, value: float) -> None:
    """Refuse a share of the rows that leaves nothing."""
    if not 0.0 < value < 1.0:
        raise UsageError(f"{option} {value:g} is not allowed: it must be a number between 0 and 1")


def check_numbers(seed: int, threads: int | None) -> None:
    """Refuse a seed or a number of threads that cannot be."""
    if not 0 <= seed < 2**32:
        raise UsageError(f"--seed {seed} is not allowed: it must be a whole number from 0 to 4294967295")
    if threads is not None and threads < 1:
        raise UsageError(f"--threads {threads} is not allowed: it must be a whole number above 0")


def read_problem(
    path: Path,
    target: str,
    *,
    task: str = "auto",
    drop: list[str] | None = None,
    categorical: list[str] | None = None,
    share: float = 0.0,
    seed: int = 0,
) -> Problem:
    """Read a file and decide what its columns are."""
    check_choice("--task", task, TASKS)
    table = read_data(path)
    with about(path):
        recipe = make_recipe(
            table,
            target,
            task=None if task == "auto" else task,
            drop=drop or (),
            categorical=categorical or (),
        )
    return split(path, table, recipe, share, seed)


@contextmanager
def about(path: Path) -> Iterator[None]:
    """What is wrong with a table is wrong with its file: the message begins with its name."""
    try:
        yield
    except DataFileError as error:
        raise DataFileError(f"{path}: {error}") from error


def split(path: Path, table: pa.Table, recipe: Recipe, share: float, seed: int) -> Problem:
    """The problem of a table that a recipe was made for."""
    with about(path):
        known = recipe.has_label(table)
        labelled = table.filter(known)
        X, y = recipe.features(labelled), recipe.labels(labelled)
    everything = np.arange(len(y), dtype=np.int64)
    train, test = hold_out(y, recipe.task, share, seed) if share else (everything, everything[:0])
    return Problem(path, recipe, describe(table), X, y, train, test, np.flatnonzero(known.to_numpy()) + 1)


def all_new(problem: Problem) -> Problem:
    """The same, with all rows held out: those of a file that no model was fitted to."""
    return replace(problem, train=problem.train[:0], test=problem.train)


def tell_problem(problem: Problem, out: Output) -> None:
    """Say what was read and how it was understood."""
    summary, recipe = problem.summary, problem.recipe
    out.say(f"{problem.path}: {summary.n_rows:,} rows, {len(summary.columns):,} columns", "bold")
    out.say(f"target {recipe.target!r}: {describe_target(problem)}")
    kinds = [column.kind for column in recipe.columns]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    out.say(f"columns used: {len(kinds)} ({counts})")
    for name, reason in recipe.dropped:
        out.say(f"left out: {name} ({reason})")
    for words in recipe.notes:
        out.say(f"note: {words}")


def describe_target(problem: Problem) -> str:
    """The target in words: its classes with their counts, or its range."""
    if problem.task == "regression":
        values = problem.y.astype(np.float64)
        return f"numbers, regression; {values.min():g} to {values.max():g}, mean {values.mean():g}"
    classes, counts = np.unique(problem.y, return_counts=True)
    shown = [f"{label}: {count:,}" for label, count in zip(classes, counts, strict=True)]
    more = f", and {len(shown) - 8} more" if len(shown) > 8 else ""
    return f"classification, {len(classes)} classes ({', '.join(shown[:8])}{more})"


def check_tested(problem: Problem) -> None:
    """Refuse a split that holds out no row, or leaves too few."""
    if not len(problem.test):
        raise WorkError(f"{problem.path}: {len(problem.y)} rows are too few to hold some out")
    if len(problem.train) < _LEAST_ROWS:
        raise WorkError(
            f"{problem.path}: of {len(problem.y)} rows, {len(problem.test)} are held out; the "
            f"{len(problem.train)} left are too few to learn from, at least {_LEAST_ROWS} are needed"
        )
