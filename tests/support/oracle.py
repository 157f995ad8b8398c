"""Slow reference implementation of the kernels in plain Python, written from the formulas, for tiny data.

It shares no code with the engine: a column is a list of codes, a node is a list of row numbers, sums over
rows use Python integers, and floats are the same IEEE operations in the same order.
"""

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

MASK = (1 << 64) - 1
GOLDEN, MIX1, MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
NODE_COLUMNS = 4  # the purpose of the draws that choose the columns of a node
SPLIT_NOISE = 40  # and of those that are added to scores
ROUNDING = 1e-10
ALL_CODES = range(256)


# ------------------------------------------------------------------------------------------- draws
def mix(x):
    """The finaliser of SplitMix64."""
    x = ((x ^ (x >> 30)) * MIX1) & MASK
    x = ((x ^ (x >> 27)) * MIX2) & MASK
    return x ^ (x >> 31)


def draw(seed, purpose, first, second):
    key = mix((seed + GOLDEN * purpose) & MASK)
    key = mix(key ^ ((first + GOLDEN) & MASK))
    return mix(key ^ ((second * GOLDEN + MIX1) & MASK))


def normal(seed, purpose, first, second):
    """Twelve uniform numbers of 16 bits, less their mean, over their standard deviation."""
    draws = [draw(seed, purpose, first, 3 * second + part) for part in range(3)]
    parts = [bits >> shift & 0xFFFF for bits in draws for shift in (0, 16, 32, 48)]
    return (sum(parts) - 6 * 65_535) / 2**16


def choose(items, n_chosen, seed, purpose, first):
    """The first items of a Fisher-Yates shuffle."""
    items = list(items)
    for position in range(n_chosen):
        other = position + draw(seed, purpose, first, position) % (len(items) - position)
        items[position], items[other] = items[other], items[position]
    return items[:n_chosen]


def sample(fraction, seed, purpose, first, start, stop):
    """Rows whose draw, as a number in [0, 1), is below the fraction."""
    return [
        row
        for row in range(start, stop)
        if Fraction(draw(seed, purpose, first, row) >> 11, 2**53) < Fraction(fraction)
    ]


# ----------------------------------------------------------------------------------------- binning
def code_of(value, edges):
    return 0 if math.isnan(value) else 1 + sum(edge < value for edge in edges)


def bin_edges(values, max_bins, copies=None):
    """Edges that cut the values into at most max_bins bins of about equal weight, greedily.

    A bin ends when it has its share of the weight that was left at its start, and three rows.
    """
    weight = {}
    for value, n in zip(values, copies or [1] * len(values), strict=True):
        if n and not math.isnan(value):
            weight[value] = weight.get(value, 0) + n
    distinct = sorted(weight)
    if len(distinct) <= max_bins:
        return [between(low, high) for low, high in itertools.pairwise(distinct)]
    edges, in_bin, rest = [], 0, sum(weight.values())
    for low, high in itertools.pairwise(distinct):
        in_bin += weight[low]
        bins_left = max_bins - len(edges)
        if bins_left > 1 and in_bin >= 3 and Fraction(in_bin, rest) >= Fraction(1, bins_left):
            edges.append(between(low, high))
            rest -= in_bin
            in_bin = 0
    return edges


def between(low, high):
    """Halfway, if that is at least `low` and below `high`."""
    edge = low / 2.0 + high / 2.0
    return edge if low <= edge < high else low


# ---------------------------------------------------------------------------------------- quantise
def largest_exponent(top, bits):
    """The largest e with top * 2**e < 2**bits, exactly; 0 for a top of 0."""
    if top == 0:
        return 0
    e = bits - math.frexp(top)[1]
    assert Fraction(top) * Fraction(2) ** e < 2**bits <= Fraction(top) * Fraction(2) ** (e + 1)
    return e


def quantised(gradient, hessian, weight, copies, g_bits, h_bits):
    """(gradient, hessian) of every row as integers: times weights before rounding, times copies after."""
    rows = []
    for i, (g, h) in enumerate(zip(gradient, hessian, strict=True)):
        w = weight[i] if len(weight) else 1.0
        n = int(copies[i]) if len(copies) else 1
        rows.append((round(g * w * 2.0**g_bits) * n, round(h * w * 2.0**h_bits) * n))  # half to even
    return rows


# --------------------------------------------------------------------------- histogram and partition
def histogram(codes, rows, values, n_codes):
    """Sum of values[row] for every code of one column."""
    sums = [0] * n_codes
    for row in rows:
        sums[codes[row]] += values[row]
    return sums


def partition(codes, rows, left_codes):
    """Left rows and right rows, each in their previous order."""
    return [r for r in rows if codes[r] in left_codes], [r for r in rows if codes[r] not in left_codes]


# ------------------------------------------------------------------------------------------- growing
@dataclass
class Column:
    codes: list
    n_bins: int
    categorical: bool = False


@dataclass
class Split:
    gain: float
    column: int
    threshold: int
    missing_left: int
    left_codes: set
    left_gradient: int
    left_hessian: int


@dataclass
class Node:
    rows: list
    start: int
    depth: int
    gradient: int
    hessian: int
    count: int
    lower: float = -math.inf
    upper: float = math.inf
    groups: set = field(default_factory=set)
    split: Split | None = None
    left: int = 0
    value: float = 0.0


def sums_over(statistics, rows):
    """Gradient, hessian and count; statistics are (gradient, hessian, copies) of every row."""
    return tuple(sum(statistics[row][i] for row in rows) for i in range(3))


def leaf_value(gradient, hessian, l1, l2, lower, upper):
    shrunk = math.copysign(max(abs(gradient) - l1, 0.0), gradient)
    value = -shrunk / (hessian + l2) if hessian + l2 > 0 else 0.0
    return min(max(value, lower), upper)


def score_at(value, gradient, hessian, l1, l2):
    return -(2.0 * gradient * value + (hessian + l2) * value * value + 2.0 * l1 * abs(value))


def gain_of(node, left_g, left_h, column, rules, l2):
    """Twice the reduction of the objective, or None when the values break a monotonic direction."""
    G, H = float(node.gradient), float(node.hessian)
    gl, right_h = float(left_g), node.hessian - left_h
    gr = G - gl
    if rules.l1 == 0.0 and len(rules.monotonic) == 0:
        hl, hr = float(left_h) + l2, float(right_h) + l2
        return (gl * gl * hr + gr * gr * hl) / (hl * hr) - G * G / (H + l2)
    hl = float(left_h)
    hr = H - hl
    bounds = (rules.l1, l2, node.lower, node.upper)
    left, right = leaf_value(gl, hl, *bounds), leaf_value(gr, hr, *bounds)
    direction = float(rules.monotonic[column]) if len(rules.monotonic) else 0.0
    if (right - left) * direction < 0.0:
        return None
    before = score_at(leaf_value(G, H, *bounds), G, H, rules.l1, l2)
    return score_at(left, gl, hl, rules.l1, l2) + score_at(right, gr, hr, rules.l1, l2) - before


def exact_gain(gradient, hessian, left_g, left_h, l1, l2):
    """score(left) + score(right) - score(node) with score = T(G)**2 / (H + l2), in exact fractions."""

    def score(g, h):
        return max(abs(Fraction(g)) - Fraction(l1), 0) ** 2 / (Fraction(h) + Fraction(l2))

    return score(left_g, left_h) + score(gradient - left_g, hessian - left_h) - score(gradient, hessian)


def left_sides(column, sums, node, smoothing):
    """All partitions of the codes of a column: (threshold, codes that go left); the first of equals wins.

    A code is present if its sums are not both 0. Absent codes go to the side of the missing values, or to the
    heavier side if there are no missing values.
    """
    present = [code for code in range(column.n_bins + 1) if sums[code][:2] != (0, 0)]

    def heavier(codes):
        return 2 * sum(sums[code][1] for code in codes) > node.hessian

    if column.categorical:

        def ratio(code):
            below = float(sums[code][1]) + smoothing
            return float(sums[code][0]) / below if below else math.copysign(math.inf, sums[code][0])

        order = sorted(present, key=lambda code: (ratio(code), code))
        for n in range(1, len(order)):
            left = set(order[:n])
            absent_left = 0 in left if 0 in present else heavier(left)
            yield n, left | (set(ALL_CODES) - set(order) if absent_left else set())
        return
    for missing_left in (False, True) if 0 in present else (None,):
        for threshold in range(1, column.n_bins + (missing_left is False)):
            left = set(range(1, threshold + 1))
            with_missing = heavier(left) if missing_left is None else missing_left
            yield threshold, left | ({0} if with_missing else set())


def best_in_column(number, column, node, statistics, rules):
    """The best split of one column by exhaustive search; None if there is none."""
    by_code = [[row for row in node.rows if column.codes[row] == code] for code in range(column.n_bins + 1)]
    sums = [sums_over(statistics, rows) for rows in by_code]
    l2 = rules.l2 + (rules.smoothing if column.categorical else 0.0)
    best = None
    for threshold, left_codes in left_sides(column, sums, node, rules.smoothing):
        g, h, n = (
            sum(sums[code][i] for code in range(column.n_bins + 1) if code in left_codes) for i in range(3)
        )
        if min(n, node.count - n) < rules.min_count or min(h, node.hessian - h) < rules.min_hessian:
            continue
        gain = gain_of(node, g, h, number, rules, l2)
        if gain is not None and gain > (best.gain if best else 0.0):
            best = Split(gain, number, threshold, int(0 in left_codes), left_codes, g, h)
    return best


def allowed_columns(number, node, rules):
    columns = [int(c) for c in rules.columns]
    if len(rules.groups):
        columns = [c for c in columns if node.groups & groups_of(rules, c)]
    if rules.columns_per_node < len(columns):
        key = rules.tree * 2**32 + number
        columns = sorted(choose(columns, rules.columns_per_node, rules.seed, NODE_COLUMNS, key))
    return columns


def groups_of(rules, column):
    """The interaction groups of a column, from its bits."""
    return {
        64 * w + b for w, word in enumerate(rules.groups[column]) for b in range(64) if int(word) >> b & 1
    }


def best_split(number, node, table, statistics, rules):
    """The best split with a sufficient gain: the first column of equals."""
    if node.depth >= rules.max_depth:
        return None
    found = [
        best_in_column(c, table[c], node, statistics, rules) for c in allowed_columns(number, node, rules)
    ]
    G = float(node.gradient)
    rounding = ROUNDING * G * G / (float(node.hessian) + rules.l2) if any(found) else 0.0
    enough = [split for split in found if split and split.gain > max(rules.min_gain, rounding)]
    return max(enough, key=lambda split: score_of(number, split, rules), default=None)


def score_of(number, split, rules):
    """The gain, or its root and noise: splits and open nodes are compared by it."""
    if not rules.noise:
        return split.gain
    added = normal(rules.seed, SPLIT_NOISE, rules.tree * 2**32 + number, split.column)
    return math.sqrt(split.gain) + rules.noise * added


def children(node, table, statistics, rules):
    split = node.split
    left, right = partition(table[split.column].codes, node.rows, split.left_codes)
    groups = node.groups & groups_of(rules, split.column) if len(rules.groups) else set()
    one = Node(left, node.start, node.depth + 1, *sums_over(statistics, left), node.lower, node.upper, groups)
    middle = node.start + len(left)
    other = Node(right, middle, node.depth + 1, *sums_over(statistics, right), node.lower, node.upper, groups)
    direction = rules.monotonic[split.column] if len(rules.monotonic) else 0
    if direction:
        values = [
            leaf_value(float(n.gradient), float(n.hessian), rules.l1, rules.l2, node.lower, node.upper)
            for n in (one, other)
        ]
        low, high = (one, other) if direction > 0 else (other, one)
        low.upper = high.lower = (values[0] + values[1]) / 2.0
    return [one, other]


def grow(table, statistics, rules, rows):
    """Best-first growth: nodes in the order of creation, values and gains in integer units.

    table : list of Column; statistics : (gradient, hessian, copies) of every row; rows : row numbers.
    """
    nodes = [Node(list(rows), 0, 0, *sums_over(statistics, rows))]
    nodes[0].groups = set(range(64 * len(rules.groups[0]))) if len(rules.groups) else set()
    nodes[0].split = best_split(0, nodes[0], table, statistics, rules)
    n_leaves = 1
    while n_leaves < rules.max_leaves:
        waiting = [number for number, node in enumerate(nodes) if node.split and not node.left]
        if not waiting:
            break
        chosen = nodes[max(waiting, key=lambda n: (score_of(n, nodes[n].split, rules), -n))]
        chosen.left = len(nodes)
        n_leaves += 1
        for child in children(chosen, table, statistics, rules):
            child.split = best_split(len(nodes), child, table, statistics, rules)
            nodes.append(child)
    for node in nodes:
        if not node.left:
            node.split = None
        node.value = leaf_value(
            float(node.gradient), float(node.hessian), rules.l1, rules.l2, node.lower, node.upper
        )
    return nodes


def leaf_of(nodes, codes):
    """The leaf of a row with these codes."""
    number = 0
    while nodes[number].left:
        split = nodes[number].split
        number = nodes[number].left + (codes[split.column] not in split.left_codes)
    return number


def leaves_from_the_left(nodes, number=0):
    left = nodes[number].left
    if not left:
        return [number]
    return leaves_from_the_left(nodes, left) + leaves_from_the_left(nodes, left + 1)


# ---------------------------------------------------------------------------------------- weak trees
# Sums are lists of integers by channel: the weights of every class, or weight and weight * target.
@dataclass
class Cut:
    """A partition of a node: `threshold` is the number of ordered codes that go left; gains are exact."""

    gain: Fraction
    column: int
    threshold: int
    missing_left: bool
    left_codes: set  # codes of rows in the node
    right_codes: set
    left: list
    right: list


def weak_weight(criterion, sums):
    return sums[0] if criterion == "moments" else sum(sums)


def weak_score(criterion, sums):
    """The score of a leaf: weight of its heaviest class, sum of squares / weight, or G**2 / H."""
    if criterion == "error":
        return Fraction(max(sums))
    squares = sums[1] ** 2 if criterion == "moments" else sum(s * s for s in sums)
    return Fraction(squares, weak_weight(criterion, sums))


def channel_sums(rows, sample, n_channels):
    """Sums over rows; sample[row] is a list of (channel, integer)."""
    sums = [0] * n_channels
    for row in rows:
        for channel, value in sample[row]:
            sums[channel] += value
    return sums


def class_sample(classes, weight):
    return [[(k, w)] for k, w in zip(classes, weight, strict=True)]


def moment_sample(weight, second):
    return [[(0, h), (1, g)] for h, g in zip(weight, second, strict=True)]


def weak_sides(column, criterion, by_code, totals):
    """Threshold, side of missing values, and codes that go left, for every cut of a column."""
    present = [code for code, sums in enumerate(by_code) if weak_weight(criterion, sums) > 0]
    if column.categorical:
        channel = 1 if criterion == "moments" else totals.index(max(totals))

        def share(code):
            return Fraction(by_code[code][channel], weak_weight(criterion, by_code[code])), code

        order = sorted(present, key=share)
        for n in range(1, len(order)):
            yield n, 0 in order[:n], set(order[:n])
        return
    for missing_left in (False, True) if 0 in present else (False,):
        for threshold in range(1, column.n_bins + (0 in present and not missing_left)):
            below = {code for code in present if 0 < code <= threshold}
            yield threshold, missing_left, below | ({0} if missing_left else set())


def sums_by_code(column, sample, rows, n_channels):
    """Channel sums of the rows of every code of a column."""
    rows_of = [[] for _ in range(column.n_bins + 1)]
    for row in rows:
        rows_of[column.codes[row]].append(row)
    return [channel_sums(of_code, sample, n_channels) for of_code in rows_of]


def weak_cuts(table, sample, rows, n_channels, criterion, least):
    """Every cut with a gain and at least the weight `least` on both sides, in the order of the search."""
    totals = channel_sums(rows, sample, n_channels)
    cuts = []
    for number, column in enumerate(table):
        by_code = sums_by_code(column, sample, rows, n_channels)
        for side in weak_sides(column, criterion, by_code, totals):
            cuts += weak_cut(number, *side, by_code, totals, criterion, max(1, least))
    return cuts


def weak_cut(number, threshold, missing_left, codes, by_code, totals, criterion, least):
    """A list of the cut with these codes on the left, or an empty list if it is not allowed."""
    left = [sum(by_code[code][k] for code in codes) for k in range(len(totals))]
    right = [total - one for total, one in zip(totals, left, strict=True)]
    if min(weak_weight(criterion, left), weak_weight(criterion, right)) < least:
        return []
    gain = weak_score(criterion, left) + weak_score(criterion, right) - weak_score(criterion, totals)
    others = {code for code, sums in enumerate(by_code) if weak_weight(criterion, sums) > 0} - codes
    return [Cut(gain, number, threshold, missing_left, codes, others, left, right)] if gain > 0 else []


def best_subset_gain(column, sample, rows, n_channels, criterion):
    """The best gain over all partitions of the codes of the rows, including the code of missing values."""
    totals = channel_sums(rows, sample, n_channels)
    by_code = sums_by_code(column, sample, rows, n_channels)
    present = [code for code, sums in enumerate(by_code) if weak_weight(criterion, sums) > 0]
    gains = [Fraction(0)]
    for size in range(1, len(present)):
        for codes in itertools.combinations(present, size):
            found = weak_cut(0, 0, False, set(codes), by_code, totals, criterion, 1)
            gains += [cut.gain for cut in found]
    return max(gains)
