"""Schema: what a fitted model remembers of its columns.

Their number, their names if the input had any, and the categories of the categorical ones:

    n_columns = 3
    names = ("age", "colour", "height")
    categories = (None, array(["blue", "red"], dtype=object), None)     # None: a numeric column
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.categories import Plain
from hedgerow.threads import Lean, cached_property

_KINDS = {  # dtype of a category array -> the Python types its values may have in a model file
    "bool": (bool,),
    "int64": (int,),
    "uint64": (int,),
    "float64": (int, float),
    "object": (str, int, float),
}


@dataclass(frozen=True, eq=False)
class Schema(Lean):
    """The columns of a model's training table.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : tuple of str or None
        Column names; None when the input had none, or had names that are not strings.
    categories : tuple of (ndarray or None)
        For each column None when it is numeric, else the distinct categories of the training
        data, sorted; the place of a category there is its number in the table.

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema(2, ("age", "colour"), (None, np.array(["blue", "red"], dtype=object)))
    >>> schema.categorical_columns
    (1,)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    n_columns: int
    names: tuple[str, ...] | None
    categories: tuple[NDArray[Any] | None, ...]

    def __post_init__(self) -> None:
        if len(self.categories) != self.n_columns:
            raise ValueError(
                f"A schema of {self.n_columns} columns needs as many entries in categories, "
                f"got {len(self.categories)}."
            )
        if self.names is not None and len(self.names) != self.n_columns:
            raise ValueError(
                f"A schema of {self.n_columns} columns needs as many names, got {len(self.names)}."
            )

    @cached_property
    def categorical_columns(self) -> tuple[int, ...]:
        """Positions of the categorical columns, in increasing order."""
        return tuple(j for j, values in enumerate(self.categories) if values is not None)

    @cached_property
    def is_plain(self) -> bool:
        """Whether any float matrix of the right width is a table as it stands."""
        return self.names is None and not self.categorical_columns

    @cached_property
    def places(self) -> dict[int, dict[Plain, int]]:
        """For each categorical column, its categories and their numbers."""
        return {
            column: {value: number for number, value in enumerate(values.tolist())}
            for column, values in enumerate(self.categories)
            if values is not None
        }

    def __eq__(self, other: object) -> bool:
        # Not the dataclass's own: comparing arrays with == gives no single truth value.
        if not isinstance(other, Schema):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def to_dict(self) -> dict[str, Any]:
        """Give plain data (dict, list, str, int, float, bool, None) that strict JSON can hold."""
        return {
            "n_columns": self.n_columns,
            "names": None if self.names is None else list(self.names),
            "categories": [_encoded(values) for values in self.categories],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Schema":
        """Make the schema that `to_dict` described; a ValueError if the data has another form."""
        try:
            n_columns, names, categories = data["n_columns"], data["names"], data["categories"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"A schema needs n_columns, names and categories: {error}") from error
        if type(n_columns) is not int or n_columns < 1:
            raise ValueError(f"n_columns of a schema must be a positive int, got {n_columns!r}.")
        if names is not None and not _all_of(names, str):
            raise ValueError(f"names of a schema must be None or a list of str, got {names!r}.")
        if not _all_of(categories, dict, type(None)):
            raise ValueError(f"categories of a schema must be a list of dicts, got {categories!r}.")
        return cls(
            n_columns,
            None if names is None else tuple(names),
            tuple(_decoded(entry, column) for column, entry in enumerate(categories)),
        )


def _encoded(values: NDArray[Any] | None) -> dict[str, Any] | None:
    """Categories as {"dtype", "values"}; strict JSON has no infinities, so they are spelt out."""
    if values is None:
        return None
    plain = [
        {"float": str(value)} if isinstance(value, float) and math.isinf(value) else value
        for value in values.tolist()
    ]
    # A schema made by hand may hold NumPy strings or short integers: objects say the same.
    dtype = values.dtype.name if values.dtype.name in _KINDS else "object"
    return {"dtype": dtype, "values": plain}


def _decoded(entry: dict[str, Any] | None, column: int) -> NDArray[Any] | None:
    if entry is None:
        return None
    dtype = str(entry.get("dtype"))
    if dtype not in _KINDS or not isinstance(entry.get("values"), list):
        raise ValueError(f"Categories of column {column} in a schema are malformed: {entry!r}.")
    plain = [_infinity(value) for value in entry["values"]]
    if not _all_of(plain, *_KINDS[dtype]):
        raise ValueError(f"Categories of column {column} are not all of dtype {dtype}: {plain!r}.")
    if len(set(plain)) != len(plain) or any(value != value for value in plain):  # noqa: PLR0124
        raise ValueError(f"Categories of column {column} in a schema are not distinct numbers.")
    values = np.empty(len(plain), dtype=dtype)
    try:
        values[:] = plain
    except OverflowError as error:
        raise ValueError(f"Categories of column {column} do not fit {dtype}: {error}.") from error
    return values


def _infinity(value: Any) -> Any:
    if isinstance(value, dict):
        return {"inf": math.inf, "-inf": -math.inf}.get(str(value.get("float")))
    return value


def _all_of(values: Any, *types: type) -> bool:
    """Tell whether it is a list of values of exactly these types (a bool is no int here)."""
    return isinstance(values, list) and all(type(value) in types for value in values)
