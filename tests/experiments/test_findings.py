"""Sentences follow from the numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hedgerow.experiments import findings
from hedgerow.experiments.findings import MethodComparison
from hedgerow.experiments.measure import AccuracyCurve
from hedgerow.experiments.plan import ADABOOST, GRADIENT, LOGISTIC, ONE_HOT, QUICK, Problem

WAVE = np.array([-0.01, 0.0, 0.01, 0.0, -0.01, 0.01])


def comparison(**means):
    """Methods that differ by constants, but for a wave in AdaBoost."""
    names = {"logistic": LOGISTIC, "one_hot": ONE_HOT, "adaboost": ADABOOST, "gradient": GRADIENT}
    accuracy = {names[key]: np.full(6, mean) + WAVE * (key == "adaboost") for key, mean in means.items()}
    return MethodComparison("Tea", accuracy, 1 / 5, 0.6)


def curves(x, **means):
    return {
        name: AccuracyCurve(tuple(x), np.array(mean)[:, None] + [[-0.01, 0.01]])
        for name, mean in means.items()
    }


def test_winner_beyond_noise_has_its_lead():
    found = comparison(logistic=0.7, adaboost=0.8, gradient=0.9).winner()
    best = "gradient boosting is the best with an accuracy of 90.0 %"
    assert found == f"Tea: {best}, 10.0 points (± 0.5) above AdaBoost."


def test_lead_within_noise():
    one = comparison(logistic=0.798, adaboost=0.8, gradient=0.7)
    assert (
        one.winner()
        == "Tea: AdaBoost is the best with an accuracy of 80.0 %, but within noise of logistic regression."
    )
    assert one.against_linear().endswith(
        "AdaBoost (80.0 %), is within noise of logistic regression "
        "(79.8 %; most frequent class: 60.0 %): "
        "+0.2 points (± 0.5)."
    )


def test_noise_begins_at_two_standard_errors():
    _, error = comparison(logistic=0.7, adaboost=0.8).difference(ADABOOST, LOGISTIC)
    assert error == pytest.approx(np.sqrt((1 / 6 + 1 / 5) * WAVE.var(ddof=1)))
    assert comparison(logistic=0.8 - 2.01 * error, adaboost=0.8).is_beyond_noise(ADABOOST, LOGISTIC)
    assert not comparison(logistic=0.8 - 1.99 * error, adaboost=0.8).is_beyond_noise(ADABOOST, LOGISTIC)


def test_boosting_behind_logistic_regression():
    found = comparison(logistic=0.9, one_hot=0.95, adaboost=0.8).against_linear()
    assert "AdaBoost (80.0 %), is 15.0 points (± 0.5) below one-hot logistic regression (95.0 %" in found


def test_number_of_learners_near_the_best():
    lines = curves([1, 2, 3, 4], flat=[0.6, 0.796, 0.8, 0.799], falling=[0.6, 0.9, 0.8, 0.7])
    assert findings.describe_learners("Tea", lines) == (
        "Tea, weak learners until within half a point of the best: flat 2 (best: 80.0 % after 3); "
        "falling 2 (best: 90.0 % after 2; 20.0 points less after 4)."
    )


def test_best_rate_and_ends_of_the_range():
    lines = curves([0.1, 0.5, 1.0], inner=[0.7, 0.9, 0.8], last=[0.7, 0.8, 0.9], first=[0.9, 0.8, 0.7])
    assert findings.describe_shrinkage("Tea", lines, 50) == (
        "Tea, 50 learners: "
        "inner is best at rate 0.5 (90.0 %; 20.0 points less at 0.1, 10.0 points less at 1); "
        "last is best at rate 1 (90.0 %; 20.0 points less at 0.1); "
        "first is best at rate 0.1 (90.0 %; 20.0 points less at 1)."
    )


def test_largest_and_smallest_loss_with_noise():
    lines = curves([0.0, 0.4], brittle=[0.95, 0.6], tough=[0.8, 0.75], middle=[0.9, 0.8])
    assert findings.describe_noise("Tea", lines) == (
        "Tea, 40 % of the training labels flipped: "
        "brittle loses most (35.0 points), tough least (5.0 points); "
        "middle is then the best, with an accuracy of 80.0 %."
    )


def checked(name, limit, error, *splits):
    return findings.ClaimErrors(name, limit, np.array([error, error]), np.array(splits))


@pytest.mark.parametrize(
    ("errors", "conclusion"),
    [
        ((0.05, 0.06), "is not confirmed for any of the 2 models tried"),
        ((0.01, 0.06), "is confirmed only for AdaBoost, a"),
        ((0.01, 0.015), "is confirmed for all 2 models tried"),
        ((0.02, 0.02), "is not confirmed for any"),  # below means below
    ],
)
def test_verdict_on_the_claim_follows_the_errors(errors, conclusion):
    found = [
        checked("AdaBoost, a", 0.02, errors[0], 0.01, 0.03, 0.03, 0.03),
        checked("AdaBoost, b", 0.02, errors[1], 0.03, 0.03, 0.03, 0.03),
        checked("gradient, c", 0.03, 0.025, 0.01),
    ]
    first, second = findings.claim_findings(found)
    assert conclusion in first
    assert "0 to 25 % of single 75/25 splits show less than 2 %" in first
    assert "less than 3 % error on breast cancer is confirmed for all 1" in second
    assert "errors are 2.5 % (lowest: gradient, c), and 100 % of single" in second


def test_every_row_is_tested_once_per_repeat():
    X, y = load_breast_cancer(return_X_y=True)
    problem = Problem("cancer", "Cancer", X, y)

    class Wrong:
        """Predicts class 1."""

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.ones(len(X), int)

    found = findings.check_claim(findings.ClaimModel("w", 0.02, Wrong()), problem, QUICK, 0)
    np.testing.assert_allclose(found.repeats, np.full(QUICK.claim_repeats, (y == 0).mean()))
    assert found.splits.shape == (QUICK.claim_splits,)
    wrong = found.splits * 143  # a quarter of 569 rows
    np.testing.assert_allclose(wrong, wrong.round(), atol=1e-9)


def test_claim_models_have_five_learners_at_rate_one():
    models = [claim_model.model for claim_model in findings.claim_models()]
    assert len(models) == 8
    assert {(model.n_estimators, model.learning_rate) for model in models} == {(5, 1.0)}
    limits = {claim_model.name.split(",")[0]: claim_model.claim for claim_model in findings.claim_models()}
    assert (limits["AdaBoost"], limits["gradient boosting"]) == (0.02, 0.03)
