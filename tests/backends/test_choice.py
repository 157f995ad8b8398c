"""The backend of a table is chosen in one place, and every fit gets its rows from it."""

import numpy as np
import pytest

import hedgerow
from hedgerow.backends.cpu import CpuBackend
from hedgerow.backends.sharded import ShardedBackend
from hedgerow.boosting import loop
from hedgerow.boosting.loop import FitOptions
from hedgerow.growing.deep import ThreadedTreeGrower
from remote_tables import ShardedTable
from shard_cases import TABLE

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


class TableOfCluster(ShardedTable):
    cluster = ("client", "settings")


def test_the_backend_follows_from_the_table():
    options = FitOptions(n_rounds=1)
    assert type(options.backend(TABLE)) is CpuBackend
    for kind, cluster in ((ShardedTable, None), (TableOfCluster, ("client", "settings"))):
        backend = options.backend(kind(TABLE, 3))
        assert type(backend) is ShardedBackend
        assert backend._cluster == cluster


def test_workers_grow_the_trees_of_a_forest_if_they_hold_the_rows(monkeypatch):
    monkeypatch.setattr("hedgerow.backends.dask_forest.DaskTreeGrower", lambda *arguments: arguments)
    backend = ShardedBackend(TableOfCluster.cluster)
    assert backend.forest_grower("task", range(2), 4) == ("task", range(2), "client", "settings")
    for one, numbers in ((backend, range(2, 2)), (ShardedBackend(), range(2))):
        grower = one.forest_grower(None, numbers, 4)
        assert type(grower) is ThreadedTreeGrower
        assert list(grower.close()) == []


@pytest.mark.parametrize(
    ("model", "evaluated", "expected"),
    [
        (hedgerow.GradientBoostingClassifier(n_estimators=2), True, ["training_rows", "evaluation_rows"]),
        (hedgerow.GradientBoostingClassifier(n_estimators=2, n_folds=4), False, ["training_rows"]),
        (hedgerow.GradientBoostingRegressor(n_estimators=2, drop_rate=0.5), True,
         ["training_rows", "evaluation_rows"]),
        (hedgerow.AdaBoostClassifier(n_estimators=2), True, ["weak_rows", "weak_rows"]),
        (hedgerow.AdaBoostRegressor(n_estimators=2), False, ["weak_rows"]),
        (hedgerow.LogitBoostClassifier(n_estimators=2), True, ["weak_rows", "weak_rows"]),
        (hedgerow.AnyBoostClassifier(n_estimators=2), False, ["weak_rows"]),
        (hedgerow.RandomForestClassifier(2), False, ["forest_grower"]),
        (hedgerow.ExtraTreesRegressor(2), False, ["forest_grower"]),
    ],
    ids=str,
)  # fmt: skip
def test_every_fit_gets_its_rows_from_the_backend(model, evaluated, expected, monkeypatch):
    calls = []

    class Recording:
        concurrent_fits = False

        def __getattr__(self, name):
            calls.append(name)
            return getattr(CpuBackend(), name)

    monkeypatch.setattr(loop, "CpuBackend", Recording)
    model.fit(X, Y, **({"eval_set": (X[:20], Y[:20])} if evaluated else {}))
    assert calls == expected
