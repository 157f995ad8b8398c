"""Weight the votes of forests by the tandem bound: bounds and test errors before and after.

Forests whose trees differ in quality, and some whose trees do not, are fitted to several data sets, a few
times each. `optimize_votes` then chooses the weights by the rows left out of the bags. The tables give the
bound and the test error with equal and with chosen weights, and how many trees are left in effect,
1 / sum(w^2). Splits of one data set share rows, so that the standard errors are rather too small: noise may
be taken for a difference. Covertype is read from the folder named by HEDGEROW_DATA, if that is set.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier
from hedgerow.theory import applicable_bounds, optimize_votes

Floats = NDArray[np.float64]
Data = tuple[NDArray[Any], NDArray[Any]]

BOUND = "out-of-bag tandem"
COVERTYPE = "tabular/covtype.parquet"


# --- data


def noisy_columns(n_rows: int) -> Data:
    """Make two classes by four columns among sixteen: a tree that sees one at a time may miss them."""
    rules: dict[str, Any] = {"n_informative": 4, "n_redundant": 0, "class_sep": 2.0}
    return make_classification(n_rows, 16, random_state=0, **rules)  # type: ignore[no-any-return]


def four_classes(n_rows: int) -> Data:
    """Make four classes by eight of twelve columns."""
    rules: dict[str, Any] = {"n_informative": 8, "n_classes": 4, "n_clusters_per_class": 1, "class_sep": 2.0}
    return make_classification(n_rows, 12, random_state=1, **rules)  # type: ignore[no-any-return]


def covertype(n_rows: int) -> Data:
    """Read some rows of Covertype, seven kinds of forest by 54 columns."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415 - for this data set only

    table = pq.read_table(Path(os.environ["HEDGEROW_DATA"]) / COVERTYPE)
    y = table["Cover_Type"].to_numpy().astype(np.int64)
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:n_rows])
    names = [name for name in table.column_names if name != "Cover_Type"]
    return np.column_stack([table[name].to_numpy()[chosen].astype(np.float64) for name in names]), y[chosen]


@dataclass(frozen=True)
class Problem:
    """A data set, and the rules of the trees that learn it beside the defaults."""

    title: str
    draw: Callable[[int], Data]  # of the number of rows, for sets that can have any
    rules: dict[str, Any]


def problems() -> list[Problem]:
    """List the data sets that are there."""
    found = [
        Problem("breast cancer", lambda _: load_breast_cancer(return_X_y=True), {}),
        Problem("digits", lambda _: load_digits(return_X_y=True), {}),
        Problem("noisy columns", noisy_columns, {"max_features": 1}),
        Problem("noisy columns, depth 6", noisy_columns, {"max_features": 1, "max_depth": 6}),
        Problem("four classes", four_classes, {"max_features": 1}),
        Problem("four classes, depth 6", four_classes, {"max_depth": 6}),
    ]
    folder = os.environ.get("HEDGEROW_DATA", "")
    if folder and (Path(folder) / COVERTYPE).exists():
        found.append(Problem("Covertype", covertype, {"max_features": "sqrt"}))
    return found


# --- measuring


@dataclass(frozen=True)
class Results:
    """Of one data set: bounds and test errors (seeds, 2), before and after, and trees in effect (seeds,)."""

    title: str
    n_rows: int
    bounds: Floats
    errors: Floats
    effective: Floats
    n_trees: int


def bound_of(model: Any, delta: float) -> float:
    """Compute the tandem bound at the whole of delta; it includes the cost of choosing the weights."""
    bounds = {bound.name: bound for bound in applicable_bounds.bounds_from_out_of_bag(model).applicable}
    return bounds[BOUND].compute(delta)[0]


def measure(problem: Problem, seeds: int, trees: int, n_rows: int, delta: float) -> Results:
    """Fit, weigh and test, once a seed; a third of the rows are for the test."""
    X, y = problem.draw(n_rows)
    bounds, errors, effective, n_train = [], [], [], 0
    for seed in track(range(seeds), problem.title, transient=True, disable=not sys.stdout.isatty()):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=1 / 3, stratify=y, random_state=seed
        )
        n_train = len(y_train)
        rules: dict[str, Any] = {"oob_score": True, "random_state": seed, **problem.rules}
        before = RandomForestClassifier(trees, **rules).fit(X_train, y_train)
        after = optimize_votes(before, delta=delta)
        bounds.append([bound_of(before, delta), bound_of(after, delta)])
        errors.append([float(np.mean(model.predict(X_test) != y_test)) for model in (before, after)])
        effective.append(1.0 / float(np.sum(after.estimator_weights_**2)))
    return Results(problem.title, n_train, np.array(bounds), np.array(errors), np.array(effective), trees)


def difference(pairs: Floats) -> tuple[float, float]:
    """Mean of after less before over the seeds, and its standard error."""
    change = pairs[:, 1] - pairs[:, 0]
    return float(np.mean(change)), float(np.std(change, ddof=1) / np.sqrt(len(change)))


def compare(pairs: Floats) -> str:
    """Return whether a mean difference exceeds three standard errors."""
    mean, error = difference(pairs)
    if abs(mean) <= stats.t.ppf(0.99865, len(pairs) - 1) * error or mean == 0.0:
        return "no different"
    return "higher" if mean > 0 else "lower"


# --- printing


def show(found: Sequence[Results], delta: float, console: Console) -> None:
    """Print one line a data set."""
    first = found[0]
    title = (
        f"Tandem bound (delta = {delta:g}) and test error of {first.n_trees} trees, with equal and with "
        f"chosen weights: means of {len(first.bounds)} seeds"
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("data", no_wrap=True)
    heads = ("rows", "bound", "chosen", "difference", "error", "chosen", "difference", "trees in effect")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for one in found:
        texts = []
        for pairs in (one.bounds, one.errors):
            before, after = np.mean(pairs, axis=0)
            mean, error = difference(pairs)
            texts += [f"{before:.4f}", f"{after:.4f}", f"{mean:+.4f} ± {error:.4f}".replace("-", "−")]
        table.add_row(one.title, f"{one.n_rows:,}", *texts, f"{np.mean(one.effective):.1f}")
    console.print(table)


def verdict(found: Sequence[Results]) -> list[str]:
    """Summarise where the bound fell, and where the test error rose."""

    def where(which: Callable[[Results], Floats], word: str) -> str:
        titles = [one.title for one in found if compare(which(one)) == word]
        return f"on {len(titles)} of {len(found)} sets" + (f" ({'; '.join(titles)})" if titles else "")

    both = sum(compare(one.bounds) == "lower" and compare(one.errors) != "higher" for one in found)
    fell, rose = where(lambda one: one.bounds, "lower"), where(lambda one: one.bounds, "higher")
    worse, better = where(lambda one: one.errors, "higher"), where(lambda one: one.errors, "lower")
    return [
        f"The bound is lower {fell}, higher {rose}.",
        f"The test error is higher beyond noise {worse}, lower {better}.",
        f"A lower bound at no more test error: on {both} of {len(found)} sets.",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="splits of each data set (20)")
    parser.add_argument("--trees", type=int, default=100, help="trees of a forest (100)")
    parser.add_argument("--rows", type=int, default=15_000, help="rows of sets that may have any (15,000)")
    parser.add_argument("--delta", type=float, default=0.05, help="how often a bound may fail (0.05)")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error("--seeds: a standard error requires at least 2 seeds")
    console = Console(width=None if sys.stdout.isatty() else 150)  # a file has no width of its own
    sizes = (options.seeds, options.trees, options.rows, options.delta)
    found = [measure(problem, *sizes) for problem in problems()]
    show(found, options.delta, console)
    for line in verdict(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
