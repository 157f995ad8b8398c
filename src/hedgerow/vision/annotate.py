"""Output of detections: rectangles drawn on an image, annotated copies of files, and JSON.

    {"format": "hedgerow detections 1",
     "settings": {"scale_factor": 1.1, "min_neighbors": 3, "min_size": null, "max_size": null},
     "images": [{"file": "team.jpg", "width": 640, "height": 480, "annotated": "out/team.detected.png",
                 "detections": [{"x": 31, "y": 40, "width": 80, "height": 80, "score": 4.2, "neighbors": 9}]},
                {"file": "notes.txt", "error": "notes.txt: not an image file that Pillow can read"}]}

A detection of a `FaceDetector` also has a "pose".
"""

import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hedgerow.container import write_atomically
from hedgerow.optional import require_extra
from hedgerow.vision.cascade import check_settings
from hedgerow.vision.images import Box, ImageLike, as_colour, read_image
from hedgerow.vision.training_data import to_json

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

FORMAT = "hedgerow detections 1"
SUFFIX = ".detected.png"
_COLOURS = {"left": (255, 149, 0), "right": (64, 156, 255)}  # of profiles: orange and blue
_COLOUR = (80, 220, 90)  # of all other detections: green
_DARK = (0, 0, 0)
_LINES = 350  # diagonal of the image divided by the width of a line


class FileResult(NamedTuple):
    """The result for one file: detections and the annotated copy, or an error message."""

    path: Path
    detections: list[Any]
    width: int = 0
    height: int = 0
    annotated: Path | None = None
    error: str | None = None


def draw_detections(
    image: ImageLike, detections: Iterable[Any], *, labels: bool = True, channels: str = "rgb"
) -> "Image.Image":
    """Draw a rectangle around every detection on a copy of an image; requires the extra `vision`.

    Parameters
    ----------
    image : array, PIL image or path
        See `as_grey`.
    detections : iterable
        Objects with x, y, width, height and optionally score and pose, such as `Detection` and `Face`.
    labels : bool
        Whether to write the score above the rectangle, if it is wide enough.
    channels : {"rgb", "bgr"}
        The order of the colours of an array.

    Returns
    -------
    PIL.Image.Image
        An image of mode RGB, with the size of the input.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.vision.faces import Face
    >>> face = Face(20, 20, 60, 60, score=3.5, neighbors=7, pose="left")
    >>> draw_detections(np.zeros((100, 120)), [face]).size
    (120, 100)
    """
    detections = [one if hasattr(one, "x") else Box(*map(int, one)) for one in detections]
    pillow = require_extra("PIL.Image", extra="vision")
    picture: Image.Image = pillow.fromarray(as_colour(image, channels=channels))
    draw = require_extra("PIL.ImageDraw", extra="vision").Draw(picture)
    line = max(1, round(math.hypot(*picture.size) / _LINES))
    # the detections with the most neighbours are drawn last, on top
    for one in sorted(detections, key=lambda found: getattr(found, "neighbors", 0)):
        colour = _COLOURS.get(getattr(one, "pose", ""), _COLOUR)
        left, top, right, bottom = one.x, one.y, one.x + one.width - 1, one.y + one.height - 1
        edge = max(1, line // 2)  # a dark border on both sides keeps the line visible on any background
        around = (left - edge, top - edge, right + edge, bottom + edge)
        radius = min(one.width, one.height) // 12
        draw.rounded_rectangle(around, radius + edge, outline=_DARK, width=line + 2 * edge)
        draw.rounded_rectangle((left, top, right, bottom), radius, outline=colour, width=line)
        if labels and getattr(one, "score", None) is not None:
            _write_label(draw, one, colour, picture.size)
    return picture


def _write_label(
    draw: "ImageDraw.ImageDraw", one: Any, colour: tuple[int, int, int], size: tuple[int, int]
) -> None:
    """Write the score above the rectangle, or inside it at the upper border of the image."""
    text = f"{one.score:.1f}"
    font = require_extra("PIL.ImageFont", extra="vision").load_default(
        max(10, min(one.height // 7, max(size) // 40))
    )
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    pad = max(2, math.ceil((bottom - top) / 4))
    width, height = right - left + 2 * pad, bottom - top + 2 * pad
    if width > one.width:
        return
    x = max(0, min(one.x, size[0] - width))
    y = one.y - height if one.y >= height else one.y
    draw.rectangle((x, y, x + width - 1, y + height - 1), fill=colour)
    draw.text((x + pad - left, y + pad - top), text, fill=_DARK, font=font)


def detections_as_json(detections: Iterable[Any]) -> list[dict[str, Any]]:
    """Convert detections to dictionaries of Python numbers, for `json.dumps`.

    >>> from hedgerow.vision.faces import Face
    >>> detections_as_json([Face(20, 20, 60, 60, score=3.5, neighbors=7, pose="left")])
    [{'x': 20, 'y': 20, 'width': 60, 'height': 60, 'score': 3.5, 'neighbors': 7, 'pose': 'left'}]
    """
    rows = []
    for one in detections:
        row: dict[str, Any] = {name: int(getattr(one, name)) for name in ("x", "y", "width", "height")}
        row |= {"score": float(one.score), "neighbors": int(one.neighbors)}
        if hasattr(one, "pose"):
            row["pose"] = str(one.pose)
        rows.append(row)
    return rows


def detect_files(
    paths: Iterable[str | os.PathLike[str]],
    detector: Any,
    *,
    out_dir: str | os.PathLike[str] | None = None,
    json_path: str | os.PathLike[str] | None = None,
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: tuple[int, int] | None = None,
    max_size: tuple[int, int] | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[FileResult]:
    """Detect objects in image files; optionally write annotated copies and one JSON file.

    If a file cannot be read, or its copy cannot be written, its result and its entry in the JSON file have an
    `error`, and the other files are processed. Files are written atomically.

    Parameters
    ----------
    paths : iterable of paths
        The image files.
    detector : Cascade or FaceDetector
        Or any object with such a `detect` method.
    out_dir : path, optional
        A folder for an annotated copy of each image, such as `team.detected.png`; created if missing.
    json_path : path, optional
        A file for all results; the module docstring shows its format.
    scale_factor, min_neighbors, min_size, max_size
        See `Cascade.detect`.
    overwrite : bool
        Whether existing files may be replaced.
    progress : function of (done, total, name), optional
        Called before every file.

    Returns
    -------
    list of FileResult
        In the order of the paths.

    Raises
    ------
    FileExistsError
        If an output file exists and `overwrite` is False; checked before the first image is read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> class NoDetector:
    ...     def detect(self, image, **options):
    ...         return []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "grey.png")
    ...     Image.fromarray(np.zeros((30, 40), np.uint8)).save(path)
    ...     [result] = detect_files([path], NoDetector(), out_dir=folder)
    ...     print(result.width, result.height, result.detections, result.annotated.name)
    40 30 [] grey.detected.png
    """
    files = [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]
    if not files:
        raise ValueError("paths is empty: it must have at least one image file")
    if not hasattr(detector, "detect"):
        raise TypeError(f"detector of type {type(detector).__name__} is not allowed: it has no detect method")
    check_settings(scale_factor, min_neighbors, min_size, max_size)
    copies: list[Path | None] = [None] * len(files) if out_dir is None else _copies(files, Path(out_dir))
    _check_targets(files, copies, None if json_path is None else Path(json_path), overwrite)
    names = ("scale_factor", "min_neighbors", "min_size", "max_size")
    settings = dict(zip(names, (scale_factor, min_neighbors, min_size, max_size), strict=True))
    if out_dir is not None:
        Path(out_dir).mkdir(parents=True, exist_ok=True)
    results: list[FileResult] = []
    for path, copy in zip(files, copies, strict=True):
        if progress is not None:
            progress(len(results), len(files), path.name)
        results.append(_detect_file(path, copy, detector, settings))
    if json_path is not None:
        whole = results_as_json(results, settings)
        write_atomically(json_path, (json.dumps(whole, indent=1) + "\n").encode())
    return results


def results_as_json(results: Iterable[FileResult], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of `detect_files` as one JSON object; the module docstring shows its form.

    Examples
    --------
    >>> from pathlib import Path
    >>> result = FileResult(Path("notes.txt"), [], error="not an image")
    >>> results_as_json([result], {"scale_factor": 1.1})["images"][0]
    {'file': 'notes.txt', 'error': 'not an image'}
    """
    values = {name: to_json(value) for name, value in settings.items()}
    return {"format": FORMAT, "settings": values, "images": [_entry(result) for result in results]}


def _copies(files: list[Path], folder: Path) -> list[Path | None]:
    """Return the paths of the annotated copies; two copies must not have the same name."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out_dir={folder} is a file; it must be a folder")
    source: dict[str, Path] = {}
    for path in files:
        name = path.stem + SUFFIX
        if name in source:
            raise ValueError(
                f"{source[name]} and {path} would both be written to {folder / name}: use two calls"
            )
        source[name] = path
    return [folder / name for name in source]


def _check_targets(
    files: list[Path], copies: list[Path | None], listing: Path | None, overwrite: bool
) -> None:
    """Raise for output files that cannot be written, or that would replace an input."""
    targets = [copy for copy in copies if copy is not None]
    if listing is not None:
        if listing.is_dir():
            raise IsADirectoryError(f"json_path={listing} is a folder; it must be a file")
        made = {copy.parent.resolve() for copy in copies if copy is not None}
        if not listing.parent.is_dir() and listing.parent.resolve() not in made:
            raise FileNotFoundError(f"json_path={listing}: the folder {listing.parent} does not exist")
        if listing.resolve() in {target.resolve() for target in targets}:
            raise ValueError(
                f"json_path={listing} is also the path of an annotated copy: choose another name"
            )
        targets.append(listing)
    images = {path.resolve() for path in files}
    for target in targets:
        if target.resolve() in images:
            raise ValueError(f"{target} is one of the images and would be replaced: choose another name")
        if target.exists() and not overwrite:
            raise FileExistsError(f"{target} exists: choose another name, or set overwrite=True")


def _detect_file(path: Path, copy: Path | None, detector: Any, settings: dict[str, Any]) -> FileResult:
    try:
        image = read_image(path)
        colours = as_colour(image)
        height, width = colours.shape[:2]
        found = list(detector.detect(image, **settings))
        if copy is not None:
            stream = io.BytesIO()
            draw_detections(colours, found).save(stream, "PNG")
            write_atomically(copy, stream.getvalue())
    except (OSError, ValueError) as error:
        return FileResult(path, [], error=str(error))
    return FileResult(path, found, width, height, copy)


def _entry(result: FileResult) -> dict[str, Any]:
    entry: dict[str, Any] = {"file": str(result.path)}
    if result.error is not None:
        return entry | {"error": result.error}
    entry |= {"width": result.width, "height": result.height}
    if result.annotated is not None:
        entry["annotated"] = str(result.annotated)
    return entry | {"detections": detections_as_json(result.detections)}
