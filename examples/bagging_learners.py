"""Bag six kinds of learners, and compare the accuracy with one learner and with scikit-learn's bagging.

Every learner is fitted alone, bagged by Hedgerow and bagged by scikit-learn, with the same number of members
and the same size of the samples, on the same splits of two data sets. What bagging takes away is variance: a
deep tree gains most, and learners that hardly change with the sample (nearest neighbours, logistic
regression, naive Bayes) gain little or nothing. The SVC has no probabilities: its members vote.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import BaggingClassifier as TheirBagging
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from hedgerow.estimators.bagging import BaggingClassifier

Floats = NDArray[np.float64]

DATA = {"breast cancer": load_breast_cancer, "digits": load_digits}
LEARNERS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(algorithm="kd_tree")),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(tol=1e-3)),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "SVC": make_pipeline(StandardScaler(), SVC()),
}
COLUMNS = ("alone", "Hedgerow", "scikit-learn")


@dataclass(frozen=True)
class Results:
    """Test accuracies on one data set: for each learner (n_splits, 3), the three of `COLUMNS`."""

    title: str
    scores: dict[str, Floats]

    def difference(self, name: str, column: int, other: int) -> tuple[float, float]:
        """Mean difference of two columns over the splits, and its standard error."""
        return mean_and_error(self.scores[name][:, column] - self.scores[name][:, other])


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def models_of(learner: Any, members: int, share: float, seed: int) -> list[Any]:
    """Return the models of the three columns."""
    size: dict[str, Any] = {"n_estimators": members, "max_samples": share, "random_state": seed}
    return [clone(learner), BaggingClassifier(learner, **size), TheirBagging(learner, **size)]


def measure(title: str, splits: int, members: int, share: float, bar: Progress) -> Results:
    """Fit everything on every split."""
    X, y = DATA[title](return_X_y=True)
    scores: dict[str, list[list[float]]] = {name: [] for name in LEARNERS}
    task = bar.add_task(title, total=splits * len(LEARNERS))
    for seed in range(splits):
        split = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
        X_train, X_test, y_train, y_test = split
        for name, learner in LEARNERS.items():
            models = models_of(learner, members, share, seed)
            scores[name].append([model.fit(X_train, y_train).score(X_test, y_test) for model in models])
            bar.advance(task)
    return Results(title, {name: np.array(values) for name, values in scores.items()})


def show(results: Results, console: Console) -> None:
    """Print the accuracies in per cent, and Hedgerow's less the two others."""
    n_splits = len(next(iter(results.scores.values())))
    title = f"{results.title}: test accuracy in %, mean ± standard error of {n_splits} splits"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("learner", no_wrap=True)
    for name in (*COLUMNS, "− alone", "− scikit-learn"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, scores in results.scores.items():
        texts = ["{:.2f} ± {:.2f}".format(*mean_and_error(100 * scores[:, i])) for i in range(3)]
        for other in (0, 2):
            mean, error = results.difference(name, 1, other)
            texts.append(f"{100 * mean:+.2f} ± {100 * error:.2f}")
        table.add_row(name, *texts)
    console.print(table)


def verdict(found: Sequence[Results]) -> list[str]:
    """Summarise where bagging helps, and whether both libraries agree."""
    pairs = [(results, name) for results in found for name in results.scores]
    gains = [f"{name} on {r.title}" for r, name in pairs if compare(*r.difference(name, 1, 0)) == "higher"]
    losses = [f"{name} on {r.title}" for r, name in pairs if compare(*r.difference(name, 1, 0)) == "lower"]
    apart = [
        f"{name} on {r.title} ({compare(*r.difference(name, 1, 2))})"
        for r, name in pairs
        if compare(*r.difference(name, 1, 2)) != "no different"
    ]
    return [
        f"Bagging is better than the learner alone: {', '.join(gains) or 'nowhere'}.",
        f"It is worse: {', '.join(losses) or 'nowhere'}.",
        f"Hedgerow is no different from scikit-learn in {len(pairs) - len(apart)} of {len(pairs)} comparisons"
        + (f"; different: {', '.join(apart)}." if apart else "."),
    ]


def compare(mean: float, error: float) -> str:
    """Compare a mean difference with three standard errors: there are a dozen comparisons, of few splits."""
    return "lower" if mean < -3 * error else "higher" if mean > 3 * error else "no different"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=6, help="how many splits of each data set (6)")
    parser.add_argument("--members", type=int, default=20, help="how many members (20)")
    parser.add_argument("--share", type=float, default=1.0, help="the samples as a share of the rows (1.0)")
    options = parser.parse_args(arguments)
    if options.splits < 2:
        parser.error("--splits: a standard error requires at least 2 splits")
    console = Console(width=None if sys.stdout.isatty() else 110)  # a file has no width of its own
    # One thread: the matrices are so small that several would mostly wait for one another.
    with threadpool_limits(1), Progress(console=console, transient=True) as bar:
        found = [measure(title, options.splits, options.members, options.share, bar) for title in DATA]
    for results in found:
        show(results, console)
    console.print(f"{options.members} members, samples of {options.share:.0%} of the rows.", highlight=False)
    for line in verdict(found):
        console.print(line, highlight=False, markup=False)


if __name__ == "__main__":
    main()
