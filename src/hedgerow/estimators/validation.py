"""Validation of what `fit` receives: X, y, sample_weight, evaluation sets and callbacks.

    FitInput(train=Dataset(X, table, y, sample_weight), target=ClassTarget(classes), evaluation_sets=[...])

`validate_fit_input` is the only code that reads them, for every estimator; `InputOptions` define what an
estimator accepts. A NumPy array is in memory, so that no other module is entered for it; `remote_input` opens
tables in files and Dask collections, `targets` reads targets of other types.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hedgerow._typing import Floats, Keys
from hedgerow.bagging.raw_table import RawTable
from hedgerow.boosting.callbacks import Callback
from hedgerow.estimators import remote_input
from hedgerow.estimators.fingerprints import DataFingerprint, RowFingerprints, RowHashes, short, table_keys
from hedgerow.estimators.targets import (
    LARGEST,
    apply_class_weight,
    as_column,
    as_labels,
    as_numbers,
    as_target_array,
    validate_weights,
)
from hedgerow.kernels.native import prepare
from hedgerow.memory import require_evaluation_memory, require_input_memory
from hedgerow.table import Schema, read_table
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import Dataset, plain_table

_LISTED_CLASSES = 20  # in an error message


# --- targets


class NumberTarget:
    """A regression target: finite float64 within ±1e100."""

    classes: NDArray[Any] | None = None
    n_classes: int | None = None

    def encode(self, y: NDArray[Any]) -> Floats:
        """Return the numbers of y."""
        if y.dtype == np.float64 and y.ndim == 1 and np.all(np.abs(y) <= LARGEST):
            return y.copy()  # kernels would be compiled again for a read-only array
        return as_numbers(y)


class ClassTarget:
    """A classification target: labels are encoded as positions among the sorted classes."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_classes = len(classes)

    @classmethod
    def of(cls, y: NDArray[Any]) -> "ClassTarget":
        """Find the classes of y, at least two."""
        classes = np.unique(y if y.dtype.kind in "iub" else as_labels(y))
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two classes"
            )
        return cls(classes)

    def encode(self, y: NDArray[Any]) -> Floats:
        """Return the positions of the labels; every label must be one of the classes."""
        y = y if y.dtype.kind in "iub" else as_labels(y)
        known = self.classes
        if known.dtype.kind + y.dtype.kind in ("iu", "ui"):  # NumPy compares these as floats
            known, y = known.astype(object), y.astype(object)
        try:
            positions = np.searchsorted(known, y).clip(max=self.n_classes - 1)
        except TypeError as error:
            raise TypeError(f"the labels in y cannot be compared with the classes: {error}") from error
        unknown = np.flatnonzero(known[positions] != y)
        if unknown.size:
            listed = self.classes[:_LISTED_CLASSES].tolist()
            n_more = self.n_classes - _LISTED_CLASSES
            more = f" and {n_more} more" if n_more > 0 else ""
            raise ValueError(
                f"y holds the label {y[unknown].tolist()[0]!r}, which is not among the training classes "
                f"{listed}{more}"
            )
        return positions.astype(np.float64)


Target = ClassTarget | NumberTarget


def validate_target(y: Any, n_rows: int, estimator_name: str, *, multi_output: bool = False) -> NDArray[Any]:
    """Return y as an array of n_rows; with `multi_output` it may have a column for each output."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None.")
    values = y if type(y) is np.ndarray and y.dtype.kind in "iubf" else as_target_array(y)
    if values.ndim != 1 and not (multi_output and values.ndim == 2 and values.shape[1] > 1):
        values = as_column(values)
    elif values.dtype.kind == "T":
        values = values.astype(object)
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} rows, but X has {n_rows}; they must be equal")
    return values


def make_seed(random_state: Any) -> int:
    """Return an integer for a random_state; an integer is its own seed."""
    if isinstance(random_state, int | np.integer):
        return int(random_state) % 2**63
    return int(check_random_state(random_state).randint(2**31 - 1))


# --- the input of a fit


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """What an estimator accepts.

    name : of the estimator, in error messages.
    schema, classes : of the fitted model, for a warm start.
    check_target : called with encoded targets; raises an error for those that cannot be fitted.
    in_memory : why X must be in memory, as the beginning of an error message; None where X may be remote.
    raw : members of other libraries receive X: `Dataset.table` is a `RawTable`, its values are not validated.
    grows_trees : trees are grown on the table, which limits its size.
    multi_output : y may have several columns.
    hash_rows : `row_fingerprints` are computed.
    kernel_families : the kernels that the fit uses, compiled together if they are not stored.
    keep_row_keys : the input has the `row_keys`.
    """

    name: str
    is_classifier: bool
    categorical_features: Any = None
    schema: Schema | None = None
    classes: NDArray[Any] | None = None
    class_weight: Any = None
    check_target: Callable[[Floats, Target], None] | None = None
    in_memory: str | None = None
    raw: bool = False
    grows_trees: bool = True
    multi_output: bool = False
    hash_rows: bool = False
    keep_row_keys: bool = False
    kernel_families: tuple[str, ...] = ()
    n_threads: int = 1
    verbose: int = 0


@dataclass(eq=False)
class FitInput:
    """The validated input of a fit.

    train : its weights are multiplied by the weights of the classes.
    row_keys : 64-bit hashes of the rows of X, if the options ask for them.
    evaluation_fingerprints : for a fit with a checkpoint.
    previous : what a warm start continues: the result of the estimator's `_previous`.
    """

    train: Dataset
    target: Target
    schema: Schema
    fingerprint: DataFingerprint
    row_fingerprints: RowFingerprints | None = None
    row_keys: Keys | None = None
    evaluation_sets: list[Dataset] = field(default_factory=list)
    evaluation_fingerprints: list[DataFingerprint] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    seed: int = 0
    previous: Any = None
    checkpointer: Any = None

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.train.y)

    @property
    def class_numbers(self) -> Floats | None:
        """Class numbers of the training rows; None for numbers."""
        return None if self.target.classes is None else self.train.y

    @property
    def n_weighted_rows(self) -> int:
        """Number of training rows of positive weight."""
        weight = self.train.sample_weight
        return self.n_rows if weight is None else int(np.count_nonzero(weight))


def open_input(
    X: Any, y: Any, sample_weight: Any, target: str | None, options: InputOptions
) -> tuple[Any, Any, Any]:
    """Return X, y and the weights, or a `RemoteInput`, None and None where X is not in memory."""
    if type(X) is np.ndarray and target is None:
        return X, y, sample_weight
    if options.in_memory is not None:
        remote_input.require_in_memory(X, options.in_memory, target)
        return X, y, sample_weight
    return remote_input.open_remote(
        X, y, sample_weight, target, n_threads=options.n_threads, verbose=options.verbose
    )


def validate_fit_input(
    X: Any,
    y: Any,
    sample_weight: Any,
    options: InputOptions,
    *,
    eval_set: Any = None,
    callbacks: Any = None,
    has_checkpoint: bool = False,
) -> FitInput:
    """Validate what `fit` received; X is from `open_input`."""
    callbacks = _validate_callbacks(callbacks)
    require_input_memory(X, options.name, encoded=options.grows_trees)
    train, raw_y = _read_dataset(X, y, sample_weight, options)
    if options.classes is not None:
        target: Target = ClassTarget(options.classes)
    else:
        target = ClassTarget.of(raw_y) if options.is_classifier else NumberTarget()
    train.y = target.encode(raw_y)
    if options.kernel_families:
        prepare(*options.kernel_families, "binning")
    table: Any = train.table
    data = FitInput(train, target, table.schema, *_fingerprints(train, target, options), callbacks=callbacks)
    if options.class_weight is not None and target.classes is not None:
        train.sample_weight = apply_class_weight(
            options.class_weight, train.y, target.classes, train.sample_weight
        )
    if options.check_target is not None:
        options.check_target(train.y, target)
    for i, passed in enumerate(_evaluation_tuples(eval_set)):
        dataset = _read_evaluation_set(f"eval_set[{i}]", passed, data, options)
        data.evaluation_sets.append(dataset)
        if has_checkpoint:
            data.evaluation_fingerprints.append(_fingerprints(dataset, target, options)[0])
    return data


def _read_dataset(X: Any, y: Any, sample_weight: Any, options: InputOptions) -> tuple[Dataset, NDArray[Any]]:
    """Read X, y and weights; the target is not encoded yet."""
    table: Any
    if options.raw:
        table = RawTable.of(X, options.name)
    else:
        columns = options.categorical_features if options.schema is None else None
        table = plain_table(X, options.schema) if columns is None else None
        if table is None:
            table = read_table(
                X, estimator_name=options.name, categorical_features=columns, schema=options.schema
            )
        if isinstance(table, RemoteTable):
            y, sample_weight = table.scan.y, table.scan.sample_weight
    raw_y = validate_target(y, table.n_rows, options.name, multi_output=options.multi_output)
    weights = None if sample_weight is None else validate_weights(sample_weight, table.n_rows)
    return Dataset(X, table, raw_y, weights), raw_y


def _fingerprints(
    data: Dataset, target: Target, options: InputOptions
) -> tuple[DataFingerprint, RowFingerprints | None, Keys | None]:
    table: Any = data.table
    keys, rounded = table_keys(table, options.n_threads, rounded=options.hash_rows)
    fingerprint = DataFingerprint.of(keys, table.n_columns, data.y, data.sample_weight)
    row_keys = keys if options.keep_row_keys else None
    if not options.hash_rows or rounded is None or target.n_classes is None:
        return fingerprint, None, row_keys
    hashes = RowHashes(short(keys), rounded, table.dtype == np.float32)
    return fingerprint, RowFingerprints.of(hashes, data.y, target.n_classes, data.sample_weight), row_keys


# --- evaluation sets and callbacks


def _evaluation_tuples(eval_set: Any) -> list[tuple[Any, Any, Any]]:
    """Return evaluation sets as (X, y, sample_weight)."""
    if eval_set is None:
        return []
    sets = [eval_set] if isinstance(eval_set, tuple) else eval_set
    if not isinstance(sets, Sequence) or not all(isinstance(s, tuple) and len(s) in (2, 3) for s in sets):
        raise ValueError(
            f"eval_set is a {type(eval_set).__name__} of another form; it must be (X, y), "
            "(X, y, sample_weight) or a list of such tuples"
        )
    return [(*passed, None) if len(passed) == 2 else passed for passed in sets]


def _read_evaluation_set(
    name: str, passed: tuple[Any, Any, Any], data: FitInput, options: InputOptions
) -> Dataset:
    try:
        X, y, weight = open_input(*passed, None, options)
        require_evaluation_memory(X)
        table = read_table(X, schema=data.schema, estimator_name=options.name)
        if isinstance(table, RemoteTable):
            y, weight = table.scan.y, table.scan.sample_weight
        numbers = data.target.encode(validate_target(y, table.n_rows, options.name))
        if options.check_target is not None:
            # together with the training rows: those of an evaluation set alone may all be 0
            options.check_target(np.concatenate([numbers, data.train.y]), data.target)
        return Dataset(X, table, numbers, validate_weights(weight, table.n_rows))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error


def _validate_callbacks(callbacks: Any) -> list[Callback]:
    if callbacks is None:
        return []
    if not isinstance(callbacks, Sequence) or not all(callable(callback) for callback in callbacks):
        raise TypeError(f"callbacks={callbacks!r} is not allowed: it must be a list of callables or None")
    for callback in callbacks:
        if isinstance(callback, type):  # calling it would make an object, which is true
            name = callback.__name__
            raise TypeError(f"callbacks holds the class {name}: pass an object, {name}(...)")
    return list(callbacks)
