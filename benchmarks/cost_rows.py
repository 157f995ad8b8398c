"""Trees as the process that fits sees them, and what rows and searches cost, without a cluster.

A tree is grown in this process, in one part of the rows and then in one for each core, and its questions are
asked of the same parts once more, with and without sums: the difference is what sums cost.
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
    """How much is run."""

    rows: int = 1_000_000
    columns: int = 28
    leaves: int = 31
    rounds: int = 20
    repeats: int = 60  # of a question
    workers: tuple[int, ...] = (1, 2, 4, 8)

    def job(self, workers: int = 1, **other: Any) -> Job:
        """The same as the model sees it."""
        given = {"rows": self.rows, "columns": self.columns, "leaves": self.leaves} | other
        return Job(workers=workers, cores=CORES, **given)


# --- trees, as the process that fits sees them


@dataclass(eq=False)
class Grown:
    """The questions of one tree; `sizes` are rows of nodes by the names that parts have for them."""

    asked: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    n_parted: int = 0
    n_histograms: int = 0
    rows_parted: int = 0
    rows_summed: int = 0

    def take(self, verb: str, args: tuple[Any, ...], sums: Any, seconds: float) -> None:
        """Count a question and its answer."""
        self.asked.append((verb, args))
        self.seconds[verb] = self.seconds.get(verb, 0.0) + seconds
        if verb in ("begin", "start_tree"):
            self.sizes = {0: int(sums[1][0])}
        if verb != "split_nodes":
            return
        names, _, sides = args
        self.n_parted += len(names)
        self.n_histograms += int(sides.sum())
        for (node, left), (of_left, of_right), went in zip(names, sides, sums[0][:, 0].tolist(), strict=True):
            whole = self.sizes[int(node)]
            self.sizes[int(left)], self.sizes[int(left) + 1] = went, whole - went
            self.rows_parted += whole
            self.rows_summed += int(of_left) * went + int(of_right) * (whole - went)


@dataclass(eq=False)
class Watched:
    """A fit that was watched: when rounds ended, its trees, bytes that came, and the place."""

    ended: list[float] = field(default_factory=list)
    trees: list[Grown] = field(default_factory=list)
    n_bytes: int = 0
    n_parts: int = 0
    place: Any = None
    at_end: Callable[[], None] = field(default=lambda: None)

    def round_seconds(self) -> float:
        """The mean of the rounds that are not warm ones."""
        return (self.ended[-1] - self.ended[WARM_ROUNDS - 1]) / (len(self.ended) - WARM_ROUNDS)

    def seconds(self, verb: str) -> float:
        """The median of what a tree's questions of a kind took."""
        return float(np.median([tree.seconds.get(verb, 0.0) for tree in self.trees[WARM_ROUNDS:]]))

    def here(self) -> float:
        """The median of the time of a round in which nothing was asked."""
        rounds = np.diff(self.ended)[WARM_ROUNDS - 1 :]
        asked = [sum(tree.seconds.values()) for tree in self.trees[WARM_ROUNDS:]]
        return float(np.median(rounds - asked))

    def questions(self) -> float:
        """Questions of a tree after the first, on average."""
        trees = self.trees[WARM_ROUNDS:]
        return sum(len(tree.asked) - 1 for tree in trees) / len(trees)

    def shape(self, leaves: int, growth: float) -> Shape:
        """How trees of so many leaves were grown; growth : see `growth_of_questions`."""
        trees, depth = self.trees[WARM_ROUNDS:], math.log2(leaves)
        parted = sum(tree.n_parted for tree in trees)
        rows = sum(tree.sizes[0] for tree in trees)
        return Shape(
            ahead=parted / (len(trees) * (leaves - 1)),
            summed=sum(tree.n_histograms for tree in trees) / parted,
            asked=self.questions() / (leaves - 1) ** growth,
            growth=growth,
            passes=sum(tree.rows_parted for tree in trees) / rows / depth,
            light=sum(tree.rows_summed for tree in trees) / rows / depth,
        )


@contextmanager
def watching(kind: type, watched: Watched) -> Iterator[None]:
    """Watch all that is asked of places of a kind."""
    call = kind.call  # type: ignore[attr-defined]

    def watched_call(place: Any, verb: str, *args: Any) -> Any:
        began = time.perf_counter()
        said, sums = call(place, verb, *args)
        if verb == "begin":
            watched.trees.append(Grown())
        watched.place, watched.n_parts = place, len(place.bounds)
        watched.trees[-1].take(verb, args, sums, time.perf_counter() - began)
        return said, sums

    with patch.object(kind, "call", watched_call):
        yield


def fit(size: Size, X: Any, y: Any, watched: Watched, n_jobs: int | None = None, **other: Any) -> Any:
    """Fit warm rounds and those that count."""

    def tell(done: Any) -> None:
        watched.ended.append(time.perf_counter())
        if done.number + 1 == done.n_rounds:
            watched.at_end()

    model = hedgerow.GradientBoostingClassifier(
        n_estimators=WARM_ROUNDS + size.rounds, max_leaf_nodes=size.leaves, learning_rate=0.1, max_bins=255,
        early_stopping=False, random_state=0, n_jobs=n_jobs,
    )  # fmt: skip
    return model.fit(X, y, callbacks=[tell], **other)


# --- rows


def fit_here(size: Size, n_parts: int, at_end: Callable[[Watched], None] = lambda _: None) -> Watched:
    """Fit in this process, with rows in so many parts."""
    import pyarrow as pa

    X, y = simulated(size.rows, size.columns)
    table = pa.table({f"x{j}": X[:, j] for j in range(size.columns)} | {"label": y})
    watched = Watched()
    watched.at_end = lambda: at_end(watched)
    with watching(LocalShards, watched), patch.object(StreamedTable, "low_memory", new=False):
        fit(size, lambda: iter(table.to_batches(65_536)), None, watched, n_parts, target="label")
    return watched


def row_costs(size: Size, n_parts: int) -> tuple[dict[str, float], Watched]:
    """Nanoseconds a row or a row and column, of one thread, when so many work at the same time."""
    found: dict[str, float] = {}

    def again(watched: Watched) -> None:
        tree, place = watched.trees[-1], watched.place
        (_, begun), *rest = tree.asked
        steps = [args for verb, args in rest if verb == "split_nodes"]
        parted, planted, summed = [], [], []

        def ask(verb: str, *args: Any) -> float:
            return timed(place.call_each, verb, [args] * n_parts)  # which is not watched

        for _ in range(5):
            planted.append(ask("start_tree", 0, *begun[2:]))
            parted.append(sum(ask("split_nodes", a, b, np.zeros_like(c)) for a, b, c in steps))
            ask("start_tree", 0, *begun[2:])
            summed.append(sum(ask("split_nodes", *args) for args in steps))
        cells = size.columns * (tree.sizes[0] + tree.rows_summed)
        sums = min(planted) + max(0.0, min(summed) - min(parted))
        found["part_ns"] = min(parted) / tree.rows_parted
        found["sum_ns"] = sums / cells
        found["row_ns"] = max(0.0, watched.seconds("begin") - min(planted)) / size.rows

    watched = fit_here(size, n_parts, again)
    return {name: value * 1e9 * n_parts for name, value in found.items()}, watched


def timed(call: Callable[..., Any], *args: Any) -> float:
    """Seconds of a call."""
    began = time.perf_counter()
    call(*args)
    return time.perf_counter() - began


def growth_of_questions(size: Size) -> float:
    """The power of the number of splits that questions grow with, from trees of two sizes.

    By log2(leaves), as the depth of balanced trees grows, it is not: 127 leaves would have half the questions
    that they have.
    """
    small = replace(size, rows=min(size.rows, 200_000), rounds=min(size.rounds, 10))
    more = replace(small, leaves=4 * (size.leaves + 1) - 1)
    few, many = (fit_here(one, 1).questions() for one in (small, more))
    return math.log(many / few) / math.log((more.leaves - 1) / (small.leaves - 1))


# --- the process that fits


def here_costs(size: Size) -> dict[str, float]:
    """What a node and its entries take here, adding, and reading what parts say of themselves."""
    few, many = 12, 60
    spent = {}
    for columns in (few, many):
        small = Size(min(size.rows, 50_000), columns, size.leaves, size.rounds)
        spent[columns] = fit_here(small, 1).here() / (2 * size.leaves - 1)
    slope = max(0.0, (spent[many] - spent[few]) / (256 * (many - few)))
    sums = [np.ones((4, 2, 7168), np.int64) for _ in range(8)]
    add = min(timed(sum_results, [(None, (one,)) for one in sums]) for _ in range(20)) / (8 * sums[0].size)
    words = {i: [(np.zeros((1, 2)), 0, np.zeros((1, 3), np.int64))] for i in range(2000)}
    packed = pickle.dumps(words, 5)

    def read() -> None:
        said = [one for parts in pickle.loads(packed).values() for one in parts]  # noqa: S301 - our own
        np.max([one[0] for one in said], axis=0)
        for place in range(3):
            sum(int(one[2][0, place]) for one in said)

    return {
        "search_ns": slope * 1e9,
        "node_us": max(0.0, spent[few] - slope * 256 * few) * 1e6,
        "add_ns": add * 1e9,
        "said_us": min(timed(read) for _ in range(10)) / len(words) * 1e6,
    }
