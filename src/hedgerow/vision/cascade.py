"""`Cascade`, which detects objects in images, and `load_cascade`, which reads one from a file."""

import importlib.resources
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.container import ModelFileError, write_atomically
from hedgerow.threads import Team, resolve_n_jobs
from hedgerow.vision.detections import Detections, check_grouping, group_rectangles
from hedgerow.vision.images import Grey, ImageLike, as_grey, as_named_grey
from hedgerow.vision.model import MAX_BYTES, CascadeModel, is_packed, pack_cascade, unpack_cascade
from hedgerow.vision.opencv import read_opencv, write_opencv
from hedgerow.vision.pyramid import Pair, scan_factors
from hedgerow.vision.scan import evaluate_windows, find_windows

_SUFFIX = ".hedgerow"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_FORMATS = {".yml", ".yaml", ".json", ".gz"}  # written by OpenCV, not by Hedgerow
_EPS = 0.2  # of grouping, as in OpenCV


class Cascade:
    """A detector: stages of boosted trees on Haar or LBP features, evaluated on all windows of an image.

    Parameters
    ----------
    model : CascadeModel
        The arrays of the cascade.
    info : dict, optional
        Plain JSON to store with it, such as the history of the training.

    Attributes
    ----------
    model, info
        The parameters.
    window : (width, height)
        Size of the smallest object, in pixels.
    kind : {"HAAR", "LBP"}
    n_stages, n_features : int

    Examples
    --------
    A cascade of one stump, which tests whether the lower half is brighter than the upper half:

    >>> import numpy as np
    >>> from hedgerow.vision.opencv import read_opencv
    >>> cascade = Cascade(read_opencv(b'''<?xml version="1.0"?>
    ... <opencv_storage><cascade>
    ...   <stageType>BOOST</stageType> <featureType>HAAR</featureType>
    ...   <height>8</height> <width>8</width>
    ...   <stages><_>
    ...     <stageThreshold>0.5</stageThreshold>
    ...     <weakClassifiers><_>
    ...       <internalNodes>0 -1 0 1.5</internalNodes>
    ...       <leafValues>-1. 1.</leafValues></_></weakClassifiers></_></stages>
    ...   <features><_><rects><_>0 0 8 8 -1.</_> <_>0 4 8 4 2.</_></rects></_></features>
    ... </cascade></opencv_storage>'''))
    >>> cascade
    <Cascade: HAAR, 8 x 8 window, 1 stages, 1 trees, 1 features>
    >>> image = np.zeros((8, 8), np.uint8)
    >>> image[4:] = 200
    >>> cascade.detect(image, min_neighbors=0)
    <1 detection: (0, 0, 8, 8) score 1, 1 neighbors>
    """

    def __init__(self, model: CascadeModel, info: dict[str, Any] | None = None) -> None:
        if not isinstance(model, CascadeModel):
            raise TypeError(
                f"model={model!r} is not allowed: it must be a CascadeModel; use load_cascade for files"
            )
        if info is not None and not isinstance(info, dict):
            raise TypeError(f"info is {type(info).__name__}: it must be a dict or None")
        self.model = model
        self.info: dict[str, Any] = dict(info or {})

    @property
    def window(self) -> Pair:
        """Width and height of the detection window."""
        return self.model.window

    @property
    def kind(self) -> str:
        """HAAR or LBP."""
        return self.model.kind

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return self.model.n_stages

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.model.n_features

    def detect(
        self,
        image: ImageLike,
        scale_factor: float = 1.1,
        min_neighbors: int = 3,
        min_size: int | Pair | None = None,
        max_size: int | Pair | None = None,
        *,
        channels: str = "rgb",
        n_jobs: int | None = None,
    ) -> Detections:
        """Detect objects in an image, with the result of OpenCV's detectMultiScale for the same cascade.

        Parameters
        ----------
        image : array, PIL image or path
            See `as_grey` for the arrays that are allowed.
        scale_factor : float
            Ratio of consecutive window sizes, above 1. Smaller values find more and take longer.
        min_neighbors : int
            Overlapping windows are grouped; a detection is a group of more windows than this. With 0 every
            window is returned, without grouping.
        min_size, max_size : int or (width, height), optional
            Minimum and maximum size of objects, in pixels.
        channels : {"rgb", "bgr"}
            The order of the colours of an array; "bgr" in OpenCV.
        n_jobs : int, optional
            Number of threads; all cores if None. The result does not depend on it.

        Returns
        -------
        Detections
            Sorted by the number of neighbours, the largest first; empty if nothing is found.
        """
        settings = scale_factor, min_neighbors, min_size, max_size
        check_settings(*settings)
        with Team(resolve_n_jobs(n_jobs)) as team:
            return self._detect(as_grey(image, channels=channels), team, *settings)

    def detect_batch(
        self,
        images: Iterable[ImageLike],
        scale_factor: float = 1.1,
        min_neighbors: int = 3,
        min_size: int | Pair | None = None,
        max_size: int | Pair | None = None,
        *,
        channels: str = "rgb",
        n_jobs: int | None = None,
    ) -> list[Detections]:
        """Detect objects in many images, one image per thread; the parameters are those of `detect`.

        Returns
        -------
        list of Detections
            One for each image, in the same order.
        """
        settings = scale_factor, min_neighbors, min_size, max_size
        check_settings(*settings)
        images = _as_list(images)
        results: list[Detections | None] = [None] * len(images)
        with Team(resolve_n_jobs(n_jobs)) as team:
            counter = itertools.count()  # next() is atomic: each thread gets different numbers
            shared = team if len(images) < team.n_threads else None  # threads share one image

            def detect_images(_thread: int) -> None:
                while (i := next(counter)) < len(images):
                    grey = as_named_grey(images[i], channels, f"images[{i}]")
                    results[i] = self._detect(grey, shared, *settings)

            if shared is None:
                team.together(detect_images)
            else:
                detect_images(0)
        return [result for result in results if result is not None]

    def _detect(
        self,
        grey: Grey,
        team: Team | None,
        scale_factor: float,
        min_neighbors: int,
        *sizes: int | Pair | None,
    ) -> Detections:
        windows = find_windows(self.model, grey, scale_factor, *sizes, team=team)
        found = windows.rectangles, min_neighbors, _EPS, windows.scores
        rectangles, neighbors, scores = group_rectangles(*found)
        # sizes of levels are rounded, so rectangles may extend beyond the image
        inside = np.array(grey.shape[::-1], np.int32) - rectangles[:, :2]
        rectangles[:, 2:] = np.minimum(rectangles[:, 2:], inside)
        return Detections(rectangles, scores, neighbors)

    def score_windows(self, windows: ArrayLike, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Compute the scores of cropped windows.

        Parameters
        ----------
        windows : uint8 (n, height, width)
            Windows of the size `window`.
        n_jobs : int, optional
            Number of threads; all cores if None.

        Returns
        -------
        ndarray of float64, (n,)
            The sum of the last stage, as in `Detection.score`, for windows that pass all stages; -inf for all
            other windows.
        """
        array: NDArray[Any] = np.asarray(windows)
        width, height = self.window
        if array.dtype != np.uint8 or array.shape[1:] != (height, width):
            raise ValueError(
                f"windows: uint8 of shape (n, {height}, {width}) is required, got {array.dtype} of shape "
                f"{array.shape}"
            )
        with Team(resolve_n_jobs(n_jobs)) as team:
            stages, scores = evaluate_windows(self.model, array, team)
        return np.where(stages == self.n_stages, scores, -np.inf)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cascade to a file: OpenCV's XML for the suffix .xml, otherwise a model file of Hedgerow.

        XML has the complete detector, but not `info`. `hedgerow.save` writes the same files, but not XML.
        """
        suffix = Path(path).suffix.lower()
        if suffix in _OTHER_FORMATS:
            raise ValueError(f"path={os.fspath(path)!r}: a cascade is written as .xml or .hedgerow")
        self._refuse_empty()
        write_atomically(path, write_opencv(self.model) if suffix == ".xml" else self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the bytes of a model file of Hedgerow; equal cascades give equal bytes."""
        self._refuse_empty()
        return pack_cascade(self.model, self.info)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Cascade":
        """Read the bytes of a model file of Hedgerow; raise ModelFileError for anything else."""
        return cls(*unpack_cascade(data))

    def _refuse_empty(self) -> None:
        if not self.n_stages:
            raise ValueError("a cascade without stages accepts every window and cannot be saved")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cascade):
            return NotImplemented
        arrays, others = self.model.arrays(), other.model.arrays()
        same = self.kind == other.kind and self.window == other.window
        return same and all(np.array_equal(arrays[name], others[name]) for name in arrays)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        w, h = self.window
        return (
            f"<Cascade: {self.kind}, {w} x {h} window, {self.n_stages} stages, {self.model.n_trees} trees, "
            f"{self.n_features} features>"
        )


def _as_list(images: Any) -> list[Any]:
    """Return images as a list; raise ValueError for a single image, which is iterable too."""
    several = not isinstance(images, str | os.PathLike) and hasattr(images, "__iter__")
    if isinstance(images, np.ndarray):
        several = images.ndim == 4 or (images.ndim == 3 and images.shape[2] not in {3, 4})
    if not several:
        raise ValueError("images must be a list of images; use `detect` for a single image")
    return list(images)


def check_settings(
    scale_factor: float, min_neighbors: int, min_size: int | Pair | None, max_size: int | Pair | None
) -> None:
    """Raise ValueError for invalid parameters of `Cascade.detect`."""
    check_grouping(min_neighbors, _EPS)
    scan_factors((0, 0), (1, 1), scale_factor, min_size, max_size)  # raises ValueError for invalid values


def load_cascade(path_or_name: str | os.PathLike[str]) -> Cascade:
    """Read a cascade: a model file of Hedgerow, an XML file of OpenCV, or a packaged cascade.

    `hedgerow.load` also reads model files of cascades.

    Parameters
    ----------
    path_or_name : str or path
        A file, whose format is detected; or the name of a packaged cascade, such as "frontalface".

    Returns
    -------
    Cascade

    Raises
    ------
    ModelFileError
        If the file is not a cascade, or is damaged.
    FileNotFoundError
        If there is no such file and no such packaged cascade.

    Examples
    --------
    >>> try:
    ...     load_cascade("no-such-thing")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:31])
    'no-such-thing' is neither a fi
    """
    if not isinstance(path_or_name, str | os.PathLike):
        raise TypeError(
            f"path_or_name={path_or_name!r} is not allowed: it must be the name of a file or a cascade"
        )
    path = Path(path_or_name)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; it must be a file")
    if path.is_file():
        if path.stat().st_size > MAX_BYTES:
            raise ModelFileError(f"{path} has {path.stat().st_size:,} bytes, too many for a cascade")
        return _parse(path.read_bytes(), os.fspath(path))
    packaged = _packaged()
    if isinstance(path_or_name, str) and path_or_name in packaged:
        return _parse(packaged[path_or_name].read_bytes(), path_or_name)
    names = ", ".join(sorted(packaged))
    raise FileNotFoundError(
        f"{os.fspath(path_or_name)!r} is neither a file nor the name of a packaged cascade ({names})"
    )


def _packaged() -> dict[str, Any]:
    """Return the packaged cascades by name."""
    folder = importlib.resources.files("hedgerow.vision") / "models"
    return {f.name.removesuffix(_SUFFIX): f for f in folder.iterdir() if f.name.endswith(_SUFFIX)}


def _parse(data: bytes, name: str) -> Cascade:
    is_xml = data.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"<")
    if not is_xml and not is_packed(data):
        raise ModelFileError(f"{name}: neither a model file of Hedgerow nor an XML file of OpenCV")
    try:
        if is_packed(data):
            return Cascade.from_bytes(data)
        return Cascade(read_opencv(data))
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
