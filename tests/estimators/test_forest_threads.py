"""Fits of forests in threads: interrupts, errors, and progress."""

import signal
import threading

import pytest

import hedgerow.growing.deep
from forest_cases import bits, data_for, numbers
from hedgerow import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.growing.deep import DeepGrower


def interrupting(monkeypatch, at):
    """Raise an interrupt (Ctrl-C) while tree number `at` grows."""
    grow = DeepGrower.grow

    def interrupted(self, number, *others):
        if number == at:
            signal.raise_signal(signal.SIGINT)
        return grow(self, number, *others)

    monkeypatch.setattr(DeepGrower, "grow", interrupted)


@pytest.mark.parametrize(("kind", "n_jobs"), [(RandomForestClassifier, 1), (ExtraTreesRegressor, 2)])
def test_an_interrupt_leaves_the_trees_grown_so_far(kind, n_jobs, monkeypatch):
    X, y = data_for(kind, 100)
    whole = kind(300, random_state=0).fit(X, y)
    interrupting(monkeypatch, at=5)
    model = kind(300, random_state=0, n_jobs=n_jobs, warm_start=True)
    with pytest.warns(UserWarning, match="fit was interrupted"):
        model.fit(X, y)
    monkeypatch.undo()
    n_trees = model.model_.forest.n_trees
    assert 6 <= n_trees < 300
    assert n_jobs > 1 or n_trees == 6
    assert model.apply(X).shape == (100, n_trees)
    assert bits(model) == bits(kind(n_trees, random_state=0).fit(X, y))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert threading.active_count() < 20
    assert bits(model.fit(X, y)) == bits(whole)  # a warm start continues the fit


def test_an_interrupt_before_the_first_tree_leaves_the_old_model(monkeypatch):
    X, y = numbers()
    model = RandomForestRegressor(5, random_state=0, n_jobs=1).fit(X, y)
    before = bits(model)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DeepGrower, "grow", interrupted)
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    assert bits(model) == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_thread_is_raised(n_jobs, monkeypatch):
    X, y = numbers()
    grow = DeepGrower.grow

    def failing(self, number, *others):
        if number == 7:
            raise MemoryError("not enough memory")
        return grow(self, number, *others)

    monkeypatch.setattr(DeepGrower, "grow", failing)
    with pytest.raises(MemoryError, match="not enough memory"):
        RandomForestRegressor(50, n_jobs=n_jobs).fit(X, y)


def test_no_more_threads_than_trees_are_started(monkeypatch):
    X, y = numbers()
    sizes = []

    class Pool(hedgerow.growing.deep.ThreadPoolExecutor):
        def __init__(self, size, name):
            sizes.append(size)
            super().__init__(size, name)

    monkeypatch.setattr(hedgerow.growing.deep, "ThreadPoolExecutor", Pool)
    RandomForestRegressor(3, n_jobs=4).fit(X, y)
    RandomForestRegressor(1, n_jobs=4).fit(X, y)
    assert sizes == [3]


def test_verbose_prints_a_line_per_tree(capfd):
    X, y = numbers()
    RandomForestRegressor(3, verbose=2).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["[1/3]", "[2/3]", "[3/3]"]
    RandomForestRegressor(3, verbose=1).fit(X, y)  # a bar on terminals, few lines in logs
    captured = capfd.readouterr()
    assert [line.split()[1] for line in captured.err.splitlines()] == ["1/3", "3/3"]
    assert not captured.out
