"""`hedgerow certify` and `hedgerow report`: the evaluation of a model on rows that are new to it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.cli import commands, options
from hedgerow.cli.errors import CommandError, UsageError, input_errors
from hedgerow.cli.options import check_output_file, command_line, describe_file
from hedgerow.cli.output import Output
from hedgerow.cli.table_model import ModelFile, PreparedTable, print_table, read_model, read_table_file
from hedgerow.container import ModelFileError
from hedgerow.datafiles.files import split_source
from hedgerow.io import load_certificate
from hedgerow.selection import Choice, score_model
from hedgerow.selection.metrics import metric_named
from hedgerow.selection.weighted_ensemble import members_of
from hedgerow.text_table import format_number
from hedgerow.theory import Certificate
from hedgerow.theory import certify as certify_classifier

_DELTA = 0.05
_LONGEST = 24  # letters of a label in a heading
_FRACTION = re.compile(r"(?<![\w.])\d+\.\d{5,}(?![\w.])")  # a number of more digits than a reader wants
# A bound from the training rows assumes that the class of models was fixed before these rows were used.
_CHOSEN = "if the method counts as fixed beforehand: validation chose it by its scores on the training rows"


@dataclass(frozen=True)
class Evaluation:
    """A model with its choice, and its scores and certificate from the test rows."""

    model: Any
    choice: Choice | None
    scores: dict[str, float]
    certificate: Certificate | None
    positive: Any = None  # label of the positive class, if one was named


def evaluate(model: Any, table: PreparedTable, choice: Choice | None, positive: Any = None) -> Evaluation:
    """Score a model on the test rows, and certify it if it is a classifier.

    positive : label of the positive class, if one was named
    """
    X, y = table.take(table.test) if len(table.test) else (None, None)
    certificate, scores = None, {}
    if table.task == "classification":
        proviso = table.columns.proviso
        certificate = certify_model(model, X, y, is_chosen=choice is not None, proviso=proviso)
        certificate = certificate if certificate.bounds else None
    if y is not None:
        metric = None if choice is None else choice.metric
        scores = score_model(model, X, y, table.task, metric=metric, positive=positive)
    return Evaluation(model, choice, scores, certificate, positive)


def find_title(name: str) -> str:
    """Return the title of a metric."""
    metric = metric_named(name)
    return name if metric is None else metric.title


def name_positive(scores: Iterable[str], model: Any, positive: Any = None) -> str:
    """Return a clause that names the positive class, the second by default; empty if no score is of it."""
    metrics = map(metric_named, scores)
    titles = [metric.title for metric in metrics if metric is not None and metric.of_positive]
    if not titles:
        return ""
    label = str(model.classes_[1] if positive is None else positive)
    label = label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
    return f"; {' and '.join(titles)} {'is' if len(titles) == 1 else 'are'} of class {label!r}"


def certify_model(
    model: Any, X: Any = None, y: Any = None, *, delta: float = _DELTA, is_chosen: bool, proviso: str = ""
) -> Certificate:
    """Certify a classifier; bounds from the training rows get a proviso if validation chose its settings.

    proviso : one of all bounds, if the rows are not independent
    """
    with input_errors():
        certificate: Certificate = certify_classifier(model, X, y, delta=delta)
    if is_chosen:
        certificate = certificate.with_proviso(_CHOSEN)
    return certificate.with_proviso(proviso, hold_out=True) if proviso else certificate


def describe_model(model: Any) -> str:
    """Return a model on one line, with rounded parameters.

    >>> from hedgerow import GradientBoostingClassifier
    >>> describe_model(GradientBoostingClassifier(learning_rate=0.0123456789))
    'GradientBoostingClassifier(learning_rate=0.01235)'
    """
    return _FRACTION.sub(lambda found: format_number(float(found[0])), " ".join(repr(model).split()))


def print_model(model: Any, output: Output, suffix: str = "") -> None:
    """Print a model; of an ensemble every member with its weight."""
    members = members_of(model)
    if len(members) == 1:
        output.text(f"{describe_model(model)}{suffix}", "bold")
        return
    kind = type(getattr(model, "estimator_", model)).__name__
    output.text(f"{kind} of {len(members)} models{suffix}:", "bold")
    for weight, member in members:
        output.text(f"  {weight:.2f} {describe_model(member)}")


# --- certify


def certify(command: commands.Certify) -> None:
    """Print every bound that applies to the error on new rows."""
    output, model, data = Output(command.as_json), command.model, command.data
    delta, out, force = command.delta, command.out, command.force
    if not 1e-300 <= delta < 1:
        raise UsageError(f"--delta {delta:g} is not allowed: it must be a number above 0 and below 1")
    replaces = check_output_file("--out", out, force=force, suffixes=(".json", ".html"), others=(model, data))
    loaded = read_model(model)
    if loaded.recipe.task != "classification":
        raise CommandError(f"{model}: a regression model; certificates are for classifiers")
    if data is None:
        certificate = _stored_certificate(loaded, delta, output)
    else:
        table = loaded.prepare(data, read_table_file(data, loaded.recipe.read_options), output)
        certificate = certify_model(
            loaded.model,
            *table.take(table.test),
            delta=delta,
            is_chosen=loaded.is_chosen,
            proviso=loaded.columns.proviso,
        )
    output.page(certificate)
    if out is not None:
        certificate.save(out)
        output.text(f"certificate: {describe_file(out, replaced=replaces)}")
    output.result(certificate.to_dict())


def _stored_certificate(loaded: ModelFile, delta: float, output: Output) -> Certificate:
    """Return the certificate of the model file; for another delta, the bounds that need no further rows."""
    stored = load_certificate(loaded.path)
    if stored is not None and stored.delta == delta:
        output.text(f"the certificate stored in {loaded.path}:")
        return stored
    if stored is not None:
        output.note(
            f"the stored certificate has delta {stored.delta:g}; for delta {delta:g} the hold-out bound "
            "needs DATA, such as the training file"
        )
    return certify_model(
        loaded.model, delta=delta, is_chosen=loaded.is_chosen, proviso=loaded.columns.proviso
    )


# --- report


def report(command: commands.Report) -> None:
    """Write an HTML report of a model on rows that are new to it."""
    output, model, data, seed = Output(command.as_json), command.model, command.data, command.seed
    path = command.out or Path(model.name).with_suffix(".html")
    options.check_numbers(seed, None)
    others = (model, data)
    replaces = check_output_file("--out", path, force=command.force, suffixes=(".html",), others=others)
    loaded = read_model(model)
    table = loaded.prepare(data, read_table_file(data, loaded.recipe.read_options), output)
    print_table(table, output)
    evaluation = evaluate(loaded.model, table, _choice(loaded), loaded.positive)
    trained_by = loaded.card.get("command")
    lines = (*([trained_by] if isinstance(trained_by, str) else []), command_line())
    write_report(model, evaluation, table, seed, path, output, lines)
    output.text(f"report: {describe_file(path, replaced=replaces)}")
    output.result({"report": str(path), "rows": len(table.test), "scores": evaluation.scores})


def _choice(loaded: ModelFile) -> Choice | None:
    """Return how the method was chosen, from the card; None if --method named it."""
    if not loaded.is_chosen:
        return None
    try:
        return Choice.from_dict(loaded.card["choice"], loaded.model)
    except ValueError as error:
        raise ModelFileError(f"{loaded.path}: the card of the model is damaged: {error}") from error


def write_report(
    model_path: Path,
    evaluation: Evaluation,
    table: PreparedTable,
    seed: int,
    path: Path,
    output: Output,
    command_lines: tuple[str, ...],
) -> None:
    """Write the report of an evaluation."""
    from hedgerow.report import Report, ReportData  # noqa: PLC0415 - loads matplotlib, half a second

    X, y = table.take(table.test)
    X_train, y_train = table.take(table.train) if len(table.train) else (None, None)
    path_of_table, inner = split_source(table.path)
    name = path_of_table.name if inner is None else f"{path_of_table.name}::{inner}"
    data = ReportData(
        evaluation.model,
        X,
        y,
        X_train,
        y_train,
        summary=table.summary,
        recipe=table.recipe,
        choice=evaluation.choice,
        certificate=evaluation.certificate,
        reproduce=command_lines,
        model_file=str(model_path),
        data_file=str(table.path),
        rows=table.row_numbers[table.test],
        train_rows=table.row_numbers[table.train] if len(table.train) else None,
        random_state=seed,
        positive=evaluation.positive,
    )
    title = f"{table.recipe.target} in {'a table from standard input' if name == '-' else name}"
    with output.progress("writing the report") as progress, input_errors():
        Report.from_facts(data, title=title, progress=progress).save(path)
