"""Workers of one machine lead themselves: the same model, whoever leads, and no worker waits for ever."""

import os
import signal
import subprocess
import sys
import threading
import time
import traceback

import dask
import numpy as np
import pytest

from dask_cases import array_in_parts, cluster_of, tasks_left, uneven, worker_pids
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.distributed import place as places
from hedgerow.distributed.leading import LedThere
from hedgerow.distributed.meeting import Meeting
from hedgerow.growing.part import GradientPart
from hedgerow.io.models import to_bytes

N = 3000
RNG = np.random.default_rng(7)
VALUES = np.where(RNG.random((N, 5)) < 0.05, np.nan, RNG.normal(size=(N, 5)))
NUMBER = np.nan_to_num(VALUES[:, 0] * VALUES[:, 1]) + np.nan_to_num(VALUES[:, 2]) + RNG.normal(size=N) * 0.2


@pytest.fixture(scope="module")
def client():
    with cluster_of(3) as found:
        yield found


@pytest.fixture
def led(monkeypatch):
    """Whether the workers led themselves, for every leader that was made."""
    found = []
    lead = places.DaskPlace.lead

    def watched(place, task):
        leader = lead(place, task)
        found.append(isinstance(leader, LedThere))
        return leader

    monkeypatch.setattr(places.DaskPlace, "lead", watched)
    return found


MODELS = {
    "two classes": GradientBoostingClassifier(n_estimators=4, random_state=1, early_stopping=False),
    "four classes": GradientBoostingClassifier(
        n_estimators=2, random_state=1, early_stopping=False, subsample=0.7
    ),
    "few columns a tree": GradientBoostingRegressor(
        n_estimators=4, random_state=1, max_features=0.5, min_samples_leaf=90
    ),
    "scores here": GradientBoostingRegressor(n_estimators=3, random_state=1, loss="absolute_error"),
    "held out": GradientBoostingRegressor(
        n_estimators=6, random_state=1, early_stopping=True, n_iter_no_change=2
    ),
}


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_same_whoever_leads(name, led):
    model = MODELS[name]
    y = NUMBER if isinstance(model, GradientBoostingRegressor) else np.floor(NUMBER).clip(-1, 0)
    y = np.floor(NUMBER).clip(-2, 1) if name == "four classes" else y
    X = array_in_parts(VALUES, uneven(N, 5))
    expected = to_bytes(model.fit(VALUES, y))
    assert to_bytes(model.fit(X, y)) == expected
    with dask.config.set({"hedgerow.shared-memory": False}):
        assert to_bytes(model.fit(X, y)) == expected
    assert led == [True, False]


@pytest.mark.usefixtures("client")
def test_leaders_may_be_asked_in_a_tree(led):
    model, X = GradientBoostingRegressor(n_estimators=3, random_state=1), array_in_parts(VALUES, [N])
    with dask.config.set({"hedgerow.fan-out": 2}):
        assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))
    assert led == [True]


@pytest.mark.usefixtures("client")
def test_messages_longer_than_a_box(led):
    wide = np.random.default_rng(1).normal(size=(400, 150))
    model = GradientBoostingRegressor(n_estimators=2, random_state=0, max_leaf_nodes=20, min_samples_leaf=2)
    y = wide[:, 0] * wide[:, 1]
    expected = to_bytes(model.fit(wide, y))
    assert to_bytes(model.fit(array_in_parts(wide, [400]), y)) == expected
    assert led == [True]


def test_workers_that_cannot_meet_are_led_from_here(client, led):
    joined = Meeting.__dict__["joined"]
    X, model = array_in_parts(VALUES, [N]), GradientBoostingRegressor(n_estimators=3, random_state=0)
    last = list(client.scheduler_info()["workers"])[-1]
    client.run(setattr, Meeting, "joined", classmethod(_nobody), workers=[last])
    try:
        assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))
    finally:
        client.run(setattr, Meeting, "joined", joined, workers=[last])
    assert led == [False]
    assert tasks_left(client) == []


@pytest.mark.usefixtures("client")
def test_the_end_of_a_meeting_that_comes_late_does_not_end_the_next(led, monkeypatch):
    X, model = array_in_parts(VALUES, [N]), GradientBoostingRegressor(n_estimators=3, random_state=0)
    told, late = places.DaskPlace._told, []

    def tell(place, function, args, first=0):
        if function == "lead" and not late:
            late.append(place._meets - 1)  # of the meeting before
            place._say("end_meeting", late)
        return told(place, function, args, first)

    monkeypatch.setattr(places.DaskPlace, "_told", tell)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))
    assert (led, late) == ([True], [0])


def _nobody(*_):
    """Stands in for joining a meeting that cannot be joined."""


def soon(seconds, pid, number):
    timer = threading.Timer(seconds, os.kill, (pid, number))
    timer.start()
    return timer


def test_a_worker_killed_in_a_round_changes_nothing(client, led):
    model = GradientBoostingRegressor(n_estimators=20, random_state=0)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    victim = worker_pids(client)[1]

    def kill(one):
        if one.number == 5:
            soon(0.01, victim, signal.SIGKILL)

    found = model.fit(array_in_parts(VALUES, uneven(N, 5)), NUMBER, callbacks=[kill])
    assert to_bytes(found) == expected
    assert len(led) > 1  # parts were lost, and made anew
    assert tasks_left(client) == []
    client.wait_for_workers(3)


def fail_from(n_calls):
    """Have the parts of this process fail after so many questions; None for: as ever."""
    if n_calls is None:
        GradientPart.advance = GradientPart.kept
        return
    GradientPart.kept, calls = GradientPart.advance, iter(range(n_calls))

    def advance(part, *args):
        if next(calls, None) is None:
            raise ValueError("this worker fails")
        return GradientPart.kept(part, *args)

    GradientPart.advance = advance


@pytest.mark.parametrize("fan_out", [2, 8])
@pytest.mark.parametrize("which", range(3))
def test_an_error_on_one_worker_is_raised_at_once(client, which, fan_out):
    settings = {"hedgerow.fan-out": fan_out, "hedgerow.patience": 20, "hedgerow.timeout": 5}
    X, fails = array_in_parts(VALUES, [N]), list(client.scheduler_info()["workers"])[which]
    client.run(fail_from, 20, workers=[fails])
    try:
        with dask.config.set(settings), pytest.raises(ValueError, match="this worker fails"):
            GradientBoostingRegressor(n_estimators=100).fit(X, NUMBER)
    finally:
        client.run(fail_from, None, workers=[fails])
    assert tasks_left(client) == []
    model = GradientBoostingRegressor(n_estimators=2)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))


ASK_AND_DIE = """
import asyncio, os, sys
import dask.array as da
import numpy as np
from distributed import Client
from hedgerow import GradientBoostingRegressor
from hedgerow.distributed import place as places

ask = places.ask_node

async def to_one(pool, node, question, proxy=None):
    if b"grow" not in question:
        return await ask(pool, node, question, proxy)
    if node.number == 0:
        asyncio.ensure_future(ask(pool, node, question, proxy))
        await asyncio.sleep(0.3)
        os._exit(9)
    await asyncio.sleep(60)

places.ask_node = to_one
X = np.random.default_rng(0).normal(size=(900, 3))
with Client(sys.argv[1]):
    GradientBoostingRegressor(n_estimators=2).fit(da.from_array(X, chunks=(300, 3)), X[:, 0])
"""


def waits():
    """Whether a thread of this process waits for other members of a meeting."""
    return any(
        one.f_code is Meeting._speak.__code__
        for frame in sys._current_frames().values()
        for one, _ in traceback.walk_stack(frame)
    )


def test_a_fit_whose_process_died_while_it_asked_leaves_nobody_waiting(client):
    address = client.scheduler.address
    ended = subprocess.run([sys.executable, "-c", ASK_AND_DIE, address], check=False, timeout=60)
    assert ended.returncode == 9
    assert tasks_left(client) == []
    end = time.monotonic() + 20  # not as long as hedgerow.patience
    while any(client.run(waits).values()) and time.monotonic() < end:
        time.sleep(0.2)
    assert set(client.run(waits).values()) == {False}


def test_a_worker_that_stands_still_in_a_round_is_told_of(client):
    X = array_in_parts(VALUES, [N])
    GradientBoostingRegressor(n_estimators=1).fit(X, NUMBER)  # workers load what they need
    stopped = worker_pids(client)[0]

    def stop(one):
        if one.number == 3:
            os.kill(stopped, signal.SIGSTOP)

    try:
        with dask.config.set({"hedgerow.timeout": 3}), pytest.raises(TimeoutError) as error:
            GradientBoostingRegressor(n_estimators=1000).fit(X, NUMBER, callbacks=[stop])
        assert "(hedgerow.timeout=3): restart it and fit again" in str(error.value)
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert tasks_left(client) == []
    model = GradientBoostingRegressor(n_estimators=2)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))


def test_an_interrupted_fit_leaves_nobody_waiting(client):
    X = array_in_parts(VALUES, [N])
    main = threading.get_ident()
    timer = threading.Timer(1.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.warns(UserWarning, match="fit was interrupted"):
        GradientBoostingRegressor(n_estimators=100_000).fit(X, NUMBER)
    timer.join()
    assert tasks_left(client) == []
    model = GradientBoostingRegressor(n_estimators=2)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))


def test_two_fits_at_a_time(client):
    X, models = (
        array_in_parts(VALUES, [1000, 2000]),
        [GradientBoostingRegressor(n_estimators=20, random_state=n) for n in range(2)],
    )
    found = {}

    def fit(n):
        found[n] = to_bytes(models[n].fit(X, NUMBER))

    threads = [threading.Thread(target=fit, args=(n,)) for n in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert found == {n: to_bytes(models[n].fit(VALUES, NUMBER)) for n in range(2)}
    assert tasks_left(client) == []
