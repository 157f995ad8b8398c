"""What a detector finds: a sequence of `Detection`, with the same numbers as arrays."""

import operator
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

_SHOWN = 4  # detections in a repr


class Detection(NamedTuple):
    """One object: its rectangle, the largest score of its windows, and how many windows agree on it.

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
    """The objects found in an image, those with the most neighbours first.

    Among equal numbers of neighbours the higher score comes first, then the smaller y, x and width.

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
        order = np.lexsort(keys)  # the last key counts most
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
            part = object.__new__(Detections)  # in the order asked for
            part.rectangles, part.scores = self.rectangles[index], self.scores[index]
            part.neighbors = self.neighbors[index]
            return part
        index = operator.index(index)
        x, y, width, height = self.rectangles[index].tolist()
        return Detection(x, y, width, height, float(self.scores[index]), int(self.neighbors[index]))

    def __iter__(self) -> Iterator[Detection]:
        rows = zip(self.rectangles.tolist(), self.scores.tolist(), self.neighbors.tolist(), strict=True)
        return (Detection(x, y, w, h, score, n) for (x, y, w, h), score, n in rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Detections):
            return NotImplemented
        pairs = ((self.rectangles, other.rectangles), (self.scores, other.scores))
        same = all(np.array_equal(a, b) for a, b in pairs)
        return same and np.array_equal(self.neighbors, other.neighbors)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [
            f"({d.x}, {d.y}, {d.width}, {d.height}) score {d.score:.4g}, {d.neighbors} neighbors"
            for d in self[:_SHOWN]
        ]
        shown += ["..."] if len(self) > _SHOWN else []
        plural = "" if len(self) == 1 else "s"
        return f"<{len(self)} detection{plural}{': ' if shown else ''}{'; '.join(shown)}>"
