"""Measure the effect of bagging and boosting on the bias and the variance of trees.

A deep tree, its bagging, a random forest, a stump and its boosting are fitted to the same training
sets, drawn from known distributions. Tables and a picture (default name bias_variance.png) show the terms of
their errors, and sentences compare them.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_friedman1

from hedgerow import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.datasets import make_gaussian
from hedgerow.plots import style
from hedgerow.plots.bias_variance import BiasVarianceDisplay
from hedgerow.theory import BiasVariance, bias_variance

Data = tuple[NDArray[Any], NDArray[Any]]

TEST_SEED = 2**32 - 1
DEEP, STUMP = "deep tree", "stump"
BAGGED, FOREST, BOOSTED = "bagged deep trees", "random forest", "boosted stumps"


@dataclass(frozen=True)
class Problem:
    """A known distribution, and the estimators that are fitted to samples of it."""

    title: str
    draw: Callable[..., Data]  # of (n_samples, noise=..., random_state=...)
    training_noise: float  # of the draw
    noise: float  # of the test points, in the units of the loss
    learners: dict[str, Any]

    def sampler(self, n_rows: int) -> Callable[[int], Data]:
        """Draw training sets of n_rows rows."""
        return lambda seed: self.draw(n_rows, noise=self.training_noise, random_state=seed)

    def measure(self, n_rows: int, n_points: int, n_repeats: int) -> dict[str, BiasVariance]:
        """Measure every learner on the same training sets."""
        test = self.draw(n_points, noise=0.0, random_state=TEST_SEED)
        options: dict[str, Any] = {"test": test, "noise": self.noise, "n_repeats": n_repeats}
        return {
            name: bias_variance(learner, self.sampler(n_rows), random_state=0, verbose=1, **options)
            for name, learner in self.learners.items()
        }


def problems(members: int, rounds: int) -> list[Problem]:
    """Classes that follow from the features without noise, and numbers with noise of variance 1."""
    tree, numbers = DecisionTreeClassifier(max_depth=None), DecisionTreeRegressor(max_depth=None)
    size: dict[str, Any] = {"n_estimators": members}
    of_classes = {
        DEEP: tree,
        BAGGED: BaggingClassifier(tree, **size),
        FOREST: RandomForestClassifier(**size),
        STUMP: DecisionStump(),
        BOOSTED: AdaBoostClassifier(n_estimators=rounds),
    }
    of_numbers = {
        DEEP: numbers,
        BAGGED: BaggingRegressor(numbers, **size),
        FOREST: RandomForestRegressor(max_features=1 / 3, **size),
        STUMP: DecisionTreeRegressor(max_depth=1),
        BOOSTED: GradientBoostingRegressor(max_leaf_nodes=2, min_samples_leaf=5, n_estimators=rounds),
    }
    return [
        Problem("two classes", _gaussian, 0.0, 0.0, of_classes),
        Problem("regression", make_friedman1, 1.0, 1.0, of_numbers),
    ]


def _gaussian(n_samples: int, noise: float, random_state: Any) -> Data:
    return make_gaussian(n_samples, 10, noise=noise, random_state=random_state)


def show(title: str, results: dict[str, BiasVariance], console: Console) -> None:
    """Print the terms with their standard errors."""
    first = next(iter(results.values()))
    marks = ["=", *(sign for sign, _, _ in first.sum_of_terms[1:])]
    heads = [f"{mark} {text}" for mark, (_, _, text) in zip(marks, first.sum_of_terms, strict=True)]
    terms = ["error", *(term for _, term, _ in first.sum_of_terms)]
    if first.loss == "zero_one":  # whose variance is not a term of the sum
        heads, terms = [*heads, "variance"], [*terms, "variance"]
    what = f"{first.loss.replace('_', '-')} loss"
    title = f"{title}: {what}, {first.n_repeats} training sets, {first.n_points} test points"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("learner", no_wrap=True)
    for head in ("error", *heads):
        table.add_column(head, justify="right", no_wrap=True)
    for name, result in results.items():
        table.add_row(name, *(figure(result, term) for term in terms))
    console.print(table)


def figure(result: BiasVariance, term: str) -> str:
    """A term, with its standard error if it has one."""
    value, error = getattr(result, term), result.standard_errors[term]
    return f"{value:.3f}" if error < 1e-9 else f"{value:.3f} ± {error:.3f}"


def verdict(title: str, results: dict[str, BiasVariance]) -> list[str]:
    """Summarise the effect of each ensemble on its learner."""
    pairs = [(BAGGED, DEEP), (FOREST, DEEP), (BOOSTED, STUMP)]
    return [
        f"{title}, {ensemble} against {alone}: "
        + "; ".join(change(results[ensemble], results[alone], term) for term in ("bias", "variance", "error"))
        + "."
        for ensemble, alone in pairs
    ]


def change(ensemble: BiasVariance, alone: BiasVariance, term: str) -> str:
    """Compare a term with that of the learner alone; three standard errors make a difference."""
    difference, error = ensemble.difference(alone, term)
    word = "higher" if difference > 0 else "lower"
    if abs(difference) <= 3 * error:
        word = "no different"
    before, after = getattr(alone, term), getattr(ensemble, term)
    return f"{term} {word}, {before:.3f} → {after:.3f} ({difference:+.3f} ± {error:.3f})".replace("-", "−")


def draw(found: dict[str, dict[str, BiasVariance]], picture: str) -> None:
    """Draw one panel a problem."""
    n_bars = max(len(results) for results in found.values())
    size = (max(4.4, 1.05 * n_bars + 0.8) * len(found), 4.0)
    sheet, axes = plt.subplots(1, len(found), figsize=size, layout="constrained", squeeze=False)
    engine: Any = sheet.get_layout_engine()
    engine.set(w_pad=0.12, h_pad=0.08)
    for ax, (title, results) in zip(np.ravel(axes), found.items(), strict=True):
        BiasVarianceDisplay.from_results(results, ax=ax)
        look = {"fontsize": style.TITLE_SIZE, "fontweight": "bold", "color": style.INK}
        ax.set_title(title.capitalize(), loc="left", **look)
    sheet.savefig(picture, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", default="bias_variance.png", help="file to write")
    parser.add_argument("--repeats", type=int, default=50, help="how many training sets (50)")
    parser.add_argument("--rows", type=int, default=200, help="rows of a training set (200)")
    parser.add_argument("--points", type=int, default=2000, help="test points (2000)")
    parser.add_argument("--members", type=int, default=30, help="trees of a bag or a forest (30)")
    parser.add_argument("--rounds", type=int, default=200, help="rounds of boosting (200)")
    options = parser.parse_args(arguments)
    if options.repeats < 2:
        parser.error("--repeats: a variance requires at least 2 training sets")
    console = Console(width=None if sys.stdout.isatty() else 130)  # a file has no width of its own
    found = {
        problem.title: problem.measure(options.rows, options.points, options.repeats)
        for problem in problems(options.members, options.rounds)
    }
    for title, results in found.items():
        show(title, results, console)
    for title, results in found.items():
        for line in verdict(title, results):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    draw(found, options.picture)
    console.print(f"The picture is in {options.picture}.", highlight=False)


if __name__ == "__main__":
    main()
