"""Forests on remote rows: values decoded from codes, and trees that workers grow."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import hedgerow
from dask_cases import wait_until
from hedgerow.backends.cpu import CpuBackend
from hedgerow.backends.dask_forest import DaskTreeGrower, n_bytes, require_memory_for_codes, writable
from hedgerow.bagging.members import MemberTask
from hedgerow.distributed.cluster import Settings
from hedgerow.io.models import to_bytes
from hedgerow.table import read_table
from hedgerow.threads import Team
from hedgerow.voting import BinnedRows, EncodedRows
from remote_tables import ShardedInput, ShardedTable


def rows(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 4] = rng.integers(0, 9, n_rows)
    X[0, 0], X[1, 0] = np.inf, -np.inf
    score = X[:, 1] + 0.7 * (X[:, 4] % 3) + 0.5 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, (score > np.median(score)).astype(int), score


X, Y, SCORE = rows()
FEW = {"n_estimators": 7, "random_state": 0}
MODELS = [
    (hedgerow.RandomForestClassifier(**FEW, categorical_features=[4]), Y),
    (hedgerow.ExtraTreesClassifier(**FEW, bootstrap=True, class_weight="balanced_subsample"), Y),
    (hedgerow.RandomForestRegressor(**FEW, min_samples_leaf=3), SCORE),
]


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda one: type(one).__name__)
def test_a_forest_of_remote_rows_is_that_of_rows_in_memory(model, y):
    assert to_bytes(clone(model).fit(ShardedInput(X, y))) == to_bytes(clone(model).fit(X, y))


@pytest.mark.parametrize("max_bins", [3, 255])
def test_out_of_bag_votes_read_the_codes_of_the_fit(max_bins):
    model = hedgerow.RandomForestClassifier(30, random_state=0, max_bins=max_bins, categorical_features=[4])
    model.fit(X, Y)
    table, bins = read_table(X, categorical_features=[4]), model.model_.bins
    in_bag = model._tree_sampler.in_bag(30, Team(1))
    binned = BinnedRows(bins.encode(ShardedTable(table, 3), Team(1)))
    encoded = EncodedRows(table, bins)
    np.testing.assert_array_equal(binned.codes(5, 80)[::32], encoded.codes(5, 80)[::32])
    votes = [model.model_.forest.out_of_bag_votes(one, in_bag, 1) for one in (binned, encoded)]
    np.testing.assert_array_equal(votes[0][0], votes[1][0])
    np.testing.assert_array_equal(votes[0][1], votes[1][1])


# --- trees that workers grow


@pytest.fixture
def shared(client, monkeypatch):
    """Have workers grow the trees of forests; return the list of tree growers."""
    made = []

    def on_workers(task, numbers, _n_threads):
        made.append(DaskTreeGrower(task, numbers, client, Settings(timeout=600)))
        return made[-1]

    monkeypatch.setattr(CpuBackend, "forest_grower", staticmethod(on_workers))
    return made


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda one: type(one).__name__)
def test_workers_grow_the_same_forest(model, y, shared, client, monkeypatch):
    found = to_bytes(clone(model).fit(X, y))
    assert len(shared) == 1
    monkeypatch.undo()
    assert to_bytes(clone(model).fit(X, y)) == found
    wait_until(lambda: not client.futures)  # the client releases them in a thread of its own


@pytest.mark.usefixtures("shared")
def test_lost_codes_are_sent_again(client, monkeypatch):
    fit, model = DaskTreeGrower.fit, hedgerow.RandomForestClassifier(12, random_state=0)

    def lose(self, request, number):
        if number in (2, 5):
            client.cancel([self._task], force=True)
        return fit(self, request, number)

    with monkeypatch.context() as patch:
        patch.setattr(DaskTreeGrower, "fit", lose)
        found = to_bytes(model.fit(X, Y))
    monkeypatch.undo()
    assert to_bytes(model.fit(X, Y)) == found


@pytest.mark.usefixtures("shared")
def test_an_error_of_a_worker_is_raised_and_the_cluster_is_released(client, monkeypatch):
    def fail(_task, _number):
        raise MemoryError("short")

    monkeypatch.setattr("hedgerow.backends.dask_forest.grow_tree", fail)
    with pytest.raises(MemoryError, match=r"^growing trees on the workers: memory is short on a worker"):
        hedgerow.RandomForestClassifier(9, random_state=0).fit(X, Y)
    wait_until(lambda: not client.futures)


def test_workers_without_enough_memory_raise():
    workers = {"tcp://one:1": {"memory_limit": 10**9, "nthreads": 2}, "tcp://two:2": {"nthreads": 1}}
    require_memory_for_codes(workers, 10**6, 1000)
    with pytest.raises(MemoryError, match=r"worker tcp://one:1 may use 1\.0 GB: increase its memory"):
        require_memory_for_codes(workers, 10**9, 1000)


def frozen_at(raw, skip):
    """The bytes in memory that cannot be written to, `skip` bytes after a cache line."""
    memory = np.empty(len(raw) + 128, np.uint8)
    first = -memory.ctypes.data % 64 + skip
    memory[first : first + len(raw)] = np.frombuffer(raw, np.uint8)
    memory.flags.writeable = False
    return memory[first : first + len(raw)]


@pytest.mark.parametrize("skip", [0, 16])
def test_a_task_received_over_a_network_is_writable(skip):
    caught = []
    with pytest.MonkeyPatch.context() as patch:
        make = CpuBackend.forest_grower
        catch = staticmethod(lambda task, *args: caught.append(task) or make(task, *args))
        patch.setattr(CpuBackend, "forest_grower", catch)
        hedgerow.RandomForestClassifier(1, random_state=0).fit(X, Y)
    (task,) = caught
    buffers = []
    sent = pickle.dumps(task, protocol=5, buffer_callback=buffers.append)
    frozen = pickle.loads(sent, buffers=[frozen_at(buffer.raw(), skip) for buffer in buffers])  # noqa: S301 - ours
    assert frozen.grower._codes.ctypes.data % 64 == skip
    assert not frozen.grower._codes.flags.writeable
    ready = writable(frozen)
    codes = ready.grower._codes
    assert codes.flags.writeable
    assert codes.ctypes.data % 64 == 0
    np.testing.assert_array_equal(codes, task.grower._codes)
    assert ready.grower.target.classes.flags.writeable
    assert n_bytes(ready) == n_bytes(task) > codes.nbytes


# --- bagging by joblib's Dask backend


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), hedgerow.DecisionTreeClassifier()], ids=["foreign", "ours"]
)
def test_members_are_fitted_by_workers_that_receive_the_rows_once(estimator, client):
    finite = np.nan_to_num(X, posinf=9.0, neginf=-9.0)
    model = hedgerow.BaggingClassifier(estimator, n_estimators=6, random_state=0)
    expected = to_bytes(model.fit(finite, Y))
    before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    scattered = []
    scatter = client.scatter
    with pytest.MonkeyPatch.context() as patch, joblib.parallel_config(backend="dask"):
        patch.setattr(client, "scatter", lambda what, **how: scattered.append(what) or scatter(what, **how))
        found = to_bytes(model.fit(finite, Y))
    after = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    assert [type(one) for one in scattered] == [MemberTask]
    assert after > before
    assert found == expected
