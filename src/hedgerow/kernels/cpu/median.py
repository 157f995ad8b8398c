"""Running weighted medians: one sorted list of values a row, with room for more.

    values   float64 (n, room)   what the members said of a row, rising, in the first places
    members  int32 (n, room)     who said it
    whole    int64 (members,)    weights; the median is the smallest value at which their running sum, in
                                 the order of the values, reaches half of all

Integer sums do not depend on the order of equal values.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import njit


@njit(cache=True, nogil=True, error_model="numpy")
def insert_and_find(values, members, said, whole, out, start, stop):
    """Put what the last member said of every row into its place, and write the medians to `out`."""
    last = whole.size - 1
    total = np.int64(0)
    for weight in whole:
        total += weight
    for i in range(start, stop):
        row, who, value = values[i], members[i], said[i]
        place = last
        while place > 0 and row[place - 1] > value:
            row[place], who[place] = row[place - 1], who[place - 1]
            place -= 1
        row[place], who[place] = value, last
        place = 0
        running = whole[who[0]]
        while 2 * running < total:
            place += 1
            running += whole[who[place]]
        out[i] = row[place] + 0.0  # -0 becomes 0: which of them stands first is chance
