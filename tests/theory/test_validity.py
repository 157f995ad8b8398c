"""Bounds hold with probability 1 - delta: a small run of the example, on a known distribution."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.theory import vote_bounds
from hedgerow.theory.applicable_bounds import CLASS, MARGINS, VOTES
from hedgerow.theory.certificate import HOLD_OUT
from scripts import load_script

SAMPLES, SIDE, DELTA = 10, 12, 0.05

HELD_OUT = [HOLD_OUT, *(f"hold-out {name}" for name in VOTES)]
OUT_OF_BAG = [f"out-of-bag {name}" for name in VOTES]
CALIBRATION = [f"calibration {name}" for name in VOTES]
# title of a case, rows of it here, and the bounds that it must have
CASES = [
    ("3 boosted stumps, fixed grid", 30_000, [*CLASS, *MARGINS, *HELD_OUT]),
    ("10 boosted trees, fixed grid", 400, [*CLASS[1:], *MARGINS, *HELD_OUT]),
    ("forest", 400, [*OUT_OF_BAG, *HELD_OUT]),
    ("forest, 3 classes", 400, [OUT_OF_BAG[0], OUT_OF_BAG[1], OUT_OF_BAG[3], HOLD_OUT]),
    ("forest, many equal rows", 300, [*OUT_OF_BAG, *HELD_OUT]),
    ("bagging", 300, [*OUT_OF_BAG, *HELD_OUT]),
    ("gradient boosting", 300, [HOLD_OUT]),
    ("forest, votes by out of bag", 400, [*OUT_OF_BAG, *HELD_OUT]),
    ("forest, votes by new rows", 400, [*OUT_OF_BAG, *CALIBRATION, *HELD_OUT]),
]


@pytest.fixture(scope="module")
def example():
    return load_script("examples/validity.py")


@pytest.mark.parametrize(("title", "n_rows", "names"), CASES, ids=[case[0] for case in CASES])
def test_no_bound_is_exceeded_more_often_than_delta_allows(example, title, n_rows, names):
    (case,) = [case for case in example.cases(SIDE) if case.title == title]
    found = example.count(replace(case, n_rows=n_rows), SAMPLES, DELTA)
    for name in example.CONTROLS:
        found.counts.pop(name)
    assert set(names) | {"certificate"} <= set(found.counts)
    for name, count in found.counts.items():
        assert count.n == SAMPLES or name in example.WHOLE
        assert count.exceeded <= count.allowed(DELTA), f"{name}: exceeded {count.exceeded} of {count.n} times"


def test_the_example_detects_controls_and_vote_bounds_without_a_deviation(example, monkeypatch):
    monkeypatch.setattr(vote_bounds, "_interval", lambda mean, *_: (mean, mean))
    (case,) = [case for case in example.cases(SIDE) if case.title == "forest"]
    found = example.count(replace(case, n_rows=400), 25, DELTA)
    halves = [f"hold-out {name}{example.OF_LOSSES}" for name in ("first order / 2", "tandem / 4")]
    for name in (*example.CONTROLS, *halves):
        assert found.counts[name].exceeded > found.counts[name].allowed(DELTA), name


def test_the_true_error_is_the_sum_over_all_points_and_labels(example):
    distribution = example.make_distribution(5, 0.1, (-0.8, 0.8))
    assert np.bincount(distribution.rule).min() > 20

    class Constant:
        def predict(self, X):
            return np.ones(len(X), np.int64)

    chances = np.full((len(distribution.points), 3), 0.05)
    chances[np.arange(len(distribution.points)), distribution.rule] = 0.9
    assert distribution.error(Constant()) == pytest.approx(1.0 - chances[:, 1].mean(), abs=1e-12)
    _, y = distribution.draw(200_000, np.random.default_rng(0))
    assert np.bincount(y) / len(y) == pytest.approx(chances.mean(axis=0), abs=0.005)


def test_the_true_losses_are_sums_over_all_points_and_labels(example):
    distribution = example.make_distribution(5, 0.1, (-0.8, 0.8))
    X, y = distribution.draw(300, np.random.default_rng(0))
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    shares = [forest.reweighted(one).predict_proba(distribution.points) for one in ([1, 0], [0, 1])]
    chances = np.full((len(distribution.points), 3), 0.05)
    chances[np.arange(len(distribution.points)), distribution.rule] = 0.9
    others = [np.stack([np.delete(p, k, axis=1).max(axis=1) for k in range(3)], axis=1) for p in shares]
    lost = [(1.0 - p + q) / 2 for p, q in zip(shares, others, strict=True)]
    gibbs, tandem = distribution.losses(forest)
    assert gibbs == pytest.approx(np.sum(chances * (lost[0] + lost[1]) / 2) / len(chances), abs=1e-3)
    pairs = (lost[0] ** 2 + lost[1] ** 2 + 2 * lost[0] * lost[1]) / 4
    assert tandem == pytest.approx(np.sum(chances * pairs) / len(chances), abs=1e-3)


def test_a_bound_that_fails_too_often_is_named(example):
    good, bad = example.Count(), example.Count()
    for sample in range(400):
        good.add(0.1, 0.05 if sample < 35 else 0.2, 100, 0.5)
        bad.add(0.1, 0.05 if sample < 36 else 0.7, 100, 0.5)
    assert good.allowed(DELTA) == 35
    assert [example.verdict_of(one, DELTA) for one in (good, bad)] == ["holds", "FAILS"]
    counts = {"tandem": bad, "hold-out": good, example.CONTROLS[0]: bad, example.CONTROLS[1]: good}
    first, most, useful, controls, refused = example.verdict([example.Found("a model", counts, 3)], DELTA)
    assert first == "1 of 2 counts are within what 5% allows; not tandem of a model."
    assert most == "Most often exceeded: tandem of a model, 36 of 400."
    assert useful.startswith("1 of 2 bounds")
    assert controls == "Controls that are not bounds: 1 of 2 exceeded more often than allowed."
    assert refused == "certify refused new rows in 3 of 400 samples."


def test_the_whole_example_runs_on_few_samples(example, capsys):
    example.main(["--samples", "2", "--side", "6", "--only", "gradient"])
    printed = capsys.readouterr().out
    assert "gradient boosting: 2 samples" in printed
    assert "2 of 2 counts are within" in printed
    with pytest.raises(SystemExit):
        example.main(["--only", "no such case"])
