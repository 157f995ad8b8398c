"""Losses of voters in plain Python, one voter and one row at a time, to check PairLosses.

Losses are integer numbers of steps; None if the voter was trained on the row.
"""

import math

import numpy as np

from forest_cases import bag_counts, predictions_by_tree

STEPS = 4096


def lost(shares, label):
    """The loss of a voter with these shares of the classes, in steps, rounded up: (1 - p + q) / 2.

    p is the share of the label, q the largest of another class.
    """
    others = [float(share) for number, share in enumerate(shares) if number != label]
    share = 0.5 * (1.0 + float(shares[label]) - max(others))
    return math.ceil(STEPS * (1.0 - min(max(share, 0.0), 1.0)))


def forest_losses(model, X, numbers, *, left_out):
    """Losses by row and tree; with `left_out`, None for rows in the sample of the tree."""
    drawn = bag_counts(model) if left_out else np.zeros((model.n_estimators_, len(numbers)), int)
    predicted = predictions_by_tree(model, X)
    return [
        [None if drawn[t, i] else lost(predicted[t, i], k) for t in range(len(predicted))]
        for i, k in enumerate(numbers)
    ]


def member_shares(member, X, labels):
    """The shares of the labels (rows, labels) by a member: probabilities, or a vote."""
    shares = np.zeros((X.shape[0], len(labels)))
    known = labels.tolist()
    if hasattr(member, "predict_proba"):
        for k, label in enumerate(member.classes_.tolist()):
            shares[:, known.index(label)] = member.predict_proba(X)[:, k]
    else:
        for row, label in enumerate(member.predict(X).tolist()):
            shares[row, known.index(label)] = 1.0
    return shares


def bag_losses(model, X, numbers, *, left_out, soft=True):
    """The same for bagging, from estimators_, estimators_features_ and estimators_samples_."""
    found = [[None] * len(model.estimators_) for _ in numbers]
    samples = model.estimators_samples_ if left_out else [()] * len(model.estimators_)
    for t, (member, columns, rows) in enumerate(
        zip(model.estimators_, model.estimators_features_, samples, strict=True)
    ):
        shares = member_shares(member, X[:, columns], model.classes_)
        if not soft:
            predicted = member.predict(X[:, columns])
            shares = (model.classes_[np.newaxis] == predicted[:, np.newaxis]).astype(float)
        known = set(np.asarray(rows).tolist())
        for i, k in enumerate(numbers):
            if i not in known:
                found[i][t] = lost(shares[i], k)
    return found


def pair_sums(losses):
    """Sums (losses, products, counts, differences) over rows of losses."""
    n = len(losses[0])
    alone, products = [0] * n, [[0] * n for _ in range(n)]
    counts, differences = [[0] * n for _ in range(n)], [[0] * n for _ in range(n)]
    for row in losses:
        for i, mine in enumerate(row):
            if mine is None:
                continue
            alone[i] += mine
            for j, other in enumerate(row):
                if other is not None:
                    products[i][j] += mine * other
                    counts[i][j] += 1
                    differences[i][j] += mine * (STEPS - other) + other * (STEPS - mine)
    return alone, products, counts, differences


def means(sums, weights):
    """Weighted mean loss, joint loss and disagreement of voters."""
    alone, products, counts, differences = sums
    n = range(len(alone))
    gibbs = sum(weights[i] * alone[i] / STEPS / counts[i][i] for i in n)
    pairs = [(i, j) for i in n for j in n]
    tandem = sum(weights[i] * weights[j] * products[i][j] / STEPS**2 / counts[i][j] for i, j in pairs)
    differ = sum(weights[i] * weights[j] * differences[i][j] / STEPS**2 / counts[i][j] for i, j in pairs)
    return gibbs, tandem, differ
