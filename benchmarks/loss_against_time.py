"""Test loss against fit time: the defaults of all libraries on a million rows, with more and more rounds.

    python benchmarks/loss_against_time.py run --out path.json
    python benchmarks/loss_against_time.py draw path.json docs/loss_against_time.png

Every library has its own defaults; only the number of rounds changes along its path (CatBoost's learning
rate follows from it). Hedgerow is shown twice: with numbers of rounds like the others, and with its default,
n_estimators="auto", which is one point. Each fit runs in a process of its own, with two threads, after a fit
of a few rows. The data are those of `make bench`.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from data import simulated
from gradient_boosting import machine, run_child
from hedgerow.text_table import format_table

THREADS = 2
TEST_ROWS, WARM_ROWS = 200_000, 1000
ROUNDS = (25, 50, 100, 200, 400)
LIBRARIES = ("Hedgerow", "LightGBM", "XGBoost", "scikit-learn HGB", "CatBoost")
COLOURS = dict(zip(LIBRARIES, ("#2f7d4f", "#0072B2", "#D55E00", "#56B4E9", "#CC79A7"), strict=True))
INK = "#26332b"


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
    X, y = simulated(options.rows, seed=0)
    make_estimator(options.library, 2).fit(X[:WARM_ROWS], y[:WARM_ROWS])
    start = time.perf_counter()
    model = make_estimator(options.library, options.n_rounds).fit(X, y)
    seconds = time.perf_counter() - start
    X_test, y_test = simulated(TEST_ROWS, seed=1)
    loss = log_loss(y_test, np.asarray(model.predict_proba(X_test), np.float64))
    rounds = options.n_rounds or int(model.n_estimators_)
    print(json.dumps({"rounds": rounds, "seconds": seconds, "loss": loss}))


def run(options: argparse.Namespace) -> None:
    """Measure all fits, the libraries in turn, and save their figures."""
    paths: dict[str, list[dict[str, float]]] = {library: [] for library in LIBRARIES}
    fits = [(library, rounds) for rounds in ROUNDS for library in LIBRARIES] + [("Hedgerow", None)]
    for library, rounds in fits:
        arguments = ["fit", library, "--rows", str(options.rows)]
        arguments += [] if rounds is None else ["--n-rounds", str(rounds)]
        figures = json.loads(run_child(__file__, arguments, THREADS).splitlines()[-1])
        paths.setdefault(library if rounds else "Hedgerow, auto", []).append(figures)
        print(f"{library}, {figures['rounds']} rounds: {figures['loss']:.4f} in {figures['seconds']:.1f} s")
    options.out.write_text(json.dumps({"machine": machine(), "rows": options.rows, "paths": paths}, indent=1))
    show(paths)


def show(paths: dict[str, list[dict[str, float]]]) -> None:
    """Print for every fit of a peer how long Hedgerow takes to a loss as low."""
    ours = sorted(paths["Hedgerow"] + paths["Hedgerow, auto"], key=lambda one: one["seconds"])
    rows = []
    for library in LIBRARIES[1:]:
        for figures in paths[library]:
            as_low = next((one["seconds"] for one in ours if one["loss"] <= figures["loss"]), None)
            rows.append([
                library, f"{figures['rounds']}", f"{figures['loss']:.4f}", f"{figures['seconds']:.1f}",
                "" if as_low is None else f"{as_low:.1f}",
            ])  # fmt: skip
    print(format_table(["library", "rounds", "log-loss", "seconds", "Hedgerow to this loss"], rows))


def draw(options: argparse.Namespace) -> None:
    """Draw a saved run."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    saved = json.loads(options.run.read_text())
    figure, axis = plt.subplots(figsize=(7.2, 4.2))
    for library, colour in COLOURS.items():
        path = saved["paths"][library]
        seconds, losses = [one["seconds"] for one in path], [one["loss"] for one in path]
        width = 2.4 if library == "Hedgerow" else 1.6
        axis.plot(seconds, losses, marker="o", markersize=4, color=colour, linewidth=width, label=library)
    (default,) = saved["paths"]["Hedgerow, auto"]
    look = {"markersize": 14, "color": COLOURS["Hedgerow"], "label": "Hedgerow, auto"}
    axis.plot(default["seconds"], default["loss"], "*", **look)
    axis.set_xscale("log")
    ticks = [1, 2, 5, 10, 20, 50, 100]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("fit, seconds", color=INK)
    axis.set_ylabel("test log-loss", color=INK)
    title = f"{saved['rows']:,} rows × 28, defaults, {', '.join(map(str, ROUNDS))} rounds, 2 threads"
    axis.set_title(title, loc="left", fontsize=10, color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(options.target, dpi=160)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, action in (("run", run), ("fit", fit), ("draw", draw)):
        command = commands.add_parser(name)
        command.set_defaults(action=action)
        if name == "draw":
            command.add_argument("run", type=Path)
            command.add_argument("target", type=Path)
            continue
        command.add_argument("--rows", type=int, default=1_000_000)
        if name == "run":
            command.add_argument("--out", type=Path, required=True)
        else:
            command.add_argument("library", choices=LIBRARIES)
            command.add_argument("--n-rounds", type=int)
    options = parser.parse_args(arguments)
    options.action(options)


if __name__ == "__main__":
    main()
