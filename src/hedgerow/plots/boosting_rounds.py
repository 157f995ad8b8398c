"""Boosting of points in the plane, round by round, recomputed from a fitted AdaBoost.

One panel per round shows the points, whose areas are their weights, and the regions of the learner; the last
panel shows the regions of all rounds together. The weights follow from the learners and their weights:

    D_1(i) = 1 / m,    D_{t+1}(i) proportional to D_t(i) exp(-a_t y_i h_t(x_i)),

with a_t the weight of learner t, half of that reported by M1 and SAMME, which is twice as large for the same
classifier. Weights that were drawn again during the fit (on_chance="restart") are not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.boosting.adaboost import RULES, VoteRule
from hedgerow.estimators.parameters import integer
from hedgerow.plots import labels as text
from hedgerow.plots import style
from hedgerow.plots.inputs import encode_labels

Limits = tuple[float, float]

_GRID = 240  # points of the grid of a region in either direction
_MAX_OUTLINED = 40  # points around which rings and outlines help; more of them hide one another
_MAX_ROUNDS = 7  # with rounds=None: two rows of four panels, one for all rounds together
_PALE_VERMILLION, _PALE_BLUE = "#FBE6D8", "#D8E9F4"


@dataclass(eq=False)
class BoostingRoundsDisplay:
    """The rounds of boosting two classes of points in the plane, side by side.

    Make it with `from_estimator`. The area of a point is proportional to its weight at the start of the
    round; among up to 40 points, a ring marks the errors of the learner.

    Parameters
    ----------
    X : float64 array of shape (n_samples, 2)
    y : int64 array of shape (n_samples,)
        -1 for the first class, +1 for the second.
    classes, names : sequences of two str
        The classes, and the names of the two columns.
    rounds : list of int
        The rounds that are drawn, counted from 1.
    n_rounds : int
        Number of rounds of the estimator.
    weights, votes : arrays of shape (rounds, n_samples)
        Weights of the points at the start of the round, which sum to 1, and predictions of the learner, -1 or
        +1.
    alphas : float64 array of shape (rounds,)
        The weights of the learners, as reported by the estimator.
    decisions : int64 array of shape (n_samples,)
        Predictions of all rounds together.
    regions : int64 array of shape (rounds + 1, 240, 240)
        Predictions of the learners and, as the last entry, of all rounds together, on a grid over the limits.
    limits : ((x_low, x_high), (y_low, y_high))

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> display = BoostingRoundsDisplay.from_estimator(model, X, y)
    >>> display.errors.round(2)
    array([0.3 , 0.21, 0.14])
    >>> len(display.axes_)
    4
    """

    X: Floats
    y: Integers
    classes: Sequence[str]
    names: Sequence[str]
    rounds: list[int]
    n_rounds: int
    weights: Floats
    votes: Integers
    alphas: Floats
    decisions: Integers
    regions: Integers
    limits: tuple[Limits, Limits]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        rounds: int | Sequence[int] | None = None,
        *,
        sample_weight: Any = None,
        ax: Any = None,
        n_columns: int = 4,
    ) -> Self:
        """Recompute the rounds of a fitted estimator, and draw them.

        Parameters
        ----------
        estimator : fitted classifier
            AdaBoost over learners that vote for one of two classes, with `estimators_` and
            `estimator_weights_`: this library's or scikit-learn's.
        X, y : array or data frame of shape (n_samples, 2), array of shape (n_samples,)
            The training data.
        rounds : int, sequence of int or None
            Number of rounds from the first, or the rounds to draw, counted from 1; None for the first 7.
        sample_weight : array of shape (n_samples,), optional
            The sample weights passed to `fit`, times the class weights if there were any.
        ax, n_columns : as in `plot`
        """
        learners, alphas, steps = read_record(estimator)
        classes = np.asarray(estimator.classes_)
        chosen = read_rounds(rounds, len(learners), _MAX_ROUNDS)
        points, names = read_points(X)
        signs = 2 * encode_labels(y, classes.tolist()) - 1
        if len(signs) != len(points):
            raise ValueError(f"y has {len(signs)} rows, but X has {len(points)}; they must be equal")
        first = read_weights(sample_weight, len(points))
        limits = (_limits(points[:, 0]), _limits(points[:, 1]))

        def predict(voter: Any, where: Floats) -> Integers:
            return cast_votes(voter, where, X, classes)

        votes = np.array([predict(learner, points) for learner in learners[: max(chosen)]])
        weights = follow_weights(first, signs, votes, steps)
        which = np.array(chosen) - 1
        grid = np.stack(np.meshgrid(*(np.linspace(*limit, _GRID) for limit in limits)), axis=-1)
        voters = [*(learners[t] for t in which), estimator]
        display = cls(
            X=points,
            y=signs,
            classes=[style.format_label(one) for one in classes.tolist()],
            names=names,
            rounds=chosen,
            n_rounds=len(learners),
            weights=weights[which],
            votes=votes[which],
            alphas=alphas[which],
            decisions=predict(estimator, points),
            regions=np.array([predict(voter, grid.reshape(-1, 2)).reshape(_GRID, _GRID) for voter in voters]),
            limits=limits,
        )
        return display.plot(ax, n_columns=n_columns)

    @property
    def errors(self) -> Floats:
        """The weighted errors of the rounds that are drawn, (rounds,)."""
        return np.asarray(np.where(self.votes != self.y, self.weights, 0.0).sum(axis=1))

    @property
    def training_error(self) -> float:
        """The error rate of all rounds together."""
        return float((self.decisions != self.y).mean())

    def plot(self, ax: Any = None, *, n_columns: int = 4) -> Self:
        """Draw the panels; the parameters are those of `ShapeFunctionDisplay.plot`."""
        n_panels = len(self.rounds) + 1
        n_columns = style.even_columns(n_columns, n_panels)
        self.figure_, self.axes_, is_new = style.panels(ax, n_panels, n_columns, (2.45, 2.85), 0.45)
        even = np.full(len(self.X), 1 / len(self.X))
        for number, panel in enumerate(self.axes_):
            if number < len(self.rounds):
                weights, votes = self.weights[number], self.votes[number]
                title = f"Round {self.rounds[number]}"
                note = f"ε = {self.errors[number]:.2f}    α = {self.alphas[number]:.2f}"
            else:
                weights, votes = even, self.decisions
                title = "The only round" if self.n_rounds == 1 else f"All {self.n_rounds} rounds"
                note = f"training error {100 * self.training_error:.3g} %"
            self._draw(panel, self.regions[number], weights, votes)
            self._name(panel, title, note)
            first, lowest = style.is_outer(number, n_panels, n_columns)
            panel.tick_params(labelleft=first, labelbottom=lowest)
            text.name_axes(panel, self.names[0] if lowest else "", self.names[1] if first else "")
        if is_new:
            self._draw_legend()
        return self

    def _draw(self, ax: Any, region: Integers, weights: Floats, votes: Integers) -> None:
        """Draw one panel: regions, their border, the points, and rings around errors."""
        (left, right), (low, high) = self.limits
        tints = style.mpl("colors").ListedColormap([_PALE_VERMILLION, _PALE_BLUE])
        sides = {"extent": (left, right, low, high), "origin": "lower", "aspect": "auto"}
        ax.imshow(region, cmap=tints, vmin=-1, vmax=1, interpolation="nearest", **sides)
        if region.min() < region.max():
            x, y = (np.linspace(*limits, _GRID) for limits in self.limits)
            ax.contour(x, y, region, levels=[0], colors=style.INK, linewidths=1.1)
        # in square points; those of many points are smaller
        area = 150.0 * min(1.0, (30 / len(weights)) ** 0.75) * len(weights) * weights
        for sign, marker, colour in self._kinds():
            own = self.y == sign
            props = {"color": colour, "edgecolor": "white", "linewidth": 0.5 if self._is_small else 0.0}
            ax.scatter(*self.X[own].T, s=area[own], marker=marker, zorder=3, **props)
        wrong = (votes != self.y) & self._is_small
        rings = {"facecolor": "none", "edgecolor": style.INK, "linewidth": 0.9, "zorder": 4}
        ax.scatter(*self.X[wrong].T, s=(np.sqrt(area[wrong]) + 7.0) ** 2, **rings)
        style.style_axes(ax)
        ax.set(xlim=(left, right), ylim=(low, high))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(style.mpl("ticker").MaxNLocator(4))

    @property
    def _is_small(self) -> bool:
        return len(self.X) <= _MAX_OUTLINED

    @staticmethod
    def _kinds() -> list[tuple[int, Any, str]]:
        """Sign, marker and colour of both classes."""
        path = style.mpl("path").Path
        minus = path([(-1, -1 / 3), (1, -1 / 3), (1, 1 / 3), (-1, 1 / 3), (-1, -1 / 3)], closed=True)
        return [(-1, minus, style.VERMILLION), (1, "P", style.BLUE)]

    @staticmethod
    def _name(ax: Any, title: str, note: str) -> None:
        ax.set_title(title, fontsize=style.TITLE_SIZE, color=style.INK, fontweight="bold", loc="left", pad=20)
        props = {"fontsize": style.LABEL_SIZE, "color": style.INK, "va": "bottom"}
        ax.annotate(note, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", **props)

    def _draw_legend(self) -> None:
        """Draw the legend below all panels of a new figure."""
        line = style.mpl("lines").Line2D
        handles = [
            line([], [], linestyle="", marker=marker, markersize=10, color=colour, markeredgecolor="white")
            for _, marker, colour in reversed(self._kinds())
        ]
        ring = {"markerfacecolor": "none", "markeredgecolor": style.INK, "markeredgewidth": 0.9}
        labels = [f"class {self.classes[1]}", f"class {self.classes[0]}"]
        if self._is_small:
            handles.append(line([], [], linestyle="", marker="o", markersize=11, **ring))
            labels.append("error")
        props = {"loc": "outside lower center", "ncols": 3, "frameon": False, "labelcolor": style.INK}
        self.figure_.legend(handles, labels, fontsize=style.LABEL_SIZE, **props)


def _limits(values: Floats) -> Limits:
    """Return limits a little below and a little above the values."""
    low, high = float(values.min()), float(values.max())
    margin = 0.1 * (high - low) or 1.0
    return low - margin, high + margin


# Members vote, and the weights of the rows are exp(-margin).
_VOTING = {name: rule for name, rule in RULES.items() if rule.reweight is VoteRule.reweight}


def read_record(estimator: Any) -> tuple[list[Any], Floats, Floats]:
    """Return the learners, their weights as reported by the estimator, and the weights a_t (see above)."""
    check_is_fitted(estimator)
    kind = type(estimator).__name__
    for attribute in ("classes_", "estimators_", "estimator_weights_"):
        if not hasattr(estimator, attribute):
            raise TypeError(f"{kind} has no {attribute}: it must be an AdaBoost")
    if len(estimator.classes_) != 2:
        raise ValueError(f"{kind} has {len(estimator.classes_)} classes: it must have two")
    is_sklearn = type(estimator).__module__.startswith("sklearn.")  # its versions name SAMME differently
    algorithm = "samme" if is_sklearn else str(getattr(estimator, "algorithm", "discrete")).lower()
    if algorithm not in _VOTING:
        raise ValueError(
            f"algorithm={algorithm!r} is not allowed: its weights do not follow from votes; it must be "
            f"{' or '.join(map(repr, _VOTING))}"
        )
    if (
        getattr(estimator, "cost", "exponential") != "exponential"
    ):  # AnyBoost weights rows by the slope of its cost
        raise ValueError(f"cost={estimator.cost!r} is not allowed: it must be 'exponential', as in AdaBoost")
    learners = list(estimator.estimators_)
    if not learners:
        raise ValueError(f"{kind} has no rounds: there is nothing to draw")
    alphas = np.asarray(estimator.estimator_weights_, dtype=np.float64)[: len(learners)]
    return learners, alphas, alphas * (_VOTING[algorithm].steepness_for(2) / 2)


def read_rounds(rounds: int | Sequence[int] | None, n_rounds: int, max_rounds: int) -> list[int]:
    """Return numbers of the rounds to draw, from 1; None for all of them, up to `max_rounds`.

    >>> read_rounds(None, 50, 7), read_rounds(2, 50, 7), read_rounds([1, 50], 50, 7)
    ([1, 2, 3, 4, 5, 6, 7], [1, 2], [1, 50])
    """
    if rounds is None:
        return list(range(1, min(n_rounds, max_rounds) + 1))
    is_count = isinstance(rounds, int | np.integer)
    numbers: list[Any] = np.ravel(np.asarray(rounds, dtype=object)).tolist()
    if not numbers or not all(map(integer(1, n_rounds).test, numbers)):
        raise ValueError(
            f"rounds={rounds!r} is not allowed: the estimator has the rounds 1 to {n_rounds}, and it must be "
            "one number, numbers of rounds or None"
        )
    return list(range(1, int(numbers[0]) + 1)) if is_count else [int(t) for t in numbers]


def read_points(X: Any) -> tuple[Floats, list[str]]:
    """Return points in the plane, and the names of the two axes."""
    names = ["x₀", "x₁"]
    if nw.dependencies.is_into_dataframe(X):
        names = list(nw.from_native(X).columns)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        shape = f"shape {points.shape}" if points.ndim != 2 else f"{points.shape[1]} columns"
        raise ValueError(f"X has {shape}: it must have two columns")
    if not np.all(np.isfinite(points)):
        row, column = np.argwhere(~np.isfinite(points))[0].tolist()
        raise ValueError(f"X[{row}, {column}] is {points[row, column]}: it must be finite")
    return points, [str(name) for name in names]


def read_weights(sample_weight: Any, n_points: int) -> Floats:
    """Return the weights that boosting starts with; their sum is 1."""
    if sample_weight is None:
        return np.full(n_points, 1 / n_points)
    weights: Floats = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_points,) or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(f"sample_weight must hold {n_points} finite numbers >= 0 that are not all 0")
    return weights / float(weights.sum())


def cast_votes(voter: Any, points: Floats, like: Any, classes: NDArray[Any]) -> Integers:
    """Return predictions of a classifier at some points, -1 or +1; it gets a data frame if `like` is one."""
    rows: Any = points
    if hasattr(voter, "feature_names_in_") and nw.dependencies.is_into_dataframe(like):
        frame = nw.from_native(like)
        columns = dict(zip(frame.columns, points.T, strict=True))
        rows = nw.from_dict(columns, backend=frame.implementation).to_native()
    return 2 * encode_labels(voter.predict(rows), classes.tolist(), f"{type(voter).__name__}.predict") - 1


def follow_weights(first: Floats, y: Integers, votes: Integers, alphas: Floats) -> Floats:
    """Return weights of the points at the start of each round, (rounds, points)."""
    weights = np.empty(votes.shape)
    current = first
    for t, vote in enumerate(votes):
        weights[t] = current
        if np.any(vote != y):  # a perfect learner ends the rounds, and its weight may be infinite
            current = current * np.exp(-alphas[t] * y * vote)
            current /= current.sum()
    return weights
