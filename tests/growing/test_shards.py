"""Shards in this process, and the tables they are made of."""

import numpy as np
import pytest

from hedgerow.growing.shards import LocalShards
from hedgerow.table.remote import RemoteTable, TableScan
from shard_cases import TABLE


def test_shards_are_closed_once():
    closed = []
    shards = LocalShards([object()], [(0, 5)], lambda: closed.append(1))
    shards.close()
    shards.close()
    assert closed == [1]


def test_only_the_rows_of_the_scan_can_be_read():
    sample = TableScan(
        5, TABLE.schema, TABLE.dtype, None, None, None, None, np.array([1, 3]), np.arange(12.0).reshape(2, 6)
    )

    class Scanned(RemoteTable):
        __slots__ = ()
        make_shards = read_codes = encode = None

    table = Scanned(sample)
    assert table.rows(np.array([3, 1]), slice(1, 3)).tolist() == [[7.0, 8.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="use at most 255"):
        table.rows(np.array([2]))
    with pytest.raises(TypeError, match="cannot be read in blocks"):
        table.block(0, 1)
