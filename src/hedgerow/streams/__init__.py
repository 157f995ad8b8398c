"""Tables in files, larger than memory: read batch by batch, twice, and kept as codes of one byte a cell.

    source (files, a dataset, a function) ─▶ batches ─▶ chunks of rows ─┬─▶ survey: pass one
                                                                       └─▶ codes:  pass two

The first pass learns the columns, collects target, weights and keys of all rows, and keeps those rows that
bin edges are taken from. The second makes codes, in memory or in a mapped file. What comes out is what the
whole table in memory would have given, bit for bit.
"""

from hedgerow.streams.stream import Stream, open_stream

__all__ = ["Stream", "open_stream"]
