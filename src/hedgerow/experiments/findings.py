"""Findings of the experiments as sentences, and a check of a claim about five weak learners.

A difference of two methods is beyond noise when its mean over the folds is more than two standard errors from
zero (see `measure`); otherwise no method is better. A point is a hundredth of accuracy.

The claim: AdaBoost with 5 weak learners at learning rate 1 has less than 2 % error on breast cancer, gradient
boosting with the same parameters less than 3 %; neither the test rows nor the depth of the trees are known.
Every `ClaimModel` is measured by repeated 10-fold cross-validation, and on many random 75/25 splits, whose
errors show how often a single split would confirm the claim.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import ensemble
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from hedgerow._typing import Floats
from hedgerow.estimators import AdaBoostClassifier, DecisionTreeClassifier, GradientBoostingClassifier
from hedgerow.experiments.measure import (
    AccuracyCurve,
    cross_validate,
    make_folds,
    mean_and_spread,
    standard_error,
)
from hedgerow.experiments.plan import LINEAR, ExperimentPlan, Problem
from hedgerow.experiments.results import ResultTable

NEAR = 0.005  # half a point


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Accuracies of several methods on the same folds of one problem.

    Examples
    --------
    >>> import numpy as np
    >>> flat = np.array([0.0, 0.01, 0.02, 0.01])
    >>> accuracy = {"logistic regression": 0.7 + flat, "AdaBoost": 0.8 + flat[::-1]}
    >>> comparison = MethodComparison("Tea", accuracy, test_to_train=1 / 3, majority=0.5)
    >>> comparison.ranking
    ['AdaBoost', 'logistic regression']
    >>> comparison.winner()
    'Tea: AdaBoost is the best with an accuracy of 81.0 %, 10.0 points (± 0.9) above logistic regression.'
    """

    title: str  # of the problem
    accuracy: dict[str, Floats]  # (n_folds,) by method
    test_to_train: float  # test rows over training rows of a fold
    majority: float  # share of the larger class

    @property
    def ranking(self) -> list[str]:
        """The methods, best mean first."""
        return sorted(self.accuracy, key=lambda name: -float(self.accuracy[name].mean()))

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return mean accuracy of the first minus that of the second, and its standard error."""
        gaps = self.accuracy[first] - self.accuracy[second]
        return float(gaps.mean()), standard_error(gaps, self.test_to_train)

    def is_beyond_noise(self, first: str, second: str) -> bool:
        """Return whether the first is better by more than two standard errors."""
        gap, error = self.difference(first, second)
        return gap > 2 * error

    def winner(self) -> str:
        """Describe the best method, its lead over the next, and the methods within noise of it."""
        best, *others = self.ranking
        equal = [name for name in others if not self.is_beyond_noise(best, name)]
        text = f"{self.title}: {best} is the best with an accuracy of {_per_cent(self.accuracy[best].mean())}"
        if equal:
            return f"{text}, but within noise of {_enumerate(equal)}."
        gap, error = self.difference(best, others[0])
        return f"{text}, {_points(gap, error)} above {others[0]}."

    def against_linear(self) -> str:
        """Compare the best ensemble with the best logistic regression."""
        linear = next(name for name in self.ranking if name in LINEAR)
        ensemble = next(name for name in self.ranking if name not in LINEAR)
        gap, error = self.difference(ensemble, linear)
        text = f"{self.title}: the best ensemble, {ensemble} ({_per_cent(self.accuracy[ensemble].mean())}), "
        baseline = f"{linear} ({_per_cent(self.accuracy[linear].mean())}"
        baseline += f"; most frequent class: {_per_cent(self.majority)})"
        if abs(gap) <= 2 * error:
            return f"{text}is within noise of {baseline}: {_points(gap, error, sign=True)}."
        side = "above" if gap > 0 else "below"
        return f"{text}is {_points(abs(gap), error)} {side} {baseline}."


def describe_learners(title: str, curves: dict[str, AccuracyCurve]) -> str:
    """Describe the number of learners until each method is near its best accuracy."""
    details = "; ".join(_learners(name, curve) for name, curve in curves.items())
    return f"{title}, weak learners until within half a point of the best: {details}."


def _learners(name: str, curve: AccuracyCurve) -> str:
    mean = curve.mean
    best = int(mean.argmax())
    near = int((mean >= mean[best] - NEAR).argmax())
    fall = mean[best] - mean[-1]
    after = f"; {_points(fall)} less after {curve.x[-1]:.0f}" if fall > NEAR else ""
    return f"{name} {curve.x[near]:.0f} (best: {_per_cent(mean[best])} after {curve.x[best]:.0f}{after})"


def describe_shrinkage(title: str, curves: dict[str, AccuracyCurve], n_learners: int) -> str:
    """Describe the best learning rate for a number of learners, and the accuracy at the ends of the range."""
    text = []
    for name, curve in curves.items():
        mean = curve.mean
        best = int(mean.argmax())
        ends = [point for point in dict.fromkeys((0, len(mean) - 1)) if point != best]
        costs = ", ".join(f"{_points(mean[best] - mean[end])} less at {curve.x[end]:g}" for end in ends)
        text.append(f"{name} is best at rate {curve.x[best]:g} ({_per_cent(mean[best])}; {costs})")
    return f"{title}, {n_learners} learners: {'; '.join(text)}."


def describe_noise(title: str, curves: dict[str, AccuracyCurve]) -> str:
    """Describe the methods that lose most and least with flipped labels, and the best at the end."""
    falls = {name: float(curve.mean[0] - curve.mean[-1]) for name, curve in curves.items()}
    most, least = max(falls, key=lambda name: falls[name]), min(falls, key=lambda name: falls[name])
    share = next(iter(curves.values())).x[-1]
    last = {name: float(curve.mean[-1]) for name, curve in curves.items()}
    top = max(last, key=lambda name: last[name])
    return (
        f"{title}, {share:.0%} of the training labels flipped: {most} loses most ({_points(falls[most])}), "
        f"{least} least ({_points(falls[least])}); {top} is then the best, with an accuracy of "
        f"{_per_cent(last[top])}."
    ).replace("%", " %", 1)


def describe_accidents(accuracy: float) -> str:
    """Compare the accuracy of logistic regression with that reported for another table of accidents."""
    return (
        f"US road accidents: logistic regression has an accuracy of {_per_cent(accuracy)}. The report that "
        "these experiments follow states about 81 %, on a table of accidents that it does not publish: with "
        "other rows, other columns and other shares of the classes, the two numbers cannot be compared."
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(gap: float, error: float | None = None, *, sign: bool = False) -> str:
    text = f"{100 * gap:{'+' if sign else ''}.1f}".replace("-", "−")
    return f"{text} points" + ("" if error is None else f" (± {100 * error:.1f})")


def _enumerate(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


LEARNERS, RATE, FOLDS, TEST_SHARE = 5, 1.0, 10, 0.25
ADABOOST_CLAIM, GRADIENT_CLAIM = 0.02, 0.03


@dataclass(frozen=True)
class ClaimModel:
    """A model that the claim may refer to."""

    name: str
    claim: float  # upper limit of its error
    model: Any


@dataclass(frozen=True, eq=False)
class ClaimErrors:
    """Errors of a model of the claim: one per repeat of cross-validation, and one per random split."""

    name: str
    claim: float
    repeats: Floats
    splits: Floats

    @property
    def share_below(self) -> float:
        """The share of splits that confirm the claim."""
        return float((self.splits < self.claim).mean())


def claim_models(n_jobs: int | None = None) -> list[ClaimModel]:
    """AdaBoost and gradient boosting of several depths, and scikit-learn's with its default trees.

    >>> [claim_model.name for claim_model in claim_models()][:2]
    ['AdaBoost, stumps', 'AdaBoost, trees of depth 3']
    """
    size: dict[str, Any] = {"n_estimators": LEARNERS, "learning_rate": RATE}
    more: dict[str, Any] = {"min_samples_leaf": 1, "early_stopping": False, "n_jobs": n_jobs}
    models = []
    for depth, trees in ((1, "stumps"), (3, "trees of depth 3"), (5, "trees of depth 5")):
        tree = None if depth == 1 else DecisionTreeClassifier(max_depth=depth)
        adaboost = AdaBoostClassifier(tree, n_jobs=n_jobs, **size)
        gradient = GradientBoostingClassifier(max_depth=depth, random_state=0, **more, **size)
        models.append(ClaimModel(f"AdaBoost, {trees}", ADABOOST_CLAIM, adaboost))
        models.append(ClaimModel(f"gradient boosting, {trees}", GRADIENT_CLAIM, gradient))
    stumps = ensemble.AdaBoostClassifier(SklearnTree(max_depth=1), random_state=0, **size)
    models.append(ClaimModel("scikit-learn's AdaBoost, stumps", ADABOOST_CLAIM, stumps))
    trees = "scikit-learn's gradient boosting, trees of depth 3"
    model = ensemble.GradientBoostingClassifier(max_depth=3, random_state=0, **size)
    models.append(ClaimModel(trees, GRADIENT_CLAIM, model))
    return sorted(models, key=lambda claim_model: claim_model.claim)  # AdaBoost first


def check_claim(claim_model: ClaimModel, problem: Problem, plan: ExperimentPlan, seed: int) -> ClaimErrors:
    """Measure a model of the claim in both ways; the splits are the same for all models."""
    folds = make_folds(problem.y, FOLDS, plan.claim_repeats, seed)
    model = claim_model.model
    accuracy = cross_validate(model, problem, folds).accuracy
    sizes = np.array([len(test) for _, test in folds])
    # the error over all rows, each held out once a repeat
    wrong = ((1 - accuracy) * sizes).reshape(plan.claim_repeats, FOLDS).sum(axis=1)
    splitter = ShuffleSplit(n_splits=plan.claim_splits, test_size=TEST_SHARE, random_state=seed)
    splits = 1 - cross_validate(model, problem, list(splitter.split(problem.X))).accuracy
    return ClaimErrors(claim_model.name, claim_model.claim, wrong / len(problem.y), splits)


def claim_table(results: list[ClaimErrors]) -> ResultTable:
    """Return a table of the errors in per cent."""
    n_repeats, n_splits = len(results[0].repeats), len(results[0].splits)
    rows = []
    for result in results:
        low, high = np.quantile(result.splits, [0.05, 0.95])
        rows.append(
            (
                result.name,
                f"below {result.claim:.0%}".replace("%", " %"),
                mean_and_spread(100 * result.repeats),
                mean_and_spread(100 * result.splits),
                f"{100 * low:.1f} to {100 * high:.1f}",
                100 * result.share_below,
            )
        )
    columns = (
        f"{LEARNERS} learners at rate {RATE:g}",
        "claim",
        f"error in %, {n_repeats} × {FOLDS} folds",
        f"error in %, {n_splits} splits",
        "middle 90 % of splits",
        "% of splits that confirm it",
    )
    name = "Breast cancer: the claim about five weak learners"
    return ResultTable("claim", name, columns, tuple(rows), ("", "", ".1f", ".1f", "", ".0f"))


def claim_findings(results: list[ClaimErrors]) -> list[str]:
    """Return one sentence for each half of the claim."""
    return [
        _conclusion(method, claim, [one for one in results if one.claim == claim])
        for method, claim in (("AdaBoost", ADABOOST_CLAIM), ("gradient boosting", GRADIENT_CLAIM))
    ]


def _conclusion(method: str, claim: float, results: list[ClaimErrors]) -> str:
    errors = {result.name: float(result.repeats.mean()) for result in results}
    confirmed = [name for name, error in errors.items() if error < claim]
    best = min(errors, key=lambda name: errors[name])
    below = [result.share_below for result in results]
    details = (
        f"cross-validated errors are {_range(list(errors.values()), '.1f')} % (lowest: {best}), and "
        f"{_range(below, '.0f')} % of single 75/25 splits show less than {100 * claim:.0f} %"
    )
    if not confirmed:
        conclusion = f"is not confirmed for any of the {len(results)} models tried"
    elif len(confirmed) == len(results):
        conclusion = f"is confirmed for all {len(results)} models tried"
    else:
        conclusion = f"is confirmed only for {' and '.join(confirmed)}"
    text = f"The claim that {method} with {LEARNERS} weak learners at rate {RATE:g} "
    return f"{text}has less than {100 * claim:.0f} % error on breast cancer {conclusion}: {details}."


def _range(shares: list[float], how: str) -> str:
    low, high = (format(100 * share, how) for share in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"
