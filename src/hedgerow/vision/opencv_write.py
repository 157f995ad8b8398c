"""Arrays as a cascade file of OpenCV, new format: see `opencv_read` for its parts.

Numbers have nine significant digits, enough for single precision to come back bit for bit. Equal models give
equal bytes.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from hedgerow.vision.model import HAAR, LBP, CascadeModel


def write_opencv(model: CascadeModel) -> bytes:
    """The bytes of an OpenCV XML file.

    OpenCV's `CascadeClassifier` (up to version 4) loads it and finds the windows that Hedgerow finds.

    Parameters
    ----------
    model : CascadeModel

    Returns
    -------
    bytes
        New format, in ASCII.

    Examples
    --------
    >>> from hedgerow.vision.opencv import read_opencv
    >>> text = '''<opencv_storage><c><stageType>BOOST</stageType><featureType>LBP</featureType>
    ... <height>9</height><width>9</width><stages><_><stageThreshold>0.1</stageThreshold><weakClassifiers><_>
    ... <internalNodes>0 -1 0 1 2 3 4 5 6 7 -8</internalNodes><leafValues>-1. 1.</leafValues>
    ... </_></weakClassifiers></_></stages><features><_><rect>0 0 3 3</rect></_></features></c>
    ... </opencv_storage>'''
    >>> model = read_opencv(text.encode())
    >>> write_opencv(model).splitlines()[-5:-2]
    [b'<features>', b'<_><rect>0 0 3 3</rect></_>', b'</features>']
    """
    return ("\n".join(_lines(model)) + "\n").encode("ascii")


def _lines(model: CascadeModel) -> Iterator[str]:
    most = int(np.diff(model.stage_starts).max(initial=0))
    yield '<?xml version="1.0"?>'
    yield "<opencv_storage>"
    yield '<cascade type_id="opencv-cascade-classifier">'
    yield "<stageType>BOOST</stageType>"
    yield f"<featureType>{model.kind}</featureType>"
    yield f"<height>{model.height}</height>"
    yield f"<width>{model.width}</width>"
    yield f"<stageParams><maxWeakCount>{most}</maxWeakCount></stageParams>"
    yield f"<featureParams><maxCatCount>{256 if model.kind == LBP else 0}</maxCatCount></featureParams>"
    yield f"<stageNum>{model.n_stages}</stageNum>"
    yield "<stages>"
    for stage in range(model.n_stages):
        yield from _stage_lines(model, stage)
    yield "</stages>"
    yield "<features>"
    yield from _haar_lines(model) if model.kind == HAAR else _lbp_lines(model)
    yield "</features>"
    yield "</cascade>"
    yield "</opencv_storage>"


def _stage_lines(model: CascadeModel, stage: int) -> Iterator[str]:
    first, end = model.stage_starts[stage : stage + 2].tolist()
    yield "<_>"
    yield f"<maxWeakCount>{end - first}</maxWeakCount>"
    yield f"<stageThreshold>{_number(model.stage_thresholds[stage])}</stageThreshold>"
    yield "<weakClassifiers>"
    for tree in range(first, end):
        root, stop = model.tree_starts[tree : tree + 2].tolist()
        yield "<_>"
        yield "<internalNodes>"
        children = np.stack([model.left[root:stop], model.right[root:stop]], axis=1)
        leaves = model.values[root + tree : stop + tree + 1]
        if stop - root == 1:  # OpenCV takes the leaves of stumps in their order, whatever the children say
            leaves, children = leaves[-children[0]], np.array([[0, -1]])
        nodes = zip(range(root, stop), children.tolist(), strict=True)
        yield "\n".join(_node(model, node, sides) for node, sides in nodes) + "</internalNodes>"
        yield f"<leafValues>{_join(map(_number, leaves))}</leafValues>"
        yield "</_>"
    yield "</weakClassifiers>"
    yield "</_>"


def _node(model: CascadeModel, node: int, children: list[int]) -> str:
    head = f"{children[0]} {children[1]} {model.feature[node]} "
    if model.kind == HAAR:
        return head + _number(model.threshold[node])
    return head + _join(model.subsets[node].view(np.int32).tolist())


def _haar_lines(model: CascadeModel) -> Iterator[str]:
    used = np.any(model.rects != 0, axis=2) | (model.weights != 0)
    # a rectangle without size may stand before a used one: its place is kept
    counts = np.maximum(1, 3 - np.argmax(used[:, ::-1], axis=1) * used.any(axis=1))
    for rects, weights, tilted, n in zip(model.rects, model.weights, model.tilted, counts, strict=True):
        parts = (
            f"<_>{_join(rect)} {_number(weight)}</_>"
            for rect, weight in zip(rects[:n].tolist(), weights[:n], strict=True)
        )
        yield f"<_><rects>{_join(parts)}</rects><tilted>{int(tilted != 0)}</tilted></_>"


def _lbp_lines(model: CascadeModel) -> Iterator[str]:
    for rect in model.rects[:, 0].tolist():
        yield f"<_><rect>{_join(rect)}</rect></_>"


def _join(parts: Iterable[object]) -> str:
    return " ".join(map(str, parts))


def _number(value: np.float32) -> str:
    text = f"{float(value):.9g}"
    return text if "." in text or "e" in text else text + "."  # a whole number too is read as a float
