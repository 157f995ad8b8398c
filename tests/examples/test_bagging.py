"""The example of bagged learners, on sizes that take no time."""

import io

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from scripts import load_script


@pytest.fixture
def example():
    return load_script("examples/bagging_learners.py")


def results(example, alone, ours, theirs):
    """Two splits with these mean accuracies."""
    return example.Results(
        "a table", {"tree": np.array([[alone, ours, theirs]] * 2) + np.array([[-0.01], [0.01]])}
    )


def test_both_libraries_get_members_and_samples_alike(example):
    alone, ours, theirs = example.models_of(SVC(), 7, 0.5, 3)
    assert isinstance(alone, SVC)
    for name, value in {"n_estimators": 7, "max_samples": 0.5, "random_state": 3}.items():
        assert getattr(ours, name) == getattr(theirs, name) == value


def test_the_verdict_follows_the_numbers(example):
    better, worse, same = example.verdict([results(example, 0.8, 0.9, 0.9)])
    assert better == "Bagging is better than the learner alone: tree on a table."
    assert worse == "It is worse: nowhere."
    assert same.endswith("in 1 of 1 comparisons.")
    *_, apart = example.verdict([results(example, 0.8, 0.8, 0.9)])
    assert apart.endswith("in 0 of 1 comparisons; different: tree on a table (lower).")
    assert [example.compare(mean, 0.1) for mean in (-0.31, 0.29, 0.31)] == ["lower", "no different", "higher"]


def test_the_whole_example_runs_on_a_few_rows(example, monkeypatch):
    monkeypatch.setattr(example, "DATA", {"iris": load_iris})
    monkeypatch.setattr(example, "LEARNERS", {"naive Bayes": GaussianNB(), "SVC": SVC()})
    console = Console(width=110, record=True, file=io.StringIO())
    with Progress(console=console, disable=True) as bar:
        found = example.measure("iris", splits=2, members=3, share=0.5, bar=bar)
    assert {name: scores.shape for name, scores in found.scores.items()} == {
        "naive Bayes": (2, 3),
        "SVC": (2, 3),
    }
    example.show(found, console)
    assert f"{100 * found.scores['SVC'][:, 1].mean():.2f}" in console.export_text()
