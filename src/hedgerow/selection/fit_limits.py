"""Limits of a fit in seconds and in bytes of the saved model.

Boosting stops at a time limit by a callback. Forests and bagging grow a few members first and measure the
seconds and the bytes of one; the warm start then gives the same members as a single fit.
"""

import pickle
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.system_memory import format_bytes
from hedgerow.threads import resolve_n_jobs

_FIRST_SHARE = 0.1  # of the members, grown first to measure the time of one
FILE_BYTES = 100_000  # of a model file besides trees and fingerprints: columns, card, certificate


@dataclass(frozen=True)
class FitLimits:
    """The limits of a fit.

    Parameters
    ----------
    seconds : float or None
    max_bytes : float
        Maximum size of the saved model; infinity for no limit.
    growth : float
        Factor by which the trees of the final fit, which has more rows, are larger.
    """

    seconds: float | None = None
    max_bytes: float = np.inf
    growth: float = 1.0

    @property
    def exist(self) -> bool:
        """Whether there is a limit."""
        return self.seconds is not None or bool(np.isfinite(self.max_bytes))


def grow_members(model: Any, X: Any, y: Any, limits: FitLimits, weighted: dict[str, Any]) -> int:
    """Fit a forest or bagging, with fewer members if all would exceed a limit.

    weighted : {"sample_weight": weights} or empty
    Return the number of members that the size allows.
    """
    most = int(model.n_estimators)
    threads = resolve_n_jobs(model.n_jobs)
    stages = [threads, max(2 * threads, round(_FIRST_SHARE * most)), most]
    if not limits.exist or stages[1] >= most:
        stages = [most]
    by_size = by_time = most
    start, fitted, measured = time.perf_counter(), 0, None
    for stage in stages:
        target, began = min(stage, by_size, by_time), time.perf_counter()
        if target <= fitted:
            break
        model.set_params(warm_start=True, n_estimators=target).fit(X, y, **weighted)
        size = most_rounds(model, target, limits, measured)
        by_size = min(size, by_size if stage == most else most)
        measured = (target, _pickled_bytes(model)) if np.isfinite(limits.max_bytes) else None
        if limits.seconds is not None:
            now = time.perf_counter()
            member_seconds = (now - began) / (target - fitted)
            by_time = target + int((limits.seconds - (now - start)) / member_seconds)
        fitted = target
    model.set_params(warm_start=False)
    if by_size < fitted:
        model.set_params(n_estimators=by_size).fit(X, y, **weighted)
    return by_size


def count_members(model: Any) -> int:
    """Return the number of trees or members of a fitted forest or bagging ensemble."""
    return int(getattr(model, "n_estimators_", 0) or len(model.estimators_))


def most_rounds(model: Any, n_rounds: int, limits: FitLimits, before: tuple[int, int] | None = None) -> int:
    """Return how many rounds or members a file of the maximum size can hold, at least 1.

    before : number of rounds and bytes of the same model with fewer rounds, which make the estimate exact
    """
    if not np.isfinite(limits.max_bytes):
        return int(np.iinfo(np.int64).max)
    fingerprints, total = _pickled_bytes(getattr(model, "row_fingerprints_", None)), _pickled_bytes(model)
    trees = max(total - fingerprints, 1) / max(n_rounds, 1)
    if before is not None:
        trees = max((total - before[1]) / (n_rounds - before[0]), 1.0)
        fingerprints = max(total - int(trees * n_rounds), fingerprints)
    bytes_left = limits.max_bytes - limits.growth * fingerprints - FILE_BYTES
    affordable = int(bytes_left / (limits.growth * trees))
    if affordable < 1:
        needed = format_bytes(round(limits.growth * (trees + fingerprints) + FILE_BYTES))
        raise ValueError(
            f"a model of one round has {needed}, and the size limit is {format_bytes(int(limits.max_bytes))}"
        )
    return affordable


def _pickled_bytes(value: Any) -> int:
    """Return the approximate size of a value in a model file: a pickle holds the same arrays."""
    return len(pickle.dumps(value, protocol=5))
