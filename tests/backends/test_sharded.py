"""Gradient boosting on sharded rows gives the model of rows in memory, also if shards are lost."""

import numpy as np
import pytest

from hedgerow.boosting.gradient_boosting import GradientBoostingOptions, fit_gradient_boosting
from hedgerow.growing.grower import GrowthOptions
from hedgerow.losses.classification import BinaryLogLoss
from hedgerow.losses.regression import SquaredError
from hedgerow.table import read_table
from hedgerow.table.table import Dataset
from remote_tables import ShardedTable
from shard_cases import CASES, N_ROWS, TABLE, assert_same, fit


@pytest.fixture(scope="module")
def in_memory():
    results = {}

    def of(name):
        if name not in results:
            results[name] = fit(name, TABLE)
        return results[name]

    return of


MORE_SHARDS = [
    ("two classes", 1), ("random columns", 17), ("gradient", 1), ("gradient, folds", 2), ("bayesian", 1),
    ("bayesian, folds", 2), ("dropped", 1), ("statistics", 1), ("statistics, three classes", 17),
    ("linear", 1), ("linear, three classes", 17), ("linear, gradient", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "n_shards"), [*((name, 3) for name in CASES), *MORE_SHARDS])
def test_model_equals_that_of_rows_in_memory(name, n_shards, in_memory):
    assert_same(fit(name, ShardedTable(TABLE, n_shards)), in_memory(name))


@pytest.mark.parametrize(
    "name",
    [
        *("rows held out", "some rows per tree", "random columns", "absolute", "first order", "smoothed"),
        *("gradient", "bayesian", "bayesian, folds", "dropped", "statistics", "statistics, gradient"),
        *("statistics, dropped", "linear", "linear, gradient", "linear, three classes"),
    ],
)
def test_model_is_the_same_when_shards_are_lost(name, in_memory):
    table = ShardedTable(TABLE, 5, losses=(0, 1, 4, 9, 10, 25, 26, 40, 41, 60))
    assert_same(fit(name, table), in_memory(name))
    assert sum(shards.n_calls for shards in table.opened) > 60


@pytest.mark.parametrize("name", ["rows held out", "linear", "linear, gradient"])
def test_model_is_the_same_for_any_call_that_loses_shards(name):
    expected, n_calls, at = fit(name, TABLE, n_rounds=2), 1, 0
    while at < n_calls:
        table = ShardedTable(TABLE, 2, losses=(at,))
        assert_same(fit(name, table, n_rounds=2), expected)
        n_calls = table.opened[0].n_calls
        at += 5
    assert n_calls > 20


@pytest.mark.parametrize("name", ["two classes", "linear"])
def test_codes_stored_once_give_the_same_model(name, in_memory):
    class LowMemory(ShardedTable):
        __slots__ = ()
        low_memory = True

    assert_same(fit(name, LowMemory(TABLE, 3)), in_memory(name))


@pytest.mark.parametrize(
    ("name", "train", "evaluation"),
    [
        ("two classes", True, True),
        ("three classes", True, False),
        ("absolute", True, True),
        ("absolute", False, True),
        ("dropped", True, True),
        ("dropped, three classes", True, False),
        ("dropped, absolute", False, True),
        ("statistics, three classes", True, True),
        ("statistics, dropped", False, True),
        ("linear", True, True),
        ("linear, three classes", False, True),
        ("linear, gradient", True, False),
        ("linear, statistics, gradient", True, True),
    ],
)
def test_evaluation_sets_may_be_sharded(name, train, evaluation):
    y, stops = CASES[name][1], {} if "dropped" in name else {"patience": 3}
    weight = np.arange(N_ROWS) % 3 + 0.5
    sharded = ShardedTable(TABLE, 4, losses=(3, 5, 8))
    rows = [Dataset(None, sharded if evaluation else TABLE, y.copy(), weight)]
    result = fit(name, ShardedTable(TABLE, 3, losses=(20,)) if train else TABLE, rows, **stops)
    assert_same(result, fit(name, TABLE, [Dataset(None, TABLE, y.copy(), weight)], **stops))
    assert "validation_loss" in result.history
    assert all(shards.is_closed for shards in sharded.opened)


@pytest.mark.parametrize(
    "name",
    [
        *("three classes", "huber", "smoothed", "gradient", "bayesian", "statistics, absolute"),
        *("linear", "linear, gradient", "linear, three classes"),
    ],
)
def test_fit_can_start_from_a_model(name):
    first = fit(name, TABLE, n_rounds=2).model
    sharded = fit(name, ShardedTable(TABLE, 3, losses=(2,)), previous=first)
    assert_same(sharded, fit(name, TABLE, previous=first))


@pytest.mark.parametrize(
    ("name", "purpose"),
    [("gradient", "row factors"), ("dropped", "leaves"), ("statistics", "target statistics")],
)
def test_memory_of_what_comes_to_this_process_is_counted(monkeypatch, name, purpose):
    monkeypatch.setenv("HEDGEROW_MEMORY", "910kB")
    fit("two classes", ShardedTable(TABLE, 3), n_rounds=1)
    with pytest.raises(MemoryError, match=rf"to 900 rows of 6 columns needs about .*{purpose} \d"):
        fit(name, ShardedTable(TABLE, 3), n_rounds=1)


def test_linear_leaves_can_continue_a_model_of_constant_ones():
    first = fit("whole weights", TABLE, n_rounds=2).model
    sharded = fit("linear", ShardedTable(TABLE, 3, losses=(2,)), previous=first)
    assert_same(sharded, fit("linear", TABLE, previous=first))
    assert sharded.model.forest.linear.counts.any()


@pytest.mark.parametrize("negative", [slice(0, 0), slice(0, 75), slice(75, 150)])
def test_a_range_that_ends_at_zero_has_the_sign_of_the_first_zero(negative):
    x = np.concatenate([np.zeros(150), np.arange(1.0, 451.0)])
    y, values = 0.01 * x + np.sin(x), x.copy()
    values[negative] = -0.0
    table, results = read_table(values[:, np.newaxis]), []
    for rows in (table, *(ShardedTable(table, n_shards) for n_shards in (2, 4, 9))):
        options = GradientBoostingOptions(
            loss=SquaredError(), n_rounds=2, learning_rate=0.3, growth=GrowthOptions(), linear_l2=1.0
        )
        results.append(fit_gradient_boosting(Dataset(None, rows, y.copy(), None), [], options))
    lower = results[0].model.forest.linear.lower
    assert (lower == 0).any()
    assert np.signbit(lower[lower == 0]).all() == (negative == slice(0, 75))
    for result in results[1:]:
        assert_same(result, results[0])


def test_shards_are_closed_after_an_error():
    table = ShardedTable(TABLE, 3)

    def fail(_done):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit("two classes", table, callbacks=[fail])
    assert table.opened[0].is_closed


@pytest.mark.parametrize("name", ["two classes", "absolute"])
def test_shards_are_closed_if_they_cannot_be_restored(name):
    table = ShardedTable(TABLE, 3, losses=range(10_000))
    with pytest.raises(ConnectionError, match="lost 20 times"):
        fit(name, table)
    assert table.opened[0].is_closed


def test_tree_takes_fewer_calls_than_it_has_splits():
    table = ShardedTable(TABLE, 2)
    result = fit("small leaves", table)
    n_splits = int((result.model.forest.left > 0).sum())
    assert n_splits == 5 * 30
    assert table.opened[0].n_calls < n_splits / 2


def test_fit_rejects_gradients_that_are_not_finite(monkeypatch):
    def fill(_loss, _y, _raw, gradient, hessian, *_bounds):
        gradient[:], hessian[:] = np.nan, 1.0

    monkeypatch.setattr(BinaryLogLoss, "fill", fill)
    with pytest.raises(FloatingPointError, match="not finite"):
        fit("two classes", ShardedTable(TABLE, 3))


def test_fit_fails_if_shards_are_always_lost():
    with pytest.raises(ConnectionError, match="lost 20 times before one tree was grown: see their logs"):
        fit("two classes", ShardedTable(TABLE, 3, losses=range(7, 10_000)))
