"""`hedgerow compare` and `hedgerow demo`: methods side by side, on a table or on three known data sets."""

from pathlib import Path
from typing import Any

from hedgerow.cli import options
from hedgerow.cli.errors import UsageError, input_errors
from hedgerow.cli.options import check_output_file, describe_file
from hedgerow.cli.output import Output
from hedgerow.cli.row_columns import RowColumns
from hedgerow.cli.table_model import ReadingOptions, print_table, read_training_table
from hedgerow.selection import METHODS, FitOptions
from hedgerow.selection import compare as compare_methods


def compare(
    data: Path,
    target: str,
    *,
    method: list[str] | None,
    folds: int,
    group: str | None,
    time: str | None,
    weight: str | None,
    task: str,
    seed: int,
    threads: int | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Cross-validate every method on the same folds, with times; `settings` describe the file."""
    output = Output(as_json)
    for name in method or ():
        options.check_choice("--method", name, tuple(METHODS))
    if not 2 <= folds <= 100:
        raise UsageError(f"--folds {folds} is not allowed: it must be a whole number from 2 to 100")
    options.check_numbers(seed, threads)
    if group is not None and time is not None:
        raise UsageError("--group and --time cannot be combined: pass one of them")
    columns = RowColumns(group, time, weight)
    table = read_training_table(data, target, ReadingOptions(**settings), task=task, columns=columns)
    print_table(table, output)
    with output.progress("comparing") as progress, input_errors():
        comparison = compare_methods(
            table.X,
            table.y,
            table.task,
            methods=tuple(method) if method else None,
            folds=folds,
            random_state=seed,
            n_jobs=threads,
            progress=progress,
            options=FitOptions(order=table.order, sample_weight=table.weights),
        )
    if columns.describe_folds():
        output.text(columns.describe_folds())
    output.page(comparison)
    output.result({"data": str(data), "target": target, "seed": seed, **comparison.to_dict()})


def demo(out: Path, *, full: bool, seed: int, threads: int | None, force: bool, as_json: bool) -> None:
    """Compare boosting with logistic regression on three data sets, and write a report."""
    from hedgerow.experiments import CAVEATS, run_experiments  # noqa: PLC0415 - `compare` does not need it

    output = Output(as_json)
    options.check_numbers(seed, threads)
    replaces = check_output_file("--out", out, force=force, suffixes=(".html",))
    with output.progress("experiments") as progress:
        experiments = run_experiments(full=full, random_state=seed, n_jobs=threads, progress=progress)
    for table in experiments.tables:
        left = [0, *(column for column, how in enumerate(table.formats) if column and not how)]
        output.table(table.columns, table.rows, left=left, title=table.name)
    for text in (*experiments.findings, *experiments.left_out, *CAVEATS):
        output.text(f"- {text}")
    experiments.save(out)
    output.text("")
    output.text(f"report: {describe_file(out, replaced=replaces)}", "bold")
    output.result({**experiments.to_dict(), "report": str(out)})
