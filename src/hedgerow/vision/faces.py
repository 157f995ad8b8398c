"""Faces from the front and from the side: one cascade for each, the second one used twice.

A profile cascade knows faces that look one way. The mirror image shows those that look the other way: the
cascade runs on both, and what it finds in the mirror is carried back. One cascade for each view is the way of
M. Jones and P. Viola, "Fast Multi-view Face Detection", 2003. OpenCV's haarcascade_profileface finds faces
that look to the left side of the picture.
"""

import os
from typing import Any, NamedTuple, Protocol

import numpy as np

from hedgerow.vision.cascade import load_cascade
from hedgerow.vision.images import Grey, ImageLike, as_grey

FRONTAL, LEFT, RIGHT = POSES = ("frontal", "left", "right")
SAME = 0.5  # of the smaller rectangle lies in the other one: the same face


class Face(NamedTuple):
    """A face: its rectangle, the score and the number of windows of its group, and where it looks.

    `pose` is "frontal", "left" or "right", as seen in the picture.
    """

    x: int
    y: int
    width: int
    height: int
    score: float
    neighbors: int
    pose: str


class Detector(Protocol):
    """What finds rectangles: a `Cascade`, or anything with its `detect`."""

    def detect(self, image: Any, scale_factor: float = 1.1, min_neighbors: int = 3, **options: Any) -> Any:
        """Find objects; each has x, y, width, height, score and neighbors."""


class FaceDetector:
    """Find faces, and say where they look.

    A face turned halfway is found by several cascades. When at least half of the smaller one of two
    rectangles of different poses lies in the other, they are one face, and the one with more windows in its
    group is kept (frontal before left before right, if these are equal). Scores are sums of different trees
    and cannot be compared between cascades; the number of windows is the same kind of number in each.

    Parameters
    ----------
    frontal : str, path or Cascade
        The name of a packaged model, the file of a cascade (OpenCV's XML too), or the cascade.
    profile : str, path, Cascade or None
        The same for faces from the side; None finds only frontal ones.
    profile_looks : {"left", "right"}
        To which side of the picture the faces look that the profile cascade knows. OpenCV's look left.

    Examples
    --------
    Any object with a `detect` method is a cascade; this one takes the brightest pixel for a face.

    >>> from hedgerow.vision.detections import Detection
    >>> class Brightest:
    ...     def detect(self, image, scale_factor=1.1, min_neighbors=3, **options):
    ...         y, x = np.unravel_index(image.argmax(), image.shape)
    ...         return [Detection(int(x), int(y), 4, 4, 1.0, 5)]
    >>> class Nothing:
    ...     def detect(self, image, scale_factor=1.1, min_neighbors=3, **options):
    ...         return []
    >>> image = np.zeros((20, 20), np.uint8)
    >>> image[5, 5] = 255
    >>> for face in FaceDetector(Nothing(), profile=Brightest()).detect(image):
    ...     print(face)
    Face(x=5, y=5, width=4, height=4, score=1.0, neighbors=5, pose='left')
    Face(x=2, y=5, width=4, height=4, score=1.0, neighbors=5, pose='right')
    """

    def __init__(
        self,
        frontal: Detector | str | os.PathLike[str] = "frontalface",
        profile: Detector | str | os.PathLike[str] | None = None,
        *,
        profile_looks: str = LEFT,
    ) -> None:
        if profile_looks not in {LEFT, RIGHT}:
            raise ValueError(f"profile_looks={profile_looks!r} is not allowed: it must be 'left' or 'right'")
        self.frontal = _cascade("frontal", frontal)
        self.profile = None if profile is None else _cascade("profile", profile)
        self.profile_looks = profile_looks

    def __repr__(self) -> str:
        looks = "" if self.profile is None else f", profile_looks={self.profile_looks!r}"
        return f"FaceDetector({self.frontal!r}, profile={self.profile!r}{looks})"

    def detect(
        self,
        image: ImageLike,
        scale_factor: float = 1.1,
        min_neighbors: int = 3,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
        *,
        channels: str = "rgb",
        n_jobs: int | None = None,
    ) -> list[Face]:
        """The faces of an image, those with the most windows first.

        Parameters
        ----------
        image : array, PIL image or path
            See `as_grey`.
        scale_factor, min_neighbors, min_size, max_size, n_jobs
            See `Cascade.detect`.
        channels : {"rgb", "bgr"}
            The order of an array's colours.

        Returns
        -------
        list of Face
        """
        grey = as_grey(image, channels=channels)
        options = {"min_size": min_size, "max_size": max_size, "n_jobs": n_jobs}

        def faces(cascade: Detector, pixels: Grey, pose: str) -> list[Face]:
            found = cascade.detect(pixels, scale_factor, min_neighbors, **options)
            return [Face(d.x, d.y, d.width, d.height, d.score, d.neighbors, pose) for d in found]

        everything = faces(self.frontal, grey, FRONTAL)
        if self.profile is not None:
            other = RIGHT if self.profile_looks == LEFT else LEFT
            everything += faces(self.profile, grey, self.profile_looks)
            mirrored = faces(self.profile, np.ascontiguousarray(grey[:, ::-1]), other)
            everything += [face._replace(x=grey.shape[1] - face.x - face.width) for face in mirrored]
        return _merged(everything)


def _cascade(name: str, given: Any) -> Any:
    if isinstance(given, (str, os.PathLike)):
        return load_cascade(given)
    if not hasattr(given, "detect"):
        raise TypeError(
            f"{name} of type {type(given).__name__} is not allowed: it must be a cascade, a path or a name"
        )
    return given


def _merged(faces: list[Face]) -> list[Face]:
    """One result a face, the strongest first."""
    ranked = sorted(faces, key=lambda face: (-face.neighbors, POSES.index(face.pose), face.y, face.x))
    kept: list[Face] = []
    for face in ranked:
        if not any(face.pose != other.pose and _overlap(face, other) >= SAME for other in kept):
            kept.append(face)
    return kept


def _overlap(a: Face, b: Face) -> float:
    """The share of the smaller rectangle that lies in the other one."""
    wide = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    high = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    return max(wide, 0) * max(high, 0) / min(a.width * a.height, b.width * b.height)
