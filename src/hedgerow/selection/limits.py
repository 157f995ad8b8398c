"""Limits of time and size: the budget, estimates of the time of fits, and fits within limits.

A fit takes about rounds * (a + b * rows) seconds. Both coefficients are estimated from two small fits of a
method, and corrected by the measured time of its larger fits.

Boosting stops at a time limit by a callback. Forests and bagging grow a few members first and measure the
seconds and the bytes of one; the warm start then gives the same members as a single fit.
"""

import math
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.system_memory import format_bytes
from hedgerow.threads import resolve_n_jobs

PILOT_ROWS = ((200, 2_000, 5_000), (20, 10_000, 50_000))  # 1/200 and 1/20 of the rows, minimum, maximum
PILOT_ROUNDS = {"loss": 10, "staged": 10, "members": 4, "none": 1}
MIN_SAMPLE_ROWS = 4_000  # scores of smaller samples are too noisy
LARGE = 20_000  # rows above which pilot fits are made first
SELECTION_SHARE = 0.35  # of the budget, for the first setting of every method
OVERTIME, OVERTIME_SECONDS = 0.1, 2.0  # fraction of the budget and seconds, the minimum for the final fit:
# on a busy machine trials may use all of a small budget, and a fit of few rounds is worse than a late one
FINAL_SHARE = 0.5  # of the budget, the maximum that is reserved for the final fit


class Clock:
    """The elapsed and the remaining seconds of a budget; None for no budget.

    Examples
    --------
    >>> clock = Clock(10.0, now=iter([0.0, 4.0, 11.0]).__next__)
    >>> clock.remaining(), clock.remaining()
    (6.0, -1.0)
    >>> Clock(None).remaining() is None
    True
    """

    def __init__(self, budget: float | None, now: Callable[[], float] = time.perf_counter) -> None:
        self.budget, self._now = budget, now
        self._start = now()

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self._now() - self._start

    def remaining(self) -> float | None:
        """Return the seconds to the end of the budget."""
        return None if self.budget is None else self.budget - self.elapsed()


@dataclass
class FitTime:
    """An estimate of the time of a fit: a + b * rows seconds per round, times a correction.

    Examples
    --------
    >>> time = FitTime.from_pilots([(2000, 0.002), (10_000, 0.006)])
    >>> round(time.seconds(100_000, 100), 2)
    5.1
    >>> time.update(100_000, 0.102)  # a round took twice as long
    >>> round(time.seconds(100_000, 100), 2)
    10.2
    """

    a: float
    b: float
    correction: float = field(default=1.0)

    @classmethod
    def from_pilots(cls, pilots: list[tuple[int, float]]) -> "FitTime":
        """Estimate the coefficients from (rows, seconds per round) of a small and a larger fit."""
        (few, short), (many, long) = pilots[0], pilots[-1]
        b = max(long - short, 0.1 * long) / max(many - few, 1)
        return cls(max(short - b * few, 0.0), b)

    def seconds(self, n_rows: int, n_rounds: int) -> float:
        """Return the seconds of a fit."""
        return self.correction * n_rounds * (self.a + self.b * n_rows)

    def update(self, n_rows: int, round_seconds: float) -> None:
        """Correct the estimate by a measured fit."""
        self.correction *= round_seconds / self.seconds(n_rows, 1)


def sample_size(n_rows: int, seconds: float, estimate: Callable[[int], float]) -> int:
    """Return the largest number of the `n_rows` rows for which the first trials fit the time, to two digits.

    `estimate` returns the seconds of the first trials on a number of rows; it is increasing.

    Examples
    --------
    >>> sample_size(1_000_000, 20.0, lambda rows: 1.0 + rows / 10_000)
    180000
    """
    if estimate(n_rows) <= seconds:
        return n_rows
    low, high = MIN_SAMPLE_ROWS, n_rows
    while high - low > 1 + low // 100:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate(middle) <= seconds else (low, middle)
    digits = int(10 ** max(int(math.log10(low)) - 1, 0))
    return max(MIN_SAMPLE_ROWS, low // digits * digits)


_FIRST_SHARE = 0.1  # of the members, grown first to measure the time of one
FILE_BYTES = 100_000  # of a model file besides trees and fingerprints: columns, card, certificate


@dataclass(frozen=True)
class FitLimits:
    """The limits of a fit."""

    seconds: float | None = None
    max_bytes: float = np.inf  # of the saved model
    growth: float = 1.0  # factor by which the trees of the final fit, which has more rows, are larger

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
