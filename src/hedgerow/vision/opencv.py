"""Cascade files of OpenCV: reading both formats, and writing the new one.

    cascade   stageType BOOST, featureType HAAR or LBP, height, width, stages, features
    stages    _ {stageThreshold, weakClassifiers _ {internalNodes, leafValues}}
    node      left right feature threshold (Haar), or left right feature and 8 words of a 256-bit set (LBP)
    features  Haar: _ {rects _ x y width height weight, tilted};  LBP: _ {rect x y width height}

Elements that OpenCV ignores are ignored: stageParams, stageNum, maxWeakCount. featureParams is optional; its
maxCatCount must agree with featureType.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.vision.model import HAAR, LBP, SUBSET_WORDS, CascadeModel
from hedgerow.vision.opencv_xml import Element, parse_storage, shorten

RECTS = 3  # maximum of a feature
_CATEGORIES = {HAAR: 0, LBP: 256}


class _ModelBuilder:
    """Collects the arrays of a `CascadeModel`."""

    def __init__(self) -> None:
        self.rects, self.weights, self.tilted = array("i"), array("d"), array("B")
        self.feature, self.threshold, self.subsets = array("i"), array("d"), array("i")
        self.left, self.right, self.values = array("i"), array("i"), array("d")
        self.tree_starts, self.stage_starts = array("i", [0]), array("i", [0])
        self.stage_thresholds = array("d")

    def end_tree(self) -> None:
        """End a tree: the nodes since the last one."""
        self.tree_starts.append(len(self.feature))

    def end_stage(self, threshold: float) -> None:
        """End a stage: the trees since the last one."""
        self.stage_thresholds.append(threshold)
        self.stage_starts.append(len(self.tree_starts) - 1)

    def add_haar(self, element: Element) -> None:
        """Add the Haar feature of an element with `rects` and optionally `tilted`."""
        sequence = element.get("rects")
        items = sequence.items()
        if len(items) > RECTS:
            raise sequence.error(f"{len(items)} rectangles; 1 to {RECTS} are allowed")
        for item in items:
            *rect, weight = item.tokens(5)
            self.rects.extend(map(item.integer, rect))
            self.weights.append(item.number(weight))
        missing = RECTS - len(items)
        self.rects.extend([0] * (4 * missing))
        self.weights.extend([0.0] * missing)
        tilted = element.find("tilted")
        self.tilted.append(tilted is not None and tilted.as_integer() != 0)

    def add_lbp(self, element: Element) -> None:
        """Add the LBP feature of an element with one `rect`."""
        rect = element.get("rect")
        self.rects.extend(map(rect.integer, rect.tokens(4)))
        self.rects.extend([0] * (4 * (RECTS - 1)))
        self.weights.extend([0.0] * RECTS)
        self.tilted.append(0)

    def model(self, kind: str, width: int, height: int) -> CascadeModel:
        """Return the checked cascade; OpenCV ignores the children if all trees are stumps."""
        floats = ("weights", "threshold", "values", "stage_thresholds")  # rounded from double, as in OpenCV
        arrays: dict[str, NDArray[Any]] = {
            name: np.array(numbers, np.float32 if name in floats else np.int32)
            for name, numbers in vars(self).items()
        }
        arrays["rects"] = arrays["rects"].reshape(-1, RECTS, 4)
        arrays["weights"] = arrays["weights"].reshape(-1, RECTS)
        arrays["tilted"] = arrays["tilted"].astype(np.uint8)
        arrays["subsets"] = arrays["subsets"].view(np.uint32).reshape(-1, SUBSET_WORDS)
        model = CascadeModel(kind, width, height, **arrays)
        if model.n_trees < len(model.feature):
            return model
        return replace(model, left=np.zeros_like(model.left), right=np.full_like(model.right, -1))


def read_opencv(data: bytes) -> CascadeModel:
    """Read the cascade of an XML file of OpenCV.

    The file is XML in UTF-8, in the new or the old format, of at most 16 MiB. The stage trees of old files
    (`parent`, `next`) become a chain, as in OpenCV. No code of the file is executed, nothing is fetched, and
    every number is checked before it is used. Raises ModelFileError, which names the line and the element, if
    the file is not such a cascade or is damaged.

    >>> data = b'''<?xml version="1.0"?>
    ... <opencv_storage><cascade>
    ...   <stageType>BOOST</stageType> <featureType>HAAR</featureType>
    ...   <height>20</height> <width>24</width>
    ...   <stages><_>
    ...     <stageThreshold>0.5</stageThreshold>
    ...     <weakClassifiers><_>
    ...       <internalNodes>0 -1 0 1.5e-02</internalNodes>
    ...       <leafValues>-1. 1.</leafValues></_></weakClassifiers></_></stages>
    ...   <features><_>
    ...     <rects><_>2 4 8 6 -1.</_> <_>2 7 8 3 2.</_></rects></_></features>
    ... </cascade></opencv_storage>'''
    >>> model = read_opencv(data)
    >>> model.kind, model.window, model.n_stages
    ('HAAR', (24, 20), 1)
    """
    root = parse_storage(data)
    if not root.children:
        raise root.error("the element is empty; it must contain a cascade")
    cascade = root.children[0]  # any name, as in OpenCV
    if cascade.find("stageType") is not None:
        return _read_new(cascade)
    if cascade.find("size") is not None:
        return _read_old(cascade)
    raise cascade.error("not a cascade: <stageType> (new format) or <size> (old format) is required")


def _read_new(cascade: Element) -> CascadeModel:
    """Read a cascade in the new format."""
    kind = _kind(cascade)
    width, height = cascade.get("width").as_integer(), cascade.get("height").as_integer()
    builder = _ModelBuilder()
    for stage in cascade.get("stages").items():
        threshold = stage.get("stageThreshold").as_number()
        for tree in stage.get("weakClassifiers").items():
            _add_tree(builder, tree, kind)
        builder.end_stage(threshold)
    add = builder.add_haar if kind == HAAR else builder.add_lbp
    for feature in cascade.get("features").items():
        add(feature)
    return builder.model(kind, width, height)


def _kind(cascade: Element) -> str:
    stage_type = cascade.get("stageType")
    if stage_type.string() != "BOOST":
        raise stage_type.error(f"{shorten(stage_type.string())!r} is not supported; BOOST is")
    feature_type = cascade.get("featureType")
    kind = feature_type.string()
    if kind not in _CATEGORIES:
        raise feature_type.error(f"{shorten(kind)!r} features are not supported; HAAR and LBP are")
    parameters = cascade.find("featureParams")
    categories = parameters and parameters.find("maxCatCount")
    if categories and categories.as_integer() != _CATEGORIES[kind]:
        raise categories.error(f"{kind} features require {_CATEGORIES[kind]}")
    return kind


def _add_tree(builder: _ModelBuilder, tree: Element, kind: str) -> None:
    nodes, leaves = tree.get("internalNodes"), tree.get("leafValues")
    step = 4 if kind == HAAR else 3 + SUBSET_WORDS
    tokens = nodes.tokens(every=step)
    if kind == HAAR:
        builder.threshold.extend(map(nodes.number, tokens[3::step]))
    else:
        builder.threshold.extend([0.0] * (len(tokens) // step))
        for first in range(3, len(tokens), step):
            builder.subsets.extend(map(nodes.integer, tokens[first : first + SUBSET_WORDS]))
    builder.left.extend(map(nodes.integer, tokens[0::step]))
    builder.right.extend(map(nodes.integer, tokens[1::step]))
    builder.feature.extend(map(nodes.integer, tokens[2::step]))
    builder.values.extend(map(leaves.number, leaves.tokens(len(tokens) // step + 1)))
    builder.end_tree()


def _read_old(cascade: Element) -> CascadeModel:
    """Read a cascade in the old format."""
    size = cascade.get("size")
    width, height = map(size.integer, size.tokens(2))
    builder = _ModelBuilder()
    for stage in cascade.get("stages").items():
        threshold = stage.get("stage_threshold").as_number()
        for tree in stage.get("trees").items():
            _add_old_tree(builder, tree)
        builder.end_stage(threshold)
    return builder.model(HAAR, width, height)


def _add_old_tree(builder: _ModelBuilder, tree: Element) -> None:
    leaves: list[float] = []
    nodes = tree.items()
    for node in nodes:
        builder.feature.append(len(builder.tilted))
        builder.add_haar(node.get("feature"))
        builder.threshold.append(node.get("threshold").as_number())
        builder.left.append(_child(node, "left", leaves))
        builder.right.append(_child(node, "right", leaves))
    if len(leaves) != len(nodes) + 1:
        raise tree.error(
            f"{len(nodes)} nodes with {len(leaves)} leaves; {len(nodes) + 1} leaves are required"
        )
    builder.values.extend(leaves)
    builder.end_tree()


def _child(node: Element, side: str, leaves: list[float]) -> int:
    """Return the index of a child: that of a node, or the negative index of a new leaf."""
    value, child = node.find(f"{side}_val"), node.find(f"{side}_node")
    if (value is None) == (child is None):
        raise node.error(f"exactly one of <{side}_val> and <{side}_node> is required")
    if value is not None:
        leaves.append(value.as_number())
        return 1 - len(leaves)
    number = child.as_integer() if child is not None else 0
    if number <= 0:
        raise node.error(f"<{side}_node> {number} is not allowed: it must be a later node of its tree")
    return number


def write_opencv(model: CascadeModel) -> bytes:
    """Return the bytes of an XML file of OpenCV, in the new format.

    `CascadeClassifier` of OpenCV (up to version 4) loads it and finds the same windows as Hedgerow.
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
        if stop - root == 1:  # OpenCV uses the leaves of stumps in order and ignores the children
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
    # an empty rectangle before a used one is kept
    counts = np.maximum(1, 3 - np.argmax(used[:, ::-1], axis=1) * used.any(axis=1))
    for rects, weights, tilted, n in zip(model.rects, model.weights, model.tilted, counts, strict=True):
        items = (
            f"<_>{_join(rect)} {_number(weight)}</_>"
            for rect, weight in zip(rects[:n].tolist(), weights[:n], strict=True)
        )
        yield f"<_><rects>{_join(items)}</rects><tilted>{int(tilted != 0)}</tilted></_>"


def _lbp_lines(model: CascadeModel) -> Iterator[str]:
    for rect in model.rects[:, 0].tolist():
        yield f"<_><rect>{_join(rect)}</rect></_>"


def _join(items: Iterable[object]) -> str:
    return " ".join(map(str, items))


def _number(value: np.float32) -> str:
    text = f"{float(value):.9g}"
    return text if "." in text or "e" in text else text + "."  # an integer would not be read as a float
