"""certify refuses rows that influenced the model, and accepts new rows that equal them by chance."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import hedgerow as hr
from certify_cases import BINARY, fitted, forest, names, table
from hedgerow.theory import certify, optimize_votes, quantile_grid
from hedgerow.theory.certificate import HOLD_OUT

TRAIN, TUNE, OTHER = table(400), table(300, seed=1), table(350, seed=2)
WITH_FINGERPRINTS = [name for name in BINARY if name != "scikit-learn"]


@pytest.mark.parametrize("name", WITH_FINGERPRINTS)
def test_training_rows_are_refused_alone_and_among_new_rows(name):
    (X, y), (new, labels) = TRAIN, TUNE
    model = fitted(name)
    for n_old, n_new in ((400, 0), (50, 0), (60, 300), (20, 100)):
        rows, target = np.concatenate([X[:n_old], new[:n_new]]), np.concatenate([y[:n_old], labels[:n_new]])
        with pytest.raises(ValueError, match=f"{n_old} of the {n_old + n_new} rows of X have the same"):
            certify(model, rows, target)
    with pytest.raises(ValueError, match="of the 400 rows"):
        certify(model, X, y[::-1])  # other labels do not make other rows


def test_copies_of_training_rows_in_single_precision_are_refused():
    X, y = TRAIN
    with pytest.raises(ValueError, match="400 of the 400 rows"):
        certify(fitted("forest"), X.astype(np.float32), y)
    numbers = X + np.pi
    copies = numbers.astype(np.float32).astype(np.float64)
    for model in (
        hr.AdaBoostClassifier(n_estimators=3),
        hr.BaggingClassifier(n_estimators=3, random_state=0),
    ):
        with pytest.raises(ValueError, match="some of the 400 rows, after rounding, of X"):
            certify(model.fit(numbers, y), copies, y)


@pytest.mark.parametrize(
    "kind",
    [hr.AdaBoostClassifier, hr.LogitBoostClassifier, hr.AnyBoostClassifier, hr.GradientBoostingClassifier],
)
def test_rows_of_early_stopping_are_refused(kind):
    model = kind(n_estimators=40, early_stopping=True).fit(*TRAIN, eval_set=[TUNE])
    with pytest.raises(ValueError, match="300 of the 300 rows"):
        certify(model, *TUNE)
    assert HOLD_OUT in names(certify(model, *OTHER))
    evaluated = kind(n_estimators=5, early_stopping=False).fit(*TRAIN, eval_set=[TUNE])
    assert HOLD_OUT in names(certify(evaluated, *TUNE))  # an evaluation set alone does not change the model


def test_rows_of_a_warm_start_after_loading_are_refused(tmp_path):
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(*TRAIN)
    hr.save(model, tmp_path / "model.safetensors")
    loaded = hr.load(tmp_path / "model.safetensors").set_params(warm_start=True, n_estimators=5).fit(*TUNE)
    assert not any("no fingerprints" in note for note in certify(loaded, *OTHER).notes)
    for rows in (TRAIN, TUNE):
        with pytest.raises(ValueError, match="that the model was fitted to"):
            certify(loaded, *rows)


def test_vote_weights_are_not_optimized_with_training_rows():
    with pytest.raises(ValueError, match="400 of the 400 rows of X have the same values"):
        optimize_votes(fitted("forest"), *TRAIN)


@pytest.mark.parametrize(
    "model",
    [hr.RandomForestClassifier(20, random_state=0), hr.BaggingClassifier(n_estimators=20, random_state=0)],
)
def test_a_new_fit_discards_the_calibration_rows(model):
    tuned = optimize_votes(model.fit(*TRAIN), *TUNE)
    assert any("calibration" in name for name in names(certify(tuned)))
    tuned.set_params(n_estimators=25).fit(*OTHER)
    assert not any("calibration" in name for name in names(certify(tuned)))


# --- rows of bin_edges


def test_bin_edges_computed_from_training_rows_are_a_reason_or_a_proviso():
    X, y = TRAIN
    for grid, is_fair in ((quantile_grid(TUNE[0], 16), True), (quantile_grid(X, 16), False)):
        model = hr.AdaBoostClassifier(hr.DecisionStump(bin_edges=grid), n_estimators=5).fit(X, y)
        assert any(name.startswith("margins") for name in names(certify(model))) is is_fair
        trees = forest(bin_edges=grid).fit(X, y)
        member = hr.DecisionTreeClassifier(max_depth=3, bin_edges=grid)
        bag = hr.BaggingClassifier(member, n_estimators=40, oob_score=True, random_state=0).fit(X, y)
        for voting in (trees, bag):
            assert (not certify(voting)["out-of-bag first order"].proviso) is is_fair
    assert all(bound.proviso for bound in certify(trees.set_params(bin_edges=None)))


def test_rows_that_bin_edges_were_computed_from_are_refused():
    grid = quantile_grid(TUNE[0], 16)
    model = hr.AdaBoostClassifier(hr.DecisionStump(bin_edges=grid), n_estimators=3).fit(*TRAIN)
    for one in (model, hr.RandomForestClassifier(3, bin_edges=grid, random_state=0).fit(*TRAIN)):
        with pytest.raises(
            ValueError, match="X has rows from which the bin_edges of the model were computed"
        ):
            certify(one, *TUNE)
        assert certify(one, *OTHER)["hold-out"].n == 350


# --- rows that are equal by chance, and models that cannot be checked


def test_a_few_equal_rows_are_a_note():
    model, (X, y), (new, labels) = fitted("forest"), TRAIN, TUNE
    certificate = certify(model, np.concatenate([new, X[:1]]), np.append(labels, y[0]))
    assert certificate.notes == ("1 of the 301 rows of X equal training rows, which can happen by chance",)
    assert certify(model, new, labels).notes == ()
    unchecked = certify(LogisticRegression().fit(X, y), new, labels)
    assert any("was not compared" in note for note in unchecked.notes)


def discrete(n_rows, seed, n_values, n_columns):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n_rows, n_columns)).astype(float)
    return X, (X.sum(axis=1) + rng.normal(size=n_rows) > X.mean() * n_columns).astype(int)


@pytest.mark.parametrize(
    ("n_train", "n_new", "n_values", "n_columns", "n_equal"),
    [(400, 400, 3, 4, 320), (100, 3000, 6, 3, 900)],
    ids=["few", "many"],
)
def test_new_rows_of_few_values_are_accepted(n_train, n_new, n_values, n_columns, n_equal):
    n_refused = 0
    for seed in range(30):
        model = hr.AdaBoostClassifier(n_estimators=1).fit(*discrete(n_train, seed, n_values, n_columns))
        new, labels = discrete(n_new, seed + 1000, n_values, n_columns)
        assert model.is_training_row(new).sum() > n_equal
        try:
            certificate = certify(model, new, labels)
        except ValueError:
            n_refused += 1
        else:
            assert "which can happen by chance" in certificate.notes[0]
    assert n_refused <= 2


def test_stratified_rows_of_few_values_are_a_note():
    rng = np.random.default_rng(0)
    kinds, labels = rng.integers(0, 2, (26, 6)), rng.integers(0, 26, 2000)
    X, new, y, new_labels = train_test_split(
        kinds[labels] + 0.0, labels, test_size=0.3, stratify=labels, random_state=0
    )
    found = certify(hr.RandomForestClassifier(2, random_state=0).fit(X, y), new, new_labels)
    assert any("stratified" in note for note in found.notes)


@pytest.mark.parametrize("name", ["forest", "fixed edges", "foreign bag", "three"])
def test_certify_changes_nothing_and_a_pickled_model_has_the_same_certificate(name):
    model, (X, y) = fitted(name), TUNE
    before = model.predict_proba(X).tobytes(), set(vars(model))
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert certify(copied, X, y) == certify(model, X, y) == certify(model, X, y)
    assert (model.predict_proba(X).tobytes(), set(vars(model))) == before
    with pytest.raises(ValueError, match="400 of the 400"):
        certify(copied, *TRAIN)
