"""Discrete, Real and Gentle AdaBoost and LogitBoost with stumps: how good are their probabilities?

Friedman, Hastie and Tibshirani ("Additive logistic regression", 2000) see boosting as the fit of log odds, and
expect better ones from learners that answer with numbers than from votes. The question here is whether
Real AdaBoost, Gentle AdaBoost and LogitBoost reach a lower test log-loss than discrete AdaBoost, on

- Hastie 10.2: 2,000 training and 10,000 test points, new ones for every seed;
- breast cancer: random stratified splits, 2/3 training and 1/3 test rows. The splits share rows, so these
  standard errors are too small; they rank, they do not prove.

Real AdaBoost splits by the Gini index where discrete AdaBoost minimises the error, so discrete AdaBoost runs
with both kinds of stump, and the others are compared with the better one.

Log-loss has a best number of rounds, and the methods come to theirs at different speeds: at a fixed number
one compares how far along they are. So each method also gets the number with the lowest log-loss in
cross-validation within the training rows, and the verdict is about these: "lower" is a mean paired difference,
over the same splits, of more than two standard errors below zero. The learning rate is 1 throughout.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, train_test_split

from hedgerow import AdaBoostClassifier, DecisionStump, LogitBoostClassifier
from hedgerow.datasets import make_hastie

Floats = NDArray[np.float64]
Split = tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]  # X, y, X_test, y_test; y is 0 or 1

VOTES: dict[str, Callable[[int], Any]] = {
    "discrete": lambda n: AdaBoostClassifier(n_estimators=n, n_jobs=1),
    "discrete, Gini stumps": lambda n: AdaBoostClassifier(
        DecisionStump(criterion="gini"), n_estimators=n, n_jobs=1
    ),
}
NUMBERS: dict[str, Callable[[int], Any]] = {
    "real": lambda n: AdaBoostClassifier(n_estimators=n, algorithm="real", n_jobs=1),
    "gentle": lambda n: AdaBoostClassifier(n_estimators=n, algorithm="gentle", n_jobs=1),
    "LogitBoost": lambda n: LogitBoostClassifier(n_estimators=n, n_jobs=1),
}
VARIANTS = VOTES | NUMBERS
FIXED = (50, 100, 400)


@dataclass(frozen=True)
class Plan:
    """How much to measure: repeats of each data set, rounds and folds."""

    seeds: int = 5
    splits: int = 10
    fixed: tuple[int, ...] = FIXED
    folds: int = 5
    train_rows: int = 2000
    test_rows: int = 10_000

    @property
    def n_rounds(self) -> int:
        """The most rounds of any fit."""
        return max(self.fixed)


@dataclass(frozen=True)
class Results:
    """One data set: for each variant its test scores and the numbers of rounds chosen.

    `scores[name]` is (n_splits, n_settings, 2): the settings are the fixed numbers of rounds and last the
    chosen one; the two scores log-loss and error. `chosen[name]` is (n_splits,).
    """

    title: str
    scores: dict[str, Floats]
    chosen: dict[str, NDArray[np.int64]]


def hastie_splits(plan: Plan) -> Iterator[Split]:
    """Draw new points for every seed."""
    for seed in range(plan.seeds):
        X, y = make_hastie(plan.train_rows + plan.test_rows, random_state=seed)
        train, test = slice(0, plan.train_rows), slice(plan.train_rows, None)
        labels = (y > 0).astype(np.int64)
        yield X[train], labels[train], X[test], labels[test]


def cancer_splits(plan: Plan) -> Iterator[Split]:
    """Split the same rows anew for every seed."""
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(plan.splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=1 / 3, stratify=y, random_state=seed
        )
        yield X_train, y_train, X_test, y_test


def curve(model: Any, X: Floats, y: NDArray[np.int64], n_rounds: int) -> Floats:
    """Log-loss and error after every round, (n_rounds, 2); a fit that ended early stays where it ended.

    A probability of zero counts as the smallest step of a float64, as in scikit-learn's `log_loss`.
    """
    rows, smallest = np.arange(len(y)), np.finfo(np.float64).eps
    scores = []
    for p in model.staged_predict_proba(X):
        losses = -np.log(np.maximum(p[rows, y], smallest))
        scores.append((losses.mean(), np.mean(p.argmax(axis=1) != y)))
    scores += scores[-1:] * (n_rounds - len(scores))
    return np.array(scores)


def choose_rounds(make: Callable[[int], Any], X: Floats, y: NDArray[np.int64], plan: Plan) -> int:
    """Return the number of rounds with the lowest mean log-loss over the folds."""
    folds = StratifiedKFold(plan.folds, shuffle=True, random_state=0).split(X, y)
    curves = [
        curve(make(plan.n_rounds).fit(X[train], y[train]), X[held], y[held], plan.n_rounds)[:, 0]
        for train, held in folds
    ]
    return int(np.mean(curves, axis=0).argmin()) + 1


def measure(title: str, splits: Iterator[Split], n_splits: int, plan: Plan, bar: Progress) -> Results:
    """Fit every variant on every split."""
    results = Results(title, {}, {})
    scores: dict[str, list[Floats]] = {name: [] for name in VARIANTS}
    chosen: dict[str, list[int]] = {name: [] for name in VARIANTS}
    task = bar.add_task(title, total=n_splits * len(VARIANTS))
    for X, y, X_test, y_test in splits:
        for name, make in VARIANTS.items():
            best = choose_rounds(make, X, y, plan)
            found = curve(make(plan.n_rounds).fit(X, y), X_test, y_test, plan.n_rounds)
            scores[name].append(found[np.array([*plan.fixed, best]) - 1])
            chosen[name].append(best)
            bar.advance(task)
    results.scores.update({name: np.array(values) for name, values in scores.items()})
    results.chosen.update({name: np.array(values) for name, values in chosen.items()})
    return results


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def show(results: Results, plan: Plan, console: Console) -> None:
    """Print log-loss and error of every variant at every number of rounds."""
    table = Table(
        title=f"{results.title}: mean ± standard error", title_justify="left", box=box.SIMPLE_HEAD
    )
    table.add_column("rounds", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("test log-loss", "less discrete", "test error %"):
        table.add_column(name, justify="right", no_wrap=True)
    for i, rounds in enumerate([*map(str, plan.fixed), "chosen"]):
        rival = best_votes(results, i)
        for name, scores in results.scores.items():
            loss, error = scores[:, i].T
            used = f", {np.median(results.chosen[name]):.0f} rounds" if rounds == "chosen" else ""
            less = mean_and_error(loss - results.scores[rival][:, i, 0])
            table.add_row(
                rounds if name == next(iter(VARIANTS)) else "",
                name + used,
                "{:.4f} ± {:.4f}".format(*mean_and_error(loss)),
                "{:+.4f} ± {:.4f}".format(*less) if name in NUMBERS else "",
                "{:.2f} ± {:.2f}".format(*mean_and_error(100 * error)),
            )
        table.add_section()
    console.print(table)


def best_votes(results: Results, setting: int) -> str:
    """Return the discrete variant with the lower mean log-loss."""
    return min(VOTES, key=lambda name: results.scores[name][:, setting, 0].mean())


def judge(results: Results, setting: int) -> dict[str, str]:
    """Say for each variant with numbers whether its log-loss is lower than that of the better votes."""
    rival = results.scores[best_votes(results, setting)][:, setting, 0]
    words = {}
    for name in NUMBERS:
        mean, error = mean_and_error(results.scores[name][:, setting, 0] - rival)
        words[name] = "lower" if mean < -2 * error else "higher" if mean > 2 * error else "no different"
    return words


def verdict(found: Sequence[Results], plan: Plan) -> list[str]:
    """Say in one line a data set what the numbers show, and last whether the claim holds."""
    lines, holds = [], True
    for results in found:
        fixed = [word for i in range(len(plan.fixed)) for word in judge(results, i).values()]
        chosen = judge(results, len(plan.fixed))
        holds = holds and all(word == "lower" for word in chosen.values())
        counts = ", ".join(f"{fixed.count(word)} {word}" for word in ("lower", "no different", "higher"))
        said = ", ".join(f"{name} {word}" for name, word in chosen.items())
        lines.append(
            f"{results.title}: with rounds chosen for each: {said}; of {len(fixed)} at fixed rounds: {counts}."
        )
    answer = "hold" if holds else "do not hold for every one of them"
    lines.append(
        "Verdict: with the rounds chosen by cross-validation, lower test log-loss of real, gentle and "
        f"LogitBoost than of discrete AdaBoost on both data sets: the numbers say it does{answer[4:]}."
    )
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=Plan.seeds, help="draws of Hastie 10.2")
    parser.add_argument("--splits", type=int, default=Plan.splits, help="splits of breast cancer")
    options = parser.parse_args(arguments)
    plan = Plan(seeds=options.seeds, splits=options.splits)
    console = Console()
    with Progress(console=console, transient=True) as bar:
        found = [
            measure("Hastie 10.2", hastie_splits(plan), plan.seeds, plan, bar),
            measure("breast cancer", cancer_splits(plan), plan.splits, plan, bar),
        ]
    for results in found:
        show(results, plan, console)
    for line in verdict(found, plan):
        console.print(line, highlight=False)


if __name__ == "__main__":
    main()
