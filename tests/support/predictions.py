"""The predictions of a fitted model by all its methods; comparison of two models bit by bit."""

import numpy as np

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply")
STAGED = ("staged_predict", "staged_predict_proba", "staged_decision_function")


def all_predictions(model, X):
    """Arrays by the name of the method; methods that the model does not have are left out."""
    found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "predict_interval") and np.ndim(found["predict"]) == 1:
        found["predict_interval"] = model.predict_interval(X, method="quantiles")
    for name in STAGED:
        if hasattr(model, name):
            found[name] = [np.array(stage) for stage in getattr(model, name)(X)]
    return found


def same_bits(first, second):
    """Whether predictions are equal bit for bit: dtypes, shapes and values, including NaN."""
    return first.keys() == second.keys() and all(_equal(first[name], second[name]) for name in first)


def _equal(one, other):
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(np.array_equal(one, other) if one.dtype == object else one.tobytes() == other.tobytes())
