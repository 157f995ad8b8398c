"""Tables whose rows are elsewhere: in files that are read piece by piece, or on other machines.

`Elsewhere` is what the user gave. Reading it surveys all rows once and makes a `SurveyedTable`: the schema,
the target and the weights of all rows, keys of all rows, and those rows that bin edges are taken from. Values
of other rows are never asked for; what is made of them, codes, is made where they are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats
from hedgerow.table.schema import Schema
from hedgerow.table.table import Table


class Elsewhere(ABC):
    """An X, with its target and weights, that is not in this process's memory."""

    @property
    def given(self) -> Any:
        """X as the user gave it."""
        return self

    @abstractmethod
    def read(
        self, *, categorical_features: Any, schema: Schema | None, estimator_name: str
    ) -> "SurveyedTable":
        """Survey all rows; the parameters are those of `hedgerow.table.read_table`."""

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of what other machines hold for those who read it."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of all rows after the first pass.

    Parameters
    ----------
    n_rows : int
    schema : Schema
    dtype : numpy.dtype
        Of blocks, as that of a `Table`: float32 or float64.
    y : array (n_rows,) or None
        The target as it was given, labels or numbers.
    sample_weight : array (n_rows,) or None
    keys : uint64 (n_rows,)
        `hedgerow.kernels.cpu.resample.add_keys` of the values of every row.
    rounded : uint32 (n_rows,)
        The upper halves of the keys of the values rounded to float32.
    sample_rows : int64, rising
        Rows whose values are kept: at least those that `hedgerow.binning` takes edges from.
    sample : (len(sample_rows), n_columns) of `dtype`
        Their values.
    """

    n_rows: int
    schema: Schema
    dtype: np.dtype[Any]
    y: NDArray[Any] | None
    sample_weight: NDArray[Any] | None
    keys: NDArray[np.uint64]
    rounded: NDArray[np.uint32]
    sample_rows: NDArray[np.int64]
    sample: AnyFloats


class SurveyedTable(Table):
    """A table of which `survey` is known; codes are made of it by `place` or by `encode`."""

    __slots__ = ("survey",)

    is_lean = False  # whether codes must be held once only, because memory is short

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.n_rows, self.n_columns = survey.n_rows, survey.schema.n_columns
        self.schema, self.dtype = survey.schema, survey.dtype

    def block(self, start: int, stop: int) -> NoReturn:
        """Refuse: the rows are not here."""
        raise TypeError("the rows of this table are elsewhere and cannot be read in blocks")

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = slice(0, None)) -> AnyFloats:
        """Those of the rows that were kept; see `Table.rows`."""
        known = self.survey.sample_rows
        places = np.searchsorted(known, numbers).clip(max=max(0, len(known) - 1))
        if len(known) == 0 or not np.array_equal(known[places], numbers):
            raise ValueError("all rows were asked for, but they are elsewhere: use at most 255 bins")
        return self.survey.sample[places, columns]

    @abstractmethod
    def place(
        self, make: Callable[..., Any], bins: Any, shares: dict[str, NDArray[Any]], n_threads: int
    ) -> Any:
        """Make the codes of all rows where these are, and parts of them that can be asked.

        Parameters
        ----------
        make : hedgerow.growing.places.PartMaker
        bins : hedgerow.binning.Bins
        shares : dict of arrays of n_rows
            What each part gets of its rows beside their codes.
        n_threads : int
            Of this process, for rows that come here; others use the threads that they have there.

        Returns
        -------
        hedgerow.growing.places.Place
        """

    @abstractmethod
    def encode(self, bins: Any, team: Any, *, for_growing: bool = True) -> Any:
        """Codes of all rows in this process, as `hedgerow.binning.Bins.encode` gives them."""
