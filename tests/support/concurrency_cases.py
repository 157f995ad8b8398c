"""What threads and processes do in the tests of concurrency; here, where new processes find it."""

import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from answers import answers
from hedgerow import GradientBoostingClassifier, RandomForestClassifier
from hedgerow.io.models import to_bytes
from hedgerow.kernels.cpu.intrinsics import barrier
from hedgerow.threads import resolve_n_jobs
from model_cases import numbers

# A few of each way to fit and to predict: flat trees, weak trees, deep trees, members of ours.
SOME = (
    "adaboost samme, categories", "adaboost.r2", "logitboost", "anyboost", "three", "forest",
    "forest of numbers", "extra trees", "bag", "bag of boosters", "tree", "stump", "gradient",
)  # fmt: skip


def at_once(*tasks):
    """The results of functions that threads begin at the same time."""
    start = threading.Barrier(len(tasks), timeout=60)

    def run(task):
        start.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(run, task) for task in tasks]]


def data(n_rows=4000, seed=0):
    """Rows enough for two threads to share, and two classes."""
    X, signal = numbers(n_rows, 6, seed)
    return X, (signal > np.median(signal)).astype(int)


def boosted(n_jobs=2, **parameters):
    """A model whose threads meet at barriers."""
    return GradientBoostingClassifier(**{"n_estimators": 5, "n_jobs": n_jobs} | parameters)


def fit_and_ask(n_jobs):
    """Bytes of models of two kinds, and what they say, all in bytes."""
    X, y = data()
    found = []
    for model in (boosted(n_jobs), RandomForestClassifier(4, random_state=0, n_jobs=n_jobs)):
        model.fit(X, y)
        found += [to_bytes(model.set_params(n_jobs=None)), model.predict_proba(X).tobytes()]
    return found


def ask(given):
    """What a pickled model says, in the process that this runs in."""
    model, X = pickle.loads(given)  # noqa: S301 - made by the test
    return answers(model, X)


def in_process(method, task, *arguments, patience=60):
    """The result of `task(*arguments)` in a process of its own; TimeoutError if it hangs."""
    context = multiprocessing.get_context(method)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, task, arguments))
    process.start()
    there.close()
    try:
        if not here.poll(patience):
            raise TimeoutError(f"the process started by {method} did not answer in {patience} seconds")
        return here.recv()
    finally:
        process.kill()
        process.join()


def _answer(pipe, task, arguments):
    pipe.send(task(*arguments))
    pipe.close()


def meet(team, n_turns):
    """How often each member of a team saw, past a barrier, that another one had not come yet."""
    seen, wrong = np.full(team.n_members, -1), []

    def run(member):
        wrong.append(_relay(team.sync, seen, member, team.n_members, n_turns))

    team.together(run)
    return wrong


@njit(nogil=True)
def _relay(sync, seen, member, n_members, n_turns):
    wrong = 0
    for turn in range(n_turns):
        seen[member] = turn
        barrier(sync, n_members)
        for other in range(n_members):
            wrong += seen[other] != turn
        barrier(sync, n_members)
    return wrong


def threads_of_worker(_number):
    """The process that this runs in, and how many threads a model takes there."""
    return os.getpid(), resolve_n_jobs(None), resolve_n_jobs(3)
