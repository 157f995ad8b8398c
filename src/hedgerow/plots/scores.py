"""Scores of several methods side by side, best first."""

import math
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.plots import labels, style
from hedgerow.plots.classes import some
from hedgerow.selection.comparing import Comparison
from hedgerow.selection.metrics import METRICS
from hedgerow.selection.results import Choice

_SHARES = ("accuracy", "balanced-accuracy")  # written as per cent

Scores = dict[str, tuple[float, float]]  # mean and spread by the title of the method


@dataclass(eq=False)
class ScoresDisplay:
    """The scores of several methods as dots with their spread, the best at the top.

    Make it with `from_comparison`; the parameters are what it draws.

    Parameters
    ----------
    names : list of str
        The methods, the best first.
    means, spreads : lists of float
        A spread of 0 or NaN has no whisker.
    measure : str
        What the scores are.
    higher_is_better, is_share : bool

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
        """Draw what `compare` or `choose` has found.

        Parameters
        ----------
        comparison : Comparison or Choice
        metric : str, optional
            The name of a metric; None for that of the choice, or for the first of the comparison.
        ax
            As in `plot`.

        Returns
        -------
        ScoresDisplay
        """
        if isinstance(comparison, Comparison):
            known = [metric for row in comparison.rows for metric in row.scores]
            metric = metric or next(iter(known), "")
            found = {row.title: row.scores[metric] for row in comparison.rows if metric in row.scores}
        elif isinstance(comparison, Choice):
            known = [metric for trial in comparison.ranked for metric in trial.scores]
            metric = metric or comparison.metric
            found = _of_trials(comparison, metric)
        else:
            raise TypeError(
                f"comparison is a {type(comparison).__name__}: what compare or choose returns is needed"
            )
        if not known:
            raise ValueError("no method has a score: there is nothing to draw")
        if not found:
            raise ValueError(
                f"metric={metric!r} is not allowed: it must be one of {some([*dict.fromkeys(known)])}"
            )
        return cls.from_scores(found, metric, ax=ax)

    @classmethod
    def from_scores(cls, scores: Scores, metric: str, *, ax: Any = None) -> Self:
        """Draw scores by name.

        Parameters
        ----------
        scores : dict of (mean, spread)
        metric : str
            A name of `hedgerow.selection.METRICS`.
        ax
            As in `plot`.

        Returns
        -------
        ScoresDisplay
        """
        if metric not in METRICS:
            raise ValueError(f"metric={metric!r} is not allowed: it must be one of {some(list(METRICS))}")
        higher = METRICS[metric].higher_is_better
        known = {name: pair for name, pair in scores.items() if math.isfinite(pair[0])}
        if not known:
            raise ValueError("no method has a score that is a number: there is nothing to draw")
        order = sorted(known, key=lambda name: known[name][0], reverse=higher)
        means, spreads = [float(known[name][0]) for name in order], [float(known[name][1]) for name in order]
        return cls(order, means, spreads, METRICS[metric].title, higher, metric in _SHARES).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the dots.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.

        Returns
        -------
        self
        """
        names = [labels.short(name, 36) for name in self.names]
        width = 4.6 + 0.065 * max(map(len, names))
        self.figure_, axes, _ = style.panels(ax, 1, 1, (width, 0.8 + 0.29 * max(len(names), 2)))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        spreads = [spread if math.isfinite(spread) else 0.0 for spread in self.spreads]
        ends = [mean + spread for mean, spread in zip(self.means, spreads, strict=True)]
        starts = [mean - spread for mean, spread in zip(self.means, spreads, strict=True)]
        low, high = min(starts), max(ends)
        reach = high - low or abs(high) or 1.0
        for place, (mean, spread) in enumerate(zip(self.means, spreads, strict=True)):
            colour = style.BLUE if place else style.VERMILLION
            guide = {"color": style.FAINT, "linewidth": 0.6, "alpha": 0.6, "zorder": 0}
            self.ax_.hlines(place, low - 0.06 * reach, mean, **guide)
            if spread > 0:
                self.ax_.hlines(place, mean - spread, mean + spread, color=colour, linewidth=1.4, zorder=2)
            self.ax_.plot(mean, place, "o", color=colour, markersize=6, zorder=3)
            words = labels.percent(mean) if self.is_share else labels.minus(f"{mean:.4g}")
            self.ax_.annotate(
                words, (ends[place], place), (7, 0), textcoords="offset points", va="center",
                fontsize=style.TICK_SIZE, color=colour,
            )  # fmt: skip
        self.ax_.set(xlim=(low - 0.06 * reach, high + 0.2 * reach), ylim=(len(names) - 0.4, -0.6))
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.tick_params(axis="y", length=0)
        if self.is_share:
            labels.percent_axis(self.ax_.xaxis)
        else:
            labels.plain_axis(self.ax_.xaxis)
        better = "more is better" if self.higher_is_better else "less is better"
        labels.name_axes(self.ax_, f"{self.measure} ({better})", "")
        return self


def _of_trials(choice: Choice, metric: str) -> Scores:
    """The best trial of each method; its spread is that of the metric it was chosen by, 0 for another."""
    found: Scores = {}
    for trial in choice.ranked:
        if metric in trial.scores and trial.title not in found:
            spread = trial.spread if metric == choice.metric and trial.spread is not None else 0.0
            found[trial.title] = (trial.scores[metric], spread)
    return found
