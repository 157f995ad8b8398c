import math

import numpy as np
import pytest
from PIL import Image

from hedgerow.container import ModelFileError
from hedgerow.vision.images import Box
from hedgerow.vision.samples import Jitter, Samples, _cosine_and_sine, crop, load_negatives, load_positives
from hedgerow.vision.sources import write_vec

RNG = np.random.default_rng(0)
WINDOW = (24, 20)  # width, height: different, to detect swapped sides
FACES = RNG.integers(0, 256, (6, 20, 24)).astype(np.uint8)


def smooth(height, width):
    """An image without edges: small shifts change it little."""
    y, x = np.mgrid[:height, :width]
    return (127 + 60 * np.sin(x / 17) + 60 * np.cos(y / 13)).astype(np.uint8)


def save(path, image):
    Image.fromarray(image).save(path)
    return path


# ---------------------------------------------------------------------------------------- arrays
def test_arrays_of_the_window_size_are_unchanged():
    for resize in ("area", "linear"):
        samples = load_positives(FACES, WINDOW, resize=resize)
        assert np.array_equal(samples.images, FACES)
        assert samples.images.dtype == np.uint8
        assert samples.group.tolist() == list(range(6))


def test_larger_arrays_are_averaged():
    noise = RNG.integers(0, 256, (1, 80, 96)).astype(np.uint8)
    wanted = noise.reshape(20, 4, 24, 4).mean(axis=(1, 3))
    assert np.abs(load_positives(noise, WINDOW).images[0] - wanted).max() <= 0.5


def test_linear_resizing_samples_points():
    cv2 = pytest.importorskip("cv2")
    image = RNG.integers(0, 256, (50, 60)).astype(np.uint8)
    theirs = cv2.resize(image, WINDOW, interpolation=cv2.INTER_LINEAR_EXACT)
    ours = load_positives([image], WINDOW, resize="linear").images[0]
    assert np.abs(ours.astype(int) - theirs).max() <= 1


def test_lists_of_any_images_are_read():
    colour = np.dstack([FACES[0]] * 3)
    samples = load_positives([FACES[0], colour, Image.fromarray(colour), FACES[0] / 255], WINDOW)
    assert (samples.images == FACES[0]).all()
    assert len(samples) == 4


def test_groups_are_kept():
    samples = load_positives(FACES, WINDOW, group=[7, 7, 7, 9, 9, 9], mirror=True)
    assert samples.group.tolist() == [7] * 6 + [9] * 6


def test_mirror_images_follow_their_object():
    samples = load_positives(FACES, WINDOW, mirror=True)
    assert np.array_equal(samples.images[::2], FACES)
    assert np.array_equal(samples.images[1::2], FACES[:, :, ::-1])
    assert samples.group.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


# ---------------------------------------------------------------------------------------- jitter
def test_jitter_is_the_same_for_the_same_seed():
    one = load_positives(FACES, WINDOW, jitter=3, random_state=1)
    same = load_positives(FACES, WINDOW, jitter=3, random_state=1)
    other = load_positives(FACES, WINDOW, jitter=3, random_state=2)
    assert np.array_equal(one.images, same.images)
    assert not np.array_equal(one.images, other.images)
    assert np.array_equal(one.images[::4], FACES)
    assert one.group.tolist() == np.repeat(np.arange(6), 4).tolist()


def test_jitter_changes_images_slightly():
    face = smooth(20, 24)
    samples = load_positives(
        [face], WINDOW, jitter=Jitter(50, shift=1, scale=0.05, rotation=3), random_state=0
    )
    difference = np.abs(samples.images[1:].astype(int) - face).mean(axis=(1, 2))
    assert difference.max() < 12
    assert np.median(difference) > 0.5


def test_jitter_without_limits_gives_equal_copies():
    samples = load_positives(FACES, WINDOW, jitter=Jitter(2, shift=0, scale=0, rotation=0), random_state=0)
    assert np.array_equal(samples.images, np.repeat(FACES, 3, axis=0))


def test_contrast_and_brightness_change_only_the_light():
    plan = Jitter(40, shift=0, scale=0, rotation=0, contrast=0.5, brightness=30)
    face = (100 + FACES[:1] // 8).astype(np.uint8)
    copies = load_positives(face, WINDOW, jitter=plan, random_state=0).images[1:].astype(float)
    steady = [np.corrcoef(copy.ravel(), face.ravel())[0, 1] for copy in copies]
    assert min(steady) > 0.99
    spread = copies.std(axis=(1, 2)) / face.std()
    assert 0.6 < spread.min() < 0.8
    assert 1.25 < spread.max() < 1.6
    shift = copies.mean(axis=(1, 2)) - face.mean()
    assert -31 < shift.min() < -20
    assert 20 < shift.max() < 31


def test_cosine_and_sine_are_accurate_for_all_angles():
    for degrees in np.linspace(-765.0, 765.0, 2000).tolist():
        cosine, sine = _cosine_and_sine(degrees)
        assert abs(cosine - math.cos(math.radians(degrees))) < 4e-15  # the radians are rounded
        assert abs(sine - math.sin(math.radians(degrees))) < 4e-15
    for right_angles in range(-5, 6):
        assert complex(*_cosine_and_sine(90.0 * right_angles)) == 1j**right_angles


def test_crop_rotates_as_numpy():
    image = RNG.integers(0, 256, (20, 20)).astype(np.uint8)
    rotated = crop(image, Box(0, 0, 20, 20), (20, 20), degrees=90)
    assert np.array_equal(rotated, np.rot90(image, -1))


def test_points_beyond_the_image_are_mirrored():
    image = np.tile(np.arange(0, 100, 10, dtype=np.uint8), (10, 1))
    assert crop(image, Box(-3, 0, 10, 10), (10, 10))[0].tolist() == [30, 20, 10, 0, 10, 20, 30, 40, 50, 60]


# ------------------------------------------------------------------------------------- proportions
def test_margin_crops_or_extends_objects():
    image = np.full((60, 60), 200, np.uint8)
    image[15:45, 15:45] = 50
    assert (load_positives([image], (24, 24), margin=-0.27).images == 50).all()
    assert (load_positives([image], (24, 24), margin=-0.2).images > 50).any()
    grown = load_positives([image[10:50, 10:50]], (24, 24), margin=0.25).images[0]
    assert grown[0, 0] == grown[-1, -1] == 50  # pixels beyond the array are mirrored
    assert grown[5, 12] > 180


def test_fit_grow_keeps_the_aspect_ratio(tmp_path):
    y, x = np.mgrid[:200, :200]
    disc = np.where((x - 100) ** 2 + (y - 100) ** 2 < 40**2, 255, 0).astype(np.uint8)
    save(tmp_path / "disc.png", disc)
    (tmp_path / "info.txt").write_text("disc.png 1 50 60 100 80\n")
    bright = {}
    for fit in ("stretch", "grow"):
        sample = load_positives(tmp_path / "info.txt", (30, 30), fit=fit).images[0] > 127
        bright[fit] = sample.any(axis=0).sum(), sample.any(axis=1).sum()
    assert bright["grow"] == (24, 24)
    assert bright["stretch"] == (24, 30)


# ------------------------------------------------------------------------------------------- files
def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    (tmp_path / "b").mkdir()
    save(tmp_path / "b" / "0.png", FACES[2])
    save(tmp_path / "a1.png", FACES[1])
    save(tmp_path / "a0.bmp", FACES[0])
    save(tmp_path / ".hidden.png", FACES[3])
    (tmp_path / "notes.txt").write_text("no image")
    samples = load_positives(tmp_path, WINDOW)
    assert np.array_equal(samples.images, FACES[:3])
    assert np.array_equal(load_positives(tmp_path / "a1.png", WINDOW).images, FACES[1:2])


def test_annotation_files_are_read(tmp_path):
    (tmp_path / "img").mkdir()
    big = RNG.integers(0, 256, (100, 120)).astype(np.uint8)
    save(tmp_path / "img" / "big one.png", big)
    save(tmp_path / "img" / "2.png", FACES[0])
    lines = "# faces", "img/big one.png 2 10 30 24 20 0 0 48 40", "", "img/2.png  1  0 0 24 20", "img/2.png 0"
    (tmp_path / "info.dat").write_text("\n".join(lines))
    samples = load_positives(str(tmp_path / "info.dat"), WINDOW)
    assert samples.group.tolist() == [0, 1, 2]
    assert np.array_equal(samples.images[0], big[30:50, 10:34])
    assert np.abs(samples.images[1] - big[:40, :48].reshape(20, 2, 24, 2).mean(axis=(1, 3))).max() <= 0.5
    assert np.array_equal(samples.images[2], FACES[0])


def test_jitter_uses_pixels_around_annotated_objects(tmp_path):
    big = smooth(100, 120)
    save(tmp_path / "big.png", big)
    (tmp_path / "info.txt").write_text("big.png 1 40 40 24 20\n")
    plan = Jitter(20, shift=6, scale=0, rotation=0)
    samples = load_positives(tmp_path / "info.txt", WINDOW, jitter=plan, random_state=0)
    cut_first = load_positives([big[40:60, 40:64]], WINDOW, jitter=plan, random_state=0)
    rng = np.random.default_rng(0)
    right, down = rng.uniform(-1, 1, 6)[:2] * 6
    wanted = crop(big, Box(40 + right, 40 + down, 24, 20), WINDOW)
    assert np.array_equal(samples.images[1], wanted)
    assert not np.array_equal(samples.images, cut_first.images)


def test_vec_files_are_read(tmp_path):
    (tmp_path / "a.vec").write_bytes(write_vec(FACES))
    assert np.array_equal(load_positives(tmp_path / "a.vec", WINDOW).images, FACES)
    square = RNG.integers(0, 256, (3, 32, 32)).astype(np.uint8)
    (tmp_path / "b.vec").write_bytes(write_vec(square))
    samples = load_positives(tmp_path / "b.vec", (16, 16), group=[0, 0, 1])
    assert np.abs(samples.images - square.reshape(3, 16, 2, 16, 2).mean(axis=(2, 4))).max() <= 0.5
    assert samples.group.tolist() == [0, 0, 1]
    (tmp_path / "c.vec").write_bytes(b"none")
    with pytest.raises(ModelFileError, match=r"c\.vec"):
        load_positives(tmp_path / "c.vec", WINDOW)


def test_small_objects_are_skipped_with_a_warning():
    images = [FACES[0], FACES[1][:10], FACES[2]]
    with pytest.warns(UserWarning, match=r"1 of 3 objects are smaller.*24 × 20.*source\[1\] with 24 × 10"):
        samples = load_positives(images, WINDOW)
    assert samples.group.tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"all 6 objects are smaller than the window of 30 × 30"):
        load_positives(FACES, (30, 30))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.png", r"info\.txt, line 2: 'a\.png' must be a path, the number"),
        ("a.png 2 1 1 5 5", "line 2: 'a.png 2 1 1 5 5' must be a path"),
        ("a.png 1 1 1 x 5", "line 2: invalid literal.*must be integers"),
        ("a.png 1 1 1 0 5", "line 2: the box 1 1 0 5 has no width"),
        ("a.png 1 1 1 24 20", r"line 2: the box 1 1 24 20 is not inside .*a\.png, which is 24 × 20"),
        ("a.png 1 -1 0 5 5", "line 2: the box -1 0 5 5 is not inside"),
        ("b.png 1 0 0 5 5", r"line 2: there is no file .*b\.png"),
        ("folder 1 0 0 5 5", "line 2: .*folder is a folder"),
    ],
)
def test_invalid_annotation_lines_are_named(tmp_path, line, message):
    save(tmp_path / "a.png", FACES[0])
    (tmp_path / "folder").mkdir()
    (tmp_path / "info.txt").write_text(f"a.png 1 0 0 24 20\n{line}\n")
    with pytest.raises((ValueError, OSError), match=message):
        load_positives(tmp_path / "info.txt", WINDOW)


def test_damaged_files_are_named(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG nonsense")
    with pytest.raises(ValueError, match=r"a\.png: not an image file"):
        load_positives(tmp_path, WINDOW)
    (tmp_path / "info.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"info\.txt: neither an image nor a text file"):
        load_positives(tmp_path / "info.txt", WINDOW)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (FACES, {"window": (24,)}, r"window=\(24,\)"),
        (FACES, {"window": 24}, "window=24"),
        (FACES, {"window": (24.5, 20)}, r"window=\(24.5, 20\)"),
        (FACES, {"window": (24, 2)}, r"window=\(24, 2\)"),
        (FACES, {"jitter": -1}, "jitter=-1"),
        (FACES, {"jitter": 0.5}, "jitter=0.5"),
        (FACES, {"margin": -0.5}, "margin=-0.5"),
        (FACES, {"margin": np.nan}, "margin=nan"),
        (FACES, {"fit": "crop"}, "fit='crop'"),
        (FACES, {"resize": "cubic"}, "resize='cubic'"),
        (FACES, {"group": [1, 2]}, r"group is int64 of shape \(2,\)"),
        (FACES, {"group": np.zeros(6)}, "group is float64"),
        (FACES[0], {}, r"source has the shape \(20, 24\)"),
        (Image.fromarray(FACES[0]), {}, "source of type Image"),
        (7, {}, "source of type int"),
        ([], {}, "source: it has no images"),
        ([FACES[0], FACES[0] * 1.0], {}, r"source\[1\]: image has float64 values"),
    ],
)
def test_invalid_arguments_raise(source, options, message):
    with pytest.raises(ValueError, match=message):
        load_positives(source, **{"window": WINDOW} | options)


@pytest.mark.parametrize(
    "wrong", [{"copies": -1}, {"copies": 1.5}, {"shift": -1}, {"rotation": "5"}, {"scale": np.inf}]
)
def test_jitter_rejects_invalid_limits(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        Jitter(**wrong)


def test_group_is_rejected_for_folders(tmp_path):
    save(tmp_path / "a.png", FACES[0])
    with pytest.raises(ValueError, match="group is allowed for arrays"):
        load_positives(tmp_path, WINDOW, group=[0])


# --------------------------------------------------------------------------------------- negatives
def test_load_negatives_reads_folders_lists_and_files(tmp_path):
    (tmp_path / "img").mkdir()
    for name, image in zip("ab", FACES, strict=False):
        save(tmp_path / "img" / f"{name}.png", image)
    (tmp_path / "bg.txt").write_text("img/b.png\n\nimg/a.png\n")
    paths = [tmp_path / "img" / "a.png", str(tmp_path / "img" / "b.png")]
    for source in (tmp_path / "img", paths, FACES[:2]):
        negatives = load_negatives(source, WINDOW)
        assert len(negatives) == 2
        assert all(np.array_equal(one, other) for one, other in zip(negatives, FACES, strict=False))
    listed = load_negatives(str(tmp_path / "bg.txt"))
    assert np.array_equal(listed[0], FACES[1])
    assert np.array_equal(listed[-1], FACES[0])
    assert np.array_equal(listed[1:][0], FACES[0])
    assert len(load_negatives(tmp_path / "img" / "a.png")) == 1
    with pytest.raises(IndexError):
        listed[2]


def test_damaged_negatives_are_named(tmp_path):
    whole = save(tmp_path / "a.png", FACES[0]).read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    negatives = load_negatives(tmp_path)
    with pytest.raises(ValueError, match=r"a\.png: the image file is damaged"):
        negatives[0]
    (tmp_path / "0.png").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"0\.png: the image cannot be read"):
        load_negatives(tmp_path, WINDOW)


def test_small_negatives_are_skipped_with_a_warning(tmp_path):
    save(tmp_path / "a.png", FACES[0])
    save(tmp_path / "b.png", FACES[0][:, :9])
    exif = Image.Exif()
    exif[0x0112] = 6  # 20 × 24 after the rotation
    Image.fromarray(FACES[0]).save(tmp_path / "c.png", exif=exif)
    with pytest.warns(UserWarning, match=r"2 of 3 images are smaller.*b\.png with 9 × 20"):
        negatives = load_negatives(tmp_path, WINDOW)
    assert len(negatives) == 1
    with pytest.raises(ValueError, match=r"all 1 images are smaller.*an array with 9 × 20"):
        load_negatives([FACES[0][:, :9]], WINDOW)


def test_sources_without_images_raise(tmp_path):
    (tmp_path / "bg.txt").write_text("\n# none\n")
    (tmp_path / "empty").mkdir()
    for load in (load_positives, load_negatives):
        for name in ("bg.txt", "empty"):
            with pytest.raises(ValueError, match=f"{name}: it has no images"):
                load(tmp_path / name, WINDOW)
        with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.txt"):
            load(tmp_path / "none.txt", WINDOW)


def test_missing_negatives_are_named(tmp_path):
    (tmp_path / "bg.txt").write_text("a.png\n")
    with pytest.raises(FileNotFoundError, match=r"bg\.txt, line 1: there is no file .*a\.png"):
        load_negatives(tmp_path / "bg.txt")
    with pytest.raises(FileNotFoundError, match=r"source\[1\]: there is no file .*a\.png"):
        load_negatives([FACES[0], tmp_path / "a.png"])
    with pytest.raises(ValueError, match=r"source\[0\]: image has the dtype int64"):
        load_negatives([np.zeros((30, 30), int)])


def test_samples_are_unchanged_and_mirror_must_be_bool():
    windows = np.random.default_rng(0).integers(0, 256, (5, 24, 24)).astype(np.uint8)
    samples = load_positives(windows, (24, 24), random_state=0)
    assert isinstance(samples, Samples)
    again = load_positives(samples, (24, 24), random_state=0)
    np.testing.assert_array_equal(again.images, samples.images)
    np.testing.assert_array_equal(again.group, samples.group)
    with pytest.raises(TypeError, match=r"mirror='yes' is not allowed"):
        load_positives(windows, (24, 24), mirror="yes")
