"""The lists of features of a window: complete, inside, listed once, and 0 on flat windows."""

import dataclasses

import numpy as np
import pytest

from hedgerow.vision.features import KINDS, HaarFeatures, LBPFeatures
from hedgerow.vision.stage import empty_cascade
from oracle_windows import CORE, SHAPES, features_of, pixels_of

WINDOWS = [(3, 3), (4, 3), (5, 9), (8, 6), (11, 4), (7, 7)]


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
        (20, "basic", 78_460),
        (20, "core", 101_329),
        (20, "all", 125_199),
    ],
)
def test_there_are_as_many_features_as_in_opencv(side, kind, n):
    features = HaarFeatures((side, side), kind)
    assert len(features) == n
    assert cascade_with(features).n_features == n  # which checks that each lies in the window


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_features_are_those_found_by_trial(kind, window):
    found, expected = listed(HaarFeatures(window, kind)), features_of(kind, *window)
    assert len(found) == len(expected)
    assert set(found) == set(expected)


@pytest.mark.parametrize("window", [*WINDOWS, (255, 3), (3, 255)])
def test_every_feature_lies_in_its_window(window):
    if max(window) < 255:
        cascade_with(HaarFeatures(window, "all"))
    cascade_with(LBPFeatures(window))
    assert len(HaarFeatures(window, "basic")) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_flat_window_has_the_value_zero(kind):
    features = HaarFeatures((12, 10), kind)
    area = features.rects[:, :, 2] * features.rects[:, :, 3] * np.where(features.tilted, 2, 1)[:, None]
    assert np.all((area * features.weights).sum(axis=1) == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_no_feature_is_listed_twice(kind):
    found = listed(HaarFeatures((10, 9), kind))
    assert len(set(found)) == len(found)


def test_the_inner_rectangles_lie_in_the_whole_and_apart_from_each_other():
    for rects, _, tilted in listed(HaarFeatures((8, 7), "all")):
        whole, *inner = [pixels_of(rect, tilted, 8, 7) for rect in rects]
        assert len(whole) == rects[0][2] * rects[0][3] * (2 if tilted else 1)
        assert all(part < whole for part in inner)
        assert sum(map(len, inner)) == len(set().union(*inner))


def test_a_kind_begins_with_the_features_of_the_smaller_kind():
    basic, core, whole = (listed(HaarFeatures((9, 8), kind)) for kind in ("basic", "core", "all"))
    assert core[: len(basic)] == basic
    assert whole[: len(core)] == core
    assert all(tilted for _, _, tilted in whole[len(core) :])
    assert [len(SHAPES[kind]) for kind in KINDS] == [5, len(CORE), 14]


@pytest.mark.parametrize("window", [*WINDOWS, (12, 24)])
def test_the_lbp_grids_are_those_found_by_trial(window):
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


def test_features_can_be_taken_in_any_order():
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
    [(2, 24), (24, 2), (0, 0), (-5, 5), (300, 300), (3, 10**9), (24.5, 24), (24,), (24, 24, 24), 24, None,
     "24", "ab", (None, 3), (float("nan"), 24), (float("inf"), 24), ([3], [3])],
)  # fmt: skip
def test_a_window_that_is_none_gets_a_clear_error(make, window):
    with pytest.raises(ValueError, match=r"^window=.* is not allowed: .*at least 3.* at most .* pixels"):
        make(window)


@pytest.mark.parametrize("kind", ["BASIC", "", "tilted", None, 3, ("basic",)])
def test_a_kind_that_is_none_gets_a_clear_error(kind):
    with pytest.raises(ValueError, match=r"^kind=.* is not allowed: .*'basic', 'core', 'all'"):
        HaarFeatures((8, 8), kind)


def test_numpy_numbers_and_lists_are_windows_too():
    assert HaarFeatures([8, np.int64(6)]).window == (8, 6)
    assert LBPFeatures(np.array([8, 6])).window == (8, 6)
