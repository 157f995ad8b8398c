"""Options of choose and fit_method: parameters, weights, groups, times, thresholds, sizes."""

import numpy as np
import pytest
from sklearn import metrics as theirs

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier, save
from hedgerow.selection import (
    AUTO,
    FixedThresholdClassifier,
    MethodOptions,
    RowOrder,
    choose,
    fit_method,
    hold_out,
    search,
)
from hedgerow.selection.limits import FitLimits, most_rounds
from hedgerow.selection.methods import check_method_parameters
from hedgerow.selection.predictions import class_predictions
from hedgerow.selection.settings import settings_for
from hedgerow.selection.threshold import check_threshold, choose_threshold
from hedgerow.theory import certify

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
LABELS = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=300) > 1.0, "yes", "no")
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=300)


@pytest.fixture(autouse=True)
def short_settings(monkeypatch):
    def short(method, task, n_rows, parameters, *_):
        return [one.shortened(8) for one in settings_for(method, task, n_rows, parameters)[:1]]

    monkeypatch.setattr(search, "settings_for", short)


def choose_labels(methods=("gradient",), **options):
    return choose(X, LABELS, "classification", methods=methods, budget=None, options=MethodOptions(**options))


# --- parameters


def test_fixed_parameters_are_those_of_every_setting_and_of_the_model():
    settings = settings_for("gradient", "classification", 300, {"learning_rate": 0.3, "max_leaf_nodes": 4})
    assert {one.parameters["learning_rate"] for one in settings} == {0.3}
    assert len(settings) < len(settings_for("gradient", "classification", 300))
    choice = choose_labels(parameters={"learning_rate": 0.3})
    assert choice.model.learning_rate == 0.3
    model = fit_method(X, LABELS, "classification", "adaboost", options=MethodOptions({"max_depth": 2}))
    assert model.estimator.max_depth == 2


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        ("gradient", {"learning_rat": 0.1}, "no such parameter; did you mean 'learning_rate'"),
        ("gradient", {"learning_rate": -1}, "learning_rate=-1 is not allowed: it must be a number > 0"),
        ("forest", {"learning_rate": 0.1}, "method 'forest' has no such parameter"),
        ("adaboost", {"max_depth": 0}, "max_depth=0 is not allowed"),
        ("forest", {"random_state": 3}, "the seed"),
        ("forest", {"n_jobs": 3}, "the number of threads"),
        ("forest", {"max_features": "many"}, "max_features='many' is not allowed"),
    ],
)
def test_wrong_parameters_are_refused_before_any_fit(method, parameters, message):
    with pytest.raises(ValueError, match=message):
        check_method_parameters(method, "classification", parameters)
    with pytest.raises(ValueError, match=message):
        choose_labels([method], parameters=parameters)
    with pytest.raises(ValueError, match=message):
        fit_method(X, LABELS, "classification", method, options=MethodOptions(parameters))


def test_dropped_rounds_are_refused_where_validation_chooses_the_number_of_rounds():
    dropped = {"drop_rate": 0.2, "n_estimators": 8}
    with pytest.raises(ValueError, match=r"drop_rate=0.2 is not allowed where validation chooses"):
        choose_labels(["gradient"], parameters=dropped)
    assert choose_labels(["gradient"], parameters={"drop_rate": 0.0}).model.drop_rate == 0.0
    model = fit_method(X, LABELS, "classification", "gradient", options=MethodOptions(dropped))
    assert (model.drop_rate, model.n_estimators_) == (0.2, 8)


# --- weights


@pytest.mark.parametrize("method", AUTO)
def test_an_integer_weight_is_that_many_copies_and_zero_is_none(method):
    """Bagging draws rows, and is random; its model changes with the weights."""
    weights = np.where(LABELS == "yes", 3, 1)
    options = MethodOptions({"n_estimators": 5}, sample_weight=weights)
    model = fit_method(X, LABELS, "classification", method, options=options)
    plain = fit_method(X, LABELS, "classification", method, options=MethodOptions({"n_estimators": 5}))
    assert (model.predict_proba(X)[:, 1]).mean() > plain.predict_proba(X)[:, 1].mean()
    if method in ("gradient", "adaboost"):
        copies = np.repeat(np.arange(300), weights)
        copied = fit_method(
            X[copies], LABELS[copies], "classification", method, options=MethodOptions({"n_estimators": 5})
        )
        np.testing.assert_array_equal(model.predict(X), copied.predict(X))


def test_class_weights_multiply_the_weights_of_the_rows():
    weights = np.linspace(0.5, 1.5, 300)
    both = MethodOptions(sample_weight=weights, class_weight={"yes": 2.0}).weights(LABELS, "classification")
    np.testing.assert_allclose(both, weights * np.where(LABELS == "yes", 2.0, 1.0))
    balanced = MethodOptions(class_weight="balanced").weights(LABELS, "classification")
    assert balanced[LABELS == "yes"].sum() == pytest.approx(balanced[LABELS == "no"].sum())
    assert choose_labels(AUTO, class_weight="balanced").model.predict(X).shape == (300,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_weight": "equal"}, "it must be 'balanced' or a dict"),
        ({"class_weight": {"maybe": 2.0}}, "class_weight names 'maybe', which is not one of"),
        ({"class_weight": {"yes": -1}}, "it must be a number above 0"),
        ({"sample_weight": [1.0, 2.0]}, "one number for each of 300 rows"),
        ({"sample_weight": np.r_[-1.0, np.ones(299)]}, r"sample_weight\[0\] is -1.0"),
        ({"sample_weight": np.zeros(300)}, "0 for every row"),
        ({"threshold": "f2"}, "a number from 0 to 1, 'f1', or costs"),
        ({"threshold": 1.5}, "a number from 0 to 1"),
        ({"threshold": {"fp": 1}}, "costs"),
        ({"threshold": {"fp": 0, "fn": 0}}, "not both 0"),
        ({"positive": "maybe"}, "the positive class 'maybe' is not one of the classes"),
        ({"max_size": 0}, "max_size=0 is not allowed"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        choose_labels(**options)


def test_options_of_classes_are_refused_for_numbers():
    for options, message in (
        (MethodOptions(class_weight="balanced"), "not allowed for regression"),
        (MethodOptions(threshold=0.3), "it needs two classes, and y has numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(X, NUMBERS, "regression", methods=["gradient"], options=options)
    with pytest.raises(ValueError, match="y has 3 classes"):
        check_threshold("f1", 3)
    with pytest.raises(ValueError, match="chosen on validation rows"):
        fit_method(X, LABELS, "classification", "forest", options=MethodOptions(threshold="f1"))
    with pytest.raises(ValueError, match="it has no weights"):
        fit_method(X, LABELS, "classification", "schapire", options=MethodOptions(class_weight="balanced"))


# --- groups and times


def test_validation_rows_are_whole_groups(monkeypatch):
    groups = np.arange(300) // 10
    splits = []
    real = search.run_trial

    def record(context, *more):
        splits.extend(context.splits)
        return real(context, *more)

    monkeypatch.setattr(search, "run_trial", record)
    numbered = np.column_stack([X, groups])
    choice = choose(
        numbered, LABELS, "classification", methods=["gradient"], budget=None,
        options=MethodOptions(order=RowOrder.of(300, groups=groups)),
    )  # fmt: skip
    assert "whole groups" in choice.validation
    for split in splits[1:]:  # the first one is the warm-up
        assert not set(split.X[:, -1]) & set(split.X_valid[:, -1])


def test_validation_rows_are_later_and_new_classes_are_allowed():
    times = np.arange(300)
    late = np.where(times >= 280, "new", LABELS)  # it does not occur in the training rows of any fold
    options = MethodOptions(order=RowOrder.of(300, times=times))
    choice = choose(X, late, "classification", methods=AUTO, budget=None, options=options)
    assert "each later than its training rows" in choice.validation
    assert {trial.status for trial in choice.trials} == {"done"}
    assert choice.model.classes_.tolist() == ["new", "no", "yes"]


def test_rounds_are_not_found_by_folds_that_divide_groups_or_ignore_times(monkeypatch):
    monkeypatch.setattr(search, "settings_for", lambda *more: settings_for(*more)[:2])
    for order in (RowOrder.of(300, groups=np.arange(300) // 10), RowOrder.of(300, times=np.arange(300))):
        options = MethodOptions(order=order)
        choice = choose(X, NUMBERS, "regression", methods=["gradient"], budget=None, options=options)
        assert [trial.parameters["learning_rate"] for trial in choice.trials] == [0.1]
        model = fit_method(X, NUMBERS, "regression", "gradient", options=options)
        assert (model.n_estimators_, model.n_folds_) == (100, 1)
        automatic = MethodOptions({"n_estimators": "auto"}, order=order)
        for refused in (
            lambda options=automatic: fit_method(X, NUMBERS, "regression", "gradient", options=options),
            lambda options=automatic: choose(X, NUMBERS, "regression", methods=["gradient"], options=options),
        ):
            with pytest.raises(ValueError, match="n_estimators='auto' is not allowed for rows with groups"):
                refused()


def test_a_single_method_has_the_defaults_of_the_library():
    model = fit_method(X, NUMBERS, "regression", "gradient")
    default = GradientBoostingRegressor(random_state=0).fit(X, NUMBERS)
    assert (model.n_estimators, model.n_folds_) == ("auto", 8)
    np.testing.assert_array_equal(model.predict(X), default.predict(X))


# --- thresholds


def test_the_chosen_threshold_is_the_best_of_all():
    truth = RNG.integers(0, 2, 200)
    scores = np.clip(0.5 * truth + RNG.uniform(size=200), 0, 1).round(2)
    rows = class_predictions(truth, np.column_stack([1 - scores, scores]))
    found = choose_threshold(rows, "f1")
    assert theirs.f1_score(truth, scores >= found) == max(
        theirs.f1_score(truth, scores >= one, zero_division=0) for one in np.unique(scores)
    )
    costs = {"fp": 1.0, "fn": 10.0}

    def cost(threshold):
        predicted = scores >= threshold
        return np.sum(predicted & (truth == 0)) + 10.0 * np.sum(~predicted & (truth == 1))

    assert cost(choose_threshold(rows, costs)) == min(map(cost, [*np.unique(scores), 1.1]))


def test_a_model_with_a_threshold_decides_by_it_and_is_certified_with_it():
    choice = choose_labels(threshold={"fp": 1, "fn": 10})
    assert isinstance(choice.model, FixedThresholdClassifier)
    assert choice.threshold == choice.model.threshold < 0.5
    new = RNG.normal(size=(200, 4))
    expected = np.where(choice.model.predict_proba(new)[:, 1] >= choice.threshold, "yes", "no")
    np.testing.assert_array_equal(choice.model.predict(new), expected)
    certificate = certify(choice.model, new, expected)
    assert certificate["hold-out"].found.startswith("0 errors")
    assert [bound.name for bound in certificate.bounds] == ["hold-out"]
    with pytest.raises(ValueError, match="have the same values as rows that the model was fitted to"):
        certify(choice.model, X, LABELS)


def test_a_fixed_threshold_and_the_positive_class():
    model = fit_method(
        X, LABELS, "classification", "gradient", options=MethodOptions(threshold=0.8, positive="no")
    )
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X) == "no", probabilities[:, 0] >= 0.8)
    choice = choose_labels(threshold=0.8)
    accuracy = choice.best.scores["accuracy"]
    assert choose_labels().best.scores["accuracy"] != accuracy  # trials are scored with the threshold


def test_a_threshold_classifier_fits_a_copy():
    inner = GradientBoostingClassifier(n_estimators=3)
    model = FixedThresholdClassifier(inner, 0.3).fit(X, LABELS)
    assert not hasattr(inner, "classes_")
    assert model.estimator_.n_estimators_ == 3
    assert model.feature_importances_.shape == (4,)
    with pytest.raises(AttributeError, match="staged_predict"):
        model.staged_predict(X)
    for threshold, message in ((True, "threshold=True"), (2.0, "threshold=2.0")):
        with pytest.raises(ValueError, match=message):
            FixedThresholdClassifier(inner, threshold).fit(X, LABELS)
    with pytest.raises(ValueError, match="two classes"):
        FixedThresholdClassifier(inner).fit(X, RNG.integers(0, 3, 300))


# --- size


@pytest.mark.parametrize("method", ["forest", "gradient", "adaboost"])
def test_a_model_is_not_larger_than_the_limit(method, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "settings_for", lambda *more: settings_for(*more)[:1])
    rows = RNG.normal(size=(3000, 5))
    labels = (rows[:, 0] + RNG.normal(size=3000) > 0).astype(int)
    parameters = {"n_estimators": 300, **({"max_depth": 4} if method == "adaboost" else {})}
    limit = 600_000
    whole = fit_method(rows, labels, "classification", method, options=MethodOptions(parameters))
    save(whole, tmp_path / "whole")
    options = MethodOptions(parameters, max_size=limit)
    choice = choose(rows, labels, "classification", methods=[method], budget=None, options=options)
    save(choice.model, tmp_path / "small")
    assert (tmp_path / "small").stat().st_size <= limit
    assert choice.model.n_estimators <= 300
    if method == "forest":
        assert (tmp_path / "whole").stat().st_size > limit
        assert "the size limit of 600 kB allows" in choice.best.note
        direct = fit_method(rows, labels, "classification", method, options=options)
        save(direct, tmp_path / "direct")
        assert (tmp_path / "direct").stat().st_size <= limit


def test_another_method_is_chosen_if_one_does_not_fit():
    options = MethodOptions(max_size=150_000)
    rows = RNG.normal(size=(4000, 5))
    labels = (rows[:, 0] + RNG.normal(size=4000) > 0).astype(int)
    choice = choose(
        rows, labels, "classification", methods=["forest", "gradient"], budget=None, options=options
    )
    assert choice.best.method == "gradient"
    assert "a model of one round has" in next(one.note for one in choice.trials if one.method == "forest")


def test_a_size_without_any_model_is_refused():
    with pytest.raises(ValueError, match=r"a model of one round has .* and the size limit is 1.0 kB"):
        fit_method(X, LABELS, "classification", "forest", options=MethodOptions(max_size=1000))
    model = RandomForestClassifier(n_estimators=4, random_state=0).fit(X, LABELS)
    assert most_rounds(model, 4, FitLimits()) > 10**9


def test_a_class_of_one_row_is_in_training_always():
    labels = LABELS.astype(object)
    labels[7] = "single"
    train, _ = hold_out(labels, "classification", 0.2)
    assert 7 in train
    choice = choose(X, labels, "classification", methods=AUTO, budget=None)
    assert "single" in choice.model.classes_
    assert {trial.status for trial in choice.trials} == {"done"}
