"""The example of depths chosen by validation, on sizes that take no time."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from sklearn.datasets import load_iris

from scripts import load_script

mpl.use("Agg")


@pytest.fixture
def example(monkeypatch):
    module = load_script("examples/forest_depth.py")
    monkeypatch.setattr(module, "DEPTHS", (1, 3, None))
    return module


def curves(example, out_of_bag, cross_validated, test):
    """Errors of two repeats at three depths."""
    passed = {example.OOB: out_of_bag, example.CV: cross_validated, example.TEST: test}
    errors = {name: np.array(values) for name, values in passed.items()}
    return example.Curves("a table", errors, {example.OOB: 2.0, example.CV: 9.0})


@pytest.fixture
def measured(example):
    out_of_bag = [[0.3, 0.1, 0.2], [0.1, 0.1, 0.2]]
    cross_validated = [[0.3, 0.1, 0.2], [0.3, 0.2, 0.1]]
    return curves(example, out_of_bag, cross_validated, [[0.30, 0.10, 0.20], [0.32, 0.12, 0.22]])


def test_every_repeat_chooses_by_its_own_errors_and_the_first_of_equals(example, measured):
    assert measured.chosen(example.OOB).tolist() == [1, 0]
    assert measured.chosen(example.CV).tolist() == [1, 2]
    assert measured.chosen(example.DEFAULT).tolist() == [2, 2]


def test_the_cost_of_a_choice_is_its_test_error_above_the_best(example, measured):
    assert example.DEPTHS[measured.best] == 3
    assert measured.test_error(example.OOB) == pytest.approx([0.10, 0.32])
    assert measured.cost(example.OOB) == pytest.approx([0.0, 0.2])
    assert measured.cost(example.DEFAULT) == pytest.approx([0.1, 0.1])


def test_differences_above_three_standard_errors_are_reported(example):
    centred = np.array([-0.01, 0.01])  # a standard error of 0.01
    verdicts = [example.compare(centred + shift).split(" (")[0] for shift in (-0.031, -0.029, 0.029, 0.031)]
    assert verdicts == ["lower", "no different", "no different", "higher"]
    assert example.compare(centred - 0.05) == "lower (−5.00 ± 1.00)"


def test_the_verdict_follows_the_numbers(example, measured):
    agreeing = example.Agreement("one", np.array([0.20, 0.24]), np.array([0.22, 0.22]), 100, 100)
    apart = example.Agreement("two", np.array([0.40, 0.40]), np.array([0.22, 0.22]), 100, 100)
    best, unlimited, ways, trusted = example.verdict([measured], [agreeing, apart])
    assert "(3, known from the test rows" in best
    assert "higher (+10.00 ± 0.00) with no limit" in best
    assert "no different (+0.00 ± 10.00) chosen out-of-bag" in unlimited
    assert "5.3 times the fits and 4.5 times the time" in ways
    assert "on 1 of 2 data sets" in trusted
    assert trusted.endswith("; not on two.")


def test_the_standard_error_is_that_of_two_independent_shares(example):
    one = example.Agreement("a table", np.array([0.5, 0.5]), np.array([0.2, 0.42]), 100, 400)
    assert one.standard_errors[0] == pytest.approx(np.sqrt(0.25 / 100 + 0.16 / 400))
    assert one.difference == pytest.approx(0.19)
    assert (one.n_within, one.agrees) == (0, False)


def test_the_errors_along_the_depth_are_those_of_the_forests(example, monkeypatch, tmp_path):
    split = example.halves(load_iris)
    monkeypatch.setattr(example, "ALONG_DEPTH", {"iris": split})
    console = Console(width=110, record=True, file=io.StringIO())
    with Progress(console=console, disable=True) as bar:
        found = example.along_depth("iris", repeats=2, trees=30, bar=bar)
    assert {name: errors.shape for name, errors in found.errors.items()} == dict.fromkeys(
        found.errors, (2, 3)
    )
    X_train, X_test, y_train, y_test = split(1)
    forest = example.RandomForestClassifier(30, max_depth=1, oob_score=True, random_state=1)
    forest.fit(X_train, y_train)
    assert found.errors[example.OOB][1, 0] == 1 - forest.oob_score_
    assert found.errors[example.TEST][1, 0] == 1 - forest.score(X_test, y_test)
    example.show_curves(found, console)
    assert f"{100 * found.errors[example.CV][:, 1].mean():.2f}" in console.export_text()
    example.draw([found], str(tmp_path / "depth.png"))
    assert (tmp_path / "depth.png").stat().st_size > 10_000


def test_models_are_measured_in_bytes_beside_those_of_scikit_learn(example):
    arrays, pickled, theirs = example.sizes(300, 5).values()
    assert 0 < arrays < pickled
    assert theirs > 0
