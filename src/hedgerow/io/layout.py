"""Names in model files and the attributes they are written from: renames of either are edits of this module.

An `ArrayField` describes one array of a file: the attribute that holds it in memory, its dtype and its axes.
The other tables map names of JSON entries to names of attributes. `docs/files.md` documents the names in
files.
"""

from typing import Any, NamedTuple

import numpy as np

from hedgerow.boosting.adaboost import RULES as ADABOOST_RULES
from hedgerow.boosting.anyboost import AnyRule, LogitRule


class ArrayField(NamedTuple):
    """One array: its attribute in memory, its dtype and its number of axes."""

    attribute: str
    dtype: Any
    n_axes: int = 1


# --- arrays

BINS = {
    "bins.edges": ArrayField("edges", np.float64),
    "bins.edge_starts": ArrayField("edge_starts", np.int64),
    "bins.category_codes": ArrayField("tables", np.uint8),
    "bins.category_starts": ArrayField("table_starts", np.int64),
}
USER_EDGES = "bins.user_edges"  # uint8, 1 for columns whose edges the user has passed: `Bins.user_defined`

FOREST = {  # trees whose values are added
    "forest.starts": ArrayField("starts", np.int64),
    "forest.output": ArrayField("output", np.int32),
    "forest.column": ArrayField("column", np.int32),
    "forest.threshold": ArrayField("threshold", np.int32),
    "forest.left": ArrayField("left", np.int32),
    "forest.set_number": ArrayField("set_number", np.int32),
    "forest.missing_left": ArrayField("missing_left", np.uint8),
    "forest.value": ArrayField("value", np.float64),
    "forest.gain": ArrayField("gain", np.float64),
    "forest.count": ArrayField("count", np.int64),
    "forest.sets": ArrayField("sets", np.uint64, 2),
}
VOTES = {  # deep trees that vote
    "votes.starts": ArrayField("starts", np.int64),
    "votes.nodes": ArrayField("nodes", np.uint64),
    "votes.value_starts": ArrayField("value_starts", np.int64),
    "votes.values": ArrayField("values", np.float64, 2),
    "votes.set_starts": ArrayField("set_starts", np.int64),
    "votes.sets": ArrayField("sets", np.uint64, 2),
    "votes.set_number": ArrayField("set_number", np.int32),
    "votes.gains": ArrayField("gains", np.float64, 2),
}
LEAF_TARGETS = {  # attributes only: the integers are as narrow as their values allow
    "leaf_targets.starts": "starts",
    "leaf_targets.target_index": "positions",
    "leaf_targets.counts": "draws",
    "leaf_targets.targets": "targets",
    "leaf_targets.weights": "weights",
}
PAIR_LOSSES = {  # of voters, one by one and in pairs
    "losses": ArrayField("losses", np.int64),
    "products": ArrayField("products", np.int64, 2),
    "counts": ArrayField("counts", np.int64, 2),
    "differences": ArrayField("differences", np.int64, 2),
}
OUT_OF_BAG: dict[str, tuple[str, Any]] = {  # attributes of forests and bags; the number of axes varies
    "votes": ("oob_votes_", np.int64),
    "decision_function": ("oob_decision_function_", np.float64),
    "prediction": ("oob_prediction_", np.float64),
    "residuals": ("_residuals", np.float64),
    "residual_weights": ("_residual_weight", np.float64),
    "target_ranks": ("_ranks", np.float64),
}

# --- entries

OOB_LOSSES = {"oob_losses": "oob_losses_", "vote_losses": "vote_losses_"}
ADABOOST_ROUNDS = ("weights", "errors", "normalizers", "bounds", "max_steps", "restarts")  # RoundStatistics
R2_ROUNDS = ADABOOST_ROUNDS[:3]
BOOTSTRAP_FLAGS = ("replace", "replace_columns", "shuffle_columns")  # attributes of a BootstrapSampler
CHECKPOINT = {  # keys of the notes of a checkpoint
    "data": "rows",
    "evaluation_sets": "evaluations",
    "resumed_from": "began",
    "first_round": "first",
    "initial_losses": "base",
    "seed": "seed",
}

# --- update rules of the AdaBoost family

RULES: dict[str, type[Any]] = {
    name: rule
    for name, rule in ADABOOST_RULES.items()
    if name != "samme.r"  # another name of "real"
} | {"logit": LogitRule, "anyboost": AnyRule}
