"""Measure how often prediction intervals of a random forest hold the target, and how wide they are.

Four kinds of interval (out of bag, jackknife+ after the bootstrap, quantiles of the leaves as they are and
calibrated out of bag) at 50, 80 and 90 %, on test rows, of three data sets, each over
several training sets. The picture (default name forest_quantiles.png) shows the bands on
data whose noise grows to the right.
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
from rich.progress import track
from rich.table import Table
from scipy import stats
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestRegressor
from hedgerow.plots import style

Floats = NDArray[np.float64]
Split = tuple[Floats, Floats, Floats, Floats]  # X and y to train with, X and y to test with

METHODS = {
    "oob": "out of bag",
    "jackknife+": "jackknife+",
    "quantiles": "quantiles of leaves",
    "calibrated": "calibrated quantiles",
}
COVERAGES = (0.5, 0.8, 0.9)
CALM, NOISY = "calm third", "noisy third"
BANDS = {0.9: "#D9E8F3", 0.8: "#AFD0E6", 0.5: "#74AFD6"}  # tints of the style's blue, the narrowest on top


# --- data


def noise_at(x: Floats) -> Floats:
    """Standard deviation of the noise, of x from 0 to 10."""
    return 0.2 + 0.18 * x


def growing_noise(n_rows: int, n_columns: int, seed: Any) -> tuple[Floats, Floats]:
    """Draw a wave in the first column, with noise that grows along it; the other columns have no effect."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n_rows, n_columns))
    return X, 3.0 * np.sin(0.7 * X[:, 0]) + noise_at(X[:, 0]) * rng.normal(size=n_rows)


def split_noise(seed: int) -> Split:
    """Draw rows to train and to test with."""
    return (*growing_noise(800, 4, [seed, 0]), *growing_noise(2000, 4, [seed, 1]))


def split_friedman(seed: int) -> Split:
    """Draw Friedman's first problem with noise of variance 1."""
    X, y = make_friedman1(2800, noise=1.0, random_state=seed)
    return X[:800], y[:800], X[800:], y[800:]


def split_diabetes(seed: int) -> Split:
    """Leave a third of the patients out."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
    return X_train, y_train, X_test, y_test


DATA: dict[str, Callable[[int], Split]] = {
    "growing noise": split_noise,
    "Friedman #1": split_friedman,
    "diabetes": split_diabetes,
}


# --- measuring


@dataclass(frozen=True)
class Results:
    """Measurements on one data set.

    Parameters
    ----------
    title : str
    covered, width : {(method, coverage): array of one mean over the test rows for every split}
    by_region : {(method, region): the same for coverage 90 % on a third of the rows}, or empty
    """

    title: str
    covered: dict[tuple[str, float], Floats]
    width: dict[tuple[str, float], Floats]
    by_region: dict[tuple[str, str], Floats]


def fit(X: Floats, y: Floats, trees: int, seed: int, rows_a_leaf: int = 5) -> Any:
    """Fit a forest whose leaves hold some rows each, as quantiles want."""
    model = RandomForestRegressor(trees, min_samples_leaf=rows_a_leaf, oob_score=True, random_state=seed)
    return model.fit(X, y)


def is_inside(y: Floats, bounds: Floats) -> NDArray[np.bool_]:
    """Return whether targets are within their bounds (rows, 2)."""
    return (bounds[:, 0] <= y) & (y <= bounds[:, 1])


def measure(title: str, splits: int, trees: int) -> Results:
    """Fit a forest for every split, and evaluate it on the test rows."""
    pairs = [(method, coverage) for method in METHODS for coverage in COVERAGES]
    covered: dict[Any, list[Any]] = {pair: [] for pair in pairs}
    width: dict[Any, list[Any]] = {pair: [] for pair in pairs}
    by_region: dict[Any, list[Any]] = {}
    for seed in track(range(splits), title, transient=True, disable=not sys.stdout.isatty()):
        X, y, X_test, y_test = DATA[title](seed)
        model = fit(X, y, trees, seed)
        for method, coverage in pairs:
            bounds = model.predict_interval(X_test, coverage, method)
            inside = is_inside(y_test, bounds)
            covered[method, coverage].append(np.mean(inside))
            width[method, coverage].append(np.mean(bounds[:, 1] - bounds[:, 0]))
            if title == "growing noise" and coverage == 0.9:
                for region, rows in ((CALM, X_test[:, 0] < 10 / 3), (NOISY, X_test[:, 0] > 20 / 3)):
                    by_region.setdefault((method, region), []).append(np.mean(inside[rows]))
    found = [
        {key: np.array(values) for key, values in table.items()} for table in (covered, width, by_region)
    ]
    return Results(title, *found)


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Compute the mean over the splits, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


# --- printing


def show(results: Results, console: Console) -> None:
    """Print coverage and width."""
    n_splits = len(next(iter(results.covered.values())))
    title = (
        f"{results.title}: test rows covered in %, mean ± standard error of {n_splits} splits, and mean width"
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("interval", no_wrap=True)
    for coverage in COVERAGES:
        table.add_column(f"{coverage:.0%}", justify="right", no_wrap=True)
        table.add_column("width", justify="right", no_wrap=True)
    for region in dict.fromkeys(region for _, region in results.by_region):
        table.add_column(f"90%, {region}", justify="right", no_wrap=True)
    for method, name in METHODS.items():
        texts = []
        for coverage in COVERAGES:
            texts.append(percent(results.covered[method, coverage]))
            texts.append(f"{np.mean(results.width[method, coverage]):.4g}")
        texts += [percent(values) for (key, _), values in results.by_region.items() if key == method]
        table.add_row(name, *texts)
    console.print(table)


def percent(values: Floats) -> str:
    """Write shares as a mean in per cent, with its standard error."""
    return "{:.1f} ± {:.1f}".format(*mean_and_error(100 * values))


def compare(values: Floats, coverage: float) -> str:
    """Compare shares with a coverage; half a point or three standard errors are no difference."""
    mean, error = mean_and_error(values)
    errors = stats.t.ppf(0.99865, len(values) - 1)  # three, for many splits
    if abs(mean - coverage) <= max(errors * error, 0.005):
        return "as promised"
    return "too often" if mean > coverage else "too rarely"


def verdict(found: Sequence[Results]) -> list[str]:
    """Summarise the coverage of every kind of interval."""
    lines = []
    for method, name in METHODS.items():
        cases: dict[str, list[str]] = {"as promised": [], "too often": [], "too rarely": []}
        for results in found:
            for coverage in COVERAGES:
                values = results.covered[method, coverage]
                case = f"{results.title} {coverage:.0%}: {100 * np.mean(values):.1f}"
                cases[compare(values, coverage)].append(case)
        n_kept, n_cases = len(cases["as promised"]), sum(map(len, cases.values()))
        line = f"{name.capitalize()}: covers as promised in {n_kept} of {n_cases} cases"
        for word in ("too often", "too rarely"):
            line += f"; {word}: {', '.join(cases[word])}" if cases[word] else ""
        lines.append(line + ".")
        for results in found:
            shares = [
                f"{100 * np.mean(values):.1f} % of the {region} ({compare(values, 0.9)})"
                for (key, region), values in results.by_region.items()
                if key == method
            ]
            if shares:
                lines.append(f"  At 90 % on {results.title} it covers {' and '.join(shares)}.")
    return lines


# --- the picture


def draw(picture: str, trees: int) -> None:
    """Draw the bands of each kind on data of one column."""
    X, y = growing_noise(1000, 1, 7)
    X_test, y_test = growing_noise(2000, 1, 8)
    model = fit(X, y, trees, 0, rows_a_leaf=25)
    grid = np.linspace(0.0, 10.0, 500)[:, np.newaxis]
    sheet, axes = plt.subplots(2, 2, figsize=(9.4, 7.0), layout="constrained", sharex=True, sharey=True)
    sheet.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    for ax, (method, name) in zip(axes.flat, METHODS.items(), strict=True):
        for coverage, colour in BANDS.items():
            low, high = model.predict_interval(grid, coverage, method).T
            ax.fill_between(
                grid[:, 0], low, high, color=colour, linewidth=0, label=f"{coverage:.0%} interval"
            )
        ax.scatter(X, y, s=5, color=style.INK, alpha=0.35, linewidths=0, label="training rows")
        if method in ("quantiles", "calibrated"):
            middle, line = model.predict_quantiles(grid, 0.5)[:, 0], "median"
        else:
            middle, line = model.predict(grid), "mean"
        ax.plot(grid[:, 0], middle, color=style.VERMILLION, linewidth=1.3, label="prediction")
        inside = [np.mean(is_inside(y_test, model.predict_interval(X_test, c, method))) for c in COVERAGES]
        shares = ", ".join(f"{100 * share:.0f}" for share in inside)
        ax.set_title(
            name.capitalize(), loc="left", fontsize=style.TITLE_SIZE, fontweight="bold", color=style.INK
        )
        ax.text(
            0.02, 0.985, f"new rows inside: {shares} %\nline: {line}", transform=ax.transAxes, va="top",
            fontsize=style.TICK_SIZE, color=style.INK,
        )  # fmt: skip
        ax.set_xlim(0, 10)
        style.style_axes(ax)
    for ax in axes[:, 0]:
        ax.set_ylabel("y", fontsize=style.LABEL_SIZE, color=style.INK)
    for ax in axes[-1]:
        ax.set_xlabel("x", fontsize=style.LABEL_SIZE, color=style.INK)
    low, high = float(y.min()), float(y.max())
    axes[0, 0].set_ylim(low - 0.5, high + 0.22 * (high - low))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    sheet.legend(
        handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=style.LABEL_SIZE
    )
    sheet.savefig(picture, dpi=150)
    plt.close(sheet)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", default="forest_quantiles.png", help="file to write")
    parser.add_argument("--splits", type=int, default=20, help="how many training sets of each data (20)")
    parser.add_argument("--trees", type=int, default=200, help="trees of a forest (200)")
    options = parser.parse_args(arguments)
    if options.splits < 2:
        parser.error("--splits: a standard error requires at least 2 splits")
    console = Console(width=None if sys.stdout.isatty() else 130)  # a file has no width of its own
    found = [measure(title, options.splits, options.trees) for title in DATA]
    for results in found:
        show(results, console)
    console.print(f"{options.trees} trees with at least 5 rows a leaf.", highlight=False)
    for line in verdict(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    draw(options.picture, options.trees)
    console.print(f"The picture is in {options.picture}.", highlight=False)


if __name__ == "__main__":
    main()
