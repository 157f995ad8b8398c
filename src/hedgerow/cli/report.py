"""`hedgerow report`: a page about a model that was trained before."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options, tables
from hedgerow.cli.card import Trained, command_line, read_model
from hedgerow.cli.fits import measure, write_report
from hedgerow.cli.output import Output
from hedgerow.cli.places import check_new_file, written
from hedgerow.container import ModelFileError
from hedgerow.datafiles import read_data
from hedgerow.selection import Choice


def report(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The name of MODEL with .html by default.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write an HTML report of a model and rows that are new to it."""
    output = Output(as_json)
    place = out if out is not None else Path(model.name).with_suffix(".html")
    tables.check_numbers(seed, None)
    replaces = check_new_file("--out", place, force=force, suffixes=(".html",), inputs=(model, data))
    trained = read_model(model)
    problem, is_training_file = trained.problem(data, read_data(data))
    tables.tell_problem(problem, output)
    if is_training_file:
        output.say(f"{data} is the training file: its {len(problem.test):,} rows held out are reported on")
    fit = measure(trained.model, problem, _choice(trained))
    write_report(model, fit, problem, seed, place, output, reproduce=_commands(trained))
    output.say(f"report: {written(place, replaced=replaces)}")
    output.result({"report": str(place), "rows": len(problem.test), "scores": fit.scores})


def _choice(trained: Trained) -> Choice | None:
    """How the method was chosen, as the card keeps it; None if one was asked for."""
    kept = trained.card.get("choice")
    if kept is None:
        return None
    try:
        return Choice.from_dict(kept, trained.model)
    except ValueError as error:
        raise ModelFileError(f"{trained.path}: the card of the model is damaged: {error}") from error


def _commands(trained: Trained) -> tuple[str, ...]:
    trained_by = trained.card.get("command")
    return (*([trained_by] if isinstance(trained_by, str) else []), command_line())
