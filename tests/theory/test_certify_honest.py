"""What is proven must not rest on conditions that the code can see are false, nor end in a traceback."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from certify_cases import FIXED, names, table
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    BaggingClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    RandomForestClassifier,
    load,
    save,
)
from hedgerow.theory import Certificate, certify, optimize_votes, quantile_grid
from hedgerow.theory.applicable_bounds import CLASS
from hedgerow.theory.certificate import HOLD_OUT

TRAIN, TUNE, OTHER = table(400), table(300, seed=1), table(350, seed=2)


def forest(**options):
    return RandomForestClassifier(60, oob_score=True, random_state=0, max_samples=0.5, **options).fit(*TRAIN)


# --- rows that were used


def test_weights_are_not_tuned_with_training_rows():
    with pytest.raises(ValueError, match="400 of the 400 rows of X have the same values"):
        optimize_votes(forest(), *TRAIN)


def bag():
    return BaggingClassifier(n_estimators=20, random_state=0).fit(*TRAIN)


@pytest.mark.parametrize("fitted", [forest, bag])
def test_a_new_fit_discards_the_rows_that_weights_were_tuned_with(fitted):
    tuned = optimize_votes(fitted(), *TUNE)
    assert any("calibration" in name for name in names(certify(tuned)))
    tuned.set_params(n_estimators=25).fit(*OTHER)
    assert not any("calibration" in name for name in names(certify(tuned)))


@pytest.mark.parametrize(
    "kind", [AdaBoostClassifier, LogitBoostClassifier, AnyBoostClassifier, GradientBoostingClassifier]
)
def test_rows_that_ended_the_rounds_are_not_new(kind):
    model = kind(n_estimators=40, early_stopping=True).fit(*TRAIN, eval_set=[TUNE])
    with pytest.raises(ValueError, match="300 of the 300 rows"):
        certify(model, *TUNE)
    assert HOLD_OUT in names(certify(model, *OTHER))
    watched = kind(n_estimators=5, early_stopping=False).fit(*TRAIN, eval_set=[TUNE])
    assert HOLD_OUT in names(certify(watched, *TUNE))  # looking at an error changes nothing


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(AdaBoostClassifier(), {"n_estimators": [3, 5]}, cv=2),
        make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=3)),
        make_pipeline(AdaBoostClassifier(n_estimators=3)),
    ],
    ids=["search", "pipeline", "pipeline of one"],
)
def test_models_within_others_know_their_rows(model):
    model.fit(*TRAIN)
    with pytest.raises(ValueError, match="400 of the 400 rows"):
        certify(model, *TRAIN)
    assert HOLD_OUT in names(certify(model, *OTHER))


def test_training_rows_in_single_precision_are_known_again():
    X, y = TRAIN
    with pytest.raises(ValueError, match="400 of the 400 rows"):
        certify(forest(), X.astype(np.float32), y)


def discrete(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, 3)).astype(float)
    return X, (X.sum(axis=1) + rng.normal(size=n_rows) > 7).astype(int)


def test_many_new_rows_that_equal_few_old_ones_are_accepted():
    n_refused = 0
    for seed in range(60):
        model = AdaBoostClassifier(n_estimators=1).fit(*discrete(100, seed))
        try:
            certify(model, *discrete(3000, seed + 1000))
        except ValueError:
            n_refused += 1
    assert n_refused <= 3


# --- a certificate of another model


def test_the_vote_is_that_of_the_fit():
    X, _ = OTHER
    model = BaggingClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=20, max_samples=0.5, oob_score=True, random_state=0
    ).fit(*TRAIN)
    before = model.predict_proba(X)
    model.set_params(voting="hard")
    changed = not np.array_equal(model.predict_proba(X), before)
    assert not (changed and names(certify(model)))


def test_trees_that_were_balanced_stay_in_doubt():
    model = RandomForestClassifier(
        30, oob_score=True, class_weight="balanced", max_samples=0.5, random_state=0
    )
    model.set_params(warm_start=True).fit(*TRAIN).set_params(class_weight=None, n_estimators=40).fit(*TRAIN)
    assert names(certify(model)) == set()


def test_the_most_rounds_are_those_of_the_fit():
    model = AdaBoostClassifier(n_estimators=200, early_stopping=True, random_state=0).fit(*TRAIN)
    assert model.n_estimators_ < 200
    before = certify(model)[CLASS[1]]
    model.set_params(n_estimators=3)
    assert certify(model)[CLASS[1]] == before


class Loud(ClassifierMixin, BaseEstimator):
    """Gives every class nearly the whole."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.tile([0.85, 0.9], (len(X), 1))

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def test_probabilities_that_sum_to_more_than_1_prove_nothing_false():
    X, y = table(3000)
    model = BaggingClassifier(Loud(), n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    wrong = np.mean(model.predict(X) != y)
    assert all(bound.value >= wrong - 0.05 for bound in certify(model))


# --- figures


@pytest.mark.parametrize("options", [{"weighted": True}, {"early_stopping": True}])
def test_what_is_said_of_training_rows_does_not_contradict_itself(options):
    X, y = TRAIN
    weight = np.where(y == "yes", 1.0, 0.01) if options.pop("weighted", False) else None
    model = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=12, random_state=0, **options
    )
    told = dict(certify(model.fit(X, y, sample_weight=weight)).of_training)
    if "proven bound of the training error" in told and "training error" in told:
        assert told["training error"] <= told["proven bound of the training error"] + 1e-12


@pytest.mark.parametrize("max_depth", [9, 12, 70])
def test_deep_trees_have_a_certificate(max_depth):
    learner = DecisionTreeClassifier(max_depth=max_depth, bin_edges=np.linspace(-2, 2, 20))
    found = certify(AdaBoostClassifier(learner, n_estimators=3).fit(*TRAIN))
    assert all(len(bound.found) < 200 for bound in found)
    assert all(bound.value > 0 for bound in found)


def test_scores_that_are_all_zero_have_margin_zero():
    model = GradientBoostingClassifier(n_estimators=3).fit(np.ones((20, 2)), [0, 1] * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.margins(np.ones((2, 2)), [0, 1]).tolist() == [0.0, 0.0]


class Hinge:
    def cost(self, margin):
        return np.maximum(0.0, 1.0 - margin)

    def derivative(self, margin):
        return np.where(margin < 0.05, -1.0, 0.0)


def test_weights_of_rows_that_cost_nothing_are_numbers():
    X, _ = TRAIN
    y = (X[:, 0] > 0).astype(int)
    model = AnyBoostClassifier(cost=Hinge(), n_estimators=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(np.isfinite(weight).all() for weight in model.staged_sample_weights(X[:5], y[:5]))


# --- errors that name what is wrong


@pytest.mark.parametrize("model", [5, None, "forest", object(), RandomForestClassifier])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(TypeError, match="model must be a fitted classifier; got"):
        certify(model)


def test_missing_labels_are_refused():
    X, y = TUNE
    numbers = np.where(y == "yes", 1.0, 0.0)
    model = LogisticRegression().fit(X, numbers)
    with pytest.raises(ValueError, match="y"):
        certify(model, OTHER[0][:300], np.where(np.arange(300) == 3, np.nan, numbers))


def test_large_weights_are_scaled():
    model = forest()
    assert np.allclose(model.reweighted(np.full(60, 1e308)).estimator_weights_, 1 / 60)


class Plain(ClassifierMixin, BaseEstimator):
    """A classifier that does not tell its classes."""

    def fit(self, X, y):
        self.most_ = y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


def test_a_classifier_need_not_tell_its_classes():
    assert names(certify(Plain().fit(*TRAIN), *OTHER)) == {HOLD_OUT}


def test_a_delta_that_cannot_be_shared_is_refused():
    with pytest.raises(ValueError, match="delta=5e-324"):
        certify(AdaBoostClassifier(FIXED, n_estimators=3).fit(*TRAIN), *OTHER, delta=5e-324)


BOUND = {"name": "x", "value": 0.1, "delta": 0.05, "n": 3, "found": "f", "conditions": "c"}


@pytest.mark.parametrize(
    "change",
    [
        {"format": True},
        {"bounds": [BOUND | {"value": "abc"}]},
        {"bounds": [BOUND | {"value": None}]},
        {"bounds": [BOUND | {"value": math.nan}]},
        {"bounds": [BOUND | {"name": ["a"]}]},
        {"bounds": [BOUND | {"n": "3"}]},
        {"chance_error": "x"},
        {"delta": None},
        {"delta": 7},
        {"model": {"a": 1}},
    ],
)
def test_files_of_strangers_are_refused_or_can_be_shown(change):
    given = Certificate("M", 0.05, 0.3, ()).to_dict()
    with pytest.raises(ValueError, match="certificate"):
        Certificate.from_dict(given | {"bounds": [BOUND]} | change)


@pytest.mark.parametrize(
    "raw", [b"[" * 100_000, b"\xff\xfe\x00", b'{"format": 1, "delta": ' + b"9" * 5000 + b"}"]
)
def test_files_that_are_no_text_of_ours_are_refused(raw, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="is not a certificate"):
        Certificate.load(path)


def test_brackets_in_texts_are_no_markup():
    found = Certificate.from_dict(
        Certificate("M", 0.05, 0.3, ()).to_dict()
        | {"bounds": [BOUND | {"name": "[/x]", "found": "[red]y[/red]"}]}
    )
    assert "[/x]" in str(found)
    assert "[red]y[/red]" in str(found)


# --- what fresh eyes found


def test_a_model_that_went_on_with_another_learner_is_of_the_larger_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=14), n_estimators=2, warm_start=True).fit(
        X, y
    )
    model.set_params(estimator=DecisionStump(), n_estimators=3).fit(X, y)
    with pytest.raises(TypeError, match=r"more than 1,024 leaves"):
        model.hypothesis_class_  # noqa: B018 - asking is enough
    assert not certify(model).bounds
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=2, warm_start=True).fit(X, y)
    model.set_params(estimator=DecisionStump(), n_estimators=3).fit(X, y)
    assert model.hypothesis_class_.n_leaves == 8
    model.set_params(warm_start=False).fit(X, y)
    assert model.hypothesis_class_.n_leaves == 2


def test_depths_beyond_all_numbers_are_refused_in_words():
    X, y = TRAIN
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=20_000), n_estimators=2).fit(X, y)
    reasons = {bound.reason for bound in certify(model).inapplicable}
    assert any("more than 1,024 leaves" in reason for reason in reasons)


def test_a_grid_that_was_found_on_training_rows_is_noticed():
    X, y = TRAIN
    for grid, is_fair in ((quantile_grid(TUNE[0], 16), True), (quantile_grid(X, 16), False)):
        model = AdaBoostClassifier(DecisionStump(bin_edges=grid), n_estimators=5).fit(X, y)
        reported = {bound.name for bound in certify(model)}
        assert any(name.startswith("margins") for name in reported) is is_fair
        forest = RandomForestClassifier(60, bin_edges=grid, oob_score=True, random_state=0).fit(X, y)
        assert (not certify(forest)["out-of-bag first order"].proviso) is is_fair


def test_shares_do_not_depend_on_the_labels_that_are_seen():
    model, (new, labels), odd = forest(), TUNE, TUNE[1].copy()
    odd[0] = 99
    usual, strange = certify(model, new, labels), certify(model, new, odd)
    for name in ("hold-out", "out-of-bag first order", "out-of-bag tandem"):
        assert usual[name].delta == strange[name].delta


def test_first_order_needs_no_pairs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 2)), np.array([0, 1] * 4)
    forest = RandomForestClassifier(40, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row may be in every bag
        forest.fit(X, y)
    assert forest.oob_losses_.n_pairs == 0
    found = certify(forest)
    assert forest.oob_losses_.n < 1 or found["out-of-bag first order"].value <= 1.0
    assert {bound.name for bound in found.inapplicable} >= {"out-of-bag tandem"}


# --- what a second look found


def test_rounded_copies_of_training_rows_are_refused():
    X, y = TRAIN
    numbers = X.astype(np.float64) + np.pi
    copies = numbers.astype(np.float32).astype(np.float64)
    for model in (AdaBoostClassifier(n_estimators=3), BaggingClassifier(n_estimators=3, random_state=0)):
        with pytest.raises(ValueError, match="some of the 400 rows, after rounding, of X"):
            certify(model.fit(numbers, y), copies, y)


def test_rows_that_a_grid_was_found_on_are_no_hold_out():
    grid = quantile_grid(TUNE[0], 16)
    model = AdaBoostClassifier(DecisionStump(bin_edges=grid), n_estimators=3).fit(*TRAIN)
    for fitted in (model, RandomForestClassifier(3, bin_edges=grid, random_state=0).fit(*TRAIN)):
        with pytest.raises(
            ValueError, match="X has rows from which the bin_edges of the model were computed"
        ):
            certify(fitted, *TUNE)
        assert certify(fitted, *OTHER)["hold-out"].n == 350


def test_a_grid_of_training_rows_is_a_proviso_of_bags_and_stays_one():
    X, y = TRAIN
    grid = quantile_grid(X, 16)
    member = DecisionTreeClassifier(max_depth=3, bin_edges=grid)
    bag = BaggingClassifier(member, n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    trees = forest(bin_edges=grid)
    for fitted in (bag, trees.set_params(bin_edges=None)):
        assert all(bound.proviso for bound in certify(fitted))


def test_stratified_rows_of_few_values_are_noted_and_not_refused():
    rng = np.random.default_rng(0)
    kinds, labels = rng.integers(0, 2, (26, 6)), rng.integers(0, 26, 2000)
    parts = train_test_split(kinds[labels] + 0.0, labels, test_size=0.3, stratify=labels, random_state=0)
    X, new, y, new_labels = parts
    found = certify(RandomForestClassifier(2, random_state=0).fit(X, y), new, new_labels)
    assert any("stratified" in note for note in found.notes)


def test_a_loaded_model_that_goes_on_knows_the_rows_of_both_fits(tmp_path):
    model = GradientBoostingClassifier(n_estimators=3).fit(*TRAIN)
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors").set_params(warm_start=True, n_estimators=5).fit(*TUNE)
    assert not any("no fingerprints" in note for note in certify(loaded, *OTHER).notes)
    for seen in (TRAIN, TUNE):
        with pytest.raises(ValueError, match="that the model was fitted to"):
            certify(loaded, *seen)
