"""Compare certificates with measured errors: forests by their votes, boosted stumps by their margins.

Forests of Hedgerow and of scikit-learn are fitted to three data sets, several times each. Four bounds come
from the out-of-bag rows, each at the whole of delta, and one from the test rows, as hold-out rows. Boosted
stumps on a fixed grid are fitted to more and more rows of an easy problem, for the margin bounds. The time of
`certify` is measured too; with --large also a forest of 500 trees on 100,000 rows, and its memory.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.model_selection import train_test_split

from hedgerow import AdaBoostClassifier, DecisionStump, RandomForestClassifier
from hedgerow.bagging.pair_losses import IN_BAG, PairLosses, loss_steps
from hedgerow.theory import (
    c_bound,
    certify,
    chebyshev_cantelli_bound,
    first_order_bound,
    gao_zhou_bound,
    holdout_bound,
    schapire_bound,
    tandem_bound,
)

Floats = NDArray[np.float64]
Split = tuple[Floats, Floats, Any, Any]  # X to train and to test with, y to train and to test with

OURS, THEIRS = "Hedgerow", "scikit-learn"
TEST, FIRST, TANDEM, C_BOUND, CANTELLI, HOLD_OUT = FIGURES = (
    "test error",
    "first order",
    "tandem",
    "C-bound",
    "Chebyshev-Cantelli",
    "hold-out",
)
GRID = np.linspace(-4.0, 4.0, 17)  # of the stumps; it does not depend on the rows


# --- data


def breast_cancer(seed: int, _: int) -> Split:
    """Leave 20 % of the patients out."""
    X, y = load_breast_cancer(return_X_y=True)
    return tuple(train_test_split(X, y, test_size=0.2, random_state=seed))


def digits(seed: int, _: int) -> Split:
    """Leave 20 % of the digits out."""
    X, y = load_digits(return_X_y=True)
    return tuple(train_test_split(X, y, test_size=0.2, random_state=seed))


def synthetic(seed: int, n_rows: int) -> Split:
    """Take rows of one problem to train with, and a quarter as many to test with."""
    n_test = n_rows // 4
    rules: dict[str, Any] = {"n_informative": 8, "class_sep": 1.55, "flip_y": 0.0}
    X, y = make_classification(4 * (n_rows + n_test), 20, random_state=0, **rules)
    split: Any = train_test_split(X, y, train_size=n_rows, test_size=n_test, random_state=seed)
    return tuple(split)


DATA: dict[str, Callable[[int, int], Split]] = {
    "breast cancer": breast_cancer,
    "digits": digits,
    "synthetic": synthetic,
}


# --- forests


@dataclass
class Figures:
    """The figures of a kind of forest on a data set, a value per seed; no C-bound for digits."""

    data: str
    kind: str
    n_rows: int
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, found: dict[str, float]) -> None:
        """Take down one seed."""
        for name, value in found.items():
            self.values.setdefault(name, []).append(value)

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest value over the seeds."""
        return min(self.values[name]), max(self.values[name])


def their_losses(forest: Any, X: Floats, classes: NDArray[np.intp]) -> PairLosses:
    """Compute out-of-bag losses of scikit-learn's trees; `classes` are numbers of the labels."""
    losses = np.empty((len(X), len(forest.estimators_)), np.int16)
    for number, (tree, bag) in enumerate(zip(forest.estimators_, forest.estimators_samples_, strict=True)):
        losses[:, number] = loss_steps(tree.predict_proba(X).T, classes)
        losses[bag, number] = IN_BAG
    return PairLosses.of([losses], len(forest.estimators_), len(forest.classes_))


def fit(kind: str, X: Floats, y: Any, trees: int, seed: int) -> tuple[Any, PairLosses]:
    """Fit a forest, and compute the out-of-bag losses of its trees."""
    if kind == OURS:
        forest = RandomForestClassifier(trees, oob_score=True, random_state=seed).fit(X, y)
        return forest, forest.oob_losses_
    forest = TheirForest(trees, random_state=seed).fit(X, y)
    return forest, their_losses(forest, X, np.searchsorted(forest.classes_, y))


def vote_figures(losses: PairLosses, delta: float) -> dict[str, float]:
    """Compute the bounds of an equal vote."""
    weights = np.full(losses.n_voters, 1.0 / losses.n_voters)
    gibbs, tandem, n, pairs = losses.gibbs(weights), losses.tandem(weights), losses.n, losses.n_pairs
    found = {
        FIRST: first_order_bound(gibbs, n, 0.0, delta),
        TANDEM: tandem_bound(tandem, pairs, 0.0, delta),
        CANTELLI: chebyshev_cantelli_bound(gibbs, tandem, n, pairs, 0.0, delta),
    }
    if losses.n_classes == 2:
        found[C_BOUND] = c_bound(gibbs, losses.disagreement(weights), n, pairs, 0.0, delta)
    return found


def measure(data: str, kind: str, seeds: int, trees: int, n_rows: int, delta: float) -> Figures:
    """Fit a kind of forest to a data set, once a seed."""
    found: Figures | None = None
    for seed in range(seeds):
        X, X_test, y, y_test = DATA[data](seed, n_rows)
        forest, losses = fit(kind, X, y, trees, seed)
        n_wrong = int(np.sum(forest.predict(X_test) != y_test))
        found = found or Figures(data, kind, len(y))
        found.add({TEST: n_wrong / len(y_test), HOLD_OUT: holdout_bound(n_wrong, len(y_test), delta)})
        found.add(vote_figures(losses, delta))
    assert found is not None  # noqa: S101 - there is a seed
    return found


def show(found: Sequence[Figures], seeds: int, trees: int, delta: float, console: Console) -> None:
    """Print mean and range of every figure."""
    title = f"Forests of {trees} trees: mean (range) of {seeds} seeds, bounds at delta = {delta:g} each"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("data", no_wrap=True)
    table.add_column("forest", no_wrap=True)
    for head in ("rows", *FIGURES):
        table.add_column(head.replace("-C", "-\nC"), justify="right")
    for one in found:
        texts = [format_values(one.values.get(name)) for name in FIGURES]
        table.add_row(one.data, one.kind, f"{one.n_rows:,}", *texts)
    console.print(table)


def format_values(values: list[float] | None) -> str:
    """Write a mean, and from where to where the values are."""
    if not values:
        return "–"
    return f"{np.mean(values):.3f}\n({min(values):.3f}–{max(values):.3f})"


def verdict(found: Sequence[Figures], chance: dict[str, float]) -> list[str]:
    """Summarise which bounds are useful, and whether the two libraries agree."""
    lines = []
    for one in found:
        if one.kind != OURS:
            continue
        means = {name: float(np.mean(values)) for name, values in one.values.items() if name != TEST}
        smallest = min((name for name in means if name != HOLD_OUT), key=means.__getitem__)
        vacuous = [name for name, mean in means.items() if mean >= chance[one.data]]
        lines.append(
            f"{one.data.capitalize()}: test error {np.mean(one.values[TEST]):.3f}; smallest without new rows "
            f"{smallest}, {means[smallest]:.3f}; by the hold-out {means[HOLD_OUT]:.3f}; "
            f"vacuous: {', '.join(vacuous) or 'none'}."
        )
    pairs = list(_same_figures(found))
    apart = [text for text, overlap in pairs if not overlap]
    lines.append(
        f"Ranges of Hedgerow and scikit-learn overlap in {len(pairs) - len(apart)} of {len(pairs)} figures"
        + (f"; not in {', '.join(apart)}." if apart else ".")
    )
    return lines


def _same_figures(found: Sequence[Figures]) -> Iterator[tuple[str, bool]]:
    """Name each figure of a data set, with whether the ranges of both libraries overlap."""
    ours, theirs = ({one.data: one for one in found if one.kind == kind} for kind in (OURS, THEIRS))
    for data in ours.keys() & theirs.keys():
        for name in ours[data].values:
            (low, high), (other_low, other_high) = ours[data].range_of(name), theirs[data].range_of(name)
            yield f"{name} of {data}", low <= other_high and other_low <= high


# --- boosted stumps


def easy(n_rows: int, n_test: int, seed: int) -> Split:
    """Draw two classes that two of ten columns separate."""
    rng = np.random.default_rng([seed, n_rows])
    n = n_rows + n_test
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, 10))
    X[:, :2] += 2.2 * (2 * y[:, np.newaxis] - 1)
    return X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]


def show_margins(sizes: Sequence[int], rounds: int, delta: float, console: Console) -> list[str]:
    """Print the bounds by margins along the number of rows, and from where on they are not vacuous."""
    table = Table(
        title=f"{rounds} boosted stumps on a fixed grid: bounds by margins, delta = {delta:g} each",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for head in ("rows", "test error", "lowest 10 % of margins below", "Schapire 1998", "Gao and Zhou 2013"):
        table.add_column(head, justify="right")
    first_useful: dict[str, int] = {}
    for n_rows in sizes:
        X, X_test, y, y_test = easy(n_rows, 10_000, 0)
        model = AdaBoostClassifier(DecisionStump(bin_edges=GRID), n_estimators=rounds).fit(X, y)
        margins, size = model.training_margins_, model.hypothesis_class_.size
        bounds = {
            "Schapire 1998": schapire_bound(margins, size, delta).value,
            "Gao and Zhou 2013": gao_zhou_bound(margins, size, delta).value,
        }
        for name, bound in bounds.items():
            if bound < 0.5:  # both classes are equally likely
                first_useful.setdefault(name, n_rows)
        wrong = f"{np.mean(model.predict(X_test) != y_test):.4f}"
        table.add_row(
            f"{n_rows:,}", wrong, f"{np.quantile(margins, 0.1):.3f}", *(f"{b:.3f}" for b in bounds.values())
        )
    console.print(table)
    return [
        f"The bound of {name} is "
        + (f"below chance from {first_useful[name]:,} rows on." if name in first_useful else "vacuous.")
        for name in ("Schapire 1998", "Gao and Zhou 2013")
    ]


# --- how long it takes


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """Call a function and return its duration as text."""
    start = time.perf_counter()
    done = work()
    return done, time.perf_counter() - start


def time_certify(trees: int, n_rows: int) -> str:
    """Time the fit of a forest with and without its out-of-bag losses, and its certificate."""
    X, _, y, _ = synthetic(0, n_rows)
    certify(RandomForestClassifier(20, oob_score=True, random_state=0).fit(X[:200], y[:200]))  # compiles
    _, plain = seconds(lambda: RandomForestClassifier(trees, random_state=0).fit(X, y))
    rules: dict[str, Any] = {"oob_score": True, "random_state": 0}
    forest, with_losses = seconds(lambda: RandomForestClassifier(trees, **rules).fit(X, y))
    _, proven = seconds(lambda: certify(forest))
    return (
        f"{trees} trees, {n_rows:,} rows: the fit takes {plain:.2f} s, {with_losses:.2f} s with out-of-bag "
        f"losses, and certify {proven:.2f} s."
    )


def measure_large(trees: int, n_rows: int) -> str:
    """Time the pair losses of a large forest; the memory is that of the whole process."""
    import resource  # noqa: PLC0415 - Windows has none

    X, _, y, _ = easy(n_rows, 1, 0)
    rules: dict[str, Any] = {"oob_score": True, "random_state": 0}
    forest, fitted = seconds(lambda: RandomForestClassifier(trees, **rules).fit(X, y))
    X_new, _, y_new, _ = easy(n_rows, 1, 1)
    losses, took = seconds(lambda: forest.vote_losses(X_new, y_new))
    _, proven = seconds(lambda: certify(forest))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # in KiB, on Linux
    return (
        f"{losses.n_voters} trees, {n_rows:,} rows: the fit with out-of-bag losses takes {fitted:.1f} s, "
        f"pair losses of as many new rows {took:.1f} s, certify {proven:.2f} s; peak memory {peak:.2f} GiB."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="forests of each kind and data set (5)")
    parser.add_argument("--trees", type=int, default=100, help="trees of a forest (100)")
    parser.add_argument("--rows", type=int, default=16_000, help="rows of the synthetic set (16,000)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[455, 16_000, 160_000], help="rows of boosted stumps"
    )
    parser.add_argument("--rounds", type=int, default=50, help="boosted stumps (50)")
    parser.add_argument("--delta", type=float, default=0.05, help="how often a bound may fail (0.05)")
    parser.add_argument("--large", action="store_true", help="also 500 trees on 100,000 rows: minutes")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    console = Console(width=None if sys.stdout.isatty() else 140)  # a file has no width of its own
    sizes = (options.seeds, options.trees, options.rows, options.delta)
    found = [measure(data, kind, *sizes) for data in DATA for kind in (OURS, THEIRS)]
    chance = {}
    for data, draw in DATA.items():
        labels = draw(0, options.rows)[2]
        chance[data] = 1.0 - np.bincount(labels).max() / len(labels)
    show(found, options.seeds, options.trees, options.delta, console)
    lines = verdict(found, chance)
    lines += show_margins(options.sizes, options.rounds, options.delta, console)
    lines.append(time_certify(options.trees, options.rows))
    if options.large:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            lines.append(pool.apply(measure_large, (500, 100_000)))
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
