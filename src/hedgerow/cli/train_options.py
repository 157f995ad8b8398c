"""The options of `hedgerow train` about the fit, parsed and checked before any work starts.

--param learning_rate=0.05       a value is JSON, otherwise text
--class-weight rare=5,often=1    labels with weights, or `balanced`
--cost fp=1,fn=10                costs of false positives and false negatives
--max-size 50MB                  a number with B, kB, MB or GB
"""

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.commands import Train
from hedgerow.cli.errors import UsageError
from hedgerow.cli.options import check_choice, check_numbers
from hedgerow.cli.row_columns import RowColumns
from hedgerow.cli.table_model import PreparedTable
from hedgerow.selection import AUTO, METHODS, METRICS, MethodOptions
from hedgerow.selection.methods import check_method_parameters, check_rounds_are_chosen, fit_parameters
from hedgerow.selection.metrics import find_metric, metric_named
from hedgerow.selection.threshold import check_threshold

DEFAULT_BUDGET = 60.0
DEFAULT_SIZE = 50_000_000  # bytes, and 8 for each training row: fingerprints cannot be left out
_ROW_BYTES = 8
_UNITS = {"": 1, "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3}


class TrainOptions(Train):
    """The options of the command, checked and parsed."""

    def check(self) -> None:
        """Raise UsageError for an option that no table can have."""
        check_choice("--method", self.method, ("auto", *AUTO))
        if not 0.0 <= self.hold_out < 1.0:
            raise UsageError(
                f"--hold-out {self.hold_out:g} is not allowed: it must be a number from 0 to below 1"
            )
        if self.refit and not self.hold_out:
            raise UsageError(
                "--refit is not allowed with --hold-out 0: the model is fitted to all rows already"
            )
        check_numbers(self.seed, self.threads)
        if self.budget is not None and not 0 < self.budget < float("inf"):
            raise UsageError(
                f"--budget {self.budget:g} is not allowed: it must be a number of seconds above 0"
            )
        if self.metric is not None and metric_named(self.metric) is None:
            check_choice("--metric", self.metric, tuple(METRICS))
        _ = self.columns
        if self.threshold is not None and self.cost is not None:
            raise UsageError("--threshold and --cost cannot be combined: pass one of them")
        if self.single and not self.is_tuned:
            raise UsageError(
                f"--single is not allowed with --method {self.method}, which fits one model anyway; it is "
                "for auto, and with --metric or --budget"
            )
        if self.param and self.method == "auto":
            raise UsageError(
                "--param needs --method NAME: the methods that auto tries have different parameters"
            )
        _ = self.parameters, self.decision, self.max_bytes, self.class_weights

    @property
    def columns(self) -> RowColumns:
        """The columns that are not features but describe rows."""
        return RowColumns.of(self)

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of --param by name."""
        values: dict[str, Any] = {}
        for text in self.param or ():
            name, sign, value = text.partition("=")
            if not sign or not name.isidentifier():
                raise UsageError(f"--param {text} is not allowed: it must be NAME=VALUE")
            if name in values:
                raise UsageError(f"--param {name} is passed twice")
            values[name] = parse_value(value)
        return values

    @property
    def decision(self) -> Any:
        """The threshold: None, a number, "f1", or costs by name."""
        if self.cost is not None:
            return parse_numbers("--cost", self.cost, "fp=1,fn=10", ("fp", "fn"))
        if self.threshold is None or self.threshold == "f1":
            return self.threshold
        try:
            value = float(self.threshold)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise UsageError(
                f"--threshold {self.threshold} is not allowed: it must be a number from 0 to 1, or f1"
            )
        return value

    @property
    def class_weights(self) -> str | dict[str, float] | None:
        """The weights of classes: None, "balanced", or numbers by label."""
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight
        return parse_numbers("--class-weight", self.class_weight, "rare=5,often=1 or balanced")

    @property
    def max_bytes(self) -> int | None:
        """The size limit in bytes; None if --max-size is not passed."""
        return None if self.max_size is None else parse_size(self.max_size)

    @property
    def is_tuned(self) -> bool:
        """Whether settings are validated: for auto, and for options that need validation rows."""
        chosen_threshold = self.decision is not None and not isinstance(self.decision, float)
        return self.method == "auto" or self.metric is not None or self.budget is not None or chosen_threshold

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are tried."""
        return AUTO if self.method == "auto" else (self.method,)

    def size_limit(self, n_rows: int) -> int:
        """Return the size limit of a model of some rows."""
        return DEFAULT_SIZE + _ROW_BYTES * n_rows if self.max_bytes is None else self.max_bytes

    def fit_options(self, table: PreparedTable, rows: NDArray[np.int64]) -> MethodOptions:
        """Return the options of a fit to some rows of the table."""
        weights = self.class_weights
        if isinstance(weights, dict):
            weights = {table_label("--class-weight", name, table): one for name, one in weights.items()}
        positive = None if self.positive is None else table_label("--positive", self.positive, table)
        return MethodOptions(
            self.parameters,
            sample_weight=None if table.weights is None else table.weights[rows],
            class_weight=weights,
            order=None if table.order is None else table.order.take(rows),
            threshold=self.decision,
            positive=positive,
            max_size=self.size_limit(len(rows)),
        )

    def fit_arguments(self, table: PreparedTable, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the arguments of a fit to some rows of the table."""
        common = {"random_state": self.seed, "n_jobs": self.threads}
        return {**common, "options": self.fit_options(table, rows)}

    def check_table(self, table: PreparedTable) -> None:
        """Raise UsageError for an option that does not apply to the target."""
        task, target = table.task, table.recipe.target
        n_classes = len(np.unique(table.y)) if task == "classification" else None
        if self.method != "auto":
            reason = METHODS[self.method].reason_against(task, n_classes)
            if reason is not None:
                raise UsageError(f"--method {self.method} is not allowed for {target!r}: {reason}")
        try:
            find_metric(self.metric, task, n_classes, None if task == "classification" else table.y)
        except ValueError as error:
            raise UsageError(
                str(error).replace(f"metric={self.metric!r}", f"--metric {self.metric}")
            ) from error
        try:
            check_threshold(self.decision, n_classes)
        except ValueError as error:
            name = "--threshold" if self.cost is None else "--cost"
            text = self.threshold if self.cost is None else self.cost
            raise UsageError(str(error).replace(f"threshold={self.decision!r}", f"{name} {text}")) from error
        for option, value in (("--positive", self.positive), ("--class-weight", self.class_weight)):
            if value is not None and n_classes is None:
                raise UsageError(f"{option} {value} is not allowed for regression: it is for classes")
        if self.positive is not None and n_classes != 2:
            raise UsageError(
                f"--positive {self.positive} is not allowed: it is for two classes, not {n_classes}"
            )
        try:
            for method in self.methods if self.parameters else ():
                check_method_parameters(method, task, self.parameters)
                fit_parameters(method, self.parameters, has_order=table.order is not None)
            if self.is_tuned:
                check_rounds_are_chosen(self.parameters)
            self.fit_options(table, table.train).weights(table.y[table.train], task)
        except ValueError as error:
            raise UsageError(f"{'--param ' if self.parameters else ''}{error}") from error


# --- parsing


def parse_value(text: str) -> Any:
    """Return the value of a parameter: JSON, None, True or False, otherwise text.

    >>> [parse_value(text) for text in ("0.5", "None", "sqrt", '{"age": 1}', "true")]
    [0.5, None, 'sqrt', {'age': 1}, True]
    """
    literals = {"None": None, "True": True, "False": False}
    if text in literals:
        return literals[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_numbers(option: str, text: str, example: str, names: tuple[str, ...] = ()) -> dict[str, float]:
    """Parse names with numbers; `names` are required if there are any.

    >>> parse_numbers("--cost", "fp=1,fn=10", "fp=1,fn=10", ("fp", "fn"))
    {'fp': 1.0, 'fn': 10.0}
    """
    message = f"{option} {text} is not allowed: it must be {example}"
    values: dict[str, float] = {}
    for item in text.split(","):
        name, sign, number = item.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not sign or name.strip() in values or not 0 <= value < float("inf"):
            raise UsageError(message)
        values[name.strip()] = value
    if names and (set(values) != set(names) or not any(values.values())):
        raise UsageError(message)
    return values


def parse_size(text: str) -> int:
    """Parse a number of bytes.

    >>> parse_size("50MB"), parse_size("1.5 gb")
    (50000000, 1500000000)
    """
    found = re.fullmatch(r"([0-9.]+)\s*([a-z]*)", text.strip().lower())
    try:
        size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    except (KeyError, ValueError):
        size = 0
    if size <= 0:
        raise UsageError(f"--max-size {text} is not allowed: it must be a size such as 50MB or 800kB")
    return size


def table_label(option: str, text: str, table: PreparedTable) -> Any:
    """Return the class whose text an option names."""
    classes = np.unique(table.y).tolist()
    for label in classes:
        if text in (str(label), str(label).lower()):
            return label
    raise UsageError(
        f"{option} {text} is not allowed: the classes of {table.recipe.target!r} are "
        f"{', '.join(map(str, classes[:10]))}"
    )
