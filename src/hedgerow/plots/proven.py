"""Which bounds can be drawn for a model, and their values.

Two kinds. Of the training error: "training", the product of the normalizers that the model recorded, and
"exponential", exp(-2 sum of squared edges). Of the error on new rows, with probability 1 - delta: by how
many classifiers a vote of T stumps or trees can be, "vc", "growth", "stumps" and "trees" are the training
error plus a deviation, each for one number of rounds at a time; by margins "schapire" and "gao_zhou".
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_features

from hedgerow._typing import Floats
from hedgerow.estimators import AdaBoostClassifier, AnyBoostClassifier, DecisionStump, DecisionTreeClassifier
from hedgerow.plots import style
from hedgerow.table import read_table
from hedgerow.theory.class_bounds import growth_bound, stump_bound, tree_bound, vc_bound
from hedgerow.theory.evidence import hypothesis_class_of, why_not_fixed
from hedgerow.theory.growth import (
    boosted_vc_dimension,
    stump_vc_dimension,
    tree_vc_dimension,
)
from hedgerow.theory.margin_bounds import gao_zhou_bound, schapire_bound
from hedgerow.theory.training import exponential_bound

OF_TRAINING = ("training", "exponential")
OF_CLASS = ("vc", "growth", "stumps")
OF_NEW_ROWS = (*OF_CLASS, "trees", "schapire", "gao_zhou")

_BY_MARGINS = {"schapire": schapire_bound, "gao_zhou": gao_zhou_bound}
_VOTING = ("discrete", "m1", "samme")
_SLACK = 1 + 1e-9  # of two sums in another order
# Label, colour and dashes of each bound, the same in every picture. Dashes of lines that coincide alternate.
LOOKS: dict[str, tuple[str, str, Any]] = {
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
    """The names asked for, in the order of `allowed`, and whether they were asked for one by one."""
    if bounds is None:
        return [], True
    if isinstance(bounds, str) and bounds == "all":
        return list(allowed), False
    try:
        given = [bounds] if isinstance(bounds, str) else list(bounds)
    except TypeError:
        given = [bounds]
    unknown = [name for name in given if not (isinstance(name, str) and name in allowed)]
    if unknown:
        raise ValueError(
            f"bounds={bounds!r} is not allowed: it must be None, 'all', or of {', '.join(map(repr, allowed))}"
        )
    return [name for name in allowed if name in given], True


def training_bounds(
    model: Any, names: Sequence[str], train_error: Floats, *, by_name: bool
) -> dict[str, Floats]:
    """Those of `OF_TRAINING` among the names that hold for a fitted model, (rounds,) each."""
    kind = type(model).__name__
    product = np.asarray(getattr(model, "training_error_bound_", np.nan), dtype=np.float64)
    edges = np.asarray(getattr(model, "edges_", np.nan), dtype=np.float64)
    proven = product.ndim == 1 and not np.any(np.isnan(product))
    exponential = exponential_bound(edges) if proven and not np.any(np.isnan(edges)) else 0.0 * product
    of_others = ""
    if proven and np.any(train_error > _SLACK * product):
        of_others = "it is of other rows, or of weights: the model has a larger error on these"
    # The exponential is proven by the product below it. It is not below it after shrunken steps, say.
    full_steps = proven and bool(np.all(product <= _SLACK * exponential))
    reasons = {
        "training": of_others if proven else f"{kind} has no training_error_bound_ as fitted",
        "exponential": of_others if full_steps else (
            f"exp(−2 ∑ γ²) is proven for the full steps of AdaBoost with two classes, and {kind} as fitted "
            "took others"
        ),
    }  # fmt: skip
    values = {"training": product, "exponential": exponential}
    return {name: values[name] for name in _of_those(names, reasons, by_name)}


def class_names(model: Any, names: Sequence[str], n_classes: int, *, by_name: bool) -> list[str]:
    """Those of `OF_CLASS` among the names that hold for a model, fitted or not."""
    return _of_those(names, dict.fromkeys(OF_CLASS, why_no_votes_of_stumps(model, n_classes)), by_name)


def new_row_bounds(
    model: Any,
    names: Sequence[str],
    rows: tuple[Any, NDArray[Any]],
    delta: float,
    *,
    by_name: bool,
    test: Any = None,
) -> dict[str, Floats]:
    """Those of `OF_NEW_ROWS` asked for that hold for a fitted model: what they add, or are, (rounds,)."""
    weak, reasons = hypothesis_class_of(model), dict.fromkeys(OF_NEW_ROWS, "")
    if isinstance(weak, str):
        reasons = dict.fromkeys(OF_NEW_ROWS, weak)
    else:
        reasons["trees" if weak.is_stumps else "stumps"] = f"the trees have up to {weak.n_leaves} leaves"
        few = f"it needs 5 rows, and there are {len(rows[1])}" if len(rows[1]) < 5 else ""
        reasons["schapire"] = reasons["gao_zhou"] = why_not_fixed(model, weak) or few
    kept = _of_those(names, reasons, by_name)
    if isinstance(weak, str) or not kept:
        return {}
    missing = has_missing(model, rows[0]) or (test is not None and has_missing(model, test))
    rounds = np.arange(1, int(model.n_estimators_) + 1)
    of_class = [name for name in kept if name not in _BY_MARGINS]
    found = deviations(
        of_class, len(rows[1]), weak.n_columns, rounds, delta, missing=missing, leaves=weak.n_leaves
    )
    by_margins = [name for name in kept if name in _BY_MARGINS]
    return found | (_margin_bounds(model, by_margins, rows, weak.size, delta) if by_margins else {})


def _margin_bounds(
    model: Any, names: Sequence[str], rows: tuple[Any, NDArray[Any]], size: int, delta: float
) -> dict[str, Floats]:
    """Bounds by margins at some of the rounds, NaN at the others."""
    n_rounds = int(model.n_estimators_)
    chosen = set(np.unique(np.geomspace(1, n_rounds, _MARGIN_ROUNDS).round().astype(np.int64)).tolist())
    found = {name: np.full(n_rounds, np.nan) for name in names}
    for number, margins in enumerate(model.staged_margins(*rows), 1):
        for name in names if number in chosen else ():
            found[name][number - 1] = _BY_MARGINS[name](margins, size, delta).value
    return found


def why_no_votes_of_stumps(model: Any, n_classes: int) -> str:
    """Why the counts of stumps say nothing about a model; empty if they do."""
    kind = type(model).__name__
    if not isinstance(model, AdaBoostClassifier | AnyBoostClassifier):
        return f"it is for votes of stumps, and {kind} is no AdaBoost of this library"
    if n_classes != 2:
        return f"it is for two classes, and there are {n_classes}"
    algorithm = getattr(model, "algorithm", "discrete")
    if algorithm not in _VOTING:
        return f"it is for votes of stumps, and those of algorithm={algorithm!r} say numbers"
    learner = model.estimator
    is_tree = isinstance(learner, DecisionTreeClassifier)
    if not (learner is None or isinstance(learner, DecisionStump) or (is_tree and learner.max_depth == 1)):
        return f"it is for votes of stumps, and estimator={learner!r} is no stump"
    if hasattr(model, "schema_") and model.schema_.categorical_columns:
        column = model.schema_.categorical_columns[0]
        names = model.schema_.names
        named = f"column {column}" if names is None else f"column {names[column]!r}"
        return f"it counts stumps of numbers, and {named} is categorical"
    return ""


def _of_those(names: Sequence[str], reasons: dict[str, str], by_name: bool) -> list[str]:
    """The names without a reason against them; one asked for by name is an error."""
    asked = [name for name in names if name in reasons]
    if by_name:
        for name in asked:
            if reasons[name]:
                raise ValueError(
                    f"the bound {name!r} is not allowed here: {reasons[name]}; bounds='all' takes those that "
                    "apply, bounds=None none"
                )
    return [name for name in asked if not reasons[name]]


def deviations(
    names: Sequence[str], m: Any, n_columns: int, rounds: Any, delta: float, *, missing: bool, leaves: int = 2
) -> dict[str, Floats]:
    """What each of the bounds of the class adds to the training error of m rows after so many rounds."""
    of_trees = tree_vc_dimension(n_columns, leaves, missing=missing)
    d = stump_vc_dimension(n_columns, missing=missing) if leaves == 2 else of_trees
    # D is for T, d >= 3. Fewer rounds are a vote of three, some without weight; a larger d is also a bound.
    made = {
        "vc": lambda: vc_bound(m, boosted_vc_dimension(np.maximum(rounds, 3), max(d, 3)), delta),
        "growth": lambda: growth_bound(m, d, rounds, delta),
        "stumps": lambda: stump_bound(m, n_columns, rounds, delta, missing=missing),
        "trees": lambda: tree_bound(m, n_columns, leaves, rounds, delta, missing=missing),
    }
    return {name: np.asarray(made[name](), dtype=np.float64) for name in names}


def has_missing(model: Any, X: Any) -> bool:
    """Whether a fitted model of this library reads missing values in a table."""
    table = read_table(X, schema=model.schema_, estimator_name=type(model).__name__)
    step = max(1, 2**22 // max(1, _num_features(X)))
    return any(
        bool(np.isnan(table.block(start, min(start + step, table.n_rows))).any())
        for start in range(0, table.n_rows, step)
    )
