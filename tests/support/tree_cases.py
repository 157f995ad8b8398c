"""Small coded tables, made without binning, for tests of growing and predicting; comparison of trees."""

import numpy as np

import oracle
import oracle_symmetric
from hedgerow.binning import BinnedTable, Bins
from hedgerow.growing.grower import Quantiser, TreeGrower, Weights
from hedgerow.threads import Team
from reference_grower import ReferenceGrower, RowsInMemory, channels

EXACT_FIELDS = ("left", "start", "stop", "count", "depth", "gradient", "hessian", "value", "lower", "upper")
SPLIT_FIELDS = ("gain", "left_gradient", "left_hessian", "column", "threshold", "missing_left", "categorical")


def make_bins(n_bins, categorical):
    """Edges at 1.5, 2.5, ...: the value k has code k. Category k - 1 has code k."""
    edges = [
        np.arange(1, n) + 0.5 if not c else np.empty(0) for n, c in zip(n_bins, categorical, strict=True)
    ]
    tables = [np.arange(1, n + 1) if c else np.empty(0) for n, c in zip(n_bins, categorical, strict=True)]
    starts = [
        np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(int) for parts in (edges, tables)
    ]
    return Bins(np.concatenate(edges), starts[0], np.concatenate(tables).astype(np.uint8), starts[1])


def make_binned(codes, n_bins, categorical=None):
    """A binned table with these codes (rows, columns)."""
    codes = np.asarray(codes, np.uint8)
    bins = make_bins(n_bins, [False] * len(n_bins) if categorical is None else categorical)
    with Team(1) as team:
        return BinnedTable.of(bins, np.ascontiguousarray(codes.T), team)


def values_of(binned):
    """Raw values with the codes of the table, see make_bins; a category is its number."""
    codes = binned.codes.by_column.T.astype(float)
    return np.where(codes == 0, np.nan, codes - binned.codes.categorical)


def measure(gradient, hessian, weight=None):
    """Integer statistics, and the rows with positive weight."""
    n = len(gradient)
    weights = Weights.of(None if weight is None else np.asarray(weight, float), n)
    measured = Quantiser(weights, n, Team(1)).quantise(
        np.asarray(gradient, float), np.asarray(hessian, float)
    )
    return measured, weights.rows


def unpacked(statistics):
    """The same integers in wide statistics."""
    wide = np.ascontiguousarray(channels(statistics)[:2].T)
    return statistics._replace(packed=np.empty(0, np.int64), wide=wide)


def grow_compiled(binned, rules, measured, rows, tree=0, team=None):
    grown = TreeGrower(binned, rules, team or Team(1)).grow(measured, rows, tree)
    grown.rows = grown.rows.copy()
    return grown


def grow_reference(binned, rules, measured, rows, tree=0):
    return ReferenceGrower(RowsInMemory(binned), rules).grow(measured, rows, tree)


def grow_oracle(binned, rules, measured, rows, tree=0):
    statistics = [tuple(row) for row in channels(measured.statistics).T.tolist()]
    translated = rules.for_tree(measured, binned.stored, tree)
    if rules.random_strength:
        sums = oracle.sums_over([(abs(g), h, n) for g, h, n in statistics], rows.tolist())
        translated = rules.with_noise(translated, sums)
    grow = oracle_symmetric.grow if rules.symmetric else oracle.grow
    return grow(oracle_table(binned), statistics, translated, rows.tolist())


def oracle_table(binned):
    columns = zip(binned.codes.by_column, binned.codes.n_bins, binned.codes.categorical, strict=True)
    return [oracle.Column(codes.tolist(), int(n), bool(c)) for codes, n, c in columns]


def assert_same_tree(one, other):
    """Compare two trees bit for bit; the split of a leaf is ignored."""
    for name in EXACT_FIELDS:
        assert one.nodes[name].tobytes() == other.nodes[name].tobytes(), name
    inner = one.nodes["left"] > 0
    splits, others = one.nodes["split"][inner], other.nodes["split"][inner]
    for name in SPLIT_FIELDS:
        assert splits[name].tobytes() == others[name].tobytes(), name
    by_set = splits["categorical"] == 1
    assert splits["goes_left"][by_set].tobytes() == others["goes_left"][by_set].tobytes()
    for name in ("rows", "leaves", "starts"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def assert_is_oracle_tree(grown, truth, measured):
    """The tree is the one of the oracle; units are powers of two, so that conversion rounds nothing."""
    value_unit = measured.gradient_unit / measured.hessian_unit
    assert len(grown.nodes) == len(truth)
    for record, node in zip(grown.nodes, truth, strict=True):
        for name in ("left", "start", "count", "depth", "gradient", "hessian"):
            assert record[name] == getattr(node, name), name
        assert record["stop"] == node.start + len(node.rows)
        assert grown.rows[record["start"] : record["stop"]].tolist() in (node.rows, rows_below(truth, node))
        for name in ("value", "lower", "upper"):
            assert record[name] == getattr(node, name) * value_unit, name
        if node.split:
            assert_is_oracle_split(record["split"], node.split, value_unit * measured.gradient_unit)
    leaves = oracle.leaves_from_the_left(truth)
    assert grown.leaves.tolist() == leaves
    assert grown.rows.tolist() == [row for leaf in leaves for row in truth[leaf].rows]


def assert_is_oracle_split(record, split, gain_unit):
    assert record["gain"] == split.gain * gain_unit
    for name in ("column", "threshold", "missing_left", "left_gradient", "left_hessian"):
        assert record[name] == getattr(split, name), name
    if record["categorical"]:
        assert codes_in(record["goes_left"]) == split.left_codes


def as_oracle(nodes):
    """Node records as the oracle's nodes, enough for walking."""
    walked = []
    for record in nodes:
        node = oracle.Node([], 0, 0, 0, 0, 0, left=int(record["left"]), value=float(record["value"]))
        if node.left:
            split = record["split"]
            low = set(range(1 - int(split["missing_left"]), int(split["threshold"]) + 1))
            left_codes = codes_in(split["goes_left"]) if split["categorical"] else low
            node.split = oracle.Split(0.0, int(split["column"]), 0, 0, left_codes, 0, 0)
        walked.append(node)
    return walked


def codes_in(words):
    """A set of codes, from its bits."""
    return {code for code in range(256) if int(words[code // 64]) >> (code % 64) & 1}


def rows_below(nodes, node):
    """Rows of a node in the order of its leaves."""
    if not node.left:
        return node.rows
    return rows_below(nodes, nodes[node.left]) + rows_below(nodes, nodes[node.left + 1])
