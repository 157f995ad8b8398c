"""Budgeting: what is left of the seconds, and what a fit will take.

A fit takes about rounds * (a + b * rows) seconds. Both numbers are found from two small fits of a family, and
corrected by what its larger fits really took.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

PILOT_ROWS = ((200, 2_000, 5_000), (20, 10_000, 50_000))  # a 200th and a 20th of the rows, within limits
PILOT_ROUNDS = {"loss": 10, "staged": 10, "members": 4, "none": 1}
LEAST_ROWS = 4_000  # of a sample: fewer would say little
LARGE = 20_000  # rows above which small fits are made first
SELECTION_SHARE = 0.35  # of the budget, for the first setting of every family
FINAL_SHARE = 0.5  # of the budget, the most that is kept back for the last fit


class Clock:
    """The seconds of a budget; None is no clock at all.

    Examples
    --------
    >>> clock = Clock(10.0, now=iter([0.0, 4.0, 11.0]).__next__)
    >>> clock.left(), clock.left()
    (6.0, -1.0)
    >>> Clock(None).left() is None
    True
    """

    def __init__(self, budget: float | None, now: Callable[[], float] = time.perf_counter) -> None:
        self.budget, self._now = budget, now
        self._began = now()

    def spent(self) -> float:
        """Seconds since the start."""
        return self._now() - self._began

    def left(self) -> float | None:
        """Seconds to the end of the budget."""
        return None if self.budget is None else self.budget - self.spent()


@dataclass
class Cost:
    """What a round of a family takes: a + b * rows seconds, times a correction.

    Examples
    --------
    >>> cost = Cost.from_pilots([(2000, 0.002), (10_000, 0.006)])
    >>> round(cost.of(100_000, 100), 2)
    5.1
    >>> cost.learn(100_000, 0.102)  # a round took twice as long
    >>> round(cost.of(100_000, 100), 2)
    10.2
    """

    a: float
    b: float
    correction: float = field(default=1.0)

    @classmethod
    def from_pilots(cls, pilots: list[tuple[int, float]]) -> "Cost":
        """From (rows, seconds a round) of a small and a larger fit."""
        (few, short), (many, long) = pilots[0], pilots[-1]
        b = max(long - short, 0.1 * long) / max(many - few, 1)
        return cls(max(short - b * few, 0.0), b)

    def of(self, n_rows: int, n_rounds: int) -> float:
        """Seconds of a fit."""
        return self.correction * n_rounds * (self.a + self.b * n_rows)

    def learn(self, n_rows: int, round_seconds: float) -> None:
        """Correct by a fit that was made."""
        self.correction *= round_seconds / self.of(n_rows, 1)


def sample_size(n_rows: int, seconds: float, takes: Callable[[int], float]) -> int:
    """The most rows that all first trials can be made on in so many seconds, to two digits; all, if they can.

    Parameters
    ----------
    n_rows : int
        All rows.
    seconds : float
    takes : callable
        Seconds of the first trials on a number of rows; rising.

    Examples
    --------
    >>> sample_size(1_000_000, 20.0, lambda rows: 1.0 + rows / 10_000)
    180000
    """
    if takes(n_rows) <= seconds:
        return n_rows
    low, high = LEAST_ROWS, n_rows
    while high - low > 1 + low // 100:
        middle = (low + high) // 2
        low, high = (middle, high) if takes(middle) <= seconds else (low, middle)
    digits = int(10 ** max(int(math.log10(low)) - 1, 0))
    return max(LEAST_ROWS, low // digits * digits)
