"""scikit-learn's own checks of boosting, and of the settings for which some of these checks cannot pass."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_cases import BOOSTING, SPECIAL
from hedgerow.boosting import sizes

pytestmark = [
    pytest.mark.slow,  # all of them together; their lines are not counted
    pytest.mark.filterwarnings("ignore:boosting stopped"),  # on noise, the first learner is at chance
]


@pytest.fixture(autouse=True)
def at_most_twenty_rounds(monkeypatch):
    """Of gradient boosting by default, which finds the number of rounds, up to 1000, in eight folds."""
    monkeypatch.setattr(sizes, "_MAX_ROUNDS", 20)


@parametrize_with_checks(BOOSTING)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def expected_failures(estimator):
    _, reason, checks = next(case for case in SPECIAL if repr(case[0]) == repr(estimator))
    return dict.fromkeys(checks, reason)


@parametrize_with_checks([case[0] for case in SPECIAL], expected_failed_checks=expected_failures)
def test_checks_that_cannot_pass_fail(estimator, check):
    check(estimator)
