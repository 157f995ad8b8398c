"""The options that several commands have, once each."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A table: CSV (compressed too), Parquet or Arrow.", show_default=False
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `hedgerow train` has saved.", show_default=False)
]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.", show_default=False)]
Task = Annotated[
    str,
    typer.Option(metavar="KIND", help="What the target is: auto, classification or regression."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave a column out; may be given again.", show_default=False),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Take a column for categories; may be given again.", show_default=False
    ),
]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="Of all random choices.")]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", help="All cores by default; results do not depend on it.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
