"""Children of this process, forked with all that is imported and compiled, and killed at a chosen moment.

A child tells what it does by single bytes in a pipe, which outlives it. Forking needs Linux or macOS.
"""

import os
import select
import signal
import sys
import time
import traceback
import warnings
from typing import NamedTuple


class Ended(NamedTuple):
    """How a child ended, and what it told before."""

    killed: bool
    told: bytes


def run_and_kill(work, seconds, word=b""):
    """Fork a child that does `work(tell)`, and kill it so many seconds after it told this word, or anything.

    `tell` takes bytes. A child whose work is done ends of itself before that; one that fails raises here.
    With `seconds` None it is left to end.
    """
    told, mouth = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():  # of Python 3.12: other threads, which do nothing, are not forked
        warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _work(work, told, mouth)
    os.close(mouth)
    try:
        said = part = os.read(told, 1)  # empty when the child has ended without a word
        while part and word not in said:
            said += (part := os.read(told, 1))
            if len(said) > MOST:
                os.kill(child, signal.SIGKILL)
                raise AssertionError(f"the child never says {word!r}: {said[:50]!r}")
        if seconds is not None and not _ends_within(told, seconds):
            os.kill(child, signal.SIGKILL)
        said += _rest(told)
        _, status = os.waitpid(child, 0)
    finally:
        os.close(told)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the child died of signal {os.WTERMSIG(status)}"
        return Ended(True, said[:-1] if said.endswith(_LAST) else said)
    assert os.WEXITSTATUS(status) == 0, f"the child failed: {said.decode(errors='replace')}"
    return Ended(False, said.removesuffix(_LAST))


MOST = 10_000  # words before the one that is waited for
_LAST = b"\0"  # told when the work is done


def _work(work, told, mouth):
    os.close(told)
    code = 1
    try:
        work(lambda word: os.write(mouth, word))
        os.write(mouth, _LAST)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent is told of all
        os.write(mouth, traceback.format_exc()[-4000:].encode())
    finally:
        os._exit(code)  # nothing of the parent is to be done twice


def _ends_within(told, seconds):
    """Whether the child ends before the time is over; what it tells is left to read."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        # a pipe that holds bytes is always readable: hence its end is only known to poll, as a hang-up
        poll = select.poll()
        poll.register(told, 0)
        if poll.poll(1000 * left):
            return True
    return False


def _rest(told):
    parts = []
    while part := os.read(told, 65_536):
        parts.append(part)
    return b"".join(parts)
