"""Tables, labels and scores that displays receive: selection of rows, replacement of columns, checks.

Partial dependence and permutation importance both set a column to values of other rows:

    X with column j from rows r:   row i  =  (X[i, 0], ..., X[r[i], j], ..., X[i, d - 1])

so that categories, dates and missing values keep their types. Displays of classifiers read

    classes = [a, b, c]     codes = (n_samples,) int64, 0 to 2     scores = (n_samples, 3) float64
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.estimators.parameters import integer
from hedgerow.table import read_table
from hedgerow.table.frames import as_frame
from hedgerow.theory.resamples import as_pair


def as_table(X: Any) -> Any:
    """Convert X to an array, a sparse matrix in CSC format or a narwhals frame."""
    if sparse.issparse(X):
        return X.tocsc()
    if not isinstance(X, np.ndarray | list | tuple):
        frame = as_frame(X)
        if frame is not None:
            return frame
    array = np.asarray(X)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"X of shape {array.shape} is not allowed: it must be a table with rows and columns")
    return array


def native(table: Any) -> Any:
    """Convert a table back to what a model can read."""
    return table.to_native() if isinstance(table, nw.DataFrame) else table


def take(table: Any, rows: Integers) -> Any:
    """Select rows."""
    return table[rows.tolist()] if isinstance(table, nw.DataFrame) else table[rows]


def with_column_from(table: Any, column: int, rows: Integers) -> Any:
    """Return a copy whose column has the values of other rows."""
    if isinstance(table, nw.DataFrame):
        name = table.columns[column]
        return table.with_columns(table[name][rows.tolist()].alias(name))
    if sparse.issparse(table):
        blocks = [table[:, :column], table[:, [column]][rows], table[:, column + 1 :]]
        return sparse.hstack(blocks, format="csc")
    changed = np.array(table, order="C")
    changed[:, column] = table[rows, column]
    return changed


def names_of(model: Any, X: Any, n_columns: int) -> list[str]:
    """Return names of the columns: those of the fit, those of X, or numbers."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and X is not None:
        names = getattr(X, "column_names", getattr(X, "columns", None))  # Arrow, or other data frames
        names = names if names is not None and len(names) == n_columns else None
    if names is None or len(names) != n_columns:
        return [f"column {number}" for number in range(n_columns)]
    return [str(name) for name in names]


def values_of(model: Any, table: Any) -> tuple[Floats, Sequence[NDArray[Any] | None]]:
    """Return numbers of all columns with NaN for missing, and the categories of the categorical columns."""
    schema = getattr(model, "schema_", None)
    X = native(table)
    if schema is not None and schema.n_columns == table.shape[1]:
        read = read_table(X, schema=schema, estimator_name=type(model).__name__)
    else:
        read = read_table(X, categorical_features=_categorical(table))
    return np.asarray(read.block(0, read.n_rows), dtype=np.float64), read.schema.categories


def _categorical(table: Any) -> Any:
    """Return positions of the columns that are not numeric."""
    if isinstance(table, nw.DataFrame):
        kinds = (nw.String, nw.Categorical, nw.Enum)
        return [number for number, dtype in enumerate(table.schema.values()) if dtype in kinds] or None
    if sparse.issparse(table) or table.dtype.kind not in "OUS":
        return None
    return [number for number in range(table.shape[1]) if not _are_numbers(table[:, number])] or None


def is_boolean(table: Any, column: int) -> bool:
    """Return whether a column is boolean.

    >>> is_boolean(as_table(np.array([[True], [False]])), 0), is_boolean(as_table(np.array([[1.0]])), 0)
    (True, False)
    """
    kind = list(table.schema.values())[column] if isinstance(table, nw.DataFrame) else table.dtype
    return kind in (nw.Boolean, np.bool_)


def _are_numbers(values: NDArray[Any]) -> bool:
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def read_columns(features: Any, names: Sequence[str | None]) -> list[int]:
    """Return the positions of columns that are passed by name or number.

    >>> read_columns("b", ["a", "b"]), read_columns([1, "a"], ["a", "b"])
    ([1], [1, 0])
    """
    passed: list[Any] = [features] if isinstance(features, str | int | np.integer) else list(features)
    if not passed:
        raise ValueError(f"features={features!r} is not allowed: it must name a column")
    positions = []
    for column in passed:
        if isinstance(column, str) and column in names:
            positions.append(list(names).index(column))
        elif integer(0, len(names) - 1).test(column):
            positions.append(int(column))
        else:
            allowed = f"a number from 0 to {len(names) - 1}"
            if names[0] is not None:
                allowed += f" or one of the names {', '.join(map(repr, names[:10]))}"
                allowed += ", ..." if len(names) > 10 else ""
            raise ValueError(f"feature {column!r} is not allowed: it must be {allowed}")
    return positions


def sample_rows(n_rows: int, max_rows: int, seed: int) -> Integers:
    """Return positions of at most `max_rows` rows, a random sample in increasing order."""
    if n_rows <= max_rows:
        return np.arange(n_rows, dtype=np.int64)
    generator = np.random.default_rng(seed)
    return np.sort(generator.choice(n_rows, max_rows, replace=False)).astype(np.int64)


# --- labels and scores


def classes_of(estimator: Any) -> list[Any]:
    """Return the classes of a fitted classifier."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{type(estimator).__name__} has no classes_: it must be a classifier")
    return list(np.asarray(estimator.classes_).tolist())


def read_rows(estimator: Any, X: Any, y: Any) -> tuple[list[Any], Integers]:
    """Return the classes of a classifier, and the codes of the labels of some rows."""
    classes = classes_of(estimator)
    as_pair((X, y), "the data")
    return classes, encode_labels(y, classes)


def read_predictions(y: ArrayLike, scores: ArrayLike, labels: Any) -> tuple[list[Any], Integers, Floats]:
    """Return classes, codes of the labels and scores of all classes."""
    if labels is None:
        try:
            classes = np.unique(np.ravel(np.asarray(y))).tolist()
        except TypeError as error:
            raise ValueError(f"the labels are of different kinds: {error}") from error
    else:
        classes = list(labels)
    codes = encode_labels(y, classes)
    return classes, codes, read_scores(scores, classes, len(codes))


def encode_labels(y: ArrayLike, classes: list[Any], name: str = "y") -> Integers:
    """Return the position of each label among the classes.

    >>> encode_labels(["b", "a", "b"], ["a", "b"])
    array([1, 0, 1])
    """
    array = np.asarray(y)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} of shape {array.shape} is not allowed: it must be a list of labels")
    positions = {label: number for number, label in enumerate(classes)}
    try:
        distinct, codes = np.unique(array, return_inverse=True)
    except TypeError as error:  # labels that cannot be compared, such as None among strings
        raise ValueError(f"{name} holds labels of different kinds: {error}") from error
    numbers = [positions.get(label, -1) for label in distinct.tolist()]
    if -1 in numbers:
        unknown = distinct.tolist()[numbers.index(-1)]
        raise ValueError(f"{name} holds {unknown!r}: it must hold the classes {list_some(classes)} only")
    return np.array(numbers, dtype=np.int64)[codes]


def list_some(values: list[Any]) -> str:
    """List the first ten values.

    >>> list_some([1, 2])
    '[1, 2]'
    """
    return str(values) if len(values) <= 10 else f"[{', '.join(map(repr, values[:10]))}, ...]"


def predict_proba(estimator: Any, X: Any) -> Floats:
    """Return the predicted probabilities, (n_samples, n_classes)."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{type(estimator).__name__} has no predict_proba: it must predict probabilities")
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)


def predict_scores(estimator: Any, X: Any) -> Floats:
    """Return the probabilities or, without predict_proba, the decision function, (n_samples, n_classes)."""
    if hasattr(estimator, "predict_proba"):
        return predict_proba(estimator, X)
    if not hasattr(estimator, "decision_function"):
        kind = type(estimator).__name__
        raise TypeError(f"{kind} has neither predict_proba nor decision_function: it must have one of them")
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def read_scores(scores: ArrayLike, classes: list[Any], n_rows: int) -> Floats:
    """Return scores of all classes; for two classes, those of the second are enough.

    >>> read_scores([0.25, 1.0], ["a", "b"], 2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim == 1 and len(classes) == 2:
        array = np.column_stack([1.0 - array, array])
    if array.shape != (n_rows, len(classes)):
        raise ValueError(
            f"scores of shape {array.shape} are not allowed: {n_rows} rows of the {len(classes)} classes "
            f"{list_some(classes)} are needed"
        )
    if np.isnan(array).any():
        raise ValueError("scores hold NaN: they must be numbers")
    return array
