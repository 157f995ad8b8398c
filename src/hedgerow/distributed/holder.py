"""The actor that holds the parts of one worker, and what goes over the wire.

A question is ``(verb, args for each holder or for all)``, an answer ``({holder: what its parts say}, sums)``,
both pickled here into one string of bytes: Dask then has nothing to look at, and arrays arrive writable, as
compiled kernels want them. Sums that fit are sent as int32.

With many workers a holder asks others in turn, in a tree: ``Node(address, key, number, children)``.
"""

import asyncio
import pickle
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.distributed.cluster import library
from hedgerow.distributed.pieces import zeros_by_row
from hedgerow.growing.places import LocalPlace, Sums, added

_NARROW = np.iinfo(np.int32)


class Node(NamedTuple):
    """A holder in the tree of those who ask."""

    address: str
    key: str
    number: int
    children: tuple["Node", ...] = ()


class HolderLost(Exception):  # noqa: N818 - told on, and handled by whoever asked first
    """A holder cannot be reached, by its number."""


class Answer(NamedTuple):
    """What holders say, by their numbers, and the sums over all of them."""

    said: dict[int, list[Any]]
    sums: Sums


class Question(NamedTuple):
    """What is asked of all parts."""

    verb: str
    shared: tuple[Any, ...] | None  # arguments for every part, or
    own: dict[int, list[tuple[Any, ...]]]  # for the parts of each holder


def packed(value: Any) -> bytes:
    """Anything as bytes; classes of modules that workers do not have go along."""
    return bytes(library("distributed.protocol.pickle").dumps(value))


def packed_answer(answer: Answer) -> bytes:
    """An answer as bytes: sizes of what follows, a pickle, and the memory of its arrays, copied once."""
    arrays: list[pickle.PickleBuffer] = []
    narrow = Answer(answer.said, tuple(map(_narrow, answer.sums)))
    head = pickle.dumps(narrow, 5, buffer_callback=arrays.append)
    head += bytes(-len(head) % 8)  # arrays begin at a multiple of their items
    memory = [one.raw() for one in arrays]
    sizes = np.array([len(memory), len(head), *(one.nbytes for one in memory)], np.int64)
    return b"".join([sizes.data, head, *memory])


def unpacked_answer(blob: bytes) -> Answer:
    """The answer of some bytes; its arrays are views of these.

    >>> told = unpacked_answer(packed_answer(Answer({0: ["yes"]}, (np.arange(3),))))
    >>> told.said, told.sums[0].tolist()
    ({0: ['yes']}, [0, 1, 2])
    """
    n_arrays = int(np.frombuffer(blob, np.int64, 1)[0])
    sizes = np.frombuffer(blob, np.int64, n_arrays + 1, 8).tolist()
    view, place, pieces = memoryview(blob), 8 * (n_arrays + 2), []
    for size in sizes:
        pieces.append(view[place : place + size])
        place += size
    answer: Answer = pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301 - from a worker of the fit
    return answer


def _narrow(sums: NDArray[np.int64]) -> NDArray[Any]:
    """The same integers in half the bytes, if they fit."""
    if sums.size and (sums.min() < _NARROW.min or sums.max() > _NARROW.max):
        return sums
    return sums.astype(np.int32)


def all_added(answers: Iterable[Answer]) -> Answer:
    """Answers of several holders as one."""
    said: dict[int, list[Any]] = {}
    own, sums = added((answer.said, answer.sums) for answer in answers)
    for one in own:
        said.update(one)
    return Answer(said, sums)


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
        self._turn = ThreadPoolExecutor(1)  # parts are asked one question at a time

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

    def answer(self, question: bytes, number: int) -> bytes:
        """Ask the parts."""
        return packed_answer(self.answer_here(pickle.loads(question), number))  # noqa: S301

    def answer_here(self, question: Question, number: int) -> Answer:
        """What the own parts say."""
        assert self._place is not None  # noqa: S101 - `begin` comes first
        if question.shared is None:
            said, sums = self._place.ask_each(question.verb, question.own[number])
        else:
            said, sums = self._place.ask(question.verb, *question.shared)
        return Answer({number: said}, sums)

    async def answer_for_all(self, question: bytes, node: bytes) -> bytes:
        """Ask the parts, and the holders below in the tree; the sum of it."""
        mine: Node = pickle.loads(node)  # noqa: S301 - from the process that fits
        loop = asyncio.get_running_loop()
        pool = library("distributed").get_worker().rpc
        own = loop.run_in_executor(self._turn, self.answer_here, pickle.loads(question), mine.number)  # noqa: S301
        others: list[Any] = await asyncio.gather(
            own, *(ask_node(pool, child, question) for child in mine.children), return_exceptions=True
        )
        for other in others:
            if isinstance(other, BaseException):
                raise other
        answers = [one if isinstance(one, Answer) else unpacked_answer(one) for one in others]
        return packed_answer(all_added(answers))

    def close(self) -> None:
        """Let go of the parts and their threads."""
        if self._place is not None:
            self._place.close()
        self._turn.shutdown(wait=False)


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
        if isinstance(failure, RuntimeError) and "after shutdown" in str(
            failure
        ):  # the worker is being closed
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
