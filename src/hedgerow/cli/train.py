"""`hedgerow train`: fit a model to a table; save it with its certificate, and write a report.

It warns of leaks. The "number of injured" determines the severity of an accident, but is not known earlier: a
model with such a column looks perfect and is useless. The same holds for test rows that are copies of
training rows.
"""

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import hedgerow
from hedgerow._typing import Integers
from hedgerow.cli import commands
from hedgerow.cli.errors import CommandError, UsageError, input_errors
from hedgerow.cli.evaluate import Evaluation, evaluate, find_title, name_positive, print_model, write_report
from hedgerow.cli.options import check_output_file, command_line, describe_file
from hedgerow.cli.output import Output, format_duration, plain
from hedgerow.cli.table_model import (
    DATA_SUFFIXES,
    PreparedTable,
    file_checksum,
    print_table,
    read_training_table,
)
from hedgerow.cli.train_options import DEFAULT_BUDGET, TrainOptions
from hedgerow.container import write_atomically
from hedgerow.datafiles.files import split_source
from hedgerow.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.io.models import TABLE_KIND, to_bytes
from hedgerow.selection import (
    METHODS,
    FixedThresholdClassifier,
    choose,
    fit_choice,
    fit_method,
    take_rows,
)
from hedgerow.selection.choosing import warm_up_method
from hedgerow.system_memory import format_bytes
from hedgerow.text_table import format_score, listed

_REFIT_SHARE = 0.3  # of the budget, for the fit to all rows
_MIN_TRAINING_ROWS = 4


def train(command: commands.Train) -> None:
    """Fit the best ensemble to a table, and save it with its certificate."""
    output, options = Output(command.as_json), TrainOptions(**vars(command))
    options.check()
    data, report, force = options.data, options.report, options.force
    model_path = options.out or Path(f"{_stem(data)}.hedgerow")
    replaces = check_output_file("--out", model_path, force=force, others=(data,))
    replaces_report = check_output_file(
        "--report", report, force=force, suffixes=(".html",), others=(data, model_path)
    )
    if report is not None and not options.hold_out:
        raise UsageError(f"--report {report} is not allowed with --hold-out 0: a report needs held-out rows")
    table = read_training_table(options, options.columns, options.hold_out)
    _check_table(table, options)
    options.check_table(table)
    print_table(table, output)
    evaluation, leaks = _fit_and_evaluate(table, options, output)
    card = _card(evaluation, table, options)
    final = _refit(evaluation, table, options, output) if options.refit else evaluation
    _save(final, model_path, card, options, len(table.y))
    output.text(f"model: {describe_file(model_path, replaced=replaces)}")
    if report is not None:
        write_report(model_path, evaluation, table, options.seed, report, output, (card["command"],))
        output.text(f"report: {describe_file(report, replaced=replaces_report)}")
    certificate = final.certificate and final.certificate.to_dict()
    files = {"model": str(model_path), "report": report and str(report)}
    output.result({**card, "certificate": certificate, "leaks": leaks, **files})


def _fit_and_evaluate(
    table: PreparedTable, options: TrainOptions, output: Output
) -> tuple[Evaluation, list[str]]:
    """Fit and evaluate a model, print both, and return also warnings of leaks."""
    if len(table.test):
        how = table.columns.describe_split(table.order, table.test, options.seed)
        output.text(
            f"held out: {len(table.test):,} of {len(table.y):,} rows, {how}; "
            f"training rows: {len(table.train):,}"
        )
    else:
        output.text(
            f"held out: no rows; training rows: {len(table.train):,}. The model has no scores on a test "
            "set, and no bound from one."
        )
    _note_single_rows(table, output)
    _note_later_classes(table, output)
    if table.weights is not None or options.class_weight is not None:
        output.text("weights: used in fitting; scores and certificate count every row once")
    model, choice, seconds = _fit(table, options, output)
    evaluation = evaluate(model, table, choice, options.fit_options(table, table.test).positive)
    leaks = leaking_columns(model, table) + copied_rows(table) if len(table.test) else []
    _print_evaluation(evaluation, table, seconds, leaks, output)
    return evaluation, leaks


def _note_single_rows(table: PreparedTable, output: Output) -> None:
    """Note classes of one row, which no score covers."""
    if table.task == "regression":
        return
    classes, counts = np.unique(table.y, return_counts=True)
    single = [str(label) for label in classes[counts == 1]]
    if single:
        names = listed([*map(repr, single)], 3)
        if len(single) == 1:
            text = f"class {names} has only one row; it is in the training set, so no score covers that class"
        else:
            text = (
                f"classes {names} have only one row each; they are in the training set, so no score covers "
                "these classes"
            )
        output.note(text)


def _note_later_classes(table: PreparedTable, output: Output) -> None:
    """Note classes that occur in held-out rows only, which are later than the training rows."""
    if table.task == "regression" or not len(table.test):
        return
    tested, counts = np.unique(table.y[table.test], return_counts=True)
    is_new = ~np.isin(tested, table.y[table.train])
    if is_new.any():
        names = listed([repr(str(label)) for label in tested[is_new]], 3)
        what = "class" if is_new.sum() == 1 else "classes"
        output.note(
            f"{what} {names} of {table.recipe.target!r}: in held-out rows only, "
            f"{counts[is_new].sum():,} of {len(table.test):,}; the model cannot predict them"
        )


def _refit(evaluation: Evaluation, table: PreparedTable, options: TrainOptions, output: Output) -> Evaluation:
    """Fit the same method, parameters and threshold to all rows; the certificate names the model it is of."""
    rows = np.arange(len(table.y), dtype=np.int64)
    choice = evaluation.choice
    X, y = table.take(rows)
    common = options.fit_arguments(table, rows)
    start = time.perf_counter()
    with output.progress("fitting to all rows"), input_errors():
        if choice is None:
            model = fit_method(X, y, table.task, options.method, **common)
        else:
            budget = _REFIT_SHARE * (options.budget or DEFAULT_BUDGET)
            model = fit_choice(choice, X, y, budget=budget, **common)
    share = round(100 * len(table.train) / len(table.y))
    output.text(
        f"refitted to all {len(table.y):,} rows in {format_duration(time.perf_counter() - start)}; scores "
        f"and certificate are of the model fitted to {share} % of the rows"
    )
    certificate = evaluation.certificate
    if certificate is not None:
        certificate = replace(certificate, subject=f"the model fitted to {share} % of the rows")
    return replace(evaluation, model=model, certificate=certificate)


def _save(final: Evaluation, path: Path, card: dict[str, Any], options: TrainOptions, n_rows: int) -> None:
    """Write the model file, unless it is larger than allowed."""
    data = to_bytes(final.model, card, final.certificate)
    limit = options.size_limit(n_rows)
    if len(data) > limit:
        raise CommandError(
            f"--max-size: the model has {format_bytes(len(data))}, {format_bytes(limit)} are allowed; pass "
            "a larger --max-size, or another --method"
        )
    write_atomically(path, data)


def _check_table(table: PreparedTable, options: TrainOptions) -> None:
    """Raise an error for too few rows, or for a method or a metric that does not support the target."""
    n_train, n_test = len(table.train), len(table.test)
    if not n_test and options.hold_out:
        raise CommandError(f"{table.path}: {len(table.y)} rows are too few to hold some out")
    if n_train < _MIN_TRAINING_ROWS:
        raise CommandError(
            f"{table.path}: {n_test} of {len(table.y)} rows are held out; the remaining {n_train} are too "
            f"few for training, at least {_MIN_TRAINING_ROWS} are needed"
        )


def _fit(table: PreparedTable, options: TrainOptions, output: Output) -> tuple[Any, Any, float]:
    """Fit the named method, or the best setting, to the training rows.

    Return also the Choice, if any, and the seconds of the fit without compilation.
    """
    X, y = table.take(table.train)
    common = options.fit_arguments(table, table.train)
    title = "choosing" if options.is_tuned else f"fitting {METHODS[options.method].title}"
    with output.progress(title) as progress, input_errors():
        if not options.is_tuned:
            progress(0, 2, "a first small fit, which compiles its kernels")
            warm = {"n_jobs": options.threads, "options": common["options"]}
            warm_up_method(X, y, table.task, options.method, **warm)
            progress(1, 2, f"{len(y):,} rows")
            start = time.perf_counter()
            model = fit_method(X, y, table.task, options.method, **common)
            seconds = time.perf_counter() - start
            progress(2, 2, "done")
            return model, None, seconds
        budget = options.budget or DEFAULT_BUDGET
        budget = (1 - _REFIT_SHARE) * budget if options.refit else budget
        common |= {"metric": options.metric, "budget": budget, "methods": options.methods}
        choice = choose(X, y, table.task, progress=progress, ensemble=not options.single, **common)
    return choice.model, choice, choice.fit_seconds


def _print_evaluation(
    evaluation: Evaluation, table: PreparedTable, seconds: float, leaks: list[str], output: Output
) -> None:
    """Print the trials, the model, its scores and its certificate."""
    if evaluation.choice is not None:
        output.page(evaluation.choice)
    print_model(evaluation.model, output)
    if isinstance(evaluation.model, FixedThresholdClassifier):
        positive = evaluation.model.classes_[evaluation.model.positive_]
        output.text(f"predicts {str(positive)!r} from a probability of {evaluation.model.threshold:.4g} on")
    n, scores = len(table.test), evaluation.scores
    fitted = f"fitted in {format_duration(seconds)} to {len(table.train):,} rows"
    if not n:
        output.text(fitted)
    else:
        positive = name_positive(scores, evaluation.model, evaluation.positive)
        rows = "1 held-out row" if n == 1 else f"{n:,} held-out rows"
        output.text(f"{fitted}; scores of the {rows}, the test set{positive}:")
        titles = [find_title(name) for name in scores]
        output.table(titles, [[format_score(value) for value in scores.values()]], left=())
    if evaluation.certificate is not None:
        output.text(f"certificate: {evaluation.certificate.statement}", "green")
    for leak in leaks:
        output.note(leak)


def _stem(path: Path) -> str:
    """Return the name of a file without folders and suffixes of data files.

    >>> _stem(Path("data/cars.v2.csv.gz")), _stem(Path("cars.xlsx::2024")), _stem(Path("-"))
    ('cars.v2', 'cars-2024', 'model')
    """
    file_path, inner = split_source(path)
    name = file_path.name
    for suffix in DATA_SUFFIXES:
        name = name.removesuffix(suffix)
    if inner is not None:
        name += f"-{Path(inner).stem}"
    return name if name.strip("-") else "model"


def _card(evaluation: Evaluation, table: PreparedTable, options: TrainOptions) -> dict[str, Any]:
    """Return the card of the model; see `table_model`."""
    n_rows = table.summary.n_rows
    card: dict[str, Any] = plain(
        {
            "kind": TABLE_KIND,
            "hedgerow": hedgerow.__version__,
            "recipe": table.recipe.to_dict(),
            "data": {
                "name": table.path.name,
                "sha256": file_checksum(table.path),
                "rows": n_rows,
                "unlabelled": n_rows - len(table.row_numbers),
            },
            "hold_out": {
                "share": options.hold_out,
                "seed": options.seed,
                "rows": len(table.test),
                "train_rows": len(table.train),
                "group": options.group,
                "time": options.time,
                "weight": options.weight,
                "class_weight": options.class_weights,
            },
            "refit": options.refit,
            "threshold": _threshold(evaluation.model, options),
            "positive": None if evaluation.positive is None else str(evaluation.positive),
            "estimator": type(evaluation.model).__name__,
            "choice": evaluation.choice and _without_seconds(evaluation.choice.to_dict()),
            "scores": evaluation.scores,
            "command": command_line(),
        }
    )
    return card


def _threshold(model: Any, options: TrainOptions) -> dict[str, Any] | None:
    """Return the decision threshold and how it was chosen."""
    if not isinstance(model, FixedThresholdClassifier):
        return None
    how = options.threshold if options.cost is None else f"cost {options.cost}"
    label = model.classes_[model.positive_]
    return {"value": model.threshold, "positive": str(label), "by": how}


def _without_seconds(choice: dict[str, Any]) -> dict[str, Any]:
    """Remove measured times: the same training gives the same file."""
    trials = [{**trial, "fit_seconds": None} for trial in choice["trials"]]
    return {**choice, "trials": trials, "best": {**choice["best"], "fit_seconds": None}, "seconds": None}


# --- leaks

_COLUMNS = 5  # number of the most important columns that are examined
_ROWS = 20_000
_DEPTH = 4
_REMAINING_ERROR = 0.03  # of the error of the best constant prediction, at most, if a column leaks the target
_MIN_ROWS = 30  # with fewer, a column predicts the target by chance
_COPIES = 0.05  # share of the test rows from which copies are reported
_CONTINUOUS = 0.1  # distinct values per row, from which equal rows are hardly chance


def leaking_columns(model: Any, table: PreparedTable) -> list[str]:
    """Return a warning for each important column that alone predicts the target."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None or len(table.y) < _MIN_ROWS:
        return []
    names = table.X.column_names
    columns = {feature: column.name for column in table.recipe.columns for feature in column.features}
    return [
        f"column {name!r} alone predicts {table.recipe.target!r} almost perfectly: is it known before "
        f"{table.recipe.target!r} is? If not, leave it out: --drop {shlex.quote(columns[name])}"
        for name in (
            names[number] for number in np.argsort(importances)[::-1][:_COLUMNS] if importances[number]
        )
        if _is_leaking(table, name)
    ]


def _is_leaking(table: PreparedTable, name: str) -> bool:
    """Return whether a small tree on the column leaves at most 3 % of the error of a constant prediction."""
    X = table.X.select([name])
    rows, test = _some(table.train), np.concatenate([_some(table.train), _some(table.test)])
    y, y_true = table.y[rows], table.y[test]  # also training rows, because test rows may be few
    if table.task == "regression":
        tree = DecisionTreeRegressor(max_depth=_DEPTH + 2).fit(take_rows(X, rows), y)
        residual = y_true.astype(np.float64) - tree.predict(take_rows(X, test))
        return bool(np.mean(residual**2) <= _REMAINING_ERROR * np.var(y_true.astype(np.float64)))
    tree = DecisionTreeClassifier(max_depth=_DEPTH).fit(take_rows(X, rows), y)
    error = np.mean(tree.predict(take_rows(X, test)) != y_true)
    constant_error = 1.0 - np.unique(y_true, return_counts=True)[1].max() / len(y_true)
    return bool(error <= _REMAINING_ERROR * constant_error)


def copied_rows(table: PreparedTable) -> list[str]:
    """Return a warning if test rows are copies of training rows.

    Rows of categories are often equal by chance; so there is no warning unless a column of numbers has values
    that rarely occur twice.
    """
    if not any(_is_continuous(column) for column in table.X.columns):
        return []
    keys = _row_keys(table)
    copies = int(np.isin(keys[table.test], keys[table.train]).sum())
    if copies < max(2, _COPIES * len(table.test)):
        return []
    warning = (
        f"{copies:,} of the {len(table.test):,} held-out rows are copies of training rows: unless they are "
        "separate observations, scores and certificate are too optimistic; remove the copies"
    )
    return [warning]


def _row_keys(table: PreparedTable) -> NDArray[np.uint64]:
    """Return a hash for each row: the codes of its values, mixed modulo 2**64."""
    keys = np.unique(table.y, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    for column in table.X.columns:
        encoded = column.dictionary_encode().unify_dictionaries()
        codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks])
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        keys += codes.astype(np.int64).view(np.uint64)
    return keys


def _is_continuous(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() >= _CONTINUOUS * len(column))


def _some(rows: Integers) -> Integers:
    """Return at most `_ROWS` rows, evenly spaced because the file may be sorted."""
    return rows[:: -(-len(rows) // _ROWS)]
