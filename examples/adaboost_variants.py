"""The quality of the probabilities of discrete, Real and Gentle AdaBoost and of LogitBoost, with stumps.

Friedman, Hastie and Tibshirani ("Additive logistic regression", 2000) see boosting as the fit of log odds.
One would expect better ones from stumps that predict numbers than from stumps that vote. The question
is whether Real AdaBoost, Gentle AdaBoost and LogitBoost reach a lower test log-loss than discrete AdaBoost on

- Hastie 10.2: 2,000 training and 10,000 test points, new ones for every split;
- breast cancer: random stratified splits, 2/3 training and 1/3 test rows. All splits are of the same rows, so
  the standard errors measure how well the mean over splits is known, not the results for other patients.

Real AdaBoost splits by the Gini index where discrete AdaBoost minimises the error, so discrete AdaBoost runs
with both kinds of stump, and the others are compared with the better one.

Log-loss has a best number of rounds, and the methods come to theirs at different speeds: at a fixed number
one compares how far along they are. So each method also gets the number with the lowest log-loss in
cross-validation within the training rows, up to a limit, and the verdict is about these. "Lower" and "higher"
are mean differences, paired by split, of more than two standard errors. The learning rate is 1 throughout.
"""

import argparse
import sys
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
FIXED = (50, 100, 400)  # numbers of rounds
FOLDS = 5


@dataclass(frozen=True)
class DataSet:
    """Where the splits come from, and among how many rounds cross-validation chooses."""

    title: str
    splits: Callable[[int], Iterator[Split]]
    n_splits: int
    search: int


@dataclass(frozen=True)
class Results:
    """One data set: for each variant its test scores and the numbers of rounds chosen.

    `scores[name]` is (n_splits, n_settings, 2): the settings are the fixed numbers of rounds and last the
    chosen one, of at most `search`; the two scores are log-loss and error. `chosen[name]` is (n_splits,).
    """

    title: str
    search: int
    fixed: tuple[int, ...]
    scores: dict[str, Floats]
    chosen: dict[str, NDArray[np.int64]]

    def losses(self, name: str, setting: int) -> Floats:
        """Test log-loss on every split."""
        return self.scores[name][:, setting, 0]

    def best_votes(self, setting: int) -> str:
        """Return the discrete variant with the lower mean log-loss."""
        return min(VOTES, key=lambda name: self.losses(name, setting).mean())

    def difference(self, name: str, setting: int) -> tuple[float, float]:
        """Log-loss less that of the better discrete variant: mean over splits and its standard error."""
        return mean_and_error(self.losses(name, setting) - self.losses(self.best_votes(setting), setting))

    def unfinished(self) -> list[str]:
        """Return the variants whose chosen rounds are mostly at the limit: more would lower their loss."""
        return [name for name, chosen in self.chosen.items() if np.median(chosen) > 0.98 * self.search]


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def hastie_splits(n_splits: int, train_rows: int = 2000, test_rows: int = 10_000) -> Iterator[Split]:
    """Draw new points for every split."""
    for seed in range(n_splits):
        X, y = make_hastie(train_rows + test_rows, random_state=seed)
        labels = (y > 0).astype(np.int64)
        yield X[:train_rows], labels[:train_rows], X[train_rows:], labels[train_rows:]


def cancer_splits(n_splits: int) -> Iterator[Split]:
    """Split the same rows anew."""
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(n_splits):
        split = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
        X_train, X_test, y_train, y_test = split
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


def choose_rounds(make: Callable[[int], Any], X: Floats, y: NDArray[np.int64], search: int) -> int:
    """Return the number of rounds, up to `search`, with the lowest mean log-loss over the folds."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
    curves = [
        curve(make(search).fit(X[train], y[train]), X[held], y[held], search)[:, 0] for train, held in folds
    ]
    return int(np.mean(curves, axis=0).argmin()) + 1


def measure(data: DataSet, fixed: tuple[int, ...], bar: Progress) -> Results:
    """Fit every variant on every split."""
    scores: dict[str, list[Floats]] = {name: [] for name in VARIANTS}
    chosen: dict[str, list[int]] = {name: [] for name in VARIANTS}
    n_rounds = max(*fixed, data.search)
    task = bar.add_task(data.title, total=data.n_splits * len(VARIANTS))
    for X, y, X_test, y_test in data.splits(data.n_splits):
        for name, make in VARIANTS.items():
            best = choose_rounds(make, X, y, data.search)
            found = curve(make(n_rounds).fit(X, y), X_test, y_test, n_rounds)
            scores[name].append(found[np.array([*fixed, best]) - 1])
            chosen[name].append(best)
            bar.advance(task)
    return Results(
        data.title,
        data.search,
        fixed,
        {name: np.array(values) for name, values in scores.items()},
        {name: np.array(values) for name, values in chosen.items()},
    )


def show(results: Results, console: Console) -> None:
    """Print log-loss and error of every variant at every number of rounds."""
    n_splits = len(next(iter(results.chosen.values())))
    title = f"{results.title}: mean ± standard error of {n_splits} splits"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("rounds", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("test log-loss", "less better discrete", "test error %"):
        table.add_column(name, justify="right", no_wrap=True)
    for i in range(len(results.fixed) + 1):
        for name, scores in results.scores.items():
            label = f"chosen, {np.median(results.chosen[name]):.0f}"
            less = "{:+.4f} ± {:.4f}".format(*results.difference(name, i)) if name in NUMBERS else ""
            table.add_row(
                str(results.fixed[i]) if i < len(results.fixed) else label,
                name,
                "{:.4f} ± {:.4f}".format(*mean_and_error(results.losses(name, i))),
                less,
                "{:.2f} ± {:.2f}".format(*mean_and_error(100 * scores[:, i, 1])),
            )
        table.add_section()
    console.print(table)


def compare(results: Results, setting: int) -> dict[str, str]:
    """Compare the log-loss of each variant that adds numbers with that of the better discrete one."""
    outcomes = {}
    for name in NUMBERS:
        mean, error = results.difference(name, setting)
        outcomes[name] = "lower" if mean < -2 * error else "higher" if mean > 2 * error else "no different"
    return outcomes


def verdict(found: Sequence[Results]) -> list[str]:
    """Summarise the results at fixed rounds and at the limit; the last line is whether the claim holds."""
    lines, misses, total = [], [], 0
    for results in found:
        outcomes = [one for i in range(len(results.fixed)) for one in compare(results, i).values()]
        counts = ", ".join(f"{outcomes.count(one)} {one}" for one in ("lower", "no different", "higher"))
        lines.append(f"{results.title}, {len(outcomes)} comparisons at fixed rounds: {counts}.")
        if results.unfinished():
            names = "; ".join(results.unfinished())
            lines.append(f"{results.title}, still falling at the limit of {results.search} rounds: {names}.")
        for name, outcome in compare(results, len(results.fixed)).items():
            total += 1
            if outcome != "lower":
                misses.append(f"{name} on {results.title} ({outcome})")
    lines.append(
        "Verdict: with rounds chosen by cross-validation, up to "
        + " and ".join(f"{results.search} on {results.title}" for results in found)
        + f", the test log-loss is lower than discrete AdaBoost's in {total - len(misses)} of {total} "
        + (f"comparisons; not so: {', '.join(misses)}." if misses else "comparisons: in all.")
    )
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hastie", type=int, default=5, help="how many draws of Hastie 10.2 (5)")
    parser.add_argument("--cancer", type=int, default=30, help="how many splits of breast cancer (30)")
    parser.add_argument("--search", type=int, default=400, help="most rounds to choose on Hastie 10.2 (400)")
    options = parser.parse_args(arguments)
    if min(options.hastie, options.cancer) < 2:
        parser.error("--hastie and --cancer: a standard error requires at least 2 splits")
    # Breast cancer comes to its lowest log-loss within a few dozen rounds, so a hundred are enough to search.
    data_sets = [
        DataSet("Hastie 10.2", hastie_splits, options.hastie, options.search),
        DataSet("breast cancer", cancer_splits, options.cancer, search=100),
    ]
    console = Console(width=None if sys.stdout.isatty() else 110)  # a file has no width of its own
    with Progress(console=console, transient=True) as bar:
        found = [measure(data, FIXED, bar) for data in data_sets]
    for results in found:
        show(results, console)
    for line in verdict(found):
        console.print(line, highlight=False, markup=False)


if __name__ == "__main__":
    main()
