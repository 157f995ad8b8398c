"""`hedgerow certify`: what is proven about the error of a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.card import Trained, read_model
from hedgerow.cli.errors import UsageError, WorkError
from hedgerow.cli.output import Output
from hedgerow.cli.places import check_new_file, written
from hedgerow.datafiles import read_data
from hedgerow.theory import Certificate
from hedgerow.theory import certify as certify_model


def certify(
    model: options.Model,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Rows that are new to the model, or its training file, whose rows held out are taken.",
            show_default=False,
        ),
    ] = None,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="The probability that what is said is wrong.")
    ] = 0.05,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .json or .html file.", show_default=False)
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Say what is proven about the error on new rows, by every bound that applies."""
    output = Output(as_json)
    if not 1e-300 <= delta < 1:
        raise UsageError(f"--delta {delta:g} is not allowed: it must be a number above 0 and below 1")
    inputs = (model,) if data is None else (model, data)
    replaces = check_new_file("--out", out, force=force, suffixes=(".json", ".html"), inputs=inputs)
    trained = read_model(model)
    if trained.recipe.task != "classification":
        raise WorkError(f"{model}: a model of numbers; certificates are of classifiers")
    X, y = (None, None) if data is None else _new_rows(trained, data, output)
    certificate: Certificate = certify_model(trained.model, X, y, delta=delta)
    output.show(certificate)
    if out is not None:
        certificate.save(out)
        output.say(f"certificate: {written(out, replaced=replaces)}")
    output.result(certificate.to_dict())


def _new_rows(trained: Trained, data: Path, output: Output) -> tuple[Any, Any]:
    """The rows of a file that the model was not fitted to."""
    problem, is_training_file = trained.problem(data, read_data(data))
    if is_training_file:
        output.say(f"{data} is the training file: its {len(problem.test):,} rows held out are taken")
    return problem.part(problem.test)
