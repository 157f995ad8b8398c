"""Bias and variance as stacked bars, one an estimator."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.plots import style
from hedgerow.theory import BiasVariance, bias_variance

_WIDTH = 0.62  # of a bar, of the place it has
_LINE = 10  # letters of a name before it goes on in the next line
# Of the terms, in the order of the stack. Terms that one picture never shows together share a colour.
_LOOKS = {
    "noise": style.FAINT,
    "net_noise": style.FAINT,
    "bias": style.BLUE,
    "variance": style.VERMILLION,
    "unbiased_variance": style.VERMILLION,
}
_TAKEN_OFF: dict[str, Any] = {"facecolor": "white", "edgecolor": style.VERMILLION, "hatch": "////"}
_AXES = {
    "squared": "squared error",
    "brier": "Brier score",
    "zero_one": "share of wrong labels",
    "kohavi_wolpert": "share of wrong labels",
}


@dataclass(eq=False)
class BiasVarianceDisplay:
    """What the errors of several estimators consist of: noise, bias and variance in stacked bars.

    Make it with `from_estimators` or `from_results`. The line across a bar is the error, and the figure above
    the bar says it. It is the top of the bar, but for zero-one loss: there the biased variance, hatched, is
    taken off.

    Parameters
    ----------
    results : list of BiasVariance
        Of the same loss.
    names : list of str
        Of the bars.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> display = BiasVarianceDisplay.from_estimators(
    ...     {"stump": DecisionTreeRegressor(max_depth=1), "deep tree": DecisionTreeRegressor(max_depth=None)},
    ...     lambda seed: make_friedman1(100, noise=1.0, random_state=seed),
    ...     test=make_friedman1(200, noise=0.0, random_state=12345),
    ...     noise=1.0,
    ...     random_state=0,
    ... )
    >>> stump, deep = display.results
    >>> stump.bias > deep.bias, stump.variance < deep.variance
    (True, True)
    """

    results: list[BiasVariance]
    names: list[str]

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, BiasVariance] | Sequence[BiasVariance],
        *,
        ax: Any = None,
        legend: bool = True,
    ) -> Self:
        """Draw what was measured.

        Parameters
        ----------
        results : dict or sequence of BiasVariance
            By the names of the bars, or named after the estimators.
        ax, legend
            As in `plot`.

        Returns
        -------
        BiasVarianceDisplay
        """
        if isinstance(results, Mapping):
            names, found = [str(name) for name in results], list(results.values())
        else:
            found = list(results)
            # AdaBoostClassifier in words, which may stand in several lines
            names = [re.sub("(?<=[a-z])(?=[A-Z])", " ", getattr(result, "name", "")) for result in found]
        if not found or not all(isinstance(result, BiasVariance) for result in found):
            raise ValueError(f"results={results!r} is not allowed: it must hold one or more BiasVariance")
        sums = {(result.loss, *(words for _, _, words in result.sum_of_terms)) for result in found}
        if len(sums) > 1:
            kinds = "; ".join(sorted(f"{loss}: {', '.join(words)}" for loss, *words in sums))
            raise ValueError(f"results are of different kinds ({kinds}): they must be of one")
        return cls(found, names).plot(ax, legend=legend)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Sequence[Any],
        sampler: Any,
        *,
        ax: Any = None,
        legend: bool = True,
        random_state: Any = 0,
        **options: Any,
    ) -> Self:
        """Measure several estimators on the same training sets, and draw.

        Parameters
        ----------
        estimators : dict or sequence of estimators
            By the names of the bars, or named after their classes.
        sampler
            As in `hedgerow.theory.bias_variance`.
        ax, legend
            As in `plot`.
        random_state : int
            Of the training sets.
        **options
            `test`, `loss`, `noise`, `n_repeats`, `n_jobs` and `verbose` of `hedgerow.theory.bias_variance`.

        Returns
        -------
        BiasVarianceDisplay
        """

        def measure(estimator: Any) -> BiasVariance:
            return bias_variance(estimator, sampler, random_state=random_state, **options)

        if isinstance(estimators, Mapping):
            found = {name: measure(one) for name, one in estimators.items()}
            return cls.from_results(found, ax=ax, legend=legend)
        return cls.from_results([measure(one) for one in estimators], ax=ax, legend=legend)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        legend : bool
            Whether the terms are explained below.

        Returns
        -------
        self
        """
        size = (max(3.6, 1.15 * len(self.names) + 0.9), 3.4)
        self.figure_, axes, _ = style.panels(ax, 1, 1, size)
        self.ax_ = axes[0]
        tops = [self._stack(place, result) for place, result in enumerate(self.results)]
        highest = max([0.0, *tops])
        decimals = max(0, 2 - math.floor(math.log10(highest))) if highest else 0  # three digits
        look = {"ha": "center", "va": "bottom", "fontsize": style.TICK_SIZE, "color": style.INK}
        for place, (top, result) in enumerate(zip(tops, self.results, strict=True)):
            text = f"{result.error:.{decimals}f}"
            self.ax_.annotate(text, (place, top), (0, 3), textcoords="offset points", **look)
        style.dress(self.ax_)
        self.ax_.set_ylim(0, 1.12 * highest or 1.0)  # room for the figures
        self.ax_.set_xlim(-0.6, len(self.names) - 0.4)
        wrapped = ["\n".join(textwrap.wrap(name, _LINE)) for name in self.names]
        self.ax_.set_xticks(range(len(self.names)), wrapped)
        self.ax_.tick_params(axis="x", length=0)
        self.ax_.set_ylabel(_AXES[self.results[0].loss], fontsize=style.LABEL_SIZE, color=style.INK)
        if legend:
            self._explain()
        return self

    def _stack(self, place: int, result: BiasVariance) -> float:
        """One bar; returns the height of whatever is highest in it."""
        bottom, left = 0.0, place - _WIDTH / 2
        for sign, term, _ in result.sum_of_terms:
            height = max(getattr(result, term), 0.0)  # a bias near zero may be measured as negative
            if sign == "+":
                self.ax_.bar(place, height, _WIDTH, bottom, color=_LOOKS[term], linewidth=0)
                bottom += height
            elif height:
                self.ax_.bar(place, height, _WIDTH, bottom - height, linewidth=0, **_TAKEN_OFF)
        self.ax_.plot([left - 0.06, left + _WIDTH + 0.06], [result.error] * 2, color=style.INK, linewidth=1.6)
        return max(bottom, result.error)

    def _explain(self) -> None:
        """The legend below the names."""
        patch, line = style.part("patches").Patch, style.part("lines").Line2D
        handles, labels = [], []
        for sign, term, words in self.results[0].sum_of_terms:
            fill = {"facecolor": _LOOKS[term]} if sign == "+" else _TAKEN_OFF
            handles.append(patch(linewidth=0, **fill))
            labels.append(words if sign == "+" else f"{words} (taken off)")
        handles.append(line([], [], color=style.INK, linewidth=1.6))
        labels.append("error, in figures")
        n_lines = max(name.count("\n") + 1 for name in (t.get_text() for t in self.ax_.get_xticklabels()))
        look = {"frameon": False, "fontsize": style.LABEL_SIZE, "labelcolor": style.INK}
        # Below the tick labels, whose height is known in points only.
        height = self.ax_.get_position().height * self.figure_.get_figheight() * 72
        below = -(n_lines * 1.35 * style.TICK_SIZE + 10) / height
        letters = sum(len(label) + 6 for label in labels)  # 6: the patch and the gaps
        n_columns = len(labels) if letters <= 10 * len(self.names) + 20 else 2
        where = {"loc": "upper center", "bbox_to_anchor": (0.5, below), "ncols": n_columns}
        self.ax_.legend(handles, labels, **where, **look)
