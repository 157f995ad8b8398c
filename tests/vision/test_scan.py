from dataclasses import replace

import numpy as np
import pytest

import oracle_vision as oracle
from hedgerow.kernels.cpu.detect import evaluate_patches
from hedgerow.kernels.cpu.detect_scan import scan_bands
from hedgerow.threads import Team
from hedgerow.vision import scan as scan_module
from hedgerow.vision.model import HAAR, LBP
from hedgerow.vision.scan import evaluate_windows, find_windows, level_image, passing_windows, scan_factors
from hedgerow.vision.scan_plan import rows_scanned

KINDS = {
    "stumps": {"max_nodes": 1, "tilted_share": 0.0},
    "trees": {"max_nodes": 4, "tilted_share": 0.0},
    "tilted": {"max_nodes": 2, "tilted_share": 1.0},
    "mixed": {"max_nodes": 5, "tilted_share": 0.5},
    "lbp": {"kind": LBP, "max_nodes": 1},
    "lbp trees": {"kind": LBP, "max_nodes": 3},
}


def picture(rng, shape):
    """Smooth shapes with noise: windows of high and of low contrast."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    waves = 90 * np.sin(x / rng.uniform(2, 6) + rng.uniform(0, 6)) * np.sin(y / rng.uniform(2, 6))
    fade = x / shape[1]
    return np.clip(128 + fade * (waves + rng.normal(0, 25, shape)), 0, 255).astype(np.uint8)


def as_rows(windows):
    return [(*r, s) for r, s in zip(windows.rectangles.tolist(), windows.scores.tolist(), strict=True)]


@pytest.mark.parametrize("name", KINDS)
def test_a_scan_finds_the_windows_of_the_oracle(name):
    numbers = []
    for seed in range(5):
        rng = np.random.default_rng([seed, *name.encode()])
        model = oracle.random_model(rng, **KINDS[name])
        image = picture(rng, (31, 43))
        expected = oracle.scan(model, image, 1.4)
        assert as_rows(find_windows(model, image, scale_factor=1.4)) == expected
        numbers.append(len(expected))
    assert len(set(numbers)) > 1  # not always everything, nor always nothing


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("name", KINDS)
def test_passing_judges_every_window_on_the_grid(name, step):
    rng = np.random.default_rng(list(name.encode()))
    model = oracle.random_model(rng, **KINDS[name])
    image = picture(rng, (25, 41))
    for n_stages in (None, 0, 1, 2):
        places, scores = passing_windows(model, image, step, n_stages)
        expected = oracle.scan_level(model, image, step, skipping=False, n_stages=n_stages)
        assert [(*p, s) for p, s in zip(places.tolist(), scores.tolist(), strict=True)] == expected


@pytest.mark.parametrize("name", KINDS)
def test_judge_says_how_far_a_window_comes(name):
    rng = np.random.default_rng(list(name.encode()))
    model = oracle.random_model(rng, **KINDS[name], window=(9, 11))
    patches = np.stack([picture(rng, (11, 30))[:, x : x + 9] for x in range(0, 20, 2) for _ in range(30)])
    patches[3] = 77  # flat
    stages, scores = evaluate_windows(model, patches)
    assert list(zip(stages.tolist(), scores.tolist(), strict=True)) == [
        oracle.evaluate_window(model, p) for p in patches
    ]
    assert len(set(scores.tolist())) > 1
    with Team(3) as team:
        again = evaluate_windows(model, np.concatenate([patches] * 3), team)
    assert np.array_equal(again[0], np.tile(stages, 3))
    assert np.array_equal(again[1], np.tile(scores, 3))


@pytest.mark.parametrize("name", ["trees", "mixed", "lbp"])
def test_threads_and_bands_change_nothing(name, monkeypatch):
    rng = np.random.default_rng(5)
    model = oracle.random_model(rng, **KINDS[name], stages=(1, 2, 2))
    image = picture(rng, (150, 201))
    expected = find_windows(model, image)
    assert len(expected.scores) > 20
    for band in (1, 30_000, 1 << 24):
        monkeypatch.setattr(scan_module, "BAND_BYTES", band)
        for n in (1, 2, 4):
            with Team(n) as team:
                windows = find_windows(model, image, team=team)
            assert all(np.array_equal(a, b) for a, b in zip(windows, expected, strict=True))


def test_one_compiled_kernel_serves_all_models_and_images():
    rng = np.random.default_rng(0)
    image = picture(rng, (40, 60))
    image.flags.writeable = False
    models = [oracle.random_model(rng, **KINDS[name]) for name in ("mixed", "lbp", "stumps")]
    for model in models:
        for array in model.arrays().values():
            array.flags.writeable = False
    for model in models:
        find_windows(model, image)
        find_windows(model, image[:, ::2])
        passing_windows(model, image.T)
        evaluate_windows(model, image[None, :10, :12])
    assert len(scan_bands.signatures) == 1
    assert len(evaluate_patches.signatures) == 1


def test_a_window_and_an_image_of_too_many_places_are_refused(monkeypatch):
    monkeypatch.setattr(scan_module, "_MAX_OFFSETS", 10_000)
    model = oracle.random_model(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"an image of 300 x 40 is too large for the window 12 x 10"):
        find_windows(model, np.zeros((40, 300), np.uint8))


def test_hits_that_do_not_fit_at_once_are_all_there():
    rng = np.random.default_rng(0)
    model = oracle.random_model(rng, kind=LBP, stages=(1,), window=(6, 6))
    model = replace(model, stage_thresholds=np.full(1, -100, np.float32))  # everything passes
    image = picture(rng, (120, 300))
    places, _ = passing_windows(model, image, 1)
    assert len(places) == 115 * 295
    windows = find_windows(model, image, scale_factor=1.5)
    assert len(windows.scores) == len(set(zip(windows.level, windows.x, windows.y, strict=True)))
    order = list(zip(windows.level, windows.y, windows.x, strict=True))
    assert order == sorted(order)


@pytest.mark.parametrize("shape", [(1, 1), (9, 40), (40, 11), (10, 12), (11, 13), (10, 300), (400, 12)])
def test_small_narrow_and_flat_images_are_scanned(shape):
    rng = np.random.default_rng(7)
    model = oracle.random_model(rng)
    image = rng.integers(0, 256, shape, dtype=np.uint8)
    assert as_rows(find_windows(model, image)) == oracle.scan(model, image, 1.1)
    assert len(find_windows(model, np.full(shape, 200, np.uint8)).scores) == 0  # no contrast at all


def test_a_wide_window_and_a_window_as_large_as_the_image_are_judged():
    rng = np.random.default_rng(3)
    model = oracle.random_model(rng, window=(70, 9), tilted_share=0.0, stages=(1,))
    image = picture(rng, (9, 70))
    assert as_rows(find_windows(model, image)) == oracle.scan(model, image, 1.1)


def test_a_large_white_image_with_one_pattern_is_no_different():
    # 9 million white pixels are more than 2**31 in one sum: the pattern is found as in a small image
    rng = np.random.default_rng(11)
    model = oracle.random_model(rng, max_nodes=2, tilted_share=0.3)
    pattern = picture(rng, (40, 60))
    small = np.full((80, 100), 255, np.uint8)
    small[20:60, 20:80] = pattern
    large = np.full((3000, 3100), 255, np.uint8)
    large[2940:2980, 3020:3080] = pattern
    expected = passing_windows(model, small)
    found = passing_windows(model, large)
    near = (found[0] >= [3000, 2920]).all(axis=1)
    assert near.all()
    assert np.array_equal(found[0] - [3000, 2920], expected[0])
    assert np.array_equal(found[1], expected[1])
    assert len(expected[0]) > 0


@pytest.mark.parametrize("factor", [1.0, 1.1, 1.33, 2.0, 2.7, 5.0])
@pytest.mark.parametrize("shape", [(31, 47), (40, 16), (17, 90)])
def test_levels_are_resized_as_in_the_oracle(shape, factor):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    level = level_image(image, (3, 3), factor)
    assert np.array_equal(level, oracle.resize(image, *level.shape))
    assert level.shape == tuple(int(np.rint(np.float32(n) / np.float32(factor))) for n in shape)


def test_a_level_smaller_than_the_window_is_refused():
    with pytest.raises(ValueError, match=r"factor=4.0 is not allowed"):
        level_image(np.zeros((20, 20), np.uint8), (6, 6), 4.0)


def test_factors_rise_until_the_window_does_not_fit():
    factors = scan_factors((100, 100), (20, 20), 1.25)
    assert factors[0] == 1.0
    assert len(factors) == 8
    assert all(f == np.float32(1.25**k) for k, f in enumerate(factors))
    assert scan_factors((19, 100), (20, 20), 1.25) == []


def test_sizes_limit_the_factors_and_the_nearest_is_taken_if_none_is_left():
    assert scan_factors((100, 100), (20, 20), 1.5, min_size=25, max_size=50) == [1.5, 2.25]
    assert scan_factors((100, 100), (20, 20), 1.5, min_size=(33, 33), max_size=(34, 34)) == [1.5]
    assert scan_factors((100, 100), (20, 20), 1.5, min_size=400) == [3.375]


@pytest.mark.parametrize("scale_factor", [1.0, 0.5, float("nan"), float("inf"), "1.1", None, True])
def test_a_scale_factor_not_above_one_is_refused(scale_factor):
    with pytest.raises(ValueError, match=r"scale_factor=.* is not allowed: it must be a number above 1"):
        scan_factors((100, 100), (20, 20), scale_factor)


def test_a_scale_factor_that_means_too_many_sizes_is_refused():
    with pytest.raises(ValueError, match="more than 10000 sizes"):
        scan_factors((1000, 1000), (20, 20), 1 + 1e-9)


@pytest.mark.parametrize("size", [0, -3, 2.5, (3,), (3, 0), (1, 2, 3), "ab"])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(ValueError, match=r"min_size=.* is not allowed"):
        scan_factors((100, 100), (20, 20), 1.1, min_size=size)


def test_sizes_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match=r"min_size=50 is not allowed: it is above max_size=40"):
        scan_factors((100, 100), (20, 20), 1.1, min_size=50, max_size=40)


def test_passing_and_judge_refuse_what_does_not_fit():
    model = oracle.random_model(np.random.default_rng(0), kind=HAAR)
    image = np.zeros((30, 30), np.uint8)
    with pytest.raises(ValueError, match=r"n_stages=4 is not allowed: the cascade has 3 stages"):
        passing_windows(model, image, 1, 4)
    with pytest.raises(ValueError, match=r"step=0 is not allowed"):
        passing_windows(model, image, 0)
    with pytest.raises(ValueError, match=r"patches: uint8 of shape \(n, 10, 12\) is required"):
        evaluate_windows(model, np.zeros((2, 12, 10), np.uint8))
    assert len(passing_windows(model, image[:5])[0]) == 0


@pytest.mark.parametrize("shape", [(10, 12), (10, 13), (11, 40)])
def test_a_ratio_next_to_one_is_refused_for_images_of_the_size_of_the_window(shape):
    with pytest.raises(ValueError, match=r"scale_factor=1.000000001 is not allowed for an image"):
        scan_factors(shape, (12, 10), 1 + 1e-9)


def test_a_level_that_is_too_narrow_by_a_rounding_has_no_windows():
    assert rows_scanned([(30, 11)], (12, 10), [2]) == [20]


@pytest.mark.parametrize("ratio", [1e308, 10**400, 2 + 0j, np.complex64(2), True, "2", float("nan")])
def test_ratios_beyond_reason_are_refused(ratio):
    with pytest.raises(ValueError, match=r"scale_factor=.* is not allowed"):
        scan_factors((100, 100), (12, 10), ratio)
