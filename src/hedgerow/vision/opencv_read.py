"""OpenCV's cascade files, new format, as arrays.

    cascade   stageType BOOST, featureType HAAR or LBP, height, width, stages, features
    stages    _ {stageThreshold, weakClassifiers _ {internalNodes, leafValues}}
    node      left right feature threshold (Haar), or left right feature and 8 words of a 256-bit set (LBP)
    features  Haar: _ {rects _ x y width height weight, tilted};  LBP: _ {rect x y width height}

What OpenCV itself passes over is passed over here: stageParams, stageNum, maxWeakCount. featureParams is not
needed either, for featureType says all; if it is there, its maxCatCount must agree.
"""

from array import array
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.vision.model import HAAR, LBP, SUBSET_WORDS, CascadeModel
from hedgerow.vision.opencv_xml import Element, shorten

RECTS = 3  # of a feature, at most
_CATEGORIES = {HAAR: 0, LBP: 256}


class Parts:
    """The arrays of a cascade while they grow; see `CascadeModel` for what they hold."""

    def __init__(self) -> None:
        self.rects, self.weights, self.tilted = array("i"), array("d"), array("B")
        self.feature, self.threshold, self.subsets = array("i"), array("d"), array("i")
        self.left, self.right, self.values = array("i"), array("i"), array("d")
        self.tree_starts, self.stage_starts = array("i", [0]), array("i", [0])
        self.stage_thresholds = array("d")

    def end_tree(self) -> None:
        """The nodes since the last tree are one."""
        self.tree_starts.append(len(self.feature))

    def end_stage(self, threshold: float) -> None:
        """The trees since the last stage are one."""
        self.stage_thresholds.append(threshold)
        self.stage_starts.append(len(self.tree_starts) - 1)

    def add_haar(self, element: Element) -> None:
        """Add the Haar feature of an element with rects and, perhaps, tilted."""
        sequence = element.get("rects")
        items = sequence.items()
        if len(items) > RECTS:
            raise sequence.error(f"{len(items)} rectangles; 1 to {RECTS} are allowed")
        for item in items:
            *rect, weight = item.words(5)
            self.rects.extend(map(item.integer, rect))
            self.weights.append(item.number(weight))
        missing = RECTS - len(items)
        self.rects.extend([0] * (4 * missing))
        self.weights.extend([0.0] * missing)
        tilted = element.find("tilted")
        self.tilted.append(tilted is not None and tilted.the_integer() != 0)

    def add_lbp(self, element: Element) -> None:
        """Add the LBP feature of an element with one rect."""
        rect = element.get("rect")
        self.rects.extend(map(rect.integer, rect.words(4)))
        self.rects.extend([0] * (4 * (RECTS - 1)))
        self.weights.extend([0.0] * RECTS)
        self.tilted.append(0)

    def model(self, kind: str, width: int, height: int) -> CascadeModel:
        """The cascade, checked; where all trees are stumps, OpenCV does not look at their children."""
        model = CascadeModel(
            kind=kind,
            width=width,
            height=height,
            rects=_array(self.rects, np.int32).reshape(-1, RECTS, 4),
            weights=_array(self.weights, np.float32).reshape(-1, RECTS),
            tilted=_array(self.tilted, np.uint8),
            feature=_array(self.feature, np.int32),
            threshold=_array(self.threshold, np.float32),
            subsets=_array(self.subsets, np.int32).view(np.uint32).reshape(-1, SUBSET_WORDS),
            left=_array(self.left, np.int32),
            right=_array(self.right, np.int32),
            values=_array(self.values, np.float32),
            tree_starts=_array(self.tree_starts, np.int32),
            stage_starts=_array(self.stage_starts, np.int32),
            stage_thresholds=_array(self.stage_thresholds, np.float32),
        )
        if model.n_trees < len(model.feature):
            return model
        return replace(model, left=np.zeros_like(model.left), right=np.full_like(model.right, -1))


def _array(numbers: Any, dtype: type[np.generic]) -> NDArray[Any]:
    return np.array(numbers, dtype)  # decimal to double to single, as OpenCV rounds


def read_new(cascade: Element) -> CascadeModel:
    """The model of an element in the new format."""
    kind = _kind(cascade)
    width, height = cascade.get("width").the_integer(), cascade.get("height").the_integer()
    parts = Parts()
    for stage in cascade.get("stages").items():
        threshold = stage.get("stageThreshold").the_number()
        for tree in stage.get("weakClassifiers").items():
            _add_tree(parts, tree, kind)
        parts.end_stage(threshold)
    add = parts.add_haar if kind == HAAR else parts.add_lbp
    for feature in cascade.get("features").items():
        add(feature)
    return parts.model(kind, width, height)


def _kind(cascade: Element) -> str:
    stage_type = cascade.get("stageType")
    if stage_type.word() != "BOOST":
        raise stage_type.error(f"{shorten(stage_type.word())!r} is not supported; BOOST is")
    feature_type = cascade.get("featureType")
    kind = feature_type.word()
    if kind not in _CATEGORIES:
        raise feature_type.error(f"{shorten(kind)!r} features are not supported; HAAR and LBP are")
    parameters = cascade.find("featureParams")
    categories = parameters and parameters.find("maxCatCount")
    if categories and categories.the_integer() != _CATEGORIES[kind]:
        raise categories.error(f"{kind} features need {_CATEGORIES[kind]}")
    return kind


def _add_tree(parts: Parts, tree: Element, kind: str) -> None:
    nodes, leaves = tree.get("internalNodes"), tree.get("leafValues")
    step = 4 if kind == HAAR else 3 + SUBSET_WORDS
    words = nodes.words(every=step)
    if kind == HAAR:
        parts.threshold.extend(map(nodes.number, words[3::step]))
    else:
        parts.threshold.extend([0.0] * (len(words) // step))
        for first in range(3, len(words), step):
            parts.subsets.extend(map(nodes.integer, words[first : first + SUBSET_WORDS]))
    parts.left.extend(map(nodes.integer, words[0::step]))
    parts.right.extend(map(nodes.integer, words[1::step]))
    parts.feature.extend(map(nodes.integer, words[2::step]))
    parts.values.extend(map(leaves.number, leaves.words(len(words) // step + 1)))
    parts.end_tree()
