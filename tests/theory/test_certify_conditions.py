"""Conditions of bounds that do not hold, and parameters that were changed after the fit."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

import hedgerow as hr
from certify_cases import FIXED, HELD_OUT, OUT_OF_BAG, bag, fitted, forest, names, table
from hedgerow.theory import certify
from hedgerow.theory.applicable_bounds import CLASS, MARGINS
from hedgerow.theory.certificate import HOLD_OUT

TRAIN, TUNE = table(400), table(300, seed=1)


def named(certificate, text):
    """Names of the inapplicable bounds whose reason contains a text."""
    return {bound.name for bound in certificate.inapplicable if text in bound.reason}


def test_sample_weights_are_a_reason():
    X, y = TRAIN
    weight = 1.0 + np.arange(len(y)) % 2
    boosted = certify(hr.AdaBoostClassifier(FIXED, n_estimators=5).fit(X, y, sample_weight=weight))
    assert names(boosted) == set()
    assert named(boosted, "sample weights") == {*CLASS, *MARGINS}
    for model in (forest(), bag()):
        certificate = certify(model.fit(X, y, sample_weight=weight))
        assert names(certificate) == set()
        assert named(certificate, "sample_weight") == OUT_OF_BAG


def test_balanced_class_weights_are_a_reason_also_after_a_warm_start():
    certificate = certify(forest(class_weight="balanced").fit(*TRAIN))
    assert names(certificate) == set()
    assert named(certificate, "class_weight='balanced'") == OUT_OF_BAG
    assert names(certify(forest(class_weight="balanced_subsample").fit(*TRAIN))) == OUT_OF_BAG
    assert names(certify(forest(class_weight={"no": 1, "yes": 3}).fit(*TRAIN))) == OUT_OF_BAG
    model = forest(class_weight="balanced", warm_start=True).fit(*TRAIN)
    assert names(certify(model.set_params(class_weight=None, n_estimators=160).fit(*TRAIN))) == set()


@pytest.mark.parametrize(
    ("model", "known", "two_only"),
    [
        (hr.AdaBoostClassifier(FIXED, n_estimators=5), set(), {*CLASS, *MARGINS, "hold-out C-bound"}),
        (forest(), OUT_OF_BAG, {"out-of-bag C-bound", "hold-out C-bound"}),
        (bag(GaussianNB()), OUT_OF_BAG, {"out-of-bag C-bound", "hold-out C-bound"}),
        (hr.GradientBoostingClassifier(n_estimators=3), set(), set()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_more_than_two_classes_are_a_reason_for_some_bounds(model, known, two_only):
    certificate = certify(model.fit(*table(n_classes=3)), *table(300, 1, n_classes=3))
    assert named(certificate, "requires two classes; the model has 3") == two_only
    votes = set() if isinstance(model, hr.GradientBoostingClassifier) else HELD_OUT
    assert names(certificate) == ({HOLD_OUT} | known | votes) - two_only


def test_two_members_without_common_out_of_bag_rows_are_a_reason():
    X, y = table(6)
    y[:2] = "no", "yes"
    model = hr.BaggingClassifier(
        n_estimators=12, max_samples=5, oob_score=True, bootstrap=False, random_state=0
    )
    certificate = certify(model.fit(X, y))
    alone = {"out-of-bag first order"}
    assert names(certificate) == alone
    assert named(certificate, "no row to which neither") == OUT_OF_BAG - alone


def test_few_rows_for_the_vc_dimension_are_a_reason():
    few = certify(hr.AdaBoostClassifier(n_estimators=40).fit(*TRAIN))
    assert names(few) == set(CLASS[1:])
    assert CLASS[0] in named(few, "2 m >= D")


@pytest.mark.parametrize("max_depth", [9, 12, 70, 20_000])
def test_deep_trees_have_a_certificate_up_to_1024_leaves(max_depth):
    learner = hr.DecisionTreeClassifier(max_depth=max_depth, bin_edges=np.linspace(-2, 2, 20))
    found = certify(hr.AdaBoostClassifier(learner, n_estimators=3).fit(*TRAIN))
    assert all(len(bound.found) < 200 and bound.value > 0 for bound in found)
    assert bool(named(found, "more than 1,024 leaves")) == (max_depth > 10)


# --- parameters that were changed after the fit


def test_the_voting_of_the_fit_counts():
    X, _ = TUNE
    model = bag(hr.DecisionTreeClassifier(max_depth=2)).fit(*TRAIN)
    before = model.predict_proba(X)
    model.set_params(voting="hard")
    changed = not np.array_equal(model.predict_proba(X), before)
    assert not (changed and names(certify(model)))


def test_the_maximum_number_of_rounds_of_the_fit_counts():
    model = hr.AdaBoostClassifier(n_estimators=200, early_stopping=True, random_state=0).fit(*TRAIN)
    assert model.n_estimators_ < 200
    before = certify(model)[CLASS[1]]
    assert certify(model.set_params(n_estimators=3))[CLASS[1]] == before


def test_a_warm_start_with_another_learner_has_the_larger_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)

    def resumed(max_depth):
        learner = hr.DecisionTreeClassifier(max_depth=max_depth)
        model = hr.AdaBoostClassifier(learner, n_estimators=2, warm_start=True).fit(X, y)
        return model.set_params(estimator=hr.DecisionStump(), n_estimators=3).fit(X, y)

    deep, model = resumed(14), resumed(3)
    with pytest.raises(TypeError, match=r"more than 1,024 leaves"):
        deep.hypothesis_class_  # noqa: B018 - the property raises
    assert not certify(deep).bounds
    assert model.hypothesis_class_.n_leaves == 8
    assert model.set_params(warm_start=False).fit(X, y).hypothesis_class_.n_leaves == 2


# --- values


class ConstantProbabilities(ClassifierMixin, BaseEstimator):
    """Probabilities with a sum of 1.75."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.tile([0.85, 0.9], (len(X), 1))

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def test_probabilities_with_a_sum_above_1_give_no_bound_below_the_error():
    X, y = table(3000)
    model = hr.BaggingClassifier(ConstantProbabilities(), n_estimators=30, oob_score=True, random_state=0)
    wrong = np.mean(model.fit(X, y).predict(X) != y)
    assert all(bound.value >= wrong - 0.05 for bound in certify(model))


@pytest.mark.parametrize(("weighted", "options"), [(True, {}), (False, {"early_stopping": True})])
def test_the_training_error_is_not_above_its_bound(weighted, options):
    X, y = TRAIN
    weight = np.where(y == "yes", 1.0, 0.01) if weighted else None
    learner = hr.DecisionTreeClassifier(max_depth=3)
    model = hr.AdaBoostClassifier(learner, n_estimators=12, random_state=0, **options)
    found = dict(certify(model.fit(X, y, sample_weight=weight)).of_training)
    if "proven bound of the training error" in found and "training error" in found:
        assert found["training error"] <= found["proven bound of the training error"] + 1e-12


def test_shares_do_not_depend_on_the_labels():
    model, (new, labels), odd = fitted("forest"), TUNE, TUNE[1].copy()
    odd[0] = 99
    usual, strange = certify(model, new, labels), certify(model, new, odd)
    for name in ("hold-out", "out-of-bag first order", "out-of-bag tandem"):
        assert usual[name].delta == strange[name].delta


def test_the_first_order_bound_needs_no_pairs():
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.array([0, 1] * 4)
    model = hr.RandomForestClassifier(40, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row may be in every bag
        model.fit(X, y)
    assert model.oob_losses_.n_pairs == 0
    found = certify(model)
    assert model.oob_losses_.n < 1 or found["out-of-bag first order"].value <= 1.0
    assert {bound.name for bound in found.inapplicable} >= {"out-of-bag tandem"}


def test_large_vote_weights_are_scaled():
    model = fitted("forest")
    n_trees = len(model.estimator_weights_)
    assert np.allclose(model.reweighted(np.full(n_trees, 1e308)).estimator_weights_, 1 / n_trees)


def test_scores_that_are_all_zero_have_margin_zero():
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(np.ones((20, 2)), [0, 1] * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.margins(np.ones((2, 2)), [0, 1]).tolist() == [0.0, 0.0]


class Hinge:
    def cost(self, margin):
        return np.maximum(0.0, 1.0 - margin)

    def derivative(self, margin):
        return np.where(margin < 0.05, -1.0, 0.0)


def test_weights_of_rows_without_cost_are_finite():
    X, _ = TRAIN
    y = (X[:, 0] > 0).astype(int)
    model = hr.AnyBoostClassifier(cost=Hinge(), n_estimators=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(np.isfinite(weight).all() for weight in model.staged_sample_weights(X[:5], y[:5]))
