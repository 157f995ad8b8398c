"""Leading parts from where they are: every holder leads, and all of them do the same.

What a leader asks next follows from what all parts have said. So where holders can tell each other what their
parts say quickly, each has a leader of its own: it asks the parts of its holder, hears from the others what
theirs say, adds it up, and goes on. All come to the same trees, of which the process that fits is told:
one question to it a round, not one for every few nodes.
"""

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.distributed.meeting import Meeting
from hedgerow.growing.places import Asked, LocalPlace, Sums
from hedgerow.kernels.cpu.records import Rules

LEAD = "lead"  # the verb of a question to leaders


class SharedPlace:
    """The parts of all holders of a meeting, as each of them sees it; see `hedgerow.growing.places.Asked`.

    Parameters
    ----------
    own : LocalPlace
        The parts of this holder.
    meeting : Meeting
    """

    def __init__(self, own: LocalPlace, meeting: Meeting) -> None:
        self._own, self._meeting = own, meeting

    def ask(self, verb: str, *args: Any) -> tuple[list[Any], Sums]:
        """Ask every part the same, here and there; see `Asked.ask`."""
        own, sums = self._own.ask(verb, *args)
        sums = tuple(np.require(one, np.int64, ["C", "W"]) for one in sums)
        heard = self._meeting.exchange(pickle.dumps(own, 5), sums)
        return [one for message in heard for one in pickle.loads(message)], sums  # noqa: S301 - of the fit


class LedThere:
    """The leaders at all holders, asked as if they were one; see `hedgerow.growing.rounds.RoundLeader`.

    Parameters
    ----------
    place : Asked
        Of the holders.
    """

    def __init__(self, place: Asked) -> None:
        self._place = place

    def settle(self) -> None:
        """See `RoundLeader.settle`."""
        self._all("settle")

    def grow(self, number: int) -> list[NDArray[np.void]] | None:
        """See `RoundLeader.grow`."""
        grown: list[NDArray[np.void]] | None = self._all("grow", number)
        return grown

    def tree(self, rules: Rules, number: int) -> NDArray[np.void]:
        """See `RoundLeader.tree`."""
        nodes: NDArray[np.void] = self._all("tree", rules, number)
        return nodes

    def _all(self, method: str, *args: Any) -> Any:
        said, _ = self._place.ask(LEAD, method, *args)
        first, *others = [pickle.dumps(one, 5) for one in said]
        if any(other != first for other in others):
            raise RuntimeError(
                "workers of the Dask cluster have come to different trees: see that all have the same "
                "versions of Hedgerow, Numba and NumPy"
            )
        return said[0]
