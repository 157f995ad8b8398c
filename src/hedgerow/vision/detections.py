"""Results of a detector: `Detections`, a sequence of `Detection`, and `group_rectangles`."""

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.kernels.cpu.groups import link_similar, mark_inner

_SHOWN = 4  # detections in a repr


class Detection(NamedTuple):
    """One object: its rectangle, the largest score of its windows, and the number of its windows.

    Examples
    --------
    >>> Detection(10, 20, 24, 24, score=1.5, neighbors=3).width
    24
    """

    x: int
    y: int
    width: int
    height: int
    score: float
    neighbors: int


class Detections(Sequence[Detection]):
    """The objects detected in an image, sorted by the number of neighbours, the largest first.

    Ties are sorted by score, the highest first, then by y, x and width.

    Parameters
    ----------
    rectangles : int32 (n, 4)
        x, y, width, height.
    scores : float64 (n,)
    neighbors : int32 (n,)

    Examples
    --------
    >>> import numpy as np
    >>> found = Detections(np.array([[3, 4, 20, 20]], np.int32), np.array([1.5]), np.array([7], np.int32))
    >>> found
    <1 detection: (3, 4, 20, 20) score 1.5, 7 neighbors>
    >>> found[0].score
    1.5
    """

    def __init__(
        self, rectangles: NDArray[np.int32], scores: NDArray[np.float64], neighbors: NDArray[np.int32]
    ) -> None:
        keys = (rectangles[:, 2], rectangles[:, 0], rectangles[:, 1], -scores, -neighbors.astype(np.int64))
        order = np.lexsort(keys)  # the last key is the primary one
        self.rectangles = rectangles[order]
        self.scores = scores[order]
        self.neighbors = neighbors[order]

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int) -> Detection: ...
    @overload
    def __getitem__(self, index: slice) -> "Detections": ...
    def __getitem__(self, index: int | slice) -> "Detection | Detections":
        if isinstance(index, slice):
            selected = object.__new__(Detections)  # without sorting
            selected.rectangles, selected.scores = self.rectangles[index], self.scores[index]
            selected.neighbors = self.neighbors[index]
            return selected
        index = operator.index(index)
        x, y, width, height = self.rectangles[index].tolist()
        return Detection(x, y, width, height, float(self.scores[index]), int(self.neighbors[index]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Detections):
            return NotImplemented
        names = ("rectangles", "scores", "neighbors")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [
            f"({d.x}, {d.y}, {d.width}, {d.height}) score {d.score:.4g}, {d.neighbors} neighbors"
            for d in self[:_SHOWN]
        ]
        shown += ["..."] if len(self) > _SHOWN else []
        plural = "" if len(self) == 1 else "s"
        return f"<{len(self)} detection{plural}{': ' if shown else ''}{'; '.join(shown)}>"


_MAX_INT32 = 2**31 - 1


class Grouped(NamedTuple):
    """Groups of rectangles: their means, numbers of members, and largest scores."""

    rectangles: NDArray[np.int32]  # (m, 4)
    neighbors: NDArray[np.int32]  # (m,)
    scores: NDArray[np.float64]  # (m,)


def group_rectangles(
    rectangles: ArrayLike, min_neighbors: int = 3, eps: float = 0.2, scores: ArrayLike | None = None
) -> Grouped:
    """Group similar rectangles, as OpenCV's groupRectangles does.

    Two rectangles are similar if their left, right, upper and lower sides all differ by at most ``eps * (min
    width + min height) / 2``; clusters are the connected components of similar rectangles. A cluster of more
    than `min_neighbors` members gives its mean rectangle (float32, rounded half to even). It is dropped if it
    is inside another such cluster (with a tolerance of ``eps`` times the width and height of the other) and
    either has fewer than 3 members, or the other has more than 3 members and more than this one.

    Parameters
    ----------
    rectangles : array of integers, (n, 4)
        x, y, width, height.
    min_neighbors : int
        Groups with at most this many members are dropped; with 0 the rectangles are returned unchanged.
    eps : float
        Tolerance of similar rectangles.
    scores : array of float, (n,), optional
        A group has the largest score of its members; 0 without scores.

    Returns
    -------
    Grouped
        The arrays ``rectangles``, ``neighbors`` (members of a group) and ``scores``, in the order of each
        group's first member.

    Examples
    --------
    >>> found = [[10, 10, 24, 24], [12, 10, 24, 24], [11, 11, 26, 26], [90, 5, 24, 24]]
    >>> grouped = group_rectangles(found, min_neighbors=2, scores=[0.5, 2.0, 1.0, 4.0])
    >>> grouped.rectangles.tolist(), grouped.neighbors.tolist(), grouped.scores.tolist()
    ([[11, 10, 25, 25]], [3], [2.0])
    """
    rows = _checked_rectangles(rectangles)
    values = _checked_scores(scores, len(rows))
    check_grouping(min_neighbors, eps)
    if min_neighbors <= 0 or not len(rows):
        return Grouped(rows.astype(np.int32), np.ones(len(rows), np.int32), values)

    parent = np.arange(len(rows))
    link_similar(rows, np.argsort(rows[:, 0], kind="stable"), float(eps), parent)
    first, cluster, sizes = np.unique(parent, return_inverse=True, return_counts=True)
    sums = np.zeros((len(first), 4), np.int64)
    np.add.at(sums, cluster, rows)
    best = np.full(len(first), -np.inf)
    np.maximum.at(best, cluster, values)

    weight = np.float32(1) / sizes.astype(np.float32)
    means = np.rint(sums.astype(np.float32) * weight[:, None]).astype(np.int64)
    means = np.clip(means, -_MAX_INT32 - 1, _MAX_INT32)  # rounding to float32 may exceed 32 bits by one
    kept = sizes > min_neighbors
    means, sizes, best = means[kept], sizes[kept], best[kept]
    inner = np.zeros(len(means), np.uint8)
    mark_inner(means, sizes, np.rint(means[:, 2:] * float(eps)).astype(np.int64), inner)
    outer = inner == 0
    return Grouped(means[outer].astype(np.int32), sizes[outer].astype(np.int32), best[outer])


def _checked_rectangles(rectangles: ArrayLike) -> NDArray[np.int64]:
    array: NDArray[Any] = np.asarray(rectangles)
    if array.size == 0 and (array.ndim < 2 or array.shape[-1] == 4):
        return np.empty((0, 4), np.int64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"rectangles has the shape {array.shape}: it must be (n, 4): x, y, width, height")
    if array.dtype.kind not in "iu":
        raise ValueError(f"rectangles has the dtype {array.dtype}: it must be an integer type")
    wrong = (np.abs(array.astype(np.float64)) > _MAX_INT32).any(axis=1) | (array[:, 2:] <= 0).any(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"rectangles[{row}] = {array[row].tolist()} is not allowed: width and height must be positive, "
            "and all numbers must fit into 32 bits"
        )
    return np.ascontiguousarray(array, np.int64)


def _checked_scores(scores: ArrayLike | None, n: int) -> NDArray[np.float64]:
    if scores is None:
        return np.zeros(n)
    try:
        values = np.array(scores, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores are not numbers: {error}") from error
    if values.shape != (n,):
        raise ValueError(
            f"scores has the shape {values.shape}: it must have one for each of the {n} rectangles"
        )
    if np.isnan(values).any():
        raise ValueError(f"scores[{int(np.flatnonzero(np.isnan(values))[0])}] is NaN")
    return values


def check_grouping(min_neighbors: int, eps: float) -> None:
    """Raise ValueError for invalid parameters of `group_rectangles`."""
    n: Any = min_neighbors
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"min_neighbors={n!r} is not allowed: it must be an integer, 0 or more")
    if isinstance(eps, bool) or not isinstance(eps, numbers.Real) or not 0 <= eps < math.inf:
        raise ValueError(f"eps={eps!r} is not allowed: it must be a number, 0 or more")
