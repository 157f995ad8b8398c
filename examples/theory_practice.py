"""Pictures of boosting in practice: zero training error and after, intervals, memorising, noise, outliers."""

import math
from functools import cache
from typing import Any

import bias_variance
import numpy as np
from sklearn.metrics import roc_auc_score
from theory_pictures import (
    TEST_SEED,
    Data,
    Floats,
    Picture,
    log_axis,
    percents,
    sheet,
    test_errors,
    title,
    zero_from,
)

from hedgerow import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    RandomForestClassifier,
    SchapireBoostClassifier,
)
from hedgerow.datasets import flip_labels, load_three_points, make_gaussian, make_hastie, make_interval
from hedgerow.plots import (
    BiasVarianceDisplay,
    ErrorRoundsDisplay,
    MarginDistributionDisplay,
    WeightPathsDisplay,
    labels,
    style,
)
from hedgerow.theory import edges, margin_distribution, rounds_to_zero_error

EXACT = DecisionStump(max_bins=65535)  # a cut between any two values


# --- after the training error is zero


@cache
def _boosted_trees(quick: bool) -> tuple[AdaBoostClassifier, Data]:
    X, y = make_hastie(300 if quick else 2000, random_state=0)
    tree = DecisionTreeClassifier(max_depth=6)
    return AdaBoostClassifier(tree, n_estimators=30 if quick else 1000).fit(X, y), (X, y)


def after_zero(quick: bool) -> Picture:
    """Test error goes on falling after the training error is zero."""
    model, (X, y) = _boosted_trees(quick)
    test = make_hastie(1000 if quick else 20_000, random_state=TEST_SEED)
    display = ErrorRoundsDisplay.from_estimator(model, X, y, *test, bounds=None)
    found, start = Picture(display.figure_), display.zero_from
    errors: Any = display.test_error
    found.add("rows, rounds, depth of the trees", len(y), len(errors), 6)
    found.add("training error is 0 from round", start or "none")
    found.add("test error there, at the end", errors[(start or 1) - 1], errors[-1])
    found.add("lowest test error, in round", errors.min(), int(errors.argmin()) + 1)
    return found


def margins(quick: bool) -> Picture:
    """Margins of the training rows grow after none is wrong."""
    model, (X, y) = _boosted_trees(quick)
    last = model.n_estimators_
    rounds = [5, min(40, last - 1), last]
    display = MarginDistributionDisplay.from_estimator(model, X, y, rounds=rounds)
    found = Picture(display.figure_)
    for number, values in zip(rounds, display.margins, strict=True):
        low, share = float(values.min()), float(margin_distribution(values, 0.1)[0])
        found.add(f"round {number:,}: smallest margin, fraction of rows up to 0.1", low, share)
    return found


# --- thresholds and intervals


def interval(quick: bool) -> Picture:
    """Three thresholds make an interval, and every round has an edge of a sixth."""
    figure, (left, right) = sheet(4.6, 4.6, height=4.0)
    found = Picture(figure)
    X, y = load_three_points()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    line = np.linspace(-1.6, 1.6, 641)
    alphas = model.estimator_weights_ / model.estimator_weights_.sum()
    for number, (stump, alpha) in enumerate(zip(model.estimators_, alphas, strict=True)):
        predicted = stump.predict(line[:, None])
        shift = 0.05 * (number - 1)  # lines on one another cannot be distinguished
        colour = (style.BLUE, "#009E73", "#CC79A7")[number]
        look = {"color": colour, "linewidth": 1.5, "linestyle": (0, (5, 2))}
        left.plot(line, predicted + shift, label=f"threshold {number + 1}, weight {alpha:.2f}", **look)
    vote = model.decision_function(line[:, None]) / model.estimator_weights_.sum()
    left.plot(line, vote, color=style.INK, linewidth=2.2, label="their vote")
    left.axhline(0, color=style.FAINT, linewidth=0.9)
    left.plot(X[:, 0], y, "o", color=style.VERMILLION, markersize=10, zorder=5, label="the three points")
    left.set(ylim=(-1.35, 1.35), xlim=(-1.6, 1.6), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    labels.name_axes(left, "x", "prediction")
    title(left, "An interval is a vote of thresholds")
    labels.legend_below(left)
    best = min(float(np.mean(predicted != y)) for predicted in _thresholds(X[:, 0]))
    found.add("three points: smallest error of a threshold", best)
    found.add("three points: error of the vote of three", 1.0 - model.score(X, y))
    _draw_edges(right, found, 60 if quick else 1000, 20 if quick else 300)
    return found


def _draw_edges(ax: Any, found: Picture, n_rows: int, n_draws: int) -> None:
    """The edge of the best threshold under random weights, and under those of AdaBoost."""
    X, y = make_interval(n_rows, random_state=0)
    side = np.digitize(X[:, 0], [X[y == 1].min(), np.nextafter(X[y == 1].max(), 2.0)])  # of each point
    rng = np.random.default_rng(0)
    lightest, drawn = np.empty(n_draws), np.empty(n_draws)
    for number in range(n_draws):
        weights = rng.exponential(size=n_rows)
        weights *= (rng.dirichlet(np.full(3, 3.0)) / np.bincount(side, weights))[side]
        wrong = EXACT.fit(X, y, weights).predict(X) != y
        lightest[number], drawn[number] = np.bincount(side, weights).min(), 0.5 - weights[wrong].sum()
    enough = rounds_to_zero_error(1 / 6, n_rows)
    model = AdaBoostClassifier(EXACT, n_estimators=enough).fit(X, y)
    gammas = edges(model)
    ax.plot(lightest, drawn, "o", color=style.BLUE, markersize=3, alpha=0.5, label="random weights")
    look = {"color": style.VERMILLION, "markersize": 6, "markerfacecolor": "none"}
    ax.plot(0.5 - gammas, gammas, "o", label=f"{enough} rounds of AdaBoost", **look)
    ax.axhline(1 / 6, color=style.INK, linewidth=1.3, linestyle=(0, (4, 3)), label="proven: 1/6")
    ax.set(ylim=(0, 0.52), xlim=(0, 0.35))
    labels.name_axes(ax, "smallest weight of the three regions", "edge of the best threshold")
    title(ax, f"{n_rows:,} points of an interval")
    labels.legend_below(ax)
    found.add("interval: rows, random weightings", n_rows, n_draws)
    found.add("interval: smallest edge under random weights, proven", drawn.min(), 1 / 6)
    found.add("interval: smallest edge of AdaBoost, edge of its last round", gammas.min(), gammas[-1])
    first = zero_from(model.history_["train_error"]) or "none"
    found.add("interval: first round without an error, rounds that are enough", first, enough)


def _thresholds(x: Floats) -> Any:
    """Yield the predictions of every threshold, with both polarities."""
    for cut in [-np.inf, *np.sort(x)]:
        predicted = np.where(x <= cut, 1, -1)
        yield from (predicted, -predicted)


def memorise(quick: bool) -> Picture:
    """Rounds until any labelling of points on a line is memorised, and the bound of their number."""
    sizes, n_draws = ([5, 10, 20], 2) if quick else ([5, 10, 20, 40, 80, 160], 10)
    figure, (ax,) = sheet(6.0, height=4.2)
    found = Picture(figure)
    enough = [math.ceil(math.log(2 * m) / (2 * (1 / (2 * m)) ** 2)) for m in sizes]
    turns = [_rounds_to_learn(np.arange(m) % 2, bound) for m, bound in zip(sizes, enough, strict=True)]
    drawn = np.array(
        [
            [
                _rounds_to_learn(np.random.default_rng(seed).permutation(m) % 2, bound)
                for seed in range(n_draws)
            ]
            for m, bound in zip(sizes, enough, strict=True)
        ]
    )
    look = {"linewidth": 1.8, "marker": "o", "markersize": 5}
    ax.plot(sizes, enough, color=style.INK, linestyle=(0, (4, 3)), label="proven upper bound", **look)
    ax.fill_between(sizes, drawn.min(axis=1), drawn.max(axis=1), color=style.BLUE, alpha=0.18, linewidth=0)
    middle = np.median(drawn, axis=1)
    ax.plot(sizes, middle, color=style.BLUE, label=f"random labels, median of {n_draws} and range", **look)
    ax.plot(sizes, turns, color=style.VERMILLION, label="alternating labels", **look)
    log_axis(ax.xaxis, sizes)
    log_axis(ax.yaxis, [1, *enough])
    ax.set_xticks(sizes, [str(m) for m in sizes])
    labels.name_axes(ax, "points m", "rounds to zero training error")
    labels.legend_below(ax)
    for index, m in enumerate(sizes):
        text = f"m = {m}: proven, random labels (median, most), alternating labels"
        found.add(text, enough[index], int(middle[index]), int(drawn[index].max()), turns[index])
    return found


def _rounds_to_learn(y: Any, enough: int) -> int:
    """The first round without an error; far fewer than are proven to be enough are tried."""
    X = np.arange(len(y), dtype=np.float64)[:, None]
    for n_rounds in (200, 2000, enough):
        first = zero_from(AdaBoostClassifier(EXACT, n_estimators=n_rounds).fit(X, y).history_["train_error"])
        if first is not None:
            return first
    raise AssertionError(f"{enough} rounds were proven to be enough for {len(y)} points")


# --- weak and strong


def weak_strong(quick: bool) -> Picture:
    """A weak learner stays weak with more rows; boosted, it gets as good as one likes."""
    sizes, n_repeats = ([30, 100], 2) if quick else ([30, 100, 300, 1000, 3000, 10_000, 30_000], 5)
    X_test, y_test = make_interval(2000 if quick else 200_000, random_state=TEST_SEED)
    learners: dict[str, Any] = {
        "one threshold": lambda _m: EXACT,
        "vote of three (Schapire 1990)": lambda _m: SchapireBoostClassifier(EXACT, random_state=0),
        "AdaBoost of thresholds": lambda m: AdaBoostClassifier(
            EXACT, n_estimators=rounds_to_zero_error(1 / 6, m)
        ),
    }
    figure, (ax,) = sheet(6.0, height=4.2)
    found = Picture(figure)
    least = 1.0
    for (name, make), colour in zip(learners.items(), (style.INK, "#E69F00", style.BLUE), strict=True):
        errors = np.empty((len(sizes), n_repeats))
        for index, m in enumerate(sizes):
            for seed in range(n_repeats):
                model = make(m).fit(*make_interval(m, random_state=seed))
                errors[index, seed] = np.mean(model.predict(X_test) != y_test)
        means = errors.mean(axis=1)
        least = min(least, means.min())
        ax.plot(sizes, means, "o-", color=colour, linewidth=1.8, markersize=5, label=name)
        found.add(f"{name}: test error at m = {sizes[0]:,} and {sizes[-1]:,}", means[0], means[-1])
    log_axis(ax.xaxis, sizes)
    log_axis(ax.yaxis, [least, 0.5])
    labels.name_axes(ax, "training rows", "error rate")
    labels.legend_below(ax)
    return found


def bias_and_variance(quick: bool) -> Picture:
    """Bias and variance of trees and stumps, alone, bagged and boosted."""
    sizes = (60, 200, 3) if quick else (200, 2000, 50)
    problem, _ = bias_variance.problems(*((3, 5) if quick else (30, 200)))
    results = problem.measure(*sizes)
    found = Picture(BiasVarianceDisplay.from_results(results).figure_)
    for name, result in results.items():
        found.add(f"{name}: error, bias, variance", result.error, result.bias, result.variance)
    found.lines += bias_variance.verdict(problem.title, results)
    return found


# --- strengths and weaknesses


def outliers(quick: bool) -> Picture:
    """Rows with a wrong label end with large weights, and can be found by them."""
    n_rows, n_rounds = (200, 20) if quick else (1000, 300)
    X, y = make_gaussian(n_rows, 10, noise=0.0, random_state=0)
    noisy, flipped = flip_labels(y, 0.03, random_state=1)
    model = AdaBoostClassifier(n_estimators=n_rounds).fit(X, noisy)
    figure, (left, right) = sheet(5.6, 3.8, height=4.1)
    found = Picture(figure)
    rows = [int(row) for row in flipped[:5]]
    WeightPathsDisplay.from_estimator(model, X, noisy, rows=rows, ax=left)
    title(left, "Five rows with a wrong label")
    scores, is_flipped = model.outlier_scores(X, noisy), np.isin(np.arange(n_rows), flipped)
    order = np.argsort(-scores, kind="stable")
    looked, hits = np.arange(1, n_rows + 1) / n_rows, np.cumsum(is_flipped[order]) / len(flipped)
    right.plot(100 * looked, 100 * hits, color=style.VERMILLION, linewidth=1.8, label="by outlier_scores")
    right.plot([0, 100], [0, 100], color=style.FAINT, linestyle=(0, (4, 3)), label="by chance")
    right.set(xlim=(0, 30), ylim=(0, 101))
    labels.name_axes(right, "% of the rows inspected", "% of the wrong labels found")
    title(right, "Detection")
    labels.legend_below(right)
    found.add("rows, wrong labels, rounds", n_rows, len(flipped), n_rounds)
    found.add(
        "mean outlier score of wrong and right labels", scores[is_flipped].mean(), scores[~is_flipped].mean()
    )
    weights = n_rows * model.sample_weights_
    found.add(
        "mean weight at the end of wrong and right labels",
        weights[is_flipped].mean(),
        weights[~is_flipped].mean(),
    )
    found.add("area under the ROC curve", float(roc_auc_score(is_flipped, scores)))
    for share in (0.03, 0.1, 0.2):
        rate = hits[round(share * n_rows) - 1]
        found.add(
            f"found among the {100 * share:.0f} % of the rows with the largest scores", f"{100 * rate:.0f} %"
        )
    return found


def noise(quick: bool) -> Picture:
    """Boosting suffers more from wrong labels than bagging does."""
    shares, n_repeats = ([0.0, 0.2], 1) if quick else ([0.0, 0.05, 0.1, 0.2, 0.3], 3)
    n_rows, members, rounds = (200, 5, 10) if quick else (2000, 50, 400)
    X_test, y_test = make_gaussian(1000 if quick else 20_000, 10, noise=0.0, random_state=TEST_SEED)
    deep = DecisionTreeClassifier(max_depth=None)
    learners: dict[str, Any] = {
        "AdaBoost, depth 3": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=rounds),
        "AdaBoost, stumps": AdaBoostClassifier(n_estimators=rounds),
        "bagged trees": BaggingClassifier(deep, n_estimators=members, random_state=0),
        "random forest": RandomForestClassifier(n_estimators=2 * members, random_state=0),
    }
    errors = np.empty((len(learners), len(shares), n_repeats))
    for seed in range(n_repeats):
        X, y = make_gaussian(n_rows, 10, noise=0.0, random_state=seed)
        for index, share in enumerate(shares):
            noisy, _ = flip_labels(y, share, random_state=seed)
            for number, learner in enumerate(learners.values()):
                errors[number, index, seed] = np.mean(learner.fit(X, noisy).predict(X_test) != y_test)
    figure, (ax,) = sheet(6.0, height=3.9)
    found = Picture(figure)
    colours = (style.VERMILLION, "#E69F00", "#56B4E9", style.BLUE)
    found.add("rows, rounds, repeats", n_rows, rounds, n_repeats)
    for (name, values), colour in zip(zip(learners, errors, strict=True), colours, strict=True):
        means = values.mean(axis=1)
        ax.plot([100 * share for share in shares], means, "o-", color=colour, linewidth=1.8, markersize=5)
        found.add(
            f"{name}: test error at {', '.join(f'{100 * s:.0f} %' for s in shares)} wrong labels", *means
        )
    ax.set(xlim=(0, 100 * shares[-1]), ylim=(0, 1.1 * errors.max()))
    percents(ax)
    labels.name_axes(ax, "% of the training labels flipped", "test error, true labels")
    labels.end_labels(ax, errors[:, -1].mean(axis=1), list(learners), list(colours))
    return found


def depths(quick: bool) -> Picture:
    """Too weak learners are slow, too strong ones over-fit."""
    n_rows, n_rounds = (300, 20) if quick else (2000, 400)
    X, y = make_hastie(n_rows, random_state=0)
    test = make_hastie(1000 if quick else 20_000, random_state=TEST_SEED)
    figure, (ax,) = sheet(6.4, height=4.0)
    found = Picture(figure)
    lines: list[tuple[str, str, float]] = []
    for depth, colour in zip((1, 2, 4, 8, None), style.COLOURS, strict=False):
        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=n_rounds).fit(X, y)
        errors, last = test_errors(model, *test), model.n_estimators_
        name = "no limit" if depth is None else f"depth {depth}"
        # A tree without error is the only one that votes: its line goes on as it is.
        drawn = np.append(errors, np.full(n_rounds - last, errors[-1]))
        ax.plot(np.arange(1, n_rounds + 1), drawn, color=colour, linewidth=1.7)
        lines.append((name, colour, drawn[-1]))
        found.add(f"{name}: test error after 10 rounds, at the end; rounds", drawn[9], drawn[-1], last)
    labels.rounds_axis(ax, n_rounds, log=True)
    ax.set_ylim(0, None)
    percents(ax)
    labels.name_axes(ax, "rounds", "test error")
    names, colours, ends = zip(*lines, strict=True)
    labels.end_labels(ax, np.array(ends), names, colours)
    return found
