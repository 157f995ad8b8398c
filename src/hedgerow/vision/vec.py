"""Windows as a .vec file, the form in which OpenCV's tools keep the positives of a training.

    12 bytes   count int32, width * height int32, two int16 of no use; all little-endian
    a window   one byte 0, then width * height int16, row by row, each 0..255

The file does not say how wide a window is: only width * height.
"""

import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import ModelFileError
from hedgerow.vision.features import check_window
from hedgerow.vision.model import MOST_PIXELS

_HEADER = 12


def read_vec(
    path_or_bytes: str | os.PathLike[str] | bytes, window: tuple[int, int] | None = None
) -> NDArray[np.uint8]:
    """The windows of a .vec file.

    Parameters
    ----------
    path_or_bytes : str, path or bytes
        The file, or its contents.
    window : (int, int), optional
        Width and height; without it, windows are taken to be square.

    Returns
    -------
    ndarray of uint8, shape (n, height, width)

    Raises
    ------
    ModelFileError
        If the file is damaged, or its windows are not of this size.

    Examples
    --------
    >>> samples = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    >>> bool((read_vec(write_vec(samples)) == samples).all())
    True
    """
    if isinstance(path_or_bytes, bytes):
        return _decode(path_or_bytes, window)
    path = Path(path_or_bytes)
    try:
        with path.open("rb") as file:  # the sizes are compared before the whole is read
            _check_sizes(file.read(_HEADER), path.stat().st_size)
        return _decode(path.read_bytes(), window)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def write_vec(samples: NDArray[np.uint8]) -> bytes:
    """The bytes of a .vec file.

    Parameters
    ----------
    samples : ndarray of uint8, shape (n, height, width)

    Returns
    -------
    bytes

    Examples
    --------
    >>> len(write_vec(np.zeros((10, 24, 24), np.uint8)))  # 12 + 10 * (1 + 2 * 24 * 24)
    11542
    """
    samples = np.asarray(samples)
    if samples.dtype != np.uint8 or samples.ndim != 3:
        raise ValueError(
            f"samples of {samples.dtype} and shape {samples.shape} are not allowed: they must be uint8 of "
            "shape (n, height, width)"
        )
    n, height, width = samples.shape
    if not 0 < width * height <= MOST_PIXELS or n >= 1 << 31:
        raise ValueError(f"samples of shape {samples.shape} are not allowed: 1 to {MOST_PIXELS} pixels each")
    records = np.zeros(n, _record(width * height))
    records["pixels"] = samples.reshape(n, width * height)
    return np.array([n, width * height, 0], "<i4").tobytes() + records.tobytes()


def _record(n_pixels: int) -> np.dtype[np.void]:
    return np.dtype([("zero", "u1"), ("pixels", "<i2", (n_pixels,))])


def _check_sizes(head: bytes, n_bytes: int) -> tuple[int, int]:
    """The number of windows and the pixels of each, if they agree with the length of the file."""
    if len(head) < _HEADER:
        raise ModelFileError(f"{n_bytes} bytes are no .vec file: its head alone has {_HEADER}")
    n, n_pixels = np.frombuffer(head, "<i4", 2).tolist()
    if n < 0 or not 0 < n_pixels <= MOST_PIXELS:
        raise ModelFileError(
            f"not a .vec file: {n} windows of {n_pixels} pixels; 1 to {MOST_PIXELS} pixels are allowed"
        )
    needed = _HEADER + n * (1 + 2 * n_pixels)
    if n_bytes != needed:
        raise ModelFileError(f"{n} windows of {n_pixels} pixels need {needed} bytes; the file has {n_bytes}")
    return n, n_pixels


def _decode(data: bytes, window: tuple[int, int] | None) -> NDArray[np.uint8]:
    n, n_pixels = _check_sizes(data[:_HEADER], len(data))
    width, height = check_window(window, MOST_PIXELS) if window is not None else (math.isqrt(n_pixels),) * 2
    if width < 1 or height < 1 or width * height != n_pixels:
        given = "" if window is not None else ", no square: give window=(width, height)"
        raise ModelFileError(f"window={window} is not allowed: a window has {n_pixels} pixels{given}")
    pixels = np.frombuffer(data, _record(n_pixels), n, _HEADER)["pixels"]
    if n and (pixels.min() < 0 or pixels.max() > 255):
        raise ModelFileError("a pixel does not lie in 0..255")
    return pixels.astype(np.uint8).reshape(n, height, width)
