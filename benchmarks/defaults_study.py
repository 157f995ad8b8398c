"""The study behind the default parameters: many configurations, several data sets, one ranking.

A configuration is evaluated by its cross-validated loss on each data set (log-loss, or squared
error for regression). Two summaries make data sets comparable:

rank   1 for the best configuration on a data set; averaged over data sets.
skill  (loss of the constant model - loss) / (loss of the constant model - best loss found):
       1 for the best configuration, 0 for no better than a constant; averaged, and its worst.

The numbers of rounds of one configuration come from a single fit, by staged prediction. The
configurations are a seeded sample of the full grid, together with the current defaults;
scikit-learn's histogram boosting with its defaults is the baseline.
"""

import argparse
import itertools
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from sklearn.model_selection import KFold, StratifiedKFold

import hedgerow
from data import accidents, covertype, data_folder, simulated

GRID: dict[str, tuple[Any, ...]] = {
    "learning_rate": (0.03, 0.05, 0.1, 0.2),
    "max_leaf_nodes": (7, 15, 31, 63),
    "min_samples_leaf": (1, 5, 10, 20),
    "l2_regularization": (0.0, 1.0, 3.0, 10.0),
}
ROUNDS = (50, 100, 200, 400)  # n_estimators, from staged predictions of one fit
BASELINE = "scikit-learn HGB defaults"

Configuration = tuple[tuple[str, Any], ...]
Losses = dict[str, dict[str, tuple[float, float]]]  # label -> data set -> (loss, score)


@dataclass(frozen=True)
class Problem:
    """One data set; `score` is accuracy for classes and R² for numbers."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[Any]
    classes: bool
    folds: int

    def splits(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the same folds for every configuration."""
        kind = StratifiedKFold if self.classes else KFold
        return list(kind(self.folds, shuffle=True, random_state=0).split(self.X, self.y))

    def loss_and_score(self, y: NDArray[Any], prediction: NDArray[Any]) -> tuple[float, float]:
        """Evaluate (n, K) probabilities or (n,) numbers."""
        if self.classes:
            labels = np.unique(self.y)
            hits = accuracy_score(y, labels[prediction.argmax(axis=1)])
            return float(log_loss(y, prediction, labels=labels)), float(hits)
        return float(mean_squared_error(y, prediction)), float(r2_score(y, prediction))

    def constant_loss(self) -> float:
        """Return the loss of the best constant model, on all rows."""
        if not self.classes:
            return float(np.var(self.y))
        _, counts = np.unique(self.y, return_counts=True)
        shares = counts / counts.sum()
        return float(-(shares * np.log(shares)).sum())


def _some(X: NDArray[Any], y: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X[rows], y[rows]


def problems(quick: bool) -> list[Problem]:
    """List the data sets: what scikit-learn carries, a simulated one, and HEDGEROW_DATA's two."""
    breast, wine = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
    listed = [
        Problem("breast cancer", *breast, classes=True, folds=5),
        Problem("wine", *wine, classes=True, folds=5),
        Problem("diabetes", *load_diabetes(return_X_y=True), classes=False, folds=5),
    ]
    if quick:
        return listed
    listed += [
        Problem("digits", *load_digits(return_X_y=True), classes=True, folds=3),
        Problem("simulated", *simulated(20_000), classes=True, folds=3),
    ]
    if data_folder() is not None:
        listed += [
            Problem("accidents", *_some(*accidents(), 20_000), classes=True, folds=3),
            Problem("covertype", *_some(*covertype(), 20_000), classes=True, folds=3),
        ]
    return listed


def configurations(count: int, seed: int, defaults: dict[str, Any]) -> list[Configuration]:
    """Return the current defaults and a seeded sample of the grid."""
    grid = [tuple(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    sample = random.Random(seed).sample(grid, min(count, len(grid)))
    present = tuple((name, defaults[name]) for name in GRID)
    return [present, *[configuration for configuration in sample if configuration != present]]


def staged(model: Any, X: NDArray[Any], problem: Problem) -> Iterator[NDArray[Any]]:
    """Yield the prediction after each round."""
    if problem.classes:
        yield from model.staged_predict_proba(X)
    else:
        yield from model.staged_predict(X)


def cross_validate(model: Any, problem: Problem, rounds: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Return the mean (loss, score) over folds after each number of rounds."""
    found: dict[int, list[tuple[float, float]]] = {n: [] for n in rounds}
    for train, test in problem.splits():
        fitted = clone(model).fit(problem.X[train], problem.y[train])
        for n, prediction in enumerate(staged(fitted, problem.X[test], problem), start=1):
            if n in found:
                found[n].append(problem.loss_and_score(problem.y[test], prediction))
    return {n: tuple(np.mean(pairs, axis=0)) for n, pairs in found.items() if pairs}


def label(configuration: Configuration, rounds: int) -> str:
    """Write a configuration with its rounds in one line."""
    return f"n_estimators={rounds} " + " ".join(f"{name}={value}" for name, value in configuration)


def study(count: int, seed: int, jobs: int, quick: bool) -> tuple[Losses, list[Problem], str]:
    """Cross-validate every configuration on every data set."""
    kinds = (hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier)
    yardsticks = (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
    fixed = {"early_stopping": False, "random_state": 0}
    defaults = kinds[1]().get_params()
    chosen = configurations(count, seed, defaults)
    present = label(chosen[0], defaults["n_estimators"])
    rounds = sorted({*ROUNDS, defaults["n_estimators"]})
    losses: Losses = {}
    listed = problems(quick)
    with Progress(transient=True) as progress:
        bar = progress.add_task("fitting", total=len(listed) * (len(chosen) + 1))
        for problem in listed:
            found = cross_validate(yardsticks[problem.classes](**fixed), problem, (100,))
            losses.setdefault(BASELINE, {})[problem.name] = found[100]
            progress.advance(bar)
            for configuration in chosen:
                parameters = {**dict(configuration), **fixed, "n_estimators": rounds[-1], "n_jobs": jobs}
                model = kinds[problem.classes](**parameters)
                for n, pair in cross_validate(model, problem, rounds).items():
                    losses.setdefault(label(configuration, n), {})[problem.name] = pair
                progress.advance(bar)
    return losses, listed, present


def summary(losses: Losses, listed: list[Problem]) -> dict[str, tuple[float, float, float]]:
    """Return (mean rank, mean skill, worst skill) of each configuration, best rank first."""
    labels = list(losses)
    table = np.array([[losses[name][p.name][0] for p in listed] for name in labels])
    ranks = 1 + np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable")
    constant = np.array([p.constant_loss() for p in listed])
    skill = (constant - table) / (constant - table.min(axis=0))
    rows = zip(labels, ranks.mean(axis=1), skill.mean(axis=1), skill.min(axis=1), strict=True)
    ordered = sorted(rows, key=lambda row: -row[2])
    return {name: (rank, mean, worst) for name, rank, mean, worst in ordered}


def effects(summaries: dict[str, tuple[float, float, float]]) -> list[tuple[str, str, float]]:
    """Return the mean skill over all configurations that share one value of one parameter."""
    groups: dict[tuple[str, str], list[float]] = {}
    for name, (_, skill, _) in summaries.items():
        if name != BASELINE:
            for part in name.split():
                parameter, value = part.split("=")
                groups.setdefault((parameter, value), []).append(skill)
    rows = [(*key, float(np.mean(skills))) for key, skills in groups.items()]
    order = ["n_estimators", *GRID]
    return sorted(rows, key=lambda row: (order.index(row[0]), float(row[1])))


def show(losses: Losses, listed: list[Problem], present: str, top: int) -> None:
    """Print the best configurations, the current defaults, the baseline, and main effects."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    summaries = summary(losses, listed)
    table = Table(title="Best first, by mean skill", box=box.SIMPLE_HEAD, title_justify="left")
    for name in ("position", "rounds", "rate", "leaves", "min leaf", "l2", "rank", "skill", "worst"):
        table.add_column(name, justify="right", no_wrap=True)
    for problem in listed:
        table.add_column(problem.name, justify="right")
    for position, (name, (rank, mean, worst)) in enumerate(summaries.items(), start=1):
        if position > top and name not in {present, BASELINE}:
            continue
        own = name != BASELINE
        values = [part.split("=")[1] for part in name.split()] if own else ["sklearn", *[""] * 4]
        mark = " *" if name == present else ""
        scores = [f"{losses[name][p.name][1]:.4f}" for p in listed]
        summed = [f"{rank:.1f}", f"{mean:.4f}", f"{worst:.4f}"]
        table.add_row(f"{position}{mark}", *values, *summed, *scores)
    console.print(table)
    console.print(
        f"{len(summaries)} configurations; * marks the current defaults, sklearn is its histogram "
        "boosting with its defaults.\nThe columns named by data sets hold accuracy, or R² for diabetes.\n"
    )
    marginal = Table(title="Mean skill by value", box=box.SIMPLE_HEAD, title_justify="left")
    for name in ("parameter", "value", "mean skill"):
        marginal.add_column(name)
    for parameter, value, skill in effects(summaries):
        marginal.add_row(parameter, value, f"{skill:.4f}")
    console.print(marginal)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configurations", type=int, default=40, help="how many of the grid's 256")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="threads of each fit")
    parser.add_argument("--top", type=int, default=15, help="how many to print")
    parser.add_argument("--quick", action="store_true", help="three small data sets")
    parser.add_argument("--json", type=Path, help="also save all losses to this file")
    options = parser.parse_args(arguments)
    losses, listed, present = study(options.configurations, options.seed, options.jobs, options.quick)
    show(losses, listed, present, options.top)
    if options.json:
        options.json.write_text(json.dumps(losses, indent=1))


if __name__ == "__main__":
    main()
