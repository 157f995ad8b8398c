"""Child processes, forked with all imported modules and compiled kernels, that are killed at a chosen moment.

A child reports its progress as single bytes in a pipe, which outlives it. Forking requires Linux or macOS.
"""

import argparse
import os
import select
import signal
import sys
import time
import traceback
import warnings
from typing import NamedTuple


def log(text):
    """Print a line and flush."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def argument_parser(description, kills=100):
    """The options that all programs with kills share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kills", type=int, default=kills, help="minimum number of kills")
    parser.add_argument("--seed", type=int, default=0)
    return parser


class Ended(NamedTuple):
    """Whether a child was killed, and the bytes that it sent before."""

    killed: bool
    sent: bytes


def run_and_kill(work, seconds, marker=b""):
    """Fork a child that runs `work(send)`; kill it `seconds` after it sent the marker, or any byte.

    `send` is called with bytes. A child that finishes earlier is not killed; one that fails raises an error
    in this process. With `seconds` None the child is not killed.
    """
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():  # of Python 3.12: other threads, which do nothing, are not forked
        warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _run_child(work, reader, writer)
    os.close(writer)
    try:
        sent = last = os.read(reader, 1)  # empty if the child has ended
        while last and marker not in sent:
            sent += (last := os.read(reader, 1))
            if len(sent) > _MAX_BYTES:
                os.kill(child, signal.SIGKILL)
                raise AssertionError(f"the child does not send {marker!r}: {sent[:50]!r}")
        if seconds is not None and not _ends_within(reader, seconds):
            os.kill(child, signal.SIGKILL)
        sent += _read_all(reader)
        _, status = os.waitpid(child, 0)
    finally:
        os.close(reader)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the child died of signal {os.WTERMSIG(status)}"
        return Ended(True, sent.removesuffix(_DONE))
    assert os.WEXITSTATUS(status) == 0, f"the child failed: {sent.decode(errors='replace')}"
    return Ended(False, sent.removesuffix(_DONE))


_MAX_BYTES = 10_000  # before the marker
_DONE = b"\0"  # sent when the work is done


def _run_child(work, reader, writer):
    os.close(reader)
    code = 1
    try:
        work(lambda data: os.write(writer, data))
        os.write(writer, _DONE)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent raises it
        os.write(writer, traceback.format_exc()[-4000:].encode())
    finally:
        os._exit(code)  # skip the exit handlers of the parent


def _ends_within(reader, seconds):
    """Whether the child ends in time; its bytes are not read."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        # a pipe with bytes is always readable: only poll reports its end, as a hang-up
        poll = select.poll()
        poll.register(reader, 0)
        if poll.poll(1000 * left):
            return True
    return False


def _read_all(reader):
    with os.fdopen(reader, "rb", closefd=False) as file:
        return file.read()
