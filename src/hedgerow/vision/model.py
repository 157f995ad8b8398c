"""A cascade as arrays (features, trees, stages), and its model file.

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

The model file has the arrays and a JSON text, see `container`. The text is an object:

    format            1; larger numbers belong to later versions
    kind              "cascade"
    hedgerow          version of Hedgerow that wrote the file
    window            [width, height]
    features          "HAAR" or "LBP"
    info              plain JSON, such as the history of the training

Most cascades have stumps on upright rectangles. An array is therefore omitted if it has its default value:
tilted 0, left 0, right -1, tree_starts 0, 1, 2, ..., and arrays that LBP or Haar features do not use.
Integers below 256 are stored as bytes. A Haar stump takes about 45 bytes. An omitted array has the length of
a stored one, so a small file cannot become a large model.
"""

import importlib.metadata
import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import JSON, ModelFileError, check_format, pack, unpack

HAAR, LBP = "HAAR", "LBP"
SUBSET_WORDS = 8  # words of 32 bits: one bit for each LBP code
MAX_PIXELS = 1 << 20  # of a window
MAX_NODES = 4096  # of a tree: a kernel allocates some bytes for each
MAX_ENTRIES = 1 << 18  # features, nodes, trees or stages: far above any real cascade
_RECTS = 3

VERSION = importlib.metadata.version("hedgerow")
FORMAT = 1
MAX_BYTES = 64 << 20  # of a file: a million stumps
MAX_INFO = 1 << 20  # characters of `info` as JSON
MAX_DEPTH = 16  # of `info`
_REQUIRED = ("rects", "feature", "values", "stage_starts", "stage_thresholds")
_INTEGERS = ("rects", "feature", "left", "right", "tree_starts", "stage_starts")  # int32 in a model

DTYPES: dict[str, tuple[type[np.generic], tuple[int | None, ...]]] = {
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
ARRAYS = tuple(DTYPES)


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
    for name, (dtype, shape) in DTYPES.items():
        array = getattr(model, name)
        fits = array.dtype == dtype and array.ndim == len(shape)
        fits = fits and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
        _require(fits, f"{name}: {np.dtype(dtype)} {shape} is required, got {array.dtype} {array.shape}")
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
    n_cells = 1 if model.kind == HAAR else 3  # an LBP rect is one of 3 x 3 cells
    fits = (x >= 0) & (y >= 0) & (wide > 0) & (high > 0)
    upright = fits & (x + n_cells * wide <= w) & (y + n_cells * high <= h)
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


def pack_cascade(model: CascadeModel, info: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of a model file; equal cascades give equal bytes.

    Raises ModelFileError unless `info` is plain JSON: strings, finite numbers, booleans, None, lists, and
    dicts with strings as keys.
    """
    info = {} if info is None else info
    _check_info(info)
    content = {
        "format": FORMAT,
        "kind": "cascade",
        "hedgerow": VERSION,
        "window": [model.width, model.height],
        "features": model.kind,
        "info": info,
    }
    defaults = _default_arrays(len(model.rects), len(model.feature))
    arrays = {
        name: _narrow(array) if name in _INTEGERS else array
        for name, array in model.arrays().items()
        if name not in defaults or array.tobytes() != defaults[name].tobytes()  # bytes: -0.0 differs from 0.0
    }
    return pack(JSON.dumps(content, "info"), arrays)


def unpack_cascade(data: bytes) -> tuple[CascadeModel, dict[str, Any]]:
    """Read the cascade and the `info` of a file that `pack_cascade` made.

    No code of the file is executed, and every size, index and value is checked before it is used. Raises
    ModelFileError if the file is not a cascade, is damaged, or was written by a later version.

    >>> unpack_cascade(b"GIF89a")
    Traceback (most recent call last):
        ...
    hedgerow.container.ModelFileError: not a safetensors file: ...
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"{len(data)} bytes are too many for a cascade: {MAX_BYTES} are allowed")
    try:
        contents = unpack(data)
    except ModelFileError as error:
        raise ModelFileError(str(error)[:300]) from error  # the message may quote much of the file
    content = JSON.parse(contents.text, "the description of the cascade")
    if content.get("kind") != "cascade":
        what = reprlib.repr(content.get("kind", content.get("estimator")))
        raise ModelFileError(f"a model of Hedgerow of kind {what}, not 'cascade'")
    check_format(content, FORMAT, VERSION)
    if not contents.intact:
        raise ModelFileError("the file is damaged: its checksum does not match its contents")
    window, features = JSON.entry(content, "window", list), JSON.entry(content, "features", str)
    if features not in {HAAR, LBP}:
        raise ModelFileError(f"features is {reprlib.repr(features)}; it must be {HAAR} or {LBP}")
    if len(window) != 2 or not all(type(size) is int and 0 < size <= MAX_PIXELS for size in window):
        raise ModelFileError(f"window is {reprlib.repr(window)}; it must be [width, height]")
    info = JSON.entry(content, "info", dict)
    _check_info(info)
    return CascadeModel(features, window[0], window[1], **_complete(contents.arrays)), info


def is_packed(data: bytes) -> bool:
    """Return whether data starts like a model file, which may still be damaged; XML does not.

    >>> is_packed(b"<opencv_storage></opencv_storage>")
    False
    """
    return data[8:23] == b'{"__metadata__"'


def _default_arrays(n_features: int, n_nodes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a cascade of stumps on upright features, and of unused features."""
    return {
        "weights": np.zeros((n_features, 3), np.float32),
        "tilted": np.zeros(n_features, np.uint8),
        "threshold": np.zeros(n_nodes, np.float32),
        "subsets": np.zeros((0, SUBSET_WORDS), np.uint32),
        "left": np.zeros(n_nodes, np.int32),
        "right": np.full(n_nodes, -1, np.int32),
        "tree_starts": np.arange(n_nodes + 1, dtype=np.int32),
    }


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Convert integers below 256 to bytes."""
    small = array.size > 0 and array.min() >= 0 and array.max() < 256
    return array.astype(np.uint8) if small else array


def _complete(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return all arrays of `CascadeModel`, which checks them."""
    for name in _REQUIRED:
        if name not in arrays:
            raise ModelFileError(f"the array {name} is missing")
    unknown = [name for name in arrays if name not in ARRAYS]
    if unknown:
        raise ModelFileError(f"the array {reprlib.repr(unknown[0])} is not an array of a cascade")
    for name, array in arrays.items():  # an empty array may have any shape: (0, 2**62)
        if array.ndim > 3 or max(array.shape, default=0) > 2 * MAX_ENTRIES:
            raise ModelFileError(f"{name}: the shape {reprlib.repr(array.shape)} is not allowed")
    rects, feature = arrays["rects"], arrays["feature"]  # they determine all other lengths
    if rects.shape[1:] != (3, 4) or feature.ndim != 1:
        raise ModelFileError(f"rects {rects.shape}, feature {feature.shape}: must be (F, 3, 4) and (N,)")
    complete = _default_arrays(len(rects), len(feature)) | arrays
    for name in _INTEGERS:
        if complete[name].dtype == np.uint8:
            complete[name] = complete[name].astype(np.int32)
    return complete


def _check_info(info: dict[str, Any]) -> None:
    """Raise for values that a loaded file would not return unchanged: tuples, NaN, NumPy numbers ..."""
    JSON.plain(info, "info", max_depth=MAX_DEPTH, max_bytes=MAX_INFO, exact=True)
