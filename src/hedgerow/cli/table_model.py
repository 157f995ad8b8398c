"""A table that a command reads, and the model files of `hedgerow train`.

The test rows ("held out") are a function of the labels, the share and the seed. The card of a model stores
these and a checksum of the file: for the same file, `certify` and `report` find the same test rows. The card
is one JSON object:

kind         "hedgerow table model 1"
hedgerow     the version that wrote it
recipe       how a table becomes X and y (`Recipe.to_dict`)
data         name, SHA-256 and number of rows of the training file, and the rows without a target
hold_out     share and seed of the test rows, the number of test and training rows, the columns of groups,
             times and weights, and the weights of classes; a share of 0 means that no rows were held out
refit        whether the model was fitted to all rows after the evaluation
threshold    the decision threshold and how it was chosen, null if there is none
positive     text of the positive class, null if none was named
estimator    the class of the model
choice       how the method was chosen (`Choice.to_dict`), null if nothing was validated
scores       scores of the test rows
command      the command line that trained the model
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.cli import options
from hedgerow.cli.commands import Compare, Reading, Train
from hedgerow.cli.errors import CommandError, UsageError, input_errors
from hedgerow.cli.options import check_choice
from hedgerow.cli.output import Output
from hedgerow.cli.row_columns import RowColumns
from hedgerow.container import ModelFileError
from hedgerow.datafiles import (
    DataFileError,
    ReadOptions,
    Recipe,
    TableSummary,
    TypedTable,
    UndecidedError,
    describe,
    make_recipe,
    read_typed,
    unknown_name,
)
from hedgerow.datafiles.date_texts import format_pattern
from hedgerow.datafiles.encodings import check_encoding
from hedgerow.datafiles.files import split_source
from hedgerow.io import load
from hedgerow.io.table_model import TableModel
from hedgerow.selection import RowOrder, hold_out, take_rows
from hedgerow.text_table import format_column, format_number, listed

TASKS = ("auto", "classification", "regression")
DATA_SUFFIXES = (
    *(".gz", ".bz2", ".zst", ".lz4", ".xz"),
    *(".zip", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".xlsx"),
    *(".db", ".sqlite", ".duckdb"),
)


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
    columns: RowColumns = field(default_factory=RowColumns)
    order: RowOrder | None = None
    weights: Floats | None = None

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.recipe.task

    def take(self, rows: Integers) -> tuple[Any, NDArray[Any]]:
        """Return X and y of some rows."""
        return take_rows(self.X, rows), self.y[rows]


def file_checksum(path: Path) -> str | None:
    """Return the SHA-256 of a file; None for a pipe, which cannot be read again."""
    file_path, inner = split_source(path)
    if not file_path.is_file():
        return None
    with file_path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update((inner or "").encode())  # another sheet is another table
    return digest.hexdigest()


def read_training_table(command: Train | Compare, columns: RowColumns, share: float = 0.0) -> PreparedTable:
    """Read the file of a command, make its recipe and split its rows; a share of 0 means no test rows."""
    check_choice("--task", command.task, TASKS)
    path, target, reading = command.data, command.target, command.reading
    table = read_table_file(path, read_options(reading), propose=True)
    columns.check(target, table.column_names)
    left_out = columns.dropped
    with errors_of(path):
        unknown = [name for name in _date_columns(reading) if name not in table.column_names]
        if unknown:
            raise DataFileError(f"--date-format: {unknown_name(unknown[0], table.column_names)}")
        recipe = make_recipe(
            table,
            target,
            task=None if command.task == "auto" else command.task,
            drop=[*_columns(reading.drop, table), *left_out],
            categorical=_columns(reading.categorical, table),
            strict=reading.strict,
            accept_layout=reading.accept_layout,
        )
    dropped = tuple((name, left_out.get(name, reason)) for name, reason in recipe.dropped)
    return prepare_table(path, table, replace(recipe, dropped=dropped), share, command.seed, columns)


def read_options(reading: Reading) -> ReadOptions:
    """Return the options for reading a file; raise UsageError for values that no file can have."""
    if reading.decimal not in (None, ".", ","):
        raise UsageError(f"--decimal {reading.decimal!r} is not allowed: it must be . or ,")
    formats = _date_columns(reading)
    try:
        for form in formats.values():
            format_pattern(form)
        if reading.encoding is not None:
            check_encoding(reading.encoding)
    except DataFileError as error:
        raise UsageError(str(error)) from error
    missing = tuple(reading.missing or ())
    return ReadOptions(reading.encoding, reading.decimal, missing, formats, reading.skip_bad_lines)


def _date_columns(reading: Reading) -> dict[str, str]:
    """Return the format of dates for each column that --date-format names."""
    for text in reading.date_format or ():
        if "=%" not in text:
            raise UsageError(
                f"--date-format {text} is not allowed: it must be COLUMN=FORMAT, such as born=%d.%m.%Y"
            )
    pairs = [text.partition("=%") for text in reading.date_format or ()]
    return {name: f"%{form}" for name, _, form in pairs}


def _columns(listed: list[str] | None, table: TypedTable) -> list[str]:
    """Split lists of columns at commas, except in names that contain one."""
    names = table.column_names
    return [name for text in listed or () for name in ([text] if text in names else text.split(","))]


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Begin the messages of errors of a table with the name of its file, and propose a command that works."""
    try:
        yield
    except DataFileError as error:
        raise DataFileError(f"{path}: {error}{_working_command(error)}") from error


def _working_command(error: DataFileError) -> str:
    """Return the running command with the options that solve an error; "" if there are none."""
    if isinstance(error, UndecidedError) and error.is_solved:
        return f". This works: {options.command_line(complete=True)} {error.options}"
    return ""


def prepare_table(
    path: Path,
    table: TypedTable,
    recipe: Recipe,
    share: float,
    seed: int,
    columns: RowColumns = RowColumns(),  # noqa: B008 - immutable
) -> PreparedTable:
    """Apply a recipe to a table, and split its rows."""
    with errors_of(path):
        known = recipe.has_label(table)
        summary = describe(table)
        table = table.filter(known)
        X, y = recipe.features(table), recipe.labels(table)
    train, test = np.arange(len(y), dtype=np.int64), np.empty(0, np.int64)
    with input_errors():
        order, weights = columns.order(table), columns.weights(table)
        if share:
            train, test = hold_out(y, recipe.task, share, seed, order=order)
    numbers = np.flatnonzero(known.to_numpy()) + 1
    return PreparedTable(path, recipe, summary, X, y, train, test, numbers, columns, order, weights)


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
        low, high = format_column([values.min(), values.max()], whole=True)
        return f"numbers, regression; {low} to {high}, mean {format_number(values.mean())}"
    classes, counts = np.unique(table.y, return_counts=True)
    shown = [f"{label}: {count:,}" for label, count in zip(classes, counts, strict=True)]
    return f"classification, {len(classes)} classes ({listed(shown, 8, end=', and')})"


# --- model files


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model file of `hedgerow train`: the model, its recipe and its card."""

    path: Path
    model: Any
    recipe: Recipe
    card: dict[str, Any]

    @property
    def is_chosen(self) -> bool:
        """Whether `auto` chose the method."""
        return self.card.get("choice") is not None

    @property
    def columns(self) -> RowColumns:
        """The columns of groups or times that the rows were split by."""
        return RowColumns(*(self.card["hold_out"].get(name) for name in ("group", "time")))

    @property
    def positive(self) -> Any:
        """The positive class, if one was named."""
        name = self.card.get("positive")
        labels = np.asarray(getattr(self.model, "classes_", ())).tolist() if name is not None else []
        return next((label for label in labels if str(label) == name), None)

    @property
    def has_test_rows(self) -> bool:
        """Whether the training file has rows that the model was not fitted to."""
        return self.card["hold_out"]["share"] > 0 and not self.card.get("refit")

    def was_trained_on(self, path: Path) -> bool:
        """Return whether a file is the training file, by its checksum."""
        known = self.card["data"].get("sha256")
        return known is not None and file_checksum(path) == known

    def prepare(
        self, path: Path, table: TypedTable, output: Output, *, training_rows: bool = False
    ) -> PreparedTable:
        """Apply the recipe to a table with the target.

        The test rows are those held out of the training file, which is printed, or all rows of another file.
        With `training_rows`, also all rows of a training file of which none were held out.
        """
        if self.recipe.target not in table.column_names:
            raise CommandError(
                f"{path}: there is no column {self.recipe.target!r}, the target; true values are required"
            )
        share, seed = (self.card["hold_out"][name] for name in ("share", "seed"))
        is_training_file = self.was_trained_on(path)
        if is_training_file and training_rows and not self.has_test_rows:
            output.note(f"the model was fitted to all rows of {path}")
            is_training_file = False
        if not is_training_file:
            new = prepare_table(path, table, self.recipe, 0.0, seed)
            return replace(new, train=new.train[:0], test=new.train, columns=self.columns)
        if not self.has_test_rows:
            command = "--refit" if self.card.get("refit") else "--hold-out 0"
            raise CommandError(
                f"{path} is the training file, and {self.path} was fitted to all of its rows ({command}): "
                "pass other rows"
            )
        prepared = prepare_table(path, table, self.recipe, share, seed, self.columns)
        output.text(f"{path} is the training file: its {len(prepared.test):,} held-out rows are used")
        return prepared


def read_model(path: Path) -> ModelFile:
    """Read a model file of `hedgerow train`; every value of its card is checked."""
    if not path.is_file():
        reason = "this is a folder" if path.is_dir() else "no such file"
        raise CommandError(f"{path}: {reason}; a model file is required")
    _refuse_table(path)
    loaded = load(path)
    if not isinstance(loaded, TableModel):
        raise CommandError(
            f"{path}: a model without the card of `hedgerow train`; use it from Python: hedgerow.load"
        )
    card = loaded.card
    try:
        _check_hold_out(card["data"], card["hold_out"])
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"{path}: the card of the model is damaged: {error}") from error
    return ModelFile(path, loaded.estimator, loaded.recipe, card)


def _refuse_table(path: Path) -> None:
    """Raise an error for a table where a model file is required: the arguments are in the wrong order."""
    if is_model_file(path) or not str(path).lower().endswith(DATA_SUFFIXES):
        return
    command = options.ARGUMENTS.get()[:1] or ("predict",)
    raise CommandError(
        f"the first argument, {path}, is a table, not a model file; "
        f"did you mean `hedgerow {command[0]} MODEL TABLE`?"
    )


def is_model_file(path: Path) -> bool:
    """Return whether a file begins as a model file does: the length of a JSON object, and its brace."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(9)
    return head[8:] == b"{" and int.from_bytes(head[:8], "little") < path.stat().st_size


def read_table_file(path: Path, how: ReadOptions | None = None, *, propose: bool = False) -> TypedTable:
    """Read a table; a model file in its place is an error that says so.

    `propose` adds a command that works to an error, if the running command has options that solve it.
    """
    if is_model_file(path):
        raise CommandError(f"{path} is a model file; a table is required: CSV, Parquet or Arrow")
    try:
        return read_typed(path, options=how)
    except UndecidedError as error:
        raise DataFileError(f"{error}{_working_command(error) if propose else ''}") from error


def _check_hold_out(data: Any, hold_out: Any) -> None:
    if not isinstance(data, dict) or not isinstance(hold_out, dict):
        raise ValueError("data and hold_out must be objects")  # noqa: TRY004 - the content of a file
    share, seed = hold_out["share"], hold_out["seed"]
    if (
        type(share) not in (float, int)
        or not 0 <= share < 1
        or type(seed) is not int
        or not 0 <= seed < 2**63
    ):
        raise ValueError(f"hold_out is {hold_out}")
    for name in ("group", "time"):
        if not isinstance(hold_out.get(name), str | None):
            raise ValueError(f"hold_out: {name} is {hold_out[name]!r}")  # noqa: TRY004 - the content of a file
