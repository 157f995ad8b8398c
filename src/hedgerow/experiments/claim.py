"""A claim checked: five weak learners are enough for breast cancer.

A report says that AdaBoost with 5 weak learners at learning rate 1 has less than 2 % error there, and
gradient boosting with the same parameters less than 3 %; it does not say which rows were held out, nor how
deep the trees were. Every `Contender` is measured in two ways: by 10-fold cross-validation, repeated, and on
many random splits of 75 and 25 per cent, whose errors show how often one split would have borne it out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import ensemble
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier as TheirTree

from hedgerow._typing import Floats
from hedgerow.estimators import AdaBoostClassifier, DecisionTreeClassifier, GradientBoostingClassifier
from hedgerow.experiments.measure import cross_validate, make_folds
from hedgerow.experiments.plan import Plan
from hedgerow.experiments.problems import Problem
from hedgerow.experiments.tables import ResultTable

LEARNERS, RATE, FOLDS, TEST_SHARE = 5, 1.0, 10, 0.25
ADABOOST_CLAIM, GRADIENT_CLAIM = 0.02, 0.03


@dataclass(frozen=True)
class Contender:
    """A model that the claim may have meant."""

    name: str
    claim: float  # its error is said to be below
    make: Callable[[int | None], Any]  # of n_jobs


@dataclass(frozen=True, eq=False)
class Checked:
    """Errors of a contender: one a repeat of cross-validation, and one a random split."""

    name: str
    claim: float
    repeats: Floats
    splits: Floats

    @property
    def share_below(self) -> float:
        """The share of splits that bear the claim out."""
        return float((self.splits < self.claim).mean())


def _ours(depth: int | None) -> tuple[Callable[[int | None], Any], Callable[[int | None], Any]]:
    tree = None if depth is None else DecisionTreeClassifier(max_depth=depth)
    shape: dict[str, Any] = {"max_depth": depth or 1, "min_samples_leaf": 1, "early_stopping": False}
    size: dict[str, Any] = {"n_estimators": LEARNERS, "learning_rate": RATE}
    return (
        lambda n_jobs: AdaBoostClassifier(tree, n_jobs=n_jobs, **size),
        lambda n_jobs: GradientBoostingClassifier(n_jobs=n_jobs, random_state=0, **shape, **size),
    )


def _theirs() -> tuple[Callable[[int | None], Any], Callable[[int | None], Any]]:
    size: dict[str, Any] = {"n_estimators": LEARNERS, "learning_rate": RATE, "random_state": 0}
    return (
        lambda _: ensemble.AdaBoostClassifier(TheirTree(max_depth=1), **size),
        lambda _: ensemble.GradientBoostingClassifier(max_depth=3, **size),
    )


def contenders() -> list[Contender]:
    """AdaBoost and gradient boosting of several depths, and scikit-learn's own with its default trees.

    >>> [contender.name for contender in contenders()][:2]
    ['AdaBoost, stumps', 'AdaBoost, trees of depth 3']
    """
    shapes = {"stumps": _ours(None), "trees of depth 3": _ours(3), "trees of depth 5": _ours(5)}
    theirs = _theirs()
    return [
        *(Contender(f"AdaBoost, {words}", ADABOOST_CLAIM, pair[0]) for words, pair in shapes.items()),
        Contender("scikit-learn's AdaBoost, stumps", ADABOOST_CLAIM, theirs[0]),
        *(
            Contender(f"gradient boosting, {words}", GRADIENT_CLAIM, pair[1])
            for words, pair in shapes.items()
        ),
        Contender("scikit-learn's gradient boosting, trees of depth 3", GRADIENT_CLAIM, theirs[1]),
    ]


def check_claim(contender: Contender, problem: Problem, plan: Plan, seed: int, n_jobs: int | None) -> Checked:
    """Measure a contender in both ways; the splits are the same for all contenders."""
    folds = make_folds(problem.y, FOLDS, plan.claim_repeats, seed)
    model = contender.make(n_jobs)
    accuracy = cross_validate(model, problem, folds).accuracy
    sizes = np.array([len(test) for _, test in folds])
    # the error over all rows, each held out once a repeat
    wrong = ((1 - accuracy) * sizes).reshape(plan.claim_repeats, FOLDS).sum(axis=1)
    splitter = ShuffleSplit(n_splits=plan.claim_splits, test_size=TEST_SHARE, random_state=seed)
    splits = 1 - cross_validate(model, problem, list(splitter.split(problem.X))).accuracy
    return Checked(contender.name, contender.claim, wrong / len(problem.y), splits)


def claim_table(found: list[Checked]) -> ResultTable:
    """The errors in per cent."""
    n_repeats, n_splits = len(found[0].repeats), len(found[0].splits)
    rows = []
    for one in found:
        low, high = np.quantile(one.splits, [0.05, 0.95])
        rows.append(
            (
                one.name,
                f"below {one.claim:.0%}".replace("%", " %"),
                _mean_and_spread(100 * one.repeats),
                _mean_and_spread(100 * one.splits),
                f"{100 * low:.1f} to {100 * high:.1f}",
                100 * one.share_below,
            )
        )
    columns = (
        f"{LEARNERS} learners at rate {RATE:g}",
        "claim",
        f"error in %, {n_repeats} × {FOLDS} folds",
        f"error in %, {n_splits} splits",
        "middle 90 % of splits",
        "% of splits that bear it out",
    )
    name = "Breast cancer: the claim about five weak learners"
    return ResultTable("claim", name, columns, tuple(rows), ("", "", ".1f", ".1f", "", ".0f"))


def claim_findings(found: list[Checked]) -> list[str]:
    """One sentence for each half of the claim."""
    return [
        _verdict(method, claim, [one for one in found if one.claim == claim])
        for method, claim in (("AdaBoost", ADABOOST_CLAIM), ("gradient boosting", GRADIENT_CLAIM))
    ]


def _verdict(method: str, claim: float, found: list[Checked]) -> str:
    errors = {one.name: float(one.repeats.mean()) for one in found}
    held = [name for name, error in errors.items() if error < claim]
    best = min(errors, key=lambda name: errors[name])
    below = [one.share_below for one in found]
    told = (
        f"cross-validated errors are {_range(list(errors.values()), '.1f')} % (lowest: {best}), and "
        f"{_range(below, '.0f')} % of single 75/25 splits show less than {100 * claim:.0f} %"
    )
    if not held:
        verdict = f"is not confirmed for any of the {len(found)} models tried"
    elif len(held) == len(found):
        verdict = f"is confirmed for all {len(found)} models tried"
    else:
        verdict = f"is confirmed only for {' and '.join(held)}"
    words = f"The claim that {method} with {LEARNERS} weak learners at rate {RATE:g} "
    return f"{words}has less than {100 * claim:.0f} % error on breast cancer {verdict}: {told}."


def _range(shares: list[float], how: str) -> str:
    low, high = (format(100 * share, how) for share in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


def _mean_and_spread(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
