"""Tables in memory that play tables elsewhere: the engines see a survey and parts, and no block of rows."""

import itertools

import numpy as np

from hedgerow.bagging.raw_table import value_bits
from hedgerow.binning import aligned_rows
from hedgerow.growing.places import LocalPlace, PartsLost
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.table import read_table
from hedgerow.table.surveyed import Elsewhere, Survey, SurveyedTable
from hedgerow.threads import Team


def cuts(n_rows, n_parts):
    """Uneven parts of rows, some of them empty if there are few."""
    ends = np.sort(np.random.default_rng(n_parts).integers(0, n_rows + 1, n_parts - 1))
    edges = [0, *ends.tolist(), n_rows]
    return list(itertools.pairwise(edges))


class TableInParts(SurveyedTable):
    """A table in memory as one elsewhere, in so many parts.

    losses : numbers of the questions at which parts are lost, counted from 0 over the life of a place.
    """

    __slots__ = ("losses", "n_parts", "places", "table")

    def __init__(self, table, n_parts, y=None, sample_weight=None, losses=()):
        n, values = table.n_rows, table.block(0, table.n_rows)
        keys, rounded = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
        add_keys(value_bits(values), 0, keys)
        add_keys(value_bits(values, rounded=True), 0, rounded)
        upper = (rounded >> np.uint64(32)).astype(np.uint32)
        rows = np.arange(n)
        super().__init__(
            Survey(n, table.schema, table.dtype, y, sample_weight, keys, upper, rows, np.array(values))
        )
        self.table, self.n_parts, self.losses, self.places = table, n_parts, losses, []

    def place(self, make, bins, shares, n_threads):
        bounds = cuts(self.n_rows, self.n_parts)
        codes = bins.encode(self.table, Team(1), for_growing=False).codes.by_column

        def part(start, stop):
            mine = np.ascontiguousarray(codes[:, start:stop])
            if make.by_row:
                mine = aligned_rows(stop - start, self.n_columns)
                mine[:, : self.n_columns] = codes[:, start:stop].T
            own = {name: values[start:stop] for name, values in shares.items()}
            return make(mine, own, start)

        place = LosingPlace(part, bounds, self.losses)
        self.places.append(place)
        return place

    def encode(self, bins, team, *, for_growing=True):
        return bins.encode(self.table, team, for_growing=for_growing)


class LosingPlace(LocalPlace):
    """Parts in this process that are lost, and cut anew, at given questions."""

    def __init__(self, make, bounds, losses):
        super().__init__([make(*one) for one in bounds], bounds)
        self._make, self._losses, self.n_asked, self.is_closed = make, set(losses), 0, False

    def ask_each(self, verb, args):
        self.n_asked += 1
        if self.n_asked - 1 in self._losses:
            half = len(self.parts) // 2 + 1
            for part, mine in list(zip(self.parts, args, strict=True))[:half]:
                getattr(part, verb)(*mine)  # some had heard the question
            self.bounds = cuts(self.bounds[-1][1], len(self.bounds) % 5 + 1)  # others than before
            self.parts = [self._make(*one) for one in self.bounds]
            raise PartsLost
        return super().ask_each(verb, args)

    def close(self):
        super().close()
        self.is_closed = True


class InParts(Elsewhere):
    """What a user would give."""

    def __init__(self, X, y=None, sample_weight=None, n_parts=3, losses=()):
        self._made_of = X, y, sample_weight, n_parts, losses
        self.table = None

    def read(self, *, categorical_features=None, schema=None, estimator_name="estimator"):
        X, y, weight, n_parts, losses = self._made_of
        table = read_table(
            X, categorical_features=categorical_features, schema=schema, estimator_name=estimator_name
        )
        self.table = TableInParts(table, n_parts, y, weight, losses)
        return self.table
