"""`hedgerow predict`: a model and a table in; a table of predictions out."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from pyarrow import csv

from hedgerow.cli import options
from hedgerow.cli.card import Trained, read_model
from hedgerow.cli.errors import UsageError
from hedgerow.cli.output import Output, figure
from hedgerow.cli.places import check_new_file, written
from hedgerow.cli.tables import about, check_numbers
from hedgerow.datafiles import DataFileError, read_data, unknown_name, write_data
from hedgerow.selection import METRICS, score_model, take_rows

SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".parquet", ".arrow", ".feather")


def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV, Parquet or Arrow by its ending; CSV on standard output by default.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Copy a column of DATA; may be given again.", show_default=False),
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns of DATA.")] = False,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the rows of a table: labels with their probabilities, or numbers."""
    output = Output(as_json)
    if as_json and out is None:
        raise UsageError("--json says what was written: give --out FILE too")
    check_numbers(0, threads)
    replaces = check_new_file("--out", out, force=force, suffixes=SUFFIXES, inputs=(model, data))
    trained = read_model(model)
    table = read_data(data)
    for name in keep or ():
        if name not in table.column_names:
            raise UsageError(f"--keep {name}: {unknown_name(name, table.column_names)}")
    if threads is not None:
        trained.model.set_params(n_jobs=threads)
    with about(data):
        X = trained.recipe.features(table)
    predicted = predictions(trained, X)
    kept = table.column_names if keep_all else list(dict.fromkeys(keep or ()))
    option = "--keep-all" if keep_all else "--keep"
    for name in predicted.column_names:
        if name in kept:
            what = f"the predictions have a column {name!r} too"
            raise UsageError(f"{option}: {what}; rename the one in {data}")
    result = table.select(kept)
    for name, column in zip(predicted.column_names, predicted.columns, strict=True):
        result = result.append_column(name, column)
    scores = _scores(trained, table)
    if out is None:
        csv.write_csv(result, sys.stdout.buffer)
    else:
        write_data(result, out)
        output.say(f"{len(result):,} predictions: {written(out, replaced=replaces)}")
    if scores:
        words = ", ".join(f"{METRICS[name].title} {figure(value)}" for name, value in scores.items())
        seen = "" if not trained.is_of(data) else "; most of its rows the model was fitted to, see certify"
        output.note(f"the table has the target {trained.recipe.target!r}: {words}{seen}")
    output.result(
        {"rows": len(result), "out": out and str(out), "columns": result.column_names, "scores": scores}
    )


def predictions(trained: Trained, X: Any) -> pa.Table:
    """A column of predictions and, of a classifier, a column of probabilities for each class."""
    target, model = trained.recipe.target, trained.model
    if trained.recipe.task == "regression":
        return pa.table({f"predicted {target}": pa.array(np.asarray(model.predict(X), np.float64))})
    columns = {f"predicted {target}": pa.array(np.asarray(model.predict(X)).tolist())}
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        for number, label in enumerate(model.classes_.tolist()):
            columns[f"probability {label}"] = pa.array(np.ascontiguousarray(probabilities[:, number]))
    return pa.table(columns)


def _scores(trained: Trained, table: pa.Table) -> dict[str, float]:
    """How good the predictions are, where the table knows the truth of rows."""
    recipe = trained.recipe
    if recipe.target not in table.column_names:
        return {}
    try:
        labelled = table.filter(recipe.has_label(table))
    except DataFileError:  # no row has a label: nothing to score
        return {}
    X, y = recipe.features(labelled), recipe.labels(labelled)
    if recipe.task == "classification":
        known = np.flatnonzero(np.isin(y, trained.model.classes_))
        X, y = take_rows(X, known), y[known]
    return score_model(trained.model, X, y, recipe.task) if len(y) else {}
