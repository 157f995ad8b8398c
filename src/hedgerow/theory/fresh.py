"""Whether rows are new to a model, as far as it can tell."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from hedgerow.estimators.seen import SeenRows

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
    if not hasattr(model, "seen_rows_"):
        return ["the model keeps no fingerprints: whether X holds training rows was not checked"]
    n_equal, marks, notes = int(np.sum(model.has_seen(X))), model.marks_of(X), []
    if model.seen_rows_.chance_of_overlap(marks) < SURELY:
        which = f"{n_equal} of the {n} rows" if n_equal else f"copies, rounded, among the {n} rows"
        raise ValueError(
            f"{which} of X hold the same values as rows that the model was fitted to, or that its rounds or "
            "weights were chosen with: nothing can be learned from them about new rows. Give rows that were "
            "held out, or none: certify(model) uses what the model keeps of its training"
        )
    grid = model.grid_marks_
    if (
        grid is not None
        and SeenRows(grid, np.ones(1, np.int64), weighted=False).chance_of_overlap(marks) < SURELY
    ):
        raise ValueError(
            "X holds rows that the bin_edges of the model were found on: give rows held out of that"
        )
    if n_equal:
        notes.append(f"{n_equal} of the {n} rows of X equal training rows, as may happen by chance")
    if model.seen_rows_.chance_of_likeness(marks) < SURELY:
        notes.append(
            "the rows of X are as much like the training rows as a part of them would be, or a stratified "
            "sample: if they were trained on, what follows from them is wrong"
        )
    return notes
