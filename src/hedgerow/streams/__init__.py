"""Tables in files, larger than memory: read in batches, twice, and stored as codes of one byte per value.

    source (files, a dataset, a function) ─▶ batches ─▶ chunks of rows ─┬─▶ scan:   first pass
                                                                       └─▶ codes:  second pass

The first pass finds the columns, collects target, weights and keys of all rows, and keeps the rows that bin
edges are computed from. The second pass makes codes, in memory or in a mapped file. The result is the same,
bit for bit, as with the whole table in memory.
"""

from hedgerow.streams.stream import Stream, open_stream

__all__ = ["Stream", "open_stream"]
