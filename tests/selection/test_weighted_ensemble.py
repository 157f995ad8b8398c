"""WeightedEnsembleClassifier and -Regressor: means of members, checks of arguments, fingerprints, copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.selection import (
    FixedThresholdClassifier,
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from hedgerow.theory import certify

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=120) > 0, "up", "down")
NUMBERS = X[:, 0] - X[:, 1]
NEW = RNG.normal(size=(50, 3))


def members(n_jobs=None):
    return [
        AdaBoostClassifier(n_estimators=4, n_jobs=n_jobs),
        RandomForestClassifier(5, random_state=0, n_jobs=n_jobs),
        DecisionTreeClassifier(max_depth=2),
    ]


def classifier(weights=(1, 2, 5), **options):
    return WeightedEnsembleClassifier(members(**options), weights=list(weights)).fit(X, LABELS)


def test_probabilities_are_the_weighted_mean_of_those_of_the_members():
    model = classifier()
    expected = (
        sum(w * one.predict_proba(NEW) for w, one in zip([1, 2, 5], model.estimators_, strict=True)) / 8
    )
    np.testing.assert_allclose(model.predict_proba(NEW), expected, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(NEW), model.classes_[expected.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(NEW), np.log(expected), rtol=1e-12)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.score(X, LABELS) > 0.8


def test_probabilities_are_never_above_one():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    for n in range(2, 12):
        model = WeightedEnsembleClassifier.of([tree] * n, RNG.random(n).tolist())
        assert model.predict_proba([[0.0]]).max() == 1.0


def test_numbers_are_the_weighted_mean():
    kinds = [RandomForestRegressor(3), GradientBoostingRegressor(n_estimators=5)]
    model = WeightedEnsembleRegressor(kinds, weights=[3, 1]).fit(X, NUMBERS)
    forest, boosted = model.estimators_
    expected = 0.75 * forest.predict(NEW) + 0.25 * boosted.predict(NEW)
    np.testing.assert_allclose(model.predict(NEW), expected, rtol=1e-13)
    importances = 0.75 * forest.feature_importances_ + 0.25 * boosted.feature_importances_
    np.testing.assert_allclose(model.feature_importances_, importances, rtol=1e-13)
    assert not hasattr(model, "row_fingerprints_")
    assert len(model.data_fingerprints_) == 1


def test_equal_weights_are_the_default():
    assert WeightedEnsembleClassifier(members()).fit(X, LABELS).weights_.tolist() == [1 / 3] * 3


def test_the_same_bits_for_any_number_of_threads():
    np.testing.assert_array_equal(
        classifier(n_jobs=1).predict_proba(NEW), classifier(n_jobs=2).predict_proba(NEW)
    )


def test_copies():
    model = classifier()
    read = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    np.testing.assert_array_equal(read.predict_proba(NEW), model.predict_proba(NEW))
    again = clone(WeightedEnsembleClassifier.of(model.estimators_, model.weights_))
    assert not hasattr(again, "estimators_")
    np.testing.assert_array_equal(again.fit(X, LABELS).predict_proba(NEW), model.predict_proba(NEW))
    assert set(model.get_params()) == {"estimators", "weights"}


def test_tables_keep_their_column_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = WeightedEnsembleClassifier(members()).fit(frame, LABELS)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    model.fit(sparse.csr_matrix(X), LABELS)
    assert not hasattr(model, "feature_names_in_")


def test_sample_weights_reach_the_members():
    weights = np.where(LABELS == "up", 5.0, 0.1)
    model = WeightedEnsembleClassifier(members()).fit(X, LABELS, sample_weight=weights)
    assert np.mean(model.predict(NEW) == "up") > np.mean(classifier().predict(NEW) == "up")


def test_members_without_importances_leave_none():
    model = WeightedEnsembleRegressor([LinearRegression(), DecisionTreeRegressor()]).fit(X, NUMBERS)
    assert not hasattr(model, "feature_importances_")


def test_training_rows_are_known():
    model = classifier()
    assert model.is_training_row(X).all()
    assert not model.is_training_row(NEW).any()
    assert all(one.row_fingerprints_ is model.row_fingerprints_ for one in model.estimators_[:2])
    with pytest.raises(ValueError, match="rows that the model was fitted to"):
        certify(model, X, LABELS)
    with pytest.raises(ValueError, match="rows that the model was fitted to"):
        certify(FixedThresholdClassifier.of(model, 0.3), X, LABELS)
    certificate = certify(model, NEW, np.where(NEW[:, 0] > 0, "up", "down"))
    assert [bound.name for bound in certificate.bounds] == ["hold-out"]
    assert any("weighted vote of weak hypotheses" in one.reason for one in certificate.inapplicable)


def test_training_rows_of_all_members_are_known():
    trees = [RandomForestClassifier(3).fit(X[rows], LABELS[rows]) for rows in (slice(60), slice(40, 120))]
    model = WeightedEnsembleClassifier.of(trees)
    assert model.is_training_row(X).all()
    assert len(model.data_fingerprints_) == 2
    for rows in (slice(30), slice(90, 120)):  # of one member only
        with pytest.raises(ValueError, match="rows that the model was fitted to"):
            certify(FixedThresholdClassifier.of(model, 0.4), X[rows], LABELS[rows])
    bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=2).fit(X, LABELS)
    assert WeightedEnsembleClassifier.of([bag, trees[0]]).is_training_row(X).all()
    assert not hasattr(WeightedEnsembleClassifier([LogisticRegression()]).fit(X, LABELS), "row_fingerprints_")


def test_members_of_other_libraries_are_compared_or_noted():
    other = LogisticRegression().fit(X[60:], LABELS[60:])
    pipeline = make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=4)).fit(X[60:], LABELS[60:])
    boosted = AdaBoostClassifier(n_estimators=4).fit(X[:60], LABELS[:60])
    note = "LogisticRegression has no fingerprints of its training rows: X was not compared with them"
    for fitted in ([boosted, other], [other, boosted], [other]):
        model = WeightedEnsembleClassifier.of(fitted)
        for one in (model, FixedThresholdClassifier.of(model, 0.4)):
            assert note in certify(one, X[60:], LABELS[60:]).notes
    for fitted in ([boosted, pipeline], [other, pipeline]):
        with pytest.raises(ValueError, match="rows that the model was fitted to"):
            certify(WeightedEnsembleClassifier.of(fitted), X[60:], LABELS[60:])
    assert WeightedEnsembleClassifier.of([boosted, other]).is_training_row(X[:60]).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"estimators": []}, r"estimators=\[\] is not allowed: it must be a list of classifiers"),
        ({"estimators": DecisionTreeClassifier()}, "it must be a list of classifiers"),
        ({"estimators": [DecisionTreeRegressor()]}, r"estimators\[0\]=DecisionTreeRegressor\(\) is not"),
        ({"estimators": ["tree"]}, r"estimators\[0\]='tree' is not allowed"),
        ({"weights": [1.0]}, r"weights=\[1.0\] is not allowed: it must be None or 3 numbers"),
        ({"weights": [1, 1, -1]}, "is not allowed"),
        ({"weights": [0, 0, 0]}, "is not allowed"),
        ({"weights": [1, 1, np.nan]}, "is not allowed"),
        ({"weights": "abc"}, "weights='abc' is not allowed"),
    ],
)
def test_bad_arguments_are_refused(changed, message):
    model = WeightedEnsembleClassifier(**{"estimators": members(), **changed})
    with pytest.raises(ValueError, match=message) as refused:
        model.fit(X, LABELS)
    assert "\n" not in str(refused.value)


def test_members_that_do_not_belong_together_are_refused():
    tree, other = (DecisionTreeClassifier().fit(X[:, :n], LABELS) for n in (3, 2))
    with pytest.raises(
        ValueError, match=r"estimators\[1\] has other columns than estimators\[0\]: n_features"
    ):
        WeightedEnsembleClassifier.of([tree, other])
    with pytest.raises(ValueError, match=r"estimators\[1\] has other classes"):
        WeightedEnsembleClassifier.of([tree, DecisionTreeClassifier().fit(X, LABELS == "up")])
    with pytest.raises(NotFittedError):
        WeightedEnsembleClassifier.of([tree, DecisionTreeClassifier()])
    with pytest.raises(NotFittedError):
        WeightedEnsembleClassifier([tree]).predict(X)


def test_regressors_are_not_members_of_a_classifier_and_the_other_way():
    with pytest.raises(ValueError, match="must hold regressors"):
        WeightedEnsembleRegressor([RandomForestClassifier(), RandomForestRegressor()]).fit(X, NUMBERS)
