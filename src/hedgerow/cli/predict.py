"""`hedgerow predict`: predict the rows of a table."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from hedgerow.cli import options
from hedgerow.cli.commands import Predict
from hedgerow.cli.errors import UsageError
from hedgerow.cli.evaluate import find_title, name_positive
from hedgerow.cli.options import check_output_file, describe_file
from hedgerow.cli.output import Output
from hedgerow.cli.table_model import ModelFile, errors_of, read_model, read_table_file
from hedgerow.datafiles import DataFileError, TypedTable, unknown_name, write_data
from hedgerow.selection import score_model, take_rows
from hedgerow.selection.weighted_ensemble import members_of
from hedgerow.text_table import format_score

SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".parquet", ".arrow", ".feather")


def predict(command: Predict) -> None:
    """Predict the rows of a table: labels with their probabilities, or numbers."""
    output, data, out, keep = Output(command.as_json), command.data, command.out, command.keep or ()
    if command.as_json and out is None:
        raise UsageError("--json describes the file that was written: pass --out FILE too")
    options.check_numbers(0, command.threads)
    inputs = (command.model, data)
    replaces = check_output_file("--out", out, force=command.force, suffixes=SUFFIXES, others=inputs)
    loaded = read_model(command.model)
    # lines are never left out without being asked
    reading = replace(loaded.recipe.read_options, skip_bad_lines=command.skip_bad_lines)
    table = read_table_file(data, reading, propose=True)
    for name in keep:
        if name not in table.column_names:
            raise UsageError(f"--keep {name}: {unknown_name(name, table.column_names)}")
    if command.threads is not None:
        for _, member in members_of(loaded.model):
            member.set_params(n_jobs=command.threads)
    with errors_of(data):
        X = loaded.recipe.features(table)
    predicted = predictions(loaded, X)
    kept = table.column_names if command.keep_all else list(dict.fromkeys(keep))
    option = "--keep-all" if command.keep_all else "--keep"
    for name in predicted.column_names:
        if name in kept:
            raise UsageError(
                f"{option}: the predictions also have a column {name!r}; rename the one in {data}"
            )
    for finding in table.findings:
        output.note(finding.text)
    copied = {name: table.kept_values(name) for name in kept}
    result = pa.table(copied | dict(zip(predicted.column_names, predicted.columns, strict=True)))
    scores = _scores(loaded, table)
    if out is None:
        csv.write_csv(result, sys.stdout.buffer)
    else:
        write_data(result, out)
        output.text(f"{len(result):,} predictions: {describe_file(out, replaced=replaces)}")
    if scores:
        text = ", ".join(f"{find_title(name)} {format_score(value)}" for name, value in scores.items())
        text += name_positive(scores, loaded.model, loaded.positive)
        if loaded.was_trained_on(data):
            text += "; the model was fitted to most of its rows, see certify"
        output.note(f"the table has the target {loaded.recipe.target!r}: {text}")
    output.result(
        {"rows": len(result), "out": out and str(out), "columns": result.column_names, "scores": scores}
    )


def predictions(loaded: ModelFile, X: Any) -> pa.Table:
    """Return a column of predictions and, for a classifier, a column of probabilities for each class."""
    target, model = loaded.recipe.target, loaded.model
    if loaded.recipe.task == "regression":
        return pa.table({f"predicted {target}": pa.array(np.asarray(model.predict(X), np.float64))})
    columns = {f"predicted {target}": pa.array(np.asarray(model.predict(X)).tolist())}
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        for number, label in enumerate(model.classes_.tolist()):
            columns[f"probability {label}"] = pa.array(np.ascontiguousarray(probabilities[:, number]))
    return pa.table(columns)


def _scores(loaded: ModelFile, table: TypedTable) -> dict[str, float]:
    """Score the predictions of the rows that have a label."""
    recipe = loaded.recipe
    if recipe.target not in table.column_names:
        return {}
    try:
        labelled = table.filter(recipe.has_label(table))
    except DataFileError:  # no row has a label
        return {}
    X, y = recipe.features(labelled), recipe.labels(labelled)
    if recipe.task == "classification":
        known = np.flatnonzero(np.isin(y, loaded.model.classes_))
        X, y = take_rows(X, known), y[known]
    return score_model(loaded.model, X, y, recipe.task, positive=loaded.positive) if len(y) else {}
