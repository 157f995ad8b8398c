"""OpenCV's cascade files, old format (haartraining), as arrays.

    cascade   size: width height;  stages _ {trees, stage_threshold, parent, next}
    trees     _ {_ node, ...}: a tree is a sequence of nodes, its root first
    node      feature {rects, tilted}, threshold,
              left_val a leaf, or left_node the number of a node of this tree; right_val or right_node

`parent` and `next` made a tree of stages. OpenCV has dropped them since version 3 and runs the stages as one
chain, in the order of the file; so do we. Every node has a feature of its own, even if two are equal.
"""

from hedgerow.vision.model import HAAR, CascadeModel
from hedgerow.vision.opencv_read import Parts
from hedgerow.vision.opencv_xml import Element


def read_old(cascade: Element) -> CascadeModel:
    """The model of an element in the old format."""
    size = cascade.get("size")
    width, height = map(size.integer, size.words(2))
    parts = Parts()
    for stage in cascade.get("stages").items():
        threshold = stage.get("stage_threshold").the_number()
        for tree in stage.get("trees").items():
            _add_tree(parts, tree)
        parts.end_stage(threshold)
    return parts.model(HAAR, width, height)


def _add_tree(parts: Parts, tree: Element) -> None:
    leaves: list[float] = []
    nodes = tree.items()
    for node in nodes:
        parts.feature.append(len(parts.tilted))
        parts.add_haar(node.get("feature"))
        parts.threshold.append(node.get("threshold").the_number())
        parts.left.append(_child(node, "left", leaves))
        parts.right.append(_child(node, "right", leaves))
    if len(leaves) != len(nodes) + 1:
        raise tree.error(f"{len(nodes)} nodes with {len(leaves)} leaves; {len(nodes) + 1} leaves are needed")
    parts.values.extend(leaves)
    parts.end_tree()


def _child(node: Element, side: str, leaves: list[float]) -> int:
    """The number of a child: a node, or minus that of a new leaf."""
    value, child = node.find(f"{side}_val"), node.find(f"{side}_node")
    if (value is None) == (child is None):
        raise node.error(f"one of <{side}_val> and <{side}_node> is needed")
    if value is not None:
        leaves.append(value.the_number())
        return 1 - len(leaves)
    number = child.the_integer() if child is not None else 0
    if number <= 0:
        raise node.error(f"<{side}_node> {number} is not allowed: it must be a later node of its tree")
    return number
