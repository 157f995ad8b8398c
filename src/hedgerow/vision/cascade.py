"""Cascades as users have them: `Cascade` finds objects in images, `load_cascade` reads one from a file."""

import importlib.resources
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.container import ModelFileError, write_atomically
from hedgerow.threads import Team, resolve_n_jobs
from hedgerow.vision.detections import Detections, check_grouping, group_rectangles
from hedgerow.vision.images import ImageLike, as_grey
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.opencv import read_opencv, write_opencv
from hedgerow.vision.scan import find_windows, judge, scan_factors
from hedgerow.vision.scan_plan import Pair
from hedgerow.vision.storage import MOST_BYTES, is_packed, pack_cascade, unpack_cascade

_SUFFIX = ".hedgerow"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_FORMATS = {".yml", ".yaml", ".json", ".gz"}  # which OpenCV writes, and we do not
_ALIKE = 0.2  # OpenCV's eps of grouping


class Cascade:
    """A detector: stages of boosted trees on Haar or LBP features, run over all windows of an image.

    Parameters
    ----------
    model : CascadeModel
        The arrays of the cascade.
    info : dict, optional
        Anything in plain JSON to be kept with it, such as the record of the training.

    Attributes
    ----------
    model, info
        As given.
    window : (width, height)
        The smallest object, in pixels.
    kind : {"HAAR", "LBP"}
    n_stages, n_features : int

    Examples
    --------
    A cascade of one stump, "the lower half is brighter than the upper one", and an image where that is so:

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
            raise TypeError(f"model={model!r} is not allowed: a CascadeModel is needed; files: load_cascade")
        if info is not None and not isinstance(info, dict):
            raise TypeError(f"info is {type(info).__name__}: a dict or None is needed")
        self.model = model
        self.info: dict[str, Any] = dict(info or {})

    @property
    def window(self) -> Pair:
        """Width and height of the window that the cascade was trained for."""
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
        """The number of features that the trees choose from."""
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
        """Find the objects in an image: those that OpenCV's detectMultiScale finds with the same cascade.

        Parameters
        ----------
        image : array, PIL image or path
            See `as_grey` for what may be in an array.
        scale_factor : float
            The ratio between two sizes of windows, above 1. Smaller finds more and takes longer.
        min_neighbors : int
            Windows around an object are put together; a group needs more windows than this. With 0 every
            window is returned as it is.
        min_size, max_size : int or (width, height), optional
            The smallest and largest object, in pixels.
        channels : {"rgb", "bgr"}
            The order of an array's colours; OpenCV's is "bgr".
        n_jobs : int, optional
            Threads; all cores if None. No result depends on it.

        Returns
        -------
        Detections
            Those with the most neighbours first; empty if there is none, or if no window fits.
        """
        settings = _Settings(scale_factor, min_neighbors, min_size, max_size)
        settings.check()
        with Team(resolve_n_jobs(n_jobs)) as team:
            return self._detect(as_grey(image, channels=channels), settings, team)

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
        """`detect` for many images, each by one thread; see there for the parameters.

        Returns
        -------
        list of Detections
            One for each image, in their order.
        """
        settings = _Settings(scale_factor, min_neighbors, min_size, max_size)
        settings.check()
        given = _many(images)
        results: list[Detections | None] = [None] * len(given)
        with Team(resolve_n_jobs(n_jobs)) as team:
            if len(given) < team.n_members:
                return [self._detect(_grey(given, i, channels), settings, team) for i in range(len(given))]
            turns = itertools.count()  # its next() is one step of the interpreter: no two get the same

            def share(_member: int) -> None:
                while (i := next(turns)) < len(given):
                    results[i] = self._detect(_grey(given, i, channels), settings, None)

            team.together(share)
        return [result for result in results if result is not None]

    def _detect(self, grey: NDArray[np.uint8], settings: "_Settings", team: Team | None) -> Detections:
        scale, neighbors, smallest, largest = settings
        windows = find_windows(
            self.model, grey, scale_factor=scale, min_size=smallest, max_size=largest, team=team
        )
        grouped = group_rectangles(windows.rectangles, neighbors, _ALIKE, windows.scores)
        return Detections(_clipped(grouped.rectangles, grey), grouped.scores, grouped.neighbors)

    def score_windows(self, windows: ArrayLike, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Scores of windows that are already cut out.

        Parameters
        ----------
        windows : uint8 (n, height, width)
            Of the size of the cascade's `window`.
        n_jobs : int, optional
            Threads; all cores if None.

        Returns
        -------
        ndarray of float64, (n,)
            The sum of the last stage, as in `Detection.score`, for windows that pass all stages; -inf for
            those that do not.
        """
        array: NDArray[Any] = np.asarray(windows)
        width, height = self.window
        if array.dtype != np.uint8 or array.shape[1:] != (height, width):
            raise ValueError(
                f"windows: uint8 of shape (n, {height}, {width}) is needed, found {array.dtype} of shape "
                f"{array.shape}"
            )
        with Team(resolve_n_jobs(n_jobs)) as team:
            stages, scores = judge(self.model, array, team)
        return np.where(stages == self.n_stages, scores, -np.inf)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cascade to a file: OpenCV's XML if the name ends in .xml, else Hedgerow's own format.

        XML keeps all that detection needs, but not `info`. `hedgerow.save` writes the same files, but no XML.
        """
        suffix = Path(path).suffix.lower()
        if suffix in _OTHER_FORMATS:
            raise ValueError(f"path={os.fspath(path)!r}: cascades are written as .xml or in our own format")
        self._refuse_empty()
        write_atomically(path, write_opencv(self.model) if suffix == ".xml" else self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes of a file in Hedgerow's own format; equal cascades give equal bytes."""
        self._refuse_empty()
        return pack_cascade(self.model, self.info)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Cascade":
        """The cascade of a file in Hedgerow's own format; ModelFileError for anything else."""
        return cls(*unpack_cascade(data))

    def _refuse_empty(self) -> None:
        if not self.n_stages:
            raise ValueError("a cascade without stages finds everything everywhere: it is not saved")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cascade):
            return NotImplemented
        mine, others = self.model.arrays(), other.model.arrays()
        same = self.kind == other.kind and self.window == other.window
        return same and all(np.array_equal(mine[name], others[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        w, h = self.window
        return (
            f"<Cascade: {self.kind}, {w} x {h} window, {self.n_stages} stages, {self.model.n_trees} trees, "
            f"{self.n_features} features>"
        )


def _many(images: Any) -> list[Any]:
    """Images as a list; ValueError for one image, of which a list could be made too."""
    several = not isinstance(images, str | os.PathLike) and hasattr(images, "__iter__")
    if isinstance(images, np.ndarray):
        several = images.ndim == 4 or (images.ndim == 3 and images.shape[2] not in {3, 4})
    if not several:
        raise ValueError("images: a list of images is needed; for a single one there is `detect`")
    return list(images)


def _grey(images: list[Any], number: int, channels: str) -> NDArray[np.uint8]:
    try:
        return as_grey(images[number], channels=channels)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"images[{number}]: {error}") from error


def _clipped(rectangles: NDArray[np.int32], grey: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Rectangles cut off at the border: levels are rounded to whole pixels, so that one may reach beyond."""
    high, wide = grey.shape
    clipped = rectangles.copy()
    clipped[:, 2] = np.minimum(clipped[:, 2], wide - clipped[:, 0])
    clipped[:, 3] = np.minimum(clipped[:, 3], high - clipped[:, 1])
    return clipped


class _Settings(NamedTuple):
    scale_factor: float
    min_neighbors: int
    min_size: int | Pair | None
    max_size: int | Pair | None

    def check(self) -> None:
        """Raise ValueError for a setting that is not allowed."""
        check_grouping(self.min_neighbors, _ALIKE)
        scan_factors((0, 0), (1, 1), self.scale_factor, self.min_size, self.max_size)


def load_cascade(path_or_name: str | os.PathLike[str]) -> Cascade:
    """Read a cascade: a file of Hedgerow, an OpenCV XML file, or one that comes with the package.

    Files of Hedgerow can also be read by `hedgerow.load`, which reads models of every kind.

    Parameters
    ----------
    path_or_name : str or path
        A file, whose content tells its format; or the name of a packaged cascade, such as "frontalface".

    Returns
    -------
    Cascade

    Raises
    ------
    ModelFileError
        If the file is no cascade, or is damaged.
    FileNotFoundError
        If there is neither such a file nor such a name.

    Examples
    --------
    >>> try:
    ...     load_cascade("no-such-thing")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:31])
    'no-such-thing' is neither a fi
    """
    if not isinstance(path_or_name, str | os.PathLike):
        raise TypeError(f"path_or_name={path_or_name!r} is not allowed: give the name of a file or a cascade")
    path = Path(path_or_name)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if path.is_file():
        if path.stat().st_size > MOST_BYTES:
            raise ModelFileError(f"{path} has {path.stat().st_size:,} bytes, which is too much for a cascade")
        return _parse(path.read_bytes(), os.fspath(path))
    packaged = _packaged()
    if isinstance(path_or_name, str) and path_or_name in packaged:
        return _parse(packaged[path_or_name].read_bytes(), path_or_name)
    names = ", ".join(sorted(packaged)) or "none"
    raise FileNotFoundError(
        f"{os.fspath(path_or_name)!r} is neither a file nor the name of a packaged cascade ({names})"
    )


def _packaged() -> dict[str, Any]:
    """The cascades in the package, by name."""
    folder = importlib.resources.files("hedgerow.vision") / "models"
    if not folder.is_dir():
        return {}
    return {f.name.removesuffix(_SUFFIX): f for f in folder.iterdir() if f.name.endswith(_SUFFIX)}


def _parse(data: bytes, name: str) -> Cascade:
    is_xml = data.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"<")
    if not is_xml and not is_packed(data):
        raise ModelFileError(f"{name}: neither a cascade of Hedgerow nor XML of OpenCV")
    try:
        if is_packed(data):
            return Cascade.from_bytes(data)
        return Cascade(read_opencv(data))
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
