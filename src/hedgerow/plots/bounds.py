"""Bounds of errors: those that apply to a model, their values, and the bars of a certificate.

Bounds of the training error: "training", the product of the normalizers that the model recorded, and
"exponential", exp(-2 sum of squared edges). Bounds of the test error, with probability 1 - delta: "vc",
"growth", "stumps" and "trees" are the training error plus a deviation by the size of the class of votes of T
stumps or trees, each for one number of rounds; "schapire" and "gao_zhou" use the margins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_features

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost import RULES
from hedgerow.estimators import AdaBoostClassifier, AnyBoostClassifier, DecisionStump, DecisionTreeClassifier
from hedgerow.estimators.parameters import check_parameters, none, number
from hedgerow.plots import labels, style
from hedgerow.plots.base import Display, Legend
from hedgerow.table import read_table
from hedgerow.theory.applicable_bounds import hypothesis_class_of, why_not_fixed
from hedgerow.theory.certificate import Certificate, format_bound
from hedgerow.theory.class_bounds import growth_bound, stump_bound, tree_bound, vc_bound
from hedgerow.theory.growth import (
    boosted_vc_dimension,
    stump_vc_dimension,
    tree_vc_dimension,
)
from hedgerow.theory.margin_bounds import gao_zhou_bound, schapire_bound
from hedgerow.theory.training import exponential_bound

TRAINING_BOUNDS = ("training", "exponential")
CLASS_BOUNDS = ("vc", "growth", "stumps")
TEST_BOUNDS = (*CLASS_BOUNDS, "trees", "schapire", "gao_zhou")

_BY_MARGINS = {"schapire": schapire_bound, "gao_zhou": gao_zhou_bound}
_VOTING = tuple(name for name, rule in RULES.items() if rule.prediction_type == "classes")
_SLACK = 1 + 1e-9  # for two sums that are added in another order
# Label, colour and dashes of each bound, the same in every display. Dashes of lines that coincide alternate.
BOUND_STYLES: dict[str, tuple[str, str, Any]] = {
    "training": ("∏ Z ≥ training error", "#56B4E9", (0, (4, 4))),
    "exponential": ("exp(−2 ∑ γ²) ≥ training error", "#009E73", (4, (4, 4))),
    "vc": ("bound by VC dimension", "#CC79A7", (0, (2, 4))),
    "growth": ("bound by growth function", "#E69F00", (2, (2, 4))),
    "stumps": ("bound by number of stumps", style.INK, (4, (2, 4))),
    "trees": ("bound by number of trees", style.INK, (4, (2, 4))),
    "schapire": ("bound by margins (Schapire 1998)", "#7B3294", (0, (6, 2, 1, 2))),
    "gao_zhou": ("bound by margins (Gao, Zhou 2013)", "#8C510A", (4, (6, 2, 1, 2))),
}
_MARGIN_ROUNDS = 40  # at which bounds by margins are computed: tens of milliseconds each


def read_names(bounds: Any, allowed: Sequence[str]) -> tuple[list[str], bool]:
    """Return the requested names, in the order of `allowed`, and whether they were requested by name."""
    if bounds is None:
        return [], True
    if isinstance(bounds, str) and bounds == "all":
        return list(allowed), False
    try:
        requested = [bounds] if isinstance(bounds, str) else list(bounds)
    except TypeError:
        requested = [bounds]
    unknown = [name for name in requested if not (isinstance(name, str) and name in allowed)]
    if unknown:
        raise ValueError(
            f"bounds={bounds!r} is not allowed: it must be None, 'all', or some of "
            f"{', '.join(map(repr, allowed))}"
        )
    return [name for name in allowed if name in requested], True


def training_bounds(
    model: Any, names: Sequence[str], train_error: Floats, *, by_name: bool
) -> dict[str, Floats]:
    """Return the requested `TRAINING_BOUNDS` that hold for a fitted model, (rounds,) each."""
    kind = type(model).__name__
    product = np.asarray(getattr(model, "training_error_bound_", np.nan), dtype=np.float64)
    edges = np.asarray(getattr(model, "edges_", np.nan), dtype=np.float64)
    is_recorded = product.ndim == 1 and not np.any(np.isnan(product))
    exponential = exponential_bound(edges) if is_recorded and not np.any(np.isnan(edges)) else 0.0 * product
    reason = ""
    if is_recorded and np.any(train_error > _SLACK * product):
        reason = "it is for other rows or for sample weights: the error on these rows is larger"
    # The exponential bound holds if it is not below the product, which shrunken steps increase.
    full_steps = is_recorded and bool(np.all(product <= _SLACK * exponential))
    reasons = {
        "training": reason if is_recorded else f"{kind} has no training_error_bound_ as fitted",
        "exponential": reason if full_steps else (
            f"exp(−2 ∑ γ²) is a bound for the full steps of AdaBoost with two classes, and {kind} as fitted "
            "has others"
        ),
    }  # fmt: skip
    values = {"training": product, "exponential": exponential}
    return {name: values[name] for name in _applicable(names, reasons, by_name)}


def class_bound_names(model: Any, names: Sequence[str], n_classes: int, *, by_name: bool) -> list[str]:
    """Return the requested `CLASS_BOUNDS` that hold for a model, fitted or not."""
    return _applicable(names, dict.fromkeys(CLASS_BOUNDS, why_no_votes_of_stumps(model, n_classes)), by_name)


def error_bounds(
    model: Any,
    names: Sequence[str],
    rows: tuple[Any, NDArray[Any]],
    delta: float,
    *,
    by_name: bool,
    test: Any = None,
) -> dict[str, Floats]:
    """Return the requested `TEST_BOUNDS` of a fitted model, (rounds,): deviations, or values by margins."""
    weak, reasons = hypothesis_class_of(model), dict.fromkeys(TEST_BOUNDS, "")
    if isinstance(weak, str):
        reasons = dict.fromkeys(TEST_BOUNDS, weak)
    else:
        reasons["trees" if weak.is_stumps else "stumps"] = f"the trees have up to {weak.n_leaves} leaves"
        few = f"it requires 5 rows, and there are {len(rows[1])}" if len(rows[1]) < 5 else ""
        reasons["schapire"] = reasons["gao_zhou"] = why_not_fixed(model, weak) or few
    applicable = _applicable(names, reasons, by_name)
    if isinstance(weak, str) or not applicable:
        return {}
    missing = has_missing(model, rows[0]) or (test is not None and has_missing(model, test))
    rounds = np.arange(1, int(model.n_estimators_) + 1)
    of_class = [name for name in applicable if name not in _BY_MARGINS]
    found = deviations(
        of_class, len(rows[1]), weak.n_columns, rounds, delta, missing=missing, leaves=weak.n_leaves
    )
    by_margins = [name for name in applicable if name in _BY_MARGINS]
    return found | (_margin_bounds(model, by_margins, rows, weak.size, delta) if by_margins else {})


def _margin_bounds(
    model: Any, names: Sequence[str], rows: tuple[Any, NDArray[Any]], size: int, delta: float
) -> dict[str, Floats]:
    """Return bounds by margins at some of the rounds, NaN at the others."""
    n_rounds = int(model.n_estimators_)
    chosen = set(np.unique(np.geomspace(1, n_rounds, _MARGIN_ROUNDS).round().astype(np.int64)).tolist())
    values = {name: np.full(n_rounds, np.nan) for name in names}
    for n, margins in enumerate(model.staged_margins(*rows), 1):
        for name in names if n in chosen else ():
            values[name][n - 1] = _BY_MARGINS[name](margins, size, delta).value
    return values


def why_no_votes_of_stumps(model: Any, n_classes: int) -> str:
    """Return why bounds for votes of stumps do not apply to a model; empty if they do."""
    kind = type(model).__name__
    if not isinstance(model, AdaBoostClassifier | AnyBoostClassifier):
        return f"it is for votes of stumps, and {kind} is not an AdaBoost of this library"
    if n_classes != 2:
        return f"it is for two classes, and there are {n_classes}"
    algorithm = getattr(model, "algorithm", "discrete")
    if algorithm not in _VOTING:
        return f"it is for votes of stumps, and those of algorithm={algorithm!r} predict numbers"
    learner = model.estimator
    is_tree = isinstance(learner, DecisionTreeClassifier)
    if not (learner is None or isinstance(learner, DecisionStump) or (is_tree and learner.max_depth == 1)):
        return f"it is for votes of stumps, and estimator={learner!r} is not a stump"
    if hasattr(model, "schema_") and model.schema_.categorical_columns:
        column = model.schema_.categorical_columns[0]
        names = model.schema_.names
        named = f"column {column}" if names is None else f"column {names[column]!r}"
        return f"it counts stumps of numbers, and {named} is categorical"
    return ""


def _applicable(names: Sequence[str], reasons: dict[str, str], by_name: bool) -> list[str]:
    """Return the names without a reason against them; raise if a name with a reason was requested."""
    known = [name for name in names if name in reasons]
    for name in known if by_name else ():
        if reasons[name]:
            raise ValueError(
                f"the bound {name!r} does not apply: {reasons[name]}; bounds='all' draws those that apply, "
                "bounds=None draws none"
            )
    return [name for name in known if not reasons[name]]


def deviations(
    names: Sequence[str], m: Any, n_columns: int, rounds: Any, delta: float, *, missing: bool, leaves: int = 2
) -> dict[str, Floats]:
    """Return the deviation that each bound of the class adds to the training error of m rows."""
    of_trees = tree_vc_dimension(n_columns, leaves, missing=missing)
    d = stump_vc_dimension(n_columns, missing=missing) if leaves == 2 else of_trees
    # D is for T, d >= 3. Fewer rounds are a vote of three, some without weight; a larger d is also a bound.
    deviation = {
        "vc": lambda: vc_bound(m, boosted_vc_dimension(np.maximum(rounds, 3), max(d, 3)), delta),
        "growth": lambda: growth_bound(m, d, rounds, delta),
        "stumps": lambda: stump_bound(m, n_columns, rounds, delta, missing=missing),
        "trees": lambda: tree_bound(m, n_columns, leaves, rounds, delta, missing=missing),
    }
    return {name: np.asarray(deviation[name](), dtype=np.float64) for name in names}


def has_missing(model: Any, X: Any) -> bool:
    """Return whether a table has values that are missing for a fitted model of this library."""
    table = read_table(X, schema=model.schema_, estimator_name=type(model).__name__)
    step = max(1, 2**22 // max(1, _num_features(X)))
    return any(
        bool(np.isnan(table.block(start, min(start + step, table.n_rows))).any())
        for start in range(0, table.n_rows, step)
    )


_MAX_LETTERS = 42  # letters of a bound's name
_WIDTH, _LABEL = 1.19, 0.14  # of the axis relative to the largest value, and of a label relative to the axis


@dataclass(eq=False)
class BoundsDisplay(Display):
    """The bounds of a certificate as bars, with the error of chance and the test error.

    Make it with `from_certificate`. Vacuous bounds, those not below the error of predicting the most frequent
    class, are grey; bounds above 1 end at the edge.

    Parameters
    ----------
    names : list of str
    values : list of float
        The bounds, the smallest first.
    chance : float
        The error of predicting the most frequent class.
    delta : float
        The bounds hold together with probability 1 - delta.
    test_error : float or None

    Examples
    --------
    >>> from hedgerow.theory.certificate import Bound, Certificate
    >>> found = [Bound(name, value, 0.025, 100, "", "") for name, value in (("vc", 1.4), ("hold-out", 0.1))]
    >>> certificate = Certificate("AdaBoostClassifier", 0.05, 0.37, tuple(found))
    >>> BoundsDisplay.from_certificate(certificate, test_error=0.05).names
    ['hold-out', 'vc']
    """

    names: list[str]
    values: list[float]
    chance: float
    delta: float
    test_error: float | None = None

    @classmethod
    def from_certificate(
        cls, certificate: Certificate, test_error: float | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the bounds of a certificate.

        Parameters
        ----------
        certificate : Certificate
        test_error : float, optional
            The error rate on test rows.
        ax : as in `plot`
        """
        check_parameters({"test_error": test_error}, {"test_error": number(0, 1) | none()})
        if not isinstance(certificate, Certificate):
            kind = type(certificate).__name__
            raise TypeError(f"certificate must be the result of certify; got a {kind}")
        found = sorted(certificate.bounds, key=lambda bound: bound.value)
        if not found:
            raise ValueError("the certificate has no bound: there is nothing to draw")
        return cls(
            names=[bound.name for bound in found],
            values=[bound.value for bound in found],
            chance=certificate.chance_error,
            delta=certificate.delta,
            test_error=test_error,
        ).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        longest = max(len(labels.shorten(name, _MAX_LETTERS)) for name in self.names)
        return 4.4 + 0.065 * longest, 1.2 + 0.3 * max(len(self.names), 2)

    def _draw(self, ax: Any) -> Legend:
        largest = min(max(*self.values, self.chance, self.test_error or 0.0), 1.0)
        right = _WIDTH * largest
        ax.set_xlim(0, right)
        lines = [self.chance] + ([] if self.test_error is None else [self.test_error])
        for row, value in enumerate(self.values):
            is_useful = value < self.chance
            colour = style.BLUE if is_useful else style.FAINT
            ax.barh(row, min(value, 1.0), 0.66, color=colour, alpha=0.85 if is_useful else 0.4, zorder=2)
            end = label_start(min(value, 1.0), lines, _LABEL * right)
            labels.write_right_of(ax, format_bound(value), (end, row), zorder=4)
        labels.name_bars(ax, [labels.shorten(name, _MAX_LETTERS) for name in self.names])
        line = style.DASHED | {"linewidth": 1.1, "color": style.INK, "zorder": 3}
        ax.axvline(self.chance, label=f"most frequent class: {self.chance:.4f}", **line)
        if self.test_error is not None:
            name = f"test error: {self.test_error:.4f}"
            ax.axvline(self.test_error, color=style.VERMILLION, linewidth=1.8, label=name, zorder=3)
        labels.plain_axis(ax.xaxis, 6)
        confidence = labels.percent(1.0 - self.delta)
        labels.name_axes(ax, f"bound of the test error; all hold with probability {confidence}", "")
        return [], []


def label_start(end: float, lines: Sequence[float], width: float) -> float:
    """Return where a label right of a bar's end starts, such that no vertical line crosses it.

    >>> label_start(0.1, [0.05, 0.3], 0.1), label_start(0.1, [0.15, 0.2], 0.1)
    (0.1, 0.2)
    """
    for line in sorted(lines):
        if end <= line < end + width:
            end = line
    return end
