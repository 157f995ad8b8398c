"""Tables in memory that stand in for remote ones: engines get a scan and shards, and no block of rows."""

import itertools

import numpy as np

from hedgerow.bagging.raw_table import value_bits
from hedgerow.growing.shards import LocalShards, ShardsLost, layout_of
from hedgerow.kernels.cpu.binning import add_keys
from hedgerow.table import read_table
from hedgerow.table.remote import RemoteInput, RemoteTable, TableScan
from hedgerow.threads import Team


def cuts(n_rows, n_shards):
    """Bounds of uneven shards, some of them empty if there are few rows."""
    ends = np.sort(np.random.default_rng(n_shards).integers(0, n_rows + 1, n_shards - 1))
    edges = [0, *ends.tolist(), n_rows]
    return list(itertools.pairwise(edges))


class ShardedTable(RemoteTable):
    """A table in memory as a remote one, in a number of shards.

    losses : numbers of the calls at which shards are lost, counted from 0. opened : all sharded rows made.
    """

    __slots__ = ("losses", "n_shards", "opened", "table")

    def __init__(self, table, n_shards, y=None, sample_weight=None, losses=()):
        n, values = table.n_rows, table.block(0, table.n_rows)
        keys, rounded = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
        add_keys(value_bits(values), 0, keys)
        add_keys(value_bits(values, rounded=True), 0, rounded)
        upper = (rounded >> np.uint64(32)).astype(np.uint32)
        rows = np.arange(n)
        super().__init__(
            TableScan(n, table.schema, table.dtype, y, sample_weight, keys, upper, rows, np.array(values))
        )
        self.table, self.n_shards, self.losses, self.opened = table, n_shards, losses, []

    def make_shards(self, factory, bins, row_arrays, n_threads):
        bounds = cuts(self.n_rows, self.n_shards)
        codes = bins.encode(self.table, Team(1), for_growing=False).codes.by_column

        def create(start, stop):
            mine = np.ascontiguousarray(codes[:, start:stop])
            if factory.by_row:
                layout = layout_of(factory, bins.n_columns)
                mine = layout.allocate(stop - start)
                layout.encode(bins, self.table.block(start, stop), mine, 0)
            own = {name: values[start:stop] for name, values in row_arrays.items()}
            return factory(mine, own, start)

        shards = LosingShards(create, bounds, self.losses)
        self.opened.append(shards)
        return shards

    def read_codes(self, bins):
        return bins.encode(self.table, Team(1), for_growing=False).codes.by_column

    def encode(self, bins, team, *, for_growing=True):
        return bins.encode(self.table, team, for_growing=for_growing)


class LosingShards(LocalShards):
    """Shards in this process that are lost, and created again with other bounds, at some calls."""

    def __init__(self, create, bounds, losses):
        super().__init__([create(*one) for one in bounds], bounds)
        self._create, self._losses, self.n_calls, self.is_closed = create, set(losses), 0, False

    def call_each(self, method, args):
        self.n_calls += 1
        if self.n_calls - 1 in self._losses:
            half = len(self.shards) // 2 + 1
            for shard, own in list(zip(self.shards, args, strict=True))[:half]:
                getattr(shard, method)(*own)  # some complete the call
            self.bounds = cuts(self.bounds[-1][1], len(self.bounds) % 5 + 1)  # others than before
            self.shards = [self._create(*one) for one in self.bounds]
            raise ShardsLost
        return super().call_each(method, args)

    def close(self):
        super().close()
        self.is_closed = True


class ShardedInput(RemoteInput):
    """X as a user would pass it."""

    def __init__(self, X, y=None, sample_weight=None, n_shards=3, losses=()):
        self.source = X
        self._arguments = X, y, sample_weight, n_shards, losses
        self.table = None

    def read(self, *, categorical_features=None, schema=None, estimator_name="estimator"):
        X, y, weight, n_shards, losses = self._arguments
        table = read_table(
            X, categorical_features=categorical_features, schema=schema, estimator_name=estimator_name
        )
        self.table = ShardedTable(table, n_shards, y, weight, losses)
        return self.table
