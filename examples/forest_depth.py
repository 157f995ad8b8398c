"""Choose the depth of a random forest by validation: out-of-bag, or with GridSearchCV.

On noisy simulated classes and on the digits, tables give the out-of-bag, the cross-validated and the test
error along the depth, the depths that both ways choose, and the cost of the choice in test error. Further
tables compare out-of-bag errors with test errors, and the size of the model with that of scikit-learn's. A
picture (default name forest_depth.png) shows the errors along the depth.
"""

import argparse
import math
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.model_selection import GridSearchCV, train_test_split

from hedgerow import RandomForestClassifier
from hedgerow.datasets import flip_labels, make_gaussian
from hedgerow.plots import style

Floats = NDArray[np.float64]
Split = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]  # X_train, X_test, y_train, y_test

DEPTHS = (2, 3, 4, 6, 8, 12, 16, None)
FOLDS = 5
OOB, CV, TEST = "out-of-bag", "cross-validation", "test"
DEFAULT = "no limit"  # the default of a forest
COLOURS = {OOB: style.BLUE, CV: style.VERMILLION, TEST: style.COLOURS[-1]}
MARKERS = {OOB: "o", CV: "s", TEST: "D"}


def noisy(seed: int) -> Split:
    """Draw 1,000 training points and 10,000 test points; two of four columns matter, 30 % of labels lie."""
    X, y = make_gaussian(11_000, 4, n_informative=2, noise=0.0, random_state=seed)
    y, _ = flip_labels(y, 0.3, random_state=seed)
    return X[:1000], X[1000:], y[:1000], y[1000:]


def halves(load: Callable[..., Any]) -> Callable[[int], Split]:
    """Split a data set that is there into halves, at random and with the same shares of the classes."""

    def split(seed: int) -> Split:
        X, y = load(return_X_y=True)
        split = train_test_split(X, y, test_size=1 / 2, stratify=y, random_state=seed)
        return split[0], split[1], split[2], split[3]

    return split


ALONG_DEPTH = {"noisy classes": noisy, "digits": halves(load_digits)}
AT_FULL_DEPTH = {**ALONG_DEPTH, "breast cancer": halves(load_breast_cancer)}


@dataclass(frozen=True)
class Curves:
    """Errors of one problem, (n_repeats, n_depths) each, and the seconds of both ways to choose."""

    title: str
    errors: dict[str, Floats]  # of OOB, CV and TEST
    seconds: dict[str, float]  # of OOB and CV, over all repeats

    @property
    def best(self) -> int:
        """The index of the depth with the lowest mean test error."""
        return int(self.errors[TEST].mean(axis=0).argmin())

    def chosen(self, way: str) -> NDArray[np.intp]:
        """The index of the depth that each repeat chooses; of equals the first, as in GridSearchCV."""
        errors = self.errors[TEST if way == DEFAULT else way]
        unlimited = np.full(len(errors), DEPTHS.index(None))
        return unlimited if way == DEFAULT else np.argmin(errors, axis=1)

    def test_error(self, way: str) -> Floats:
        """Test errors at the chosen depths, one a repeat."""
        return np.take_along_axis(self.errors[TEST], self.chosen(way)[:, None], axis=1)[:, 0]

    def cost(self, way: str) -> Floats:
        """Test errors minus those of the best depth, which only the test rows reveal."""
        return self.test_error(way) - self.errors[TEST][:, self.best]


@dataclass(frozen=True)
class Agreement:
    """Out-of-bag and test errors of the same forests, (n_repeats,) each."""

    title: str
    out_of_bag: Floats
    test: Floats
    n_train: int
    n_test: int

    @property
    def difference(self) -> float:
        """Mean of the out-of-bag errors less the test errors."""
        return float((self.out_of_bag - self.test).mean())

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of each difference: both are shares of wrong labels, of rows of their own."""
        variances = (
            self.out_of_bag * (1 - self.out_of_bag) / self.n_train + self.test * (1 - self.test) / self.n_test
        )
        return np.sqrt(variances)

    @property
    def standard_error(self) -> float:
        """That of one difference, in the mean."""
        return float(self.standard_errors.mean())

    @property
    def n_within(self) -> int:
        """Number of differences that are at most one standard error; chance alone leaves about two thirds."""
        return int((np.abs(self.out_of_bag - self.test) <= self.standard_errors).sum())

    @property
    def agrees(self) -> bool:
        """Whether the mean difference is at most the standard error of one."""
        return abs(self.difference) <= self.standard_error


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def per_cent(values: Floats, sign: str = "") -> str:
    """Mean ± standard error of shares, in per cent."""
    mean, error = mean_and_error(100 * values)
    return f"{round(mean, 2) + 0.0:{sign}.2f} ± {error:.2f}".replace("-", "−")  # no minus before a zero


def along_depth(title: str, repeats: int, trees: int, bar: Progress) -> Curves:
    """Measure the errors at every depth, on new training and test rows each time."""
    errors: dict[str, list[Any]] = {OOB: [], CV: [], TEST: []}
    seconds = {OOB: 0.0, CV: 0.0}
    task = bar.add_task(title, total=2 * repeats)
    for seed in range(repeats):
        X_train, X_test, y_train, y_test = ALONG_DEPTH[title](seed)
        size: dict[str, Any] = {"n_estimators": trees, "random_state": seed}
        start = perf_counter()
        forests = [
            RandomForestClassifier(max_depth=depth, oob_score=True, **size).fit(X_train, y_train)
            for depth in DEPTHS
        ]
        seconds[OOB] += perf_counter() - start
        bar.advance(task)
        errors[OOB].append([1 - forest.oob_score_ for forest in forests])
        errors[TEST].append([1 - forest.score(X_test, y_test) for forest in forests])
        start = perf_counter()
        search = GridSearchCV(RandomForestClassifier(**size), {"max_depth": list(DEPTHS)}, cv=FOLDS)
        search.fit(X_train, y_train)
        seconds[CV] += perf_counter() - start
        bar.advance(task)
        errors[CV].append(1 - search.cv_results_["mean_test_score"])
    return Curves(title, {name: np.array(values) for name, values in errors.items()}, seconds)


def at_full_depth(title: str, repeats: int, trees: int) -> Agreement:
    """Measure out-of-bag and test errors of forests without a limit."""
    pairs = []
    for seed in range(repeats):
        X_train, X_test, y_train, y_test = AT_FULL_DEPTH[title](seed)
        forest = RandomForestClassifier(trees, oob_score=True, random_state=seed).fit(X_train, y_train)
        pairs.append((1 - forest.oob_score_, 1 - forest.score(X_test, y_test)))
    out_of_bag, test = np.array(pairs).T
    return Agreement(title, out_of_bag, test, len(y_train), len(y_test))


def sizes(rows: int, trees: int) -> dict[str, int]:
    """Count the bytes of a forest fitted to `rows` rows of 30 columns, and of scikit-learn's."""
    X, y = make_gaussian(rows, 30, random_state=0)
    ours = RandomForestClassifier(trees, random_state=0).fit(X, y)
    sklearn_forest = TheirForest(trees, random_state=0, n_jobs=-1).fit(X, y)
    return {
        "Hedgerow, the arrays of the model": ours.model_.nbytes,
        "Hedgerow, pickled": len(pickle.dumps(ours)),
        "scikit-learn, pickled": len(pickle.dumps(sklearn_forest)),
    }


def table_of(title: str, first: str, *heads: str) -> Table:
    """Return an empty table."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(first, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def show_curves(curves: Curves, console: Console) -> None:
    """Print the errors along the depth, and the choices."""
    n_repeats = len(curves.errors[TEST])
    title = f"{curves.title}: mean error in % ± standard error, {n_repeats} repeats"
    table = table_of(title, "max_depth", *curves.errors)
    for index, depth in enumerate(DEPTHS):
        texts = [per_cent(errors[:, index]) for errors in curves.errors.values()]
        table.add_row(str(depth), *texts, style="bold" if index == curves.best else None)
    console.print(table)
    best = str(DEPTHS[curves.best])
    title = f"{curves.title}: the cost of a choice against the best depth, {best}"
    table = table_of(title, "chosen by", "test error", "cost", "fits", "depths (how often)")
    for way, fits in ((OOB, len(DEPTHS)), (CV, FOLDS * len(DEPTHS) + 1), (DEFAULT, 1)):
        counts = sorted(Counter(curves.chosen(way).tolist()).items())
        depths = ", ".join(f"{DEPTHS[index]} ({count})" for index, count in counts)
        cost = per_cent(curves.cost(way), "+")
        table.add_row(way, per_cent(curves.test_error(way)), cost, str(fits), depths)
    console.print(table)


def show_agreements(found: Sequence[Agreement], trees: int, console: Console) -> None:
    """Print out-of-bag and test errors beside one another."""
    title = f"full depth, {trees} trees: errors in %, means of {len(found[0].test)} repeats"
    heads = (OOB, TEST, "difference", "standard error", "agree", "repeats within it")
    table = table_of(title, "data", *heads)
    for one in found:
        shares = (one.out_of_bag.mean(), one.test.mean(), one.difference, one.standard_error)
        signs = ("", "", "+", "")
        texts = [
            f"{100 * share:{sign}.2f}".replace("-", "−") for share, sign in zip(shares, signs, strict=True)
        ]
        table.add_row(one.title, *texts, "yes" if one.agrees else "no", f"{one.n_within} of {len(one.test)}")
    console.print(table)


def show_sizes(found: dict[str, int], rows: int, trees: int, console: Console) -> None:
    """Print bytes, also as shares of the last."""
    table = table_of(f"{trees} trees on {rows:,} rows of 30 columns", "model", "bytes", "of scikit-learn's")
    sklearn_forest = list(found.values())[-1]
    for name, size in found.items():
        table.add_row(name, f"{size:,}", f"{size / sklearn_forest:.1%}")
    console.print(table)


def verdict(found: Sequence[Curves], agreements: Sequence[Agreement]) -> list[str]:
    """Summarise the choices, and whether out-of-bag errors agree with test errors."""
    lines = [line for curves in found for line in findings(curves)]
    apart = [one.title for one in agreements if not one.agrees]
    lines.append(
        f"The out-of-bag error agrees with the test error on {len(agreements) - len(apart)} of "
        f"{len(agreements)} data sets, within the standard error of one difference"
        + (f"; not on {', '.join(apart)}." if apart else ".")
    )
    return lines


def findings(curves: Curves) -> list[str]:
    """Compare the choices with the best depth, with no limit and with one another."""
    name, best, unlimited = curves.title, DEPTHS[curves.best], curves.test_error(DEFAULT)
    costs = {way: compare(curves.cost(way)) for way in (OOB, CV, DEFAULT)}
    gains = {way: compare(curves.test_error(way) - unlimited) for way in (OOB, CV)}
    n_fits = (FOLDS * len(DEPTHS) + 1) / len(DEPTHS)
    ratio = curves.seconds[CV] / curves.seconds[OOB]
    between = compare(curves.test_error(OOB) - curves.test_error(CV))
    against_best = (
        f"{name}: against the best depth ({best}, known from the test rows) the test error is "
        f"{costs[DEFAULT]} with {DEFAULT}, {costs[OOB]} chosen {OOB}, {costs[CV]} chosen by {CV}."
    )
    against_unlimited = (
        f"{name}: against {DEFAULT} it is {gains[OOB]} chosen {OOB}, {gains[CV]} chosen by {CV}."
    )
    against_cv = (
        f"{name}: against {CV}, which takes {n_fits:.1f} times the fits and {ratio:.1f} times the time, it "
        f"is {between} chosen {OOB}."
    )
    return [against_best, against_unlimited, against_cv]


def compare(differences: Floats) -> str:
    """Describe a mean difference in points; within three standard errors it may be chance."""
    mean, error = mean_and_error(differences)
    word = "no different" if abs(mean) <= 3 * error else "higher" if mean > 0 else "lower"
    return f"{word} ({per_cent(differences, '+')})"


def draw(found: Sequence[Curves], picture: str) -> None:
    """Draw the errors along the depth, one panel per problem, with a standard error on both sides."""
    sheet, axes, _ = style.panels(None, len(found), len(found), (4.6, 3.5), legend=0.35)
    positions = np.arange(len(DEPTHS))
    for ax, curves in zip(axes, found, strict=True):
        for name, errors in curves.errors.items():
            mean, error = np.array([mean_and_error(100 * column) for column in errors.T]).T
            look: dict[str, Any] = {"color": COLOURS[name], "marker": MARKERS[name], "markersize": 4}
            ax.plot(positions, mean, linewidth=1.6, label=name, **look)
            ax.fill_between(
                positions, mean - error, mean + error, color=COLOURS[name], alpha=0.2, linewidth=0
            )
        ax.axvline(curves.best, color=style.FAINT, linestyle=":", zorder=0, label="lowest test error")
        style.style_axes(ax)
        text_style: dict[str, Any] = {"fontsize": style.LABEL_SIZE, "color": style.INK}
        ax.set_xticks(positions, [str(depth) for depth in DEPTHS])
        ax.set_xlabel("max_depth", **text_style)
        ax.set_ylabel("error in %", **text_style)
        if (low := 100 * curves.errors[TEST].mean(axis=0).min()) < ax.get_ylim()[1] / 3:
            ax.set_yscale("log")  # small errors would be invisible on a linear axis
            ticks = [tick for tick in (1, 2, 3, 4, 5, 10, 20, 50) if low / 1.5 < tick < ax.get_ylim()[1]]
            ax.set_yticks(ticks, [str(tick) for tick in ticks])
            ax.minorticks_off()
            ax.set_ylabel("error in %, on a logarithmic scale", **text_style)
        head: dict[str, Any] = {"fontsize": style.TITLE_SIZE, "fontweight": "bold", "color": style.INK}
        ax.set_title(curves.title.capitalize(), loc="left", **head)
    legend: dict[str, Any] = {"frameon": False, "fontsize": style.LABEL_SIZE, "labelcolor": style.INK}
    sheet.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, **legend)
    sheet.savefig(picture, dpi=150)
    plt.close(sheet)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", default="forest_depth.png", help="file to write")
    parser.add_argument("--repeats", type=int, default=10, help="how often with other rows (10)")
    parser.add_argument("--trees", type=int, default=100, help="trees along the depth (100)")
    parser.add_argument("--size", action="store_true", help="model size on 100,000 rows instead of 10,000")
    options = parser.parse_args(arguments)
    if options.repeats < 2:
        parser.error("--repeats: a standard error requires at least 2 repeats")
    console = Console(width=None if sys.stdout.isatty() else 110)  # a file has no width of its own
    X, y = load_breast_cancer(return_X_y=True)
    RandomForestClassifier(20, oob_score=True).fit(X, y)  # compiles the kernels, which is not timed
    rows, many = 100_000 if options.size else 10_000, 5 * options.trees
    with Progress(console=console, transient=True) as bar:
        found = [along_depth(title, options.repeats, options.trees, bar) for title in ALONG_DEPTH]
        agreements = [at_full_depth(title, options.repeats, many) for title in AT_FULL_DEPTH]
        bytes_of = sizes(rows, 100)
    for curves in found:
        show_curves(curves, console)
    show_agreements(agreements, many, console)
    console.print(
        "The standard error is that of the difference in one repeat. Out of bag, a row is scored by the\n"
        "37 % of the trees that did not draw it: with few trees its error is above the test error.\n",
        highlight=False,
    )
    show_sizes(bytes_of, rows, 100, console)
    for line in verdict(found, agreements):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    draw(found, options.picture)
    console.print(f"The picture is in {options.picture}.", highlight=False)


if __name__ == "__main__":
    main()
