"""Models in other processes: forked, also while threads of the parent work, spawned, and joblib's workers.

A child that does not return is ended after some time, and the test fails.
"""

import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_all_start_methods, get_context

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from concurrency_cases import (
    at_once,
    barrier_errors,
    boosted,
    data,
    fit_and_predict,
    in_process,
    predict_pickled,
    threads_of_worker,
)
from hedgerow import AdaBoostClassifier
from hedgerow.forest import TreeModel
from hedgerow.kernels import native
from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.random import _mix as mix
from hedgerow.selection.linear import LogisticBaseline
from hedgerow.threads import Team, one_blas_thread, resolve_n_jobs
from model_cases import fitted
from predictions import all_predictions, same_bits

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),  # from Python 3.12
    pytest.mark.skipif("fork" not in get_all_start_methods(), reason="this system does not fork"),
]


@pytest.fixture(scope="module")
def alone():
    """The results of `fit_and_predict` in this process."""
    return fit_and_predict(2)


@contextmanager
def in_background(task):
    """Another thread that does a task again and again meanwhile."""
    ended, began = threading.Event(), threading.Event()

    def work():
        while not ended.is_set():
            task()
            began.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert began.wait(120)
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def held_by_another_thread(turn, seconds=None):
    """Another thread that is inside a `with turn` until the block ends, or so many seconds."""
    inside, ended = threading.Event(), threading.Event()

    def work():
        with turn:
            inside.set()
            ended.wait(seconds)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert inside.wait(60)
        yield
    finally:
        ended.set()
        thread.join()


# --- forked


def test_a_forked_process_fits_and_predicts_as_its_parent_does(alone):
    assert in_process("fork", fit_and_predict, 2) == alone


def test_a_model_of_the_parent_predicts_in_a_forked_process():
    for name in ("adaboost.r2", "forest of numbers", "bag of boosters", "gradient"):
        model, X, _ = fitted(name)
        assert same_bits(in_process("fork", all_predictions, model, X), all_predictions(model, X))


def test_a_team_that_has_threads_gets_new_ones_in_a_forked_process():
    with Team(3) as team:
        assert barrier_errors(team, 10) == [0, 0, 0]
        assert in_process("fork", barrier_errors, team, 10, patience=20) == [0, 0, 0]
        assert barrier_errors(team, 10) == [0, 0, 0]  # the threads of the parent still work


def test_a_fork_in_the_middle_of_fits_of_other_threads(alone):
    X, y = data()
    with (
        in_background(lambda: boosted().fit(X, y)),
        in_background(lambda: AdaBoostClassifier(n_jobs=2).fit(X, y)),
    ):
        for _ in range(2):
            assert in_process("fork", fit_and_predict, 2) == alone


def test_a_callback_may_fork():
    X, y = data()
    found = []

    def fork(done):
        if done.number == 1:
            found.append(in_process("fork", fit_and_predict, 2))

    boosted().fit(X, y, callbacks=[fork])
    assert found == [fit_and_predict(1)]


def test_a_fork_waits_for_the_compiler_so_that_the_child_can_compile():
    with held_by_another_thread(native.LOCK, seconds=0.3):
        assert in_process("fork", compiles, patience=20)


def compiles():
    return native.LOCK.acquire(timeout=5)


def test_a_fork_while_a_cached_property_is_computed_leaves_it_usable_in_the_child(monkeypatch):
    model, X, _ = fitted("gradient")
    copies = [pickle.loads(pickle.dumps(model)) for _ in range(2)]  # noqa: S301
    inside, ended = threading.Event(), threading.Event()
    property_of = vars(TreeModel)["predictor"]
    compute = property_of.function if hasattr(property_of, "function") else property_of.func
    this = threading.get_ident()

    def slow(tree_model):
        if threading.get_ident() != this:
            inside.set()
            ended.wait(60)
        return compute(tree_model)

    monkeypatch.setattr(property_of, "function" if hasattr(property_of, "function") else "func", slow)
    thread = threading.Thread(target=lambda: copies[0].predict(X))
    thread.start()
    assert inside.wait(60)
    try:
        assert same_bits(
            in_process("fork", all_predictions, copies[1], X, patience=20), all_predictions(model, X)
        )
    finally:
        ended.set()
        thread.join()


def test_a_fork_while_linear_algebra_is_limited_leaves_no_lock_behind():
    X, y = data(500)
    expected = LogisticBaseline().fit(X, y).predict_proba(X)
    with held_by_another_thread(one_blas_thread()):
        assert np.array_equal(in_process("fork", linear, X, y, patience=20), expected)


def linear(X, y):
    return LogisticBaseline().fit(X, y).predict_proba(X)


# --- spawned processes


def test_spawned_processes_fit_and_predict_the_same(alone):
    methods = sorted({"spawn", "forkserver"} & set(get_all_start_methods()))
    tasks = [lambda method=method: in_process(method, fit_and_predict, 2, patience=120) for method in methods]
    assert at_once(*tasks) == [alone] * len(methods)


def test_a_pool_of_processes_predicts_with_one_model():
    model, X, _ = fitted("forest")
    pickled = [pickle.dumps((model, X))] * 4
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        for found in pool.map(predict_pickled, pickled, timeout=60):
            assert same_bits(found, all_predictions(model, X))


# --- joblib


def test_joblib_runs_fits_in_processes_and_in_threads(alone):
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend, n_jobs=2):
            assert joblib.Parallel()(joblib.delayed(fit_and_predict)(2) for _ in range(2)) == [alone] * 2


def test_a_worker_uses_its_share_of_the_cores_unless_n_jobs_is_set():
    calls = [joblib.delayed(threads_of_worker)(number) for number in range(4)]
    for process, threads, explicit in joblib.Parallel(2, backend="loky")(calls):
        assert process != os.getpid()
        assert (threads, explicit) == (max(1, joblib.cpu_count() // 2), 3)
    for process, threads, explicit in joblib.Parallel(2, backend="threading")(calls):
        assert (process, threads, explicit) == (os.getpid(), 1, 3)


def test_the_environment_limits_threads(monkeypatch):
    for value, threads in [("1", 1), ("1000", resolve_n_jobs(-1)), ("0", resolve_n_jobs(-1)), ("many", None)]:
        monkeypatch.setenv("NUMBA_NUM_THREADS", value)
        assert resolve_n_jobs(None) == resolve_n_jobs(-1)
        assert threads is None or resolve_n_jobs(None) == threads
        assert resolve_n_jobs(5) == 5


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_searches_and_cross_validation_in_parallel_find_the_same(backend):
    X, y = data(600)
    search = {"max_leaf_nodes": [4, 8], "subsample": [0.5, 1.0]}

    def found(n_jobs):
        grid = GridSearchCV(boosted(None, random_state=0), search, cv=2, n_jobs=n_jobs).fit(X, y)
        forest = fitted("forest")[0]
        scores = cross_val_score(forest, X, y, cv=2, n_jobs=n_jobs)
        return grid.cv_results_["mean_test_score"], grid.best_estimator_.predict_proba(X), scores

    with joblib.parallel_config(backend):
        parallel = found(2)
    assert all(map(np.array_equal, parallel, found(1)))


# --- the compiler


def test_threads_that_need_a_new_kernel_at_once_get_one():
    fresh = kernel(mix.py_func)
    numbers = np.arange(5, dtype=np.uint64)
    expected = [int(mix(number)) for number in numbers]
    for found in at_once(*[lambda: [int(fresh(number)) for number in numbers]] * 4):
        assert found == expected
    assert len(fresh.signatures) == 1
