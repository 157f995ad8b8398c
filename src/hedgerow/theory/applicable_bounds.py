"""The bounds that apply to a model, before delta is divided among them.

There are four sources of bounds: the hypothesis class, the margins of the training rows, the votes of members
on rows they were not fitted to, and hold-out rows. Each source returns an `ApplicableBound` for every bound
that it can compute, and an `InapplicableBound` with the reason for every other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.boosting.adaboost_models import HypothesisClass
from hedgerow.distributions import log_integer
from hedgerow.estimators.adaboost_base import AdaBoostClassifierBase
from hedgerow.estimators.bagging import BaggingClassifier
from hedgerow.estimators.fingerprints import RowFingerprints, RowHashes
from hedgerow.estimators.forest_base import ForestClassifier
from hedgerow.theory import class_bounds, growth, vote_bounds
from hedgerow.theory.certificate import HOLD_OUT, InapplicableBound
from hedgerow.theory.deviations import holdout_bound
from hedgerow.theory.margin_bounds import gao_zhou_bound, schapire_bound
from hedgerow.theory.vote_bounds import divergence

Computed = tuple[float, str]  # the bound, and the quantities it was computed from as text

CLASS = ("VC dimension", "growth function", "count of labelings")
MARGINS = ("margins (Schapire 1998)", "margins (Gao and Zhou 2013)")
VOTES = ("first order", "tandem", "C-bound", "Chebyshev-Cantelli")

_MAX_CHANCE = 1e-4  # rows whose overlap with the training rows is less probable are training rows

# Conditions and provisos, as they are printed.
_CLASS_FIXED = "the learner and the maximum number of rounds were chosen without the training rows"
_EDGES_FIXED = "bin_edges were chosen without the training rows"
_PARAMETERS_FIXED = "the parameters were chosen without the training rows"
_ONLY_WEIGHTS = "only the weights of the votes were chosen with the calibration rows"
_ROWS_ARE_NEW = "nothing about the model was chosen with the hold-out rows"
_EDGES_FROM_ROWS = (
    "if the bin edges count as fixed in advance: they were computed from the values, not the labels, of all "
    "rows"
)
_CITED_CONSTANTS = "if the constants of the theorem are right: they were taken from papers that cite it"


@dataclass(frozen=True)
class ApplicableBound:
    """A bound whose conditions can hold for a model, as functions of its share of delta."""

    name: str
    n: int  # rows
    conditions: str
    compute: Callable[[float], Computed]
    minimum: Callable[[float], float] | None = None  # the smallest value over all samples of this size
    proviso: str = ""

    def is_always_vacuous(self, delta: float) -> bool:
        """Return whether the bound is at least 1 for all samples of this size: it needs no share of delta."""
        return self.minimum is not None and self.minimum(delta) >= 1.0


@dataclass
class BoundList:
    """Bounds that apply, and bounds that do not with the reason.

    `n_reserved` counts inapplicable bounds that keep their share of delta, because it depends on the rows
    that they do not apply. The shares must not depend on the rows.
    """

    applicable: list[ApplicableBound]
    inapplicable: list[InapplicableBound]
    n_reserved: int = 0

    @classmethod
    def none(cls, names: tuple[str, ...], reason: str) -> "BoundList":
        """Return a list without applicable bounds."""
        return cls([], [InapplicableBound(name, reason) for name in names])

    def __add__(self, other: "BoundList") -> "BoundList":
        return BoundList(
            self.applicable + other.applicable,
            self.inapplicable + other.inapplicable,
            self.n_reserved + other.n_reserved,
        )


# --- hypothesis class and margins


def hypothesis_class_of(model: Any) -> HypothesisClass | str:
    """Return the class of the members, or the reason why class and margin bounds do not apply."""
    if not isinstance(model, AdaBoostClassifierBase):
        return f"requires a weighted vote of weak hypotheses, such as AdaBoost, not {_kind(model)}"
    if len(model.classes_) != 2:
        return f"requires two classes; the model has {len(model.classes_)}"
    if model.row_fingerprints_.weighted:
        return "requires equal weights; the training rows had different sample weights"
    try:
        return model.hypothesis_class_
    except TypeError as error:
        return str(error)


def bounds_from_class(model: Any) -> BoundList:
    """Return bounds that hold for every vote of the class, for any learning algorithm."""
    weak = hypothesis_class_of(model)
    if isinstance(weak, str):
        return BoundList.none(CLASS, weak)
    m, max_rounds = len(model.training_margins_), max(3, model._max_rounds)  # noqa: SLF001
    training_error = float(np.mean(model.training_margins_ <= 0.0))
    columns, leaves = weak.n_columns, weak.n_leaves
    if weak.is_stumps:
        d = max(3, growth.stump_vc_dimension(columns, missing=True))
    else:
        d = max(3, growth.tree_vc_dimension(columns, leaves, missing=True))
    size = growth.boosted_vc_dimension(max_rounds, d)
    deviations: tuple[Callable[[float], float], ...] = (
        lambda delta: float(class_bounds.vc_bound(m, size, delta)),
        lambda delta: float(class_bounds.growth_bound(m, d, max_rounds, delta)),
        lambda delta: float(
            class_bounds.stump_bound(m, columns, max_rounds, delta, missing=True)
            if weak.is_stumps
            else class_bounds.tree_bound(m, columns, leaves, max_rounds, delta, missing=True)
        ),
    )
    members = "stumps" if weak.is_stumps else f"trees of up to {leaves} leaves"
    text = f"training error {training_error:.4f}, {max_rounds} {members} in {columns} columns"

    def compute(deviation: Callable[[float], float], delta: float) -> Computed:
        return training_error + deviation(delta), text

    bounds = [
        ApplicableBound(name, m, _CLASS_FIXED, partial(compute, deviation), deviation)
        for name, deviation in zip(CLASS, deviations, strict=True)
    ]
    inapplicable = []
    if 2 * m < size:
        bounds.pop(0)
        reason = f"requires 2 m >= D; the VC dimension D is {size:,.0f} and m is {m:,} rows"
        inapplicable.append(InapplicableBound(CLASS[0], reason))
    return BoundList(bounds, inapplicable)


def bounds_from_margins(model: Any) -> BoundList:
    """Return bounds that hold for every vote of a finite class, from the margins of the training rows."""
    weak = hypothesis_class_of(model)
    if isinstance(weak, str):
        return BoundList.none(MARGINS, weak)
    if reason := why_not_fixed(model, weak):
        return BoundList.none(MARGINS, reason)
    margins, size = model.training_margins_, weak.size
    if len(margins) < 5:
        return BoundList.none(MARGINS, f"requires 5 rows; there are {len(margins)}")

    def compute(bound: Callable[..., Any], delta: float) -> Computed:
        result = bound(margins, size, delta)
        below = float(np.mean(margins < result.theta))
        text = f"{below:.4f} of the rows have a margin below {result.theta:.3f}; {_large(size)} hypotheses"
        return float(result.value), text

    def minimum(bound: Callable[..., Any], delta: float) -> float:
        return float(bound(np.ones(len(margins)), size, delta).value)  # the largest possible margins

    bounds = []
    for name, bound, proviso in zip(
        MARGINS, (schapire_bound, gao_zhou_bound), ("", _CITED_CONSTANTS), strict=True
    ):
        functions = partial(compute, bound), partial(minimum, bound)
        bounds.append(ApplicableBound(name, len(margins), _EDGES_FIXED, *functions, proviso))
    return BoundList(bounds, [])


def why_not_fixed(model: Any, weak: HypothesisClass) -> str:
    """Return the reason why a class depends on the training rows; empty if it does not."""
    if weak.n_edges is None:
        return "requires fixed thresholds of stumps and trees: pass bin_edges to the learner"
    if _edges_from_training_rows(model):
        return "requires fixed thresholds; the bin_edges were computed from rows that the model was fitted to"
    return ""


def _edges_from_training_rows(model: Any) -> bool:
    """Return whether bin_edges, of the model or of its members, were computed from its training rows."""
    hashes = model.grid_hashes_
    return hashes is not None and model.row_fingerprints_.chance_of_overlap(hashes) < _MAX_CHANCE


def _kind(model: Any) -> str:
    name = type(model).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"10^{log_integer(number) / log_integer(10):.0f}"


# --- votes


def bounds_from_out_of_bag(model: Any) -> BoundList:
    """Return bounds from the losses of the members on their out-of-bag rows."""
    names = tuple(f"out-of-bag {name}" for name in VOTES)
    if not isinstance(model, ForestClassifier | BaggingClassifier):
        reason = f"requires a bagging ensemble or a forest of hedgerow, not {_kind(model)}"
        return BoundList.none(("out-of-bag votes",), reason)
    losses: PairLosses | None = getattr(model, "oob_losses_", None)
    if losses is None:
        return BoundList.none(("out-of-bag votes",), "the model was not fitted with oob_score=True")
    if losses.caveats:
        return BoundList.none(names, "; ".join(losses.caveats))
    edges_from_rows = isinstance(model, ForestClassifier) and not model.model_.bins.user_defined.all()
    edges_from_rows = edges_from_rows or _edges_from_training_rows(model)
    proviso = _EDGES_FROM_ROWS if edges_from_rows else ""
    return _bounds_from_votes("out-of-bag", losses, model.estimator_weights_, _PARAMETERS_FIXED, proviso)


def bounds_from_calibration(model: Any) -> BoundList:
    """Return bounds from the rows on which `optimize_votes` chose the weights of the votes."""
    losses: PairLosses | None = getattr(model, "vote_losses_", None)
    if losses is None:
        return BoundList([], [])
    return _bounds_from_votes("calibration", losses, model.estimator_weights_, _ONLY_WEIGHTS)


def _bounds_from_votes(
    source: str,
    losses: PairLosses,
    weights: Floats,
    conditions: str,
    proviso: str = "",
    *,
    weights_fixed: bool = False,
) -> BoundList:
    """Return the bounds of a vote.

    Unless `weights_fixed`, the weights may have been chosen with these rows, which costs their divergence.
    """
    names = tuple(f"{source} {name}" for name in VOTES)
    n, pairs, kl = losses.n, losses.n_pairs, 0.0 if weights_fixed else divergence(weights)
    if n < 1:
        return BoundList.none(names, "a member was fitted to every row")
    gibbs, tandem = losses.gibbs(weights), losses.tandem(weights)
    cost = f", KL {kl:.3g}" if kl else ""
    joint = f"joint loss {tandem:.4f}{cost}"

    def first_order(delta: float) -> Computed:
        return vote_bounds.first_order_bound(gibbs, n, kl, delta), f"mean loss {gibbs:.4f}{cost}"

    def second_order(delta: float) -> Computed:
        return vote_bounds.tandem_bound(tandem, pairs, kl, delta), joint

    def c_bound(delta: float) -> Computed:
        disagreement = losses.disagreement(weights)
        bound = vote_bounds.c_bound(gibbs, disagreement, n, pairs, kl, delta)
        return bound, f"mean loss {gibbs:.4f}, disagreement {disagreement:.4f}{cost}"

    def cantelli(delta: float) -> Computed:
        bound = vote_bounds.chebyshev_cantelli_bound(gibbs, tandem, n, pairs, kl, delta)
        return bound, f"mean loss {gibbs:.4f}, {joint}"

    forms = ((n, first_order), (pairs, second_order), (pairs, c_bound), (pairs, cantelli))
    bounds, inapplicable = [], []
    for name, (rows, form) in zip(names, forms, strict=True):
        if form is c_bound and losses.n_classes != 2:
            reason = f"requires two classes; the model has {losses.n_classes}"
            inapplicable.append(InapplicableBound(name, reason))
        elif rows < 1:
            reason = f"for two of the {losses.n_voters} members there is no row to which neither was fitted"
            inapplicable.append(InapplicableBound(name, reason))
        else:
            bounds.append(ApplicableBound(name, rows, conditions, form, proviso=proviso))
    return BoundList(bounds, inapplicable, len(inapplicable))


# --- hold-out rows


def bounds_from_holdout(model: Any, X: Any, y: NDArray[Any]) -> BoundList:
    """Return bounds from rows that the model was not fitted to."""
    classes, labels = getattr(model, "classes_", None), y.tolist()
    if isinstance(classes, np.ndarray) and not set(classes.tolist()) & set(labels):
        raise ValueError(f"y has none of the classes {classes.tolist()} of the model; y[0] is {labels[0]!r}")
    predicted = np.asarray(model.predict(X)).tolist()
    n, n_errors = len(labels), sum(a != b for a, b in zip(predicted, labels, strict=True))
    errors = "1 error" if n_errors == 1 else f"{n_errors:,} errors"
    text = f"{errors} in {n:,} rows ({n_errors / n:.4f})"
    bound = ApplicableBound(
        HOLD_OUT, n, _ROWS_ARE_NEW, lambda delta: (holdout_bound(n_errors, n, delta), text)
    )
    return BoundList([bound], []) + _votes_on_holdout(model, X, y)


def _votes_on_holdout(model: Any, X: Any, y: NDArray[Any]) -> BoundList:
    if not hasattr(model, "vote_losses"):
        return BoundList([], [])
    unknown = set(y.tolist()) - set(model.classes_.tolist())
    if unknown:
        reason = f"y has the label {min(unknown, key=str)!r}, which is not a class of the model"
        inapplicable = [InapplicableBound(f"{HOLD_OUT} {name}", reason) for name in VOTES]
        return BoundList([], inapplicable, len(inapplicable))
    try:
        losses = model.vote_losses(X, y)
    except TypeError as error:
        return BoundList.none(("hold-out votes",), str(error))
    alphas = np.asarray(model.estimator_weights_, np.float64)
    weights = alphas / math.fsum(alphas)
    return _bounds_from_votes(HOLD_OUT, losses, weights, _ROWS_ARE_NEW, weights_fixed=True)


def refuse_training_rows(model: Any, X: Any, n: int) -> tuple[list[str], RowHashes | None]:
    """Raise ValueError if X has rows of the fit; return notes on X, and the hashes of its rows.

    New rows may equal training rows by chance if the columns have few values. For searches and pipelines, the
    fingerprints of the final model are used. Models without fingerprints cannot be checked.
    """
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if isinstance(model, Pipeline):
        return refuse_training_rows(model[-1], model[:-1].transform(X) if len(model) > 1 else X, n)
    members = getattr(model, "separate_members_", None)  # of an ensemble of models of different rows
    if members:
        found = [refuse_training_rows(member, X, n) for member in members]
        hashes = next((one for _, one in found if one is not None), None)
        return list(dict.fromkeys(note for notes, _ in found for note in notes)), hashes
    fingerprints: RowFingerprints | None = getattr(model, "row_fingerprints_", None)
    if fingerprints is None:
        name = type(model).__name__
        return [f"{name} has no fingerprints of its training rows: X was not compared with them"], None
    hashes = model.row_hashes(X)
    n_equal = int(np.sum(fingerprints.contains(hashes)))
    if fingerprints.chance_of_overlap(hashes) < _MAX_CHANCE:
        rows = f"{n_equal} of the {n} rows" if n_equal else f"some of the {n} rows, after rounding,"
        raise ValueError(
            f"{rows} of X have the same values as rows that the model was fitted to, or that its number of "
            "rounds or its weights were chosen with. They give no bound on the error on new rows. Pass "
            "hold-out rows, or none: certify(model) uses the stored results of the training"
        )
    grid = model.grid_hashes_
    if grid is not None:
        grid_rows = RowFingerprints(grid, np.ones(1, np.int64), weighted=False)
        if grid_rows.chance_of_overlap(hashes) < _MAX_CHANCE:
            raise ValueError(
                "X has rows from which the bin_edges of the model were computed; pass hold-out rows"
            )
    notes = []
    if n_equal:
        notes.append(f"{n_equal} of the {n} rows of X equal training rows, which can happen by chance")
    if fingerprints.chance_of_similarity(hashes) < _MAX_CHANCE:
        notes.append(
            "the rows of X are as similar to the training rows as a subset or a stratified sample of them "
            "would be: if the model was fitted to them, the bounds from these rows are not valid"
        )
    return notes, hashes
