"""The measure of face detectors: boxes from landmarks, hits, false positives, ranks."""

from types import SimpleNamespace

import numpy as np
import pytest

from scripts import load_script


@pytest.fixture(scope="module")
def quality():
    return load_script("benchmarks/face_quality.py")


def photo(quality, faces, size=(200, 300)):
    return quality.Photo("p", np.zeros(size, np.uint8), np.array(faces, float).reshape(-1, 3))


def groups(rectangles, neighbors, scores=None):
    scores = np.zeros(len(neighbors)) if scores is None else scores
    return SimpleNamespace(
        rectangles=np.array(rectangles).reshape(-1, 4), neighbors=np.array(neighbors), scores=np.array(scores)
    )


def test_a_box_is_as_wide_as_eyes_or_mouth_require(quality):
    near_mouth = [10, 10, 30, 10, 20, 12, 18, 14, 20, 14, 22, 14]
    x, y, width = quality.face_box(near_mouth)
    assert (x, width) == (20.0, 2.3 * 20)
    assert y == pytest.approx(10 + 0.45 * 4)
    far_mouth = [10, 10, 30, 10, 20, 30, 18, 50, 20, 50, 22, 50]
    assert quality.face_box(far_mouth)[2] == 2.5 * 40


@pytest.mark.parametrize(
    ("rectangle", "is_hit"),
    [
        ((80, 80, 40, 40), True),
        ((91, 80, 40, 40), True),  # the centre is 11 to the right, 0.3 widths are 12
        ((93, 80, 40, 40), False),
        ((69, 69, 62, 62), True),  # 1.55 times as wide
        ((67, 67, 66, 66), False),
        ((87, 87, 26, 26), True),
        ((88, 88, 24, 24), False),
    ],
)
def test_a_hit_is_near_and_of_about_the_size(quality, rectangle, is_hit):
    assert quality.hits(np.array([rectangle]), np.array([[100.0, 100.0, 40.0]]))[0, 0] == is_hit


def test_rates_rise_with_false_positives_in_the_order_of_neighbours(quality):
    photos = [photo(quality, [(50, 50, 40), (150, 50, 40)]), photo(quality, [(50, 50, 40)])]
    right, wrong, second = (30, 30, 40, 40), (200, 100, 40, 40), (130, 30, 40, 40)
    results = iter([
        groups([right, wrong, second], [9, 5, 3]),
        groups([wrong, right], [7, 2]),
    ])  # fmt: skip
    curve = quality.measure(lambda _: next(results), photos)
    # in order: a hit (9), a false one (7), a false one (5), a hit (3), a hit (2)
    assert [curve.rate_at(n) for n in (0, 1, 2)] == [pytest.approx(1 / 3), pytest.approx(1 / 3), 1.0]
    assert curve.at_neighbors(3) == (pytest.approx(1 / 3), 2)


def test_a_second_hit_on_a_face_counts_as_neither(quality):
    result = groups([(30, 30, 40, 40), (32, 32, 40, 40)], [9, 5])
    curve = quality.measure(lambda _: result, [photo(quality, [(50, 50, 40)])])
    assert curve.rate_at(0) == 1.0
    assert curve.at_neighbors(1) == (1.0, 0)
