"""Count how often bounds fail: draw samples of a known distribution, fit, certify, compare with the error.

Rows are drawn uniformly from a grid of points, and labels follow a rule with noise. So the error of any model
is an exact sum over the points. A bound at delta may be below it in a fraction delta of all samples. Every
bound is counted alone at the whole of delta, then the smallest of each certificate. Controls, which are not
bounds, show that the count detects failures.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from scipy.stats import binom

from hedgerow import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.theory import applicable_bounds, certify, optimize_votes

Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[np.int64]]

CONFIDENCE = 0.999  # that a valid bound does not fail more often than allowed
N_NEW = 500  # rows held out
EDGES = np.linspace(0.1, 0.9, 9)  # of a grid that does not depend on the rows
REFUSED = "have the same values as rows that the model was fitted to"  # message of certify
OF_LOSSES = ", of losses"  # a bound on the losses of the voters, from which that of their vote is computed
CONTROLS = ("control: error of the training rows", "control: error of the rows held out")
WHOLE = ("certificate", "certificate without new rows")


# --- distributions


@dataclass(frozen=True)
class Distribution:
    """Equally probable points (n, 3), the class of each by a rule, and the noise of the labels.

    The noise is the probability of another class; all other classes are equally probable.
    """

    points: Floats
    rule: NDArray[np.int64]
    noise: float
    n_classes: int

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw rows and labels."""
        where = rng.integers(len(self.points), size=n)
        flipped = rng.random(n) < self.noise
        shift = np.where(flipped, rng.integers(1, self.n_classes, size=n), 0)
        return self.points[where], (self.rule[where] + shift) % self.n_classes

    def error(self, model: Any) -> float:
        """Compute the probability that a new label differs from the prediction."""
        right = float(np.mean(model.predict(self.points) == self.rule))
        return right * self.noise + (1.0 - right) * (1.0 - self.noise / (self.n_classes - 1))

    def losses(self, model: Any) -> tuple[float, float]:
        """Compute the mean loss of the voters and the mean joint loss of two, over all points and labels."""
        weights, gibbs, tandem = np.asarray(model.estimator_weights_), [], []
        for shift in range(self.n_classes):
            share = self.noise / (self.n_classes - 1) if shift else 1.0 - self.noise
            losses: PairLosses = model.vote_losses(self.points, (self.rule + shift) % self.n_classes)
            gibbs.append(share * losses.gibbs(weights))
            tandem.append(share * losses.tandem(weights))
        return math.fsum(gibbs), math.fsum(tandem)


def make_distribution(
    side: int, noise: float, cuts: Sequence[float] = (0.0,), first: float = 5.0
) -> Distribution:
    """Cut a sum of the three columns, each with `side` values in (0, 1), into classes."""
    values = (np.arange(side) + 0.5) / side
    points = np.stack(np.meshgrid(values, values, values, indexing="ij"), axis=-1).reshape(-1, 3)
    score = (points - 0.5) @ np.array([first, 1.0, 0.5])
    return Distribution(points, np.digitize(score, cuts).astype(np.int64), noise, len(cuts) + 1)


# --- models


@dataclass(frozen=True)
class Case:
    """A kind of model and its training rows.

    Parameters
    ----------
    title : str
    distribution : Distribution
    n_rows : int
    make : callable
        From a seed to an estimator.
    tune : callable, optional
        From the fitted model and new rows to another model.
    check_losses : bool
        Whether the losses of the voters are also compared with their true values.
    """

    title: str
    distribution: Distribution
    n_rows: int
    make: Callable[[int], Any]
    tune: Callable[[Any, Rows], Any] | None = None
    check_losses: bool = False


def cases(side: int) -> list[Case]:
    """List every kind of model that `certify` knows, on fine and on coarse grids."""
    easy, three = make_distribution(side, 0.02), make_distribution(side, 0.03, (-0.8, 0.8))
    coarse = make_distribution(6, 0.05)
    stump, tree = DecisionStump(bin_edges=EDGES), DecisionTreeClassifier(max_depth=2, bin_edges=EDGES)

    def boost(learner: Any, rounds: int) -> Callable[[int], Any]:
        return lambda _: AdaBoostClassifier(learner, n_estimators=rounds, n_jobs=1)

    def forest(**rules: Any) -> Callable[[int], Any]:
        options = {"n_estimators": 40, "oob_score": True, "n_jobs": 1}
        return lambda seed: RandomForestClassifier(**options | {"random_state": seed} | rules)

    def bag(seed: int) -> Any:
        rules: dict[str, Any] = {"max_samples": 0.5, "oob_score": True, "n_jobs": 1, "random_state": seed}
        return BaggingClassifier(n_estimators=15, **rules)

    return [
        Case("3 boosted stumps, fixed grid", easy, 100_000, boost(stump, 3)),
        Case("30 boosted stumps, fixed grid", easy, 1000, boost(stump, 30)),
        Case("30 boosted stumps", easy, 1000, boost(DecisionStump(), 30)),
        Case("10 boosted trees, fixed grid", easy, 2000, boost(tree, 10)),
        Case("20 boosted stumps, 3 classes", three, 1000, boost(stump, 20)),
        Case("forest", easy, 1000, forest(), check_losses=True),
        Case("forest, fixed grid", easy, 1000, forest(bin_edges=EDGES)),
        Case("forest of depth 3", easy, 1000, forest(max_depth=3)),
        Case("forest, 3 classes", three, 1000, forest()),
        Case("forest, many equal rows", coarse, 500, forest(random_state=0), check_losses=True),
        Case("bagging", easy, 1000, bag),
        Case("gradient boosting", easy, 500, lambda _: GradientBoostingClassifier(n_estimators=20, n_jobs=1)),
        Case("forest, votes by out of bag", easy, 1000, forest(max_features=1), _by_bag, check_losses=True),
        Case("forest, votes by new rows", easy, 1000, forest(max_features=1), _by_rows, check_losses=True),
        Case("bagging, votes by new rows", coarse, 300, bag, _by_rows),
    ]


def _by_bag(model: Any, _: Rows) -> Any:
    return optimize_votes(model)


def _by_rows(model: Any, new: Rows) -> Any:
    return optimize_votes(model, *new)


# --- counting


@dataclass
class Count:
    """Values of one bound, one entry per sample.

    truth : the error, or another quantity that is bounded; n_rows : rows of the bound.
    """

    truth: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    n_rows: list[int] = field(default_factory=list)
    vacuous: list[bool] = field(default_factory=list)

    def add(self, truth: float, bound: float, n_rows: int, chance_error: float) -> None:
        """Add one sample."""
        self.truth.append(truth)
        self.bound.append(min(1.0, bound))
        self.n_rows.append(n_rows)
        self.vacuous.append(bound >= chance_error)

    @property
    def n(self) -> int:
        """Samples counted."""
        return len(self.truth)

    @property
    def exceeded(self) -> int:
        """Number of samples with the truth above the bound, up to rounding."""
        return int(np.sum(np.array(self.truth) > np.array(self.bound) + 1e-12))

    def allowed(self, delta: float) -> int:
        """Return the number of samples that exceed a valid bound with probability 0.001 at most."""
        return int(binom.ppf(CONFIDENCE, self.n, delta))


@dataclass
class Found:
    """Counts of a case by name of the bound, and how often certify refused new rows."""

    title: str
    counts: dict[str, Count]
    refused: int = 0


def count(case: Case, samples: int, delta: float, step: Callable[[], None] = lambda: None) -> Found:
    """Draw, fit and certify `samples` times."""
    found = Found(case.title, {})
    for seed in range(samples):
        rng = np.random.default_rng([seed, *case.title.encode()])
        train, tuning, new = (case.distribution.draw(n, rng) for n in (case.n_rows, N_NEW, N_NEW))
        model = case.make(seed).fit(*train)
        if case.tune is not None:
            model = case.tune(model, tuning)
        _count_one(case, model, train, new, delta, found)
        step()
    return found


def _count_one(case: Case, model: Any, train: Rows, new: Rows, delta: float, found: Found) -> None:
    truth, chance_error = case.distribution.error(model), model.row_fingerprints_.chance_error

    def add(name: str, bound: float, n_rows: int, what: float = truth) -> None:
        found.counts.setdefault(name, Count()).add(what, bound, n_rows, chance_error)

    inside = case.distribution.losses(model) if case.check_losses else None
    for candidate in _applicable_bounds(model, new):
        bound, _ = candidate.compute(delta)
        add(candidate.name, bound, candidate.n)
        for name, share, index in (("first order", 2, 0), ("tandem", 4, 1)):
            if inside is not None and candidate.name.endswith(name):
                add(f"{candidate.name} / {share}{OF_LOSSES}", bound / share, candidate.n, inside[index])
    alone = certify(model, delta=delta)
    if alone.bounds:
        add(WHOLE[1], alone.error_bound, case.n_rows)
    try:
        whole = certify(model, *new, delta=delta)
    except ValueError as error:
        if REFUSED not in str(error):
            raise
        found.refused += 1
    else:
        add(WHOLE[0], whole.error_bound, len(new[1]))
    for name, (X, y) in zip(CONTROLS, (train, new), strict=True):
        add(name, float(np.mean(model.predict(X) != y)), len(y))


def _applicable_bounds(model: Any, new: Rows) -> list[applicable_bounds.ApplicableBound]:
    """List all bounds, before delta is shared among them."""
    sources = (
        applicable_bounds.bounds_from_class(model),
        applicable_bounds.bounds_from_margins(model),
        applicable_bounds.bounds_from_out_of_bag(model),
        applicable_bounds.bounds_from_calibration(model),
        applicable_bounds.bounds_from_holdout(model, *new),
    )
    return [bound for source in sources for bound in source.applicable]


# --- printing


def show(found: Found, delta: float, console: Console) -> None:
    """Print one line a bound."""
    n = max(counted.n for counted in found.counts.values())
    title = f"{found.title}: {n} samples, delta = {delta:g}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("bound", no_wrap=True)
    for head in ("rows", "mean truth", "mean bound", "vacuous", "exceeded", "allowed"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name, counted in found.counts.items():
        table.add_row(
            name,
            f"{np.mean(counted.n_rows):,.0f}",
            f"{np.mean(counted.truth):.4f}",
            f"{np.mean(counted.bound):.4f}",
            "" if name.endswith(OF_LOSSES) else f"{np.mean(counted.vacuous):.0%}",
            f"{counted.exceeded} of {counted.n}",
            f"{counted.allowed(delta)}",
            verdict_of(counted, delta),
        )
    console.print(table)
    if found.refused:
        console.print(f"certify refused the new rows of {found.refused} samples.", highlight=False)


def verdict_of(counted: Count, delta: float) -> str:
    """Return whether a bound was exceeded too often."""
    return "holds" if counted.exceeded <= counted.allowed(delta) else "FAILS"


def verdict(found: Sequence[Found], delta: float) -> list[str]:
    """Summarise the counts."""
    bounds = [(case.title, name, counted) for case in found for name, counted in case.counts.items()]
    controls = [one for one in bounds if one[1] in CONTROLS]
    bounds = [one for one in bounds if one[1] not in CONTROLS]
    failed = [
        f"{name} of {title}" for title, name, counted in bounds if verdict_of(counted, delta) == "FAILS"
    ]
    title, name, most = max(bounds, key=lambda one: one[2].exceeded / one[2].n)
    of_errors = [counted for _, name, counted in bounds if not name.endswith(OF_LOSSES)]
    useful = sum(np.mean(counted.vacuous) < 0.5 for counted in of_errors)
    caught = sum(verdict_of(counted, delta) == "FAILS" for _, _, counted in controls)
    refused, n_samples = sum(case.refused for case in found), sum(controls[0][2].n for _ in found)
    return [
        f"{len(bounds) - len(failed)} of {len(bounds)} counts are within what {delta:.0%} allows"
        + (f"; not {', '.join(failed)}." if failed else "."),
        f"Most often exceeded: {name} of {title}, {most.exceeded} of {most.n}.",
        f"{useful} of {len(of_errors)} bounds of an error are not vacuous in most samples.",
        f"Controls that are not bounds: {caught} of {len(controls)} exceeded more often than allowed.",
        f"certify refused new rows in {refused} of {n_samples} samples.",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=400, help="how many samples of each case (400)")
    parser.add_argument("--side", type=int, default=24, help="values of a column of the fine grid (24)")
    parser.add_argument("--delta", type=float, default=0.05, help="how often a bound may fail (0.05)")
    parser.add_argument("--only", default="", help="only cases whose title contains this")
    options = parser.parse_args(arguments)
    if options.samples < 1 or options.side < 2:
        parser.error("--samples must be at least 1 and --side at least 2")
    chosen = [case for case in cases(options.side) if options.only in case.title]
    if not chosen:
        parser.error(f"--only {options.only!r}: no case has this in its title")
    console = Console(width=None if sys.stdout.isatty() else 130)  # a file has no width of its own
    found = []
    with Progress(console=console, transient=True, disable=not sys.stdout.isatty()) as bar:
        task = bar.add_task("samples", total=options.samples * len(chosen))
        for case in chosen:
            found.append(count(case, options.samples, options.delta, lambda: bar.advance(task)))
            show(found[-1], options.delta, console)
    for line in verdict(found, options.delta):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
