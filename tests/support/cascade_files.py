"""Small cascades of every kind, as models and as files: the material of the tests of cascade files."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hedgerow.vision.model import HAAR, LBP, CascadeModel, pack_cascade, unpack_cascade
from hedgerow.vision.opencv import read_opencv, write_opencv


def make_model(kind=HAAR, *, seed=0, nodes=1, tilted=False, stages=2, trees=3, window=(24, 20)):
    """A cascade with random features and random trees of `nodes` nodes."""
    rng = np.random.default_rng(seed)
    (w, h), n_trees = window, stages * trees
    n_nodes = nodes * n_trees
    rects = np.zeros((n_nodes, 3, 4), np.int32)
    turned = (np.arange(n_nodes) % 2 * tilted).astype(np.uint8)
    for rect, turn in zip(rects, turned, strict=True):
        for k in range(1 if kind == LBP else rng.integers(1, 4)):
            wide, high = rng.integers(1, [w // 3, h // 3] if kind == LBP or turn else [w, h])
            cells = 3 if kind == LBP else 1
            if turn:
                high = min(high, h - wide - 1)
                rect[k] = rng.integers(high, w - wide + 1), rng.integers(h - wide - high + 1), wide, high
            else:
                rect[k] = rng.integers(w - cells * wide + 1), rng.integers(h - cells * high + 1), wide, high
    used = (rects[:, :, 2] > 0) & (kind == HAAR)
    left, right = random_tree_children(rng, nodes, n_trees)
    return CascadeModel(
        kind,
        *window,
        rects=rects,
        weights=np.where(used, rng.choice([-1, 2, 3, 0.3], (n_nodes, 3)), 0).astype(np.float32),
        tilted=turned,
        feature=rng.permutation(n_nodes).astype(np.int32),
        threshold=rng.normal(0, 0.1 if kind == HAAR else 0, n_nodes).astype(np.float32),
        subsets=rng.integers(0, 1 << 32, (n_nodes if kind == LBP else 0, 8), np.uint32),
        left=left,
        right=right,
        values=rng.normal(0, 1, n_nodes + n_trees).astype(np.float32),
        tree_starts=np.arange(0, n_nodes + 1, nodes, dtype=np.int32),
        stage_starts=np.arange(0, n_trees + 1, trees, dtype=np.int32),
        stage_thresholds=rng.normal(-3, 1, stages).astype(np.float32),
    )


def random_tree_children(rng, nodes, n_trees):
    """Left and right of all nodes: every later node is a child of an earlier one."""
    children = []
    for _ in range(n_trees):
        links = np.zeros((nodes, 2), np.int32)
        free = [(0, 0), (0, 1)]
        for node in range(1, nodes):
            parent, side = free.pop(rng.integers(len(free)))
            links[parent, side] = node
            free += [(node, 0), (node, 1)]
        for leaf, free_link in enumerate(sorted(free)):
            links[free_link] = -leaf
        children.append(links)
    both = np.concatenate(children)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def old_format(model):
    """A Haar cascade as haartraining wrote it, for tests: the product writes only the new format."""
    lines = [f"<c type_id='opencv-haar-classifier'><size>\n {model.width} {model.height}</size><stages>"]
    for stage in range(model.n_stages):
        lines.append(f"<_><!-- stage {stage} --><trees>")
        for tree in range(model.stage_starts[stage], model.stage_starts[stage + 1]):
            first, end = model.tree_starts[tree : tree + 2]
            lines.append("<_>")
            for node in range(first, end):
                f = model.feature[node]
                rects = "".join(
                    f"<_>\n{' '.join(map(str, rect))} {weight:.9g}</_>"
                    for rect, weight in zip(model.rects[f], model.weights[f], strict=True)
                    if rect[2]
                )
                lines.append(
                    f"<_><feature><rects>{rects}</rects><tilted>{model.tilted[f]}</tilted></feature>"
                )
                lines.append(f"<threshold>{model.threshold[node]:.9e}</threshold>")
                for side in ("left", "right"):
                    child = int(getattr(model, side)[node])
                    kind, value = (
                        ("node", child) if child > 0 else ("val", model.values[first + tree - child])
                    )
                    lines.append(f"<{side}_{kind}>{value:.9g}</{side}_{kind}>")
                lines.append("</_>")
            lines.append("</_>")
        lines.append(f"</trees><stage_threshold>{model.stage_thresholds[stage]:.9g}</stage_threshold>")
        lines.append(f"<parent>{stage - 1}</parent><next>-1</next></_>")
    lines.append("</stages></c>")
    return ('<?xml version="1.0"?>\n<opencv_storage>' + "\n".join(lines) + "</opencv_storage>").encode()


@dataclass(frozen=True)
class Seed:
    """A valid file and the function that reads it."""

    name: str
    data: bytes
    read: Callable[[bytes], object]

    @property
    def packed(self):
        return self.read is unpack_cascade


def small_seeds():
    """A few kilobytes each."""
    models = {
        "haar": make_model(seed=1),
        "trees": make_model(seed=2, nodes=3, stages=1),
        "tilted": make_model(seed=3, tilted=True),
        "lbp": make_model(LBP, seed=4, stages=1),
        "lbp trees": make_model(LBP, seed=5, nodes=2, stages=1, trees=2, window=(12, 12)),
    }
    seeds = [Seed(name, write_opencv(model), read_opencv) for name, model in models.items()]
    seeds += [
        Seed("old " + name, old_format(models[name]), read_opencv) for name in ("haar", "trees", "tilted")
    ]
    info = {"faces": 12, "rates": [0.5, 0.99], "note": "a\u00e9", "more": {"deep": [None, True]}}
    seeds += [
        Seed("own " + name, pack_cascade(model, info), unpack_cascade) for name, model in models.items()
    ]
    return seeds


def large_seeds():
    """Files of other libraries, if they are installed."""
    names = {
        "cv2": ["haarcascade_license_plate_rus_16stages.xml", "haarcascade_russian_plate_number.xml"],
        "skimage": ["lbpcascade_frontalface_opencv.xml"],
    }
    seeds = []
    for package, files in names.items():
        found = importlib.util.find_spec(package)
        if found is not None and found.origin is not None:
            paths = [Path(found.origin).parent / "data" / file for file in files]
            seeds += [Seed(path.name, path.read_bytes(), read_opencv) for path in paths if path.exists()]
    return seeds
