"""Cascades put together stage by stage."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.vision.features import Features
from hedgerow.vision.model import SUBSET_WORDS, CascadeModel
from hedgerow.vision.stage import StageTree


def empty_cascade(kind: str, window: tuple[int, int]) -> CascadeModel:
    """A cascade without stages, which lets every window pass.

    >>> empty_cascade("HAAR", (24, 24)).n_stages
    0
    """
    no_int, no_float = np.empty(0, np.int32), np.empty(0, np.float32)
    return CascadeModel(
        kind,
        *window,
        rects=np.empty((0, 3, 4), np.int32),
        weights=np.empty((0, 3), np.float32),
        tilted=np.empty(0, np.uint8),
        feature=no_int,
        threshold=no_float,
        subsets=np.empty((0, SUBSET_WORDS), np.uint32),
        left=no_int,
        right=no_int,
        values=no_float,
        tree_starts=np.zeros(1, np.int32),
        stage_starts=np.zeros(1, np.int32),
        stage_thresholds=no_float,
    )


def first_stages(model: CascadeModel, n: int) -> CascadeModel:
    """The first stages of a cascade that was put together by `with_stage`, at most n."""
    if n >= model.n_stages:
        return model
    n_trees = int(model.stage_starts[n])
    n_nodes = int(model.tree_starts[n_trees])
    n_features = int(model.feature[:n_nodes].max(initial=-1)) + 1
    lengths = {
        **dict.fromkeys(("rects", "weights", "tilted"), n_features),
        **dict.fromkeys(("feature", "threshold", "subsets", "left", "right"), n_nodes),
        "values": n_nodes + n_trees,
        "tree_starts": n_trees + 1,
        "stage_starts": n + 1,
        "stage_thresholds": n,
    }
    return replace(model, **{name: getattr(model, name)[:length] for name, length in lengths.items()})


def with_stage(
    model: CascadeModel, features: Features, trees: Sequence[StageTree], threshold: float
) -> CascadeModel:
    """A cascade with one more stage; its trees name features by their number in `features`."""
    used, numbers = np.unique(np.concatenate([tree.feature for tree in trees]), return_inverse=True)
    chosen = features.take(used)
    sizes = np.array([len(tree.feature) for tree in trees])

    def joined(before: NDArray[Any], name: str) -> NDArray[Any]:
        return np.concatenate([before, *(getattr(tree, name) for tree in trees)])

    return CascadeModel(
        model.kind,
        *model.window,
        rects=np.concatenate([model.rects, chosen.rects]),
        weights=np.concatenate([model.weights, chosen.weights]),
        tilted=np.concatenate([model.tilted, chosen.tilted]),
        feature=np.concatenate([model.feature, (numbers + model.n_features).astype(np.int32)]),
        threshold=joined(model.threshold, "threshold"),
        subsets=joined(model.subsets, "subsets"),
        left=joined(model.left, "left"),
        right=joined(model.right, "right"),
        values=joined(model.values, "values"),
        tree_starts=np.concatenate(
            [model.tree_starts, (model.tree_starts[-1] + np.cumsum(sizes)).astype(np.int32)]
        ),
        stage_starts=np.append(model.stage_starts, np.int32(model.n_trees + len(trees))),
        stage_thresholds=np.append(model.stage_thresholds, np.float32(threshold)),
    )
