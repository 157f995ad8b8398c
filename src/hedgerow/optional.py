"""Imports of packages that only an extra installs."""

from importlib import import_module
from typing import Any


def require_extra(module: str, extra: str) -> Any:
    """Import a module that belongs to an extra: "plots", "vision", "cli", "dask" or "skops".

    If its package is not installed, the ImportError is one line that names the extra.

    >>> require_extra("json", extra="plots").__name__
    'json'
    >>> require_extra("no_such_package.parts", extra="plots")
    Traceback (most recent call last):
    ImportError: no_such_package is not installed; install it with: pip install 'hedgerow[plots]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is installed, but something it imports is not
        raise ImportError(
            f"{package} is not installed; install it with: pip install 'hedgerow[{extra}]'", name=package
        ) from None
