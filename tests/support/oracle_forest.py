"""Deep trees replayed in plain Python, node by node, to check the compiled grower of forests.

A grown tree is decoded and followed from the root. At every node all sums are computed from its rows, all
cuts of the drawn columns are evaluated, and the split of the tree must be one of the best; leaves must be
where the rules require them. There are no histograms, bundles or copies of rows. `oracle_cuts` has the cuts.
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

    number: int  # the left child; class or value number of a leaf
    column: int | None = None
    left: frozenset = frozenset()
    by_set: bool = False


def decode(packed_nodes, sets, set_number):
    """Decode the nodes of a tree from their 64-bit words."""
    nodes = []
    for position, word in enumerate(int(word) for word in packed_nodes):
        kind, threshold, column, number = word & 3, word >> 2 & 0xFFFF, word >> 18 & 0x3FFFF, word >> 36
        if kind == LEAF:
            assert word == number << 36 | LEAF
            nodes.append(Plain(number))
            continue
        if kind == BY_SET:
            bits = sum(int(word) << 64 * i for i, word in enumerate(sets[int(set_number[position])]))
            left = frozenset(code for code in range(256) if bits >> code & 1)
        else:
            left = frozenset(range(kind, threshold + kind + 1))
        nodes.append(Plain(number, column, left, kind == BY_SET))
    return nodes


def leaf_of(nodes, codes):
    """The leaf of a row with these codes."""
    at = 0
    while nodes[at].column is not None:
        at = nodes[at].number + (0 if int(codes[nodes[at].column]) in nodes[at].left else 1)
    return at


# --- replay


@dataclass
class Open:
    """A node that can be split."""

    node: Node
    gain: object  # of the best cut
    slack: float
    cut: Cut | None = None  # the cut of the tree


class Replay:
    """Replays the growth of a tree in the order of the grower and checks every split."""

    def __init__(self, task, tree):
        self.task, self.tree = task, tree
        self.nodes = decode(tree.nodes, tree.sets, tree.set_number)
        self.least_gain = least_gain(task)
        share = task.rules.min_weight_fraction * (1.0 - 2.0**-40)  # allows for rounding
        self.least_weight = math.ceil(share * sum(task.weight))
        self.n_nodes, self.n_values, self.n_sets = 1, 0, 0
        self.gains, self.gain_slack = [0.0] * len(task.categorical), 0.0
        self.rows_of = {}  # rows of leaves, by node number

    def check(self):
        """Check the tree; return the rows of its leaves."""
        task = self.task
        most = task.rules.max_leaves or math.inf
        waiting = [Node(0, task.rows, 0, stream(task.seed, NODE_COLUMNS, task.tree))]
        if most <= len(task.rows):
            self._grow_best_first(waiting[0], most)
        else:
            later = self._grow_depth_first(waiting[0], task.block_rows)
            for node in later:
                assert not self._grow_depth_first(node, 0)
        assert self.n_nodes == len(self.nodes)
        assert self.n_values == len(self.tree.values)
        assert self.n_sets == len(self.tree.sets)
        for gain, truth in zip(self.tree.gains.tolist(), self.gains, strict=True):
            assert abs(gain - truth) <= self.gain_slack + 1e-12 * truth
        return self.rows_of

    def _grow_depth_first(self, root, limit):
        """Grow completely, except nodes with at most `limit` rows, which are returned."""
        new_nodes, opened, later = [root], [], []
        while new_nodes or opened:
            for node in new_nodes:
                if len(node.rows) <= limit:
                    later.append(node)
                elif (found := self._search(node)) is not None:
                    opened.append(found)
                else:
                    self._check_leaf(node)
            new_nodes = self._split(opened.pop()) if opened else []
        return later

    def _grow_best_first(self, root, most):
        new_nodes, opened, n_leaves = [root], [], 1
        while True:
            for node in new_nodes:
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
            new_nodes = self._split(chosen)
            n_leaves += 1
        shift = self.task.n_outputs if self.task.classes is not None else 0
        while opened:
            (chosen,) = [one for one in opened if self.nodes[one.node.number].number == self.n_values + shift]
            self._take_best(opened, chosen)
            self._check_leaf(chosen.node)

    def _take_best(self, opened, chosen):
        """Remove the node that the tree split, whose gain must be the largest."""
        best = max(one.gain for one in opened)
        assert chosen.gain >= best - max(one.slack for one in opened)
        opened.remove(chosen)

    def _search(self, node, *, may_stay=False):
        """Search the cuts of a node that must be split, or may stay open; None if it must be a leaf."""
        task, rules = self.task, self.task.rules
        if len({task.targets[row] for row in node.rows}) < 2 or node.depth >= (rules.max_depth or math.inf):
            return None
        sums = sum_up(task, node.rows)
        if sums.draws < max(rules.min_split, 2 * rules.min_leaf) or sums.weight < 2 * self.least_weight:
            return None
        cuts = [
            cut
            for column in self._draw_columns(node)
            for cut in allowed_cuts(task, node, column, self.least_weight)
        ]
        if not cuts:
            return None
        slack = slack_of(task, node.rows, sums)
        found = Open(node, max(cut.gain for cut in cuts), slack)
        if found.gain < self.least_gain:
            return None
        plain = self.nodes[node.number]
        if plain.column is None:
            assert may_stay
            return found
        found.cut = self._check_split(plain, cuts, found)
        return found

    def _check_split(self, plain, cuts, found):
        """The cut of the tree: one of the best, and the first of those with the same sums."""
        same = [cut for cut in cuts if cut.column == plain.column and cut.left == plain.left]
        assert same, "the split of the tree is not one of the cuts"
        assert same[0].gain >= found.gain - found.slack
        if self.task.exact and self.task.rules.criterion in ("gini", "squared_error"):
            assert same[0] is next(cut for cut in cuts if cut.sides == same[0].sides)
        assert plain.by_set == self.task.categorical[plain.column]
        return same[0]

    def _draw_columns(self, node):
        """Columns that vary among the rows, drawn until there are enough."""
        task, order, chosen = self.task, list(range(len(self.task.categorical))), []
        for position in range(len(order)):
            if len(chosen) == task.rules.columns_per_node:
                break
            other = position + below(draw(node.key, position), len(order) - position)
            order[position], order[other] = order[other], order[position]
            if len({task.codes[row][order[position]] for row in node.rows}) > 1:
                chosen.append(order[position])
        return chosen

    def _split(self, found):
        """The children of a node."""
        task, node, cut = self.task, found.node, found.cut
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
        rows_by_side = [
            [row for row in node.rows if (task.codes[row][cut.column] in cut.left) == (side == 0)]
            for side in range(2)
        ]
        children = [
            Node(plain.number + side, rows, node.depth + 1, draw(node.key, turn), node.low, node.high)
            for side, (rows, turn) in enumerate(zip(rows_by_side, (LEFT, RIGHT), strict=True))
        ]
        if task.direction and task.direction[cut.column]:
            lower, upper = children[:: task.direction[cut.column]]
            clipped = [min(max(side.value, node.low), node.high) for side in cut.sides]
            between = (clipped[0] + clipped[1]) / 2.0
            lower.high = upper.low = between
        return children

    def _check_leaf(self, node):
        """A leaf names its class, or the next row of values."""
        task, plain, tree = self.task, self.nodes[node.number], self.tree
        assert plain.column is None, "a split where a leaf should be"
        assert not len(tree.set_number) or tree.set_number[node.number] == -1
        self.rows_of[node.number] = node.rows
        sums = sum_up(task, node.rows)
        shares = [float(channel) / float(sums.weight) for channel in sums.channels]
        which = int(task.classes is not None)
        clipped = min(max(shares[which], node.low), node.high)
        outside = clipped != shares[which]
        if outside:
            shares[:2] = [1.0 - clipped, clipped] if which else [clipped]
        first = 0
        if task.classes is not None:
            if not outside and sum(channel > 0 for channel in sums.channels) == 1:
                assert plain.number == shares.index(1.0)
                return
            first = task.n_outputs
        assert plain.number == first + self.n_values
        values = shares
        if task.classes is None:
            values = [share * task.unit + centre for share, centre in zip(shares, task.centre, strict=True)]
        found = tree.values[self.n_values].tolist()
        if task.classes is not None or task.direction:
            assert found == values
        else:  # means of the targets, not of their integer steps
            slack = 1e-9 * max(1.0, float(abs(tree.values).max()))
            assert all(abs(mean - value) <= slack for mean, value in zip(found, values, strict=True))
        if len(tree.leaf_starts):
            start, stop = tree.leaf_starts[self.n_values : self.n_values + 2].tolist()
            assert tree.leaf_rows[start:stop].tolist() == node.rows
        self.n_values += 1
