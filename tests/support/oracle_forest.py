"""Deep trees grown again in plain Python, node by node: the referee of the compiled grower of forests.

A grown tree is decoded and followed from the root. At every node all sums are taken anew from its rows, all
cuts of the columns drawn for it are tried, and the split of the tree must be one of the best; a leaf must be
where the rules ask for one. There are no histograms, bundles or copies of rows. `oracle_cuts` has the cuts.
"""

import math
from dataclasses import dataclass

from oracle_cuts import (
    LEFT,
    RIGHT,
    Cut,
    Node,
    allowed_cuts,
    below,
    draw,
    least_gain,
    slack_of,
    stream,
    sum_up,
)

NODE_COLUMNS = 4  # the purpose of a draw
BY_SET, LEAF = 2, 3  # kinds of nodes beside 0 and 1, numeric with missing on the left and on the right


# --- decoded trees


@dataclass
class Plain:
    """A node of a tree: a leaf without a column, or which of the codes 0 to 255 go left."""

    number: int  # the left child; what a leaf holds
    column: int | None = None
    left: frozenset = frozenset()
    by_set: bool = False


def decode(words, sets, set_number):
    """The nodes of a tree, from its words."""
    nodes = []
    for place, word in enumerate(int(word) for word in words):
        kind, threshold, column, number = word & 3, word >> 2 & 0xFFFF, word >> 18 & 0x3FFFF, word >> 36
        if kind == LEAF:
            assert word == number << 36 | LEAF
            nodes.append(Plain(number))
            continue
        if kind == BY_SET:
            bits = sum(int(part) << 64 * i for i, part in enumerate(sets[int(set_number[place])]))
            left = frozenset(code for code in range(256) if bits >> code & 1)
        else:
            left = frozenset(range(kind, threshold + kind + 1))
        nodes.append(Plain(number, column, left, kind == BY_SET))
    return nodes


def leaf_of(nodes, codes):
    """The number of the leaf that a row with these codes comes to."""
    at = 0
    while nodes[at].column is not None:
        at = nodes[at].number + (0 if int(codes[nodes[at].column]) in nodes[at].left else 1)
    return at


# --- growing again


@dataclass
class Open:
    """A node that can be split."""

    node: Node
    gain: object  # of the best cut
    slack: float
    cut: Cut | None = None  # the one the tree has


class Replay:
    """Grows the tree again in the order of the grower, taking the splits of the tree after judging them."""

    def __init__(self, lesson, tree):
        self.lesson, self.tree = lesson, tree
        self.nodes = decode(tree.words, tree.sets, tree.set_number)
        self.least_gain = least_gain(lesson)
        share = lesson.rules.min_weight_fraction * (1.0 - 2.0**-40)  # forgives rounding
        self.least_weight = math.ceil(share * sum(lesson.weight))
        self.n_nodes, self.n_values, self.n_sets = 1, 0, 0
        self.gains, self.gain_slack = [0.0] * len(lesson.categorical), 0.0
        self.rows_of = {}  # of leaves, by their place in the tree

    def check(self):
        """The whole tree; returns the rows of the leaves."""
        lesson = self.lesson
        most = lesson.rules.max_leaves or math.inf
        waiting = [Node(0, lesson.rows, 0, stream(lesson.seed, NODE_COLUMNS, lesson.tree))]
        if most <= len(lesson.rows):
            self._grow_best_first(waiting[0], most)
        else:
            later = self._grow_depth_first(waiting[0], lesson.near_rows)
            for node in later:
                assert not self._grow_depth_first(node, 0)
        assert self.n_nodes == len(self.nodes)
        assert self.n_values == len(self.tree.values)
        assert self.n_sets == len(self.tree.sets)
        for gain, truth in zip(self.tree.gains.tolist(), self.gains, strict=True):
            assert abs(gain - truth) <= self.gain_slack + 1e-12 * truth
        return self.rows_of

    def _grow_depth_first(self, root, limit):
        """To the end, but for nodes of no more rows than the limit: these are returned."""
        fresh, opened, later = [root], [], []
        while fresh or opened:
            for node in fresh:
                if len(node.rows) <= limit:
                    later.append(node)
                elif (found := self._search(node)) is not None:
                    opened.append(found)
                else:
                    self._check_leaf(node)
            fresh = self._split(opened.pop()) if opened else []
        return later

    def _grow_best_first(self, root, most):
        fresh, opened, n_leaves = [root], [], 1
        while True:
            for node in fresh:
                found = self._search(node, may_stay=True)
                if found is None:
                    self._check_leaf(node)
                else:
                    opened.append(found)
            if not opened or n_leaves == most:
                break
            (chosen,) = [
                one for one in opened if self.nodes[one.node.number].number == self.n_nodes and one.cut
            ]
            self._take_best(opened, chosen)
            fresh = self._split(chosen)
            n_leaves += 1
        shift = self.lesson.n_outputs if self.lesson.classes is not None else 0
        while opened:
            (chosen,) = [one for one in opened if self.nodes[one.node.number].number == self.n_values + shift]
            self._take_best(opened, chosen)
            self._check_leaf(chosen.node)

    def _take_best(self, opened, chosen):
        """Remove the one that the tree took, which must gain as much as any."""
        best = max(one.gain for one in opened)
        assert chosen.gain >= best - max(one.slack for one in opened)
        opened.remove(chosen)

    def _search(self, node, *, may_stay=False):
        """The cuts of the node if it is to be split, which the tree then must do too, unless it may stay."""
        lesson, rules = self.lesson, self.lesson.rules
        if len({lesson.targets[row] for row in node.rows}) < 2 or node.depth >= (rules.max_depth or math.inf):
            return None
        sums = sum_up(lesson, node.rows)
        if sums.draws < max(rules.min_split, 2 * rules.min_leaf) or sums.weight < 2 * self.least_weight:
            return None
        cuts = [
            cut
            for column in self._draw_columns(node)
            for cut in allowed_cuts(lesson, node, column, self.least_weight)
        ]
        if not cuts:
            return None
        slack = slack_of(lesson, node.rows, sums)
        found = Open(node, max(cut.gain for cut in cuts), slack)
        if found.gain < self.least_gain:
            return None
        plain = self.nodes[node.number]
        if plain.column is None:
            assert may_stay
            return found
        found.cut = self._judge(plain, cuts, found)
        return found

    def _judge(self, plain, cuts, found):
        """The cut that the tree has made: one of the best, and the first of those with the same sums."""
        same = [cut for cut in cuts if cut.column == plain.column and cut.left == plain.left]
        assert same, "no cut that was to be tried"
        assert same[0].gain >= found.gain - found.slack
        if self.lesson.exact and self.lesson.rules.criterion in ("gini", "squared_error"):
            assert same[0] is next(cut for cut in cuts if cut.sides == same[0].sides)
        assert plain.by_set == self.lesson.categorical[plain.column]
        return same[0]

    def _draw_columns(self, node):
        """Columns that vary among the rows, drawn until there are enough."""
        lesson, order, chosen = self.lesson, list(range(len(self.lesson.categorical))), []
        for place in range(len(order)):
            if len(chosen) == lesson.rules.columns_per_node:
                break
            other = place + below(draw(node.key, place), len(order) - place)
            order[place], order[other] = order[other], order[place]
            if len({lesson.codes[row][order[place]] for row in node.rows}) > 1:
                chosen.append(order[place])
        return chosen

    def _split(self, found):
        """The children of a node."""
        lesson, node, cut = self.lesson, found.node, found.cut
        plain = self.nodes[node.number]
        assert plain.number == self.n_nodes
        self.n_nodes += 2
        if plain.by_set:
            assert self.tree.set_number[node.number] == self.n_sets
            self.n_sets += 1
        elif len(self.tree.set_number):
            assert self.tree.set_number[node.number] == -1
        self.gains[cut.column] += float(cut.gain)
        self.gain_slack += found.slack
        parts = [
            [row for row in node.rows if (lesson.codes[row][cut.column] in cut.left) == (side == 0)]
            for side in range(2)
        ]
        children = [
            Node(plain.number + side, rows, node.depth + 1, draw(node.key, turn), node.low, node.high)
            for side, (rows, turn) in enumerate(zip(parts, (LEFT, RIGHT), strict=True))
        ]
        if lesson.direction and lesson.direction[cut.column]:
            lower, upper = children[:: lesson.direction[cut.column]]
            held = [min(max(side.value, node.low), node.high) for side in cut.sides]
            between = (held[0] + held[1]) / 2.0
            lower.high = upper.low = between
        return children

    def _check_leaf(self, node):
        """A leaf names its class, or the next row of values."""
        lesson, plain, tree = self.lesson, self.nodes[node.number], self.tree
        assert plain.column is None, "a split where a leaf should be"
        assert not len(tree.set_number) or tree.set_number[node.number] == -1
        self.rows_of[node.number] = node.rows
        sums = sum_up(lesson, node.rows)
        shares = [float(part) / float(sums.weight) for part in sums.parts]
        which = int(lesson.classes is not None)
        held = min(max(shares[which], node.low), node.high)
        outside = held != shares[which]
        if outside:
            shares[:2] = [1.0 - held, held] if which else [held]
        first = 0
        if lesson.classes is not None:
            if not outside and sum(part > 0 for part in sums.parts) == 1:
                assert plain.number == shares.index(1.0)
                return
            first = lesson.n_outputs
        assert plain.number == first + self.n_values
        values = shares
        if lesson.classes is None:
            values = [
                share * lesson.unit + centre for share, centre in zip(shares, lesson.centre, strict=True)
            ]
        found = tree.values[self.n_values].tolist()
        if lesson.classes is not None or lesson.direction:
            assert found == values
        else:  # means of the targets themselves, not of their steps
            slack = 1e-9 * max(1.0, float(abs(tree.values).max()))
            assert all(abs(mean - value) <= slack for mean, value in zip(found, values, strict=True))
        if len(tree.leaf_starts):
            start, stop = tree.leaf_starts[self.n_values : self.n_values + 2].tolist()
            assert tree.leaf_rows[start:stop].tolist() == node.rows
        self.n_values += 1
