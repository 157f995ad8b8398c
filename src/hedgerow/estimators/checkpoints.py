"""The fit of estimators that do not use `base.EnsembleBase` yet."""

import copy
import os
import reprlib
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.bagging.raw_table import RawTable
from hedgerow.boosting.callbacks import Round
from hedgerow.estimators import checkpoint as current
from hedgerow.estimators import inputs
from hedgerow.estimators.checkpoint import _ADVICE, Checkpoint, _is_fitted, different_parameters, past_rounds
from hedgerow.estimators.fingerprints import DataFingerprint
from hedgerow.table.remote import RemoteTable

# --- a fit under way


class Fit:
    """A fit under way that nobody keeps: how its results are set on an estimator.

    Attributes
    ----------
    checkpointer : what a `hedgerow.boosting.loop.FitOptions` is given
    seed : that of the fit that is gone on with
    taken_up : whether the estimator has rounds of a checkpoint
    from_model : whether the first of all rounds went on from a model
    """

    checkpointer: Any = None
    seed: int | None = None
    taken_up: bool = False
    from_model: bool = False

    def __init__(self) -> None:
        self._settings: list[Callable[[Any, Any], None]] = []

    def set_by(self, setting: Callable[[Any, Any], None]) -> None:
        """Say how the results of the fit become attributes of an estimator."""
        self._settings.append(setting)

    def set(self, model: Any, results: Any) -> None:
        """Set the attributes."""
        for setting in self._settings:
            setting(model, results)

    def compare_names(self, X: Any, y: Any) -> None:
        """Refuse to go on with other names of the columns or other labels."""

    def compare(self, rows: DataFingerprint, look: Callable[[], Sequence[DataFingerprint]] = tuple) -> None:
        """Refuse to go on with other rows than those of the checkpoint; `look` looks at evaluation sets."""


class KeptFit(Fit):
    """A fit with a checkpoint.

    Parameters
    ----------
    model : the estimator that is fitted
    checkpoint : Checkpoint

    Attributes
    ----------
    going : estimator
        Takes the model's place in the fit: a copy of it that has the rounds of the checkpoint.
    past_rounds : list of Round
        Of the checkpoint.
    initial_losses : tuple of float or None
        What was followed of the evaluation sets before the first round of this fit, if it went on from a
        model.
    """

    def __init__(self, model: Any, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.checkpointer, self._checkpoint, self._store = self, checkpoint, current._stores[0]  # noqa: SLF001
        self._store.check(model)
        self._path = Path(checkpoint.path).absolute()  # a callback may change the working folder
        self._warm = getattr(model, "warm_start", None)
        self._began = self._digest(model) if self._warm and _is_fitted(model) else None
        self.going, self.past_rounds = copy.copy(model), list[Round]()
        self.initial_losses: tuple[float, ...] | None = None
        self._notes: dict[str, Any] = {}
        self._last_write, self._rounds_since, self._is_written = time.perf_counter(), 0, False
        if self._path.exists():
            self._take_up(model)
        self.from_model = self._began is not None

    @property
    def _name(self) -> str:
        return f"checkpoint={os.fspath(self._checkpoint.path)!r}"

    def _take_up(self, model: Any) -> None:
        """Give the copy the rounds of the checkpoint, if it is one of this fit."""
        held, self._notes = self._store.read(self._path, self._checkpoint.trusted)
        if type(held) is not type(model):
            raise ValueError(f"{self._name} is of a {type(held).__name__}; {_ADVICE}")
        for name, old, new in different_parameters(held, model):
            raise ValueError(f"{self._name} is of a fit with {name}={old!r}, now it is {new!r}; {_ADVICE}")
        if self._began is not None and self._began == self._digest(held):
            self._began = self._notes["began"]  # the model is the one that the checkpoint is of
        if self._notes["began"] != self._began:
            raise ValueError(f"{self._name} is of a warm start from another model; {_ADVICE}")
        if hasattr(model, "n_estimators"):
            n_held = held.n_estimators_ if hasattr(held, "n_estimators_") else len(held.estimators_)
            if model.n_estimators < n_held:
                few = f"n_estimators={model.n_estimators} is below the {n_held} rounds"
                raise ValueError(f"{few} of {self._name}; {_ADVICE}")
        parameters = held.get_params(deep=False)
        vars(self.going).update({name: value for name, value in vars(held).items() if name not in parameters})
        self.seed, self._is_written, self.taken_up = self._notes["seed"], True, True
        if self.seed is not None:
            self.going._seed = self.seed  # noqa: SLF001 - a file may leave it out
        if self._warm is not None:
            self.going.warm_start = True
        self.initial_losses = None if self._notes["base"] is None else tuple(self._notes["base"])
        self.past_rounds = past_rounds(
            getattr(held, "history_", {}), int(getattr(model, "n_estimators", 0)), self._notes["first"]
        )

    def _digest(self, model: Any) -> str:
        """Of a fitted model, without what no round depends on, and what a checkpoint does not have yet."""
        one = copy.copy(model)
        one.n_estimators = 1
        if hasattr(one, "stop_reason_"):
            one.stop_reason_ = ""
        for name in getattr(one, "_oob_names", ()):
            vars(one).pop(name, None)
        return self._store.digest(one)

    def compare_names(self, X: Any, y: Any) -> None:
        """Refuse to go on with other names of the columns or other labels."""
        if not self.taken_up or self.from_model:  # a model that is gone on from has its own
            return
        held = vars(self.going)
        if isinstance(X, RemoteTable):
            names, n_rows = X.schema.names, X.n_rows
        else:
            table = RawTable.of(X, type(self.going).__name__)
            names, n_rows = table.names, table.shape[0]
        if names != held.get("schema_", held.get("_schema")).names:
            raise ValueError(f"{self._name} is of a fit with other names of the columns of X; {_ADVICE}")
        if "classes_" in held:
            raw_y = inputs.read_target(y, n_rows, type(self.going).__name__)
            old, new = held["classes_"], inputs.Labels.of(raw_y).classes
            if old.dtype.newbyteorder("=") != new.dtype.newbyteorder("=") or not np.array_equal(old, new):
                told = f"{reprlib.repr(old.tolist())} ({old.dtype})"
                now = f"{reprlib.repr(new.tolist())} ({new.dtype})"
                raise ValueError(f"{self._name} is of a fit with the labels {told}, not {now}; {_ADVICE}")

    def compare(self, rows: DataFingerprint, look: Callable[[], Sequence[DataFingerprint]] = tuple) -> None:
        """Refuse to go on with other rows than those of the checkpoint; `look` looks at evaluation sets."""
        told = {"rows": _plain(rows), "evaluations": [_plain(one) for one in look()]}
        if self._notes:
            others = [name for name, value in _plain(rows).items() if value != self._notes["rows"][name]]
            if told["evaluations"] != self._notes["evaluations"]:
                others.append("eval_set")
            if others:
                raise ValueError(f"{self._name} is of a fit with another {' and '.join(others)}; {_ADVICE}")
        first = int(getattr(self.going, "n_estimators_", 0)) if self._began else 0
        self._notes = {"first": first} | self._notes | told | {"began": self._began}

    # --- what the loop calls

    def after_round(self, done: Round | None, made: Callable[[], Any]) -> None:
        """Write, when it is time."""
        self._rounds_since += 1
        self._is_written = False
        if self._checkpoint.is_due(self._rounds_since, time.perf_counter() - self._last_write):
            self._write(made())

    def finish(self, made: Callable[[], Any]) -> None:
        """Write what has not been written yet."""
        if not self._is_written and self._rounds_since:
            self._write(made())

    def _write(self, results: Any) -> None:
        one = copy.copy(self.going)
        self.set(one, results)
        if self._warm is not None:
            one.warm_start = self._warm
        base = None if self.initial_losses is None else list(self.initial_losses)
        notes = self._notes | {"seed": getattr(one, "_seed", None), "base": base}
        try:
            self._store.write(self._path, one, notes)
        except OSError as error:  # the fit is worth more than its checkpoint
            warnings.warn(f"{self._name} could not be written, the fit goes on: {error}", stacklevel=2)
        self._last_write, self._rounds_since, self._is_written = time.perf_counter(), 0, True

    def hand_over(self, model: Any) -> None:
        """Give the estimator what its copy has learned."""
        if self._warm is not None:
            self.going.warm_start = self._warm
        vars(model).clear()
        vars(model).update(vars(self.going))


def run_fit(model: Any, checkpoint: Any, fit: Callable[[Any, Fit], None]) -> None:
    """Fit an estimator, from its checkpoint on if there is one.

    Parameters
    ----------
    model : estimator
    checkpoint : str, path, Checkpoint or None
    fit : callable
        Given the estimator to fit and the `Fit`.
    """
    kept = None if checkpoint is None else Checkpoint.of(checkpoint)
    if kept is None:
        fit(model, Fit())
        return
    under_way = KeptFit(model, kept)
    fit(under_way.going, under_way)
    under_way.hand_over(model)


def _plain(rows: DataFingerprint) -> dict[str, Any]:
    return {name: value for name, value in asdict(rows).items() if name in ("X", "y", "sample_weight")}
