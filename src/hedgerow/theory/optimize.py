"""Vote weights that minimise the tandem bound.

Let T be the mean joint loss of two members drawn by the weights, KL the divergence from equal weights, and n
the number of rows to which neither was fitted. For any 0 < l < 2 (Masegosa, Lorenzen, Igel and Seldin 2020):

    error of the vote <= 4 [ T / (1 - l/2) + (2 KL + ln(2 sqrt(n) / delta)) / (l (1 - l/2) n) ]

For fixed weights the optimal l is known; for fixed l the weights descend T + 2 KL / (l n). The two steps
alternate, and each lowers the bound. The resulting weights are evaluated with the tighter bound, by kl.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.estimators.bagging import BaggingClassifier
from hedgerow.estimators.forest_base import ForestClassifier
from hedgerow.estimators.parameters import check_parameters, number
from hedgerow.kernels.cpu.elementary import log
from hedgerow.kernels.cpu.vote_weights import minimize_objective
from hedgerow.theory.applicable_bounds import refuse_training_rows
from hedgerow.theory.vote_bounds import divergence, tandem_bound

_MAX_TURNS = 50
_MAX_STEPS = 500  # of a descent
_TOLERANCE = 1e-9


def best_weights(losses: PairLosses, delta: float) -> Floats:
    """Return weights (members,) with sum 1 and the lowest tandem bound of a descent from equal weights.

    The weights are equal if the bound of equal weights is not larger.
    """
    n, n_voters = losses.n_pairs, losses.n_voters
    matrix = np.ascontiguousarray(losses.tandem_losses)
    weights = best = equal = np.full(n_voters, 1.0 / n_voters)
    lowest = math.inf
    complexity = float(log(2.0 * math.sqrt(n) / delta))
    for _ in range(_MAX_TURNS):
        tandem, cost = losses.tandem(weights), 2.0 * divergence(weights) + complexity
        balance = 2.0 / (math.sqrt(2.0 * n * tandem / cost + 1.0) + 1.0)
        value = (tandem + cost / (balance * n)) / (1.0 - balance / 2.0)
        if value >= lowest * (1.0 - _TOLERANCE):
            break
        lowest, best = value, weights
        weights = weights.copy()
        minimize_objective(matrix, 2.0 / (balance * n), weights, _MAX_STEPS, _TOLERANCE)
        weights /= math.fsum(weights)
    bound = tandem_bound(losses.tandem(best), n, divergence(best), delta)
    return best if bound < tandem_bound(losses.tandem(equal), n, 0.0, delta) else equal


def optimize_votes(model: Any, X: Any = None, y: Any = None, *, delta: float = 0.05) -> Any:
    """Return a copy of a forest or bagging ensemble with vote weights that minimise the tandem bound.

    Parameters
    ----------
    model : RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier
        Fitted; with ``oob_score=True`` unless rows are passed. It is not changed.
    X, y : rows and labels that the model was not fitted to, optional
        By default the out-of-bag losses of the members are used.
    delta : float
        Probability that the bound does not hold.

    Returns
    -------
    model
        The same members with other weights, see its `estimator_weights_`. `certify` takes into account that
        the weights were chosen with these rows. Attributes that describe the vote with equal weights, such as
        `oob_score_`, are removed.

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
    check_parameters({"delta": delta}, {"delta": number(0, 1, above=True, below=True)})
    name = type(model).__name__
    if not isinstance(model, ForestClassifier | BaggingClassifier):
        raise TypeError(
            "model must be a RandomForestClassifier, an ExtraTreesClassifier or a BaggingClassifier; got "
            f"{name}"
        )
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y must be passed together; got only one of them")
    hashes = None
    if X is not None:
        _, hashes = refuse_training_rows(model, X, _num_samples(X))
    losses = _out_of_bag(model) if X is None else model.vote_losses(X, y)
    if losses.n_pairs < 1:
        raise ValueError("for two members there is no row to which neither was fitted; more rows are needed")
    tuned = model.reweighted(best_weights(losses, delta))
    if X is not None:
        tuned.vote_losses_ = losses
        if hashes is not None:  # these rows influence the model
            tuned.row_fingerprints_ = model.row_fingerprints_.with_hashes(hashes)
    return tuned


def _out_of_bag(model: Any) -> PairLosses:
    losses: PairLosses | None = getattr(model, "oob_losses_", None)
    if losses is None:
        raise ValueError(
            f"this {type(model).__name__} has no out-of-bag losses: fit it with oob_score=True, or pass "
            "hold-out rows X, y"
        )
    if losses.caveats:
        raise ValueError(f"the out-of-bag losses cannot be used: {losses.caveats[0]}; pass X and y")
    return losses
