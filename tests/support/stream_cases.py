"""Tables in files for tests of streams, and the same rows in memory."""

import itertools

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from hedgerow.kernels.cpu.binning import add_keys
from hedgerow.streams import Stream
from hedgerow.table import read_table
from hedgerow.table.table import value_bits
from hedgerow.threads import Team


def rows(n_rows=1000, seed=0):
    """Numbers with nulls and NaN, booleans, categories with nulls, a target and weights of some kinds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    colours = np.array(["red", "green", "blue", "grey"])[rng.integers(0, 4, n_rows)]
    score = np.where(np.isnan(x), 0.0, x) + (colours == "red") + 0.3 * rng.normal(size=n_rows)
    x[rng.random(n_rows) < 0.1] = np.nan

    def some(p):
        return rng.random(n_rows) < p

    return pa.table(
        {
            "x": pa.array(x, mask=some(0.05)),
            "whole": pa.array(rng.integers(-5, 6, n_rows), mask=some(0.05)),
            "colour": pa.array(colours, mask=some(0.1)).dictionary_encode(),
            "flag": pa.array(rng.random(n_rows) < 0.5, mask=some(0.05)),
            "narrow": rng.normal(size=n_rows).astype(np.float32),
            "label": np.where(score > 0.3, "yes", "no"),
            "number": (score > 0.3).astype(np.int8),
            "score": score,
            "weight": rng.integers(0, 4, n_rows),
        }
    )


OTHERS = ("label", "number", "score", "weight")


def features(table, names=OTHERS):
    """The table without its targets and weights."""
    return table.drop_columns([name for name in names if name in table.column_names])


def chosen(table, target, weight=None):
    """Only one target, and perhaps weights, beside the features."""
    return table.drop_columns([name for name in OTHERS if name not in (target, weight)])


def write(table, folder, cuts=(), row_group=None, kind="parquet"):
    """Write the rows between cuts as one file each, named in their order."""
    folder.mkdir(exist_ok=True)
    edges = [0, *cuts, table.num_rows]
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        some = table.slice(start, stop - start)
        path = folder / f"part-{number:02}.{kind}"
        if kind == "parquet":
            parquet.write_table(some, path, row_group_size=row_group)
        else:
            make = ipc.new_file if kind == "arrow" else ipc.new_stream
            with make(path, table.schema) as file:
                file.write_table(some.unify_dictionaries(), max_chunksize=row_group)
    return folder


def scanned(source, target="label", n_threads=2, **options):
    """Scan a source; `categorical_features` and `schema` are those of `read_table`."""
    known = {name: options.pop(name) for name in ("categorical_features", "schema") if name in options}
    return read_table(Stream(source, target, **options).for_fit(n_threads, shows=False), **known)


def keys_of(table, *, rounded=False):
    """Keys of all rows of a table in memory."""
    keys = np.zeros(table.n_rows, np.uint64)
    add_keys(value_bits(table.block(0, table.n_rows), rounded=rounded), 0, keys)
    return keys


def check_scan(found, X, y=None, weight=None, **known):
    """Compare a scanned table with the one of the same rows in memory, field by field."""
    wanted = read_table(X, **known)
    scan = found.scan
    assert (found.n_rows, found.n_columns) == (wanted.n_rows, wanted.n_columns)
    assert found.schema == wanted.schema
    assert [None if one is None else one.dtype for one in found.schema.categories] == [
        None if one is None else one.dtype for one in wanted.schema.categories
    ]
    assert found.dtype == wanted.dtype
    assert scan.sample.dtype == wanted.dtype
    np.testing.assert_array_equal(scan.keys, keys_of(wanted))
    np.testing.assert_array_equal(scan.rounded, keys_of(wanted, rounded=True) >> np.uint64(32))
    np.testing.assert_array_equal(scan.sample, wanted.rows(scan.sample_rows))
    for got, column in ((scan.y, y), (scan.sample_weight, weight)):
        if column is not None:
            expected = np.asarray(column)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
            assert [*map(type, got.tolist())] == [*map(type, expected.tolist())]
    return wanted


def codes_of(table, bins, **options):
    """Codes by column of a table."""
    with Team(2) as team:
        return bins.encode(table, team, **options).codes.by_column


class TupleFactory:
    """Creates shards that are tuples of the arguments."""

    def __init__(self, by_row):
        self.by_row, self.layout = by_row, None

    def __call__(self, codes, row_arrays, first):
        return codes, row_arrays, first
