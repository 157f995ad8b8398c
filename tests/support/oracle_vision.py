"""The detector in plain Python, by definition and without the kernels.

Sums are sums over pixels, and windows are evaluated one at a time, with the roundings of float32.
"""

import math

import numpy as np

from hedgerow.vision.model import HAAR, CascadeModel

F = np.float32
LEAST_CONTRAST = 0.1
NEIGHBOURS = ((0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1))  # clockwise, highest bit first


def integral(image):
    high, wide = len(image), len(image[0])
    return [
        [sum(int(image[v][u]) for v in range(y) for u in range(x)) for x in range(wide + 1)]
        for y in range(high + 1)
    ]


def squared(image):
    return integral([[int(p) ** 2 for p in row] for row in image])


def tilted(image):
    """The cone above (x, y): one pixel wider on both sides with each row up."""
    high, wide = len(image), len(image[0])

    def cone(x, y):
        return sum(int(image[v][u]) for v in range(y) for u in range(wide) if abs(u - x + 1) <= y - v - 1)

    return [[cone(x, y) for x in range(wide + 1)] for y in range(high + 1)]


def upright_sum(image, x, y, w, h):
    return sum(int(image[v][u]) for v in range(y, y + h) for u in range(x, x + w))


def tilted_sum(image, x, y, w, h):
    """Sum of a rectangle tilted by 45 degrees: pairs of pixels in steps right-down and left-down."""
    total = 0
    for i in range(w):
        for j in range(h):
            # the step (i, j) leads to (x + i - j, y + i + j): the pixel left of it, and the one below
            column, row = x + i - j - 1, y + i + j
            total += int(image[row][column]) + int(image[row + 1][column])
    return total


def resize(image, high, wide):
    """Bilinear, in 1/256 steps, rounded once at the end."""
    rows, columns = sources(len(image), high), sources(len(image[0]), wide)
    out = np.empty((high, wide), np.uint8)
    for y, (top, bottom, g) in enumerate(rows):
        for x, (left, right, d) in enumerate(columns):
            upper = (256 - d) * int(image[top][left]) + d * int(image[top][right])
            lower = (256 - d) * int(image[bottom][left]) + d * int(image[bottom][right])
            out[y, x] = ((256 - g) * upper + g * lower + (1 << 15)) >> 16
    return out


def sources(n_from, n_to):
    """For each pixel of a line: its two source pixels, and the weight of the second of 256."""
    scale = 1.0 / (n_to / n_from)
    found = []
    for i in range(n_to):
        position = scale * (i + 0.5) - 0.5
        first = math.floor(position)
        if first < 0:
            found.append((0, 0, 0))
        elif first >= n_from - 1:
            found.append((n_from - 1, n_from - 1, 0))
        else:
            found.append((first, first + 1, round((position - first) * 256)))
    return found


def inverse_norm(model, patch):
    """1 / (A sigma) as float32, or None for a window of too little contrast."""
    x, y, w, h = 1, 1, model.width - 2, model.height - 2
    area = float(w * h)
    total = upright_sum(patch, x, y, w, h)
    squares = sum(int(patch[v][u]) ** 2 for v in range(y, y + h) for u in range(x, x + w)) % 2**32
    variance = area * squares - float(total) * total
    if variance <= 0:
        return None
    inverse = F(1.0 / math.sqrt(variance))
    return inverse if area * float(inverse) < LEAST_CONTRAST else None


def haar_value(model, feature, patch, inverse):
    add = tilted_sum if model.tilted[feature] else upright_sum
    value = F(0)
    for k in range(3):
        rect, weight = model.rects[feature, k].tolist(), model.weights[feature, k]
        if k < 2 or weight != 0:
            product = F(weight) * F(add(patch, *rect))
            value = product if k == 0 else F(value + product)
    return F(value * inverse)


def lbp_code(patch, rect):
    """The code of a grid of 3 x 3 cells, of which `rect` is the first."""
    x, y, w, h = rect
    cell = [[upright_sum(patch, x + i * w, y + j * h, w, h) for i in range(3)] for j in range(3)]
    code = 0
    for i, j in NEIGHBOURS:
        code = 2 * code + (cell[j][i] >= cell[1][1])
    return code


def evaluate_window(model, patch, n_stages=None):
    """(stages passed or -1, sum of the last stage evaluated)."""
    inverse = None
    if model.kind == HAAR:
        inverse = inverse_norm(model, patch)
        if inverse is None:
            return -1, -math.inf
    total = 0.0
    for stage in range(model.n_stages if n_stages is None else n_stages):
        total = 0.0
        for tree in range(model.stage_starts[stage], model.stage_starts[stage + 1]):
            total += float(_leaf(model, tree, patch, inverse))
        if total < float(F(model.stage_thresholds[stage] - F(1e-5))):
            return stage, total
    return (model.n_stages if n_stages is None else n_stages), total


def _leaf(model, tree, patch, inverse):
    root = int(model.tree_starts[tree])
    own = 0
    while True:
        node = root + own
        feature = int(model.feature[node])
        if model.kind == HAAR:
            left = haar_value(model, feature, patch, inverse) < model.threshold[node]
        else:
            code = lbp_code(patch, model.rects[feature, 0].tolist())
            left = int(model.subsets[node, code >> 5]) >> (code & 31) & 1
        own = int(model.left[node] if left else model.right[node])
        if own <= 0:
            return model.values[root + tree - own]


def scan_level(model, level, step, skipping, n_stages=None, n_rows=None):
    """Windows (x, y, score) of one level that pass."""
    high, wide = level.shape
    found = []
    for y in range(0, high - model.height + 1 if n_rows is None else n_rows, step):
        x = 0
        while x + model.width <= wide:
            stage, score = evaluate_window(model, level[y : y + model.height, x : x + model.width], n_stages)
            if stage == (model.n_stages if n_stages is None else n_stages):
                found.append((x, y, score))
            x += 2 * step if skipping and stage == 0 else step
    return found


def scan(model, image, scale_factor):
    """Rectangles and scores of all sizes, in the order of scale, y, x."""
    high, wide = image.shape
    found, factor = [], 1.0
    stripes = math.ceil((wide - model.width + 1) / 32)  # of the first level, which is the image
    while round(model.width * factor) <= wide and round(model.height * factor) <= high:
        f = F(factor)
        level = resize(image, int(np.rint(F(high) / f)), int(np.rint(F(wide) / f)))
        step = 1 if f >= 2 else 2
        rows = len(level) - model.height + 1
        covered = stripes * max(math.ceil(rows // step / stripes), 1) * step
        for x, y, score in scan_level(model, level, step, skipping=True, n_rows=min(rows, covered)):
            sides = (np.rint(F(n) * f) for n in (x, y, model.width, model.height))
            found.append((*(int(side) for side in sides), score))
        factor *= scale_factor
    return found


def random_model(rng, kind=HAAR, window=(12, 10), *, tilted_share=0.3, max_nodes=3, stages=(1, 3, 4)):
    """A cascade of random features, trees and thresholds in the middle of their ranges."""
    wide, high = window
    n_features = 12
    rects, weights = np.zeros((n_features, 3, 4), np.int32), np.zeros((n_features, 3), np.float32)
    tilted = np.zeros(n_features, np.uint8)
    for f in range(n_features):
        tilted[f] = kind == HAAR and rng.random() < tilted_share
        for k in range(int(rng.integers(2, 4)) if kind == HAAR else 1):
            rects[f, k] = _random_rect(rng, wide, high, 3 if kind != HAAR else 1, tilt=bool(tilted[f]))
            weights[f, k] = 0 if kind != HAAR else rng.choice([-1, 2, 3, 0.37, -1.73, 1e-3])
    sizes = rng.integers(1, max_nodes + 1, sum(stages))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    left, right = [], []
    for size in sizes:
        _random_tree(rng, int(size), left, right)
    n_nodes = int(starts[-1])
    values = rng.normal(size=n_nodes + len(sizes)).astype(np.float32)
    subsets = rng.integers(0, 2**32, (n_nodes, 8), dtype=np.uint32)
    return CascadeModel(
        kind, wide, high, rects, weights, tilted,
        feature=rng.integers(0, n_features, n_nodes).astype(np.int32),
        threshold=rng.normal(0, 0.2, n_nodes).astype(np.float32) * np.float32(kind == HAAR),
        subsets=subsets if kind != HAAR else subsets[:0],
        left=np.array(left, np.int32), right=np.array(right, np.int32),
        values=values, tree_starts=starts,
        stage_starts=np.concatenate([[0], np.cumsum(stages)]).astype(np.int32),
        stage_thresholds=(rng.normal(-0.9, 0.2, len(stages)) * np.sqrt(stages)).astype(np.float32),
    )  # fmt: skip


def _random_rect(rng, wide, high, n_cells, *, tilt):
    while True:
        x, y = rng.integers(0, wide), rng.integers(0, high)
        w, h = rng.integers(1, wide), rng.integers(1, high)
        upright = x + n_cells * w <= wide and y + n_cells * h <= high
        tilted = x - h >= 0 and x + w <= wide and y + w + h <= high
        if tilted if tilt else upright:
            return x, y, w, h


def _random_tree(rng, size, left, right):
    """Children of `size` nodes: each later node is a child of an earlier one."""
    children = [[None, None] for _ in range(size)]
    for node in range(1, size):
        free = [(p, side) for p in range(node) for side in range(2) if children[p][side] is None]
        parent, side = free[rng.integers(len(free))]
        children[parent][side] = node
    leaf = 0
    for pair in children:
        for side in range(2):
            if pair[side] is None:
                pair[side] = -leaf
                leaf += 1
        left.append(pair[0])
        right.append(pair[1])
