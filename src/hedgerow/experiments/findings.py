"""What the numbers say, in sentences.

A difference of two methods is beyond noise when its mean over the folds is more than two standard errors from
zero (see `measure`); otherwise nobody is ahead. A point is a hundredth of accuracy.
"""

from dataclasses import dataclass

from hedgerow._typing import Floats
from hedgerow.experiments.measure import Curve, standard_error
from hedgerow.experiments.methods import LINEAR

NEAR = 0.005  # half a point


@dataclass(frozen=True, eq=False)
class Contest:
    """Accuracies of several methods on the same folds of one problem.

    Parameters
    ----------
    title : str
        Of the problem.
    accuracy : dict of float64 arrays of shape (n_folds,)
        By method.
    test_to_train : float
        Test rows over training rows of a fold.
    majority : float
        Share of the larger class.

    Examples
    --------
    >>> import numpy as np
    >>> flat = np.array([0.0, 0.01, 0.02, 0.01])
    >>> accuracy = {"logistic regression": 0.7 + flat, "AdaBoost": 0.8 + flat[::-1]}
    >>> contest = Contest("Tea", accuracy, test_to_train=1 / 3, majority=0.5)
    >>> contest.ranking
    ['AdaBoost', 'logistic regression']
    >>> contest.winner()
    'Tea: AdaBoost is ahead with 81.0 % right, 10.0 points (± 0.9) before logistic regression.'
    """

    title: str
    accuracy: dict[str, Floats]
    test_to_train: float
    majority: float

    @property
    def ranking(self) -> list[str]:
        """The methods, best mean first."""
        return sorted(self.accuracy, key=lambda name: -float(self.accuracy[name].mean()))

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """How far the first is before the second, and the standard error of that."""
        gaps = self.accuracy[first] - self.accuracy[second]
        return float(gaps.mean()), standard_error(gaps, self.test_to_train)

    def is_beyond_noise(self, first: str, second: str) -> bool:
        """Whether the first is really before the second."""
        gap, error = self.difference(first, second)
        return gap > 2 * error

    def winner(self) -> str:
        """Who is ahead, by how much, and who cannot be told from it."""
        best, *others = self.ranking
        equal = [name for name in others if not self.is_beyond_noise(best, name)]
        words = f"{self.title}: {best} is ahead with {_per_cent(self.accuracy[best].mean())} right"
        if equal:
            return f"{words}, but within noise of {_list(equal)}."
        gap, error = self.difference(best, others[0])
        return f"{words}, {_points(gap, error)} before {others[0]}."

    def against_linear(self) -> str:
        """The best ensemble beside the best logistic regression."""
        linear = next(name for name in self.ranking if name in LINEAR)
        ensemble = next(name for name in self.ranking if name not in LINEAR)
        gap, error = self.difference(ensemble, linear)
        words = f"{self.title}: the best ensemble, {ensemble} ({_per_cent(self.accuracy[ensemble].mean())}), "
        facing = f"{linear} ({_per_cent(self.accuracy[linear].mean())}"
        facing += f"; always the larger class: {_per_cent(self.majority)})"
        if abs(gap) <= 2 * error:
            return f"{words}is within noise of {facing}: {_points(gap, error, sign=True)}."
        side = "before" if gap > 0 else "behind"
        return f"{words}is {_points(abs(gap), error)} {side} {facing}."


def about_learners(title: str, curves: dict[str, Curve]) -> str:
    """How many learners each method needs to be nearly as good as it gets."""
    told = "; ".join(_learners(name, curve) for name, curve in curves.items())
    return f"{title}, weak learners until within half a point of the best: {told}."


def _learners(name: str, curve: Curve) -> str:
    mean = curve.mean
    best = int(mean.argmax())
    near = int((mean >= mean[best] - NEAR).argmax())
    fall = mean[best] - mean[-1]
    after = f"; {_points(fall)} less after {curve.x[-1]:.0f}" if fall > NEAR else ""
    return f"{name} {curve.x[near]:.0f} (best: {_per_cent(mean[best])} after {curve.x[best]:.0f}{after})"


def about_shrinkage(title: str, curves: dict[str, Curve], n_learners: int) -> str:
    """Which learning rate is best for so many learners, and what the ends of the range cost."""
    words = []
    for name, curve in curves.items():
        mean = curve.mean
        best = int(mean.argmax())
        others = [place for place in dict.fromkeys((0, len(mean) - 1)) if place != best]
        costs = ", ".join(
            f"{_points(mean[best] - mean[place])} less at {curve.x[place]:g}" for place in others
        )
        words.append(f"{name} is best at rate {curve.x[best]:g} ({_per_cent(mean[best])}; {costs})")
    return f"{title}, {n_learners} learners: {'; '.join(words)}."


def about_noise(title: str, curves: dict[str, Curve]) -> str:
    """Who loses most and least when labels are flipped, and who is best at the end."""
    falls = {name: float(curve.mean[0] - curve.mean[-1]) for name, curve in curves.items()}
    most, least = max(falls, key=lambda name: falls[name]), min(falls, key=lambda name: falls[name])
    share = next(iter(curves.values())).x[-1]
    last = {name: float(curve.mean[-1]) for name, curve in curves.items()}
    top = max(last, key=lambda name: last[name])
    return (
        f"{title}, {share:.0%} of the training labels flipped: {most} loses most ({_points(falls[most])}), "
        f"{least} least ({_points(falls[least])}); {top} is best then, with {_per_cent(last[top])} right."
    ).replace("%", " %", 1)


def about_accidents(accuracy: float) -> str:
    """The accuracy of logistic regression beside the one that was told of another table of accidents."""
    return (
        f"US road accidents: logistic regression has {_per_cent(accuracy)} right here. The report that these "
        "experiments follow tells of about 81 %, on a table of accidents that it does not publish: with "
        "other rows, other columns and other shares of the classes the two figures cannot be compared."
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(gap: float, error: float | None = None, *, sign: bool = False) -> str:
    words = f"{100 * gap:{'+' if sign else ''}.1f}".replace("-", "−")
    return f"{words} points" + ("" if error is None else f" (± {100 * error:.1f})")


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
