"""Evidence: bounds that may apply to a model, before delta is shared among them.

Four sources: the class of hypotheses, the margins of the training rows, votes on rows that the voters have
not seen, and rows held out. Each tells the bounds it can compute and, for those it cannot, why.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.estimators.adaboost_base import AdaBoostClassifierBase
from hedgerow.estimators.bagging import BaggingClassifier
from hedgerow.estimators.forest_base import ForestClassifier
from hedgerow.estimators.hypothesis_class import HypothesisClass
from hedgerow.theory import class_bounds, growth, vote_bounds
from hedgerow.theory.certificate import Unmet
from hedgerow.theory.deviations import holdout_bound
from hedgerow.theory.fresh import SURELY
from hedgerow.theory.margin_bounds import gao_zhou_bound, schapire_bound
from hedgerow.theory.optimize import divergence

Computed = tuple[float, str]  # the bound, and what it was computed from

CLASS = ("VC dimension", "growth function", "count of labelings")
MARGINS = ("margins (Schapire 1998)", "margins (Gao and Zhou 2013)")
HOLD_OUT = "hold-out"
VOTES = ("first order", "tandem", "C-bound", "Chebyshev-Cantelli")

_BEFOREHAND = "the learner and the most rounds were chosen before the training rows were seen"
_EDGES = "bin_edges were chosen before the training rows were seen"
_LEFT_OUT = "the parameters were chosen without the training rows"
_CALIBRATED = "nothing but the weights of the votes was chosen with the calibration rows"
_NEW = "nothing about the model was chosen with the rows held out"
_FOUND_EDGES = (
    "if the bin edges count as fixed beforehand: they were taken from the values of all rows, though not "
    "from their labels"
)

_SECONDARY = "if the constants of the theorem are right: they were taken from papers that cite it"


@dataclass(frozen=True)
class Candidate:
    """A bound that applies.

    Parameters
    ----------
    name, conditions, proviso : str
        As in `Bound`.
    n : int
    compute : callable
        From a share of delta to the bound and what it was computed from.
    least : callable or None
        From a share of delta to the smallest value that any sample of this size could give.
    """

    name: str
    n: int
    conditions: str
    compute: Callable[[float], Computed]
    least: Callable[[float], float] | None = None
    proviso: str = ""

    def is_hopeless(self, delta: float) -> bool:
        """Whether no sample of this size could give less than 1: it then needs no share of delta."""
        return self.least is not None and self.least(delta) >= 1.0


@dataclass
class Evidence:
    """Bounds that apply, and those that do not with the reason.

    `n_spare` counts those that have a share of delta though they do not apply: that they do not was seen only
    by looking at the rows, on which shares must not depend.
    """

    candidates: list[Candidate]
    unmet: list[Unmet]
    n_spare: int = 0

    @classmethod
    def none(cls, names: tuple[str, ...], reason: str) -> "Evidence":
        """Nothing, for one reason."""
        return cls([], [Unmet(name, reason) for name in names])

    def __add__(self, other: "Evidence") -> "Evidence":
        spare = self.n_spare + other.n_spare
        return Evidence(self.candidates + other.candidates, self.unmet + other.unmet, spare)


# --- from the class, and from margins


def hypothesis_class_of(model: Any) -> HypothesisClass | str:
    """The class that members were chosen from, or why class and margins say nothing."""
    if not isinstance(model, AdaBoostClassifierBase):
        return f"it is for weighted votes of weak hypotheses, as AdaBoost makes them, not {_kind(model)}"
    if len(model.classes_) != 2:
        return f"it is for two classes, and there are {len(model.classes_)}"
    if model.row_fingerprints_.weighted:
        return "the training rows had sample weights, and it counts all rows alike"
    try:
        return model.hypothesis_class_
    except TypeError as error:
        return str(error)


def from_class(model: Any) -> Evidence:
    """Bounds that hold for every vote of the class, whatever the algorithm does."""
    weak = hypothesis_class_of(model)
    if isinstance(weak, str):
        return Evidence.none(CLASS, weak)
    m, most_rounds = len(model.training_margins_), max(3, model.most_rounds_)
    wrong = float(np.mean(model.training_margins_ <= 0.0))
    columns, leaves = weak.n_columns, weak.n_leaves
    if weak.is_stumps:
        d = max(3, growth.stump_vc_dimension(columns, missing=True))
    else:
        d = max(3, growth.tree_vc_dimension(columns, leaves, missing=True))
    size = growth.boosted_vc_dimension(most_rounds, d)
    forms: tuple[Callable[[float], float], ...] = (
        lambda delta: float(class_bounds.vc_bound(m, size, delta)),
        lambda delta: float(class_bounds.growth_bound(m, d, most_rounds, delta)),
        lambda delta: float(
            class_bounds.stump_bound(m, columns, most_rounds, delta, missing=True)
            if weak.is_stumps
            else class_bounds.tree_bound(m, columns, leaves, most_rounds, delta, missing=True)
        ),
    )
    of_what = "stumps" if weak.is_stumps else f"trees of up to {leaves} leaves"
    words = f"training error {wrong:.4f}, {most_rounds} {of_what} in {columns} columns"
    found = [
        Candidate(name, m, _BEFOREHAND, partial(_with_training_error, form, wrong, words), form)
        for name, form in zip(CLASS, forms, strict=True)
    ]
    unmet = []
    if 2 * m < size:
        found.pop(0)
        unmet.append(Unmet(CLASS[0], f"it needs 2 m >= D, and D is {size:,.0f} for {m:,} rows"))
    return Evidence(found, unmet)


def _with_training_error(form: Callable[[float], float], wrong: float, words: str, delta: float) -> Computed:
    return wrong + form(delta), words


def from_margins(model: Any) -> Evidence:
    """Bounds that hold for every vote of a finite class, by how clear the vote is."""
    weak = hypothesis_class_of(model)
    if isinstance(weak, str):
        return Evidence.none(MARGINS, weak)
    if reason := why_not_fixed(model, weak):
        return Evidence.none(MARGINS, reason)
    margins, size = model.training_margins_, weak.size
    found, unmet = [], []
    for name, bound in zip(MARGINS, (schapire_bound, gao_zhou_bound), strict=True):
        if len(margins) < 5:
            unmet.append(Unmet(name, f"it needs 5 rows, and there are {len(margins)}"))
            continue

        def compute(delta: float, bound: Callable[..., Any] = bound) -> Computed:
            result = bound(margins, size, delta)
            below = float(np.mean(margins < result.theta))
            words = (
                f"{below:.4f} of the rows have a margin below {result.theta:.3f}; {_large(size)} hypotheses"
            )
            return float(result.value), words

        # as if every margin were 1
        least = partial(lambda bound, delta: float(bound(np.ones(len(margins)), size, delta).value), bound)
        proviso = _SECONDARY if bound is gao_zhou_bound else ""
        found.append(Candidate(name, len(margins), _EDGES, compute, least, proviso))
    return Evidence(found, unmet)


def why_not_fixed(model: Any, weak: HypothesisClass) -> str:
    """Why a class was not fixed before the training rows were seen; empty if it was."""
    if weak.n_edges is None:
        return "stumps and trees must cut at values fixed beforehand: give the learner bin_edges"
    if _found_on_training_rows(model):
        return "the bin_edges were found on rows that the model was then fitted to"
    return ""


def _found_on_training_rows(model: Any) -> bool:
    """Whether the bin_edges, of the model or of its members, come from rows it was then fitted to."""
    hashes = model.grid_hashes_
    return hashes is not None and model.row_fingerprints_.chance_of_overlap(hashes) < SURELY


def _kind(model: Any) -> str:
    name = type(model).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"10^{math.log10(number):.0f}"


# --- from votes


def from_out_of_bag(model: Any) -> Evidence:
    """Bounds from what members lose on the rows left out of their bags."""
    names = tuple(f"out-of-bag {name}" for name in VOTES)
    if not isinstance(model, ForestClassifier | BaggingClassifier):
        reason = f"it is for our bags and forests, whose members do not know all rows, not {_kind(model)}"
        return Evidence.none(("out-of-bag votes",), reason)
    losses: PairLosses | None = getattr(model, "oob_losses_", None)
    if losses is None:
        return Evidence.none(("out-of-bag votes",), "the model was not fitted with oob_score=True")
    if losses.doubts:
        return Evidence.none(names, "; ".join(losses.doubts))
    found_edges = isinstance(model, ForestClassifier) and not model.model_.bins.user_defined.all()
    found_edges = found_edges or _found_on_training_rows(model)
    proviso = _FOUND_EDGES if found_edges else ""
    return _from_votes("out-of-bag", losses, model.estimator_weights_, _LEFT_OUT, proviso)


def from_calibration(model: Any) -> Evidence:
    """Bounds from the rows that the weights of votes were chosen with."""
    losses: PairLosses | None = getattr(model, "vote_losses_", None)
    if losses is None:
        return Evidence([], [])
    return _from_votes("calibration", losses, model.estimator_weights_, _CALIBRATED)


def _from_votes(
    where: str,
    losses: PairLosses,
    weights: Floats,
    conditions: str,
    proviso: str = "",
    *,
    chosen: bool = True,
) -> Evidence:
    """Chosen : whether the weights may have been chosen with these rows, which costs their divergence."""
    names = tuple(f"{where} {name}" for name in VOTES)
    n, pairs, kl = losses.n, losses.n_pairs, divergence(weights) if chosen else 0.0
    if n < 1:
        return Evidence.none(names, "a voter has learned from every row")
    gibbs, tandem = losses.gibbs(weights), losses.tandem(weights)
    cost = f", KL {kl:.3g}" if kl else ""
    single, joint = f"mean loss {gibbs:.4f}{cost}", f"joint loss {tandem:.4f}{cost}"

    def c_bound(delta: float) -> Computed:
        differ = losses.disagreement(weights)
        bound = vote_bounds.c_bound(gibbs, differ, n, pairs, kl, delta)
        return bound, f"mean loss {gibbs:.4f}, disagreement {differ:.4f}{cost}"

    forms: tuple[tuple[int, Callable[[float], Computed]], ...] = (
        (n, lambda delta: (vote_bounds.first_order_bound(gibbs, n, kl, delta), single)),
        (pairs, lambda delta: (vote_bounds.tandem_bound(tandem, pairs, kl, delta), joint)),
        (pairs, c_bound),
        (
            pairs,
            lambda delta: (
                vote_bounds.chebyshev_cantelli_bound(gibbs, tandem, n, pairs, kl, delta),
                f"mean loss {gibbs:.4f}, {joint}",
            ),
        ),
    )
    found, unmet = [], []
    for name, (rows, form) in zip(names, forms, strict=True):
        if form is c_bound and losses.n_classes != 2:
            unmet.append(Unmet(name, f"it is for two classes, and there are {losses.n_classes}"))
        elif rows < 1:
            unmet.append(
                Unmet(name, f"of {losses.n_voters} voters, two have together learned from every row")
            )
        else:
            found.append(Candidate(name, rows, conditions, form, proviso=proviso))
    return Evidence(found, unmet, len(unmet))


# --- from rows held out


def from_rows(model: Any, X: Any, y: NDArray[Any]) -> Evidence:
    """Bounds from rows that the model has not seen."""
    classes, said = getattr(model, "classes_", None), y.tolist()
    if isinstance(classes, np.ndarray) and not set(classes.tolist()) & set(said):
        raise ValueError(f"y holds {said[0]!r}, and none of the classes {classes.tolist()} of the model")
    predicted = np.asarray(model.predict(X)).tolist()
    n, n_errors = len(said), sum(a != b for a, b in zip(predicted, said, strict=True))
    errors = "1 error" if n_errors == 1 else f"{n_errors:,} errors"
    words = f"{errors} in {n:,} rows ({n_errors / n:.4f})"
    held_out = Candidate(HOLD_OUT, n, _NEW, lambda delta: (holdout_bound(n_errors, n, delta), words))
    return Evidence([held_out], []) + _votes_on_rows(model, X, y)


def _votes_on_rows(model: Any, X: Any, y: NDArray[Any]) -> Evidence:
    if not hasattr(model, "vote_losses"):
        return Evidence([], [])
    unknown = set(y.tolist()) - set(model.classes_.tolist())
    if unknown:
        reason = f"y holds {min(unknown, key=str)!r}, which is no class of the model"
        unmet = [Unmet(f"{HOLD_OUT} {name}", reason) for name in VOTES]
        return Evidence([], unmet, len(unmet))
    try:
        losses = model.vote_losses(X, y)
    except TypeError as error:
        return Evidence.none(("hold-out votes",), str(error))
    alphas = np.asarray(model.estimator_weights_, np.float64)
    weights = alphas / math.fsum(alphas)
    return _from_votes(HOLD_OUT, losses, weights, _NEW, chosen=False)
