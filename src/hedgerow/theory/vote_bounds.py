"""Bounds on the error of a weighted vote from the losses of its members on rows they were not fitted to.

rho are the weights of the vote, with sum 1. Three means over the members describe it:

    gibbs         sum_i rho_i loss_i: the loss of one member drawn at random
    tandem        sum_ij rho_i rho_j mean(loss_i loss_j): the joint loss of two
    disagreement  sum_ij rho_i rho_j (fraction of rows where i and j differ), for two classes

each on rows to which none of these members was fitted (out-of-bag or hold-out rows). kl is
KL(rho||pi) = sum_i rho_i ln(rho_i / pi_i) for a prior pi that does not depend on these rows; 0 if rho is pi.
The weights may be chosen with these rows; kl is the cost of this choice. PAC-Bayes-kl (Seeger 2002, Maurer
2004), with probability 1 - delta for all rho at once:

    kl(mean on n rows||true mean) <= (KL(rho||pi) + ln(2 sqrt(n) / delta)) / n

It holds for losses in [0, 1], not only 0 and 1. So a mean of probabilities can be a vote too: the loss of a
member is (1 - p(label) + p(best other class)) / 2, which is 1 - p(label) for two classes, and a wrong vote
still means that the rho-mean W of the losses is at least 1/2, since another class got as much as the label.
What follows is about W alone: its mean is gibbs, its mean square is tandem, and

    first order         P[W >= 1/2] <= 2 E W                               (Markov)
    tandem              P[W >= 1/2] <= 4 E W^2                             (Masegosa et al. 2020)
    C-bound             P[W >= 1/2] <= 1 - (E M)^2 / E M^2, M = 1 - 2W     (Germain et al. 2015)
    Chebyshev-Cantelli  P[W >= 1/2] <= E (W - mu)^2 / (1/2 - mu)^2         (Wu et al. 2021)

where E M = 1 - 2 gibbs > 0, E M^2 = 1 - 2 disagreement, and mu is any number below 1/2.

In the parameters, n and n_pairs are the smallest numbers of such rows of any member and of any pair, and
delta is the probability that the bound does not hold. The means are from 0 to 1, and kl is at least 0.

The pairs have the prior pi x pi, hence 2 KL. Where two means are bounded, each has delta / 2; one event
bounds a mean from both sides. No event depends on mu, so all mu are allowed at no cost.

Voters may have different numbers n_i of unseen rows, pairs too. The smallest may stand for all of them: by
Jensen E exp(n_min kl_i) <= (E exp(n_i kl_i))^(n_min / n_i) <= (2 sqrt(n_i))^(n_min / n_i) <= 2 sqrt(n_min),
since ln(2 sqrt(n)) / n falls with n.
"""

import math
from typing import Any

from hedgerow._typing import Floats
from hedgerow.elementary import log
from hedgerow.estimators.parameters import Allowed, check_parameters, integer, number
from hedgerow.theory.deviations import kl_lower, kl_upper

_ROUNDING = 1e-9  # by how much a mean of losses may be outside [0, 1], and kl below 0
_MEAN = Allowed(number(-_ROUNDING, 1 + _ROUNDING).test, number(0, 1).description)
_ALLOWED = {
    "n": integer(1),
    "n_pairs": integer(1),
    "delta": number(0, 1, above=True, below=True),
    "gibbs": _MEAN,
    "tandem": _MEAN,
    "disagreement": _MEAN,
    "kl": Allowed(number(-_ROUNDING).test, number(0).description),
}


def first_order_bound(gibbs: float, n: int, kl: float, delta: float) -> float:
    """Return twice the upper bound on the mean loss of the members.

    Parameters
    ----------
    gibbs : float
        rho-mean of the losses of the members on rows they were not fitted to.
    n : int
        The smallest number of such rows of any member.
    kl : float
        KL(rho||pi) of the weights from the prior.
    delta : float
        Probability that the bound on the error of the vote does not hold.

    References
    ----------
    J. Langford, J. Shawe-Taylor, "PAC-Bayes and margins", NIPS 2002.
    A. Maurer, "A note on the PAC Bayesian theorem", 2004.

    Examples
    --------
    >>> round(first_order_bound(0.05, 10_000, 0.0, 0.05), 4)
    0.1188
    """
    _check(locals())
    return min(1.0, 2.0 * _interval(gibbs, n, kl, delta)[1])


def tandem_bound(tandem: float, n_pairs: int, kl: float, delta: float) -> float:
    """Return four times the upper bound on the mean joint loss of two members.

    Parameters
    ----------
    tandem : float
        rho x rho-mean of the product of the losses of two members on rows neither was fitted to.
    n_pairs : int
        The smallest number of such rows of any pair.
    kl, delta : float
        As in `first_order_bound`.

    References
    ----------
    A. R. Masegosa, S. S. Lorenzen, C. Igel, Y. Seldin, "Second order PAC-Bayesian bounds for the weighted
    majority vote", NeurIPS 2020.

    Examples
    --------
    >>> round(tandem_bound(0.01, 10_000, 0.0, 0.05), 4)
    0.0584
    """
    _check(locals())
    return min(1.0, 4.0 * _interval(tandem, n_pairs, 2.0 * kl, delta)[1])


def c_bound(gibbs: float, disagreement: float, n: int, n_pairs: int, kl: float, delta: float) -> float:
    """Return 1 - (1 - 2 G)^2 / (1 - 2 D), for two classes: disagreement lowers the bound.

    `disagreement` is the rho x rho-mean of the fraction of rows where the predictions of two members differ;
    for probabilities p of one class, of p_i (1 - p_j) + p_j (1 - p_i). The other parameters are those of
    `first_order_bound` and `tandem_bound`. The bound is 1 if the upper bound of G is not below 1/2, or if the
    two bounds contradict each other, (1 - 2 G)^2 > 1 - 2 D, which happens with probability delta at most.

    References
    ----------
    P. Germain, A. Lacasse, F. Laviolette, M. Marchand, J.-F. Roy, "Risk bounds for the majority vote: from a
    PAC-Bayesian analysis to a learning algorithm", JMLR 16, 2015.

    Examples
    --------
    >>> round(c_bound(0.2, 0.3, 10_000, 10_000, 0.0, 0.05), 4)
    0.2708
    """
    _check(locals())
    _, upper = _interval(gibbs, n, kl, delta / 2.0)
    lower, _ = _interval(disagreement, n_pairs, 2.0 * kl, delta / 2.0)
    mean, square = 1.0 - 2.0 * upper, 1.0 - 2.0 * lower
    if mean <= 0.0 or mean * mean > square:
        return 1.0
    return 1.0 - mean * mean / square


def chebyshev_cantelli_bound(
    gibbs: float, tandem: float, n: int, n_pairs: int, kl: float, delta: float
) -> float:
    """Return the minimum of (T - 2 mu G + mu^2) / (1/2 - mu)^2 over mu < 1/2.

    T is an upper bound of the joint loss, and G a lower bound of the mean loss for mu > 0 and an upper bound
    for mu < 0. With mu = 0 it is the tandem bound at delta / 2. For G < 1/2 it falls up to
    mu = (G/2 - T) / (1/2 - G) and then rises; for other G it is smallest at an end.

    The bound is 1 if the two bounds contradict each other, T < G^2, which happens with probability delta at
    most. The parameters are those of `first_order_bound` and `tandem_bound`.

    References
    ----------
    Y.-S. Wu, A. Masegosa, S. Lorenzen, C. Igel, Y. Seldin, "Chebyshev-Cantelli PAC-Bayes-Bennett inequality
    for the weighted majority vote", NeurIPS 2021.

    Examples
    --------
    >>> round(chebyshev_cantelli_bound(0.2, 0.05, 10_000, 10_000, 0.0, 0.05), 4)
    0.2069
    """
    _check(locals())
    _, joint = _interval(tandem, n_pairs, 2.0 * kl, delta / 2.0)
    lower, upper = _interval(gibbs, n, kl, delta / 2.0)
    if joint < lower * lower:
        return 1.0
    values = [1.0, 4.0 * joint]  # mu -> -infinity, and mu = 0
    for mean, sign in ((lower, 1.0), (upper, -1.0)):
        mu = (mean / 2.0 - joint) / (0.5 - mean) if mean < 0.5 else 0.0
        if sign * mu > 0.0 and mu < 0.5:
            values.append((joint - 2.0 * mu * mean + mu * mu) / (0.5 - mu) ** 2)
    return min(values)


def divergence(weights: Floats) -> float:
    """Return the KL divergence of weights with sum 1 from equal weights.

    >>> import numpy as np
    >>> divergence(np.array([0.25, 0.25, 0.25, 0.25])), round(divergence(np.array([1.0, 0.0])), 4)
    (0.0, 0.6931)
    """
    n = len(weights)
    return max(0.0, math.fsum(w * float(log(w * n)) for w in weights.tolist() if w > 0))


def _interval(mean: float, n: int, kl: float, delta: float) -> tuple[float, float]:
    """Return the ends of the PAC-Bayes-kl interval of a true mean; rounding may be outside the range."""
    q = min(max(float(mean), 0.0), 1.0)
    allowance = (max(float(kl), 0.0) + log(2.0 * math.sqrt(n)) - log(delta)) / n
    return float(kl_lower(q, allowance)), float(kl_upper(q, allowance))


def _check(values: dict[str, Any]) -> None:
    check_parameters(values, {name: _ALLOWED[name] for name in values})
