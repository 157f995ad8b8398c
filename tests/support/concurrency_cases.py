"""Functions that threads and processes run in the tests of concurrency; new processes import this module."""

import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from hedgerow import GradientBoostingClassifier, RandomForestClassifier
from hedgerow.io.models import to_bytes
from hedgerow.kernels.cpu.grow import barrier
from hedgerow.threads import resolve_n_jobs
from model_cases import numbers
from predictions import all_predictions

# Some of each way to fit and predict: flat trees, weak trees, deep trees, members.
SOME = (
    "adaboost samme, categories", "adaboost.r2", "logitboost", "anyboost", "three", "forest",
    "forest of numbers", "extra trees", "bag", "bag of boosters", "tree", "stump", "gradient",
)  # fmt: skip


def at_once(*tasks):
    """Run functions in threads that start at the same time; return their results."""
    start = threading.Barrier(len(tasks), timeout=60)

    def run(task):
        start.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(run, task) for task in tasks]]


def data(n_rows=4000, seed=0):
    """Enough rows for two threads, and two classes."""
    X, signal = numbers(n_rows, 6, seed)
    return X, (signal > np.median(signal)).astype(int)


def boosted(n_jobs=2, **parameters):
    """A model whose threads synchronise at barriers."""
    return GradientBoostingClassifier(**{"n_estimators": 5, "n_jobs": n_jobs} | parameters)


def fit_and_predict(n_jobs):
    """Fit models of two kinds; return their bytes and the bytes of their predictions."""
    X, y = data()
    found = []
    for model in (boosted(n_jobs), RandomForestClassifier(4, random_state=0, n_jobs=n_jobs)):
        model.fit(X, y)
        found += [to_bytes(model.set_params(n_jobs=None)), model.predict_proba(X).tobytes()]
    return found


def predict_pickled(pickled):
    """Predictions of a pickled model for pickled rows."""
    model, X = pickle.loads(pickled)  # noqa: S301 - made by the test
    return all_predictions(model, X)


def in_process(method, task, *arguments, patience=60):
    """Run `task(*arguments)` in a new process and return its result; TimeoutError if it hangs."""
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, task, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(patience):
            raise TimeoutError(f"the process started by {method} did not finish in {patience} seconds")
        return receiver.recv()
    finally:
        process.kill()
        process.join()


def _send_result(pipe, task, arguments):
    pipe.send(task(*arguments))
    pipe.close()


def barrier_errors(team, n_turns, n_threads=None):
    """How often each member of a team passed a barrier before another member had reached it."""
    n_threads = n_threads or team.n_threads
    turns, wrong = np.full(n_threads, -1), []

    def run(member):
        wrong.append(_count_errors(team.sync, turns, member, n_threads, n_turns))

    team.together(run, n_threads)
    return wrong


@njit(nogil=True)
def _count_errors(sync, turns, member, n_threads, n_turns):
    wrong = 0
    for turn in range(n_turns):
        turns[member] = turn
        barrier(sync, n_threads)
        for other in range(n_threads):
            wrong += turns[other] != turn
        barrier(sync, n_threads)
    return wrong


def threads_of_worker(_number):
    """The process id, and the number of threads that models use in this process."""
    return os.getpid(), resolve_n_jobs(None), resolve_n_jobs(3)
