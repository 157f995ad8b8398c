"""What certify says of every kind of model, and what it does not say and why."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor as OtherRegressor

from certify_cases import (
    BINARY,
    CALIBRATED,
    EDGES,
    EVERY,
    FEW_TREES,
    FIXED,
    HELD_OUT,
    OUT_OF_BAG,
    bag,
    fitted,
    forest,
    names,
    table,
)
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionStump,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SchapireBoostClassifier,
)
from hedgerow.theory import certify, first_order_bound, optimize_votes, tandem_bound
from hedgerow.theory.applicable_bounds import CLASS, MARGINS
from hedgerow.theory.certificate import HOLD_OUT

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


@EVERY
def test_bounds_from_new_rows(name):
    model, (_, known, more) = fitted(name), BINARY[name]
    X, y = table(300, seed=1)
    certificate = certify(model, X, y)
    assert names(certificate) == known | more | {HOLD_OUT}
    held_out = certificate[HOLD_OUT]
    wrong = int(np.sum(model.predict(X) != y))
    assert held_out.n == len(y)
    assert held_out.value == pytest.approx(beta.ppf(1 - held_out.delta, wrong + 1, len(y) - wrong), rel=1e-9)
    assert f"{wrong:,} errors in 300 rows" in held_out.found
    assert certificate.best is held_out
    assert 0 < certificate.chance_error < 0.6


@EVERY
def test_every_bound_has_conditions_and_every_other_one_a_reason(name):
    certificate = certify(fitted(name), *table(300, seed=1))
    for bound in certificate:
        assert bound.conditions
        assert bound.found
        assert bound.value > 0
        assert bound.n >= 1
        assert isinstance(bound.value, float)
    for bound in certificate.inapplicable:
        assert len(bound.reason) > 15
        with pytest.raises(KeyError, match="does not apply"):
            _ = certificate[bound.name]
    told = names(certificate) | {bound.name for bound in certificate.inapplicable}
    assert told >= {*CLASS, *MARGINS, HOLD_OUT}
    assert any("out-of-bag" in one for one in told)


@EVERY
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-9])
def test_the_shares_of_bounds_that_can_fail_sum_to_no_more_than_delta(name, delta):
    certificate = certify(fitted(name), *table(300, seed=1), delta=delta)
    assert certificate.delta == delta
    shares = [bound.delta for bound in certificate if bound.value < 1]
    assert all(0 < bound.delta <= delta for bound in certificate if bound.value < 1)
    assert all(bound.delta >= 0 for bound in certificate)  # 0 where no sample could give less than 1
    assert sum(shares) <= delta * (1 + 1e-12)
    assert sum(shares) > 0.1 * delta


def test_smaller_delta_makes_no_bound_smaller():
    model, X, y = forest().fit(*table()), *table(300, seed=1)
    values = [[bound.value for bound in certify(model, X, y, delta=delta)] for delta in (0.5, 0.05, 1e-6)]
    assert np.all(np.diff(values, axis=0) >= 0)


# --- what the bounds are computed from


def test_votes_out_of_the_bag_are_bounded_by_their_losses():
    model = forest().fit(*table())
    certificate, losses = certify(model), model.oob_losses_
    even = np.full(FEW_TREES, 1 / FEW_TREES)
    first, tandem = certificate["out-of-bag first order"], certificate["out-of-bag tandem"]
    assert first.delta == tandem.delta == pytest.approx(0.05 / 4)
    assert first.n == losses.n
    assert tandem.n == losses.n_pairs < losses.n
    assert first.value == first_order_bound(losses.gibbs(even), losses.n, 0.0, 0.0125)
    assert tandem.value == tandem_bound(losses.tandem(even), losses.n_pairs, 0.0, 0.0125)
    assert "bin edges" in first.proviso  # taken from all rows
    edges = forest(bin_edges=EDGES).fit(*table())
    assert certify(edges)["out-of-bag tandem"].proviso == ""
    assert certify(bag().fit(*table()))["out-of-bag tandem"].proviso == ""


def test_weights_that_were_chosen_cost_their_divergence():
    X, y = table(900)
    model = forest().fit(X, y)
    weights = np.arange(1.0, FEW_TREES + 1) / np.arange(1.0, FEW_TREES + 1).sum()
    kl = float(np.sum(weights * np.log(weights * FEW_TREES)))
    tuned, losses = model.reweighted(weights), model.oob_losses_
    value = tandem_bound(losses.tandem(weights), losses.n_pairs, kl, 0.0125)
    assert certify(tuned)["out-of-bag tandem"].value == pytest.approx(value, rel=1e-12)
    # on rows that the weights do not depend on they cost nothing
    new = certify(tuned, *table(300, seed=1))["hold-out tandem"]
    assert new.value == tandem_bound(
        tuned.vote_losses(*table(300, seed=1)).tandem(weights), 300, 0.0, new.delta
    )
    assert "KL" not in new.found


def test_calibration_rows_give_bounds_of_their_own():
    X, y = table(300, seed=5)
    tuned = optimize_votes(RandomForestClassifier(30, random_state=0).fit(*table()), X, y)
    certificate = certify(tuned)
    assert names(certificate) == CALIBRATED
    assert all(bound.n == 300 for bound in certificate)
    assert all("calibration rows" in bound.conditions for bound in certificate)


def test_training_rows_tell_of_themselves():
    X, y = table()
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    told = dict(certify(model).of_training)
    assert told["training error"] == pytest.approx(1 - model.score(X, y))
    assert told["training error"] <= told["proven bound of the training error"]
    assert told["proven bound of the training error"] == model.training_error_bound_[-1]
    assert certify(forest().fit(X, y)).of_training == ()
    three = SchapireBoostClassifier(random_state=0).fit(X, y)
    assert dict(certify(three).of_training)["training error"] == three.training_error_


def test_the_vc_dimension_is_told_where_rows_are_enough():
    few = certify(AdaBoostClassifier(n_estimators=40).fit(*table()))
    assert names(few) == set(CLASS[1:])
    assert any(bound.name == CLASS[0] and "2 m >= D" in bound.reason for bound in few.inapplicable)


def test_bounds_of_margins_say_something_with_many_rows():
    X, y = table(60_000)
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = AdaBoostClassifier(DecisionStump(bin_edges=[0.0]), n_estimators=3).fit(X, y)
    certificate = certify(model)
    assert min(certificate[name].value for name in MARGINS) < 0.2
    assert certificate[MARGINS[0]].conditions != certificate[CLASS[1]].conditions


# --- conditions that do not hold


def test_weights_of_rows_are_a_reason():
    X, y = table()
    weight = 1.0 + np.arange(len(y)) % 2
    boosted = certify(AdaBoostClassifier(FIXED, n_estimators=5).fit(X, y, sample_weight=weight))
    assert names(boosted) == set()
    assert {u.name for u in boosted.inapplicable if "sample weights" in u.reason} == {*CLASS, *MARGINS}
    for model in (forest(), bag()):
        certificate = certify(model.fit(X, y, sample_weight=weight))
        assert names(certificate) == set()
        assert {u.name for u in certificate.inapplicable if "sample_weight" in u.reason} == OUT_OF_BAG


def test_classes_that_are_balanced_by_all_labels_are_a_reason():
    certificate = certify(forest(class_weight="balanced").fit(*table()))
    assert names(certificate) == set()
    assert {u.name for u in certificate.inapplicable if "class_weight='balanced'" in u.reason} == OUT_OF_BAG
    assert names(certify(forest(class_weight="balanced_subsample").fit(*table()))) == OUT_OF_BAG
    assert names(certify(forest(class_weight={"no": 1, "yes": 3}).fit(*table()))) == OUT_OF_BAG


@pytest.mark.parametrize(
    ("model", "known", "two_only"),
    [
        (AdaBoostClassifier(FIXED, n_estimators=5), set(), {*CLASS, *MARGINS, "hold-out C-bound"}),
        (forest(), OUT_OF_BAG, {"out-of-bag C-bound", "hold-out C-bound"}),
        (bag(GaussianNB()), OUT_OF_BAG, {"out-of-bag C-bound", "hold-out C-bound"}),
        (GradientBoostingClassifier(n_estimators=3), set(), set()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_more_than_two_classes_are_a_reason_for_some(model, known, two_only):
    certificate = certify(model.fit(*table(n_classes=3)), *table(300, 1, n_classes=3))
    assert {
        u.name for u in certificate.inapplicable if "requires two classes; the model has 3" in u.reason
    } == two_only
    votes = set() if isinstance(model, GradientBoostingClassifier) else HELD_OUT
    assert names(certificate) == ({HOLD_OUT} | known | votes) - two_only


def test_two_members_that_together_know_every_row_are_a_reason():
    X, y = table(6)
    model = BaggingClassifier(n_estimators=12, max_samples=5, oob_score=True, bootstrap=False, random_state=0)
    y[:2] = "no", "yes"
    certificate = certify(model.fit(X, y))
    alone = {"out-of-bag first order"}
    assert names(certificate) == alone
    assert {
        u.name for u in certificate.inapplicable if "no row to which neither" in u.reason
    } == OUT_OF_BAG - alone


# --- what is refused


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostRegressor(n_estimators=2),
        GradientBoostingRegressor(n_estimators=2),
        RandomForestRegressor(2),
        BaggingRegressor(n_estimators=2),
        OtherRegressor(),
    ],
)
def test_regressors_are_refused(model):
    X, _ = table(50)
    with pytest.raises(TypeError, match="model must be a fitted classifier; got"):
        certify(model.fit(X, X[:, 0]))


@EVERY
def test_a_model_that_is_not_fitted_is_refused(name):
    from sklearn.base import clone  # noqa: PLC0415 - here only

    with pytest.raises(NotFittedError):
        certify(clone(BINARY[name][0]))


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, np.nan, "0.05", None, True])
def test_delta_is_a_probability(delta):
    with pytest.raises((ValueError, TypeError), match="delta="):
        certify(LogisticRegression().fit(*table()), delta=delta)


def test_rows_and_labels_go_together():
    model, X, y = forest().fit(*table()), *table(300, seed=1)
    with pytest.raises(ValueError, match="X and y must be passed together"):
        certify(model, X)
    with pytest.raises(ValueError, match="X and y must be passed together"):
        certify(model, y=y)
    with pytest.raises(ValueError, match="y has 299 rows, but X has 300"):
        certify(model, X, y[:-1])
    with pytest.raises(ValueError, match="features"):
        certify(model, X[:, :2], y)


@pytest.mark.parametrize("name", ["forest", "discrete", "scikit-learn", "gradient", "bag"])
def test_labels_of_no_class_are_errors(name):
    model, X, y = fitted(name), *table(300, seed=1)
    with pytest.raises(ValueError, match=r"y has none of the classes \['no', 'yes'\] .*; y\[0\] is 7"):
        certify(model, X, np.full(300, 7))
    strange = np.where(np.arange(300) < 5, "maybe", y)
    certificate = certify(model, X, strange)
    assert f"{int(np.sum(model.predict(X) != strange))} errors" in certificate[HOLD_OUT].found
    if hasattr(model, "vote_losses"):
        assert any("'maybe', which is not a class" in bound.reason for bound in certificate.inapplicable)
