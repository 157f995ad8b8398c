"""Counters in memory that several processes see: each adds to its own, and looks at those of the others.

counters : int64 (lines, 8), a cache line each; members have the lines from the second on, and count in its
first element. What a member wrote before it counted is seen by all who see the count.
"""

from hedgerow.kernels.cpu.intrinsics import atomic_add, atomic_load, yield_time_slice
from hedgerow.kernels.cpu.jit import njit

_WORDS = 8  # of a line
_SPINS = 2000  # looks before the core is given to others
_YIELDS = 1000  # times that it is, before the caller is asked whether to wait on: about a millisecond


@njit(cache=True, nogil=True)
def count_up(counters, member):
    """Add one to the counter of a member."""
    atomic_add(counters, _WORDS * (member + 1), 1)


@njit(cache=True, nogil=True)
def all_have_counted(counters, n_members, number):
    """Whether all members have counted to `number`; waits for it for about a millisecond."""
    looks = 0
    for member in range(n_members):
        while atomic_load(counters, _WORDS * (member + 1)) < number:
            looks += 1
            if looks > _SPINS:
                yield_time_slice()
            if looks > _SPINS + _YIELDS:
                return False
    return True
