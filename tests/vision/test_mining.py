"""Mining of hard negatives."""

import numpy as np
import pytest

from hedgerow.threads import Team
from hedgerow.vision import mining
from hedgerow.vision.mining import Miner, reoriented
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import empty_cascade, with_stage
from oracle_windows import make_features, passing_windows, photos, stump

WINDOW = (8, 6)
SCALE = 1.25


def half_passing(threshold=0.0):
    """A cascade of one stump, which about half of all windows pass."""
    features = make_features("basic", WINDOW)
    return with_stage(empty_cascade("HAAR", WINDOW), features, [stump(7, threshold)], 0.5)


def mine(images, model, n=10**6, stage=0, *, numbers=None, team=None, seed=3, callback=None):
    numbers = np.arange(len(images)) if numbers is None else numbers
    miner = Miner(images, WINDOW, SCALE, seed, team or Team(1))
    return miner.mine(model, n, stage, numbers, callback)


class Counting(list):
    """Images that record the indices of all reads."""

    def __init__(self, images):
        super().__init__(images)
        self.reads = []

    def __getitem__(self, number):
        self.reads.append(number)
        return super().__getitem__(number)


@pytest.mark.parametrize("model", [empty_cascade("HAAR", WINDOW), half_passing()], ids=["no stage", "one"])
def test_mined_windows_pass_and_are_crops_of_the_images(model):
    images = photos(3)
    mined = mine(images, model, 150)
    assert mined.windows.shape == (150, 6, 8)
    assert mined.windows.dtype == np.uint8
    assert np.all(evaluate_windows(model, mined.windows)[0] == model.n_stages)
    crops = {crop for image in images for crop in passing_windows(model, image, SCALE)[1]}
    assert {window.tobytes() for window in mined.windows} <= crops


def test_counts_of_an_exhaustive_scan():
    images, model = photos(3), half_passing()
    counts = [passing_windows(model, image, SCALE) for image in images]
    mined = mine(images, model)
    assert mined.exhausted
    assert mined.n_images == 8 * 3
    assert mined.n_evaluated == sum(n for n, _ in counts)
    assert mined.n_passed == sum(len(passed) for _, passed in counts) == len(mined.windows)
    assert sorted(w.tobytes() for w in mined.windows) == sorted(w for _, passed in counts for w in passed)
    assert 0.2 < mined.pass_rate == mined.n_passed / mined.n_evaluated < 0.8


def test_mining_stops_when_enough_windows_are_found():
    images, model = photos(40, shape=(12, 14)), half_passing()
    mined = mine(images, model, 5)
    assert len(mined.windows) == 5
    assert not mined.exhausted
    assert mined.n_images < 40
    assert mined.n_images % 16 == 0  # images are scanned in batches


@pytest.mark.parametrize("n_wanted", [1, 37, 10**6])
def test_mining_does_not_depend_on_threads(n_wanted):
    images, model = photos(7, shape=(14, 18)), half_passing()
    expected = mine(images, model, n_wanted, 2)
    assert 1 <= len(expected.windows) <= n_wanted
    for n_threads in (2, 4):
        with Team(n_threads) as team:
            found = mine(images, model, n_wanted, 2, team=team)
        assert found.windows.tobytes() == expected.windows.tobytes()
        for name in ("n_evaluated", "n_passed", "n_images", "exhausted"):
            assert getattr(found, name) == getattr(expected, name)


def test_windows_depend_on_stage_and_seed():
    images, model = photos(6), half_passing()
    found = {
        mine(images, model, 40, stage, seed=seed).windows.tobytes()
        for seed, stage in ((0, 0), (0, 1), (0, 2), (1, 0))
    }
    assert len(found) == 4


def test_windows_come_from_the_selected_images():
    rng = np.random.default_rng(0)
    images = [(40 * i + rng.integers(0, 40, (16, 20))).astype(np.uint8) for i in range(6)]
    model = empty_cascade("LBP", WINDOW)  # windows of any contrast pass
    numbers = np.array([1, 4, 5])
    mined = mine(images, model, numbers=numbers)
    assert set((mined.windows.min(axis=(1, 2)) // 40).tolist()) == {1, 4, 5}
    assert mined.n_images == 8 * 3
    rest = mine(images, model, numbers=np.array([0, 2, 3]))
    assert set((rest.windows.min(axis=(1, 2)) // 40).tolist()) == {0, 2, 3}


def test_order_of_images_depends_on_stage_and_orientation():
    rng = np.random.default_rng(0)
    images = [(40 * i + rng.integers(0, 40, (8, 8))).astype(np.uint8) for i in range(6)]
    orders = set()
    for stage in range(6):
        mined = mine(images, empty_cascade("LBP", WINDOW), stage=stage)
        sources = (mined.windows.min(axis=(1, 2)) // 40).tolist()
        orientations = [tuple(dict.fromkeys(sources[n : n + 6 * 2])) for n in range(0, len(sources), 6 * 2)]
        assert all(sorted(order) == [0, 1, 2, 3, 4, 5] for order in orientations)  # two windows of each image
        assert len(set(orientations)) > 4
        orders.add(orientations[0])
    assert len(orders) > 3


def test_number_of_windows_per_image_is_limited():
    rng = np.random.default_rng(0)
    images = [(40 * i + rng.integers(0, 40, (24, 24))).astype(np.uint8) for i in range(6)]
    mined = mine(images, empty_cascade("LBP", WINDOW), 60)
    per_image = np.bincount(mined.windows.min(axis=(1, 2)) // 40, minlength=6)
    assert per_image.max() <= 30  # three times a sixth of 60
    assert np.count_nonzero(per_image) >= 2


SMALL = [np.zeros((5, 40), np.uint8), np.zeros((40, 5), np.uint8)]


@pytest.mark.parametrize(
    ("images", "numbers", "model", "n_images"),
    [
        (SMALL, None, empty_cascade("LBP", WINDOW), 16),
        (photos(2), np.array([], np.int64), half_passing(), 0),
        (photos(3), None, half_passing(threshold=1e6), 24),
    ],
    ids=["small images", "no images", "all windows rejected"],
)
def test_exhausted_images_without_passing_windows(images, numbers, model, n_images):
    mined = mine(images, model, 10, numbers=numbers)
    assert mined.windows.shape == (0, 6, 8)
    n_windows = sum(passing_windows(model, image, SCALE)[0] for image in images) if n_images else 0
    assert (mined.n_evaluated, mined.n_passed, mined.n_images) == (n_windows, 0, n_images)
    assert mined.pass_rate == 0
    assert mined.exhausted


def test_image_of_the_window_size():
    image = np.random.default_rng(0).integers(0, 256, (6, 8)).astype(np.uint8)
    mined = mine([image], empty_cascade("HAAR", WINDOW), 10)
    assert mined.n_evaluated == len(mined.windows) == 4  # rotated by 0 and 180 degrees, and both mirrored
    orientations = {reoriented(image, orientation).tobytes() for orientation in (0, 1, 4, 5)}
    assert {window.tobytes() for window in mined.windows} == orientations


def test_windows_without_contrast_are_counted_but_not_mined():
    images = [np.full((20, 20), 90, np.uint8), *photos(1)]
    flat, other = (passing_windows(empty_cascade("HAAR", WINDOW), image, SCALE) for image in images)
    assert flat[1] == []
    mined = mine(images, empty_cascade("HAAR", WINDOW))
    assert mined.n_evaluated == flat[0] + other[0]
    assert mined.n_passed == len(other[1])


def test_images_are_cached(monkeypatch):
    images, model = Counting(photos(5)), half_passing()
    miner = Miner(images, WINDOW, SCALE, 3, Team(1))
    first = miner.mine(model, 10**6, 0, np.arange(5))
    miner.mine(model, 10**6, 1, np.arange(5))
    assert sorted(images.reads) == [0, 1, 2, 3, 4]
    monkeypatch.setattr(mining, "_CACHE_BYTES", 0)
    again = mine(images, model)
    assert len(images.reads) == 5 + 8 * 5
    assert again.windows.tobytes() == first.windows.tobytes()


def test_errors_of_images_are_raised():
    class Broken(list):
        def __getitem__(self, number):
            raise OSError("cannot be read")

    with pytest.raises(OSError, match="cannot be read"), Team(2) as team:
        mine(Broken(photos(3)), half_passing(), 10, team=team)


def test_callback_receives_the_number_of_windows():
    images, counts = photos(20, shape=(10, 10)), []
    mined = mine(images, half_passing(), callback=counts.append)
    assert len(counts) == 8 * 20 // 16
    assert counts == sorted(counts)
    assert counts[-1] == len(mined.windows)


def test_reoriented_reorientations_the_eight_symmetries():
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    orientations = [reoriented(image, orientation) for orientation in range(8)]
    assert len({(t.shape, t.tobytes()) for t in orientations}) == 8
    assert all(t.flags.c_contiguous for t in orientations)
    assert np.array_equal(orientations[0], image)
    assert np.array_equal(orientations[1], image[::-1, ::-1])
    assert all(np.array_equal(orientations[4 + k], orientations[k][:, ::-1]) for k in range(4))
    assert [t.shape for t in orientations] == [(3, 4), (3, 4), (4, 3), (4, 3)] * 2
