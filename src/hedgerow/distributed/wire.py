"""What goes over the wire between the process that fits and the holders.

A question is ``(verb, args for each holder or for all)``, an answer ``({holder: what its parts say}, sums)``,
both pickled here into one string of bytes: Dask then has nothing to look at, and arrays arrive writable, as
compiled kernels want them. Sums that fit are sent as int32.

With many workers a holder asks others in turn, in a tree: ``Node(address, key, number, children)``.
"""

import pickle
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.distributed.cluster import library
from hedgerow.distributed.rows import cut
from hedgerow.growing.shards import Sums, sum_results

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
    turn: int = 0  # rises with every question of a fit


def packed(value: Any) -> bytes:
    """Anything as bytes; classes of modules that workers do not have go along."""
    return bytes(library("distributed.protocol.pickle").dumps(value))


def packed_answer(answer: Answer) -> bytes:
    """An answer as bytes, with integers in as few bytes as they need."""
    return with_arrays(Answer(answer.said, tuple(map(_narrow, answer.sums))))


def with_arrays(value: Any) -> bytes:
    """Anything as bytes: sizes of what follows, a pickle, and the memory of its arrays, copied once."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, 5, buffer_callback=arrays.append)
    head += bytes(-len(head) % 8)  # arrays begin at a multiple of their items
    memory = [one.raw() for one in arrays]
    sizes = np.array([len(memory), len(head), *(one.nbytes for one in memory)], np.int64)
    return b"".join([sizes.data, head, *memory])


def of_arrays(blob: bytes) -> Any:
    """What `with_arrays` or `packed_answer` was given; its arrays are views of the bytes.

    >>> told = of_arrays(packed_answer(Answer({0: ["yes"]}, (np.arange(3),))))
    >>> told.said, told.sums[0].tolist()
    ({0: ['yes']}, [0, 1, 2])
    """
    n_arrays = int(np.frombuffer(blob, np.int64, 1)[0])
    sizes = np.frombuffer(blob, np.int64, n_arrays + 1, 8).tolist()
    view, place, pieces = memoryview(blob), 8 * (n_arrays + 2), []
    for size in sizes:
        pieces.append(view[place : place + size])
        place += size
    return pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301 - from a worker of the fit


def _narrow(sums: NDArray[np.int64]) -> NDArray[Any]:
    """The same integers in half the bytes, if they fit."""
    if sums.size and (sums.min() < _NARROW.min or sums.max() > _NARROW.max):
        return sums
    return sums.astype(np.int32)


def all_added(answers: Iterable[Answer]) -> Answer:
    """Answers of several holders as one."""
    said: dict[int, list[Any]] = {}
    own, sums = sum_results((answer.said, answer.sums) for answer in answers)
    for one in own:
        said.update(one)
    return Answer(said, sums)


def tree(nodes: Sequence[Node], fan_out: int) -> tuple[Node, ...]:
    """At most `fan_out` holders to be asked, who ask at most as many each, and so on.

    >>> def shown(nodes):
    ...     return [(node.number, shown(node.children)) if node.children else node.number for node in nodes]
    >>> shown(tree([Node("", "", number) for number in range(7)], 3))
    [(0, [1]), (2, [3]), (4, [5, 6])]
    """
    if len(nodes) <= fan_out:
        return tuple(nodes)
    return tuple(
        nodes[start]._replace(children=tree(nodes[start + 1 : stop], fan_out))
        for start, stop in cut(0, len(nodes), fan_out)
    )


def below(node: Node, own: dict[int, Any]) -> dict[int, Any]:
    """What is for a node and for all below it."""
    found = {node.number: own[node.number]}
    for child in node.children:
        found |= below(child, own)
    return found
