"""`hedgerow compare`: every method of the library, and a linear one, on the same folds of a table."""

from typing import Annotated

import typer

from hedgerow.cli import options, tables
from hedgerow.cli.errors import UsageError
from hedgerow.cli.output import Output
from hedgerow.selection import METHODS
from hedgerow.selection import compare as compare_methods


def compare(
    data: options.Data,
    target: options.Target,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"One of {', '.join(METHODS)}; may be given again.", show_default=False
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="NUMBER", help="Of the cross-validation.")] = 5,
    task: options.Task = "auto",
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Cross-validate every method on the same folds, with times."""
    output = Output(as_json)
    for name in method or ():
        tables.check_choice("--method", name, tuple(METHODS))
    if not 2 <= folds <= 100:
        raise UsageError(f"--folds {folds} is not allowed: it must be a whole number from 2 to 100")
    tables.check_numbers(seed, threads)
    problem = tables.read_problem(data, target, task=task, drop=drop, categorical=categorical)
    tables.tell_problem(problem, output)
    with output.progress("comparing") as progress:
        comparison = compare_methods(
            problem.X,
            problem.y,
            problem.task,
            methods=tuple(method) if method else None,
            folds=folds,
            random_state=seed,
            n_jobs=threads,
            progress=progress,
        )
    output.show(comparison)
    output.result({"data": str(data), "target": target, "seed": seed, **comparison.to_dict()})
