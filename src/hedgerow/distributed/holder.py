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
from hedgerow.distributed.pieces import zeros_by_row
from hedgerow.distributed.wire import (
    Answer,
    HolderLost,
    Node,
    Question,
    all_added,
    of_arrays,
    packed_answer,
)
from hedgerow.growing.shards import LocalShards

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
        self._place: LocalShards | None = None
        self._turn = ThreadPoolExecutor(1)
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
        self._place = LocalShards(parts, bounds)
        return b""

    async def answer(self, question: bytes, number: int) -> bytes:
        """Ask the parts."""
        return await self._in_turn(self._answer, question, number)

    def _answer(self, question: bytes, number: int) -> bytes:
        return packed_answer(self.answer_here(pickle.loads(question), number))  # noqa: S301 - as `begin`

    async def _in_turn(self, function: Callable[..., Result], *args: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._turn, function, *args)

    def answer_here(self, question: Question, number: int) -> Answer:
        """What the own parts say."""
        assert self._place is not None  # noqa: S101 - `begin` comes first
        if question.turn < self._newest:  # nobody waits for it any more, and parts have gone on
            raise RuntimeError("a question came after a later one")
        self._newest = question.turn
        if question.shared is None:
            said, sums = self._place.call_each(question.verb, question.own[number])
        else:
            said, sums = self._place.call(question.verb, *question.shared)
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

    async def close(self) -> bytes:
        """Let go of the parts and their threads, once the last question has been answered."""
        await self._in_turn(self._let_go)
        self._turn.shutdown(wait=False)
        return b""

    def _let_go(self) -> None:
        if self._place is not None:
            self._place.close()
        self._place = self._codes = None


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
