"""The command line: `hedgerow train table.csv --target column`, and what goes with it.

Commands only read what they are given, call the library and show what comes back. `errors` says how they end.
"""

from hedgerow.cli.app import main

__all__ = ["main"]
