"""All cuts of a node of a deep tree and what they gain, in plain Python; see `oracle_forest`.

Gains are fractions where they can be, by other formulas than those of the kernels: what a split gains is how
far apart its two sides are.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

LEFT, RIGHT, CUTS = 2**40, 2**40 + 1, 2**40 + 2  # what a key of a node is hashed with

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


# --- what a tree is grown from


@dataclass
class Lesson:
    """Rows, targets and rules; weights and numbers are the integers that the grower is given."""

    codes: list  # of rows, each a list
    categorical: list
    direction: list  # -1, 0 or 1, or nothing
    draws: list
    weight: list  # draws times what the row itself weighs
    targets: list  # of rows: what makes them differ
    classes: list | None
    numbers: list  # of rows, each a list: outputs, times the row's own weight
    n_outputs: int
    centre: list
    unit: float
    rules: object
    seed: int
    tree: int
    near_rows: int
    exact: bool = True  # the weights are so small that sums of squares have no rounding

    @property
    def rows(self):
        return [row for row, weight in enumerate(self.weight) if weight]


@dataclass
class Sums:
    """What is known of a set of rows."""

    weight: int
    draws: int
    parts: list  # weights of the classes, or sums of the numbers

    @property
    def value(self):
        """What directions are about: the share of the second class, or the mean of the number."""
        part = self.parts[1] if len(self.parts) > 1 else self.parts[0]
        return float(part) / float(self.weight)


def sum_up(lesson, rows):
    parts = [0] * lesson.n_outputs
    for row in rows:
        if lesson.classes is not None:
            parts[lesson.classes[row]] += lesson.weight[row]
            continue
        for k, number in enumerate(lesson.numbers[row]):
            parts[k] += lesson.draws[row] * number
    weight, draws = (sum(of[row] for row in rows) for of in (lesson.weight, lesson.draws))
    return Sums(weight, draws, parts)


# --- gains


def gain_of(criterion, left, right):
    """Weight of a node times the fall of its impurity, in the integers' units."""
    whole = left.weight + right.weight
    total = 0 if criterion in ("gini", "squared_error") else 0.0
    for low, high in zip(left.parts, right.parts, strict=True):
        if criterion in ("gini", "squared_error"):
            apart = Fraction(low, left.weight) - Fraction(high, right.weight)
            total += apart * apart * left.weight * right.weight / whole
            continue
        if criterion == "poisson" and min(low, high) <= 0:
            return -math.inf  # a side would predict zero
        for side, part in ((left, low), (right, high)):
            if part:
                total += part * math.log(part / side.weight * (whole / (low + high)))
    return total


def slack_of(lesson, rows, sums):
    """How far a gain of the node may be from the exact one: what rounding can do, and no more."""
    criterion, weight = lesson.rules.criterion, sums.weight
    if criterion == "gini":
        return weight * (2.0**-46 if lesson.exact else 2.0**-38)
    if criterion == "entropy":
        return 1e-12 * weight * max(1.0, math.log(weight))
    if criterion == "poisson":
        return sum(1e-12 * part * max(1.0, abs(math.log(part / weight))) for part in sums.parts if part)
    spread = Fraction(0)
    for k, part in enumerate(sums.parts):
        spread -= Fraction(part * part, weight)
        spread += sum(
            Fraction(lesson.draws[row] ** 2 * lesson.numbers[row][k] ** 2, lesson.weight[row]) for row in rows
        )
    return 2.0**-46 * (float(spread) + len(sums.parts) * weight)


def least_gain(lesson):
    """What a split must gain, in the integers' units."""
    rules, total = lesson.rules, sum(lesson.weight)
    unit = {
        "gini": 1.0,
        "entropy": 1.0 / math.log(2.0),  # bits
        "squared_error": lesson.unit**2 / lesson.n_outputs,  # the mean over the outputs
        "poisson": lesson.unit / lesson.n_outputs,
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


def ways_to_part(lesson, node, column):
    """Codes of the node that go left, those that go right, the last of all on the left."""
    seen = sorted({lesson.codes[row][column] for row in node.rows})

    def drawn(n):
        return below(draw(draw(node.key, CUTS), column), n)

    if lesson.categorical[column]:
        seen = in_order_of_means(lesson, node, column, seen)
        places = [drawn(len(seen) - 1)] if lesson.rules.random_cuts else range(len(seen) - 1)
        return [(set(seen[: place + 1]), set(seen[place + 1 :]), None) for place in places]
    there = [code for code in seen if code]
    lasts = [(code + following) // 2 for code, following in itertools.pairwise(there)]
    if lesson.rules.random_cuts and lasts:
        lasts = [there[0] + drawn(there[-1] - there[0])]
    if there == seen:
        return [(set(there) - above(there, last), above(there, last), last) for last in lasts]
    ways = [(set(there) - above(there, last), above(seen, last) | {0}, last) for last in lasts]
    if not lesson.rules.random_cuts or not lasts:
        ways.append((set(there), {0}, 255))
    return ways + [(set(seen) - above(seen, last), above(seen, last), last) for last in lasts]


def above(codes, last):
    return {code for code in codes if code > last}


def in_order_of_means(lesson, node, column, seen):
    """Codes by the mean of the first number, or by the share of the class that is heaviest in the node."""
    whole, which = sum_up(lesson, node.rows), 0
    if lesson.classes is not None:
        which = max(range(lesson.n_outputs), key=lambda k: whole.parts[k])

    def key(code):
        sums = sum_up(lesson, [row for row in node.rows if lesson.codes[row][column] == code])
        return float(sums.parts[which]) / float(sums.weight)

    return sorted(seen, key=key)


def all_left(left, right, last, heavier_left):
    """Which of all 256 codes go left: those that the node has not seen follow the heavier side."""
    if last is None:
        return frozenset(set(range(256)) - right if heavier_left else left)
    missing_left = 0 in left or (0 not in right and heavier_left)
    return frozenset(range(0 if missing_left else 1, last + 1))


def allowed_cuts(lesson, node, column, least_weight):
    """The cuts of a column that leave enough on both sides and keep to the directions."""
    cuts, rules = [], lesson.rules
    for left, right, last in ways_to_part(lesson, node, column):
        sides = tuple(
            sum_up(lesson, [row for row in node.rows if lesson.codes[row][column] in side])
            for side in (left, right)
        )
        if any(side.draws < rules.min_leaf or side.weight < least_weight for side in sides):
            continue
        if lesson.direction:
            values = [side.value for side in sides]
            if lesson.direction[column] * (values[1] - values[0]) < 0:
                continue
        gain = gain_of(rules.criterion, *sides)
        if gain > -math.inf:
            codes = all_left(left, right, last, sides[0].weight >= sides[1].weight)
            cuts.append(Cut(column, codes, gain, sides))
    return cuts
