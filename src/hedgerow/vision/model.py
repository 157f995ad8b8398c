"""A cascade as arrays: features, trees, stages.

    features   rects (F, 3, 4) int32: x, y, width, height;  weights (F, 3) float32;  tilted (F,) uint8
               a Haar feature is sum_k weight_k * (sum of the pixels of rect_k), unused rects are 0;
               an LBP feature is the first cell of a 3 x 3 grid, rects[:, 0]; its other entries are 0
    nodes      feature (N,) int32, threshold (N,) float32 (Haar), subsets (N, 8) uint32 (LBP, else (0, 8)),
               left and right (N,) int32: > 0 a node of the same tree, counted from its root; <= 0 the leaf
               with the index -child
    leaves     values (N + T,) float32: a tree of k nodes has k + 1 leaves
    trees      tree_starts (T + 1,) int32 into the nodes; the leaves of tree t begin at tree_starts[t] + t
    stages     stage_starts (S + 1,) int32 into the trees, stage_thresholds (S,) float32

A window goes left at a Haar node if value < threshold, at an LBP node if bit `code` of the subset is set.
A window passes a stage if the sum of its trees is at least its threshold (less 1e-5).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import ModelFileError

HAAR, LBP = "HAAR", "LBP"
SUBSET_WORDS = 8  # words of 32 bits: one bit for each LBP code
MAX_PIXELS = 1 << 20  # of a window
MAX_NODES = 4096  # of a tree: a kernel allocates some bytes for each
MAX_ENTRIES = 1 << 18  # features, nodes, trees or stages: far above any real cascade
_RECTS = 3

_DTYPES: dict[str, tuple[type[np.generic], tuple[int | None, ...]]] = {
    "rects": (np.int32, (None, _RECTS, 4)),
    "weights": (np.float32, (None, _RECTS)),
    "tilted": (np.uint8, (None,)),
    "feature": (np.int32, (None,)),
    "threshold": (np.float32, (None,)),
    "subsets": (np.uint32, (None, SUBSET_WORDS)),
    "left": (np.int32, (None,)),
    "right": (np.int32, (None,)),
    "values": (np.float32, (None,)),
    "tree_starts": (np.int32, (None,)),
    "stage_starts": (np.int32, (None,)),
    "stage_thresholds": (np.float32, (None,)),
}
ARRAYS = tuple(_DTYPES)


@dataclass(frozen=True, eq=False)
class CascadeModel:
    """The checked arrays of a cascade, described in the module docstring.

    The constructor raises ModelFileError for arrays that a kernel could not process safely. The arrays are
    copied and read-only.
    """

    kind: str
    width: int
    height: int
    rects: NDArray[np.int32]
    weights: NDArray[np.float32]
    tilted: NDArray[np.uint8]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    subsets: NDArray[np.uint32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: NDArray[np.float32]
    tree_starts: NDArray[np.int32]
    stage_starts: NDArray[np.int32]
    stage_thresholds: NDArray[np.float32]

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            side = getattr(self, name)
            _require(isinstance(side, int | np.integer), f"{name} is {side!r}; it must be an integer")
            object.__setattr__(self, name, int(side))
        _require(self.kind in {HAAR, LBP}, f"the features are {self.kind!r}; they must be HAAR or LBP")
        _require(
            self.width >= 3 and self.height >= 3 and self.width * self.height <= MAX_PIXELS,
            f"the window is {self.width} x {self.height}; at least 3 x 3 and at most "
            f"{MAX_PIXELS} pixels are allowed",
        )
        _check_arrays(self)
        _check_features(self)
        _check_trees(self)
        for name in ARRAYS:  # they must not change after the checks
            array = getattr(self, name).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def window(self) -> tuple[int, int]:
        """Width and height."""
        return self.width, self.height

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return len(self.stage_thresholds)

    @property
    def n_trees(self) -> int:
        """The number of weak classifiers of all stages."""
        return len(self.tree_starts) - 1

    @property
    def n_features(self) -> int:
        """The number of features; several nodes may use the same one."""
        return len(self.tilted)

    @property
    def has_tilted(self) -> bool:
        """Whether a tilted integral image is needed."""
        return bool(self.tilted.any())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS}


def _require(valid: Any, message: str) -> None:
    if not np.all(valid):
        raise ModelFileError(message)


def _check_arrays(model: CascadeModel) -> None:
    for name, (dtype, shape) in _DTYPES.items():
        array = getattr(model, name)
        fits = array.dtype == dtype and array.ndim == len(shape)
        fits = fits and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
        _require(
            fits, f"{name}: {np.dtype(dtype)} of shape {shape} is required, got {array.dtype} {array.shape}"
        )
        _require(len(array) <= 2 * MAX_ENTRIES, f"{name}: {len(array)} entries are too many")
        _require(array.flags.c_contiguous, f"{name}: the array must be contiguous")
        if dtype == np.float32:
            _require(np.isfinite(array), f"{name}: every number must be finite")
    n_nodes, n_trees = len(model.feature), len(model.tree_starts) - 1
    lengths = {
        "weights": len(model.rects),
        "tilted": len(model.rects),
        "threshold": n_nodes,
        "subsets": n_nodes if model.kind == LBP else 0,
        "left": n_nodes,
        "right": n_nodes,
        "values": n_nodes + n_trees,
        "stage_starts": len(model.stage_thresholds) + 1,
    }
    for name, n in lengths.items():
        _require(len(getattr(model, name)) == n, f"{name}: {n} entries are required")


def _check_features(model: CascadeModel) -> None:
    rects, w, h = model.rects.astype(np.int64), model.width, model.height
    used = np.ones(rects.shape[:2], bool)
    if model.kind == HAAR:
        used = np.any(rects != 0, axis=2) | (model.weights != 0)
        used[:, 0] = True
    else:
        used[:, 1:] = False
        _require(model.tilted == 0, "LBP features cannot be tilted")
    x, y, wide, high = (rects[:, :, i] for i in range(4))
    cells = 1 if model.kind == HAAR else 3  # an LBP rect is one of 3 x 3 cells
    fits = (x >= 0) & (y >= 0) & (wide > 0) & (high > 0)
    upright = fits & (x + cells * wide <= w) & (y + cells * high <= h)
    tilted = fits & (x - high >= 0) & (x + wide <= w) & (y + wide + high <= h)
    fits = np.where(model.tilted[:, None] != 0, tilted, upright) | ~used
    if not fits.all():
        first = int(np.flatnonzero(~fits.all(axis=1))[0])
        rect = rects[first][~fits[first]][0].tolist()
        raise ModelFileError(f"feature {first}: the rectangle {rect} is not inside the {w} x {h} window")


def _check_trees(model: CascadeModel) -> None:
    _check_starts("stage_starts", model.stage_starts, len(model.tree_starts) - 1)
    _check_starts("tree_starts", model.tree_starts, len(model.feature))
    _require(
        (model.feature >= 0) & (model.feature < len(model.rects)),
        f"feature: must be the index of one of the {len(model.rects)} features",
    )
    sizes = np.diff(model.tree_starts)
    _require(sizes <= MAX_NODES, f"tree_starts: a tree may have at most {MAX_NODES} nodes")
    size = np.repeat(sizes, sizes).astype(np.int64)  # of the tree of every node
    first = np.repeat(model.tree_starts[:-1], sizes).astype(np.int64)
    own = np.arange(len(size)) - first
    for name in ("left", "right"):
        child = getattr(model, name).astype(np.int64)
        # children come after their parents, so there are no cycles
        valid = np.where(child > 0, (child > own) & (child < size), -child <= size)
        _require(valid, f"{name}: a child must be a later node of its tree, or one of its leaves")


def _check_starts(name: str, starts: NDArray[np.int32], n: int) -> None:
    increasing = np.diff(starts.astype(np.int64)) > 0  # as int64: differences of int32 wrap around
    valid = len(starts) >= 1 and starts[0] == 0 and starts[-1] == n and bool(np.all(increasing))
    _require(valid, f"{name}: must increase strictly from 0 to {n}")
