"""Show what a detector found: rectangles drawn on a picture, and the same as JSON.

    {"format": "hedgerow detections 1",
     "settings": {"scale_factor": 1.1, "min_neighbors": 3, "min_size": null, "max_size": null},
     "images": [{"file": "team.jpg", "width": 640, "height": 480, "annotated": "out/team.detected.png",
                 "detections": [{"x": 31, "y": 40, "width": 80, "height": 80, "score": 4.2, "neighbors": 9}]},
                {"file": "notes.txt", "error": "notes.txt: not an image file that Pillow reads"}]}

A detection has a "pose" too when the detector knows one.
"""

import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, ImageDraw, ImageFont

from hedgerow.container import write_atomically
from hedgerow.vision.detections import check_grouping
from hedgerow.vision.images import ImageLike, as_colour, read_image
from hedgerow.vision.scan_plan import scan_factors
from hedgerow.vision.training_data import plain

FORMAT = "hedgerow detections 1"
SUFFIX = ".detected.png"
_COLOURS = {"left": (255, 149, 0), "right": (64, 156, 255)}  # of profiles: orange and blue
_COLOUR = (80, 220, 90)  # of all others: green
_DARK = (0, 0, 0)
_LINES = 350  # a line is this part of the picture's diagonal wide


class FileResult(NamedTuple):
    """What was found in one file: detections and the annotated copy, or the reason why there are none."""

    path: Path
    detections: list[Any]
    width: int = 0
    height: int = 0
    annotated: Path | None = None
    error: str | None = None


def draw_detections(
    image: ImageLike, detections: Iterable[Any], *, labels: bool = True, channels: str = "rgb"
) -> Image.Image:
    """A copy of a picture with a rectangle around every detection, in colour.

    Parameters
    ----------
    image : array, PIL image or path
        See `as_grey`.
    detections : iterable
        Each has x, y, width and height, and perhaps score and pose, as `Detection` and `Face` do.
    labels : bool
        Whether to write the score above the rectangle, where it has room.
    channels : {"rgb", "bgr"}
        The order of an array's colours.

    Returns
    -------
    PIL.Image.Image
        Of mode RGB and the size of the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.vision.faces import Face
    >>> face = Face(20, 20, 60, 60, score=3.5, neighbors=7, pose="left")
    >>> draw_detections(np.zeros((100, 120)), [face]).size
    (120, 100)
    """
    detections = [one if hasattr(one, "x") else _Rectangle(*map(int, one)) for one in detections]
    picture = Image.fromarray(as_colour(image, channels=channels))
    draw = ImageDraw.Draw(picture)
    line = max(1, round(math.hypot(*picture.size) / _LINES))
    # the strongest on top
    for one in sorted(detections, key=lambda found: getattr(found, "neighbors", 0)):
        colour = _COLOURS.get(getattr(one, "pose", ""), _COLOUR)
        corners = (one.x, one.y, one.x + one.width - 1, one.y + one.height - 1)
        edge = max(1, line // 2)  # dark on both sides, so that the line is seen on any ground
        radius = min(one.width, one.height) // 12
        draw.rounded_rectangle(_grown(corners, edge), radius + edge, outline=_DARK, width=line + 2 * edge)
        draw.rounded_rectangle(corners, radius, outline=colour, width=line)
        if labels and getattr(one, "score", None) is not None:
            _write_label(draw, one, colour, picture.size)
    return picture


class _Rectangle(NamedTuple):
    """A bare rectangle."""

    x: int
    y: int
    width: int
    height: int


def _grown(corners: tuple[int, int, int, int], by: int) -> tuple[int, int, int, int]:
    left, top, right, bottom = corners
    return left - by, top - by, right + by, bottom + by


def _write_label(
    draw: ImageDraw.ImageDraw, one: Any, colour: tuple[int, int, int], size: tuple[int, int]
) -> None:
    """The score on a ground of the rectangle's colour, above it or, at the picture's edge, in it."""
    text = f"{one.score:.1f}"
    font = ImageFont.load_default(max(10, min(one.height // 7, max(size) // 40)))
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
    """Detections as dictionaries of plain numbers, ready for `json.dumps`.

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
    told: Callable[[int, int, str], None] | None = None,
) -> list[FileResult]:
    """Find objects in image files; write annotated copies and one JSON file, if asked to.

    A file that cannot be read, or whose copy cannot be written, does not stop the others: its result, and its
    entry in the JSON file, has an `error`. What is written is written whole or not at all.

    Parameters
    ----------
    paths : iterable of paths
        The image files.
    detector : Cascade or FaceDetector
        Anything with such a `detect` method.
    out_dir : path, optional
        A folder, made if it is not there, for an annotated copy of each image: `team.detected.png`.
    json_path : path, optional
        A file for everything that was found; the module shows its form.
    scale_factor, min_neighbors, min_size, max_size
        See `Cascade.detect`.
    overwrite : bool
        Whether files that are already there may be replaced.
    told : function of (done, total, name), optional
        Called before every file.

    Returns
    -------
    list of FileResult
        In the order of the paths.

    Raises
    ------
    FileExistsError
        When a file to be written is there and `overwrite` is False; before anything is done.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> class Nothing:
    ...     def detect(self, image, **options):
    ...         return []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "grey.png")
    ...     Image.fromarray(np.zeros((30, 40), np.uint8)).save(path)
    ...     [result] = detect_files([path], Nothing(), out_dir=folder)
    ...     print(result.width, result.height, result.detections, result.annotated.name)
    40 30 [] grey.detected.png
    """
    files = [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]
    if not files:
        raise ValueError("paths is empty: at least one image file is needed")
    if not hasattr(detector, "detect"):
        raise TypeError(f"detector of type {type(detector).__name__} is not allowed: it has no detect method")
    check_grouping(min_neighbors, eps=0.0)
    scan_factors((0, 0), (1, 1), scale_factor, min_size, max_size)  # raises for what is not allowed
    copies = _copies(files, None if out_dir is None else Path(out_dir))
    _check_targets(files, copies, None if json_path is None else Path(json_path), overwrite)
    settings = {
        "scale_factor": scale_factor,
        "min_neighbors": min_neighbors,
        "min_size": min_size,
        "max_size": max_size,
    }
    if out_dir is not None:
        Path(out_dir).mkdir(parents=True, exist_ok=True)
    results: list[FileResult] = []
    for path, copy in zip(files, copies, strict=True):
        if told is not None:
            told(len(results), len(files), path.name)
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
    plainly = {name: plain(value) for name, value in settings.items()}
    return {"format": FORMAT, "settings": plainly, "images": [_entry(result) for result in results]}


def _copies(files: list[Path], folder: Path | None) -> list[Path | None]:
    """Where the annotated copies go; two of them must not have the same name."""
    if folder is None:
        return [None] * len(files)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out_dir={folder} is a file, where a folder is needed")
    source: dict[str, Path] = {}
    for path in files:
        name = path.stem + SUFFIX
        if name in source:
            raise ValueError(
                f"{source[name]} and {path} would both be written to {folder / name}: give them to two calls"
            )
        source[name] = path
    return [folder / name for name in source]


def _check_targets(
    files: list[Path], copies: list[Path | None], listing: Path | None, overwrite: bool
) -> None:
    """Refuse what would fail or do damage at the end of the work."""
    targets = [copy for copy in copies if copy is not None]
    if listing is not None:
        if listing.is_dir():
            raise IsADirectoryError(f"json_path={listing} is a folder, where a file is needed")
        made = {copy.parent.resolve() for copy in copies if copy is not None}
        if not listing.parent.is_dir() and listing.parent.resolve() not in made:
            raise FileNotFoundError(f"json_path={listing}: the folder {listing.parent} does not exist")
        if listing.resolve() in {target.resolve() for target in targets}:
            raise ValueError(f"json_path={listing} is where an annotated copy goes: choose another name")
        targets.append(listing)
    images = {path.resolve() for path in files}
    for target in targets:
        if target.resolve() in images:
            raise ValueError(f"{target} is one of the images and would be replaced: choose another name")
        if target.exists() and not overwrite:
            raise FileExistsError(f"{target} exists: choose another name, or allow overwrite=True")


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
