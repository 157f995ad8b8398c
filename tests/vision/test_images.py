import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import oracle_vision as oracle
from hedgerow.vision.images import (
    as_colour,
    as_grey,
    integral_image,
    read_image,
    rectangle_sum,
    squared_integral_image,
    tilted_integral_image,
    tilted_sum,
)

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 17, 3)).astype(np.uint8)


def plain_grey(rgb):
    """The formula, with integers of Python."""
    flat = [
        (9798 * int(r) + 19235 * int(g) + 3735 * int(b) + 2**14) // 2**15 for r, g, b in rgb.reshape(-1, 3)
    ]
    return np.array(flat, np.uint8).reshape(rgb.shape[:2])


def test_grey_values_equal_opencv():
    cv2 = pytest.importorskip("cv2")
    codes = np.arange(0, 2**24, 7, dtype=np.uint32)
    colours = np.stack([codes & 255, (codes >> 8) & 255, codes >> 16], axis=1).astype(np.uint8)
    colours = colours[:, np.newaxis].copy()
    assert np.array_equal(as_grey(colours, channels="bgr"), cv2.cvtColor(colours, cv2.COLOR_BGR2GRAY))
    assert np.array_equal(as_grey(colours), cv2.cvtColor(colours, cv2.COLOR_RGB2GRAY))


def test_grey_values_follow_the_formula():
    assert np.array_equal(as_grey(COLOUR), plain_grey(COLOUR))
    assert np.array_equal(as_grey(COLOUR, channels="bgr"), plain_grey(COLOUR[:, :, ::-1]))


def test_alpha_is_ignored():
    alpha = np.dstack([COLOUR, RNG.integers(0, 256, COLOUR.shape[:2]).astype(np.uint8)])
    assert np.array_equal(as_grey(alpha), plain_grey(COLOUR))
    assert np.array_equal(as_grey(Image.fromarray(alpha)), plain_grey(COLOUR))


def test_grey_array_is_not_copied():
    grey = np.ascontiguousarray(COLOUR[:, :, 0])
    assert as_grey(grey) is grey
    assert np.array_equal(as_grey(grey[:, :, None]), grey)


def test_other_dtypes_are_converted_to_uint8():
    every = np.arange(256).reshape(16, 16)
    for image in (every / 255, (every / 255).astype(np.float16), (every * 257).astype(np.uint16)):
        assert np.array_equal(as_grey(image), every)
    assert as_grey(np.array([[0, 128, 129, 65535]], np.uint16)).tolist() == [[0, 0, 1, 255]]
    assert as_grey(np.array([[True, False]])).tolist() == [[255, 0]]
    assert np.array_equal(as_grey(COLOUR.astype(np.uint16) * 257), plain_grey(COLOUR))


@pytest.mark.parametrize(
    "mode", ["L", "RGB", "RGBA", "RGBX", "RGBa", "LA", "La", "P", "PA", "1", "CMYK", "YCbCr"]
)
def test_pil_images_of_any_mode_are_read(mode):
    steps = np.repeat(np.array([0, 85, 170, 255], np.uint8), 8)
    picture = Image.fromarray(np.tile(steps, (4, 1)))
    start = {"RGBa": "RGBA", "La": "LA", "PA": "P"}.get(mode, mode)
    between = picture.convert("1", dither=Image.Dither.NONE) if mode == "1" else picture.convert(start)
    image = between if start == mode else between.convert(mode)
    wanted = np.where(steps > 127, 255, 0) if mode == "1" else steps
    grey = as_grey(image)
    assert grey.shape == (4, 32)
    assert np.abs(grey[0].astype(int) - wanted).max() <= (1 if mode in {"CMYK", "YCbCr"} else 0)


def test_wide_pil_images_are_read():
    values = np.array([[0, 257 * 7, 65535]], np.uint16)
    assert as_grey(Image.fromarray(values)).tolist() == [[0, 7, 255]]
    assert as_grey(Image.fromarray(values.astype(np.int32))).tolist() == [[0, 7, 255]]
    assert as_grey(Image.fromarray(np.array([[0, 1]], np.float32))).tolist() == [[0, 255]]
    with pytest.raises(ValueError, match="mode I has values from -1 to 70000"):
        as_grey(Image.fromarray(np.array([[-1, 70000]], np.int32)))


def test_a_transparent_palette_is_read_without_its_alpha():
    image = Image.fromarray(COLOUR).quantize(8)
    stream = io.BytesIO()
    image.save(stream, "PNG", transparency=bytes([0] * 8))
    stream.seek(0)
    assert np.array_equal(as_grey(Image.open(stream)), plain_grey(np.asarray(image.convert("RGB"))))


def test_channels_is_ignored_for_pil_images_and_files(tmp_path):
    image = Image.fromarray(COLOUR)
    image.save(tmp_path / "a.png")
    assert np.array_equal(as_grey(image, channels="bgr"), plain_grey(COLOUR))
    assert np.array_equal(as_grey(tmp_path / "a.png", channels="bgr"), plain_grey(COLOUR))


def test_files_are_rotated_by_exif_orientation(tmp_path):
    path = tmp_path / "rotated.png"
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees: the first row is the right side
    Image.fromarray(COLOUR).save(path, exif=exif)
    assert np.array_equal(as_grey(str(path)), np.rot90(plain_grey(COLOUR), -1))
    assert as_grey(path).flags.c_contiguous
    assert read_image(path).size == (12, 17)


def test_objects_with_array_method_are_converted():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return COLOUR

    assert np.array_equal(as_grey(Tensor()), plain_grey(COLOUR))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((3, 9, 9), np.uint8), r"image has the shape \(3, 9, 9\)"),
        (np.zeros((9, 9, 2), np.uint8), r"image has the shape \(9, 9, 2\)"),
        (np.zeros(9, np.uint8), r"image has the shape \(9,\)"),
        (np.zeros((0, 9), np.uint8), r"shape \(0, 9\): it has no pixels"),
        (np.zeros((9, 9), np.int64), "image has the dtype int64: bool, uint8"),
        (np.zeros((9, 9), np.int8), "image has the dtype int8"),
        (np.zeros((9, 9), complex), "image has the dtype complex128"),
        (np.full((9, 9), np.nan), "image has NaN among its float64 values"),
        (np.full((9, 9), 254.0), "float64 values from 254 to 254: floats from 0 to 1"),
        (np.full((9, 9), -0.1), "values from -0.1 to -0.1"),
        (np.full((9, 9), np.inf), "values from inf to inf"),
        (None, r"image has the shape \(\)"),
        ([[1, 2], [3]], "image of type list cannot be converted to an array"),
        (np.array([["a"]]), "image has the dtype <U1"),
    ],
)
def test_as_grey_rejects_invalid_arrays(image, message):
    with pytest.raises(ValueError, match=message):
        as_grey(image)


def test_unknown_channels_are_rejected():
    with pytest.raises(ValueError, match="channels='hsv' is not allowed"):
        as_grey(COLOUR, channels="hsv")


def test_as_grey_names_unreadable_files(tmp_path):
    (tmp_path / "notes.png").write_text("buy milk")
    Image.fromarray(COLOUR).save(tmp_path / "cut.png")
    whole = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"notes\.png: not an image file"):
        as_grey(tmp_path / "notes.png")
    with pytest.raises(ValueError, match=r"cut\.png: the image file is damaged"):
        as_grey(tmp_path / "cut.png")
    with pytest.raises(FileNotFoundError, match=r"none\.png: no such"):
        as_grey(tmp_path / "none.png")
    with pytest.raises(IsADirectoryError, match="a folder"):
        as_grey(tmp_path)


def test_a_huge_image_file_is_rejected(tmp_path, monkeypatch):
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    with pytest.raises(ValueError, match=r"a\.png: Image size"):
        as_grey(tmp_path / "a.png")


def test_as_colour_keeps_colours(tmp_path):
    alpha = np.dstack([COLOUR, COLOUR[:, :, 0]])
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    for image in (COLOUR, alpha, Image.fromarray(alpha), tmp_path / "a.png", COLOUR / 255):
        colours = as_colour(image)
        assert np.array_equal(colours, COLOUR)
        assert not np.shares_memory(colours, COLOUR)
    assert np.array_equal(as_colour(COLOUR[:, :, ::-1], channels="bgr"), COLOUR)
    assert np.array_equal(as_colour(alpha[:, :, [2, 1, 0, 3]], channels="bgr"), COLOUR)
    grey = COLOUR[:, :, 0]
    assert np.array_equal(as_colour(grey), np.dstack([grey] * 3))


WITHOUT_PILLOW = """
import sys
sys.modules["PIL"] = None
import numpy as np
import hedgerow.vision as vision
image = np.zeros((40, 40), np.uint8)
cascade = vision.load_cascade("frontalface")
assert vision.as_grey(image) is image
assert len(vision.load_positives(np.zeros((3, 24, 24), np.uint8), (24, 24))) == 3
for call in (
    lambda: cascade.detect(sys.argv[1]),
    lambda: vision.draw_detections(image, []),
    lambda: vision.load_negatives(sys.argv[1]),
):
    try:
        call()
    except ImportError as error:
        assert str(error) == "PIL is not installed; install it with: pip install 'hedgerow[vision]'", error
    else:
        raise AssertionError
"""


def test_arrays_do_not_require_pillow(tmp_path):
    path = tmp_path / "image.png"
    Image.new("L", (40, 40)).save(path)
    command = [sys.executable, "-c", WITHOUT_PILLOW, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- integral images

SHAPES = [(1, 1), (1, 5), (6, 1), (2, 2), (5, 7), (9, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_integral_images_equal_the_oracle(shape):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert integral_image(image).tolist() == oracle.integral(image)
    assert squared_integral_image(image).tolist() == oracle.squared(image)
    assert tilted_integral_image(image).tolist() == oracle.tilted(image)


def test_rectangle_sum_equals_the_sum_of_pixels():
    image = np.random.default_rng(1).integers(-50, 50, (5, 6))
    table = integral_image(image)
    for y in range(5):
        for x in range(6):
            for h in range(1, 6 - y):
                for w in range(1, 7 - x):
                    assert rectangle_sum(table, x, y, w, h) == oracle.upright_sum(image, x, y, w, h)


def test_tilted_sum_equals_the_sum_of_pixels():
    image = np.random.default_rng(2).integers(0, 256, (8, 7))
    table, n = tilted_integral_image(image), 0
    for y in range(8):
        for x in range(8):
            for h in range(1, x + 1):
                for w in range(1, 8 - x):
                    if y + w + h <= 8:
                        assert tilted_sum(table, x, y, w, h) == oracle.tilted_sum(image, x, y, w, h)
                        n += 1
    assert n > 50


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
def test_a_rectangle_outside_the_image_is_rejected(rectangle, tilted):
    image = np.ones((4, 4), np.uint8)
    with pytest.raises(ValueError, match=r"must be inside the image of 4 x 4 pixels"):
        (tilted_sum if tilted else rectangle_sum)(integral_image(image), *rectangle)


@pytest.mark.parametrize("image", [np.ones(3, int), np.ones((2, 2)), np.ones((2, 2, 3), np.uint8)])
def test_integral_image_rejects_other_arrays(image):
    with pytest.raises(ValueError, match="integers of shape"):
        integral_image(image)


def test_corners_must_be_integers():
    with pytest.raises(ValueError, match=r"width=1.5 is not allowed"):
        rectangle_sum(integral_image(np.ones((2, 2), int)), 0, 0, 1.5, 1)


def test_sums_that_do_not_fit_are_rejected():
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
