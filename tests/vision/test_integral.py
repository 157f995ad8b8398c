import numpy as np
import pytest

import oracle_vision as oracle
from hedgerow.vision.integral import (
    integral_image,
    rectangle_sum,
    squared_integral_image,
    tilted_integral_image,
    tilted_sum,
)

SHAPES = [(1, 1), (1, 5), (6, 1), (2, 2), (5, 7), (9, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_hold_the_sums_of_their_definition(shape):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert integral_image(image).tolist() == oracle.integral(image)
    assert squared_integral_image(image).tolist() == oracle.squared(image)
    assert tilted_integral_image(image).tolist() == oracle.tilted(image)


def test_every_upright_rectangle_is_the_sum_of_its_pixels():
    image = np.random.default_rng(1).integers(-50, 50, (5, 6))
    table = integral_image(image)
    for y in range(5):
        for x in range(6):
            for h in range(1, 6 - y):
                for w in range(1, 7 - x):
                    assert rectangle_sum(table, x, y, w, h) == oracle.upright_sum(image, x, y, w, h)


def test_every_tilted_rectangle_is_the_sum_of_its_pixels():
    image = np.random.default_rng(2).integers(0, 256, (8, 7))
    table, seen = tilted_integral_image(image), 0
    for y in range(8):
        for x in range(8):
            for h in range(1, x + 1):
                for w in range(1, 8 - x):
                    if y + w + h <= 8:
                        assert tilted_sum(table, x, y, w, h) == oracle.turned_sum(image, x, y, w, h)
                        seen += 1
    assert seen > 50


def test_rectangles_are_broadcast_and_may_be_empty():
    table = integral_image(np.ones((4, 5), int))
    assert rectangle_sum(table, np.arange(3), [[0], [1]], 2, [[1], [3]]).tolist() == [[2, 2, 2], [6, 6, 6]]
    assert rectangle_sum(table, 5, 4, 0, 0) == 0


def test_sums_do_not_overflow():
    image = np.full((300, 300), 2**31 - 1, np.uint32)
    assert integral_image(image)[-1, -1] == 90_000 * (2**31 - 1)
    assert squared_integral_image(image[:1, :1])[-1, -1] == (2**31 - 1) ** 2


@pytest.mark.parametrize(
    ("rectangle", "tilted"),
    [((-1, 0, 1, 1), False), ((0, 0, 5, 1), False), ((0, 3, 1, 2), False), ((0, 0, 1, 1), True)],
)
def test_a_rectangle_outside_the_image_is_refused(rectangle, tilted):
    image = np.ones((4, 4), np.uint8)
    with pytest.raises(ValueError, match=r"must be inside the image of 4 x 4 pixels"):
        (tilted_sum if tilted else rectangle_sum)(integral_image(image), *rectangle)


@pytest.mark.parametrize("image", [np.ones(3, int), np.ones((2, 2)), np.ones((2, 2, 3), np.uint8)])
def test_only_integers_in_two_dimensions_are_summed(image):
    with pytest.raises(ValueError, match="integers of shape"):
        integral_image(image)


def test_corners_must_be_integers():
    with pytest.raises(ValueError, match=r"width=1.5 is not allowed"):
        rectangle_sum(integral_image(np.ones((2, 2), int)), 0, 0, 1.5, 1)


def test_sums_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"the squares of pixels up to 2000000000"):
        squared_integral_image([[2_000_000_000] * 4])
    with pytest.raises(ValueError, match=r"absolute values of pixels must be below"):
        integral_image(np.array([[2**62]]))
    assert tilted_integral_image(np.zeros((3, 0), int)).shape == (4, 1)
    sums = integral_image(np.arange(2400).reshape(40, 60))
    with pytest.raises(ValueError, match=r"table must be an integral image"):
        rectangle_sum(np.zeros(4), 0, 0, 1, 1)
    with pytest.raises(ValueError, match=r"width must have absolute values below"):
        rectangle_sum(sums, 0, 0, 2**62, 1)
