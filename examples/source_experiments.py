"""The textbook experiments on boosting in full: tables, figures and a page.

Simulated data, breast cancer and US road accidents (with the package dmba); boosting, forests and bagging
beside logistic regression; accuracy against the number of weak learners, the learning rate and the share of
wrong labels; and a claim about five weak learners. It takes some minutes, with --quick less than one.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from hedgerow.experiments import CAVEATS, Experiments, ResultCurves, run_experiments
from hedgerow.plots import style
from hedgerow.progress import ProgressBar
from hedgerow.text_table import format_table

FIGURES = {"learners": "figure_1_learners.png", "shrinkage": "figure_2_shrinkage.png", "noise": "noise.png"}
PAGE = "experiments.html"


def show(experiments: Experiments) -> None:
    """Print the tables and the findings."""
    for result in experiments.tables:
        left = [column for column, how in enumerate(result.formats) if not how]
        print(f"{result.name}\n\n{format_table(result.columns, result.rows, left, 150)}\n")
    for sentence in (*experiments.findings, *experiments.left_out, *CAVEATS):
        print(f"- {sentence}")


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
    for key, name in FIGURES.items():
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
        "--out", type=Path, default=Path("experiments"), metavar="FOLDER", help="folder of the output files"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    options = parser.parse_args(arguments)
    mpl.use("agg")
    start = time.perf_counter()
    with ProgressBar(None, "experiments", clear=True) as bar:

        def progress(done: int, total: int, name: str) -> None:
            if done == 0:
                bar.restart(total, "experiments")
            bar.update(done, name)

        experiments = run_experiments(full=not options.quick, random_state=options.seed, progress=progress)
    show(experiments)
    paths = write(experiments, options.out)
    print(f"{time.perf_counter() - start:.0f} s. Written: {', '.join(map(str, paths))}")


if __name__ == "__main__":
    main()
