"""Bias and variance as stacked bars, one per estimator."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.plots import labels as text
from hedgerow.plots import style
from hedgerow.plots.base import Display, Legend
from hedgerow.theory import BiasVariance, bias_variance

_WIDTH = 0.62  # of a bar; the next is at 1
_LINE = 10  # letters per line of a name
# Colours of the terms. Terms that are never drawn together share a colour.
_COLOURS = {
    "noise": style.FAINT,
    "net_noise": style.FAINT,
    "bias": style.BLUE,
    "variance": style.VERMILLION,
    "unbiased_variance": style.VERMILLION,
}
_SUBTRACTED: dict[str, Any] = {"facecolor": "white", "edgecolor": style.VERMILLION, "hatch": "////"}
_AXES = {
    "squared": "squared error",
    "brier": "Brier score",
    "zero_one": "error rate",
    "kohavi_wolpert": "error rate",
}


@dataclass(eq=False)
class BiasVarianceDisplay(Display):
    """The errors of several estimators as stacked bars of noise, bias and variance.

    Make it with `from_estimators` or `from_results`. The line across a bar is the error, which is also
    written above the bar. It is the top of the bar, except for zero-one loss, where the biased variance,
    hatched, is subtracted.

    Parameters
    ----------
    results : list of BiasVariance
        Results for the same loss.
    names : list of str
        Names of the bars.

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
        """Draw results of `hedgerow.theory.bias_variance`.

        Parameters
        ----------
        results : dict or sequence of BiasVariance
            The keys of a dict name the bars; otherwise the classes of the estimators do.
        ax, legend : as in `plot`
        """
        if isinstance(results, Mapping):
            names, items = [str(name) for name in results], list(results.values())
        else:
            items = list(results)
            # AdaBoostClassifier as separate words for line breaks
            names = [re.sub("(?<=[a-z])(?=[A-Z])", " ", getattr(result, "name", "")) for result in items]
        if not items or not all(isinstance(result, BiasVariance) for result in items):
            raise ValueError(f"results={results!r} is not allowed: it must hold one or more BiasVariance")
        sums = {(result.loss, *(name for _, _, name in result.sum_of_terms)) for result in items}
        if len(sums) > 1:
            kinds = "; ".join(sorted(f"{loss}: {', '.join(terms)}" for loss, *terms in sums))
            raise ValueError(f"results are of different kinds ({kinds}): they must be of one kind")
        return cls(items, names).plot(ax, legend=legend)

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
        """Decompose the errors of several estimators on the same training sets, and draw them.

        Parameters
        ----------
        estimators : dict or sequence of estimators
            The keys of a dict name the bars; otherwise the classes do.
        sampler
            As in `hedgerow.theory.bias_variance`.
        ax, legend : as in `plot`
        random_state : int
            Seed of the training sets.
        **options
            `test`, `loss`, `noise`, `n_repeats`, `n_jobs` and `verbose` of `hedgerow.theory.bias_variance`.
        """

        def measure(estimator: Any) -> BiasVariance:
            return bias_variance(estimator, sampler, random_state=random_state, **options)

        if isinstance(estimators, Mapping):
            results = {name: measure(estimator) for name, estimator in estimators.items()}
            return cls.from_results(results, ax=ax, legend=legend)
        return cls.from_results([measure(estimator) for estimator in estimators], ax=ax, legend=legend)

    def _figure_size(self) -> tuple[float, float]:
        return max(3.6, 1.15 * len(self.names) + 0.9), 3.4

    def _draw(self, ax: Any) -> Legend:
        tops = [self._stack(number, result) for number, result in enumerate(self.results)]
        highest = max([0.0, *tops])
        decimals = max(0, 2 - math.floor(math.log10(highest))) if highest else 0  # three digits
        props = {"ha": "center", "va": "bottom", "fontsize": style.TICK_SIZE, "color": style.INK}
        for number, (top, result) in enumerate(zip(tops, self.results, strict=True)):
            value = f"{result.error:.{decimals}f}"
            ax.annotate(value, (number, top), (0, 3), textcoords="offset points", **props)
        ax.set_ylim(0, 1.12 * highest or 1.0)  # space for the numbers
        ax.set_xlim(-0.6, len(self.names) - 0.4)
        wrapped = ["\n".join(textwrap.wrap(name, _LINE)) for name in self.names]
        ax.set_xticks(range(len(self.names)), wrapped)
        ax.tick_params(axis="x", length=0)
        text.name_axes(ax, "", _AXES[self.results[0].loss])
        # in place of the x label, which is not used
        self._legend_shift = 1.35 * style.TICK_SIZE * (max(name.count("\n") for name in wrapped) - 1)
        return self._legend()

    def _stack(self, number: int, result: BiasVariance) -> float:
        """Draw one bar; return its height."""
        bottom, left = 0.0, number - _WIDTH / 2
        for sign, term, _ in result.sum_of_terms:
            height = max(getattr(result, term), 0.0)  # a bias near zero may be measured as negative
            if sign == "+":
                self.ax_.bar(number, height, _WIDTH, bottom, color=_COLOURS[term], linewidth=0)
                bottom += height
            elif height:
                self.ax_.bar(number, height, _WIDTH, bottom - height, linewidth=0, **_SUBTRACTED)
        self.ax_.plot([left - 0.06, left + _WIDTH + 0.06], [result.error] * 2, color=style.INK, linewidth=1.6)
        return max(bottom, result.error)

    def _legend(self) -> Legend:
        patch, line = style.mpl("patches").Patch, style.mpl("lines").Line2D
        handles, names = [], []
        for sign, term, name in self.results[0].sum_of_terms:
            fill = {"facecolor": _COLOURS[term]} if sign == "+" else _SUBTRACTED
            handles.append(patch(linewidth=0, **fill))
            names.append(name if sign == "+" else f"{name} (subtracted)")
        return [*handles, line([], [], color=style.INK, linewidth=1.6)], [*names, "error"]
