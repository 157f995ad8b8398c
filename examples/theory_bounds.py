"""Pictures of the bounds: training error, classes, margins, votes and certificates."""

import math
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from theory_pictures import (
    DELTA,
    EDGES,
    TEST_SEED,
    Data,
    Picture,
    log_axis,
    majority,
    sheet,
    test_errors,
    title,
    zero_from,
)

from hedgerow import AdaBoostClassifier, DecisionStump, RandomForestClassifier
from hedgerow.datasets import make_gaussian
from hedgerow.plots import ErrorRoundsDisplay, SampleSizeDisplay, labels, style
from hedgerow.theory import (
    boosted_growth,
    boosted_stump_growth,
    boosted_vc_dimension,
    certify,
    edges,
    exponential_bound,
    gao_zhou_bound,
    holdout_bound,
    rounds_to_zero_error,
    sauer,
    schapire_bound,
    stump_bound,
    stump_vc_dimension,
    threshold_vc_dimension,
    training_error_bound,
    tree_vc_dimension,
    vc_bound,
)

NOISE = 0.05  # of the labels of the pictures against the number of rows
FEW = 10  # rounds there: with more of them the bounds of the class need more rows


def training_error(quick: bool) -> Picture:
    """Training error along the rounds, below its two bounds."""
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30 if quick else 100).fit(X, y)
    display = ErrorRoundsDisplay.from_estimator(model, X, y, bounds=["training", "exponential"])
    found = Picture(display.figure_)
    errors, gammas = np.asarray(model.history_["train_error"]), edges(model)
    product, exponential = training_error_bound(model.estimator_errors_), exponential_bound(gammas)
    found.add("breast cancer, rows", len(y))
    found.add("first round without an error", zero_from(errors) or "none")
    found.add("no error from round", display.zero_from or "none")
    found.add("rounds", len(errors))
    found.add("product of Z, exp(-2 sum of squared edges) at the end", product[-1], exponential[-1])
    found.add("rounds in which the error is above the product", int(np.sum(errors > product)))
    below = np.flatnonzero(product < 1 / len(y))
    found.add("the product is below 1/m from round", int(below[0]) + 1 if below.size else "none")
    found.add("smallest edge", gammas.min())
    found.add("rounds that are enough by the smallest edge", rounds_to_zero_error(gammas.min(), len(y)))
    return found


def vc_dimension(quick: bool) -> Picture:
    """Draw the sizes of classes of votes: VC dimensions along the rounds, labelings along the rows."""
    figure, (left, right) = sheet(4.6, 4.6, height=4.2)
    found = Picture(figure)
    rounds = np.unique(np.geomspace(3, 10_000, 20 if quick else 200).astype(int))
    weak = {
        "stumps": max(3, stump_vc_dimension(10)),
        "trees of 4 leaves": tree_vc_dimension(10, 4),
        "trees of 8 leaves": tree_vc_dimension(10, 8),
    }
    for (name, d), colour in zip(weak.items(), style.COLOURS, strict=False):
        sizes = boosted_vc_dimension(rounds, d)
        left.plot(rounds, sizes, color=colour, linewidth=1.8, label=f"{name}, d ≤ {d}")
    log_axis(left.xaxis, rounds, 1.0)
    log_axis(left.yaxis, [100, boosted_vc_dimension(10_000, max(weak.values()))])
    labels.name_axes(left, "rounds T", "VC dimension of the vote, at most")
    title(left, "Ten columns")
    m, d, T = np.unique(np.geomspace(10, 1e6, 30 if quick else 300).astype(int)), weak["stumps"], 100
    size = boosted_vc_dimension(T, d)
    lines = {
        "by VC dimension": (sauer(m, size), "#CC79A7"),
        "by growth function": (boosted_growth(m, d, T), "#E69F00"),
        "by number of stumps": (boosted_stump_growth(m, 10, T), style.INK),
        "all labelings": (m * math.log(2.0), style.FAINT),
    }
    for name, (values, colour) in lines.items():
        dashes = (0, (4, 3)) if name == "all labelings" else "solid"
        zorder = 4 if name == "all labelings" else 3
        look = {"color": colour, "linewidth": 1.8, "linestyle": dashes, "zorder": zorder}
        right.plot(m, values / math.log(2.0), label=name, **look)
    log_axis(right.xaxis, m, 1.0)
    log_axis(right.yaxis, [10, 1e6], 1.0)
    labels.name_axes(right, "rows m", "labelings, as powers of 2")
    title(right, "Votes of 100 stumps")
    for ax in (left, right):
        labels.legend_below(ax)
    found.add(
        "VC dimension of thresholds, with one polarity",
        threshold_vc_dimension(),
        threshold_vc_dimension(False),
    )
    found.add(
        "VC dimension of stumps in 1, 2, 10, 1000 columns", *(stump_vc_dimension(c) for c in (1, 2, 10, 1000))
    )
    found.add(
        "at most, of trees of 4 and 8 leaves in 10 columns",
        weak["trees of 4 leaves"],
        weak["trees of 8 leaves"],
    )
    found.add("at most, of votes of 100 stumps in 10 columns", size)
    for name, (values, _) in lines.items():
        free = np.flatnonzero(values < 0.999 * lines["all labelings"][0])
        if name != "all labelings":
            found.add(f"{name}: fewer than all labelings from m =", int(m[free[0]]) if free.size else "none")
    return found


def bounds_rounds(quick: bool) -> Picture:
    """Measured errors and the bounds of the class along the rounds."""
    n_rows, n_rounds = (2000, 30) if quick else (100_000, 1000)
    X, y = make_gaussian(n_rows, 10, noise=0.0, random_state=0)
    test = make_gaussian(n_rows // 2, 10, noise=0.0, random_state=TEST_SEED)
    model = AdaBoostClassifier(n_estimators=n_rounds).fit(X, y)
    display = ErrorRoundsDisplay.from_estimator(model, X, y, *test, bounds=["vc", "growth", "stumps"])
    found = Picture(display.figure_)
    errors: Any = display.test_error
    found.add("rows, columns, rounds", n_rows, 10, n_rounds)
    for number in sorted({1, 10, 100, n_rounds} & set(range(1, n_rounds + 1))):
        values = [display.bounds[name][number - 1] for name in ("vc", "growth", "stumps")]
        found.add(
            f"round {number:,}: training error, test error",
            display.train_error[number - 1],
            errors[number - 1],
        )
        found.add(f"round {number:,}: bound by VC dimension, growth function, stumps", *values)
    for name in ("vc", "growth", "stumps"):
        above = np.flatnonzero(display.bounds[name] >= display.chance)
        late = above[above >= np.argmin(display.bounds[name])]
        found.add(f"{name} is above chance from round", int(late[0]) + 1 if late.size else "none")
    found.add("chance", display.chance)
    return found


def _grid_stumps(n_rounds: int) -> AdaBoostClassifier:
    return AdaBoostClassifier(DecisionStump(bin_edges=EDGES), n_estimators=n_rounds)


def _noisy_majority(n_samples: int, seed: int) -> Data:
    return majority(n_samples, seed, noise=NOISE)


def _held_out(model: Any, X: Any, y: Any) -> float:
    """The bound from a fifth of the rows, of a model fitted to the others."""
    n = len(y) // 5
    other = clone(model).fit(X[n:], y[n:])
    return holdout_bound(int(np.sum(other.predict(X[:n]) != y[:n])), n, DELTA)


def bounds_rows(quick: bool) -> Picture:
    """Measured errors and bounds against the number of rows."""
    sizes = [200, 1000] if quick else [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    display = SampleSizeDisplay.from_estimator(
        _grid_stumps(FEW),
        _noisy_majority,
        sizes,
        test=_noisy_majority(2000 if quick else 200_000, TEST_SEED),
        measures={"bound by margins": _by_margins, "bound by a fifth held out": _held_out},
        n_repeats=1 if quick else 2,
    )
    found = Picture(display.figure_)
    found.add("rounds, columns, fraction of wrong labels", FEW, 10, NOISE)
    found.add(
        "test error at the smallest and largest size",
        display.test_error[0].mean(),
        display.test_error[-1].mean(),
    )
    for name, values in (display.bounds | display.measures).items():
        means = values.mean(axis=1)
        below = [size for size, mean in zip(display.sizes, means, strict=True) if mean < display.chance]
        found.add(f"{name}: below chance from m =", below[0] if below else "none")
        at = display.sizes.index(10_000) if 10_000 in display.sizes else 0
        found.add(f"{name} at m = {display.sizes[at]:,} and {display.sizes[-1]:,}", means[at], means[-1])
    return found


def _by_margins(model: Any, _X: Any, _y: Any) -> float:
    return schapire_bound(model.training_margins_, model.hypothesis_class_.size, DELTA).value


def margin_rounds(quick: bool) -> Picture:
    """Along the rounds, the bounds by margins stay where the bounds of the class rise."""
    n_rows, n_rounds = (3000, 30) if quick else (200_000, 1000)
    X, y = majority(n_rows, 0, noise=0.02)
    X_test, y_test = majority(n_rows // 2, TEST_SEED, noise=0.02)
    model = _grid_stumps(n_rounds).fit(X, y)
    drawn = set(np.unique(np.geomspace(1, n_rounds, 5 if quick else 25).round().astype(int)).tolist())
    size, rows = model.hypothesis_class_.size, []
    for number, margins in enumerate(model.staged_margins(X, y), start=1):
        if number in drawn:
            bounds = [bound(margins, size, DELTA).value for bound in (schapire_bound, gao_zhou_bound)]
            rows.append([number, np.mean(margins <= 0), *bounds])
    rounds, wrong, schapire, gao_zhou = np.array(rows).T
    test = test_errors(model, X_test, y_test)[rounds.astype(int) - 1]
    d = stump_vc_dimension(10)
    lines = {
        "test error": (test, style.VERMILLION, "solid"),
        "training error": (wrong, style.BLUE, (0, (4, 4))),  # on the line of the test error
        "bound by VC dimension": (
            wrong + vc_bound(n_rows, boosted_vc_dimension(np.maximum(rounds, 3), d), DELTA),
            "#CC79A7",
            (0, (2, 2)),
        ),
        "bound by number of stumps": (wrong + stump_bound(n_rows, 10, rounds, DELTA), style.INK, (0, (2, 2))),
        "bound by margins (Schapire et al.)": (schapire, "#009E73", (0, (5, 2))),
        "bound by margins (Gao, Zhou)": (gao_zhou, "#56B4E9", (0, (5, 2))),
    }
    figure, (ax,) = sheet(6.0, height=4.6)
    found = Picture(figure)
    found.add("rows, hypotheses, rounds; wrong labels", n_rows, size, n_rounds, "2 %")
    for name, (values, colour, dashes) in lines.items():
        ax.plot(rounds, values, color=colour, linestyle=dashes, linewidth=1.8, label=name)
        at = [int(np.argmin(np.abs(rounds - number))) for number in (1, 10, 100, n_rounds)]
        found.add(f"{name} near rounds 1, 10, 100 and the last", *values[at])
    labels.rounds_axis(ax, n_rounds, log=True)
    log_axis(ax.yaxis, [wrong.min(), 3.0])
    more = labels.shade_vacuous(ax, 0.5)
    labels.name_axes(ax, "rounds", "error rate")
    labels.legend_below(ax, *more)
    return found


def votes_rows(quick: bool) -> Picture:
    """Bounds of a forest from the rows left out of its bags, against the number of rows."""
    names = ("first order", "tandem", "C-bound", "Chebyshev-Cantelli")
    sizes = [200, 800] if quick else [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    forest = RandomForestClassifier(n_estimators=40 if quick else 100, oob_score=True)
    measures = {name: _out_of_bag(name) for name in names} | {"a fifth held out": _held_out}
    display = SampleSizeDisplay.from_estimator(
        forest,
        majority,
        sizes,
        test=majority(2000 if quick else 100_000, TEST_SEED),
        bounds=None,
        measures=measures,
        n_repeats=1 if quick else 3,
    )
    found = Picture(display.figure_)
    for index, size in enumerate(display.sizes):
        found.add(f"m = {size:,}: test error", display.test_error[index].mean())
        found.add(
            f"m = {size:,}: {', '.join(measures)}", *(v[index].mean() for v in display.measures.values())
        )
    return found


def _out_of_bag(name: str) -> Any:
    """A bound of the certificate, or 1 if it does not apply."""

    def measure(model: Any, _X: Any, _y: Any) -> float:
        values = [bound.value for bound in certify(model, delta=DELTA) if bound.name == f"out-of-bag {name}"]
        return min(1.0, *values) if values else 1.0

    return measure


def certificate_rows(quick: bool) -> Picture:
    """Draw the bounds of `certify`, with and without hold-out rows, against the number of rows."""
    sizes = [200, 1000] if quick else [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000]
    display = SampleSizeDisplay.from_estimator(
        _grid_stumps(FEW),
        _noisy_majority,
        sizes,
        test=_noisy_majority(2000 if quick else 200_000, TEST_SEED),
        bounds=None,
        measures={
            "certify(model)": lambda model, _X, _y: certify(model, delta=DELTA).error_bound,
            "certify(model, X, y), a fifth held out": _certified_by_rows,
        },
        n_repeats=1 if quick else 3,
    )
    found = Picture(display.figure_)
    found.add("rounds, columns, fraction of wrong labels", FEW, 10, NOISE)
    for index, size in enumerate(display.sizes):
        values = [values[index].mean() for values in display.measures.values()]
        found.add(
            f"m = {size:,}: test error, certify(model), certify(model, X, y)",
            display.test_error[index].mean(),
            *values,
        )
    X, y = _noisy_majority(sizes[-1], 1)
    best: Any = certify(_grid_stumps(FEW).fit(X, y), delta=DELTA).best
    found.add(f"best bound without rows held out at m = {sizes[-1]:,}: {best.name}")
    return found


def _certified_by_rows(model: Any, X: Any, y: Any) -> float:
    n = len(y) // 5
    return certify(clone(model).fit(X[n:], y[n:]), X[:n], y[:n], DELTA).error_bound
