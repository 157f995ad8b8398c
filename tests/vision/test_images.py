import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from hedgerow.vision.images import as_colour, as_grey, read_image

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 17, 3)).astype(np.uint8)


def plain_grey(rgb):
    """The formula with Python's own numbers."""
    flat = [
        (9798 * int(r) + 19235 * int(g) + 3735 * int(b) + 2**14) // 2**15 for r, g, b in rgb.reshape(-1, 3)
    ]
    return np.array(flat, np.uint8).reshape(rgb.shape[:2])


def test_grey_values_are_opencvs_for_every_colour():
    cv2 = pytest.importorskip("cv2")
    codes = np.arange(2**24, dtype=np.uint32)
    colours = np.stack([codes & 255, (codes >> 8) & 255, codes >> 16], axis=1).astype(np.uint8)
    colours = colours.reshape(4096, 4096, 3)
    assert np.array_equal(as_grey(colours, channels="bgr"), cv2.cvtColor(colours, cv2.COLOR_BGR2GRAY))
    assert np.array_equal(as_grey(colours), cv2.cvtColor(colours, cv2.COLOR_RGB2GRAY))


def test_grey_values_follow_the_formula():
    assert np.array_equal(as_grey(COLOUR), plain_grey(COLOUR))
    assert np.array_equal(as_grey(COLOUR, channels="bgr"), plain_grey(COLOUR[:, :, ::-1]))


def test_alpha_is_ignored():
    alpha = np.dstack([COLOUR, RNG.integers(0, 256, COLOUR.shape[:2]).astype(np.uint8)])
    assert np.array_equal(as_grey(alpha), plain_grey(COLOUR))
    assert np.array_equal(as_grey(Image.fromarray(alpha)), plain_grey(COLOUR))


def test_a_grey_array_is_returned_itself():
    grey = np.ascontiguousarray(COLOUR[:, :, 0])
    assert as_grey(grey) is grey
    assert np.array_equal(as_grey(grey[:, :, None]), grey)


def test_read_only_images_are_copied():
    grey = np.ascontiguousarray(COLOUR[:, :, 0])
    grey.flags.writeable = False
    for image in (grey, Image.fromarray(grey)):
        assert as_grey(image).flags.writeable
        assert np.array_equal(as_grey(image), grey)


@pytest.mark.parametrize(
    "view",
    [lambda a: a[::-1], lambda a: a[:, ::2], np.asfortranarray, lambda a: a.swapaxes(0, 1)],
)
def test_any_view_gives_a_contiguous_image(view):
    for image in (COLOUR, COLOUR[:, :, 0]):
        grey = as_grey(view(image))
        wanted = plain_grey(np.ascontiguousarray(view(COLOUR))) if image.ndim == 3 else view(image)
        assert np.array_equal(grey, wanted)
        assert grey.flags.c_contiguous
        assert grey.dtype == np.uint8


def test_other_dtypes_are_brought_to_eight_bits():
    every = np.arange(256).reshape(16, 16)
    assert np.array_equal(as_grey(every / 255), every)
    assert np.array_equal(as_grey((every / 255).astype(np.float32)), every)
    assert np.array_equal(as_grey((every / 255).astype(np.float16)), every)
    assert np.array_equal(as_grey((every * 257).astype(np.uint16)), every)
    assert as_grey(np.array([[0, 128, 129, 65535]], np.uint16)).tolist() == [[0, 0, 1, 255]]
    assert as_grey(np.array([[True, False]])).tolist() == [[255, 0]]
    assert np.array_equal(as_grey(COLOUR.astype(np.uint16) * 257), plain_grey(COLOUR))


def test_big_endian_images_are_read():
    every = (np.arange(256).reshape(16, 16) * 257).astype(">u2")
    assert np.array_equal(as_grey(every), np.arange(256).reshape(16, 16))


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


def test_channels_do_not_matter_for_images_that_know_their_own(tmp_path):
    image = Image.fromarray(COLOUR)
    image.save(tmp_path / "a.png")
    assert np.array_equal(as_grey(image, channels="bgr"), plain_grey(COLOUR))
    assert np.array_equal(as_grey(tmp_path / "a.png", channels="bgr"), plain_grey(COLOUR))


def test_files_are_read_upright(tmp_path):
    path = tmp_path / "turned.png"
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: the first row is the right side
    Image.fromarray(COLOUR).save(path, exif=exif)
    assert np.array_equal(as_grey(str(path)), np.rot90(plain_grey(COLOUR), -1))
    assert as_grey(path).flags.c_contiguous
    assert read_image(path).size == (12, 17)


def test_things_with_an_array_method_are_read():
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
def test_what_is_no_image_is_refused_by_name(image, message):
    with pytest.raises(ValueError, match=message):
        as_grey(image)


def test_unknown_channels_are_refused():
    with pytest.raises(ValueError, match="channels='hsv' is not allowed"):
        as_grey(COLOUR, channels="hsv")


def test_files_that_are_no_images_are_refused_by_name(tmp_path):
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


def test_a_huge_image_file_is_refused(tmp_path, monkeypatch):
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    with pytest.raises(ValueError, match=r"a\.png: Image size"):
        as_grey(tmp_path / "a.png")


def test_colours_are_kept_by_as_colour(tmp_path):
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
assert list(cascade.detect(image)) == []
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
