"""Small problems for deep trees: tables whose columns bundle, targets, weights and rules of every kind."""

import itertools
import math
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from hedgerow import binning
from hedgerow.binning import no_bundles
from hedgerow.growing import deep
from hedgerow.growing.deep import DeepGrower, DeepOptions, DeepTarget
from oracle_cuts import TreeTask
from oracle_forest import Replay
from tree_cases import make_binned

NO_DIRECTION = np.empty(0, np.int8)


@contextmanager
def unbundled():
    """Create tables without bundles."""
    with patch.object(binning, "find_bundles", lambda _, n_bins: no_bundles(n_bins)):
        yield


@dataclass
class Problem:
    """Codes (rows, columns), a target, how often rows are drawn, and rules."""

    codes: np.ndarray
    n_bins: list
    categorical: list
    y: np.ndarray  # (n,) classes or (n, outputs) numbers
    n_classes: int  # 0 for numbers
    draws: np.ndarray
    rules: DeepOptions
    weight: np.ndarray | None = None
    factor: np.ndarray | None = None
    direction: np.ndarray = field(default_factory=lambda: NO_DIRECTION)
    seed: int = 0
    tree: int = 0

    @property
    def table(self):
        return make_binned(self.codes, self.n_bins, self.categorical)

    @property
    def target(self):
        """The target of the drawn rows; the others do not matter."""
        drawn = self.draws > 0
        weight = None if self.weight is None else self.weight * drawn
        if self.n_classes:
            return DeepTarget.of_classes(self.y, self.n_classes, weight)
        centre = np.zeros(self.y.shape[1])
        if self.rules.criterion != "poisson":
            copies = np.repeat(self.y, self.draws, axis=0)
            centre = np.array([math.fsum(column) / len(copies) for column in copies.T])
        rows = np.flatnonzero(drawn).astype(np.uint32)
        return DeepTarget.of_numbers(self.y, centre, rows, int(self.draws.sum()), weight)

    def grower(self, **options):
        return DeepGrower(
            self.table, self.target, self.rules, self.direction, int(self.draws.sum()), self.seed,
            class_factors=self.factor is not None, **options,
        )  # fmt: skip

    def grow(self, **options):
        return self.grower(**options).grow(self.tree, self.draws, self.factor)

    def task(self):
        """The problem as the input of the oracle."""
        target = self.target
        own = target.own if target.own.size else np.ones(len(self.y), np.int64)
        weight = self.draws * own
        if self.factor is not None:
            weight = weight * self.factor[self.y]
        most = min(len(self.y), int(self.draws.sum()))
        return TreeTask(
            codes=self.codes.tolist(),
            categorical=list(self.categorical),
            direction=self.direction.tolist(),
            draws=self.draws.tolist(),
            weight=weight.tolist(),
            targets=self.y.tolist() if self.n_classes else [tuple(row) for row in self.y.tolist()],
            classes=self.y.tolist() if self.n_classes else None,
            numbers=target.numbers.tolist(),
            n_outputs=target.n_outputs,
            centre=target.centre.tolist(),
            unit=target.unit,
            rules=self.rules,
            seed=self.seed,
            tree=self.tree,
            block_rows=min(deep._BLOCK_ROWS, most),
            exact=int(weight.sum()) < 2**25,
        )

    def check(self, tree):
        """Check the tree; return the rows of its leaves."""
        return Replay(self.task(), tree).check()

    def take(self, rows):
        """Some of the rows, in this order."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, codes=self.codes[rows], y=self.y[rows], draws=self.draws[rows], weight=weight)


def bytes_of(tree):
    """All arrays of a tree, except the rows of its leaves."""
    names = ("nodes", "values", "sets", "set_number", "gains")
    return {name: getattr(tree, name).tobytes() for name in names}


# --- columns


def codes_of(rng, kind, n):
    """Columns of a kind: codes (n, columns), their bins, and whether they are categorical."""
    if kind in ("one-hot", "sparse"):  # at most one of them differs from its usual code
        n_columns, n_bins = 3, 2 if kind == "one-hot" else 5
        codes = np.ones((n, n_columns), int)
        which = rng.integers(0, n_columns + 1, n)
        for column in range(n_columns):
            rows = which == column
            other = rng.integers(0 if kind == "sparse" else 2, n_bins + 1, rows.sum())
            codes[rows, column] = other
        return codes, [n_bins] * n_columns, [kind == "sparse" and c == 1 for c in range(n_columns)]
    n_bins = {"few": 3, "many": 12, "all": 255, "holes": 4, "constant": 2, "categories": 7}[kind]
    lowest = 0 if kind in ("holes", "categories") else 1
    codes = rng.integers(lowest, n_bins + 1, (n, 1))
    if kind == "all":
        codes[:2] = [[255], [1]][: len(codes)]
        codes[rng.random((n, 1)) < 0.1] = 0
    if kind == "holes":
        codes[rng.random((n, 1)) < 0.3] = 0
    if kind == "constant":
        codes[:] = 2
    return codes, [n_bins], [kind == "categories"]


KINDS = ("few", "many", "all", "holes", "constant", "categories", "one-hot", "sparse")


@st.composite
def tables(draw, rng):
    n = draw(st.sampled_from([60, 50, 40, 30, 20, 9, 3, 1]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    drawn = [codes_of(rng, kind, n) for kind in kinds]
    codes = np.column_stack([column[0] for column in drawn])
    n_bins, categorical = ([value for column in drawn for value in column[i]] for i in (1, 2))
    return codes, n_bins, categorical


@st.composite
def problems(draw, criterion):
    """Random problems with all options."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes, n_bins, categorical = draw(tables(rng))
    n, n_columns = codes.shape
    n_outputs = draw(st.sampled_from([1, 1, 2, 3]))
    n_classes = n_outputs + 1 if criterion in ("gini", "entropy") else 0
    y = {
        "gini": lambda: rng.integers(0, n_classes, n),
        "entropy": lambda: rng.integers(0, n_classes, n),
        "squared_error": lambda: rng.integers(-2, 3, (n, n_outputs)) * 1.0,
        "poisson": lambda: rng.integers(0, 4, (n, n_outputs)) * 1.0,
    }[criterion]()
    if criterion == "squared_error" and draw(st.booleans()):
        y = rng.normal(size=(n, n_outputs))
    weight = draw(st.sampled_from(["none", "none", "smooth", "zeros"]))
    own = {
        "none": None,
        "smooth": rng.random(n) + 0.1,
        "zeros": rng.random(n) * (rng.random(n) < 0.8) + np.eye(1, n)[0],
    }
    draws = draw(st.sampled_from(["once", "bootstrap"]))
    counts = np.ones(n, np.int64) if draws == "once" else rng.multinomial(n, np.full(n, 1 / n))
    if own[weight] is not None and not np.any(counts * own[weight]):
        counts[:] = 1
    factor = None
    if n_classes and weight == "none" and draw(st.booleans()):
        factor = rng.integers(1, 1000, n_classes)
    direction = NO_DIRECTION
    if n_outputs == 1 and draw(st.sampled_from([False, False, True])):
        direction = np.where(categorical, 0, rng.integers(-1, 2, n_columns)).astype(np.int8)
    return Problem(
        codes, n_bins, categorical, y, n_classes, counts, draw(rules_for(criterion, n_columns)),
        own[weight], factor, direction, draw(st.integers(0, 2**31)), draw(st.integers(0, 10**6)),
    )  # fmt: skip


@st.composite
def rules_for(draw, criterion, n_columns):
    rarely = {
        "max_depth": st.integers(1, 4),
        "max_leaves": st.integers(2, 12),
        "min_split": st.integers(3, 9),
        "min_leaf": st.integers(2, 5),
        "min_weight_fraction": st.sampled_from([0.05, 0.2, 1 / 3]),
        "min_gain": st.sampled_from([1e-9, 0.00317, 0.0317]),
    }
    names = draw(st.sampled_from([[]] * 20 + list(itertools.combinations_with_replacement(rarely, 2))))
    return DeepOptions(
        criterion=criterion,
        columns_per_node=draw(st.sampled_from([1, 2, n_columns])),
        random_cuts=draw(st.booleans()),
        **{name: draw(rarely[name]) for name in names},
    )
