"""The time budget: the remaining seconds, and estimates of the time of fits.

A fit takes about rounds * (a + b * rows) seconds. Both coefficients are estimated from two small fits of a
method, and corrected by the measured time of its larger fits.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

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
