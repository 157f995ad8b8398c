"""The experiments that boosting is taught with, in full: tables, figures and a page.

Simulated data, breast cancer and US road accidents (with the package dmba); boosting, forests and bagging
beside logistic regression; accuracy against the number of weak learners, the learning rate and the share of
wrong labels; and a claim about five weak learners. It takes some minutes, a quick look less than one.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hedgerow.experiments import CAVEATS, Experiments, ResultCurves, run_experiments
from hedgerow.plots import style

PICTURES = {"learners": "figure_1_learners.png", "shrinkage": "figure_2_shrinkage.png", "noise": "noise.png"}
PAGE = "experiments.html"


def show(experiments: Experiments, console: Console) -> None:
    """Print the tables, and what they say."""
    for result in experiments.tables:
        table = Table(title=result.name, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for column, how in zip(result.columns, result.formats, strict=True):
            table.add_column(column, justify="right" if how else "left", no_wrap=column == result.columns[0])
        for row in result.rows:
            table.add_row(*row)
        console.print(table)
    for words in (*experiments.findings, *experiments.left_out, *CAVEATS):
        console.print(f"- {words}", highlight=False, markup=False, soft_wrap=True)


def draw(panels: Sequence[ResultCurves], path: Path) -> None:
    """Draw one figure, a panel for each problem."""
    size = (5.3 * len(panels), 3.9)
    sheet, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for ax, curves in zip(axes.flat, panels, strict=True):
        curves.display().plot(ax)
        title = {"fontsize": style.TITLE_SIZE, "fontweight": "bold", "color": style.INK}
        ax.set_title(curves.title, loc="left", **title)
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def write(experiments: Experiments, folder: Path) -> list[Path]:
    """Write the figures and the page; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for key, name in PICTURES.items():
        panels = [curves for curves in experiments.curves if curves.key == key]
        if panels:
            paths.append(folder / name)
            draw(panels, paths[-1])
    experiments.save(folder / PAGE)
    return [*paths, folder / PAGE]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, folds and points")
    parser.add_argument(
        "--out", type=Path, default=Path("experiments"), metavar="FOLDER", help="for the files"
    )
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn (0)")
    options = parser.parse_args(arguments)
    mpl.use("agg")
    console = Console(width=None if sys.stdout.isatty() else 130)  # a file has no width of its own
    start = time.perf_counter()
    bar = Progress(
        TextColumn("{task.description:45}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
    )
    with bar:
        task = bar.add_task("")
        experiments = run_experiments(
            full=not options.quick,
            random_state=options.seed,
            progress=lambda done, total, words: bar.update(
                task, completed=done, total=total, description=words[:45]
            ),
        )
    show(experiments, console)
    paths = write(experiments, options.out)
    seconds = time.perf_counter() - start
    console.print(f"{seconds:.0f} s. Written: {', '.join(map(str, paths))}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
