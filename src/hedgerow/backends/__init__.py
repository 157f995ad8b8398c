"""The one seam: where trees are grown.

A backend is opened on a binned table and grows trees on it. `CpuBackend` grows a whole tree in one
compiled kernel. `RowStore` is the narrow set of verbs (histograms, partition) that a place holding rows
must offer so that the reference grower can grow the identical tree there.
"""

from hedgerow.backends.cpu import CpuBackend

__all__ = ["CpuBackend"]
