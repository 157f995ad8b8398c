"""Growth of symmetric trees in plain Python, written from the rules of `growth_policy="symmetric"`.

Nodes are those of `oracle`, in the order of their levels. A split is a set of codes that go left, in all
nodes of a level; its score is the sum of what the nodes gain. A node gains nothing if it is too small to be
split in two, or if a child would have too small a hessian.
"""

import math

import oracle


def grow(table, statistics, rules, rows):
    """Return the nodes, level by level, with values and gains in integer units."""
    nodes = [oracle.Node(list(rows), 0, 0, *oracle.sums_over(statistics, rows))]
    root = nodes[0]
    root.groups = set(range(64 * len(rules.groups[0]))) if len(rules.groups) else set()
    root.value = oracle.leaf_value(
        float(root.gradient), float(root.hessian), rules.l1, rules.l2, *limits(root)
    )
    for depth in range(rules.max_depth):
        first = 2**depth - 1
        best = best_split(first, nodes, table, statistics, rules)
        if best is None:
            break
        for number in range(first, 2 * first + 1):
            nodes += children(number, nodes[number], best, table, statistics, rules)
    return nodes


def limits(node):
    return node.lower, node.upper


def is_searched(node, rules):
    return node.count >= 2 * rules.min_count and node.hessian >= 2 * rules.min_hessian


def is_large(node, rules):
    return node.count >= rules.min_count and node.hessian >= rules.min_hessian


def gain_in(node, left_codes, number, column, statistics, rules):
    """What a split gains in one node."""
    left = [row for row in node.rows if column.codes[row] in left_codes]
    g, h, _ = oracle.sums_over(statistics, left)
    if not is_searched(node, rules) or min(h, node.hessian - h) < rules.min_hessian:
        return 0.0
    l2 = rules.l2 + (rules.smoothing if column.categorical else 0.0)
    gain = oracle.gain_of(node, g, h, number, rules, l2)
    return 0.0 if gain is None else gain


def level_sums(column, nodes, statistics, root_value):
    """For every code: residual and hessian over the nodes, and whether a node has sums other than 0."""
    found = []
    for code in range(column.n_bins + 1):
        residual, hessian, present = 0.0, 0, False
        for node in nodes:
            rows = [row for row in node.rows if column.codes[row] == code]
            g, h, _ = oracle.sums_over(statistics, rows)
            residual += float(g) + (node.value - root_value) * float(h)
            hessian += h
            present = present or (g, h) != (0, 0)
        found.append((residual, hessian, present))
    return found


def left_sides(column, nodes, statistics, rules, root_value):
    """All partitions of the codes: (threshold, codes that go left); the first of equals wins."""
    sums = level_sums(column, nodes, statistics, root_value)
    present = [code for code in range(column.n_bins + 1) if sums[code][2]]
    whole = sum(node.hessian for node in nodes)

    def heavier(codes):
        return 2 * sum(sums[code][1] for code in codes) > whole

    if column.categorical:

        def ratio(code):
            below = float(sums[code][1]) + rules.smoothing
            return sums[code][0] / below if below else math.copysign(math.inf, sums[code][0])

        order = sorted(present, key=lambda code: (ratio(code), code))
        for n in range(1, len(order)):
            left = set(order[:n])
            absent_left = 0 in left if 0 in present else heavier(left)
            yield n, left | (set(oracle.ALL_CODES) - set(order) if absent_left else set())
        return
    for missing_left in (False, True) if 0 in present else (None,):
        for threshold in range(1, column.n_bins + (missing_left is False)):
            left = set(range(1, threshold + 1))
            with_missing = heavier(left) if missing_left is None else missing_left
            yield threshold, left | ({0} if with_missing else set())


def best_split(first, nodes, table, statistics, rules):
    """The split of a level, None if none gains enough."""
    level = nodes[first : 2 * first + 1]
    searched = [node for node in level if is_searched(node, rules)]
    found = []
    for number in oracle.allowed_columns(first, level[0], rules) if searched else []:
        column, best = table[number], None
        for threshold, codes in left_sides(column, searched, statistics, rules, nodes[0].value):
            gain = 0.0
            for node in searched:
                gain += gain_in(node, codes, number, column, statistics, rules)
            if gain > (best.gain if best else 0.0):
                best = oracle.Split(gain, number, threshold, int(0 in codes), codes, 0, 0)
        found.append(best)
    score = 0.0
    for node in searched:
        score += float(node.gradient) * float(node.gradient) / (float(node.hessian) + rules.l2)
    enough = [one for one in found if one and one.gain > max(rules.min_gain, oracle.ROUNDING * score)]
    return max(enough, key=lambda split: oracle.score_of(first, split, rules), default=None)


def children(number, node, split, table, statistics, rules):
    """Set the split of a node and return its children."""
    column = table[split.column]
    left, right = oracle.partition(column.codes, node.rows, split.left_codes)
    g, h, _ = oracle.sums_over(statistics, left)
    gain = max(0.0, gain_in(node, split.left_codes, split.column, column, statistics, rules))
    node.split = oracle.Split(gain, split.column, split.threshold, split.missing_left, split.left_codes, g, h)
    node.left = 2 * number + 1
    groups = node.groups & oracle.groups_of(rules, split.column) if len(rules.groups) else set()
    starts = (node.start, node.start + len(left))
    found = [
        oracle.Node(rows, start, node.depth + 1, *oracle.sums_over(statistics, rows), *limits(node), groups)
        for rows, start in zip((left, right), starts, strict=True)
    ]
    for child in found:
        own = oracle.leaf_value(
            float(child.gradient), float(child.hessian), rules.l1, rules.l2, *limits(node)
        )
        child.value = own if is_large(child, rules) else node.value
    direction = rules.monotonic[split.column] if len(rules.monotonic) else 0
    if direction:
        low, high = found if direction > 0 else found[::-1]
        low.upper = high.lower = (found[0].value + found[1].value) / 2.0
        for child in found:
            child.value = min(max(child.value, child.lower), child.upper)
    return found
