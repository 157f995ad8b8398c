"""Old name of `base.supports_dask`."""

from hedgerow.estimators.base import supports_dask as lazily

__all__ = ["lazily"]
