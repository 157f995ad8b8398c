"""Bounds hold as often as they say: a smaller version of the example that counts, on a known distribution."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.theory import vote_bounds
from hedgerow.theory.applicable_bounds import CLASS, MARGINS, VOTES
from hedgerow.theory.certificate import HOLD_OUT

PATH = Path(__file__).parents[2] / "examples" / "validity.py"
NAME = "example_validity"
SAMPLES, SIDE, DELTA = 25, 12, 0.05

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


def load():
    spec = importlib.util.spec_from_file_location(NAME, PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example():
    yield load()
    del sys.modules[NAME]


@pytest.mark.parametrize(("title", "n_rows", "names"), CASES, ids=[case[0] for case in CASES])
def test_no_bound_is_exceeded_more_often_than_delta_allows_and_controls_are(example, title, n_rows, names):
    (case,) = [case for case in example.cases(SIDE) if case.title == title]
    found = example.count(replace(case, n_rows=n_rows), SAMPLES, DELTA)
    controls = {name: found.counts.pop(name) for name in example.CONTROLS}
    assert set(names) | {"certificate"} <= set(found.counts)
    for name, seen in found.counts.items():
        assert seen.n == SAMPLES or name in example.WHOLE
        assert seen.exceeded <= seen.allowed(DELTA), f"{name}: exceeded {seen.exceeded} of {seen.n} times"
    held_out = controls[example.CONTROLS[1]]
    assert held_out.exceeded > held_out.allowed(DELTA)
    if "boosted stumps" not in title:  # three stumps learn next to nothing by heart
        learned = controls[example.CONTROLS[0]]
        assert learned.exceeded > learned.allowed(DELTA)


def test_vote_bounds_that_leave_nothing_to_chance_are_found_out(example, monkeypatch):
    monkeypatch.setattr(vote_bounds, "_allowance", lambda *_: 0.0)
    (case,) = [case for case in example.cases(SIDE) if case.title == "forest"]
    found = example.count(replace(case, n_rows=400), SAMPLES, DELTA)
    for part in ("first order / 2", "tandem / 4"):
        assert example.judge(found.counts[f"hold-out {part}{example.OF_LOSSES}"], DELTA) == "FAILS"


def test_the_true_error_is_the_sum_over_all_points_and_labels(example):
    world = example.make_world(5, 0.1, (-0.8, 0.8))
    assert np.bincount(world.rule).min() > 20

    class Constant:
        def predict(self, X):
            return np.ones(len(X), np.int64)

    chances = np.full((len(world.points), 3), 0.05)
    chances[np.arange(len(world.points)), world.rule] = 0.9
    assert world.error(Constant()) == pytest.approx(1.0 - chances[:, 1].mean(), abs=1e-12)
    _, y = world.draw(200_000, np.random.default_rng(0))
    assert np.bincount(y) / len(y) == pytest.approx(chances.mean(axis=0), abs=0.005)


def test_the_true_losses_are_sums_over_all_points_and_labels(example):
    world = example.make_world(5, 0.1, (-0.8, 0.8))
    X, y = world.draw(300, np.random.default_rng(0))
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    shares = [forest.reweighted(one).predict_proba(world.points) for one in ([1, 0], [0, 1])]
    chances = np.full((len(world.points), 3), 0.05)
    chances[np.arange(len(world.points)), world.rule] = 0.9
    others = [np.stack([np.delete(p, k, axis=1).max(axis=1) for k in range(3)], axis=1) for p in shares]
    lost = [(1.0 - p + q) / 2 for p, q in zip(shares, others, strict=True)]
    gibbs, tandem = world.losses(forest)
    assert gibbs == pytest.approx(np.sum(chances * (lost[0] + lost[1]) / 2) / len(chances), abs=1e-3)
    pairs = (lost[0] ** 2 + lost[1] ** 2 + 2 * lost[0] * lost[1]) / 4
    assert tandem == pytest.approx(np.sum(chances * pairs) / len(chances), abs=1e-3)


def test_a_bound_that_fails_too_often_is_named(example):
    good, bad = example.Count(), example.Count()
    for sample in range(400):
        good.add(0.1, 0.05 if sample < 35 else 0.2, 100, 0.5)
        bad.add(0.1, 0.05 if sample < 36 else 0.7, 100, 0.5)
    assert good.allowed(DELTA) == 35
    assert [example.judge(one, DELTA) for one in (good, bad)] == ["holds", "FAILS"]
    counts = {"tandem": bad, "hold-out": good, example.CONTROLS[0]: bad, example.CONTROLS[1]: good}
    first, most, useful, controls, refused = example.verdict([example.Found("a model", counts, 3)], DELTA)
    assert first == "1 of 2 counts are within what 5% allows; not tandem of a model."
    assert most == "Most often exceeded: tandem of a model, 36 of 400."
    assert useful.startswith("1 of 2 bounds")
    assert controls == "Controls that are no bounds: 1 of 2 exceeded more often than allowed."
    assert refused == "certify refused new rows in 3 of 400 samples."


def test_the_whole_example_runs_on_few_samples(example, capsys):
    example.main(["--samples", "2", "--side", "6", "--only", "gradient"])
    printed = capsys.readouterr().out
    assert "gradient boosting: 2 samples" in printed
    assert "2 of 2 counts are within" in printed
    with pytest.raises(SystemExit):
        example.main(["--only", "no such case"])
