"""Messages between holders on one machine, through memory that all of them see.

Through Dask an answer takes milliseconds, nearly all of it Python at either end; in shared memory it takes
as long as it takes to copy it. The memory is a file without a name, which ends with the last process that
has it open, however that ends; others of the same user open it by the process that made it, in /proc.

    memory    lines int64 (1 + members, 8)    in the first: token, whether it is over
                                              in a member's: how often it has spoken, its process
              boxes uint8 (members, 2, _BOX)  what a member says, in turn in the one and the other
    box       8 bytes: the length of the whole message; then as much of it as there is room for, up to _SAID
              then integers, of which every member has as many: they are added up
              a length below zero: the member has failed, and the message tells why

A member speaks: it writes a piece into its box, counts up, waits until all others have done the same, and
reads what they wrote. A box is written again at the turn after the next, when all have read it.

A meeting is over for all as soon as one member lets go of it: whoever led it may be gone without a word, and
have asked some members to speak and others not.
"""

import mmap
import os
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.meeting import all_have_counted, count_up

_BOX = 1 << 20  # bytes; the sums of nine nodes of 28 columns
_LINE = 64
_SAID = 64 << 10  # bytes of a box for messages, the others are for sums
_HEAD = 8  # bytes that tell the length of the message
_NAP = 5e-5  # seconds between two looks, when the others take long
_NAPS = 0.02  # of the time waited so far, if that is longer: a look takes a core for a millisecond
_LOOK = 0.05  # seconds between two looks at whether they are alive


class MeetingOver(Exception):  # noqa: N818 - no error: told on to whoever asked
    """A member is gone, or the meeting was ended."""


class MemberFailed(Exception):  # noqa: N818 - as `MeetingOver`
    """A member could not say what all wait for; holds the bytes that tell why."""


class Invitation(NamedTuple):
    """Where a meeting is: on which machine, among which processes, in whose open file."""

    machine: str
    processes: str
    process: int
    file: int
    token: int
    n_members: int


class Meeting:
    """Members who speak all at once, in turns; see the module.

    Parameters
    ----------
    memory : mmap
    member, n_members : int
    patience : float
        Seconds to wait for others.
    file : int, optional
        A descriptor of the memory, by which others open it; closed when they have.
    """

    def __init__(
        self, memory: mmap.mmap, member: int, n_members: int, patience: float, file: int | None = None
    ) -> None:
        self.member, self.n_members, self._patience, self._turn = member, n_members, patience, 0
        self._file = None if file is None else weakref.finalize(self, os.close, file)
        n_words = 8 * (1 + n_members)
        self._lines = np.frombuffer(memory, np.int64, n_words)
        self._boxes = np.frombuffer(memory, np.uint8, offset=8 * n_words).reshape(n_members, 2, _BOX)
        self._lines[8 * (member + 1) + 1] = os.getpid()
        weakref.finalize(self, _say_over, self._lines, os.getpid())

    @classmethod
    def called(cls, n_members: int, patience: float) -> tuple["Meeting", Invitation] | None:
        """A new meeting with its first member, and what the others need; None where it cannot be."""
        try:
            where, file = _here(), os.memfd_create("hedgerow", os.MFD_CLOEXEC)
        except (OSError, AttributeError):  # not Linux, or not allowed
            return None
        try:
            os.posix_fallocate(file, 0, _size(n_members))
            memory = mmap.mmap(file, _size(n_members))
        except OSError:  # no memory for it
            os.close(file)
            return None
        meeting = cls(memory, 0, n_members, patience, file)
        token = int.from_bytes(os.urandom(7), "little")
        meeting._lines[0] = token
        return meeting, Invitation(*where, os.getpid(), file, token, n_members)

    @classmethod
    def joined(cls, invitation: Invitation, member: int, patience: float) -> "Meeting | None":
        """The meeting that one is invited to; None if it is on another machine, or may not be seen."""
        size = _size(invitation.n_members)
        try:
            if _here() != (invitation.machine, invitation.processes):
                return None
            file = os.open(f"/proc/{invitation.process}/fd/{invitation.file}", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            memory = mmap.mmap(file, size) if os.fstat(file).st_size == size else None
        except OSError:
            return None
        finally:
            os.close(file)
        if memory is None or int.from_bytes(memory[:8], "little") != invitation.token:
            return None
        return cls(memory, member, invitation.n_members, patience)

    def begin(self) -> None:
        """All have come: nobody else will open the memory."""
        if self._file is not None:
            self._file()

    def exchange(self, message: bytes, sums: Sequence[NDArray[np.int64]] = ()) -> list[bytes]:
        """Say something, and hear what all say, oneself too; `MeetingOver` if somebody is gone.

        Raises `MemberFailed` if somebody has failed.

        sums : arrays that are contiguous and have the same shapes at all members; those of the others are
            added to them. (In place, since memory for a copy would be asked of the system each time.)
        """
        heard: list[list[bytes]] = [[] for _ in range(self.n_members)]
        parts = cut_up([one.reshape(-1) for one in sums], (_BOX - _SAID) // 8)
        turn, longest = 0, 0
        while turn == 0 or turn < len(parts) or turn * (_SAID - _HEAD) < longest:
            part = parts[turn] if turn < len(parts) else []
            boxes = self._speak(message, turn, part)
            for member, pieces in enumerate(heard):
                box = boxes[member]
                size = int(box[:_HEAD].view(np.int64)[0])
                if size < 0:
                    raise MemberFailed(box[_HEAD : _HEAD - size - 1].tobytes())
                first = turn * (_SAID - _HEAD)
                pieces.append(box[_HEAD : _HEAD + min(_SAID - _HEAD, max(0, size - first))].tobytes())
                longest = max(longest, size)
                if member != self.member:
                    _add(part, box[_SAID:].view(np.int64))
            turn += 1
        return [pieces[0] if len(pieces) == 1 else b"".join(pieces) for pieces in heard]

    def fail(self, why: bytes) -> None:
        """Have all others raise `MemberFailed`, and do not wait for them; after that, say no more.

        why : cut to the length of a piece.
        """
        box, why = self._boxes[self.member, self._turn % 2], why[: _SAID - _HEAD]
        box[_HEAD : _HEAD + len(why)] = np.frombuffer(why, np.uint8)
        box[:_HEAD].view(np.int64)[0] = -len(why) - 1
        self._turn += 1
        count_up(self._lines, self.member)

    def _speak(self, message: bytes, turn: int, part: Sequence[NDArray[np.int64]]) -> NDArray[np.uint8]:
        """Write a piece, and wait until all have written theirs; the boxes of this turn (members, _BOX)."""
        boxes = self._boxes[:, self._turn % 2]
        box = boxes[self.member]
        said = message[turn * (_SAID - _HEAD) : (turn + 1) * (_SAID - _HEAD)]
        box[:_HEAD].view(np.int64)[0] = len(message)
        box[_HEAD : _HEAD + len(said)] = np.frombuffer(said, np.uint8)
        sums, place = box[_SAID:].view(np.int64), 0
        for one in part:
            sums[place : place + len(one)] = one
            place += len(one)
        self._turn += 1
        count_up(self._lines, self.member)
        begun = looked = time.monotonic()
        nap = _NAP
        while not all_have_counted(self._lines, self.n_members, self._turn):
            time.sleep(nap)
            now = time.monotonic()
            nap = min(max(_NAP, _NAPS * (now - begun)), _LOOK)
            if now - looked > _LOOK:
                looked = now
                self._refuse_alone(now - begun)
        return boxes

    def _refuse_alone(self, seconds: float) -> None:
        """Raise if the others will not speak."""
        if self._lines[1]:
            raise MeetingOver("the meeting is over")
        if seconds > self._patience:
            raise MeetingOver(f"a member has not spoken for {self._patience:g} seconds")
        for member in range(self.n_members):
            if not _lives(int(self._lines[8 * (member + 1) + 1])):
                raise MeetingOver(f"member {member} is gone")

    def end(self) -> None:
        """Have nobody wait any more; for all members, from any thread."""
        self._lines[1] = 1
        self.begin()


def cut_up(arrays: Sequence[NDArray[np.int64]], room: int) -> list[list[NDArray[np.int64]]]:
    """Arrays one after the other in pieces of so many entries; each is a list of views.

    >>> [[one.tolist() for one in piece] for piece in cut_up([np.arange(3), np.arange(5)], 4)]
    [[[0, 1, 2], [0]], [[1, 2, 3, 4]]]
    """
    pieces: list[list[NDArray[np.int64]]] = []
    left = 0
    for array in arrays:
        place = 0
        while place < len(array):
            if not left:
                pieces.append([])
                left = room
            pieces[-1].append(array[place : place + left])
            place += len(pieces[-1][-1])
            left -= len(pieces[-1][-1])
    return pieces


def _say_over(lines: NDArray[np.int64], process: int) -> None:
    if os.getpid() == process:  # a fork that lets go of its copy has not been a member
        lines[1] = 1


def _add(part: Sequence[NDArray[np.int64]], others: NDArray[np.int64]) -> None:
    place = 0
    for one in part:
        np.add(one, others[place : place + len(one)], out=one)
        place += len(one)


def _size(n_members: int) -> int:
    return _LINE * (1 + n_members) + 2 * _BOX * n_members


def _here() -> tuple[str, str]:
    """What names this machine since it was started, and the processes that can see one another."""
    machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return machine, str(Path("/proc/self/ns/pid").readlink())


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
