"""Grey values of colour pixels, in the fixed point that OpenCV uses.

    grey = (9798 red + 19235 green + 3735 blue + 2^14) >> 15

The weights are 0.299, 0.587 and 0.114 (ITU-R BT.601) in units of 2^-15 and add up to 2^15: grey stays grey.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import njit

RED, GREEN, BLUE = 9798, 19235, 3735
SHIFT = 15


@njit(cache=True, nogil=True, error_model="numpy")
def mix(colours, red, blue, out):
    """Grey values of `colours` uint8 (n, channels) into `out` uint8 (n,); `red` and `blue` are columns."""
    for i in range(out.size):
        total = np.int32(RED) * np.int32(colours[i, red])
        total += np.int32(GREEN) * np.int32(colours[i, 1])
        total += np.int32(BLUE) * np.int32(colours[i, blue])
        out[i] = np.uint8((total + np.int32(1 << (SHIFT - 1))) >> np.int32(SHIFT))
