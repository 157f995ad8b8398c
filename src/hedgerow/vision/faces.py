"""Detection of frontal and profile faces with one cascade for each view.

A profile cascade detects faces that face one side. It is also run on the mirrored image, to detect faces that
face the other side. One cascade per view follows M. Jones and P. Viola, "Fast Multi-view Face Detection",
2003. OpenCV's haarcascade_profileface detects faces that face the left side of the image.
"""

import os
from typing import Any, NamedTuple, Protocol

import numpy as np

from hedgerow.vision.cascade import load_cascade
from hedgerow.vision.images import Grey, ImageLike, as_grey

FRONTAL, LEFT, RIGHT = POSES = ("frontal", "left", "right")
MIN_OVERLAP = 0.5  # of the smaller rectangle, for two rectangles of the same face


class Face(NamedTuple):
    """A face: its rectangle, the score and the number of windows of its group, and its pose.

    `pose` is "frontal", or the side of the image that the face faces: "left" or "right".
    """

    x: int
    y: int
    width: int
    height: int
    score: float
    neighbors: int
    pose: str


class Detector(Protocol):
    """An object with a `detect` method, such as `Cascade`."""

    def detect(self, image: Any, scale_factor: float = 1.1, min_neighbors: int = 3, **options: Any) -> Any:
        """Detect objects; each has x, y, width, height, score and neighbors."""


class FaceDetector:
    """Detects faces and their pose.

    Several cascades may detect the same face. Two rectangles of different poses are one face if at least half
    of the smaller one is inside the other; the one with more windows in its group is kept (ties: frontal,
    left, right). Numbers of windows can be compared between cascades; scores, which are sums of different
    trees, cannot.

    Parameters
    ----------
    frontal : str, path or Cascade
        The name of a packaged cascade, a file (of Hedgerow or OpenCV), or a cascade.
    profile : str, path, Cascade or None
        The same for profiles; None for frontal faces only.
    profile_side : {"left", "right"}
        Side of the image that the faces of the profile cascade face; "left" for OpenCV's.

    Examples
    --------
    Any object with a `detect` method can be a cascade; this one detects the brightest pixel.

    >>> from hedgerow.vision.detections import Detection
    >>> class Brightest:
    ...     def detect(self, image, scale_factor=1.1, min_neighbors=3, **options):
    ...         y, x = np.unravel_index(image.argmax(), image.shape)
    ...         return [Detection(int(x), int(y), 4, 4, 1.0, 5)]
    >>> class NoDetector:
    ...     def detect(self, image, scale_factor=1.1, min_neighbors=3, **options):
    ...         return []
    >>> image = np.zeros((20, 20), np.uint8)
    >>> image[5, 5] = 255
    >>> for face in FaceDetector(NoDetector(), profile=Brightest()).detect(image):
    ...     print(face)
    Face(x=5, y=5, width=4, height=4, score=1.0, neighbors=5, pose='left')
    Face(x=2, y=5, width=4, height=4, score=1.0, neighbors=5, pose='right')
    """

    def __init__(
        self,
        frontal: Detector | str | os.PathLike[str] = "frontalface",
        profile: Detector | str | os.PathLike[str] | None = None,
        *,
        profile_side: str = LEFT,
    ) -> None:
        if profile_side not in {LEFT, RIGHT}:
            raise ValueError(f"profile_side={profile_side!r} is not allowed: it must be 'left' or 'right'")
        self.frontal = _as_detector("frontal", frontal)
        self.profile = None if profile is None else _as_detector("profile", profile)
        self.profile_side = profile_side

    def __repr__(self) -> str:
        side = "" if self.profile is None else f", profile_side={self.profile_side!r}"
        return f"FaceDetector({self.frontal!r}, profile={self.profile!r}{side})"

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
        """Detect the faces of an image: a list of `Face`, sorted by the number of windows, the largest first.

        The parameters are those of `Cascade.detect`.
        """
        grey = as_grey(image, channels=channels)
        options = {"min_size": min_size, "max_size": max_size, "n_jobs": n_jobs}

        def faces(cascade: Detector, pixels: Grey, pose: str) -> list[Face]:
            detections = cascade.detect(pixels, scale_factor, min_neighbors, **options)
            return [Face(d.x, d.y, d.width, d.height, d.score, d.neighbors, pose) for d in detections]

        found = faces(self.frontal, grey, FRONTAL)
        if self.profile is not None:
            other = RIGHT if self.profile_side == LEFT else LEFT
            found += faces(self.profile, grey, self.profile_side)
            mirrored = faces(self.profile, np.ascontiguousarray(grey[:, ::-1]), other)
            found += [face._replace(x=grey.shape[1] - face.x - face.width) for face in mirrored]
        return _merge_poses(found)


def _as_detector(name: str, value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return load_cascade(value)
    if not hasattr(value, "detect"):
        raise TypeError(
            f"{name} of type {type(value).__name__} is not allowed: it must be a cascade, a path or a name"
        )
    return value


def _merge_poses(faces: list[Face]) -> list[Face]:
    """Keep one result per face, sorted by the number of windows."""
    ranked = sorted(faces, key=lambda face: (-face.neighbors, POSES.index(face.pose), face.y, face.x))
    kept: list[Face] = []
    for face in ranked:
        if not any(face.pose != other.pose and _overlap(face, other) >= MIN_OVERLAP for other in kept):
            kept.append(face)
    return kept


def _overlap(a: Face, b: Face) -> float:
    """Return the fraction of the smaller rectangle that is inside the other one."""
    wide = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    high = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    return max(wide, 0) * max(high, 0) / min(a.width * a.height, b.width * b.height)
