"""Cut an object out of an image at the size of a window, straight or a little moved, scaled and turned.

A box is x, y, width, height in pixels, fractions allowed. Every pixel of the window is the mean of s × s
points of the image, each interpolated between its four neighbours; s grows with the box, so that a large one
is averaged and not sampled here and there. Points beyond the image are mirrored at its edge: repeating the
edge would leave stripes, by which a learner could tell objects from the rest.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

_MOST_POINTS = 8  # s, for boxes however large


class Box(NamedTuple):
    """A rectangle of an image, in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Jitter:
    """How the moved copies of an object differ from it; every number is drawn evenly up to its limit.

    Parameters
    ----------
    copies : int
        Of each object, beside the object itself.
    shift : float
        To either side and up or down, in pixels of the window.
    scale : float
        Larger or smaller, as a share: 0.1 is from 1 / 1.1 to 1.1.
    rotation : float
        To the left or right, in degrees.
    contrast : float
        More or less, as a share: differences from the mean are multiplied, 0.2 is from 1 / 1.2 to 1.2.
    brightness : float
        Grey levels added or taken away.

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

    def moved(
        self,
        image: NDArray[np.uint8],
        box: Box,
        window: tuple[int, int],
        rng: np.random.Generator,
        *,
        area: bool,
    ) -> NDArray[np.uint8]:
        """One copy; takes six random numbers, whatever the limits are."""
        right, down, larger, turn, contrast, brighter = rng.uniform(-1, 1, 6)
        factor = (1 + self.scale) ** larger
        width, height = box.width * factor, box.height * factor
        x = box.x + (box.width - width) / 2 + right * self.shift * box.width / window[0]
        y = box.y + (box.height - height) / 2 + down * self.shift * box.height / window[1]
        copy = cut(image, Box(x, y, width, height), window, degrees=turn * self.rotation, area=area)
        if not self.contrast and not self.brightness:
            return copy
        mean = copy.mean()
        lit = mean + (copy - mean) * (1 + self.contrast) ** contrast + brighter * self.brightness
        return _rounded(np.clip(lit, 0, 255))


def cut(
    image: NDArray[np.uint8], box: Box, window: tuple[int, int], *, degrees: float = 0.0, area: bool = True
) -> NDArray[np.uint8]:
    """The box of an image, turned about its middle, at the size of a window (width, height).

    `area=False` takes one point a pixel, as a detector does when it makes an image smaller.

    >>> image = np.arange(16, dtype=np.uint8).reshape(4, 4)
    >>> cut(image, Box(0, 0, 4, 4), (2, 2)).tolist()  # means 2.5, 4.5, 10.5, 12.5, half to even
    [[2, 4], [10, 12]]
    >>> cut(image, Box(1, 1, 2, 2), (2, 2), degrees=90).tolist()
    [[9, 5], [10, 6]]
    """
    width, height = window
    points = math.ceil(max(box.width / width, box.height / height) - 1e-9) if area else 1
    points = min(max(points, 1), _MOST_POINTS)
    across = ((np.arange(width * points) + 0.5) / (width * points) - 0.5) * box.width
    down = ((np.arange(height * points) + 0.5) / (height * points) - 0.5)[:, None] * box.height
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    # places are those of the middles of pixels: half a pixel from the corner
    x = box.x + box.width / 2 - 0.5 + cosine * across + sine * down
    y = box.y + box.height / 2 - 0.5 + cosine * down - sine * across
    values = map_coordinates(image, [y, x], np.float64, order=1, mode="mirror", prefilter=False)
    mean = values.reshape(height, points, width, points).mean(axis=(1, 3))
    return _rounded(mean)


def _rounded(values: NDArray[Any]) -> NDArray[np.uint8]:
    rounded: NDArray[np.uint8] = np.rint(values.round(9)).astype(np.uint8)  # 2.4999...9 is a half
    return rounded
