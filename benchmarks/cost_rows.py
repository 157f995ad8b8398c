"""The calls of a tree, and the cost of rows and searches, without a cluster.

A tree is grown in this process, in one shard and then in one for each core. Its calls are then repeated on
the same shards, with and without histograms: the difference is the cost of histograms.
"""

import math
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np

import hedgerow
from cost_terms import Job, Shape
from data import simulated
from hedgerow.growing.shards import LocalShards, sum_results
from hedgerow.streams.table import StreamedTable

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WARM_ROUNDS = 2


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    rows: int = 1_000_000
    columns: int = 28
    leaves: int = 31
    rounds: int = 20
    repeats: int = 60  # of a call
    workers: tuple[int, ...] = (1, 2, 4, 8)

    def job(self, workers: int = 1, **other: Any) -> Job:
        """The job of the model."""
        fields = {"rows": self.rows, "columns": self.columns, "leaves": self.leaves} | other
        return Job(workers=workers, cores=CORES, **fields)


# --- the calls of trees


@dataclass(eq=False)
class Grown:
    """The calls of one tree; `sizes` are rows of nodes, by their numbers in the shards."""

    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    n_partitioned: int = 0
    n_histograms: int = 0
    rows_partitioned: int = 0
    rows_summed: int = 0

    def add(self, method: str, args: tuple[Any, ...], sums: Any, seconds: float) -> None:
        """Count a call and its reply."""
        self.calls.append((method, args))
        self.seconds[method] = self.seconds.get(method, 0.0) + seconds
        if method in ("start_round", "start_tree"):
            self.sizes = {0: int(sums[1][0])}
        if method != "split_nodes":
            return
        names, _, sides = args
        self.n_partitioned += len(names)
        self.n_histograms += int(sides.sum())
        for (node, left), (of_left, of_right), went in zip(names, sides, sums[0][:, 0].tolist(), strict=True):
            whole = self.sizes[int(node)]
            self.sizes[int(left)], self.sizes[int(left) + 1] = went, whole - went
            self.rows_partitioned += whole
            self.rows_summed += int(of_left) * went + int(of_right) * (whole - went)


@dataclass(eq=False)
class Recording:
    """The record of a fit: when rounds ended, its trees, bytes received, and the shards."""

    ended: list[float] = field(default_factory=list)
    trees: list[Grown] = field(default_factory=list)
    n_bytes: int = 0
    n_shards: int = 0
    shards: Any = None
    at_end: Callable[[], None] = field(default=lambda: None)

    def round_seconds(self) -> float:
        """The mean of the rounds after the warm-up."""
        return (self.ended[-1] - self.ended[WARM_ROUNDS - 1]) / (len(self.ended) - WARM_ROUNDS)

    def seconds(self, method: str) -> float:
        """The median seconds of a tree's calls of a method."""
        return float(np.median([tree.seconds.get(method, 0.0) for tree in self.trees[WARM_ROUNDS:]]))

    def here(self) -> float:
        """The median seconds of a round outside of calls."""
        rounds = np.diff(self.ended)[WARM_ROUNDS - 1 :]
        in_calls = [sum(tree.seconds.values()) for tree in self.trees[WARM_ROUNDS:]]
        return float(np.median(rounds - in_calls))

    def calls(self) -> float:
        """Calls of a tree after the first, on average."""
        trees = self.trees[WARM_ROUNDS:]
        return sum(len(tree.calls) - 1 for tree in trees) / len(trees)

    def shape(self, leaves: int, growth: float) -> Shape:
        """Return the shape of trees with a number of leaves; growth : see `call_growth`."""
        trees, depth = self.trees[WARM_ROUNDS:], math.log2(leaves)
        parted = sum(tree.n_partitioned for tree in trees)
        rows = sum(tree.sizes[0] for tree in trees)
        return Shape(
            ahead=parted / (len(trees) * (leaves - 1)),
            summed=sum(tree.n_histograms for tree in trees) / parted,
            calls=self.calls() / (leaves - 1) ** growth,
            growth=growth,
            passes=sum(tree.rows_partitioned for tree in trees) / rows / depth,
            light=sum(tree.rows_summed for tree in trees) / rows / depth,
        )


@contextmanager
def recording(kind: type, record: Recording) -> Iterator[None]:
    """Record all calls of shards of a class."""
    call = kind.call  # type: ignore[attr-defined]

    def recorded_call(shards: Any, method: str, *args: Any) -> Any:
        began = time.perf_counter()
        results, sums = call(shards, method, *args)
        if method == "start_round":
            record.trees.append(Grown())
        record.shards, record.n_shards = shards, len(shards.bounds)
        record.trees[-1].add(method, args, sums, time.perf_counter() - began)
        return results, sums

    with patch.object(kind, "call", recorded_call):
        yield


def fit(size: Size, X: Any, y: Any, record: Recording, n_jobs: int | None = None, **other: Any) -> Any:
    """Fit the warm-up and the rounds that count."""

    def record_round(done: Any) -> None:
        record.ended.append(time.perf_counter())
        if done.number + 1 == done.n_rounds:
            record.at_end()

    model = hedgerow.GradientBoostingClassifier(
        n_estimators=WARM_ROUNDS + size.rounds, max_leaf_nodes=size.leaves, learning_rate=0.1, max_bins=255,
        early_stopping=False, random_state=0, n_jobs=n_jobs,
    )  # fmt: skip
    return model.fit(X, y, callbacks=[record_round], **other)


# --- rows


def fit_here(size: Size, n_shards: int, at_end: Callable[[Recording], None] = lambda _: None) -> Recording:
    """Fit in this process, with rows in so many shards."""
    import pyarrow as pa

    X, y = simulated(size.rows, size.columns)
    table = pa.table({f"x{j}": X[:, j] for j in range(size.columns)} | {"label": y})
    record = Recording()
    record.at_end = lambda: at_end(record)
    with recording(LocalShards, record), patch.object(StreamedTable, "low_memory", new=False):
        fit(size, lambda: iter(table.to_batches(65_536)), None, record, n_shards, target="label")
    return record


def row_costs(size: Size, n_shards: int) -> tuple[dict[str, float], Recording]:
    """Nanoseconds per row, or per row and column, of one thread, when so many are busy."""
    found: dict[str, float] = {}

    def again(record: Recording) -> None:
        tree, shards = record.trees[-1], record.shards
        (_, begun), *rest = tree.calls
        steps = [args for method, args in rest if method == "split_nodes"]
        parted, planted, summed = [], [], []

        def seconds_of(method: str, *args: Any) -> float:
            return timed(shards.call_each, method, [args] * n_shards)  # not recorded

        for _ in range(5):
            planted.append(seconds_of("start_tree", 0, *begun[2:]))
            parted.append(sum(seconds_of("split_nodes", a, b, np.zeros_like(c)) for a, b, c in steps))
            seconds_of("start_tree", 0, *begun[2:])
            summed.append(sum(seconds_of("split_nodes", *args) for args in steps))
        cells = size.columns * (tree.sizes[0] + tree.rows_summed)
        sums = min(planted) + max(0.0, min(summed) - min(parted))
        found["partition_ns"] = min(parted) / tree.rows_partitioned
        found["histogram_ns"] = sums / cells
        found["row_ns"] = max(0.0, record.seconds("start_round") - min(planted)) / size.rows

    record = fit_here(size, n_shards, again)
    return {name: value * 1e9 * n_shards for name, value in found.items()}, record


def timed(call: Callable[..., Any], *args: Any) -> float:
    """Seconds of a call."""
    began = time.perf_counter()
    call(*args)
    return time.perf_counter() - began


def call_growth(size: Size) -> float:
    """The power of the number of splits that calls grow with, from trees of two sizes.

    By log2(leaves), as the depth of balanced trees grows, it is not: 127 leaves would have half the calls
    that they have.
    """
    small = replace(size, rows=min(size.rows, 200_000), rounds=min(size.rounds, 10))
    more = replace(small, leaves=4 * (size.leaves + 1) - 1)
    few, many = (fit_here(one, 1).calls() for one in (small, more))
    return math.log(many / few) / math.log((more.leaves - 1) / (small.leaves - 1))


# --- the client


def client_costs(size: Size) -> dict[str, float]:
    """The cost of a node and its entries, of adding, and of reading the own results of shards."""
    few, many = 12, 60
    spent = {}
    for columns in (few, many):
        small = Size(min(size.rows, 50_000), columns, size.leaves, size.rounds)
        spent[columns] = fit_here(small, 1).here() / (2 * size.leaves - 1)
    slope = max(0.0, (spent[many] - spent[few]) / (256 * (many - few)))
    sums = [np.ones((4, 2, 7168), np.int64) for _ in range(8)]
    add = min(timed(sum_results, [(None, (one,)) for one in sums]) for _ in range(20)) / (8 * sums[0].size)
    shapes = {i: [(np.zeros((1, 2)), 0, np.zeros((1, 3), np.int64))] for i in range(2000)}
    packed = pickle.dumps(shapes, 5)

    def read() -> None:
        results = [one for own in pickle.loads(packed).values() for one in own]  # noqa: S301 - our own
        np.max([one[0] for one in results], axis=0)
        for shards in range(3):
            sum(int(one[2][0, shards]) for one in results)

    return {
        "search_ns": slope * 1e9,
        "node_us": max(0.0, spent[few] - slope * 256 * few) * 1e6,
        "add_ns": add * 1e9,
        "result_us": min(timed(read) for _ in range(10)) / len(shapes) * 1e6,
    }
