"""Dask collections as remote tables: shards of the rows are held by actors on the workers of a cluster.

`open_collection` accepts X as a user passes it; `settings` reads how long a fit waits for the cluster.
"""

from hedgerow.distributed.cluster import Settings, settings
from hedgerow.distributed.input import open_collection

__all__ = ["Settings", "open_collection", "settings"]
