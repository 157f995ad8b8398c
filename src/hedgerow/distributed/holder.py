"""The actor that holds the parts of one worker, and how it is called.

Whatever it is asked it does in one thread, in the order in which it is asked, so that a question that nobody
waits for any more has ended before the next one begins.
"""

import asyncio
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.distributed.cluster import library
from hedgerow.distributed.leading import LEAD, SharedPlace
from hedgerow.distributed.meeting import Meeting, MeetingOver
from hedgerow.distributed.pieces import zeros_by_row
from hedgerow.distributed.wire import (
    Answer,
    HolderLost,
    Node,
    Question,
    all_added,
    of_arrays,
    packed,
    packed_answer,
)
from hedgerow.growing.places import Leader, LocalPlace

Result = TypeVar("Result")

_CLOSING = "cannot schedule new futures after"  # what the threads of a worker say that is being closed


class Holder:
    """Parts of one worker, as a Dask actor.

    Parameters
    ----------
    pieces : list of arrays
        Codes of rows that follow one another.
    by_row : bool
        Whether they are (rows, stride) or (columns, rows).
    n_columns : int
    """

    def __init__(self, pieces: Sequence[NDArray[Any]], by_row: bool, n_columns: int) -> None:
        self._codes: NDArray[Any] | None = _put_together(pieces, by_row=by_row, n_columns=n_columns)
        self._by_row = by_row
        self._place: LocalPlace | None = None
        self._turn = ThreadPoolExecutor(1)
        self._meeting: Meeting | None = None
        self._n_meetings = 0
        self._shared: SharedPlace | None = None
        self._leader: Leader = None
        self._newest = 0

    def begin(self, question: bytes) -> bytes:
        """Make the parts: ``(make, shares of these rows, bounds of the parts)``."""
        make, shares, bounds = pickle.loads(question)  # noqa: S301 - from the process that fits
        codes, self._codes = self._codes, None
        first = bounds[0][0]
        parts = []
        for start, stop in bounds:
            a, b = start - first, stop - first
            own = codes[a:b] if self._by_row else np.ascontiguousarray(codes[:, a:b])  # type: ignore[index]
            parts.append(make(own, {name: share[a:b] for name, share in shares.items()}, start))
        self._place = LocalPlace(parts, bounds)
        return b""

    async def answer(self, question: bytes, number: int) -> bytes:
        """Ask the parts."""
        return await self._in_turn(self._answer, question, number)

    def _answer(self, question: bytes, number: int) -> bytes:
        return packed_answer(self.answer_here(pickle.loads(question), number))  # noqa: S301 - as `begin`

    async def _in_turn(self, function: Callable[..., Result], *args: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._turn, function, *args)

    def answer_here(self, question: Question, number: int) -> Answer:
        """What the own parts say, or the own leader."""
        assert self._place is not None  # noqa: S101 - `begin` comes first
        if question.turn < self._newest:  # nobody waits for it any more, and parts have gone on
            raise RuntimeError("a question came after a later one")
        self._newest = question.turn
        if question.verb == LEAD and question.shared is not None:
            return Answer({number: [self._led(number, *question.shared)]}, ())
        if question.shared is None:
            said, sums = self._place.ask_each(question.verb, question.own[number])
        else:
            said, sums = self._place.ask(question.verb, *question.shared)
        return Answer({number: said}, sums)

    async def answer_for_all(self, question: bytes, node: bytes) -> bytes:
        """Ask the parts, and the holders below in the tree; the sum of it."""
        mine: Node = pickle.loads(node)  # noqa: S301 - from the process that fits
        pool = library("distributed").get_worker().rpc
        own = self._in_turn(self.answer_here, pickle.loads(question), mine.number)  # noqa: S301
        others: list[Any] = await asyncio.gather(
            own, *(ask_node(pool, child, question) for child in mine.children), return_exceptions=True
        )
        for other in others:
            if isinstance(other, BaseException):
                raise other
        answers = [one if isinstance(one, Answer) else of_arrays(one) for one in others]
        return packed_answer(all_added(answers))

    # --- leading

    async def call_meeting(self, meeting: int, n_members: int, patience: float) -> bytes:
        """Call a meeting of holders on this machine: the invitation, or nothing if that cannot be.

        Meetings have rising numbers, as calls may come late.
        """
        called = Meeting.called(n_members, patience)
        if called is None or meeting <= self._n_meetings:
            return b""
        self._n_meetings = meeting
        self._meeting, invitation = called
        return packed(invitation)

    async def join_meeting(self, meeting: int, invitation: bytes, member: int, patience: float) -> bytes:
        """Come to a meeting; nothing if that cannot be."""
        if meeting <= self._n_meetings:
            return b""
        self._n_meetings = meeting
        self._meeting = Meeting.joined(pickle.loads(invitation), member, patience)  # noqa: S301 - as `begin`
        return b"" if self._meeting is None else b"here"

    async def lead(self, task: bytes) -> bytes:
        """Lead the parts of all holders of the meeting, or the own ones if there is none."""
        if self._meeting is not None:
            self._meeting.begin()
        return await self._in_turn(self._lead, task, self._meeting)

    def _lead(self, task: bytes, meeting: Meeting | None) -> bytes:
        assert self._place is not None  # noqa: S101 - `begin` comes first
        self._shared = None if meeting is None else SharedPlace(self._place, meeting)
        self._leader = pickle.loads(task)(self._shared or self._place)  # noqa: S301 - as `begin`
        return b""

    def _led(self, number: int, method: str, *args: Any) -> Any:
        """Have the leader do something; what it says."""
        try:
            return getattr(self._leader, method)(*args)
        except MeetingOver as error:
            raise HolderLost(number, str(error)) from error
        except Exception as error:
            if self._shared is not None:
                self._shared.fail(error)
            raise

    async def end_meeting(self, meeting: int) -> bytes:
        """Have no holder wait for another any more, unless they are at another meeting already."""
        if meeting == self._n_meetings and self._meeting is not None:
            self._meeting.end()
            self._meeting = None
        return b""

    async def close(self) -> bytes:
        """Let go of the parts and their threads, once the last question has been answered."""
        await self.end_meeting(self._n_meetings)
        await self._in_turn(self._let_go)
        self._turn.shutdown(wait=False)
        return b""

    def _let_go(self) -> None:
        if self._place is not None:
            self._place.close()
        self._place = self._leader = self._shared = self._codes = None


async def ask_node(pool: Any, node: Node, question: bytes, proxy: Any = None) -> bytes:
    """Ask a holder and those below it; `pool` connects to workers, `proxy` is the scheduler, or None."""
    if node.children:
        return await call(pool, node, "answer_for_all", [question, pickle.dumps(node, 5)], proxy)
    return await call(pool, node, "answer", [question, node.number], proxy)


async def call(pool: Any, node: Node, function: str, args: list[Any], proxy: Any = None) -> bytes:
    """Call a holder where it is."""
    message = {"function": function, "actor": node.key, "args": args, "kwargs": {}}
    try:
        if proxy is None:
            reply = await pool(node.address).actor_execute(**message)
        else:
            reply = await proxy(worker=node.address, msg={"op": "actor_execute", **message})
    except (OSError, KeyError, TimeoutError) as error:  # the worker is gone, or another is at its address
        raise HolderLost(node.number, str(error)) from error
    if reply["status"] != "OK":
        failure = reply["exception"]
        if isinstance(failure, RuntimeError) and _CLOSING in str(failure):  # the worker is being closed
            raise HolderLost(node.number, str(failure))
        raise failure
    answer: bytes = reply["result"]
    return answer


def _put_together(pieces: Sequence[NDArray[Any]], *, by_row: bool, n_columns: int) -> NDArray[Any]:
    """Codes in one array of this process's own: those that came over the wire cannot be written to."""
    if not by_row:
        return np.concatenate(pieces, axis=1)
    whole = zeros_by_row(sum(map(len, pieces)), n_columns)
    first = 0
    for piece in pieces:
        whole[first : first + len(piece)] = piece
        first += len(piece)
    return whole
