"""Images: conversion to grey values, reading of files, and random transformations of objects.

`as_grey` returns uint8 (height, width), contiguous, 0 for black and 255 for white: the input of all
detectors. Colours become grey by OpenCV's fixed-point formula, so that both libraries process the same
pixels. Other dtypes become uint8 as in scikit-image: a bool is 0 or 255, white is 65535 in uint16 and 1 in a
float.

Pillow (the extra `vision`) is needed for image files only.
"""

import math
import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import map_coordinates

from hedgerow.kernels.cpu.image import mix_colours
from hedgerow.optional import require_extra

if TYPE_CHECKING:
    from PIL import Image

Grey = NDArray[np.uint8]  # (height, width)
ImageLike: TypeAlias = "ArrayLike | Image.Image | str | os.PathLike[str]"

_CHANNELS = {"rgb": (0, 2), "bgr": (2, 0)}  # indices of red and blue
_STEP_16 = 257  # 65535 / 255: one step of 8 bits, in 16 bits
_UNCONVERTED_MODES = {"L", "RGB", "RGBA", "F"}  # modes of Pillow that need no conversion


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


def _is_pil_image(image: object) -> bool:
    pillow = sys.modules.get("PIL.Image")  # without it nobody can have made an image of Pillow
    return pillow is not None and isinstance(image, pillow.Image)


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
    if image.mode in {"RGBa", "PA"}:
        return np.asarray(image.convert("RGBA"))
    if image.mode == "P":  # a palette may have transparent colours; alpha is ignored
        return np.asarray(image.convert("RGBA"))
    return np.asarray(image if image.mode in _UNCONVERTED_MODES else image.convert("RGB"))


def _pixels(image: ImageLike, channels: str) -> tuple[NDArray[np.uint8], str]:
    """Return the pixels as uint8, (h, w) or (h, w, 3 or 4), contiguous, and the order of the colours."""
    if channels not in _CHANNELS:
        raise ValueError(f"channels={channels!r} is not allowed: it must be 'rgb' or 'bgr'")
    if isinstance(image, (str, os.PathLike)):
        return _checked(_as_array(read_image(image)), f"the file {os.fspath(image)}"), "rgb"
    if _is_pil_image(image):
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
    fits = array.ndim == 2 or (array.ndim == 3 and shape[2] in {1, 3, 4})
    if not fits:
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
    if kind.kind == "f":
        return _from_floats(array, what)
    raise ValueError(
        f"{what} has the dtype {kind}: bool, uint8, uint16 and floats from 0 to 1 are allowed; convert "
        "values from 0 to 255 with .astype(np.uint8)"
    )


def _from_floats(array: NDArray[Any], what: str) -> NDArray[np.uint8]:
    low, high = float(array.min()), float(array.max())
    if np.isnan(low):
        raise ValueError(f"{what} has NaN among its {array.dtype} values: floats from 0 to 1 are allowed")
    if low < 0 or high > 1:
        raise ValueError(
            f"{what} has {array.dtype} values from {low:g} to {high:g}: floats from 0 to 1 are allowed; "
            "convert values from 0 to 255 with .astype(np.uint8)"
        )
    return np.ascontiguousarray(np.rint(array * 255.0), np.uint8)  # halves to even


_MAX_POINTS = 8  # samples of an output pixel per axis, for boxes of any size


class Box(NamedTuple):
    """A rectangle of an image, in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Jitter:
    """Limits of random transformations of objects; every value is drawn uniformly up to its limit.

    Parameters
    ----------
    copies : int
        Number of copies of each object, in addition to the object.
    shift : float
        Translation in both directions, in pixels of the window.
    scale : float
        Relative change of the size: 0.1 is a factor from 1 / 1.1 to 1.1.
    rotation : float
        Rotation to the left or right, in degrees.
    contrast : float
        Relative change of the contrast: 0.2 multiplies differences from the mean by 1 / 1.2 to 1.2.
    brightness : float
        Grey levels added or subtracted.

    Examples
    --------
    >>> Jitter(copies=4, rotation=10.0)
    Jitter(copies=4, shift=1.0, scale=0.1, rotation=10.0, contrast=0.0, brightness=0.0)
    """

    copies: int = 1
    shift: float = 1.0
    scale: float = 0.1
    rotation: float = 5.0
    contrast: float = 0.0
    brightness: float = 0.0

    def __post_init__(self) -> None:
        copies: Any = self.copies
        if isinstance(copies, bool) or not isinstance(copies, (int, np.integer)) or copies < 0:
            raise ValueError(f"copies={copies!r} is not allowed: it must be a whole number, 0 or more")
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if not isinstance(value, (int, float, np.number)) or not 0 <= value < math.inf:
                raise ValueError(f"{field.name}={value!r} is not allowed: it must be a number, 0 or more")

    def transform(
        self,
        image: NDArray[np.uint8],
        box: Box,
        window: tuple[int, int],
        rng: np.random.Generator,
        *,
        area: bool,
    ) -> NDArray[np.uint8]:
        """Return one transformed copy; six random numbers are drawn for any limits."""
        shift_x, shift_y, log_scale, angle, contrast, brightness = rng.uniform(-1, 1, 6)
        factor = (1 + self.scale) ** log_scale
        width, height = box.width * factor, box.height * factor
        x = box.x + (box.width - width) / 2 + shift_x * self.shift * box.width / window[0]
        y = box.y + (box.height - height) / 2 + shift_y * self.shift * box.height / window[1]
        copy = crop(image, Box(x, y, width, height), window, degrees=angle * self.rotation, area=area)
        if not self.contrast and not self.brightness:
            return copy
        mean = copy.mean()
        lit = mean + (copy - mean) * (1 + self.contrast) ** contrast + brightness * self.brightness
        return _rounded(np.clip(lit, 0, 255))


def crop(
    image: NDArray[np.uint8], box: Box, window: tuple[int, int], *, degrees: float = 0.0, area: bool = True
) -> NDArray[np.uint8]:
    """Crop a box of an image, rotated about its centre, and resize it to a window (width, height).

    `area=False` samples one point per pixel, as a detector does when it reduces an image.

    >>> image = np.arange(16, dtype=np.uint8).reshape(4, 4)
    >>> crop(image, Box(0, 0, 4, 4), (2, 2)).tolist()  # means 2.5, 4.5, 10.5, 12.5, half to even
    [[2, 4], [10, 12]]
    >>> crop(image, Box(1, 1, 2, 2), (2, 2), degrees=90).tolist()
    [[9, 5], [10, 6]]
    """
    width, height = window
    points = math.ceil(max(box.width / width, box.height / height) - 1e-9) if area else 1
    points = min(max(points, 1), _MAX_POINTS)
    across = ((np.arange(width * points) + 0.5) / (width * points) - 0.5) * box.width
    down = ((np.arange(height * points) + 0.5) / (height * points) - 0.5)[:, None] * box.height
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    # coordinates of pixel centres: half a pixel from the corner
    x = box.x + box.width / 2 - 0.5 + cosine * across + sine * down
    y = box.y + box.height / 2 - 0.5 + cosine * down - sine * across
    values = map_coordinates(image, [y, x], np.float64, order=1, mode="mirror", prefilter=False)
    mean = values.reshape(height, points, width, points).mean(axis=(1, 3))
    return _rounded(mean)


def _rounded(values: NDArray[Any]) -> NDArray[np.uint8]:
    rounded: NDArray[np.uint8] = np.rint(values.round(9)).astype(np.uint8)  # 2.4999...9 is a half
    return rounded
