"""The command line: `hedgerow train table.csv --target column`, and the other commands.

A command reads its input, calls the library and prints the result. `errors` lists the exit codes.
"""

import sys
from collections.abc import Sequence

from hedgerow.optional import require_extra

__all__ = ["main"]

_PACKAGES = ("typer", "rich")  # also needed by --help; the extra `cli` installs them


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments of the process by default.

    Examples
    --------
    >>> main(["--version"])
    hedgerow ...
    0
    """
    try:
        for package in _PACKAGES:
            require_extra(package, extra="cli")
    except ImportError as error:
        sys.stderr.write(f"hedgerow: error: {error}\n")
        return 1
    from hedgerow.cli.app import run  # noqa: PLC0415 - needs the packages

    return run(sys.argv[1:] if arguments is None else arguments)
