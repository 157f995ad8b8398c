"""Vote weights that lower what is proven: the tandem bound as an objective.

With T the mean joint loss of two voters drawn by the weights, KL their divergence from equal weights, and n
rows that both have not seen, for any 0 < l < 2 (Masegosa, Lorenzen, Igel and Seldin 2020):

    error of the vote <= 4 [ T / (1 - l/2) + (2 KL + ln(2 sqrt(n) / delta)) / (l (1 - l/2) n) ]

For fixed weights the best l is known; for fixed l the weights go downhill in T + 2 KL / (l n). Taking turns
lowers the bound at every turn. The weights that are found are then judged by the tighter form with kl.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.estimators.bagging import BaggingClassifier
from hedgerow.estimators.forest_base import ForestClassifier
from hedgerow.estimators.parameters import check_parameters, real
from hedgerow.kernels.cpu.elementary import log
from hedgerow.kernels.cpu.vote_weights import lower_votes
from hedgerow.theory.fresh import refuse_seen
from hedgerow.theory.vote_bounds import tandem_bound

_TURNS = 50
_STEPS = 500  # of a descent
_TOLERANCE = 1e-9


def divergence(weights: Floats) -> float:
    """KL of weights of sum 1 from equal ones.

    >>> divergence(np.array([0.25, 0.25, 0.25, 0.25])), round(divergence(np.array([1.0, 0.0])), 4)
    (0.0, 0.6931)
    """
    n = len(weights)
    return max(0.0, math.fsum(w * float(log(w * n)) for w in weights.tolist() if w > 0))


def best_weights(losses: PairLosses, delta: float) -> Floats:
    """Weights (voters,) of sum 1 with the lowest tandem bound that is found, starting from equal ones.

    Equal ones if none is found below 1: where nothing is proven, there is no reason to leave them.
    """
    n, n_voters = losses.n_pairs, losses.n_voters
    matrix = np.ascontiguousarray(losses.tandem_losses)
    weights = best = equal = np.full(n_voters, 1.0 / n_voters)
    lowest = math.inf
    complexity = float(log(2.0 * math.sqrt(n) / delta))
    for _ in range(_TURNS):
        tandem, cost = losses.tandem(weights), 2.0 * divergence(weights) + complexity
        balance = 2.0 / (math.sqrt(2.0 * n * tandem / cost + 1.0) + 1.0)
        value = (tandem + cost / (balance * n)) / (1.0 - balance / 2.0)
        if value >= lowest * (1.0 - _TOLERANCE):
            break
        lowest, best = value, weights
        weights = weights.copy()
        lower_votes(matrix, 2.0 / (balance * n), weights, _STEPS, _TOLERANCE)
        weights /= math.fsum(weights)
    found = tandem_bound(losses.tandem(best), n, divergence(best), delta)
    return best if found < tandem_bound(losses.tandem(equal), n, 0.0, delta) else equal


def optimize_votes(model: Any, X: Any = None, y: Any = None, *, delta: float = 0.05) -> Any:
    """A copy of a forest or bag whose members vote with the weights that lower the tandem bound.

    Parameters
    ----------
    model : RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier
        Fitted; with ``oob_score=True`` unless rows are given. It is not changed.
    X, y : rows and labels that the model has not seen, optional
        Without them the losses of the members on the rows left out of their bags decide.
    delta : float
        The probability that the bound may fail.

    Returns
    -------
    model
        The same members with other weights, see its `estimator_weights_`. `certify` takes into account that
        the weights were chosen by looking at the rows. Attributes that describe the equal vote, such as
        `oob_score_`, are gone.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from hedgerow import RandomForestClassifier
    >>> from hedgerow.theory import certify
    >>> X, y = make_classification(4000, 10, n_informative=5, random_state=0)
    >>> forest = RandomForestClassifier(max_features=1, oob_score=True, random_state=0).fit(X, y)
    >>> tuned = optimize_votes(forest)
    >>> certify(tuned)["out-of-bag tandem"].value < certify(forest)["out-of-bag tandem"].value
    True
    """
    check_parameters({"delta": delta}, {"delta": real(0, 1, above=True, below=True)})
    name = type(model).__name__
    if not isinstance(model, ForestClassifier | BaggingClassifier):
        raise TypeError(
            f"model is a {name}: it must be a RandomForestClassifier, an ExtraTreesClassifier or a "
            "BaggingClassifier"
        )
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both or neither")
    if X is not None:
        refuse_seen(model, X, _num_samples(X))
    losses = _out_of_bag(model) if X is None else model.vote_losses(X, y)
    if losses.n_pairs < 1:
        raise ValueError("there are two members that no row is new to: more rows are needed")
    tuned = model.reweighted(best_weights(losses, delta))
    if X is not None:
        tuned.vote_losses_ = losses
        hashes = model.row_hashes(X)  # these rows influence the model, too
        tuned.row_fingerprints_ = model.row_fingerprints_.with_hashes(hashes)
    return tuned


def _out_of_bag(model: Any) -> PairLosses:
    losses: PairLosses | None = getattr(model, "oob_losses_", None)
    if losses is None:
        raise ValueError(
            f"this {type(model).__name__} has no out-of-bag losses: fit it with oob_score=True, or give X "
            "and y that it has not seen"
        )
    if losses.doubts:
        raise ValueError(f"its out-of-bag losses are no guide: {losses.doubts[0]}; give X and y")
    return losses
