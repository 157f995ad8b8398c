"""Which rows and columns members were given: what is needed to draw them again.

draws           n_rows, n_draws, replace, n_columns, n_chosen, replace_columns, shuffle_columns, size, seed
draws.order     uint32, the rows of positive weight in the order they are drawn from
draws.rest      uint32, the other rows, rising; left out if there are none
draws.ends      int64, running sums of their tickets; empty for one each
"""

from typing import Any

import numpy as np

from hedgerow.bagging.resampling import MOST_COPIES, Draws, Population
from hedgerow.files.parts import Reader, Writer, require
from hedgerow.files.pieces import read_count, read_seed

_MOST_ROWS = 2**32
_FLAGS = ("replace", "replace_columns", "shuffle_columns")


def write_draws(out: Writer, draws: Draws) -> None:
    """How members are given rows and columns."""
    people = draws.population
    out.entries["draws"] = {
        "n_rows": people.n_rows,
        "size": people.size,
        "n_draws": draws.n_draws,
        "n_columns": draws.n_columns,
        "n_chosen": draws.n_chosen,
        "seed": draws.seed,
        **{name: bool(getattr(draws, name)) for name in _FLAGS},
    }
    out.put("draws.order", people.order)
    if len(people.order) < people.n_rows:
        out.put("draws.rest", np.setdiff1d(np.arange(people.n_rows, dtype=np.uint32), people.order))
    out.put("draws.ends", people.ends)


def read_draws(part: Reader, n_columns: int) -> Draws:
    """Draws from rows that are there, and not so many that they would never end."""
    told = part.part("draws", part.entry("draws", dict))
    flags: dict[str, Any] = {name: told.entry(name, bool) for name in _FLAGS}
    n_rows = read_count(told, "n_rows", 1, _MOST_ROWS)
    order, ends = told.array("order", np.uint32), told.array("ends", np.int64)
    n = len(order)
    # Every row is there: a number of rows alone could make a small file ask for any amount of memory.
    rest = told.array("rest", np.uint32) if n < n_rows else order[:0]
    require("draws.order", n >= 1, "there must be a row")
    require("draws.order", n + len(rest) == n_rows, f"{n_rows} rows are needed, found {n + len(rest)}")
    places = np.sort(np.concatenate([order, rest]))
    require("draws.order", places < n_rows, "there is no such row")
    require("draws.order", places == np.arange(n_rows), "a row has one place")
    if len(ends):
        require("draws.ends", len(ends) == n and ends[0] > 0, "every row needs tickets")
        require("draws.ends", ends[1:] > ends[:-1], "every row needs tickets")
        require("draws.ends", ends[-1] < 2**62, "there are too many tickets")
    size = read_count(told, "size", 1, MOST_COPIES * n)
    most = (
        size if flags["replace"] else _MOST_ROWS**2
    )  # rows that are not drawn may have any number of copies
    n_draws = read_count(told, "n_draws", 1, most)
    seed = read_seed(told)
    require("draws", seed is not None, "a seed is needed")
    require("draws", told.entry("n_columns", int) == n_columns, f"there are {n_columns} columns")
    n_chosen = read_count(told, "n_chosen", 1, n_columns)
    people = Population(n_rows, order, ends, size)
    return Draws(people, n_draws, n_columns=n_columns, n_chosen=n_chosen, seed=seed, **flags)
