"""`hedgerow demo`: the experiments that boosting is taught with, on this machine, as one page."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options, tables
from hedgerow.cli.output import Output
from hedgerow.cli.places import check_new_file, written


def demo(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the report goes.")] = Path(
        "hedgerow-demo.html"
    ),
    full: Annotated[bool, typer.Option("--full", help="All rows and repeats: some minutes.")] = False,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Boosting beside logistic regression on three data sets; writes a report."""
    from hedgerow.experiments import CAVEATS, run_experiments  # noqa: PLC0415 - for no other command

    output = Output(as_json)
    tables.check_numbers(seed, threads)
    replaces = check_new_file("--out", out, force=force, suffixes=(".html",))
    with output.progress("experiments") as told:
        experiments = run_experiments(full=full, random_state=seed, n_jobs=threads, told=told)
    for table in experiments.tables:
        heads = [head if how else f"{head} " for head, how in zip(table.columns, table.formats, strict=True)]
        output.table(heads, table.rows, title=table.name)
    for words in (*experiments.findings, *experiments.left_out, *CAVEATS):
        output.say(f"- {words}")
    experiments.save(out)
    output.say("")
    output.say(f"report: {written(out, replaced=replaces)}", "bold")
    output.result({**experiments.to_dict(), "report": str(out)})
