"""Imports of packages that only an extra installs, and imports when a name is first used.

With the latter, `import hedgerow` loads only the modules that a program uses.
"""

from collections.abc import Callable, Mapping, Sequence
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


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose modules are imported when they are first used.

    `modules` maps each module to the names that the package takes from it; `submodules` are modules of the
    package that are its attributes too. See PEP 562.

    >>> find, names = lazy_names("numbers", {"math": ["sqrt"], "cmath": ["phase"]})
    >>> find("sqrt")(9.0), names()
    (3.0, ['phase', 'sqrt'])
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name in module_of:
            return getattr(import_module(module_of[name]), name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted([*module_of, *submodules])
