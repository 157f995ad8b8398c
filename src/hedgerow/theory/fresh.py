"""Whether rows are new to a model, as far as it can tell."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from hedgerow.estimators.fingerprints import RowFingerprints

SURELY = 1e-4  # so improbable by chance that rows must have been used before


def refuse_seen(model: Any, X: Any, n: int) -> list[str]:
    """Refuse rows that a model was fitted to; what else there is to say about them.

    New rows may equal old ones by chance, when columns have few values. Searches and pipelines are opened:
    the model inside is asked.
    """
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if isinstance(model, Pipeline):
        return refuse_seen(model[-1], model[:-1].transform(X) if len(model) > 1 else X, n)
    if not hasattr(model, "row_fingerprints_"):
        return ["the model keeps no fingerprints: whether X holds training rows was not checked"]
    n_equal, hashes, notes = int(np.sum(model.is_training_row(X))), model.row_hashes(X), []
    if model.row_fingerprints_.chance_of_overlap(hashes) < SURELY:
        which = f"{n_equal} of the {n} rows" if n_equal else f"copies, rounded, among the {n} rows"
        raise ValueError(
            f"{which} of X hold the same values as rows that the model was fitted to, or that its rounds or "
            "weights were chosen with: nothing can be learned from them about new rows. Give rows that were "
            "held out, or none: certify(model) uses what the model keeps of its training"
        )
    grid = model.grid_hashes_
    if (
        grid is not None
        and RowFingerprints(grid, np.ones(1, np.int64), weighted=False).chance_of_overlap(hashes) < SURELY
    ):
        raise ValueError(
            "X holds rows that the bin_edges of the model were found on: give rows held out of that"
        )
    if n_equal:
        notes.append(f"{n_equal} of the {n} rows of X equal training rows, as may happen by chance")
    if model.row_fingerprints_.chance_of_similarity(hashes) < SURELY:
        notes.append(
            "the rows of X are as much like the training rows as a part of them would be, or a stratified "
            "sample: if they were trained on, what follows from them is wrong"
        )
    return notes
