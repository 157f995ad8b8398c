"""Slow reference implementations of features, the best stump and the windows of images; small data.

A window is a list of rows of integers. No code is shared with the kernels.
"""

import math
from fractions import Fraction

import numpy as np

from hedgerow.vision.features import HaarFeatures, LBPFeatures
from hedgerow.vision.mining import reoriented
from hedgerow.vision.pyramid import level_image, scan_factors
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import StageTree
from oracle_vision import tilted_sum, upright_sum

BASIC = {
    # name: width, height, inner rectangles (x, y, width, height, weight), tilted
    "x2": (2, 1, [(1, 0, 1, 1, 2)], False),
    "y2": (1, 2, [(0, 1, 1, 1, 2)], False),
    "x3": (3, 1, [(1, 0, 1, 1, 3)], False),
    "y3": (1, 3, [(0, 1, 1, 1, 3)], False),
    "x2y2": (2, 2, [(0, 0, 1, 1, 2), (1, 1, 1, 1, 2)], False),
}
CORE = BASIC | {
    "x4": (4, 1, [(1, 0, 2, 1, 2)], False),
    "y4": (1, 4, [(0, 1, 1, 2, 2)], False),
    "point": (3, 3, [(1, 1, 1, 1, 9)], False),
}
ALL = CORE | {f"tilted {name}": (*CORE[name][:3], True) for name in ("x2", "y2", "x3", "y3", "x4", "y4")}
SHAPES = {"basic": BASIC, "core": CORE, "all": ALL}


# --- features


def pixels_of(rect, tilted, width, height):
    """The pixels (x, y) of a rectangle; None if it is not inside the window.

    A tilted rectangle has the pixels in the cone of its lowest corner that are in neither of the cones of the
    left and right corners.
    """
    x, y, w, h = rect
    if not tilted:
        inside = x >= 0 and y >= 0 and x + w <= width and y + h <= height
        return {(i, j) for i in range(x, x + w) for j in range(y, y + h)} if inside else None
    if x - h < 0 or x + w > width or y < 0 or y + w + h > height:
        return None
    cones = [cone(*corner, width, height) for corner in ((x, y), (x - h, y + h), (x + w, y + w))]
    whole = cone(x + w - h, y + w + h, width, height)
    assert cones[0] == cones[1] & cones[2]
    return whole - cones[1] - cones[2]


def cone(x, y, width, height):
    """The pixels that the tilted integral image sums at (x, y): one in the row above, three in the next..."""
    return {(i, j) for j in range(min(y, height)) for i in range(width) if abs(i - (x - 1)) <= y - 1 - j}


def features_of(kind, width, height):
    """All features of a kind, by exhaustive enumeration: (rects, weights, tilted) without unused rects."""
    found = []
    for wide, high, inner, tilted in SHAPES[kind].values():
        for x in range(width + 1):
            for y in range(height + 1):
                for dx in range(1, width + 1):
                    for dy in range(1, height + 1):
                        whole = (x, y, wide * dx, high * dy)
                        if not _fits(whole, tilted, width, height):
                            continue
                        rects = [whole]
                        for a, b, c, d, _ in inner:
                            left, down = (a * dx - b * dy, a * dx + b * dy) if tilted else (a * dx, b * dy)
                            rects.append((x + left, y + down, c * dx, d * dy))
                        found.append((tuple(rects), (-1, *(rect[4] for rect in inner)), tilted))
    return found


def _fits(rect, tilted, width, height):
    x, y, w, h = rect
    if tilted:
        return x - h >= 0 and x + w <= width and y + w + h <= height
    return x + w <= width and y + h <= height


def inverse_norm(window):
    """1 / (area * standard deviation) inside of the border as float32, 0 for a flat window."""
    inner = [pixel for row in window[1:-1] for pixel in row[1:-1]]
    spread = len(inner) * sum(pixel * pixel for pixel in inner) - sum(inner) ** 2
    return np.float32(1.0 / math.sqrt(spread)) if spread else np.float32(0)


def haar_value(window, rects, weights, tilted):
    """Value of a feature: float32 at every step."""
    total = None
    for rect, weight in zip(rects, weights, strict=True):
        if weight:
            add = tilted_sum if tilted else upright_sum
            product = np.float32(weight) * np.float32(add(window, *rect))
            total = product if total is None else total + product
    return total * inverse_norm(window)


# --- stumps


def best_gain(codes, classes, weight, criterion, *, categorical):
    """The largest gain of any cut of any feature, exact; codes (features, windows)."""
    return max(_column_gain(column, classes, weight, criterion, categorical) for column in codes.tolist())


def _column_gain(column, classes, weight, criterion, categorical):
    sums = {}
    for code, kind, w in zip(column, classes, weight, strict=True):
        sums.setdefault(code, [0, 0])[kind] += int(w)
    code_sums = [(code, pair) for code, pair in sorted(sums.items()) if sum(pair)]
    if categorical:  # the best subset is a beginning of the order by share (Breiman et al. 1984)
        code_sums.sort(key=lambda entry: Fraction(entry[1][1], sum(entry[1])))
    whole = [sum(pair[k] for _, pair in code_sums) for k in (0, 1)]
    left, best = [0, 0], Fraction(0)
    for _, pair in code_sums[:-1]:
        left = [left[0] + pair[0], left[1] + pair[1]]
        right = [whole[0] - left[0], whole[1] - left[1]]
        best = max(best, _worth(left, criterion) + _worth(right, criterion) - _worth(whole, criterion))
    return best


def _worth(pair, criterion):
    """Weight that a vote has right, or the square of the difference of the classes over the weight."""
    return Fraction(max(pair)) if criterion == "error" else Fraction((pair[1] - pair[0]) ** 2, sum(pair))


# --- windows of images


def all_windows(image, window, scale_factor):
    """Windows of all levels of an image, in the order of a scan."""
    width, height = window
    for factor in scan_factors(image.shape, window, scale_factor):
        level = level_image(image, window, factor)
        step = 1 if factor >= 2 else 2
        for y in range(0, level.shape[0] - height + 1, step):
            for x in range(0, level.shape[1] - width + 1, step):
                yield level[y : y + height, x : x + width]


def passing_windows(model, image, scale_factor):
    """The number of windows in all orientations of an image, and the bytes of those that pass the model."""
    images = [reoriented(image, orientation) for orientation in range(8)]
    windows = [window for one in images for window in all_windows(one, model.window, scale_factor)]
    if not windows:
        return 0, []
    stages, _ = evaluate_windows(model, np.ascontiguousarray(windows))
    return len(windows), [w.tobytes() for w, s in zip(windows, stages, strict=True) if s == model.n_stages]


# --- small data


def make_features(kind, window, most=None, seed=0):
    """All features of a kind, or some of them."""
    features = LBPFeatures(window) if kind == "lbp" else HaarFeatures(window, kind)
    if most is None or most >= len(features):
        return features
    return features.take(np.sort(np.random.default_rng(seed).choice(len(features), most, replace=False)))


def objects(n, seed=0, size=8):
    """Noisy crosses, with a bright horizontal and a dark vertical bar."""
    rng = np.random.default_rng(seed)
    windows = rng.integers(30, 150, (n, size, size))
    windows[:, size // 4 : size // 2, :] += 60
    windows[:, :, size // 2 : size // 2 + 2] -= 25
    return np.clip(windows, 0, 255).astype(np.uint8)


def photos(n, seed=1, shape=(20, 26)):
    """Blotches and noise."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        blotches = rng.integers(0, 256, (shape[0] // 2 + 1, shape[1] // 2 + 1))
        large = np.kron(blotches, np.ones((2, 2), int))[: shape[0], : shape[1]]
        made.append(np.clip(large + rng.integers(-30, 30, shape), 0, 255).astype(np.uint8))
    return made


def labelled(n, seed=0, size=8):
    """Windows of two classes that overlap, and their classes."""
    rng = np.random.default_rng(seed)
    classes = (np.arange(n) % 2).astype(np.uint8)
    windows = rng.integers(0, 200, (n, size, size))
    windows[classes == 1, 2:5] += 40
    return windows.astype(np.uint8), classes


def stump(feature, threshold=0.0, *, left=0.0, right=1.0, subset=None):
    """A tree of one node."""
    subsets = np.zeros((0, 8), np.uint32) if subset is None else np.asarray([subset], np.uint32)
    return StageTree(
        np.array([feature], np.int32),
        np.array([threshold], np.float32),
        subsets,
        np.array([0], np.int32),
        np.array([-1], np.int32),
        np.array([left, right], np.float32),
    )
