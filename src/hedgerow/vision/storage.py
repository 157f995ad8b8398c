"""The model file of a cascade: the arrays of `CascadeModel` and a JSON text; see `container`.

The text is an object:

    format            1; larger numbers belong to later versions
    kind              "cascade"
    hedgerow          version of Hedgerow that wrote the file
    window            [width, height]
    features          "HAAR" or "LBP"
    info              plain JSON, such as the history of the training

Most cascades have stumps on upright rectangles. An array is therefore omitted if it has its default value:
tilted 0, left 0, right -1, tree_starts 0, 1, 2, ..., and arrays that LBP or Haar features do not use.
Integers below 256 are stored as bytes. A Haar stump takes about 45 bytes.

An omitted array has the length of a stored one, so a small file cannot become a large model.
"""

import importlib.metadata
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import JSON, Contents, ModelFileError, check_format, pack, unpack
from hedgerow.vision.model import ARRAYS, HAAR, LBP, MAX_ENTRIES, MAX_PIXELS, SUBSET_WORDS, CascadeModel

VERSION = importlib.metadata.version("hedgerow")
FORMAT = 1
KIND = "cascade"
MAX_BYTES = 64 << 20  # of a file: a million stumps
MAX_INFO = 1 << 20  # characters of `info` as JSON
MAX_DEPTH = 16  # of `info`
_REQUIRED = ("rects", "feature", "values", "stage_starts", "stage_thresholds")
_INTEGERS = ("rects", "feature", "left", "right", "tree_starts", "stage_starts")  # int32 in a model


def pack_cascade(model: CascadeModel, info: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of a model file; equal cascades give equal bytes.

    Parameters
    ----------
    model : CascadeModel
    info : dict, optional
        Plain JSON: strings, finite numbers, booleans, None, lists, and dicts with strings as keys.

    Returns
    -------
    bytes

    Raises
    ------
    ModelFileError
        If `info` has values of other types.

    Examples
    --------
    >>> from hedgerow.vision.storage import pack_cascade, unpack_cascade
    >>> def ints(*numbers):
    ...     return np.array(numbers, np.int32)
    >>> model = CascadeModel(
    ...     "HAAR", 8, 8, rects=np.array([[[0, 0, 4, 4], [0, 2, 4, 2], [0, 0, 0, 0]]], np.int32),
    ...     weights=np.array([[-1, 2, 0]], np.float32), tilted=np.zeros(1, np.uint8), feature=ints(0),
    ...     threshold=np.array([0.1], np.float32), subsets=np.empty((0, 8), np.uint32), left=ints(0),
    ...     right=ints(-1), values=np.array([-1, 1], np.float32), tree_starts=ints(0, 1),
    ...     stage_starts=ints(0, 1), stage_thresholds=np.zeros(1, np.float32))
    >>> same, info = unpack_cascade(pack_cascade(model, {"faces": 4916}))
    >>> same.window, info
    ((8, 8), {'faces': 4916})
    """
    info = {} if info is None else info
    _check_info(info)
    content = {
        "format": FORMAT,
        "kind": KIND,
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

    No code of the file is executed, and every size, index and value is checked before it is used.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    model : CascadeModel
        With the same arrays, bit for bit.
    info : dict

    Raises
    ------
    ModelFileError
        If the file is not a cascade, is damaged, or was written by a later version.

    Examples
    --------
    >>> unpack_cascade(b"GIF89a")
    Traceback (most recent call last):
        ...
    hedgerow.container.ModelFileError: not a safetensors file: ...
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"{len(data)} bytes are too many for a cascade: {MAX_BYTES} are allowed")
    contents = _unpack(data)
    content = JSON.parse(contents.text, "the description of the cascade")
    _check_format(content)
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


def _unpack(data: bytes) -> Contents:
    try:
        return unpack(data)
    except ModelFileError as error:
        raise ModelFileError(str(error)[:300]) from error  # the message may quote much of the file


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


def _check_format(content: dict[str, Any]) -> None:
    if content.get("kind") != KIND:
        what = reprlib.repr(content.get("kind", content.get("estimator")))
        raise ModelFileError(f"a model of Hedgerow of kind {what}, not {KIND!r}")
    check_format(content, FORMAT, VERSION)


def _check_info(info: dict[str, Any]) -> None:
    """Raise for values that a loaded file would not return unchanged: tuples, NaN, NumPy numbers ..."""
    JSON.plain(info, "info", max_depth=MAX_DEPTH, max_bytes=MAX_INFO, exact=True)
