"""Margins of some rows after several rounds of boosting, and sample weights after every round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, integer
from hedgerow.plots import labels, style
from hedgerow.plots.base import Display, Legend
from hedgerow.theory.resamples import as_pair

_EARLY = (5, 100)  # rounds whose margins are drawn before the last
_DASHES: tuple[Any, ...] = ("solid", (0, (6, 1.5)), (0, (3, 1.5)), (0, (1, 1.2)))  # from the last round back
_MAX_ROWS = 14  # rows whose names fit beside the curves of their weights
_QUANTILES = (0.05, 0.5, 0.95)  # of the weights of all other rows
_MIN_WEIGHT = 1e-6  # of the y axis, relative to the largest: the weights of easy rows soon approach 0


@dataclass(eq=False)
class MarginDistributionDisplay(Display):
    """The cumulative distribution of the margins of some rows, after several rounds.

    Make it with `from_estimator`. The margin of a row is the share of the votes for its label minus that for
    the strongest other class: above 0 the prediction is correct, at 1 all votes agree. Boosting continues to
    increase small margins after the training error is 0.

    Parameters
    ----------
    margins : float64 array of shape (curves, n_samples)
    rounds : list of int, or None
        The number of rounds of each curve; None for the one curve of a model without rounds.

    References
    ----------
    R. Schapire, Y. Freund, P. Bartlett, W. S. Lee, "Boosting the margin: a new explanation for the
    effectiveness of voting methods", The Annals of Statistics 26, 1998.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> display = MarginDistributionDisplay.from_estimator(model, X, y, rounds=[1, 3, 20])
    >>> display.margins.min(axis=1).round(2)
    array([-1.  ,  0.08,  0.3 ])
    """

    margins: Floats
    rounds: list[int] | None = None

    _size = (5.4, 4.1)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None, ax: Any = None
    ) -> Self:
        """Compute the margins of some rows, and draw their distribution.

        Parameters
        ----------
        model : fitted classifier
            A model with `staged_margins(X, y)`; one with only `margins(X, y)` has one curve.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            Usually the training set.
        rounds : sequence of int, or None
            At most seven numbers of rounds, counted from 1. None for 5, 100 and the last.
        ax : as in `plot`
        """
        check_is_fitted(model)
        kind = type(model).__name__
        as_pair((X, y), "the data")
        if hasattr(model, "staged_margins"):
            chosen = _read_rounds(rounds, int(model.n_estimators_))
            found = {
                number: np.array(margins, dtype=np.float64)
                for number, margins in enumerate(model.staged_margins(X, y), start=1)
                if number in chosen
            }
            return cls(np.array([found[number] for number in chosen]), chosen).plot(ax)
        if not hasattr(model, "margins"):
            raise TypeError(f"{kind} has no margins: it must be a classifier that votes")
        if rounds is not None:
            raise ValueError(
                f"rounds={rounds!r} is not allowed: {kind} has no staged_margins, so it must be None"
            )
        return cls(np.asarray(model.margins(X, y), dtype=np.float64)[np.newaxis]).plot(ax)

    def _draw(self, ax: Any) -> Legend:
        ax.axvline(0, color=style.FAINT, linewidth=0.9, zorder=1)
        n_curves, n_rows = self.margins.shape
        shares = np.concatenate([[0.0], np.arange(1, n_rows + 1) / n_rows, [1.0]])
        for number, margins in enumerate(self.margins):
            later = n_curves - 1 - number  # the last curve is always solid and blue
            props = {"color": style.COLOURS[later % len(style.COLOURS)], "zorder": 3 + number}
            props |= {"linestyle": _DASHES[later % len(_DASHES)], "linewidth": 1.8}
            x = np.concatenate([[-1.0], np.sort(margins), [1.0]])
            ax.plot(x, shares, drawstyle="steps-post", label=self._name(number), **props)
        for text, side, align in (("error", -1, "right"), ("correct", 1, "left")):
            props = {"ha": align, "va": "bottom", "color": style.INK, "fontsize": style.TICK_SIZE}
            ax.annotate(text, (0, 1.015), (5 * side, 0), textcoords="offset points", **props)
        ax.set(xlim=(-1.02, 1.02), ylim=(0, 1.09))  # space for the texts above
        labels.percent_axis(ax.yaxis)
        labels.plain_axis(ax.xaxis)
        locator = style.mpl("ticker").FixedLocator
        ax.yaxis.set_major_locator(locator([0, 0.25, 0.5, 0.75, 1]))
        ax.xaxis.set_major_locator(locator([-1, -0.5, 0, 0.5, 1]))
        labels.name_axes(ax, "margin", "cumulative share of rows")
        return [], []

    def _name(self, number: int) -> str:
        smallest = labels.minus(f"{self.margins[number].min():.2f}")
        if self.rounds is None:
            return f"smallest margin {smallest}"
        count = self.rounds[number]
        return f"{count:,} round{'s' if count > 1 else ''}: smallest {smallest}"


def _read_rounds(rounds: Any, n_rounds: int) -> list[int]:
    """Return the rounds to draw, in increasing order.

    >>> _read_rounds(None, 1000), _read_rounds(None, 30), _read_rounds([30, 2], 30)
    ([5, 100, 1000], [5, 30], [2, 30])
    """
    if rounds is None:
        return [*(number for number in _EARLY if number < n_rounds), n_rounds]
    passed = [] if isinstance(rounds, str | int) else list(np.ravel(np.asarray(rounds, dtype=object)))
    if not all(map(integer(1, n_rounds).test, passed)) or not 0 < len(set(passed)) <= len(style.COLOURS):
        raise ValueError(
            f"rounds={rounds!r} is not allowed: the model has the rounds 1 to {n_rounds}, and it must be "
            f"None or up to {len(style.COLOURS)} of their numbers"
        )
    return sorted({int(number) for number in passed})


@dataclass(eq=False)
class WeightPathsDisplay(Display):
    """The weights of some training rows after every round, in units of 1 / n.

    Make it with `from_estimator`. The weight is 1 on average. Rows that no round classifies correctly, such
    as those with a wrong label, get large weights. With 60 rounds and more, a pale line is the weight, and
    a strong line its geometric mean over several rounds.

    Parameters
    ----------
    paths : float64 array of shape (rows, rounds)
        n times the weights of the rows that are named.
    names : list of str
    others : float64 array of shape (3, rounds), or None
        The 5 % quantile, the median and the 95 % quantile of all other rows; None without other rows.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import make_hastie
    >>> X, y = make_hastie(300, 2, random_state=0)
    >>> y[7] = -y[7]
    >>> model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    >>> display = WeightPathsDisplay.from_estimator(model, X, y, n_rows=3)
    >>> display.names
    ['row 7', 'row 200', 'row 96']
    """

    paths: Floats
    names: list[str]
    others: Floats | None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        rows: Sequence[int] | Mapping[str, int] | None = None,
        n_rows: int = 5,
        ax: Any = None,
    ) -> Self:
        """Compute the weights of the training rows, and draw some of them.

        Parameters
        ----------
        model : fitted classifier
            A model of the AdaBoost family, with `staged_sample_weights` and `outlier_scores`.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            The training set.
        rows : sequence of int, dict from names to int, or None
            At most 14 numbers of rows, counted from 0. None for the rows of the highest outlier scores.
        n_rows : int
            Number of rows to draw with rows=None.
        ax : as in `plot`
        """
        check_parameters({"n_rows": n_rows}, {"n_rows": integer(1, _MAX_ROWS)})
        check_is_fitted(model)
        for method in ("staged_sample_weights", "outlier_scores"):
            if not hasattr(model, method):
                raise TypeError(f"{type(model).__name__} has no {method}: it must be of the AdaBoost family")
        as_pair((X, y), "the training set")
        if rows is None:
            chosen = np.argsort(-np.asarray(model.outlier_scores(X, y)), kind="stable")[:n_rows]
            names = [f"row {row}" for row in chosen]
        else:
            chosen, names = _read_rows(rows, len(y))
        is_other = np.ones(len(y), dtype=np.bool_)
        is_other[chosen] = False
        paths, others = [], []
        for weights in model.staged_sample_weights(X, y):
            relative = len(y) * np.asarray(weights, dtype=np.float64)
            paths.append(relative[chosen])
            if is_other.any():
                others.append(np.quantile(relative[is_other], _QUANTILES))
        return cls(np.array(paths).T, names, np.array(others).T if others else None).plot(ax)

    def _draw(self, ax: Any) -> Legend:
        n_rounds = self.paths.shape[1]
        rounds = np.arange(1, n_rounds + 1)
        marker: dict[str, Any] = {"marker": "o", "markersize": 4} if n_rounds == 1 else {}
        low, high = self._limits()
        if self.others is not None:
            lower, median, upper = np.maximum(self.others, low)
            props = {"color": style.FAINT, "alpha": 0.3, "linewidth": 6 if n_rounds == 1 else 0}
            ax.fill_between(rounds, lower, upper, label="other rows, 5 % to 95 %", **props)
            ax.plot(rounds, median, color=style.FAINT, linewidth=1.6, label="their median", **marker)
        colours = [style.COLOURS[number % len(style.COLOURS)] for number in range(len(self.paths))]
        drawn, width = np.maximum(self.paths, low), _window(n_rounds)
        smooth = drawn if width == 1 else np.exp(_running_mean(np.log(drawn), width))
        for path, line, colour in zip(drawn, smooth, colours, strict=True):
            if width > 1:
                ax.plot(rounds, path, color=colour, linewidth=0.7, alpha=0.22, zorder=2)
            ax.plot(rounds, line, color=colour, linewidth=1.7, zorder=3, **marker)
        ax.set_yscale("log")
        ax.set_ylim(low, high)
        labels.plain_log_ticks(ax.yaxis, low, high)
        labels.rounds_axis(ax, n_rounds, log=False)
        labels.name_axes(ax, "rounds", "sample weight, in units of 1/n")
        labels.end_labels(ax, smooth[:, -1], self.names, colours)
        if width == 1:
            return [], []
        mean = style.mpl("lines").Line2D([], [], color=style.BLUE, linewidth=1.7)
        return [mean], [f"a row, mean of {width} rounds"]

    def _limits(self) -> tuple[float, float]:
        """Return the limits of the y axis, which contain everything except weights near 0."""
        drawn = self.paths if self.others is None else np.concatenate([self.paths, self.others])
        high = max(float(drawn.max()), 1.0)
        low = min(float(drawn[drawn > 0].min(initial=1.0)), 1.0)
        return max(low, _MIN_WEIGHT * high) / 1.25, 1.25 * high


def _window(n_rounds: int) -> int:
    """Return the number of rounds that a line averages, since weights change with every round.

    >>> _window(30), _window(100), _window(1000)
    (1, 5, 41)
    """
    return 1 if n_rounds < 60 else 2 * (n_rounds // 50) + 1


def _running_mean(paths: Floats, width: int) -> Floats:
    """Return the mean of `width` rounds around each, of fewer at the ends.

    >>> _running_mean(np.array([[1.0, 2.0, 6.0, 4.0]]), 3)
    array([[1.5, 3. , 4. , 5. ]])
    """
    window = np.ones(width)
    sums = np.array([np.convolve(path, window, "same") for path in paths])
    return np.asarray(sums / np.convolve(np.ones(paths.shape[1]), window, "same"))


def _read_rows(rows: Any, n: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return numbers and names of the rows to draw."""
    is_named = isinstance(rows, Mapping)
    passed: list[Any] = list(rows.values()) if is_named else np.ravel(np.asarray(rows, dtype=object)).tolist()
    if not all(map(integer(0, n - 1).test, passed)) or not 0 < len(passed) <= _MAX_ROWS:
        raise ValueError(
            f"rows={rows!r} is not allowed: it must be None or from 1 to {_MAX_ROWS} numbers of rows, from 0 "
            f"to {n - 1}, or a dict from names to them"
        )
    names = [str(name) for name in rows] if is_named else [f"row {row}" for row in passed]
    return np.array(passed, dtype=np.int64), names
