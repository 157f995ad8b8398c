"""The bounds that certify computes for every kind of model, and the arguments that it refuses."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor as OtherRegressor

import hedgerow as hr
from certify_cases import (
    BINARY,
    CALIBRATED,
    EDGES,
    EVERY,
    FEW_TREES,
    FIXED,
    bag,
    fitted,
    forest,
    names,
    table,
)
from hedgerow.theory import certify, first_order_bound, optimize_votes, tandem_bound
from hedgerow.theory.applicable_bounds import CLASS, MARGINS
from hedgerow.theory.certificate import HOLD_OUT

NEW = table(300, seed=1)

# --- every kind of model


@EVERY
def test_bounds_that_need_no_rows(name):
    model, expected = fitted(name), BINARY[name][1]
    certificate = certify(model)
    assert names(certificate) == expected
    assert certificate.model == type(model).__name__
    if not expected:
        assert certificate.best is None
        assert certificate.error_bound == 1.0
        assert "No bound applies" in certificate.statement
        assert any("no hold-out rows" in bound.reason for bound in certificate.inapplicable)
    with pytest.raises(NotFittedError):
        certify(clone(BINARY[name][0]))


@EVERY
def test_bounds_from_new_rows(name):
    model, (_, known, more), (X, y) = fitted(name), BINARY[name], NEW
    certificate = certify(model, X, y)
    assert names(certificate) == known | more | {HOLD_OUT}
    held_out = certificate[HOLD_OUT]
    wrong = int(np.sum(model.predict(X) != y))
    assert held_out.n == len(y)
    assert held_out.value == pytest.approx(beta.ppf(1 - held_out.delta, wrong + 1, len(y) - wrong), rel=1e-9)
    assert f"{wrong:,} errors in 300 rows" in held_out.found
    assert certificate.best is held_out
    assert 0 < certificate.chance_error < 0.6
    for bound in certificate:
        assert bound.conditions
        assert bound.found
        assert bound.n >= 1
        assert isinstance(bound.value, float)
        assert bound.value > 0
    for bound in certificate.inapplicable:
        assert len(bound.reason) > 15
        with pytest.raises(KeyError, match="does not apply"):
            _ = certificate[bound.name]
    listed = names(certificate) | {bound.name for bound in certificate.inapplicable}
    assert listed >= {*CLASS, *MARGINS, HOLD_OUT}
    assert any("out-of-bag" in one for one in listed)


@EVERY
@pytest.mark.parametrize("delta", [0.5, 1e-9])
def test_the_shares_of_bounds_that_can_fail_sum_to_no_more_than_delta(name, delta):
    certificate = certify(fitted(name), *NEW, delta=delta)
    assert certificate.delta == delta
    shares = [bound.delta for bound in certificate if bound.value < 1]
    assert all(0 < share <= delta for share in shares)
    assert all(bound.delta >= 0 for bound in certificate)  # 0 where no sample could give less than 1
    assert 0.1 * delta < sum(shares) <= delta * (1 + 1e-12)


def test_no_bound_falls_with_delta():
    model = fitted("forest")
    values = [[bound.value for bound in certify(model, *NEW, delta=delta)] for delta in (0.5, 0.05, 1e-6)]
    assert np.all(np.diff(values, axis=0) >= 0)


# --- what the bounds are computed from


def test_out_of_bag_bounds_are_those_of_the_losses():
    model = fitted("forest")
    certificate, losses = certify(model), model.oob_losses_
    even = np.full(FEW_TREES, 1 / FEW_TREES)
    first, tandem = certificate["out-of-bag first order"], certificate["out-of-bag tandem"]
    assert first.delta == tandem.delta == pytest.approx(0.05 / 4)
    assert first.n == losses.n
    assert tandem.n == losses.n_pairs < losses.n
    assert first.value == first_order_bound(losses.gibbs(even), losses.n, 0.0, 0.0125)
    assert tandem.value == tandem_bound(losses.tandem(even), losses.n_pairs, 0.0, 0.0125)
    assert "bin edges" in first.proviso  # computed from all rows
    for fixed in (forest(bin_edges=EDGES), bag()):
        assert certify(fixed.fit(*table()))["out-of-bag tandem"].proviso == ""


def test_chosen_vote_weights_cost_their_divergence():
    model = forest().fit(*table(900))
    weights = np.arange(1.0, FEW_TREES + 1) / np.arange(1.0, FEW_TREES + 1).sum()
    kl = float(np.sum(weights * np.log(weights * FEW_TREES)))
    tuned, losses = model.reweighted(weights), model.oob_losses_
    value = tandem_bound(losses.tandem(weights), losses.n_pairs, kl, 0.0125)
    assert certify(tuned)["out-of-bag tandem"].value == pytest.approx(value, rel=1e-12)
    # on rows that the weights do not depend on they cost nothing
    new = certify(tuned, *NEW)["hold-out tandem"]
    assert new.value == tandem_bound(tuned.vote_losses(*NEW).tandem(weights), 300, 0.0, new.delta)
    assert "KL" not in new.found


def test_calibration_rows_give_their_own_bounds():
    tuned = optimize_votes(hr.RandomForestClassifier(30, random_state=0).fit(*table()), *NEW)
    certificate = certify(tuned)
    assert names(certificate) == CALIBRATED
    assert all(bound.n == 300 for bound in certificate)
    assert all("calibration rows" in bound.conditions for bound in certificate)


def test_the_training_error_and_its_bound_are_listed():
    (X, y), model = table(), fitted("discrete")
    found = dict(certify(model).of_training)
    assert found["training error"] == pytest.approx(1 - model.score(X, y))
    assert found["training error"] <= found["proven bound of the training error"]
    assert found["proven bound of the training error"] == model.training_error_bound_[-1]
    assert certify(fitted("forest")).of_training == ()
    three = fitted("three")
    assert dict(certify(three).of_training)["training error"] == three.training_error_


def test_margin_bounds_of_many_rows_are_not_vacuous():
    X, _ = table(60_000)
    model = hr.AdaBoostClassifier(hr.DecisionStump(bin_edges=[0.0]), n_estimators=3)
    certificate = certify(model.fit(X, np.where(X[:, 0] > 0, "yes", "no")))
    assert min(certificate[name].value for name in MARGINS) < 0.2
    assert certificate[MARGINS[0]].conditions != certificate[CLASS[1]].conditions


class WithoutClasses(ClassifierMixin, BaseEstimator):
    """A classifier without the attribute classes_."""

    def fit(self, X, y):
        self.most_ = y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


def test_a_classifier_without_classes_has_the_hold_out_bound():
    assert names(certify(WithoutClasses().fit(*table()), *NEW)) == {HOLD_OUT}


# --- arguments that are refused


@pytest.mark.parametrize(
    "model",
    [
        *(5, None, "forest", object(), hr.RandomForestClassifier),
        *(hr.AdaBoostRegressor(n_estimators=2), hr.RandomForestRegressor(2), OtherRegressor()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_are_not_classifiers_are_refused(model):
    X, _ = table(50)
    if hasattr(model, "fit") and not isinstance(model, type):
        model.fit(X, X[:, 0])
    with pytest.raises(TypeError, match="model must be a fitted classifier; got"):
        certify(model)


@pytest.mark.parametrize("delta", [0, 1, -0.1, np.nan, "0.05", None, True, 5e-324])
def test_delta_must_be_a_probability(delta):
    model = hr.AdaBoostClassifier(FIXED, n_estimators=3).fit(*table())
    with pytest.raises((ValueError, TypeError), match="delta="):
        certify(model, *NEW, delta=delta)


def test_rows_and_labels_are_checked():
    model, (X, y) = fitted("forest"), NEW
    for arguments in ({"X": X}, {"y": y}):
        with pytest.raises(ValueError, match="X and y must be passed together"):
            certify(model, **arguments)
    with pytest.raises(ValueError, match="y has 299 rows, but X has 300"):
        certify(model, X, y[:-1])
    with pytest.raises(ValueError, match="features"):
        certify(model, X[:, :2], y)
    numbers = np.where(y == "yes", 1.0, 0.0)
    missing = np.where(np.arange(300) == 3, np.nan, numbers)
    with pytest.raises(ValueError, match=r"y must have a label for every row; y\[3\] is nan"):
        certify(LogisticRegression().fit(X, numbers), table(300, seed=2)[0], missing)


@pytest.mark.parametrize("name", ["forest", "discrete", "scikit-learn", "gradient"])
def test_unknown_labels_are_errors(name):
    model, (X, y) = fitted(name), NEW
    with pytest.raises(ValueError, match=r"y has none of the classes \['no', 'yes'\] .*; y\[0\] is 7"):
        certify(model, X, np.full(300, 7))
    strange = np.where(np.arange(300) < 5, "maybe", y)
    certificate = certify(model, X, strange)
    assert f"{int(np.sum(model.predict(X) != strange))} errors" in certificate[HOLD_OUT].found
    if hasattr(model, "vote_losses"):
        assert any("'maybe', which is not a class" in bound.reason for bound in certificate.inapplicable)
