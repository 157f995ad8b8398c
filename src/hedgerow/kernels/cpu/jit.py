"""How the kernels of deep trees and of detection are compiled.

They hand dozens of arrays from function to function and make none. `_nrt=False` leaves out the counting of
references to arrays, which they do not need: half of the time of a tree of small nodes went into it. Parts
that are called for every node are inlined by LLVM: their arguments would be some 300 words on the stack.
(Numba's own `inline="always"` runs as fast, but takes much longer to compile.)
"""

from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}

deep_kernel = njit(**_OPTIONS)
deep_part = njit(**_OPTIONS, forceinline=True)
