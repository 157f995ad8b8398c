"""TypedTable: a table as a file holds it, and its columns with their inferred types."""

from collections.abc import Sequence

import pyarrow as pa

from hedgerow.datafiles.column_types import InferredColumn, is_text
from hedgerow.datafiles.findings import Finding, ReadOptions
from hedgerow.datafiles.inference import infer_columns, label_values


class TypedTable:
    """A table whose text columns are converted to their inferred types, each column once.

    Parameters
    ----------
    table : pyarrow.Table
        The table as read: the columns of a text file are texts.
    options : ReadOptions, optional
        What the user knows about the file.
    findings : sequence of Finding
        Findings about the file.
    is_text_file : bool
        Whether the file has no types, so that numbers of the target are texts too.
    comma_file : bool
        Whether decimal commas are likely, because the separator is a semicolon.

    Examples
    --------
    >>> typed = TypedTable(pa.table({"age": ["1", "2"], "hue": ["red", "blue"]}))
    >>> typed.values("age").type, typed.table["age"].type
    (DataType(int64), DataType(string))
    """

    def __init__(
        self,
        table: pa.Table,
        options: ReadOptions | None = None,
        findings: Sequence[Finding] = (),
        *,
        is_text_file: bool = False,
        comma_file: bool = False,
    ) -> None:
        self.table = table
        self.options = options or ReadOptions()
        self.findings = tuple(findings)
        self.is_text_file = is_text_file
        self.comma_file = comma_file
        self._inferred: dict[str, InferredColumn] | None = None
        self._labels: dict[str, pa.ChunkedArray] = {}

    @classmethod
    def of(cls, table: "pa.Table | TypedTable") -> "TypedTable":
        """Return a typed table; one that is typed already is returned unchanged."""
        return table if isinstance(table, TypedTable) else cls(table)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def inferred(self, name: str) -> InferredColumn | None:
        """Return how the texts of a column were read; None for a column that is not text."""
        if self._inferred is None:
            self._inferred = infer_columns(self.table, self.options, comma_file=self.comma_file)
        return self._inferred.get(name)

    def known(self, name: str) -> InferredColumn | None:
        """Return how the texts of a column were read, if types were inferred before."""
        return None if self._inferred is None else self._inferred.get(name)

    def values(self, name: str) -> pa.ChunkedArray:
        """Return a column of its inferred type."""
        found = self.inferred(name)
        return self.table[name] if found is None else found.values

    def labels(self, name: str) -> pa.ChunkedArray:
        """Return a target column without dictionary, null where missing; texts of a typed file stay texts."""
        if name not in self._labels:
            found = self.inferred(name) if self.is_text_file else None
            self._labels[name] = label_values(self.table[name], found, self.options.missing)
        return self._labels[name]

    def kept_values(self, name: str) -> pa.ChunkedArray:
        """Return a column to copy to another file: of its type if that is certain, otherwise as read."""
        found = self.inferred(name)
        if found is None or found.formats or found.signs or found.decimal or found.missing:
            return self.table[name]
        kind = found.values.type
        return self.table[name] if is_text(kind) or pa.types.is_time(kind) else found.values

    def typed(self) -> pa.Table:
        """Return the table with all columns of their inferred types."""
        return pa.table([self.values(name) for name in self.column_names], names=self.column_names)

    def filter(self, rows: pa.ChunkedArray) -> "TypedTable":
        """Return the rows for which a boolean array is true."""
        kept = TypedTable(
            self.table.filter(rows),
            self.options,
            self.findings,
            is_text_file=self.is_text_file,
            comma_file=self.comma_file,
        )
        if self._inferred is not None:
            kept._inferred = {
                name: column._replace(values=column.values.filter(rows))
                for name, column in self._inferred.items()
            }
        kept._labels = {name: values.filter(rows) for name, values in self._labels.items()}
        return kept
