"""Hard negatives: they pass, they are crops of the right images, and the same for any number of threads."""

import numpy as np
import pytest

from hedgerow.threads import Team
from hedgerow.vision import mining
from hedgerow.vision.mining import Miner, reoriented
from hedgerow.vision.scan import evaluate_windows
from hedgerow.vision.stage import empty_cascade, with_stage
from oracle_windows import make_features, one_team, passing_windows, photos, stump

WINDOW = (8, 6)
SCALE = 1.25


def half_passing(threshold=0.0):
    """A cascade of one stump, which about half of all windows pass."""
    features = make_features("basic", WINDOW)
    return with_stage(empty_cascade("HAAR", WINDOW), features, [stump(7, threshold)], 0.5)


def miner_of(images, team=None, seed=3):
    return Miner(images, WINDOW, SCALE, seed, team or one_team())


def everyone(images):
    return np.arange(len(images))


class Counting(list):
    """Images that count how often they are asked for."""

    def __init__(self, images):
        super().__init__(images)
        self.asked = []

    def __getitem__(self, number):
        self.asked.append(number)
        return super().__getitem__(number)


@pytest.mark.parametrize("model", [empty_cascade("HAAR", WINDOW), half_passing()], ids=["no stage", "one"])
def test_windows_pass_and_are_crops_of_the_turned_images(model):
    images = photos(3)
    mined = miner_of(images).mine(model, 150, 0, everyone(images))
    assert mined.windows.shape == (150, 6, 8)
    assert mined.windows.dtype == np.uint8
    assert np.all(evaluate_windows(model, mined.windows)[0] == model.n_stages)
    crops = {crop for image in images for crop in passing_windows(model, image, SCALE)[1]}
    assert {window.tobytes() for window in mined.windows} <= crops


def test_the_counts_are_those_of_all_windows_when_all_were_wanted():
    images, model = photos(3), half_passing()
    counts = [passing_windows(model, image, SCALE) for image in images]
    mined = miner_of(images).mine(model, 10**6, 0, everyone(images))
    assert mined.exhausted
    assert mined.n_images == 8 * 3
    assert mined.n_evaluated == sum(n for n, _ in counts)
    assert mined.n_passed == sum(len(passed) for _, passed in counts) == len(mined.windows)
    assert sorted(w.tobytes() for w in mined.windows) == sorted(w for _, passed in counts for w in passed)
    assert 0.2 < mined.pass_rate == mined.n_passed / mined.n_evaluated < 0.8


def test_with_enough_windows_not_every_image_is_looked_at():
    images, model = photos(40, shape=(12, 14)), half_passing()
    mined = miner_of(images).mine(model, 5, 0, everyone(images))
    assert len(mined.windows) == 5
    assert not mined.exhausted
    assert mined.n_images < 40
    assert mined.n_images % 16 == 0  # a batch is looked at together


@pytest.mark.parametrize("n_wanted", [1, 37, 400, 10**6])
def test_any_number_of_threads_finds_the_same_windows(n_wanted):
    images, model = photos(7, shape=(14, 18)), half_passing()
    expected = miner_of(images).mine(model, n_wanted, 2, everyone(images))
    assert 1 <= len(expected.windows) <= n_wanted
    for n_members in (2, 4):
        with Team(n_members) as team:
            found = miner_of(images, team).mine(model, n_wanted, 2, everyone(images))
        assert found.windows.tobytes() == expected.windows.tobytes()
        assert (found.n_evaluated, found.n_passed, found.n_images, found.exhausted) == (
            expected.n_evaluated,
            expected.n_passed,
            expected.n_images,
            expected.exhausted,
        )


def test_stages_and_seeds_find_other_windows():
    images, model = photos(6), half_passing()
    found = {
        miner_of(images, seed=seed).mine(model, 40, stage, everyone(images)).windows.tobytes()
        for seed, stage in ((0, 0), (0, 1), (0, 2), (1, 0))
    }
    assert len(found) == 4


def test_windows_come_from_the_images_asked_for_only():
    rng = np.random.default_rng(0)
    images = [(40 * i + rng.integers(0, 40, (16, 20))).astype(np.uint8) for i in range(6)]
    model = empty_cascade("LBP", WINDOW)  # lets windows of any contrast pass
    numbers = np.array([1, 4, 5])
    mined = miner_of(images).mine(model, 10**6, 0, numbers)
    assert set((mined.windows.min(axis=(1, 2)) // 40).tolist()) == {1, 4, 5}
    assert mined.n_images == 8 * 3
    rest = miner_of(images).mine(model, 10**6, 0, np.array([0, 2, 3]))
    assert set((rest.windows.min(axis=(1, 2)) // 40).tolist()) == {0, 2, 3}


def test_every_stage_and_turn_begins_with_other_images():
    rng = np.random.default_rng(0)
    images = [(40 * i + rng.integers(0, 40, (8, 8))).astype(np.uint8) for i in range(6)]
    orders = set()
    for stage in range(6):
        mined = miner_of(images).mine(empty_cascade("LBP", WINDOW), 10**6, stage, everyone(images))
        sources = (mined.windows.min(axis=(1, 2)) // 40).tolist()
        turns = [tuple(dict.fromkeys(sources[n : n + 6 * 2])) for n in range(0, len(sources), 6 * 2)]
        assert all(sorted(turn) == [0, 1, 2, 3, 4, 5] for turn in turns)  # two windows of every image
        assert len(set(turns)) > 4
        orders.add(turns[0])
    assert len(orders) > 3


def test_an_image_does_not_give_much_more_than_its_share():
    rng = np.random.default_rng(0)
    images = [(40 * i + rng.integers(0, 40, (24, 24))).astype(np.uint8) for i in range(6)]
    mined = miner_of(images).mine(empty_cascade("LBP", WINDOW), 60, 0, everyone(images))
    per_image = np.bincount(mined.windows.min(axis=(1, 2)) // 40, minlength=6)
    assert per_image.max() <= 30  # three times a sixth of 60
    assert np.count_nonzero(per_image) >= 2


def test_images_smaller_than_the_window_give_none():
    images = [np.zeros((5, 40), np.uint8), np.zeros((40, 5), np.uint8)]
    mined = miner_of(images).mine(empty_cascade("LBP", WINDOW), 10, 0, everyone(images))
    assert mined.windows.shape == (0, 6, 8)
    assert (mined.n_evaluated, mined.n_passed, mined.n_images) == (0, 0, 16)
    assert mined.pass_rate == 0
    assert mined.exhausted


def test_an_image_of_the_size_of_the_window_is_one_window():
    image = np.random.default_rng(0).integers(0, 256, (6, 8)).astype(np.uint8)
    mined = miner_of([image]).mine(empty_cascade("HAAR", WINDOW), 10, 0, np.array([0]))
    assert mined.n_evaluated == len(mined.windows) == 4  # lying, it fits: as it is, upside down, and mirrored
    turns = {reoriented(image, turn).tobytes() for turn in (0, 1, 4, 5)}
    assert {window.tobytes() for window in mined.windows} == turns


def test_no_images_give_no_windows():
    mined = miner_of(photos(2)).mine(half_passing(), 10, 0, np.array([], np.int64))
    assert mined.windows.shape == (0, 6, 8)
    assert mined.n_images == mined.n_evaluated == 0
    assert mined.exhausted


def test_a_cascade_that_nothing_passes_sees_everything_and_finds_nothing():
    images, model = photos(3), half_passing(threshold=1e6)
    mined = miner_of(images).mine(model, 10, 0, everyone(images))
    assert mined.windows.shape == (0, 6, 8)
    assert mined.n_passed == 0
    assert mined.n_evaluated == sum(passing_windows(model, image, SCALE)[0] for image in images)
    assert mined.exhausted


def test_windows_of_too_little_contrast_are_judged_but_not_taken():
    images = [np.full((20, 20), 90, np.uint8), *photos(1)]
    flat, other = (passing_windows(empty_cascade("HAAR", WINDOW), image, SCALE) for image in images)
    assert flat[1] == []
    mined = miner_of(images).mine(empty_cascade("HAAR", WINDOW), 10**6, 0, everyone(images))
    assert mined.n_evaluated == flat[0] + other[0]
    assert mined.n_passed == len(other[1])


def test_images_are_read_once_and_kept(monkeypatch):
    images, model = Counting(photos(5)), half_passing()
    miner = miner_of(images)
    first = miner.mine(model, 10**6, 0, everyone(images))
    miner.mine(model, 10**6, 1, everyone(images))
    assert sorted(images.asked) == [0, 1, 2, 3, 4]
    monkeypatch.setattr(mining, "_CACHE_BYTES", 0)
    again = miner_of(images).mine(model, 10**6, 0, everyone(images))
    assert len(images.asked) == 5 + 8 * 5
    assert again.windows.tobytes() == first.windows.tobytes()


def test_an_error_of_an_image_comes_through():
    class Broken(list):
        def __getitem__(self, number):
            raise OSError("cannot be read")

    with pytest.raises(OSError, match="cannot be read"), Team(2) as team:
        miner_of(Broken(photos(3)), team).mine(half_passing(), 10, 0, np.arange(3))


def test_the_watch_is_told_how_many_there_are():
    images, told = photos(20, shape=(10, 10)), []
    mined = miner_of(images).mine(half_passing(), 10**6, 0, everyone(images), told.append)
    assert len(told) == 8 * 20 // 16
    assert told == sorted(told)
    assert told[-1] == len(mined.windows)


def test_the_eight_turns_are_the_symmetries_of_the_square():
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    turns = [reoriented(image, turn) for turn in range(8)]
    assert len({(t.shape, t.tobytes()) for t in turns}) == 8
    assert all(t.flags.c_contiguous for t in turns)
    assert np.array_equal(turns[0], image)
    assert np.array_equal(turns[1], image[::-1, ::-1])
    assert all(np.array_equal(turns[4 + k], turns[k][:, ::-1]) for k in range(4))
    assert [t.shape for t in turns] == [(3, 4), (3, 4), (4, 3), (4, 3)] * 2
