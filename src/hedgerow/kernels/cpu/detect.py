"""Evaluation of windows by a cascade: one by one, sixteen at once, and all windows of bands of a pyramid.

`nodes` is a tuple of arrays, the same for every window:

    offsets     int32 (N * 12,) or (N * 16,): corners of every node's feature, relative to the window
    weights     float32 (N * 3,) and threshold float32 (N,), Haar only
    subsets     int32 (N * 8,), LBP only
    left, right int32 (N,): > 0 a node of the same tree, counted from its root; <= 0 the leaf of number -child
    values      float64 (N + T,), tree_starts int32 (T + 1,), stage_starts int32 (S + 1,)
    thresholds  float64 (S,): a stage passes at this sum or above

`norm` is (corners int32 (8,), area float64): the rectangle whose mean and standard deviation a Haar value is
measured in. A field is a band of integral images, see `image`.
"""

import numpy as np

from hedgerow.kernels.cpu.image import add_row, add_tilted_row, spread_row
from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel, intrinsics
from hedgerow.kernels.cpu.windows import LANES

(
    add,
    choose,
    haar_lanes_left,
    haar_left,
    inverse_norm,
    lbp_lanes_left,
    lbp_left,
    load_lanes,
    splat,
    store_lanes,
) = intrinsics(
    "detect_lanes",
    "add",
    "choose",
    "haar_lanes_left",
    "haar_left",
    "inverse_norm",
    "lbp_lanes_left",
    "lbp_left",
    "load_lanes",
    "splat",
    "store_lanes",
)

LOW_CONTRAST = -1  # stages passed of a window of too little contrast
CONTRAST = 0.1  # A * inverse must be below: the pixels' standard deviation is above 10


@deep_inline
def evaluate_window(field, position, nodes, inverse, stages):
    """Evaluate stages first to last - 1 on one window; return (stages passed, sum of the last one evaluated).

    stages : (first, last, sum to return if there is no stage). inverse float32 is 0 for LBP.
    """
    offsets, weights, threshold, subsets, left, right, values, tree_starts, stage_starts, thresholds = nodes
    first, last, total = stages
    lbp = subsets.size > 0
    for stage in range(first, last):
        total = 0.0
        for tree in range(stage_starts[np.uintp(stage)], stage_starts[np.uintp(stage + 1)]):
            root = np.int64(tree_starts[np.uintp(tree)])
            node = root
            while True:
                if lbp:
                    goes_left = lbp_left(field, position, node, offsets, subsets)
                else:
                    goes_left = haar_left(field, position, node, offsets, weights, threshold, inverse)
                child = np.int64(left[np.uintp(node)]) if goes_left else np.int64(right[np.uintp(node)])
                if child <= 0:
                    break
                node = root + child
            total += values[np.uintp(root + tree - child)]
        if total < thresholds[np.uintp(stage)]:
            return stage, total
    return last, total


@deep_kernel
def stage_sums(field, position, nodes, inverse, stage, scratch):
    """Return the sums of one stage for sixteen windows. scratch float64 (nodes of the largest tree * 16,).

    All nodes of a tree are evaluated, the last one first: a node selects one of the results of its children.
    """
    offsets, weights, threshold, subsets, left, right, values, tree_starts, stage_starts, _ = nodes
    lbp = subsets.size > 0
    total = splat(0.0)
    for tree in range(stage_starts[np.uintp(stage)], stage_starts[np.uintp(stage + 1)]):
        root = np.int64(tree_starts[np.uintp(tree)])
        leaf = root + tree
        own = np.int64(tree_starts[np.uintp(tree + 1)]) - root - 1
        while True:
            node = root + own
            if lbp:
                goes_left = lbp_lanes_left(field, position, node, offsets, subsets)
            else:
                goes_left = haar_lanes_left(field, position, node, offsets, weights, threshold, inverse)
            on_left, on_right = np.int64(left[np.uintp(node)]), np.int64(right[np.uintp(node)])
            if on_left > 0:
                a = load_lanes(scratch, on_left * LANES)
            else:
                a = splat(values[np.uintp(leaf - on_left)])
            if on_right > 0:
                b = load_lanes(scratch, on_right * LANES)
            else:
                b = splat(values[np.uintp(leaf - on_right)])
            chosen = choose(goes_left, a, b)
            if own == 0:
                break
            store_lanes(scratch, own * LANES, chosen)
            own -= 1
        total = add(total, chosen)
    return total


@deep_kernel
def evaluate_patches(patches, nodes, norm, work, passed, scores):
    """Evaluate windows uint8 (n, h, w).

    passed : int32 (n,), stages or LOW_CONTRAST. scores : float64 (n,), -inf for low contrast.
    work : field int32 (2 or 3 planes of (h + 1) (w + 1)) tilted int32 (3, w + 1), blank: w zeros uint8.
    """
    corners, area = norm
    flat, tilted, blank = work
    n_stages = nodes[9].size
    high, wide = patches.shape[1], patches.shape[2]
    pitch = wide + 1
    plane = (high + 1) * pitch
    for i in range(patches.shape[0]):
        flat[:pitch] = 0
        flat[plane : plane + pitch] = 0
        for y in range(high):
            add_row(patches[i, y], (flat, pitch), y * pitch, plane, 0)
        if flat.size >= 3 * plane:
            tilted[:] = 0
            flat[2 * plane : 2 * plane + pitch] = 0
            for y in range(high):
                before = patches[i, y - 1] if y > 0 else blank
                new = tilted[(y + 2) % 3]
                add_tilted_row(patches[i, y], before, tilted[y % 3], tilted[(y + 1) % 3], new)
                spread_row(new, flat, 2 * plane + (y + 1) * pitch, 0)
        inverse = np.float32(0.0)
        if area > 0.0:
            inverse = inverse_norm(flat, 0, corners, area)
            if not area * np.float64(inverse) < CONTRAST:
                passed[i] = LOW_CONTRAST
                scores[i] = -np.inf
                continue
        passed[i], scores[i] = evaluate_window(flat, 0, nodes, inverse, (0, n_stages, 0.0))
