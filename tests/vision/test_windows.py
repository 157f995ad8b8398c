"""Integral images, values and codes of windows: what their definitions say, and what the detector sees."""

import numpy as np
import pytest

from hedgerow.kernels.cpu.windows import CODES
from hedgerow.threads import Team
from hedgerow.vision.features import Features, HaarFeatures, LBPFeatures
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import empty_cascade, with_stage
from hedgerow.vision.windows import WindowSet
from oracle_windows import cone, haar_value, inverse_norm, lbp_code, make_features, one_team, pixels_of, stump

AT_ONCE = 50  # stumps of a stage whose votes 1, 2, 4, ... make an exact sum


def windows_of(n, width=7, height=6, seed=0):
    """Noise of several strengths, one flat window, one all white, one of two pixels."""
    rng = np.random.default_rng(seed)
    strength = rng.integers(1, 128, (n, 1, 1))
    made = (128 + rng.uniform(-1, 1, (n, height, width)) * strength).astype(np.uint8)
    if n > 3:
        made[1], made[2], made[3] = 77, 255, 0
        made[3, 1, 1] = 255
    return made


def decisions(features, trees, windows):
    """Which windows the detector sends right in each of some stumps, and which windows it judges at all."""
    model = empty_cascade(features.kind, features.window)
    rows = []
    for first in range(0, len(trees), AT_ONCE):
        votes = [
            stump(
                int(tree.feature[0]),
                tree.threshold[0],
                right=2.0**k,
                subset=tree.subsets[0] if len(tree.subsets) else None,
            )
            for k, tree in enumerate(trees[first : first + AT_ONCE])
        ]
        stages, scores = evaluate_windows(with_stage(model, features, votes, -1.0), windows)
        judged = stages >= 0
        sums = np.where(judged, scores, 0).astype(np.int64)
        rows += [(sums >> k) & 1 for k in range(len(votes))]
    return np.array(rows, bool), judged


@pytest.mark.parametrize(("width", "height"), [(3, 3), (7, 6), (4, 9)])
def test_planes_hold_the_sums_above_and_left_and_in_the_cones(width, height):
    windows = windows_of(6, width, height)
    planes = WindowSet(windows, one_team(), tilted=True).planes
    assert planes.dtype == np.int32
    assert len(planes) == 2 * (width + 1) * (height + 1)
    row, half = width + 1, len(planes) // 2
    for number, window in enumerate(windows.tolist()):
        for y in range(height + 1):
            for x in range(width + 1):
                assert planes[y * row + x, number] == sum(sum(line[:x]) for line in window[:y])
                turned = sum(window[j][i] for i, j in cone(x, y, width, height))
                assert planes[half + y * row + x, number] == turned


def test_planes_without_tilted_ones_are_the_first_half():
    windows = windows_of(9)
    both, one = WindowSet(windows, one_team(), tilted=True), WindowSet(windows, one_team())
    assert np.array_equal(both.planes[: len(one.planes)], one.planes)


def test_norms_are_those_of_the_pixels_inside_the_border():
    windows = windows_of(40)
    inverse = WindowSet(windows, one_team()).inverse
    assert inverse.dtype == np.float32
    assert inverse.tolist() == [float(inverse_norm(window)) for window in windows.tolist()]
    assert inverse[1] == inverse[2] == 0
    assert np.all(inverse[4:] > 0)


def test_the_norm_does_not_see_the_border():
    windows = windows_of(30)
    framed = windows.copy()
    framed[:, 0], framed[:, -1], framed[:, :, 0], framed[:, :, -1] = 0, 255, 3, 99
    assert np.array_equal(WindowSet(windows, one_team()).inverse, WindowSet(framed, one_team()).inverse)


def test_values_are_those_of_the_definition():
    windows = windows_of(8)
    features = HaarFeatures((7, 6), "all")
    made = WindowSet(windows, one_team(), tilted=True)
    for number in range(0, len(features), 5):
        rects, weights = features.rects[number].tolist(), features.weights[number].tolist()
        expected = [haar_value(w, rects, weights, bool(features.tilted[number])) for w in windows.tolist()]
        found = made.values(features, number)
        assert found.dtype == np.float32
        assert found.tobytes() == np.array(expected, np.float32).tobytes()


def test_patterns_are_those_of_the_definition():
    windows = windows_of(8, 9, 7)
    features = LBPFeatures((9, 7))
    made = WindowSet(windows, one_team())
    codes = made.coded(features).by_column
    for number in range(len(features)):
        expected = [lbp_code(window, features.rects[number, 0].tolist()) for window in windows.tolist()]
        assert made.patterns(features, number).tolist() == expected
        assert codes[number].tolist() == expected
    assert codes[:, 1].tolist() == [255] * len(features)  # in a flat window all are as bright as the middle


def test_the_detector_sees_the_same_haar_values():
    windows = windows_of(61, seed=4)
    features = HaarFeatures((7, 6), "all")
    made = WindowSet(windows, one_team(), tilted=True)
    at, above = [], []
    expected = []
    for number in range(len(features)):
        values = made.values(features, number)
        threshold = values[number % len(windows)]  # a tie on purpose, and the next number above
        above.append(stump(number, np.nextafter(threshold, np.float32(np.inf))))
        at.append(stump(number, threshold))
        expected.append(values >= threshold)
    right, judged = decisions(features, at, windows)
    assert 30 < judged.sum() < len(windows)
    assert np.array_equal(right[:, judged], np.array(expected)[:, judged])
    right, judged = decisions(features, above, windows)
    owners = np.arange(len(features)) % len(windows)
    assert not right[np.arange(len(features)), owners][judged[owners]].any()


def test_the_detector_sees_the_same_patterns():
    rng = np.random.default_rng(0)
    windows = windows_of(61, 9, 7, seed=5)
    windows[1:4] = rng.integers(0, 256, (3, 9, 7)).astype(np.uint8).transpose(0, 2, 1)
    features = LBPFeatures((9, 7))
    made = WindowSet(windows, one_team())
    trees, expected = [], []
    for number in range(len(features)):
        subset = rng.integers(0, 2**32, 8, dtype=np.uint32)
        code = made.patterns(features, number).astype(np.int64)
        trees.append(stump(number, subset=subset))
        expected.append((subset[code >> 5] >> (code & 31)) & 1 == 0)
    right, judged = decisions(features, trees, windows)
    assert judged.all()
    assert np.array_equal(right, np.array(expected))
    assert np.array_equal(np.array([~tree.scores(made, features).astype(bool) for tree in trees]), ~right)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 700, 1300])
def test_codes_are_places_in_the_range_of_a_part_of_the_windows(n):
    windows = windows_of(n, 6, 6, seed=n)
    features = make_features("all", (6, 6), most=40)
    made = WindowSet(windows, one_team(), tilted=True)
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
        place = np.clip((values - low) * scale, np.float32(0), np.float32(CODES - 1))
        assert np.array_equal(codes, place.astype(np.int32) + 1)


@pytest.mark.parametrize("n", [3, 60, 900])
def test_codes_rise_with_values_and_are_never_zero(n):
    windows = windows_of(n, seed=3)
    features = make_features("all", (7, 6), most=200)
    made = WindowSet(windows, one_team(), tilted=True)
    for number, codes in enumerate(made.coded(features).by_column):
        order = np.argsort(made.values(features, number), kind="stable")
        assert np.all(np.diff(codes[order].astype(int)) >= 0)
        assert codes.min() >= 1
        assert codes.max() <= CODES


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_any_number_of_threads_gives_the_same_bits(n):
    windows = windows_of(n, 6, 6, seed=n)
    haar, patterns = make_features("all", (6, 6), most=150), LBPFeatures((6, 6))
    alone = WindowSet(windows, one_team(), tilted=True)
    expected = [alone.planes, alone.inverse, alone.coded(haar).by_column, alone.coded(patterns).by_column]
    for n_members in (2, 3):
        with Team(n_members, chunk_rows=7) as team:
            made = WindowSet(windows, team, tilted=True)
            found = [made.planes, made.inverse, made.coded(haar).by_column, made.coded(patterns).by_column]
        for one, other in zip(expected, found, strict=True):
            assert one.tobytes() == other.tobytes()


def test_a_window_has_the_same_values_in_any_company():
    windows = windows_of(600, 6, 6)
    features = make_features("all", (6, 6), most=60)
    together = WindowSet(windows, one_team(), tilted=True)
    for part in (slice(0, 1), slice(250, 262), slice(100, 599)):
        some = WindowSet(windows[part], one_team(), tilted=True)
        for number in range(len(features)):
            values = together.values(features, number)[part]
            assert values.tobytes() == some.values(features, number).tobytes()


def test_flat_windows_have_values_of_zero_and_codes():
    windows = np.repeat(np.array([0, 9, 255], np.uint8), 5)[:, None, None] * np.ones((1, 6, 6), np.uint8)
    features = HaarFeatures((6, 6), "all")
    made = WindowSet(windows, one_team(), tilted=True)
    for number in range(0, len(features), 10):
        assert np.all(made.values(features, number) == 0)
    assert np.all(made.coded(features).by_column == 1)


def test_the_largest_window_does_not_overflow():
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
    made = WindowSet(windows, one_team(), tilted=True)
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
            part = sum(
                pixels[1, j, i] for i, j in pixels_of(rects[number, k].tolist(), number == 1, side, side)
            )
            total += weights[number, k] * np.float32(part)
        assert values[1] == total * inverse[1]
        trees.append(stump(number, values[1]))
        expected.append(values >= values[1])
    right, judged = decisions(features, trees, windows)
    assert judged.tolist() == [False, True, True]
    assert np.array_equal(right[:, 1:], np.array(expected)[:, 1:])


def test_what_the_search_is_told_of_codes():
    windows = windows_of(5)
    haar = WindowSet(windows, one_team()).coded(make_features("basic", (7, 6), most=3))
    patterns = WindowSet(windows, one_team()).coded(make_features("lbp", (7, 6), most=3))
    assert haar.codes is haar
    assert haar.n_bins.tolist() == [CODES] * 3
    assert haar.categorical.tolist() == [0] * 3
    assert patterns.n_bins.tolist() == [255] * 3  # and 0 beside
    assert patterns.categorical.tolist() == [1] * 3
