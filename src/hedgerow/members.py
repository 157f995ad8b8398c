"""Members of other libraries: any scikit-learn estimator as a member of an ensemble.

Gradient boosting with `estimator=`, the AdaBoost family, boosting by three hypotheses and bagging clone, fit
and evaluate such estimators with these functions. Predictions are checked: the kernels rely on one finite
value for every row.
"""

import abc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, has_fit_parameter

from hedgerow._typing import Floats
from hedgerow.table.frames import as_frame
from hedgerow.table.reading import as_array

# --- fitting


def is_hedgerow(estimator: Any) -> bool:
    """Return whether an estimator is one of this library."""
    return type(estimator).__module__.partition(".")[0] == __name__.partition(".")[0]


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Clone an estimator and set each of its `random_state` parameters to the seed."""
    member = clone(estimator)
    names = [name for name in member.get_params() if name.split("__")[-1] == "random_state"]
    return member.set_params(**dict.fromkeys(names, seed % 2**31))


def fit_member(
    estimator: Any,
    seed: int,
    X: Any,
    y: NDArray[Any],
    sample_weight: Floats | None = None,
    *,
    step: str,
    parallel: bool = False,
) -> Any:
    """Fit a seeded clone; `step` is the text that locates an error, such as "in round 3".

    With `parallel` members are fitted at the same time: those of Hedgerow then use one thread by default.
    """
    member = seeded_clone(estimator, seed)
    if parallel and is_hedgerow(member) and getattr(member, "n_jobs", 1) is None:
        member.set_params(n_jobs=1)
    with member_errors(estimator, step):
        member.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
    return member


@contextmanager
def member_errors(estimator: Any, step: str) -> Iterator[None]:
    """Add the estimator and the step to the message of an error; `MemoryError` stays as it is."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        # some errors of scikit-learn are both TypeError and ValueError
        kind = TypeError if isinstance(error, TypeError) and not isinstance(error, ValueError) else ValueError
        raise kind(f"estimator={estimator!r} failed {step}: {error}") from error


def accepts_weights(estimator: Any) -> bool:
    """Return whether `fit` has a `sample_weight` parameter."""
    return bool(has_fit_parameter(estimator, "sample_weight"))


def indexable_rows(X: Any) -> Any:
    """Return X in a form whose rows can be selected: CSR if it is sparse, an array if it is a nested list."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") else np.asarray(X)


def take_rows(X: Any, rows: NDArray[np.integer[Any]]) -> Any:
    """Select rows of a table; the result has the type of the table.

    Parameters
    ----------
    X : array, data frame (pandas, polars), Arrow table, sparse matrix or list of rows
    rows : integer array
        Row numbers, in any order.

    Returns
    -------
    array, data frame, Arrow table or CSR matrix

    Examples
    --------
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).ravel().tolist()
    [3.0, 1.0]
    """
    numbers = np.asarray(rows, dtype=np.int64)
    if sparse.issparse(X):
        return X.tocsr()[numbers]
    if not isinstance(X, np.ndarray | list | tuple):
        frame = as_frame(X)
        if frame is not None:
            return frame[numbers].to_native()
    if isinstance(X, np.ma.MaskedArray):
        return X[numbers]
    return as_array(X)[numbers]


class ConstantHypothesis:
    """A classifier that predicts one label; it replaces a member whose sample has one class only."""

    def __init__(self, label: NDArray[Any]) -> None:
        self.classes_ = label  # (1,)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label for every row."""
        return np.repeat(self.classes_, _num_samples(X))

    def __repr__(self) -> str:
        return f"ConstantHypothesis({self.classes_.tolist()[0]!r})"


# --- predictions


def predict_classes(member: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Predict the indices of labels in the sorted `classes`."""
    labels = np.asarray(member.predict(X)).reshape(-1)
    _check_length(member, labels, X)
    indices = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    if np.any(classes[indices] != labels):
        wrong = labels[classes[indices] != labels].tolist()[0]
        raise ValueError(
            f"estimator={member!r} predicted {wrong!r}, which is not among the classes {classes.tolist()}"
        )
    return indices.astype(np.int32)


def predict_probabilities(member: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Predict probabilities (classes, rows); a class that is not in the member's `classes_` has 0."""
    values = np.asarray(member.predict_proba(X), np.float64)
    _check_length(member, values, X)
    own = np.asarray(member.classes_)
    if values.ndim != 2 or values.shape[1] != len(own) or not np.all(np.abs(values - 0.5) <= 0.5 + 1e-6):
        raise ValueError(
            f"estimator={member!r} predicted probabilities of shape {values.shape} or outside of 0 to 1; it "
            f"must predict {len(own)} probabilities for each row"
        )
    probabilities = np.zeros((len(classes), len(values)))
    probabilities[np.searchsorted(classes, own)] = values.T
    return probabilities


def predict_values(member: Any, X: Any) -> Floats:
    """Predict the finite numbers of a regressor."""
    values = np.asarray(member.predict(X), np.float64).reshape(-1)
    _check_length(member, values, X)
    if not np.all(np.isfinite(values)):
        raise ValueError(f"estimator={member!r} predicted a value that is not finite")
    return values


def _check_length(member: Any, values: NDArray[Any], X: Any) -> None:
    if len(values) != _num_samples(X):
        raise ValueError(
            f"estimator={member!r} returned {len(values)} predictions for {_num_samples(X)} rows; it must "
            "return one for each row"
        )


# --- models


class MemberSum(abc.ABC):
    """A model whose scores are a start, and what the members of each round add to it."""

    members: list[list[Any]]  # rounds x outputs

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.members)

    @abc.abstractmethod
    def _start(self, n_rows: int) -> Floats:
        """Return the scores before the first round, (outputs, rows)."""

    @abc.abstractmethod
    def _added(self, X: Any) -> Iterator[Floats]:
        """Yield what each round adds to the scores, (outputs, rows)."""

    def scores(self, X: Any, n_rows: int) -> Floats:
        """Return the raw scores (outputs, rows)."""
        scores = self._start(n_rows)
        for scores in self.staged_scores(X, n_rows):  # noqa: B007 - only the last one is used
            pass
        return scores

    def staged_scores(self, X: Any, n_rows: int) -> Iterator[Floats]:
        """Yield the raw scores after every round; the array is reused."""
        scores = self._start(n_rows)
        for added in self._added(X):
            scores += added
            yield scores
