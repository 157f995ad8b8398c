"""Linear functions of leaves in plain Python: exact fractions, and NumPy's solver for the last step.

Written from the rules of `linear_leaves`: the deepest numeric columns of the path, values as steps of their
range in the leaf, a ridge on standardised columns, and missing values as means.
"""

from fractions import Fraction

import numpy as np

MOST, STEPS, ROWS_PER_TERM = 8, 2**15, 5


def path_columns(nodes, leaf, numeric):
    """Numeric columns above a leaf, the deepest first."""
    parents = {int(n["left"]) + side: i for i, n in enumerate(nodes) if n["left"] for side in (0, 1)}
    found = []
    while leaf:
        leaf = parents[leaf]
        column = int(nodes[leaf]["split"]["column"])
        if numeric[column] and column not in found:
            found.append(column)
    return found


def step(x, lower, upper):
    """A value as a step of its range; None if it is missing."""
    if np.isnan(x):
        return None
    return min(int((min(max(x, lower), upper) - lower) * (STEPS / (upper - lower)) + 0.5), STEPS)


def centred_steps(values, hessians):
    """Steps from the one next to the mean, 0 for missing values; that step; the range. None if constant."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() == finite.max():
        return None
    lower, upper = finite.min(), finite.max()
    steps = [step(x, lower, upper) for x in values]
    known = [(s, h) for s, h in zip(steps, hessians, strict=True) if s is not None]
    weight = sum(h for _, h in known)
    middle = int(float(sum(s * h for s, h in known)) / float(weight) + 0.5) if weight else 0
    return [0 if s is None else s - middle for s in steps], middle, lower, upper


def fit_leaf(columns, gradients, hessians, n_rows, ridge, unit):
    """Return [(position, slope, mean, lower, upper)] of the columns (arrays) of a leaf.

    gradients, hessians : lists of integers. n_rows : each counted as often as its integer weight.
    ridge : in units of these hessians. unit : of gradients / hessians.
    """
    columns = columns[: min(n_rows // ROWS_PER_TERM, MOST)]
    own = {j: centred for j, values in enumerate(columns) if (centred := centred_steps(values, hessians))}
    H, G = sum(hessians), sum(gradients)
    if not own or not H:
        return []
    sums = {j: Fraction(dot(hessians, steps), H) for j, (steps, *_) in own.items()}
    target = [dot(gradients, own[j][0]) - sums[j] * G for j in own]
    matrix = [[dot(hessians, own[i][0], own[j][0]) - sums[i] * sums[j] * H for j in own] for i in own]
    C, b = np.array(matrix, float), -np.array(target, float)
    C[np.diag_indices(len(C))] *= 1.0 + ridge / H
    by_step = np.linalg.solve(C, b) * unit
    terms = []
    for d, (j, (_, middle, lower, upper)) in zip(by_step, own.items(), strict=True):
        width = (upper - lower) / STEPS
        terms.append((j, d / width, lower + (middle + float(sums[j])) * width, lower, upper))
    return terms


def dot(*factors):
    """The exact sum of products of integers."""
    total = 0
    for numbers in zip(*factors, strict=True):
        product = 1
        for number in numbers:
            product *= number
        total += product
    return total


def predict(model, X):
    """Raw scores (outputs, rows) of a model, term by term, with the leaves of `apply`."""
    forest = model.model_.forest
    linear, ends = forest.linear, np.cumsum(forest.linear.counts)
    raw = np.repeat(model.model_.start[:, None], len(X), axis=1)
    leaves = model.apply(X).reshape(len(X), -1)
    for i, row in enumerate(np.asarray(X, float)):
        for tree, output in enumerate(forest.output):
            node = forest.starts[tree] + leaves[i, tree]
            value = forest.value[node]
            for term in range(ends[node] - linear.counts[node], ends[node]):
                x = row[linear.column[term]]
                if not np.isnan(x):
                    clipped = min(max(x, linear.lower[term]), linear.upper[term])
                    value += linear.slope[term] * (clipped - linear.mean[term])
            raw[output, i] += value
    return raw
