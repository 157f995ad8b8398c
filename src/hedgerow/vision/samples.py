"""Training samples of a cascade: objects, cropped at the size of the window, and images without objects.

    Samples     images uint8 (n, height, width); group int64 (n,), the original of a sample
    Negatives   a sequence of grey images of any size, read from their files when needed

Copies of one original are very similar: samples must be split by `group`.

An annotation file has one line per image: its path, the number of objects, and x y width height of each
object, as in OpenCV's tools. Paths are relative to the file. A list of negatives has one path per line.
"""

import hashlib
import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import map_coordinates

from hedgerow.elementary import exp, log
from hedgerow.vision.features import check_window
from hedgerow.vision.images import Box, Grey, as_grey, as_named_grey
from hedgerow.vision.sources import (
    Source,
    as_image_list,
    image_file_size,
    list_images,
    read_objects,
    require_file,
)

_RESIZE = ("area", "linear")
_FIT = ("stretch", "grow")
_MAX_POINTS = 8  # samples of an output pixel per axis, for boxes of any size


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
        factor = _power(1 + self.scale, log_scale)
        width, height = box.width * factor, box.height * factor
        x = box.x + (box.width - width) / 2 + shift_x * self.shift * box.width / window[0]
        y = box.y + (box.height - height) / 2 + shift_y * self.shift * box.height / window[1]
        copy = crop(image, Box(x, y, width, height), window, degrees=angle * self.rotation, area=area)
        if not self.contrast and not self.brightness:
            return copy
        mean = copy.mean()
        lit = mean + (copy - mean) * _power(1 + self.contrast, contrast) + brightness * self.brightness
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
    cosine, sine = _cosine_and_sine(degrees)
    # coordinates of pixel centres: half a pixel from the corner
    x = box.x + box.width / 2 - 0.5 + cosine * across + sine * down
    y = box.y + box.height / 2 - 0.5 + cosine * down - sine * across
    values = map_coordinates(image, [y, x], np.float64, order=1, mode="mirror", prefilter=False)
    mean = values.reshape(height, points, width, points).mean(axis=(1, 3))
    return _rounded(mean)


# The power, cosine and sine of the C library differ from processor to processor.


def _power(base: float, exponent: float) -> float:
    return exp(float(exponent) * log(float(base)))


def _cosine_and_sine(degrees: float) -> tuple[float, float]:
    """Return both by their Taylor series, for the angle to the nearest right angle: at most 45 degrees.

    >>> _cosine_and_sine(180.0), [round(value, 12) for value in _cosine_and_sine(30.0)]
    ((-1.0, -0.0), [0.866025403784, 0.5])
    """
    right_angles = round(degrees / 90.0)
    x = math.remainder(degrees, 90.0) * (math.pi / 180.0)
    cosine, sine = 1.0, 1.0
    for k in range(18, 0, -2):  # the terms that are left out are below 1e-19
        cosine = 1.0 - x * x / (k * (k - 1)) * cosine
        sine = 1.0 - x * x / (k * (k + 1)) * sine
    sine *= x
    return ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))[right_angles % 4]


def _rounded(values: NDArray[Any]) -> NDArray[np.uint8]:
    rounded: NDArray[np.uint8] = np.rint(values.round(9)).astype(np.uint8)  # 2.4999...9 is a half
    return rounded


@dataclass(frozen=True, eq=False)
class Samples:
    """Objects at the size of a window; samples with the same `group` come from the same original.

    Examples
    --------
    >>> samples = Samples(np.zeros((2, 24, 24), np.uint8), np.array([0, 0]))
    >>> len(samples), samples
    (2, Samples(2 of 24 × 24, from 1 originals))
    """

    images: NDArray[np.uint8]  # (n, height, width)
    group: NDArray[np.int64]  # (n,)

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        n, height, width = self.images.shape
        return f"Samples({n} of {width} × {height}, from {len(np.unique(self.group))} originals)"


def load_positives(
    source: "Source | Samples",
    window: tuple[int, int],
    *,
    jitter: int | Jitter = 0,
    mirror: bool = False,
    margin: float = 0.0,
    fit: str = "stretch",
    resize: str = "area",
    group: ArrayLike | None = None,
    channels: str = "rgb",
    random_state: int | np.random.Generator | None = None,
) -> Samples:
    """Load objects to train on from arrays or files, at the size of the window.

    Parameters
    ----------
    source : array (n, h, w), list of images, Samples, or path
        Each image of an array or list shows exactly one object. A path is a folder of such images
        (subfolders included), one image, an annotation file (see the module docstring), or a `.vec` file.
    window : (int, int)
        Width and height of a sample.
    jitter : int or Jitter
        Number of randomly shifted, scaled and rotated copies of each object, or a `Jitter` with all limits.
    mirror : bool
        Whether to add the horizontally mirrored image of each sample.
    margin : float
        Fraction of the width and height of an object to add on each side; negative values crop the object.
    fit : {"stretch", "grow"}
        For objects of another aspect ratio than the window: stretch them, as OpenCV does, or grow their
        boxes to the aspect ratio of the window.
    resize : {"area", "linear"}
        Average all pixels of a large object, or sample one point per pixel, as the detector does.
    group : array of int (n,), optional
        For arrays and lists: the original of each image, if several show the same one.
    channels : {"rgb", "bgr"}
        The order of the colours of arrays.
    random_state : int, Generator or None
        Seed of the jitter.

    Returns
    -------
    Samples
        For each object: itself, its copies, then the mirror images of all of them. `group` is the index of
        the object in the source, or the `group` passed.

    Warns
    -----
    UserWarning
        If objects smaller than the window are skipped.

    Examples
    --------
    >>> faces = np.random.default_rng(0).integers(0, 256, (5, 30, 30)).astype(np.uint8)
    >>> load_positives(faces, (24, 24), jitter=2, mirror=True, random_state=0)
    Samples(30 of 24 × 24, from 5 originals)
    """
    window = check_window(window)
    if not isinstance(mirror, bool | np.bool_):
        raise TypeError(f"mirror={mirror!r} is not allowed: it must be True or False")
    if isinstance(source, Samples):
        group = source.group if group is None else group
        source = source.images
    limits: Any = jitter
    if not isinstance(limits, Jitter):
        if isinstance(limits, bool) or not isinstance(limits, (int, np.integer)) or limits < 0:
            raise ValueError(f"jitter={jitter!r} is not allowed: it must be a number of copies or a Jitter")
        limits = Jitter(int(limits))
    if not -0.5 < margin < np.inf:
        raise ValueError(f"margin={margin} is not allowed: it must be above -0.5")
    if fit not in _FIT:
        raise ValueError(f"fit={fit!r} is not allowed: it must be one of {', '.join(_FIT)}")
    if resize not in _RESIZE:
        raise ValueError(f"resize={resize!r} is not allowed: it must be one of {', '.join(_RESIZE)}")
    objects, groups = read_objects(source, window, group, channels)
    rng = np.random.default_rng(random_state)

    images: list[NDArray[np.uint8]] = []
    numbers: list[int] = []
    small: list[str] = []
    n_objects = 0
    for n_objects, (origin, image, box) in enumerate(objects, start=1):
        wanted = _add_margin(box, margin, window if fit == "grow" else None)
        if wanted.width < window[0] or wanted.height < window[1]:
            small.append(f"{origin} with {wanted.width:g} × {wanted.height:g}")
            continue
        area = resize == "area"
        made = [crop(image, wanted, window, area=area)]
        made += [limits.transform(image, wanted, window, rng, area=area) for _ in range(limits.copies)]
        if mirror:
            made += [sample[:, ::-1] for sample in made]
        images += made
        numbers += [n_objects - 1] * len(made)
    what = f"objects are smaller than the window of {window[0]} × {window[1]}"
    _check_count(small, n_objects, len(images), what, source)
    order = np.array(numbers, np.int64)
    return Samples(np.stack(images), order if groups is None else groups[order])


class Negatives(Sequence[Grey]):
    """A sequence of images without objects, each read from its file on access; made by `load_negatives`."""

    def __init__(self, images: Sequence[Grey | Path]) -> None:
        self._images = list(images)

    def __len__(self) -> int:
        return len(self._images)

    @overload
    def __getitem__(self, number: int) -> Grey: ...
    @overload
    def __getitem__(self, number: slice) -> "Negatives": ...
    def __getitem__(self, number: int | slice) -> "Grey | Negatives":
        if isinstance(number, slice):
            return Negatives(self._images[number])
        image = self._images[number]
        return as_grey(image) if isinstance(image, Path) else image

    def digest(self) -> str:
        """Return a checksum of all images; files are hashed without decoding them."""
        whole = hashlib.sha256()
        for image in self._images:
            data = image.read_bytes() if isinstance(image, Path) else image.tobytes()
            shape = () if isinstance(image, Path) else image.shape
            whole.update(repr((shape, len(data))).encode())
            whole.update(data)
        return whole.hexdigest()

    def __repr__(self) -> str:
        n_files = sum(isinstance(image, Path) for image in self._images)
        return f"Negatives({len(self)} images, {n_files} files)"


def load_negatives(
    source: Source,
    window: tuple[int, int] | None = None,
    *,
    channels: str = "rgb",
) -> Negatives:
    """Load images without objects; files are read when training needs them.

    Parameters
    ----------
    source : list of images or paths, array (n, h, w), or path
        A path is a folder of images (subfolders included), one image, or a text file with one path per line,
        relative to that file.
    window : (int, int), optional
        Width and height; smaller images are skipped with a warning.
    channels
        As in `load_positives`.

    Returns
    -------
    Negatives

    Examples
    --------
    >>> negatives = load_negatives([np.zeros((40, 60), np.uint8), np.zeros((50, 50, 3))], (24, 24))
    >>> len(negatives), negatives[1].shape
    (2, (50, 50))
    """
    if window is not None:
        window = check_window(window)
    images: list[Grey | Path] = []
    if isinstance(source, (str, os.PathLike)):
        images += list_images(Path(source))
    else:
        for number, one in enumerate(as_image_list(source)):
            if isinstance(one, (str, os.PathLike)):
                images.append(require_file(Path(one), f"source[{number}]"))
            else:
                images.append(as_named_grey(one, channels, f"source[{number}]"))
    if window is None:
        _check_count([], len(images), len(images), "", source)
        return Negatives(images)
    fitting, small = [], []
    for image in images:
        width, height = image_file_size(image, max(window)) if isinstance(image, Path) else image.shape[::-1]
        if width < window[0] or height < window[1]:
            small.append(f"{image if isinstance(image, Path) else 'an array'} with {width} × {height}")
        else:
            fitting.append(image)
    what = f"images are smaller than the window of {window[0]} × {window[1]}"
    _check_count(small, len(images), len(fitting), what, source)
    return Negatives(fitting)


def _add_margin(box: Box, margin: float, window: tuple[int, int] | None) -> Box:
    """Add the margin to a box, and grow it to the aspect ratio of the window, if there is one."""
    width, height = box.width * (1 + 2 * margin), box.height * (1 + 2 * margin)
    if window is not None:
        factor = max(width / window[0], height / window[1])
        width, height = factor * window[0], factor * window[1]
    return Box(box.x + (box.width - width) / 2, box.y + (box.height - height) / 2, width, height)


def _check_count(small: list[str], n: int, n_left: int, what: str, source: object) -> None:
    named = f"{os.fspath(source)}: " if isinstance(source, (str, os.PathLike)) else "source: "
    if n == 0:
        raise ValueError(f"{named}it has no images")
    if n_left == 0:
        raise ValueError(f"{named}all {n} {what}; the first is {small[0]}")
    if small:
        warnings.warn(
            f"{named}{len(small)} of {n} {what} and are skipped; the first is {small[0]}", stacklevel=3
        )
