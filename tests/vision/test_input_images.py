"""Forms of images: the same result as for uint8 arrays, or an error."""

import copy

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from hedgerow.vision import as_grey
from input_cases import assert_deliberate, unintended_warnings_raise
from oracle_windows import objects, photos
from trainer_cases import fitted, make, packed


@pytest.fixture(scope="module")
def trainer():
    return fitted(n_stages=1)


FORMS = {
    "plain": lambda image: image,
    "fortran": np.asfortranarray,
    "backwards": lambda image: image[::-1, ::-1].copy()[::-1, ::-1],
    "strided": lambda image: np.repeat(np.repeat(image, 2, axis=0), 3, axis=1)[::2, ::3],
    "read-only": lambda image: np.frombuffer(image.tobytes(), np.uint8).reshape(image.shape),
    "16 bits": lambda image: image.astype(np.uint16) * 257,
    "16 bits, big-endian": lambda image: (image.astype(np.uint16) * 257).astype(">u2"),
    "floats": lambda image: image / 255,
    "half floats": lambda image: (image / 255).astype(np.float16),
    "long floats": lambda image: image / np.longdouble(255),
    "big-endian floats": lambda image: (image / 255).astype(">f4"),
    "one channel": lambda image: image[:, :, np.newaxis],
    "three equal channels": lambda image: np.stack([image] * 3, axis=2),
    "with alpha": lambda image: np.dstack([image, image, image, image[::-1]]),
    "a mask of nothing": lambda image: np.ma.array(image, mask=False),
    "PIL": Image.fromarray,
    "PIL in colours": lambda image: Image.fromarray(image).convert("RGBA"),
    "a frame": pd.DataFrame,
}


@pytest.mark.parametrize("form", FORMS)
def test_detections_do_not_depend_on_the_form_of_the_image(trainer, form):
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (7, 30), (30, 23)):
        plain = rng.integers(0, 256, shape, dtype=np.uint8)
        image = FORMS[form](plain.copy())
        with unintended_warnings_raise():
            grey = as_grey(image)
            found, expected = (trainer.cascade_.detect(one) for one in (image, plain))
        assert np.array_equal(grey, plain)
        assert (grey.dtype, grey.flags.c_contiguous, grey.flags.writeable) == (np.uint8, True, True)
        assert found == expected


@pytest.mark.parametrize("form", ["backwards", "read-only", "16 bits", "PIL"])
def test_training_does_not_depend_on_the_form_of_the_images(trainer, form):
    positives, negatives = ([FORMS[form](image) for image in images] for images in (objects(60), photos(10)))
    with unintended_warnings_raise():
        assert packed(fitted(positives, negatives, n_stages=1)) == packed(trainer)


GREY = np.arange(400, dtype=np.uint8).reshape(20, 20)
NO_IMAGES = [
    *(GREY.astype(kind) for kind in ("i1", "i4", "u4", "i8", "O", "c8", "U3", "M8[D]")),
    *(GREY / 1.0, GREY / 255 - 1, np.where(GREY > 9, 0.5, np.nan), np.where(GREY > 9, 0.5, np.inf)),
    *(GREY[0], GREY[:0], GREY[:, :0], GREY[:, :, None, None], np.dstack([GREY, GREY])),
    GREY[:, :, None][:, :, :0],
    *(np.array(1.0), None, 3, b"image", {}, [[1, 2], [1]], (row for row in GREY), Image.new("L", (0, 0))),
    *(np.ma.array(GREY, mask=GREY > 9), np.zeros((20, 20), [("a", "u1")])),
]


@pytest.mark.parametrize("number", range(len(NO_IMAGES)))
def test_invalid_images_are_rejected(trainer, number):
    image = NO_IMAGES[number]
    calls = [lambda: as_grey(image), lambda: trainer.cascade_.detect(image)]
    calls += [lambda: make().fit([image, GREY], photos(10)), lambda: make().fit(objects(60), [GREY, image])]
    for call in calls:
        with unintended_warnings_raise(), pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert_deliberate(caught.value)


@pytest.mark.parametrize(
    ("positives", "negatives", "groups"),
    [
        (objects(60)[:0], photos(10), None),
        (objects(60)[0], photos(10), None),
        (None, photos(10), None),
        (3, photos(10), None),
        (np.zeros((60, 8, 8), np.uint8), photos(10), None),
        (objects(60), [], None),
        (objects(60), None, None),
        (objects(60), photos(1), None),
        *((objects(60), photos(10), groups) for groups in (np.arange(59), np.arange(60) / 2, ["a"] * 60, 3)),
        *((objects(60), photos(10), groups) for groups in (np.zeros((60, 1), int), [None] * 60)),
    ],
)
def test_failed_fit_keeps_the_previous_cascade(trainer, positives, negatives, groups):
    trainer = copy.copy(trainer)
    before = packed(trainer)
    with unintended_warnings_raise(), pytest.raises((ValueError, TypeError)) as caught:
        trainer.fit(positives, negatives, groups=groups)
    assert_deliberate(caught.value)
    if np.shape(positives) != (60, 8, 8) or np.any(positives):  # detected in the first stage only
        assert packed(trainer) == before
