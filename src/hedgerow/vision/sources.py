"""Sources of samples: arrays, lists, folders, text files with paths of images, and OpenCV's .vec files.

Every error names its origin: the file and line, or the index in the list. All lines of an annotation file are
checked before its first image is read.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.container import ModelFileError
from hedgerow.optional import require_extra
from hedgerow.vision.features import check_window
from hedgerow.vision.images import Box, Grey, ImageLike, as_grey, as_named_grey
from hedgerow.vision.model import MAX_PIXELS

Source = ArrayLike | Iterable[ImageLike] | str | os.PathLike[str]

_ORIENTATION = 0x0112  # the EXIF tag; 5 to 8 swap width and height


class Object(NamedTuple):
    """One object: a rectangle of an image; `origin` is for messages."""

    origin: str
    image: Grey
    box: Box


def read_objects(
    source: Source,
    window: tuple[int, int],
    group: ArrayLike | None,
    channels: str,
) -> tuple[Iterator[Object], NDArray[np.int64] | None]:
    """Return an iterator over the objects of a source, and their groups if any were passed."""
    if not isinstance(source, (str, os.PathLike)):
        images = as_image_list(source)
        return _whole_images(images, channels), check_groups(group, len(images))
    path = Path(source)
    if path.suffix.lower() == ".vec":
        require_file(path, "source")
        try:
            images = list(read_vec(path, window))
        except ModelFileError:
            images = list(read_vec(path))  # square windows of another size
        return _whole_images(images, "rgb", f"{path}: sample "), check_groups(group, len(images))
    if group is not None:
        raise ValueError(
            "group is allowed for arrays, lists and .vec files only; each object of a folder is its own group"
        )
    if path.is_dir():
        return _whole_images(_images_in_folder(path), "rgb"), None
    require_file(path, "source")
    return (_whole_images([path], "rgb") if _is_image(path) else _annotated_objects(path)), None


def as_image_list(source: ArrayLike | Iterable[ImageLike]) -> list[ImageLike]:
    """Return the images of an array or list."""
    if isinstance(source, np.ndarray) and source.ndim < 3:
        raise ValueError(
            f"source has the shape {source.shape}: it must be (n, height, width), or a list of images"
        )
    try:
        return list(source)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError(
            f"source of type {type(source).__name__} is not allowed: it must be a list or "
            "array of images, or a path"
        ) from error


def _whole_images(images: Sequence[ImageLike], channels: str, name: str = "source[") -> Iterator[Object]:
    """Yield images that show one object each."""
    for number, image in enumerate(images):
        if isinstance(image, (str, os.PathLike)):
            origin, grey = str(image), as_grey(image)
        else:
            origin = f"{name}{number}" + "]" * name.endswith("[")
            grey = as_named_grey(image, channels, origin)
        yield Object(origin, grey, Box(0, 0, grey.shape[1], grey.shape[0]))


def _is_image(path: Path) -> bool:
    pillow = require_extra("PIL.Image", extra="vision")
    pillow.init()
    return pillow.EXTENSION.get(path.suffix.lower(), "") in pillow.OPEN


def _images_in_folder(folder: Path) -> list[Path]:
    """Find the image files of a folder and its subfolders, sorted, without hidden ones."""
    found = (path for path in folder.rglob("*") if _is_image(path) and path.is_file())
    return sorted(
        path for path in found if not any(name[0] == "." for name in path.relative_to(folder).parts)
    )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text file, each with its origin, without comments and empty lines."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: neither an image nor a text file: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{path}, line {number}", line.strip()


def list_images(path: Path) -> list[Path]:
    """Return the image files of a folder, the files of a list, or a single image file."""
    if path.is_dir():
        return _images_in_folder(path)
    require_file(path, "source")
    if _is_image(path):
        return [path]
    return [require_file(path.parent / line, origin) for origin, line in _lines(path)]


def require_file(path: Path, origin: str) -> Path:
    """Return the path; raise if it is not a file."""
    if not path.exists():
        raise FileNotFoundError(f"{origin}: there is no file {path}")
    if path.is_dir():
        raise IsADirectoryError(f"{origin}: {path} is a folder; a file is required")
    return path


def _annotated_objects(path: Path) -> Iterator[Object]:
    """Yield the objects of an annotation file; all lines are checked before the first image is read."""
    lines = [(origin, *_parse(origin, line)) for origin, line in _lines(path)]
    files = [require_file(path.parent / name, origin) for origin, name, _ in lines]
    for file, (origin, _, boxes) in zip(files, lines, strict=True):
        if not boxes:
            continue
        grey = as_grey(file)
        height, width = grey.shape
        for box in boxes:
            if box.x < 0 or box.y < 0 or box.x + box.width > width or box.y + box.height > height:
                raise ValueError(
                    f"{origin}: the box {' '.join(map(str, box))} is not inside {file}, "
                    f"which is {width} × {height}"
                )
            yield Object(f"{origin}: {file}", grey, box)


def _parse(origin: str, line: str) -> tuple[str, list[Box]]:
    """Parse path and boxes of a line.

    A path may contain blanks: the count of boxes is the first number that agrees with the rest of the line.
    """
    tokens = line.split()
    for at in range(1, len(tokens)):
        if tokens[at].isdecimal() and len(tokens) - at - 1 == 4 * int(tokens[at]):
            try:
                numbers = [int(token) for token in tokens[at + 1 :]]
            except ValueError as error:
                raise ValueError(f"{origin}: {error}; x y width height must be integers") from error
            boxes = [Box(*numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
            for box in boxes:
                if box.width <= 0 or box.height <= 0:
                    raise ValueError(f"{origin}: the box {' '.join(map(str, box))} has no width or no height")
            return line.rsplit(maxsplit=len(tokens) - at)[0], boxes
    raise ValueError(
        f"{origin}: {line[:80]!r} must be a path, the number n of objects, and n times x y width height"
    )


def image_file_size(path: Path, enough: int) -> tuple[int, int]:
    """Return width and height as the image will be loaded.

    The EXIF orientation may be at the end of a file and is slow to read: it is read only for an image with a
    side below `enough`.
    """
    pillow = require_extra("PIL.Image", extra="vision")
    try:
        with pillow.open(path) as image:
            width, height = image.size
            swapped = min(width, height) < enough and image.getexif().get(_ORIENTATION, 1) in {5, 6, 7, 8}
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        raise ValueError(f"{path}: the image cannot be read: {error}") from error
    return (height, width) if swapped else (width, height)


def check_groups(group: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    """Check that there is one integer for each of the n images."""
    if group is None:
        return None
    array = np.asarray(group)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"group is {array.dtype} of shape {array.shape}: it must have one integer "
            f"for each of the {n} images"
        )
    return array.astype(np.int64)


_HEADER = 12


def read_vec(
    path_or_bytes: str | os.PathLike[str] | bytes, window: tuple[int, int] | None = None
) -> NDArray[np.uint8]:
    """Read the windows of a .vec file, the training samples of opencv_createsamples.

    Parameters
    ----------
    path_or_bytes : str, path or bytes
        The file, or its contents.
    window : (int, int), optional
        Width and height; square by default.

    Returns
    -------
    ndarray of uint8, shape (n, height, width)

    Raises
    ------
    ModelFileError
        If the file is damaged, or its windows have another size.

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
        with path.open("rb") as file:  # sizes are checked before the whole file is read
            _check_sizes(file.read(_HEADER), path.stat().st_size)
        return _decode(path.read_bytes(), window)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def write_vec(samples: NDArray[np.uint8]) -> bytes:
    """Return the bytes of a .vec file.

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
    if not 0 < width * height <= MAX_PIXELS or n >= 1 << 31:
        raise ValueError(f"samples of shape {samples.shape} are not allowed: 1 to {MAX_PIXELS} pixels each")
    records = np.zeros(n, _record(width * height))
    records["pixels"] = samples.reshape(n, width * height)
    return np.array([n, width * height, 0], "<i4").tobytes() + records.tobytes()


def _record(n_pixels: int) -> np.dtype[np.void]:
    return np.dtype([("zero", "u1"), ("pixels", "<i2", (n_pixels,))])


def _check_sizes(head: bytes, n_bytes: int) -> tuple[int, int]:
    """Return the number of windows and of pixels of each; raise if they disagree with the file size."""
    if len(head) < _HEADER:
        raise ModelFileError(f"{n_bytes} bytes are too few for a .vec file: its header has {_HEADER}")
    n, n_pixels = np.frombuffer(head, "<i4", 2).tolist()
    if n < 0 or not 0 < n_pixels <= MAX_PIXELS:
        raise ModelFileError(
            f"not a .vec file: {n} windows of {n_pixels} pixels; 1 to {MAX_PIXELS} pixels are allowed"
        )
    needed = _HEADER + n * (1 + 2 * n_pixels)
    if n_bytes != needed:
        raise ModelFileError(
            f"{n} windows of {n_pixels} pixels require {needed} bytes; the file has {n_bytes}"
        )
    return n, n_pixels


def _decode(data: bytes, window: tuple[int, int] | None) -> NDArray[np.uint8]:
    n, n_pixels = _check_sizes(data[:_HEADER], len(data))
    width, height = check_window(window, MAX_PIXELS) if window is not None else (math.isqrt(n_pixels),) * 2
    if width < 1 or height < 1 or width * height != n_pixels:
        advice = "" if window is not None else ", not a square: pass window=(width, height)"
        raise ModelFileError(f"window={window} is not allowed: a window has {n_pixels} pixels{advice}")
    pixels = np.frombuffer(data, _record(n_pixels), n, _HEADER)["pixels"]
    if n and (pixels.min() < 0 or pixels.max() > 255):
        raise ModelFileError("a pixel is outside 0..255")
    return pixels.astype(np.uint8).reshape(n, height, width)
