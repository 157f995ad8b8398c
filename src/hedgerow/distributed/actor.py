"""ShardActor: the Dask actor that holds the shards of one worker, and the messages it exchanges.

A `Call` names a method of the shards and its arguments; a `Reply` holds the results of each actor and sums
over all of them. Both travel as bytes that are pickled here: Dask then does not inspect them, and arrays
arrive writable, as compiled kernels require. Sums that fit are sent as int32.

With more workers than `fan_out` actors call other actors, in a tree of `ActorNode`.
"""

import asyncio
import pickle
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.growing.row_layout import RowLayout
from hedgerow.growing.shards import LocalShards, Sums, split_range, sum_results
from hedgerow.optional import require_extra

Result = TypeVar("Result")

_INT32 = np.iinfo(np.int32)
_CLOSING = "cannot schedule new futures after"  # an error of a worker that is being closed


class ActorNode(NamedTuple):
    """An actor in the tree of calls."""

    address: str
    key: str
    number: int
    children: tuple["ActorNode", ...] = ()


class ActorLost(Exception):  # noqa: N818 - handled by `DaskShards`
    """An actor cannot be reached; the first argument is its number."""


class Call(NamedTuple):
    """A call of a method of all shards."""

    method: str
    args: dict[int, list[tuple[Any, ...]]]  # by actor, for each of its shards
    number: int  # rises with every call of a fit


class Reply(NamedTuple):
    """The results of the shards of each actor, and the sums over all of them."""

    results: dict[int, list[Any]]
    sums: Sums


class ShardActor:
    """The shards of one worker.

    Calls run in one thread, in the order in which they arrive. So a call that is no longer awaited has
    ended before the next one starts. `codes` of consecutive rows have a layout, or are (columns, rows).
    """

    def __init__(self, codes: Sequence[NDArray[Any]], layout: RowLayout | None) -> None:
        self._codes: NDArray[Any] | None = _concatenate(codes, layout)
        self._by_row = layout is not None
        self._shards: LocalShards | None = None
        self._thread = ThreadPoolExecutor(1)
        self._newest = 0

    def make_shards(self, message: bytes) -> bytes:
        """Create the shards: ``(factory, row arrays of these rows, bounds of the shards)``."""
        factory, row_arrays, bounds = pickle.loads(message)  # noqa: S301 - from the process that fits
        codes, self._codes = self._codes, None
        assert codes is not None  # noqa: S101 - it is called once
        first, shards = bounds[0][0], []
        for start, stop in bounds:
            a, b = start - first, stop - first
            own = codes[a:b] if self._by_row else np.ascontiguousarray(codes[:, a:b])
            shards.append(factory(own, {name: values[a:b] for name, values in row_arrays.items()}, start))
        self._shards = LocalShards(shards, bounds)
        return b""

    async def call(self, message: bytes, tree: bytes) -> bytes:
        """Call the shards of this actor and of the actors below it, and add up the sums."""
        node: ActorNode = pickle.loads(tree)  # noqa: S301 - from the process that fits
        if not node.children:
            return await self._in_thread(lambda: dumps_reply(self.run(pickle.loads(message), node.number)))  # noqa: S301
        pool = require_extra("distributed", extra="dask").get_worker().rpc
        own = self._in_thread(self.run, pickle.loads(message), node.number)  # noqa: S301
        replies: list[Any] = await asyncio.gather(
            own, *(call_node(pool, child, message) for child in node.children), return_exceptions=True
        )
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return dumps_reply(
            merge_replies(reply if isinstance(reply, Reply) else loads(reply) for reply in replies)
        )

    def run(self, call: Call, actor: int) -> Reply:
        """Run a call on the shards of this actor."""
        assert self._shards is not None  # noqa: S101 - `make_shards` is called first
        if call.number < self._newest:  # it is no longer awaited, and the state of the shards is a later one
            raise RuntimeError("a call arrived after a later one")
        self._newest = call.number
        results, sums = self._shards.call_each(call.method, call.args[actor])
        return Reply({actor: results}, sums)

    async def close(self) -> bytes:
        """Release the shards and their threads, after the last call."""
        await self._in_thread(self._release)
        self._thread.shutdown(wait=False)
        return b""

    def _release(self) -> None:
        if self._shards is not None:
            self._shards.close()
        self._shards = self._codes = None

    async def _in_thread(self, function: Callable[..., Result], *args: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)


def _concatenate(codes: Sequence[NDArray[Any]], layout: RowLayout | None) -> NDArray[Any]:
    """Return codes as one writable array; those that arrive over the network are read-only."""
    if layout is None:
        return np.concatenate(codes, axis=1)
    return np.concatenate(codes, out=layout.allocate(sum(map(len, codes))))


# --- calls


async def call_node(pool: Any, node: ActorNode, message: bytes, proxy: Any = None) -> bytes:
    """Call an actor and those below it, through a pool of connections or a proxy, the scheduler."""
    return await call_actor(pool, node, "call", [message, pickle.dumps(node, 5)], proxy)


async def call_actor(pool: Any, node: ActorNode, method: str, args: list[Any], proxy: Any = None) -> bytes:
    """Call a method of an actor; raise `ActorLost` if its worker is gone."""
    message = {"function": method, "actor": node.key, "args": args, "kwargs": {}}
    try:
        if proxy is None:
            reply = await pool(node.address).actor_execute(**message)
        else:
            reply = await proxy(worker=node.address, msg={"op": "actor_execute", **message})
    except (OSError, KeyError, TimeoutError) as error:  # or another worker has its address
        raise ActorLost(node.number, str(error)) from error
    if reply["status"] != "OK":
        failure = reply["exception"]
        if isinstance(failure, RuntimeError) and _CLOSING in str(failure):
            raise ActorLost(node.number, str(failure))
        raise failure
    return bytes(reply["result"])


def merge_replies(replies: Iterable[Reply]) -> Reply:
    """Return the replies of several actors as one."""
    each, sums = sum_results((reply.results, reply.sums) for reply in replies)
    return Reply({actor: results for own in each for actor, results in own.items()}, sums)


def call_tree(nodes: Sequence[ActorNode], fan_out: int) -> tuple[ActorNode, ...]:
    """Return at most `fan_out` actors to call, which call at most as many each, and so on.

    >>> def show(nodes):
    ...     return [(node.number, show(node.children)) if node.children else node.number for node in nodes]
    >>> show(call_tree([ActorNode("", "", number) for number in range(7)], 3))
    [(0, [1]), (2, [3]), (4, [5, 6])]
    """
    if len(nodes) <= fan_out:
        return tuple(nodes)
    return tuple(
        nodes[start]._replace(children=call_tree(nodes[start + 1 : stop], fan_out))
        for start, stop in split_range(0, len(nodes), fan_out)
    )


def args_below(node: ActorNode, args: dict[int, Any]) -> dict[int, Any]:
    """Return the arguments for an actor and for all below it."""
    below = {node.number: args[node.number]}
    for child in node.children:
        below |= args_below(child, args)
    return below


# --- bytes


def dumps(value: Any) -> bytes:
    """Pickle anything; classes of modules that workers do not have are included."""
    return bytes(require_extra("distributed.protocol.pickle", extra="dask").dumps(value))


def dumps_reply(reply: Reply) -> bytes:
    """Return a reply as bytes: sizes, a pickle, and the memory of its arrays, which is copied once."""
    arrays: list[pickle.PickleBuffer] = []
    narrow = Reply(reply.results, tuple(map(_narrow, reply.sums)))
    head = pickle.dumps(narrow, 5, buffer_callback=arrays.append)
    head += bytes(-len(head) % 8)  # arrays start at a multiple of their item size
    memory = [array.raw() for array in arrays]
    sizes = np.array([len(memory), len(head), *(view.nbytes for view in memory)], np.int64)
    return b"".join([sizes.data, head, *memory])


def loads(blob: bytes) -> Any:
    """Return the reply of `dumps_reply`; its arrays are views of the bytes.

    >>> reply = loads(dumps_reply(Reply({0: ["yes"]}, (np.arange(3),))))
    >>> reply.results, reply.sums[0].tolist()
    ({0: ['yes']}, [0, 1, 2])
    """
    n_arrays = int(np.frombuffer(blob, np.int64, 1)[0])
    sizes = np.frombuffer(blob, np.int64, n_arrays + 1, 8)
    ends = (8 * (n_arrays + 2) + np.cumsum([0, *sizes])).tolist()
    head, *arrays = (memoryview(blob)[start:stop] for start, stop in pairwise(ends))
    return pickle.loads(head, buffers=arrays)  # noqa: S301 - from a worker of the fit


def _narrow(sums: Integers) -> NDArray[Any]:
    """Return the same integers in half the bytes, if they fit."""
    if sums.size and (sums.min() < _INT32.min or sums.max() > _INT32.max):
        return sums
    return sums.astype(np.int32)
