"""Dask collections as tables: rows on the workers of a cluster, and a fit that asks them where they are.

`open_collection` takes what a user gave; `settings` says how long a fit waits for the cluster.
"""

from hedgerow.distributed.opening import open_collection
from hedgerow.distributed.settings import Settings, settings

__all__ = ["Settings", "open_collection", "settings"]
