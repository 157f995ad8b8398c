"""Rows that a model has seen are refused, and those that only equal them by chance are not."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from certify_cases import BINARY, fitted, forest, table
from hedgerow import AdaBoostClassifier
from hedgerow.theory import certify

OURS = [name for name in BINARY if name not in ("scikit-learn", "pipeline", "search")]


@pytest.mark.parametrize("name", OURS)
def test_training_rows_are_refused_wholly_and_partly(name):
    (X, y), (new, labels) = table(), table(300, seed=1)
    model = fitted(name)
    for n_old, n_new in ((400, 0), (50, 0), (60, 300), (20, 100)):
        rows = np.concatenate([X[:n_old], new[:n_new]])
        said = np.concatenate([y[:n_old], labels[:n_new]])
        with pytest.raises(ValueError, match=f"{n_old} of the {n_old + n_new} rows of X have the same"):
            certify(model, rows, said)
    with pytest.raises(ValueError, match="of the 400 rows"):
        certify(model, X, y[::-1])  # other labels do not make other rows


def test_a_few_rows_that_equal_old_ones_are_noted():
    model, (X, y), (new, labels) = forest().fit(*table()), table(), table(300, seed=1)
    certificate = certify(model, np.concatenate([new, X[:1]]), np.append(labels, y[0]))
    assert certificate.notes == ("1 of the 301 rows of X equal training rows, which can happen by chance",)
    assert certify(model, new, labels).notes == ()


def test_what_is_not_checked_is_noted():
    certificate = certify(LogisticRegression().fit(*table()), *table(300, seed=1))
    assert any("was not compared" in note for note in certificate.notes)


def discrete(n_rows, seed, n_values=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n_rows, 4)).astype(float)
    return X, (X.sum(axis=1) + rng.normal(size=n_rows) > 4).astype(int)


def test_new_rows_that_equal_old_ones_because_there_are_few_values_are_accepted():
    n_refused = 0
    for seed in range(40):
        model = AdaBoostClassifier(n_estimators=2).fit(*discrete(400, seed))
        new, labels = discrete(400, seed + 1000)
        assert model.is_training_row(new).mean() > 0.8
        try:
            certificate = certify(model, new, labels)
        except ValueError:
            n_refused += 1
        else:
            assert "which can happen by chance" in certificate.notes[0]
    assert n_refused <= 2


@pytest.mark.parametrize("name", ["forest", "fixed edges", "foreign bag", "three"])
def test_a_pickled_model_has_the_same_certificate(name):
    model, (X, y) = fitted(name), table(300, seed=1)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert certify(copied, X, y) == certify(model, X, y)
    with pytest.raises(ValueError, match="400 of the 400"):
        certify(copied, *table())


def test_certifying_changes_nothing():
    model, (X, y) = forest().fit(*table()), table(300, seed=1)
    before = model.predict_proba(X).tobytes(), set(vars(model))
    assert certify(model, X, y) == certify(model, X, y)
    assert (model.predict_proba(X).tobytes(), set(vars(model))) == before
