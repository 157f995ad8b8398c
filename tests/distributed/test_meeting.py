"""Members of a meeting hear what all say, in the order of the members; nobody waits for one who is gone."""

import multiprocessing
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.distributed import meeting as meetings
from hedgerow.distributed.leading import SharedPlace
from hedgerow.distributed.meeting import Meeting, MeetingOver, MemberFailed
from hedgerow.growing.places import LocalPlace

BOX, SAID = 128, 64
SIZES = st.integers(0, 200)


@pytest.fixture(autouse=True)
def small_boxes(monkeypatch):
    monkeypatch.setattr(meetings, "_BOX", BOX)
    monkeypatch.setattr(meetings, "_SAID", SAID)
    if Meeting.called(1, 1.0) is None:
        pytest.skip("no memory without a name can be made here")


def met(n_members, patience=30.0):
    first, invitation = Meeting.called(n_members, patience)
    others = [Meeting.joined(invitation, member, patience) for member in range(1, n_members)]
    assert None not in others
    for one in (first, *others):
        one.begin()
    return [first, *others]


def speak(member, messages):
    return [member.exchange(one) for one in messages]


def together(members, messages):
    with ThreadPoolExecutor(len(members)) as threads:
        return list(threads.map(speak, members, messages))


@settings(deadline=None)  # members wait for one another, and the machine may be busy
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(SIZES, min_size=n, max_size=n), max_size=5)))
def test_all_hear_all_whatever_the_lengths(sizes):
    n_members = len(sizes[0]) if sizes else 1
    turns = [
        [bytes([member + 1]) * size for member, size in enumerate(turn)] for turn in sizes
    ]  # (turns, members)
    heard = together(met(n_members), [[turn[member] for turn in turns] for member in range(n_members)])
    assert heard == [turns] * n_members


def test_messages_of_many_turns_are_not_mixed_up():
    rng = np.random.default_rng(0)
    turns = [[rng.bytes(rng.integers(0, 300)) for _ in range(3)] for _ in range(300)]
    heard = together(met(3), [[turn[member] for turn in turns] for member in range(3)])
    assert heard == [turns] * 3


def add(member, turns):
    return [(member.exchange(message, sums), [one.tolist() for one in sums]) for message, sums in turns]


@settings(deadline=None)
@given(
    st.integers(1, 4),
    st.lists(st.lists(st.integers(0, 30), max_size=3), min_size=1, max_size=4),
    st.integers(0, 2**32),
)
def test_integers_are_added_up_whatever_their_number(n_members, lengths, seed):
    rng = np.random.default_rng(seed)
    said = [[rng.bytes(rng.integers(0, 150)) for _ in range(n_members)] for _ in lengths]
    given = [[[rng.integers(-99, 99, n) for n in turn] for _ in range(n_members)] for turn in lengths]
    total = [[sum(arrays).tolist() for arrays in zip(*turn, strict=True)] for turn in given]
    members = met(n_members)
    turns = [[(said[t][m], given[t][m]) for t in range(len(lengths))] for m in range(n_members)]
    with ThreadPoolExecutor(n_members) as threads:
        heard = list(threads.map(add, members, turns))
    assert heard == [list(zip(said, total, strict=True))] * n_members


def sum_up(invitation, member, n_turns):
    """A member in a process of its own: adds up numbers that all say."""
    joined = Meeting.joined(invitation, member, 30.0)
    total = 0
    for turn in range(n_turns):
        said = joined.exchange(np.array([turn * (member + 1)]).tobytes())
        total += sum(int(np.frombuffer(one, np.int64)[0]) for one in said)
    os._exit(0 if total == sum(turn * 6 for turn in range(n_turns)) else 1)


def test_processes_meet():
    first, invitation = Meeting.called(3, 30.0)
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=sum_up, args=(invitation, member, 500)) for member in (1, 2)]
    for one in others:
        one.start()
    total = 0
    for turn in range(500):
        said = first.exchange(np.array([turn]).tobytes())
        total += sum(int(np.frombuffer(one, np.int64)[0]) for one in said)
    for one in others:
        one.join(30)
    assert total == 6 * 499 * 250
    assert [one.exitcode for one in others] == [0, 0]


def wait_to_be_killed(invitation):
    joined = Meeting.joined(invitation, 1, 30.0)
    time.sleep(60)
    del joined


def test_one_who_was_killed_is_not_waited_for():
    first, invitation = Meeting.called(2, 30.0)
    other = multiprocessing.get_context("fork").Process(target=wait_to_be_killed, args=(invitation,))
    other.start()
    while first._lines[17] == 0:
        time.sleep(0.01)
    assert first._lines[17] == other.pid

    def kill():
        os.kill(other.pid, signal.SIGKILL)
        other.join()  # until then it is still there, as a dead one whose end nobody asked for

    timer = threading.Timer(0.2, kill)
    timer.start()
    with pytest.raises(MeetingOver, match="member 1 is gone"):
        first.exchange(b"are you there?")
    timer.join()


def test_a_meeting_that_is_ended_and_one_that_lasts_too_long():
    first, second = met(2)
    timer = threading.Timer(0.1, second.end)
    timer.start()
    with pytest.raises(MeetingOver, match="the meeting is over"):
        first.exchange(b"no answer")
    timer.join()
    first, _ = met(2, patience=0.1)
    with pytest.raises(MeetingOver, match=r"has not spoken for 0\.1 seconds"):
        first.exchange(b"no answer")


def test_a_meeting_is_over_when_a_member_lets_go_of_it():
    first, second = met(2)
    together([first, second], [[b"a"], [b"b"]])
    begun = time.monotonic()
    timer = threading.Timer(0.1, lambda kept: kept.clear(), ([second],))
    del second
    timer.start()
    with pytest.raises(MeetingOver, match="the meeting is over"):
        first.exchange(b"no answer")
    assert time.monotonic() - begun < 10  # not as long as its patience
    timer.join()


def test_a_fork_that_lets_go_of_its_copy_does_not_end_the_meeting():
    members = met(2)
    child = os.fork()
    if not child:
        members.clear()
        os._exit(0)
    os.waitpid(child, 0)
    assert members[0]._lines[1] == 0
    assert together(members, [[b"a"], [b"b"]]) == [[[b"a", b"b"]]] * 2


def test_who_waits_long_leaves_the_core_to_others():
    first, second = met(2, patience=1.0)
    before = time.thread_time()
    with pytest.raises(MeetingOver, match="has not spoken"):
        first.exchange(b"no answer")
    assert time.thread_time() - before < 0.4
    assert second.n_members == 2


def speak_or_fail(member, n_turns, fails_at):
    """What a member has heard when it is told that one has failed."""
    heard = []
    for turn in range(n_turns):
        if turn == fails_at:
            member.fail(b"I cannot")
            return heard
        sums = [np.full(30, turn + 1)]  # more than a box has room for
        try:
            heard.append((member.exchange(bytes([turn]) * 100, sums), int(sums[0].sum())))
        except MemberFailed as error:
            return [*heard, error.args]
    return heard


@pytest.mark.parametrize("who_fails", [{0: 3}, {2: 3}, {0: 0}, {1: 4, 2: 4}])
def test_all_hear_of_one_who_fails_and_of_all_that_was_said_before(who_fails):
    begun = time.monotonic()
    with ThreadPoolExecutor(3) as threads:
        turns = [who_fails.get(member, -1) for member in range(3)]
        heard = list(threads.map(speak_or_fail, met(3), [6] * 3, turns))
    last = max(who_fails.values())
    said = [([bytes([turn]) * 100] * 3, 30 * 3 * (turn + 1)) for turn in range(last)]
    assert heard == [said if member in who_fails else [*said, (b"I cannot",)] for member in range(3)]
    assert time.monotonic() - begun < 10


class Number:
    """A part that says a number, or fails."""

    def __init__(self, number, error=None):
        self.number, self.error = number, error

    def say(self):
        if self.error is not None:
            raise self.error
        return self.number, (np.array([self.number]),)


@pytest.mark.parametrize(
    ("error", "others"),
    [
        (ValueError("not today"), r"ValueError\('not today'\)"),
        (ValueError("x" * 100_000), r"RuntimeError\(.another worker .* failed: ValueError\('xxx"),
        (ValueError(threading.Lock()), r"RuntimeError\(.another worker .* failed: ValueError\(<unlocked"),
    ],
)
def test_an_error_at_one_holder_is_that_of_all(monkeypatch, error, others):
    monkeypatch.setattr(meetings, "_BOX", 1 << 17)
    monkeypatch.setattr(meetings, "_SAID", 1 << 16)
    parts = [Number(1), Number(2, error), Number(4)]
    places = [SharedPlace(LocalPlace([one], [(0, 1)]), m) for one, m in zip(parts, met(3), strict=True)]

    def ask(place):
        try:
            said, sums = place.ask("say")
        except (ValueError, RuntimeError) as failure:
            return repr(failure)
        return said, sums[0].tolist()

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(ask, places))
    assert found[1] == repr(error)
    assert re.match(others, found[0])
    assert found[0] == found[2]


def test_who_cannot_see_the_memory_does_not_join():
    first, invitation = Meeting.called(2, 1.0)
    assert Meeting.joined(invitation._replace(machine="another"), 1, 1.0) is None
    assert Meeting.joined(invitation._replace(processes="others"), 1, 1.0) is None
    assert Meeting.joined(invitation._replace(token=invitation.token + 1), 1, 1.0) is None
    assert Meeting.joined(invitation._replace(n_members=3), 1, 1.0) is None
    assert Meeting.joined(invitation, 1, 1.0) is not None
    first.begin()  # nobody else can come
    assert Meeting.joined(invitation, 1, 1.0) is None


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nothing_is_left_open():
    before = open_files()
    for _ in range(20):
        members = met(2)
        together(members, [[b"a"], [b"b"]])
        Meeting.called(2, 1.0)  # nobody comes
    del members
    assert open_files() <= before + 1


def test_where_there_is_no_such_memory(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", refuse)
    assert Meeting.called(2, 1.0) is None
    monkeypatch.undo()
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    before = open_files()
    assert Meeting.called(2, 1.0) is None
    assert open_files() == before
