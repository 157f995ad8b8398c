"""Columns of a table that describe its rows: groups or times, which decide the splits, and weights."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hedgerow._typing import Floats, Integers
from hedgerow.cli.commands import Compare, Train
from hedgerow.cli.errors import CommandError, UsageError
from hedgerow.datafiles import TypedTable, unknown_name
from hedgerow.selection import RowOrder


@dataclass(frozen=True)
class RowColumns:
    """Columns that are not features but describe rows: their groups or times, and their weights.

    Groups and weights are not used as features; times are, unless they are dropped.
    """

    group: str | None = None
    time: str | None = None
    weight: str | None = None

    @classmethod
    def of(cls, command: Train | Compare) -> "RowColumns":
        """Return the columns that the options of a command name; raise UsageError for groups and times."""
        if command.group is not None and command.time is not None:
            raise UsageError("--group and --time cannot be combined: pass one of them")
        return cls(command.group, command.time, command.weight)

    @property
    def dropped(self) -> dict[str, str]:
        """The columns that are left out of the features, with the reasons."""
        reasons = {self.group: "the groups of the rows", self.weight: "the weights of the rows"}
        return {name: reason for name, reason in reasons.items() if name is not None}

    def check(self, target: str, names: list[str]) -> None:
        """Raise UsageError for a column that the table does not have, or that is the target."""
        for option, name in (("--group", self.group), ("--time", self.time), ("--weight", self.weight)):
            if name is not None and name not in names:
                raise UsageError(f"{option} {name}: {unknown_name(name, names)}")
            if name == target:
                raise UsageError(f"{option} {name} is not allowed: it is the target")

    def order(self, table: TypedTable) -> RowOrder | None:
        """Return the groups or times of the rows."""
        n = table.num_rows
        if self.group is not None:
            values = _complete(table, self.group, "--group")
            return RowOrder.of(n, groups=np.asarray(values.cast(pa.string()).to_pylist()))
        if self.time is None:
            return None
        values = _complete(table, self.time, "--time")
        if pa.types.is_temporal(values.type):
            return RowOrder.of(n, times=values.cast(pa.timestamp("us")).to_numpy())
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise CommandError(f"--time {self.time}: the column holds neither dates nor numbers")
        return RowOrder.of(n, times=values.to_numpy())

    def weights(self, table: TypedTable) -> Floats | None:
        """Return the weights of the rows."""
        if self.weight is None:
            return None
        values = _complete(table, self.weight, "--weight")
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise CommandError(f"--weight {self.weight}: the column does not hold numbers")
        weights: Floats = values.to_numpy().astype(np.float64)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise CommandError(
                f"--weight {self.weight}: weights must be numbers of at least 0, and not all 0"
            )
        return weights

    def describe_split(self, order: RowOrder | None, test: Integers, seed: int) -> str:
        """Describe how the test rows were chosen."""
        if order is not None and order.groups is not None:
            n_test, n_groups = len(np.unique(order.groups[test])), int(order.groups.max()) + 1
            return f"whole groups of {self.group!r} ({n_test:,} of {n_groups:,}), drawn with seed {seed}"
        if self.time is not None:
            return f"the latest ones by {self.time!r}"
        return f"drawn with seed {seed}"

    def describe_folds(self) -> str:
        """Describe how folds are divided; empty for independent rows."""
        if self.group is not None:
            return f"Folds: the groups of {self.group!r} are never divided."
        if self.time is not None:
            return f"Folds: each is later, by {self.time!r}, than the rows that were fitted."
        return ""

    @property
    def proviso(self) -> str:
        """The additional assumption of the bounds of a certificate if rows are not independent."""
        if self.group is not None:
            return (
                f"if the rows of a group are independent: they were split by the groups of {self.group!r}, "
                "and rows of one group may be similar"
            )
        if self.time is not None:
            return (
                f"if later rows come from the same distribution: rows ordered by {self.time!r} are not "
                "exchangeable, and the distribution may change"
            )
        return ""


def _complete(table: TypedTable, name: str, option: str) -> pa.ChunkedArray:
    """Return the values of a column that must be known in every row."""
    values = table.values(name)
    if values.null_count:
        raise CommandError(
            f"{option} {name}: the value is missing in {values.null_count:,} of {len(values):,} rows; "
            "remove these rows"
        )
    return values
