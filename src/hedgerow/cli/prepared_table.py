"""A table that a command reads: its recipe, X and y, and the split into training and test rows.

The test rows ("held out") are a function of the labels, the share and the seed. The card of a model stores
these and a checksum of the file: for the same file, `certify` and `report` find the same test rows.
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
from hedgerow.cli.errors import CommandError, input_errors
from hedgerow.cli.options import check_choice
from hedgerow.cli.output import Output
from hedgerow.datafiles import (
    DataFileError,
    Recipe,
    TableSummary,
    TypedTable,
    describe,
    make_recipe,
    read_typed,
)
from hedgerow.selection import hold_out, take_rows

_MIN_TRAINING_ROWS = 4
TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """X and y of a file, split into training and test rows."""

    path: Path
    recipe: Recipe
    summary: TableSummary
    X: pa.Table
    y: NDArray[Any]
    train: Integers
    test: Integers
    row_numbers: Integers  # in the file, from 1; rows without a target are left out

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.recipe.task

    def take(self, rows: Integers) -> tuple[Any, NDArray[Any]]:
        """Return X and y of some rows."""
        return take_rows(self.X, rows), self.y[rows]


def file_checksum(path: Path) -> str | None:
    """Return the SHA-256 of a file; None for a pipe, which cannot be read again."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_training_table(
    path: Path,
    target: str,
    *,
    task: str = "auto",
    drop: list[str] | None = None,
    categorical: list[str] | None = None,
    share: float = 0.0,
    seed: int = 0,
) -> PreparedTable:
    """Read a file, make its recipe and split its rows; a share of 0 means no test rows."""
    check_choice("--task", task, TASKS)
    table = read_typed(path)
    with errors_of(path):
        recipe = make_recipe(
            table,
            target,
            task=None if task == "auto" else task,
            drop=drop or (),
            categorical=categorical or (),
        )
    return prepare_table(path, table, recipe, share, seed)


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Begin the messages of errors of a table with the name of its file."""
    try:
        yield
    except DataFileError as error:
        raise DataFileError(f"{path}: {error}") from error


def prepare_table(path: Path, table: TypedTable, recipe: Recipe, share: float, seed: int) -> PreparedTable:
    """Apply a recipe to a table, and split its rows."""
    with errors_of(path):
        known = recipe.has_label(table)
        summary = describe(table)
        table = table.filter(known)
        X, y = recipe.features(table), recipe.labels(table)
    train, test = np.arange(len(y), dtype=np.int64), np.empty(0, np.int64)
    if share:
        with input_errors():
            train, test = hold_out(y, recipe.task, share, seed)
    return PreparedTable(path, recipe, summary, X, y, train, test, np.flatnonzero(known.to_numpy()) + 1)


def all_test_rows(table: PreparedTable) -> PreparedTable:
    """Return the table with all rows as test rows: none of them was used for training."""
    return replace(table, train=table.train[:0], test=table.train)


def check_split(table: PreparedTable) -> None:
    """Raise CommandError for a split without test rows or with too few training rows."""
    if not len(table.test):
        raise CommandError(f"{table.path}: {len(table.y)} rows are too few to hold some out")
    if len(table.train) < _MIN_TRAINING_ROWS:
        raise CommandError(
            f"{table.path}: {len(table.test)} of {len(table.y)} rows are held out; the remaining "
            f"{len(table.train)} are too few for training, at least {_MIN_TRAINING_ROWS} are needed"
        )


def print_table(table: PreparedTable, output: Output) -> None:
    """Print the size, the target and the columns of a table."""
    summary, recipe = table.summary, table.recipe
    output.text(f"{table.path}: {summary.n_rows:,} rows, {len(summary.columns):,} columns", "bold")
    output.text(f"target {recipe.target!r}: {_describe_target(table)}")
    kinds = [column.kind for column in recipe.columns]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    output.text(f"columns used: {len(kinds)} ({counts})")
    for name, reason in recipe.dropped:
        output.text(f"left out: {name} ({reason})")
    for note in recipe.notes:
        output.text(f"note: {note}")


def _describe_target(table: PreparedTable) -> str:
    """Describe the target: its classes with their counts, or its range."""
    if table.task == "regression":
        values = table.y.astype(np.float64)
        return f"numbers, regression; {values.min():g} to {values.max():g}, mean {values.mean():g}"
    classes, counts = np.unique(table.y, return_counts=True)
    shown = [f"{label}: {count:,}" for label, count in zip(classes, counts, strict=True)]
    more = f", and {len(shown) - 8} more" if len(shown) > 8 else ""
    return f"classification, {len(classes)} classes ({', '.join(shown[:8])}{more})"
