"""Where samples come from: arrays, lists, folders, and text files that name images.

Every error names its place: the file and line, or the number in the list. An annotation file is checked whole
before its first image is read.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from hedgerow.container import ModelFileError
from hedgerow.vision.features import check_window
from hedgerow.vision.images import Box, Grey, ImageLike, as_grey
from hedgerow.vision.model import MOST_PIXELS

Source = ArrayLike | Iterable[ImageLike] | str | os.PathLike[str]

_ORIENTATION = 0x0112  # the EXIF tag; 5 to 8 swap width and height


class Object(NamedTuple):
    """One object: the rectangle of an image, and where it comes from, for messages."""

    place: str
    image: Grey
    box: Box


def objects_of(
    source: Source,
    window: tuple[int, int],
    group: ArrayLike | None,
    channels: str,
) -> tuple[Iterator[Object], NDArray[np.int64] | None]:
    """The objects of a source, one by one, and the groups they were given."""
    if not isinstance(source, (str, os.PathLike)):
        images = images_of(source)
        return _whole(images, channels), checked_group(group, len(images))
    path = Path(source)
    if path.suffix.lower() == ".vec":
        existing(path, "source")
        images = list(_read_vec(path, window))
        return _whole(images, "rgb", f"{path}: sample "), checked_group(group, len(images))
    if group is not None:
        raise ValueError("group is for arrays, lists and .vec files; every object of a folder is an original")
    if path.is_dir():
        return _whole(list(_in_folder(path)), "rgb"), None
    existing(path, "source")
    return (_whole([path], "rgb") if _is_image(path) else _annotated(path)), None


def images_of(source: ArrayLike | Iterable[ImageLike]) -> list[ImageLike]:
    """The images of an array or list."""
    if isinstance(source, np.ndarray) and source.ndim < 3:
        raise ValueError(
            f"source has the shape {source.shape}: (n, height, width) is needed, or a list of images"
        )
    try:
        return list(source)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError(
            f"source of type {type(source).__name__} is not allowed: a list or array of images, or a path, "
            "is needed"
        ) from error


def _whole(images: Sequence[ImageLike], channels: str, name: str = "source[") -> Iterator[Object]:
    """Images that are one object each."""
    for number, image in enumerate(images):
        place = (
            str(image)
            if isinstance(image, (str, os.PathLike))
            else f"{name}{number}" + "]" * name.endswith("[")
        )
        grey = as_grey(image) if isinstance(image, (str, os.PathLike)) else named_grey(image, channels, place)
        yield Object(place, grey, Box(0, 0, grey.shape[1], grey.shape[0]))


def named_grey(image: ImageLike, channels: str, place: str) -> Grey:
    """Grey values; an error names the place."""
    try:
        return as_grey(image, channels=channels)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _read_vec(path: Path, window: tuple[int, int]) -> NDArray[np.uint8]:
    """The file's own windows: of the size asked for, or else square ones."""
    try:
        return read_vec(path, window)
    except ModelFileError:
        return read_vec(path)


def _is_image(path: Path) -> bool:
    Image.init()
    return Image.EXTENSION.get(path.suffix.lower(), "") in Image.OPEN


def _in_folder(folder: Path) -> Iterator[Path]:
    """The image files of a folder and its folders, sorted; hidden ones and other files are left out."""
    found = (path for path in folder.rglob("*") if _is_image(path) and path.is_file())
    visible = [path for path in found if not any(part[0] == "." for part in path.relative_to(folder).parts)]
    return iter(sorted(visible))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Lines of a text file that say something, each with its place."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: neither an image nor a text file: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{path}, line {number}", line.strip()


def listed(path: Path) -> list[Path]:
    """The image files of a folder, of a list, or the one image that is given."""
    if path.is_dir():
        return list(_in_folder(path))
    existing(path, "source")
    if _is_image(path):
        return [path]
    return [existing(path.parent / line, place) for place, line in _lines(path)]


def existing(path: Path, place: str) -> Path:
    """The path, if it is a file."""
    if not path.exists():
        raise FileNotFoundError(f"{place}: there is no file {path}")
    if path.is_dir():
        raise IsADirectoryError(f"{place}: {path} is a folder, where a file is needed")
    return path


def _annotated(path: Path) -> Iterator[Object]:
    """The objects of an annotation file; all lines are checked before the first image is read."""
    lines = [(place, *_parse(place, line)) for place, line in _lines(path)]
    files = [existing(path.parent / name, place) for place, name, _ in lines]
    for file, (place, _, boxes) in zip(files, lines, strict=True):
        if not boxes:
            continue
        grey = as_grey(file)
        height, width = grey.shape
        for box in boxes:
            if box.x < 0 or box.y < 0 or box.x + box.width > width or box.y + box.height > height:
                raise ValueError(
                    f"{place}: the box {' '.join(map(str, box))} does not lie in {file}, "
                    f"which is {width} × {height}"
                )
            yield Object(f"{place}: {file}", grey, box)


def _parse(place: str, line: str) -> tuple[str, list[Box]]:
    """Path and boxes of a line; a path may have blanks: the count is the first number that fits the rest."""
    words = line.split()
    for at in range(1, len(words)):
        if words[at].isdecimal() and len(words) - at - 1 == 4 * int(words[at]):
            try:
                numbers = [int(word) for word in words[at + 1 :]]
            except ValueError as error:
                raise ValueError(f"{place}: {error}; x y width height are whole numbers") from error
            boxes = [Box(*numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
            for box in boxes:
                if box.width <= 0 or box.height <= 0:
                    raise ValueError(f"{place}: the box {' '.join(map(str, box))} has no width or no height")
            return line.rsplit(maxsplit=len(words) - at)[0], boxes
    raise ValueError(
        f"{place}: {line[:80]!r} is not a path, the number n of objects, and n times x y width height"
    )


def size_of_file(path: Path, enough: int) -> tuple[int, int]:
    """Width and height as the image will be loaded; those of the file's head when both are enough.

    Whether the image is to be turned may stand at the end of a file, and takes longer to read.
    """
    try:
        with Image.open(path) as image:
            width, height = image.size
            turned = min(width, height) < enough and image.getexif().get(_ORIENTATION, 1) in {5, 6, 7, 8}
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path}: the image cannot be read: {error}") from error
    return (height, width) if turned else (width, height)


def checked_group(group: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    """One whole number for each of the n images."""
    if group is None:
        return None
    array = np.asarray(group)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"group is {array.dtype} of shape {array.shape}: a whole number for each of the {n} images "
            "is needed"
        )
    return array.astype(np.int64)


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
