# ruff: noqa: INP001 - scripts of the site, not a package
"""Write docs/api.md: the public names of every room with the first lines of their docstrings.

python docs/reference.py
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
ROOMS = {
    "hedgerow": "Estimators, callbacks, model files",
    "hedgerow.theory": "What is proven",
    "hedgerow.plots": "Pictures",
    "hedgerow.vision": "Cascades",
    "hedgerow.datasets": "Small and simulated data",
    "hedgerow.losses": "Losses and links",
    "hedgerow.datafiles": "Tables in files",
    "hedgerow.streams": "Tables larger than memory",
    "hedgerow.distributed": "Clusters",
    "hedgerow.selection": "Choosing and comparing",
    "hedgerow.report": "Reports",
    "hedgerow.experiments": "The experiments",
    "hedgerow.io": "Model files",
}
CONSTANTS = {
    "AUTO": "Names of the families that `choose` tries.",
    "FULL": "The plan of all rows and repeats.",
    "LOSSES": "The losses by task and name.",
    "METHODS": "The methods by name.",
    "METRICS": "The measures by name.",
    "QUICK": "The plan of a demonstration.",
}
HEAD = """# Reference

The public names, by the module they are imported from. `help(hedgerow.AdaBoostClassifier)` shows parameters
and an example. This page is made by `python docs/reference.py`, and a test compares it with the code.
"""


def summary(name: str, value: Any) -> str:
    """The first sentence of a docstring, or what a constant is."""
    text = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) else None
    if not text:
        return CONSTANTS[name] if name in CONSTANTS else f"A constant: {type(value).__name__}."
    first = " ".join(text.split("\n\n")[0].split())
    return re.sub(r"(?<=[^`])\|(?=[^`])", r"\\|", first)


def section(room: str, title: str) -> str:
    """The table of a room."""
    module = importlib.import_module(room)
    names = [name for name in module.__all__ if not name.startswith("_")]
    rows = [f"| `{name}` | {summary(name, getattr(module, name))} |" for name in sorted(names, key=str.lower)]
    about = " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
    return "\n".join(
        [f"## {room}", "", f"*{title}.* {about}", "", "| name | what it is |", "|---|---|", *rows, ""]
    )


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(room, title) for room, title in ROOMS.items())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
