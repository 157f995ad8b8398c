"""`hedgerow compare` and `hedgerow demo`: methods side by side, on a table or on three known data sets."""

from typing import Any

from hedgerow.cli import commands, options
from hedgerow.cli.errors import UsageError, input_errors
from hedgerow.cli.options import check_output_file, describe_file
from hedgerow.cli.output import Output
from hedgerow.cli.row_columns import RowColumns
from hedgerow.cli.table_model import print_table, read_training_table
from hedgerow.selection import METHODS, MethodOptions
from hedgerow.selection import compare as compare_methods


def compare(command: commands.Compare) -> None:
    """Cross-validate every method on the same folds, with times."""
    output, seed, threads = Output(command.as_json), command.seed, command.threads
    for name in command.method or ():
        options.check_choice("--method", name, tuple(METHODS))
    if not 2 <= command.folds <= 100:
        raise UsageError(f"--folds {command.folds} is not allowed: it must be a whole number from 2 to 100")
    options.check_numbers(seed, threads)
    columns = RowColumns.of(command)
    table = read_training_table(command, columns)
    print_table(table, output)
    with output.progress("comparing") as progress, input_errors():
        comparison = compare_methods(
            table.X,
            table.y,
            table.task,
            methods=command.method or None,
            folds=command.folds,
            random_state=seed,
            n_jobs=threads,
            progress=progress,
            options=MethodOptions(order=table.order, sample_weight=table.weights),
        )
    if columns.describe_folds():
        output.text(columns.describe_folds())
    output.page(comparison)
    about = {"data": str(command.data), "target": command.target, "seed": seed}
    output.result({**about, **comparison.to_dict()})


def demo(command: commands.Demo) -> None:
    """Compare boosting with logistic regression on three data sets, and write a report."""
    from hedgerow.experiments import CAVEATS, run_experiments  # noqa: PLC0415 - `compare` does not need it

    output, out = Output(command.as_json), command.out
    options.check_numbers(command.seed, command.threads)
    replaces = check_output_file("--out", out, force=command.force, suffixes=(".html",))
    common: dict[str, Any] = {"full": command.full, "random_state": command.seed, "n_jobs": command.threads}
    with output.progress("experiments") as progress:
        experiments = run_experiments(**common, progress=progress)
    for table in experiments.tables:
        left = [0, *(column for column, how in enumerate(table.formats) if column and not how)]
        output.table(table.columns, table.rows, left=left, title=table.name)
    for text in (*experiments.findings, *experiments.left_out, *CAVEATS):
        output.text(f"- {text}")
    experiments.save(out)
    output.text("")
    output.text(f"report: {describe_file(out, replaced=replaces)}", "bold")
    output.result({**experiments.to_dict(), "report": str(out)})
