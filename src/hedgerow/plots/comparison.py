"""Comparisons of several methods: scores, the best first, and curves over one quantity."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag
from hedgerow.plots import labels, style
from hedgerow.plots.base import Display
from hedgerow.plots.inputs import list_some
from hedgerow.selection.comparing import Comparison
from hedgerow.selection.metrics import METRICS, metric_named
from hedgerow.selection.results import Choice
from hedgerow.text_table import format_mean, format_number

_PERCENT_METRICS = ("accuracy", "balanced-accuracy")
_PERCENT_NAMES = ("accuracy", "error", "share")  # in a label: the axis is in per cent

MeanScores = dict[str, tuple[float, float]]  # mean and standard deviation by the title of the method


@dataclass(eq=False)
class ScoresDisplay(Display):
    """Scores of several methods as dots with error bars, the best at the top.

    Make it with `from_comparison` or `from_scores`.

    Parameters
    ----------
    names : list of str
        The methods, the best first.
    means, spreads : lists of float
        A spread of 0 or NaN has no error bar.
    measure : str
        Title of the metric.
    higher_is_better, is_share : bool

    Examples
    --------
    >>> display = ScoresDisplay.from_scores({"forest": (0.91, 0.02), "boosting": (0.93, 0.01)}, "accuracy")
    >>> display.names
    ['boosting', 'forest']
    """

    names: list[str]
    means: list[float]
    spreads: list[float]
    measure: str
    higher_is_better: bool = True
    is_share: bool = False

    @classmethod
    def from_comparison(cls, comparison: Any, metric: str | None = None, *, ax: Any = None) -> Self:
        """Draw the result of `compare` or `choose`.

        Parameters
        ----------
        comparison : Comparison or Choice
        metric : str, optional
            The name of a metric; None for that of the choice, or for the first of the comparison.
        ax : as in `plot`
        """
        if isinstance(comparison, Comparison):
            known = [metric for row in comparison.rows for metric in row.scores]
            metric = metric or next(iter(known), "")
            scores = {row.title: row.scores[metric] for row in comparison.rows if metric in row.scores}
        elif isinstance(comparison, Choice):
            known = [metric for trial in comparison.ranked for metric in trial.scores]
            metric = metric or comparison.metric
            scores = _best_trials(comparison, metric)
        else:
            kind = type(comparison).__name__
            raise TypeError(f"comparison must be the result of compare or choose; got a {kind}")
        if not known:
            raise ValueError("no method has a score: there is nothing to draw")
        if not scores:
            allowed = list_some([*dict.fromkeys(known)])
            raise ValueError(f"metric={metric!r} is not allowed: it must be one of {allowed}")
        return cls.from_scores(scores, metric, ax=ax)

    @classmethod
    def from_scores(cls, scores: MeanScores, metric: str, *, ax: Any = None) -> Self:
        """Draw scores by name.

        Parameters
        ----------
        scores : dict of (mean, standard deviation)
        metric : str
            A name of `hedgerow.selection.METRICS`.
        ax : as in `plot`
        """
        found = metric_named(metric)
        if found is None:
            raise ValueError(
                f"metric={metric!r} is not allowed: it must be one of {list_some(list(METRICS))}"
            )
        higher = found.higher_is_better
        known = {name: pair for name, pair in scores.items() if math.isfinite(pair[0])}
        if not known:
            raise ValueError("no method has a score that is a number: there is nothing to draw")
        order = sorted(known, key=lambda name: known[name][0], reverse=higher)
        means, spreads = ([float(known[name][which]) for name in order] for which in (0, 1))
        return cls(order, means, spreads, found.title, higher, metric in _PERCENT_METRICS).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        longest = max(len(labels.shorten(name, 36)) for name in self.names)
        return 4.6 + 0.065 * longest, 0.8 + 0.29 * max(len(self.names), 2)

    def _format(self, mean: float, spread: float) -> str:
        """Format a value, rounded to the digit of its error; shares are in per cent."""
        if not spread > 0:
            return labels.percent(mean) if self.is_share else labels.minus(format_number(mean))
        factor = 100.0 if self.is_share else 1.0
        return labels.minus(format_mean((factor * mean, factor * spread))) + (" %" if self.is_share else "")

    def _draw(self, ax: Any) -> None:
        means, spreads = np.array(self.means), np.nan_to_num(self.spreads, posinf=0.0)
        low, high = float((means - spreads).min()), float((means + spreads).max())
        width = high - low or abs(high) or 1.0
        for number, (mean, spread) in enumerate(zip(means.tolist(), spreads.tolist(), strict=True)):
            colour = style.BLUE if number else style.VERMILLION
            guide = {"color": style.FAINT, "linewidth": 0.6, "alpha": 0.6, "zorder": 0}
            ax.hlines(number, low - 0.06 * width, mean, **guide)
            if spread > 0:
                ax.hlines(number, mean - spread, mean + spread, color=colour, linewidth=1.4, zorder=2)
            ax.plot(mean, number, "o", color=colour, markersize=6, zorder=3)
            text = self._format(mean, spread)
            labels.write_right_of(ax, text, (mean + spread, number), shift=7, color=colour)
        ax.set_xlim(low - 0.06 * width, high + 0.36 * width)  # space for the texts
        labels.name_bars(ax, [labels.shorten(name, 36) for name in self.names])
        labels.value_axis(ax.xaxis, is_share=self.is_share)
        better = "higher is better" if self.higher_is_better else "lower is better"
        labels.name_axes(ax, f"{self.measure} ({better})", "")


def _best_trials(choice: Choice, metric: str) -> MeanScores:
    """Return the score of the best trial of a method; spreads are 0 except for the metric of the choice."""
    scores: MeanScores = {}
    for trial in choice.ranked:
        if metric in trial.scores and trial.title not in scores:
            spread = trial.spread if metric == choice.metric and trial.spread is not None else 0.0
            scores[trial.title] = (trial.scores[metric], spread)
    return scores


@dataclass(eq=False)
class CurvesDisplay(Display):
    """Curves over one quantity, each named at its right end, with a band of its spread.

    Make it with `from_values`.

    Parameters
    ----------
    x : float64 array of shape (points,)
    curves : dict of (mean, spread)
        By name; each a float64 array of shape (points,), the spread may be None. NaN is not drawn.
    x_label, y_label : str
    log_x : bool
        Whether the x axis is logarithmic.

    Examples
    --------
    >>> found = {"AdaBoost": ([0.81, 0.9, 0.93], [0.02, 0.01, 0.01]), "forest": ([0.85, 0.9, 0.91], None)}
    >>> display = CurvesDisplay.from_values(
    ...     [1, 10, 100], found, x_label="learners", y_label="accuracy", log_x=True
    ... )
    >>> display.curves["forest"][0]
    array([0.85, 0.9 , 0.91])
    """

    x: Floats
    curves: dict[str, tuple[Floats, Floats | None]]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False

    _size = (6.4, 4.0)

    @classmethod
    def from_values(
        cls,
        x: ArrayLike,
        curves: Mapping[str, tuple[ArrayLike, ArrayLike | None]],
        *,
        x_label: str = "",
        y_label: str = "",
        log_x: bool = False,
        ax: Any = None,
    ) -> Self:
        """Check the values and draw them.

        Parameters
        ----------
        x : array of shape (points,)
            Increasing.
        curves : dict of (mean, spread)
            By name, at most seven; arrays of shape (points,), the spread may be None.
        x_label, y_label : str
            A y label with "accuracy", "error" or "share" has an axis in per cent.
        log_x : bool
            Whether the x axis is logarithmic.
        ax : as in `plot`
        """
        check_parameters({"log_x": log_x}, {"log_x": flag()})
        points = np.asarray(x, dtype=np.float64)
        if points.ndim != 1 or not points.size or not np.all(np.diff(points) > 0):
            raise ValueError(f"x of shape {points.shape} is not allowed: it must be increasing numbers")
        if log_x and points[0] <= 0:
            raise ValueError(f"x begins with {points[0]:g}: with log_x=True it must be above 0")
        if not 0 < len(curves) <= len(style.COLOURS):
            raise ValueError(
                f"{len(curves)} curves are not allowed: there must be 1 to {len(style.COLOURS)}, one per "
                "colour"
            )
        read = {name: _read_curve(name, pair, len(points)) for name, pair in curves.items()}
        return cls(points, read, x_label, y_label, log_x).plot(ax)

    def _draw(self, ax: Any) -> None:
        marker = {"marker": "o", "markersize": 4} if len(self.x) <= 12 else {}
        ends = []
        for (mean, spread), colour in zip(self.curves.values(), style.COLOURS, strict=False):
            known = np.isfinite(mean)
            x, y = self.x[known], mean[known]
            ends.append(y[-1])
            ax.plot(x, y, color=colour, linewidth=1.8, zorder=3, clip_on=False, **marker)
            if spread is not None:
                half = np.nan_to_num(spread[known])
                ax.fill_between(x, y - half, y + half, color=colour, alpha=0.13, linewidth=0, zorder=2)
        if self.log_x and len(self.x) > 1:
            ax.set_xscale("log")
            labels.plain_log_ticks(ax.xaxis, float(self.x[0]), float(self.x[-1]))
        else:
            labels.value_axis(ax.xaxis, is_share=_is_share(self.x_label))
        if len(self.x) > 1:
            ax.set_xlim(self.x[0], self.x[-1])
        labels.value_axis(ax.yaxis, is_share=_is_share(self.y_label))
        names = [labels.shorten(name, 28) for name in self.curves]
        labels.end_labels(ax, np.array(ends), names, list(style.COLOURS[: len(names)]))
        labels.name_axes(ax, self.x_label, self.y_label)


def _is_share(label: str) -> bool:
    return any(name in label for name in _PERCENT_NAMES)


def _read_curve(name: str, pair: Any, n_points: int) -> tuple[Floats, Floats | None]:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"curve {name!r} must be a pair of means and spreads; the spreads may be None")
    mean = np.asarray(pair[0], dtype=np.float64)
    spread = None if pair[1] is None else np.asarray(pair[1], dtype=np.float64)
    for what, values in (("means", mean), ("spreads", spread)):
        if values is not None and values.shape != (n_points,):
            raise ValueError(f"curve {name!r} has {what} of shape {values.shape}: x has {n_points} points")
    if not np.isfinite(mean).any():
        raise ValueError(f"curve {name!r} holds no number: there is nothing to draw")
    return mean, spread
