"""Images: conversion to grey values, reading of files, and integral images.

`as_grey` returns uint8 (height, width), contiguous, 0 for black and 255 for white: the input of all
detectors. Colours become grey by OpenCV's fixed-point formula, so that both libraries process the same
pixels. Other dtypes become uint8 as in scikit-image: a bool is 0 or 255, white is 65535 in uint16 and 1 in a
float.

Pillow (the extra `vision`) is needed for image files only.

Integral images give the sum of any rectangle from four entries (Viola and Jones, 2001):

    S[y, x] = sum of the pixels above row y and left of column x             (height + 1, width + 1)
    T[y, x] = sum of the pixels (u, v), v < y, with |u - x + 1| < y - v      the same shape

T is for rectangles tilted by 45 degrees (Lienhart and Maydt, 2002): its pixels form a cone that opens upwards
from (x, y). All numbers are exact int64. The detector computes its own integral images, band by band, in
`kernels.cpu.image`; these functions are for inspection, tests and custom features.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.kernels.cpu.image import mix_colours
from hedgerow.optional import require_extra
from hedgerow.system_memory import require_memory

if TYPE_CHECKING:
    from PIL import Image

Grey = NDArray[np.uint8]  # (height, width)
ImageLike: TypeAlias = "ArrayLike | Image.Image | str | os.PathLike[str]"

_CHANNELS = {"rgb": (0, 2), "bgr": (2, 0)}  # indices of red and blue
_STEP_16 = 257  # 65535 / 255: one step of 8 bits, in 16 bits
_UNCONVERTED_MODES = {"L", "RGB", "RGBA", "F"}  # modes of Pillow that need no conversion
_MAX_PIXEL = 2**31  # absolute value of a pixel of an integral image


class Box(NamedTuple):
    """A rectangle of an image, in pixels."""

    x: float
    y: float
    width: float
    height: float


def as_grey(image: ImageLike, *, channels: str = "rgb") -> Grey:
    """Convert an image to grey values, as every detector and trainer does with its input.

    Parameters
    ----------
    image : array, PIL image or path
        An array is (height, width), or (height, width, channels) with 1, 3 or 4 channels, the fourth (alpha)
        ignored; its dtype is bool, uint8, uint16 (65535 is white) or float (0 to 1). It need not be
        contiguous; anything that NumPy converts to an array is allowed. A PIL image may have any mode. A file
        is rotated as its EXIF orientation requires.
    channels : {"rgb", "bgr"}
        The order of the colours of an array; "bgr" in OpenCV. Ignored for PIL images and files.

    Returns
    -------
    ndarray of uint8, (height, width)
        Contiguous and writable. An input that already is such an array is returned itself, not a copy.

    Examples
    --------
    >>> import numpy as np
    >>> as_grey(np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8))
    array([[ 76, 150,  29]], dtype=uint8)
    >>> as_grey([[0.0, 0.5, 1.0]])
    array([[  0, 128, 255]], dtype=uint8)
    """
    pixels, order = _pixels(image, channels)
    if pixels.ndim == 2:
        return pixels
    out = np.empty(pixels.shape[:2], np.uint8)
    red, blue = _CHANNELS[order]
    mix_colours(pixels.reshape(-1, pixels.shape[2]), red, blue, out.reshape(-1))
    return out


def as_named_grey(image: ImageLike, channels: str, origin: str) -> Grey:
    """Convert an image to grey values; an error names its origin."""
    try:
        return as_grey(image, channels=channels)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from error


def as_colour(image: ImageLike, *, channels: str = "rgb") -> NDArray[np.uint8]:
    """Convert an image to colours, uint8 (height, width, 3) in the order red, green, blue; always a copy.

    The input is that of `as_grey`; a grey image gets three equal channels.

    >>> as_colour([[0.0, 1.0]]).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    pixels, order = _pixels(image, channels)
    if pixels.ndim == 2:
        return np.repeat(pixels[:, :, None], 3, axis=2)
    return (pixels[:, :, :3] if order == "rgb" else pixels[:, :, 2::-1]).copy()


def read_image(path: str | os.PathLike[str]) -> "Image.Image":
    """Read an image file, rotated as its EXIF orientation requires; every error names the file.

    >>> read_image("nowhere.png")
    Traceback (most recent call last):
    FileNotFoundError: nowhere.png: no such image file
    """
    name = os.fspath(path)
    if not Path(name).exists():
        raise FileNotFoundError(f"{name}: no such image file")
    if Path(name).is_dir():
        raise IsADirectoryError(f"{name}: a folder; an image file is required")
    pillow = require_extra("PIL.Image", extra="vision")
    transpose = require_extra("PIL.ImageOps", extra="vision").exif_transpose
    try:
        with pillow.open(name) as image:
            image.load()
            upright: Image.Image = transpose(image)
            return upright
    except pillow.UnidentifiedImageError as error:
        raise ValueError(f"{name}: not an image file that Pillow can read") from error
    except pillow.DecompressionBombError as error:
        raise ValueError(f"{name}: {error}") from error
    except PermissionError as error:
        raise PermissionError(f"{name}: no permission to read the file") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:  # raised by Pillow for damaged files
        raise ValueError(f"{name}: the image file is damaged: {error}") from error


def _as_array(image: "Image.Image") -> NDArray[Any]:
    """Return the pixels of a PIL image: (h, w) or (h, w, 3 or 4), of a dtype that `_eight_bits` converts."""
    if image.mode == "1":
        return np.asarray(image)  # bool
    if image.mode.startswith("I"):  # 16 bits in either byte order, or 32 bits
        wide = np.asarray(image)
        low, high = (int(wide.min()), int(wide.max())) if wide.size else (0, 0)
        if low < 0 or high > 65535:
            raise ValueError(
                f"the PIL image of mode {image.mode} has values from {low} to {high}: "
                "0 to 65535 (white) are allowed"
            )
        return wide.astype(np.uint16)
    if image.mode in {"LA", "La"}:
        return np.asarray(image.convert("L") if image.mode == "LA" else image.convert("LA").convert("L"))
    if image.mode in {"RGBa", "PA", "P"}:  # a palette may have transparent colours; alpha is ignored
        return np.asarray(image.convert("RGBA"))
    return np.asarray(image if image.mode in _UNCONVERTED_MODES else image.convert("RGB"))


def _pixels(image: ImageLike, channels: str) -> tuple[NDArray[np.uint8], str]:
    """Return the pixels as uint8, (h, w) or (h, w, 3 or 4), contiguous, and the order of the colours."""
    if channels not in _CHANNELS:
        raise ValueError(f"channels={channels!r} is not allowed: it must be 'rgb' or 'bgr'")
    if isinstance(image, (str, os.PathLike)):
        return _checked(_as_array(read_image(image)), f"the file {os.fspath(image)}"), "rgb"
    pillow = sys.modules.get("PIL.Image")  # not imported: without it there are no PIL images
    if pillow is not None and isinstance(image, pillow.Image):
        picture: Any = image
        return _checked(_as_array(picture), f"the PIL image of mode {picture.mode}"), "rgb"
    if np.ma.is_masked(image):
        raise ValueError("image has masked pixels: fill them first, every pixel must have a value")
    try:
        array = np.asarray(image)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"image of type {type(image).__name__} cannot be converted to an array: {error}"
        ) from error
    return _checked(array, "image"), channels


def _checked(array: NDArray[Any], what: str) -> NDArray[np.uint8]:
    shape = array.shape
    if array.ndim != 2 and not (array.ndim == 3 and shape[2] in {1, 3, 4}):
        raise ValueError(
            f"{what} has the shape {shape}: (height, width) or (height, width, 1, 3 or 4 channels) is allowed"
        )
    if array.size == 0:
        raise ValueError(f"{what} has the shape {shape}: it has no pixels")
    pixels = _eight_bits(array, what)
    return pixels[:, :, 0] if array.ndim == 3 and shape[2] == 1 else pixels


def _eight_bits(array: NDArray[Any], what: str) -> NDArray[np.uint8]:
    """Convert pixels to uint8, contiguous."""
    kind = array.dtype.newbyteorder("=")
    if kind == np.uint8:
        return np.require(array, np.uint8, ["C", "W"])  # kernels are compiled for writable arrays
    if kind == np.bool_:
        return np.where(array, np.uint8(255), np.uint8(0)).copy(order="C")
    if kind == np.uint16:
        # rounded to nearest; 65535 + 128 exceeds 16 bits
        return np.ascontiguousarray((array.astype(np.uint32) + _STEP_16 // 2) // _STEP_16, np.uint8)
    if kind.kind != "f":
        raise ValueError(
            f"{what} has the dtype {kind}: bool, uint8, uint16 and floats from 0 to 1 are allowed; convert "
            "values from 0 to 255 with .astype(np.uint8)"
        )
    low, high = float(array.min()), float(array.max())
    if np.isnan(low):
        raise ValueError(f"{what} has NaN among its {array.dtype} values: floats from 0 to 1 are allowed")
    if low < 0 or high > 1:
        raise ValueError(
            f"{what} has {array.dtype} values from {low:g} to {high:g}: floats from 0 to 1 are allowed; "
            "convert values from 0 to 255 with .astype(np.uint8)"
        )
    return np.ascontiguousarray(np.rint(array * 255.0), np.uint8)  # halves to even


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
    return _summed(_as_integers(image))


def squared_integral_image(image: ArrayLike) -> NDArray[np.int64]:
    """Compute the integral image of the squared pixels, for the variance of rectangles.

    Input and shape are those of `integral_image`.

    Examples
    --------
    >>> squared_integral_image([[1, 2], [3, 4]])
    array([[ 0,  0,  0],
           [ 0,  1,  5],
           [ 0, 10, 30]])
    """
    pixels = _as_integers(image)
    largest = int(np.abs(pixels).max(initial=0))
    if largest**2 * pixels.size >= 2**63:
        raise ValueError(f"image: the squares of pixels up to {largest} have a sum of more than 64 bits")
    return _summed(pixels * pixels)


def tilted_integral_image(image: ArrayLike) -> NDArray[np.int64]:
    """Compute the sums of cones that open upwards, for rectangles tilted by 45 degrees.

    Input and shape are those of `integral_image`.

    Examples
    --------
    >>> tilted_integral_image([[1, 2, 3], [4, 5, 6]])
    array([[ 0,  0,  0,  0],
           [ 0,  1,  2,  3],
           [ 1,  7, 11, 11]])
    """
    pixels = _as_integers(image)
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
    return _corner_sum(table, (x, y, width, height), tilted=False)


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

    Examples
    --------
    >>> table = tilted_integral_image([[0, 1, 2], [4, 8, 16], [32, 64, 128]])
    >>> int(tilted_sum(table, 2, 0, 1, 1))  # the pixels 1 and 8 in column 1
    9
    """
    return _corner_sum(table, (x, y, width, height), tilted=True)


def _summed(pixels: NDArray[np.int64]) -> NDArray[np.int64]:
    table = np.zeros((pixels.shape[0] + 1, pixels.shape[1] + 1), np.int64)
    np.cumsum(np.cumsum(pixels, axis=0), axis=1, out=table[1:, 1:])
    return table


def _as_integers(image: ArrayLike) -> NDArray[np.int64]:
    pixels = np.asarray(image)
    if pixels.ndim != 2 or pixels.dtype.kind not in "biu":
        raise ValueError(
            f"image must be integers of shape (height, width), got {pixels.dtype} {pixels.shape}"
        )
    if pixels.size and max(abs(int(pixels.max())), abs(int(pixels.min()))) >= _MAX_PIXEL:
        raise ValueError(f"image: absolute values of pixels must be below {_MAX_PIXEL}")
    what = f"the integral image of {pixels.shape[1]:,} x {pixels.shape[0]:,} pixels"
    require_memory(32 * pixels.size, what, "use a smaller image")
    return pixels.astype(np.int64)


def _corner_sum(table: ArrayLike, rectangles: tuple[ArrayLike, ...], *, tilted: bool) -> NDArray[np.int64]:
    """Return the sums of rectangles from their corners, which must be inside the image."""
    sums = np.asarray(table)
    if sums.ndim != 2 or sums.dtype.kind not in "iu" or not sums.size:
        raise ValueError(f"table must be an integral image, got {sums.dtype} of shape {sums.shape}")
    x, y, wide, high = _checked_rectangles(*rectangles)
    right, down = ((wide, wide), (-high, high)) if tilted else ((wide, 0 * wide), (0 * high, high))
    sides = ((a, b) for a in (0, 1) for b in (0, 1))
    corners = [(x + a * right[0] + b * down[0], y + a * right[1] + b * down[1]) for a, b in sides]
    shape = sums.shape
    inside = (wide >= 0) & (high >= 0)
    for column, row in corners:
        inside &= (column >= 0) & (column < shape[1]) & (row >= 0) & (row < shape[0])
    if not np.all(inside):
        first = int(np.flatnonzero(~np.atleast_1d(inside))[0])
        rectangle = tuple(int(np.atleast_1d(side).ravel()[first]) for side in (x, y, wide, high))
        raise ValueError(
            f"x, y, width, height = {rectangle} is not allowed: the rectangle must be inside the image of "
            f"{shape[1] - 1} x {shape[0] - 1} pixels"
        )
    first_corner, below, beside, last = (sums[row, column].astype(np.int64) for column, row in corners)
    return np.asarray(first_corner - below - beside + last)


def _checked_rectangles(*numbers: ArrayLike) -> list[NDArray[np.int64]]:
    arrays = [np.asarray(number) for number in numbers]
    for name, array in zip(("x", "y", "width", "height"), arrays, strict=True):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name}={array.tolist()!r} is not allowed: it must be integers")
        if array.size and max(abs(int(array.max())), abs(int(array.min()))) >= _MAX_PIXEL:
            raise ValueError(f"{name} must have absolute values below {_MAX_PIXEL}")
    return [np.asarray(array) for array in np.broadcast_arrays(*(a.astype(np.int64) for a in arrays))]
