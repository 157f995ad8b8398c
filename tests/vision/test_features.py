"""Features of a window, and their values and codes for sets of windows."""

import dataclasses

import numpy as np
import pytest

from hedgerow.kernels.cpu.windows import CODES
from hedgerow.threads import Team
from hedgerow.vision.features import KINDS, Features, HaarFeatures, LBPFeatures, WindowSet
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import empty_cascade, with_stage
from oracle_vision import lbp_code
from oracle_windows import (
    CORE,
    SHAPES,
    cone,
    features_of,
    haar_value,
    inverse_norm,
    make_features,
    pixels_of,
    stump,
)

AT_ONCE = 50  # stumps of a stage whose votes 1, 2, 4, ... make an exact sum
WINDOWS = [(3, 3), (5, 9), (11, 4), (7, 7)]


def listed(features):
    """Features as `features_of` gives them."""
    made = []
    for rects, weights, tilted in zip(
        features.rects.tolist(), features.weights.tolist(), features.tilted.tolist(), strict=True
    ):
        used = [k for k in range(3) if weights[k]]
        assert all(rects[k] == [0, 0, 0, 0] for k in range(3) if k not in used)
        made.append((tuple(tuple(rects[k]) for k in used), tuple(weights[k] for k in used), bool(tilted)))
    return made


def cascade_with(features):
    """A cascade without stages that has these features."""
    empty = empty_cascade(features.kind, features.window)
    return dataclasses.replace(empty, rects=features.rects, weights=features.weights, tilted=features.tilted)


@pytest.mark.parametrize(
    ("side", "kind", "n"),
    [
        (24, "basic", 162_336),
        (24, "core", 210_400),
        (24, "all", 261_600),
        (20, "all", 125_199),
    ],
)
def test_number_of_features_equals_opencv(side, kind, n):
    features = HaarFeatures((side, side), kind)
    assert len(features) == n
    assert cascade_with(features).n_features == n  # checks that each is inside the window


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", KINDS)
def test_haar_features_equal_exhaustive_enumeration(kind, window):
    found, expected = listed(HaarFeatures(window, kind)), features_of(kind, *window)
    assert len(found) == len(expected) == len(set(found))
    assert set(found) == set(expected)


@pytest.mark.parametrize("window", [(255, 3), (3, 255)])
def test_features_are_inside_narrow_windows(window):
    cascade_with(LBPFeatures(window))
    assert len(HaarFeatures(window, "basic")) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_a_feature_sum_to_zero(kind):
    features = HaarFeatures((12, 10), kind)
    area = features.rects[:, :, 2] * features.rects[:, :, 3] * np.where(features.tilted, 2, 1)[:, None]
    assert np.all((area * features.weights).sum(axis=1) == 0)


def test_inner_rectangles_are_disjoint_and_inside():
    for rects, _, tilted in listed(HaarFeatures((8, 7), "all")):
        whole, *inner = [pixels_of(rect, tilted, 8, 7) for rect in rects]
        assert len(whole) == rects[0][2] * rects[0][3] * (2 if tilted else 1)
        assert all(pixels < whole for pixels in inner)
        assert sum(map(len, inner)) == len(set().union(*inner))


def test_a_kind_begins_with_the_features_of_the_smaller_kind():
    basic, core, whole = (listed(HaarFeatures((9, 8), kind)) for kind in ("basic", "core", "all"))
    assert core[: len(basic)] == basic
    assert whole[: len(core)] == core
    assert all(tilted for _, _, tilted in whole[len(core) :])
    assert [len(SHAPES[kind]) for kind in KINDS] == [5, len(CORE), 14]


@pytest.mark.parametrize("window", [*WINDOWS, (12, 24)])
def test_lbp_grids_equal_exhaustive_enumeration(window):
    width, height = window
    expected = {
        (x, y, w, h)
        for x in range(width)
        for y in range(height)
        for w in range(1, width)
        for h in range(1, height)
        if x + 3 * w <= width and y + 3 * h <= height
    }
    features = LBPFeatures(window)
    assert len(features) == len(expected)
    assert set(map(tuple, features.rects[:, 0].tolist())) == expected
    assert not features.rects[:, 1:].any()
    assert not features.weights.any()
    assert cascade_with(features).n_features == len(expected)


def test_take_selects_features_in_order():
    features = HaarFeatures((8, 8), "all")
    numbers = np.array([300, 5, 5, len(features) - 1])
    some = features.take(numbers)
    assert len(some) == 4
    assert some.window == features.window == (8, 8)
    assert [listed(some)[i] for i in range(4)] == [listed(features)[n] for n in numbers]
    assert np.array_equal(some.corners, features.corners[numbers])


@pytest.mark.parametrize("make", [HaarFeatures, LBPFeatures])
@pytest.mark.parametrize(
    "window",
    [(2, 24), (24, 2), (-5, 5), (300, 300), (3, 10**9), (24.5, 24), (24,), (24, 24, 24), 24, None, "ab",
     (None, 3), (float("nan"), 24), (float("inf"), 24), ([3], [3])],
)  # fmt: skip
def test_features_reject_invalid_windows(make, window):
    with pytest.raises(ValueError, match=r"^window=.* is not allowed: .*at least 3.* at most .* pixels"):
        make(window)


@pytest.mark.parametrize("kind", ["BASIC", "", "tilted", None, 3, ("basic",)])
def test_haar_features_reject_invalid_kinds(kind):
    with pytest.raises(ValueError, match=r"^kind=.* is not allowed: .*'basic', 'core', 'all'"):
        HaarFeatures((8, 8), kind)


def test_windows_may_be_lists_and_numpy_numbers():
    assert HaarFeatures([8, np.int64(6)]).window == (8, 6)
    assert LBPFeatures(np.array([8, 6])).window == (8, 6)


# --- sets of windows


def windows_of(n, width=7, height=6, seed=0):
    """Noise of several strengths, a uniform and a white window, and one with a single white pixel."""
    rng = np.random.default_rng(seed)
    strength = rng.integers(1, 128, (n, 1, 1))
    made = (128 + rng.uniform(-1, 1, (n, height, width)) * strength).astype(np.uint8)
    if n > 3:
        made[1], made[2], made[3] = 77, 255, 0
        made[3, 1, 1] = 255
    return made


def decisions(features, trees, windows):
    """Which windows the detector sends right in each of some stumps, and which have enough contrast."""
    model = empty_cascade(features.kind, features.window)
    rows = []
    for first in range(0, len(trees), AT_ONCE):
        votes = [
            dataclasses.replace(tree, values=np.array([0, 2.0**k], np.float32))
            for k, tree in enumerate(trees[first : first + AT_ONCE])
        ]
        stages, scores = evaluate_windows(with_stage(model, features, votes, -1.0), windows)
        evaluated = stages >= 0
        sums = np.where(evaluated, scores, 0).astype(np.int64)
        rows += [(sums >> k) & 1 for k in range(len(votes))]
    return np.array(rows, bool), evaluated


@pytest.mark.parametrize(("width", "height"), [(3, 3), (7, 6)])
def test_planes_equal_the_definition(width, height):
    windows = windows_of(6, width, height)
    planes = WindowSet(windows, Team(1), tilted=True).planes
    assert planes.dtype == np.int32
    assert len(planes) == 2 * (width + 1) * (height + 1)
    row, half = width + 1, len(planes) // 2
    for number, window in enumerate(windows.tolist()):
        for y in range(height + 1):
            for x in range(width + 1):
                assert planes[y * row + x, number] == sum(sum(line[:x]) for line in window[:y])
                tilted = sum(window[j][i] for i, j in cone(x, y, width, height))
                assert planes[half + y * row + x, number] == tilted


def test_planes_without_tilted_ones_are_the_first_half():
    windows = windows_of(9)
    both, one = WindowSet(windows, Team(1), tilted=True), WindowSet(windows, Team(1))
    assert np.array_equal(both.planes[: len(one.planes)], one.planes)


def test_norms_equal_the_definition():
    windows = windows_of(40)
    inverse = WindowSet(windows, Team(1)).inverse
    assert inverse.dtype == np.float32
    assert inverse.tolist() == [float(inverse_norm(window)) for window in windows.tolist()]
    assert inverse[1] == inverse[2] == 0
    assert np.all(inverse[4:] > 0)


def test_haar_values_equal_the_definition():
    windows = windows_of(8)
    features = HaarFeatures((7, 6), "all")
    made = WindowSet(windows, Team(1), tilted=True)
    for number in range(0, len(features), 5):
        rects, weights = features.rects[number].tolist(), features.weights[number].tolist()
        expected = [haar_value(w, rects, weights, bool(features.tilted[number])) for w in windows.tolist()]
        found = made.values(features, number)
        assert found.dtype == np.float32
        assert found.tobytes() == np.array(expected, np.float32).tobytes()


def test_lbp_patterns_equal_the_definition():
    windows = windows_of(8, 9, 7)
    features = LBPFeatures((9, 7))
    made = WindowSet(windows, Team(1))
    codes = made.coded(features).by_column
    for number in range(len(features)):
        expected = [lbp_code(window, features.rects[number, 0].tolist()) for window in windows.tolist()]
        assert made.patterns(features, number).tolist() == expected
        assert codes[number].tolist() == expected
    assert codes[:, 1].tolist() == [255] * len(features)  # of a uniform window


def test_haar_values_equal_the_detector():
    windows = windows_of(61, seed=4)
    features = HaarFeatures((7, 6), "all")
    made = WindowSet(windows, Team(1), tilted=True)
    at, above = [], []
    expected = []
    for number in range(len(features)):
        values = made.values(features, number)
        threshold = values[number % len(windows)]  # a tie, and the next number above
        above.append(stump(number, np.nextafter(threshold, np.float32(np.inf))))
        at.append(stump(number, threshold))
        expected.append(values >= threshold)
    right, evaluated = decisions(features, at, windows)
    assert 30 < evaluated.sum() < len(windows)
    assert np.array_equal(right[:, evaluated], np.array(expected)[:, evaluated])
    right, evaluated = decisions(features, above, windows)
    owners = np.arange(len(features)) % len(windows)
    assert not right[np.arange(len(features)), owners][evaluated[owners]].any()


def test_lbp_patterns_equal_the_detector():
    rng = np.random.default_rng(0)
    windows = windows_of(61, 9, 7, seed=5)
    windows[1:4] = rng.integers(0, 256, (3, 9, 7)).astype(np.uint8).transpose(0, 2, 1)
    features = LBPFeatures((9, 7))
    made = WindowSet(windows, Team(1))
    trees, expected = [], []
    for number in range(len(features)):
        subset = rng.integers(0, 2**32, 8, dtype=np.uint32)
        code = made.patterns(features, number).astype(np.int64)
        trees.append(stump(number, subset=subset))
        expected.append((subset[code >> 5] >> (code & 31)) & 1 == 0)
    right, evaluated = decisions(features, trees, windows)
    assert evaluated.all()
    assert np.array_equal(right, np.array(expected))
    assert np.array_equal(np.array([~tree.scores(made, features).astype(bool) for tree in trees]), ~right)


@pytest.mark.parametrize("n", [1, 5, 1300])
def test_codes_divide_the_range_of_a_sample(n):
    windows = windows_of(n, 6, 6, seed=n)
    features = make_features("all", (6, 6), most=40)
    made = WindowSet(windows, Team(1), tilted=True)
    coded = made.coded(features)
    assert not coded.patterns
    assert coded.by_column.shape == (coded.n_columns, coded.n_rows) == (len(features), n)
    every = max(1, n // 512)
    for number, codes in enumerate(coded.by_column):
        values = made.values(features, number)
        ordered = np.sort(values[::every])
        tail = min(2, (len(ordered) - 1) // 4)
        low, high = ordered[tail], ordered[-1 - tail]
        scale = np.float32(CODES) / (high - low) if high > low else np.float32(0)
        scaled = np.clip((values - low) * scale, np.float32(0), np.float32(CODES - 1))
        assert np.array_equal(codes, scaled.astype(np.int32) + 1)


@pytest.mark.parametrize("n", [1, 257, 1000])
def test_codes_do_not_depend_on_threads(n):
    windows = windows_of(n, 6, 6, seed=n)
    haar, patterns = make_features("all", (6, 6), most=150), LBPFeatures((6, 6))
    alone = WindowSet(windows, Team(1), tilted=True)
    expected = [alone.planes, alone.inverse, alone.coded(haar).by_column, alone.coded(patterns).by_column]
    with Team(3, chunk_rows=7) as team:
        made = WindowSet(windows, team, tilted=True)
        found = [made.planes, made.inverse, made.coded(haar).by_column, made.coded(patterns).by_column]
    for one, other in zip(expected, found, strict=True):
        assert one.tobytes() == other.tobytes()


def test_values_do_not_depend_on_other_windows():
    windows = windows_of(600, 6, 6)
    features = make_features("all", (6, 6), most=60)
    together = WindowSet(windows, Team(1), tilted=True)
    for rows in (slice(0, 1), slice(250, 262), slice(100, 599)):
        some = WindowSet(windows[rows], Team(1), tilted=True)
        for number in range(len(features)):
            values = together.values(features, number)[rows]
            assert values.tobytes() == some.values(features, number).tobytes()


def test_uniform_windows_have_value_zero_and_code_one():
    windows = np.repeat(np.array([0, 9, 255], np.uint8), 5)[:, None, None] * np.ones((1, 6, 6), np.uint8)
    features = HaarFeatures((6, 6), "all")
    made = WindowSet(windows, Team(1), tilted=True)
    for number in range(0, len(features), 10):
        assert np.all(made.values(features, number) == 0)
    assert np.all(made.coded(features).by_column == 1)


def test_large_windows_do_not_overflow():
    side = 255
    windows = np.full((3, side, side), 255, np.uint8)
    windows[1, :, :127] = 0
    windows[2] = np.random.default_rng(0).integers(0, 2, (side, side)) * 255
    rects = np.zeros((3, 3, 4), np.int32)
    rects[0, 0], rects[0, 1] = (0, 0, side, side), (127, 0, 128, side)
    rects[1, 0], rects[1, 1] = (127, 0, 127, 127), (127, 0, 60, 60)
    rects[2, 0], rects[2, 1] = (0, 0, 255, 255), (85, 85, 85, 85)
    weights = np.array([[-1, 2, 0], [-1, 2, 0], [-1, 9, 0]], np.float32)
    features = Features("HAAR", side, side, rects, weights, np.array([0, 1, 0], np.uint8))
    made = WindowSet(windows, Team(1), tilted=True)
    assert made.planes.max() == 255**3
    pixels = windows.astype(np.int64)
    inside = pixels[:, 1:-1, 1:-1].reshape(3, -1)
    spread = [inside.shape[1] * int((p * p).sum()) - int(p.sum()) ** 2 for p in inside]
    inverse = [np.float32(1 / np.sqrt(float(s))) if s else np.float32(0) for s in spread]
    assert made.inverse.tolist() == inverse
    trees, expected = [], []
    for number in range(3):
        values = made.values(features, number)
        total = np.float32(0)
        for k in (0, 1):
            inside = pixels_of(rects[number, k].tolist(), number == 1, side, side)
            total += weights[number, k] * np.float32(sum(pixels[1, j, i] for i, j in inside))
        assert values[1] == total * inverse[1]
        trees.append(stump(number, values[1]))
        expected.append(values >= values[1])
    right, evaluated = decisions(features, trees, windows)
    assert evaluated.tolist() == [False, True, True]
    assert np.array_equal(right[:, 1:], np.array(expected)[:, 1:])


def test_coded_windows_describe_their_columns():
    windows = windows_of(5)
    haar = WindowSet(windows, Team(1)).coded(make_features("basic", (7, 6), most=3))
    patterns = WindowSet(windows, Team(1)).coded(make_features("lbp", (7, 6), most=3))
    assert haar.codes is haar
    assert haar.n_bins.tolist() == [CODES] * 3
    assert haar.categorical.tolist() == [0] * 3
    assert patterns.n_bins.tolist() == [255] * 3  # without 0
    assert patterns.categorical.tolist() == [1] * 3
