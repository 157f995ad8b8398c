"""Names of a package whose modules are imported when they are first used.

`import hedgerow` then loads no more than what a program uses; see PEP 562.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping of str to sequence of str
        Module -> the names that the package takes from it.
    submodules : sequence of str
        Modules of the package that are its attributes too.

    Examples
    --------
    >>> find, names = lazy_names("numbers", {"math": ["sqrt"], "cmath": ["phase"]})
    >>> find("sqrt")(9.0), names()
    (3.0, ['phase', 'sqrt'])
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted([*homes, *submodules])
