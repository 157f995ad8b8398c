"""Integral images: the sum of any rectangle from four entries (Viola and Jones, 2001).

    S[y, x] = sum of the pixels above row y and left of column x             (height + 1, width + 1)
    T[y, x] = sum of the pixels (u, v), v < y, with |u - x + 1| < y - v      the same shape

T is for rectangles tilted by 45 degrees (Lienhart and Maydt, 2002): its pixels form a cone that opens upwards
from (x, y). All numbers are exact int64. The detector computes its own integral images, band by band, in
`kernels.cpu.image`; these functions are for inspection, tests and custom features.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.system_memory import require_memory

_LARGEST = 2**31  # absolute value of a pixel


def integral_image(image: ArrayLike) -> NDArray[np.int64]:
    """Compute the sums of all rectangles that begin in the upper left corner.

    Parameters
    ----------
    image : array of integers, (height, width)

    Returns
    -------
    ndarray of int64, (height + 1, width + 1)
        The first row and the first column are 0.

    Examples
    --------
    >>> integral_image([[1, 2], [3, 4]])
    array([[ 0,  0,  0],
           [ 0,  1,  3],
           [ 0,  4, 10]])
    """
    return _summed(_checked(image))


def squared_integral_image(image: ArrayLike) -> NDArray[np.int64]:
    """Compute the integral image of the squared pixels, for the variance of rectangles.

    Parameters
    ----------
    image : array of integers, (height, width)

    Returns
    -------
    ndarray of int64, (height + 1, width + 1)

    Examples
    --------
    >>> squared_integral_image([[1, 2], [3, 4]])
    array([[ 0,  0,  0],
           [ 0,  1,  5],
           [ 0, 10, 30]])
    """
    pixels = _checked(image)
    largest = int(np.abs(pixels).max(initial=0))
    if largest**2 * pixels.size >= 2**63:
        raise ValueError(f"image: the squares of pixels up to {largest} have a sum of more than 64 bits")
    return _summed(pixels * pixels)


def tilted_integral_image(image: ArrayLike) -> NDArray[np.int64]:
    """Compute the sums of cones that open upwards, for rectangles tilted by 45 degrees.

    Parameters
    ----------
    image : array of integers, (height, width)

    Returns
    -------
    ndarray of int64, (height + 1, width + 1)

    Examples
    --------
    >>> tilted_integral_image([[1, 2, 3], [4, 5, 6]])
    array([[ 0,  0,  0,  0],
           [ 0,  1,  2,  3],
           [ 1,  7, 11, 11]])
    """
    pixels = _checked(image)
    high, wide = pixels.shape
    table = np.zeros((high + 1, wide + 1), np.int64)
    if wide == 0:
        return table
    for y in range(1, high + 1):
        above, below = table[y - 1], table[y]
        older = table[y - 2] if y > 1 else np.zeros_like(above)
        both = pixels[y - 1] + (pixels[y - 2] if y > 1 else 0)
        # beyond the borders, the cones of (-1, y - 1) and (width + 1, y - 1) equal those of `older`
        below[0] = above[1]
        below[1:-1] = above[:-2] + above[2:] - older[1:-1] + both[:-1]
        below[-1] = above[-2] + both[-1]
    return table


def rectangle_sum(
    table: ArrayLike, x: ArrayLike, y: ArrayLike, width: ArrayLike, height: ArrayLike
) -> NDArray[np.int64]:
    """Return the sum of a rectangle, S[y, x] - S[y, x+w] - S[y+h, x] + S[y+h, x+w].

    Parameters
    ----------
    table : ndarray, (height + 1, width + 1)
        An `integral_image` or `squared_integral_image`.
    x, y, width, height : int or arrays of int
        One or more rectangles; arrays are broadcast.

    Returns
    -------
    ndarray of int64
        One sum for each rectangle.

    Examples
    --------
    >>> table = integral_image([[1, 2, 3], [4, 5, 6]])
    >>> int(rectangle_sum(table, 1, 0, 2, 2))
    16
    >>> rectangle_sum(table, [0, 1, 2], 1, 1, 1)
    array([4, 5, 6])
    """
    table = _checked_table(table)
    left, top, wide, high = _checked_rectangles(x, y, width, height)
    right, bottom = left + wide, top + high
    inside = (left >= 0) & (top >= 0) & (wide >= 0) & (high >= 0)
    inside &= (right < table.shape[1]) & (bottom < table.shape[0])
    _require_inside(inside, (left, top, wide, high), table.shape)
    total = table[top, left] - table[top, right] - table[bottom, left] + table[bottom, right]
    return np.asarray(total)


def tilted_sum(
    table: ArrayLike, x: ArrayLike, y: ArrayLike, width: ArrayLike, height: ArrayLike
) -> NDArray[np.int64]:
    """Return the sum of a tilted rectangle, T[y, x] - T[y+h, x-h] - T[y+w, x+w] + T[y+w+h, x+w-h].

    Parameters
    ----------
    table : ndarray, (height + 1, width + 1)
        A `tilted_integral_image`.
    x, y : int or arrays of int
        The top corner.
    width, height : int or arrays of int
        Steps down to the right, and down to the left: the rectangle has 2 * width * height pixels.

    Returns
    -------
    ndarray of int64
        One sum for each rectangle.

    Examples
    --------
    >>> table = tilted_integral_image([[0, 1, 2], [4, 8, 16], [32, 64, 128]])
    >>> int(tilted_sum(table, 2, 0, 1, 1))  # the pixels 1 and 8 in column 1
    9
    """
    table = _checked_table(table)
    left, top, wide, high = _checked_rectangles(x, y, width, height)
    inside = (left - high >= 0) & (top >= 0) & (wide >= 0) & (high >= 0)
    inside &= (left + wide < table.shape[1]) & (top + wide + high < table.shape[0])
    _require_inside(inside, (left, top, wide, high), table.shape)
    total = table[top, left] - table[top + high, left - high] - table[top + wide, left + wide]
    return np.asarray(total + table[top + wide + high, left + wide - high])


def _summed(pixels: NDArray[np.int64]) -> NDArray[np.int64]:
    table = np.zeros((pixels.shape[0] + 1, pixels.shape[1] + 1), np.int64)
    np.cumsum(np.cumsum(pixels, axis=0), axis=1, out=table[1:, 1:])
    return table


def _checked(image: ArrayLike) -> NDArray[np.int64]:
    pixels = np.asarray(image)
    if pixels.ndim != 2 or pixels.dtype.kind not in "biu":
        raise ValueError(
            f"image must be integers of shape (height, width), got {pixels.dtype} {pixels.shape}"
        )
    if pixels.size and max(abs(int(pixels.max())), abs(int(pixels.min()))) >= _LARGEST:
        raise ValueError(f"image: absolute values of pixels must be below {_LARGEST}")
    what = f"the integral image of {pixels.shape[1]:,} x {pixels.shape[0]:,} pixels"
    require_memory(32 * pixels.size, what, "use a smaller image")
    return pixels.astype(np.int64)


def _checked_table(table: ArrayLike) -> NDArray[np.int64]:
    sums = np.asarray(table)
    if sums.ndim != 2 or sums.dtype.kind not in "iu" or not sums.size:
        raise ValueError(f"table must be an integral image, got {sums.dtype} of shape {sums.shape}")
    return sums.astype(np.int64, copy=False)


def _checked_rectangles(*numbers: ArrayLike) -> list[NDArray[np.int64]]:
    arrays = [np.asarray(number) for number in numbers]
    for name, array in zip(("x", "y", "width", "height"), arrays, strict=True):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name}={array.tolist()!r} is not allowed: it must be integers")
        if array.size and max(abs(int(array.max())), abs(int(array.min()))) >= _LARGEST:
            raise ValueError(f"{name} must have absolute values below {_LARGEST}")
    return [np.asarray(array) for array in np.broadcast_arrays(*(a.astype(np.int64) for a in arrays))]


def _require_inside(inside: Any, rectangles: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    if not np.all(inside):
        first = int(np.flatnonzero(~np.atleast_1d(inside))[0])
        rectangle = tuple(int(np.atleast_1d(side).ravel()[first]) for side in rectangles)
        raise ValueError(
            f"x, y, width, height = {rectangle} is not allowed: the rectangle must be inside the image of "
            f"{shape[1] - 1} x {shape[0] - 1} pixels"
        )
