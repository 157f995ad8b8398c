"""The examples of certificates beside test errors and of chosen vote weights, on sizes that take no time."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier as TheirForest

from hedgerow import RandomForestClassifier
from hedgerow.theory import applicable_bounds, certify
from scripts import load_script


@pytest.fixture(scope="module")
def certificates():
    return load_script("examples/certificates.py")


@pytest.fixture(scope="module")
def votes():
    return load_script("examples/optimize_votes.py")


# --- certificates


def test_losses_of_their_trees_are_counted_on_rows_left_out(certificates):
    X, y = load_iris(return_X_y=True)
    forest = TheirForest(5, random_state=0).fit(X, y)
    losses = certificates.their_losses(forest, X, y)
    left_out = [np.setdiff1d(np.arange(len(y)), bag) for bag in forest.estimators_samples_]
    assert losses.counts.diagonal().tolist() == [len(rows) for rows in left_out]
    assert losses.n_pairs == min(len(np.intersect1d(a, b)) for a in left_out for b in left_out)
    trees = zip(forest.estimators_, left_out, strict=True)
    assert losses.voter_losses == pytest.approx([1 - tree.score(X[rows], y[rows]) for tree, rows in trees])


def test_the_figures_of_our_forests_are_those_of_certify(certificates):
    X, _, y, _ = certificates.easy(300, 1, 0)
    forest, losses = certificates.fit(certificates.OURS, X, y, 30, 0)
    assert losses is forest.oob_losses_
    figures = certificates.vote_figures(losses, 0.05)
    known = {
        one.name: one.compute(0.05)[0] for one in applicable_bounds.bounds_from_out_of_bag(forest).applicable
    }
    assert known == {f"out-of-bag {name}": pytest.approx(figures[name]) for name in figures}
    assert len(figures) == 4
    assert certify(forest)["out-of-bag tandem"].value > figures["tandem"]  # at a share of delta


def test_the_verdict_of_certificates_follows_the_figures(certificates):
    ours = certificates.Figures("a set", certificates.OURS, 100)
    theirs = certificates.Figures("a set", certificates.THEIRS, 100)
    for value in (0.1, 0.2):
        ours.add({"test error": value, "first order": 0.3, "tandem": 0.6, "hold-out": value + 0.1})
        theirs.add({"test error": value + 0.05, "first order": 0.3, "tandem": 0.7, "hold-out": value})
    own, both = certificates.verdict([ours, theirs], {"a set": 0.5})
    assert own == (
        "A set: test error 0.150; smallest without new rows first order, 0.300; by the hold-out 0.250; "
        "vacuous: tandem."
    )
    assert both == "Ranges of Hedgerow and scikit-learn overlap in 3 of 4 figures; not in tandem of a set."


def test_the_example_of_certificates_runs_on_few_rows(certificates, capsys):
    sizes = ["--seeds", "1", "--trees", "40", "--rows", "400", "--sizes", "300", "--rounds", "5"]
    certificates.main(sizes)
    printed = capsys.readouterr().out
    for text in ("breast cancer", "digits", "synthetic", "of 17 figures", "Schapire 1998 is vacuous"):
        assert text in printed
    assert "40 trees, 400 rows: the fit takes" in printed
    assert certificates.measure_large(40, 300).startswith("40 trees, 300 rows: the fit with out-of-bag")


# --- vote weights


def test_a_difference_must_be_more_than_noise(votes):
    before = np.array([0.5, 0.52, 0.48, 0.5])
    falls = np.column_stack([before, before - np.array([0.10, 0.11, 0.09, 0.1])])
    assert votes.difference(falls) == pytest.approx((-0.1, 0.00408), abs=1e-5)
    noise = np.column_stack([before, before + np.array([0.1, -0.1, 0.1, 0.0])])
    pairs = (falls, falls[:, ::-1], noise, np.column_stack([before, before]))
    assert [votes.compare(one) for one in pairs] == ["lower", "higher", "no different", "no different"]


def test_the_verdict_of_vote_weights_follows_the_figures(votes):
    lower, higher, same = (np.array([[0.5, after], [0.4, after - 0.1]]) for after in (0.3, 0.6, 0.5))
    noise, trees = np.array([[0.5, 0.3], [0.5, 0.6]]), np.array([9.0, 9.5])
    found = [
        votes.Results("good", 100, lower, noise, trees, 10),
        votes.Results("dear", 100, lower, higher, trees, 10),
        votes.Results("idle", 100, same, lower, trees, 10),
    ]
    bound, error, both = votes.verdict(found)
    assert bound == "The bound is lower on 2 of 3 sets (good; dear), higher on 0 of 3 sets."
    assert error == (
        "The test error is higher beyond noise on 1 of 3 sets (dear), lower on 1 of 3 sets (idle)."
    )
    assert both == "A lower bound at no more test error: on 1 of 3 sets."


def test_the_bound_of_chosen_weights_includes_their_divergence(votes):
    X, y = votes.noisy_columns(600)
    forest = RandomForestClassifier(30, max_features=1, oob_score=True, random_state=0).fit(X, y)
    skewed = forest.reweighted(np.arange(30))
    (candidate,) = [
        one for one in applicable_bounds.bounds_from_out_of_bag(skewed).applicable if one.name == votes.BOUND
    ]
    assert "KL" in candidate.compute(0.05)[1]
    assert votes.bound_of(skewed, 0.05) == candidate.compute(0.05)[0]


def test_the_example_of_vote_weights_runs_on_few_rows(votes, capsys, monkeypatch):
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    votes.main(["--seeds", "2", "--trees", "40", "--rows", "600"])
    printed = capsys.readouterr().out
    assert "breast cancer" in printed
    assert "Covertype" not in printed
    assert f"of {len(votes.problems())} sets" in printed
    with pytest.raises(SystemExit):
        votes.main(["--seeds", "1"])
