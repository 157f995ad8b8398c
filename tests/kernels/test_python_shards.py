"""Trees grown on shards: the kernels' Python bodies give the bits of the compiled ones."""

import numpy as np
import pytest

from hedgerow.table import read_table
from python_bodies import both_ways
from remote_tables import ShardedTable
from shard_cases import CASES, VALUES, assert_same, fit

N = 90


class LowMemory(ShardedTable):
    __slots__ = ()
    low_memory = True


@pytest.mark.parametrize(
    ("name", "kind"),
    [("large leaves", LowMemory), ("heavy tails", ShardedTable), ("whole weights", ShardedTable),
     ("whole weights", LowMemory), ("by depth", ShardedTable), ("absolute", ShardedTable),
     ("linear", ShardedTable), ("linear, heavy tails", LowMemory), ("linear, gradient", ShardedTable)],
)  # fmt: skip
def test_fit_on_shards_by_python_bodies_has_the_same_bits(name, kind, monkeypatch):
    loss, y, weight, settings, rules = CASES[name]
    rules = rules | ({"min_samples_leaf": 20} if name == "large leaves" else {"max_leaf_nodes": 6})
    settings = {key: value for key, value in settings.items() if key != "validation_rows"}
    weight = None if weight is None else weight[:N]
    monkeypatch.setitem(CASES, name, (loss, y[:N], weight, settings, rules))
    table = read_table(VALUES[:N], categorical_features=[3])
    compiled, python = both_ways(lambda: fit(name, kind(table, 2), n_rounds=1))
    for field, values in vars(compiled.model.forest).items():
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(values, getattr(python.model.forest, field), err_msg=field)
    linear = [result.model.forest.linear for result in (compiled, python)]
    assert (linear[0] is not None) == name.startswith("linear")
    if linear[0] is not None:
        assert linear[0].counts.any()
        assert_same(compiled, python)
    assert compiled.model.forest.n_trees == 1
    assert len(compiled.model.forest.left) > 3
