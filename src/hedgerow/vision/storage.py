"""A cascade as a file of Hedgerow's own: the arrays of `CascadeModel` and a text, see `container`.

The text is a JSON object:

    format            1; a larger number is a file of a later version
    kind              "cascade"
    hedgerow          the version that wrote it
    window            [width, height]
    features          "HAAR" or "LBP"
    info              anything in plain JSON, such as the record of the training

Most cascades are stumps with upright rectangles. So an array is left out if it says just that: tilted all 0,
left all 0, right all -1, tree_starts 0, 1, 2, ...; and, for LBP or Haar, what has no meaning there. Arrays of
whole numbers below 256 have one byte a number. A Haar stump takes about 45 bytes.

Every array that was left out has the length of one that is there: no small file becomes a large model.
"""

import importlib.metadata
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import JSON, Contents, ModelFileError, check_format, pack, unpack
from hedgerow.vision.model import ARRAYS, HAAR, LBP, MOST_PARTS, MOST_PIXELS, SUBSET_WORDS, CascadeModel

VERSION = importlib.metadata.version("hedgerow")
FORMAT = 1
KIND = "cascade"
MOST_BYTES = 64 << 20  # of a file: more than a million stumps
MOST_INFO = 1 << 20  # characters of `info` as JSON
MOST_DEPTH = 16  # of `info`
_NEVER_LEFT_OUT = ("rects", "feature", "values", "stage_starts", "stage_thresholds")
_WHOLE = ("rects", "feature", "left", "right", "tree_starts", "stage_starts")  # int32 in a model


def pack_cascade(model: CascadeModel, info: dict[str, Any] | None = None) -> bytes:
    """The bytes of a cascade's file; equal cascades give equal bytes.

    Parameters
    ----------
    model : CascadeModel
    info : dict, optional
        Plain JSON to keep with it: text, finite numbers, booleans, None, lists, and dicts with keys of text.

    Returns
    -------
    bytes

    Raises
    ------
    ModelFileError
        If `info` holds anything else.

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
    usual = _left_out(len(model.rects), len(model.feature))
    arrays = {
        name: _narrow(array) if name in _WHOLE else array
        for name, array in model.arrays().items()
        if name not in usual or array.tobytes() != usual[name].tobytes()  # bits: -0.0 is not 0.0
    }
    return pack(JSON.dumps(content, "info"), arrays)


def unpack_cascade(data: bytes) -> tuple[CascadeModel, dict[str, Any]]:
    """The cascade and the `info` of a file that `pack_cascade` made.

    Nothing in the file is executed, and every size, index and value is checked before it is used.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    model : CascadeModel
        With the same arrays to the last bit.
    info : dict

    Raises
    ------
    ModelFileError
        If the file is no cascade, is damaged, or was written by a later version.

    Examples
    --------
    >>> unpack_cascade(b"GIF89a")
    Traceback (most recent call last):
        ...
    hedgerow.container.ModelFileError: not a safetensors file: ...
    """
    if len(data) > MOST_BYTES:
        raise ModelFileError(f"{len(data)} bytes are too many for a cascade: {MOST_BYTES} are allowed")
    contents = _unpack(data)
    content = JSON.parse(contents.text, "the description of the cascade")
    _check_format(content)
    if not contents.intact:
        raise ModelFileError("the file is damaged: its checksum does not fit its contents")
    window, features = JSON.entry(content, "window", list), JSON.entry(content, "features", str)
    if features not in {HAAR, LBP}:
        raise ModelFileError(f"features is {reprlib.repr(features)}; {HAAR} and {LBP} are known")
    if len(window) != 2 or not all(type(size) is int and 0 < size <= MOST_PIXELS for size in window):
        raise ModelFileError(f"window is {reprlib.repr(window)}; [width, height] is needed")
    info = JSON.entry(content, "info", dict)
    _check_info(info)
    return CascadeModel(features, window[0], window[1], **_complete(contents.arrays)), info


def _unpack(data: bytes) -> Contents:
    try:
        return unpack(data)
    except ModelFileError as error:
        raise ModelFileError(str(error)[:300]) from error  # it may quote the file at length


def is_packed(data: bytes) -> bool:
    """Whether a file is of this form and not, say, XML; it may still be damaged.

    >>> is_packed(b"<opencv_storage></opencv_storage>")
    False
    """
    return data[8:23] == b'{"__metadata__"'


def _left_out(n_features: int, n_nodes: int) -> dict[str, NDArray[Any]]:
    """The arrays as a cascade of plain stumps has them, or one of the other kind of features."""
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
    """Whole numbers below 256 as bytes."""
    small = array.size > 0 and array.min() >= 0 and array.max() < 256
    return array.astype(np.uint8) if small else array


def _complete(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of a file in the form of `CascadeModel`, which checks them."""
    for name in _NEVER_LEFT_OUT:
        if name not in arrays:
            raise ModelFileError(f"the array {name} is missing")
    unknown = [name for name in arrays if name not in ARRAYS]
    if unknown:
        raise ModelFileError(f"the array {reprlib.repr(unknown[0])} is not one of a cascade")
    for name, array in arrays.items():  # without numbers a shape may be of any size: (0, 2**62)
        if array.ndim > 3 or max(array.shape, default=0) > 2 * MOST_PARTS:
            raise ModelFileError(f"{name}: the shape {reprlib.repr(array.shape)} is not allowed")
    rects, feature = arrays["rects"], arrays["feature"]  # the other lengths follow from theirs
    if rects.shape[1:] != (3, 4) or feature.ndim != 1:
        raise ModelFileError(f"rects {rects.shape}, feature {feature.shape}: (F, 3, 4) and (N,) are needed")
    whole = _left_out(len(rects), len(feature)) | arrays
    for name in _WHOLE:
        if whole[name].dtype == np.uint8:
            whole[name] = whole[name].astype(np.int32)
    return whole


def _check_format(content: dict[str, Any]) -> None:
    if content.get("kind") != KIND:
        what = reprlib.repr(content.get("kind", content.get("estimator")))
        raise ModelFileError(f"a model of Hedgerow, but of kind {what}; {KIND!r} is needed")
    check_format(content, FORMAT, VERSION)


def _check_info(info: dict[str, Any]) -> None:
    """Refuse what a loaded file would not return unchanged, such as a tuple, NaN or a NumPy number."""
    JSON.plain(info, "info", max_depth=MOST_DEPTH, max_bytes=MOST_INFO, exact=True)
