"""Checkpoints: files that store a fit in progress, so that it can be resumed.

    fit ── round ── round ── round ── killed            fit ── reads the file ── round ── round ── done
                 └─▶ file          └─▶ file

A checkpoint is the model of the rounds so far, with notes on the fit: fingerprints of the data, the seed, and
a digest of the model that a warm start began with. A fit that finds its file takes over these rounds, calls
the callbacks with them again, and continues as a warm start does. The final model is therefore the same as
that of an uninterrupted fit, bit for bit. Where scores of rows do not follow from the model (`drop_rate` and
`leaf_value_folds` of gradient boosting), the notes have them too.

`hedgerow.io` registers how models are written to files with `register_store`.
"""

import copy
import os
import reprlib
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hedgerow.boosting.callbacks import Round
from hedgerow.estimators.fingerprints import DataFingerprint
from hedgerow.estimators.parameters import Allowed, check_parameters, integer, none, number
from hedgerow.estimators.validation import FitInput
from hedgerow.table import Schema

_FILE = "the name of a file"
_ALLOWED = {
    "path": Allowed(lambda value: isinstance(value, str | os.PathLike) and bool(os.fspath(value)), _FILE),
    "rounds": integer(1) | none(),
    "seconds": number(0) | none(),
    "trusted": Allowed(
        lambda value: (
            isinstance(value, Collection)
            and not isinstance(value, str)
            and all(isinstance(name, str) for name in value)
        ),
        "a list of names of types",
    ),
}
_ADVICE = "pass another path, or remove the file to start again"


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a fit in progress is stored.

    Parameters
    ----------
    path : str or path
        A file; if it exists, the fit is resumed from it.
    rounds : int, optional
        Write after this number of rounds (or trees, or members).
    seconds : float, optional
        Write after a round that ends at least this number of seconds after the last write.
    trusted : sequence of str
        Types that members of other libraries may have, see `hedgerow.load`.

    Notes
    -----
    The file is also written when the fit ends, and is not removed: a repeated fit ends at once, and one with
    a larger `n_estimators` continues. With neither `rounds` nor `seconds` it is written at the end only.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import GradientBoostingClassifier, load
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.safetensors")
    ...     checkpoint = Checkpoint(path, rounds=5)
    ...     _ = GradientBoostingClassifier(n_estimators=10).fit(X, y, checkpoint=checkpoint)
    ...     load(path).n_estimators_
    10
    """

    path: str | os.PathLike[str]
    rounds: int | None = None
    seconds: float | None = 60.0
    trusted: Collection[str] = ()

    def __post_init__(self) -> None:
        check_parameters({name: getattr(self, name) for name in _ALLOWED}, _ALLOWED)

    @classmethod
    def of(cls, value: Any) -> "Checkpoint":
        """Return the checkpoint of a fit's parameter: a path or a `Checkpoint`."""
        if isinstance(value, Checkpoint):
            checkpoint = value
        elif _ALLOWED["path"].test(value):
            checkpoint = cls(value)
        else:
            raise TypeError(f"checkpoint={value!r} is not allowed: it must be {_FILE}, a Checkpoint or None")
        path = Path(checkpoint.path)
        if path.is_dir() or not path.resolve().parent.is_dir():
            raise ValueError(
                f"checkpoint={os.fspath(path)!r} is not allowed: it must be a file in a folder that exists"
            )
        return checkpoint

    def is_due(self, n_rounds: int, seconds: float) -> bool:
        """Return whether to write, this number of rounds and seconds after the last write."""
        by_rounds = self.rounds is not None and n_rounds >= self.rounds
        return by_rounds or (self.seconds is not None and seconds >= self.seconds)


class Store(Protocol):
    """Writes and reads checkpoints."""

    def check(self, model: Any) -> None:
        """Raise an error for an unfitted model that no file could hold."""

    def write(self, path: str | os.PathLike[str], model: Any, notes: dict[str, Any]) -> None:
        """Write a fitted model and the notes atomically."""

    def read(self, path: str | os.PathLike[str], trusted: Collection[str]) -> tuple[Any, dict[str, Any]]:
        """Return the model and the notes of a file, validated."""

    def digest(self, model: Any) -> str:
        """Return the digest of the file of a fitted model."""


_stores: list[Store] = []


def register_store(store: Store) -> None:
    """Set how checkpoints are written and read."""
    _stores[:] = [store]


def _registered_store() -> Store:
    """Return how checkpoints are written; only fits with a checkpoint load the module of model files."""
    if not _stores:
        import_module("hedgerow.io")
    return _stores[0]


class FileCheckpointer:
    """A fit with a checkpoint: reads it, validates it and writes it.

    model : a copy of the estimator that is fitted instead of it; it has the rounds of the checkpoint.
    resumed : whether there was a checkpoint.
    from_model : whether the first fit was a warm start.
    past_rounds : the rounds of the checkpoint.
    initial_losses : losses of the evaluation sets before the first round of a warm start.
    """

    def __init__(self, estimator: Any, checkpoint: Any) -> None:
        self._checkpoint, self._store = Checkpoint.of(checkpoint), _registered_store()
        self._store.check(estimator)
        self._path = Path(self._checkpoint.path).absolute()  # a callback may change the working folder
        self._warm_start = getattr(estimator, "warm_start", None)
        self._initial_digest = self._digest(estimator) if self._warm_start and _is_fitted(estimator) else None
        self.model, self.resumed, self.past_rounds = copy.copy(estimator), False, list[Round]()
        self.initial_losses: tuple[float, ...] | None = None
        self._data: FitInput | None = None
        self._notes: dict[str, Any] = {}
        self._scores: dict[str, Any] = {}  # the last axis is that of the rows
        self._last_write, self._rounds_since, self._is_written = time.perf_counter(), 0, False
        if self._path.exists():
            self._resume(estimator)
        self.from_model = self._initial_digest is not None

    @property
    def _name(self) -> str:
        return f"checkpoint={os.fspath(self._checkpoint.path)!r}"

    def _resume(self, estimator: Any) -> None:
        """Copy the rounds of the checkpoint to the model, if it is a checkpoint of this fit."""
        stored, self._notes = self._store.read(self._path, self._checkpoint.trusted)
        self._scores = self._notes.pop("scores")
        self._check_same_fit(stored, estimator)
        parameters = stored.get_params(deep=False)
        vars(self.model).update(
            {name: value for name, value in vars(stored).items() if name not in parameters}
        )
        self._is_written = self.resumed = True
        if self._notes["seed"] is not None:
            self.model._seed = self._notes["seed"]  # noqa: SLF001 - a file may not have it
        if self._warm_start is not None:
            self.model.warm_start = True
        losses = self._notes["base"]
        self.initial_losses = None if losses is None else tuple(losses)
        self.past_rounds = past_rounds(
            getattr(stored, "history_", {}), _most_rounds(estimator), self._notes["first"]
        )

    def _check_same_fit(self, stored: Any, estimator: Any) -> None:
        if type(stored) is not type(estimator):
            raise ValueError(f"{self._name} is of a {type(stored).__name__}; {_ADVICE}")
        for name, old, new in different_parameters(stored, estimator):
            raise ValueError(f"{self._name} is of a fit with {name}={old!r}, now it is {new!r}; {_ADVICE}")
        if self._initial_digest is not None and self._initial_digest == self._digest(stored):
            self._initial_digest = self._notes["began"]  # the estimator holds the model of the checkpoint
        if self._notes["began"] != self._initial_digest:
            raise ValueError(f"{self._name} is of a warm start from another model; {_ADVICE}")
        if hasattr(estimator, "n_estimators"):
            n_stored = stored.n_estimators_ if hasattr(stored, "n_estimators_") else len(stored.estimators_)
            if _most_rounds(estimator) < n_stored:
                few = f"n_estimators={estimator.n_estimators} is below the {n_stored} rounds"
                raise ValueError(f"{few} of {self._name}; {_ADVICE}")

    def _digest(self, model: Any) -> str:
        """Return the digest of a fitted model without attributes that rounds do not depend on."""
        plain = copy.copy(model)
        plain.n_estimators = 1
        if hasattr(plain, "stop_reason_"):
            plain.stop_reason_ = ""
        for name in getattr(plain, "_oob_names", ()):
            vars(plain).pop(name, None)
        return self._store.digest(plain)

    def check_data(self, data: FitInput) -> None:
        """Raise an error if the data are not those of the checkpoint."""
        self._data = data
        if self.resumed and not self.from_model:  # else columns and labels are those of the model
            if data.schema.names != self.model.schema_.names:
                raise ValueError(f"{self._name} is of a fit with other names of the columns of X; {_ADVICE}")
            if data.target.classes is not None:
                self._check_classes(self.model.classes_, data.target.classes)
        rows = _digests(data.fingerprint)
        evaluations = [_digests(fingerprint) for fingerprint in data.evaluation_fingerprints]
        if self._notes:
            others = [name for name, value in rows.items() if value != self._notes["rows"][name]]
            if self.resumed and not others and not _same_categories(self.model.schema_, data.schema):
                others.append("X")
            if evaluations != self._notes["evaluations"]:
                others.append("eval_set")
            if others:
                raise ValueError(f"{self._name} is of a fit with another {' and '.join(others)}; {_ADVICE}")
        n_evaluated = sum(evaluated.table.n_rows for evaluated in data.evaluation_sets)
        for name, n_rows in {"training": data.n_rows, "evaluation": n_evaluated}.items():
            if name in self._scores and self._scores[name].shape[-1] != n_rows:
                raise ValueError(f"{self._name} has scores of other rows; {_ADVICE}")
        first = int(getattr(self.model, "n_estimators_", 0)) if self._initial_digest else 0
        digests = {"rows": rows, "evaluations": evaluations, "began": self._initial_digest}
        self._notes = {"first": first} | self._notes | digests

    def _check_classes(self, old: Any, new: Any) -> None:
        if old.dtype.newbyteorder("=") != new.dtype.newbyteorder("=") or not np.array_equal(old, new):
            stored, passed = (f"{reprlib.repr(labels.tolist())} ({labels.dtype})" for labels in (old, new))
            raise ValueError(f"{self._name} is of a fit with the labels {stored}, not {passed}; {_ADVICE}")

    # --- called by the loop

    def pop_scores(self) -> dict[str, Any]:
        """Return and release the scores of rows of the resumed fit, if they were stored."""
        scores, self._scores = self._scores, {}
        return scores

    def after_round(self, done: Round | None, snapshot: Callable[[], Any]) -> None:
        """Write the file if it is due; `snapshot` returns the result of the rounds so far."""
        self._rounds_since += 1
        self._is_written = False
        if self._checkpoint.is_due(self._rounds_since, time.perf_counter() - self._last_write):
            self._write(snapshot())

    def finish(self, snapshot: Callable[[], Any]) -> None:
        """Write rounds that are not written yet."""
        if not self._is_written and self._rounds_since:
            self._write(snapshot())

    def _write(self, result: Any) -> None:
        if result is None:  # the file keeps the rounds that it has
            return
        snapshot = copy.copy(self.model)
        snapshot._set_fitted(result, self._data)  # noqa: SLF001 - a copy of the estimator
        if self._warm_start is not None:
            snapshot.warm_start = self._warm_start
        losses = None if self.initial_losses is None else list(self.initial_losses)
        notes = self._notes | {"seed": getattr(snapshot, "_seed", None), "base": losses}
        notes["scores"] = getattr(result, "scores", {})
        try:
            self._store.write(self._path, snapshot, notes)
        except OSError as error:  # a failed write must not stop the fit
            warnings.warn(f"{self._name} could not be written, the fit continues: {error}", stacklevel=2)
        self._last_write, self._rounds_since, self._is_written = time.perf_counter(), 0, True

    def copy_to(self, estimator: Any) -> None:
        """Make the estimator the fitted model."""
        if self._warm_start is not None:
            self.model.warm_start = self._warm_start
        vars(estimator).clear()
        vars(estimator).update(vars(self.model))


def past_rounds(history: dict[str, list[float]], n_rounds: int, first: int) -> list[Round]:
    """Return the rounds of a history from number `first` on, as callbacks were called with them.

    >>> past_rounds({"round": [0, 1], "leaves": [2, 3], "validation_error": [0.5, 0.25]}, 9, 1)
    [Round(number=1, n_rounds=9, seconds=0.0, n_leaves=3, ... validation_loss=(0.25,), measure='error')]
    """
    measure = "error" if any(name.endswith("_error") for name in history) else "loss"
    names = [name for name in history if name.startswith(f"validation_{measure}")]
    losses = [history[name] for name in sorted(names, key=lambda name: (len(name), name))]
    train, leaves = history.get(f"train_{measure}"), history.get("leaves")
    return [
        Round(
            int(number),
            n_rounds,
            0.0,
            int(leaves[i]) if leaves else 0,
            train[i] if train else None,
            tuple(values[i] for values in losses),
            measure,
        )
        for i, number in enumerate(history.get("round", ()))
        if i >= first
    ]


def _most_rounds(estimator: Any) -> int:
    """Return the largest number of rounds; 0 for an estimator without rounds."""
    if hasattr(estimator, "_n_rounds"):
        return int(estimator._n_rounds())  # noqa: SLF001 - n_estimators may be "auto"
    return int(getattr(estimator, "n_estimators", 0))


def _digests(fingerprint: DataFingerprint) -> dict[str, str | None]:
    return {"X": fingerprint.X, "y": fingerprint.y, "sample_weight": fingerprint.sample_weight}


def _same_categories(one: Schema, other: Schema) -> bool:
    return all(
        np.array_equal(old, new) if old is not None and new is not None else old is new
        for old, new in zip(one.categories, other.categories, strict=True)
    )


def _is_fitted(model: Any) -> bool:
    return hasattr(model, "model_") or hasattr(model, "estimators_")


# --- parameters of two estimators compared
# A file returns values in plain types, so lists equal tuples, and the order of dicts is ignored.

_NO_INFLUENCE = frozenset({"n_jobs", "verbose"})  # on a model
_MAY_CHANGE = frozenset({"n_estimators", "warm_start"}) | _NO_INFLUENCE  # when a fit is resumed


def different_parameters(
    old: Any, new: Any, may_change: frozenset[str] = _MAY_CHANGE
) -> list[tuple[str, Any, Any]]:
    """Return the name and both values of parameters that differ and must not.

    >>> from hedgerow import RandomForestClassifier
    >>> a, b = RandomForestClassifier(max_depth=3), RandomForestClassifier(max_depth=4, n_estimators=9)
    >>> different_parameters(a, b)
    [('max_depth', 3, 4)]
    """
    old_values, new_values = old.get_params(deep=True), new.get_params(deep=True)
    if isinstance(old_values.get("n_estimators"), str) != isinstance(new_values.get("n_estimators"), str):
        may_change = may_change - {"n_estimators"}  # other parameters follow from n_estimators="auto"
    names = [name for name in dict.fromkeys([*new_values, *old_values]) if not _may_change(name, may_change)]
    values = [(name, old_values.get(name), new_values.get(name)) for name in names]
    return [entry for entry in values if not _is_not_stored(*entry) and not _same(*entry[1:])]


def _may_change(name: str, may_change: frozenset[str]) -> bool:
    owner, _, own = name.rpartition("__")
    return own in (_NO_INFLUENCE if owner else may_change)  # parameters of a member must have no influence


def same_learner(one: Any, other: Any) -> bool:
    """Return whether two unfitted estimators learn the same.

    >>> from hedgerow import DecisionStump
    >>> same_learner(DecisionStump(n_jobs=1), DecisionStump()), same_learner(DecisionStump(max_bins=9), None)
    (True, False)
    """
    return type(one) is type(other) and not different_parameters(one, other, _NO_INFLUENCE)


def _is_not_stored(name: str, old: Any, new: Any) -> bool:
    """Return whether a file does not hold such a value; the seed of a generator is in the notes."""
    if name.rpartition("__")[2] == "random_state":
        return not isinstance(old, int | np.integer) and not isinstance(new, int | np.integer)
    return name == "oob_score" and callable(new)


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "get_params") and hasattr(b, "get_params"):
        return type(a) is type(b)  # their parameters are compared, too
    return repr(_as_plain_types(a)) == repr(_as_plain_types(b))


def _as_plain_types(value: Any) -> Any:
    """Return a parameter as a file returns it: no NumPy types, lists for tuples, sorted dicts.

    >>> _as_plain_types([{"b": np.int8(1), "a": (2, 3)}, {10, 9}])
    [[('a', [2, 3]), ('b', 1)], [9, 10]]
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        items = [(_as_plain_types(key), _as_plain_types(item)) for key, item in value.items()]
        return sorted(items, key=lambda item: repr(item[0]))
    if isinstance(value, AbstractSet):
        return sorted(map(_as_plain_types, value), key=lambda item: (type(item).__name__, item))
    return [_as_plain_types(item) for item in value] if isinstance(value, list | tuple | range) else value
