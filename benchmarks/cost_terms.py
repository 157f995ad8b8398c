"""A model of what a tree of gradient boosting costs on a Dask cluster: arithmetic only, nothing is run here.

    Constants   what one row, one byte, one question cost; measured by `cost_runs.py`, or assumed
    Shape       how trees are grown: questions, nodes parted ahead, rows touched; measured, by leaf
    Job         rows, columns, codes a column, leaves, workers

`terms(job, constants, shape)` gives the seconds of a tree by what they are spent on.
"""

import math
from dataclasses import dataclass

CELL = 2  # a gradient and a hessian
HESSIAN_STEPS = 2.0**16  # of a row, at the most; sums up to 2**31 are sent as int32
NARROW = 2.0**31
CODE_LINE = 32  # bytes that rows of codes are a multiple of, if they are longer than that
EDGE_ROWS = 200_000
SURVEY_BYTES = 8 + 4 + 8  # a row, to the process that fits: key, rounded key, target
GROWING_BYTES = 60  # a row and thread that grows trees of a forest


@dataclass(frozen=True)
class Constants:
    """What things cost on one core and on one connection; ns and us and s as their names say.

    Parameters
    ----------
    row_ns : a row and output; its leaf value added, its gradient computed and packed
    part_ns : a row of a node that is parted
    sum_ns : a row and column of a node that is summed
    crowded : how many times as long these take when all cores work
    hop_s : a question and its answer, from one process to another
    message_s : one more that is asked at the same time, at the one who asks
    byte_ns : a byte of an answer; made narrow, packed, sent in one machine, unpacked, added
    add_ns : an entry of a histogram added to another in a worker
    search_ns : an entry of a node searched in the process that fits
    node_us : a node there, beside the search
    said_us : a part whose own words are read there, once a tree
    survey_ns, encode_ns : a cell, by one thread; the passes before the first round
    edges_ms : a column there, whose edges are found
    prelude_ns : a row in the process that fits, before the first round
    wire : bytes a second of a connection; infinite within one machine
    """

    row_ns: float
    part_ns: float
    sum_ns: float
    crowded: float
    hop_s: float
    message_s: float
    byte_ns: float
    add_ns: float
    search_ns: float
    node_us: float
    said_us: float
    survey_ns: float
    encode_ns: float
    edges_ms: float
    prelude_ns: float
    wire: float = math.inf


@dataclass(frozen=True)
class Shape:
    """How trees are grown, in numbers that depend little on how many leaves they have.

    Parameters
    ----------
    ahead : nodes parted for each that is split
    summed : histograms asked for, for each node parted
    asked, growth : questions after the first are asked x splits ** growth
    passes, light : by log2(leaves); times that a row is parted, and that it is summed, beside the root
    """

    ahead: float
    summed: float
    asked: float
    growth: float
    passes: float
    light: float


@dataclass(frozen=True)
class Job:
    """A fit: its table, its trees, its cluster. cores : of all workers together, None for one a thread."""

    rows: float
    columns: int = 28
    codes: int = 256  # a column, with the one for missing values
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


# --- who asks whom


def askers(workers: int, fan_out: int) -> list[tuple[int, int]]:
    """From the process that fits downwards: how many are asked by one, and workers of each with those below.

    >>> askers(8, 8), askers(100, 8)
    ([(8, 1)], [(8, 13), (8, 2), (1, 1)])
    """
    hops = []
    while workers > 0:
        asked = min(fan_out, workers)
        most = -(-workers // asked)
        hops.append((asked, most))
        workers = most - 1
    return hops


# --- messages and bytes of a tree


def questions(job: Job, shape: Shape) -> float:
    """Questions a tree, the one that begins it included."""
    return 1 + shape.asked * (job.leaves - 1) ** shape.growth


def histograms(job: Job, shape: Shape) -> float:
    """Histograms that every worker sends for a tree: the root's, and those of lighter children."""
    return 1 + shape.summed * shape.ahead * (job.leaves - 1)


def width(rows: float, codes: int) -> int:
    """Bytes of an entry of sums over so many rows, spread evenly over the codes.

    >>> width(1e6, 256), width(1e8, 256)
    (4, 8)
    """
    return 4 if rows / codes * HESSIAN_STEPS < NARROW else 8


def bytes_sent(job: Job, shape: Shape, workers: float = 1) -> float:
    """Bytes a tree of one answerer who has added up the rows of so many workers."""
    rows = job.rows * workers / job.workers
    root, child = (width(share, job.codes) for share in (rows, rows / 2))
    return CELL * job.entries * (root + child * (histograms(job, shape) - 1))


def bytes_received(job: Job, shape: Shape) -> float:
    """Bytes a tree that come to the process that fits."""
    asked, below = askers(job.workers, job.fan_out)[0]
    return asked * bytes_sent(job, shape, below) * job.outputs


def messages(job: Job, shape: Shape) -> float:
    """Questions to workers a tree, all of them; as many answers."""
    return questions(job, shape) * job.workers * job.outputs


# --- seconds of a tree


def slow(job: Job, constants: Constants) -> float:
    """How many times as long a core takes as one that works alone."""
    everyone = job.cores is None or (job.busy == job.cores and job.cores > 1)
    return constants.crowded if everyone else 1.0


def compute(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds in which the rows are gone through, by all cores together."""
    row = row_cost(constants.row_ns, constants.part_ns, constants.sum_ns, job, shape)
    return slow(job, constants) * job.rows * row * 1e-9 / job.busy


def row_cost(row_ns: float, part_ns: float, sum_ns: float, job: Job, shape: Shape) -> float:
    """Nanoseconds of a row in a tree, by one core."""
    depth = math.log2(job.leaves)
    return row_ns + shape.passes * depth * part_ns + (1 + shape.light * depth) * sum_ns * job.columns


def adding(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds in which workers add up what their own threads have summed."""
    if job.threads == 1:
        return 0.0
    at_once = job.workers if job.cores is None else min(job.workers, job.cores)
    entries = histograms(job, shape) * CELL * job.entries * job.threads
    return entries * constants.add_ns * 1e-9 * job.workers / at_once


def asking(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of questions and answers without their bytes."""
    way = sum(constants.hop_s + constants.message_s * asked for asked, _ in askers(job.workers, job.fan_out))
    return questions(job, shape) * way


def sending(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of the bytes: an asker takes those of all whom it asks, one hop after the other."""
    second = constants.byte_ns * 1e-9 + 1 / constants.wire
    hops = askers(job.workers, job.fan_out)
    return sum(asked * bytes_sent(job, shape, below) for asked, below in hops) * second


def here(job: Job, constants: Constants) -> float:
    """Seconds in the process that fits: searching nodes, and reading what parts say of themselves."""
    nodes = 2 * job.leaves - 1
    search = constants.node_us * 1e-6 + job.entries * constants.search_ns * 1e-9
    return nodes * search + job.workers * job.threads * constants.said_us * 1e-6


def terms(job: Job, constants: Constants, shape: Shape) -> dict[str, float]:
    """Seconds of the trees of a round, by what they are spent on."""
    found = {
        "rows": compute(job, constants, shape),
        "adding in workers": adding(job, constants, shape),
        "asking": asking(job, constants, shape),
        "histograms sent": sending(job, constants, shape),
        "searching here": here(job, constants),
    }
    return {name: seconds * job.outputs for name, seconds in found.items()}


def seconds(job: Job, constants: Constants, shape: Shape) -> float:
    """Seconds of a round."""
    return sum(terms(job, constants, shape).values())


def shared_columns(job: Job, constants: Constants, shape: Shape) -> dict[str, float]:
    """The same if every worker added up and searched its own share of the columns (not built).

    Halves of what is left are exchanged in log2(workers) steps, so that everybody receives each entry about
    once. Best splits, which are small, go the way that histograms go now.
    """
    found = terms(job, constants, shape)
    steps = math.ceil(math.log2(max(2, job.workers)))
    received = bytes_sent(job, shape, job.workers) * (1 - 1 / job.workers)
    exchange = questions(job, shape) * steps * (constants.hop_s + constants.message_s)
    searches = (2 * job.leaves - 1) * job.entries * constants.search_ns * 1e-9
    found["asking"] += exchange * job.outputs
    found["histograms sent"] = received * (constants.byte_ns * 1e-9 + 1 / constants.wire) * job.outputs
    found["searching here"] -= searches * (1 - 1 / min(job.workers, job.columns)) * job.outputs
    return found


def best_fan_out(job: Job, constants: Constants, shape: Shape) -> int:
    """The fan-out that takes the least time."""

    def time(fan_out: int) -> float:
        return asking(_with(job, fan_out), constants, shape) + sending(_with(job, fan_out), constants, shape)

    return min(range(2, max(3, min(64, job.workers) + 1)), key=time)


def _with(job: Job, fan_out: int) -> Job:
    return Job(**{**vars(job), "fan_out": fan_out})


# --- before the first round, and memory


def set_up(job: Job, constants: Constants) -> dict[str, float]:
    """Seconds before the first round."""
    cells = job.rows * job.columns * 1e-9 * slow(job, constants) / job.busy
    return {
        "survey": cells * constants.survey_ns,
        "keys and targets come here": job.rows * SURVEY_BYTES / constants.wire,
        "checks, digests and edges here": job.rows * constants.prelude_ns * 1e-9
        + min(1.0, job.rows / EDGE_ROWS) * job.columns * constants.edges_ms * 1e-3,
        "codes": cells * constants.encode_ns,
    }


def stride(columns: int) -> int:
    """Bytes of the codes of a row, as `hedgerow.binning.row_stride` has them."""
    if columns <= CODE_LINE:
        return 1 << (columns - 1).bit_length()
    return -(-columns // CODE_LINE) * CODE_LINE


def worker_row_bytes(job: Job, *, lean: bool = False) -> int:
    """Bytes a row on its worker: codes by row and by column, class, scores, statistics, row numbers."""
    return stride(job.columns) + (0 if lean else job.columns) + 1 + 16 * job.outputs + 3 * 4


def worker_bytes(job: Job, shape: Shape) -> float:
    """Bytes of a worker while trees are grown; each asker holds the answers to one question."""
    asked = max(count for count, _ in askers(job.workers, job.fan_out)) if job.workers > job.fan_out else 0
    answers = (asked + job.threads) * CELL * 8 * job.entries * histograms(job, shape) / questions(job, shape)
    return job.rows / job.workers * worker_row_bytes(job) + answers


def here_row_bytes() -> dict[str, int]:
    """Bytes a row in the process that fits."""
    return {
        "keys, whole and rounded": 8 + 4,
        "target as given and as numbers": 8 + 8 + 1,
        "marks of the rows seen": 4,
        "numbers of the rows that train": 4,
    }


def here_bytes(job: Job) -> float:
    """Bytes in the process that fits: its rows, those that edges are taken from, histograms of open nodes."""
    sample = min(job.rows, EDGE_ROWS) * job.columns * 4  # float32
    return job.rows * sum(here_row_bytes().values()) + sample + 2 * job.leaves * CELL * 8 * job.entries


# --- other families


def adaboost_round(job: Job, constants: Constants) -> float:
    """Seconds in which weights of 8 bytes a row go out and leaves of one byte come back, each round."""
    return job.rows * (8 + 1) * (1 / constants.wire + constants.byte_ns * 1e-9)


def forest_bytes(job: Job) -> float:
    """Bytes of a worker that grows trees of a forest: codes of all rows, and what each thread needs."""
    return job.rows * (stride(job.columns) + job.columns + GROWING_BYTES * job.threads)
