"""The bounds of a certificate as bars, with chance and the error on test rows."""

import math
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.estimators.parameters import check_parameters, nothing, real
from hedgerow.plots import labels, style
from hedgerow.theory.certificate import Certificate

_LONGEST = 42  # letters of a bound's name


@dataclass(eq=False)
class BoundsDisplay:
    """What is proven about an error, by every bound that applies.

    Make it with `from_certificate`; the parameters are what it draws. Bounds that say less than always
    answering the most frequent class are grey; those above 1 end at the edge.

    Parameters
    ----------
    names : list of str
    values : list of float
        The bounds, the smallest first.
    chance : float
        The error of always answering the most frequent class.
    delta : float
        The bounds hold together with probability 1 - delta.
    test_error : float or None

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hedgerow.theory.certificate import Bound, Certificate
    >>> found = [Bound(name, value, 0.025, 100, "", "") for name, value in (("vc", 1.4), ("hold-out", 0.1))]
    >>> certificate = Certificate("AdaBoostClassifier", 0.05, 0.37, tuple(found))
    >>> BoundsDisplay.from_certificate(certificate, test_error=0.05).names
    ['hold-out', 'vc']
    """

    names: list[str]
    values: list[float]
    chance: float
    delta: float
    test_error: float | None = None

    @classmethod
    def from_certificate(
        cls, certificate: Certificate, test_error: float | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the bounds of a certificate.

        Parameters
        ----------
        certificate : Certificate
        test_error : float, optional
            The share of wrong labels on rows that the model was not trained on.
        ax
            As in `plot`.

        Returns
        -------
        BoundsDisplay
        """
        check_parameters({"test_error": test_error}, {"test_error": real(0, 1) | nothing()})
        if not isinstance(certificate, Certificate):
            raise TypeError(f"certificate is a {type(certificate).__name__}: what certify returns is needed")
        found = sorted(certificate.bounds, key=lambda bound: bound.value)
        if not found:
            raise ValueError("the certificate holds no bound: there is nothing to draw")
        return cls(
            names=[bound.name for bound in found],
            values=[bound.value for bound in found],
            chance=certificate.chance_error,
            delta=certificate.delta,
            test_error=test_error,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.

        Returns
        -------
        self
        """
        names = [labels.short(name, _LONGEST) for name in self.names]
        width = 4.4 + 0.065 * max(map(len, names))
        self.figure_, axes, _ = style.panels(ax, 1, 1, (width, 1.2 + 0.3 * max(len(names), 2)))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # a line may pass behind the words
        for place, value in enumerate(self.values):
            says = value < self.chance
            colour = style.BLUE if says else style.FAINT
            self.ax_.barh(place, min(value, 1.0), 0.66, color=colour, alpha=0.85 if says else 0.4, zorder=2)
            # Rounded up, so that it stays a bound.
            words = "> 1" if value > 1 else f"{math.ceil(value * 1e4 - 1e-9) / 100:g} %"
            self.ax_.annotate(
                words, (min(value, 1.0), place), (4, 0), textcoords="offset points", va="center",
                fontsize=style.TICK_SIZE, color=style.INK, bbox=paper, zorder=4,
            )  # fmt: skip
        reach = min(max(*self.values, self.chance, self.test_error or 0.0), 1.0)
        self.ax_.set(xlim=(0, 1.14 * reach), ylim=(len(names) - 0.4, -0.6))
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.tick_params(axis="y", length=0)
        line = {"linewidth": 1.1, "linestyle": (0, (4, 3)), "color": style.INK, "zorder": 3}
        self.ax_.axvline(self.chance, label=f"most frequent class: {labels.percent(self.chance)}", **line)
        if self.test_error is not None:
            name = f"error on test rows: {labels.percent(self.test_error)}"
            self.ax_.axvline(self.test_error, color=style.VERMILLION, linewidth=1.8, label=name, zorder=3)
        labels.percent_axis(self.ax_.xaxis)
        sure = labels.percent(1.0 - self.delta)
        labels.name_axes(self.ax_, f"bound of the error on new rows; all hold with probability {sure}", "")
        labels.legend_below(self.ax_)
        return self
