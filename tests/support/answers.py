"""All that a fitted model says of some rows, by method; and whether two models say the same bits."""

import numpy as np

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply")
STAGED = ("staged_predict", "staged_predict_proba", "staged_decision_function")


def answers(model, X):
    """Arrays by the name of the method; what a model has no method for is left out."""
    found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "predict_interval") and np.ndim(found["predict"]) == 1:
        found["predict_interval"] = model.predict_interval(X, method="quantiles")
    for name in STAGED:
        if hasattr(model, name):
            found[name] = [np.array(stage) for stage in getattr(model, name)(X)]
    return found


def same(mine, theirs):
    """Whether answers are equal in every bit: dtypes, shapes and values, a NaN being one."""
    return mine.keys() == theirs.keys() and all(_equal(mine[name], theirs[name]) for name in mine)


def _equal(one, other):
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(np.array_equal(one, other) if one.dtype == object else one.tobytes() == other.tobytes())
