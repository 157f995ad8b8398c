import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle_groups
from hedgerow.vision.detections import group_rectangles


def crowd(seed, n, centres, spread, size):
    """Rectangles around a few centres, some inside others, as found by a detector."""
    rng = np.random.default_rng(seed)
    middle = rng.integers(0, 400, (centres, 2))[rng.integers(0, centres, n)]
    sides = rng.choice([size, 2 * size, 4 * size], n) + rng.integers(-spread, spread + 1, n)
    wide = np.maximum(sides, 1)
    high = np.maximum(sides + rng.integers(-1, 2, n), 1)
    moved = middle + rng.integers(-spread, spread + 1, (n, 2))
    return np.column_stack([moved[:, 0] - wide // 2, moved[:, 1] - high // 2, wide, high]).astype(np.int32)


def rows(rectangles, weights):
    return [(*map(int, r), int(w)) for r, w in zip(rectangles, np.ravel(weights), strict=True)]


CROWDS = st.builds(
    crowd,
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    centres=st.integers(1, 6),
    spread=st.integers(0, 12),
    size=st.integers(2, 40),
)


@settings(max_examples=150, deadline=None)
@given(found=CROWDS, k=st.integers(0, 6), eps=st.sampled_from([0.0, 0.1, 0.2, 0.35, 1.0]))
def test_groups_equal_opencv(found, k, eps):
    cv2 = pytest.importorskip("cv2")
    ours = group_rectangles(found, k, eps)
    theirs, weights = cv2.groupRectangles(found.tolist(), k, eps)
    assert rows(ours.rectangles, ours.neighbors) == rows(theirs, weights)


@settings(max_examples=60, deadline=None)
@given(found=CROWDS, k=st.integers(1, 6), eps=st.sampled_from([0.0, 0.1, 0.2, 1.0]), seed=st.integers(0, 99))
def test_groups_equal_the_oracle(found, k, eps, seed):
    scores = np.random.default_rng(seed).normal(size=len(found))
    ours = group_rectangles(found, k, eps, scores)
    wanted = oracle_groups.grouped(found.tolist(), k, eps, scores.tolist())
    assert ours.rectangles.tolist() == [row[0] for row in wanted]
    assert ours.neighbors.tolist() == [row[1] for row in wanted]
    assert ours.scores.tolist() == [row[2] for row in wanted]


def test_the_order_of_the_rectangles_changes_only_the_order_of_the_groups():
    found = crowd(3, 80, 5, 4, 20)
    order = np.random.default_rng(0).permutation(len(found))
    one, other = group_rectangles(found, 1), group_rectangles(found[order], 1)
    assert sorted(rows(one.rectangles, one.neighbors)) == sorted(rows(other.rectangles, other.neighbors))
    assert len(one.rectangles) > 1


def test_many_overlapping_rectangles_are_one_group():
    found = np.full((10_000, 4), 200)
    found[:, :2] = np.random.default_rng(1).integers(0, 9, (10_000, 2))
    grouped = group_rectangles(found)
    assert grouped.neighbors.tolist() == [10_000]


def test_min_neighbors_zero_returns_all_rectangles():
    found = crowd(2, 20, 2, 3, 20)
    grouped = group_rectangles(found, 0, scores=np.arange(20.0))
    assert np.array_equal(grouped.rectangles, found)
    assert grouped.neighbors.tolist() == [1] * 20
    assert grouped.scores.tolist() == list(range(20))


@pytest.mark.parametrize("nothing", [[], (), np.empty((0, 4), np.int32), np.empty((0, 4))])
def test_no_rectangles_give_no_groups(nothing):
    grouped = group_rectangles(nothing)
    assert grouped.rectangles.shape == (0, 4)
    assert grouped.rectangles.dtype == grouped.neighbors.dtype == np.int32
    assert grouped.scores.shape == (0,)


def test_negative_scores_are_kept():
    found = [[0, 0, 24, 24]] * 4
    assert group_rectangles(found, scores=[-3.0, -1.0, -2.0, -4.0]).scores.tolist() == [-1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rectangles": [[1, 2, 3]]}, r"rectangles has the shape \(1, 3\)"),
        ({"rectangles": [[1.0, 2, 3, 4]]}, "rectangles has the dtype float64"),
        ({"rectangles": [[1, 2, 3, 4], [1, 2, 0, 4]]}, r"rectangles\[1\] = \[1, 2, 0, 4\]"),
        ({"rectangles": [[2**31, 2, 3, 4]]}, r"rectangles\[0\].*32 bits"),
        ({"rectangles": [[1, 2, 3, 4]], "scores": [1, 2]}, r"scores has the shape \(2,\)"),
        ({"rectangles": [[1, 2, 3, 4]], "scores": [np.nan]}, r"scores\[0\] is NaN"),
        ({"rectangles": [[1, 2, 3, 4]], "scores": ["high"]}, "scores are not numbers"),
        ({"rectangles": [], "min_neighbors": -1}, "min_neighbors=-1"),
        ({"rectangles": [], "min_neighbors": 1.5}, "min_neighbors=1.5"),
        ({"rectangles": [], "min_neighbors": True}, "min_neighbors=True"),
        ({"rectangles": [], "eps": -0.1}, "eps=-0.1"),
        ({"rectangles": [], "eps": np.nan}, "eps=nan"),
    ],
)
def test_invalid_arguments_raise(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        group_rectangles(**arguments)
