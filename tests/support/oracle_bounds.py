"""Slow and plain: formulas with very many digits (mpmath), and labelings counted one by one."""

import itertools

import mpmath as mp
import numpy as np

DIGITS = 60


def kl(q, p):
    """kl(q||p) of two floats, with enough digits that 1 - 1e-300 is not 1."""
    with mp.workdps(720):
        q, p = mp.mpf(q), mp.mpf(p)
        if (p == 0 and q > 0) or (p == 1 and q < 1):
            return mp.inf
        one = q * mp.log(q / p) if q > 0 else mp.mpf(0)
        other = (1 - q) * mp.log((1 - q) / (1 - p)) if q < 1 else mp.mpf(0)
        return one + other


def at_most(k, n, p):
    """P[k or fewer successes of n], for a small k, or any k of a small n."""
    with mp.workdps(DIGITS):
        p = mp.mpf(p)
        ratio, term = p / (1 - p), mp.exp(n * mp.log1p(-p))
        total = term
        for i in range(k):
            term *= ratio * (n - i) / (i + 1)
            total += term
        return total


def moment_of_kl(n):
    """E exp(n kl(K/n||p)) for a binomial K: the same for all p, at most 2 sqrt(n) (Maurer 2004)."""
    with mp.workdps(DIGITS):
        return mp.fsum(
            mp.binomial(n, k) * mp.mpf(k) ** k * mp.mpf(n - k) ** (n - k) / mp.mpf(n) ** n
            for k in range(n + 1)
        )


def schapire(theta, votes, share, m, n_hypotheses, delta):
    with mp.workdps(DIGITS):
        theta, votes, delta = mp.mpf(theta), mp.mpf(votes), mp.mpf(delta)
        union = mp.log(votes) + 2 * mp.log(votes + 1) + votes * mp.log(n_hypotheses) - mp.log(delta)
        return share + 2 * mp.exp(-votes * theta**2 / 8) + mp.sqrt(union / (2 * m))


def gao_zhou(theta, share, m, n_hypotheses, delta):
    with mp.workdps(DIGITS):
        theta, share, m = mp.mpf(theta), mp.mpf(share), mp.mpf(m)
        size = mp.log(2 * n_hypotheses)
        mu = 8 / theta**2 * mp.log(m) * size + size - mp.log(mp.mpf(delta))
        return 2 / m + share + (7 * mu + 3 * mp.sqrt(2 * mu)) / (3 * m) + mp.sqrt(2 * mu * share / m)


# A labeling of m points is an integer: bit i is the label of point i.


def sides(X):
    """What the cuts of the columns send to the left, as integers; NaN, if any, to either side."""
    found = set()
    for column in np.asarray(X, float).T:
        absent = np.isnan(column)
        present = np.unique(column[~absent])
        for threshold in [-np.inf, *present]:
            left = (column <= threshold) & ~absent
            found |= {as_bits(left), as_bits(left | absent)}
    return found


def stump_labelings(X):
    everything = 2 ** len(X) - 1
    found = sides(X) | {0}
    return found | {everything ^ side for side in found}


def tree_labelings(X, n_leaves):
    """By all trees with at most this number of leaves."""
    left_sides = sides(X)
    memory = {}

    def of(rows, leaves):
        if (rows, leaves) not in memory:
            found = {0, rows}
            for side in left_sides:
                for few in range(1, leaves):
                    pairs = itertools.product(of(rows & side, few), of(rows & ~side, leaves - few))
                    found |= {one | other for one, other in pairs}
            memory[rows, leaves] = found
        return memory[rows, leaves]

    return of(2 ** len(X) - 1, n_leaves)


def as_bits(mask):
    return sum(1 << i for i, label in enumerate(mask) if label)


def orders(n_points, n_columns):
    """Every table of as many points in which no two values of a column are equal, up to naming the points."""
    ranks = [np.argsort(order) for order in itertools.permutations(range(n_points))]
    for others in itertools.combinations_with_replacement(ranks, n_columns - 1):
        yield np.column_stack([np.arange(n_points), *others])
