"""Cumulative distributions of margins: which share of the rows has a margin up to so much."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.plots import labels, style
from hedgerow.theory.resamples import as_pair

_EARLY = (5, 100)  # rounds that are drawn before the last
_DASHES: tuple[Any, ...] = ("solid", (0, (6, 1.5)), (0, (3, 1.5)), (0, (1, 1.2)))  # from the last round back


@dataclass(eq=False)
class MarginDistributionDisplay:
    """The distribution of the margins of some rows, after several rounds.

    Make it with `from_estimator`; the parameters are what it draws. A margin is the share of the votes for
    the label less that for the strongest other class: above 0 the row is classified rightly, at 1 all votes
    agree. Boosting goes on to raise the small margins when no row is wrong any more.

    Parameters
    ----------
    margins : float64 array of shape (curves, n_samples)
    rounds : list of int, or None
        The number of rounds of each curve, counted from 1; None for the one curve of a model without rounds.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None, ax: Any = None
    ) -> Self:
        """Take the margins of some rows, and draw their distribution.

        Parameters
        ----------
        model : fitted classifier
            With `staged_margins(X, y)`, or `margins(X, y)` only: that is one curve.
        X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            The training data as a rule; other rows can be looked at as well.
        rounds : sequence of int, or None
            Rounds after which margins are drawn, counted from 1, seven at the most. None for 5, 100 and the
            last, as far as there are so many.
        ax
            As in `plot`.

        Returns
        -------
        MarginDistributionDisplay
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
            raise TypeError(f"{kind} has no margins: only votes of classifiers can be drawn")
        if rounds is not None:
            raise ValueError(
                f"rounds={rounds!r} is not allowed: {kind} has no staged_margins, it must be None"
            )
        return cls(np.asarray(model.margins(X, y), dtype=np.float64)[np.newaxis]).plot(ax)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        legend : bool
            Whether rounds and smallest margins are said below.

        Returns
        -------
        self
        """
        self.figure_, axes, _ = style.panels(ax, 1, 1, (5.4, 4.1))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        self.ax_.axvline(0, color=style.FAINT, linewidth=0.9, zorder=1)
        n_curves, n_rows = self.margins.shape
        shares = np.concatenate([[0.0], np.arange(1, n_rows + 1) / n_rows, [1.0]])
        for number, margins in enumerate(self.margins):
            later = n_curves - 1 - number  # the last curve is solid and blue whatever is before it
            look = {
                "color": style.COLOURS[later % len(style.COLOURS)],
                "linestyle": _DASHES[later % len(_DASHES)],
            }
            steps = np.concatenate([[-1.0], np.sort(margins), [1.0]])
            self.ax_.plot(
                steps, shares, drawstyle="steps-post", linewidth=1.8, label=self._name(number),
                zorder=3 + number, **look,
            )  # fmt: skip
        for words, side in (("wrong", -1), ("right", 1)):
            look = {"ha": "right" if side < 0 else "left", "va": "bottom", "color": style.INK}
            self.ax_.annotate(
                words, (0, 1.015), (5 * side, 0), textcoords="offset points", fontsize=style.TICK_SIZE, **look
            )
        self.ax_.set(xlim=(-1.02, 1.02), ylim=(0, 1.09))  # room for the words above
        ticker = style.part("ticker")
        self.ax_.yaxis.set_major_locator(ticker.FixedLocator([0, 0.25, 0.5, 0.75, 1]))
        self.ax_.yaxis.set_major_formatter(ticker.FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        self.ax_.xaxis.set_major_locator(ticker.FixedLocator([-1, -0.5, 0, 0.5, 1]))
        self.ax_.xaxis.set_major_formatter(
            ticker.FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−"))
        )
        labels.name_axes(self.ax_, "margin", "share of rows up to a margin")
        if legend:
            labels.legend_below(self.ax_)
        return self

    def _name(self, number: int) -> str:
        smallest = f"{self.margins[number].min():.2f}".replace("-", "−")
        if self.rounds is None:
            return f"smallest margin {smallest}"
        count = self.rounds[number]
        return f"{count:,} round{'s' if count > 1 else ''}: smallest {smallest}"


def _read_rounds(rounds: Any, n_rounds: int) -> list[int]:
    """The rounds to draw, in increasing order.

    >>> _read_rounds(None, 1000), _read_rounds(None, 30), _read_rounds([30, 2], 30)
    ([5, 100, 1000], [5, 30], [2, 30])
    """
    if rounds is None:
        return [*(number for number in _EARLY if number < n_rounds), n_rounds]
    given = [] if isinstance(rounds, str | int) else list(np.ravel(np.asarray(rounds, dtype=object)))
    whole = all(isinstance(number, int | np.integer) and not isinstance(number, bool) for number in given)
    if (
        not whole
        or not all(1 <= number <= n_rounds for number in given)
        or not 0 < len(set(given)) <= len(style.COLOURS)
    ):
        raise ValueError(
            f"rounds={rounds!r} is not allowed: the model has the rounds 1 to {n_rounds}, and it must be "
            f"None or up to {len(style.COLOURS)} of their numbers"
        )
    return sorted({int(number) for number in given})
