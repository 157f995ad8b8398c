"""Test loss against fit time: the defaults of all libraries on a million rows, with more and more rounds.

    python benchmarks/loss_against_time.py run --seeds 3 --out path.json --write
    python benchmarks/loss_against_time.py draw path.json docs/loss_against_time.png

Every library has its own defaults; only the number of rounds changes along its path (CatBoost's learning
rate follows from it). Hedgerow is shown twice: with numbers of rounds like the others, and with its default,
n_estimators="auto", which is one point. Each fit runs in a process of its own, with two threads, after a fit
of a few rows. The data are those of `make bench`, and every seed makes other rows; losses and seconds are
means over the seeds. `run` prints a Markdown table, and with --write inserts it, with the picture, into
docs/measured.md. With a million rows and three seeds it takes about twenty minutes on two idle cores.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from data import simulated
from gradient_boosting import machine, run_child, standard_error

ROOT = Path(__file__).parents[1]
MEASURED, PICTURE = ROOT / "docs" / "measured.md", ROOT / "docs" / "loss_against_time.png"
MARKS = ("<!-- table by loss_against_time.py -->", "<!-- end of losses -->")
THREADS = 2
TEST_ROWS, WARM_ROWS = 200_000, 1000
ROUNDS = (25, 50, 100, 200, 400)
LIBRARIES = ("Hedgerow", "LightGBM", "XGBoost", "scikit-learn HGB", "CatBoost")
COLOURS = dict(zip(LIBRARIES, ("#2f7d4f", "#0072B2", "#D55E00", "#56B4E9", "#CC79A7"), strict=True))
INK = "#26332b"
AUTO = "Hedgerow, auto"  # the default number of rounds
TITLE = "Test log-loss against fit time of Hedgerow, LightGBM, XGBoost, scikit-learn and CatBoost"
Paths = dict[str, list[dict[str, float]]]  # library -> its fits, from few rounds to many


def make_estimator(library: str, n_rounds: int | None) -> Any:
    """Make the classifier of a library with its defaults and a number of rounds; None is the default."""
    if library == "Hedgerow":
        from hedgerow import GradientBoostingClassifier

        rounds = {} if n_rounds is None else {"n_estimators": n_rounds}
        return GradientBoostingClassifier(n_jobs=THREADS, random_state=0, **rounds)
    if library == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=n_rounds, n_jobs=THREADS, verbose=-1)
    if library == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=n_rounds, n_jobs=THREADS)
    if library == "scikit-learn HGB":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(max_iter=n_rounds, early_stopping=False, random_state=0)
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=n_rounds, thread_count=THREADS, random_seed=0, verbose=False, allow_writing_files=False
    )


def fit(options: argparse.Namespace) -> None:
    """Measure one fit and print its figures as JSON."""
    X, y = simulated(options.rows, seed=2 * options.seed)
    make_estimator(options.library, 2).fit(X[:WARM_ROWS], y[:WARM_ROWS])
    start = time.perf_counter()
    model = make_estimator(options.library, options.n_rounds).fit(X, y)
    seconds = time.perf_counter() - start
    X_test, y_test = simulated(TEST_ROWS, seed=2 * options.seed + 1)
    p = np.asarray(model.predict_proba(X_test), np.float64)
    loss = log_loss(y_test, p / p.sum(axis=1, keepdims=True))  # rows of float32 sum to one approximately
    rounds = options.n_rounds or int(model.n_estimators_)
    print(json.dumps({"rounds": rounds, "seconds": seconds, "loss": loss}))


def run(options: argparse.Namespace) -> None:
    """Measure all fits, the libraries in turn, save their figures and show the means."""
    fits = [(library, rounds) for rounds in ROUNDS for library in LIBRARIES] + [("Hedgerow", None)]
    measured: dict[tuple[str, int | None], list[dict[str, float]]] = {one: [] for one in fits}
    for seed in range(options.seeds):
        for library, rounds in fits:
            arguments = ["fit", library, "--rows", str(options.rows), "--seed", str(seed)]
            arguments += [] if rounds is None else ["--n-rounds", str(rounds)]
            figures = json.loads(run_child(__file__, arguments, THREADS).splitlines()[-1])
            measured[library, rounds].append(figures)
            print(
                f"seed {seed}, {library}, {figures['rounds']} rounds: {figures['loss']:.4f} in "
                f"{figures['seconds']:.1f} s",
                file=sys.stderr,
            )
    paths: Paths = {library: [] for library in (*LIBRARIES, AUTO)}
    for (library, rounds), runs in measured.items():
        paths[library if rounds else AUTO].append(means(runs))
    saved = {"machine": machine(), "rows": options.rows, "seeds": options.seeds, "paths": paths}
    if options.out is not None:
        options.out.write_text(json.dumps(saved, indent=1))
    page = f"{table(paths)}\n\n{saved['machine']}."
    print(page)
    if options.write:
        from readme_table import insert

        draw(saved, PICTURE)
        text = insert(MEASURED.read_text(encoding="utf-8"), f"![{TITLE}]({PICTURE.name})\n\n{page}", MARKS)
        MEASURED.write_text(text, encoding="utf-8")


def means(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the means over seeds, and the standard error of the loss."""
    figures = {key: statistics.mean(one[key] for one in runs) for key in ("rounds", "seconds", "loss")}
    return figures | {"loss_error": standard_error([one["loss"] for one in runs])}


def table(paths: Paths) -> str:
    """Return a Markdown table of all fits, and how long Hedgerow takes to a loss as low as that of a peer."""
    ours = sorted(paths["Hedgerow"] + paths[AUTO], key=lambda one: one["seconds"])
    lines = ["| library | rounds | log-loss | seconds | Hedgerow to this loss |", "|---|---|---|---|---|"]
    for library, path in paths.items():
        for figures in path:
            as_low = next((one["seconds"] for one in ours if one["loss"] <= figures["loss"]), None)
            reached = "not reached" if as_low is None else f"{as_low:.1f}"
            lines.append(
                f"| {library} | {figures['rounds']:.0f} | {loss_text(figures)} | {figures['seconds']:.1f} | "
                f"{'' if library in ('Hedgerow', AUTO) else reached} |"
            )
    return "\n".join(lines)


def loss_text(figures: dict[str, float]) -> str:
    """Format a loss and its standard error; only the loss if there is one seed."""
    error = figures["loss_error"]
    return f"{figures['loss']:.4f}" + (f" ± {error:.4f}" if np.isfinite(error) else "")


def draw_saved(options: argparse.Namespace) -> None:
    """Draw a saved run."""
    draw(json.loads(options.run.read_text()), options.target)


def draw(saved: dict[str, Any], target: Path) -> None:
    """Draw the loss of each library against the seconds of its fits."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7.2, 4.2))
    for library, colour in COLOURS.items():
        path = saved["paths"][library]
        seconds, losses = [one["seconds"] for one in path], [one["loss"] for one in path]
        width = 2.4 if library == "Hedgerow" else 1.6
        axis.plot(seconds, losses, marker="o", markersize=4, color=colour, linewidth=width, label=library)
    (default,) = saved["paths"]["Hedgerow, auto"]
    look = {"markersize": 14, "color": COLOURS["Hedgerow"], "label": AUTO}
    axis.plot(default["seconds"], default["loss"], "*", **look)
    axis.set_xscale("log")
    ticks = [1, 2, 5, 10, 20, 50, 100]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("fit, seconds", color=INK)
    axis.set_ylabel("test log-loss", color=INK)
    rounds, samples = ", ".join(map(str, ROUNDS)), saved["seeds"]
    title = f"{saved['rows']:,} rows × 28, defaults, {rounds} rounds, {THREADS} threads"
    title += f", mean of {samples} samples" if samples > 1 else ""
    axis.set_title(title, loc="left", fontsize=10, color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(target, dpi=160)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, action in (("run", run), ("fit", fit), ("draw", draw_saved)):
        command = commands.add_parser(name)
        command.set_defaults(action=action)
        if name == "draw":
            command.add_argument("run", type=Path)
            command.add_argument("target", type=Path)
            continue
        command.add_argument("--rows", type=int, default=1_000_000)
        if name == "run":
            command.add_argument("--seeds", type=int, default=3, help="samples, whose means are shown")
            command.add_argument("--out", type=Path, help="save all figures to this file")
            command.add_argument("--write", action="store_true", help="write table and picture into the docs")
        else:
            command.add_argument("library", choices=LIBRARIES)
            command.add_argument("--n-rounds", type=int)
            command.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.action(options)


if __name__ == "__main__":
    main()
