"""Coded tables of one byte or two for weak trees, and what it means that a split or a tree is right."""

from dataclasses import dataclass, replace

import numpy as np

import oracle
from hedgerow.binning import BinnedTable
from hedgerow.growing.weak_tree import CRITERIA, WeakGrower, WeakRules
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.threads import Team
from tree_cases import codes_in, make_bins, oracle_table

NOISE = 2.0**-44  # a smaller gain, relative to the total, need not be found
ROUNDING = NOISE / 8  # of a gain, in the same shares


@dataclass
class WeightedTable:
    """A coded table, and the integers of its rows: classes with weights, or moments."""

    binned: BinnedTable
    weight: np.ndarray
    classes: np.ndarray | None = None  # or moments:
    second: np.ndarray | None = None
    n_classes: int = 0
    criterion: str = "error"

    @property
    def n_channels(self):
        return self.n_classes or 2

    @property
    def rows(self):
        """All rows that have weight."""
        return np.flatnonzero(self.weight).astype(np.uint32)

    def oracle_sample(self):
        if self.second is not None:
            return oracle.moment_sample(self.weight.tolist(), self.second.tolist())
        return oracle.class_sample(self.classes.tolist(), self.weight.tolist())

    def sample(self, grower):
        none = np.empty(0, np.int64)
        if self.second is not None:
            return Sample(self.weight, self.second, np.empty(0, np.int32))
        return Sample(self.weight, none, self.classes)

    def totals(self, rows):
        if self.second is not None:
            return np.array([self.weight[rows].sum(), self.second[rows].sum()])
        sums = np.zeros(self.n_channels, np.int64)
        np.add.at(sums, self.classes[rows], self.weight[rows])
        return sums

    def take(self, rows):
        """A table of some of the rows."""
        classes, second = (None if array is None else array[rows] for array in (self.classes, self.second))
        binned = self.binned.take(rows.astype(np.uint32))
        return replace(self, binned=binned, weight=self.weight[rows], classes=classes, second=second)

    def grower(self, team, **rules):
        criterion = {} if self.second is not None else {"criterion": self.criterion}
        return WeakGrower(self.binned, WeakRules(**criterion, **rules), team)

    def search(self, team, rows=None, least=1):
        """Best split of the rows and the sums of its left side; None for all rows."""
        grower = self.grower(team)
        rows = np.empty(0, np.uint32) if rows is None else rows
        totals = self.totals(rows if len(rows) else self.rows)
        limits = np.array([CRITERIA[self.criterion], grower.width, least], np.int64)
        return grower.search(self.sample(grower), rows, totals, limits)

    def grow(self, team, **rules):
        grower = self.grower(team, **rules)
        return grower.grow(self.sample(grower), self.totals(self.rows))

    def cuts(self, rows, least=1):
        return oracle.weak_cuts(
            oracle_table(self.binned), self.oracle_sample(), rows, self.n_channels, self.criterion, least
        )


def coded(codes, n_bins, categorical=None, dtype=np.uint8):
    """A table with these codes (rows, columns)."""
    bins = make_bins(n_bins, [False] * len(n_bins) if categorical is None else categorical)
    by_column = np.ascontiguousarray(np.asarray(codes).T.astype(dtype))
    with Team(1) as team:
        return BinnedTable.of(bins, by_column, team, for_growing=False)


def scale_of(case):
    """What a gain of the kernel is in units of the exact one: two classes share the formula of moments."""
    return 2 if case.criterion == "gini" and case.n_channels == 2 else 1


def noise_of(case, totals):
    """The largest gain that need not be found: a share of the weight, or of G**2 / H for moments."""
    weight = float(oracle.weak_weight(case.criterion, totals))
    if case.criterion == "moments":
        return NOISE * max(float(oracle.weak_score(case.criterion, totals)), NOISE * weight)
    return NOISE * weight if case.criterion == "gini" else 0.0


def assert_best(case, found, left, rows, least=1):
    """The record is the best cut of the rows: the first of equal ones, its gain to rounding.

    left : sums of its left side, or None.
    """
    cuts, scale = case.cuts(rows, least), scale_of(case)
    totals = case.totals(np.asarray(rows)).tolist()
    best = max((cut.gain for cut in cuts), default=0) * scale
    slack = ROUNDING * float(oracle.weak_score(case.criterion, totals) * scale + best)
    if found["gain"] <= 0:
        assert best <= noise_of(case, totals) + slack
        return None
    (chosen,) = [cut for cut in cuts if is_cut(found, cut)]
    assert left is None or left.tolist() == chosen.left
    assert abs(float(chosen.gain * scale) - found["gain"]) <= slack
    if case.criterion == "error":  # exact: as float64 the gain is the integer, rounded once
        assert found["gain"] == float(best)
        assert chosen is next(cut for cut in cuts if float(cut.gain) == float(best))
    else:
        assert float(best - chosen.gain * scale) <= slack
        assert chosen is next(cut for cut in cuts if cut.left == chosen.left)
    assert_absent_codes_follow_the_heavier(case, found, chosen)
    return chosen


def is_cut(found, cut):
    if found["column"] != cut.column:
        return False
    if found["categorical"]:
        goes_left = codes_in(found["goes_left"])
        return goes_left >= cut.left_codes and not goes_left & cut.right_codes
    has_missing = 0 in cut.left_codes | cut.right_codes
    same_side = not has_missing or bool(found["missing_left"]) == cut.missing_left
    return found["threshold"] == cut.threshold and same_side


def assert_absent_codes_follow_the_heavier(case, found, chosen):
    """Codes without rows in the node go to the heavier side, or left if both weigh the same."""
    sides = [oracle.weak_weight(case.criterion, sums) for sums in (chosen.left, chosen.right)]
    heavier_left = sides[0] >= sides[1]
    present = chosen.left_codes | chosen.right_codes
    if found["categorical"]:
        absent = set(range(256)) - present
        assert codes_in(found["goes_left"]) & absent == (absent if heavier_left else set())
    elif 0 not in present:
        assert bool(found["missing_left"]) == heavier_left


def assert_grown(case, tree, *, max_depth=None, max_leaf_nodes=None, least=1):
    """Every split is the best of its rows, the best leaf was split first, and nothing was left to gain."""
    nodes = tree.nodes
    rows_of = {0: case.rows.tolist()}
    gains = {}
    for number, node in enumerate(nodes):  # children come after their parents
        rows, left = rows_of[number], int(node["left"])
        gains[number] = 0.0
        if left:
            chosen = assert_best(case, node["split"], None, rows, least)
            gains[number] = float(node["split"]["gain"])
            codes = case.binned.codes.by_column[chosen.column]
            rows_of[left] = [row for row in rows if int(codes[row]) in chosen.left_codes]
            rows_of[left + 1] = [row for row in rows if int(codes[row]) in chosen.right_codes]
            assert (nodes["depth"][left : left + 2] == node["depth"] + 1).all()
            continue
        assert tree.sums[number].tolist() == case.totals(np.array(rows)).tolist()
        if max_depth is None or node["depth"] < max_depth:
            cuts = case.cuts(rows, least)
            gains[number] = max((float(cut.gain) for cut in cuts), default=0.0) * scale_of(case)
    assert_best_first(case, tree, gains, max_leaf_nodes or np.inf)
    return rows_of


def assert_best_first(case, tree, gains, most_leaves):
    """Nodes were split by falling gain, the lower number first, until none was left or leaves enough."""
    nodes, exact = tree.nodes, case.criterion == "error"
    totals = case.totals(case.rows).tolist()
    slack = ROUNDING * float(oracle.weak_score(case.criterion, totals)) * scale_of(case)
    slack = 0.0 if exact else max(slack, ROUNDING * max(gains.values()))
    waiting = {0}
    for number in sorted(np.flatnonzero(nodes["left"]).tolist(), key=lambda number: nodes["left"][number]):
        assert number in waiting
        assert all(gains[other] <= gains[number] + slack for other in waiting)
        if exact:
            assert number == min(other for other in waiting if gains[other] == gains[number])
        waiting = waiting - {number} | {int(nodes["left"][number]), int(nodes["left"][number]) + 1}
    assert len(waiting) == tree.n_leaves <= most_leaves
    if tree.n_leaves < most_leaves:
        for number in waiting:
            assert gains[number] <= noise_of(case, tree.sums[number].tolist()) + slack
