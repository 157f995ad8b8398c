"""Gradient boosting on rows in parts gives the model of rows in memory, also if some parts are lost."""

import numpy as np
import pytest

from hedgerow.growing.shards import LocalShards
from hedgerow.losses.classification import BinaryLogLoss
from hedgerow.table.dataset import Dataset
from hedgerow.table.remote import RemoteTable, TableScan
from remote_tables import ShardedTable
from shard_cases import CASES, N_ROWS, TABLE, TWO, assert_same, fit


@pytest.fixture(scope="module")
def in_memory():
    known = {}

    def of(name):
        if name not in known:
            known[name] = fit(name, TABLE)
        return known[name]

    return of


@pytest.mark.parametrize("n_parts", [1, 3, 17])
@pytest.mark.parametrize("name", CASES)
def test_the_model_is_that_of_rows_in_memory(name, n_parts, in_memory):
    assert_same(fit(name, ShardedTable(TABLE, n_parts)), in_memory(name))


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_the_same_when_parts_are_lost(name, in_memory):
    table = ShardedTable(TABLE, 5, losses=(0, 1, 4, 9, 10, 25, 26, 40, 41, 60))
    assert_same(fit(name, table), in_memory(name))
    assert table.opened[0].n_calls > 60 or name in ("by depth", "one row a tree")


def test_every_single_loss_of_parts_is_healed(in_memory):
    n_calls = 1
    at = 0
    while at < n_calls:
        table = ShardedTable(TABLE, 2, losses=(at,))
        assert_same(fit("rows held out", table, n_rounds=5), in_memory("rows held out"))
        n_calls = table.opened[0].n_calls
        at += 7
    assert n_calls > 50


def test_codes_held_once_give_the_same_model(in_memory):
    class Lean(ShardedTable):
        __slots__ = ()
        low_memory = True

    assert_same(fit("two classes", Lean(TABLE, 3)), in_memory("two classes"))


@pytest.mark.parametrize("name", ["two classes", "three classes", "absolute"])
@pytest.mark.parametrize(("train", "follow"), [(True, True), (True, False), (False, True)])
def test_rows_that_are_followed_may_be_elsewhere_too(name, train, follow):
    y = CASES[name][1]
    there = ShardedTable(TABLE, 4, losses=(3, 5, 8))
    rows = [Dataset(None, there if follow else TABLE, y.copy(), np.arange(N_ROWS) % 3 + 0.5)]
    found = fit(name, ShardedTable(TABLE, 3, losses=(20,)) if train else TABLE, rows, patience=3)
    here = fit(name, TABLE, [Dataset(None, TABLE, y.copy(), np.arange(N_ROWS) % 3 + 0.5)], patience=3)
    assert_same(found, here)
    assert "validation_loss" in found.history


@pytest.mark.parametrize("name", ["two classes", "three classes", "huber", "absolute"])
def test_a_fit_goes_on_from_a_model(name):
    first = fit(name, TABLE, n_rounds=2).model
    there = fit(name, ShardedTable(TABLE, 3, losses=(2,)), previous=first)
    assert_same(there, fit(name, TABLE, previous=first))


def test_places_are_closed_also_after_an_error():
    table = ShardedTable(TABLE, 3)

    def fail(_done):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit("two classes", table, callbacks=[fail])
    assert table.opened[0].is_closed


def test_a_tree_takes_fewer_questions_than_it_has_splits():
    table = ShardedTable(TABLE, 2)
    found = fit("small leaves", table)
    n_splits = int((found.model.forest.left > 0).sum())
    assert n_splits == 5 * 30
    assert table.opened[0].n_calls < n_splits / 2


def test_gradients_that_are_not_finite_are_refused(monkeypatch):
    def fill(*given):
        given[3][:], given[4][:] = np.nan, 1.0  # gradient and hessian

    monkeypatch.setattr(BinaryLogLoss, "fill", fill)
    with pytest.raises(FloatingPointError, match="not finite"):
        fit("two classes", ShardedTable(TABLE, 3))


def test_only_the_rows_of_the_scan_can_be_read():
    sample = TableScan(
        5, TABLE.schema, TABLE.dtype, None, None, None, None, np.array([1, 3]), np.arange(12.0).reshape(2, 6)
    )

    class Scanned(RemoteTable):
        __slots__ = ()
        make_shards = encode = None

    table = Scanned(sample)
    assert table.rows(np.array([3, 1]), slice(1, 3)).tolist() == [[7.0, 8.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="use at most 255"):
        table.rows(np.array([2]))
    with pytest.raises(TypeError, match="cannot be read in blocks"):
        table.block(0, 1)


def test_parts_that_are_always_lost_end_the_fit():
    with pytest.raises(ConnectionError, match="lost 20 times before one tree was grown: see their logs"):
        fit("two classes", ShardedTable(TABLE, 3, losses=range(7, 10_000)))


def test_a_place_closes_once():
    closed = []
    shards = LocalShards([object()], [(0, len(TWO))], lambda: closed.append(1))
    shards.close()
    shards.close()
    assert closed == [1]
