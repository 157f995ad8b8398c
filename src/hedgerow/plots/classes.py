"""Labels, probabilities and scores of classes, checked: what the pictures of classifiers are made from.

classes = [a, b, c]     codes = (n_samples,) int64, 0 to 2: the number of each row's class
scores = (n_samples, 3) float64: how much a row speaks for each class
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.theory.resamples import as_pair


def classes_of(model: Any) -> list[Any]:
    """The classes of a fitted classifier."""
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_: only classifiers can be drawn so")
    return list(np.asarray(model.classes_).tolist())


def read_rows(model: Any, X: Any, y: Any) -> tuple[list[Any], Integers]:
    """The classes of a model, and the numbers of those of some rows."""
    classes = classes_of(model)
    as_pair((X, y), "the data")
    return classes, read_labels(y, classes)


def read_labels(y: ArrayLike, classes: list[Any], name: str = "y") -> Integers:
    """The number of each label among the classes.

    >>> read_labels(["b", "a", "b"], ["a", "b"])
    array([1, 0, 1])
    """
    found = np.asarray(y)
    if found.ndim != 1 or not found.size:
        raise ValueError(f"{name} of shape {found.shape} is not allowed: it must be a list of labels")
    places = {label: number for number, label in enumerate(classes)}
    try:
        distinct, codes = np.unique(found, return_inverse=True)
        numbers = [places.get(label, -1) for label in distinct.tolist()]
    except TypeError as error:  # labels that cannot be compared, such as None among strings
        raise ValueError(f"{name} holds labels of different kinds: {error}") from error
    if -1 in numbers:
        unknown = distinct.tolist()[numbers.index(-1)]
        raise ValueError(f"{name} holds {unknown!r}: it must hold the classes {some(classes)} only")
    return np.array(numbers, dtype=np.int64)[codes]


def some(values: list[Any]) -> str:
    """The first ten of some values, in words.

    >>> some([1, 2])
    '[1, 2]'
    """
    return str(values) if len(values) <= 10 else f"[{', '.join(map(repr, values[:10]))}, ...]"


def classes_in(*labels: ArrayLike) -> list[Any]:
    """The distinct labels of some arrays, in order."""
    try:
        return list(np.unique(np.concatenate([np.ravel(np.asarray(one)) for one in labels])).tolist())
    except TypeError as error:
        raise ValueError(f"the labels are of different kinds: {error}") from error


def probabilities_of(model: Any, X: Any) -> Floats:
    """(n_samples, n_classes): what the model thinks the probabilities are."""
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{type(model).__name__} has no predict_proba: its probabilities cannot be drawn")
    return np.asarray(model.predict_proba(X), dtype=np.float64)


def scores_of(model: Any, X: Any) -> Floats:
    """(n_samples, n_classes): probabilities, or the decision function of models without."""
    if hasattr(model, "predict_proba"):
        return probabilities_of(model, X)
    if not hasattr(model, "decision_function"):
        raise TypeError(
            f"{type(model).__name__} has neither predict_proba nor decision_function: it cannot rank rows"
        )
    found = np.asarray(model.decision_function(X), dtype=np.float64)
    return np.column_stack([-found, found]) if found.ndim == 1 else found


def read_scores(scores: ArrayLike, classes: list[Any], n_rows: int) -> Floats:
    """Scores of all classes; of two classes, those of the second alone are enough.

    >>> read_scores([0.25, 1.0], ["a", "b"], 2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim == 1 and len(classes) == 2:
        found = np.column_stack([1.0 - found, found])
    if found.shape != (n_rows, len(classes)):
        raise ValueError(
            f"scores of shape {found.shape} are not allowed: {n_rows} rows of the {len(classes)} classes "
            f"{some(classes)} are needed"
        )
    if np.isnan(found).any():
        raise ValueError("scores hold NaN: they must be numbers")
    return found
