"""A model of the cost of a gradient boosting tree on a Dask cluster: arithmetic only, nothing is run here.

    Constants   the cost of one row, one byte, one call; measured by `cost_runs.py`, or assumed
    Shape       how trees are grown: calls, nodes partitioned ahead, rows touched; measured, by leaf
    Job         rows, columns, codes per column, leaves, workers

`terms(job, constants, shape)` returns the seconds of a tree by term.
"""

import math
from dataclasses import dataclass

CELL = 2  # a gradient and a hessian
HESSIAN_STEPS = 2.0**16  # of a row, at most; sums up to 2**31 are sent as int32
NARROW = 2.0**31
CODE_LINE = 32  # bytes that rows of codes are a multiple of, if they are longer than that
EDGE_ROWS = 200_000
SCAN_BYTES = 8 + 4 + 8  # per row, to the client: key, rounded key, target
GROWING_BYTES = 60  # per row and thread that grows trees of a forest


@dataclass(frozen=True)
class Constants:
    """Costs on one core and on one connection, in the units of their names.

    Parameters
    ----------
    row_ns : per row and output; add the leaf value, compute and pack the gradient
    partition_ns : per row of a node that is partitioned
    histogram_ns : per row and column of a node whose histogram is made
    crowded : how many times as long these take when all cores are busy
    hop_s : a call and its reply, from one process to another
    message_s : one more call at the same time, for the caller
    byte_ns : per byte of a reply; narrow, pack, send within one machine, unpack, add
    add_ns : per entry of a histogram that a worker adds to another
    search_ns : per entry of a node that the client searches
    node_us : per node there, beside the search
    result_us : per shard whose own result the client reads, once per tree
    scan_ns, encode_ns : per value, by one thread; the passes before the first round
    edges_ms : per column; find its bin edges
    prelude_ns : per row in the client, before the first round
    wire : bytes per second of a connection; infinite within one machine
    """

    row_ns: float
    partition_ns: float
    histogram_ns: float
    crowded: float
    hop_s: float
    message_s: float
    byte_ns: float
    add_ns: float
    search_ns: float
    node_us: float
    result_us: float
    scan_ns: float
    encode_ns: float
    edges_ms: float
    prelude_ns: float
    wire: float = math.inf


@dataclass(frozen=True)
class Shape:
    """The shape of tree growth, in numbers that depend little on the number of leaves.

    Parameters
    ----------
    ahead : nodes partitioned per split
    summed : histograms per node partitioned
    calls, growth : calls after the first are calls x splits ** growth
    passes, light : by log2(leaves); times that a row is partitioned, and added to a histogram
    """

    ahead: float
    summed: float
    calls: float
    growth: float
    passes: float
    light: float


@dataclass(frozen=True)
class Job:
    """A fit: its table, its trees, its cluster. cores : of all workers together, None for one per thread."""

    rows: float
    columns: int = 28
    codes: int = 256  # per column, with the one for missing values
    leaves: int = 31
    outputs: int = 1
    workers: int = 1
    threads: int = 1
    fan_out: int = 8
    cores: int | None = None

    @property
    def entries(self) -> int:
        """Codes of all columns."""
        return self.columns * self.codes

    @property
    def busy(self) -> int:
        """Cores that compute at the same time."""
        threads = self.workers * self.threads
        return threads if self.cores is None else min(threads, self.cores)


# --- who calls whom


def call_hops(workers: int, fan_out: int) -> list[tuple[int, int]]:
    """From the client downwards: how many are called by one, and the workers of each with those below.

    >>> call_hops(8, 8), call_hops(100, 8)
    ([(8, 1)], [(8, 13), (8, 2), (1, 1)])
    """
    hops = []
    while workers > 0:
        called = min(fan_out, workers)
        most = -(-workers // called)
        hops.append((called, most))
        workers = most - 1
    return hops


# --- messages and bytes of a tree


def calls(job: Job, shape: Shape) -> float:
    """Calls per tree, with the first."""
    return 1 + shape.calls * (job.leaves - 1) ** shape.growth


def histograms(job: Job, shape: Shape) -> float:
    """Histograms that every worker sends for a tree: the root's, and those of lighter children."""
    return 1 + shape.summed * shape.ahead * (job.leaves - 1)


def width(rows: float, codes: int) -> int:
    """Bytes of an entry of a histogram of so many rows, spread evenly over the codes.

    >>> width(1e6, 256), width(1e8, 256)
    (4, 8)
    """
    return 4 if rows / codes * HESSIAN_STEPS < NARROW else 8


def bytes_sent(job: Job, shape: Shape, workers: float = 1) -> float:
    """Bytes per tree of one worker that has added up the rows of so many workers."""
    rows = job.rows * workers / job.workers
    root, child = (width(share, job.codes) for share in (rows, rows / 2))
    return CELL * job.entries * (root + child * (histograms(job, shape) - 1))


def bytes_received(job: Job, shape: Shape) -> float:
    """Bytes per tree that the client receives."""
    called, below = call_hops(job.workers, job.fan_out)[0]
    return called * bytes_sent(job, shape, below) * job.outputs


def messages(job: Job, shape: Shape) -> float:
    """Calls of workers per tree; there are as many replies."""
    return calls(job, shape) * job.workers * job.outputs


# --- seconds of a tree


def slow(job: Job, constants: Constants) -> float:
    """The slowdown of a core against one that works alone."""
    all_busy = job.cores is None or (job.busy == job.cores and job.cores > 1)
    return constants.crowded if all_busy else 1.0


def compute(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of the work on rows, by all cores together."""
    row = row_cost(constants.row_ns, constants.partition_ns, constants.histogram_ns, job, shape)
    return slow(job, constants) * job.rows * row * 1e-9 / job.busy


def row_cost(row_ns: float, partition_ns: float, histogram_ns: float, job: Job, shape: Shape) -> float:
    """Nanoseconds of a row in a tree, by one core."""
    depth = math.log2(job.leaves)
    return (
        row_ns + shape.passes * depth * partition_ns + (1 + shape.light * depth) * histogram_ns * job.columns
    )


def adding(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds in which workers add up the histograms of their threads."""
    if job.threads == 1:
        return 0.0
    at_once = job.workers if job.cores is None else min(job.workers, job.cores)
    entries = histograms(job, shape) * CELL * job.entries * job.threads
    return entries * constants.add_ns * 1e-9 * job.workers / at_once


def call_seconds(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of calls and replies without their bytes."""
    way = sum(
        constants.hop_s + constants.message_s * called for called, _ in call_hops(job.workers, job.fan_out)
    )
    return calls(job, shape) * way


def transfer_seconds(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of the bytes: a caller receives those of all that it calls, one hop after the other."""
    second = constants.byte_ns * 1e-9 + 1 / constants.wire
    hops = call_hops(job.workers, job.fan_out)
    return sum(called * bytes_sent(job, shape, below) for called, below in hops) * second


def here(job: Job, constants: Constants) -> float:
    """Seconds in the client: search nodes, and read the own results of shards."""
    nodes = 2 * job.leaves - 1
    search = constants.node_us * 1e-6 + job.entries * constants.search_ns * 1e-9
    return nodes * search + job.workers * job.threads * constants.result_us * 1e-6


def terms(job: Job, constants: Constants, shape: Shape) -> dict[str, float]:
    """Seconds of the trees of a round, by term."""
    found = {
        "rows": compute(job, constants, shape),
        "adding in workers": adding(job, constants, shape),
        "calls": call_seconds(job, constants, shape),
        "histograms sent": transfer_seconds(job, constants, shape),
        "search": here(job, constants),
    }
    return {name: seconds * job.outputs for name, seconds in found.items()}


def seconds(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of a round."""
    return sum(terms(job, constants, shape).values())


def shared_columns(job: Job, constants: Constants, shape: Shape) -> dict[str, float]:
    """The same if every worker added up and searched some of the columns (not implemented).

    Halves of the rest are exchanged in log2(workers) steps, so that every worker receives each entry about
    once. Best splits, which are small, go the way of the histograms now.
    """
    found = terms(job, constants, shape)
    steps = math.ceil(math.log2(max(2, job.workers)))
    received = bytes_sent(job, shape, job.workers) * (1 - 1 / job.workers)
    exchange = calls(job, shape) * steps * (constants.hop_s + constants.message_s)
    searches = (2 * job.leaves - 1) * job.entries * constants.search_ns * 1e-9
    found["calls"] += exchange * job.outputs
    found["histograms sent"] = received * (constants.byte_ns * 1e-9 + 1 / constants.wire) * job.outputs
    found["search"] -= searches * (1 - 1 / min(job.workers, job.columns)) * job.outputs
    return found


def best_fan_out(job: Job, constants: Constants, shape: Shape) -> int:
    """The fan-out with the least seconds."""

    def time(fan_out: int) -> float:
        return call_seconds(_with(job, fan_out), constants, shape) + transfer_seconds(
            _with(job, fan_out), constants, shape
        )

    return min(range(2, max(3, min(64, job.workers) + 1)), key=time)


def _with(job: Job, fan_out: int) -> Job:
    return Job(**{**vars(job), "fan_out": fan_out})


# --- before the first round, and memory


def set_up(job: Job, constants: Constants) -> dict[str, float]:
    """Seconds before the first round."""
    cells = job.rows * job.columns * 1e-9 * slow(job, constants) / job.busy
    return {
        "scan": cells * constants.scan_ns,
        "keys and targets sent": job.rows * SCAN_BYTES / constants.wire,
        "checks, fingerprints and edges": job.rows * constants.prelude_ns * 1e-9
        + min(1.0, job.rows / EDGE_ROWS) * job.columns * constants.edges_ms * 1e-3,
        "encoding": cells * constants.encode_ns,
    }


def stride(columns: int) -> int:
    """Bytes of the codes of a row, as `hedgerow.binning.row_stride` has them."""
    if columns <= CODE_LINE:
        return 1 << (columns - 1).bit_length()
    return -(-columns // CODE_LINE) * CODE_LINE


def worker_row_bytes(job: Job, *, low_memory: bool = False) -> int:
    """Bytes per row on its worker: codes by row and by column, class, scores, statistics, row numbers."""
    return stride(job.columns) + (0 if low_memory else job.columns) + 1 + 16 * job.outputs + 3 * 4


def worker_bytes(job: Job, shape: Shape) -> float:
    """Bytes of a worker while trees are grown; each caller holds the replies to one call."""
    called = (
        max(count for count, _ in call_hops(job.workers, job.fan_out)) if job.workers > job.fan_out else 0
    )
    replies = (called + job.threads) * CELL * 8 * job.entries * histograms(job, shape) / calls(job, shape)
    return job.rows / job.workers * worker_row_bytes(job) + replies


def client_row_bytes() -> dict[str, int]:
    """Bytes per row in the client."""
    return {
        "keys, whole and rounded": 8 + 4,
        "target as passed and as numbers": 8 + 8 + 1,
        "fingerprints of the rows": 4,
        "numbers of the training rows": 4,
    }


def client_bytes(job: Job) -> float:
    """Bytes in the client: of all rows, of those for bin edges, and histograms of open nodes."""
    sample = min(job.rows, EDGE_ROWS) * job.columns * 4  # float32
    return job.rows * sum(client_row_bytes().values()) + sample + 2 * job.leaves * CELL * 8 * job.entries


# --- other families


def adaboost_round(job: Job, constants: Constants) -> float:
    """Seconds per round to send weights of 8 bytes per row and receive leaves of one byte."""
    return job.rows * (8 + 1) * (1 / constants.wire + constants.byte_ns * 1e-9)


def forest_bytes(job: Job) -> float:
    """Bytes of a worker that grows trees of a forest: codes of all rows, and memory of each thread."""
    return job.rows * (stride(job.columns) + job.columns + GROWING_BYTES * job.threads)
