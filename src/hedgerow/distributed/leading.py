"""Leading parts from where they are: every holder leads, and all of them do the same.

What a leader asks next follows from what all parts have said. So where holders can tell each other what their
parts say quickly, each has a leader of its own: it asks the parts of its holder, hears from the others what
theirs say, adds it up, and goes on. All come to the same trees, of which the process that fits is told:
one question to it a round, not one for every few nodes.

What fails at one holder fails at all, with the same error: nobody waits for an answer that will not come, and
whoever asks learns why from whomever it hears first.
"""

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.distributed.meeting import Meeting, MeetingOver, MemberFailed
from hedgerow.distributed.wire import packed
from hedgerow.growing.places import Asked, LocalPlace, Sums
from hedgerow.kernels.cpu.records import Rules

LEAD = "lead"  # the verb of a question to leaders
_LONGEST = 32 << 10  # bytes of an error that is told; less than a meeting takes


class SharedPlace:
    """The parts of all holders of a meeting, as each of them sees it; see `hedgerow.growing.places.Asked`.

    Parameters
    ----------
    own : LocalPlace
        The parts of this holder.
    meeting : Meeting
    """

    def __init__(self, own: LocalPlace, meeting: Meeting) -> None:
        self._own, self._meeting, self._is_over = own, meeting, False

    def ask(self, verb: str, *args: Any) -> tuple[list[Any], Sums]:
        """Ask every part the same, here and there; see `Asked.ask`."""
        try:
            own, sums = self._own.ask(verb, *args)
            sums = tuple(np.require(one, np.int64, ["C", "W"]) for one in sums)
            heard = self._meeting.exchange(pickle.dumps(own, 5), sums)
            return [one for message in heard for one in pickle.loads(message)], sums  # noqa: S301 - of the fit
        except MemberFailed as error:
            self._is_over = True
            raise _error_of(*error.args) from None
        except MeetingOver:
            self._is_over = True
            raise
        except Exception as error:
            self.fail(error)
            raise

    def fail(self, error: Exception) -> None:
        """Have all holders raise an error of this one; they would wait for it."""
        if not self._is_over:
            self._is_over = True
            self._meeting.fail(_told(error))


def _told(error: Exception) -> bytes:
    """An error as bytes; in words if it cannot be pickled."""
    try:
        told = packed(error)
        pickle.loads(told)  # noqa: S301 - some can be pickled, but not made again
    except Exception:  # noqa: BLE001 - whatever it is, it is not what went wrong first
        told = b""
    return told if 0 < len(told) <= _LONGEST else repr(error)[:_LONGEST].encode()


def _error_of(told: bytes) -> Exception:
    """The error of another holder."""
    try:
        error = pickle.loads(told)  # noqa: S301 - of the fit
    except Exception:  # noqa: BLE001 - it was told in words, or is of a class not known here
        error = None
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"another worker of the Dask cluster failed: {told[:1000].decode(errors='replace')}")


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
