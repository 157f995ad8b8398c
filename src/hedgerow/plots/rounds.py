"""Boosting in the plane, round by round.

One panel a round: the points, as large as the weights the round began with, and the regions of its learner;
then a panel with the regions of all rounds together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.plots import replay, style

Limits = tuple[float, float]

_GRID = 240  # points of a region's picture in either direction
_FEW = 40  # points around which rings and outlines help; more of them hide one another
_MOST_ROUNDS = 7  # of rounds=None: two rows of four panels, with the last
_PALE_VERMILLION, _PALE_BLUE = "#FBE6D8", "#D8E9F4"


@dataclass(eq=False)
class BoostingRoundsDisplay:
    """The rounds of boosting two classes of points in the plane, side by side.

    Make it with `from_estimator`; the parameters are what it draws. The area of a point is proportional to
    its weight when the round begins; among up to 40 points, a ring marks those on which its learner is wrong.

    Parameters
    ----------
    X : float64 array of shape (n_samples, 2)
    y : int64 array of shape (n_samples,)
        -1 for the first class, +1 for the second.
    classes, names : sequences of two str
        The classes, and the names of the two columns.
    rounds : list of int
        The numbers of the rounds that are drawn, counted from 1.
    n_rounds : int
        The rounds of the estimator.
    weights, votes : arrays of shape (rounds, n_samples)
        What every point weighs when the round begins, in sum 1, and what its learner says: -1 or +1.
    alphas : float64 array of shape (rounds,)
        The weights of the learners, as the estimator reports them.
    decisions : int64 array of shape (n_samples,)
        What all rounds together say about the points.
    regions : int64 array of shape (rounds + 1, 240, 240)
        What the learners, and at the end all of them together, say on a grid over the limits.
    limits : ((x_low, x_high), (y_low, y_high))

    Attributes
    ----------
    errors : float64 array of shape (rounds,)
        The weighted errors.
    training_error : float
        Share of the points on which all rounds together are wrong.
    axes_ : array of matplotlib Axes
        One a round, and one more.
    figure_ : matplotlib Figure

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
        """Follow a fitted estimator through its rounds, and draw them.

        Parameters
        ----------
        estimator : fitted classifier
            AdaBoost over learners that vote for one of two classes, with `estimators_` and
            `estimator_weights_`: this library's or scikit-learn's.
        X, y : array or data frame of shape (n_samples, 2), array of shape (n_samples,)
            The training data.
        rounds : int, sequence of int or None
            So many rounds from the first, or the numbers of those to draw, counted from 1; None for all, and
            7 at the most.
        sample_weight : array of shape (n_samples,), optional
            What `fit` was given, times the weights of the classes if there were any.
        ax, n_columns
            As in `plot`.

        Returns
        -------
        BoostingRoundsDisplay
        """
        learners, alphas, steps = replay.read_record(estimator)
        classes = np.asarray(estimator.classes_)
        chosen = replay.read_rounds(rounds, len(learners), _MOST_ROUNDS)
        points, names = replay.read_points(X)
        signs = replay.read_signs(y, classes, "y")
        if len(signs) != len(points):
            raise ValueError(f"y has {len(signs)} rows, but X has {len(points)}; they must be equal")
        first = replay.read_weights(sample_weight, len(points))
        limits = (_limits(points[:, 0]), _limits(points[:, 1]))

        def ask(voter: Any, where: Floats) -> Integers:
            return replay.cast_votes(voter, where, X, classes, type(voter).__name__)

        votes = np.array([ask(learner, points) for learner in learners[: max(chosen)]])
        weights = replay.follow_weights(first, signs, votes, steps)
        which = np.array(chosen) - 1
        voters = [*(learners[t] for t in which), estimator]
        display = cls(
            X=points,
            y=signs,
            classes=[style.label(one) for one in classes.tolist()],
            names=names,
            rounds=chosen,
            n_rounds=len(learners),
            weights=weights[which],
            votes=votes[which],
            alphas=alphas[which],
            decisions=ask(estimator, points),
            regions=np.array([ask(voter, _grid(limits)).reshape(_GRID, _GRID) for voter in voters]),
            limits=limits,
        )
        return display.plot(ax, n_columns=n_columns)

    @property
    def errors(self) -> Floats:
        """The weighted errors of the rounds that are drawn."""
        errors: Floats = np.where(self.votes != self.y, self.weights, 0.0).sum(axis=1)
        return errors

    @property
    def training_error(self) -> float:
        """The share of points on which all rounds together are wrong."""
        return float((self.decisions != self.y).mean())

    def plot(self, ax: Any = None, *, n_columns: int = 4) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : None, matplotlib Axes or a sequence of them
            None for a new figure, one Axes whose place is divided, or one for every panel.
        n_columns : int
            Panels a row.

        Returns
        -------
        self
        """
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
                title = "The round alone" if self.n_rounds == 1 else f"All {self.n_rounds} rounds"
                note = f"training error {100 * self.training_error:.3g} %"
            self._draw(panel, self.regions[number], weights, votes)
            self._name(panel, title, note)
            first, lowest = style.is_outer(number, n_panels, n_columns)
            panel.tick_params(labelleft=first, labelbottom=lowest)
            panel.set_xlabel(self.names[0] if lowest else "", fontsize=style.LABEL_SIZE, color=style.INK)
            panel.set_ylabel(self.names[1] if first else "", fontsize=style.LABEL_SIZE, color=style.INK)
        if is_new:
            self._explain()
        return self

    def _draw(self, ax: Any, region: Integers, weights: Floats, votes: Integers) -> None:
        """One panel: regions, their border, the points, and rings around those on the wrong side."""
        (left, right), (low, high) = self.limits
        tints = style.part("colors").ListedColormap([_PALE_VERMILLION, _PALE_BLUE])
        sides = {"extent": (left, right, low, high), "origin": "lower", "aspect": "auto"}
        ax.imshow(region, cmap=tints, vmin=-1, vmax=1, interpolation="nearest", **sides)
        if region.min() < region.max():
            x, y = (np.linspace(*limits, _GRID) for limits in self.limits)
            ax.contour(x, y, region, levels=[0], colors=style.INK, linewidths=1.1)
        area = _mean_area(len(self.X)) * len(weights) * weights
        for sign, marker, colour in self._kinds():
            own = self.y == sign
            look = {"color": colour, "edgecolor": "white", "linewidth": 0.5 if self._is_small else 0.0}
            ax.scatter(*self.X[own].T, s=area[own], marker=marker, zorder=3, **look)
        wrong = (votes != self.y) & self._is_small
        rings = {"facecolor": "none", "edgecolor": style.INK, "linewidth": 0.9, "zorder": 4}
        ax.scatter(*self.X[wrong].T, s=(np.sqrt(area[wrong]) + 7.0) ** 2, **rings)
        style.dress(ax)
        ax.set(xlim=(left, right), ylim=(low, high))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(style.part("ticker").MaxNLocator(4))

    @property
    def _is_small(self) -> bool:
        return len(self.X) <= _FEW

    @staticmethod
    def _kinds() -> list[tuple[int, Any, str]]:
        """Sign, marker and colour of either class; the bar of the minus is one of the plus."""
        path = style.part("path").Path
        minus = path([(-1, -1 / 3), (1, -1 / 3), (1, 1 / 3), (-1, 1 / 3), (-1, -1 / 3)], closed=True)
        return [(-1, minus, style.VERMILLION), (1, "P", style.BLUE)]

    @staticmethod
    def _name(ax: Any, title: str, note: str) -> None:
        ax.set_title(title, fontsize=style.TITLE_SIZE, color=style.INK, fontweight="bold", loc="left", pad=20)
        look = {"fontsize": style.LABEL_SIZE, "color": style.INK, "va": "bottom"}
        ax.annotate(note, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", **look)

    def _explain(self) -> None:
        """The legend, under all panels of a figure that is ours."""
        line = style.part("lines").Line2D
        handles = [
            line([], [], linestyle="", marker=marker, markersize=10, color=colour, markeredgecolor="white")
            for _, marker, colour in reversed(self._kinds())
        ]
        ring = {"markerfacecolor": "none", "markeredgecolor": style.INK, "markeredgewidth": 0.9}
        labels = [f"class {self.classes[1]}", f"class {self.classes[0]}"]
        if self._is_small:
            handles.append(line([], [], linestyle="", marker="o", markersize=11, **ring))
            labels.append("wrong side")
        look = {"loc": "outside lower center", "ncols": 3, "frameon": False, "labelcolor": style.INK}
        self.figure_.legend(handles, labels, fontsize=style.LABEL_SIZE, **look)


def _limits(values: Floats) -> Limits:
    """From a little below to a little above the values."""
    low, high = float(values.min()), float(values.max())
    margin = 0.1 * (high - low) or 1.0
    return low - margin, high + margin


def _grid(limits: tuple[Limits, Limits]) -> Floats:
    """Points of the plane, (240 * 240, 2), rows of the picture from below."""
    x, y = np.meshgrid(*(np.linspace(*limit, _GRID) for limit in limits))
    return np.column_stack([x.ravel(), y.ravel()])


def _mean_area(n_points: int) -> float:
    """Area of a point of mean weight, in square points: smaller when there are many."""
    return 150.0 * min(1.0, math.pow(30 / n_points, 0.75))
