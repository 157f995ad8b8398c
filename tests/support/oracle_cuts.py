"""All cuts of a node of a deep tree and their gains, in plain Python; see `oracle_forest`.

Gains are exact fractions if possible, by other formulas than those of the kernels: the gain of a split is the
distance of its two sides.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

LEFT, RIGHT, CUTS = 2**40, 2**40 + 1, 2**40 + 2  # constants that are hashed with the key of a node

_MASK = (1 << 64) - 1
_GOLDEN, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix(x):
    x = (x ^ (x >> 30)) * _MIX1 & _MASK
    x = (x ^ (x >> 27)) * _MIX2 & _MASK
    return x ^ (x >> 31)


def stream(seed, purpose, first):
    return mix(mix((seed + _GOLDEN * purpose) & _MASK) ^ (first + _GOLDEN & _MASK))


def draw(key, second):
    return mix(key ^ (second * _GOLDEN + _MIX1 & _MASK))


def below(drawn, n):
    """One of 0 to n - 1: the upper half of a hash, as a fraction, times n."""
    return ((drawn >> 32) * n) >> 32


# --- input of a tree


@dataclass
class TreeTask:
    """Rows, targets and rules; weights and numbers are the integers that the grower receives."""

    codes: list  # of rows, each a list
    categorical: list
    direction: list  # -1, 0 or 1, or nothing
    draws: list
    weight: list  # draws times the weight of the row
    targets: list  # targets of rows
    classes: list | None
    numbers: list  # of rows, each a list: outputs, times the row's own weight
    n_outputs: int
    centre: list
    unit: float
    rules: object
    seed: int
    tree: int
    block_rows: int
    exact: bool = True  # the weights are so small that sums of squares have no rounding

    @property
    def rows(self):
        return [row for row, weight in enumerate(self.weight) if weight]


@dataclass
class Sums:
    """Sums over a set of rows."""

    weight: int
    draws: int
    channels: list  # weights of the classes, or sums of the numbers

    @property
    def value(self):
        """The value that is monotonic: the share of the second class, or the mean of the number."""
        channel = self.channels[1] if len(self.channels) > 1 else self.channels[0]
        return float(channel) / float(self.weight)


def sum_up(task, rows):
    channels = [0] * task.n_outputs
    for row in rows:
        if task.classes is not None:
            channels[task.classes[row]] += task.weight[row]
            continue
        for k, number in enumerate(task.numbers[row]):
            channels[k] += task.draws[row] * number
    weight, draws = (sum(of[row] for row in rows) for of in (task.weight, task.draws))
    return Sums(weight, draws, channels)


# --- gains


def gain_of(criterion, left, right):
    """Weight of a node times the fall of its impurity, in the integers' units."""
    whole = left.weight + right.weight
    total = 0 if criterion in ("gini", "squared_error") else 0.0
    for low, high in zip(left.channels, right.channels, strict=True):
        if criterion in ("gini", "squared_error"):
            apart = Fraction(low, left.weight) - Fraction(high, right.weight)
            total += apart * apart * left.weight * right.weight / whole
            continue
        if criterion == "poisson" and min(low, high) <= 0:
            return -math.inf  # a side would predict zero
        for side, channel in ((left, low), (right, high)):
            if channel:
                total += channel * math.log(channel / side.weight * (whole / (low + high)))
    return total


def slack_of(task, rows, sums):
    """The largest rounding error of a gain of the node."""
    criterion, weight = task.rules.criterion, sums.weight
    if criterion == "gini":
        return weight * (2.0**-46 if task.exact else 2.0**-38)
    if criterion == "entropy":
        return 1e-12 * weight * max(1.0, math.log(weight))
    if criterion == "poisson":
        return sum(
            1e-12 * channel * max(1.0, abs(math.log(channel / weight)))
            for channel in sums.channels
            if channel
        )
    spread = Fraction(0)
    for k, channel in enumerate(sums.channels):
        spread -= Fraction(channel * channel, weight)
        spread += sum(
            Fraction(task.draws[row] ** 2 * task.numbers[row][k] ** 2, task.weight[row]) for row in rows
        )
    return 2.0**-46 * (float(spread) + len(sums.channels) * weight)


def least_gain(task):
    """The smallest allowed gain of a split, in units of the integers."""
    rules, total = task.rules, sum(task.weight)
    unit = {
        "gini": 1.0,
        "entropy": 1.0 / math.log(2.0),  # bits
        "squared_error": task.unit**2 / task.n_outputs,  # the mean over the outputs
        "poisson": task.unit / task.n_outputs,
    }[rules.criterion]
    return rules.min_gain * total / unit if rules.min_gain > 0 else -math.inf


# --- cuts


@dataclass
class Node:
    number: int
    rows: list
    depth: int
    key: int
    low: float = -math.inf
    high: float = math.inf


@dataclass
class Cut:
    column: int
    left: frozenset  # of all codes
    gain: object
    sides: tuple  # sums


def partitions_of(task, node, column):
    """Codes of the node that go left, codes that go right, and the last code on the left."""
    present = sorted({task.codes[row][column] for row in node.rows})

    def drawn(n):
        return below(draw(draw(node.key, CUTS), column), n)

    if task.categorical[column]:
        present = in_order_of_means(task, node, column, present)
        positions = [drawn(len(present) - 1)] if task.rules.random_cuts else range(len(present) - 1)
        return [(set(present[: position + 1]), set(present[position + 1 :]), None) for position in positions]
    known = [code for code in present if code]
    lasts = [(code + following) // 2 for code, following in itertools.pairwise(known)]
    if task.rules.random_cuts and lasts:
        lasts = [known[0] + drawn(known[-1] - known[0])]
    if known == present:
        return [(set(known) - above(known, last), above(known, last), last) for last in lasts]
    ways = [(set(known) - above(known, last), above(present, last) | {0}, last) for last in lasts]
    if not task.rules.random_cuts or not lasts:
        ways.append((set(known), {0}, 255))
    return ways + [(set(present) - above(present, last), above(present, last), last) for last in lasts]


def above(codes, last):
    return {code for code in codes if code > last}


def in_order_of_means(task, node, column, present):
    """Codes by the mean of the first number, or by the share of the class that is heaviest in the node."""
    whole, which = sum_up(task, node.rows), 0
    if task.classes is not None:
        which = max(range(task.n_outputs), key=lambda k: whole.channels[k])

    def key(code):
        sums = sum_up(task, [row for row in node.rows if task.codes[row][column] == code])
        return float(sums.channels[which]) / float(sums.weight)

    return sorted(present, key=key)


def all_left(left, right, last, heavier_left):
    """The codes of all 256 that go left: codes without rows in the node follow the heavier side."""
    if last is None:
        return frozenset(set(range(256)) - right if heavier_left else left)
    missing_left = 0 in left or (0 not in right and heavier_left)
    return frozenset(range(0 if missing_left else 1, last + 1))


def allowed_cuts(task, node, column, least_weight):
    """The cuts of a column with enough rows on both sides that respect the monotonic directions."""
    cuts, rules = [], task.rules
    for left, right, last in partitions_of(task, node, column):
        sides = tuple(
            sum_up(task, [row for row in node.rows if task.codes[row][column] in side])
            for side in (left, right)
        )
        if any(side.draws < rules.min_leaf or side.weight < least_weight for side in sides):
            continue
        if task.direction:
            values = [side.value for side in sides]
            if task.direction[column] * (values[1] - values[0]) < 0:
                continue
        gain = gain_of(rules.criterion, *sides)
        if gain > -math.inf:
            codes = all_left(left, right, last, sides[0].weight >= sides[1].weight)
            cuts.append(Cut(column, codes, gain, sides))
    return cuts
